#pragma once

#include <span>

#include "codegen/scalars.h"
#include "codegen/unit.h"
#include "ir/op.h"

namespace ingot::codegen {

/// The value of an elementary op at float or double operands, scalars or fixed vectors of one type: the
/// kernel of base/math/kernels, so that each lane has the bits of `base::math`. Null if the op has no kernel,
/// or if the target has no fused multiply-add (the call of the runtime's function has the same bits).
///
/// The first uses in a module are emitted at the builder's insertion point, which may end in another block;
/// later ones call one internal function for the op, type and width.
llvm::Value* emit_math(Unit& unit, Builder& b, ir::Op op, std::span<llvm::Value* const> operands);

/// Whether emit_math gives a value for the op at operands of a dtype, on this target; that of f16 is float's,
/// rounded.
bool has_math(const Target& target, ir::Op op, DType dtype);

}  // namespace ingot::codegen
