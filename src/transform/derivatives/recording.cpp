#include "transform/derivatives/recording.h"

#include <algorithm>

#include "ir/walk.h"
#include "transform/derivatives/min_cut.h"
#include "transform/derivatives/pullback.h"

namespace ingot::transform {

namespace {

constexpr int64_t kCostOfArray = 800;
constexpr int64_t kCostOfView = 64;
constexpr int64_t kIterations = 8;  ///< of a loop, as far as costs know
constexpr int kDeepest = 5;

/// Whether a view is one of the memory of its first operand.
bool is_window_on_memory(const Function& f, NodeId id) {
  return f.type(id).is_view() && ir::info(f.op(id)).effects.pure() &&
         ir::info(f.op(id)).stage == ir::Stage::Array && f.type(f.operand(id, 0)).is_view();
}

/// What a rule of the reverse sweep needs of one node. The rule is run in a function of its own, whose
/// parameters are all that it could need; what it uses is needed.
class Needs : public Sweep {
 public:
  Needs(const Shadowed& shadowed, const Recording& recording, NodeId id)
      : shadowed_(shadowed), recording_(recording), b_(shadowed.function.module(), "needs") {
    for (const NodeId operand : shadowed.function.operands(id)) add_parameters(operand);
    add_parameters(id);
    Pullback(shadowed.function, b_, *this).visit(id);
  }

  /// The values of the function that are used.
  Nodes used() const {
    const Function& made = b_.function();
    std::vector<bool> live(made.node_count());
    for (const NodeId root : given_) live[root.index] = true;
    for (uint32_t i = static_cast<uint32_t>(made.node_count()); i-- > 0;) {
      const NodeId node(i);
      const ir::Effects effects = ir::info(made.op(node)).effects;
      const bool has_effect = effects.any(ir::effect::Write | ir::effect::Control);
      const bool is_inside = made[node].parent != made.body();
      if (!live[i] && !has_effect && !is_inside) continue;
      for (const NodeId operand : made.operands(node)) live[operand.index] = true;
    }
    Nodes all;
    for (const auto& [parameter, value] : meaning_)
      if (live[parameter.index]) all.push_back(value);
    return all;
  }

  NodeId value(NodeId old) override { return values_.at(old); }
  NodeId length(NodeId old, int axis) override {
    const auto known = lengths_.find(old);
    if (known == lengths_.end()) return b_.length(values_.at(old), axis);
    return known->second[static_cast<size_t>(axis)];
  }
  NodeId shadow(NodeId old) override {
    const auto known = shadows_.find(old);
    return known == shadows_.end() ? NodeId() : known->second;
  }
  bool varies(NodeId old) const override { return recording_.varies(old); }
  NodeId cotangent(NodeId old) override {
    const auto known = cotangents_.find(old);
    return known == cotangents_.end() ? NodeId() : known->second;
  }
  void add(NodeId, NodeId cotangent) override { given_.push_back(cotangent); }
  bool is_masked(NodeId) const override { return false; }
  void mask(NodeId) override {}

 private:
  NodeId parameter(Type type, NodeId meaning) {
    const NodeId made = b_.add_parameter(type, {});
    if (meaning) meaning_.emplace_back(made, meaning);
    return made;
  }
  void add_parameters(NodeId old) {
    const Type type = shadowed_.function.type(old);
    if (values_.contains(old) || type.is_void() || type.is(ir::TypeKind::Label) ||
        type.is(ir::TypeKind::Results))
      return;
    values_[old] = parameter(type, old);
    if (const auto own = shadowed_.shadows.find(old); own != shadowed_.shadows.end())
      shadows_[old] = parameter(shadowed_.function.type(own->second), own->second);
    if (const auto own = shadowed_.lengths.find(old); own != shadowed_.lengths.end())
      for (const NodeId length : own->second) lengths_[old].push_back(parameter(ir::kInt64, length));
    if (!recording_.varies(old)) return;
    Type of_cotangent = type;
    if (type.is(ir::TypeKind::Optional)) of_cotangent = shadowed_.function.module().types.members(type)[0];
    cotangents_[old] = parameter(of_cotangent, {});
  }

