#pragma once

#include "base/math/kernels/plain.h"

/// What compiled code calls for the lanes of a vector that leave the straight line of a kernel: the lanes in
/// memory, those replaced for which the kernel's condition holds.
namespace ingot::base::math::kernels {

inline void reduce_angles(const double* x, double* high, double* low, int64_t* quadrant, double limit,
                          int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (!(x[i] > limit)) continue;
    const Reduced reduced = reduce_by_half_pi(x[i]);
    high[i] = reduced.high;
    low[i] = reduced.low;
    quadrant[i] = reduced.quadrant;
  }
}

inline void reduce_angles(const float* x, float* rest, int32_t* half_turns, float limit, int64_t count,
                          int32_t turn) {
  for (int64_t i = 0; i < count; ++i) {
    if (!(x[i] > limit)) continue;
    const HalfTurnsReduced reduced = reduce_by_pi(static_cast<double>(x[i]), turn);
    rest[i] = static_cast<float>(reduced.rest);
    half_turns[i] = static_cast<int32_t>(reduced.count);
  }
}

template <class T>
void remainders(const T* a, const T* b, T* rest, int64_t count) {
  for (int64_t i = 0; i < count; ++i) rest[i] = std::fmod(a[i], b[i]);
}

inline void gammas(const double* x, double* result, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (x[i] < 0) result[i] = gamma_of_negative(x[i]);
}

inline void log_gammas(const double* x, double* result, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (x[i] < 0) result[i] = log_gamma_of_negative(x[i]);
}

}  // namespace ingot::base::math::kernels
