#pragma once

#include "measure.h"

namespace ingot::accuracy {

/// ns an element, in cache, least of many passes; 0 where there is none. `own_scalar` and `own_256` are code
/// for the psABI level 3, `own_512` for this CPU.
struct Times {
  double own_scalar = 0, own_256 = 0, own_512 = 0;
  double libmvec_256 = 0, libmvec_512 = 0, sleef_256 = 0, sleef_512 = 0, libm = 0;
  double compile_ms = 0;  ///< CPU milliseconds that the loop of 512 bits adds to an object
};

Times measure_speed(const Function& f, bool is_double);

}  // namespace ingot::accuracy
