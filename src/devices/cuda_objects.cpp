// Streams, events, code. Destruction after that of the context, or in a forked child, does nothing.

#include "devices/cuda_device.h"
#include "devices/recording.h"

namespace ingot::devices {

namespace {

constexpr int64_t kPlainShared = 48 * 1024;  ///< of a block, without asking for more

}  // namespace

CudaStream::~CudaStream() {
  if (is_own_ || !is_alive()) return;
  const CudaDevice::Active active(device_, std::nothrow);
  const CudaDriver& driver = device_.driver_;
  const bool is_finished = driver.stream_synchronize(handle_) == kCudaSuccess;
  device_.pool_.retire(*this, is_finished);
  device_.forget_stream(*this);
  device_.libraries_.forget(handle_);
  (void)driver.stream_destroy(handle_);
}

Device& CudaStream::device() const { return device_; }

void CudaStream::synchronize() {
  Recording::refuse("waiting for a stream");
  const CudaDevice::Active active(device_);
  require();
  device_.check(device_.driver_.stream_synchronize(handle_), "waiting for a stream");
}

bool CudaStream::is_done() {
  Recording::refuse("asking a stream");
  const CudaDevice::Active active(device_);
  require();
  return device_.is_idle(*this);
}

CudaEvent::~CudaEvent() {
  if (!is_alive()) return;
  const CudaDevice::Active active(device_, std::nothrow);
  (void)device_.driver_.event_destroy(handle_);
}

void CudaEvent::record(Stream& stream) {
  Recording::refuse("an event");
  const CudaDevice::Active active(device_);
  require();
  device_.check(device_.driver_.event_record(handle_, device_.own(stream).handle_), "recording an event");
}

void CudaEvent::let_wait(Stream& stream) {
  Recording::refuse("an event");
  const CudaDevice::Active active(device_);
  require();
  device_.check(device_.driver_.stream_wait(device_.own(stream).handle_, handle_, 0), "waiting for an event");
}

void CudaEvent::synchronize() {
  Recording::refuse("an event");
  const CudaDevice::Active active(device_);
  require();
  device_.check(device_.driver_.event_synchronize(handle_), "waiting for an event");
}

bool CudaEvent::is_done() {
  Recording::refuse("an event");
  const CudaDevice::Active active(device_);
  require();
  return device_.is_passed(handle_);
}

double CudaEvent::since(Event& start) {
  const CudaDevice::Active active(device_);
  require();
  const auto& from = static_cast<const CudaEvent&>(start);
  from.require(device_);
  float milliseconds = 0;
  device_.check(device_.driver_.event_elapsed(&milliseconds, from.handle_, handle_),
                "the time between events");
  return milliseconds;
}

CudaKernel::CudaKernel(CudaDevice& device, uint64_t life, CudaFunctionHandle handle)
    : CudaObject(device, life), handle_(handle) {
  const auto attribute = [&](CudaFunctionAttribute which) {
    int value = 0;
    device.check(device.driver_.function_get(&value, which, handle), "an attribute of a kernel");
    return value;
  };
  registers_ = attribute(kCudaRegisters);
  local_bytes_ = attribute(kCudaLocalBytes);
  shared_bytes_ = attribute(kCudaSharedBytes);
  has_most_ = shared_bytes_ >= kPlainShared;
}

int CudaKernel::resident_blocks(int threads, int64_t dynamic_shared) const {
  const CudaDevice::Active active(device_);
  require();
  allow(dynamic_shared);
  int blocks = 0;
  device_.check(device_.driver_.resident_blocks(&blocks, handle_, threads, device_.size_of(dynamic_shared)),
                "resident blocks");
  return blocks;
}

void CudaKernel::allow(int64_t dynamic_shared) const {
  const bool is_asked = device_.driver_.function_set != nullptr;
  if (!is_asked || dynamic_shared + shared_bytes_ <= kPlainShared ||
      has_most_.load(std::memory_order_acquire))
    return;
  const auto most = static_cast<int>(device_.properties_.block_memory - shared_bytes_);
  device_.check(device_.driver_.function_set(handle_, kCudaMostDynamic, most), "shared memory of a kernel");
  has_most_.store(true, std::memory_order_release);
}

CudaCode::~CudaCode() {
  if (!is_alive()) return;
  const CudaDevice::Active active(device_, std::nothrow);
  (void)device_.wait_for_streams();
  (void)device_.driver_.module_unload(handle_);
}

const Kernel& CudaCode::kernel(std::string_view name) {
  const CudaDevice::Active active(device_);
  require();
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(name);
  if (found != kernels_.end()) return *found->second;
  const std::string text(name);
  CudaFunctionHandle handle = nullptr;
  device_.check(device_.driver_.module_function(&handle, handle_, text.c_str()),
                ("the kernel " + text).c_str());
  return *kernels_.emplace(text, std::make_unique<CudaKernel>(device_, life_, handle)).first->second;
}

}  // namespace ingot::devices
