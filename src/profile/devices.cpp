// What devices do while a profile counts: copies by the host's clock, kernels by events of the device's.

#include <nanobind/nanobind.h>

#include <deque>
#include <map>
#include <string>
#include <utility>

#include "devices/observer.h"
#include "profile/profile.h"

namespace ingot::profile {

namespace {

using devices::Device;
using devices::Observer;

/// Kernels whose time is not known yet; then those that are done are looked for.
constexpr size_t kManyKernels = 1024;

std::string name_of(const Device& device) {
  return device.properties().kind + ":" + std::to_string(device.properties().index);
}

struct Kernel {
  std::shared_ptr<Thread> thread;
  Spot spot;
  LabelId label;
  Device* device;
  int64_t given;  ///< when
  std::unique_ptr<devices::Event> before;
  std::unique_ptr<devices::Event> behind;
};

/// A point in a device's time, by both clocks.
struct Origin {
  std::unique_ptr<devices::Event> event;
  int64_t time;
};

class Watcher final : public Observer {
 public:
  /// Never destroyed: drivers may be gone before.
  static Watcher& instance() {
    static Watcher& watcher = *new Watcher;
    return watcher;
  }

  int64_t now() noexcept override { return ticks(); }

  void copied(Device& device, Copy kind, int64_t bytes, int64_t start) noexcept override {
    if (!is_on()) return;
    try {
      count_copy(device, kind, bytes, start);
    } catch (const std::exception&) {
      ++uncounted_;
    }
  }

  void launched(Device& device, std::string_view name, std::unique_ptr<devices::Event> before,
                std::unique_ptr<devices::Event> behind) noexcept override {
    if (!is_on()) return;
    try {
      note_launch(device, name, std::move(before), std::move(behind));
    } catch (const std::exception&) {
      ++uncounted_;
    }
  }

  void missed() noexcept override { ++uncounted_; }

  /// The kernels are taken out for as long as they are waited for, so that others are launched meanwhile.
  void settle_all(bool waits) {
    std::deque<Kernel> all;
    {
      const std::lock_guard lock(mutex_);
      std::swap(all, kernels_);
    }
    settle(all, waits);
    const std::lock_guard lock(mutex_);
    while (!all.empty()) {
      kernels_.push_front(std::move(all.back()));
      all.pop_back();
    }
  }

  void forget() {
    uncounted_ = 0;
    const std::lock_guard lock(mutex_);
    for (const Kernel& kernel : kernels_) --kernel.thread->waits;
    kernels_.clear();
  }

  /// The mutex may be held by a thread that the child does not have, and the events are the parent's.
  static void forget_in_child() { new (&instance()) Watcher; }

  int64_t uncounted() const { return uncounted_; }
  bool has_kernels() {
    const std::lock_guard lock(mutex_);
    return !kernels_.empty();
  }

 private:
  void count_copy(Device& device, Copy kind, int64_t bytes, int64_t start) {
    static constexpr const char* kNames[] = {"upload", "download", "zero"};
    static constexpr Kind kKinds[] = {Kind::Upload, Kind::Download, Kind::Fill};
    const auto which = static_cast<size_t>(kind);
    Counts counts;
    if (kind == Copy::ToDevice) counts.bytes_up = bytes;
    if (kind == Copy::ToHost) counts.bytes_down = bytes;
    const LabelId label = number_of({kNames[which], "", name_of(device), kKinds[which]});
    Thread& thread = Thread::here();
    thread.add_work(thread.spot(), label, start, ticks() - start, counts);
  }

  void note_launch(Device& device, std::string_view name, std::unique_ptr<devices::Event> before,
                   std::unique_ptr<devices::Event> behind) {
    Thread& thread = Thread::here();
    const LabelId label = number_of({std::string(name), "", name_of(device), Kind::Kernel});
    ++thread.waits;
    const std::lock_guard lock(mutex_);
    kernels_.push_back({thread.shared_from_this(), thread.spot(), label, &device, ticks(), std::move(before),
                        std::move(behind)});
    if (is_tracing()) give_origin(device);
    if (kernels_.size() % kManyKernels == 0) settle(kernels_, false);
  }

  /// The device waits once, to read its clock against the host's.
  void give_origin(Device& device) {
    const std::lock_guard lock(origins_mutex_);
    if (origins_.contains(&device)) return;
    try {
      Origin origin{device.make_event(), 0};
      origin.event->record(device.stream());
      origin.event->synchronize();
      origin.time = ticks();
      origins_.emplace(&device, std::move(origin));
    } catch (const std::exception&) {
      return;  // its kernels are counted where they were launched
    }
  }

  /// Counts the first kernels, up to one that is not done. What a device that has failed was given has no
  /// time.
  void settle(std::deque<Kernel>& kernels, bool waits) {
    if (kernels.empty()) return;
    const Scale scale;
    while (!kernels.empty()) {
      Kernel& kernel = kernels.front();
      try {
        if (waits) kernel.behind->synchronize();
        else if (!kernel.behind->is_done()) return;
        count(kernel, scale);
      } catch (const std::exception&) {
        ++uncounted_;
      }
      --kernel.thread->waits;
      kernels.pop_front();
    }
  }

  void count(Kernel& kernel, const Scale& scale) {
    constexpr double kMilli = 1e-3;
    const int64_t length = scale.ticks_of(kernel.behind->since(*kernel.before) * kMilli);
    int64_t start = kernel.given;
    const std::lock_guard lock(origins_mutex_);
    if (const auto origin = origins_.find(kernel.device); origin != origins_.end())
      start = origin->second.time + scale.ticks_of(kernel.before->since(*origin->second.event) * kMilli);
    kernel.thread->add_work(kernel.spot, kernel.label, start, length, {});
  }

  std::atomic<int64_t> uncounted_{0};
  std::mutex mutex_;
  std::deque<Kernel> kernels_;
  std::mutex origins_mutex_;
  std::map<Device*, Origin> origins_;
};

}  // namespace

void watch_devices(bool looks_on) { Observer::use(looks_on ? &Watcher::instance() : nullptr); }

void settle_kernels(bool waits) {
  Watcher& watcher = Watcher::instance();
  if (!watcher.has_kernels()) return;
  const nanobind::gil_scoped_release released;
  watcher.settle_all(waits);
}

int64_t uncounted_work() { return Watcher::instance().uncounted(); }

void forget_kernels(bool is_child) {
  if (is_child) Watcher::forget_in_child();
  else Watcher::instance().forget();
}

}  // namespace ingot::profile
