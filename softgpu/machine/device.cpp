#include "softgpu/machine/device.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace softgpu {

namespace {

uint64_t scrambled(uint64_t& state) {
  state += 0x9E3779B97F4A7C15;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

/// Runs a function on destruction.
template <class F>
struct Finally {
  explicit Finally(F function) : run(std::move(function)) {}
  ~Finally() { run(); }
  Finally(const Finally&) = delete;
  Finally& operator=(const Finally&) = delete;
  F run;
};

}  // namespace

uint64_t environment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  errno = 0;
  const uint64_t value = std::strtoull(text, &end, 0);
  if (std::isdigit(static_cast<unsigned char>(*text)) != 0 && *end == '\0' && errno == 0) return value;
  std::fprintf(stderr, "%s is a number, not '%s': it is taken as not set\n", name, text);
  return otherwise;
}

DeviceOptions DeviceOptions::of_environment() {
  DeviceOptions options;
  options.memory = environment("INGOT_EMULATOR_MEMORY", options.memory >> 20) << 20;
  options.seed = environment("INGOT_EMULATOR_SEED", 0);
  options.limit = environment("INGOT_EMULATOR_LIMIT", options.limit);
  options.finds_races = environment("INGOT_EMULATOR_RACES", 0) != 0;
  options.finds_unwritten = environment("INGOT_EMULATOR_UNWRITTEN", 0) != 0;
  options.is_loud = environment("INGOT_EMULATOR_LOUD", 0) != 0;
  return options;
}

Device::Device(const DeviceOptions& options)
    : options_(options),
      memory_(options.memory, options.finds_unwritten),
      streams_(1),
      random_(options.seed) {
  if (options.finds_races) queues_.emplace();
}

uint32_t Device::create_stream(bool is_blocking, int priority) {
  Stream made;
  made.is_blocking = is_blocking;
  made.priority = priority;
  streams_.push_back(std::move(made));
  return static_cast<uint32_t>(streams_.size() - 1);
}

bool Device::has_stream(uint32_t stream) const {
  return stream < streams_.size() && streams_[stream].is_alive;
}

void Device::destroy_stream(uint32_t stream) { streams_[stream].is_alive = false; }

bool Device::is_blocking(uint32_t stream) const { return streams_[stream].is_blocking; }

Moment Device::now(uint32_t stream) const { return {stream, streams_[stream].put}; }

void Device::wait_for(uint32_t stream, const Moment& moment) {
  if (queues_ || !is_reached(moment)) streams_[stream].waits.push_back(moment);
}

bool Device::is_reached(const Moment& moment) const { return streams_[moment.stream].done >= moment.number; }

void Device::wait_elsewhere(uint32_t stream) {
  if (queues_) queues_->gather(stream);
}

bool Device::is_passed(const Moment& moment) {
  if (!is_reached(moment)) return false;
  if (queues_) queues_->pass(moment);
  return true;
}

void Device::enqueue(uint32_t stream, Operation operation) {
  if (stream == kDefault) {
    for (uint32_t other = 1; other < streams_.size(); ++other)
      if (streams_[other].is_blocking) wait_for(kDefault, now(other));
  } else if (streams_[stream].is_blocking) {
    wait_for(stream, now(kDefault));
  }
  Stream& into = streams_[stream];
  if (queues_) queues_->put(stream, into.waits);
  into.entries.push_back({std::move(operation), std::move(into.waits)});
  into.waits.clear();
  ++into.put;
}

bool Device::is_ready(const Stream& stream) const {
  if (stream.next == stream.entries.size() || stream.is_running) return false;
  return std::ranges::all_of(stream.entries[stream.next].waits,
                             [&](const Moment& m) { return is_reached(m); });
}

uint32_t Device::chosen_of(const std::vector<uint32_t>& ready) {
  if (options_.seed == 0) return ready.front();
  if (options_.seed % 2 != 0) return ready[scrambled(random_) % ready.size()];
  if (ranks_.size() < streams_.size() || scrambled(random_) % 16 == 0) {
    ranks_.resize(streams_.size());
    for (uint64_t& rank : ranks_) rank = scrambled(random_);
  }
  return *std::ranges::min_element(ready, {}, [&](uint32_t stream) { return ranks_[stream]; });
}

