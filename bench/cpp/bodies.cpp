// All pairs and networks.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

using Real = double;

extern "C" {

void pairwise(const Real* __restrict p, Real* __restrict out, int64_t n) {
  const Real *x = p, *y = p + n, *z = p + 2 * n;
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const Real dx = x[i] - x[j], dy = y[i] - y[j], dz = z[i] - z[j];
      out[i * n + j] = std::sqrt(dx * dx + dy * dy + dz * dz);
    }
  }
}

void nbody(const Real* __restrict p, const Real* __restrict mass, Real* __restrict out, int64_t n) {
  const Real *x = p, *y = p + n, *z = p + 2 * n;
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    Real sx = 0, sy = 0, sz = 0;
    for (int64_t j = 0; j < n; ++j) {
      const Real dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
      const Real square = dx * dx + dy * dy + dz * dz + 1e-9;
      const Real pull = mass[j] / (square * std::sqrt(square));
      sx += pull * dx;
      sy += pull * dy;
      sz += pull * dz;
    }
    out[i] = sx;
    out[n + i] = sy;
    out[2 * n + i] = sz;
  }
}

void kuramoto_all(const Real* theta, const Real* omega, Real coupling, Real* two, int64_t n, int64_t steps) {
  Real* __restrict from = two;
  Real* __restrict to = two + n;
  std::memcpy(from, theta, static_cast<size_t>(n) * sizeof(Real));
  for (int64_t step = 0; step < steps; ++step) {
#pragma omp parallel for
    for (int64_t i = 0; i < n; ++i) {
      Real pull = 0;
      for (int64_t j = 0; j < n; ++j) pull += std::sin(from[j] - from[i]);
      to[i] = from[i] + 0.01 * (omega[i] + coupling / static_cast<Real>(n) * pull);
    }
    std::swap(from, to);
  }
}
}
