// Streams, events, code. Destruction in a forked child does nothing.

#include <algorithm>
#include <array>

#include "devices/opencl_device.h"
#include "devices/recording.h"

namespace ingot::devices {

namespace {

/// Of a type of OpenCL C; 0: not known.
size_t bytes_of(std::string_view type) {
  struct Size {
    std::string_view name;
    size_t bytes;
  };
  constexpr Size kSizes[] = {{"char", 1},   {"uchar", 1}, {"short", 2}, {"ushort", 2},
                             {"int", 4},    {"uint", 4},  {"long", 8},  {"ulong", 8},
                             {"size_t", 8}, {"float", 4}, {"double", 8}};
  const auto* const known = std::ranges::find(kSizes, type, &Size::name);
  return known == std::end(kSizes) ? 0 : known->bytes;
}

}  // namespace

OpenClStream::~OpenClStream() {
  if (is_own_ || device_.driver_.is_inherited()) return;
  const bool is_finished = device_.driver_.queue_finish(handle_) == kOpenClSuccess;
  device_.pool_.retire(*this, is_finished);
  device_.forget_stream(*this);
  if (last_ != nullptr) (void)device_.driver_.event_release(last_);
  (void)device_.driver_.queue_release(handle_);
}

Device& OpenClStream::device() const { return device_; }

void OpenClStream::synchronize() {
  Recording::refuse("waiting for a stream");
  device_.require_usable();
  device_.wait_for(*this);
}

bool OpenClStream::is_done() {
  Recording::refuse("asking a stream");
  device_.require_usable();
  return device_.is_idle(*this);
}

OpenClEvent::~OpenClEvent() {
  if (handle_ != nullptr && !device_.driver_.is_inherited()) (void)device_.driver_.event_release(handle_);
}

OpenClEventHandle OpenClEvent::point() {
  const std::lock_guard lock(mutex_);
  if (handle_ != nullptr) (void)device_.driver_.event_retain(handle_);
  return handle_;
}

void OpenClEvent::record(Stream& stream) {
  Recording::refuse("an event");
  device_.require_usable();
  OpenClEventHandle event = nullptr;
  device_.put(device_.own(stream), "recording an event", false,
              [&](OpenClQueueHandle queue, OpenClEventHandle* made) {
                const OpenClResult result = device_.driver_.marker(queue, 0, nullptr, made);
                if (result == kOpenClSuccess) (void)device_.driver_.event_retain(event = *made);
                return result;
              });
  const std::lock_guard lock(mutex_);
  if (handle_ != nullptr) (void)device_.driver_.event_release(handle_);
  handle_ = event;
}

void OpenClEvent::let_wait(Stream& stream) {
  Recording::refuse("an event");
  device_.require_usable();
  OpenClStream& waiting = device_.own(stream);
  OpenClEventObject* const event = point();
  if (event == nullptr) return;
  const std::unique_ptr<OpenClEventObject, OpenClResult (*)(OpenClEventHandle)> owner(
      event, device_.driver_.event_release);
  device_.put(waiting, "waiting for an event", false, [&](OpenClQueueHandle queue, OpenClEventHandle* made) {
    return device_.driver_.bar(queue, 1, &event, made);
  });
}

void OpenClEvent::synchronize() {
  Recording::refuse("an event");
  device_.require_usable();
  OpenClEventObject* const event = point();
  if (event == nullptr) return;
  const std::unique_ptr<OpenClEventObject, OpenClResult (*)(OpenClEventHandle)> owner(
      event, device_.driver_.event_release);
  (void)device_.driver_.event_wait(1, &event);
  (void)device_.is_complete(event);
}

bool OpenClEvent::is_done() {
  Recording::refuse("an event");
  device_.require_usable();
  const std::lock_guard lock(mutex_);
  return handle_ == nullptr || device_.is_complete(handle_);
}

uint64_t OpenClEvent::end() {
  const std::lock_guard lock(mutex_);
  uint64_t nanoseconds = 0;
  if (handle_ == nullptr) device_.refuse("the time between events: one has not been recorded");
  device_.check(
      device_.driver_.event_time(handle_, kOpenClEventEnd, sizeof nanoseconds, &nanoseconds, nullptr),
      "the time between events");
  return nanoseconds;
}

double OpenClEvent::since(Event& start) {
  device_.require_usable();
  auto& from = static_cast<OpenClEvent&>(start);
  if (&from.device_ != &device_) device_.refuse("something of another device");
  return static_cast<double>(static_cast<int64_t>(end() - from.end())) * 1e-6;
}

OpenClKernel::OpenClKernel(OpenClDevice& device, OpenClKernelHandle handle)
    : device_(device), handle_(handle) {
  const std::unique_ptr<OpenClKernelObject, OpenClResult (*)(OpenClKernelHandle)> until_made(
      handle, device.driver_.kernel_release);
  const OpenClDriver& driver = device.driver_;
  const auto number = [&](unsigned what) {
    uint64_t value = 0;
    device.check(driver.kernel_block_info(handle, device.handle_, what, sizeof value, &value, nullptr),
                 "an attribute of a kernel");
    return static_cast<int64_t>(value);
  };
  local_bytes_ = number(kOpenClKernelPrivate);
  shared_bytes_ = number(kOpenClKernelShared);
  most_threads_ = std::min<int64_t>(number(kOpenClKernelThreads), device.properties_.block_threads);
  unsigned count = 0;
  device.check(driver.kernel_info(handle, kOpenClKernelParameters, sizeof count, &count, nullptr),
               "the parameters of a kernel");
  for (unsigned i = 0; i < count; ++i) {
    parameters_.push_back(parameter(i));
    if (parameters_.back().kind != Kind::Shared) ++given_;
  }
  (void)driver.kernel_retain(handle);
}

OpenClKernel::~OpenClKernel() {
  if (!device_.driver_.is_inherited()) (void)device_.driver_.kernel_release(handle_);
}

std::string OpenClKernel::text_of(unsigned index, unsigned what) const {
  std::array<char, 256> text{};
  device_.check(device_.driver_.parameter_info(handle_, index, what, text.size() - 1, text.data(), nullptr),
                "a parameter of a kernel");
  return text.data();
}

OpenClKernel::Parameter OpenClKernel::parameter(unsigned index) const {
  unsigned space = 0;
  device_.check(
      device_.driver_.parameter_info(handle_, index, kOpenClParameterSpace, sizeof space, &space, nullptr),
      "a parameter of a kernel");
  if (space == kOpenClSpaceLocal) return {Kind::Shared, 0};
  if (space == kOpenClSpaceGlobal || space == kOpenClSpaceConstant) return {Kind::Pointer, sizeof(Address)};
  const std::string type = text_of(index, kOpenClParameterType);
  const size_t bytes = bytes_of(type);
  if (bytes == 0) device_.refuse("a parameter of a kernel: the type " + type);
  return {Kind::Value, bytes};
}

int OpenClKernel::resident_blocks(int threads, int64_t dynamic_shared) const {
  const int64_t shared = shared_bytes_ + static_cast<int64_t>(device_.size_of(dynamic_shared));
  return threads <= most_threads_ && shared <= device_.properties_.block_memory ? 1 : 0;
}

OpenClCode::~OpenClCode() {
  if (device_.driver_.is_inherited()) return;
  (void)device_.are_streams_done();
  kernels_.clear();
  (void)device_.driver_.program_release(handle_);
}

const Kernel& OpenClCode::kernel(std::string_view name) {
  device_.require_usable();
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(name);
  if (found != kernels_.end()) return *found->second;
  const std::string text(name);
  OpenClResult result = kOpenClSuccess;
  OpenClKernelObject* const handle = device_.driver_.kernel_create(handle_, text.c_str(), &result);
  device_.check(result, ("the kernel " + text).c_str());
  return *kernels_.emplace(text, std::make_unique<OpenClKernel>(device_, handle)).first->second;
}

std::unique_ptr<Code> OpenClDevice::load(std::string_view text, const LoadOptions& options) {
  if (!options.linked.empty()) refuse("OpenCL links nothing with kernels: " + options.linked[0].name);
  require_usable();
  const char* start = text.data();
  const size_t length = text.size();
  OpenClResult result = kOpenClSuccess;
  OpenClProgramObject* const program = driver_.program_create(context_, 1, &start, &length, &result);
  check(result, "code cannot be loaded");
  auto code = std::make_unique<OpenClCode>(*this, program);
  constexpr const char* kOptions = "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt -cl-kernel-arg-info";
  result = driver_.program_build(program, 1, &handle_, kOptions, nullptr, nullptr);
  if (result == kOpenClSuccess) return code;
  size_t size = 0;
  (void)driver_.program_build_info(program, handle_, kOpenClBuildLog, 0, nullptr, &size);
  std::string log(size, '\0');
  (void)driver_.program_build_info(program, handle_, kOpenClBuildLog, size, log.data(), nullptr);
  log.resize(std::min(log.find('\0'), size));
  refuse("code cannot be loaded: " + OpenClDriver::text(result) + ": " + log);
}

void OpenClDevice::set_arguments(const OpenClKernel& kernel, const Launch& launch,
                                 std::span<void* const> arguments) const {
  if (arguments.size() != kernel.given_) {
    refuse("a launch: " + std::to_string(arguments.size()) + " arguments of a kernel that takes " +
           std::to_string(kernel.given_));
  }
  size_t next = 0;
  for (unsigned i = 0; i < kernel.parameters_.size(); ++i) {
    const auto& [kind, bytes] = kernel.parameters_[i];
    OpenClResult result = kOpenClSuccess;
    if (kind == OpenClKernel::Kind::Shared) {
      result = driver_.argument(kernel.handle_, i, std::max(launch.shared_bytes, 1U), nullptr);
    } else if (kind == OpenClKernel::Kind::Pointer) {
      result = driver_.argument_address(kernel.handle_, i, *static_cast<void* const*>(arguments[next++]));
    } else {
      result = driver_.argument(kernel.handle_, i, bytes, arguments[next++]);
    }
    check(result, "a launch");
  }
}

void OpenClDevice::launch(const Kernel& kernel, const Launch& launch, std::span<void* const> arguments) {
  Recording::refuse("a launch of parameters that are not known");
  require_usable();
  const auto& code = static_cast<const OpenClKernel&>(kernel);
  if (&code.device_ != this) refuse("something of another device");
  std::array<size_t, 3> all{};
  std::array<size_t, 3> block{};
  size_t threads = 1;
  size_t blocks = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    block[axis] = launch.block[axis];
    all[axis] = block[axis] * launch.grid[axis];
    threads *= block[axis];
    blocks = std::min<size_t>(blocks * launch.grid[axis], size_t{1} << 32);
    if (all[axis] == 0) refuse("a launch: of no threads");
  }
  if (threads > static_cast<size_t>(code.most_threads_)) {
    refuse("a launch: blocks of " + std::to_string(threads) + " threads; there can be " +
           std::to_string(code.most_threads_));
  }
  if (code.shared_bytes_ + launch.shared_bytes > properties_.block_memory)
    refuse("a launch: more memory of a block than there is");
  if (launch.cooperative && blocks > 1) refuse("a launch: blocks that wait for each other");
  const std::lock_guard lock(code.mutex_);
  set_arguments(code, launch, arguments);
  put(current(), "a launch", false, [&](OpenClQueueHandle queue, OpenClEventHandle* event) {
    return driver_.launch(queue, code.handle_, 3, nullptr, all.data(), block.data(), 0, nullptr, event);
  });
  count_launch();
}

}  // namespace ingot::devices
