// Functions of complex numbers that are made of functions of their parts: these have kernels, so that lanes
// need no calls. The bits are those of base/math/complex_functions.h.

#include <algorithm>

#include "base/math/kernels/of_parts.h"
#include "codegen/branches.h"
#include "codegen/vecmath.h"

namespace ingot::codegen {

using ir::Op;
using llvm::Value;

namespace {

/// A function of x + iy that is f(x) cos(y) + i g(x) sin(y); or that function of iz and, with
/// `is_turned_back`, its value times -i.
struct Product {
  Op op;
  Op f;
  Op g;
  bool is_turned = false;
  bool is_turned_back = false;
};
constexpr Product kProducts[] = {{Op::exp, Op::exp, Op::exp},
                                 {Op::sinh, Op::sinh, Op::cosh},
                                 {Op::cosh, Op::cosh, Op::sinh},
                                 {Op::sin, Op::sinh, Op::cosh, true, true},
                                 {Op::cos, Op::cosh, Op::sinh, true, false}};

const Product* product_of(Op op) {
  const auto* const found = std::ranges::find(kProducts, op, &Product::op);
  return found != std::end(kProducts) ? found : nullptr;
}

}  // namespace

/// Whether a function of complex numbers is made of kernels in lanes.
bool Scalars::is_of_parts(Op op, DType dtype) const {
  if (op == Op::absolute) return has_math(unit_.target, Op::hypot, base::component_of(dtype));
  return (op == Op::sqrt || product_of(op) != nullptr) && has_math(unit_.target, Op::exp, DType::Float64);
}

Parts Scalars::of_parts(Op op, DType dtype, const Parts& operand) {
  if (op == Op::absolute) return {emit_math(unit_, b, Op::hypot, {operand.data(), operand.size()})};
  llvm::Type* const type = operand[0]->getType();
  Parts wide;
  for (Value* part : operand) wide.push_back(b.CreateFPCast(part, like(type, b.getDoubleTy())));
  Value* is_usual = nullptr;
  Parts usual = op == Op::sqrt ? root_of_parts(wide, is_usual) : product_of_parts(op, wide, is_usual);
  for (Value*& part : usual) part = b.CreateFPCast(part, type);
  return emit_when(b, b.CreateNot(b.CreateAndReduce(is_usual)), usual,
                   [&] { return call_math(op, dtype, {&operand, 1}); });
}

Parts Scalars::product_of_parts(Op op, const Parts& z, Value*& is_usual) {
  const Product& product = *product_of(op);
  Value* const x = product.is_turned ? b.CreateFNeg(z[1]) : z[0];
  Value* const y = product.is_turned ? z[0] : z[1];
  const auto of = [&](Op function, Value* part) { return emit_math(unit_, b, function, {&part, 1}); };
  Value* const f = of(product.f, x);
  Value* const g = product.f == product.g ? f : of(product.g, x);
  Value* const re = b.CreateFMul(f, of(Op::cos, y));
  Value* const im = b.CreateFMul(g, of(Op::sin, y));
  Value* const most = llvm::ConstantFP::get(x->getType(), base::math::kernels::kPlainExponent);
  Value* const size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  // Infinity minus itself is NaN.
  is_usual = b.CreateAnd(b.CreateFCmpOLE(size, most), b.CreateFCmpORD(b.CreateFSub(y, y), y));
  if (product.is_turned_back) return {im, b.CreateFNeg(re)};
  return {re, im};
}

Parts Scalars::root_of_parts(const Parts& z, Value*& is_usual) {
  const auto number = [&](double value) { return llvm::ConstantFP::get(z[0]->getType(), value); };
  const auto size_of = [&](Value* part) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, part); };
  Value* const size = emit_math(unit_, b, Op::hypot, {z.data(), z.size()});
  Value* const half = b.CreateFMul(b.CreateFAdd(size_of(z[0]), size), number(0.5));
  Value* const larger = b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, half);
  Value* const smaller = b.CreateFDiv(size_of(z[1]), b.CreateFMul(larger, number(2)));
  Value* const is_left = b.CreateFCmpOLT(z[0], number(0));
  const auto& [least, most] = base::math::kernels::kPlainRoot;
  is_usual = b.CreateAnd(b.CreateFCmpOGE(size, number(least)), b.CreateFCmpOLE(size, number(most)));
  return {b.CreateSelect(is_left, smaller, larger),
          b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, b.CreateSelect(is_left, larger, smaller), z[1])};
}

}  // namespace ingot::codegen
