#include "transform/arrays/promote.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/uses.h"
#include "ir/walk.h"
#include "transform/analyses/activity.h"
#include "transform/analyses/alias.h"
#include "transform/analyses/disjoint.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

namespace {

/// One slot of a loop or a branch: its parameters and its result are names of what flows into it.
struct Group {
  bool is_value = true;
  bool has_memory = false;  ///< something looks at single elements
  Nodes members;
};

/// Finds the slots that become values.
class Slots {
 public:
  explicit Slots(const Function& function)
      : f_(function),
        names_(function),
        order_(function),
        base_(function.node_count()),
        uses_(function),
        group_of_(function.node_count(), kNone) {
    for (uint32_t i = 0; i < f_.node_count(); ++i) {
      if (f_.type(NodeId(i)).is_view()) base_[i] = base_of(NodeId(i));
      find_groups(NodeId(i));
    }
    find_written();
    for (Group& group : groups_)
      if (written_.contains(names_.memory_of(group.members[0]))) group.is_value = false;
    for (uint32_t i = 0; i < f_.node_count(); ++i) look_at(NodeId(i));
    while (drop()) {
    }
  }

  bool any() const { return std::ranges::any_of(groups_, &Group::is_value); }
  /// The slot that a value is a member of, if it becomes a value; null: none.
  const Group* group_of(NodeId value) const {
    const int at = group_of_[value.index];
    return at == kNone || !group(at).is_value ? nullptr : &group(at);
  }
  /// The member that a value is a name of, layout and all; none: of none.
  NodeId member(NodeId value) const {
    const bool is_same = is_direct(value);
    return is_same && group_of(base_[value.index]) ? base_[value.index] : NodeId();
  }
  /// Whether only a view of its layout uses a part of a member.
  bool is_part(NodeId node) const {
    const Op op = f_.op(node);
    return (op == Op::buffer || op == Op::offset || op == Op::stride) && member(f_.operand(node, 0));
  }

 private:
  static constexpr int kNone = -1;

  const Group& group(int at) const { return groups_[static_cast<size_t>(at)]; }

  NodeId base_of(NodeId view) const {
    const ir::OpInfo& card = ir::info(f_.op(view));
    const bool is_window = card.effects.pure() && card.stage == ir::Stage::Array &&
                           !f_.operands(view).empty() && f_.type(f_.operand(view, 0)).is_view();
    if (is_window) return base_[f_.operand(view, 0).index];
    if (f_.op(view) != Op::view) return view;
    const NodeId same = laid_out_as(f_, view);
    return same ? base_[same.index] : view;
  }
  bool is_direct(NodeId value) const {
    if (!f_.type(value).is_view() || !base_[value.index]) return false;
    NodeId at = value;
    while (at != base_[value.index]) {
      if (f_.op(at) != Op::view) return false;
      at = laid_out_as(f_, at);
    }
    return true;
  }

  void add_group(Nodes members) {
    const Type type = f_.type(members[0]);
    if (!type.is_view() || !has_tangents(type) || type.rank() == 0) return;
    for (const NodeId member : members) group_of_[member.index] = static_cast<int>(groups_.size());
    groups_.push_back({.is_value = true, .has_memory = false, .members = std::move(members)});
  }
  void find_groups(NodeId node) {
    const Op op = f_.op(node);
    if ((op != Op::for_ && op != Op::while_ && op != Op::if_) || f_.type(node).is_void()) return;
    const Nodes results = f_.results_of(node);
    for (size_t i = 0; i < results.size(); ++i) {
      if (op == Op::if_) add_group({results[i]});
      else if (op == Op::for_) add_group({f_.region_parameters(f_.region(node))[i + 1], results[i]});
      else add_group({f_.region_parameters(f_.region(node, 1))[i], results[i]});
    }
    if (op != Op::while_) return;
    for (const NodeId tested : f_.region_parameters(f_.region(node))) add_group({tested});
  }

