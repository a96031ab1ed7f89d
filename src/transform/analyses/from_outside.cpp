#include "transform/analyses/from_outside.h"

#include <algorithm>

namespace ingot::transform {

using ir::NodeId;
using ir::Op;

Origin origin_inside(const ir::Function& function, NodeId value) {
  const Op op = function.op(value);
  const bool is_computed =
      function[value].region_count == 0 && ir::info(op).effects.pure() && op != Op::param && op != Op::result;
  return is_computed ? Origin::Operands : Origin::Inside;
}

bool FromOutside::operator()(NodeId value) {
  if (const auto known = known_.find(value.index); known != known_.end()) return known->second;
  const Origin origin = origin_(value);
  const bool is_outside =
      origin == Origin::Outside ||
      (origin == Origin::Operands &&
       std::ranges::all_of(f_.operands(value), [&](NodeId operand) { return (*this)(operand); }));
  return known_[value.index] = is_outside;
}

}  // namespace ingot::transform
