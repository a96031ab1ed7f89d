#include <llvm/IR/InlineAsm.h>

#include <algorithm>

#include "codegen/abi_layout.h"
#include "codegen/function.h"

namespace ingot::codegen {

using llvm::Value;

/// Where vectors are best aligned.
constexpr uint64_t kLineOfCache = 64;

// A view's parts: address, buffer, lengths, strides.

void FunctionEmitter::emit_length(NodeId id) {
  set(id, {parts(source_.operand(id, 0))[2 + static_cast<size_t>(source_.attribute(id, 0))]});
}

void FunctionEmitter::emit_stride(NodeId id) {
  const NodeId view = source_.operand(id, 0);
  const auto rank = static_cast<size_t>(source_.type(view).rank());
  set(id, {parts(view)[2 + rank + static_cast<size_t>(source_.attribute(id, 0))]});
}

Value* FunctionEmitter::field(Value* base, uint64_t offset) {
  return offset == 0 ? base : b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), base, offset);
}

Value* FunctionEmitter::buffer_data(Value* buffer) {
  llvm::LoadInst* const data = b_.CreateLoad(b_.getPtrTy(), field(buffer, abi::kBufferData));
  data->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(unit_.context, {}));
  return data;
}

Value* FunctionEmitter::allocate(Value* bytes, std::optional<NodeId> alloc) {
  llvm::Type* const pointer = b_.getPtrTy();
  auto* const type = llvm::FunctionType::get(pointer, {pointer, b_.getInt64Ty()}, false);
  const bool is_temporary = alloc && life_of(*alloc) == ir::Life::Region;
  const char* const function = is_temporary ? "ingot_v1_allocate_temporary" : "ingot_v1_allocate";
  Value* const buffer = b_.CreateCall(unit_.outside(function, type, false), {context_, bytes});
  Block* const failed = new_block("no_memory");
  leave_if(b_.CreateIsNull(buffer), failed);
  const auto place = b_.saveIP();
  b_.SetInsertPoint(failed);
  leave_without_memory(alloc);
  b_.restoreIP(place);
  return buffer;
}

void FunctionEmitter::emit_alloc(NodeId id) {
  if (life_of(id) != ir::Life::Stack) return set(id, {allocate(value(source_.operand(id, 0)), id)});
  const int64_t bytes = source_.constant(source_.operand(id, 0)).as<int64_t>();
  Builder at_entry(&target_->getEntryBlock(), target_->getEntryBlock().begin());
  llvm::AllocaInst* const memory =
      at_entry.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), static_cast<uint64_t>(bytes)));
  memory->setAlignment(llvm::Align(kLineOfCache));
  // Nobody has written there, but what is read twice is one number: LLVM is not to know.
  llvm::Type* const pointer = b_.getPtrTy();
  auto* const opaque =
      llvm::InlineAsm::get(llvm::FunctionType::get(pointer, {pointer}, false), "", "=r,0,~{memory}", true);
  set(id, {b_.CreateCall(opaque, {memory})});
}

/// The view of all that a node allocates; none if what says its shape is computed later.
std::optional<FunctionEmitter::NodeId> FunctionEmitter::view_of_new(NodeId alloc) const {
  for (NodeId id(alloc.index + 1); id.index < source_.node_count(); ++id.index) {
    if (source_.op(id) != ir::Op::view || source_.operand(id, 0) != alloc) continue;
    const auto lengths = source_.operands(id).subspan(2, static_cast<size_t>(source_.type(id).rank()));
    const bool known = std::ranges::none_of(lengths, [&](NodeId length) { return parts(length).empty(); });
    if (known && source_[id].parent == source_[alloc].parent && lengths.size() <= abi::kMaxErrorArguments)
      return id;
  }
  return std::nullopt;
}

void FunctionEmitter::leave_without_memory(std::optional<NodeId> alloc) {
  const std::optional<NodeId> view = alloc ? view_of_new(*alloc) : std::nullopt;
  // The callee has described the error, but for the array.
  if (!view)
    return return_status(
        b_.getInt32(static_cast<uint32_t>(abi::status_of(base::ExceptionKind::MemoryError))));
  const ir::Type type = source_.type(*view);
  const auto rank = static_cast<size_t>(type.rank());
  std::string shape;
  for (size_t i = 0; i < rank; ++i) shape += i == 0 ? "{}" : ", {}";
  store_error(*alloc, base::ExceptionKind::MemoryError,
              "Unable to allocate an array with shape (" + shape + (rank == 1 ? ",)" : ")") +
                  " and data type " + std::string(base::info(type.dtype()).numpy),
              source_.operands(*view).subspan(2, rank));
}

