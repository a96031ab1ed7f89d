// Grids and matrices.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

using Real = double;

/// out = a b, rows of b added up: the order of loops that vectorises without reassociation.
template <class T>
static void matmul(const T* __restrict a, const T* __restrict b, T* __restrict out, int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) out[i * n + j] = 0;
    for (int64_t t = 0; t < n; ++t) {
      T factor = a[i * n + t];
      for (int64_t j = 0; j < n; ++j) out[i * n + j] += factor * b[t * n + j];
    }
  }
}

static void jacobi_step(const Real* __restrict u, Real* __restrict v, int64_t rows, int64_t columns) {
#pragma omp parallel for
  for (int64_t i = 1; i < rows - 1; ++i) {
    const Real* __restrict above = u + (i - 1) * columns;
    const Real* __restrict here = u + i * columns;
    const Real* __restrict below = u + (i + 1) * columns;
    Real* __restrict to = v + i * columns;
    for (int64_t j = 1; j < columns - 1; ++j)
      to[j] = 0.25 * (above[j] + below[j] + here[j - 1] + here[j + 1]);
  }
}

extern "C" {

void jacobi(const Real* u, Real* two, int64_t rows, int64_t columns, int64_t steps) {
  const int64_t size = rows * columns;
  Real *from = two, *to = two + size;
  std::memcpy(from, u, static_cast<size_t>(size) * sizeof(Real));
  std::memcpy(to, u, static_cast<size_t>(size) * sizeof(Real));
  for (int64_t step = 0; step < steps; ++step) {
    jacobi_step(from, to, rows, columns);
    std::swap(from, to);
  }
}

void mandelbrot(const Real* real, const Real* imaginary, int64_t* __restrict out, int64_t rows,
                int64_t columns, int64_t limit) {
#pragma omp parallel for schedule(dynamic, 8)
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      Real x = 0, y = 0;
      int64_t count = 0;
      while (count < limit && x * x + y * y < 4.0) {
        const Real next = x * x - y * y + real[j];
        y = 2.0 * x * y + imaginary[i];
        x = next;
        ++count;
      }
      out[i * columns + j] = count;
    }
  }
}

void matmul_float64(const Real* a, const Real* b, Real* out, int64_t n) { matmul(a, b, out, n); }

void matmul_float32(const float* a, const float* b, float* out, int64_t n) { matmul(a, b, out, n); }

void rows_times_vector(const Real* __restrict x, const Real* __restrict y, Real* __restrict out, int64_t rows,
                       int64_t columns) {
#pragma omp parallel for
  for (int64_t i = 0; i < rows; ++i) {
    Real total = 0;
    for (int64_t j = 0; j < columns; ++j) total += x[i * columns + j] * y[j];
    out[i] = total;
  }
}
}
