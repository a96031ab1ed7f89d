#pragma once

#include <optional>

#include "devices/device.h"
#include "runtime/abi.h"
#include "runtime/context.h"

namespace ingot::runtime {

inline constexpr KernelError kNoKernelError{KernelError::kNone, 0, 0, 0, {}};

/// The error report of a launch that may raise. It is in memory that the host and kernels both use, where the
/// driver has such: then nothing is copied. It is kept for other launches of the device.
class KernelReport {
 public:
  /// Throws devices::DeviceError.
  explicit KernelReport(devices::Device& device);
  ~KernelReport();
  KernelReport(const KernelReport&) = delete;
  KernelReport& operator=(const KernelReport&) = delete;

  /// For kernels.
  devices::Address address() const { return address_; }
  /// The launch has been made: threads may report.
  void use() { is_in_use_ = true; }
  /// Waits for the launch, in the thread's stream; what its threads have reported, if they have. Throws
  /// devices::DeviceError.
  std::optional<KernelError> wait();

 private:
  devices::Device& device_;
  uint64_t life_;        ///< of the device
  KernelError* shared_;  ///< null: in the device's memory
  OwnedBuffer own_;
  devices::Address address_ = 0;
  bool is_in_use_ = false;  ///< threads may still report; for ever, if waiting for them fails
};

}  // namespace ingot::runtime
