#include "devices/device.h"

#include "devices/recording.h"

/// The defaults for devices that have no such operation of their own.
namespace ingot::devices {

void Device::order(Stream& before, Stream& after) {
  const Recording::Suspended suspended;  // it orders work from before the capture
  const std::unique_ptr<Event> event = make_event();
  event->record(before);
  event->let_wait(after);
}

int64_t Device::free_memory() {
  const MemoryUse use = memory();
  return properties().memory - use.in_use - use.kept;
}

void* Device::allocate_mapped(int64_t) {
  throw DeviceError(properties().kind + ": no memory of the host's that kernels use, too");
}

void* Device::allocate_managed(int64_t) {
  throw DeviceError(properties().kind + ": no memory that the host and kernels both use");
}

std::unique_ptr<Code> Device::load_assembled(std::string_view) {
  throw DeviceError(properties().kind + ": nothing is assembled for it");
}

bool Device::copy_from(Device&, Address, Address, int64_t) { return false; }

void Device::pin(void*, int64_t) {
  throw DeviceError(properties().kind + ": the host's memory cannot be pinned");
}

void Device::unpin(void*) noexcept {}

bool Device::is_pinned(const void*) const { return true; }

Address Device::mapped(const void*, int64_t) const { return 0; }

}  // namespace ingot::devices