  const Shadowed& shadowed_;
  const Recording& recording_;
  ir::Builder b_;
  std::map<NodeId, NodeId> values_;
  std::map<NodeId, NodeId> shadows_;
  std::map<NodeId, NodeId> cotangents_;
  std::map<NodeId, Nodes> lengths_;
  std::vector<std::pair<NodeId, NodeId>> meaning_;
  Nodes given_;
};

}  // namespace

Recording::Recording(const Shadowed& shadowed, NodeId pull)
    : shadowed_(shadowed),
      f_(shadowed.function),
      pull_(pull),
      activity_(f_, f_.attribute(pull, 0)),
      usefulness_(f_, activity_, pull),
      recorded_(f_.node_count()),
      active_(f_.node_count()),
      taped_(f_.node_count()),
      restored_(f_.node_count()),
      loop_of_(f_.region_count(), kNone),
      names_(f_) {
  const int64_t tag = f_.attribute(pull, 0);
  find_path(tag);
  record(tag);
  find_written();
  find_local();
  for (const RegionId region : path_) find_loops(region, kNone);
  for (const RegionId region : path_) find_needs(region);
  cut();
  mark_tapes();
}

void Recording::find_path(int64_t tag) {
  std::set<RegionId> lifted;
  for (uint32_t i = 0; i < f_.node_count(); ++i)
    if (begins(NodeId(i), tag)) lifted.insert(f_[NodeId(i)].parent);
  path_ = {f_[pull_].parent};
  const auto is_outside = [&](RegionId region) { return !f_.encloses(path_.back(), region); };
  while (std::ranges::any_of(lifted, is_outside)) {
    const NodeId owner = f_[path_.back()].owner;
    if (!owner || f_.op(owner) != Op::if_) refuse_derivative(f_, pull_);
    path_.push_back(f_[owner].parent);
  }
}

/// Whether the sweep goes back to a node: what is lifted there, or what runs where the sweep comes there,
/// which may be of nothing that varies.
bool Recording::begins(NodeId node, int64_t tag) const {
  const Op op = f_.op(node);
  return (op == Op::lift || op == Op::back) && f_.attribute(node, 0) == tag;
}

void Recording::record(int64_t tag) {
  bool has_begun = false;
  for (size_t i = path_.size(); i-- > 0;) {
    const NodeId until = i == 0 ? pull_ : f_[path_[i - 1]].owner;
    for (const NodeId node : f_.region_body(path_[i])) {
      if (node == until) break;
      has_begun = has_begun || !ir::walk(f_, node, [&](NodeId inside) {
                    return begins(inside, tag) ? ir::Walk::Stop : ir::Walk::Into;
                  });
      if (!has_begun) continue;
      ir::walk(f_, node, [&](NodeId inside) {
        recorded_[inside.index] = true;
        for (size_t k = 0; k < f_[inside].region_count; ++k) {
          for (const NodeId parameter : f_.region_parameters(f_.region(inside, k)))
            recorded_[parameter.index] = true;
        }
      });
      find_active(node);
    }
  }
}

bool Recording::is_on_path(RegionId region) const { return std::ranges::find(path_, region) != path_.end(); }

bool Recording::is_recorded(NodeId node) const { return recorded_[node.index]; }

bool Recording::varies(NodeId value) const {
  Type type = f_.type(value);
  if (type.is(ir::TypeKind::Optional)) type = f_.module().types.members(type)[0];
  return has_tangents(type) && !type.is_view() && usefulness_.is_useful(value);
}

bool Recording::find_active(NodeId node) {
  const Op op = f_.op(node);
  bool is = false;
  if (op == Op::back && f_.attribute(node, 0) == f_.attribute(pull_, 0))
    return active_[node.index] = usefulness_.is_asked(node);
  if (!f_.type(node).is_void())
    for (const NodeId result : f_.results_of(node)) is = is || varies(result);
  const bool stores = op == Op::write || op == Op::store || op == Op::scatter || op == Op::copy;
  const auto has_shadow = [&](NodeId view) {
    return shadowed_.shadows.contains(view) && usefulness_.is_useful(view);
  };
  is = is || (stores && (has_tangents(f_.type(f_.operand(node, 0))) || clears_bytes(f_, node)) &&
              has_shadow(f_.operand(node, 0)));
  is = is || (op == Op::materialize && has_shadow(node));
  for (size_t i = 0; i < f_[node].region_count; ++i) {
    for (const NodeId inside : f_.region_body(f_.region(node, i)))
      if (find_active(inside)) is = true;
  }
  active_[node.index] = is;
  return is;
}

void Recording::find_written() {
  for (uint32_t i = 0; i < f_.node_count(); ++i) {
    const bool writes = ir::info(f_.op(NodeId(i))).effects.any(ir::effect::Write);
    if (!recorded_[i] || !writes || f_.op(NodeId(i)) == Op::give) continue;
    for (const NodeId operand : f_.operands(NodeId(i)))
      if (is_memory(f_, operand)) written_.insert(names_.memory_of(operand));
  }
}

/// New memory whose names are all windows on it, in the iteration that makes it: the sweep makes its shadow
/// itself.
void Recording::find_local() {
  std::vector<bool> leaves(f_.node_count());
  for (uint32_t i = static_cast<uint32_t>(f_.node_count()); i-- > 0;) {
    const NodeId user(i);
    const bool is_window = is_window_on_memory(f_, user);
    for (const NodeId operand : f_.operands(user)) {
      if (!is_memory(f_, operand)) continue;
      if (!is_window || leaves[i]) leaves[operand.index] = true;
    }
  }
  for (const auto& [view, shadow] : shadowed_.shadows)
    if (f_.op(shadow) == Op::materialize && is_inner(shadow) && !leaves[shadow.index]) local_.insert(shadow);
}

void Recording::find_loops(RegionId region, int around) {
  loop_of_[region.index] = around;
  for (const NodeId node : f_.region_body(region)) {
    if (!recorded_[node.index]) continue;
    int inside = around;
    if (f_.op(node) == Op::for_) find_swapped(node);
    if (ir::is_loop(f_.op(node))) {
      inside = static_cast<int>(loops_.size());
      const bool is_outside_regular = around == kNone || loops_[static_cast<size_t>(around)].is_regular;
      const bool is_counted = f_.op(node) != Op::while_ && is_hoistable(f_.operand(node, 0));
      loops_.push_back({node, around, is_outside_regular && is_counted});
    }
    for (size_t i = 0; i < f_[node].region_count; ++i) find_loops(f_.region(node, i), inside);
  }
}

/// The views that iterations yield in another order, none of them new.
void Recording::find_swapped(NodeId loop) {
  const RegionId region = f_.region(loop);
  if (f_.op(f_.terminator(region)) != Op::yield) return;
  const auto yields = f_.operands(f_.terminator(region));
  Nodes all;
  for (const NodeId parameter : f_.region_parameters(region).subspan(1))
    if (f_.type(parameter).is_view()) all.push_back(parameter);
  const auto yielded = [&](NodeId parameter) {
    return yields[static_cast<size_t>(f_.attribute(parameter, 0)) - 1];
  };
  for (bool changed = true; changed;) {
    const size_t before = all.size();
    std::erase_if(all, [&](NodeId parameter) {
      const bool stays = std::ranges::find(all, yielded(parameter)) != all.end();
      return !stays || std::ranges::count(all, parameter, yielded) != 1;
    });
    changed = all.size() != before;
  }
  if (!all.empty()) swapped_[loop] = all;
}

Nodes Recording::swapped_in(NodeId loop) const {
  const auto known = swapped_.find(loop);
  const auto is_asked = [&](NodeId parameter) { return is_restored(parameter) && !is_taped(parameter); };
  return known != swapped_.end() && std::ranges::any_of(known->second, is_asked) ? known->second : Nodes();
}

/// What a value is computed from in the sweep.
Nodes Recording::made_from(NodeId value) const {
  if (f_.op(value) != Op::param) return {f_.operands(value).begin(), f_.operands(value).end()};
  const NodeId loop = f_[f_[value].parent].owner;
  Nodes all;
  const auto known = swapped_.find(loop);
  if (known == swapped_.end() || f_.attribute(value, 0) == 0) return all;
  for (const NodeId parameter : known->second)
    all.push_back(f_.result(loop, static_cast<size_t>(f_.attribute(parameter, 0)) - 1));
  return all;
}

int Recording::loop_at(NodeId node) const {
  for (size_t i = 0; i < loops_.size(); ++i)
    if (loops_[i].node == node) return static_cast<int>(i);
  return kNone;
}

bool Recording::is_hoistable(NodeId value) const {
  if (!is_inner(value)) return true;
  const ir::OpInfo& card = ir::info(f_.op(value));
  if (!card.effects.pure() || f_.op(value) == Op::param || f_.op(value) == Op::result || card.regions > 0)
    return false;
  return std::ranges::all_of(f_.operands(value), [&](NodeId operand) { return is_hoistable(operand); });
}

Nodes Recording::outside_of(NodeId node) const {
  Nodes all;
  for (size_t i = 0; i < f_[node].region_count; ++i) {
    ir::walk(f_, f_.region(node, i), [&](NodeId inside) {
      for (const NodeId operand : f_.operands(inside)) {
        if (varies(operand) && !f_.encloses(node, operand) && std::ranges::find(all, operand) == all.end())
          all.push_back(operand);
      }
    });
  }
  return all;
}

void Recording::need(NodeId value) {
  if (is_inner(value)) needs_.insert(value);
}

void Recording::need_lengths(NodeId value) {
  if (const auto own = shadowed_.lengths.find(value); own != shadowed_.lengths.end())
    for (const NodeId length : own->second) need(length);
}

void Recording::find_needs(RegionId region) {
  for (const NodeId node : f_.region_body(region)) {
    if (!recorded_[node.index] || !active_[node.index]) continue;
    if (f_.op(node) == Op::back) {
      find_needs_of_back(node);
    } else if (f_[node].region_count > 0) {
      find_needs_of_control(node);
      for (size_t i = 0; i < f_[node].region_count; ++i) find_needs(f_.region(node, i));
    } else if (!ir::info(f_.op(node)).terminator) {
      for (const NodeId value : Needs(shadowed_, *this, node).used()) need(value);
    }
  }
}

void Recording::find_needs_of_back(NodeId node) {
  const RegionId region = f_.region(node);
  ir::walk(f_, region, [&](NodeId inside) {
    const auto operands = f_.operands(inside);
    const bool is_mark = f_.op(inside) == Op::cotangent || f_.op(inside) == Op::give;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (f_.encloses(region, operands[i])) continue;
      const auto shadow = shadowed_.shadows.find(operands[i]);
      if (!is_mark || i > 0) need(operands[i]);
      else if (shadow != shadowed_.shadows.end()) need(shadow->second);
    }
  });
}

