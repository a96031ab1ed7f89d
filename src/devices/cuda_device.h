#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "devices/copy_queues.h"
#include "devices/cuda_driver.h"
#include "devices/driver_device.h"
#include "devices/libraries.h"

/// Devices reached through the CUDA driver's ABI.
namespace ingot::devices {

class CudaDevice;

/// An object that a device has made, and that goes with its context.
class CudaObject {
 public:
  CudaDevice& device() const { return device_; }

 protected:
  CudaObject(CudaDevice& device, uint64_t life) : device_(device), life_(life) {}
  ~CudaObject() = default;
  CudaObject(const CudaObject&) = delete;
  CudaObject& operator=(const CudaObject&) = delete;

  /// Throws DeviceError unless it is `on`'s and was made since its last reset.
  void require(const CudaDevice& on) const;
  void require() const { require(device_); }
  /// Whether there is still something to destroy.
  bool is_alive() const noexcept;

  CudaDevice& device_;
  uint64_t life_;  ///< of the device, when it was made
  friend class CudaDevice;
};

class CudaStream final : public Stream, public CudaObject {
 public:
  CudaStream(CudaDevice& device, uint64_t life, CudaStreamHandle handle)
      : CudaObject(device, life), handle_(handle) {}
  ~CudaStream() override;
  Device& device() const override;
  void synchronize() override;
  bool is_done() override;

 private:
  CudaStreamHandle handle_;
  bool is_own_ = false;  ///< the device's, destroyed with it
  friend class CudaDevice;
  friend class CudaEvent;
};

class CudaEvent final : public Event, public CudaObject {
 public:
  CudaEvent(CudaDevice& device, uint64_t life, CudaEventHandle handle)
      : CudaObject(device, life), handle_(handle) {}
  ~CudaEvent() override;
  void record(Stream& stream) override;
  void let_wait(Stream& stream) override;
  void synchronize() override;
  bool is_done() override;
  double since(Event& start) override;

 private:
  CudaEventHandle handle_;
};

class CudaKernel final : public Kernel, public CudaObject {
 public:
  CudaKernel(CudaDevice& device, uint64_t life, CudaFunctionHandle handle);
  int registers() const override { return registers_; }
  int64_t local_bytes() const override { return local_bytes_; }
  int64_t shared_bytes() const override { return shared_bytes_; }
  int resident_blocks(int threads, int64_t dynamic_shared) const override;

 private:
  CudaFunctionHandle handle_;
  int registers_ = 0, local_bytes_ = 0, shared_bytes_ = 0;
  friend class CudaSequence;
  mutable std::atomic<bool> has_most_{false};  ///< may use all shared memory that there is

  /// Makes the driver allow so much dynamic shared memory.
  void allow(int64_t dynamic_shared) const;
  friend class CudaDevice;
};

class CudaCode final : public Code, public CudaObject {
 public:
  CudaCode(CudaDevice& device, uint64_t life, CudaModuleHandle handle)
      : CudaObject(device, life), handle_(handle) {}
  ~CudaCode() override;
  const Kernel& kernel(std::string_view name) override;

 private:
  CudaModuleHandle handle_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<CudaKernel>, std::less<>> kernels_;
};

/// Its context is the primary one, so that other libraries' memory is usable together with it; it is retained
/// when it is first needed, and current on a thread while the thread is in here.
class CudaDevice final : public DriverDevice {
 public:
  /// Throws DeviceError if the driver does not report it. The driver lives as long.
  CudaDevice(const CudaDriver& driver, std::string kind, int index);

  std::unique_ptr<Stream> make_stream(int priority) override;
  std::unique_ptr<Event> make_event() override { return new_event(0); }
  std::unique_ptr<Event> make_point() override { return new_event(kCudaEventNoTiming); }
  std::unique_ptr<Stream> make_upload_stream() override;
  void order(Stream& before, Stream& after) override;
  Address allocate(int64_t bytes) override;
  void free(Address address) noexcept override;
  int64_t free_memory() override;
  void set_memory_limit(int64_t bytes) override;
  int64_t release_memory() override;
  void write(Address to, const void* from, int64_t bytes) override;
  void read(void* to, Address from, int64_t bytes) override;
  void copy(Address to, Address from, int64_t bytes) override;
  void fill(Address to, std::byte value, int64_t bytes) override;
  bool copy_from(Device& other, Address to, Address from, int64_t bytes) override;
  void* allocate_pinned(int64_t bytes) override;
  bool has_mapped_memory() const override { return true; }
  void* allocate_mapped(int64_t bytes) override;
  void* allocate_managed(int64_t bytes) override;
  void free_pinned(void* address) noexcept override;
  void pin(void* memory, int64_t bytes) override;
  void unpin(void* memory) noexcept override;
  bool is_pinned(const void* memory) const override { return find_pinned(memory).bytes != 0; }
  Address mapped(const void* memory, int64_t bytes) const override;
  using Device::load;
  std::unique_ptr<Code> load(std::string_view text, const LoadOptions& options) override;
  std::optional<std::string> assemble(std::string_view text) const noexcept override;
  std::unique_ptr<Code> load_assembled(std::string_view code) override;
  void launch(const Kernel& kernel, const Launch& launch, std::span<void* const> arguments) override;
  Libraries* libraries() override { return driver_.has_capabilities() ? &libraries_ : nullptr; }
  std::unique_ptr<Sequence> make_sequence(std::span<const Step> steps) override;
  void synchronize() override;
  bool reset() override;

