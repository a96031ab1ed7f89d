// Each command gives an event, of which a stream keeps the last: it states whether the stream is done. Queues
// are flushed at once, as a driver need not begin before.

#include "devices/opencl_device.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "devices/observer.h"
#include "devices/recording.h"
#include "devices/thread_streams.h"

namespace ingot::devices {

namespace {

constexpr uint64_t kAlignment = 256;
constexpr unsigned kDriverAlignment = 128;  ///< the most that a driver gives
constexpr int kMostThreads = 1024;
constexpr size_t kStaged = size_t{1} << 16;  ///< writes up to so many bytes are copied, and not waited for

void free_staged(OpenClEventHandle, int, void* bytes) { delete[] static_cast<std::byte*>(bytes); }

void* pointer_to(Address address) { return std::bit_cast<void*>(address); }

}  // namespace

OpenClDevice::OpenClDevice(const OpenClDriver& driver, OpenClDeviceHandle handle, int index)
    : DriverDevice(driver, own_), driver_(driver), handle_(handle), own_(*this, nullptr) {
  own_.is_own_ = true;
  describe(index);
  if (const std::string why = fault(); !why.empty()) throw DeviceError(properties_.name + " " + why);
}

uint64_t OpenClDevice::number(OpenClDeviceInfo what) const {
  uint64_t value = 0;  // of 4 or 8 bytes, the low bytes first
  check(driver_.device_info(handle_, what, sizeof value, &value, nullptr), "an attribute");
  return value;
}

std::string OpenClDevice::text(OpenClDeviceInfo what) const {
  size_t size = 0;
  check(driver_.device_info(handle_, what, 0, nullptr, &size), "an attribute");
  std::string value(size, '\0');
  check(driver_.device_info(handle_, what, size, value.data(), nullptr), "an attribute");
  value.resize(std::min(value.find('\0'), size));
  return value;
}

void OpenClDevice::describe(int index) {
  properties_.kind = properties_.code = "opencl";
  properties_.index = index;
  properties_.name = text(kOpenClDeviceName);
  properties_.memory = static_cast<int64_t>(number(kOpenClDeviceMemory));
  properties_.processors = static_cast<int>(number(kOpenClDeviceProcessors));
  properties_.warp = 1;
  properties_.has_grid_barriers = false;
  properties_.block_threads =
      static_cast<int>(std::min<uint64_t>(number(kOpenClDeviceBlockThreads), kMostThreads));
  properties_.block_memory = static_cast<int64_t>(number(kOpenClDeviceBlockMemory));
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  properties_.grid = {kMost, kMost, kMost};
}

std::string OpenClDevice::fault() const {
  if (number(kOpenClDeviceAddressBits) != 64 || number(kOpenClDeviceIsLittle) == 0)
    return "is no 64-bit device of the host's byte order";
  if ((number(kOpenClDeviceSharing) & kOpenClSharesBuffers) == 0) return "has no shared virtual memory";
  const std::string has = " " + text(kOpenClDeviceExtensions) + " ";
  for (const char* extension :
       {"cl_khr_fp64", "cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"}) {
    if (has.find(" " + std::string(extension) + " ") == std::string::npos)
      return "has no " + std::string(extension);
  }
  constexpr uint64_t kBoth =
      kOpenClFloatSubnormals | kOpenClFloatSpecials | kOpenClFloatNearest | kOpenClFloatFma;
  constexpr uint64_t kFloats = kBoth | kOpenClFloatRoundsQuotients;
  if ((number(kOpenClDeviceFloats) & kFloats) != kFloats || (number(kOpenClDeviceDoubles) & kBoth) != kBoth)
    return "does not round as IEEE 754 specifies, or has no subnormal numbers";
  return "";
}

void OpenClDevice::open() {
  OpenClResult result = kOpenClSuccess;
  if (context_ == nullptr) context_ = driver_.context_create(nullptr, 1, &handle_, nullptr, nullptr, &result);
  check(result, "its context");
  own_.handle_ = make_queue();
}

OpenClQueueHandle OpenClDevice::make_queue() const {
  const std::array<uint64_t, 3> properties{kOpenClQueueProperties, kOpenClQueueTimes, 0};
  OpenClResult result = kOpenClSuccess;
  OpenClQueueObject* const queue = driver_.queue_create(context_, handle_, properties.data(), &result);
  check(result, "a new stream");
  return queue;
}

void OpenClDevice::fail(OpenClResult result, const char* what) const {
  const std::string words = std::string(what) + ": " + OpenClDriver::text(result);
  if (result == kOpenClNoMemory) throw OutOfMemory(0, name() + ": " + words);
  refuse(words);
}

/// All streams have one priority.
std::unique_ptr<Stream> OpenClDevice::make_stream(int /*priority*/) {
  require_usable();
  auto made = std::make_unique<OpenClStream>(*this, make_queue());
  keep_stream(*made);
  return made;
}

std::unique_ptr<Event> OpenClDevice::make_event() {
  require_usable();
  return std::make_unique<OpenClEvent>(*this);
}

Address OpenClDevice::allocate(int64_t bytes) {
  require_usable();
  return pool_.allocate(bytes, current());
}

void OpenClDevice::free(Address address) noexcept {
  if (address == 0 || driver_.is_inherited()) return;
  pool_.free(address, current());
}

void OpenClDevice::set_memory_limit(int64_t bytes) {
  require_usable();
  pool_.set_limit(bytes);
}

int64_t OpenClDevice::release_memory() {
  require_usable();
  return pool_.release();
}

void OpenClDevice::require_memory(Address address, size_t bytes, const char* what) const {
  const std::lock_guard lock(memory_mutex_);
  const auto after = blocks_.upper_bound(address);
  if (after != blocks_.begin()) {
    const auto& [start, block] = *std::prev(after);
    const auto size = static_cast<uint64_t>(block.bytes);
    if (address - start <= size && bytes <= size - (address - start)) return;
  }
  refuse(std::string(what) + ": outside of the device's memory");
}

void OpenClDevice::put(OpenClStream& stream, const char* what, bool waits, const Command& command) {
  OpenClEventHandle event = nullptr;
  {
    const std::lock_guard lock(stream.mutex_);
    check(command(stream.handle_, &event), what);
    if (stream.last_ != nullptr) (void)driver_.event_release(stream.last_);
    stream.last_ = event;
    if (waits) (void)driver_.event_retain(event);
    check(driver_.queue_flush(stream.handle_), what);
  }
  if (!waits) return;
  (void)driver_.event_wait(1, &event);  // a failure is in the event
  const std::unique_ptr<OpenClEventObject, OpenClResult (*)(OpenClEventHandle)> owner(event,
                                                                                      driver_.event_release);
  (void)is_complete(event);
}

void OpenClDevice::put_copy(void* to, const void* from, size_t bytes, const char* what, bool waits) {
  put(current(), what, waits, [&](OpenClQueueHandle queue, OpenClEventHandle* event) {
    return driver_.copy(queue, 0, to, from, bytes, 0, nullptr, event);
  });
}

void OpenClDevice::write(Address to, const void* from, int64_t bytes) {
  Recording::refuse("a copy to the device");
  const ObservedCopy observed(*this, Observer::Copy::ToDevice, bytes);
  require_usable();
  constexpr const char* kWhat = "a copy to the device";
  const size_t size = size_of(bytes);
  if (size == 0) return;
  require_memory(to, size, kWhat);
  count_to_device(bytes);
  if (size > kStaged || is_pinned_here(from))
    return put_copy(pointer_to(to), from, size, kWhat, !is_pinned_here(from));
  auto staged = std::make_unique<std::byte[]>(size);
  std::memcpy(staged.get(), from, size);
  put(current(), kWhat, false, [&](OpenClQueueHandle queue, OpenClEventHandle* event) {
    const OpenClResult result = driver_.copy(queue, 0, pointer_to(to), staged.get(), size, 0, nullptr, event);
    if (result != kOpenClSuccess) return result;
    std::byte* const bytes_of = staged.release();
    // Where it is not known when they are read, they stay.
    (void)driver_.event_callback(*event, kOpenClEventComplete, free_staged, bytes_of);
    return result;
  });
}

void OpenClDevice::read(void* to, Address from, int64_t bytes) {
  Recording::refuse("a copy from the device");
  const ObservedCopy observed(*this, Observer::Copy::ToHost, bytes);
  require_usable();
  constexpr const char* kWhat = "a copy from the device";
  if (size_of(bytes) == 0) return;
  require_memory(from, size_of(bytes), kWhat);
  count_to_host(bytes);
  put_copy(to, pointer_to(from), size_of(bytes), kWhat, !is_pinned_here(to));
}

void OpenClDevice::copy(Address to, Address from, int64_t bytes) {
  if (Recording* const recording = Recording::of_thread()) [[unlikely]]
    return recording->copy(*this, to, from, bytes);
  require_usable();
  constexpr const char* kWhat = "a copy on the device";
  if (size_of(bytes) == 0) return;
  require_memory(to, size_of(bytes), kWhat);
  require_memory(from, size_of(bytes), kWhat);
  put_copy(pointer_to(to), pointer_to(from), size_of(bytes), kWhat, false);
}

void OpenClDevice::fill(Address to, std::byte value, int64_t bytes) {
  if (Recording* const recording = Recording::of_thread()) [[unlikely]]
    return recording->fill(*this, to, value, bytes);
  const ObservedCopy observed(*this, Observer::Copy::Fill, bytes);
  require_usable();
  constexpr const char* kWhat = "filling memory";
  if (size_of(bytes) == 0) return;
  require_memory(to, size_of(bytes), kWhat);
  put(current(), kWhat, false, [&](OpenClQueueHandle queue, OpenClEventHandle* event) {
    return driver_.fill(queue, pointer_to(to), &value, 1, size_of(bytes), 0, nullptr, event);
  });
}

/// Any memory of the host's will do.
void* OpenClDevice::allocate_pinned(int64_t bytes) {
  require_usable();
  const size_t size = std::max<size_t>(size_of(bytes), 1);
  void* const memory = ::operator new(size, std::align_val_t{kAlignment}, std::nothrow);
  if (memory == nullptr) return nullptr;
  keep_pinned({reinterpret_cast<uintptr_t>(memory), static_cast<int64_t>(size)});
  return memory;
}

void OpenClDevice::free_pinned(void* address) noexcept {
  if (driver_.is_inherited() || !is_pinned_here(address)) return;
  (void)are_streams_done();
  const std::lock_guard lock(pinned_mutex_);
  if (pinned_.erase(reinterpret_cast<uintptr_t>(address)) != 0)
    ::operator delete(address, std::align_val_t{kAlignment});
}

void OpenClDevice::synchronize() {
  Recording::refuse("waiting for a device");
  require_usable();
  wait_for_streams();
}

bool OpenClDevice::is_complete(OpenClEventHandle event) const {
  int status = kOpenClEventComplete;
  check(driver_.event_info(event, kOpenClEventStatus, sizeof status, &status, nullptr), "an event");
  if (status >= 0) return status == kOpenClEventComplete;
  fail_for_good(OpenClDriver::text(static_cast<OpenClResult>(status)));
}

void OpenClDevice::wait_for(const OpenClStream& stream) const {
  check(driver_.queue_finish(stream.handle_), "waiting for a stream");
  const std::lock_guard lock(stream.mutex_);
  if (stream.last_ != nullptr) (void)is_complete(stream.last_);
}

void OpenClDevice::wait_for_streams() const {
  if (!is_open_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  wait_for(own_);
  for (const Stream* const stream : streams_) wait_for(static_cast<const OpenClStream&>(*stream));
}

bool OpenClDevice::are_streams_done() const noexcept {
  try {
    wait_for_streams();
    return true;
  } catch (const DeviceError&) {
    return false;
  }
}

Address OpenClDevice::take(int64_t bytes) {
  void* const memory = driver_.memory_allocate(context_, kOpenClReadWrite,
                                               static_cast<size_t>(bytes) + kAlignment, kDriverAlignment);
  if (memory == nullptr) return 0;
  const Address start = (reinterpret_cast<Address>(memory) + kAlignment - 1) & ~(kAlignment - 1);
  const std::lock_guard lock(memory_mutex_);
  blocks_[start] = {bytes, memory};
  return start;
}

bool OpenClDevice::give_back(Address address) noexcept {
  if (!are_streams_done()) return false;
  void* memory = nullptr;
  {
    const std::lock_guard lock(memory_mutex_);
    const auto found = blocks_.find(address);
    if (found == blocks_.end()) return false;
    memory = found->second.memory;
    blocks_.erase(found);
  }
  driver_.memory_free(context_, memory);
  return true;
}

bool OpenClDevice::is_idle(const Stream& stream) {
  const auto& queue = static_cast<const OpenClStream&>(stream);
  const std::lock_guard lock(queue.mutex_);
  return queue.last_ == nullptr || is_complete(queue.last_);
}

void OpenClDevice::wait(const Stream& stream) { wait_for(static_cast<const OpenClStream&>(stream)); }

PoolSource::Mark OpenClDevice::mark(const Stream& stream) {
  const auto& queue = static_cast<const OpenClStream&>(stream);
  const std::lock_guard lock(queue.mutex_);
  OpenClEventHandle event = queue.last_;
  if (event != nullptr) check(driver_.event_retain(event), "an event");
  else check(driver_.marker(queue.handle_, 0, nullptr, &event), "an event");
  check(driver_.queue_flush(queue.handle_), "an event");
  return event;
}

bool OpenClDevice::is_passed(Mark mark) { return is_complete(static_cast<OpenClEventHandle>(mark)); }

void OpenClDevice::let_wait(const Stream& /*stream*/, Mark mark) {
  auto* const event = static_cast<OpenClEventHandle>(mark);
  (void)driver_.event_wait(1, &event);
}

void OpenClDevice::drop(Mark mark) noexcept {
  (void)driver_.event_release(static_cast<OpenClEventHandle>(mark));
}

std::vector<std::unique_ptr<Device>> opencl_devices(const OpenClDriver& driver) {
  constexpr unsigned kMost = 64;
  std::array<OpenClPlatformHandle, kMost> platforms{};
  unsigned platform_count = 0;
  (void)driver.platforms(kMost, platforms.data(), &platform_count);
  std::vector<std::unique_ptr<Device>> found;
  std::string reasons;
  for (unsigned p = 0; p < std::min(platform_count, kMost); ++p) {
    std::array<OpenClDeviceHandle, kMost> handles{};
    unsigned count = 0;
    if (driver.device_list(platforms[p], kOpenClAnyDevice, kMost, handles.data(), &count) != kOpenClSuccess)
      continue;
    for (unsigned d = 0; d < std::min(count, kMost); ++d) {
      try {
        found.push_back(std::make_unique<OpenClDevice>(driver, handles[d], static_cast<int>(found.size())));
      } catch (const DeviceError& error) {
        reasons += (reasons.empty() ? "" : "; ") + std::string(error.what());
      }
    }
  }
  if (found.empty()) throw DeviceError(reasons.empty() ? "no driver of OpenCL's has a device" : reasons);
  return found;
}

}  // namespace ingot::devices
