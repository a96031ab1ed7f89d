// The programs of the tour in C++, writing into given arrays. Loops that have OpenMP's mark run in parallel
// where the program has prange.

#include <cmath>
#include <cstdint>

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

/// y = a x + y.
template <class T>
static void axpy(T a, const T* __restrict x, T* __restrict y, int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}

/// A network of oscillators that see each other with delays.
template <class T>
static void kuramoto(int64_t steps, int64_t nodes, int64_t times, T* __restrict state, T* __restrict input,
                     const T* __restrict omega, T* __restrict drift, T* __restrict diffs, T* __restrict seen,
                     const int64_t* __restrict delays, const int64_t* __restrict row,
                     const int64_t* __restrict col, const T* __restrict weights, T a, int64_t first) {
  constexpr T turn = T(6.283185307179586);
  const int64_t size = times * nodes * 2;
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t now = (step + first) % times * nodes;
#pragma omp parallel for
    for (int64_t i = 0; i < nodes; ++i) {
      T pull = 0, own = seen[(now + i) * 2];
      for (int64_t j = row[i]; j < row[i + 1]; ++j) {
        int64_t at = (now - delays[j] * nodes + col[j]) * 2;
        if (at < 0) at += size;
        pull += weights[j] * std::sin(seen[at] - own);
      }
      const T in = a * pull / static_cast<T>(nodes);
      input[i] = in;
      drift[i] = omega[i] + in;
      diffs[i] = 0;
      T theta = state[i] + T(0.1) * drift[i];
      theta = theta < 0 ? theta + turn : theta > turn ? theta - turn : theta;
      state[i] = theta;
      seen[(now + i) * 2 + 1] = std::sin(theta);
      seen[(now + i) * 2] = theta;
    }
  }
}

extern "C" {

void quadratic(const Real* __restrict a, const Real* __restrict b, const Real* __restrict c,
               Real* __restrict out, int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) out[i] = (-b[i] + std::sqrt(b[i] * b[i] - 4 * a[i] * c[i])) / (2 * a[i]);
}

void slope(const Real* __restrict x, Real* __restrict y, Real* __restrict dx, int64_t n) {
  Real sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Real cosine = std::cos(x[i]);
    sum += cosine * (x[i] + 1);
    dx[i] = cosine - std::sin(x[i]) * (x[i] + 1);
  }
  *y = sum;
}

void slope_twice(const Real* __restrict x, Real* __restrict ddx, int64_t n) {
  for (int64_t i = 0; i < n; ++i) ddx[i] = -2 * std::sin(x[i]) - std::cos(x[i]) * (x[i] + 1);
}

void quadratic_gradient(const Real* __restrict a, const Real* __restrict b, const Real* __restrict c,
                        Real* __restrict y, Real* __restrict da, Real* __restrict db, Real* __restrict dc,
                        int64_t n) {
  Real sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Real root = std::sqrt(b[i] * b[i] - 4 * a[i] * c[i]), x = (-b[i] + root) / (2 * a[i]);
    sum += x;
    da[i] = -c[i] / (a[i] * root) - x / a[i];
    db[i] = (b[i] / root - 1) / (2 * a[i]);
    dc[i] = -1 / root;
  }
  *y = sum;
}

void quadratic_tangent(const Real* __restrict a, const Real* __restrict b, const Real* __restrict c,
                       const Real* __restrict da, const Real* __restrict db, const Real* __restrict dc,
                       Real* __restrict x, Real* __restrict dx, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const Real root = std::sqrt(b[i] * b[i] - 4 * a[i] * c[i]);
    x[i] = (-b[i] + root) / (2 * a[i]);
    dx[i] =
        (-c[i] / (a[i] * root) - x[i] / a[i]) * da[i] + (b[i] / root - 1) / (2 * a[i]) * db[i] - dc[i] / root;
  }
}

void stream_copy(Real* __restrict lhs, const Real* __restrict rhs, int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) lhs[i] = rhs[i];
}

void stream_scale(Real* __restrict lhs, const Real* __restrict rhs, Real alpha, int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) lhs[i] = alpha * rhs[i];
}

void stream_add(Real* __restrict lhs, const Real* __restrict x, const Real* __restrict y, int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) lhs[i] = x[i] + y[i];
}

void stream_triad(Real* __restrict lhs, const Real* __restrict x, const Real* __restrict y, Real alpha,
                  int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) lhs[i] = x[i] + alpha * y[i];
}

void sine(Real* __restrict lhs, const Real* __restrict rhs, int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) lhs[i] = std::sin(rhs[i]);
}

void where(const bool* __restrict mask, const Real* __restrict yes, const Real* __restrict no,
           Real* __restrict out, int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    const Real y = yes[i], z = no[i];
    out[i] = mask[i] ? y : z;
  }
}

void sum2d(const int64_t* __restrict x, Real* __restrict out, int64_t rows, int64_t columns) {
  Real total = 0;
  for (int64_t i = 0; i < rows * columns; ++i) total += static_cast<Real>(x[i]);
  out[0] = total;
}

void reduce_elements(const Real* __restrict x, Real* __restrict out, int64_t n) {
  Real total = 0;
#pragma omp parallel for reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) total += x[i];
  out[0] = total;
}

void sum_greater(const Real* __restrict x, Real* __restrict out, int64_t n) {
  Real total = 0;
#pragma omp parallel for reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) total += x[i] > 3.0 ? x[i] : 0.0;
  out[0] = total;
}

void rows_times_vector(const Real* __restrict x, const Real* __restrict y, Real* __restrict out, int64_t rows,
                       int64_t columns) {
#pragma omp parallel for
  for (int64_t i = 0; i < rows; ++i) {
    Real total = 0;
    for (int64_t j = 0; j < columns; ++j) total += x[i * columns + j] * y[j];
    out[i] = total;
  }
}

void matmul_float64(const Real* a, const Real* b, Real* out, int64_t n) { matmul(a, b, out, n); }

void matmul_float32(const float* a, const float* b, float* out, int64_t n) { matmul(a, b, out, n); }

void update_float32(float a, const float* x, float* y, int64_t n) { axpy(a, x, y, n); }

void update_float64(Real a, const Real* x, Real* y, int64_t n) { axpy(a, x, y, n); }

void kuramoto_float32(int64_t steps, int64_t nodes, int64_t times, float* state, float* input,
                      const float* omega, float* drift, float* diffs, float* seen, const int64_t* delays,
                      const int64_t* row, const int64_t* col, const float* weights, float a, int64_t first) {
  kuramoto(steps, nodes, times, state, input, omega, drift, diffs, seen, delays, row, col, weights, a, first);
}

void kuramoto_float64(int64_t steps, int64_t nodes, int64_t times, Real* state, Real* input,
                      const Real* omega, Real* drift, Real* diffs, Real* seen, const int64_t* delays,
                      const int64_t* row, const int64_t* col, const Real* weights, Real a, int64_t first) {
  kuramoto(steps, nodes, times, state, input, omega, drift, diffs, seen, delays, row, col, weights, a, first);
}
}
