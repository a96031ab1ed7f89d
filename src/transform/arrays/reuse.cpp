#include "transform/arrays/reuse.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "ir/uses.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/functions/simplify.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

namespace {

/// A slot of a loop whose memory is used again.
struct Reused {
  NodeId loop;
  size_t slot;
  NodeId view;   ///< of the old array, with the shape that all of them have
  NodeId made;   ///< the `materialize` of the new one
  bool is_sole;  ///< nothing else holds what the loop begins with
};

class Finder {
 public:
  explicit Finder(const Function& function)
      : f_(function), order_(ir::NodeOrder(function).begin), uses_(function) {}

  std::vector<Reused> find() {
    std::vector<Reused> found;
    for (uint32_t i = 0; i < f_.node_count(); ++i) {
      const NodeId loop(i);
      if (f_.op(loop) != Op::for_) continue;
      for (size_t slot = 0; slot + 1 < f_.operands(loop).size(); ++slot)
        if (const auto reused = judge(loop, slot)) found.push_back(*reused);
    }
    return found;
  }

 private:
  bool is_memory(NodeId node) const { return f_.type(node).is_view() || f_.type(node).is_buffer(); }

  std::optional<Reused> judge(NodeId loop, size_t slot) {
    const RegionId body = f_.region(loop);
    const NodeId parameter = f_.region_parameters(body)[slot + 1];
    const NodeId last = f_.terminator(body);
    if (!f_.type(parameter).is_view() || f_.op(last) != Op::yield) return std::nullopt;
    const NodeId made = f_.operand(last, slot);
    if (f_.op(made) != Op::materialize || f_[made].parent != body) return std::nullopt;
    const NodeId view = view_with_shape(parameter, loop);
    if (!view || f_.type(view) != f_.type(made)) return std::nullopt;
    const auto before = [&](NodeId user) { return order_[user.index] < order_[made.index]; };
    if (!only_looked_at(parameter, before)) return std::nullopt;
    const auto inside = [&](NodeId user) { return f_.encloses(body, user); };
    if (std::ranges::count(f_.operands(last), made) != 1 || !only_looked_at(made, inside, last))
      return std::nullopt;
    pointwise_.clear();
    reads_.clear();
    if (!is_pointwise(f_.operand(made, 0), parameter)) return std::nullopt;
    const bool sole = is_sole(loop, slot);
    if (!sole && may_write(body, root_of(f_, f_.operand(loop, slot + 1)))) return std::nullopt;
    return Reused{loop, slot, view, made, sole};
  }

  /// The view that `simplify` has replaced a parameter by, if its lengths and strides are from outside the
  /// loop; so all iterations keep the shape.
  NodeId view_with_shape(NodeId parameter, NodeId loop) const {
    NodeId found;
    for (const NodeId user : uses_.of(parameter)) {
      if (f_.op(user) == Op::offset) continue;
      if (f_.op(user) != Op::buffer) return {};
      for (const NodeId view : uses_.of(user)) {
        if (f_.op(view) != Op::view || (found && found != view)) return {};
        found = view;
      }
    }
    if (!found || !is_offset_of(f_.operand(found, 1), parameter)) return {};
    for (const NodeId part : f_.operands(found).subspan(2))
      if (!f_.is_constant(part) && f_.encloses(loop, part)) return {};
    return found;
  }
  bool is_offset_of(NodeId node, NodeId view) const {
    return f_.op(node) == Op::offset && f_.operand(node, 0) == view;
  }

  /// Whether memory is only read and written to, by nodes that `allows` lets pass; apart from one node.
  template <class Allows>
  bool only_looked_at(NodeId memory, const Allows& allows, NodeId but = {}) const {
    return std::ranges::all_of(uses_.of(memory), [&](NodeId user) {
      if (user == but) return true;
      if (!allows(user)) return false;
      const ir::OpInfo& card = ir::info(f_.op(user));
      if (card.regions > 0 || card.terminator) return false;
      if (card.effects.pure()) return !is_memory(user) || only_looked_at(user, allows, but);
      switch (f_.op(user)) {
        case Op::read:
        case Op::load: return true;
        case Op::write:
        case Op::store:
          return f_.operand(user, 0) == memory && std::ranges::count(f_.operands(user), memory) == 1;
        default: return false;
      }
    });
  }

