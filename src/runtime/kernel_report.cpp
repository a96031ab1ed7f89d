#include "runtime/kernel_report.h"

#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/context.h"
#include "runtime/device_calls.h"

namespace ingot::runtime {

namespace {

/// The reports that are kept, which nothing has been reported in, by device and its life. Part of the closed
/// list of process-wide state.
class Kept {
 public:
  KernelError* take(devices::Device& device, uint64_t life) {
    const std::scoped_lock lock(mutex_);
    const auto found = all_.find({&device, life});
    if (found == all_.end() || found->second.empty()) return nullptr;
    KernelError* const one = found->second.back();
    found->second.pop_back();
    return one;
  }
  void give(devices::Device& device, uint64_t life, KernelError* one) {
    const std::scoped_lock lock(mutex_);
    all_[{&device, life}].push_back(one);
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<devices::Device*, uint64_t>, std::vector<KernelError*>> all_;
};

/// Never destroyed: drivers may be unloaded before.
Kept& kept() {
  static Kept& all = *new Kept;
  return all;
}

KernelError* new_shared(devices::Device& device) {
  if (!device.has_mapped_memory()) return nullptr;
  auto* const made = static_cast<KernelError*>(device.allocate_mapped(sizeof(KernelError)));
  if (made != nullptr) *made = kNoKernelError;
  return made;
}

}  // namespace

KernelReport::KernelReport(devices::Device& device)
    : device_(device), life_(device.life()), shared_(kept().take(device, life_)) {
  if (shared_ == nullptr) shared_ = new_shared(device);
  if (shared_ != nullptr) {
    address_ = device.mapped(shared_, sizeof(KernelError));
    return;
  }
  own_.reset(allocate_on_device(&device, sizeof(KernelError)));
  address_ = reinterpret_cast<devices::Address>(own_->data);
  device.write(address_, &kNoKernelError, sizeof kNoKernelError);
}

KernelReport::~KernelReport() {
  if (shared_ != nullptr && !is_in_use_) kept().give(device_, life_, shared_);
}

std::optional<KernelError> KernelReport::wait() {
  KernelError found;
  if (shared_ != nullptr) {
    device_.stream().synchronize();
    found = *shared_;
    if (found.iteration != KernelError::kNone) *shared_ = kNoKernelError;
  } else {
    device_.read(&found, address_, sizeof found);
  }
  is_in_use_ = false;
  if (found.iteration == KernelError::kNone) return std::nullopt;
  return found;
}

}  // namespace ingot::runtime
