#include <llvm/IR/PatternMatch.h>

#include <numbers>

#include "codegen/rules.h"

namespace ingot::codegen {

namespace {

using llvm::Value;

Value* zero(const RuleArguments& a) { return llvm::Constant::getNullValue(a.type()); }
Value* integer(const RuleArguments& a, int64_t value) {
  return llvm::ConstantInt::getSigned(a.type(), value);
}
Value* real(const RuleArguments& a, double value) { return llvm::ConstantFP::get(a.type(), value); }
Value* fabs(const RuleArguments& a, Value* v) { return a.b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); }

/// Division of integers that never traps, rounded to zero.
struct Quotient {
  Value* divisor;  ///< the real one, or 1 where that is 0 or -1
  Value* by_zero;
  Value* by_minus_one;  ///< null of unsigned
  Value* quotient;
  Value* rest;
};

/// The quotient of unsigned 64-bit lanes. The reciprocal of the divisor is rounded to a number that is below
/// it and closer to it than one part in 2^49, so no estimate is too large: the first leaves less than the
/// divisor and a part in 2^49 of the dividend, the second less than two divisors.
Value* quotient_of_words(const RuleArguments& a, Value* dividend, Value* divisor) {
  Builder& b = a.b;
  llvm::Type* const real = like(a.type(), b.getDoubleTy());
  const auto number = [&](double value) { return llvm::ConstantFP::get(real, value); };
  Value* const exact = b.CreateFDiv(number(1), b.CreateUIToFP(divisor, real));
  Value* const reciprocal = b.CreateFMul(exact, number(1 - 0x1p-50));
  const auto estimate = [&](Value* rest) {
    return b.CreateFPToUI(b.CreateFMul(b.CreateUIToFP(rest, real), reciprocal), a.type());
  };
  Value* const first = estimate(dividend);
  Value* const rest = b.CreateSub(dividend, b.CreateMul(first, divisor));
  Value* const second = estimate(rest);
  Value* const last = b.CreateSub(rest, b.CreateMul(second, divisor));
  Value* const more = b.CreateZExt(b.CreateICmpUGE(last, divisor), a.type());
  return b.CreateAdd(b.CreateAdd(first, second), more);
}

/// CPUs divide no vectors of integers. By a constant, they multiply by its reciprocal (LLVM finds it), of up
/// to 32 bits. The quotient in floating point, rounded to zero, is exact as long as the significand has 8
/// bits more than the integers.
Value* lane_quotient(const RuleArguments& a, Value* divisor) {
  Builder& b = a.b;
  const unsigned bits = a.type()->getScalarSizeInBits();
  const bool is_signed = a.is_signed_int();
  const llvm::APInt* number = nullptr;
  if (bits < 64 && llvm::PatternMatch::match(divisor, llvm::PatternMatch::m_APInt(number)))
    return is_signed ? b.CreateSDiv(a.re(0), divisor) : b.CreateUDiv(a.re(0), divisor);
  if (bits == 64 && !a.scalars.instructions().converts_words()) {
    const Parts operands[] = {{a.re(0)}, {divisor}};
    return a.scalars.by_lane(lanes_of(divisor), operands, {b.getInt64Ty()}, [&](std::span<const Parts> x) {
      return Parts{is_signed ? b.CreateSDiv(x[0][0], x[1][0]) : b.CreateUDiv(x[0][0], x[1][0])};
    })[0];
  }
  if (bits == 64) {
    if (!is_signed) return quotient_of_words(a, a.re(0), divisor);
    const auto size = [&](Value* v) {
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, v, b.getFalse());
    };
    Value* const quotient = quotient_of_words(a, size(a.re(0)), size(divisor));
    Value* const is_negative = b.CreateICmpSLT(b.CreateXor(a.re(0), divisor), zero(a));
    return b.CreateSelect(is_negative, b.CreateNeg(quotient), quotient);
  }
  llvm::Type* const real = like(a.type(), bits == 32 ? b.getDoubleTy() : b.getFloatTy());
  const auto convert = [&](Value* v) {
    return is_signed ? b.CreateSIToFP(v, real) : b.CreateUIToFP(v, real);
  };
  Value* const quotient = b.CreateFDiv(convert(a.re(0)), convert(divisor));
  return is_signed ? b.CreateFPToSI(quotient, a.type()) : b.CreateFPToUI(quotient, a.type());
}

