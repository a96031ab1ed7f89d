#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "devices/libraries.h"
#include "devices/libraries/library.h"

namespace ingot::devices {

class RandomGenerator;

/// cuRAND.
class Random {
 public:
  Random(CudaDevice& device, const std::vector<std::string>& folders);
  std::string description();
  void forget(CudaStreamHandle stream) noexcept;

 private:
  CudaDevice& device_;
  LibraryFile file_;
  RandomFunctions functions_{};
  std::mutex mutex_{};
  std::set<RandomGenerator*> generators_{};

  void check(LibraryStatus status, const char* what) const {
    if (status != 0) [[unlikely]]
      fail_in_library(device_, file_, status, what);
  }
  friend class RandomGenerator;
};

/// A generator of cuRAND's. What it fills are contiguous elements; draws follow each other in the order of
/// the calls, in all streams together. One thread uses it at a time.
class RandomGenerator {
 public:
  /// The number of a curandRngType.
  RandomGenerator(Libraries& libraries, int type);
  ~RandomGenerator();
  RandomGenerator(const RandomGenerator&) = delete;
  RandomGenerator& operator=(const RandomGenerator&) = delete;

  void set_seed(uint64_t seed);
  void set_offset(uint64_t offset);
  void set_dimensions(unsigned dimensions);

  /// Bits of uint32 or uint64.
  void bits(const DeviceView& target);
  /// Of float32 or float64, as the three below: from 0 to 1, without 0.
  void uniform(const DeviceView& target);
  void normal(const DeviceView& target, double mean, double deviation);
  /// Numbers whose logarithm is normally distributed.
  void log_normal(const DeviceView& target, double mean, double deviation);
  /// Of uint32.
  void poisson(const DeviceView& target, double mean);

  Device& device() const;

 private:
  Random& random_;
  uint64_t life_;
  RandomHandle handle_ = nullptr;
  Stream* last_ = nullptr;  ///< that the last draw went into
  CudaStreamHandle last_handle_ = nullptr;
  std::mutex mutex_{};  ///< of the draws
  friend class Random;

  /// Draws, in the thread's stream, after all that was drawn before. `is_even`: so many numbers at a time.
  template <class Draw>
  void draw(const DeviceView& target, bool is_even, const char* what, Draw&& draw);
  void require_life() const;
};

}  // namespace ingot::devices
