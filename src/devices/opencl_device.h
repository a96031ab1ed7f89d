#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "devices/driver_device.h"
#include "devices/opencl_driver.h"

/// Devices reached through OpenCL's ABI. Their memory is shared virtual memory: an address is a pointer, and
/// a kernel takes it as one.
namespace ingot::devices {

class OpenClDevice;

/// A queue that keeps its order.
class OpenClStream final : public Stream {
 public:
  OpenClStream(OpenClDevice& device, OpenClQueueHandle handle) : device_(device), handle_(handle) {}
  ~OpenClStream() override;
  Device& device() const override;
  void synchronize() override;
  bool is_done() override;

 private:
  OpenClDevice& device_;
  OpenClQueueHandle handle_;
  bool is_own_ = false;  ///< the device's, destroyed with it
  mutable std::mutex mutex_;
  OpenClEventHandle last_ = nullptr;  ///< of the last command put into it
  friend class OpenClDevice;
};

class OpenClEvent final : public Event {
 public:
  explicit OpenClEvent(OpenClDevice& device) : device_(device) {}
  ~OpenClEvent() override;
  void record(Stream& stream) override;
  void let_wait(Stream& stream) override;
  void synchronize() override;
  bool is_done() override;
  double since(Event& start) override;

 private:
  OpenClDevice& device_;
  std::mutex mutex_;
  OpenClEventHandle handle_ = nullptr;  ///< null: not recorded

  /// A reference to the point, which the caller releases.
  OpenClEventHandle point();
  uint64_t end();
};

class OpenClKernel final : public Kernel {
 public:
  /// Takes the handle. Throws DeviceError if a parameter's size is not known.
  OpenClKernel(OpenClDevice& device, OpenClKernelHandle handle);
  ~OpenClKernel() override;
  int registers() const override { return 0; }
  int64_t local_bytes() const override { return local_bytes_; }
  int64_t shared_bytes() const override { return shared_bytes_; }
  int resident_blocks(int threads, int64_t dynamic_shared) const override;

 private:
  enum class Kind : uint8_t { Value, Pointer, Shared };
  struct Parameter {
    Kind kind;
    size_t bytes;
  };

  OpenClDevice& device_;
  OpenClKernelHandle handle_;
  std::vector<Parameter> parameters_;
  size_t given_ = 0;  ///< how many of the parameters are values and addresses
  int64_t local_bytes_ = 0, shared_bytes_ = 0, most_threads_ = 0;
  mutable std::mutex mutex_;  ///< of its arguments, from setting them to the launch

  Parameter parameter(unsigned index) const;
  std::string text_of(unsigned index, unsigned what) const;
  friend class OpenClDevice;
};

class OpenClCode final : public Code {
 public:
  OpenClCode(OpenClDevice& device, OpenClProgramHandle handle) : device_(device), handle_(handle) {}
  ~OpenClCode() override;
  const Kernel& kernel(std::string_view name) override;

 private:
  OpenClDevice& device_;
  OpenClProgramHandle handle_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<OpenClKernel>, std::less<>> kernels_;
};

class OpenClDevice final : public DriverDevice {
 public:
  /// Throws DeviceError if the device cannot compute as the CPU does: the reason, after its name. The driver
  /// lives as long.
  OpenClDevice(const OpenClDriver& driver, OpenClDeviceHandle handle, int index);

  std::unique_ptr<Stream> make_stream(int priority) override;
  std::unique_ptr<Event> make_event() override;
  Address allocate(int64_t bytes) override;
  void free(Address address) noexcept override;
  void set_memory_limit(int64_t bytes) override;
  int64_t release_memory() override;
  void write(Address to, const void* from, int64_t bytes) override;
  void read(void* to, Address from, int64_t bytes) override;
  void copy(Address to, Address from, int64_t bytes) override;
  void fill(Address to, std::byte value, int64_t bytes) override;
  void* allocate_pinned(int64_t bytes) override;
  void free_pinned(void* address) noexcept override;
  using Device::load;
  std::unique_ptr<Code> load(std::string_view text, const LoadOptions& options) override;
  void launch(const Kernel& kernel, const Launch& launch, std::span<void* const> arguments) override;
  void synchronize() override;
  /// The driver survives no fault that it reports.
  bool reset() override { return false; }

 private:
  friend class OpenClStream;
  friend class OpenClEvent;
  friend class OpenClKernel;
  friend class OpenClCode;

  /// Puts a command into a queue.
  using Command = std::function<OpenClResult(OpenClQueueHandle queue, OpenClEventHandle* event)>;

  const OpenClDriver& driver_;
  OpenClDeviceHandle handle_;
  OpenClContextHandle context_ = nullptr;
  OpenClStream own_;

  struct Block {
    int64_t bytes;
    void* memory;  ///< the driver's allocation, at most so much below
  };
  mutable std::mutex memory_mutex_;
  std::map<Address, Block> blocks_{};

  /// What the device reports of itself.
  uint64_t number(OpenClDeviceInfo what) const;
  std::string text(OpenClDeviceInfo what) const;
  void describe(int index);
  /// Why it cannot compute as the CPU does; empty if it can.
  std::string fault() const;

  void open() override;
  void check(OpenClResult result, const char* what) const {
    if (result != kOpenClSuccess) [[unlikely]]
      fail(result, what);
  }
  [[noreturn]] void fail(OpenClResult result, const char* what) const;
  OpenClQueueHandle make_queue() const;
  OpenClStream& current() { return static_cast<OpenClStream&>(stream()); }
  /// The stream as one of this device.
  OpenClStream& own(Stream& stream) const {
    require(stream);
    return static_cast<OpenClStream&>(stream);
  }
  /// Throws DeviceError unless all of it is in one block.
  void require_memory(Address address, size_t bytes, const char* what) const;
  bool is_pinned_here(const void* address) const { return find_pinned(address).bytes != 0; }

  /// Puts work into a stream. `waits`: it is done on return.
  void put(OpenClStream& stream, const char* what, bool waits, const Command& command);
  void put_copy(void* to, const void* from, size_t bytes, const char* what, bool waits);
  /// Whether the event's command is done; a failure is thrown, as the device's fault.
  bool is_complete(OpenClEventHandle event) const;
  void wait_for(const OpenClStream& stream) const;
  void wait_for_streams() const;
  /// Waits; false: one has failed, and nothing runs any more.
  bool are_streams_done() const noexcept;
  void set_arguments(const OpenClKernel& kernel, const Launch& launch,
                     std::span<void* const> arguments) const;

  Address take(int64_t bytes) override;
  bool give_back(Address address) noexcept override;
  bool is_idle(const Stream& stream) override;
  void wait(const Stream& stream) override;
  Mark mark(const Stream& stream) override;
  bool is_passed(Mark mark) override;
  /// The host waits.
  void let_wait(const Stream& stream, Mark mark) override;
  void drop(Mark mark) noexcept override;
};

/// The devices of all platforms that can compute as the CPU does. Throws DeviceError with the reasons if
/// there is none.
std::vector<std::unique_ptr<Device>> opencl_devices(const OpenClDriver& driver);

}  // namespace ingot::devices
