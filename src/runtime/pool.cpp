// A fork-join pool. A loop is cut into pieces, and each participant has a share of them: a range of pieces
// and the number of the next one to take. One that has finished its share takes pieces from the others'
// shares.
//
// The gate states who is inside a loop: whether it is open, and how many threads have entered. The owner
// opens it when the loop is ready, works itself, closes it, and waits until those that have entered have
// left. No thread outside reads the loop, so a thread that wakes up late does no harm.
//
// `runtime/pool` starts threads when a loop first needs them: as many as the CPUs that the process may use,
// at most OMP_NUM_THREADS; or INGOT_NUM_THREADS, or `ingot.set_num_threads`. A loop is cut into pieces of at
// least ten microseconds, of which each participant has a share, and takes from the others' when that is
// done. One loop at a time has the pool; one that finds it taken, as a loop inside a shared loop does, runs
// on its own thread. The owner waits only for pieces that have begun, and polls meanwhile; an idle thread
// spins for some microseconds and sleeps. Other threads have contexts of their own, poll a word of the
// loop's, and never call Python. A forked child starts threads of its own.
//
// The process-wide state of the runtime is a closed list: gdb's descriptor, the cache of the allocator
// and each thread's small temporaries, the pool and each thread's limit of it, the functions that sort
// (NumPy's own, where the extension is loaded), the code that is loaded on devices and the error reports of
// its launches; of the extension, the inner loops of NumPy's gufuncs that have been called, Python's main
// thread, the numbers of calls of the compiler and of errands, the operations that wait, whether copies
// overlap kernels, the bit generators that have been looked at, and the profile with its labels; of the base,
// the bit generators whose words are known; of the devices, the observer; of the compiler, whether memory has
// run out in LLVM.

#include "runtime/pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "base/float_state.h"
#include "runtime/context.h"
#include "runtime/symbols.h"
#include "runtime/usable_cpus.h"

