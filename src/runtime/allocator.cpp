// Allocates results and temporaries. Writing into fresh memory costs a page fault for each page, which is
// more than most loops cost, so freed blocks stay mapped: the next buffer of the same class (eight classes to
// the doubling) gets the block that was freed last. Blocks from 2 MiB on are mappings of their own, in huge
// pages. At most an eighth of the memory that the process may use is kept (`INGOT_KEPT_MEMORY`,
// `ingot.set_kept_memory_limit`); above that the blocks freed first go back to the system, and all do when an
// allocation fails, which is then tried again. `ingot.memory()` and `python -m ingot info` show limit, kept,
// in use and peak. The cache is one object for the process, with a lock that forking takes, so that a child
// has it whole. Small temporaries, of which a loop may make some in each iteration, are passed on by a thread
// itself as long as a call runs on it. Under the address sanitizer kept blocks are poisoned.
//
// A result that is a whole buffer becomes a NumPy array over the block itself (`bindings/results`): it owns
// its data through a NumPy memory handler, `ingot`, whose free gives the block back and whose realloc serves
// `resize`. A result that is a part of a buffer, or shares it with another result or a container, is a view
// whose base owns the block. A result that runs through all of its buffer backwards is copied into an array
// of NumPy's.

#include "runtime/allocator.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

#include "runtime/available_memory.h"

#if defined(__SANITIZE_ADDRESS__)
#define INGOT_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define INGOT_POISONS 1
#endif
#endif
#ifdef INGOT_POISONS
#include <sanitizer/asan_interface.h>
#endif