bool Device::step() {
  if (failure_) return false;
  std::vector<uint32_t> ready;
  for (uint32_t stream = 0; stream < streams_.size(); ++stream) {
    if (!is_ready(streams_[stream])) continue;
    const int priority = streams_[stream].priority;
    if (!ready.empty() && priority < streams_[ready.front()].priority) ready.clear();
    if (ready.empty() || priority == streams_[ready.front()].priority) ready.push_back(stream);
  }
  if (ready.empty()) return false;
  const uint32_t chosen = chosen_of(ready);
  const Operation operation = std::move(streams_[chosen].entries[streams_[chosen].next].operation);
  streams_[chosen].is_running = true;
  const Moment outer = std::exchange(running_, {chosen, streams_[chosen].done + 1});
  const Finally stop([&] {
    streams_[chosen].is_running = false;
    running_ = outer;
  });
  try {
    operation(*this);
  } catch (const Fault& fault) {
    fail(fault);
    return false;
  }
  Stream& stream = streams_[chosen];
  ++stream.done;
  if (++stream.next == stream.entries.size()) {
    stream.entries.clear();
    stream.next = 0;
  }
  return true;
}

void Device::run_until(const Moment& moment) {
  while (!is_passed(moment) && step()) {
  }
}

void Device::run_all() {
  while (step()) {
  }
  if (queues_ && !failure_) queues_->pass_all();
}

void Device::fail(const Fault& fault) {
  failure_ = fault;
  if (options_.is_loud) std::fprintf(stderr, "ingot emulator: %s\n", fault.what());
}

void Device::launch(const Program& program, const Function& kernel, const LaunchShape& shape,
                    const std::vector<std::byte>& parameters, bool is_cooperative) {
  LaunchOptions how;
  how.limit = options_.limit;
  how.finds_races = options_.finds_races;
  how.all_resident = is_cooperative;
  if (options_.seed != 0) how.seed = scrambled(random_) | 1;
  std::string printed;
  how.printed = &printed;
  const Finally write([&] {
    if (printed.empty()) return;
    std::fwrite(printed.data(), 1, printed.size(), stdout);
    std::fflush(stdout);
  });
  Touched touched;
  if (queues_) how.touched = &touched;
  const LaunchCounts made = run_kernel(program, kernel, shape, parameters, memory_, how);
  counts_.instructions += made.instructions;
  counts_.issues += made.issues;
  if (!queues_ || running_.number == 0) return;
  touched.for_each([&](const Allocation& where, Access access, const Footprint& footprint) {
    queues_->touch(running_, "kernel " + kernel.name, where, access, footprint);
  });
}

void Device::touch(uint64_t address, uint64_t bytes, Access access, const char* who) {
  if (!queues_ || running_.number == 0) return;
  const Allocation* const where = memory_.near(address);
  if (where == nullptr || !where->holds(address, bytes)) return;
  const uint64_t at = address - where->base;
  queues_->touch(running_, who, *where, access, {at, at + bytes});
}

void Device::copy(uint64_t to, uint64_t from, uint64_t bytes) {
  if (bytes == 0) return;
  const auto host_address = [&](uint64_t address, const char* what) {
    std::byte* const found = memory_.bytes_at(address, bytes);
    if (found == nullptr && (memory_.is_device_address(address) || address < 4096))
      throw Fault(FaultKind::Illegal, std::string("a copy ") + what + " " + std::to_string(bytes) +
                                          " bytes of device memory: " + memory_.describe(address));
    return found != nullptr ? found : reinterpret_cast<std::byte*>(address);
  };
  std::byte* const target = host_address(to, "to");
  touch(from, bytes, Access::Read, "a copy");
  touch(to, bytes, Access::Write, "a copy");
  std::memmove(target, host_address(from, "from"), bytes);
  memory_.mark_written(to, bytes);
}

void Device::fill(uint64_t to, uint32_t value, uint32_t width, uint64_t count) {
  if (count == 0) return;
  std::byte* const target = memory_.bytes_at(to, width * count);
  if (target == nullptr)
    throw Fault(FaultKind::Illegal,
                "a memset of " + std::to_string(width * count) + " bytes: " + memory_.describe(to));
  touch(to, width * count, Access::Write, "a fill");
  memory_.mark_written(to, width * count);
  if (width == 1) std::memset(target, static_cast<int>(value & 255), count);
  else
    for (uint64_t k = 0; k < count; ++k) std::memcpy(target + k * width, &value, width);
}

}  // namespace softgpu