namespace ingot::runtime {

namespace {

constexpr size_t kLine = 64;  ///< bytes that CPUs pass between them at a time
constexpr int64_t kPiecesPerThread = 8;
/// The size of large pieces is a multiple of this, so that vectors are full except at the end.
constexpr int64_t kWholeVectors = 64;
/// How often an idle thread looks for work, or the owner for the last iteration, before it sleeps: some
/// microseconds. Where threads outnumber CPUs, the thread that is waited for needs the CPU.
constexpr int kLooks = 300;
constexpr int64_t kWait = 2'000'000;  ///< nanoseconds between polls of an owner that sleeps
constexpr int64_t kStopped = -1;      ///< less than all pieces

constinit thread_local int most_here = Pool::kMaxThreads;

struct alignas(kLine) Share {
  std::atomic<int64_t> next;
  int64_t end;
};

/// The loop that runs. What is not atomic is written by the owner while the gate is closed.
struct Loop {
  Iterations iterations;
  void* data;
  int64_t count;
  int64_t piece;  ///< iterations
  int participants;
  base::FloatState float_state;  ///< the owner's
  void* const* functions;        ///< the owner's
  std::atomic<int> helpers;      ///< threads of the pool that have come
  uint32_t attention;            ///< what they poll: set when the loop is to be left; atomic
  std::atomic<int64_t> failed;   ///< the first piece that is known to have failed
  pthread_mutex_t error_mutex;
  Error error;  ///< of that piece
  Share shares[Pool::kMaxThreads];
};

struct State {
  std::atomic<int> limit;       ///< the number of threads; 0: not known yet
  std::atomic<bool> is_taken;   ///< some thread, its owner, runs a loop in the pool
  std::atomic<uint32_t> forks;  ///< how often this process or one before it was forked off
  int started;                  ///< threads of the pool; the owner's to change
  int cpus;
  alignas(kLine) std::atomic<uint32_t> call;  ///< counts loops; idle threads wait for it to change
  std::atomic<int> sleepers;
  alignas(kLine) std::atomic<uint32_t> gate;
  Loop loop;
};

// The gate: how many have entered, and two bits.
constexpr uint32_t kOpen = uint32_t{1} << 31;
constexpr uint32_t kOwnerSleeps = uint32_t{1} << 30;

/// Part of the closed list of process-wide state.
constinit State pool{};
constinit pthread_once_t is_set_up = PTHREAD_ONCE_INIT;

void relax() { __builtin_ia32_pause(); }

/// Sleeps until the word is no longer `value`, or is woken, or nanoseconds have passed (0: any number).
void sleep_on(std::atomic<uint32_t>& word, uint32_t value, int64_t nanoseconds) {
  static_assert(sizeof(word) == 4 && std::atomic<uint32_t>::is_always_lock_free);
  const timespec limit{0, nanoseconds};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nanoseconds > 0 ? &limit : nullptr, nullptr, 0);
}

void wake(std::atomic<uint32_t>& word, int threads) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

int looks() { return pool.limit.load(std::memory_order_relaxed) <= pool.cpus ? kLooks : 0; }

std::atomic_ref<uint32_t> attention() { return std::atomic_ref(pool.loop.attention); }
bool is_stopped() { return attention().load(std::memory_order_relaxed) != 0; }

/// A child has only the thread that forked: no threads of the pool, and no loop that runs.
void forget_threads() {
  pool.forks.fetch_add(1);
  attention().store(Context::kInterrupt);
  pool.loop.error_mutex = PTHREAD_MUTEX_INITIALIZER;
  pool.started = 0;
  pool.sleepers = 0;
  pool.gate = 0;
  pool.is_taken = false;
}

void set_up() {
  pool.cpus = usable_cpus();
  int limit = std::min(pool.cpus, Pool::kMaxThreads);
  if (const char* text = std::getenv("OMP_NUM_THREADS"))
    limit = std::min(limit, parse_openmp_threads(text).value_or(limit));
  if (const char* text = std::getenv("INGOT_NUM_THREADS"))
    if (const auto wanted = parse_thread_count(text)) limit = *wanted;
  int unknown = 0;
  pool.limit.compare_exchange_strong(unknown, limit);
  pthread_atfork(nullptr, nullptr, forget_threads);
}

/// Notes the error of a piece, if it precedes the known one.
void fail(int64_t piece, const Error& error, Status status) {
  Loop& loop = pool.loop;
  pthread_mutex_lock(&loop.error_mutex);
  if (piece < loop.failed.load(std::memory_order_relaxed)) {
    loop.failed.store(piece, std::memory_order_relaxed);
    loop.error = error;
    loop.error.status = status;
  }
  pthread_mutex_unlock(&loop.error_mutex);
  if (piece == kStopped) attention().store(Context::kInterrupt, std::memory_order_relaxed);
}

/// Takes pieces, first those of one share, until there are none or the loop is to be left.
template <class Run>
void take_pieces(int participant, Run run) {
  Loop& loop = pool.loop;
  for (int i = 0; i < loop.participants; ++i) {
    Share& share = loop.shares[(participant + i) % loop.participants];
    for (;;) {
      const int64_t piece = share.next.fetch_add(1, std::memory_order_relaxed);
      if (piece >= share.end || piece > loop.failed.load(std::memory_order_relaxed)) break;
      if (is_stopped()) return;
      const int64_t begin = piece * loop.piece;
      run(piece, begin, std::min(begin + loop.piece, loop.count));
    }
  }
}

/// Inside the gate, on a thread of the pool.
void help() {
  const int participant = pool.loop.helpers.fetch_add(1, std::memory_order_relaxed) + 1;
  if (participant >= pool.loop.participants) return;
  Context context = make_context(&pool.loop.attention);
  set_stack_limit(context);
  const base::InFloatState state(pool.loop.float_state);
  context.float_state = pool.loop.float_state.word();
  context.functions = pool.loop.functions;
  const Call call(context);
  take_pieces(participant, [&](int64_t piece, int64_t begin, int64_t end) {
    context.error.caller_count = 0;  // of a piece that has failed
    const Status status = pool.loop.iterations(&context, pool.loop.data, begin, end);
    // The owner has its own error, for which it has stopped the others.
    if (status != 0 && !is_stopped()) fail(piece, context.error, status);
  });
}

bool enter() {
  uint32_t gate = pool.gate.load(std::memory_order_acquire);
  while ((gate & kOpen) != 0)
    if (pool.gate.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel)) return true;
  return false;
}

void leave() {
  if (pool.gate.fetch_sub(1, std::memory_order_acq_rel) == (kOwnerSleeps | 1)) wake(pool.gate, 1);
}

void* work(void*) {
  uint32_t seen = 0;
  for (;;) {
    uint32_t call = pool.call.load(std::memory_order_acquire);
    for (int look = looks(); call == seen && look > 0; --look) {
      relax();
      call = pool.call.load(std::memory_order_acquire);
    }
    if (call == seen) {
      pool.sleepers.fetch_add(1);
      sleep_on(pool.call, seen, 0);
      pool.sleepers.fetch_sub(1);
      continue;
    }
    seen = call;
    if (!enter()) continue;
    help();
    leave();
  }
  return nullptr;
}

