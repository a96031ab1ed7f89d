// Fits of models to data, and batches of small problems, with their derivatives written by hand.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

using Real = double;

namespace {

std::unique_ptr<Real[]> allocated(int64_t n) {
  return std::make_unique_for_overwrite<Real[]>(static_cast<size_t>(n));
}

Real product(const Real* a, const Real* b, int64_t n) {
  Real total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) total += a[i] * b[i];
  return total;
}

void add(Real factor, const Real* __restrict x, Real* __restrict y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

Real sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }

/// One step of an LSTM: the gates, the state and what it gives, from those before.
void lstm_step(const Real* w, const Real* u, const Real* b, const Real* x, const Real* h, const Real* c,
               Real* z, Real* next_h, Real* next_c, Real* wide, int64_t inputs, int64_t n) {
  for (int64_t i = 0; i < 4 * n; ++i) {
    const Real s = product(w + i * inputs, x, inputs) + product(u + i * n, h, n) + b[i];
    z[i] = i / n == 2 ? std::tanh(s) : sigmoid(s);
  }
  for (int64_t i = 0; i < n; ++i) {
    next_c[i] = z[i] * c[i] + z[n + i] * z[2 * n + i];
    wide[i] = std::tanh(next_c[i]);
    next_h[i] = z[3 * n + i] * wide[i];
  }
}

/// What a Gaussian's factor gives for a point, and its term but for the weight.
Real gaussian(const Real* mean, const Real* diagonal, const Real* lower, const Real* x, Real* centred,
              Real* y, int64_t d) {
  for (int64_t r = 0; r < d; ++r) centred[r] = x[r] - mean[r];
  Real square = 0;
  for (int64_t r = 0; r < d; ++r) {
    Real s = diagonal[r] * centred[r];
    for (int64_t c = 0; c < r; ++c) s += lower[r * d + c] * centred[c];
    y[r] = s;
    square += s * s;
  }
  return -0.5 * square;
}

struct Scales {
  std::unique_ptr<Real[]> diagonal, sums;
  Real weight;
};

Scales scales_of(const Real* alphas, const Real* logs, int64_t components, int64_t d) {
  Scales s{allocated(components * d), allocated(components), 0};
  for (int64_t k = 0; k < components; ++k) {
    s.sums[k] = alphas[k];
    for (int64_t r = 0; r < d; ++r) {
      s.sums[k] += logs[k * d + r];
      s.diagonal[k * d + r] = std::exp(logs[k * d + r]);
    }
    s.weight += std::exp(alphas[k]);
  }
  return s;
}

struct Vector {
  Real x, y, z;
};

