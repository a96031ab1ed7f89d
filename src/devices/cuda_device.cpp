// Entering a device checks in this order: whether the process has been forked, whether there is a context
// yet, whether it has failed, whether it is current on the thread. If another context was current, it is
// again when the thread leaves: other libraries work on the device of the current context. If none was, that
// of the first device stays, which is their default.

#include "devices/cuda_device.h"

#include <algorithm>
#include <array>

#include "devices/observer.h"
#include "devices/recording.h"
#include "devices/thread_streams.h"

namespace ingot::devices {

void CudaObject::require(const CudaDevice& on) const {
  if (&device_ != &on) on.refuse("something of another device");
  if (life_ != on.life_.load(std::memory_order_relaxed)) on.refuse("something from before a reset");
}

bool CudaObject::is_alive() const noexcept { return device_.lives(life_); }

CudaDevice::Active::Active(CudaDevice& device) : device_(device) {
  device.require_usable();
  device.check(enter(), "to be made current");
}

CudaDevice::Active::~Active() {
  CudaContextHandle popped = nullptr;
  if (is_pushed_) (void)device_.driver_.context_pop(&popped);
}

CudaResult CudaDevice::Active::enter() noexcept {
  const CudaDriver& driver = device_.driver_;
  CudaContextHandle now = nullptr;
  if (const CudaResult result = driver.context_get(&now); result != kCudaSuccess) return result;
  if (now == device_.context_) return kCudaSuccess;
  if (now == nullptr && device_.properties_.index == 0) return driver.context_set(device_.context_);
  const CudaResult result = driver.context_push(device_.context_);
  is_pushed_ = result == kCudaSuccess;
  return result;
}

CudaDevice::CudaDevice(const CudaDriver& driver, std::string kind, int index)
    : DriverDevice(driver, own_), driver_(driver), own_(*this, 0, nullptr) {
  own_.is_own_ = true;
  properties_.kind = std::move(kind);
  libraries_.set_for_compiled_code(properties_.kind != "emulated");
  properties_.index = index;
  check(driver.device_get(&number_, index), "to be found");
  const auto attribute = [&](CudaAttribute which) {
    int value = 0;
    check(driver.attribute(&value, which, number_), "an attribute");
    return value;
  };
  std::array<char, 256> name{};
  check(driver.device_name(name.data(), static_cast<int>(name.size()) - 1, number_), "its name");
  properties_.name = name.data();
  size_t memory = 0;
  check(driver.device_memory(&memory, number_), "its memory");
  properties_.memory = static_cast<int64_t>(memory);
  if (driver.has_capabilities()) {
    properties_.capability = attribute(kCudaCapabilityMajor) * 10 + attribute(kCudaCapabilityMinor);
    check(driver.version(&properties_.driver), "the driver's version");
    properties_.copy_engines = attribute(kCudaCopyEngines);
  }
  properties_.code = driver.code_of(number_, properties_.capability);
  properties_.processors = attribute(kCudaProcessors);
  properties_.warp = driver.has_capabilities() ? attribute(kCudaWarp) : 1;
  properties_.block_threads = attribute(kCudaBlockThreads);
  properties_.block_memory = std::max(attribute(kCudaBlockMemory), attribute(kCudaBlockMemoryOptIn));
  properties_.grid = {attribute(kCudaGridX), attribute(kCudaGridY), attribute(kCudaGridZ)};
  if (properties_.copy_engines > 0) copies_ = &queues_.emplace(*this, own_);
}

bool CudaDevice::lives(uint64_t life) const noexcept {
  return !driver_.is_inherited() && is_open_.load(std::memory_order_acquire) &&
         life == life_.load(std::memory_order_relaxed);
}

void CudaDevice::open() {
  check(driver_.primary_retain(&context_, number_), "its context");
  CudaResult result;
  {
    const Active active(*this, std::nothrow);
    result = active.result();
    if (result == kCudaSuccess) result = driver_.stream_create(&own_.handle_, kCudaStreamNonBlocking, 0);
  }
  if (result != kCudaSuccess) {
    (void)driver_.primary_release(number_);
    check(result, "its stream");
  }
  own_.life_ = life_.load(std::memory_order_relaxed);
}

void CudaDevice::fail(CudaResult result, const char* what) const {
  if (is_lasting(result)) fail_for_good(driver_.text(result));
  const std::string words = std::string(what) + ": " + driver_.text(result);
  if (result == kCudaOutOfMemory) throw OutOfMemory(0, name() + ": " + words);
  refuse(words);
}

CudaStreamHandle CudaDevice::current_handle() {
  const CudaStream& stream = current();
  stream.require(*this);
  return stream.handle_;
}

void CudaDevice::require(Stream& stream) const {
  DriverDevice::require(stream);
  static_cast<CudaStream&>(stream).require(*this);
}

std::unique_ptr<Stream> CudaDevice::make_stream(int priority) {
  const Active active(*this);
  int least = 0, greatest = 0;  // the driver's greatest priority is its smallest number
  check(driver_.context_priorities(&least, &greatest), "priorities of streams");
  CudaStreamHandle handle = nullptr;
  check(driver_.stream_create(&handle, kCudaStreamNonBlocking,
                              priority <= -least ? least : std::max(greatest, -priority)),
        "a new stream");
  auto made = std::make_unique<CudaStream>(*this, life_.load(std::memory_order_relaxed), handle);
  keep_stream(*made);
  return made;
}

std::unique_ptr<Stream> CudaDevice::make_upload_stream() {
  std::unique_ptr<Stream> made = make_stream(0);
  pool_.wait_in(*made);
  return made;
}

std::unique_ptr<Event> CudaDevice::new_event(unsigned flags) {
  const Active active(*this);
  CudaEventHandle handle = nullptr;
  check(driver_.event_create(&handle, flags), "a new event");
  return std::make_unique<CudaEvent>(*this, life_.load(std::memory_order_relaxed), handle);
}

void CudaDevice::order(Stream& before, Stream& after) {
  const Active active(*this);
  const CudaStreamHandle first = own(before).handle_;
  const CudaStreamHandle then = own(after).handle_;
  CudaEventHandle event = nullptr;
  check(driver_.event_create(&event, kCudaEventNoTiming), "a new event");
  CudaResult result = driver_.event_record(event, first);
  if (result == kCudaSuccess) result = driver_.stream_wait(then, event, 0);
  (void)driver_.event_destroy(event);
  check(result, "ordering streams");
}

Address CudaDevice::allocate(int64_t bytes) {
  const Active active(*this);
  const CudaStream& stream = current();
  stream.require(*this);
  return pool_.allocate(bytes, stream);
}

void CudaDevice::free(Address address) noexcept {
  if (address == 0 || driver_.is_inherited()) return;
  const CudaStream& stream = current();
  pool_.free(address, lives(stream.life_) ? stream : own_);
}

int64_t CudaDevice::free_memory() {
  const Active active(*this);
  size_t available = 0, total = 0;
  check(driver_.memory_info(&available, &total), "its free memory");
  return static_cast<int64_t>(available);
}

void CudaDevice::set_memory_limit(int64_t bytes) {
  const Active active(*this);
  pool_.set_limit(bytes);
}

int64_t CudaDevice::release_memory() {
  const Active active(*this);
  libraries_.release();
  return pool_.release();
}

void CudaDevice::write(Address to, const void* from, int64_t bytes) {
  Recording::refuse("a copy to the device");
  const ObservedCopy observed(*this, Observer::Copy::ToDevice, bytes);
  const Active active(*this);
  const CudaStreamHandle stream = current_handle();
  if (size_of(bytes) == 0) return;
  check(driver_.copy_to_device(to, from, size_of(bytes), stream), "a copy to the device");
  count_to_device(bytes);
  if (is_pinned(from)) return;
  // Memory that another library has pinned is read asynchronously, without its owner's knowledge.
  unsigned kind = 0;
  if (driver_.pointer_attribute(&kind, kCudaPointerMemoryType, reinterpret_cast<Address>(from)) ==
      kCudaSuccess)
    check(driver_.stream_synchronize(stream), "a copy to the device");
}

void CudaDevice::read(void* to, Address from, int64_t bytes) {
  Recording::refuse("a copy from the device");
  const ObservedCopy observed(*this, Observer::Copy::ToHost, bytes);
  const Active active(*this);
  const CudaStreamHandle stream = current_handle();
  if (size_of(bytes) == 0) return;
  check(driver_.copy_to_host(to, from, size_of(bytes), stream), "a copy from the device");
  count_to_host(bytes);
  if (!is_pinned(to)) check(driver_.stream_synchronize(stream), "a copy from the device");
}

void CudaDevice::copy(Address to, Address from, int64_t bytes) {
  if (Recording* const recording = Recording::of_thread()) [[unlikely]]
    return recording->copy(*this, to, from, bytes);
  const Active active(*this);
  const CudaStreamHandle stream = current_handle();
  if (size_of(bytes) != 0)
    check(driver_.copy_on_device(to, from, size_of(bytes), stream), "a copy on the device");
}

void CudaDevice::fill(Address to, std::byte value, int64_t bytes) {
  if (Recording* const recording = Recording::of_thread()) [[unlikely]]
    return recording->fill(*this, to, value, bytes);
  const ObservedCopy observed(*this, Observer::Copy::Fill, bytes);
  const Active active(*this);
  const CudaStreamHandle stream = current_handle();
  if (size_of(bytes) != 0)
    check(driver_.fill_bytes(to, static_cast<unsigned char>(value), size_of(bytes), stream),
          "filling memory");
}

void CudaDevice::reach(const CudaDevice& other) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(peers_, &other) != peers_.end()) return;
  peers_.push_back(&other);
  int can = 0;
  if (driver_.can_access_peer == nullptr || driver_.enable_peer == nullptr) return;
  if (driver_.can_access_peer(&can, number_, other.number_) == kCudaSuccess && can != 0)
    (void)driver_.enable_peer(other.context_, 0);
}

