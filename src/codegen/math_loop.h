#pragma once

#include <span>
#include <string>

#include "codegen/compile.h"
#include "ir/op.h"

namespace ingot::codegen {

/// A loop over arrays that applies one elementary function to vectors: accuracy and speed of the kernels are
/// measured with it.
struct MathLoop {
  ir::Op op;
  base::DType dtype;  ///< Float32 or Float64
  unsigned lanes;     ///< 1: scalars
  /// The symbol of the function `void (const T* x, const T* y, T* result, int64_t count)`, the count a
  /// multiple of `lanes`; y is not looked at where the op has one operand.
  std::string symbol() const;
};

/// The object with these loops. Throws InternalError where the op has no kernel on the target.
Compiled compile_math_loops(std::span<const MathLoop> loops, const Target& target,
                            const Options& options = {});

}  // namespace ingot::codegen