void FunctionEmitter::emit_view(NodeId id) {
  const auto operands = source_.operands(id);
  Value* const buffer = value(operands[0]);
  const bool on_stack = life_of(operands[0]) == ir::Life::Stack;
  Value* const data = on_stack ? buffer : buffer_data(buffer);
  Parts view{b_.CreateGEP(b_.getInt8Ty(), data, value(operands[1])), buffer};
  view.append(gather(operands.subspan(2)));
  set(id, std::move(view));
}

void FunctionEmitter::emit_buffer(NodeId id) { set(id, {parts(source_.operand(id, 0))[1]}); }

void FunctionEmitter::emit_keep(NodeId id) {
  set(id, {b_.CreatePtrToInt(value(source_.operand(id, 0)), b_.getInt64Ty())});
}

void FunctionEmitter::emit_kept(NodeId id) {
  set(id, {b_.CreateIntToPtr(value(source_.operand(id, 0)), b_.getPtrTy())});
}

void FunctionEmitter::emit_offset(NodeId id) {
  const Parts& view = parts(source_.operand(id, 0));
  set(id, {b_.CreateSub(b_.CreatePtrToInt(view[0], b_.getInt64Ty()),
                        b_.CreatePtrToInt(buffer_data(view[1]), b_.getInt64Ty()))});
}

Value* FunctionEmitter::element_address(NodeId view, std::span<const NodeId> indices) {
  const Parts& v = parts(view);
  const size_t rank = indices.size();
  Value* address = v[0];
  for (size_t i = 0; i < rank; ++i)
    address = b_.CreateGEP(b_.getInt8Ty(), address, b_.CreateMul(value(indices[i]), v[2 + rank + i]));
  return address;
}

Parts FunctionEmitter::load_element(DType dtype, Value* address, bool aligned) {
  const DType component = base::component_of(dtype);
  llvm::Type* const part = unit_.part_type(component);
  const llvm::Align align(aligned ? base::alignment_of(dtype) : 1);
  Parts value;
  for (uint64_t i = 0; i < (base::is_complex(dtype) ? 2u : 1u); ++i)
    value.push_back(
        b_.CreateAlignedLoad(unit_.memory_type(part), field(address, i * base::size_of(component)), align));
  if (base::is_bool(dtype)) value[0] = b_.CreateICmpNE(value[0], b_.getInt8(0));
  return value;
}

void FunctionEmitter::store_element(DType dtype, const Parts& value, Value* address, bool aligned) {
  const llvm::Align align(aligned ? base::alignment_of(dtype) : 1);
  const uint64_t size = base::size_of(base::component_of(dtype));
  for (uint64_t i = 0; i < value.size(); ++i) {
    Value* const part = base::is_bool(dtype) ? b_.CreateZExt(value[i], b_.getInt8Ty()) : value[i];
    b_.CreateAlignedStore(part, field(address, i * size), align);
  }
}

void FunctionEmitter::emit_load(NodeId id) {
  if (in_lanes()) return emit_load_in_lanes(id);
  const auto operands = source_.operands(id);
  set(id, load_element(dtype(id), element_address(operands[0], operands.subspan(1)), false));
}

void FunctionEmitter::emit_store(NodeId id) {
  if (in_lanes()) return emit_store_in_lanes(id);
  const auto operands = source_.operands(id);
  const size_t last = operands.size() - 1;
  Value* const address = element_address(operands[0], operands.subspan(1, last - 1));
  store_element(dtype(operands[0]), parts(operands[last]), address, false);
}

Parts FunctionEmitter::load_slot(ir::Type type, Value* slot) {
  if (type.is_scalar()) return load_element(type.dtype(), slot, true);
  if (type.is_buffer()) return {b_.CreateLoad(b_.getPtrTy(), slot)};
  if (!type.is_view()) fail_not_lowered("a parameter of type " + unit_.source.types.to_string(type));
  Parts view{b_.CreateLoad(b_.getPtrTy(), field(slot, abi::kViewData)),
             b_.CreateLoad(b_.getPtrTy(), field(slot, abi::kViewBuffer))};
  for (uint64_t i = 0; i < 2 * static_cast<uint64_t>(type.rank()); ++i)
    view.push_back(b_.CreateLoad(b_.getInt64Ty(), field(slot, abi::kViewExtent + 8 * i)));
  return view;
}