/// Starts threads up to a number, as far as the system allows.
void start_threads(int wanted) {
  if (pool.started >= wanted) return;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  while (pool.started < wanted) {
    pthread_t thread{};
    if (pthread_create(&thread, &attributes, work, nullptr) != 0) break;
    ++pool.started;
  }
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// Polls whether the call is to be left.
Status poll(Context* context) {
  const std::atomic_ref wanted(*context->attention);
  return wanted.load(std::memory_order_relaxed) == 0 ? 0 : ingot_v1_poll(context);
}

/// Closes the gate and waits until all have left; false: this is a forked child, which has no such threads.
bool close_gate(Context* context, uint32_t forks) {
  uint32_t gate = pool.gate.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  for (int look = looks(); gate != 0 && look > 0; --look) {
    relax();
    gate = pool.gate.load(std::memory_order_acquire);
  }
  while (gate != 0) {
    if (!is_stopped()) {
      const Status status = poll(context);
      if (pool.forks.load() != forks) return false;
      if (status != 0) fail(kStopped, context->error, status);
    }
    gate = pool.gate.load(std::memory_order_acquire);
    if ((gate & ~kOwnerSleeps) == 0) break;
    if ((gate & kOwnerSleeps) == 0) {
      if (!pool.gate.compare_exchange_strong(gate, gate | kOwnerSleeps, std::memory_order_acq_rel)) continue;
      gate |= kOwnerSleeps;
    }
    sleep_on(pool.gate, gate, kWait);
    gate = pool.gate.load(std::memory_order_acquire);
    if ((gate & ~kOwnerSleeps) == 0) break;
  }
  pool.gate.store(0, std::memory_order_relaxed);
  return true;
}

/// Cuts a loop into pieces and shares. The pool is the caller's.
void prepare(Iterations iterations, void* data, int64_t count, int64_t grain, int participants) {
  Loop& loop = pool.loop;
  loop.iterations = iterations;
  loop.data = data;
  loop.count = count;
  const int64_t wanted = kPiecesPerThread * participants;
  loop.piece = std::max(grain, count / wanted + (count % wanted != 0 ? 1 : 0));
  if (loop.piece >= 4 * kWholeVectors)
    loop.piece = (loop.piece + kWholeVectors - 1) / kWholeVectors * kWholeVectors;
  loop.participants = participants;
  loop.float_state = base::FloatState::current();
  loop.helpers.store(0, std::memory_order_relaxed);
  attention().store(0, std::memory_order_relaxed);
  loop.failed.store(INT64_MAX, std::memory_order_relaxed);
  const int64_t pieces = (count - 1) / loop.piece + 1;
  for (int i = 0; i < participants; ++i) {
    loop.shares[i].next.store(pieces * i / participants, std::memory_order_relaxed);
    loop.shares[i].end = pieces * (i + 1) / participants;
  }
}

Status run_shared(Context* context, uint32_t forks) {
  Loop& loop = pool.loop;
  const int participants = loop.participants;
  pool.gate.store(kOpen, std::memory_order_release);
  pool.call.fetch_add(1);
  if (pool.sleepers.load() > 0) wake(pool.call, participants - 1);
  const auto lost = [&] { return pool.forks.load(std::memory_order_relaxed) != forks; };
  take_pieces(0, [&](int64_t piece, int64_t begin, int64_t end) {
    context->error.caller_count = 0;  // of a piece that has failed
    Status status = loop.iterations(context, loop.data, begin, end);
    const bool leaves = status != 0 && context->error.site == Error::kNoSite;
    if (status != 0 && !lost()) fail(leaves ? kStopped : piece, context->error, status);
    if (leaves || lost()) return;
    status = poll(context);
    if (status != 0 && !lost()) fail(kStopped, context->error, status);
  });
  if (lost() || !close_gate(context, forks)) {
    // The interrupt hook forked, and the other threads' iterations are lost.
    context->error = Error{status_of(base::ExceptionKind::RuntimeError), Error::kNoSite, {}, 0, {}};
    return context->error.status;
  }
  Status status = 0;
  if (loop.failed.load(std::memory_order_relaxed) != INT64_MAX) {
    context->error = loop.error;
    status = loop.error.status;
  }
  pool.is_taken.store(false, std::memory_order_release);
  return status;
}

}  // namespace

int Pool::threads() noexcept {
  pthread_once(&is_set_up, set_up);
  return std::min(pool.limit.load(std::memory_order_relaxed), most_here);
}

int Pool::limit_here(int count) noexcept {
  return std::exchange(most_here, std::clamp(count, 1, kMaxThreads));
}

void Pool::set_threads(int count) noexcept {
  pthread_once(&is_set_up, set_up);
  pool.limit.store(std::clamp(count, 1, kMaxThreads), std::memory_order_relaxed);
}

Status Pool::run(Context* context, Iterations iterations, void* data, int64_t count, int64_t grain) noexcept {
  const int64_t most = std::min<int64_t>(threads(), count / std::max<int64_t>(grain, 1));
  if (most < 2 || pool.is_taken.exchange(true, std::memory_order_acquire))
    return iterations(context, data, 0, count);
  const uint32_t forks = pool.forks.load();
  start_threads(static_cast<int>(most) - 1);
  const int participants = std::min(static_cast<int>(most), pool.started + 1);
  prepare(iterations, data, count, grain, participants);
  pool.loop.functions = context->functions;
  return run_shared(context, forks);
}

std::optional<int> parse_thread_count(std::string_view text) {
  int count = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc{} || stop != end || count < 1 || count > Pool::kMaxThreads) return std::nullopt;
  return count;
}

std::optional<int> parse_openmp_threads(std::string_view text) {
  constexpr std::string_view kSpace = " \t";
  text = text.substr(0, text.find(','));
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  text = text.substr(0, text.find_last_not_of(kSpace) + 1);
  int count = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc{} || stop != end || count < 1) return std::nullopt;
  return count;
}

}  // namespace ingot::runtime
