#include "transform/writers/parallel_writer.h"

namespace ingot::transform {

bool ParallelWriter::is_contribution(NodeId id) {
  const auto other = contributions_.find(id.index);
  if (other != contributions_.end()) bind(id, use(other->second));
  return other != contributions_.end();
}

Nodes ParallelWriter::write_parallel(NodeId loop, ir::Schedule schedule, const std::vector<Slot>& slots,
                                     const More& more) {
  std::vector<int64_t> attributes{static_cast<int64_t>(schedule), source_.attribute(loop, 1)};
  Nodes operands{use(source_.operand(loop, 0))};
  for (const Slot& slot : slots) {
    attributes.push_back(static_cast<int64_t>(slot.combiner));
    operands.push_back(slot.init);
  }
  const RegionId body = source_.region(loop);
  const auto parameters = source_.region_parameters(body);
  const NodeId last = source_.terminator(body);
  const ir::SpanId location = b_.span();
  const NodeId made = b_.begin(Op::parallel_for, operands, attributes);
  const NodeId index = b_.enter(made, 0, {{ir::kInt64}})[0];
  bind(parameters[0], index);
  Nodes yielded_here;
  for (const Slot& slot : slots) {
    if (!slot.carried) continue;
    const NodeId parameter = parameters[*slot.carried + 1];
    const NodeId yielded = source_.operand(last, *slot.carried);
    yielded_here.push_back(yielded);
    if (slot.neutral) {
      bind(parameter, b_.constant(source_.type(parameter), *slot.neutral));
    } else {
      const auto operands_of = source_.operands(yielded);
      contributions_[yielded.index] = operands_of[operands_of[0] == parameter ? 1 : 0];
    }
  }
  enter_region(body);
  if (visit_body(body)) {
    set_location(last);
    Nodes given = use_all(yielded_here);
    if (more) {
      const Nodes others = more(index, given);
      given.insert(given.end(), others.begin(), others.end());
    }
    b_.yield(given);
  }
  leave_region(body);
  b_.set_span(location);
  return b_.end(made);
}

}  // namespace ingot::transform