CudaEventHandle CudaDevice::marked(CudaStreamHandle stream) {
  CudaEventHandle event = nullptr;
  check(driver_.event_create(&event, kCudaEventNoTiming), "a new event");
  const CudaResult result = driver_.event_record(event, stream);
  if (result != kCudaSuccess) (void)driver_.event_destroy(event);
  check(result, "an event");
  return event;
}

bool CudaDevice::copy_from(Device& given, Address to, Address from, int64_t bytes) {
  Recording::refuse("a copy between devices");
  auto* const other = dynamic_cast<CudaDevice*>(&given);
  if (other == nullptr || other == this || &other->driver_ != &driver_) return false;
  if (driver_.copy_between == nullptr) return false;
  CudaEventHandle before = nullptr;
  CudaStreamHandle theirs = nullptr;
  {
    const Active active(*other);
    theirs = other->current_handle();
    if (size_of(bytes) == 0) return true;
    before = other->marked(theirs);
  }
  const auto ordered = [&](CudaStreamHandle stream, CudaEventHandle event) {
    const CudaResult result = driver_.stream_wait(stream, event, 0);
    (void)driver_.event_destroy(event);
    return result;
  };
  CudaEventHandle after_it = nullptr;
  {
    const Active active(*this);
    reach(*other);
    const CudaStreamHandle mine = current_handle();
    check(ordered(mine, before), "ordering streams");
    check(driver_.copy_between(to, context_, from, other->context_, size_of(bytes), mine),
          "a copy between devices");
    after_it = marked(mine);
  }
  const Active active(*other);
  other->check(ordered(theirs, after_it), "ordering streams");
  return true;
}