  /// Whether only elementwise ops use what is read of memory to compute an array.
  bool is_pointwise(NodeId array, NodeId parameter) {
    const Op op = f_.op(array);
    if (!f_.type(array).is_array()) return true;
    if (op == Op::read) return !reads_part(array, parameter);
    const bool same_place = ir::info(op).elementwise || op == Op::cast || op == Op::select;
    const auto known = pointwise_.find(array.index);
    if (known != pointwise_.end()) return known->second;
    const bool result = same_place ? std::ranges::all_of(f_.operands(array),
                                                         [&](NodeId x) { return is_pointwise(x, parameter); })
                                   : !reads(array, parameter);
    return pointwise_[array.index] = result;
  }
  bool reads_part(NodeId read, NodeId parameter) const {
    const NodeId view = f_.operand(read, 0);
    return is_of(view, parameter) && f_.op(view) != Op::view;
  }
  /// Whether memory is that of a parameter, by pure nodes.
  bool is_of(NodeId memory, NodeId parameter) const {
    for (;;) {
      if (memory == parameter) return true;
      const bool goes_on = ir::info(f_.op(memory)).effects.pure() && !f_.operands(memory).empty() &&
                           is_memory(f_.operand(memory, 0));
      if (!goes_on) return false;
      memory = f_.operand(memory, 0);
    }
  }
  bool reads(NodeId node, NodeId parameter) {
    if (f_.op(node) == Op::read || f_.op(node) == Op::load) return is_of(f_.operand(node, 0), parameter);
    if (f_[node].region_count > 0 || f_.op(node) == Op::result) return true;
    const auto known = reads_.find(node.index);
    if (known != reads_.end()) return known->second;
    const bool result = std::ranges::any_of(f_.operands(node), [&](NodeId x) { return reads(x, parameter); });
    return reads_[node.index] = result;
  }

  /// Whether what a loop begins with is new memory that is not used from the loop on.
  bool is_sole(NodeId loop, size_t slot) const {
    const NodeId init = f_.operand(loop, slot + 1);
    if (f_.op(init) != Op::materialize || f_[init].parent != f_[loop].parent) return false;
    if (std::ranges::count(f_.operands(loop), init) != 1) return false;
    return only_looked_at(init, [&](NodeId user) { return order_[user.index] < order_[loop.index]; }, loop);
  }

  /// Whether nodes of a region may write to memory that others hold too.
  bool may_write(RegionId region, const Root& memory) const {
    return ir::any_within(f_, region, [&](NodeId node) {
      if (f_[node].region_count > 0) return false;
      if (f_.op(node) == Op::write || f_.op(node) == Op::store)
        return may_overlap(f_, root_of(f_, f_.operand(node, 0)), memory);
      return ir::effects_of(f_, node).any(ir::effect::Write | ir::effect::Host | ir::effect::Sync);
    });
  }

  const Function& f_;
  std::vector<uint32_t> order_;  ///< by node: its position in the program
  ir::Uses uses_;
  std::map<uint32_t, bool> pointwise_;  ///< by array
  std::map<uint32_t, bool> reads_;
};

class Reuser : public Rewriter {
 public:
  Reuser(const Function& source, std::vector<Reused> reused) : Rewriter(source), reused_(std::move(reused)) {}

 protected:
  void visit(NodeId id) override {
    if (source_.op(id) == Op::for_) prepare(id);
    const auto made = std::ranges::find(reused_, id, &Reused::made);
    if (made == reused_.end()) return clone(id);
    b_.make(Op::write, {use(made->view), use(source_.operand(id, 0))});
    bind(id, use(made->view));
  }
  bool keeps(NodeId id, Slot, size_t slot) override {
    return std::ranges::none_of(reused_,
                                [&](const Reused& each) { return each.loop == id && each.slot == slot; });
  }

 private:
  /// Binds the slots of a loop to memory that all iterations share.
  void prepare(NodeId loop) {
    for (const Reused& each : reused_) {
      if (each.loop != loop) continue;
      const NodeId init = use(source_.operand(loop, each.slot + 1));
      const NodeId memory = each.is_sole ? init : copy(init, use(source_.operand(loop, 0)));
      bind(source_.region_parameters(source_.region(loop))[each.slot + 1], memory);
      bind(source_.result(loop, each.slot), memory);
    }
  }
  /// A copy, if there are iterations.
  NodeId copy(NodeId view, NodeId count) {
    const Type type = b_.function().type(view);
    const NodeId any = b_.make(Op::less, {b_.index(0), count});
    const auto copied = [&] { return b_.make(Op::materialize, {b_.make(Op::read, {view})}); };
    if (b_.function().is_constant(any)) return b_.function().constant(any).bits[0] != 0 ? copied() : view;
    const NodeId choice = b_.begin(Op::if_, {&any, 1}, {}, std::array{type});
    b_.enter(choice, 0, {});
    b_.yield({copied()});
    b_.enter(choice, 1, {});
    b_.yield({view});
    return b_.end(choice)[0];
  }

  std::vector<Reused> reused_;
};

}  // namespace

std::unique_ptr<ir::Function> reuse(const ir::Function& function) {
  std::vector<Reused> found = Finder(function).find();
  const bool any = !found.empty();
  std::unique_ptr<Function> made = Reuser(function, std::move(found)).run();
  return any ? simplify(*made) : std::move(made);
}

}  // namespace ingot::transform
