#include "codegen/rules.h"

#include <array>

namespace ingot::codegen {

namespace {

using ir::Op;

constexpr OpRule kRules[] = {
    {Op::add, "BIFC", emit_add, true},
    {Op::subtract, "IFC", emit_subtract, true},
    {Op::multiply, "BIFC", emit_multiply, true},
    {Op::divide, "FC", emit_divide, true},
    {Op::floor_divide, "I", emit_floor_divide},
    {Op::remainder, "I", emit_remainder},
    {Op::fmod, "I", emit_fmod},
    {Op::power, "", nullptr},
    {Op::negative, "IFC", emit_negative, true},
    {Op::absolute, "BIF", emit_absolute, true},
    {Op::sign, "IF", emit_sign},
    {Op::reciprocal, "IFC", emit_reciprocal, true},
    {Op::square, "IFC", emit_square, true},
    {Op::cube, "", nullptr},
    {Op::fourth_power, "", nullptr},
    {Op::conjugate, "IFC", emit_conjugate},
    {Op::gcd, "I", emit_gcd},
    {Op::lcm, "I", emit_lcm},
    {Op::count_up, "I", emit_count_up},
    {Op::count_down, "I", emit_count_down},
    {Op::add_overflows, "I", emit_add_overflows},
    {Op::subtract_overflows, "I", emit_subtract_overflows},
    {Op::multiply_overflows, "I", emit_multiply_overflows},
    {Op::power_overflows, "", nullptr},
    {Op::bitwise_and, "BI", emit_bitwise_and},
    {Op::bitwise_or, "BI", emit_bitwise_or},
    {Op::bitwise_xor, "BI", emit_bitwise_xor},
    {Op::invert, "BI", emit_invert},
    {Op::left_shift, "I", emit_left_shift},
    {Op::right_shift, "I", emit_right_shift},
    {Op::bitwise_count, "I", emit_bitwise_count},
    {Op::equal, "BIFC", emit_equal},
    {Op::not_equal, "BIFC", emit_not_equal},
    {Op::less, "BIFC", emit_less, true},
    {Op::less_equal, "BIFC", emit_less_equal, true},
    {Op::greater, "BIFC", emit_greater, true},
    {Op::greater_equal, "BIFC", emit_greater_equal, true},
    {Op::minimum, "BIFC", emit_minimum, true},
    {Op::maximum, "BIFC", emit_maximum, true},
    {Op::fmin, "BIFC", emit_fmin, true},
    {Op::fmax, "BIFC", emit_fmax, true},
    {Op::isnan, "FC", emit_isnan},
    {Op::isinf, "FC", emit_isinf},
    {Op::isfinite, "FC", emit_isfinite},
    {Op::signbit, "F", emit_signbit},
    {Op::copysign, "F", emit_copysign},
    {Op::nextafter, "", nullptr},
    {Op::spacing, "", nullptr},
    {Op::scale_by_power, "", nullptr},
    {Op::mantissa, "F", emit_mantissa},
    {Op::exponent, "F", emit_exponent},
    {Op::floor, "F", emit_floor},
    {Op::ceil, "F", emit_ceil},
    {Op::trunc, "F", emit_trunc},
    {Op::rint, "FC", emit_rint},
    {Op::make_complex, "F", emit_make_complex},
    {Op::real, "C", emit_real},
    {Op::imaginary, "C", emit_imaginary},
    {Op::sqrt, "F", emit_sqrt, true},
    {Op::cbrt, "", nullptr},
    {Op::hypot, "", nullptr},
    {Op::exp, "", nullptr},
    {Op::exp2, "", nullptr},
    {Op::expm1, "", nullptr},
    {Op::log, "", nullptr},
    {Op::log2, "", nullptr},
    {Op::log10, "", nullptr},
    {Op::log1p, "", nullptr},
    {Op::logaddexp, "", nullptr},
    {Op::logaddexp2, "", nullptr},
    {Op::sin, "", nullptr},
    {Op::cos, "", nullptr},
    {Op::tan, "", nullptr},
    {Op::arcsin, "", nullptr},
    {Op::arccos, "", nullptr},
    {Op::arctan, "", nullptr},
    {Op::arctan2, "", nullptr},
    {Op::sinh, "", nullptr},
    {Op::cosh, "", nullptr},
    {Op::tanh, "", nullptr},
    {Op::arcsinh, "", nullptr},
    {Op::arccosh, "", nullptr},
    {Op::arctanh, "", nullptr},
    {Op::degrees, "F", emit_degrees, true},
    {Op::radians, "F", emit_radians, true},
    {Op::erf, "", nullptr},
    {Op::erfc, "", nullptr},
    {Op::gamma, "", nullptr},
    {Op::lgamma, "", nullptr},
};

constexpr size_t count_elementwise() {
  size_t count = 0;
#define OP(...) ++count;
#include "ir/ops.def"
  return count;
}

constexpr bool in_order() {
  size_t i = 0;
#define OP(name, ...) \
  if (kRules[i++].op != Op::name) return false;
#include "ir/ops.def"
  return true;
}

static_assert(std::size(kRules) == count_elementwise() && in_order(),
              "a rule for each card, in the table's order");
static_assert(static_cast<size_t>(Op::add) == 0, "elementwise cards come first");

}  // namespace

const OpRule& rule_of(Op op) {
  INGOT_ASSERT(static_cast<size_t>(op) < std::size(kRules), "codegen: an elementwise op");
  return kRules[static_cast<size_t>(op)];
}

bool is_called(Op op, DType dtype) {
  const char character = base::is_bool(dtype)    ? 'B'
                         : base::is_int(dtype)   ? 'I'
                         : base::is_float(dtype) ? 'F'
                                                 : 'C';
  return rule_of(op).inline_classes.find(character) == std::string_view::npos;
}

std::string math_symbol(Op op, DType dtype) {
  return "ingot_v1_math_" + std::string(ir::name_of(op)) + "_" + std::string(base::info(dtype).name);
}

}  // namespace ingot::codegen