void* CudaDevice::new_pinned(int64_t bytes, unsigned flags) {
  const Active active(*this);
  const size_t size = std::max<size_t>(size_of(bytes), 1);
  void* memory = nullptr;
  const CudaResult result = driver_.pinned_allocate(&memory, size, flags);
  if (result == kCudaOutOfMemory) return nullptr;
  check(result, "pinned memory");
  Address mapped = 0;
  if ((flags & kCudaPinnedMapped) != 0) {
    const CudaResult found = driver_.pinned_address(&mapped, memory, 0);
    if (found != kCudaSuccess) (void)driver_.pinned_free(memory);
    check(found, "mapped memory");
  }
  keep_pinned({reinterpret_cast<uintptr_t>(memory), static_cast<int64_t>(size), mapped});
  return memory;
}

void* CudaDevice::allocate_managed(int64_t bytes) {
  const Active active(*this);
  constexpr const char* kNone = "no memory that the host and kernels both use";
  if (driver_.managed_allocate == nullptr) refuse(kNone);
  for (const CudaAttribute wanted : {kCudaManaged, kCudaConcurrentManaged}) {
    int has = 0;
    check(driver_.attribute(&has, wanted, number_), "an attribute");
    if (has == 0) refuse(kNone);
  }
  const size_t size = std::max<size_t>(size_of(bytes), 1);
  if (bytes > properties_.memory) return nullptr;
  Address address = 0;
  const CudaResult result = driver_.managed_allocate(&address, size, kCudaManagedGlobal);
  if (result == kCudaOutOfMemory) return nullptr;
  check(result, "managed memory");
  const auto start = static_cast<uintptr_t>(address);
  keep_pinned({start, static_cast<int64_t>(size), address, false, true});
  return reinterpret_cast<void*>(start);  // NOLINT(performance-no-int-to-ptr)
}

