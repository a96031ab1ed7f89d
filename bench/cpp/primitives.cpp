// The functions of ingot.parallel, as one writes them by hand.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

using Real = double;

extern "C" {

void primitive_map(const Real* __restrict x, Real* __restrict out, int64_t n) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * x[i] + 1;
}

void primitive_zip_with(const Real* __restrict x, const Real* __restrict y, Real* __restrict out, int64_t n) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * y[i];
}

void primitive_sum(const Real* __restrict x, Real* __restrict out, int64_t n) {
  Real total = 0;
#pragma omp parallel for simd reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) total += x[i];
  out[0] = total;
}

void primitive_max(const Real* __restrict x, Real* __restrict out, int64_t n) {
  Real most = x[0];
#pragma omp parallel for simd reduction(max : most)
  for (int64_t i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
  out[0] = most;
}

void primitive_product_sum(const Real* __restrict x, const Real* __restrict y, Real* __restrict out,
                           int64_t n) {
  Real total = 0;
#pragma omp parallel for simd reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) total += x[i] * y[i];
  out[0] = total;
}

void primitive_scan(const Real* __restrict x, Real* __restrict out, int64_t n) {
  std::partial_sum(x, x + n, out);
}

void primitive_scan_of_ints(const int64_t* __restrict x, int64_t* __restrict out, int64_t n) {
  std::partial_sum(x, x + n, out);
}

void primitive_segmented_reduce(const Real* __restrict x, const int64_t* __restrict offsets,
                                Real* __restrict out, int64_t segments) {
#pragma omp parallel for
  for (int64_t s = 0; s < segments; ++s) {
    Real total = x[offsets[s]];
    for (int64_t i = offsets[s] + 1; i < offsets[s + 1]; ++i) total += x[i];
    out[s] = total;
  }
}

void primitive_gather(const Real* __restrict x, const int64_t* __restrict index, Real* __restrict out,
                      int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) out[i] = x[index[i]];
}

void primitive_scatter(const Real* __restrict x, const int64_t* __restrict index, Real* __restrict out,
                       int64_t n, int64_t length) {
  std::fill(out, out + length, 0.0);
  for (int64_t i = 0; i < n; ++i) out[index[i]] += x[i];
}

void primitive_histogram(const int64_t* __restrict index, int64_t* __restrict out, int64_t n,
                         int64_t length) {
  std::fill(out, out + length, 0);
  for (int64_t i = 0; i < n; ++i) ++out[index[i]];
}

void primitive_compact(const Real* __restrict x, Real* __restrict out, int64_t* __restrict count, int64_t n) {
  int64_t k = 0;
  for (int64_t i = 0; i < n; ++i) {
    out[k] = x[i];
    k += x[i] > 0.5;
  }
  count[0] = k;
}

void primitive_sort(const Real* __restrict x, Real* __restrict out, int64_t n) {
  std::copy(x, x + n, out);
  std::stable_sort(out, out + n);
}

void primitive_argsort(const Real* __restrict x, int64_t* __restrict out, int64_t n) {
  std::iota(out, out + n, int64_t{0});
  std::stable_sort(out, out + n, [x](int64_t a, int64_t b) { return x[a] < x[b]; });
}

void primitive_sort_by_key(const Real* __restrict keys, const Real* __restrict values, Real* __restrict out,
                           Real* __restrict moved, int64_t n) {
  std::vector<std::pair<Real, Real>> pairs(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) pairs[static_cast<size_t>(i)] = {keys[i], values[i]};
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (int64_t i = 0; i < n; ++i) {
    out[i] = pairs[static_cast<size_t>(i)].first;
    moved[i] = pairs[static_cast<size_t>(i)].second;
  }
}

void primitive_k_select(const Real* __restrict x, Real* __restrict copy, int64_t n, int64_t k) {
  std::copy(x, x + n, copy);
  std::nth_element(copy, copy + k, copy + n);
}

void primitive_top_k(const Real* __restrict x, int64_t* __restrict order, int64_t n, int64_t k) {
  std::iota(order, order + n, int64_t{0});
  const auto before = [x](int64_t a, int64_t b) { return x[a] > x[b] || (x[a] == x[b] && a < b); };
  std::nth_element(order, order + k, order + n, before);
  std::sort(order, order + k, before);
}

void primitive_unique(const int64_t* __restrict x, int64_t* __restrict out, int64_t* __restrict count,
                      int64_t n) {
  std::copy(x, x + n, out);
  std::sort(out, out + n);
  count[0] = std::unique(out, out + n) - out;
}

void primitive_merge(const Real* __restrict x, const Real* __restrict y, Real* __restrict out, int64_t n) {
  std::merge(x, x + n, y, y + n, out);
}

void primitive_searchsorted(const Real* __restrict x, const Real* __restrict values, int64_t* __restrict out,
                            int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) out[i] = std::lower_bound(x, x + n, values[i]) - x;
}

void primitive_group(const int64_t* __restrict keys, const Real* __restrict values, Real* __restrict out,
                     int64_t n, int64_t groups) {
  std::fill(out, out + groups, 0.0);
  for (int64_t i = 0; i < n; ++i) out[keys[i]] += values[i];
}
}
