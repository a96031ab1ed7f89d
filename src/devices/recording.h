#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "devices/device.h"
#include "devices/libraries.h"

/// Work that a device is given once, and does many times: a thread's launches, copies and fills are captured
/// instead of done, and a graph of them is launched.
namespace ingot::devices {

/// Something was asked for during a graph capture that is done when it is asked for: the host would not do it
/// again when the graph is launched. `what()` names it.
class NotRecordable : public DeviceError {
 public:
  NotRecordable(const std::string& what, std::string advice)
      : DeviceError(what), advice_(std::move(advice)) {}
  const std::string& advice() const { return advice_; }

 private:
  std::string advice_;
};

/// Of a kernel: a number, or an address of the device's memory.
struct Argument {
  alignas(16) std::array<std::byte, 16> value{};
  bool is_address = false;
};

/// One operation of a stream.
struct Step {
  enum class Kind : uint8_t { Launch, Copy, Fill, Routine };
  Kind kind = Kind::Launch;
  // Of a launch.
  const Kernel* kernel = nullptr;
  Launch launch{};
  std::vector<Argument> arguments{};
  // Of a copy, and of a fill.
  Address to = 0;
  Address from = 0;
  int64_t bytes = 0;
  std::byte value{};
  // Of a routine of the device's libraries.
  std::string routine{};
  std::vector<DeviceView> views{};

  /// Calls `fn` with each address that is in it.
  template <class Fn>
  void each_address(Fn&& fn) const;
  /// Gives the `n`-th of these addresses another value.
  void set_address(size_t n, Address address);
};

/// Steps that a device does one after the other when asked: in one call of the driver, where that has graphs.
class Sequence {
 public:
  virtual ~Sequence() = default;
  /// Puts all steps into the calling thread's stream.
  virtual void launch() = 0;
  /// From the next launch on, step `n` is this one, which differs in arguments or addresses alone.
  virtual void replace(size_t n, const Step& step) = 0;
};

/// Memory that a graph capture has allocated. It is the graph's, and belongs to its other users besides.
class GraphMemory {
 public:
  GraphMemory(Device& device, Address address, int64_t bytes)
      : device_(device), address_(address), bytes_(bytes) {}
  ~GraphMemory() { device_.free(address_); }
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  Address address() const { return address_; }
  int64_t bytes() const { return bytes_; }

 private:
  Device& device_;
  Address address_;
  int64_t bytes_;
};

/// The graph capture of what a thread gives one device, while it is open. All else that the thread asks of a
/// device then, if it is done when it is asked for - copies from and to the host, waiting, events, work for
/// another device - throws NotRecordable.
class Recording {
 public:
  /// Opens it for the calling thread, which has none.
  explicit Recording(Device& device);
  /// Closes it.
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  /// That of the calling thread; null: there is none.
  static Recording* of_thread() noexcept;
  /// Throws NotRecordable if the calling thread has one.
  static void refuse(const char* what) {
    if (of_thread() != nullptr) [[unlikely]]
      throw_refusal(what);
  }
  /// During its lifetime, the calling thread has no capture.
  class Suspended {
   public:
    Suspended() noexcept;
    ~Suspended();
    Suspended(const Suspended&) = delete;
    Suspended& operator=(const Suspended&) = delete;

   private:
    Recording* recording_;
  };

  Device& device() const { return device_; }
  void close() noexcept;
  /// Adds a step of its device; of another one, throws NotRecordable.
  void add(const Device& device, Step step);
  void copy(const Device& device, Address to, Address from, int64_t bytes);
  void fill(const Device& device, Address to, std::byte value, int64_t bytes);
  /// Where the host waits for the steps before, to read something.
  struct Wait {
    size_t before;  ///< which step
    std::shared_ptr<GraphMemory> looks_at;
    size_t caller;
  };
  /// After the last step.
  void wait(std::shared_ptr<GraphMemory> looks_at) {
    waits_.push_back({steps_.size(), std::move(looks_at), caller_});
  }
  /// The number that waits have from now on.
  void set_caller(size_t caller) { caller_ = caller; }
  /// Memory, aligned and unspecified as a device's; what only the capture still has is given again.
  std::shared_ptr<GraphMemory> allocate(int64_t bytes);
  /// Memory that is not given again.
  std::shared_ptr<GraphMemory> allocate_separate(int64_t bytes);

  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<Wait>& waits() const { return waits_; }

 private:
  friend class Graph;
  [[noreturn]] static void throw_refusal(const char* what);

  Device& device_;
  std::vector<Step> steps_;
  std::vector<Wait> waits_;
  std::vector<std::shared_ptr<GraphMemory>> memory_;
  size_t caller_ = 0;
};

/// A capture that is closed, to be launched. One thread at a time uses it.
class Graph {
 public:
  /// Takes what has been captured.
  explicit Graph(Recording& recording);
  /// Its memory is freed after the work it has been launched for.
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Device& device() const { return device_; }
  const std::vector<Step>& steps() const { return steps_; }
  /// The parts between which the host waits: after piece n comes wait n, after the last one perhaps none.
  size_t pieces() const { return pieces_.size(); }
  const std::vector<Recording::Wait>& waits() const { return waits_; }
  /// Whether somebody else has some of the memory.
  bool is_shared() const;
  /// Releases the memory at an address, which no step has when it is launched.
  void release(Address address);
  /// Gives address `n` of a step (Step::each_address) another value.
  void set_address(size_t step, size_t n, Address address);
  /// Before the pieces of one replay: what the calling thread's stream is given comes after what the graph
  /// has been launched for before, in any stream.
  void begin();
  void launch(size_t piece);

 private:
  struct Piece {
    size_t begin, end;  ///< of the steps
    std::unique_ptr<Sequence> sequence{};
  };
  Device& device_;
  Stream* last_;
  std::vector<std::shared_ptr<GraphMemory>> memory_;
  std::vector<Recording::Wait> waits_;
  std::vector<Step> steps_;
  std::vector<Piece> pieces_;
  std::vector<size_t> changed_{};  ///< changed steps that their sequence does not have yet
  std::vector<bool> is_changed_;
};

template <class Fn>
void Step::each_address(Fn&& fn) const {
  if (kind == Kind::Launch) {
    for (const Argument& argument : arguments)
      if (argument.is_address) fn(std::bit_cast<std::array<Address, 2>>(argument.value)[0]);
    return;
  }
  if (kind == Kind::Routine) {
    for (const DeviceView& view : views) fn(view.data);
    return;
  }
  fn(to);
  if (kind == Kind::Copy) fn(from);
}

}  // namespace ingot::devices
