#include "transform/arrays/fuse.h"

#include <algorithm>

#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/functions/simplify.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

namespace {

class Fuser : public Rewriter {
 public:
  explicit Fuser(const Function& source)
      : Rewriter(source),
        window_of_(source.node_count()),
        order_(source),
        given_on_(source.node_count()),
        is_more_(source.node_count()),
        is_before_(source.node_count()) {
    for (uint32_t i = 0; i < source.node_count(); ++i) {
      const NodeId id(i);
      const auto operands = source.operands(id);
      if (source.op(id) == Op::materialize) window_of_[i] = id;
      if (is_window(id)) window_of_[i] = window_of_[operands[0].index];
      for (size_t k = 0; k < operands.size(); ++k) {
        const NodeId held = window_of_[operands[k].index];
        const bool only_looks =
            k == 0 && (is_window(id) || source.op(id) == Op::read || source.op(id) == Op::length);
        if (held && !only_looks) given_on_[held.index].push_back(id);
        if (held && !only_looks && !(k == 0 && source.op(id) == Op::load)) is_more_[held.index] = true;
      }
    }
  }

 protected:
  void visit(NodeId id) override {
    const Op op = source_.op(id);
    if (ir::is_loop(op)) copy_before(id);
    if (op == Op::materialize && is_before_[id.index]) return;
    if (op == Op::materialize && is_copy(id)) return bind(id, use(copied(id)));
    if (op != Op::read && op != Op::length) return clone(id);
    const NodeId view = source_.operand(id, 0);
    const NodeId held = window_of_[view.index];
    if (!held || (op == Op::read && !comes_before_all(id, held))) return clone(id);
    const NodeId array = array_in(view);
    bind(id, op == Op::read ? array : b_.make(op, {array}, {source_.attribute(id, 0)}));
  }

 private:
  /// The view that a `materialize` is a copy of; none: it is something else.
  NodeId copied(NodeId made) const {
    const NodeId array = source_.operand(made, 0);
    return source_.op(array) == Op::read ? source_.operand(array, 0) : NodeId();
  }
  /// Copies of arguments that each iteration makes, and only reads, are made once, before the loop.
  void copy_before(NodeId loop) {
    const RegionId body = source_.region(loop, source_[loop].region_count - 1);
    ir::walk(source_, body, [&](NodeId node) {
      if (source_.op(node) == Op::if_ || ir::is_loop(source_.op(node))) return ir::Walk::Past;
      if (source_.op(node) != Op::materialize || is_more_[node.index] || is_before_[node.index])
        return ir::Walk::Into;
      const NodeId from = copied(node);
      if (!from || source_.encloses(loop, from)) return ir::Walk::Into;
      const Root memory = root_of(source_, from);
      if (memory.kind != Root::Kind::Parameter || may_write(source_, body, memory)) return ir::Walk::Into;
      set_location(node);
      bind(node, b_.make(Op::materialize, {b_.make(Op::read, {use(from)})}));
      is_before_[node.index] = true;
      return ir::Walk::Into;
    });
  }
  /// Whether a view may stand for its copy: the copy is only read, elements of it too, and what is copied is
  /// contiguous and stays as it is. Arrays from outside may change at any time, by a signal's handler or by
  /// another thread of Python.
  bool is_copy(NodeId made) {
    const NodeId from = copied(made);
    if (!from || is_more_[made.index]) return false;
    const Root memory = root_of(source_, from);
    if (memory.kind != Root::Kind::Fresh || may_write(source_, source_[made].parent, memory)) return false;
    return is_contiguous(use(from));
  }
  bool is_contiguous(NodeId view) {
    if (b_.function().op(view) == Op::materialize) return true;
    const Type type = b_.function().type(view);
    NodeId distance = b_.index(static_cast<int64_t>(base::size_of(type.dtype())));
    for (int axis = type.rank(); axis-- > 0;) {
      if (b_.make(Op::stride, {view}, {axis}) != distance) return false;
      if (axis > 0) distance = b_.make(Op::multiply, {distance, b_.make(Op::length, {view}, {axis})});
    }
    return true;
  }
  /// Whether a read of a buffer comes before all uses of the buffer, or of windows on it, that are no reads.
  bool comes_before_all(NodeId read, NodeId buffer) const {
    // Of all iterations of the loops that are around the read but not around the buffer.
    uint32_t until = order_.begin[read.index];
    for (RegionId at = source_[read].parent; at != source_[buffer].parent;
         at = source_[source_[at].owner].parent) {
      const Op owner = source_.op(source_[at].owner);
      if (owner != Op::if_ && owner != Op::block) until = order_.end[source_[at].owner.index];
    }
    return std::ranges::all_of(given_on_[buffer.index],
                               [&](NodeId user) { return order_.begin[user.index] >= until; });
  }
  /// A view of a view, by an op that arrays have as well.
  bool is_window(NodeId id) const {
    const ir::OpInfo& card = ir::info(source_.op(id));
    return source_.type(id).is_view() && card.stage == ir::Stage::Array && card.effects.pure() &&
           source_.type(source_.operand(id, 0)).is_view();
  }
  NodeId array_in(NodeId view) {
    const NodeId first = source_.operand(view, 0);
    if (source_.op(view) == Op::materialize) return use(first);
    Nodes operands = use_all(source_.operands(view));
    operands[0] = array_in(first);
    return b_.make(source_.op(view), operands, source_.attributes(view));
  }

  Nodes window_of_;  ///< by view: the materialize that it is a window on
  ir::NodeOrder order_;
  std::vector<Nodes> given_on_;  ///< by materialize: what does more than look at its buffer
  std::vector<bool> is_more_;    ///< by materialize: something does more than read its buffer
  std::vector<bool> is_before_;  ///< ... it is made before the loop that it is in
};

}  // namespace

std::unique_ptr<ir::Function> fuse(const ir::Function& function) { return dce(*Fuser(function).run()); }

}  // namespace ingot::transform
