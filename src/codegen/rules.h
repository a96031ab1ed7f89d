#pragma once

#include <string_view>

#include "codegen/scalars.h"

namespace ingot::codegen {

/// The arguments of a rule: the operands' parts, numbers or vectors of one length throughout, f16 widened to
/// f32 (and the result narrowed after it).
struct RuleArguments {
  Scalars& scalars;
  Builder& b;
  DType dtype;  ///< of the parts: never f16
  const Parts* operands;

  bool is_float() const { return base::is_float(dtype); }
  bool is_complex() const { return base::is_complex(dtype); }
  bool is_int() const { return base::is_int(dtype); }
  bool is_signed_int() const { return is_int() && base::is_signed(dtype); }
  llvm::Value* re(int i) const { return operands[i][0]; }
  llvm::Value* im(int i) const { return operands[i][1]; }
  llvm::Type* type() const { return operands[0][0]->getType(); }
};

using Rule = Parts (*)(const RuleArguments&);

/// How one elementwise op is emitted: by `emit` for the dtype classes (characters B, I, F, C) in
/// `inline_classes`, by a kernel (vecmath.h) or a call for the others.
struct OpRule {
  ir::Op op;
  std::string_view inline_classes;
  Rule emit;
  bool relaxes = false;  ///< float arithmetic, whose values relaxations may change
};

const OpRule& rule_of(ir::Op op);

/// @name The rules, by topic
Parts emit_add(const RuleArguments& a);
Parts emit_subtract(const RuleArguments& a);
Parts emit_multiply(const RuleArguments& a);
Parts emit_divide(const RuleArguments& a);
Parts emit_floor_divide(const RuleArguments& a);
Parts emit_remainder(const RuleArguments& a);
Parts emit_fmod(const RuleArguments& a);
Parts emit_negative(const RuleArguments& a);
Parts emit_absolute(const RuleArguments& a);
Parts emit_sign(const RuleArguments& a);
Parts emit_reciprocal(const RuleArguments& a);
Parts emit_square(const RuleArguments& a);
Parts emit_conjugate(const RuleArguments& a);
Parts emit_gcd(const RuleArguments& a);
Parts emit_lcm(const RuleArguments& a);
Parts emit_degrees(const RuleArguments& a);
Parts emit_radians(const RuleArguments& a);

Parts emit_count_up(const RuleArguments& a);
Parts emit_count_down(const RuleArguments& a);
Parts emit_add_overflows(const RuleArguments& a);
Parts emit_subtract_overflows(const RuleArguments& a);
Parts emit_multiply_overflows(const RuleArguments& a);
Parts emit_bitwise_and(const RuleArguments& a);
Parts emit_bitwise_or(const RuleArguments& a);
Parts emit_bitwise_xor(const RuleArguments& a);
Parts emit_invert(const RuleArguments& a);
Parts emit_left_shift(const RuleArguments& a);
Parts emit_right_shift(const RuleArguments& a);
Parts emit_bitwise_count(const RuleArguments& a);

Parts emit_equal(const RuleArguments& a);
Parts emit_not_equal(const RuleArguments& a);
Parts emit_less(const RuleArguments& a);
Parts emit_less_equal(const RuleArguments& a);
Parts emit_greater(const RuleArguments& a);
Parts emit_greater_equal(const RuleArguments& a);
Parts emit_minimum(const RuleArguments& a);
Parts emit_maximum(const RuleArguments& a);
Parts emit_fmin(const RuleArguments& a);
Parts emit_fmax(const RuleArguments& a);
Parts emit_isnan(const RuleArguments& a);
Parts emit_isinf(const RuleArguments& a);
Parts emit_isfinite(const RuleArguments& a);
Parts emit_signbit(const RuleArguments& a);
Parts emit_copysign(const RuleArguments& a);
Parts emit_mantissa(const RuleArguments& a);
Parts emit_exponent(const RuleArguments& a);
Parts emit_floor(const RuleArguments& a);
Parts emit_ceil(const RuleArguments& a);
Parts emit_trunc(const RuleArguments& a);
Parts emit_rint(const RuleArguments& a);
Parts emit_make_complex(const RuleArguments& a);
Parts emit_real(const RuleArguments& a);
Parts emit_imaginary(const RuleArguments& a);
Parts emit_sqrt(const RuleArguments& a);

}  // namespace ingot::codegen
