#pragma once

#include <complex>
#include <memory>
#include <string>
#include <vector>

#include "devices/libraries.h"
#include "devices/libraries/library.h"

namespace ingot::devices {

/// A factor of a product.
struct Factor {
  DeviceView matrix;  ///< or a batch of them
  bool is_conjugate = false;
};

/// Products and operations on vectors, by cuBLAS, of the dtypes float32, float64, complex64 and complex128;
/// all operands of a call have the same one. Vectors have one axis and strides of whole elements that are not
/// 0. Lengths have to fit. Functions that return a number wait for it.
class Blas {
 public:
  Blas(CudaDevice& device, const std::vector<std::string>& folders);

  using Number = std::complex<double>;

  /// c = alpha * a @ b + beta * c. The last two axes are the matrices', those before them a batch's, which a
  /// factor may have none of. Rows or columns of `c` are contiguous; what is only written may not overlap
  /// with factors.
  void product(Number alpha, const Factor& a, const Factor& b, Number beta, const DeviceView& c);
  /// y += alpha * x
  void axpy(Number alpha, const DeviceView& x, const DeviceView& y);
  /// x *= alpha
  void scale(Number alpha, const DeviceView& x);
  void copy(const DeviceView& x, const DeviceView& y);
  void swap(const DeviceView& x, const DeviceView& y);
  /// The sum of x * y, or of conj(x) * y.
  Number dot(const DeviceView& x, const DeviceView& y, bool conjugates);
  /// The square root of the sum of squares.
  double norm(const DeviceView& x);
  /// The sum of |re| + |im|.
  double sizes(const DeviceView& x);
  /// The index of the first element of largest, or smallest, |re| + |im|; there is one.
  int64_t largest(const DeviceView& x);
  int64_t smallest(const DeviceView& x);

  std::string description();
  void forget(CudaStreamHandle stream) noexcept {
    handles_.remove_if([&](auto key) { return key == stream; });
  }
  void release() noexcept {
    handles_.remove_if([](auto) { return true; });
  }
  void abandon() noexcept { handles_.abandon(); }

 private:
  class Call;

  CudaDevice& device_;
  LibraryFile file_;
  BlasFunctions functions_{};
  StreamHandles<BlasHandle> handles_{};

  void check(LibraryStatus status, const char* what) const {
    if (status != 0) [[unlikely]]
      fail_in_library(device_, file_, status, what);
  }
  double reduced(const DeviceView& x,
                 LibraryStatus (*function)(BlasHandle, int, const void*, LibraryType, int, void*, LibraryType,
                                           LibraryType),
                 const char* what);
  int64_t index_of(const DeviceView& x,
                   LibraryStatus (*function)(BlasHandle, int, const void*, LibraryType, int, int*),
                   const char* what);
};

}  // namespace ingot::devices
