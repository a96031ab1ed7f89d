// A matrix product in blocks, as one writes it by hand: the nest of examples/schedules/product.py.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

constexpr int64_t kRows = 200;
constexpr int64_t kStrip = 5;
constexpr int64_t kPanel = 32;
constexpr int64_t kDepth = 512;

/// A matrix from one of its elements on.
struct Part {
  const double* first;
  int64_t step;
};

void strip(Part a, const double* panel, double* c, int64_t step, int64_t depth) {
  double sums[kStrip][kPanel];
  for (int64_t r = 0; r < kStrip; ++r) std::copy_n(c + r * step, kPanel, sums[r]);
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t r = 0; r < kStrip; ++r) {
      const double x = a.first[r * a.step + k];
      for (int64_t j = 0; j < kPanel; ++j) sums[r][j] += x * panel[k * kPanel + j];
    }
  }
  for (int64_t r = 0; r < kStrip; ++r) std::copy_n(sums[r], kPanel, c + r * step);
}

void rest(Part a, const double* panel, double* c, int64_t step, int64_t depth, int64_t rows,
          int64_t columns) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t j = 0; j < columns; ++j)
        c[r * step + j] += a.first[r * a.step + k] * panel[k * kPanel + j];
}

}  // namespace

extern "C" void scheduled_product(const double* a, const double* b, double* c, int64_t m, int64_t k,
                                  int64_t n) {
  std::vector<double> panel(static_cast<size_t>(kDepth * kPanel));
  for (int64_t k0 = 0; k0 < k; k0 += kDepth) {
    const int64_t depth = std::min(kDepth, k - k0);
    for (int64_t i0 = 0; i0 < m; i0 += kRows) {
      const int64_t end = std::min(i0 + kRows, m);
      for (int64_t j0 = 0; j0 < n; j0 += kPanel) {
        const int64_t columns = std::min(kPanel, n - j0);
        for (int64_t p = 0; p < depth; ++p)
          std::copy_n(b + (k0 + p) * n + j0, columns, panel.data() + p * kPanel);
        for (int64_t i = i0; i < end; i += kStrip) {
          const int64_t rows = std::min(kStrip, end - i);
          const Part part{a + i * k + k0, k};
          double* const target = c + i * n + j0;
          if (rows == kStrip && columns == kPanel) strip(part, panel.data(), target, n, depth);
          else rest(part, panel.data(), target, n, depth, rows, columns);
        }
      }
    }
  }
}
