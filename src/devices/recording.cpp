#include "devices/recording.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "devices/observer.h"
#include "devices/pool.h"

namespace ingot::devices {

namespace {

thread_local constinit Recording* open_recording = nullptr;

/// The steps given to the device one by one.
class ListSequence final : public Sequence {
 public:
  ListSequence(Device& device, std::span<const Step> steps)
      : device_(device), steps_(steps.begin(), steps.end()) {}

  void launch() override {
    for (Step& step : steps_) {
      switch (step.kind) {
        case Step::Kind::Launch: launch(step); break;
        case Step::Kind::Copy: device_.copy(step.to, step.from, step.bytes); break;
        case Step::Kind::Fill: device_.fill(step.to, step.value, step.bytes); break;
        case Step::Kind::Routine: run(step); break;
      }
    }
  }
  void replace(size_t n, const Step& step) override { steps_[n] = step; }

 private:
  void launch(Step& step) {
    std::vector<void*> addresses;
    addresses.reserve(step.arguments.size());
    for (Argument& argument : step.arguments) addresses.push_back(argument.value.data());
    device_.launch(*step.kernel, step.launch, addresses);
  }

  /// What has been captured for views has been had for other ones of the same lengths and strides.
  void run(const Step& step) {
    if (!device_.libraries()->run(step.routine, step.views))
      throw DeviceError("the library of a graph's routine is gone: " + step.routine);
  }

  Device& device_;
  std::vector<Step> steps_;
};

/// Steps among which are routines of libraries: those between them are sequences of the driver's.
class PartedSequence final : public Sequence {
 public:
  PartedSequence(Device& device, std::span<const Step> steps) {
    for (size_t begin = 0, end = 0; begin < steps.size(); begin = end) {
      const bool calls = is_routine(steps[begin]);
      while (end < steps.size() && is_routine(steps[end]) == calls) ++end;
      const auto own = steps.subspan(begin, end - begin);
      parts_.push_back(
          {begin, end, calls ? std::make_unique<ListSequence>(device, own) : device.make_sequence(own)});
    }
  }
  static bool is_routine(const Step& step) { return step.kind == Step::Kind::Routine; }

  void launch() override {
    for (const Part& part : parts_) part.sequence->launch();
  }
  void replace(size_t n, const Step& step) override {
    const auto part = std::ranges::upper_bound(parts_, n, {}, &Part::end);
    part->sequence->replace(n - part->begin, step);
  }

 private:
  struct Part {
    size_t begin, end;  ///< of the steps
    std::unique_ptr<Sequence> sequence;
  };
  std::vector<Part> parts_;
};

std::unique_ptr<Sequence> sequence_of(Device& device, std::span<const Step> steps) {
  if (std::ranges::none_of(steps, PartedSequence::is_routine)) return device.make_sequence(steps);
  return std::make_unique<PartedSequence>(device, steps);
}

}  // namespace

void Step::set_address(size_t n, Address address) {
  if (kind == Kind::Routine) {
    views[n].data = address;
    return;
  }
  if (kind != Kind::Launch) {
    (n == 0 ? to : from) = address;
    return;
  }
  for (Argument& argument : arguments) {
    if (!argument.is_address || n-- != 0) continue;
    std::memcpy(argument.value.data(), &address, sizeof address);
    return;
  }
}

std::unique_ptr<Sequence> Device::make_sequence(std::span<const Step> steps) {
  return std::make_unique<ListSequence>(*this, steps);
}

Recording::Recording(Device& device) : device_(device) {
  refuse("a graph in a graph");
  open_recording = this;
}

Recording::~Recording() { close(); }

void Recording::close() noexcept {
  if (open_recording == this) open_recording = nullptr;
}

Recording* Recording::of_thread() noexcept { return open_recording; }

void Recording::throw_refusal(const char* what) {
  throw NotRecordable(std::string(what) + " in a graph",
                      "do it outside of the function that the graph is made of, with arrays that it takes "
                      "and gives");
}

Recording::Suspended::Suspended() noexcept : recording_(std::exchange(open_recording, nullptr)) {}

Recording::Suspended::~Suspended() { open_recording = recording_; }

void Recording::add(const Device& device, Step step) {
  if (&device != &device_) throw_refusal("work for another device");
  steps_.push_back(std::move(step));
}

void Recording::copy(const Device& device, Address to, Address from, int64_t bytes) {
  if (bytes == 0) return;
  Step step{Step::Kind::Copy};
  step.to = to;
  step.from = from;
  step.bytes = bytes;
  add(device, std::move(step));
}

void Recording::fill(const Device& device, Address to, std::byte value, int64_t bytes) {
  if (bytes == 0) return;
  Step step{Step::Kind::Fill};
  step.to = to;
  step.bytes = bytes;
  step.value = value;
  add(device, std::move(step));
}

std::shared_ptr<GraphMemory> Recording::allocate(int64_t bytes) {
  const int64_t size = Pool::block_size(bytes);
  for (const std::shared_ptr<GraphMemory>& memory : memory_)
    if (memory.use_count() == 1 && Pool::block_size(memory->bytes()) == size) return memory;
  memory_.push_back(allocate_separate(bytes));
  return memory_.back();
}

std::shared_ptr<GraphMemory> Recording::allocate_separate(int64_t bytes) {
  const Suspended suspended;
  return std::make_shared<GraphMemory>(device_, device_.allocate(bytes), bytes);
}

bool Graph::is_shared() const {
  return std::ranges::any_of(memory_, [](const auto& memory) { return memory.use_count() > 1; });
}

Graph::Graph(Recording& recording)
    : device_(recording.device()),
      last_(&device_.stream()),
      memory_(std::move(recording.memory_)),
      waits_(std::move(recording.waits_)),
      steps_(std::move(recording.steps_)),
      is_changed_(steps_.size()) {
  size_t begin = 0;
  const auto add = [&](size_t end) {
    if (begin == end && !pieces_.empty()) return;
    std::unique_ptr<Sequence> own = sequence_of(device_, std::span(steps_).subspan(begin, end - begin));
    pieces_.push_back({begin, end, std::move(own)});
    begin = end;
  };
  for (const Recording::Wait& wait : waits_) add(wait.before);
  add(steps_.size());
}

Graph::~Graph() {
  try {
    if (Stream& now = device_.stream(); &now != last_) device_.order(*last_, now);
  } catch (const DeviceError&) {  // of a device that has failed, or in a forked child
    return;
  }
}

void Graph::release(Address address) {
  std::erase_if(memory_, [&](const auto& memory) { return memory->address() == address; });
}

void Graph::set_address(size_t step, size_t n, Address address) {
  steps_[step].set_address(n, address);
  if (!is_changed_[step]) changed_.push_back(step);
  is_changed_[step] = true;
}

void Graph::begin() {
  Recording::refuse("launching a graph");
  for (const size_t step : changed_) {
    const auto piece = std::ranges::upper_bound(pieces_, step, {}, &Piece::end);
    piece->sequence->replace(step - piece->begin, steps_[step]);
    is_changed_[step] = false;
  }
  changed_.clear();
  Stream& now = device_.stream();
  if (&now != last_) device_.order(*last_, now);
  last_ = &now;
}

void Graph::launch(size_t piece) {
  if (pieces_[piece].begin == pieces_[piece].end) return;
  const ObservedLaunch observed(device_, "graph");
  pieces_[piece].sequence->launch();
}

}  // namespace ingot::devices