Vector cross(Vector a, Vector b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
Real dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
Vector scaled(Vector a, Real s) { return {a.x * s, a.y * s, a.z * s}; }
Vector sum(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }

/// A projection, and what its derivative needs.
struct Projection {
  Vector r, x, turned;
  Real square, angle, cosine, sine, along, u, v, radius, stretch;
  Real at_u, at_v;
};

Projection project(const Real* camera, const Real* point) {
  Projection p{};
  p.r = {camera[0], camera[1], camera[2]};
  p.x = {point[0] - camera[3], point[1] - camera[4], point[2] - camera[5]};
  p.square = dot(p.r, p.r);
  p.angle = std::sqrt(p.square);
  p.cosine = std::cos(p.angle);
  p.sine = std::sin(p.angle);
  p.along = dot(p.r, p.x) * (1 - p.cosine) / p.square;
  p.turned = sum(sum(scaled(p.x, p.cosine), scaled(cross(p.r, p.x), p.sine / p.angle)), scaled(p.r, p.along));
  p.u = p.turned.x / p.turned.z;
  p.v = p.turned.y / p.turned.z;
  p.radius = p.u * p.u + p.v * p.v;
  p.stretch = 1 + camera[9] * p.radius + camera[10] * p.radius * p.radius;
  p.at_u = p.u * camera[6] * p.stretch + camera[7];
  p.at_v = p.v * camera[6] * p.stretch + camera[8];
  return p;
}

/// Adds to the slopes of a camera and a point what the cotangents of the place in the picture give.
void project_back(const Projection& p, const Real* camera, Real c_u, Real c_v, Real* by_camera,
                  Real* by_point) {
  by_camera[7] += c_u;
  by_camera[8] += c_v;
  const Real by_scale = c_u * p.u + c_v * p.v, by_stretch = by_scale * camera[6];
  by_camera[6] += by_scale * p.stretch;
  by_camera[9] += by_stretch * p.radius;
  by_camera[10] += by_stretch * p.radius * p.radius;
  const Real by_radius = by_stretch * (camera[9] + 2 * camera[10] * p.radius), scale = camera[6] * p.stretch;
  const Real by_u = c_u * scale + 2 * p.u * by_radius, by_v = c_v * scale + 2 * p.v * by_radius;
  const Real inverse = 1 / p.turned.z;
  const Vector c{by_u * inverse, by_v * inverse, -(by_u * p.u + by_v * p.v) * inverse};
  const Real ratio = p.sine / p.angle, spread = (1 - p.cosine) / p.square, inner = dot(p.r, p.x);
  const Real by_along = dot(c, p.r);
  const Vector turned_back = cross(c, p.r);
  const Vector by_x =
      sum(sum(scaled(c, p.cosine), scaled(turned_back, ratio)), scaled(p.r, by_along * spread));
  const Real by_cosine = dot(c, p.x) - by_along * inner / p.square;
  const Real by_ratio = dot(c, cross(p.r, p.x));
  const Real by_angle = -by_cosine * p.sine + by_ratio * (p.cosine - ratio) / p.angle;
  const Real by_square = -by_along * p.along / p.square + by_angle / (2 * p.angle);
  const Vector by_r = sum(sum(scaled(cross(p.x, c), ratio), scaled(c, p.along)),
                          sum(scaled(p.x, by_along * spread), scaled(p.r, 2 * by_square)));
  const Real slopes[6] = {by_r.x, by_r.y, by_r.z, -by_x.x, -by_x.y, -by_x.z};
  for (int i = 0; i < 6; ++i) by_camera[i] += slopes[i];
  by_point[0] += by_x.x;
  by_point[1] += by_x.y;
  by_point[2] += by_x.z;
}

/// Factors a matrix in place, by rows with the largest pivot; `rows` has where they came from.
void factor(Real* a, int64_t* rows, int64_t n) {
  for (int64_t i = 0; i < n; ++i) rows[i] = i;
  for (int64_t k = 0; k < n; ++k) {
    int64_t most = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (std::abs(a[i * n + k]) > std::abs(a[most * n + k])) most = i;
    if (most != k) {
      std::swap_ranges(a + k * n, a + (k + 1) * n, a + most * n);
      std::swap(rows[k], rows[most]);
    }
    for (int64_t i = k + 1; i < n; ++i) {
      const Real l = a[i * n + k] /= a[k * n + k];
      for (int64_t j = k + 1; j < n; ++j) a[i * n + j] -= l * a[k * n + j];
    }
  }
}

void solve(const Real* a, const int64_t* rows, const Real* b, Real* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    x[i] = b[rows[i]];
    for (int64_t j = 0; j < i; ++j) x[i] -= a[i * n + j] * x[j];
  }
  for (int64_t i = n; i-- > 0;) {
    for (int64_t j = i + 1; j < n; ++j) x[i] -= a[i * n + j] * x[j];
    x[i] /= a[i * n + i];
  }
}

/// Solves with the transposed matrix; c is spent.
void solve_back(const Real* a, const int64_t* rows, Real* c, Real* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    c[i] /= a[i * n + i];
    for (int64_t j = i + 1; j < n; ++j) c[j] -= a[i * n + j] * c[i];
  }
  for (int64_t i = n; i-- > 0;)
    for (int64_t j = 0; j < i; ++j) c[j] -= a[i * n + j] * c[i];
  for (int64_t i = 0; i < n; ++i) x[rows[i]] = c[i];
}

}  // namespace

