#include "frontend/arrays/scalars.h"
#include "frontend/calls/batching.h"
#include "frontend/kinds/generators.h"
#include "frontend/tracer/checkpoint.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"
#include "frontend/tracer/scopes.h"
#include "ir/library.h"

// The elements of a batch and their collectives: `ingot.psum` and the like.
//
// A function with collectives is run for all batch elements once for each collective, up to that one, and
// once to its end (`library/batching`). In each of these passes the results of the earlier collectives are
// known, so a batch element stops at the next one and provides its operand. That is correct if
// - all batch elements come there: it is in no branch or loop, and no exit bypasses it. Loops with known
//   iterations are unrolled;
// - repeating has no visible effect: no batch element writes to memory, or changes containers, that are older
//   than it, and before the last collective nothing is printed, drawn, or called in Python.
// Both are checked, the latter on the nodes that a pass has made.

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

/// Whether memory was made by nodes of a function from a given number on.
class Own {
 public:
  Own(const ir::Function& function, size_t first) : function_(function), first_(first) {}

  bool operator()(NodeId node) {
    if (node.index < first_) return false;
    if (std::ranges::find(open_, node) != open_.end()) return true;
    open_.push_back(node);
    const Op op = function_.op(node);
    if (op == Op::alloc || op == Op::materialize || op == Op::tangent) return true;
    if (op == Op::param) return all_of(node, function_[function_[node].parent].owner);
    if (op == Op::result) return all_of(node, function_.operand(node, 0));
    if (function_[node].region_count > 0) return all_of(node, node);
    // The memory of a lift is that of the number or array that is lifted.
    const bool is_view = ir::info(op).effects.pure() || op == Op::lift;
    return is_view && !function_.operands(node).empty() && is_memory(function_.operand(node, 0)) &&
           (*this)(function_.operand(node, 0));
  }

  bool is_memory(NodeId node) const {
    return function_.type(node).is_view() || function_.type(node).is_buffer();
  }

 private:
  /// Whether all possible values of a result of a node with regions, or of a region's parameter, are own.
  bool all_of(NodeId value, NodeId owner) {
    if (!owner || function_[owner].region_count == 0) return false;
    const Op op = function_.op(owner);
    const bool is_parameter = function_.op(value) == Op::param;
    auto slot = static_cast<size_t>(value == owner ? 0 : function_.attribute(value, 0));
    std::vector<NodeId> sources;
    if (op == Op::while_) {
      if (is_parameter && function_[value].parent == function_.region(owner, 0)) {
        sources.push_back(function_.operand(owner, slot));
        add_given(function_.region(owner, 1), slot, sources);
      } else {
        add_given(function_.region(owner, 0), slot + 1, sources);
      }
    } else {
      if (op == Op::for_) {
        if (is_parameter) --slot;
        sources.push_back(function_.operand(owner, slot + 1));
      }
      for (size_t i = 0; i < function_[owner].region_count; ++i)
        add_given(function_.region(owner, i), slot, sources);
    }
    if (op == Op::block) add_exits(function_.region_parameters(function_.region(owner))[0], slot, sources);
    return std::ranges::all_of(sources, [&](NodeId source) { return (*this)(source); });
  }

  void add_given(ir::RegionId region, size_t slot, std::vector<NodeId>& sources) const {
    const NodeId last = function_.terminator(region);
    if (function_.op(last) == Op::yield) sources.push_back(function_.operand(last, slot));
  }

  void add_exits(NodeId label, size_t slot, std::vector<NodeId>& sources) const {
    for (size_t i = label.index; i < function_.node_count(); ++i) {
      const NodeId node(static_cast<uint32_t>(i));
      if (function_.op(node) == Op::exit_ && function_.operand(node, 0) == label)
        sources.push_back(function_.operand(node, slot + 1));
    }
  }

  const ir::Function& function_;
  size_t first_;
  std::vector<NodeId> open_;
};

/// Whether a node may write into the operand at a position.
bool may_write(Op op, size_t index) {
  switch (op) {
    case Op::write:
    case Op::store:
    case Op::scatter:
    case Op::copy: return index == 0;
    case Op::draw: return index > 0;  // the stream is no array
    case Op::keep:
    case Op::give:
    case Op::pull: return false;
    default: return ir::info(op).effects.any(ir::effect::Write);
  }
}

/// The effects of a node; of a call of an external routine, those beyond writing into the memory that the
/// library has made for it.
ir::Effects seen_effects(const ir::Function& function, NodeId node) {
  if (function.op(node) != Op::library) return ir::effects_of(function, node);
  const auto text = ir::TextId(static_cast<uint32_t>(function.attribute(node, 0)));
  const ir::LibraryInfo* const routine = ir::find_library(function.module().text(text));
  const bool is_random = routine != nullptr && routine->effects.any(ir::effect::Random);
  return is_random ? ir::effect::Random : ir::effect::Allocate;
}

}  // namespace

class Collectives {
 public:
  explicit Collectives(Tracer& t) : t_(t) {}