Quotient divide_integers(const RuleArguments& a) {
  Quotient q{};
  q.by_zero = a.b.CreateICmpEQ(a.re(1), zero(a));
  Value* unsafe = q.by_zero;
  if (a.is_signed_int()) {
    q.by_minus_one = a.b.CreateICmpEQ(a.re(1), integer(a, -1));
    unsafe = a.b.CreateOr(unsafe, q.by_minus_one);
  }
  q.divisor = a.b.CreateSelect(unsafe, integer(a, 1), a.re(1));
  if (lanes_of(a.re(0)) > 0) {
    q.quotient = lane_quotient(a, q.divisor);
    q.rest = a.b.CreateSub(a.re(0), a.b.CreateMul(q.quotient, q.divisor));
    return q;
  }
  q.quotient = a.is_signed_int() ? a.b.CreateSDiv(a.re(0), q.divisor) : a.b.CreateUDiv(a.re(0), q.divisor);
  q.rest = a.is_signed_int() ? a.b.CreateSRem(a.re(0), q.divisor) : a.b.CreateURem(a.re(0), q.divisor);
  return q;
}

/// The divisor where that is known to be a positive power of two, else null.
const llvm::APInt* power_of_two(const RuleArguments& a) {
  const llvm::APInt* divisor = nullptr;
  if (!llvm::PatternMatch::match(a.re(1), llvm::PatternMatch::m_Power2(divisor))) return nullptr;
  return a.is_signed_int() && divisor->isNegative() ? nullptr : divisor;
}

/// Whether the quotient rounded to zero is one above the quotient rounded down.
Value* rounds_up(const RuleArguments& a, const Quotient& q) {
  Value* const inexact = a.b.CreateICmpNE(q.rest, zero(a));
  Value* const signs_differ = a.b.CreateICmpSLT(a.b.CreateXor(q.rest, q.divisor), zero(a));
  return a.b.CreateAnd(inexact, signs_differ);
}

/// Smith's algorithm, with p the larger component of the divisor and q the smaller: see base/math.
Parts divide_complex(const RuleArguments& a) {
  Builder& b = a.b;
  Value* const size_re = fabs(a, a.re(1));
  Value* const size_im = fabs(a, a.im(1));
  Value* const real_larger = b.CreateFCmpOGE(size_re, size_im);
  Value* const p = b.CreateSelect(real_larger, a.re(1), a.im(1));
  Value* const q = b.CreateSelect(real_larger, a.im(1), a.re(1));
  Value* const u = b.CreateSelect(real_larger, a.re(0), a.im(0));
  Value* const v = b.CreateSelect(real_larger, a.im(0), a.re(0));
  Value* const ratio = b.CreateFDiv(q, p);
  Value* const scale = b.CreateFDiv(real(a, 1), b.CreateFAdd(p, b.CreateFMul(q, ratio)));
  Value* const re = b.CreateFMul(b.CreateFAdd(u, b.CreateFMul(v, ratio)), scale);
  Value* const product = b.CreateFMul(u, ratio);
  Value* const difference = b.CreateSelect(real_larger, b.CreateFSub(v, product), b.CreateFSub(product, v));
  Value* const im = b.CreateFMul(difference, scale);
  Value* const by_zero = b.CreateAnd(b.CreateFCmpOEQ(size_re, zero(a)), b.CreateFCmpOEQ(size_im, zero(a)));
  return {b.CreateSelect(by_zero, b.CreateFDiv(a.re(0), size_re), re),
          b.CreateSelect(by_zero, b.CreateFDiv(a.im(0), size_re), im)};
}

