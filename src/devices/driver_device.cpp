#include "devices/driver_device.h"

#include <iterator>

#include "devices/thread_streams.h"

namespace ingot::devices {

Stream& DriverDevice::stream() {
  Stream* const set = stream_of_thread(*this);
  return set != nullptr ? *set : own_stream_;
}

void DriverDevice::use_stream(Stream* stream) {
  refuse_fork();
  if (stream == &own_stream_) stream = nullptr;
  if (stream != nullptr) require(*stream);
  if (!set_stream_of_thread(*this, stream)) refuse("a thread cannot set streams of so many devices");
}

MemoryUse DriverDevice::memory() const {
  refuse_fork();
  return pool_.use();
}

void DriverDevice::reset_memory_peak() {
  refuse_fork();
  pool_.reset_peak();
}

std::string DriverDevice::name() const { return properties_.kind + " " + std::to_string(properties_.index); }

void DriverDevice::open_once() {
  const std::lock_guard lock(mutex_);
  if (is_open_.load(std::memory_order_relaxed)) return;
  open();
  is_open_.store(true, std::memory_order_release);
}

void DriverDevice::refuse_fork() const {
  if (opened_.is_inherited()) {
    refuse(
        "the process was forked after devices had been used, and its child cannot use them; start processes "
        "anew instead (multiprocessing's \"spawn\")");
  }
}

void DriverDevice::refuse(const std::string& words) const { throw DeviceError(name() + ": " + words); }

void DriverDevice::fail_for_good(const std::string& words) const {
  {
    const std::lock_guard lock(failure_mutex_);
    if (failure_.empty()) failure_ = name() + " has failed: " + words;
    has_failed_.store(true, std::memory_order_release);
  }
  refuse_failed();
}

void DriverDevice::refuse_failed() const {
  const std::lock_guard lock(failure_mutex_);
  throw DeviceError(failure_);
}

void DriverDevice::require(Stream& stream) const {
  if (&stream.device() != this) refuse("a stream of another device");
}

void DriverDevice::keep_stream(Stream& made) {
  const std::lock_guard lock(mutex_);
  streams_.push_back(&made);
}

void DriverDevice::forget_stream(const Stream& stream) noexcept {
  forget_stream_of_thread(stream);
  const std::lock_guard lock(mutex_);
  std::erase(streams_, &stream);
}

size_t DriverDevice::size_of(int64_t bytes) const {
  if (bytes < 0) refuse("a negative number of bytes");
  return static_cast<size_t>(bytes);
}

void DriverDevice::keep_pinned(const Pinned& pinned) {
  const std::lock_guard lock(pinned_mutex_);
  pinned_[pinned.start] = pinned;
}

DriverDevice::Pinned DriverDevice::find_pinned(const void* address) const {
  const auto start = reinterpret_cast<uintptr_t>(address);
  const std::lock_guard lock(pinned_mutex_);
  const auto after = pinned_.upper_bound(start);
  if (after == pinned_.begin()) return {};
  const Pinned& found = std::prev(after)->second;
  return start - found.start < static_cast<uintptr_t>(found.bytes) ? found : Pinned{};
}

void DriverDevice::forget_all() {
  streams_.clear();
  pool_.forget();
  const std::lock_guard pinned_lock(pinned_mutex_);
  pinned_.clear();
  const std::lock_guard failure_lock(failure_mutex_);
  failure_.clear();
  has_failed_.store(false);
}

}  // namespace ingot::devices
