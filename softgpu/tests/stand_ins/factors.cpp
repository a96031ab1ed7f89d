#include "factors.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace softgpu::stand_ins {

namespace {

constexpr int kMostSweeps = 100;

/// The rotation that makes an element off the diagonal of a Hermitian matrix of two rows 0.
struct Rotation {
  double cosine = 1;
  double sine = 0;
  Complex phase = 1;

  Rotation(double first, double second, Complex off_diagonal) {
    const double size = std::abs(off_diagonal);
    const double slope = (second - first) / (2 * size);
    const double tangent = (slope < 0 ? -1 : 1) / (std::abs(slope) + std::sqrt(1 + slope * slope));
    cosine = 1 / std::sqrt(1 + tangent * tangent);
    sine = tangent * cosine;
    phase = off_diagonal / size;
  }

  void rotate_columns(Matrix& a, int64_t p, int64_t q) const {
    for (int64_t k = 0; k < a.rows; ++k) {
      const Complex one = a.at(k, p), other = std::conj(phase) * a.at(k, q);
      a.at(k, p) = cosine * one - sine * other;
      a.at(k, q) = sine * one + cosine * other;
    }
  }
  void rotate_rows(Matrix& a, int64_t p, int64_t q) const {
    for (int64_t k = 0; k < a.columns; ++k) {
      const Complex one = a.at(p, k), other = phase * a.at(q, k);
      a.at(p, k) = cosine * one - sine * other;
      a.at(q, k) = sine * one + cosine * other;
    }
  }
};

Matrix identity(int64_t n) {
  Matrix made(n, n);
  for (int64_t i = 0; i < n; ++i) made.at(i, i) = 1;
  return made;
}

Complex inner(const Matrix& a, int64_t p, const Matrix& b, int64_t q) {
  Complex sum = 0;
  for (int64_t k = 0; k < a.rows; ++k) sum += std::conj(a.at(k, p)) * b.at(k, q);
  return sum;
}

/// The columns of a matrix in an order.
Matrix ordered(const Matrix& a, const std::vector<int64_t>& order) {
  Matrix made(a.rows, a.columns);
  for (int64_t column = 0; column < a.columns; ++column)
    for (int64_t row = 0; row < a.rows; ++row)
      made.at(row, column) = a.at(row, order[static_cast<size_t>(column)]);
  return made;
}

/// Makes a column a unit vector that is orthogonal to those before it.
void complete(Matrix& a, int64_t column) {
  double best = -1;
  std::vector<Complex> found;
  for (int64_t unit = 0; unit < a.rows; ++unit) {
    for (int64_t k = 0; k < a.rows; ++k) a.at(k, column) = k == unit ? 1 : 0;
    for (int again = 0; again < 2; ++again)
      for (int64_t before = 0; before < column; ++before) {
        const Complex part = inner(a, before, a, column);
        for (int64_t k = 0; k < a.rows; ++k) a.at(k, column) -= part * a.at(k, before);
      }
    const double size = std::sqrt(inner(a, column, a, column).real());
    if (size <= best) continue;
    best = size;
    found.clear();
    for (int64_t k = 0; k < a.rows; ++k) found.push_back(a.at(k, column) / size);
  }
  for (int64_t k = 0; k < a.rows; ++k) a.at(k, column) = found[static_cast<size_t>(k)];
}

/// I - factor v v^H from the left, of the vector below the diagonal of a column, to other columns.
void reflect(Matrix& a, const std::vector<Complex>& v, int64_t first, Complex factor, int64_t column) {
  Complex sum = 0;
  for (int64_t k = first; k < a.rows; ++k) sum += std::conj(v[static_cast<size_t>(k)]) * a.at(k, column);
  for (int64_t k = first; k < a.rows; ++k) a.at(k, column) -= factor * sum * v[static_cast<size_t>(k)];
}

std::vector<Complex> reflector(const Matrix& a, int64_t column) {
  std::vector<Complex> v(static_cast<size_t>(a.rows));
  for (int64_t k = column; k < a.rows; ++k) v[static_cast<size_t>(k)] = k == column ? 1 : a.at(k, column);
  return v;
}

}  // namespace

