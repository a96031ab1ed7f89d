// Reductions, scans, compactions and histograms.

#include <cmath>
#include <cstdint>
#include <cstring>

using Real = double;

static inline Real uniform(uint64_t counter) {
  uint64_t z = counter * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<Real>(static_cast<int64_t>((z ^ (z >> 31)) >> 11)) * 0x1p-53;
}

extern "C" {

void softmax(const float* __restrict x, float* __restrict out, int64_t rows, int64_t columns) {
#pragma omp parallel for
  for (int64_t i = 0; i < rows; ++i) {
    const float* __restrict row = x + i * columns;
    float* __restrict to = out + i * columns;
    float largest = row[0];
    for (int64_t j = 1; j < columns; ++j) largest = row[j] > largest ? row[j] : largest;
    float total = 0;
    for (int64_t j = 0; j < columns; ++j) to[j] = std::exp(row[j] - largest);
    for (int64_t j = 0; j < columns; ++j) total += to[j];
    for (int64_t j = 0; j < columns; ++j) to[j] /= total;
  }
}

void logsumexp(const Real* __restrict x, Real* __restrict out, int64_t rows, int64_t columns) {
#pragma omp parallel for
  for (int64_t i = 0; i < rows; ++i) {
    const Real* __restrict row = x + i * columns;
    Real largest = row[0];
    for (int64_t j = 1; j < columns; ++j) largest = row[j] > largest ? row[j] : largest;
    Real total = 0;
    for (int64_t j = 0; j < columns; ++j) total += std::exp(row[j] - largest);
    out[i] = largest + std::log(total);
  }
}

void row_sums(const Real* __restrict x, Real* __restrict out, int64_t rows, int64_t columns) {
#pragma omp parallel for
  for (int64_t i = 0; i < rows; ++i) {
    Real total = 0;
    for (int64_t j = 0; j < columns; ++j) total += x[i * columns + j];
    out[i] = total;
  }
}

void column_sums(const Real* __restrict x, Real* __restrict out, int64_t rows, int64_t columns) {
  for (int64_t j = 0; j < columns; ++j) out[j] = 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) out[j] += x[i * columns + j];
  }
}

void transposed_product(const Real* __restrict a, const Real* __restrict v, Real* __restrict out,
                        int64_t rows, int64_t columns) {
  for (int64_t j = 0; j < columns; ++j) out[j] = 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) out[j] += a[i * columns + j] * v[i];
  }
}

void compress(const Real* __restrict a, Real* __restrict out, int64_t* __restrict count, int64_t n) {
  int64_t kept = 0;
  for (int64_t i = 0; i < n; ++i) {
    out[kept] = a[i];  // without a branch: what is not kept is written over
    kept += a[i] > 0.3;
  }
  count[0] = kept;
}

void histogram(const Real* __restrict x, int64_t* __restrict counts, int64_t n, int64_t bins) {
  std::memset(counts, 0, static_cast<size_t>(bins) * sizeof(int64_t));
  for (int64_t i = 0; i < n; ++i) ++counts[static_cast<int64_t>(x[i] * static_cast<Real>(bins))];
}

void prefix_sum(const Real* __restrict x, Real* __restrict out, int64_t n) {
  Real total = 0;
  for (int64_t i = 0; i < n; ++i) out[i] = total += x[i];
}

void monte_carlo_pi(Real* __restrict out, int64_t n) {
  int64_t inside = 0;
#pragma omp parallel for reduction(+ : inside)
  for (int64_t i = 0; i < n; ++i) {
    const Real x = uniform(static_cast<uint64_t>(i)), y = uniform(static_cast<uint64_t>(i + n));
    inside += x * x + y * y < 1.0;
  }
  out[0] = 4.0 * static_cast<Real>(inside) / static_cast<Real>(n);
}
}
