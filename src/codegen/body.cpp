#include "codegen/body.h"

namespace ingot::codegen {

Body::Body(Unit& unit, const ir::Function& source, llvm::Function* target, FloatStates states)
    : unit_(unit),
      source_(source),
      target_(target),
      states_(states),
      b_(llvm::BasicBlock::Create(unit.context, "entry", target)),
      scalars_(unit, b_, source.relaxations(), states),
      parts_(source.node_count() / kPage + 1) {}

std::optional<Parts> Body::emit_region(RegionId region, const Parts& arguments) {
  size_t at = 0;
  for (NodeId parameter : source_.region_parameters(region)) {
    const size_t count = unit_.part_count(source_.type(parameter));
    set(parameter, Parts(arguments.begin() + at, arguments.begin() + at + count));
    at += count;
  }
  return emit_nodes(region);
}

std::optional<Parts> Body::emit_nodes(RegionId region) {
  for (NodeId node : source_.region_body(region)) emit_node(node);
  const NodeId last = source_.terminator(region);
  if (source_.op(last) != ir::Op::yield) return std::nullopt;
  release_buffers(region, last);
  return gather(source_.operands(last));
}

std::optional<ir::Life> Body::life_of(NodeId node) const {
  if (source_.op(node) != ir::Op::alloc) return std::nullopt;
  return static_cast<ir::Life>(source_.attribute(node, 0));
}

void Body::release_buffers(RegionId region, NodeId end) {
  for (NodeId node : source_.region_body(region)) {
    if (node == end) return;
    if (const auto life = life_of(node); life == ir::Life::Region || life == ir::Life::Lent)
      release(value(node));
  }
}

#define STRUCT_Both(name) emit_##name(id);
#define STRUCT_Array(name) fail_not_lowered("the array op " #name);
#define STRUCT_Loop(name) emit_##name(id);

void Body::emit_node(NodeId id) {
  switch (source_.op(id)) {
#define OP(name, ...) \
  break;              \
  case ir::Op::name: emit_elementwise(id);
#define STRUCT(name, stage, effects) \
  break;                             \
  case ir::Op::name: STRUCT_##stage(name)
#include "ir/ops.def"
  }
}

Parts Body::gather(std::span<const NodeId> nodes) const {
  Parts all;
  for (NodeId node : nodes) all.append(parts(node));
  return all;
}

Body::Block* Body::new_block(const char* name) { return Block::Create(unit_.context, name, target_); }

Body::Join Body::new_join(const char* name) { return {new_block(name), {}}; }

void Body::arrive(Join& join, const Parts& parts) {
  join.incoming.emplace_back(here(), parts);
  b_.CreateBr(join.block);
}

Parts Body::close(Join& join, const Types& types) {
  b_.SetInsertPoint(join.block);
  Parts merged;
  for (size_t i = 0; i < types.size(); ++i) {
    if (join.incoming.empty()) {
      // Control never gets here: the code that follows is dead.
      merged.push_back(llvm::PoisonValue::get(types[i]));
      continue;
    }
    llvm::PHINode* const phi = b_.CreatePHI(types[i], static_cast<unsigned>(join.incoming.size()));
    for (const auto& [block, parts] : join.incoming) phi->addIncoming(parts[i], block);
    merged.push_back(phi);
  }
  return merged;
}

Parts Body::phis(const Types& types, unsigned incoming) {
  Parts all;
  for (llvm::Type* type : types) all.push_back(b_.CreatePHI(type, incoming));
  return all;
}

void Body::add_incoming(const Parts& phis, const Parts& values) {
  for (size_t i = 0; i < phis.size(); ++i) llvm::cast<llvm::PHINode>(phis[i])->addIncoming(values[i], here());
}

}  // namespace ingot::codegen