Parts reciprocal_complex(const RuleArguments& a) {
  Builder& b = a.b;
  Value* const real_larger = b.CreateFCmpOLE(fabs(a, a.im(0)), fabs(a, a.re(0)));
  Value* const p = b.CreateSelect(real_larger, a.re(0), a.im(0));
  Value* const q = b.CreateSelect(real_larger, a.im(0), a.re(0));
  Value* const ratio = b.CreateFDiv(q, p);
  Value* const size = b.CreateFAdd(p, b.CreateFMul(q, ratio));
  Value* const one = real(a, 1);
  Value* const re = b.CreateSelect(real_larger, one, ratio);
  Value* const im = b.CreateSelect(real_larger, b.CreateFNeg(ratio), real(a, -1));
  return {b.CreateFDiv(re, size), b.CreateFDiv(im, size)};
}

}  // namespace

Parts emit_add(const RuleArguments& a) {
  if (base::is_bool(a.dtype)) return {a.b.CreateOr(a.re(0), a.re(1))};
  if (a.is_int()) return {a.b.CreateAdd(a.re(0), a.re(1))};
  if (a.is_float()) return {a.b.CreateFAdd(a.re(0), a.re(1))};
  return {a.b.CreateFAdd(a.re(0), a.re(1)), a.b.CreateFAdd(a.im(0), a.im(1))};
}

Parts emit_subtract(const RuleArguments& a) {
  if (a.is_int()) return {a.b.CreateSub(a.re(0), a.re(1))};
  if (a.is_float()) return {a.b.CreateFSub(a.re(0), a.re(1))};
  return {a.b.CreateFSub(a.re(0), a.re(1)), a.b.CreateFSub(a.im(0), a.im(1))};
}

Parts emit_multiply(const RuleArguments& a) {
  Builder& b = a.b;
  if (base::is_bool(a.dtype)) return {b.CreateAnd(a.re(0), a.re(1))};
  if (a.is_int()) return {b.CreateMul(a.re(0), a.re(1))};
  if (a.is_float()) return {b.CreateFMul(a.re(0), a.re(1))};
  return {b.CreateFSub(b.CreateFMul(a.re(0), a.re(1)), b.CreateFMul(a.im(0), a.im(1))),
          b.CreateFAdd(b.CreateFMul(a.re(0), a.im(1)), b.CreateFMul(a.im(0), a.re(1)))};
}

Parts emit_divide(const RuleArguments& a) {
  if (a.is_float()) return {a.b.CreateFDiv(a.re(0), a.re(1))};
  return divide_complex(a);
}

/// A quotient of lanes of signed 64-bit integers that is rounded down: where all dividends are at most 2^51
/// in size, and all divisors positive and below 2^52, that of doubles, rounded down, which is never an
/// integer too large: from the exact quotient to the next integer it is a part of the divisor, and no
/// rounding error is.
Value* quotient_of_small_words(const RuleArguments& a, llvm::function_ref<Value*()> otherwise) {
  Builder& b = a.b;
  llvm::Function* const function = b.GetInsertBlock()->getParent();
  const auto new_block = [&](const char* name) {
    return llvm::BasicBlock::Create(b.getContext(), name, function);
  };
  Value* const is_small =
      b.CreateICmpULT(b.CreateAdd(a.re(0), integer(a, int64_t{1} << 51)), integer(a, (int64_t{1} << 52) + 1));
  Value* const divides =
      b.CreateICmpULT(b.CreateSub(a.re(1), integer(a, 1)), integer(a, (int64_t{1} << 52) - 1));
  llvm::BasicBlock* const small = new_block("small");
  llvm::BasicBlock* const large = new_block("large");
  llvm::BasicBlock* const on = new_block("divided");
  b.CreateCondBr(b.CreateAndReduce(b.CreateAnd(is_small, divides)), small, large);
  b.SetInsertPoint(small);
  llvm::Type* const real = like(a.type(), b.getDoubleTy());
  Value* const exact = b.CreateFDiv(b.CreateSIToFP(a.re(0), real), b.CreateSIToFP(a.re(1), real));
  Value* const down = b.CreateFPToSI(b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, exact), a.type());
  b.CreateBr(on);
  b.SetInsertPoint(large);
  Value* const other = otherwise();
  llvm::BasicBlock* const from = b.GetInsertBlock();
  b.CreateBr(on);
  b.SetInsertPoint(on);
  llvm::PHINode* const either = b.CreatePHI(a.type(), 2);
  either->addIncoming(down, small);
  either->addIncoming(other, from);
  return either;
}

