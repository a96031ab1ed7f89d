/* Preloaded into a process: one allocation of it, or some from one on, fails. Counts those whose caller is
 * asked for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

enum { DEPTH = 64, RANGES = 64 };

struct range {
  uintptr_t begin, end;
  int owner; /* 0: looked through, as the C++ library is */
};
static struct range ranges[RANGES];
static int range_count;

static atomic_int is_on;
static int wanted; /* bits of the owners that count */
static atomic_long counted;
static long first_missing, last_missing;
static int threads_missing;
/* Shared with children that are forked, which may not live to report it. */
static struct told {
  int depth;
  void* frames[DEPTH];
}* told;
static __thread int is_inside __attribute__((tls_model("initial-exec")));

static int owner_of(void* const* frames, int depth) {
  for (int i = 0; i < depth; ++i) {
    uintptr_t at = (uintptr_t)frames[i];
    int known = -1;
    for (int k = 0; k < range_count && known < 0; ++k)
      if (at >= ranges[k].begin && at < ranges[k].end) known = ranges[k].owner;
    if (known < 0) return 2; /* anybody else's */
    if (known > 0) return known;
  }
  return 2;
}

static int is_missing(void) {
  if (!atomic_load_explicit(&is_on, memory_order_relaxed) || is_inside) return 0;
  is_inside = 1;
  int missing = 0;
  if (wanted == 3) {
    long number = atomic_fetch_add(&counted, 1) + 1;
    missing = number >= first_missing && number <= last_missing;
    if (missing && number == first_missing) told->depth = backtrace(told->frames, DEPTH);
  } else {
    void* frames[8];
    int depth = backtrace(frames, 8);
    if (wanted & owner_of(frames + 1, depth - 1)) {
      long number = atomic_fetch_add(&counted, 1) + 1;
      missing = number >= first_missing && number <= last_missing;
      if (missing && number == first_missing) told->depth = backtrace(told->frames, DEPTH);
    }
  }
  is_inside = 0;
  if (missing) errno = ENOMEM;
  return missing;
}

__attribute__((constructor)) static void prepare(void) {
  void* primed[2];
  backtrace(primed, 2); /* which allocates when it is first called */
  told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

void missing_range(uintptr_t begin, uintptr_t end, int owner) {
  if (range_count < RANGES) ranges[range_count++] = (struct range){begin, end, owner};
}

void missing_begin(long first, long last, int owners, int threads) {
  first_missing = first;
  last_missing = last;
  wanted = owners;
  threads_missing = threads;
  told->depth = 0;
  atomic_store(&counted, 0);
  atomic_store(&is_on, 1);
}

long missing_end(void) {
  atomic_store(&is_on, 0);
  return atomic_load(&counted);
}

int missing_trace(void** frames, int most) {
  int depth = told->depth < most ? told->depth : most;
  memcpy(frames, told->frames, sizeof(void*) * (size_t)depth);
  return depth;
}

void* malloc(size_t size) { return is_missing() ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return is_missing() ? NULL : __libc_calloc(count, size); }
void* realloc(void* old, size_t size) { return size != 0 && is_missing() ? NULL : __libc_realloc(old, size); }
void* aligned_alloc(size_t alignment, size_t size) {
  return is_missing() ? NULL : __libc_memalign(alignment, size);
}
void* memalign(size_t alignment, size_t size) {
  return is_missing() ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void** result, size_t alignment, size_t size) {
  void* memory = is_missing() ? NULL : __libc_memalign(alignment, size);
  if (memory == NULL) return ENOMEM;
  *result = memory;
  return 0;
}
void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) {
  if (is_missing()) return MAP_FAILED;
  return (void*)syscall(SYS_mmap, address, size, protection, flags, file, offset);
}
void* mmap64(void* address, size_t size, int protection, int flags, int file, off_t offset) {
  return mmap(address, size, protection, flags, file, offset);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* given) {
  static int (*real)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (real == NULL)
    real = (int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))dlsym(RTLD_NEXT,
                                                                                      "pthread_create");
  if (atomic_load_explicit(&is_on, memory_order_relaxed) && threads_missing) return EAGAIN;
  return real(thread, attributes, run, given);
}
