// Irregular accesses.

#include <cstdint>

using Real = double;

extern "C" {

void csr(const int64_t* __restrict starts, const int64_t* __restrict columns, const Real* __restrict values,
         const Real* __restrict x, Real* __restrict out, int64_t rows) {
#pragma omp parallel for
  for (int64_t i = 0; i < rows; ++i) {
    Real total = 0;
    for (int64_t k = starts[i]; k < starts[i + 1]; ++k) total += values[k] * x[columns[k]];
    out[i] = total;
  }
}

void intervals(const Real* __restrict signal, const Real* __restrict gains, const int64_t* __restrict starts,
               const int64_t* __restrict stops, Real* __restrict out, int64_t detectors, int64_t samples,
               int64_t count) {
#pragma omp parallel for
  for (int64_t d = 0; d < detectors; ++d) {
    for (int64_t k = 0; k < count; ++k) {
      for (int64_t i = d * samples + starts[k]; i < d * samples + stops[k]; ++i)
        out[i] = gains[d] * signal[i] + 0.5;
    }
  }
}
}