  /// The axis of the innermost batch that runs; null: none does.
  Axis* around() const;
  /// Whether a batch or the shard of a mesh runs.
  bool has_axes() const;
  /// The innermost axis of the name in a call's first argument; raises if there is none.
  Axis& named(const Call& call) const;
  /// Refuses a collective at a location that not all batch elements have to reach.
  void need_place_of_all(const Axis& axis, nb::handle node) const;
  /// Refuses a collective of a mesh in a loop that threads share: others than the shard's would come.
  void need_one_thread(const Axis& axis, nb::handle node) const;
  /// Refuses visible effects of a batch element since its beginning, because they would be repeated.
  void need_own_effects(const Axis& axis, bool is_last, nb::handle node) const;

 private:
  void need_own_memory(const Axis& axis, NodeId made, nb::handle node) const;
  const ir::Function& function() const { return t_.builder->function(); }

  Tracer& t_;
};

Axis* Collectives::around() const {
  for (Frame* frame = t_.frame; frame != nullptr; frame = frame->caller)
    if (frame->axis && frame->axis->routine == t_.routine && frame->axis->mesh < 0) return &*frame->axis;
  return nullptr;
}

bool Collectives::has_axes() const {
  for (const Frame* frame = t_.frame; frame != nullptr; frame = frame->caller)
    if (frame->axis && frame->axis->routine == t_.routine) return true;
  return false;
}

Axis& Collectives::named(const Call& call) const {
  const nb::object name = require_static(t_, call.positional.at(0), "the name of an axis", call.node);
  for (Frame* frame = t_.frame; frame != nullptr; frame = frame->caller) {
    const bool is_it = frame->axis && frame->axis->routine == t_.routine && !frame->axis->name.is_none();
    if (is_it && frame->axis->name.equal(name)) return *frame->axis;
  }
  if (t_.routine != nullptr) {
    unsupported(t_, call.node, "a named axis in a recursive function",
                "give the function what it needs of the axis as an argument");
  }
  raise(t_, ExceptionKind::NameError, "unbound axis name: " + text_of(nb::str(name)));
}

void Collectives::need_place_of_all(const Axis& axis, nb::handle node) const {
  const ir::Function& f = function();
  for (ir::RegionId at = t_.builder->current(); at != axis.region; at = f[f[at].owner].parent) {
    if (f.op(f[at].owner) == Op::block) continue;
    unroll_loops(t_, axis.loops, node);
    unsupported(t_, node, "a collective of a named axis in a branch or loop that depends on what is computed",
                "call it where all lanes come, so often as is known when compiling");
  }
  const auto has_edges = [](const Target* target) { return !target->edges.empty(); };
  if (std::any_of(t_.targets.begin() + static_cast<ptrdiff_t>(axis.targets), t_.targets.end(), has_edges)) {
    unsupported(
        t_, node,
        "a collective of a named axis after a `return`, `break` or `continue` that some batch elements take",
        "call it before, or choose results by `np.where`");
  }
  const auto catches_some = [](const Catcher* handler) { return handler->catches_some(); };
  if (std::any_of(t_.handlers.begin() + static_cast<ptrdiff_t>(axis.handlers), t_.handlers.end(),
                  catches_some))
    unsupported(t_, node, "a collective of a named axis in a `try`", "call it outside");
}

void Collectives::need_one_thread(const Axis& axis, nb::handle node) const {
  const ir::Function& f = function();
  for (ir::RegionId at = t_.builder->current(); at != axis.region; at = f[f[at].owner].parent) {
    const NodeId owner = f[at].owner;
    const bool is_shared =
        f.op(owner) == Op::for_ && ir::has_threads(static_cast<ir::Schedule>(f.attribute(owner, 0)));
    if (is_shared) unsupported(t_, node, "a collective of a mesh in a loop over `prange`", "use range");
  }
}

void Collectives::need_own_effects(const Axis& axis, bool is_last, nb::handle node) const {
  const ir::Function& f = function();
  for (size_t i = axis.nodes; i < f.node_count(); ++i) {
    const NodeId made(static_cast<uint32_t>(i));
    const Op op = f.op(made);
    const bool is_control = ir::info(op).effects == ir::effect::Control;
    if (is_control || op == Op::keep) continue;
    const ir::Effects effects = seen_effects(f, made);
    // Code that raises a Python exception is a host call, too.
    const bool is_throw =
        op == Op::host && t_.module.text(ir::TextId(static_cast<uint32_t>(f.attribute(made, 1)))) == "throw";
    if (!is_last && !is_throw && effects.any(ir::effect::Host | ir::effect::Random)) {
      unsupported(t_, node,
                  "a function that prints, draws or calls Python before a collective of a named axis",
                  "do it after the last one, or outside of the batch; draw by `ingot.random`, of keys");
    }
    if (effects.any(ir::effect::Write) && op != Op::host) need_own_memory(axis, made, node);
  }
  for (const auto& [id, before] : axis.heap) {
    const auto now = t_.state.heap.find(id);
    const auto is_same = [](const Value& a, const Value& b) { return same(a, b); };
    if (now == t_.state.heap.end() || std::ranges::equal(before.values, now->second.values, is_same))
      continue;
    unsupported(t_, node,
                "a function with collectives that changes a container, instance or variable from outside",
                "return what is new");
  }
}