void Recording::find_needs_of_control(NodeId node) {
  const Op op = f_.op(node);
  if (op == Op::block) refuse_derivative(f_, node, "the derivative of a function that returns early");
  if (op != Op::while_) need(f_.operand(node, 0));
  for (const NodeId value : outside_of(node)) need_lengths(value);
  if (f_.type(node).is_void()) return;
  for (const NodeId result : f_.results_of(node)) need_lengths(result);
  for (size_t i = 0; i < f_[node].region_count; ++i)
    for (const NodeId parameter : f_.region_parameters(f_.region(node, i))) need_lengths(parameter);
}

/// Whether a value is computed again rather than kept, if what it is made from is there.
bool Recording::is_cheap(NodeId value) const {
  const Op op = f_.op(value);
  const ir::OpInfo& card = ir::info(op);
  if (op == Op::param) {
    const NodeId owner = f_[f_[value].parent].owner;
    if (const auto known = swapped_.find(owner); known != swapped_.end())
      if (std::ranges::find(known->second, value) != known->second.end()) return true;
    return ir::is_counted_loop(f_.op(owner)) && f_.attribute(value, 0) == 0;
  }
  if (op == Op::lift || local_.contains(value)) return true;
  if (op == Op::load || op == Op::read) return !is_written(f_.operand(value, 0));
  if (!card.effects.pure() || card.regions > 0 || f_.type(value).is_void()) return false;
  if (card.elementwise) return !ir::is_long(op);
  switch (op) {
    case Op::result:
    case Op::reduce:
    case Op::scan:
    case Op::arg_reduce:
    case Op::compress:
    case Op::concat:
    case Op::sort:
    case Op::argsort:
    case Op::dot: return false;
    default: return true;
  }
}

