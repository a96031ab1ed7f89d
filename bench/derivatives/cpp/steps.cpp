// Programs that go step by step, and their derivatives, written by hand: forwards with what is needed kept,
// then backwards.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

using Real = double;

namespace {

std::unique_ptr<Real[]> allocated(int64_t n) {
  return std::make_unique_for_overwrite<Real[]>(static_cast<size_t>(n));
}

struct State {
  Real u, v;
};

State rates(State s, const Real* p) { return {p[0] * s.u - p[1] * s.u * s.v, p[2] * s.u * s.v - p[3] * s.v}; }

State moved(State s, Real h, State k) { return {s.u + h * k.u, s.v + h * k.v}; }

/// Adds to the cotangents of the state and the parameters what that of the rates at s gives.
State rates_back(State s, const Real* p, State c, Real* by_p) {
  const Real both = s.u * s.v;
  by_p[0] += c.u * s.u;
  by_p[1] -= c.u * both;
  by_p[2] += c.v * both;
  by_p[3] -= c.v * s.v;
  return {c.u * (p[0] - p[1] * s.v) + c.v * p[2] * s.v, c.v * (p[2] * s.u - p[3]) - c.u * p[1] * s.u};
}

State advanced(State s, const Real* p, Real h) {
  const State a = rates(s, p), b = rates(moved(s, 0.5 * h, a), p), c = rates(moved(s, 0.5 * h, b), p),
              d = rates(moved(s, h, c), p);
  return {s.u + h / 6 * (a.u + 2 * b.u + 2 * c.u + d.u), s.v + h / 6 * (a.v + 2 * b.v + 2 * c.v + d.v)};
}

Real kepler_root(Real m, Real e) {
  Real x = m;
  while (true) {
    const Real step = (x - e * std::sin(x) - m) / (1 - e * std::cos(x));
    x -= step;
    if (std::abs(step) < 1e-12) return x;
  }
}

}  // namespace

extern "C" {

void recurrence(const Real* x, Real* value, int64_t n) {
  Real y = x[0], total = y * y;
  for (int64_t i = 1; i < n; ++i) {
    y = x[i] + 0.5 * y / (1 + y * y);
    total += y * y;
  }
  *value = total;
}

void recurrence_gradient(const Real* __restrict x, Real* __restrict slope, int64_t n) {
  // The values are kept where the slopes will be.
  slope[0] = x[0];
  for (int64_t i = 1; i < n; ++i) slope[i] = x[i] + 0.5 * slope[i - 1] / (1 + slope[i - 1] * slope[i - 1]);
  Real c = 0;
  for (int64_t i = n - 1; i > 0; --i) {
    const Real last = slope[i - 1], square = last * last, below = 1 + square;
    c += 2 * slope[i];
    slope[i] = c;
    c *= 0.5 * (1 - square) / (below * below);
  }
  slope[0] = c + 2 * slope[0];
}

void heat(const Real* start, Real k, const Real* target, Real* value, int64_t n, int64_t steps) {
  const auto two = allocated(2 * n);
  Real *from = two.get(), *to = two.get() + n;
  std::copy_n(start, n, from);
  to[0] = from[0];
  to[n - 1] = from[n - 1];
  for (int64_t step = 0; step < steps; ++step) {
    const Real* __restrict u = from;
    Real* __restrict v = to;
    for (int64_t i = 1; i < n - 1; ++i) v[i] = u[i] + k * (u[i - 1] - 2 * u[i] + u[i + 1]);
    std::swap(from, to);
  }
  Real total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) total += (from[i] - target[i]) * (from[i] - target[i]);
  *value = total;
}

void heat_gradient(const Real* start, Real k, const Real* target, Real* by_start, Real* by_k, int64_t n,
                   int64_t steps) {
  const auto kept = allocated((steps + 1) * n), other = allocated(n);
  std::copy_n(start, n, kept.get());
  for (int64_t step = 0; step < steps; ++step) {
    const Real* __restrict u = kept.get() + step * n;
    Real* __restrict v = kept.get() + (step + 1) * n;
    v[0] = u[0];
    v[n - 1] = u[n - 1];
    for (int64_t i = 1; i < n - 1; ++i) v[i] = u[i] + k * (u[i - 1] - 2 * u[i] + u[i + 1]);
  }
  Real *from = other.get(), *to = by_start;
  if (steps % 2 == 0) std::swap(from, to);
  const Real* last = kept.get() + steps * n;
  for (int64_t i = 0; i < n; ++i) from[i] = 2 * (last[i] - target[i]);
  Real total = 0;
  for (int64_t step = steps - 1; step >= 0; --step) {
    const Real* __restrict u = kept.get() + step * n;
    const Real* __restrict c = from;
    Real* __restrict d = to;
    // The ends stay as they are, and are read by their neighbours.
    d[0] = c[0] + k * c[1];
    d[n - 1] = c[n - 1] + k * c[n - 2];
    d[1] = c[1] + k * (c[2] - 2 * c[1]);
    d[n - 2] = c[n - 2] + k * (c[n - 3] - 2 * c[n - 2]);
#pragma omp simd reduction(+ : total)
    for (int64_t i = 1; i < n - 1; ++i) total += c[i] * (u[i - 1] - 2 * u[i] + u[i + 1]);
    for (int64_t i = 2; i < n - 2; ++i) d[i] = c[i] + k * (c[i - 1] - 2 * c[i] + c[i + 1]);
    std::swap(from, to);
  }
  *by_k = total;
}