void* CudaDevice::allocate_pinned(int64_t bytes) { return new_pinned(bytes, 0); }

void* CudaDevice::allocate_mapped(int64_t bytes) { return new_pinned(bytes, kCudaPinnedMapped); }

void CudaDevice::free_pinned(void* address) noexcept {
  const Pinned found = find_pinned(address);
  if (!lives(life_.load(std::memory_order_relaxed)) || found.bytes == 0 || found.is_registered) return;
  const Active active(*this, std::nothrow);
  (void)wait_for_streams();
  const std::lock_guard lock(pinned_mutex_);
  const CudaResult result =
      found.is_managed ? driver_.memory_free(found.mapped) : driver_.pinned_free(address);
  if (result == kCudaSuccess) pinned_.erase(found.start);
}

void CudaDevice::pin(void* memory, int64_t bytes) {
  const Active active(*this);
  check(driver_.pinned_register(memory, size_of(bytes), 0), "pinning memory");
  keep_pinned({reinterpret_cast<uintptr_t>(memory), bytes, 0, true});
}

void CudaDevice::unpin(void* memory) noexcept {
  const Pinned found = find_pinned(memory);
  const bool is_one = found.is_registered && found.start == reinterpret_cast<uintptr_t>(memory);
  if (!lives(life_.load(std::memory_order_relaxed)) || !is_one) return;
  const Active active(*this, std::nothrow);
  (void)wait_for_streams();
  const std::lock_guard lock(pinned_mutex_);
  (void)driver_.pinned_unregister(memory);
  pinned_.erase(found.start);
}

Address CudaDevice::mapped(const void* memory, int64_t bytes) const {
  const Pinned found = find_pinned(memory);
  const uintptr_t offset = reinterpret_cast<uintptr_t>(memory) - found.start;
  if (found.mapped == 0 || bytes > found.bytes - static_cast<int64_t>(offset)) return 0;
  return found.mapped + offset;
}

