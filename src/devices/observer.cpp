#include "devices/observer.h"

#include <exception>
#include <utility>

namespace ingot::devices {

std::atomic<Observer*> Observer::current_{nullptr};

namespace {

std::unique_ptr<Event> point_of(Device& device) noexcept {
  try {
    std::unique_ptr<Event> event = device.make_event();
    event->record(device.stream());
    return event;
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace

void ObservedLaunch::begin() noexcept {
  before_ = point_of(device_);
  if (before_ != nullptr) return;
  observer_->missed();
  observer_ = nullptr;
}

void ObservedLaunch::end() noexcept {
  if (std::unique_ptr<Event> after = point_of(device_))
    observer_->launched(device_, name_, std::move(before_), std::move(after));
  else observer_->missed();
}

}  // namespace ingot::devices