  /// The value whose slot an operand flows into; none: it flows into none.
  NodeId target(NodeId user, size_t i) const {
    const Op op = f_.op(user);
    if (op == Op::for_) return i == 0 ? NodeId() : f_.region_parameters(f_.region(user))[i];
    if (op == Op::while_) return f_.region_parameters(f_.region(user))[i];
    if (op != Op::yield) return {};
    const RegionId region = f_[user].parent;
    const NodeId owner = f_[region].owner;
    if (f_.op(owner) == Op::for_) return f_.region_parameters(region)[i + 1];
    if (f_.op(owner) == Op::if_) return f_.result(owner, i);
    if (f_.op(owner) != Op::while_) return {};
    if (region == f_.region(owner, 1)) return f_.region_parameters(f_.region(owner))[i];
    return i == 0 ? NodeId() : f_.region_parameters(f_.region(owner, 1))[i - 1];
  }
  bool flows(NodeId user, size_t i) const {
    const NodeId to = target(user, i);
    return to && group_of(to);
  }

  /// Whether the operands of a node have other names after it.
  bool hands_on(NodeId user) const { return f_[user].region_count > 0 || ir::info(f_.op(user)).terminator; }

  /// Memory that is written to, other than by the region that makes it before it yields it.
  void find_written() {
    std::map<NodeId, Nodes> handed;
    for (uint32_t i = 0; i < f_.node_count(); ++i) {
      if (!hands_on(NodeId(i))) continue;
      for (const NodeId operand : f_.operands(NodeId(i)))
        if (is_memory(f_, operand)) handed[memory_of(f_, operand)].emplace_back(i);
    }
    for (uint32_t i = 0; i < f_.node_count(); ++i) {
      const NodeId node(i);
      if (!ir::effects_of(f_, node).any(ir::effect::Write) || f_[node].region_count > 0) continue;
      if (f_.op(node) == Op::give) continue;
      const auto operands = f_.operands(node);
      const bool is_wide = f_.op(node) == Op::call || ir::info(f_.op(node)).effects.any(ir::effect::Sync);
      const bool is_store = !is_wide && !operands.empty() && f_.type(operands[0]).is_view();
      if (const NodeId made = is_store ? memory_of(f_, operands[0]) : node; f_.op(made) == Op::materialize) {
        const bool is_before = std::ranges::all_of(handed[made], [&](NodeId to) {
          return f_[to].parent == f_[made].parent && order_.begin[i] < order_.begin[to.index];
        });
        if (is_before) continue;
      }
      for (const NodeId operand : operands)
        if (is_memory(f_, operand)) written_.insert(names_.memory_of(operand));
    }
  }

  void look_at(NodeId user) {
    const Op op = f_.op(user);
    const auto operands = f_.operands(user);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!f_.type(operands[i]).is_view()) continue;
      const int at = group_of_[base_[operands[i].index].index];
      if (at == kNone) continue;
      Group& its = groups_[static_cast<size_t>(at)];
      if (op == Op::load || op == Op::pull) its.has_memory = true;
      if (!is_look(user, operands[i]))
        its.is_value = its.is_value && target(user, i) && is_direct(operands[i]);
    }
  }
  bool is_look(NodeId user, NodeId operand) const {
    const Op op = f_.op(user);
    if (op == Op::read || op == Op::load || op == Op::length || op == Op::pull) return true;
    if (f_.type(user).is_view()) return base_[user.index] == base_[operand.index];
    if (op != Op::buffer && op != Op::offset && op != Op::stride) return false;
    return std::ranges::all_of(uses_.of(user), [&](NodeId each) {
      return f_.op(each) == Op::view && base_[each.index] == base_[operand.index];
    });
  }

  /// A slot that flows into one that is no value is none; whether there was one.
  bool drop() {
    bool any = false;
    for (Group& one : groups_) {
      if (!one.is_value || !flows_elsewhere(one)) continue;
      one.is_value = false;
      any = true;
    }
    return any;
  }
  bool flows_elsewhere(const Group& one) const {
    for (uint32_t i = 0; i < f_.node_count(); ++i) {
      const auto operands = f_.operands(NodeId(i));
      for (size_t k = 0; k < operands.size(); ++k) {
        if (!f_.type(operands[k]).is_view() || !target(NodeId(i), k) || flows(NodeId(i), k)) continue;
        if (std::ranges::find(one.members, base_[operands[k].index]) != one.members.end()) return true;
      }
    }
    return false;
  }

  const Function& f_;
  Activity names_;
  ir::NodeOrder order_;
  Nodes base_;  ///< by view: what it is a window on
  ir::Uses uses_;
  std::vector<int> group_of_;
  std::vector<Group> groups_;
  std::set<uint32_t> written_;
};

