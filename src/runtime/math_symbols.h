#pragma once

#include <span>
#include <string_view>

#include "base/dtype.h"

namespace ingot::runtime {

/// The functions of `base::math` that compiled code calls instead of repeating their formulas, so that its
/// values are the interpreter's bit for bit: `ingot_v1_math_<op>_<dtype>`, the dtype that of the operands.
/// base/math/called.h defines how numbers are passed.
struct MathFunction {
  std::string_view op;
  base::DType dtype;
  void* address;
};

/// All of them, the dtypes of one op side by side.
std::span<const MathFunction> math_functions();

/// The address of the function that a symbol names, null if there is none.
void* find_math_function(std::string_view symbol);

}  // namespace ingot::runtime