void Collectives::need_own_memory(const Axis& axis, NodeId made, nb::handle node) const {
  const ir::Function& f = function();
  for (size_t k = 0; k < f.operands(made).size(); ++k) {
    Own is_own(f, axis.nodes);
    if (!is_own.is_memory(f.operand(made, k)) || !may_write(f.op(made), k) || is_own(f.operand(made, k)))
      continue;
    unsupported(t_, node, "a function with collectives that writes into an array it has not made",
                "copy the array first, and return what is new");
  }
}

Value primitive_lane_of(Tracer& t, Call& call) { return *Collectives(t).named(call).index; }

Value primitive_size_of_axis(Tracer& t, Call& call) { return *Collectives(t).named(call).size; }

Value primitive_has_axes(Tracer& t, Call&) { return Static{nb::bool_(Collectives(t).has_axes())}; }

Value primitive_on_mesh(Tracer& t, Call& call) {
  const Axis axis{.name = require_static(t, call.positional.at(0), "the name of an axis", call.node),
                  .size = share(call.positional.at(2)),
                  .index = share(call.positional.at(3)),
                  .routine = t.routine,
                  .probe = nullptr,
                  .results = {},
                  .region = t.builder->current(),
                  .mesh = nb::cast<int64_t>(
                      require_static(t, call.positional.at(1), "the number of an axis", call.node))};
  const Restored<std::optional<Axis>> around(t.frame->axis, axis);
  Call shard{.positional = {}, .name = call.name, .node = call.node};
  return call_value(t, call.positional.at(4), shard);
}

Value primitive_mesh_axis(Tracer& t, Call& call) {
  const Axis& axis = Collectives(t).named(call);
  if (axis.mesh < 0 || Collectives(t).around() != nullptr) return Static{nb::int_(-1)};
  Collectives(t).need_one_thread(axis, call.node);
  return Static{nb::int_(axis.mesh)};
}

Value primitive_derivatives_of_lanes(Tracer& t, Call&) {
  const Axis* const axis = Collectives(t).around();
  return Static{nb::int_(axis == nullptr ? 0 : axis->derivatives)};
}

Value primitive_is_same_for_all(Tracer& t, Call& call) {
  if (Collectives(t).named(call).mesh >= 0) return Static{nb::bool_(false)};
  const Value& value = call.positional.at(1);
  return Static{nb::bool_(known_of(value).is_valid() && number_kind(value).has_value())};
}

Value primitive_in_lane(Tracer& t, Call& call) {
  const Tuple* const results = call.positional.at(4).as<Tuple>();
  INGOT_ASSERT(results != nullptr, "frontend: the results of collectives are in a tuple");
  // Nothing may be known of the first batch element that does not hold for all.
  const Value lane = Scalar{Kind::py_int(), stage(t, call.positional.at(3), Kind::py_int())};
  const Axis axis{.name = require_static(t, call.positional.at(0), "the name of an axis", call.node),
                  .size = share(call.positional.at(1)),
                  .index = share(lane),
                  .routine = t.routine,
                  .probe = std::exchange(t.probe, nullptr),
                  .results = results->members,
                  .nodes = t.builder->function().node_count(),
                  .region = t.builder->current(),
                  .heap = t.state.heap,
                  .targets = t.targets.size(),
                  .handlers = t.handlers.size(),
                  .loops = t.loops.size(),
                  .derivatives = t.derivatives.size()};
  const Restored<std::optional<Axis>> around(t.frame->axis, axis);
  Call iteration{.positional = {lane}, .name = call.name, .node = call.node};
  Value given = call_value(t, call.positional.at(2), iteration);
  if (t.frame->axis->met > 0) Collectives(t).need_own_effects(*t.frame->axis, true, call.node);
  return given;
}

Value primitive_stop_of(Tracer& t, Call& call) {
  const Checkpoint before = checkpoint(t);
  nb::object stop = nb::none();
  {
    const Restored<nb::object*> probe(t.probe, &stop);
    tried_iteration(t, call);
  }
  go_back(t, before);
  return structure_of(t, stop);
}

Value primitive_collective(Tracer& t, Call& call) {
  Collectives(t).named(call);
  Axis& axis = *Collectives(t).around();
  Collectives(t).need_place_of_all(axis, call.node);
  if (axis.met < axis.results.size()) return Tuple{.members = {axis.results[axis.met++]}};
  if (axis.probe == nullptr) {
    Collectives(t).need_own_effects(axis, false, call.node);
    return Tuple{};
  }
  *axis.probe = require_static(t, call.positional.at(1), "what describes a collective", call.node);
  t.builder->terminate(Op::unreachable, {});
  throw Diverged{};
}

}  // namespace ingot::frontend
