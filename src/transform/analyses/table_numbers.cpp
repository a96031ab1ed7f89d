#include "transform/analyses/table_numbers.h"

namespace ingot::transform {

TableNumbers::TableNumbers(LoopWriter& loops, const Table& table, NodeId iterations,
                           const std::function<NodeId(NodeId)>& use)
    : loops_(loops), view_(use(table.view)), iterations_(iterations), first_(loops.index(table.constant)) {
  for (const NodeId base : table.bases) first_ = loops_.add(first_, use(base));
}

NodeId TableNumbers::are_there() {
  const NodeId zero = loops_.index(0);
  const NodeId natural = loops_.maximum(iterations_, zero);
  const NodeId last = loops_.subtract(loops_.builder().length(view_, 0), natural);
  return loops_.both(loops_.less_equal(zero, first_), loops_.less_equal(first_, last));
}

NodeId TableNumbers::at(NodeId iteration) {
  const NodeId index = loops_.add(first_, iteration);
  return loops_.builder().cast(loops_.load(view_, {&index, 1}), DType::Int64);
}

}  // namespace ingot::transform
