// Liveness is found optimistically: a value is dead until a node that must stay needs it. So a carried value
// whose only use is to be carried on, wrapped or computed anew for the next iteration, stays dead, as does
// new memory that is only written to.

#include <map>
#include <set>

#include "transform/analyses/alias.h"
#include "transform/functions/simplify.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

namespace {

class Liveness {
 public:
  explicit Liveness(const Function& function) : f_(function), nodes_(function.node_count()) {
    for (uint32_t i = 0; i < f_.node_count(); ++i)
      if (f_.op(NodeId(i)) == Op::exit_) exits_.push_back(NodeId(i));
    for (uint32_t i = 0; i < f_.node_count(); ++i) {
      const NodeId id(i);
      if (const NodeId memory = stored_to(id)) stores_[memory].push_back(id);
      else if (must_stay(id)) need_node(id);
    }
    while (!nodes_waiting_.empty() || !slots_waiting_.empty()) {
      if (nodes_waiting_.empty()) {
        const CarriedValue slot = slots_waiting_.back();
        slots_waiting_.pop_back();
        follow(slot);
      } else {
        const NodeId node = nodes_waiting_.back();
        nodes_waiting_.pop_back();
        follow(node);
      }
    }
  }

  bool is_live(NodeId id) const { return nodes_[id.index]; }
  bool is_live(NodeId owner, Slot slot, size_t i) const { return slots_.contains(named(owner, slot, i)); }

 private:
  /// One slot of a node with regions.
  struct CarriedValue {
    NodeId owner;
    Slot slot;
    size_t index;
    auto operator<=>(const CarriedValue&) const = default;
  };
  /// Those of a `for` are entries and results at once.
  CarriedValue named(NodeId owner, Slot slot, size_t i) const {
    return {owner, f_.op(owner) == Op::while_ ? slot : Slot::Result, i};
  }

  bool must_stay(NodeId id) const {
    const Op op = f_.op(id);
    if (op == Op::while_ || op == Op::unreachable) return true;
    const ir::Effects silent = ir::effect::Read | ir::effect::Allocate | ir::effect::Control;
    return (ir::info(op).effects.bits & ~silent.bits) != 0;
  }
  /// The node that makes the memory that an op stores to, and does nothing else; none: it is not known.
  NodeId stored_to(NodeId id) const {
    const Op op = f_.op(id);
    if (op != Op::store && op != Op::stream && op != Op::write) return {};
    const NodeId memory = memory_of(f_, f_.operand(id, 0));
    return f_.op(memory) == Op::alloc || f_.op(memory) == Op::materialize ? memory : NodeId();
  }
  void need_node(NodeId id) {
    if (nodes_[id.index]) return;
    nodes_[id.index] = true;
    nodes_waiting_.push_back(id);
    if (const auto known = stores_.find(id); known != stores_.end())
      for (const NodeId store : known->second) need_node(store);
  }
  void need_slot(NodeId owner, Slot slot, size_t i) {
    const CarriedValue value = named(owner, slot, i);
    if (slots_.insert(value).second) slots_waiting_.push_back(value);
  }
  void need_value(NodeId id) {
    if (f_.op(id) == Op::result && f_[f_.operand(id, 0)].region_count > 0)
      return need_slot(f_.operand(id, 0), Slot::Result, static_cast<size_t>(f_.attribute(id, 0)));
    if (f_.op(id) == Op::param) return need_parameter(id);
    if (f_[id].region_count > 0) return need_slot(id, Slot::Result, 0);
    need_node(id);
  }
  void need_parameter(NodeId id) {
    const RegionId region = f_[id].parent;
    const NodeId owner = f_[region].owner;
    if (!owner) return;
    const auto index = static_cast<size_t>(f_.attribute(id, 0));
    const Op op = f_.op(owner);
    if (op == Op::while_)
      return need_slot(owner, region == f_.region(owner, 0) ? Slot::Entry : Slot::Result, index);
    if (op == Op::for_ && index > 0) return need_slot(owner, Slot::Result, index - 1);
    need_node(owner);
  }
  void need_yielded(NodeId owner, size_t region, size_t i) {
    const NodeId last = f_.terminator(f_.region(owner, region));
    if (f_.op(last) == Op::yield) need_value(f_.operand(last, i));
  }

  /// What a live node needs: those around it, its operands; of one with regions, what its control flow needs.
  void follow(NodeId id) {
    if (const NodeId owner = f_[f_[id].parent].owner) need_node(owner);
    const Op op = f_.op(id);
    if (op == Op::while_) return need_yielded(id, 0, 0);
    size_t count = f_.operands(id).size();
    if (op == Op::if_ || op == Op::for_ || op == Op::parallel_for || op == Op::exit_) count = 1;
    for (const NodeId operand : f_.operands(id).first(count)) need_value(operand);
  }

  void follow(const CarriedValue& slot) {
    const auto [owner, kind, i] = slot;
    need_node(owner);
    switch (f_.op(owner)) {
      case Op::if_: need_yielded(owner, 0, i); return need_yielded(owner, 1, i);
      case Op::block: {
        need_yielded(owner, 0, i);
        const NodeId label = f_.region_parameters(f_.region(owner))[0];
        for (const NodeId exit : exits_)
          if (f_.operand(exit, 0) == label) need_value(f_.operand(exit, i + 1));
        return;
      }
      case Op::while_:
        if (kind == Slot::Result) return need_yielded(owner, 0, i + 1);
        need_value(f_.operand(owner, i));
        return need_yielded(owner, 1, i);
      default: need_value(f_.operand(owner, i + 1)); return need_yielded(owner, 0, i);
    }
  }

  const Function& f_;
  std::vector<bool> nodes_;
  std::set<CarriedValue> slots_;
  std::map<NodeId, Nodes> stores_;  ///< by what makes memory
  Nodes exits_;
  Nodes nodes_waiting_;
  std::vector<CarriedValue> slots_waiting_;
};

class Eliminator : public Rewriter {
 public:
  explicit Eliminator(const Function& source) : Rewriter(source), liveness_(source) {}

 protected:
  void visit(NodeId id) override {
    if (liveness_.is_live(id)) clone(id);
  }
  bool keeps(NodeId id, Slot slot, size_t i) override { return liveness_.is_live(id, slot, i); }

 private:
  Liveness liveness_;
};

}  // namespace

std::unique_ptr<ir::Function> dce(const ir::Function& function) { return Eliminator(function).run(); }

}  // namespace ingot::transform
