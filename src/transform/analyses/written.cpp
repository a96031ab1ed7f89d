// What an op writes is its first operand; routines fill their last one. What leaves the function - to the
// host, to a callee, to what is linked, to be kept - is written if it may be there.

#include "transform/analyses/written.h"

#include <algorithm>
#include <span>

#include "ir/builder.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"

namespace ingot::transform {

namespace {

using ir::NodeId;
using ir::Op;

/// Whether values of a type may hold memory besides a view's or a buffer's own.
bool holds_memory(const ir::Function& function, ir::Type type) {
  if (type.is_view() || type.is_buffer()) return true;
  const bool is_compound = type.is(ir::TypeKind::Results) || type.is(ir::TypeKind::Optional);
  return is_compound && std::ranges::any_of(function.module().types.members(type),
                                            [&](ir::Type member) { return holds_memory(function, member); });
}

/// Whether it is memory of a block of threads, which a launch is given.
bool is_of_block(const ir::Function& function, const Root& root) {
  if (root.kind != Root::Kind::Unknown || root.number == 0) return false;
  const NodeId node(root.number);
  const NodeId owner = function[function[node].parent].owner;
  return function.op(node) == Op::param && owner && function.op(owner) == Op::launch;
}

std::span<const NodeId> targets_of(const ir::Function& function, NodeId node) {
  const auto operands = function.operands(node);
  if (operands.empty()) return operands;
  switch (function.op(node)) {
    case Op::call:
    case Op::host:
    case Op::c_call:
    case Op::linked:
    case Op::draw:
    case Op::keep: return operands;
    case Op::library: return operands.last(1);
    default: return operands.first(1);
  }
}

}  // namespace

std::vector<bool> written_parameters(const ir::Function& function) {
  std::vector<bool> written(function.parameters().size());
  const auto write = [&](const Root& target) {
    if (is_of_block(function, target)) return;
    for (size_t i = 0; i < written.size(); ++i) {
      const Root own{Root::Kind::Parameter, function.parameters()[i].alias_set};
      written[i] = written[i] || may_overlap(function, target, own);
    }
  };
  ir::walk(function, function.body(), [&](NodeId node) {
    if (ir::info(function.op(node)).effects == ir::effect::Control) return;
    if (!ir::effects_of(function, node).any(ir::effect::Write)) return;
    for (const NodeId target : targets_of(function, node)) {
      if (!holds_memory(function, function.type(target))) continue;
      const bool is_compound = !function.type(target).is_view() && !function.type(target).is_buffer();
      write(is_compound ? Root{} : root_of(function, target));
    }
  });
  return written;
}

}  // namespace ingot::transform