  const CudaDriver& driver() const { return driver_; }
  uint64_t life() const override { return life_.load(std::memory_order_relaxed); }
  /// Whether something made in this life is still there to be destroyed.
  bool lives(uint64_t life) const noexcept;

 private:
  friend class CudaObject;
  friend class CudaSession;
  friend class CudaStream;
  friend class CudaEvent;
  friend class CudaKernel;
  friend class CudaCode;
  friend class CudaSequence;

  /// During its lifetime, the context is current on its thread.
  class Active {
   public:
    /// Throws DeviceError if the device cannot be used: after a fork, after a fault.
    explicit Active(CudaDevice& device);
    /// For destruction: also after a fault. The device has a context.
    Active(const CudaDevice& device, std::nothrow_t) noexcept : device_(device) { result_ = enter(); }
    ~Active();
    Active(const Active&) = delete;
    Active& operator=(const Active&) = delete;

    CudaResult result() const { return result_; }

   private:
    const CudaDevice& device_;
    CudaResult result_ = kCudaSuccess;
    bool is_pushed_ = false;
    CudaResult enter() noexcept;
  };

  const CudaDriver& driver_;
  int number_ = 0;  ///< CUdevice

  std::atomic<uint64_t> life_{1};
  CudaContextHandle context_ = nullptr;
  CudaStream own_;
  std::optional<CopyQueues> queues_{};

  std::vector<const CudaDevice*> peers_{};  ///< whose memory it may access; under `mutex_`

  std::vector<CudaEventHandle> spare_marks_{};  ///< under the pool's mutex
  Libraries libraries_{*this};

  void open() override;
  /// Throws DeviceError unless the result is success. "gpu 0: a copy: out of memory (CUDA_...)".
  void check(CudaResult result, const char* what) const {
    if (result != kCudaSuccess) [[unlikely]]
      fail(result, what);
  }
  [[noreturn]] void fail(CudaResult result, const char* what) const;
  CudaStream& current() { return static_cast<CudaStream&>(stream()); }
  /// Of the calling thread's stream, which is alive.
  CudaStreamHandle current_handle();
  /// The stream as one of this device that is alive.
  CudaStream& own(Stream& stream) const {
    require(stream);
    return static_cast<CudaStream&>(stream);
  }
  void require(Stream& stream) const override;
  std::unique_ptr<Code> load_image(const void* image, int max_registers);
  std::unique_ptr<Code> link_by_driver(std::string_view text, const LoadOptions& options);
  /// Throws DeviceError where there is something that the software device cannot link.
  void refuse_binaries(const LoadOptions& options) const;
  std::optional<std::string> cubin_of(std::string_view text, const LoadOptions& options) const;
  [[noreturn]] void refuse_code(CudaResult result, const char* log) const;
  /// Waits for all streams, even where one fails; the first failure.
  CudaResult wait_for_streams() const noexcept;
  /// Has copies from the other device's memory take the shortest path. The context is current.
  void reach(const CudaDevice& other);
  /// An event at the end of a stream of this device's, which others wait for.
  CudaEventHandle marked(CudaStreamHandle stream);
  std::unique_ptr<Event> new_event(unsigned flags);
  void* new_pinned(int64_t bytes, unsigned flags);

  Address take(int64_t bytes) override;
  bool give_back(Address address) noexcept override;
  bool is_idle(const Stream& stream) override;
  void wait(const Stream& stream) override;
  Mark mark(const Stream& stream) override;
  bool is_passed(Mark mark) override;
  void let_wait(const Stream& stream, Mark mark) override;
  void drop(Mark mark) noexcept override;
};

/// During its lifetime, calls of the vendor's libraries by its thread use the device's context.
class CudaSession {
 public:
  /// Throws DeviceError if the device cannot be used.
  explicit CudaSession(CudaDevice& device) : active_(device), stream_(device.current_handle()) {}
  /// For destruction, of a device that is alive.
  CudaSession(const CudaDevice& device, std::nothrow_t) noexcept : active_(device, std::nothrow) {}

  /// The calling thread's.
  CudaStreamHandle stream() const { return stream_; }

 private:
  CudaDevice::Active active_;
  CudaStreamHandle stream_ = nullptr;
};

}  // namespace ingot::devices
