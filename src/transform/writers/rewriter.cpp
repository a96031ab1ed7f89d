#include "transform/writers/rewriter.h"

#include "transform/writers/loop_writer.h"

namespace ingot::transform {

namespace {

/// The slots that a region's parameters, or the values of its yield, are.
Slot parameter_slot(Op op, size_t region) {
  return op == Op::while_ && region == 1 ? Slot::Result : Slot::Entry;
}
Slot yield_slot(Op op, size_t region) { return op == Op::while_ && region == 1 ? Slot::Entry : Slot::Result; }
/// How many parameters, operands or yielded values come before the slots.
size_t fixed_parameters(Op op) {
  switch (op) {
    case Op::for_:
    case Op::parallel_for:
    case Op::block: return 1;
    case Op::launch: return 7;
    default: return 0;
  }
}
size_t fixed_operands(Op op) { return op == Op::launch ? 7 : op == Op::while_ || op == Op::block ? 0 : 1; }
size_t fixed_yields(Op op, size_t region) { return op == Op::while_ && region == 0 ? 1 : 0; }

}  // namespace

Rewriter::Rewriter(const Function& source)
    : source_(source),
      own_(std::in_place, source.module(), source.name()),
      b_(*own_),
      made_(source.node_count()) {
  b_.relax(source.relaxations());
  for (uint32_t i = 0; i < source.node_count(); ++i)
    if (source[NodeId(i)].span) {
      b_.set_span(source[NodeId(i)].span);
      break;
    }
}

Rewriter::Rewriter(const Function& source, ir::Builder& into)
    : source_(source), b_(into), made_(source.node_count()) {}

std::unique_ptr<Function> Rewriter::run() {
  const auto parameters = source_.region_parameters(source_.body());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const NodeId made = b_.add_parameter(convert(source_.type(parameters[i])), source_.parameters()[i]);
    bind(parameters[i], made);
  }
  clone_body(source_.body());
  std::vector<Type> results;
  for (Type type : source_.results()) results.push_back(convert(type));
  return b_.finish(results);
}

void Rewriter::set_location(NodeId id) {
  if (source_[id].span) b_.set_span(source_[id].span);
}

Nodes Rewriter::use_all(std::span<const NodeId> old) {
  Nodes all;
  for (NodeId node : old) all.push_back(use(node));
  return all;
}

std::vector<Type> Rewriter::types_of(std::span<const NodeId> old) {
  std::vector<Type> types;
  for (NodeId node : old) types.push_back(convert(source_.type(node)));
  return types;
}

Nodes Rewriter::kept(NodeId id, Slot slot, std::span<const NodeId> values, size_t fixed) {
  Nodes all;
  for (size_t i = 0; i < values.size(); ++i)
    if (i < fixed || keeps(id, slot, i - fixed)) all.push_back(values[i]);
  return all;
}

bool Rewriter::visit_body(RegionId region) {
  // A terminator takes the builder out of its region, but for the function's body.
  const RegionId here = b_.current();
  bool ended = false;
  for (NodeId id : source_.region_body(region)) {
    if (ended || falls_through(id)) break;
    if (source_.op(id) == Op::result) continue;
    set_location(id);
    if (ir::info(source_.op(id)).terminator) {
      terminate(id);
      ended = true;
    } else {
      visit(id);
      ended = b_.current() != here || b_.terminated();
    }
  }
  return !ended;
}

void Rewriter::clone_body(RegionId region) {
  enter_region(region);
  if (visit_body(region)) {
    const NodeId last = source_.terminator(region);
    set_location(last);
    terminate(last);
  }
  leave_region(region);
}

void Rewriter::terminate(NodeId terminator) {
  const Op op = source_.op(terminator);
  auto operands = source_.operands(terminator);
  Nodes wanted(operands.begin(), operands.end());
  if (op == Op::yield) {
    const RegionId region = source_[terminator].parent;
    const NodeId owner = source_[region].owner;
    const size_t index = region.index - source_[owner].first_region;
    const Op around = source_.op(owner);
    wanted = kept(owner, yield_slot(around, index), operands, fixed_yields(around, index));
  } else if (op == Op::exit_) {
    const NodeId block = source_[source_[operands[0]].parent].owner;
    wanted = kept(block, Slot::Result, operands, 1);
  }
  b_.terminate(op, use_all(wanted), source_.attributes(terminator));
}

void Rewriter::make_independent(std::span<int64_t> attributes) {
  const bool is_asked = ir::has_threads(static_cast<ir::Schedule>(attributes[0]));
  attributes[0] =
      static_cast<int64_t>(is_asked ? ir::Schedule::IndependentThreads : ir::Schedule::Independent);
}

void Rewriter::clone(NodeId id) {
  const ir::OpInfo& card = ir::info(source_.op(id));
  if (card.regions > 0) return clone_with_regions(id);
  const Nodes operands = use_all(source_.operands(id));
  const Type type = card.typed ? convert(source_.type(id)) : Type();
  const NodeId made = b_.make(source_.op(id), operands, source_.attributes(id), type);
  if (!source_.type(id).is(ir::TypeKind::Results)) return bind(id, made);
  for (size_t i = 0; i < source_.result_count(id); ++i)
    bind(source_.result(id, i), b_.function().result(made, i));
}

void Rewriter::write_versions(NodeId id, NodeId condition, const std::function<void()>& where_it_holds,
                              const std::function<void()>& elsewhere) {
  const Nodes results = source_.results_of(id);
  const ir::SpanId location = b_.span();
  const auto given_by = [&](const std::function<void()>& write) {
    b_.set_span(location);
    write();
    return use_all(results);
  };
  const Nodes given = LoopWriter(b_).branch(
      condition, types_of(results), [&] { return given_by(where_it_holds); },
      [&] { return given_by(elsewhere); });
  b_.set_span(location);
  for (size_t i = 0; i < results.size(); ++i) bind(results[i], given[i]);
}

void Rewriter::clone_region(NodeId id, size_t index, NodeId made) {
  const RegionId region = source_.region(id, index);
  const Op op = source_.op(id);
  const Nodes parameters =
      kept(id, parameter_slot(op, index), source_.region_parameters(region), fixed_parameters(op));
  const Nodes entered = b_.enter(made, index, types_of(parameters));
  for (size_t i = 0; i < parameters.size(); ++i) bind(parameters[i], entered[i]);
  clone_body(region);
}

void Rewriter::clone_with_regions(NodeId id) {
  const Op op = source_.op(id);
  const Slot entries = op == Op::parallel_for ? Slot::Result : Slot::Entry;
  const Nodes operands = use_all(kept(id, entries, source_.operands(id), fixed_operands(op)));
  const Nodes results = kept(id, Slot::Result, source_.results_of(id), 0);
  std::vector<int64_t> attributes(source_.attributes(id).begin(), source_.attributes(id).end());
  if (op == Op::parallel_for) {
    const auto combiners = source_.ints(id);
    attributes.resize(attributes.size() - combiners.size());
    for (size_t i = 0; i < combiners.size(); ++i)
      if (keeps(id, Slot::Result, i)) attributes.push_back(combiners[i]);
  }
  set_attributes(id, attributes);
  const bool typed = ir::info(op).typed;
  const ir::SpanId location = b_.span();
  const NodeId made = b_.begin(op, operands, attributes, typed ? types_of(results) : std::vector<Type>());
  for (size_t i = 0; i < ir::info(op).regions; ++i) clone_region(id, i, made);
  b_.set_span(location);
  const Nodes given = b_.end(made);
  for (size_t i = 0; i < results.size(); ++i) bind(results[i], given[i]);
}

}  // namespace ingot::transform
