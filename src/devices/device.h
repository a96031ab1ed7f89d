#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// GPUs as a program sees them: memory, code, streams. A driver is opened when it is first asked for; nothing
/// of a vendor's is needed to build, nor to start.
///
/// All functions may be called from any thread. A function that throws leaves the device as it was. In a
/// child that was forked after a driver had been opened, its devices throw DeviceError, and destruction does
/// nothing.
namespace ingot::devices {

/// A location in a device's memory, which the host cannot touch. 0 is none.
using Address = uint64_t;

/// A request that a driver refuses, or a fault of a kernel: "gpu 0: a copy: ...", "gpu 0 has failed: ...".
/// After a fault of a kernel, every later call of the device throws the same error.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Device memory has run out: of the device, or of the limit that is set.
class OutOfMemory : public DeviceError {
 public:
  OutOfMemory(int64_t bytes, const std::string& message) : DeviceError(message), bytes_(bytes) {}
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_;
};

struct Properties {
  std::string kind;    ///< how a program asks for it: `gpu`, `emulated`, `opencl`, `amd`
  std::string code;    ///< the code that `load` takes: PTX (`sm_90`), OpenCL C (`opencl`), objects (`gfx942`)
  std::string name;    ///< the vendor's
  int index = 0;       ///< among those of its kind
  int capability = 0;  ///< compute capability times ten: 90; 0: none
  int driver = 0;      ///< the driver's version, 1000 times the major one; 0: not known
  int64_t memory = 0;  ///< bytes
  int processors = 0;  ///< blocks run on
  int copy_engines = 0;           ///< that copy from and to the host while kernels run; 0: none, or not known
  int warp = 32;                  ///< threads that run in lock step; 1: kernels may rely on none
  bool has_grid_barriers = true;  ///< all blocks of a launch can be resident at once
  int block_threads = 0;          ///< of a block, at most
  int64_t block_memory = 0;       ///< shared memory of a block, at most, in bytes
  std::array<int64_t, 3> grid{};  ///< blocks along each axis, at most
};

/// Bytes of whole blocks.
struct MemoryUse {
  int64_t limit;   ///< of `in_use` and `kept` together; 0: the device's memory
  int64_t in_use;  ///< of live allocations
  int64_t kept;    ///< freed, and kept for the next allocations
  int64_t peak;    ///< the most that was in use since the start or the last `reset_peak`
};

/// Bytes that copies have moved since the start.
struct Traffic {
  int64_t to_device;
  int64_t to_host;
};

class CopyQueues;
class Device;
class Libraries;
class Sequence;
struct Step;

/// A queue of a device: operations are done in order, while the host goes on. Destroyed only when it is
/// empty.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual Device& device() const = 0;
  /// Waits for all operations in it. Throws DeviceError if a kernel has failed.
  virtual void synchronize() = 0;
  /// Whether all operations in it are done.
  virtual bool is_done() = 0;
};

/// A point in a stream.
class Event {
 public:
  virtual ~Event() = default;
  virtual void record(Stream& stream) = 0;
  /// Operations put into the stream later wait for the point.
  virtual void let_wait(Stream& stream) = 0;
  virtual void synchronize() = 0;
  virtual bool is_done() = 0;
  /// Milliseconds from the other point to this one; both are done.
  virtual double since(Event& start) = 0;
};

/// A kernel of loaded code.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual int registers() const = 0;
  virtual int64_t local_bytes() const = 0;   ///< of a thread
  virtual int64_t shared_bytes() const = 0;  ///< of a block, static
  /// Blocks of so many threads, with so many bytes of dynamic shared memory, that a processor holds at once.
  virtual int resident_blocks(int threads, int64_t dynamic_shared) const = 0;
};

/// Loaded code. Unloaded when it is destroyed, after what runs of it.
class Code {
 public:
  virtual ~Code() = default;
  /// Throws DeviceError if there is no such kernel. Lives as long as the code.
  virtual const Kernel& kernel(std::string_view name) = 0;
};

