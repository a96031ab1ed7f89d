// The host's part of a function whose arrays are on a device: launches, and numbers that it reads.

#include "base/abi.h"
#include "codegen/device_code.h"
#include "codegen/host_function.h"

namespace ingot::codegen {

using llvm::Value;

/// A part of a value in the form for kernels: of buffers, the address of their memory.
Value* HostFunction::on_device(NodeId node, size_t part) {
  Value* const own = parts(node)[part];
  const ir::Type type = source_.type(node);
  const bool is_buffer = type.is_buffer() || (type.is_view() && part == 1);
  return is_buffer ? buffer_data(own) : own;
}

void HostFunction::emit_launch(NodeId id) {
  if (!has_device()) fail_not_lowered("launch");
  const std::vector<NodeId> used = used_in(source_.region(id));
  std::vector<Parts> all;
  std::vector<std::pair<NodeId, size_t>> passed;
  for (const NodeId node : used) {
    all.push_back(parts(node));
    for (size_t i = 0; i < all.back().size(); ++i)
      if (!llvm::isa<llvm::ConstantData>(all.back()[i])) passed.emplace_back(node, i);
  }
  DeviceCode& device = unit_.device();
  const DeviceCode::Kernel kernel = device.add(source_, id, used, all);

  Builder at_entry(&target_->getEntryBlock(), target_->getEntryBlock().begin());
  llvm::Type* const pointer = b_.getPtrTy();
  const auto values = static_cast<uint32_t>(kernel.is_packed ? 1 : kernel.taken.size());
  const uint32_t count = values + (kernel.may_raise ? 1 : 0);
  Value* const addresses = at_entry.CreateAlloca(pointer, at_entry.getInt32(std::max(count, 1U)));
  uint64_t at = 0;
  std::string kinds;
  const auto add_kind = [&](llvm::Type* type) {
    const uint64_t bytes = unit_.module.getDataLayout().getTypeStoreSize(type);
    kinds += static_cast<char>(bytes | (type->isPointerTy() ? entry::KernelCall::kAddress : 0));
  };
  // The runtime puts the error report there.
  if (kernel.may_raise) {
    b_.CreateStore(llvm::Constant::getNullValue(pointer), field(addresses, 8 * at++));
    add_kind(pointer);
  }
  const auto packed_bytes = static_cast<uint32_t>(kernel.is_packed ? 8 * kernel.taken.size() : 0);
  Value* const packed = packed_bytes > 0
                            ? at_entry.CreateAlloca(b_.getInt64Ty(), at_entry.getInt32(packed_bytes / 8))
                            : static_cast<Value*>(llvm::ConstantPointerNull::get(b_.getPtrTy()));
  for (size_t k = 0; k < kernel.taken.size(); ++k) {
    const auto& [node, index] = passed[kernel.taken[k]];
    Value* const part = on_device(node, index);
    llvm::Type* const type = unit_.memory_type(part->getType());
    if (!kernel.is_packed) add_kind(type);
    Value* const home = kernel.is_packed ? field(packed, 8 * k) : at_entry.CreateAlloca(type);
    b_.CreateStore(part->getType() == type ? part : b_.CreateZExt(part, type), home);
    if (!kernel.is_packed) b_.CreateStore(home, field(addresses, 8 * at++));
  }
  Value* const call =
      at_entry.CreateAlloca(b_.getInt64Ty(), at_entry.getInt32(sizeof(entry::KernelCall) / 8));
  b_.CreateStore(kernel.code, field(call, offsetof(entry::KernelCall, code)));
  b_.CreateStore(kernel.name, field(call, offsetof(entry::KernelCall, name)));
  for (uint64_t i = 0; i < 3; ++i) {
    b_.CreateStore(value(source_.operand(id, i)), field(call, offsetof(entry::KernelCall, grid) + 8 * i));
    b_.CreateStore(value(source_.operand(id, 3 + i)),
                   field(call, offsetof(entry::KernelCall, block) + 8 * i));
  }
  const auto operands = source_.operands(id);
  Value* const shared = operands.size() > 6 ? value(operands[6]) : b_.getInt64(0);
  b_.CreateStore(shared, field(call, offsetof(entry::KernelCall, shared_bytes)));
  b_.CreateStore(b_.getInt64(kernel.is_cooperative ? 1 : 0),
                 field(call, offsetof(entry::KernelCall, cooperative)));
  b_.CreateStore(b_.getInt64(kernel.may_raise ? 1 : 0), field(call, offsetof(entry::KernelCall, may_raise)));
  b_.CreateStore(packed, field(call, offsetof(entry::KernelCall, packed)));
  b_.CreateStore(b_.getInt64(packed_bytes), field(call, offsetof(entry::KernelCall, packed_bytes)));
  b_.CreateStore(addresses, field(call, offsetof(entry::KernelCall, arguments)));
  b_.CreateStore(b_.getInt64(count), field(call, offsetof(entry::KernelCall, count)));
  b_.CreateStore(b_.CreateGlobalString(kinds), field(call, offsetof(entry::KernelCall, kinds)));
  auto* const type = llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer}, false);
  leave_with(b_.CreateCall(unit_.outside("ingot_v1_device_launch", type, false), {context_, call}), 0, {},
             id);
}

