#include "codegen/body.h"

namespace ingot::codegen {

void Body::emit_constant(NodeId id) { set(id, scalars_.constant(dtype(id), source_.constant(id))); }

Parts Body::member_of(NodeId compound, size_t index) const {
  const auto members = unit_.source.types.members(source_.type(compound));
  size_t begin = 0;
  for (size_t i = 0; i < index; ++i) begin += unit_.part_count(members[i]);
  const Parts& all = parts(compound);
  return {all.begin() + begin, all.begin() + begin + unit_.part_count(members[index])};
}

void Body::emit_result(NodeId id) {
  set(id, member_of(source_.operand(id, 0), static_cast<size_t>(source_.attribute(id, 0))));
}

void Body::emit_cast(NodeId id) {
  const NodeId from = source_.operand(id, 0);
  set(id, scalars_.cast(dtype(from), dtype(id), parts(from)));
}

void Body::emit_select(NodeId id) {
  const auto operands = source_.operands(id);
  set(id, scalars_.select(value(operands[0]), parts(operands[1]), parts(operands[2])));
}

void Body::emit_elementwise(NodeId id) {
  llvm::SmallVector<Parts, 2> operands;
  for (NodeId operand : source_.operands(id)) operands.push_back(parts(operand));
  INGOT_ASSERT(source_.type(id).is_scalar(), "codegen: a whole array at the loop stage");
  set(id, scalars_.elementwise(source_.op(id), dtype(source_.operand(id, 0)), operands));
}

void Body::emit_some(NodeId id) {
  Parts optional{b_.getInt8(0)};
  optional.append(parts(source_.operand(id, 0)));
  set(id, std::move(optional));
}

void Body::emit_none(NodeId id) {
  Parts optional;
  for (llvm::Type* type : unit_.types_of(source_.type(id)))
    optional.push_back(llvm::Constant::getNullValue(type));
  optional[0] = b_.getInt8(static_cast<uint8_t>(source_.attribute(id, 0)));
  set(id, std::move(optional));
}

void Body::emit_tag(NodeId id) { set(id, {value(source_.operand(id, 0))}); }

void Body::emit_value(NodeId id) {
  const Parts& optional = parts(source_.operand(id, 0));
  set(id, Parts(optional.begin() + 1, optional.end()));
}

void Body::emit_same_object(NodeId id) {
  set(id, {b_.CreateICmpEQ(value(source_.operand(id, 0)), value(source_.operand(id, 1)))});
}

}  // namespace ingot::codegen