/// Functions from elsewhere, to be linked with a text that is loaded.
struct LinkInput {
  enum class Kind : uint8_t { Ptx, Source, Cubin, Object, Fatbin, Archive, LtoIr };
  Kind kind = Kind::Ptx;
  std::string name;  ///< of the file, or a stand-in for it, in messages
  std::string bytes;
};

struct LoadOptions {
  std::vector<LinkInput> linked{};
  int max_registers = 0;  ///< of a thread; 0: as many as the compiler chooses
};

/// How a program names, to another library of its own, a device that assembles.
inline constexpr const char* kAssemblerName = "ingot.assembler";

struct Launch {
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> block{1, 1, 1};
  uint32_t shared_bytes = 0;  ///< dynamic
  bool cooperative = false;   ///< all blocks are resident at once, and may wait for each other
};

/// One device of a driver. Lives until the process ends.
class Device {
 public:
  virtual ~Device() = default;
  virtual const Properties& properties() const = 0;

  /// The stream that the calling thread's work goes into: the device's own, or the one that `use_stream` has
  /// set for this thread (null: the device's own again). The caller keeps it alive as long as it is set.
  virtual Stream& stream() = 0;
  virtual void use_stream(Stream* stream) = 0;
  /// Work of a stream of greater priority goes first; a priority that the device does not have becomes the
  /// nearest that it has.
  virtual std::unique_ptr<Stream> make_stream(int priority = 0) = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
  /// An event without a time.
  virtual std::unique_ptr<Event> make_point() { return make_event(); }
  /// A stream whose work rather waits for memory that another stream still uses than that there is more of it
  /// (pool.h).
  virtual std::unique_ptr<Stream> make_upload_stream() { return make_stream(); }
  /// Operations put into `after` from now on wait for those that are in `before` now.
  virtual void order(Stream& before, Stream& after);

  /// @name Memory, in the order of the calling thread's stream
  /// `bytes` bytes (0 is allowed), aligned to 256, values unspecified. Throws OutOfMemory, after freed memory
  /// has been given back without success.
  virtual Address allocate(int64_t bytes) = 0;
  /// Work in the stream may still use it; work of other streams on it has to be waited for before. Does
  /// nothing for 0 and for what is not live.
  virtual void free(Address address) noexcept = 0;
  virtual MemoryUse memory() const = 0;
  /// Bytes that the driver still has; without the memory that is kept here.
  virtual int64_t free_memory();
  /// Of `in_use` and `kept` together; 0: none. Kept memory is given back first.
  virtual void set_memory_limit(int64_t bytes) = 0;
  virtual void reset_memory_peak() = 0;
  /// Gives kept memory back to the driver; the number of bytes.
  virtual int64_t release_memory() = 0;

  /// @name Copies, in order of the stream
  /// Reads the host's memory before it returns; or, of pinned memory, later.
  virtual void write(Address to, const void* from, int64_t bytes) = 0;
  /// Done when it returns; or, into pinned memory, later.
  virtual void read(void* to, Address from, int64_t bytes) = 0;
  virtual void copy(Address to, Address from, int64_t bytes) = 0;
  virtual void fill(Address to, std::byte value, int64_t bytes) = 0;
  /// From another device's memory: after what is in that device's stream of the calling thread, which does
  /// not go on before it is done. False: the two do not copy from each other.
  virtual bool copy_from(Device& other, Address to, Address from, int64_t bytes);
  /// Where copies overlap kernels; null: the device does one thing after the other. Lives as long as the
  /// device.
  CopyQueues* copies() const { return copies_; }
  Traffic traffic() const { return {to_device_, to_host_}; }
  /// Host memory that copies need not wait for; null if there is none.
  virtual void* allocate_pinned(int64_t bytes) = 0;
  /// Whether the driver has such memory that kernels may use, too.
  virtual bool has_mapped_memory() const { return false; }
  /// ... null if there is none left. Throws DeviceError where the driver has none.
  virtual void* allocate_mapped(int64_t bytes);
  /// Memory that the host and kernels both use, and that moves to where it is used; null if there is none
  /// left, or more than the device has is asked for. Throws DeviceError where there is no such memory that
  /// both may use at the same time.
  virtual void* allocate_managed(int64_t bytes);
  /// Of any of the three. Waits for all streams.
  virtual void free_pinned(void* address) noexcept = 0;
  /// Makes the host's memory pinned, until it is unpinned. Throws DeviceError where the driver cannot.
  virtual void pin(void* memory, int64_t bytes);
  /// Waits for all streams. Does nothing for what is not pinned.
  virtual void unpin(void* memory) noexcept;
  /// Whether copies from and to it may be asynchronous.
  virtual bool is_pinned(const void* memory) const;
  /// The address for kernels of memory of `allocate_mapped` and `allocate_managed`, from here to its end; 0:
  /// it is none.
  virtual Address mapped(const void* memory, int64_t bytes) const;

