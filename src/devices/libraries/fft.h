#pragma once

#include <memory>
#include <string>
#include <vector>

#include "devices/libraries.h"
#include "devices/libraries/library.h"

namespace ingot::devices {

/// Fourier transforms by cuFFT, unscaled, of float32, float64, complex64 and complex128.
class Fft {
 public:
  Fft(CudaDevice& device, const std::vector<std::string>& folders);

  /// Transforms the last `axes` axes, 1 to 3, for each index along those before them. Both are in C order,
  /// without gaps. Complex to complex, where they may be the same; from real numbers, or, inverse, to them:
  /// there the complex ones have n / 2 + 1 elements along the last axis.
  void transform(const DeviceView& input, const DeviceView& output, size_t axes, bool is_inverse);

  std::string description();
  /// Plans that are kept.
  static constexpr size_t kMostPlans = 64;
  void forget(CudaStreamHandle stream) noexcept {
    plans_.remove_if([&](const Key& key) { return key.stream == stream; });
  }
  void release() noexcept {
    plans_.remove_if([](const Key&) { return true; });
  }
  void abandon() noexcept { plans_.abandon(); }

 private:
  struct Key {
    CudaStreamHandle stream;
    std::vector<int64_t> lengths;
    FftType type;
    int64_t batch;
    auto operator<=>(const Key&) const = default;
  };
  struct Plan {
    int number = 0;
    size_t work_bytes = 0;
    LibraryStatus (*destroy)(int) = nullptr;
  };

  CudaDevice& device_;
  LibraryFile file_;
  FftFunctions functions_{};
  StreamHandles<Plan, Key> plans_{};

  void check(LibraryStatus status, const char* what) const {
    if (status != 0) [[unlikely]]
      fail_in_library(device_, file_, status, what);
  }
  std::shared_ptr<StreamHandle<Plan>> make(const Key& key);
  /// Makes the first frequencies of a copy real, and for an even length also the last.
  void make_real(const DeviceView& frequencies, Address copy, int64_t length);
  LibraryStatus execute(int plan, FftType type, void* input, void* output, bool is_inverse) const;
};

}  // namespace ingot::devices