extern "C" {

void lstm(const Real* w, const Real* u, const Real* b, const Real* x, const Real* t, Real* value,
          int64_t steps, int64_t inputs, int64_t n) {
  const auto kept = allocated(9 * n);
  Real *h = kept.get(), *c = h + n, *z = c + n, *next = z + 4 * n, *wide = next + n;
  std::fill_n(h, 2 * n, 0.0);
  Real total = 0;
  for (int64_t k = 0; k < steps; ++k) {
    lstm_step(w, u, b, x + k * inputs, h, c, z, next, c, wide, inputs, n);
    std::swap(h, next);
    for (int64_t i = 0; i < n; ++i) total += (h[i] - t[k * n + i]) * (h[i] - t[k * n + i]);
  }
  *value = total / static_cast<Real>(steps * n);
}

void lstm_gradient(const Real* w, const Real* u, const Real* b, const Real* x, const Real* t, Real* by_w,
                   Real* by_u, Real* by_b, int64_t steps, int64_t inputs, int64_t n) {
  const auto h = allocated((steps + 1) * n), c = allocated((steps + 1) * n), z = allocated(4 * steps * n),
             wide = allocated(steps * n), cotangents = allocated(6 * n);
  std::fill_n(h.get(), n, 0.0);
  std::fill_n(c.get(), n, 0.0);
  for (int64_t k = 0; k < steps; ++k)
    lstm_step(w, u, b, x + k * inputs, h.get() + k * n, c.get() + k * n, z.get() + 4 * k * n,
              h.get() + (k + 1) * n, c.get() + (k + 1) * n, wide.get() + k * n, inputs, n);
  std::fill_n(by_w, 4 * n * inputs, 0.0);
  std::fill_n(by_u, 4 * n * n, 0.0);
  std::fill_n(by_b, 4 * n, 0.0);
  Real *by_h = cotangents.get(), *by_c = by_h + n, *by_z = by_c + n;
  std::fill_n(by_h, 2 * n, 0.0);
  const Real scale = 2 / static_cast<Real>(steps * n);
  for (int64_t k = steps - 1; k >= 0; --k) {
    const Real *gates = z.get() + 4 * k * n, *now = h.get() + (k + 1) * n, *before = h.get() + k * n;
    for (int64_t i = 0; i < n; ++i) {
      const Real kept = gates[i], in = gates[n + i], fresh = gates[2 * n + i], out = gates[3 * n + i];
      const Real tall = wide[k * n + i], at_h = by_h[i] + scale * (now[i] - t[k * n + i]);
      const Real at_c = by_c[i] + at_h * out * (1 - tall * tall);
      by_z[i] = at_c * c[k * n + i] * kept * (1 - kept);
      by_z[n + i] = at_c * fresh * in * (1 - in);
      by_z[2 * n + i] = at_c * in * (1 - fresh * fresh);
      by_z[3 * n + i] = at_h * tall * out * (1 - out);
      by_c[i] = at_c * kept;
    }
    std::fill_n(by_h, n, 0.0);
    for (int64_t i = 0; i < 4 * n; ++i) {
      by_b[i] += by_z[i];
      add(by_z[i], x + k * inputs, by_w + i * inputs, inputs);
      add(by_z[i], before, by_u + i * n, n);
      add(by_z[i], u + i * n, by_h, n);
    }
  }
}

void mixture(const Real* alphas, const Real* means, const Real* logs, const Real* lower, const Real* x,
             Real* value, int64_t n, int64_t components, int64_t d) {
  const Scales s = scales_of(alphas, logs, components, d);
  Real total = 0;
#pragma omp parallel reduction(+ : total)
  {
    const auto terms = allocated(components), centred = allocated(d), y = allocated(d);
#pragma omp for
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t k = 0; k < components; ++k)
        terms[k] = s.sums[k] + gaussian(means + k * d, s.diagonal.get() + k * d, lower + k * d * d, x + i * d,
                                        centred.get(), y.get(), d);
      const Real most = *std::max_element(terms.get(), terms.get() + components);
      Real inner = 0;
      for (int64_t k = 0; k < components; ++k) inner += std::exp(terms[k] - most);
      total += std::log(inner) + most;
    }
  }
  *value = total - static_cast<Real>(n) * std::log(s.weight);
}

