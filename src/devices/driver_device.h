#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "devices/device.h"
#include "devices/forks.h"
#include "devices/pool.h"

namespace ingot::devices {

/// What devices of all drivers have in common: streams of threads, the pool of their memory, pinned memory,
/// and the error of a fault, which every later call throws.
class DriverDevice : public Device, protected PoolSource {
 public:
  const Properties& properties() const final { return properties_; }
  Stream& stream() final;
  void use_stream(Stream* stream) final;
  MemoryUse memory() const final;
  void reset_memory_peak() final;
  /// `gpu 0`, as messages name it.
  std::string name() const;

 protected:
  /// `own`: the stream of threads that have set none. Both live as long as this.
  DriverDevice(const OpenDriver& driver, Stream& own) : opened_(driver), own_stream_(own) {}

  /// Throws DeviceError if the device cannot be used: after a fork, after a fault. Opens it before that.
  void require_usable() {
    refuse_fork();
    if (!is_open_.load(std::memory_order_acquire)) open_once();
    if (has_failed_.load(std::memory_order_acquire)) refuse_failed();
  }
  /// Throws DeviceError in a forked child.
  void refuse_fork() const;
  [[noreturn]] void refuse(const std::string& words) const;
  /// Of a fault, after which no call is made: throws DeviceError with the words of the first one.
  [[noreturn]] void fail_for_good(const std::string& words) const;

  /// Throws DeviceError unless the stream is one of this device that may be used.
  virtual void require(Stream& stream) const;
  void keep_stream(Stream& made);
  /// Before it is destroyed.
  void forget_stream(const Stream& stream) noexcept;
  /// Bytes of a copy. Throws DeviceError if negative.
  size_t size_of(int64_t bytes) const;

  struct Pinned {
    uintptr_t start = 0;
    int64_t bytes = 0;   ///< 0: it is none
    Address mapped = 0;  ///< where kernels find it
    bool is_registered = false;
    bool is_managed = false;
  };
  void keep_pinned(const Pinned& pinned);
  /// The pinned memory that holds the address.
  Pinned find_pinned(const void* address) const;

  /// All streams, memory and faults are gone with the device's context. Under `mutex_`.
  void forget_all();

  Properties properties_{};
  mutable std::mutex mutex_;  ///< of the context and `streams_`; taken before the others
  std::atomic<bool> is_open_{false};
  std::vector<Stream*> streams_{};  ///< that `make_stream` has made
  mutable std::mutex pinned_mutex_;
  std::map<uintptr_t, Pinned> pinned_{};  ///< by address
  Pool pool_{*this};

 private:
  /// Makes the context and the device's own stream. Under `mutex_`.
  virtual void open() = 0;
  void open_once();
  [[noreturn]] void refuse_failed() const;

  const OpenDriver& opened_;
  Stream& own_stream_;
  mutable std::mutex failure_mutex_;
  mutable std::atomic<bool> has_failed_{false};
  mutable std::string failure_{};
};

}  // namespace ingot::devices