int lu(Matrix& a, std::vector<int64_t>& pivots) {
  int info = 0;
  for (int64_t k = 0; k < std::min(a.rows, a.columns); ++k) {
    int64_t largest = k;
    const auto size = [&](int64_t row) {
      return std::abs(a.at(row, k).real()) + std::abs(a.at(row, k).imag());
    };
    for (int64_t row = k + 1; row < a.rows; ++row)
      if (size(row) > size(largest)) largest = row;
    pivots[static_cast<size_t>(k)] = largest + 1;
    if (a.at(largest, k) == 0.0) {
      if (info == 0) info = static_cast<int>(k + 1);
      continue;
    }
    for (int64_t column = 0; column < a.columns; ++column) std::swap(a.at(k, column), a.at(largest, column));
    for (int64_t row = k + 1; row < a.rows; ++row) {
      a.at(row, k) /= a.at(k, k);
      for (int64_t column = k + 1; column < a.columns; ++column)
        a.at(row, column) -= a.at(row, k) * a.at(k, column);
    }
  }
  return info;
}

void lu_solve(const Matrix& factors, const std::vector<int64_t>& pivots, Matrix& b) {
  const int64_t n = factors.rows;
  for (int64_t side = 0; side < b.columns; ++side) {
    for (int64_t k = 0; k < n; ++k) std::swap(b.at(k, side), b.at(pivots[static_cast<size_t>(k)] - 1, side));
    for (int64_t row = 0; row < n; ++row)
      for (int64_t k = 0; k < row; ++k) b.at(row, side) -= factors.at(row, k) * b.at(k, side);
    for (int64_t row = n; row-- > 0;) {
      for (int64_t k = row + 1; k < n; ++k) b.at(row, side) -= factors.at(row, k) * b.at(k, side);
      b.at(row, side) /= factors.at(row, row);
    }
  }
}

int cholesky(Matrix& a, bool is_upper) {
  const int64_t n = a.rows;
  // The lower factor; the upper one is its transposed conjugate.
  const auto get = [&](int64_t row, int64_t column) {
    return is_upper ? std::conj(a.at(column, row)) : a.at(row, column);
  };
  const auto put = [&](int64_t row, int64_t column, Complex value) {
    if (is_upper) a.at(column, row) = std::conj(value);
    else a.at(row, column) = value;
  };
  for (int64_t column = 0; column < n; ++column) {
    double rest = get(column, column).real();
    for (int64_t k = 0; k < column; ++k) rest -= std::norm(get(column, k));
    if (!(rest > 0)) return static_cast<int>(column + 1);
    put(column, column, std::sqrt(rest));
    for (int64_t row = column + 1; row < n; ++row) {
      Complex value = get(row, column);
      for (int64_t k = 0; k < column; ++k) value -= get(row, k) * std::conj(get(column, k));
      put(row, column, value / std::sqrt(rest));
    }
  }
  return 0;
}

void qr(Matrix& a, std::vector<Complex>& tau) {
  for (int64_t column = 0; column < std::min(a.rows, a.columns); ++column) {
    const Complex alpha = a.at(column, column);
    double below = 0;
    for (int64_t k = column + 1; k < a.rows; ++k) below += std::norm(a.at(k, column));
    Complex& factor = tau[static_cast<size_t>(column)];
    factor = 0;
    if (below == 0 && alpha.imag() == 0) continue;
    const double beta = (alpha.real() < 0 ? 1 : -1) * std::sqrt(std::norm(alpha) + below);
    factor = Complex((beta - alpha.real()) / beta, -alpha.imag() / beta);
    for (int64_t k = column + 1; k < a.rows; ++k) a.at(k, column) /= alpha - beta;
    const std::vector<Complex> v = reflector(a, column);
    a.at(column, column) = beta;
    for (int64_t other = column + 1; other < a.columns; ++other)
      reflect(a, v, column, std::conj(factor), other);
  }
}

