#include "bindings/shards.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/math/arithmetic.h"
#include "base/math/compare.h"
#include "runtime/pool.h"

// A shard knows the axes of its mesh, and where along them it is. Along an axis shards are threads of this
// process, which read each other's memory between two barriers, or ranks of MPI's. Compiled code is the same
// for both, and for meshes of all sizes: it asks for what the thread that runs it is.

namespace ingot::bindings {

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace {

/// What all shards come to a collective with alike.
struct Header {
  Exchange exchange;
  int64_t dtype;
  int64_t tag;  ///< of the kind of collective, its axes, and the shape of the operand
  int64_t count;

  bool operator==(const Header&) const = default;
};

/// What a shard comes to a collective with.
struct Request {
  Exchange exchange;
  base::DType dtype;
  int64_t tag;
  int64_t count;
  int64_t source;
  int64_t dest;
  const std::byte* mine;
  std::byte* given;

  size_t itemsize() const { return base::size_of(dtype); }
  size_t bytes() const { return static_cast<size_t>(count) * itemsize(); }
  bool reduces() const {
    return exchange == Exchange::Sum || exchange == Exchange::Max || exchange == Exchange::Min;
  }
  /// Whether a shard has a block for each other one.
  bool has_many() const { return exchange == Exchange::AllToAll || exchange == Exchange::Scatter; }
  Header header() const {
    return {.exchange = exchange, .dtype = static_cast<int64_t>(dtype), .tag = tag, .count = count};
  }
};

/// Leaves an exception pending. Wants no GIL.
template <class Make>
int32_t raised(Make&& make) {
  const nb::gil_scoped_acquire acquired;
  try {
    const nb::object error = make();
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  } catch (nb::python_error& error) {
    error.restore();
  }
  return kInterrupted;
}

/// Combines elements with others, each with the one at its place.
void combine(Exchange exchange, base::DType dtype, std::byte* to, const std::byte* from, size_t bytes) {
  base::visit_dtype(dtype, [&]<class T>() {
    auto* const all = reinterpret_cast<T*>(to);
    const auto* const others = reinterpret_cast<const T*>(from);
    const size_t count = bytes / sizeof(T);
    const auto each = [&](auto op) {
      for (size_t i = 0; i < count; ++i) all[i] = op(all[i], others[i]);
    };
    if (exchange == Exchange::Max) return each([](T a, T b) { return base::math::maximum(a, b); });
    if (exchange == Exchange::Min) return each([](T a, T b) { return base::math::minimum(a, b); });
    if constexpr (base::math::Boolean<T>) each([](T a, T b) { return a || b; });
    else each([](T a, T b) { return base::math::add(a, b); });
  });
}

/// Combines the blocks of all shards, in the order of their indices.
template <class BlockOf>
void combine_all(const Request& request, size_t shards, BlockOf&& block_of, std::byte* to, size_t bytes) {
  constexpr size_t kChunk = 1 << 14;  // stays in the cache
  for (size_t at = 0; at < bytes; at += kChunk) {
    const size_t part = std::min(kChunk, bytes - at);
    std::memcpy(to + at, block_of(0) + at, part);
    for (size_t i = 1; i < shards; ++i)
      combine(request.exchange, request.dtype, to + at, block_of(i) + at, part);
  }
}

/// What a shard gets of the operands of all.
template <class MineOf>
void give(const Request& request, size_t shards, size_t index, MineOf&& mine_of) {
  const size_t bytes = request.bytes();
  const auto own_block_of = [&](size_t i) { return mine_of(i) + (index * bytes); };
  switch (request.exchange) {
    case Exchange::Gather:
      for (size_t i = 0; i < shards; ++i) std::memcpy(request.given + (i * bytes), mine_of(i), bytes);
      return;
    case Exchange::AllToAll:
      for (size_t i = 0; i < shards; ++i) std::memcpy(request.given + (i * bytes), own_block_of(i), bytes);
      return;
    case Exchange::Send:
      if (request.source >= 0)
        std::memcpy(request.given, mine_of(static_cast<size_t>(request.source)), bytes);
      return;
    case Exchange::Scatter: return combine_all(request, shards, own_block_of, request.given, bytes);
    default: combine_all(request, shards, mine_of, request.given, bytes);
  }
}

/// How a reduction of many elements is shared: each shard reduces a block, and all get the blocks.
struct Blocks {
  Blocks(const Request& request, size_t shards)
      : is_whole(shards <= 2 || request.count < kMany),
        length((static_cast<size_t>(request.count) + shards - 1) / shards * request.itemsize()),
        bytes(request.bytes()) {}

  size_t begin(size_t shard) const { return std::min(shard * length, bytes); }
  size_t size(size_t shard) const { return begin(shard + 1) - begin(shard); }

  static constexpr int64_t kMany = 4096;
  bool is_whole;  ///< it is not: each shard reduces all
  size_t length;  ///< of a block, in bytes; the last ones may be shorter
  size_t bytes;
};

/// What the shards of one axis that are threads wait at, those that differ in their index along it alone.
class Barrier {
 public:
  struct Slot {
    const std::byte* mine;
    const std::byte* given;
    Header header;
  };
  enum class Outcome : uint8_t { All, AllInterrupted, Interrupted, Left };

  Barrier(int64_t size, int looks) : slots(static_cast<size_t>(size)), looks_(looks) {}

  /// Waits until all have come. One that may be left waits for no shard that has ended; then nobody waits
  /// here any more. Python's main thread handles signals meanwhile.
  Outcome come(bool may_be_left);
  /// A shard has ended.
  void leave();

  std::vector<Slot> slots;  ///< written by each shard before it comes, and read until all have come again

 private:
  bool has_passed(uint64_t round) const { return rounds_.load(std::memory_order_acquire) != round; }

  int looks_;  ///< before a shard sleeps
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t arrived_ = 0;
  bool is_left_ = false;
  std::atomic<uint64_t> rounds_ = 0;  ///< how often all have come
};

Barrier::Outcome Barrier::come(bool may_be_left) {
  // Never `wait`, which is newer than the C++ libraries that packages may need.
  constexpr auto kBetweenLooks = std::chrono::milliseconds(50);
  std::unique_lock lock(mutex_);
  if (may_be_left && is_left_) return Outcome::Left;
  const uint64_t round = rounds_.load(std::memory_order_relaxed);
  if (++arrived_ == slots.size()) {
    arrived_ = 0;
    rounds_.store(round + 1, std::memory_order_release);
    changed_.notify_all();
    return Outcome::All;
  }
  lock.unlock();
  for (int i = 0; i < looks_; ++i) {
    if (has_passed(round)) return Outcome::All;
    __builtin_ia32_pause();
  }
  const bool handles_signals = may_be_left && is_main_thread();
  bool is_raising = false;
  lock.lock();
  while (!has_passed(round)) {
    if (may_be_left && (is_left_ || is_raising)) {
      // It is not waited for any more, so that nobody reads its memory.
      --arrived_;
      is_left_ = true;
      changed_.notify_all();
      return is_raising ? Outcome::Interrupted : Outcome::Left;
    }
    const bool is_woken = changed_.wait_for(lock, kBetweenLooks) == std::cv_status::no_timeout;
    if (handles_signals && !is_woken) {
      lock.unlock();
      is_raising = is_interrupted();
      lock.lock();
    }
  }
  return is_raising ? Outcome::AllInterrupted : Outcome::All;
}

void Barrier::leave() {
  const std::scoped_lock lock(mutex_);
  is_left_ = true;
  changed_.notify_all();
}

/// The others of one axis, as a shard sees them.
class Others {
 public:
  virtual ~Others() = default;
  virtual int32_t exchange(const Request& request) = 0;
  /// Whether they are other threads, which wait for what this one holds.
  virtual bool share_locks() const { return false; }
  virtual void leave() {}
};

class OtherThreads final : public Others {
 public:
  OtherThreads(std::shared_ptr<Barrier> barrier, int64_t index)
      : barrier_(std::move(barrier)), index_(static_cast<size_t>(index)) {}

  int32_t exchange(const Request& request) override {
    Barrier& all = *barrier_;
    const Header own = request.header();
    all.slots[index_] = {.mine = request.mine, .given = request.given, .header = own};
    const Barrier::Outcome outcome = all.come(true);
    if (outcome == Barrier::Outcome::Left) return codes::kLeft;
    if (outcome == Barrier::Outcome::Interrupted) return kInterrupted;
    const bool fits =
        std::ranges::all_of(all.slots, [&](const Barrier::Slot& slot) { return slot.header == own; });
    if (fits && request.count > 0) copy(request);
    all.come(false);
    if (outcome == Barrier::Outcome::AllInterrupted) return kInterrupted;
    return fits ? 0 : codes::kMisfit;
  }

  bool share_locks() const override { return barrier_->slots.size() > 1; }
  void leave() override { barrier_->leave(); }

 private:
  void copy(const Request& request) const {
    const std::vector<Barrier::Slot>& slots = barrier_->slots;
    if (request.reduces()) return reduce(request);
    give(request, slots.size(), index_, [&](size_t i) { return slots[i].mine; });
  }

  void reduce(const Request& request) const {
    const std::vector<Barrier::Slot>& slots = barrier_->slots;
    const Blocks blocks(request, slots.size());
    const size_t at = blocks.is_whole ? 0 : blocks.begin(index_);
    const auto block_of = [&](size_t i) { return slots[i].mine + at; };
    const size_t bytes = blocks.is_whole ? blocks.bytes : blocks.size(index_);
    combine_all(request, slots.size(), block_of, request.given + at, bytes);
    if (blocks.is_whole) return;
    barrier_->come(false);
    for (size_t i = 0; i < slots.size(); ++i) {
      const size_t from = blocks.begin(i);
      if (i != index_) std::memcpy(request.given + from, slots[i].given + from, blocks.size(i));
    }
  }

  std::shared_ptr<Barrier> barrier_;
  size_t index_;
};

/// Ranks of a communicator. Counts and handles are passed as C functions find them whatever their width.
/// The first message of an exchange is of the same function and length whatever a rank comes for, so that all
/// find out whether they fit. It has small blocks with it; larger ones follow.
class OtherRanks final : public Others {
 public:
  using Collective = int(const void* mine, int64_t count, uint64_t type, void* given, int64_t most,
                         uint64_t of_given, uint64_t comm);
  using SendReceive = int(const void* mine, int64_t count, uint64_t type, int64_t dest, int64_t tag,
                          void* given, int64_t most, uint64_t of_given, int64_t source, int64_t other_tag,
                          uint64_t comm, uint64_t status);

  /// Addresses of MPI's functions and its constants, in this order.
  enum Word : uint8_t { Gather, AllToAll, Send, Byte, Nobody, NoStatus };

  OtherRanks(uint64_t comm, int64_t size, int64_t index, std::vector<uint64_t> library)
      : comm_(comm),
        size_(static_cast<size_t>(size)),
        index_(static_cast<size_t>(index)),
        library_(std::move(library)),
        first_(size_) {}

  int32_t exchange(const Request& request) override {
    if (size_ == 1) {
      if (request.count > 0) give(request, 1, 0, [&](size_t) { return request.mine; });
      return 0;
    }
    const size_t bytes = request.bytes();
    const size_t whole = request.has_many() ? bytes * size_ : bytes;
    First own{.header = request.header(), .block = {}};
    if (whole > 0 && whole <= sizeof own.block) std::memcpy(own.block, request.mine, whole);
    const int met = call(Gather, reinterpret_cast<const std::byte*>(&own),
                         reinterpret_cast<std::byte*>(first_.data()), sizeof own);
    if (met != 0) return failed(met);
    if (!std::ranges::all_of(first_, [&](const First& other) { return other.header == own.header; }))
      return codes::kMisfit;
    if (bytes > INT_MAX) return codes::kTooLarge;
    if (whole > sizeof own.block) return failed(exchange_blocks(request));
    if (request.count > 0) give(request, size_, index_, [&](size_t i) { return first_[i].block; });
    return 0;
  }

 private:
  struct First {
    Header header;
    alignas(16) std::byte block[224];
  };

  int exchange_blocks(const Request& request) const {
    switch (request.exchange) {
      case Exchange::Gather: return call(Gather, request.mine, request.given, request.bytes());
      case Exchange::AllToAll: return call(AllToAll, request.mine, request.given, request.bytes());
      case Exchange::Send: return send(request);
      case Exchange::Scatter: return scatter(request);
      default: return reduce(request);
    }
  }

  static int32_t failed(int code) {
    if (code == 0) return 0;
    return raised([&] { return nb::module_::import_("mpi4py.MPI").attr("Exception")(code); });
  }

  int call(Word word, const std::byte* mine, std::byte* given, size_t bytes) const {
    const auto count = static_cast<int64_t>(bytes);
    auto* const collective = reinterpret_cast<Collective*>(library_[word]);  // NOLINT
    return collective(mine, count, library_[Byte], given, count, library_[Byte], comm_);
  }

  int send(const Request& request) const {
    const auto count = static_cast<int64_t>(request.bytes());
    const auto rank = [&](int64_t index) {
      return index < 0 ? static_cast<int64_t>(library_[Nobody]) : index;
    };
    auto* const send = reinterpret_cast<SendReceive*>(library_[Send]);  // NOLINT
    return send(request.mine, count, library_[Byte], rank(request.dest), 0, request.given, count,
                library_[Byte], rank(request.source), 0, comm_, library_[NoStatus]);
  }

  int scatter(const Request& request) const {
    const size_t bytes = request.bytes();
    std::vector<std::byte> got(size_ * bytes);
    const int code = call(AllToAll, request.mine, got.data(), bytes);
    if (code == 0)
      combine_all(request, size_, [&](size_t i) { return got.data() + (i * bytes); }, request.given, bytes);
    return code;
  }

  int reduce(const Request& request) const {
    const Blocks blocks(request, size_);
    const size_t length = blocks.is_whole ? blocks.bytes : blocks.length;
    std::vector<std::byte> got(size_ * length);
    const auto block_of = [&](size_t i) { return got.data() + (i * length); };
    if (blocks.is_whole) {
      const int code = call(Gather, request.mine, got.data(), length);
      if (code == 0) combine_all(request, size_, block_of, request.given, length);
      return code;
    }
    std::vector<std::byte> whole(size_ * length);
    std::memcpy(whole.data(), request.mine, blocks.bytes);
    if (const int code = call(AllToAll, whole.data(), got.data(), length); code != 0) return code;
    combine_all(request, size_, block_of, whole.data(), length);
    if (const int code = call(Gather, whole.data(), got.data(), length); code != 0) return code;
    std::memcpy(request.given, got.data(), blocks.bytes);
    return 0;
  }

  uint64_t comm_;
  size_t size_;
  size_t index_;
  std::vector<uint64_t> library_;
  std::vector<First> first_;
};

/// One position of a mesh for the time of a call.
struct Shard {
  Shard() = default;
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  std::vector<std::unique_ptr<Others>> axes;
  bool was_left = false;  ///< a collective has found that another shard had ended
  int streams = 0;        ///< so many calls hold locks of streams of random numbers
};

/// Part of the closed list of process-wide state.
constinit thread_local Shard* running = nullptr;

/// Another shard waits for the locks of this call, until it ends: it would come to no collective.
int32_t refused_stream() {
  return raised([] {
    return nb::module_::import_("ingot").attr("UnsupportedError")(
        "a function of shards over threads with collectives that draws from a stream of NumPy's, which they "
        "share, is not supported\n  instead: draw by `ingot.random`, from keys, or before the call");
  });
}

/// What a shard's call gives. Whether it returns or raises, nobody waits for it afterwards.
nb::object run(Shard& shard, int threads, nb::handle function) {
  struct Running {
    Running(Shard& own, int most) : shard(own), threads(runtime::Pool::limit_here(most)) { running = &shard; }
    ~Running() {
      running = nullptr;
      runtime::Pool::limit_here(threads);
      for (const auto& others : shard.axes) others->leave();
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    Shard& shard;
    int threads;
  };
  const Running now(shard, threads);
  return function();
}

}  // namespace

void holds_streams(int more) {
  if (running != nullptr) running->streams += more;
}

int32_t ingot_shards_exchange(int64_t exchange, int64_t axis, int64_t dtype, int64_t tag, int64_t count,
                              int64_t source, int64_t dest, const void* mine, void* given) {
  if (running == nullptr) return codes::kNone;
  const Request request{.exchange = Exchange{exchange},
                        .dtype = static_cast<base::DType>(dtype),
                        .tag = tag,
                        .count = count,
                        .source = source,
                        .dest = dest,
                        .mine = static_cast<const std::byte*>(mine),
                        .given = static_cast<std::byte*>(given)};
  try {
    Others& others = *running->axes[static_cast<size_t>(axis)];
    if (running->streams > 0 && others.share_locks()) return refused_stream();
    const int32_t code = others.exchange(request);
    if (code == codes::kLeft) running->was_left = true;
    return code;
  } catch (const std::bad_alloc&) {
    return codes::kNoMemory;
  }
}

void bind_shards(nb::module_& m) {
  nb::class_<Barrier>(m, "Barrier", "What the shards of one axis that are threads wait at.")
      .def(nb::init<int64_t, int>(), "size"_a, "looks"_a)
      .def("leave", &Barrier::leave, "Has nobody wait here any more.");
  nb::class_<Shard>(m, "Shard", "One position of a mesh for the time of a call.")
      .def(nb::init<>())
      .def(
          "add_threads",
          [](Shard& self, std::shared_ptr<Barrier> barrier, int64_t index) {
            self.axes.push_back(std::make_unique<OtherThreads>(std::move(barrier), index));
          },
          "barrier"_a, "index"_a, "Its next axis is of threads.")
      .def(
          "add_ranks",
          [](Shard& self, uint64_t comm, int64_t size, int64_t index, std::vector<uint64_t> library) {
            self.axes.push_back(std::make_unique<OtherRanks>(comm, size, index, std::move(library)));
          },
          "comm"_a, "size"_a, "index"_a, "library"_a,
          "Its next axis is of ranks; the functions and constants of MPI's.")
      .def("run", &run, "threads"_a, "function"_a,
           "What a function gives that this thread runs as the shard, whose loops may use so many threads.")
      .def_ro("was_left", &Shard::was_left, "Whether a collective has found that another shard had ended.");
  m.def("holds_streams", &holds_streams, "more"_a,
        "The call that this thread makes has taken locks of streams (1), or let go of them (-1).");
  m.def("is_shard", [] { return running != nullptr; }, "Whether this thread runs a shard.");
  m.def(
      "shards_exchange",
      [](int64_t exchange, int64_t axis, int64_t dtype, int64_t tag, int64_t count, int64_t source,
         int64_t dest, uintptr_t mine, uintptr_t given) {
        int32_t code = 0;
        {
          const nb::gil_scoped_release released;
          code = ingot_shards_exchange(exchange, axis, dtype, tag, count, source, dest,
                                       reinterpret_cast<const void*>(mine),  // NOLINT
                                       reinterpret_cast<void*>(given));      // NOLINT
        }
        if (code == kInterrupted) throw nb::python_error();
        return code;
      },
      "exchange"_a, "axis"_a, "dtype"_a, "tag"_a, "count"_a, "source"_a, "dest"_a, "mine"_a, "given"_a,
      "An exchange of shards that Python runs; blocks are given by address.");
  m.def(
      "address_of_shards_exchange", [] { return reinterpret_cast<uintptr_t>(&ingot_shards_exchange); },
      "The address of the function by which shards in compiled code exchange.");
}

}  // namespace ingot::bindings
