// Fusion. `fuse` takes the array itself where its buffer is read before anything else is done with it, and
// forgets buffers that are only read. `to_loops` then evaluates an array in the loops of its user; one with
// several users too, if all of them end in the same loops and use the same indices: an element is computed
// once an iteration. Others are evaluated again for each user where that takes no longer than to write and
// read them; the work is counted as if nothing was shared, so what is evaluated again stays small however
// long a chain is. Where it is not known when compiling which lengths are 1 (slices, new arrays), a broadcast
// of something computed makes two versions of the loops: for equal lengths, where it is the identity, and for
// others.

#include "transform/arrays/to_loops.h"

#include <algorithm>

#include "ir/directives.h"
#include "ir/verifier.h"
#include "ir/walk.h"
#include "transform/arrays/lowering.h"

namespace ingot::transform {

Lowering::Lowering(const Function& source, const base::Machine& machine)
    : Rewriter(source),
      machine_(machine),
      loops_(b_),
      wholes_(source.node_count()),
      order_(ir::NodeOrder(source).begin),
      last_use_(source.node_count()),
      uses_(source.node_count()),
      users_(source.node_count()),
      user_crosses_loop_(source.node_count()),
      sink_(source.node_count()),
      sinks_(source.node_count()),
      short_lengths_(source.node_count()),
      is_identity_(source.node_count()),
      is_output_(source.node_count()),
      is_deferred_(source.node_count()) {
  count_uses();
  Nodes in_order;
  for (uint32_t i = 0; i < source.node_count(); ++i) in_order.emplace_back(i);
  std::ranges::sort(in_order, {}, [&](NodeId id) { return order_[id.index]; });
  find_sinks(in_order);
}

void Lowering::count_uses() {
  for (uint32_t i = 0; i < source_.node_count(); ++i) {
    // Lengths are known without evaluation.
    if (source_.op(NodeId(i)) == Op::length) continue;
    for (NodeId operand : source_.operands(NodeId(i))) {
      ++uses_[operand.index];
      if (source_.type(operand).is_array()) users_[operand.index].emplace_back(i);
      if (crosses_loop(source_[NodeId(i)].parent, source_[operand].parent))
        user_crosses_loop_[operand.index] = true;
      if (order_[i] < last_use_[operand.index]) continue;
      last_use_[operand.index] = order_[i];
    }
  }
}

/// Whether a region is an iteration, or in an iteration, of a loop inside another region.
bool Lowering::crosses_loop(RegionId from, RegionId to) const {
  for (; from != to; from = source_[source_[from].owner].parent) {
    const Op owner = source_.op(source_[from].owner);
    if (owner != Op::if_ && owner != Op::block) return true;
  }
  return false;
}

/// Whether the user's element is evaluated from those at the same indices, in loops that are its own user's.
bool Lowering::is_step(NodeId user) const {
  if (!source_.type(user).is_array()) return false;
  const bool same_rank = source_.op(user) == Op::broadcast &&
                         source_.type(source_.operand(user, 0)).rank() == source_.type(user).rank();
  return is_pointwise(user) || same_rank;
}

void Lowering::find_sinks(std::span<const NodeId> in_order) {
  for (size_t i = in_order.size(); i-- > 0;) {
    const NodeId user = in_order[i];
    // Its own users have all been seen.
    const NodeId found = sink_[user.index];
    const bool alone = sinks_[user.index] != 1 || source_.type(user).rank() == 0 ||
                       crosses_loop(source_[found].parent, source_[user].parent);
    if (alone) sink_[user.index] = user;
    if (source_.op(user) == Op::length) continue;
    const NodeId sink = is_step(user) ? sink_[user.index] : user;
    for (NodeId operand : source_.operands(user)) {
      if (!source_.type(operand).is_array()) continue;
      NodeId& known = sink_[operand.index];
      sinks_[operand.index] += known == sink ? 0 : 1;
      known = sink;
    }
  }
}

/// Past this work an array is not evaluated again for another user.
constexpr int kLargestTimeAgain = 8;

void Work::add(const Work& other) {
  constexpr int kMuch = 1 << 20;
  time = std::min(time + other.time, kMuch);
  loads = std::min(loads + other.loads, kMuch);
}

/// Whether it takes no longer to evaluate an array for each of its users than to write it once and read it
/// again. As work is counted as if nothing was shared, what is evaluated again and again stays small, however
/// many arrays depend on each other.
bool Lowering::is_cheap_again(NodeId old) const {
  const Work& work = whole(old).work;
  if (work.time > kLargestTimeAgain || user_crosses_loop_[old.index]) return false;
  const auto users = static_cast<int>(std::min<uint32_t>(sinks_[old.index], 1 << 20));
  const int written_and_read = work.loads + 2 + users;
  return users * work.loads <= written_and_read;
}

bool Lowering::may_wait(NodeId old) const {
  const Whole& w = whole(old);
  if (w.view || w.cost == 0 || uses_[old.index] == 0) return true;
  if (ir::is_stage(source_, old, users_[old.index])) return false;
  if (w.cost > kLargestCost) return false;
  if (sink_[old.index] != old || is_cheap_again(old)) return true;
  return uses_[old.index] == 1 && !user_crosses_loop_[old.index];
}

Lowering::Written Lowering::written_by(NodeId id) const {
  Written written;
  ir::walk(source_, id, [&](NodeId node) {
    const ir::OpInfo& card = ir::info(source_.op(node));
    const ir::Effects changes = ir::effect::Write | ir::effect::Host | ir::effect::Sync;
    if (card.regions > 0 || !card.effects.any(changes)) return;
    // Calls that are seen outside may write all they know, and so may threads that are waited for.
    written.anything = written.anything || card.effects.any(ir::effect::Host | ir::effect::Sync);
    for (NodeId operand : source_.operands(node))
      if (source_.type(operand).is_view()) written.roots.push_back(root_of(source_, operand));
  });
  return written;
}

void Lowering::settle_before(NodeId id) {
  const Written written = written_by(id);
  if (!written.anything && written.roots.empty()) return;
  elements_.clear();
  const auto changes = [&](const std::vector<Root>& reads) {
    return std::ranges::any_of(reads, [&](const Root& read) {
      return written.anything ||
             std::ranges::any_of(written.roots, [&](const Root& w) { return may_overlap(source_, read, w); });
    });
  };
  const auto changes_any = [&](const Nest& nest) {
    return std::ranges::any_of(nest.outputs, [&](const Output& output) {
      const auto buffer = output.buffer_of;
      return changes(output.reads) || (buffer && changes({root_of(source_, buffer)}));
    });
  };
  if (std::ranges::any_of(nests_, changes_any)) write_outputs();
  const Nodes reading = regions_.back().reading;
  for (NodeId old : reading)
    if (last_use_[old.index] > order_[id.index] && changes(whole(old).reads)) settled(old);
}

/// What has not been written by now is unused.
void Lowering::leave_region(RegionId) {
  nests_.clear();
  deferred_.clear();
  regions_.pop_back();
}

void Lowering::define(NodeId old, Whole w) {
  const bool reads = !w.reads.empty();
  wholes_[old.index] = std::move(w);
  if (!may_wait(old)) {
    write_later(old);
  } else if (reads) {
    regions_.back().reading.push_back(old);
  }
}

Whole Lowering::fresh(NodeId view, Nodes lengths, DType dtype) {
  return {
      .dtype = dtype,
      .lengths = std::move(lengths),
      .view = view,
      .contiguous = true,
      .fresh = true,
  };
}

Whole Lowering::stored(const Nodes& lengths, DType dtype, const std::function<NodeId(Indices)>& value) {
  const NodeId view = loops_.new_view(lengths, dtype);
  loops_.nest(lengths, [&](Indices indices) { loops_.store(view, indices, value(indices)); });
  return fresh(view, lengths, dtype);
}

void Lowering::define_stored(NodeId id, Nodes lengths, const std::function<NodeId(Indices)>& value) {
  define(id, stored(lengths, dtype_of(id), value));
}

Whole Lowering::evaluated(NodeId old) {
  make_ready(old);
  // The names of loops where an array is needed are not those of the loops that it is evaluated in.
  const ir::SpanId location = b_.span();
  if (ir::names_loops(b_.function(), location)) set_location(old);
  Whole made = evaluated(Nodes{old})[0];
  b_.set_span(location);
  return made;
}

std::vector<Whole> Lowering::evaluated(const Nodes& arrays) {
  std::vector<Whole> made;
  Elements all{.views = {}, .values = {}, .strides = {}, .time = 0, .fresh = true};
  for (NodeId old : arrays) {
    const Whole& w = whole(old);
    all.views.push_back(loops_.new_view(w.lengths, w.dtype));
    all.time += w.work.time;
    made.push_back(fresh(all.views.back(), w.lengths, w.dtype));
  }
  all.values = [&](Indices at) {
    Nodes values;
    for (NodeId old : arrays) values.push_back(element(old, at));
    return values;
  };
  in_versions(arrays, {}, [&] {
    all.strides.clear();
    bool in_c_order = true;
    for (NodeId old : arrays) in_c_order = collect_strides(old, all.strides) && in_c_order;
    if (in_c_order) all.strides.clear();
    if (are_flat(arrays)) all.flat = arrays;
    store_elements(all);
    all.flat.clear();
    return Nodes();
  });
  return made;
}

/// For the users that come later, if what has just been made reaches all of them.
void Lowering::keep(NodeId old, const Whole& w) {
  if (versions_ > 0 || regions_.empty() || source_[old].parent != regions_.back().region) return;
  wholes_[old.index] = w;
  std::erase(regions_.back().reading, old);
}

Whole Lowering::in_view(NodeId old) {
  make_ready(old);
  if (whole(old).view) return whole(old);
  Whole made = evaluated(old);
  keep(old, made);
  return made;
}

Whole Lowering::settled(NodeId old) {
  make_ready(old);
  if (whole(old).view && whole(old).reads.empty()) return whole(old);
  Whole made = evaluated(old);
  keep(old, made);
  return made;
}

NodeId Lowering::use(NodeId old) {
  if (is_deferred_[old.index]) write_outputs();
  if (!source_.type(old).is_array()) return Rewriter::use(old);
  // What others know of is no longer fresh.
  Whole w = settled(old);
  wholes_[old.index].fresh = false;
  return w.view;
}

void Lowering::bind(NodeId old, NodeId made) {
  if (!source_.type(old).is_array()) return Rewriter::bind(old, made);
  wholes_[old.index] = {.dtype = dtype_of(old), .lengths = lengths_of_view(made), .view = made};
}

Type Lowering::convert(Type type) {
  ir::TypeTable& types = source_.module().types;
  switch (type.kind()) {
    case ir::TypeKind::Array: return type.as_view();
    case ir::TypeKind::Optional: return types.optional(convert(types.members(type)[0]));
    case ir::TypeKind::Results: {
      std::vector<Type> members;
      for (size_t i = 0; i < types.members(type).size(); ++i)
        members.push_back(convert(types.members(type)[i]));
      return types.results(members);
    }
    default: return type;
  }
}

void Lowering::visit(NodeId id) {
  now_ = order_[id.index];
  if (source_[id].region_count > 0) write_outputs();
  settle_before(id);
  if (can_defer(id)) {
    is_deferred_[id.index] = true;
    deferred_.push_back(id);
    return;
  }
  const Op op = source_.op(id);
  if (op == Op::reduce) short_lengths_[id.index] = find_short_length(id);
  prepare(id);
  if (op == Op::length && source_.type(source_.operand(id, 0)).is_array())
    return Rewriter::bind(
        id, whole(source_.operand(id, 0)).lengths[static_cast<size_t>(source_.attribute(id, 0))]);
  if (op == Op::library) return lower_library(id);
  switch (op) {
#define OP(...)
#define LOWER_Array(name) \
  case Op::name: return lower_##name(id);
#define LOWER_Loop(name)
#define LOWER_Both(name)
#define STRUCT(name, stage, effects) LOWER_##stage(name)
#include "ir/ops.def"
    default: break;
  }
  if (is_pointwise(id) && source_.type(id).is_array()) return lower_pointwise(id);
  clone(id);
  if (op == Op::check) learn(source_.operand(id, 0));
}

/// Derivatives are made before.
void Lowering::lower_lift(NodeId id) {
  throw base::InternalError("`" + std::string(ir::name_of(source_.op(id))) + "` is no op of `to_loops`");
}
void Lowering::lower_tangent(NodeId id) { lower_lift(id); }
void Lowering::lower_primal(NodeId id) { lower_lift(id); }
void Lowering::lower_pull(NodeId id) { lower_lift(id); }
void Lowering::lower_back(NodeId id) { lower_lift(id); }
void Lowering::lower_cotangent(NodeId id) { lower_lift(id); }
void Lowering::lower_give(NodeId id) { lower_lift(id); }

std::unique_ptr<ir::Function> to_loops(const ir::Function& function, const base::Machine& machine) {
  std::unique_ptr<Function> lowered = Lowering(function, machine).run();
  ir::verify_or_throw(*lowered, ir::Stage::Loop, "to_loops");
  return lowered;
}

}  // namespace ingot::transform