void mixture_gradient(const Real* alphas, const Real* means, const Real* logs, const Real* lower,
                      const Real* x, Real* by_alphas, Real* by_means, Real* by_logs, Real* by_lower,
                      int64_t n, int64_t components, int64_t d) {
  const Scales s = scales_of(alphas, logs, components, d);
  for (int64_t k = 0; k < components; ++k)
    by_alphas[k] = -static_cast<Real>(n) * std::exp(alphas[k]) / s.weight;
  std::fill_n(by_means, components * d, 0.0);
  std::fill_n(by_logs, components * d, 0.0);
  std::fill_n(by_lower, components * d * d, 0.0);
#pragma omp parallel reduction(+ : by_alphas[ : components], by_means[ : components * d], \
                                   by_logs[ : components * d], by_lower[ : components * d * d])
  {
    const auto terms = allocated(components), centred = allocated(components * d),
               y = allocated(components * d), slope = allocated(d);
#pragma omp for
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t k = 0; k < components; ++k)
        terms[k] = s.sums[k] + gaussian(means + k * d, s.diagonal.get() + k * d, lower + k * d * d, x + i * d,
                                        centred.get() + k * d, y.get() + k * d, d);
      const Real most = *std::max_element(terms.get(), terms.get() + components);
      Real inner = 0;
      for (int64_t k = 0; k < components; ++k) inner += terms[k] = std::exp(terms[k] - most);
      for (int64_t k = 0; k < components; ++k) {
        const Real part = terms[k] / inner, *at = centred.get() + k * d;
        by_alphas[k] += part;
        std::fill_n(slope.get(), d, 0.0);
        for (int64_t r = 0; r < d; ++r) {
          const Real by_y = -part * y[k * d + r], diagonal = s.diagonal[k * d + r];
          by_logs[k * d + r] += part + by_y * diagonal * at[r];
          slope[r] += by_y * diagonal;
          add(by_y, at, by_lower + (k * d + r) * d, r);
          add(by_y, lower + (k * d + r) * d, slope.get(), r);
        }
        for (int64_t r = 0; r < d; ++r) by_means[k * d + r] -= slope[r];
      }
    }
  }
}

void bundle(const Real* cameras, const Real* points, const Real* weights, const int64_t* pairs,
            const Real* features, Real* value, int64_t n) {
  Real total = 0;
#pragma omp parallel for reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) {
    const Projection p = project(cameras + 11 * pairs[2 * i], points + 3 * pairs[2 * i + 1]);
    const Real w = weights[i], s = w * (p.at_u - features[2 * i]), t = w * (p.at_v - features[2 * i + 1]);
    total += s * s + t * t + (1 - w * w) * (1 - w * w);
  }
  *value = 0.5 * total;
}

void bundle_gradient(const Real* cameras, const Real* points, const Real* weights, const int64_t* pairs,
                     const Real* features, Real* by_cameras, Real* by_points, Real* by_weights, int64_t n,
                     int64_t number, int64_t places) {
  std::fill_n(by_cameras, 11 * number, 0.0);
  std::fill_n(by_points, 3 * places, 0.0);
#pragma omp parallel for reduction(+ : by_cameras[ : 11 * number], by_points[ : 3 * places])
  for (int64_t i = 0; i < n; ++i) {
    const int64_t k = 11 * pairs[2 * i], j = 3 * pairs[2 * i + 1];
    const Projection p = project(cameras + k, points + j);
    const Real w = weights[i], off_u = p.at_u - features[2 * i], off_v = p.at_v - features[2 * i + 1];
    by_weights[i] = w * (off_u * off_u + off_v * off_v) - 2 * w * (1 - w * w);
    project_back(p, cameras + k, w * w * off_u, w * w * off_v, by_cameras + k, by_points + j);
  }
}

