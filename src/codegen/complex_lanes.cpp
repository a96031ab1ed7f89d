// Functions of complex numbers that are functions of their parts: these have kernels, so that lanes need no
// calls. The bits are those of base/math/complex_functions.h.

#include "base/math/kernels/exponential.h"
#include "codegen/branches.h"
#include "codegen/vecmath.h"

namespace ingot::codegen {

using llvm::Value;

namespace {

Value* to_double(Builder& b, Value* part) {
  return b.CreateFPCast(part, like(part->getType(), b.getDoubleTy()));
}

}  // namespace

/// Whether a function of complex numbers is made of kernels in lanes.
bool Scalars::is_of_parts(ir::Op op, DType dtype) const {
  const DType part = base::component_of(dtype);
  if (op == ir::Op::absolute) return has_math(unit_.target, ir::Op::hypot, part);
  return op == ir::Op::exp && has_math(unit_.target, op, DType::Float64);
}

Parts Scalars::of_parts(ir::Op op, DType dtype, const Parts& operand) {
  if (op == ir::Op::absolute) return {emit_math(unit_, b, ir::Op::hypot, {operand.data(), operand.size()})};
  Value* const x = to_double(b, operand[0]);
  Value* const y = to_double(b, operand[1]);
  const auto of = [&](ir::Op function, Value* part) { return emit_math(unit_, b, function, {&part, 1}); };
  Value* const size = of(ir::Op::exp, x);
  llvm::Type* const type = operand[0]->getType();
  Parts usual;
  for (const ir::Op function : {ir::Op::cos, ir::Op::sin})
    usual.push_back(b.CreateFPCast(b.CreateFMul(size, of(function, y)), type));
  // Infinity minus itself is NaN.
  Value* const is_usual =
      b.CreateAnd(b.CreateFCmpOLE(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x),
                                  llvm::ConstantFP::get(x->getType(), base::math::kernels::kPlainExponent)),
                  b.CreateFCmpORD(b.CreateFSub(y, y), y));
  return emit_when(b, b.CreateNot(b.CreateAndReduce(is_usual)), usual,
                   [&] { return call_math(op, dtype, {&operand, 1}); });
}

}  // namespace ingot::codegen
