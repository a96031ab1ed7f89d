#include "transform/loops/lifetimes.h"

#include <algorithm>
#include <vector>

#include "ir/annotation.h"
#include "ir/builder.h"
#include "ir/calls.h"

namespace ingot::transform {

namespace {

using ir::Function;
using ir::Life;
using ir::NodeId;
using ir::Op;
using ir::Type;
using ir::TypeKind;

/// Of what a function may have on the stack: the part that one array may take, and that of a function with
/// many activations.
constexpr int64_t kPartOfOne = 8;
constexpr int64_t kPartOfRecursive = 64;

class Lifetimes {
 public:
  Lifetimes(const Function& function, const base::Machine& machine)
      : f_(function),
        most_on_stack_(machine.stack_bytes),
        is_device_(machine.has_kernels()),
        root_(f_.node_count()),
        life_(f_.node_count(), Life::Stack) {
    for (uint32_t i = 0; i < f_.node_count(); ++i)
      if (f_.op(NodeId(i)) == Op::alloc) allocs_.emplace_back(i);
  }

  std::unique_ptr<Function> run() {
    if (allocs_.empty()) return nullptr;
    for (uint32_t i = 0; i < f_.node_count(); ++i) look_at(NodeId(i));
    bound_stack();
    ir::Annotation annotation(f_);
    for (const NodeId alloc : allocs_) annotation.set(alloc, 0, static_cast<int64_t>(life_[alloc.index]));
    return annotation.finish();
  }

 private:
  bool is_memory(Type type) const {
    if (type.is_view() || type.is_buffer()) return true;
    const bool is_compound = type.is(TypeKind::Results) || type.is(TypeKind::Optional);
    return is_compound && std::ranges::any_of(f_.module().types.members(type),
                                              [&](Type member) { return is_memory(member); });
  }
  void live(NodeId alloc, Life life) { life_[alloc.index] = std::min(life_[alloc.index], life); }

  int64_t size_of(NodeId alloc) const {
    const NodeId bytes = f_.operand(alloc, 0);
    return f_.is_constant(bytes) ? f_.constant(bytes).as<int64_t>() : -1;
  }

  bool is_in_launch(NodeId id) const {
    NodeId around = f_[f_[id].parent].owner;
    while (around && f_.op(around) != Op::launch) around = f_[f_[around].parent].owner;
    return static_cast<bool>(around);
  }

  /// Memory that the host of a device has itself.
  bool is_of_host(NodeId alloc) const {
    return is_device_ && f_.attribute(alloc, 0) == static_cast<int64_t>(Life::Stack) && !is_in_launch(alloc);
  }

  void look_at(NodeId id) {
    const ir::OpInfo& card = ir::info(f_.op(id));
    const auto operands = f_.operands(id);
    const Type type = f_.type(id);
    if (f_.op(id) == Op::alloc) {
      if (!is_of_host(id)) root_[id.index] = id;
      const int64_t size = size_of(id);
      if (is_of_host(id)) return;
      if (size < 0 || size > most_on_stack_ / kPartOfOne || (is_device_ && !is_in_launch(id)))
        live(id, Life::Region);
    }
    const bool is_window = (type.is_view() || type.is_buffer()) && !operands.empty() && card.effects.pure() &&
                           (f_.type(operands[0]).is_view() || f_.type(operands[0]).is_buffer());
    if (is_window) root_[id.index] = root_[operands[0].index];
    const bool gives_on_all = card.terminator || card.regions > 0 || is_memory(type);
    for (size_t k = 0; k < operands.size(); ++k) {
      const NodeId from = root_[operands[k].index];
      if (!from) continue;
      if (f_.op(id) == Op::yield && gives_on(id, k, from)) continue;
      const bool by_element =
          k == 0 && (f_.op(id) == Op::load || f_.op(id) == Op::store || f_.op(id) == Op::stream);
      const bool views = k == 0 && f_.op(id) == Op::view;
      if (!by_element && !views) live(from, Life::Region);
      if (card.effects.any(ir::effect::Host | ir::effect::Sync)) live(from, Life::Lent);
      if (!is_window && (gives_on_all || ir::may_keep(f_, id))) live(from, Life::Call);
    }
  }

  /// Whether the arm of an `if` that a yield ends only passes on a buffer that was there before: the result
  /// is then a view of it.
  bool gives_on(NodeId yield, size_t index, NodeId alloc) {
    const NodeId owner = f_[f_[yield].parent].owner;
    if (!owner || f_.op(owner) != Op::if_) return false;
    if (!f_.encloses(f_[alloc].parent, owner)) return false;
    NodeId& known = root_[f_.result(owner, index).index];
    if (known && known != alloc) return false;
    known = alloc;
    live(alloc, Life::Region);
    return true;
  }

  void bound_stack() {
    const auto is_on_stack = [&](NodeId alloc) { return life_[alloc.index] == Life::Stack; };
    if (std::ranges::none_of(allocs_, is_on_stack)) return;
    const auto own = f_.module().find(f_.name());
    const bool is_recursive = own && ir::recursive_functions(f_.module())[own->index];
    const int64_t most = is_recursive ? most_on_stack_ / kPartOfRecursive : most_on_stack_;
    int64_t all = 0;
    for (const NodeId alloc : allocs_) {
      if (!is_on_stack(alloc) || is_of_host(alloc)) continue;
      const int64_t size = size_of(alloc);
      if (all + size > most) live(alloc, Life::Region);
      else all += size;
    }
  }

  const Function& f_;
  int64_t most_on_stack_;
  bool is_device_;  ///< memory outside of launches is not the stack's
  std::vector<NodeId> allocs_;
  std::vector<NodeId> root_;  ///< what each node is a view of, or the buffer itself; none: of no allocation
  std::vector<Life> life_;    ///< by alloc node
};

}  // namespace

std::unique_ptr<ir::Function> lifetimes(const ir::Function& function, const base::Machine& machine) {
  return Lifetimes(function, machine).run();
}

}  // namespace ingot::transform