namespace ingot::runtime {

namespace {

/// Blocks from here on are requested only if memory for them is available: it is going to be written, and the
/// system overcommits, and kills processes that use too much.
constexpr size_t kVeryLarge = size_t{256} << 20;

/// The header before the data. While a block is kept, the links of its buffer are those of the list of its
/// class, and the block is in the list of all kept ones by age.
struct Block {
  Buffer buffer;
  uint64_t size_class;
  Block* older;
  Block* newer;
};
static_assert(sizeof(Block) <= Allocator::kHeader && Allocator::kHeader % Allocator::kAlignment == 0);
static_assert(std::is_standard_layout_v<Block>);

Block* block_of(Buffer* buffer) { return reinterpret_cast<Block*>(buffer); }

// Classes are eight to the doubling: rounding up to one adds at most an eighth. The first are the multiples
// of 64 up to 512.
constexpr size_t kFirst = 512;
constexpr size_t kClasses = 8 + 8 * (49 - 9);

constexpr uint64_t class_of(size_t size) {
  if (size <= kFirst) return (std::max<size_t>(size, 1) - 1) / 64;
  const auto width = static_cast<size_t>(std::bit_width(size - 1));
  return 8 * (width - 9) + ((size - 1) >> (width - 4)) - 8;
}

constexpr size_t size_of_class(uint64_t number) {
  if (number < 8) return 64 * (number + 1);
  return (number % 8 + 9) << (number / 8 + 5);
}

static_assert(class_of(512) == 7 && size_of_class(7) == 512);
static_assert(class_of(513) == 8 && size_of_class(8) == 576);
static_assert(class_of(1024) == 15 && size_of_class(15) == 1024);
static_assert(class_of(1025) == 16 && size_of_class(16) == 1152);
static_assert(class_of((size_t{1} << 47) + Allocator::kHeader) < kClasses);

#ifdef INGOT_POISONS
void poison(void* from, size_t size) { __asan_poison_memory_region(from, size); }
void unpoison(void* from, size_t size) { __asan_unpoison_memory_region(from, size); }
#else
void poison(void*, size_t) {}
void unpoison(void*, size_t) {}
#endif

/// Bytes before the header of a large block, and those that its mapping has more: whole pages of any system.
constexpr size_t kBefore = Allocator::kIntoPage - Allocator::kHeader;
constexpr size_t kMore = size_t{64} << 10;
static_assert(kBefore <= kMore && kBefore % Allocator::kAlignment == 0);

/// A large block, in whole huge pages as far as the size goes; null if there is no memory.
void* map(size_t size) {
  constexpr size_t alignment = Allocator::kLarge;
  size += kMore;
  void* address = mmap(nullptr, size + alignment, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  auto* start = static_cast<std::byte*>(address);
  const size_t before = (alignment - reinterpret_cast<uintptr_t>(address) % alignment) % alignment;
  if (before != 0) munmap(start, before);
  munmap(start + before + size, alignment - before);
  madvise(start + before, size, MADV_HUGEPAGE);  // where there are none, small pages do
  return start + before + kBefore;
}

void* get_memory(size_t size) {
  if (size >= kVeryLarge && static_cast<int64_t>(size) > available_memory()) return nullptr;
  return size >= Allocator::kLarge ? map(size) : std::aligned_alloc(Allocator::kAlignment, size);
}

/// How many blocks the system gives until one is refused; 0: none is. Read only where a block is new.
constinit std::atomic<int64_t> until_missing = 0;

bool is_made_to_fail() {
  return until_missing.load(std::memory_order_relaxed) > 0 && until_missing.fetch_sub(1) == 1;
}

void give_memory_back(Block* block) {
  const size_t size = size_of_class(block->size_class);
  unpoison(block, size);
  if (size >= Allocator::kLarge) munmap(reinterpret_cast<std::byte*>(block) - kBefore, size + kMore);
  else std::free(block);
}

int64_t initial_limit() {
  for (const char* const name : {"INGOT_KEPT_MEMORY", "INGOT_CACHE_BYTES"})  // the second is its former name
    if (const char* const text = std::getenv(name))
      if (const auto limit = parse_kept_limit(text)) return *limit;
  const int64_t machine = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return std::min(machine, memory_limit_of_group()) / 8;
}

/// The kept blocks. Every function requires `mutex` held.
struct Cache {
  std::mutex mutex;
  Block* classes[kClasses];  ///< the block that was freed last, and on
  Block* oldest;
  Block* newest;
  MemoryUse use;

  /// A block of `size` bytes is in use from now on.
  void count(size_t size) {
    use.in_use += static_cast<int64_t>(size);
    use.peak = std::max(use.peak, use.in_use);
  }

  void keep(Block* block) {
    Block*& first = classes[block->size_class];
    block->buffer.previous = nullptr;
    block->buffer.next = first == nullptr ? nullptr : &first->buffer;
    if (first != nullptr) first->buffer.previous = &block->buffer;
    first = block;
    block->newer = nullptr;
    block->older = newest;
    (newest != nullptr ? newest->newer : oldest) = block;
    newest = block;
    use.kept += static_cast<int64_t>(size_of_class(block->size_class));
  }

  void forget(Block* block) {
    const Buffer& buffer = block->buffer;
    if (buffer.previous != nullptr) buffer.previous->next = buffer.next;
    else classes[block->size_class] = buffer.next == nullptr ? nullptr : block_of(buffer.next);
    if (buffer.next != nullptr) buffer.next->previous = buffer.previous;
    (block->newer != nullptr ? block->newer->older : newest) = block->older;
    (block->older != nullptr ? block->older->newer : oldest) = block->newer;
    use.kept -= static_cast<int64_t>(size_of_class(block->size_class));
  }

  /// Forgets the oldest blocks until at most `bytes` are kept: a list of them, by `newer`.
  Block* shrink(int64_t bytes) {
    Block* forgotten = nullptr;
    while (oldest != nullptr && use.kept > bytes) {
      Block* block = oldest;
      forget(block);
      block->newer = forgotten;
      forgotten = block;
    }
    return forgotten;
  }
};

/// Part of the closed list of process-wide state.
constinit Cache cache{};
constinit pthread_once_t is_set_up = PTHREAD_ONCE_INIT;

void set_up() {
  cache.use.limit = initial_limit();
  // A child starts with a cache that no other thread was changing.
  pthread_atfork([] { cache.mutex.lock(); }, [] { cache.mutex.unlock(); }, [] { cache.mutex.unlock(); });
}

/// The small blocks that a call on a thread has freed.
struct Temporaries {
  static constexpr uint64_t kClasses = class_of(4096) + 1;
  static constexpr uint8_t kMost = 16;  ///< of a class

  Buffer* classes[kClasses];  ///< the block that was freed last, and on by `next`
  uint8_t counts[kClasses];
};

/// Part of the closed list of process-wide state.
constinit thread_local Temporaries* temporaries = nullptr;  ///< null: it has freed none

std::unique_lock<std::mutex> locked_cache() {
  pthread_once(&is_set_up, set_up);
  return std::unique_lock(cache.mutex);
}

void give_back(Block* blocks) {
  while (blocks != nullptr) {
    Block* block = blocks;
    blocks = block->newer;  // NOLINT(clang-analyzer-unix.Malloc): a block is in a list once
    give_memory_back(block);
  }
}

}  // namespace

Buffer* Allocator::allocate(int64_t bytes) noexcept {
  if (bytes < 0 || bytes > kMaxBytes) return nullptr;
  const uint64_t size_class = class_of(kHeader + static_cast<size_t>(bytes));
  const size_t size = size_of_class(size_class);
  void* memory = nullptr;
  {
    const auto lock = locked_cache();
    if (Block* kept = cache.classes[size_class]; kept != nullptr) {
      cache.forget(kept);
      cache.count(size);
      memory = kept;
    }
  }
  if (memory == nullptr) {
    if (is_made_to_fail()) return nullptr;
    memory = get_memory(size);
    if (memory == nullptr) {
      trim(0);
      memory = get_memory(size);
    }
    if (memory == nullptr) return nullptr;
    const auto lock = locked_cache();
    cache.count(size);
  }
  auto* data = static_cast<std::byte*>(memory) + kHeader;
  poison(data, size - kHeader);
  unpoison(data, static_cast<size_t>(bytes));
  auto* block =
      new (memory) Block{{data, bytes, nullptr, nullptr, nullptr, nullptr}, size_class, nullptr, nullptr};
  return &block->buffer;
}

void Allocator::free(Buffer* buffer) noexcept {
  if (buffer == nullptr) return;
  Block* block = block_of(buffer);
  const size_t size = size_of_class(block->size_class);
  poison(buffer->data, size - kHeader);
  Block* surplus = nullptr;
  {
    const auto lock = locked_cache();
    cache.use.in_use -= static_cast<int64_t>(size);
    // A block above the limit would evict all others, and then itself.
    if (static_cast<int64_t>(size) > cache.use.limit) {
      block->newer = nullptr;
      surplus = block;
    } else {
      cache.keep(block);
      surplus = cache.shrink(cache.use.limit);
    }
  }
  give_back(surplus);
}

Buffer* Allocator::allocate_temporary(int64_t bytes) noexcept {
  if (bytes < 0 || bytes > kMaxBytes) return nullptr;
  const uint64_t size_class = class_of(kHeader + static_cast<size_t>(bytes));
  Temporaries* const own = temporaries;
  if (own == nullptr || size_class >= Temporaries::kClasses || own->classes[size_class] == nullptr)
    return allocate(bytes);
  Buffer* const buffer = own->classes[size_class];
  own->classes[size_class] = buffer->next;
  --own->counts[size_class];
  buffer->next = nullptr;
  buffer->size = bytes;
  unpoison(buffer->data, static_cast<size_t>(bytes));
  return buffer;
}

bool Allocator::keep_temporary(Buffer* buffer) noexcept {
  const uint64_t size_class = block_of(buffer)->size_class;
  if (size_class >= Temporaries::kClasses) return false;
  if (temporaries == nullptr) temporaries = new (std::nothrow) Temporaries{};
  Temporaries* const own = temporaries;
  if (own == nullptr || own->counts[size_class] == Temporaries::kMost) return false;
  poison(buffer->data, size_of_class(size_class) - kHeader);
  buffer->next = own->classes[size_class];
  own->classes[size_class] = buffer;
  ++own->counts[size_class];
  return true;
}

void Allocator::free_temporaries() noexcept {
  const std::unique_ptr<Temporaries> own(std::exchange(temporaries, nullptr));
  if (own == nullptr) return;
  for (Buffer* kept : own->classes) {
    while (Buffer* const buffer = kept) {
      kept = buffer->next;
      buffer->next = nullptr;
      free(buffer);
    }
  }
}

Buffer* Allocator::reallocate(Buffer* buffer, int64_t bytes) noexcept {
  if (bytes < 0 || bytes > kMaxBytes) return nullptr;
  const Block* block = block_of(buffer);
  if (class_of(kHeader + static_cast<size_t>(bytes)) == block->size_class) {
    poison(buffer->data, size_of_class(block->size_class) - kHeader);
    unpoison(buffer->data, static_cast<size_t>(bytes));
    buffer->size = bytes;
    return buffer;
  }
  Buffer* other = allocate(bytes);
  if (other == nullptr) return nullptr;
  std::memcpy(other->data, buffer->data, static_cast<size_t>(std::min(bytes, buffer->size)));
  free(buffer);
  return other;
}

Buffer* Allocator::buffer_of(void* data) noexcept {
  return reinterpret_cast<Buffer*>(static_cast<std::byte*>(data) - kHeader);
}

int64_t Allocator::fail_at(int64_t number) noexcept { return until_missing.exchange(number); }

MemoryUse Allocator::use() noexcept {
  const auto lock = locked_cache();
  return cache.use;
}

void Allocator::set_limit(int64_t bytes) noexcept {
  Block* surplus = nullptr;
  {
    const auto lock = locked_cache();
    cache.use.limit = std::max<int64_t>(bytes, 0);
    surplus = cache.shrink(cache.use.limit);
  }
  give_back(surplus);
}

void Allocator::trim(int64_t bytes) noexcept {
  Block* surplus = nullptr;
  {
    const auto lock = locked_cache();
    surplus = cache.shrink(bytes);
  }
  give_back(surplus);
}

std::optional<int64_t> parse_kept_limit(std::string_view text) {
  int64_t bytes = 0;
  const char* const start = text.data();
  const char* const end = start + text.size();
  const auto [stop, error] = std::from_chars(start, end, bytes);
  if (error != std::errc{} || stop != end || bytes < 0) return std::nullopt;
  return bytes;
}

}  // namespace ingot::runtime
