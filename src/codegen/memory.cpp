#include <llvm/IR/InlineAsm.h>

#include "codegen/body.h"

namespace ingot::codegen {

using llvm::Value;

/// Where vectors are best aligned.
constexpr uint64_t kLineOfCache = 64;

// A view's parts: address, buffer, lengths, strides.

void Body::emit_length(NodeId id) {
  set(id, {parts(source_.operand(id, 0))[2 + static_cast<size_t>(source_.attribute(id, 0))]});
}

void Body::emit_stride(NodeId id) {
  const NodeId view = source_.operand(id, 0);
  const auto rank = static_cast<size_t>(source_.type(view).rank());
  set(id, {parts(view)[2 + rank + static_cast<size_t>(source_.attribute(id, 0))]});
}

Value* Body::field(Value* base, uint64_t offset) {
  return offset == 0 ? base : b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), base, offset);
}

void Body::emit_alloc(NodeId id) {
  if (life_of(id) != ir::Life::Stack) return set(id, {allocate(value(source_.operand(id, 0)), id)});
  const int64_t bytes = source_.constant(source_.operand(id, 0)).as<int64_t>();
  Builder at_entry(&target_->getEntryBlock(), target_->getEntryBlock().begin());
  llvm::AllocaInst* const memory =
      at_entry.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), static_cast<uint64_t>(bytes)));
  memory->setAlignment(llvm::Align(kLineOfCache));
  // It was never written, but has to read as one number twice: hidden from LLVM.
  llvm::Type* const pointer = b_.getPtrTy();
  auto* const opaque =
      llvm::InlineAsm::get(llvm::FunctionType::get(pointer, {pointer}, false), "", "=r,0,~{memory}", true);
  set(id, {b_.CreateCall(opaque, {memory})});
}

void Body::emit_view(NodeId id) {
  const auto operands = source_.operands(id);
  Value* const buffer = value(operands[0]);
  const bool on_stack = life_of(operands[0]) == ir::Life::Stack;
  Value* const data = on_stack ? buffer : buffer_data(buffer);
  Parts view{b_.CreateGEP(b_.getInt8Ty(), data, value(operands[1])), buffer};
  view.append(gather(operands.subspan(2)));
  set(id, std::move(view));
}

void Body::emit_buffer(NodeId id) { set(id, {parts(source_.operand(id, 0))[1]}); }

void Body::emit_offset(NodeId id) {
  const Parts& view = parts(source_.operand(id, 0));
  set(id, {b_.CreateSub(b_.CreatePtrToInt(view[0], b_.getInt64Ty()),
                        b_.CreatePtrToInt(buffer_data(view[1]), b_.getInt64Ty()))});
}

void Body::emit_distance(NodeId id) {
  const auto place = [&](size_t operand) {
    return b_.CreatePtrToInt(parts(source_.operand(id, operand))[0], b_.getInt64Ty());
  };
  set(id, {b_.CreateSub(place(1), place(0))});
}

Value* Body::element_address(NodeId view, std::span<const NodeId> indices) {
  const Parts& v = parts(view);
  const size_t rank = indices.size();
  Value* address = v[0];
  for (size_t i = 0; i < rank; ++i)
    address = b_.CreateGEP(b_.getInt8Ty(), address, b_.CreateMul(value(indices[i]), v[2 + rank + i]));
  return address;
}

Parts Body::load_element(DType dtype, Value* address, bool aligned) {
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

void Body::store_element(DType dtype, const Parts& value, Value* address, bool aligned) {
  const llvm::Align align(aligned ? base::alignment_of(dtype) : 1);
  const uint64_t size = base::size_of(base::component_of(dtype));
  for (uint64_t i = 0; i < value.size(); ++i) {
    Value* const part = base::is_bool(dtype) ? b_.CreateZExt(value[i], b_.getInt8Ty()) : value[i];
    b_.CreateAlignedStore(part, field(address, i * size), align);
  }
}

void Body::emit_load(NodeId id) {
  const auto operands = source_.operands(id);
  set(id, load_element(dtype(id), element_address(operands[0], operands.subspan(1)), false));
}

void Body::store_one(std::span<const NodeId> operands) {
  const size_t last = operands.size() - 1;
  Value* const address = element_address(operands[0], operands.subspan(1, last - 1));
  store_element(dtype(operands[0]), parts(operands[last]), address, false);
}

void Body::emit_store(NodeId id) { store_one(source_.operands(id)); }

/// One element is stored as usual.
void Body::emit_stream(NodeId id) {
  const auto operands = source_.operands(id);
  store_one(operands.first(operands.size() - 1));
}

void Body::emit_prefetch(NodeId id) {
  const auto operands = source_.operands(id);
  Value* const address = element_address(operands[0], operands.subspan(1));
  constexpr uint32_t kToRead = 0;
  constexpr uint32_t kIntoAllCaches = 3;
  constexpr uint32_t kData = 1;
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {address->getType()},
                     {address, b_.getInt32(kToRead), b_.getInt32(kIntoAllCaches), b_.getInt32(kData)});
}

/// Whether the bytes of two views' buffers have a common one.
Value* Body::may_overlap(const Parts& a, const Parts& b) {
  const auto range = [&](const Parts& view) {
    Value* const begin = buffer_data(view[1]);
    return std::pair(begin, b_.CreateGEP(b_.getInt8Ty(), begin, buffer_size(view[1])));
  };
  const auto [a_begin, a_end] = range(a);
  const auto [b_begin, b_end] = range(b);
  return b_.CreateAnd(b_.CreateICmpULT(a_begin, b_end), b_.CreateICmpULT(b_begin, a_end));
}

/// A view of a new buffer, C order, like the other view.
Parts Body::temporary_like(ir::Type type, const Parts& view) {
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

void Body::copy_view(ir::Type type, const Parts& to, const Parts& from) {
  const std::span<Value* const> lengths(to.begin() + 2, static_cast<size_t>(type.rank()));
  copy_axis(type.dtype(), 0, lengths, to, from, to[0], from[0]);
}

void Body::emit_copy(NodeId id) {
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
  release(temporary[1]);
  b_.CreateBr(done);
  b_.SetInsertPoint(once);
  copy_view(type, to, from);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

}  // namespace ingot::codegen
