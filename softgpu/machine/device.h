#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "softgpu/machine/launch.h"
#include "softgpu/machine/queue_watch.h"

namespace softgpu {

struct DeviceOptions {
  uint64_t memory = uint64_t{4} << 30;  ///< bytes
  uint64_t seed = 0;  ///< of the order in which streams, blocks and warps run; 0: in the order of the calls
  uint64_t limit = uint64_t{1} << 40;  ///< instructions of a launch
  bool finds_races = false;
  bool finds_unwritten = false;  ///< reads of memory that nobody has written
  bool is_loud = false;          ///< faults are written to stderr, too

  /// As INGOT_EMULATOR_MEMORY (MiB), _SEED, _LIMIT, _RACES, _UNWRITTEN and _LOUD set them.
  static DeviceOptions of_environment();
};

/// The number that a variable of the environment gives; `otherwise` where it is empty, not set or no number,
/// which stderr reports.
uint64_t environment(const char* name, uint64_t otherwise);

/// A device: memory, programs, and streams of operations, which run lazily - when they are waited for -, one
/// after the other in an order among the streams that the seed gives. An odd seed draws each time which of
/// the streams that can go on does; an even one has a stream go on as long as it can, while others
/// starve, and now and then chooses anew. After an operation has failed no other runs.
class Device {
 public:
  explicit Device(const DeviceOptions& options);

  Memory& memory() { return memory_; }
  const DeviceOptions& options() const { return options_; }

  static constexpr uint32_t kDefault = 0;  ///< the stream that waits for all others, and for which they wait

  /// `is_blocking`: the default stream and it wait for each other. Of streams that can go on, those of the
  /// lowest number of priority do.
  uint32_t create_stream(bool is_blocking, int priority = 0);
  bool has_stream(uint32_t stream) const;
  /// Operations in it still run.
  void destroy_stream(uint32_t stream);
  bool is_blocking(uint32_t stream) const;

  using Operation = std::function<void(Device&)>;

  void enqueue(uint32_t stream, Operation operation);
  /// The moment when all operations in a stream now are done.
  Moment now(uint32_t stream) const;
  /// Operations put into `stream` from now on wait for a moment.
  void wait_for(uint32_t stream, const Moment& moment);
  bool is_reached(const Moment& moment) const;
  /// Operations put into `stream` from now on wait for something elsewhere that all streams may come before.
  void wait_elsewhere(uint32_t stream);

  /// Runs operations until the moment is reached; or until all are done. Where nothing can run, or the device
  /// has failed, they return at once.
  void run_until(const Moment& moment);
  void run_all();
  /// Runs one operation, if one can run; whether it did.
  bool step();
  /// Whether a moment is reached, for the host, which goes on after it if it is.
  bool is_passed(const Moment& moment);

  /// Runs a launch now. A fault makes the device fail.
  void launch(const Program& program, const Function& kernel, const LaunchShape& shape,
              const std::vector<std::byte>& parameters, bool is_cooperative);

  /// The first fault, if there was one; after it nothing runs any more.
  const std::optional<Fault>& failure() const { return failure_; }
  /// Copies between two generic addresses, of which some are the device's; `bytes` that are not in one
  /// allocation are a fault.
  void copy(uint64_t to, uint64_t from, uint64_t bytes);
  /// Sets elements of `width` bytes.
  void fill(uint64_t to, uint32_t value, uint32_t width, uint64_t count);

  const LaunchCounts& counts() const { return counts_; }

 private:
  struct Entry {
    Operation operation;
    std::vector<Moment> waits;
  };
  struct Stream {
    bool is_blocking = true;
    bool is_alive = true;
    bool is_running = false;  ///< its first entry is, which may make other devices go on, and they this one
    int priority = 0;
    uint64_t done = 0;
    uint64_t put = 0;
    std::vector<Moment> waits{};  ///< of what comes next
    std::vector<Entry> entries{};
    size_t next = 0;  ///< the first of `entries` that has not run
  };

  DeviceOptions options_;
  Memory memory_;
  std::vector<Stream> streams_;
  std::optional<Fault> failure_;
  LaunchCounts counts_{};
  uint64_t random_;
  std::vector<uint64_t> ranks_{};     ///< by stream, of an even seed: the lowest one goes on
  std::optional<QueueWatch> queues_;  ///< where races are found
  Moment running_{};                  ///< after the operation that runs

  bool is_ready(const Stream& stream) const;
  uint32_t chosen_of(const std::vector<uint32_t>& ready);
  void touch(uint64_t address, uint64_t bytes, Access access, const char* who);
  void fail(const Fault& fault);
};

}  // namespace softgpu
