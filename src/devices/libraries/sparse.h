#pragma once

#include <complex>
#include <memory>
#include <string>
#include <vector>

#include "devices/libraries.h"
#include "devices/libraries/library.h"

namespace ingot::devices {

/// A sparse matrix, row by row: the elements of row i are those from `starts[i]` to before `starts[i + 1]`,
/// in the columns `column_indices`. Both are int32 or int64; the three arrays have one axis without gaps.
struct SparseRows {
  int64_t rows = 0;
  int64_t columns = 0;
  DeviceView starts;
  DeviceView column_indices;
  DeviceView values;
};

/// Products with sparse matrices, by cuSPARSE, of the dtypes float32, float64, complex64 and complex128.
class Sparse {
 public:
  Sparse(CudaDevice& device, const std::vector<std::string>& folders);

  using Number = std::complex<double>;

  /// y = alpha * op(a) @ x + beta * y, of vectors without gaps, or of matrices of which rows or columns are
  /// contiguous.
  void product(LibraryOperation operation, Number alpha, const SparseRows& a, const DeviceView& x,
               Number beta, const DeviceView& y);

  std::string description();
  void forget(CudaStreamHandle stream) noexcept {
    handles_.remove_if([&](auto key) { return key == stream; });
  }
  void release() noexcept {
    handles_.remove_if([](auto) { return true; });
  }
  void abandon() noexcept { handles_.abandon(); }

 private:
  CudaDevice& device_;
  LibraryFile file_;
  SparseFunctions functions_{};
  StreamHandles<SparseHandle> handles_{};

  void check(LibraryStatus status, const char* what) const {
    if (status != 0) [[unlikely]]
      fail_in_library(device_, file_, status, what);
  }
  StreamHandles<SparseHandle>::Entry handle(CudaStreamHandle stream);
  void by_vector(SparseHandle handle, LibraryOperation operation, const LibraryScalar& alpha,
                 SparseMatrixHandle a, const DeviceView& x, const LibraryScalar& beta, const DeviceView& y);
  void by_matrix(SparseHandle handle, LibraryOperation operation, const LibraryScalar& alpha,
                 SparseMatrixHandle a, const DeviceView& x, const LibraryScalar& beta, const DeviceView& y);
  DenseMatrixHandle dense(const DeviceView& matrix);
};

}  // namespace ingot::devices