  /// @name Code
  /// From a text of the kind that `Properties::code` names. Throws DeviceError with the words of the driver,
  /// or of the vendor's tools, and for what cannot be linked there.
  virtual std::unique_ptr<Code> load(std::string_view text, const LoadOptions& options) = 0;
  std::unique_ptr<Code> load(std::string_view text) { return load(text, {}); }
  /// What the vendor's compiler makes of a text that is linked with nothing. It can be loaded on every device
  /// of the same `code`, `capability` and `driver`. Nothing: the text is compiled when it is loaded, which
  /// reports what is wrong with it.
  virtual std::optional<std::string> assemble(std::string_view /*text*/) const noexcept {
    return std::nullopt;
  }
  /// From what `assemble` gave.
  virtual std::unique_ptr<Code> load_assembled(std::string_view code);
  /// `arguments`: the address of each of the kernel's parameters, read before it returns.
  virtual void launch(const Kernel& kernel, const Launch& launch, std::span<void* const> arguments) = 0;
  /// A graph capture: does all these steps each time that it is launched (recording.h).
  virtual std::unique_ptr<Sequence> make_sequence(std::span<const Step> steps);

  /// The vendor's libraries (`devices/libraries.h`); null: it has none. Lives as long as the device.
  virtual Libraries* libraries() { return nullptr; }
  /// The number of launches.
  int64_t launches() const { return launches_.load(std::memory_order_relaxed); }

  /// Waits for all streams. Throws DeviceError if a kernel has failed.
  virtual void synchronize() = 0;
  /// After a fault: begins anew, with no memory, code or streams; false: the driver cannot. Other users of
  /// the driver's primary context lose it. Objects from before throw DeviceError, and may be destroyed,
  /// memory may be freed. For tests.
  virtual bool reset() = 0;
  /// Changes with each reset: objects of another life are gone.
  virtual uint64_t life() const { return 0; }

 protected:
  void count_to_device(int64_t bytes) { to_device_.fetch_add(bytes, std::memory_order_relaxed); }
  void count_to_host(int64_t bytes) { to_host_.fetch_add(bytes, std::memory_order_relaxed); }
  void count_launch() { launches_.fetch_add(1, std::memory_order_relaxed); }

  CopyQueues* copies_ = nullptr;

 private:
  std::atomic<int64_t> to_device_{0}, to_host_{0}, launches_{0};
};

/// The devices of a kind, `gpu`, `emulated`, `opencl` or `amd`, found when it is first asked for; none where
/// there is no driver. The driver of `gpu` is `libcuda.so.1`, that of `opencl` is `libOpenCL.so.1`, that of
/// `amd` `libamdhip64.so.6` with `libamd_comgr.so.2`; that of
/// `emulated` is `softgpu/libcuda.so.1` next to the binary that this code is in, or next to one of the three
/// folders around it, or where `set_emulated_driver` gives it.
std::span<Device* const> devices(std::string_view kind);
/// Why there are none of this kind: a sentence; empty if there are.
std::string why_none(std::string_view kind);
/// Where the software device is; before it is first asked for.
void set_emulated_driver(std::string path);

}  // namespace ingot::devices
