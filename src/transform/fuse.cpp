#include "transform/fuse.h"

#include "transform/rewriter.h"
#include "transform/simplify.h"

namespace ingot::transform {

namespace {

class Fuser : public Rewriter {
 public:
  explicit Fuser(const Function& source) : Rewriter(source), window_of_(source.node_count()) {
    std::vector<bool> only_read(source.node_count(), true);
    for (uint32_t i = 0; i < source.node_count(); ++i) {
      const NodeId id(i);
      const auto operands = source.operands(id);
      if (source.op(id) == Op::materialize) window_of_[i] = id;
      if (is_window(id)) window_of_[i] = window_of_[operands[0].index];
      for (size_t k = 0; k < operands.size(); ++k) {
        const NodeId held = window_of_[operands[k].index];
        const bool only_looks =
            k == 0 && (is_window(id) || source.op(id) == Op::read || source.op(id) == Op::length);
        if (held && !only_looks) only_read[held.index] = false;
      }
    }
    for (NodeId& held : window_of_)
      if (held && !only_read[held.index]) held = {};
  }

 protected:
  void visit(NodeId id) override {
    const Op op = source_.op(id);
    const bool looks = (op == Op::read || op == Op::length) && window_of_[source_.operand(id, 0).index];
    if (!looks) return clone(id);
    const NodeId array = array_in(source_.operand(id, 0));
    bind(id, op == Op::read ? array : b_.make(op, {array}, {source_.attribute(id, 0)}));
  }

 private:
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

  Nodes window_of_;  ///< by view: the materialize that it is a window on, if that is only read
};

}  // namespace

std::unique_ptr<ir::Function> fuse(const ir::Function& function) { return dce(*Fuser(function).run()); }

}  // namespace ingot::transform
