#include <algorithm>

#include "base/abi.h"
#include "codegen/host_function.h"

namespace ingot::codegen {

using llvm::Value;

Value* HostFunction::buffer_data(Value* buffer) {
  llvm::LoadInst* const data = b_.CreateLoad(b_.getPtrTy(), field(buffer, offsetof(entry::Buffer, data)));
  data->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(unit_.context, {}));
  return data;
}

Value* HostFunction::buffer_size(Value* buffer) {
  return b_.CreateLoad(b_.getInt64Ty(), field(buffer, offsetof(entry::Buffer, size)));
}

Value* HostFunction::allocate(Value* bytes, std::optional<NodeId> alloc) {
  llvm::Type* const pointer = b_.getPtrTy();
  auto* const type = llvm::FunctionType::get(pointer, {pointer, b_.getInt64Ty()}, false);
  const bool is_temporary = alloc && life_of(*alloc) == ir::Life::Region;
  const char* const function = has_device()   ? "ingot_v1_device_allocate"
                               : is_temporary ? "ingot_v1_allocate_temporary"
                                              : "ingot_v1_allocate";
  Value* const buffer = b_.CreateCall(unit_.outside(function, type, false), {context_, bytes});
  Block* const failed = new_block("no_memory");
  leave_if(b_.CreateIsNull(buffer), failed);
  const auto point = b_.saveIP();
  b_.SetInsertPoint(failed);
  leave_without_memory(alloc);
  b_.restoreIP(point);
  return buffer;
}

void HostFunction::release(Value* buffer) {
  auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy()}, false);
  b_.CreateCall(unit_.outside("ingot_v1_release", type, false), {context_, buffer});
}

/// The view of all that a node allocates; none if its shape is computed later.
std::optional<HostFunction::NodeId> HostFunction::view_of_new(NodeId alloc) const {
  for (NodeId id(alloc.index + 1); id.index < source_.node_count(); ++id.index) {
    if (source_.op(id) != ir::Op::view || source_.operand(id, 0) != alloc) continue;
    const auto lengths = source_.operands(id).subspan(2, static_cast<size_t>(source_.type(id).rank()));
    const bool known = std::ranges::none_of(lengths, [&](NodeId length) { return parts(length).empty(); });
    if (known && source_[id].parent == source_[alloc].parent && lengths.size() <= entry::Error::kMaxArguments)
      return id;
  }
  return std::nullopt;
}

void HostFunction::leave_without_memory(std::optional<NodeId> alloc) {
  const std::optional<NodeId> view = alloc ? view_of_new(*alloc) : std::nullopt;
  // The callee has described the error, but for the array.
  if (!view)
    return return_status(
        b_.getInt32(static_cast<uint32_t>(entry::status_of(base::ExceptionKind::MemoryError))));
  const ir::Type type = source_.type(*view);
  const auto rank = static_cast<size_t>(type.rank());
  std::string shape;
  for (size_t i = 0; i < rank; ++i) shape += i == 0 ? "{}" : ", {}";
  leave_at(*alloc, base::ExceptionKind::MemoryError,
           "Unable to allocate an array with shape (" + shape + (rank == 1 ? ",)" : ")") + " and data type " +
               std::string(base::info(type.dtype()).numpy),
           source_.operands(*view).subspan(2, rank));
}

void HostFunction::emit_keep(NodeId id) {
  set(id, {b_.CreatePtrToInt(value(source_.operand(id, 0)), b_.getInt64Ty())});
}

void HostFunction::emit_kept(NodeId id) {
  set(id, {b_.CreateIntToPtr(value(source_.operand(id, 0)), b_.getPtrTy())});
}

Parts HostFunction::load_slot(ir::Type type, Value* slot) {
  if (type.is_scalar()) return load_element(type.dtype(), slot, true);
  if (type.is_buffer()) return {b_.CreateLoad(b_.getPtrTy(), slot)};
  if (!type.is_view()) fail_not_lowered("a parameter of type " + unit_.source.types.to_string(type));
  Parts view{b_.CreateLoad(b_.getPtrTy(), field(slot, offsetof(entry::ViewSlot, data))),
             b_.CreateLoad(b_.getPtrTy(), field(slot, offsetof(entry::ViewSlot, buffer)))};
  for (uint64_t i = 0; i < 2 * static_cast<uint64_t>(type.rank()); ++i)
    view.push_back(b_.CreateLoad(b_.getInt64Ty(), field(slot, sizeof(entry::ViewSlot) + 8 * i)));
  return view;
}

void HostFunction::store_slot(ir::Type type, const Parts& value, Value* slot) {
  if (type.is_scalar()) {
    store_element(type.dtype(), value, slot, true);
  } else if (type.is_buffer() || type.is_view()) {
    for (uint64_t i = 0; i < value.size(); ++i) b_.CreateStore(value[i], field(slot, 8 * i));
  } else {
    fail_not_lowered("a result of type " + unit_.source.types.to_string(type));
  }
}

}  // namespace ingot::codegen