void FunctionEmitter::store_slot(ir::Type type, const Parts& value, Value* slot) {
  if (type.is_scalar()) {
    store_element(type.dtype(), value, slot, true);
  } else if (type.is_buffer() || type.is_view()) {
    for (uint64_t i = 0; i < value.size(); ++i) b_.CreateStore(value[i], field(slot, 8 * i));
  } else {
    fail_not_lowered("a result of type " + unit_.source.types.to_string(type));
  }
}

/// Whether the bytes of two views' buffers have a common one.
Value* FunctionEmitter::may_overlap(const Parts& a, const Parts& b) {
  const auto range = [&](const Parts& view) {
    Value* const begin = buffer_data(view[1]);
    Value* const size = b_.CreateLoad(b_.getInt64Ty(), field(view[1], abi::kBufferSize));
    return std::pair(begin, b_.CreateGEP(b_.getInt8Ty(), begin, size));
  };
  const auto [a_begin, a_end] = range(a);
  const auto [b_begin, b_end] = range(b);
  return b_.CreateAnd(b_.CreateICmpULT(a_begin, b_end), b_.CreateICmpULT(b_begin, a_end));
}

/// A view of a new buffer, C order, like the other view.
Parts FunctionEmitter::temporary_like(ir::Type type, const Parts& view) {
  const auto rank = static_cast<size_t>(type.rank());
  Parts temporary(2 + 2 * rank);
  Value* bytes = b_.getInt64(base::size_of(type.dtype()));
  for (size_t i = rank; i-- > 0;) {
    temporary[2 + i] = view[2 + i];
    temporary[2 + rank + i] = bytes;
    bytes = b_.CreateMul(bytes, view[2 + i]);
  }
  temporary[1] = allocate(bytes);
  temporary[0] = buffer_data(temporary[1]);
  return temporary;
}

void FunctionEmitter::copy_view(ir::Type type, const Parts& to, const Parts& from) {
  const std::span<Value* const> lengths(to.begin() + 2, static_cast<size_t>(type.rank()));
  copy_axis(type.dtype(), 0, lengths, to, from, to[0], from[0]);
}

/// Calls what sorts a line: with `places`, the function that puts places there.
void FunctionEmitter::sort_line(NodeId id, const char* function, NodeId view, std::optional<NodeId> places) {
  const ir::Type type = source_.type(view);
  llvm::Type* const pointer = b_.getPtrTy();
  llvm::SmallVector<llvm::Type*> types{pointer, b_.getInt32Ty(), b_.getInt32Ty(), pointer};
  llvm::SmallVector<Value*> operands{context_, b_.getInt32(static_cast<uint32_t>(type.dtype())),
                                     b_.getInt32(static_cast<uint32_t>(source_.attribute(id, 0))),
                                     parts(view)[0]};
  if (places) {
    types.push_back(pointer);
    operands.push_back(parts(*places)[0]);
  }
  types.push_back(b_.getInt64Ty());
  operands.push_back(parts(view)[2]);
  auto* const signature = llvm::FunctionType::get(b_.getInt32Ty(), types, false);
  leave_with(b_.CreateCall(unit_.outside(function, signature, false), operands), false);
}

void FunctionEmitter::emit_sort_line(NodeId id) {
  sort_line(id, "ingot_v1_sort", source_.operand(id, 0), std::nullopt);
}
void FunctionEmitter::emit_argsort_line(NodeId id) {
  sort_line(id, "ingot_v1_argsort", source_.operand(id, 1), source_.operand(id, 0));
}

void FunctionEmitter::emit_copy(NodeId id) {
  const ir::Type type = source_.type(source_.operand(id, 0));
  const Parts& to = parts(source_.operand(id, 0));
  const Parts& from = parts(source_.operand(id, 1));
  Block* const twice = new_block("copy.twice");
  Block* const once = new_block("copy");
  Block* const done = new_block("copy.end");
  b_.CreateCondBr(may_overlap(to, from), twice, once);
  b_.SetInsertPoint(twice);
  const Parts temporary = temporary_like(type, from);
  copy_view(type, temporary, from);
  copy_view(type, to, temporary);
  auto* const release = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy()}, false);
  b_.CreateCall(unit_.outside("ingot_v1_release", release, false), {context_, temporary[1]});
  b_.CreateBr(done);
  b_.SetInsertPoint(once);
  copy_view(type, to, from);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

}  // namespace ingot::codegen
