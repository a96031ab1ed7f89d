#include "devices/cuda_sequence.h"

#include "base/error.h"

namespace ingot::devices {

namespace {

constexpr const char* kGraph = "a graph";

CudaCopySide side_of(Address address, int64_t bytes) {
  CudaCopySide side{};
  side.kind = kCudaMemoryOfDevice;
  side.device = address;
  side.pitch = static_cast<size_t>(bytes);
  side.height = 1;
  return side;
}

CudaCopyNode copy_of(const Step& step) {
  return {side_of(step.from, step.bytes), side_of(step.to, step.bytes), static_cast<size_t>(step.bytes), 1,
          1};
}

CudaFillNode fill_of(const Step& step) {
  return {step.to, 0, static_cast<unsigned>(step.value), 1, static_cast<size_t>(step.bytes), 1};
}

std::vector<void*> addresses_of(const Step& step) {
  std::vector<void*> addresses;
  for (const Argument& argument : step.arguments)
    addresses.push_back(const_cast<std::byte*>(argument.value.data()));
  return addresses;
}

/// The addresses are those of the arguments.
CudaKernelNode kernel_of(const Step& step, CudaFunctionHandle function, std::vector<void*>& addresses) {
  const auto& [gx, gy, gz] = step.launch.grid;
  const auto& [bx, by, bz] = step.launch.block;
  return {function,         {gx, gy, gz}, {bx, by, bz}, step.launch.shared_bytes,
          addresses.data(), nullptr,      nullptr,      nullptr};
}

}  // namespace

std::unique_ptr<Sequence> CudaDevice::make_sequence(std::span<const Step> steps) {
  if (!driver_.has_graphs()) return Device::make_sequence(steps);
  const Active active(*this);
  return std::make_unique<CudaSequence>(*this, life_.load(std::memory_order_relaxed), steps);
}

CudaSequence::CudaSequence(CudaDevice& device, uint64_t life, std::span<const Step> steps)
    : CudaObject(device, life) {
  const CudaDriver& driver = device_.driver_;
  device_.check(driver.graph_create(&graph_, 0), kGraph);
  try {
    for (const Step& step : steps) add(step);
    device_.check(driver.graph_instantiate(&exec_, graph_, 0), kGraph);
  } catch (...) {
    destroy();
    throw;
  }
}

void CudaSequence::add(const Step& step) {
  const CudaDriver& driver = device_.driver_;
  CudaNodeHandle node = nullptr;
  const CudaNodeHandle* const after = nodes_.empty() ? nullptr : &nodes_.back();
  const size_t count = nodes_.empty() ? 0 : 1;
  if (step.kind == Step::Kind::Copy) {
    const CudaCopyNode copy = copy_of(step);
    device_.check(driver.graph_add_copy(&node, graph_, after, count, &copy, device_.context_), kGraph);
  } else if (step.kind == Step::Kind::Fill) {
    const CudaFillNode fill = fill_of(step);
    device_.check(driver.graph_add_fill(&node, graph_, after, count, &fill, device_.context_), kGraph);
  } else {
    INGOT_ASSERT(step.kind == Step::Kind::Launch, "routines are steps between sequences");
    const auto& code = static_cast<const CudaKernel&>(*step.kernel);
    code.require(device_);
    code.allow(step.launch.shared_bytes);
    std::vector<void*> addresses = addresses_of(step);
    const CudaKernelNode kernel = kernel_of(step, code.handle_, addresses);
    device_.check(driver.graph_add_kernel(&node, graph_, after, count, &kernel), kGraph);
    if (step.launch.cooperative) {
      const CudaAttributeValue value{1};
      device_.check(driver.graph_set_attribute(node, kCudaAttributeCooperative, &value), kGraph);
    }
  }
  nodes_.push_back(node);
}

CudaSequence::~CudaSequence() {
  if (!is_alive()) return;
  const CudaDevice::Active active(device_, std::nothrow);
  destroy();
}

void CudaSequence::destroy() noexcept {
  if (exec_ != nullptr) (void)device_.driver_.exec_destroy(exec_);
  (void)device_.driver_.graph_destroy(graph_);
}

void CudaSequence::launch() {
  const CudaDevice::Active active(device_);
  require();
  device_.check(device_.driver_.exec_launch(exec_, device_.current_handle()), "launching a graph");
}

void CudaSequence::replace(size_t n, const Step& step) {
  const CudaDevice::Active active(device_);
  require();
  const CudaDriver& driver = device_.driver_;
  if (step.kind == Step::Kind::Copy) {
    const CudaCopyNode copy = copy_of(step);
    device_.check(driver.exec_set_copy(exec_, nodes_[n], &copy, device_.context_), kGraph);
  } else if (step.kind == Step::Kind::Fill) {
    const CudaFillNode fill = fill_of(step);
    device_.check(driver.exec_set_fill(exec_, nodes_[n], &fill, device_.context_), kGraph);
  } else {
    std::vector<void*> addresses = addresses_of(step);
    const auto& code = static_cast<const CudaKernel&>(*step.kernel);
    const CudaKernelNode kernel = kernel_of(step, code.handle_, addresses);
    device_.check(driver.exec_set_kernel(exec_, nodes_[n], &kernel), kGraph);
  }
}

}  // namespace ingot::devices