Value* floor_quotient(const RuleArguments& a) {
  const Quotient q = divide_integers(a);
  Value* result = q.quotient;
  if (a.is_signed_int()) {
    result = a.b.CreateSelect(rounds_up(a, q), a.b.CreateSub(result, integer(a, 1)), result);
    result = a.b.CreateSelect(q.by_minus_one, a.b.CreateNeg(a.re(0)), result);
  }
  return a.b.CreateSelect(q.by_zero, zero(a), result);
}

Parts emit_floor_divide(const RuleArguments& a) {
  if (const llvm::APInt* const power = power_of_two(a)) {
    const unsigned shift = power->logBase2();
    return {a.is_signed_int() ? a.b.CreateAShr(a.re(0), shift) : a.b.CreateLShr(a.re(0), shift)};
  }
  const bool in_words = a.is_signed_int() && a.type()->getScalarSizeInBits() == 64 && lanes_of(a.re(0)) > 0 &&
                        a.scalars.instructions().converts_words();
  if (in_words) return {quotient_of_small_words(a, [&] { return floor_quotient(a); })};
  return {floor_quotient(a)};
}

Parts emit_remainder(const RuleArguments& a) {
  if (const llvm::APInt* const power = power_of_two(a)) return {a.b.CreateAnd(a.re(0), *power - 1)};
  // By 0 and by -1 the division was by 1, which leaves 0.
  const Quotient q = divide_integers(a);
  if (!a.is_signed_int()) return {q.rest};
  return {a.b.CreateSelect(rounds_up(a, q), a.b.CreateAdd(q.rest, q.divisor), q.rest)};
}

Parts emit_fmod(const RuleArguments& a) { return {divide_integers(a).rest}; }

Parts emit_negative(const RuleArguments& a) {
  if (a.is_int()) return {a.b.CreateNeg(a.re(0))};
  if (a.is_float()) return {a.b.CreateFNeg(a.re(0))};
  return {a.b.CreateFNeg(a.re(0)), a.b.CreateFNeg(a.im(0))};
}

Parts emit_absolute(const RuleArguments& a) {
  if (a.is_float()) return {fabs(a, a.re(0))};
  if (!a.is_signed_int()) return {a.re(0)};
  return {a.b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a.re(0), a.b.getFalse())};
}

Parts emit_sign(const RuleArguments& a) {
  Builder& b = a.b;
  if (a.is_int()) {
    Value* const positive =
        a.is_signed_int() ? b.CreateICmpSGT(a.re(0), zero(a)) : b.CreateICmpNE(a.re(0), zero(a));
    Value* const up = b.CreateZExt(positive, a.type());
    if (!a.is_signed_int()) return {up};
    return {b.CreateOr(up, b.CreateSExt(b.CreateICmpSLT(a.re(0), zero(a)), a.type()))};
  }
  Value* const rest = b.CreateSelect(b.CreateFCmpOEQ(a.re(0), zero(a)), zero(a), a.re(0));
  Value* const below = b.CreateSelect(b.CreateFCmpOLT(a.re(0), zero(a)), real(a, -1), rest);
  return {b.CreateSelect(b.CreateFCmpOGT(a.re(0), zero(a)), real(a, 1), below)};
}

Parts emit_reciprocal(const RuleArguments& a) {
  if (a.is_complex()) return reciprocal_complex(a);
  if (a.is_float()) return {a.b.CreateFDiv(real(a, 1), a.re(0))};
  const Parts wide = a.scalars.cast(a.dtype, DType::Float64, a.operands[0]);
  Value* const one = llvm::ConstantFP::get(wide[0]->getType(), 1);
  return a.scalars.cast(DType::Float64, a.dtype, {a.b.CreateFDiv(one, wide[0])});
}

Parts emit_square(const RuleArguments& a) {
  const Parts twice[] = {a.operands[0], a.operands[0]};
  return emit_multiply({a.scalars, a.b, a.dtype, twice});
}

Parts emit_conjugate(const RuleArguments& a) {
  if (!a.is_complex()) return a.operands[0];
  return {a.re(0), a.b.CreateFNeg(a.im(0))};
}

