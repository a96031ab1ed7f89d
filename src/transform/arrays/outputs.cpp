// Arrays that are to be written, and reductions, wait until one of them is needed, or memory that they read
// is about to change. Then those of the same lengths that share what they are made of are written by one
// nest, in which an element of what they share is computed once. What only such a nest uses is not written at
// all.
//
// A nest goes through at most 12 arrays in memory. An array and a reduction of it are two nests. Where the
// registers do not hold the lanes of all reductions of a short iteration, codegen goes through each block,
// which is in the cache then, once for some of them and once for others.

#include <algorithm>
#include <ranges>
#include <utility>

#include "ir/directives.h"
#include "transform/arrays/lowering.h"

namespace ingot::transform {

/// The node that stands for a length and all that checks have found to be equal to it.
NodeId Lowering::canonical(NodeId length) const {
  for (bool found = true; found;) {
    found = false;
    for (const OpenRegion& region : regions_) {
      if (const auto other = region.equal.find(length.index); other != region.equal.end()) {
        length = other->second;
        found = true;
      }
    }
  }
  return length;
}

/// Whether two lengths are equal, as checks may have shown.
NodeId Lowering::are_equal(NodeId a, NodeId b) {
  return canonical(a) == canonical(b) ? b_.constant(true) : loops_.equal(a, b);
}

/// Whether an axis of `own` length is not repeated where it is broadcast to a length; one of length 1 is.
NodeId Lowering::repeats_not(NodeId own, NodeId length) {
  return is_one(own) ? b_.constant(false) : are_equal(own, length);
}

/// From here on the operands of a comparison that has been checked are equal.
void Lowering::learn(NodeId condition) {
  if (source_.op(condition) == Op::bitwise_and) {
    for (NodeId const operand : source_.operands(condition)) learn(operand);
    return;
  }
  if (source_.op(condition) != Op::equal || source_.type(source_.operand(condition, 0)) != ir::kInt64) return;
  const Nodes both = use_all(source_.operands(condition));
  const NodeId a = canonical(both[0]);
  const NodeId b = canonical(both[1]);
  if (a != b && !regions_.empty()) regions_.back().equal[b.index] = a;
}

/// What elements of `old` are made of at the same indices: views, by the new nodes, arrays that are to be
/// written, and what is rearranged. Gives the first nest in which they can be evaluated.
size_t Lowering::collect_sources(NodeId old, Sources& sources, std::vector<bool>& seen) const {
  if (!source_.type(old).is_array() || seen[old.index]) return 0;
  seen[old.index] = true;
  size_t first = 0;
  if (whole(old).view) {
    sources.emplace(true, whole(old).view.index);
    return first;
  }
  if (is_output(old)) {
    sources.emplace(false, old.index);
    for (size_t i = 0; i < nests_.size(); ++i) {
      for (const Output& output : nests_[i].outputs)
        if (output.node == old) first = nests_[i].is_reduced.empty() ? i : i + 1;
    }
    if (is_reduction(old)) return first;
  }
  for (NodeId const operand : source_.operands(old))
    first = std::max(first, collect_sources(operand, sources, seen));
  return first;
}

/// Whether evaluating elements of `old` needs what waits to be written.
bool Lowering::needs_outputs(NodeId old, std::vector<bool>& seen) const {
  if (!source_.type(old).is_array()) return is_deferred_[old.index];
  if (whole(old).view || seen[old.index]) return false;
  seen[old.index] = true;
  return is_output(old) || std::ranges::any_of(source_.operands(old),
                                               [&](NodeId operand) { return needs_outputs(operand, seen); });
}

void Lowering::make_ready(NodeId old) {
  if (nests_.empty() && deferred_.empty()) return;
  std::vector<bool> seen(source_.node_count());
  if (needs_outputs(old, seen)) write_outputs();
}

/// The lengths whose equality decides between versions of the loops that evaluate elements of `old`.
std::set<std::pair<uint32_t, uint32_t>> Lowering::compared_lengths(NodeId old) const {
  Nodes broadcasts;
  std::vector<bool> seen(source_.node_count());
  collect_broadcasts(old, broadcasts, seen);
  std::set<std::pair<uint32_t, uint32_t>> compared;
  for (NodeId const id : broadcasts) {
    const Nodes& own = whole(source_.operand(id, 0)).lengths;
    for (size_t i = 0; i < own.size(); ++i) {
      const NodeId length = whole(id).lengths[i];
      if (canonical(own[i]) != canonical(length)) compared.emplace(own[i].index, length.index);
    }
  }
  return compared;
}

/// Lets an array (`buffer_of` as for Output), or a reduction, wait for others.
void Lowering::write_later(NodeId node, NodeId buffer_of) {
  const bool reduces = is_reduction(node);
  Output output{.node = node, .buffer_of = buffer_of};
  Nest own;
  int cost = whole(node).cost;
  std::vector<bool> seen(source_.node_count());
  size_t first = 0;
  std::set<std::pair<uint32_t, uint32_t>> compared;
  const auto look_at = [&](NodeId array) {
    first = std::max(first, collect_sources(array, own.sources, seen));
    compared.merge(compared_lengths(array));
    Whole read;
    add_reads(read, whole(array));
    output.reads.insert(output.reads.end(), read.reads.begin(), read.reads.end());
  };
  if (reduces) {
    for (NodeId const operand : source_.operands(node)) {
      look_at(operand);
      cost += whole(operand).cost;
    }
    own.is_reduced = split_axes(source_.operand(node, 0), source_.ints(node)).is_reduced;
    own.lane_bytes = base::size_of(describe_reduction(node).lane);
  } else {
    look_at(node);
  }
  const Nodes& lengths = whole(reduces ? source_.operand(node, 0) : node).lengths;
  own.lengths = lengths;
  own.compared = std::move(compared);
  own.cost = cost;
  own.outputs.push_back(std::move(output));
  is_output_[node.index] = true;
  if (buffer_of) is_deferred_[buffer_of.index] = true;
  if (reduces && !source_.type(node).is_array()) is_deferred_[node.index] = true;
  for (size_t i = first; i < nests_.size(); ++i)
    if (joins(nests_[i], own)) return merge(nests_[i], own);
  nests_.push_back(std::move(own));
}

bool Lowering::joins(const Nest& nest, const Nest& other) const {
  // Checks that came since may have made lengths equal.
  const bool same = std::ranges::equal(
                        nest.lengths, other.lengths, {}, [&](NodeId length) { return canonical(length); },
                        [&](NodeId length) { return canonical(length); }) &&
                    nest.is_reduced == other.is_reduced && nest.compared == other.compared;
  const auto names = [&](const Nest& of) {
    const ir::SpanId location = source_[of.outputs[0].node].span;
    return location ? source_.module().span(location).loops : ir::TextId();
  };
  if (!same || nest.cost + other.cost > kLargestCost || names(nest) != names(other)) return false;
  Sources all = nest.sources;
  for (const Output& output : nest.outputs) all.emplace(false, output.node.index);
  const size_t apart = all.size() + other.sources.size();
  all.insert(other.sources.begin(), other.sources.end());
  if (all.size() == apart) return false;
  return all.size() + other.outputs.size() <= machine_.streams &&
         nest.lane_bytes + other.lane_bytes <= 2 * machine_.registers;
}

void Lowering::merge(Nest& nest, const Nest& other) {
  nest.sources.insert(other.sources.begin(), other.sources.end());
  nest.outputs.insert(nest.outputs.end(), other.outputs.begin(), other.outputs.end());
  nest.cost += other.cost;
  nest.lane_bytes += other.lane_bytes;
}

/// The one nest in which all users of an array are evaluated, through others that wait; none: there is no
/// such nest, or some user has not been seen.
std::optional<size_t> Lowering::only_nest(NodeId old, OnlyNests& known) const {
  if (const auto before = known.find(old.index); before != known.end()) return before->second;
  std::optional<size_t>& found = known[old.index];
  for (NodeId const user : users_[old.index]) {
    std::optional<size_t> its;
    const bool is_step = is_pointwise(user) && source_.type(user).is_array() && !whole(user).lengths.empty();
    if (is_output(user)) {
      for (size_t i = 0; i < nests_.size(); ++i)
        if (std::ranges::count(nests_[i].outputs, user, &Output::node) > 0) its = i;
    } else if (is_step && !whole(user).view) {
      its = only_nest(user, known);
    }
    if (!its || (found && *found != *its)) return found = std::nullopt;
    found = its;
  }
  return found;
}

/// Arrays need not be written where one nest has all of their users.
void Lowering::drop_outputs() {
  for (Nest& nest : nests_ | std::views::reverse) {
    for (size_t i = nest.outputs.size(); i-- > 0;) {
      const NodeId node = nest.outputs[i].node;
      if (is_reduction(node) || nest.outputs[i].buffer_of) continue;
      if (ir::is_stage(source_, node, users_[node.index])) continue;
      OnlyNests known;
      const auto only = only_nest(node, known);
      if (!only || nests_[*only].cost + whole(node).cost > kLargestCost) continue;
      nests_[*only].cost += whole(node).cost;
      is_output_[node.index] = false;
      nest.outputs.erase(nest.outputs.begin() + static_cast<ptrdiff_t>(i));
    }
  }
}

void Lowering::write_outputs() {
  if (nests_.empty() && deferred_.empty()) return;
  const ir::SpanId location = b_.span();
  drop_outputs();
  const std::vector<Nest> nests = std::exchange(nests_, {});
  const Nodes numbers = std::exchange(deferred_, {});  // not those of nests that are written meanwhile
  for (const Nest& nest : nests) {
    if (nest.outputs.empty()) continue;
    set_location(nest.outputs.back().node);
    if (nest.is_reduced.empty()) write_arrays(nest.outputs);
    else write_reductions(nest.outputs);
  }
  for (NodeId const scalar : numbers) {
    is_deferred_[scalar.index] = false;
    set_location(scalar);
    clone(scalar);
  }
  b_.set_span(location);
}

void Lowering::write_arrays(const std::vector<Output>& outputs) {
  Nodes arrays;
  for (const Output& output : outputs) arrays.push_back(output.node);
  const std::vector<Whole> made = evaluated(arrays);
  for (size_t i = 0; i < arrays.size(); ++i) {
    is_output_[arrays[i].index] = false;
    if (outputs[i].buffer_of) become_buffer(outputs[i].buffer_of, arrays[i], made[i]);
    else keep(arrays[i], made[i]);
  }
}

void Lowering::write_reductions(const std::vector<Output>& outputs) {
  Nodes reductions;
  for (const Output& output : outputs) {
    reductions.push_back(output.node);
    is_output_[output.node.index] = false;
    is_deferred_[output.node.index] = false;
  }
  reduce_together(reductions);
}

/// The memory of a new array is that of a `materialize`, which the program may write to.
void Lowering::become_buffer(NodeId buffer, NodeId array, const Whole& made) {
  is_deferred_[buffer.index] = false;
  bind(buffer, made.view);
  // What is cheap is evaluated for its other users as it was.
  if (!whole(array).view && may_wait(array)) return;
  wholes_[array.index] = made;
  wholes_[array.index].fresh = false;
  add_root(array, root_of(source_, buffer));
}

/// What is evaluated from elements of an array reads this memory from now on.
void Lowering::add_root(NodeId array, const Root& root) {
  Whole& w = wholes_[array.index];
  if (std::ranges::find(w.reads, root) != w.reads.end()) return;
  w.reads.push_back(root);
  Nodes& reading = regions_.back().reading;
  if (std::ranges::find(reading, array) == reading.end()) reading.push_back(array);
  for (NodeId const user : users_[array.index]) {
    const bool is_defined = order_[user.index] < now_ && source_[user].parent == regions_.back().region;
    if (is_defined && source_.type(user).is_array() && !whole(user).view) add_root(user, root);
  }
}

/// Writes what waits, if a node cannot wait with it.
void Lowering::prepare(NodeId id) {
  if (nests_.empty() && deferred_.empty()) return;
  const Op op = source_.op(id);
  if (op == Op::length || is_reduction(id) || op == Op::materialize) return;
  const bool pointwise = is_pointwise(id) && source_.type(id).is_array();
  // Numbers are not made where elements are evaluated.
  for (NodeId const operand : source_.operands(id))
    if (!pointwise || !source_.type(operand).is_array()) make_ready(operand);
}

/// Whether a number that is made of others that wait can wait as well.
bool Lowering::can_defer(NodeId id) const {
  const ir::OpInfo& card = ir::info(source_.op(id));
  return card.effects.pure() && card.regions == 0 && source_.type(id).is_scalar() &&
         std::ranges::any_of(source_.operands(id),
                             [&](NodeId operand) { return is_deferred_[operand.index]; });
}

}  // namespace ingot::transform