class Promoter : public Rewriter {
 public:
  Promoter(const Function& source, const Slots& slots)
      : Rewriter(source), slots_(slots), arrays_(source.node_count()) {}

 private:
  void bind(NodeId old, NodeId made) override {
    const Group* const group = slots_.group_of(old);
    if (group == nullptr) return Rewriter::bind(old, made);
    arrays_[old.index] = made;
    Rewriter::bind(old, group->has_memory ? b_.make(Op::materialize, {made}) : made);
  }

  void visit(NodeId id) override {
    const Op op = source_.op(id);
    if (slots_.is_part(id)) return;
    if (const NodeId member = op == Op::view ? slots_.member(id) : NodeId())
      return Rewriter::bind(id, use(member));
    if (op == Op::read) {
      const NodeId of = source_.operand(id, 0);
      if (slots_.member(of) || b_.function().type(use(of)).is_array())
        return Rewriter::bind(id, array_of(of));
    }
    if (op == Op::for_ || op == Op::while_ || op == Op::if_) return visit_control(id);
    clone(id);
  }

  NodeId array_of(NodeId old) {
    if (const NodeId member = slots_.member(old)) return arrays_[member.index];
    const NodeId made = use(old);
    return b_.function().type(made).is_array() ? made : b_.make(Op::read, {made});
  }
  Type type_of(NodeId old) const {
    return slots_.group_of(old) ? source_.type(old).as_array() : source_.type(old);
  }
  /// What flows into the last slots.
  Nodes flowing(std::span<const NodeId> olds, std::span<const NodeId> slots) {
    Nodes all;
    const size_t fixed = olds.size() - slots.size();
    for (size_t i = 0; i < olds.size(); ++i)
      all.push_back(i >= fixed && slots_.group_of(slots[i - fixed]) ? array_of(olds[i]) : use(olds[i]));
    return all;
  }
  std::span<const NodeId> entries(NodeId id, size_t region) const {
    return source_.region_parameters(source_.region(id, region)).subspan(source_.op(id) == Op::for_ ? 1 : 0);
  }

  void visit_control(NodeId id) {
    const Op op = source_.op(id);
    const Nodes results = source_.type(id).is_void() ? Nodes() : source_.results_of(id);
    const Nodes operands =
        op == Op::if_ ? use_all(source_.operands(id)) : flowing(source_.operands(id), entries(id, 0));
    std::vector<Type> types;
    if (ir::info(op).typed)
      for (const NodeId result : results) types.push_back(type_of(result));
    const ir::SpanId location = b_.span();
    const NodeId made = b_.begin(op, operands, source_.attributes(id), types);
    for (size_t i = 0; i < ir::info(op).regions; ++i) {
      const RegionId region = source_.region(id, i);
      const auto parameters = source_.region_parameters(region);
      std::vector<Type> entered;
      for (const NodeId parameter : parameters) entered.push_back(type_of(parameter));
      const Nodes inside = b_.enter(made, i, entered);
      for (size_t k = 0; k < parameters.size(); ++k) bind(parameters[k], inside[k]);
      clone_body(region);
    }
    b_.set_span(location);
    const Nodes given = b_.end(made);
    for (size_t i = 0; i < results.size(); ++i) bind(results[i], given[i]);
  }

  void terminate(NodeId terminator) override {
    const NodeId owner = source_[source_[terminator].parent].owner;
    if (source_.op(terminator) != Op::yield || !owner) return Rewriter::terminate(terminator);
    const Op around = source_.op(owner);
    if (around != Op::for_ && around != Op::while_ && around != Op::if_)
      return Rewriter::terminate(terminator);
    Nodes slots;
    if (around == Op::if_ && !source_.type(owner).is_void()) slots = source_.results_of(owner);
    if (around != Op::if_) {
      const bool is_test = around == Op::while_ && source_[terminator].parent == source_.region(owner);
      const auto targets = entries(owner, is_test ? 1 : 0);
      slots.assign(targets.begin(), targets.end());
    }
    b_.terminate(Op::yield, flowing(source_.operands(terminator), slots), source_.attributes(terminator));
  }

  const Slots& slots_;
  Nodes arrays_;  ///< by old member
};

}  // namespace

std::unique_ptr<Function> promote(const Function& function) {
  const Slots slots(function);
  return slots.any() ? Promoter(function, slots).run() : nullptr;
}

}  // namespace ingot::transform
