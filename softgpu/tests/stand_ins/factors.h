#pragma once

#include <complex>
#include <cstdint>
#include <vector>

/// Factors of matrices, in column-major order, computed plainly in complex doubles.
namespace softgpu::stand_ins {

using Complex = std::complex<double>;

struct Matrix {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<Complex> elements{};

  Matrix(int64_t m, int64_t n) : rows(m), columns(n), elements(static_cast<size_t>(m * n)) {}
  Complex& at(int64_t row, int64_t column) { return elements[static_cast<size_t>(row + column * rows)]; }
  const Complex& at(int64_t row, int64_t column) const {
    return elements[static_cast<size_t>(row + column * rows)];
  }
};

/// L and U in place, with partial pivoting; `pivots` count from 1. 0, or which number of U's diagonal is the
/// first that is 0, from 1 on.
int lu(Matrix& a, std::vector<int64_t>& pivots);
/// Overwrites b with x, where L U x = P b.
void lu_solve(const Matrix& factors, const std::vector<int64_t>& pivots, Matrix& b);
/// One triangle in place; 0, or the order of the first part that is not positive definite.
int cholesky(Matrix& a, bool is_upper);
/// R and reflectors in place, as LAPACK has them.
void qr(Matrix& a, std::vector<Complex>& tau);
/// The product of the reflectors in the first columns of `a` over all of them.
void q_of(Matrix& a, const std::vector<Complex>& tau);
/// Eigenvectors in place, of the matrix that one triangle gives; values ascending. 0, or not 0: it does not
/// converge.
int eigen(Matrix& a, std::vector<double>& values, bool is_upper);
/// A = U S V^H of a matrix with no fewer rows than columns; U has as many columns as `left` has. 0, or not 0.
int svd(const Matrix& a, std::vector<double>& values, Matrix& left, Matrix& right);

}  // namespace softgpu::stand_ins
