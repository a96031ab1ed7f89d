// The external functions that kernels on GPUs call, compiled to LLVM's bitcode when Ingot is built
// (CMakeLists.txt) and linked into modules by `link_device_math`. They are those of CPUs: `base::math`,
// its sources included, under the same symbols. No function of a C library is called by them; the few that
// `base::math` calls are here.

#define INGOT_ONE_WAY
#include "base/math/kernels/plain.h"

/// Inlined where it is called: a call on the rare path of a kernel takes memory and registers of all paths.
#define INGOT_IN_PLACE __attribute__((always_inline))

namespace ingot::base::math::kernels {
INGOT_IN_PLACE Turns turns_of(double x);
INGOT_IN_PLACE Reduced reduce_by_half_pi(double x);
INGOT_IN_PLACE HalfTurnsReduced reduce_by_pi(double x, int turn);
INGOT_IN_PLACE inline void reduce_angles(const double* x, double* high, double* low, int64_t* quadrant,
                                         double limit, int64_t count);
INGOT_IN_PLACE inline void reduce_angles(const float* x, float* rest, int32_t* half_turns, float limit,
                                         int64_t count, int32_t turn);
}  // namespace ingot::base::math::kernels

#include "base/half.cpp"
#include "base/math/called.h"
#include "base/math/cast.cpp"
#include "base/math/complex.cpp"
#include "base/math/elementary.cpp"
#include "base/math/gamma.cpp"
#include "base/math/kernels/rare.h"
#include "base/math/kernels/reduce.cpp"
#include "codegen/targets/device_math/library.h"

namespace math = ingot::base::math;

extern "C" {

INGOT_CALLED_REAL(INGOT_DEFINE_CALLED_REAL)
INGOT_CALLED_COMPLEX(INGOT_DEFINE_CALLED_COMPLEX)

INGOT_IN_PLACE void ingot_v1_reduce_angles_f64(const double* x, double* high, double* low, int64_t* quadrant,
                                               double limit, int64_t) {
  math::kernels::reduce_angles(x, high, low, quadrant, limit, 1);
}
INGOT_IN_PLACE void ingot_v1_reduce_angles_f32(const float* x, float* rest, int32_t* half_turns, float limit,
                                               int64_t, int32_t turn) {
  math::kernels::reduce_angles(x, rest, half_turns, limit, 1, turn);
}
void ingot_v1_remainders_f64(const double* a, const double* b, double* rest, int64_t count) {
  math::kernels::remainders(a, b, rest, count);
}
void ingot_v1_remainders_f32(const float* a, const float* b, float* rest, int64_t count) {
  math::kernels::remainders(a, b, rest, count);
}
void ingot_v1_gammas_f64(const double* x, double* result, int64_t count) {
  math::kernels::gammas(x, result, count);
}
void ingot_v1_log_gammas_f64(const double* x, double* result, int64_t count) {
  math::kernels::log_gammas(x, result, count);
}

}  // extern "C"
