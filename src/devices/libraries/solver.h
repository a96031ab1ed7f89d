#pragma once

#include <memory>
#include <string>
#include <vector>

#include "devices/libraries.h"
#include "devices/libraries/library.h"

namespace ingot::devices {

/// Dense linear algebra by cuSOLVER. Operands are batches of matrices, whose last two axes are a matrix, of
/// float32, float64, complex64 or complex128, all of a call the same but for real results of complex
/// matrices; they have any layout, and elements. All functions wait, and return whether they worked for all
/// matrices: where it did not, results are unspecified.
class Solver {
 public:
  Solver(CudaDevice& device, const std::vector<std::string>& folders);

  /// a @ x = b. Vectors b and x are given as matrices of one column. False: a matrix is singular.
  bool solve(const DeviceView& a, const DeviceView& b, const DeviceView& x);
  bool inverse(const DeviceView& a, const DeviceView& result);
  /// The sign (of a complex matrix a number of absolute value 1, or 0) and the logarithm of the absolute
  /// value of each matrix' determinant. A singular one has sign 0.
  struct Determinant {
    std::complex<double> sign;
    double logarithm;
  };
  std::vector<Determinant> determinants(const DeviceView& a);
  /// The lower or upper triangular factor, whose other triangle is 0. False: a matrix is not positive
  /// definite.
  bool cholesky(const DeviceView& a, const DeviceView& result, bool is_upper);
  /// R and the reflectors in place, and their factors.
  bool qr(const DeviceView& a, const DeviceView& tau);
  /// The columns of Q, as many as `q` has, from the result of `qr`.
  bool qr_columns(const DeviceView& factored, const DeviceView& tau, const DeviceView& q);
  /// Singular values, descending, and if `u` is not null singular vectors: all, or as many as there are
  /// values.
  bool svd(const DeviceView& a, const DeviceView& s, const DeviceView* u, const DeviceView* vh);
  /// Eigenvalues of Hermitian matrices, ascending, of which one triangle counts, and with `vectors` their
  /// vectors.
  bool eigen(const DeviceView& a, const DeviceView& values, const DeviceView* vectors, bool is_upper);

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
  struct Handles {
    SolverHandle solver = nullptr;
    SolverParameters parameters = nullptr;
    const SolverFunctions* functions = nullptr;
  };

  CudaDevice& device_;
  LibraryFile file_;
  SolverFunctions functions_{};
  StreamHandles<Handles> handles_{};

  void check(LibraryStatus status, const char* what) const {
    if (status != 0) [[unlikely]]
      fail_in_library(device_, file_, status, what);
  }
  LibraryStatus q_length(base::DType dtype, SolverHandle handle, int m, int n, int k, const void* a,
                         const void* tau, int* length) const;
  LibraryStatus q(base::DType dtype, SolverHandle handle, int m, int n, int k, void* a, const void* tau,
                  void* work, int length, int* info) const;
};

}  // namespace ingot::devices
