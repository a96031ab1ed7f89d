#include <algorithm>

#include "ir/library.h"
#include "transform/arrays/lowering.h"

namespace ingot::transform {

/// The array in a view in C order, or of a matrix of which rows or columns are, to be read now.
Whole Lowering::for_library(NodeId old) {
  const Whole& x = whole(old);
  if (x.view && (x.contiguous || is_matrix_in_memory(x))) return x;
  return evaluated(old);
}

/// Whether neighbours along one of the two axes of a view are known to be neighbours in memory.
bool Lowering::is_matrix_in_memory(const Whole& x) {
  if (x.lengths.size() != 2) return false;
  const auto size = static_cast<int64_t>(base::size_of(x.dtype));
  const ir::Function& f = b_.function();
  return std::ranges::any_of(strides_of_view(x.view), [&](NodeId stride) {
    return f.is_constant(stride) && f.constant(stride).as<int64_t>() == size;
  });
}

/// The routine takes views in memory, the last of which, in C order, it fills.
void Lowering::lower_library(NodeId id) {
  const bool catches = source_.attribute(id, 1) != 0;
  const size_t first = catches ? 1 : 0;
  // At the loop stage already, or with nothing to be changed.
  if (source_.result_count(id) != first + 1 || !source_.type(source_.result(id, first)).is_array())
    return clone(id);
  const NodeId result = source_.result(id, first);
  const auto text = static_cast<uint32_t>(source_.attribute(id, 0));
  const ir::LibraryInfo& routine = *ir::find_library(source_.module().text(ir::TextId(text)));
  using Products = base::Machine::Products;
  const bool multiplies = routine.name == "matmul";
  if (multiplies && !catches && machine_.products == Products::Loops) return lower_dot(id);
  const auto as_it_lies = [&](NodeId operand) {
    const Whole& x = whole(operand);
    const bool is_taken =
        multiplies && machine_.products == Products::Device && x.view && x.lengths.size() == 2;
    return is_taken ? x.view : for_library(operand).view;
  };
  Nodes operands;
  for (NodeId operand : source_.operands(id))
    operands.push_back(source_.type(operand).is_array() ? as_it_lies(operand) : use(operand));
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
