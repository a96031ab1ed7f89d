#pragma once

#include <span>
#include <vector>

#include "devices/cuda_device.h"
#include "devices/recording.h"

namespace ingot::devices {

/// Steps as a graph of the driver's, a node each, which come one after the other.
class CudaSequence final : public Sequence, public CudaObject {
 public:
  /// Throws DeviceError.
  CudaSequence(CudaDevice& device, uint64_t life, std::span<const Step> steps);
  ~CudaSequence() override;
  void launch() override;
  void replace(size_t n, const Step& step) override;

 private:
  CudaGraphHandle graph_ = nullptr;
  CudaGraphExecHandle exec_ = nullptr;
  std::vector<CudaNodeHandle> nodes_;

  void add(const Step& step);
  void destroy() noexcept;
};

}  // namespace ingot::devices
