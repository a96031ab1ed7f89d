#include "base/math/elementary.h"

#include "base/math/kernels/all.h"

namespace ingot::base::math {

namespace elementary {

#define KERNEL(name)                                                                   \
  double name(double x) { return kernels::name(kernels::Plain<double>::of(x)).value; } \
  float name(float x) { return kernels::name(kernels::Plain<float>::of(x)).value; }
INGOT_UNARY_KERNELS(KERNEL)
#undef KERNEL
#define KERNEL(name)                                                                          \
  double name(double x, double y) {                                                           \
    return kernels::name(kernels::Plain<double>::of(x), kernels::Plain<double>::of(y)).value; \
  }                                                                                           \
  float name(float x, float y) {                                                              \
    return kernels::name(kernels::Plain<float>::of(x), kernels::Plain<float>::of(y)).value;   \
  }
INGOT_BINARY_KERNELS(KERNEL)
#undef KERNEL

}  // namespace elementary

}  // namespace ingot::base::math
