// Programs of whole arrays and slices, as loops written by hand.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

using Real = double;

/// Steps from one of two arrays to the other: `row(above, here, below, to, columns)` writes the inner numbers
/// of a row.
template <class T, class Row>
static void steps_of(const T* u, T* two, int64_t rows, int64_t columns, int64_t steps, int64_t last,
                     Row row) {
  const int64_t size = rows * columns;
  T *from = two, *to = two + size;
  std::memcpy(from, u, static_cast<size_t>(size) * sizeof(T));
  std::memcpy(to, u, static_cast<size_t>(size) * sizeof(T));
  for (int64_t step = 0; step < steps; ++step) {
#pragma omp parallel for
    for (int64_t i = 1; i < rows - last; ++i) {
      const T* const here = from + i * columns;
      row(here - columns, here, here + columns, to + i * columns, columns);
    }
    std::swap(from, to);
  }
}

extern "C" {

void layer_norm(const Real* __restrict x, const Real* __restrict scale, const Real* __restrict shift,
                Real* __restrict out, int64_t rows, int64_t columns) {
  const Real count = static_cast<Real>(columns);
#pragma omp parallel for
  for (int64_t i = 0; i < rows; ++i) {
    const Real* __restrict row = x + i * columns;
    Real* __restrict to = out + i * columns;
    Real total = 0, squares = 0;
    for (int64_t j = 0; j < columns; ++j) total += row[j];
    const Real mean = total / count;
    for (int64_t j = 0; j < columns; ++j) squares += (row[j] - mean) * (row[j] - mean);
    const Real spread = std::sqrt(squares / count + 1e-5);
    for (int64_t j = 0; j < columns; ++j) to[j] = (row[j] - mean) / spread * scale[j] + shift[j];
  }
}

void standardise(const Real* __restrict x, Real* __restrict out, int64_t rows, int64_t columns) {
  Real* __restrict const mean = new Real[static_cast<size_t>(columns)]();
  Real* __restrict const spread = new Real[static_cast<size_t>(columns)]();
  const Real count = static_cast<Real>(rows);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) mean[j] += x[i * columns + j];
  for (int64_t j = 0; j < columns; ++j) mean[j] /= count;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const Real off = x[i * columns + j] - mean[j];
      spread[j] += off * off;
    }
  }
  for (int64_t j = 0; j < columns; ++j) spread[j] = std::sqrt(spread[j] / count);
#pragma omp parallel for
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) out[i * columns + j] = (x[i * columns + j] - mean[j]) / spread[j];
  delete[] mean;
  delete[] spread;
}

void nine_points(const Real* u, Real* two, int64_t rows, int64_t columns, int64_t steps) {
  steps_of(u, two, rows, columns, steps, 1,
           [](const Real* __restrict a, const Real* __restrict h, const Real* __restrict b,
              Real* __restrict to, int64_t n) {
             for (int64_t j = 1; j < n - 1; ++j)
               to[j] = 0.2 * (a[j] + b[j] + h[j - 1] + h[j + 1]) +
                       0.05 * (a[j - 1] + a[j + 1] + b[j - 1] + b[j + 1]);
           });
}

void heat(const Real* u, Real* two, int64_t rows, int64_t columns, int64_t steps) {
  steps_of(u, two, rows, columns, steps, 1,
           [](const Real* __restrict a, const Real* __restrict h, const Real* __restrict b,
              Real* __restrict to, int64_t n) {
             for (int64_t j = 1; j < n - 1; ++j)
               to[j] = h[j] + 0.1 * (a[j] + b[j] + h[j - 1] + h[j + 1] - 4.0 * h[j]);
           });
}

void upwind(const Real* u, Real* two, int64_t rows, int64_t columns, int64_t steps) {
  steps_of(
      u, two, rows, columns, steps, 0,
      [](const Real* __restrict a, const Real* __restrict h, const Real*, Real* __restrict to, int64_t n) {
        for (int64_t j = 1; j < n; ++j) to[j] = h[j] - 0.2 * (h[j] - a[j]) - 0.3 * (h[j] - h[j - 1]);
      });
}

void life(const uint8_t* g, uint8_t* two, int64_t rows, int64_t columns, int64_t steps) {
  steps_of(g, two, rows, columns, steps, 1,
           [](const uint8_t* __restrict a, const uint8_t* __restrict h, const uint8_t* __restrict b,
              uint8_t* __restrict to, int64_t columns) {
             for (int64_t j = 1; j < columns - 1; ++j) {
               const auto n = static_cast<uint8_t>(a[j - 1] + a[j] + a[j + 1] + b[j - 1] + b[j] + b[j + 1] +
                                                   h[j - 1] + h[j + 1]);
               to[j] = static_cast<uint8_t>((n == 3) | ((h[j] == 1) & (n == 2)));
             }
           });
}

void convolve(const Real* __restrict x, const Real* __restrict kernel, Real* __restrict out, int64_t rows,
              int64_t columns) {
#pragma omp parallel for
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      Real total = 0;
      for (int64_t k = 0; k < 5; ++k)
        for (int64_t m = 0; m < 5; ++m) total += kernel[5 * k + m] * x[(i + k) * (columns + 4) + j + m];
      out[i * columns + j] = total;
    }
  }
}

