// Programs over whole arrays, and their derivatives, written by hand.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

using Real = double;

namespace {

std::unique_ptr<Real[]> allocated(int64_t n) {
  return std::make_unique_for_overwrite<Real[]>(static_cast<size_t>(n));
}

struct Sizes {
  int64_t samples, inputs, hidden, outputs;
};

/// What the network gives for one sample; what its hidden layer gives is kept.
void layers(const Real* w, const Real* b, const Real* v, const Real* c, const Real* x, Real* __restrict h,
            Real* __restrict y, Sizes n) {
  std::copy_n(b, n.hidden, h);
  for (int64_t i = 0; i < n.inputs; ++i)
    for (int64_t j = 0; j < n.hidden; ++j) h[j] += x[i] * w[i * n.hidden + j];
  for (int64_t j = 0; j < n.hidden; ++j) h[j] = std::tanh(h[j]);
  std::copy_n(c, n.outputs, y);
  for (int64_t j = 0; j < n.hidden; ++j)
    for (int64_t k = 0; k < n.outputs; ++k) y[k] += h[j] * v[j * n.outputs + k];
}

Real product(const Real* a, const Real* b, int64_t n) {
  Real total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) total += a[i] * b[i];
  return total;
}

/// The valley at one point, and its slopes there.
Real valley_of(const Real* x, int64_t n) {
  Real total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < n - 1; ++i) {
    const Real a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
    total += 100 * a * a + b * b;
  }
  return total;
}

void valley_slopes(const Real* __restrict x, Real* __restrict slope, int64_t n) {
  slope[0] = -400 * x[0] * (x[1] - x[0] * x[0]) - 2 * (1 - x[0]);
  for (int64_t i = 1; i < n - 1; ++i)
    slope[i] = 200 * (x[i] - x[i - 1] * x[i - 1]) - 400 * x[i] * (x[i + 1] - x[i] * x[i]) - 2 * (1 - x[i]);
  slope[n - 1] = 200 * (x[n - 1] - x[n - 2] * x[n - 2]);
}

}  // namespace

extern "C" {

void energy(const Real* p, const Real* m, Real* value, int64_t n) {
  const Real *x = p, *y = p + n, *z = p + 2 * n;
  Real total = 0;
#pragma omp parallel for reduction(- : total) schedule(guided)
  for (int64_t i = 0; i < n; ++i) {
    Real own = 0;
#pragma omp simd reduction(+ : own)
    for (int64_t j = i + 1; j < n; ++j) {
      const Real dx = x[i] - x[j], dy = y[i] - y[j], dz = z[i] - z[j];
      own += m[j] / std::sqrt(dx * dx + dy * dy + dz * dz + 0.01);
    }
    total -= m[i] * own;
  }
  *value = total;
}

void energy_gradient(const Real* p, const Real* m, Real* slope, int64_t n) {
  const Real *x = p, *y = p + n, *z = p + 2 * n;
  std::fill_n(slope, 3 * n, 0.0);
#pragma omp parallel for reduction(+ : slope[ : 3 * n]) schedule(guided)
  for (int64_t i = 0; i < n; ++i) {
    Real *sx = slope, *sy = slope + n, *sz = slope + 2 * n;
    Real ox = 0, oy = 0, oz = 0;
#pragma omp simd reduction(+ : ox, oy, oz)
    for (int64_t j = i + 1; j < n; ++j) {
      const Real dx = x[i] - x[j], dy = y[i] - y[j], dz = z[i] - z[j];
      const Real square = dx * dx + dy * dy + dz * dz + 0.01;
      const Real pull = m[i] * m[j] / (square * std::sqrt(square));
      ox += pull * dx;
      oy += pull * dy;
      oz += pull * dz;
      sx[j] -= pull * dx;
      sy[j] -= pull * dy;
      sz[j] -= pull * dz;
    }
    sx[i] += ox;
    sy[i] += oy;
    sz[i] += oz;
  }
}

void network(const Real* w, const Real* b, const Real* v, const Real* c, const Real* x, const Real* t,
             Real* value, int64_t samples, int64_t inputs, int64_t hidden, int64_t outputs) {
  const Sizes n{samples, inputs, hidden, outputs};
  Real total = 0;
#pragma omp parallel reduction(+ : total)
  {
    const auto h = allocated(hidden), y = allocated(outputs);
#pragma omp for
    for (int64_t s = 0; s < samples; ++s) {
      layers(w, b, v, c, x + s * inputs, h.get(), y.get(), n);
      for (int64_t k = 0; k < outputs; ++k)
        total += (y[k] - t[s * outputs + k]) * (y[k] - t[s * outputs + k]);
    }
  }
  *value = total / static_cast<Real>(samples * outputs);
}

void network_gradient(const Real* w, const Real* b, const Real* v, const Real* c, const Real* x,
                      const Real* t, Real* by_w, Real* by_b, Real* by_v, Real* by_c, int64_t samples,
                      int64_t inputs, int64_t hidden, int64_t outputs) {
  const Sizes n{samples, inputs, hidden, outputs};
  std::fill_n(by_w, inputs * hidden, 0.0);
  std::fill_n(by_b, hidden, 0.0);
  std::fill_n(by_v, hidden * outputs, 0.0);
  std::fill_n(by_c, outputs, 0.0);
#pragma omp parallel reduction(+ : by_w[ : inputs * hidden], by_b[ : hidden], by_v[ : hidden * outputs], \
                                   by_c[ : outputs])
  {
    const auto h = allocated(hidden), y = allocated(outputs), g = allocated(hidden);
#pragma omp for
    for (int64_t s = 0; s < samples; ++s) {
      const Real* at = x + s * inputs;
      layers(w, b, v, c, at, h.get(), y.get(), n);
      for (int64_t k = 0; k < outputs; ++k) {
        y[k] = 2 * (y[k] - t[s * outputs + k]) / static_cast<Real>(samples * outputs);
        by_c[k] += y[k];
      }
      for (int64_t j = 0; j < hidden; ++j) {
        for (int64_t k = 0; k < outputs; ++k) by_v[j * outputs + k] += h[j] * y[k];
        g[j] = product(v + j * outputs, y.get(), outputs) * (1 - h[j] * h[j]);
        by_b[j] += g[j];
      }
      for (int64_t i = 0; i < inputs; ++i)
        for (int64_t j = 0; j < hidden; ++j) by_w[i * hidden + j] += at[i] * g[j];
    }
  }
}

