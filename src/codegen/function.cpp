#include "codegen/function.h"

#include <algorithm>
#include <functional>

#include "codegen/abi_layout.h"

namespace ingot::codegen {

namespace {

/// Arrays of at most so many bytes may stand on the stack, and so many of all of a function's; fewer where it
/// has many activations.
constexpr int64_t kMostOnStack = 8 << 10;
constexpr int64_t kMostOfAllOnStack = 64 << 10;
constexpr int64_t kMostOfRecursive = 1 << 10;

}  // namespace

void emit_entry(Unit& unit, const ir::Function& source, bool recursive) {
  llvm::Type* const pointer = llvm::PointerType::getUnqual(unit.context);
  auto* const type = llvm::FunctionType::get(llvm::Type::getInt32Ty(unit.context), {pointer, pointer}, false);
  auto* const function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                                entry_symbol(source.name()), unit.module);
  function->setDoesNotThrow();
  FunctionEmitter(unit, source, function, FunctionEmitter::Form::Entry, recursive).emit();
}

void emit_internal(Unit& unit, const ir::Function& source, llvm::Function* target, bool recursive) {
  FunctionEmitter(unit, source, target, FunctionEmitter::Form::Internal, recursive).emit();
}

FunctionEmitter::FunctionEmitter(Unit& unit, const ir::Function& source, llvm::Function* target, Form form,
                                 bool recursive)
    : unit_(unit),
      source_(source),
      target_(target),
      form_(form),
      recursive_(recursive),
      b_(llvm::BasicBlock::Create(unit.context, "entry", target)),
      scalars_(unit, b_, source.relaxations()),
      parts_(source.node_count()) {}

void FunctionEmitter::emit() {
  find_escapes();
  emit_prologue();
  scalars_.set_short(form_ == Form::Entry);  // but for what is in loops
  const Parts parameters = take_parameters();
  emit_region(source_.body(), parameters);
  fence_streams();
}

void FunctionEmitter::emit_prologue() {
  context_ = target_->getArg(0);
  if (unit_.target.machine.vector_bits > 0) {
    const std::string bits = std::to_string(unit_.target.machine.vector_bits);
    target_->addFnAttr("prefer-vector-width", bits);
    target_->addFnAttr("min-legal-vector-width", bits);
  }
  for (unsigned i = 0; i < target_->arg_size(); ++i)
    if (target_->getArg(i)->getType()->isPointerTy() && (i == 0 || form_ == Form::Entry))
      target_->addParamAttr(i, llvm::Attribute::NonNull);
  attention_ = b_.CreateLoad(b_.getPtrTy(), field(context_, abi::kContextAttention));
  if (recursive_) check_stack();
}

Parts FunctionEmitter::take_parameters() {
  Parts all;
  const auto nodes = source_.region_parameters(source_.body());
  if (form_ == Form::Internal) {
    for (unsigned i = 1; i < target_->arg_size(); ++i) all.push_back(target_->getArg(i));
    if (unit_.returns_in_memory(source_.results())) results_ = all.pop_back_val();
    return all;
  }
  results_ = target_->getArg(1);
  for (size_t i = 0; i < nodes.size(); ++i) {
    llvm::Value* const slot = b_.CreateLoad(b_.getPtrTy(), field(results_, 8 * i));
    Parts parts = load_slot(source_.type(nodes[i]), slot);
    fill_in(source_.type(nodes[i]), source_.parameters()[i], parts);
    all.append(parts);
  }
  return all;
}

/// Puts what is known of a view in the place of what is loaded.
void FunctionEmitter::fill_in(ir::Type type, const ir::ParameterInfo& known, Parts& parts) {
  if (!type.is_view() || type.rank() == 0) return;
  const auto rank = static_cast<size_t>(type.rank());
  const size_t inner = known.layout == ir::Layout::C ? rank - 1 : 0;
  if (known.layout != ir::Layout::Any) parts[2 + rank + inner] = b_.getInt64(base::size_of(type.dtype()));
  for (size_t axis = 0; known.ones && axis < rank; ++axis)
    if ((*known.ones >> axis & 1) != 0) parts[2 + axis] = b_.getInt64(1);
  if (known.last > 0) parts[1 + rank] = b_.getInt64(static_cast<uint64_t>(known.last));
}

std::optional<Parts> FunctionEmitter::emit_region(RegionId region, const Parts& arguments) {
  size_t at = 0;
  for (NodeId parameter : source_.region_parameters(region)) {
    const size_t count = unit_.part_count(source_.type(parameter));
    set(parameter, Parts(arguments.begin() + at, arguments.begin() + at + count));
    at += count;
  }
  if (in_lanes()) return emit_nodes_in_lanes(region, source_.region_body(region));
  for (NodeId node : source_.region_body(region)) emit_node(node);
  const NodeId last = source_.terminator(region);
  if (source_.op(last) != ir::Op::yield) return std::nullopt;
  release_buffers(region);
  return gather(source_.operands(last));
}