void blur(const Real* __restrict x, Real* __restrict between, Real* __restrict out, int64_t rows,
          int64_t columns) {
#pragma omp parallel for
  for (int64_t i = 0; i < rows + 4; ++i) {
    const Real* __restrict r = x + i * (columns + 4);
    for (int64_t j = 0; j < columns; ++j)
      between[i * columns + j] =
          0.06 * r[j] + 0.24 * r[j + 1] + 0.4 * r[j + 2] + 0.24 * r[j + 3] + 0.06 * r[j + 4];
  }
#pragma omp parallel for
  for (int64_t i = 0; i < rows; ++i) {
    const Real* __restrict c = between + i * columns;
    for (int64_t j = 0; j < columns; ++j)
      out[i * columns + j] = 0.06 * c[j] + 0.24 * c[j + columns] + 0.4 * c[j + 2 * columns] +
                             0.24 * c[j + 3 * columns] + 0.06 * c[j + 4 * columns];
  }
}

void k_means(const Real* __restrict points, const Real* __restrict centres, Real* __restrict sums,
             Real* __restrict sizes, int64_t n, int64_t d, int64_t count) {
  for (int64_t k = 0; k < count * d; ++k) sums[k] = 0;
  for (int64_t k = 0; k < count; ++k) sizes[k] = 0;
  for (int64_t i = 0; i < n; ++i) {
    Real best = std::numeric_limits<Real>::infinity();
    int64_t label = 0;
    for (int64_t k = 0; k < count; ++k) {
      Real distance = 0;
      for (int64_t j = 0; j < d; ++j) {
        const Real off = points[i * d + j] - centres[k * d + j];
        distance += off * off;
      }
      if (distance < best) {
        best = distance;
        label = k;
      }
    }
    sizes[label] += 1;
    for (int64_t j = 0; j < d; ++j) sums[label * d + j] += points[i * d + j];
  }
  for (int64_t k = 0; k < count; ++k)
    for (int64_t j = 0; j < d; ++j) sums[k * d + j] /= sizes[k];
}

void lu(const Real* __restrict given, Real* __restrict a, int64_t n, int64_t) {
  std::memcpy(a, given, static_cast<size_t>(n * n) * sizeof(Real));
  for (int64_t k = 0; k < n - 1; ++k) {
    const Real* const top = a + k * n;
    for (int64_t i = k + 1; i < n; ++i) {
      Real* __restrict const row = a + i * n;
      row[k] /= top[k];
      const Real factor = row[k];
      for (int64_t j = k + 1; j < n; ++j) row[j] -= factor * top[j];
    }
  }
}

void cholesky(const Real* __restrict given, Real* __restrict a, int64_t n, int64_t) {
  std::memcpy(a, given, static_cast<size_t>(n * n) * sizeof(Real));
  for (int64_t k = 0; k < n; ++k) {
    Real* const top = a + k * n;
    const Real root = std::sqrt(top[k]);
    for (int64_t j = k; j < n; ++j) top[j] /= root;
    for (int64_t i = k + 1; i < n; ++i) {
      Real* __restrict const row = a + i * n;
      for (int64_t j = i; j < n; ++j) row[j] -= top[i] * top[j];
    }
    for (int64_t j = 0; j < k; ++j) top[j] = 0;
  }
}

void gram_schmidt(const Real* __restrict given, Real* __restrict q, int64_t n, int64_t) {
  std::memcpy(q, given, static_cast<size_t>(n * n) * sizeof(Real));
  for (int64_t k = 0; k < n; ++k) {
    Real* const top = q + k * n;
    Real squares = 0;
    for (int64_t j = 0; j < n; ++j) squares += top[j] * top[j];
    const Real size = std::sqrt(squares);
    for (int64_t j = 0; j < n; ++j) top[j] /= size;
    for (int64_t i = k + 1; i < n; ++i) {
      Real* __restrict const row = q + i * n;
      Real share = 0;
      for (int64_t j = 0; j < n; ++j) share += row[j] * top[j];
      for (int64_t j = 0; j < n; ++j) row[j] -= share * top[j];
    }
  }
}

void masked(const Real* __restrict x, Real* __restrict out, int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    Real y = x[i] * 3.0 - 1.0;
    if (y < 0.0) y *= 0.01;
    if (y > 1.0) y = 1.0;
    out[i] = y;
  }
}

void equalise(const uint8_t* __restrict image, uint8_t* __restrict out, int64_t n) {
  int64_t sums[256] = {};
  for (int64_t i = 0; i < n; ++i) ++sums[image[i]];
  for (int64_t k = 1; k < 256; ++k) sums[k] += sums[k - 1];
  int64_t low = 0;
  for (int64_t k = 255; k >= 0; --k) low = sums[k] > 0 ? sums[k] : low;
  uint8_t table[256];
  for (int64_t k = 0; k < 256; ++k)
    table[k] = static_cast<uint8_t>((sums[k] - low) * 255 / (sums[255] - low));
  for (int64_t i = 0; i < n; ++i) out[i] = table[image[i]];
}
}