void CudaDevice::launch(const Kernel& kernel, const Launch& launch, std::span<void* const> arguments) {
  Recording::refuse("a launch of parameters that are not known");
  const Active active(*this);
  const auto& code = static_cast<const CudaKernel&>(kernel);
  code.require(*this);
  code.allow(launch.shared_bytes);
  const auto& [gx, gy, gz] = launch.grid;
  const auto& [bx, by, bz] = launch.block;
  auto** const parameters = const_cast<void**>(arguments.data());
  const CudaStreamHandle stream = current_handle();
  check(launch.cooperative ? driver_.launch_cooperative(code.handle_, gx, gy, gz, bx, by, bz,
                                                        launch.shared_bytes, stream, parameters)
                           : driver_.launch(code.handle_, gx, gy, gz, bx, by, bz, launch.shared_bytes, stream,
                                            parameters, nullptr),
        "a launch");
  count_launch();
}

CudaResult CudaDevice::wait_for_streams() const noexcept {
  const std::lock_guard lock(mutex_);
  CudaResult first = driver_.stream_synchronize(own_.handle_);
  for (const Stream* const stream : streams_) {
    const CudaResult result = driver_.stream_synchronize(static_cast<const CudaStream*>(stream)->handle_);
    if (first == kCudaSuccess) first = result;
  }
  return first;
}

void CudaDevice::synchronize() {
  Recording::refuse("waiting for a device");
  const Active active(*this);
  check(wait_for_streams(), "waiting");
}

bool CudaDevice::reset() {
  refuse_fork();
  const std::lock_guard lock(mutex_);
  if (is_open_.exchange(false)) (void)driver_.primary_release(number_);
  const CudaResult result = driver_.primary_reset(number_);
  life_.fetch_add(1);
  context_ = nullptr;
  libraries_.abandon();
  peers_.clear();
  spare_marks_.clear();
  forget_all();
  return result == kCudaSuccess;
}

Address CudaDevice::take(int64_t bytes) {
  Address address = 0;
  const CudaResult result = driver_.memory_allocate(&address, static_cast<size_t>(bytes));
  if (result == kCudaOutOfMemory) return 0;
  check(result, "memory");
  return address;
}

bool CudaDevice::give_back(Address address) noexcept {
  const Active active(*this, std::nothrow);
  return driver_.memory_free(address) == kCudaSuccess;
}

bool CudaDevice::is_idle(const Stream& stream) {
  const CudaResult result = driver_.stream_query(static_cast<const CudaStream&>(stream).handle_);
  if (result == kCudaNotReady) return false;
  check(result, "a stream");
  return true;
}

void CudaDevice::wait(const Stream& stream) {
  check(driver_.stream_synchronize(static_cast<const CudaStream&>(stream).handle_), "waiting for a stream");
}

PoolSource::Mark CudaDevice::mark(const Stream& stream) {
  CudaEventHandle event = nullptr;
  if (spare_marks_.empty()) {
    check(driver_.event_create(&event, kCudaEventNoTiming), "a new event");
    spare_marks_.push_back(event);
  }
  event = spare_marks_.back();
  check(driver_.event_record(event, static_cast<const CudaStream&>(stream).handle_), "an event");
  spare_marks_.pop_back();
  return event;
}

bool CudaDevice::is_passed(Mark mark) {
  const CudaResult result = driver_.event_query(static_cast<CudaEventHandle>(mark));
  if (result == kCudaNotReady) return false;
  check(result, "an event");
  return true;
}

void CudaDevice::let_wait(const Stream& stream, Mark mark) {
  check(driver_.stream_wait(static_cast<const CudaStream&>(stream).handle_,
                            static_cast<CudaEventHandle>(mark), 0),
        "ordering streams");
}

void CudaDevice::drop(Mark mark) noexcept { spare_marks_.push_back(static_cast<CudaEventHandle>(mark)); }

}  // namespace ingot::devices