int64_t Recording::cost(NodeId value) const {
  Type const type = f_.type(value);
  int64_t bytes = type.is(ir::TypeKind::Optional) ? 16 : kCostOfView;
  if (type.is_scalar()) bytes = static_cast<int64_t>(base::size_of(type.dtype()));
  if (type.is_array()) bytes = kCostOfArray;
  int depth = 0;
  for (int loop = loop_of(f_[value].parent); loop != kNone && depth < kDeepest; ++depth) {
    bytes *= kIterations;
    loop = loops_[static_cast<size_t>(loop)].outer;
  }
  return bytes;
}

void Recording::cut() {
  MinCut graph;
  std::map<NodeId, int> vertices;
  Nodes queue(needs_.begin(), needs_.end());
  for (const NodeId value : queue) vertices[value] = graph.add_vertex(cost(value));
  for (const NodeId value : needs_) graph.add_target(vertices[value]);
  for (size_t i = 0; i < queue.size(); ++i) {
    const NodeId value = queue[i];
    if (!is_cheap(value)) {
      graph.add_source(vertices[value]);
      continue;
    }
    for (const NodeId operand : made_from(value)) {
      if (!is_inner(operand)) continue;
      const auto [known, is_new] = vertices.try_emplace(operand, 0);
      if (is_new) {
        known->second = graph.add_vertex(cost(operand));
        queue.push_back(operand);
      }
      graph.add_edge(known->second, vertices[value]);
    }
  }
  const std::vector<bool> kept = graph.find();
  for (const NodeId value : queue) taped_[value.index] = kept[static_cast<size_t>(vertices[value])];
  for (const NodeId value : needs_) restore(value);
  for (const NodeId value : queue) taped_[value.index] = taped_[value.index] && restored_[value.index];
}

void Recording::restore(NodeId value) {
  if (!is_inner(value) || restored_[value.index]) return;
  restored_[value.index] = true;
  if (taped_[value.index]) return;
  for (const NodeId operand : made_from(value)) restore(operand);
  if (f_.op(value) != Op::param || f_.attribute(value, 0) == 0) return;
  for (const NodeId parameter : swapped_.at(f_[f_[value].parent].owner)) {
    restored_[parameter.index] = true;
    taped_[parameter.index] = false;
  }
}

void Recording::mark_tapes() {
  for (uint32_t i = 0; i < f_.node_count(); ++i) {
    const int loop = loop_of(f_[NodeId(i)].parent);
    if (taped_[i] && loop != kNone) loops_[static_cast<size_t>(loop)].has_tape = true;
  }
  // Where an irregular loop begins on its tape is kept by the loop around.
  for (size_t i = loops_.size(); i-- > 0;) {
    Loop& loop = loops_[i];
    if (f_.op(loop.node) == Op::while_ && active_[loop.node.index]) loop.has_tape = true;
    if (loop.has_tape && !loop.is_regular && loop.outer != kNone)
      loops_[static_cast<size_t>(loop.outer)].has_tape = true;
  }
}

}  // namespace ingot::transform