void chain(const Real* x, Real* value, int64_t n) {
  Real total = 0;
#pragma omp parallel for reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) total += std::sin(x[i]) * std::exp(-x[i] * x[i]);
  *value = total;
}

void chain_gradient(const Real* __restrict x, Real* __restrict slope, int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i)
    slope[i] = (std::cos(x[i]) - 2 * x[i] * std::sin(x[i])) * std::exp(-x[i] * x[i]);
}

void logistic(const Real* w, const Real* x, const Real* y, Real decay, Real* value, int64_t n,
              int64_t features) {
  Real total = 0;
#pragma omp parallel for reduction(+ : total)
  for (int64_t i = 0; i < n; ++i)
    total += std::log1p(std::exp(-y[i] * product(x + i * features, w, features)));
  *value = total / static_cast<Real>(n) + 0.5 * decay * product(w, w, features);
}

void logistic_gradient(const Real* w, const Real* x, const Real* y, Real decay, Real* slope, int64_t n,
                       int64_t features) {
  for (int64_t j = 0; j < features; ++j) slope[j] = decay * w[j];
#pragma omp parallel for reduction(+ : slope[ : features])
  for (int64_t i = 0; i < n; ++i) {
    const Real* at = x + i * features;
    const Real c = -y[i] / (1 + std::exp(y[i] * product(at, w, features))) / static_cast<Real>(n);
    for (int64_t j = 0; j < features; ++j) slope[j] += c * at[j];
  }
}

void valley(const Real* x, Real* value, int64_t n) { *value = valley_of(x, n); }

void valley_hvp(const Real* __restrict x, const Real* __restrict v, Real* __restrict out, int64_t n) {
  out[0] = (1200 * x[0] * x[0] - 400 * x[1] + 2) * v[0] - 400 * x[0] * v[1];
#pragma omp parallel for
  for (int64_t i = 1; i < n - 1; ++i)
    out[i] =
        (1200 * x[i] * x[i] - 400 * x[i + 1] + 202) * v[i] - 400 * (x[i] * v[i + 1] + x[i - 1] * v[i - 1]);
  out[n - 1] = 200 * v[n - 1] - 400 * x[n - 2] * v[n - 2];
}

void layer(const Real* __restrict x, const Real* __restrict a, Real* __restrict y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = std::tanh(product(a + i * n, x, n)) + x[i] * x[i];
}

void layer_jacobian(const Real* __restrict x, const Real* __restrict a, Real* __restrict slope, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const Real y = std::tanh(product(a + i * n, x, n)), factor = 1 - y * y;
    for (int64_t j = 0; j < n; ++j) slope[i * n + j] = factor * a[i * n + j];
    slope[i * n + i] += 2 * x[i];
  }
}

void valleys(const Real* x, Real* value, int64_t lanes, int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < lanes; ++i) value[i] = valley_of(x + i * n, n);
}

void valleys_gradient(const Real* x, Real* slope, int64_t lanes, int64_t n) {
#pragma omp parallel for
  for (int64_t i = 0; i < lanes; ++i) valley_slopes(x + i * n, slope + i * n, n);
}
}
