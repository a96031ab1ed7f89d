#include "transform/cost.h"

namespace ingot::transform {

namespace {

constexpr int kCheap = 1;
constexpr int kDivision = 5;
constexpr int kFunction = 30;

int cost_of(ir::Op op) {
  using ir::Op;
  const ir::OpInfo& card = ir::info(op);
  // Comparisons and tests, casts and selects.
  if (card.gives == ir::Gives::Bool || !card.elementwise) return kCheap;
  switch (op) {
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::negative:
    case Op::absolute:
    case Op::sign:
    case Op::square:
    case Op::conjugate:
    case Op::bitwise_and:
    case Op::bitwise_or:
    case Op::bitwise_xor:
    case Op::invert:
    case Op::left_shift:
    case Op::right_shift:
    case Op::minimum:
    case Op::maximum:
    case Op::fmin:
    case Op::fmax:
    case Op::copysign:
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::rint:
    case Op::make_complex:
    case Op::real:
    case Op::imaginary: return kCheap;
    case Op::divide:
    case Op::reciprocal:
    case Op::sqrt: return kDivision;
    default: return kFunction;
  }
}

}  // namespace

int cost_of(ir::Op op, base::DType dtype) {
  constexpr int kComplex = 4;
  return cost_of(op) * (base::is_complex(dtype) ? kComplex : 1);
}

}  // namespace ingot::transform