Value* HostFunction::stage(NodeId id, const Staged& array) {
  llvm::Type* const pointer = b_.getPtrTy();
  auto* const type = llvm::FunctionType::get(pointer, {pointer, pointer, b_.getInt64Ty()}, false);
  Value* const copy = b_.CreateCall(
      unit_.outside(array.is_stream ? "ingot_v1_device_stage_stream" : "ingot_v1_device_stage", type, false),
      {context_, array.memory, array.bytes});
  Value* const error = field(context_, offsetof(entry::Context, error));
  Value* const status = b_.CreateLoad(b_.getInt32Ty(), field(error, offsetof(entry::Error, status)));
  leave_with(b_.CreateSelect(b_.CreateIsNull(copy), status, b_.getInt32(0)), 0, {}, id);
  return copy;
}

void HostFunction::write_back(NodeId id, const Staged& array) {
  llvm::Type* const pointer = b_.getPtrTy();
  auto* const type =
      llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer, pointer, b_.getInt64Ty()}, false);
  leave_with(b_.CreateCall(unit_.outside("ingot_v1_device_write_back", type, false),
                           {context_, array.copy, array.memory, array.bytes}),
             0, {}, id);
}

/// Whether a view is of memory on the stack, which belongs to the host.
bool HostFunction::is_on_stack(NodeId view) const {
  return source_.op(view) == ir::Op::view && life_of(source_.operand(view, 0)) == ir::Life::Stack;
}

/// Elements of one axis, which the host reads at once.
void HostFunction::emit_copy(NodeId id) {
  if (!has_device()) return LaneBody::emit_copy(id);
  const NodeId to = source_.operand(id, 0);
  const Parts& from = parts(source_.operand(id, 1));
  INGOT_ASSERT(is_on_stack(to) && source_.type(to).rank() == 1, "other copies are launches");
  llvm::Type* const pointer = b_.getPtrTy();
  llvm::Type* const number = b_.getInt64Ty();
  auto* const type =
      llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer, pointer, number, number, number}, false);
  Value* const size = b_.getInt64(base::size_of(source_.type(to).dtype()));
  leave_with(b_.CreateCall(unit_.outside("ingot_v1_device_read_row", type, false),
                           {context_, parts(to)[0], from[0], from[2], from[3], size}),
             0, {}, id);
}

void HostFunction::emit_clear(NodeId id) {
  Value* const buffer = value(source_.operand(id, 0));
  Value* const data = buffer_data(buffer);
  Value* const size = buffer_size(buffer);
  if (!has_device()) {
    b_.CreateMemSet(data, b_.getInt8(0), size, llvm::MaybeAlign());
    return;
  }
  llvm::Type* const pointer = b_.getPtrTy();
  auto* const type = llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer, b_.getInt64Ty()}, false);
  leave_with(b_.CreateCall(unit_.outside("ingot_v1_device_clear", type, false), {context_, data, size}), 0,
             {}, id);
}

/// Waits for the number.
void HostFunction::emit_load(NodeId id) {
  if (!has_device() || is_on_stack(source_.operand(id, 0))) return LaneBody::emit_load(id);
  const auto operands = source_.operands(id);
  const uint64_t size = base::size_of(dtype(id));
  Builder at_entry(&target_->getEntryBlock(), target_->getEntryBlock().begin());
  llvm::AllocaInst* const home = at_entry.CreateAlloca(b_.getInt64Ty(), at_entry.getInt32(2));
  home->setAlignment(llvm::Align(16));
  auto* const type = llvm::FunctionType::get(
      b_.getInt32Ty(), {b_.getPtrTy(), b_.getPtrTy(), b_.getPtrTy(), b_.getInt64Ty()}, false);
  Value* const address = element_address(operands[0], operands.subspan(1));
  leave_with(b_.CreateCall(unit_.outside("ingot_v1_device_read", type, false),
                           {context_, home, address, b_.getInt64(size)}),
             0, {}, id);
  set(id, load_element(dtype(id), home, true));
}

}  // namespace ingot::codegen
