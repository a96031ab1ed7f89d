#include <limits>

#include "codegen/rules.h"

namespace ingot::codegen {

namespace {

using llvm::Value;

Value* less(const RuleArguments& a, const Parts& x, const Parts& y) {
  Builder& b = a.b;
  if (a.is_signed_int()) return b.CreateICmpSLT(x[0], y[0]);
  if (a.is_float()) return b.CreateFCmpOLT(x[0], y[0]);
  if (!a.is_complex()) return b.CreateICmpULT(x[0], y[0]);
  Value* const ordered = b.CreateFCmpORD(x[1], y[1]);
  Value* const by_real = b.CreateAnd(b.CreateFCmpOLT(x[0], y[0]), ordered);
  return b.CreateSelect(b.CreateFCmpOEQ(x[0], y[0]), b.CreateFCmpOLT(x[1], y[1]), by_real);
}

Value* equal(const RuleArguments& a, const Parts& x, const Parts& y) {
  if (a.is_complex()) return a.b.CreateAnd(a.b.CreateFCmpOEQ(x[0], y[0]), a.b.CreateFCmpOEQ(x[1], y[1]));
  return a.is_float() ? a.b.CreateFCmpOEQ(x[0], y[0]) : a.b.CreateICmpEQ(x[0], y[0]);
}

Value* less_equal(const RuleArguments& a, const Parts& x, const Parts& y) {
  if (a.is_float()) return a.b.CreateFCmpOLE(x[0], y[0]);
  if (a.is_complex()) return a.b.CreateOr(less(a, x, y), equal(a, x, y));
  return a.is_signed_int() ? a.b.CreateICmpSLE(x[0], y[0]) : a.b.CreateICmpULE(x[0], y[0]);
}

/// Null of types that have none.
Value* has_nan(const RuleArguments& a, const Parts& x) {
  if (a.is_float()) return a.b.CreateFCmpUNO(x[0], x[0]);
  return a.is_complex() ? a.b.CreateFCmpUNO(x[0], x[1]) : nullptr;
}

/// The first operand if `in_order` or if `nan` has one, else the second.
Parts choose(const RuleArguments& a, Value* in_order, const Parts& nan) {
  Value* const is_nan = has_nan(a, nan);
  return a.scalars.select(is_nan == nullptr ? in_order : a.b.CreateOr(is_nan, in_order), a.operands[0],
                          a.operands[1]);
}

Value* infinity(const RuleArguments& a) {
  return llvm::ConstantFP::get(a.type(), std::numeric_limits<double>::infinity());
}
Value* fabs(const RuleArguments& a, Value* v) { return a.b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); }

}  // namespace

Parts emit_equal(const RuleArguments& a) { return {equal(a, a.operands[0], a.operands[1])}; }
Parts emit_not_equal(const RuleArguments& a) {
  return {a.b.CreateNot(equal(a, a.operands[0], a.operands[1]))};
}
Parts emit_less(const RuleArguments& a) { return {less(a, a.operands[0], a.operands[1])}; }
Parts emit_less_equal(const RuleArguments& a) { return {less_equal(a, a.operands[0], a.operands[1])}; }
Parts emit_greater(const RuleArguments& a) { return {less(a, a.operands[1], a.operands[0])}; }
Parts emit_greater_equal(const RuleArguments& a) { return {less_equal(a, a.operands[1], a.operands[0])}; }

Parts emit_minimum(const RuleArguments& a) {
  return choose(a, less_equal(a, a.operands[0], a.operands[1]), a.operands[0]);
}
Parts emit_maximum(const RuleArguments& a) {
  return choose(a, less_equal(a, a.operands[1], a.operands[0]), a.operands[0]);
}
Parts emit_fmin(const RuleArguments& a) {
  return choose(a, less_equal(a, a.operands[0], a.operands[1]), a.operands[1]);
}
Parts emit_fmax(const RuleArguments& a) {
  return choose(a, less_equal(a, a.operands[1], a.operands[0]), a.operands[1]);
}

Parts emit_isnan(const RuleArguments& a) { return {has_nan(a, a.operands[0])}; }

Parts emit_isinf(const RuleArguments& a) {
  Value* const re = a.b.CreateFCmpOEQ(fabs(a, a.re(0)), infinity(a));
  if (!a.is_complex()) return {re};
  return {a.b.CreateOr(re, a.b.CreateFCmpOEQ(fabs(a, a.im(0)), infinity(a)))};
}

Parts emit_isfinite(const RuleArguments& a) {
  Value* const re = a.b.CreateFCmpOLT(fabs(a, a.re(0)), infinity(a));
  if (!a.is_complex()) return {re};
  return {a.b.CreateAnd(re, a.b.CreateFCmpOLT(fabs(a, a.im(0)), infinity(a)))};
}