void runge_kutta(const Real* start, const Real* p, Real h, Real* value, int64_t steps) {
  State s{start[0], start[1]};
  for (int64_t step = 0; step < steps; ++step) s = advanced(s, p, h);
  *value = s.u * s.u + s.v * s.v;
}

void runge_kutta_gradient(const Real* start, const Real* p, Real h, Real* by_start, Real* by_p,
                          int64_t steps) {
  const auto kept = std::make_unique_for_overwrite<State[]>(static_cast<size_t>(steps));
  State s{start[0], start[1]};
  for (int64_t step = 0; step < steps; ++step) {
    kept[step] = s;
    s = advanced(s, p, h);
  }
  Real slopes[4] = {0, 0, 0, 0};
  State c{2 * s.u, 2 * s.v};
  for (int64_t step = steps - 1; step >= 0; --step) {
    const State at = kept[step];
    const State a = rates(at, p), second = moved(at, 0.5 * h, a), b = rates(second, p);
    const State third = moved(at, 0.5 * h, b), last = moved(at, h, rates(third, p));
    const State sixth{h / 6 * c.u, h / 6 * c.v}, by_last = rates_back(last, p, sixth, slopes);
    const State by_third =
        rates_back(third, p, {2 * sixth.u + h * by_last.u, 2 * sixth.v + h * by_last.v}, slopes);
    const State by_second = rates_back(
        second, p, {2 * sixth.u + 0.5 * h * by_third.u, 2 * sixth.v + 0.5 * h * by_third.v}, slopes);
    const State by_first =
        rates_back(at, p, {sixth.u + 0.5 * h * by_second.u, sixth.v + 0.5 * h * by_second.v}, slopes);
    c.u += by_last.u + by_third.u + by_second.u + by_first.u;
    c.v += by_last.v + by_third.v + by_second.v + by_first.v;
  }
  by_start[0] = c.u;
  by_start[1] = c.v;
  std::copy_n(slopes, 4, by_p);
}

void kalman(Real a, Real q, Real r, const Real* y, Real* value, int64_t n) {
  Real m = 0, p = 1, total = 0;
  for (int64_t i = 0; i < n; ++i) {
    m = a * m;
    p = a * a * p + q;
    const Real s = p + r, v = y[i] - m, gain = p / s;
    total += std::log(s) + v * v / s;
    m += gain * v;
    p *= 1 - gain;
  }
  *value = 0.5 * total;
}

void kalman_gradient(Real a, Real q, Real r, const Real* y, Real* slopes, int64_t n) {
  // Of each step the mean and the variance before it are kept.
  const auto kept = std::make_unique_for_overwrite<State[]>(static_cast<size_t>(n));
  Real m = 0, p = 1;
  for (int64_t i = 0; i < n; ++i) {
    kept[i] = {m, p};
    m = a * m;
    p = a * a * p + q;
    const Real gain = p / (p + r);
    m += gain * (y[i] - m);
    p *= 1 - gain;
  }
  Real by_a = 0, by_q = 0, by_r = 0, by_m = 0, by_p = 0;
  for (int64_t i = n - 1; i >= 0; --i) {
    const Real ahead = a * kept[i].u, variance = a * a * kept[i].v + q;
    const Real s = variance + r, inverse = 1 / s, v = y[i] - ahead, gain = variance * inverse,
               scaled = v * inverse;
    // p' = p (1 - gain), m' = ahead + gain v, total += log s + v^2 / s.
    const Real by_gain = by_m * v - by_p * variance;
    const Real by_v = by_m * gain + scaled;
    const Real by_s = 0.5 * (inverse - scaled * scaled) - by_gain * gain * inverse;
    const Real by_variance = by_p * (1 - gain) + by_gain * inverse + by_s;
    const Real by_ahead = by_m - by_v;
    by_r += by_s;
    by_q += by_variance;
    by_a += by_ahead * kept[i].u + 2 * a * kept[i].v * by_variance;
    by_m = a * by_ahead;
    by_p = a * a * by_variance;
  }
  slopes[0] = by_a;
  slopes[1] = by_q;
  slopes[2] = by_r;
}

void kepler(const Real* m, Real e, Real* value, int64_t n) {
  Real total = 0;
#pragma omp parallel for reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) {
    const Real x = kepler_root(m[i], e);
    total += x * x;
  }
  *value = total;
}

void kepler_gradient(const Real* m, Real e, Real* by_m, Real* by_e, int64_t n) {
  Real total = 0;
#pragma omp parallel for reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) {
    const Real x = kepler_root(m[i], e);
    by_m[i] = 2 * x / (1 - e * std::cos(x));
    total += by_m[i] * std::sin(x);
  }
  *by_e = total;
}

void kepler_gradient_unrolled(const Real* m, Real e, Real* by_m, Real* by_e, int64_t n) {
  struct Kept {
    Real sine, cosine, below, step;
  };
  Real total = 0;
#pragma omp parallel for reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) {
    std::vector<Kept> kept;
    kept.reserve(8);
    Real x = m[i], step = 1;
    while (!(std::abs(step) < 1e-12)) {
      const Real sine = std::sin(x), cosine = std::cos(x), below = 1 - e * cosine;
      step = (x - e * sine - m[i]) / below;
      kept.push_back({sine, cosine, below, step});
      x -= step;
    }
    Real c = 2 * x, own = 0;
    for (size_t k = kept.size(); k-- > 0;) {
      const auto [sine, cosine, below, last] = kept[k];
      const Real by_above = -c / below, by_below = -by_above * last;
      own -= by_above;
      total -= by_above * sine + by_below * cosine;
      c += by_above * below + by_below * e * sine;
    }
    by_m[i] = own + c;
  }
  *by_e = total;
}
}