void FunctionEmitter::find_escapes() {
  const std::function<bool(ir::Type)> is_memory = [&](ir::Type type) {
    return type.is_view() || type.is_buffer() ||
           ((type.is(ir::TypeKind::Results) || type.is(ir::TypeKind::Optional)) &&
            std::ranges::any_of(source_.module().types.members(type), is_memory));
  };
  // What each node is a view of, or the buffer itself; none: of nothing allocated in this function.
  std::vector<NodeId> root(source_.node_count());
  escapes_.assign(source_.node_count(), false);
  handed_.assign(source_.node_count(), false);
  on_stack_.assign(source_.node_count(), false);
  for (uint32_t i = 0; i < source_.node_count(); ++i) {
    const NodeId id(i);
    const ir::OpInfo& card = ir::info(source_.op(id));
    const auto operands = source_.operands(id);
    const ir::Type type = source_.type(id);
    if (source_.op(id) == ir::Op::alloc) {
      root[i] = id;
      const int64_t size =
          source_.is_constant(operands[0]) ? source_.constant(operands[0]).as<int64_t>() : -1;
      on_stack_[i] = size >= 0 && size <= kMostOnStack;
    }
    const bool is_window = (type.is_view() || type.is_buffer()) && !operands.empty() && card.effects.pure() &&
                           (source_.type(operands[0]).is_view() || source_.type(operands[0]).is_buffer());
    if (is_window) root[i] = root[operands[0].index];
    const bool keeps =
        card.terminator || source_.op(id) == ir::Op::keep || card.regions > 0 || is_memory(type);
    for (size_t k = 0; k < operands.size(); ++k) {
      const NodeId from = root[operands[k].index];
      if (!from) continue;
      if (source_.op(id) == ir::Op::yield && gives_on(id, k, from, root)) continue;
      const bool by_element = k == 0 && (source_.op(id) == ir::Op::load || source_.op(id) == ir::Op::store);
      const bool views = k == 0 && source_.op(id) == ir::Op::view;
      if (!by_element && !views) on_stack_[from.index] = false;
      if (!is_window && keeps) escapes_[from.index] = true;
      if (card.effects.any(ir::effect::Host)) handed_[from.index] = true;
    }
  }
  int64_t all = 0;
  for (uint32_t i = 0; i < source_.node_count(); ++i) {
    if (!on_stack_[i]) continue;
    const auto size = source_.constant(source_.operand(NodeId(i), 0)).as<int64_t>();
    on_stack_[i] = all + size <= (recursive_ ? kMostOfRecursive : kMostOfAllOnStack);
    if (on_stack_[i]) all += size;
  }
}

/// Whether the arm of an `if` that a yield ends only gives a buffer on that was there before: what stands for
/// it then, in `root`, is a view of it.
bool FunctionEmitter::gives_on(NodeId yield, size_t index, NodeId alloc, std::vector<NodeId>& root) {
  const NodeId owner = source_[source_[yield].parent].owner;
  if (!owner || source_.op(owner) != ir::Op::if_) return false;
  if (!source_.encloses(source_[alloc].parent, source_[owner].parent)) return false;
  NodeId& known = root[source_.result(owner, index).index];
  if (known && known != alloc) return false;
  known = alloc;
  on_stack_[alloc.index] = false;
  return true;
}

void FunctionEmitter::release_buffers(RegionId region) {
  auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy()}, false);
  for (NodeId node : source_.region_body(region))
    if (source_.op(node) == ir::Op::alloc && !escapes_[node.index] && !on_stack_[node.index])
      b_.CreateCall(unit_.outside("ingot_v1_release", type, false), {context_, value(node)});
}

#define STRUCT_Both(name) emit_##name(id);
#define STRUCT_Array(name) fail_not_lowered("the array op " #name);
#define STRUCT_Loop(name) emit_##name(id);

// Devices, which come later.
#define emit_launch(id) fail_not_lowered("launch")
#define emit_barrier(id) fail_not_lowered("barrier")
#define emit_atomic(id) fail_not_lowered("atomic")

void FunctionEmitter::emit_node(NodeId id) {
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

Parts FunctionEmitter::gather(std::span<const NodeId> nodes) const {
  Parts all;
  for (NodeId node : nodes) all.append(parts(node));
  return all;
}

FunctionEmitter::Block* FunctionEmitter::new_block(const char* name) {
  return Block::Create(unit_.context, name, target_);
}

FunctionEmitter::Join FunctionEmitter::new_join(const char* name) { return {new_block(name), {}}; }

void FunctionEmitter::arrive(Join& join, const Parts& parts) {
  join.incoming.emplace_back(here(), parts);
  b_.CreateBr(join.block);
}

Parts FunctionEmitter::close(Join& join, const Types& types) {
  b_.SetInsertPoint(join.block);
  Parts merged;
  for (size_t i = 0; i < types.size(); ++i) {
    if (join.incoming.empty()) {
      // Nothing arrives: what follows is dead.
      merged.push_back(llvm::PoisonValue::get(types[i]));
      continue;
    }
    llvm::PHINode* const phi = b_.CreatePHI(types[i], static_cast<unsigned>(join.incoming.size()));
    for (const auto& [block, parts] : join.incoming) phi->addIncoming(parts[i], block);
    merged.push_back(phi);
  }
  return merged;
}

Parts FunctionEmitter::phis(const Types& types, unsigned incoming) {
  Parts all;
  for (llvm::Type* type : types) all.push_back(b_.CreatePHI(type, incoming));
  return all;
}

void FunctionEmitter::add_incoming(const Parts& phis, const Parts& values) {
  for (size_t i = 0; i < phis.size(); ++i) llvm::cast<llvm::PHINode>(phis[i])->addIncoming(values[i], here());
}

}  // namespace ingot::codegen
