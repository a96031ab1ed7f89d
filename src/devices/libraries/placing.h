#pragma once

#include <memory>
#include <mutex>

#include "devices/libraries.h"

namespace ingot::devices {

/// Which diagonals of a matrix are meant: those whose number, column - row, is in between.
struct Band {
  int64_t low = INT32_MIN;
  int64_t high = INT32_MAX;

  static constexpr Band all() { return {}; }
  static constexpr Band lower() { return {INT32_MIN, 0}; }
  static constexpr Band upper() { return {0, INT32_MAX}; }
  static constexpr Band diagonal() { return {0, 0}; }
  static constexpr Band none() { return {1, 0}; }
};

/// What libraries need besides them: matrices in another layout, made in the stream.
class Placing {
 public:
  explicit Placing(CudaDevice& device) : device_(device) {}

  /// Writes the elements of `from` in a band into `to`, and zeros outside it. Both have the same element size
  /// of 4, 8 or 16 bytes, and two axes of the same lengths; they do not overlap. A stride of 0 repeats.
  void place(const DeviceView& to, const DeviceView& from, Band band = Band::all());
  /// Multiplies contiguous floats by one in the device's memory.
  void multiply(Address elements, int64_t count, base::DType dtype, Address factor);

  /// The device's context is gone.
  void abandon() noexcept;

 private:
  const Kernel& kernel(const char* name);

  CudaDevice& device_;
  std::mutex mutex_{};
  std::unique_ptr<Code> code_{};
};

/// A matrix in column-major order.
DeviceView columns(base::DType dtype, Address data, int64_t rows, int64_t columns);
/// Contiguous elements.
DeviceView vector(base::DType dtype, Address data, int64_t length);
/// A vector as a matrix of one column.
DeviceView as_column(const DeviceView& vector);

}  // namespace ingot::devices
