// Grids and matrices.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

using Real = double;

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
}
