#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "devices/device.h"

/// Observers of devices' work: a profile.
namespace ingot::devices {

/// Its functions are called by the thread that gives a device work, at that time. They throw nothing.
class Observer {
 public:
  enum class Copy : uint8_t { ToDevice, ToHost, Fill };

  virtual ~Observer() = default;
  /// A clock in units of its own.
  virtual int64_t now() noexcept = 0;
  /// A copy that the host has worked on since `start`. Of pinned memory, it may be asynchronous.
  virtual void copied(Device& device, Copy kind, int64_t bytes, int64_t start) noexcept = 0;
  /// A kernel, or other named work, that runs between two points of the thread's stream.
  virtual void launched(Device& device, std::string_view name, std::unique_ptr<Event> before,
                        std::unique_ptr<Event> after) noexcept = 0;

  /// The same, where the device gives no events: it has failed.
  virtual void missed() noexcept = 0;

  /// The current observer; null: there is none.
  static Observer* current() noexcept { return current_.load(std::memory_order_acquire); }
  /// It lives until the process ends.
  static void use(Observer* observer) noexcept { current_.store(observer, std::memory_order_release); }

 private:
  static std::atomic<Observer*> current_;
};

/// Reports a copy that takes as long as this lives.
class ObservedCopy {
 public:
  ObservedCopy(Device& device, Observer::Copy kind, int64_t bytes) noexcept
      : observer_(bytes > 0 ? Observer::current() : nullptr), device_(device), bytes_(bytes), kind_(kind) {
    if (observer_ != nullptr) [[unlikely]]
      start_ = observer_->now();
  }
  ~ObservedCopy() {
    if (observer_ != nullptr) [[unlikely]]
      observer_->copied(device_, kind_, bytes_, start_);
  }
  ObservedCopy(const ObservedCopy&) = delete;
  ObservedCopy& operator=(const ObservedCopy&) = delete;

 private:
  Observer* observer_;
  Device& device_;
  int64_t bytes_;
  int64_t start_ = 0;
  Observer::Copy kind_;
};

/// Reports the work that is put into the calling thread's stream during its lifetime; the thread captures
/// nothing meanwhile.
class ObservedLaunch {
 public:
  ObservedLaunch(Device& device, std::string_view name) noexcept
      : observer_(Observer::current()), device_(device), name_(name) {
    if (observer_ != nullptr) [[unlikely]]
      begin();
  }
  ~ObservedLaunch() {
    if (observer_ != nullptr) [[unlikely]]
      end();
  }
  /// No work has been put there.
  void forget() noexcept { observer_ = nullptr; }
  ObservedLaunch(const ObservedLaunch&) = delete;
  ObservedLaunch& operator=(const ObservedLaunch&) = delete;

 private:
  void begin() noexcept;
  void end() noexcept;

  Observer* observer_;
  Device& device_;
  std::string_view name_;
  std::unique_ptr<Event> before_;
};

}  // namespace ingot::devices