void q_of(Matrix& a, const std::vector<Complex>& tau) {
  Matrix q(a.rows, a.columns);
  for (int64_t i = 0; i < a.columns; ++i) q.at(i, i) = 1;
  for (size_t k = tau.size(); k-- > 0;) {
    const std::vector<Complex> v = reflector(a, static_cast<int64_t>(k));
    for (int64_t column = 0; column < q.columns; ++column)
      reflect(q, v, static_cast<int64_t>(k), tau[k], column);
  }
  a = q;
}

int eigen(Matrix& a, std::vector<double>& values, bool is_upper) {
  const int64_t n = a.rows;
  for (int64_t row = 0; row < n; ++row) {
    a.at(row, row) = a.at(row, row).real();
    for (int64_t column = 0; column < row; ++column) {
      if (is_upper) a.at(row, column) = std::conj(a.at(column, row));
      else a.at(column, row) = std::conj(a.at(row, column));
    }
  }
  Matrix vectors = identity(n);
  bool has_turned = true;
  for (int sweep = 0; has_turned && sweep < kMostSweeps; ++sweep) {
    has_turned = false;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        const double scale = std::abs(a.at(p, p)) + std::abs(a.at(q, q));
        if (!(std::abs(a.at(p, q)) > 1e-17 * scale)) continue;
        has_turned = true;
        const Rotation rotation(a.at(p, p).real(), a.at(q, q).real(), a.at(p, q));
        rotation.rotate_columns(a, p, q);
        rotation.rotate_rows(a, p, q);
        a.at(p, q) = a.at(q, p) = 0;
        rotation.rotate_columns(vectors, p, q);
      }
  }
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int64_t i) { return a.at(i, i).real(); });
  for (int64_t i = 0; i < n; ++i) {
    const int64_t from = order[static_cast<size_t>(i)];
    values[static_cast<size_t>(i)] = a.at(from, from).real();
  }
  a = ordered(vectors, order);
  return has_turned ? 1 : 0;
}

int svd(const Matrix& a, std::vector<double>& values, Matrix& left, Matrix& right) {
  const int64_t n = a.columns;
  Matrix u = a;
  Matrix v = identity(n);
  bool has_turned = true;
  for (int sweep = 0; has_turned && sweep < kMostSweeps; ++sweep) {
    has_turned = false;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        const double first = inner(u, p, u, p).real(), second = inner(u, q, u, q).real();
        const Complex off_diagonal = inner(u, p, u, q);
        if (!(std::abs(off_diagonal) > 1e-15 * std::sqrt(first * second)) || std::abs(off_diagonal) < 1e-300)
          continue;
        has_turned = true;
        const Rotation rotation(first, second, off_diagonal);
        rotation.rotate_columns(u, p, q);
        rotation.rotate_columns(v, p, q);
      }
  }
  std::vector<double> sizes;
  for (int64_t i = 0; i < n; ++i) sizes.push_back(std::sqrt(inner(u, i, u, i).real()));
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(), [&](int64_t i) { return sizes[static_cast<size_t>(i)]; });
  u = ordered(u, order);
  right = ordered(v, order);
  for (int64_t i = 0; i < n; ++i)
    values[static_cast<size_t>(i)] = sizes[static_cast<size_t>(order[static_cast<size_t>(i)])];
  const double least = n == 0 ? 0 : values[0] * 1e-15;
  for (int64_t column = 0; column < left.columns; ++column) {
    const double size = column < n ? values[static_cast<size_t>(column)] : 0;
    if (size > least)
      for (int64_t k = 0; k < a.rows; ++k) left.at(k, column) = u.at(k, column) / size;
    else complete(left, column);
  }
  return has_turned ? 1 : 0;
}

}  // namespace softgpu::stand_ins