Parts emit_degrees(const RuleArguments& a) {
  const double factor = a.dtype == DType::Float32 ? static_cast<double>(180.0f / std::numbers::pi_v<float>)
                                                  : 180.0 / std::numbers::pi;
  return {a.b.CreateFMul(a.re(0), real(a, factor))};
}

Parts emit_radians(const RuleArguments& a) {
  const double factor = a.dtype == DType::Float32 ? static_cast<double>(std::numbers::pi_v<float> / 180.0f)
                                                  : std::numbers::pi / 180.0;
  return {a.b.CreateFMul(a.re(0), real(a, factor))};
}

namespace {

Parts emit_overflow(const RuleArguments& a, llvm::Intrinsic::ID of_signed, llvm::Intrinsic::ID of_unsigned) {
  Value* const pair =
      a.b.CreateBinaryIntrinsic(a.is_signed_int() ? of_signed : of_unsigned, a.re(0), a.re(1));
  return {a.b.CreateExtractValue(pair, 1)};
}

}  // namespace

Parts emit_add_overflows(const RuleArguments& a) {
  return emit_overflow(a, llvm::Intrinsic::sadd_with_overflow, llvm::Intrinsic::uadd_with_overflow);
}
Parts emit_subtract_overflows(const RuleArguments& a) {
  return emit_overflow(a, llvm::Intrinsic::ssub_with_overflow, llvm::Intrinsic::usub_with_overflow);
}
Parts emit_multiply_overflows(const RuleArguments& a) {
  return emit_overflow(a, llvm::Intrinsic::smul_with_overflow, llvm::Intrinsic::umul_with_overflow);
}

Parts emit_count_up(const RuleArguments& a) {
  Value* const more =
      a.is_signed_int() ? a.b.CreateICmpSGE(a.re(0), a.re(1)) : a.b.CreateICmpUGE(a.re(0), a.re(1));
  return {a.b.CreateSelect(more, zero(a), a.b.CreateAdd(a.re(0), integer(a, 1)))};
}

Parts emit_count_down(const RuleArguments& a) {
  Value* const more =
      a.is_signed_int() ? a.b.CreateICmpSGT(a.re(0), a.re(1)) : a.b.CreateICmpUGT(a.re(0), a.re(1));
  Value* const from_top = a.b.CreateOr(more, a.b.CreateICmpEQ(a.re(0), zero(a)));
  return {a.b.CreateSelect(from_top, a.re(1), a.b.CreateSub(a.re(0), integer(a, 1)))};
}

Parts emit_bitwise_and(const RuleArguments& a) { return {a.b.CreateAnd(a.re(0), a.re(1))}; }
Parts emit_bitwise_or(const RuleArguments& a) { return {a.b.CreateOr(a.re(0), a.re(1))}; }
Parts emit_bitwise_xor(const RuleArguments& a) { return {a.b.CreateXor(a.re(0), a.re(1))}; }
Parts emit_invert(const RuleArguments& a) { return {a.b.CreateNot(a.re(0))}; }

namespace {

/// A count outside the width compares as too large, negative ones too.
Value* shifts_out(const RuleArguments& a) {
  return a.b.CreateICmpUGE(a.re(1), integer(a, a.type()->getScalarSizeInBits()));
}

}  // namespace

Parts emit_left_shift(const RuleArguments& a) {
  Value* const out = shifts_out(a);
  Value* const count = a.b.CreateSelect(out, zero(a), a.re(1));
  return {a.b.CreateSelect(out, zero(a), a.b.CreateShl(a.re(0), count))};
}

Parts emit_right_shift(const RuleArguments& a) {
  Value* const out = shifts_out(a);
  Value* const last = integer(a, static_cast<int64_t>(a.type()->getScalarSizeInBits()) - 1);
  Value* const count = a.b.CreateSelect(out, last, a.re(1));
  if (a.is_signed_int()) return {a.b.CreateAShr(a.re(0), count)};
  return {a.b.CreateSelect(out, zero(a), a.b.CreateLShr(a.re(0), count))};
}

Parts emit_bitwise_count(const RuleArguments& a) {
  return {a.b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, emit_absolute(a)[0])};
}

}  // namespace ingot::codegen