Parts emit_signbit(const RuleArguments& a) {
  llvm::Type* const bits = like(a.type(), a.b.getIntNTy(a.type()->getScalarSizeInBits()));
  return {a.b.CreateICmpSLT(a.b.CreateBitCast(a.re(0), bits), llvm::Constant::getNullValue(bits))};
}

namespace {

/// The bits that frexp uses: its operand's, scaled up where it is below all normal numbers.
struct Binary {
  Value* bits;
  Value* is_tiny;
  Value* is_own;  ///< zeros, infinities and NaN, which are their own mantissa
  int digits;     ///< of the significand that are stored
  int64_t bias;   ///< of the exponent of a number in [0.5, 1)
};

constexpr int kScale = 54;

Binary binary_of(const RuleArguments& a) {
  const bool is_double = a.type()->getScalarSizeInBits() == 64;
  const auto number = [&](double value) { return llvm::ConstantFP::get(a.type(), value); };
  Value* const x = a.re(0);
  Value* const size = a.b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  Value* const is_tiny = a.b.CreateFCmpOLT(size, number(is_double ? 0x1p-1022 : 0x1p-126));
  Value* const scaled = a.b.CreateSelect(is_tiny, a.b.CreateFMul(x, number(0x1p54)), x);
  Value* const is_finite = a.b.CreateFCmpOLT(size, llvm::ConstantFP::getInfinity(a.type()));
  Value* const is_number = a.b.CreateAnd(is_finite, a.b.CreateFCmpONE(x, number(0.0)));
  return {.bits = a.b.CreateBitCast(scaled, like(a.type(), a.b.getIntNTy(is_double ? 64 : 32))),
          .is_tiny = is_tiny,
          .is_own = a.b.CreateNot(is_number),
          .digits = is_double ? 52 : 23,
          .bias = is_double ? 1022 : 126};
}

}  // namespace

Parts emit_mantissa(const RuleArguments& a) {
  const Binary x = binary_of(a);
  llvm::Type* const bits = x.bits->getType();
  const auto exponent_at = [&](uint64_t value) {
    return llvm::ConstantInt::get(bits, value << static_cast<unsigned>(x.digits));
  };
  Value* const cleared =
      a.b.CreateAnd(x.bits, a.b.CreateNot(exponent_at(2 * static_cast<uint64_t>(x.bias) + 3)));
  Value* const mantissa = a.b.CreateOr(cleared, exponent_at(static_cast<uint64_t>(x.bias)));
  return {a.b.CreateSelect(x.is_own, a.re(0), a.b.CreateBitCast(mantissa, a.type()))};
}

Parts emit_exponent(const RuleArguments& a) {
  const Binary x = binary_of(a);
  llvm::Type* const bits = x.bits->getType();
  const auto number = [&](int64_t value) {
    return llvm::ConstantInt::get(bits, static_cast<uint64_t>(value), true);
  };
  Value* const stored =
      a.b.CreateAnd(a.b.CreateLShr(x.bits, static_cast<uint64_t>(x.digits)), number(2 * x.bias + 3));
  Value* const bias = a.b.CreateSelect(x.is_tiny, number(x.bias + kScale), number(x.bias));
  Value* const exponent = a.b.CreateSelect(x.is_own, number(0), a.b.CreateSub(stored, bias));
  return {a.b.CreateTrunc(exponent, like(a.type(), a.b.getInt32Ty()))};
}

Parts emit_copysign(const RuleArguments& a) {
  return {a.b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, a.re(0), a.re(1))};
}

namespace {

Parts emit_rounding(const RuleArguments& a, llvm::Intrinsic::ID id) {
  Parts result;
  for (Value* part : a.operands[0]) result.push_back(a.b.CreateUnaryIntrinsic(id, part));
  return result;
}

}  // namespace

Parts emit_floor(const RuleArguments& a) { return emit_rounding(a, llvm::Intrinsic::floor); }
Parts emit_ceil(const RuleArguments& a) { return emit_rounding(a, llvm::Intrinsic::ceil); }
Parts emit_trunc(const RuleArguments& a) { return emit_rounding(a, llvm::Intrinsic::trunc); }
Parts emit_rint(const RuleArguments& a) { return emit_rounding(a, llvm::Intrinsic::nearbyint); }
Parts emit_sqrt(const RuleArguments& a) { return emit_rounding(a, llvm::Intrinsic::sqrt); }

Parts emit_make_complex(const RuleArguments& a) { return {a.re(0), a.re(1)}; }
Parts emit_real(const RuleArguments& a) { return {a.re(0)}; }
Parts emit_imaginary(const RuleArguments& a) { return {a.im(0)}; }

}  // namespace ingot::codegen
