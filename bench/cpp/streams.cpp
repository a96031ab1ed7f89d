// Elementwise work, each function over n elements, writing into given arrays.

#include <emmintrin.h>

#include <cmath>
#include <cstdint>

using Real = double;

template <class T>
static void axpy(T a, const T* __restrict x, const T* __restrict y, T* __restrict out, int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) out[i] = a * x[i] + y[i];
}

static inline Real normal_below(Real d) {
  const Real k = 1.0 / (1.0 + 0.2316419 * std::fabs(d));
  const Real series =
      k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
  const Real tail = 0.3989422804014327 * std::exp(-0.5 * d * d) * series;
  return d > 0.0 ? 1.0 - tail : tail;
}

extern "C" {

// Stores that go past the caches: whole cache lines, which then need not be read first.
void triad_past_caches(Real* __restrict lhs, const Real* __restrict x, const Real* __restrict y, Real alpha,
                       int64_t n) {
  int64_t head = static_cast<int64_t>((64 - reinterpret_cast<uintptr_t>(lhs) % 64) % 64 / sizeof(Real));
  if (head > n) head = n;
  const int64_t lines = (n - head) / 8;
  for (int64_t i = 0; i < head; ++i) lhs[i] = x[i] + alpha * y[i];
  const __m128d factor = _mm_set1_pd(alpha);
#pragma omp parallel for
  for (int64_t line = 0; line < lines; ++line) {
    for (int64_t i = head + 8 * line; i < head + 8 * line + 8; i += 2) {
      _mm_stream_pd(lhs + i, _mm_add_pd(_mm_loadu_pd(x + i), _mm_mul_pd(factor, _mm_loadu_pd(y + i))));
    }
  }
  _mm_sfence();
  for (int64_t i = head + 8 * lines; i < n; ++i) lhs[i] = x[i] + alpha * y[i];
}

void axpy_float32(float a, const float* x, const float* y, float* out, int64_t n) { axpy(a, x, y, out, n); }

void axpy_float64(Real a, const Real* x, const Real* y, Real* out, int64_t n) { axpy(a, x, y, out, n); }

void black_scholes(const Real* __restrict price, const Real* __restrict strike, const Real* __restrict years,
                   Real rate, Real volatility, Real* __restrict call, Real* __restrict put, int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    const Real root = std::sqrt(years[i]);
    const Real d1 = (std::log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) /
                    (volatility * root);
    const Real d2 = d1 - volatility * root;
    const Real below1 = normal_below(d1), below2 = normal_below(d2);
    const Real discount = std::exp(-rate * years[i]);
    call[i] = price[i] * below1 - strike[i] * discount * below2;
    put[i] = strike[i] * discount * (1.0 - below2) - price[i] * (1.0 - below1);
  }
}

void add_transposed(const Real* __restrict a, const Real* __restrict b, Real* __restrict out, int64_t n) {
  constexpr int64_t kTile = 32;
#pragma omp parallel for
  for (int64_t first = 0; first < n; first += kTile) {
    const int64_t end = first + kTile < n ? first + kTile : n;
    for (int64_t left = 0; left < n; left += kTile) {
      const int64_t right = left + kTile < n ? left + kTile : n;
      for (int64_t i = first; i < end; ++i) {
        for (int64_t j = left; j < right; ++j) out[i * n + j] = a[i * n + j] + b[j * n + i];
      }
    }
  }
}

// 16 chains of 8 multiply-adds an iteration, 256 flops: what the arithmetic units give at most.
void peak_flops(Real* out, int64_t iterations) {
  using Vector [[gnu::vector_size(64)]] = Real;
  Vector sums[16];
  Real start = 0;
  for (Vector& sum : sums) sum = Vector{} + start++;
  const Vector factor = Vector{} + 0.999, term = Vector{} + 3e-4;
  for (int64_t iteration = 0; iteration < iterations; ++iteration) {
    for (Vector& sum : sums) sum = sum * factor + term;
  }
  Vector all{};
  for (const Vector& sum : sums) all += sum;
  out[0] = all[0];
}
}
