#include "ir/library.h"
#include "transform/lowering.h"

namespace ingot::transform {

/// The array in a view in C order, to be read now.
Whole Lowering::in_c_order(NodeId old) {
  return whole(old).view && whole(old).contiguous ? whole(old) : evaluated(old);
}

/// The routine takes views in C order, the last of which it fills.
void Lowering::lower_library(NodeId id) {
  const bool catches = source_.attribute(id, 1) != 0;
  const size_t first = catches ? 1 : 0;
  // At the loop stage already, or with nothing to be changed.
  if (source_.result_count(id) != first + 1 || !source_.type(source_.result(id, first)).is_array())
    return clone(id);
  const NodeId result = source_.result(id, first);
  const auto text = static_cast<uint32_t>(source_.attribute(id, 0));
  const ir::LibraryInfo& routine = *ir::find_library(source_.module().text(ir::TextId(text)));
  Nodes operands;
  for (NodeId operand : source_.operands(id))
    operands.push_back(source_.type(operand).is_array() ? in_c_order(operand).view : use(operand));
  const NodeId shape = source_.operand(id, routine.shape_operand);
  Nodes lengths = source_.type(shape).is_array() ? whole(shape).lengths : Nodes{use(shape)};
  const NodeId last = source_.operand(id, routine.last_operand);
  if (source_.type(last).is_array()) lengths.back() = whole(last).lengths.back();
  const NodeId view = loops_.new_view(lengths, dtype_of(result));
  operands.push_back(view);
  const NodeId call = b_.make(Op::library, operands, source_.attributes(id), catches ? ir::kInt32 : Type());
  if (catches) bind(source_.result(id, 0), call);
  define(result, fresh(view, lengths, dtype_of(result)));
}

}  // namespace ingot::transform