void samples(const Real* w, const Real* b, const Real* v, const Real* x, const Real* t, Real* value,
             int64_t n, int64_t inputs, int64_t hidden, int64_t outputs) {
#pragma omp parallel
  {
    const auto h = allocated(hidden), y = allocated(outputs);
#pragma omp for
    for (int64_t s = 0; s < n; ++s) {
      std::copy_n(b, hidden, h.get());
      for (int64_t i = 0; i < inputs; ++i) add(x[s * inputs + i], w + i * hidden, h.get(), hidden);
      std::fill_n(y.get(), outputs, 0.0);
      for (int64_t j = 0; j < hidden; ++j) add(std::tanh(h[j]), v + j * outputs, y.get(), outputs);
      value[s] = 0;
      for (int64_t k = 0; k < outputs; ++k)
        value[s] += (y[k] - t[s * outputs + k]) * (y[k] - t[s * outputs + k]);
    }
  }
}

void samples_gradient(const Real* w, const Real* b, const Real* v, const Real* x, const Real* t, Real* by_w,
                      Real* by_b, Real* by_v, int64_t n, int64_t inputs, int64_t hidden, int64_t outputs) {
#pragma omp parallel
  {
    const auto h = allocated(hidden), y = allocated(outputs);
#pragma omp for
    for (int64_t s = 0; s < n; ++s) {
      const Real* at = x + s * inputs;
      std::copy_n(b, hidden, h.get());
      for (int64_t i = 0; i < inputs; ++i) add(at[i], w + i * hidden, h.get(), hidden);
      std::fill_n(y.get(), outputs, 0.0);
      for (int64_t j = 0; j < hidden; ++j) {
        h[j] = std::tanh(h[j]);
        add(h[j], v + j * outputs, y.get(), outputs);
      }
      for (int64_t k = 0; k < outputs; ++k) y[k] = 2 * (y[k] - t[s * outputs + k]);
      Real *own_b = by_b + s * hidden, *own_w = by_w + s * inputs * hidden,
           *own_v = by_v + s * hidden * outputs;
      for (int64_t j = 0; j < hidden; ++j) {
        for (int64_t k = 0; k < outputs; ++k) own_v[j * outputs + k] = h[j] * y[k];
        own_b[j] = product(v + j * outputs, y.get(), outputs) * (1 - h[j] * h[j]);
      }
      for (int64_t i = 0; i < inputs; ++i)
        for (int64_t j = 0; j < hidden; ++j) own_w[i * hidden + j] = at[i] * own_b[j];
    }
  }
}

void solved(const Real* a, const Real* b, Real* value, int64_t count, int64_t n) {
#pragma omp parallel
  {
    const auto matrix = allocated(n * n), x = allocated(n);
    const auto rows = std::make_unique<int64_t[]>(static_cast<size_t>(n));
#pragma omp for
    for (int64_t s = 0; s < count; ++s) {
      std::copy_n(a + s * n * n, n * n, matrix.get());
      factor(matrix.get(), rows.get(), n);
      solve(matrix.get(), rows.get(), b + s * n, x.get(), n);
      value[s] = product(x.get(), x.get(), n);
    }
  }
}

void solved_gradient(const Real* a, const Real* b, Real* by_a, Real* by_b, int64_t count, int64_t n) {
#pragma omp parallel
  {
    const auto matrix = allocated(n * n), x = allocated(n), c = allocated(n);
    const auto rows = std::make_unique<int64_t[]>(static_cast<size_t>(n));
#pragma omp for
    for (int64_t s = 0; s < count; ++s) {
      std::copy_n(a + s * n * n, n * n, matrix.get());
      factor(matrix.get(), rows.get(), n);
      solve(matrix.get(), rows.get(), b + s * n, x.get(), n);
      for (int64_t i = 0; i < n; ++i) c[i] = 2 * x[i];
      Real* own = by_b + s * n;
      solve_back(matrix.get(), rows.get(), c.get(), own, n);
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) by_a[(s * n + i) * n + j] = -own[i] * x[j];
    }
  }
}
}
