#include <algorithm>

#include "base/abi.h"
#include "base/error.h"
#include "codegen/host_function.h"

// Calls of C functions by the addresses that the context has. Numbers are passed as the System V ABI for
// x86-64 has it, and as LLVM lowers the same types: those below 32 bits extended, c128 as two doubles (of
// which both find a register or none: `_objects.c_functions` sees to it), c64 as two floats in one register.
// A loop of a ufunc (NumPy's `PyUFuncGenericFunction`) is given the addresses of elements, their number, the
// steps between them, and its data.

namespace ingot::codegen {

using llvm::Value;

namespace {

bool is_pair(ir::Type type) { return type.is_scalar() && type.dtype() == DType::Complex128; }
bool is_packed(ir::Type type) { return type.is_scalar() && type.dtype() == DType::Complex64; }

llvm::AttributeSet extension_of(llvm::LLVMContext& context, ir::Type type) {
  if (!type.is_scalar() || base::is_float(type.dtype()) || base::is_complex(type.dtype()) ||
      base::size_of(type.dtype()) >= 4)
    return {};
  const auto kind = base::is_signed(type.dtype()) ? llvm::Attribute::SExt : llvm::Attribute::ZExt;
  return llvm::AttributeSet::get(context, {llvm::Attribute::get(context, kind)});
}

}  // namespace

/// A field of a function in the context: its address (0) or its data (1).
Value* HostFunction::c_function(NodeId id, unsigned part) {
  llvm::Type* const pointer = b_.getPtrTy();
  Value* const all = b_.CreateLoad(pointer, field(context_, offsetof(entry::Context, functions)));
  const auto number = static_cast<uint64_t>(source_.attribute(id, 0));
  return b_.CreateLoad(pointer, field(all, sizeof(void*) * (2 * number + part)));
}

void HostFunction::emit_c_call(NodeId id) {
  const auto operands = source_.operands(id);
  if (has_device() && std::ranges::any_of(operands, [&](NodeId x) { return source_.type(x).is_view(); }))
    refuse_on_device(id);
  if (source_.attribute(id, 2) == 1) return run_loop(id);
  // It may wait for other threads of Python's.
  auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
  b_.CreateCall(unit_.outside("ingot_v1_let_go", type, false), {context_});
  call_c(id);
  if (source_.attribute(id, 2) == 3) {
    Value* const code = parts(id)[0];
    leave_if(b_.CreateICmpEQ(code, llvm::ConstantInt::getSigned(code->getType(), -1)),
             leaving_block(base::ExceptionKind::KeyboardInterrupt));
  }
}

void HostFunction::emit_c_value(NodeId id) {
  switch (source_.attribute(id, 2)) {
    case 0: return call_c(id);
    case 1: return run_loop_once(id);
    default: return set(id, {b_.CreatePtrToInt(c_function(id, 1), b_.getInt64Ty())});
  }
}

void HostFunction::refuse_on_device(NodeId id) {
  const ir::Module& module = unit_.source;
  base::Unsupported refusal(module.location(source_[id].span),
                            "a C function that is given an array on a device",
                            "call it with arrays in the host's memory");
  refusal.sites = module.sites(source_[id].span);
  throw base::Unsupported(std::move(refusal));
}

void HostFunction::call_c(NodeId id) {
  Parts given;
  Types types;
  llvm::SmallVector<llvm::AttributeSet, 4> extended;
  const auto pass = [&](Value* value, ir::Type of) {
    given.push_back(value);
    types.push_back(value->getType());
    extended.push_back(extension_of(b_.getContext(), of));
  };
  for (const NodeId operand : source_.operands(id)) {
    const ir::Type of = source_.type(operand);
    const Parts& own = parts(operand);
    if (is_pair(of)) {
      pass(own[0], of);
      pass(own[1], of);
    } else if (is_packed(of)) {
      llvm::Type* const both = llvm::FixedVectorType::get(own[0]->getType(), 2);
      Value* const first = b_.CreateInsertElement(llvm::PoisonValue::get(both), own[0], uint64_t{0});
      pass(b_.CreateInsertElement(first, own[1], uint64_t{1}), of);
    } else {
      llvm::Type* const type = unit_.memory_type(own[0]->getType());
      pass(type == own[0]->getType() ? own[0] : b_.CreateZExt(own[0], type), of);
    }
  }
  const ir::Type result = source_.type(id);
  Types own;
  if (!result.is_void()) unit_.append_types(result, own);
  llvm::Type* gives = b_.getVoidTy();
  if (is_pair(result)) gives = llvm::StructType::get(own[0], own[1]);
  else if (is_packed(result)) gives = llvm::FixedVectorType::get(own[0], 2);
  else if (!own.empty()) gives = unit_.memory_type(own[0]);
  llvm::CallInst* const call =
      b_.CreateCall(llvm::FunctionType::get(gives, types, false), c_function(id, 0), given);
  call->setAttributes(
      llvm::AttributeList::get(b_.getContext(), {}, extension_of(b_.getContext(), result), extended));
  call->setDoesNotThrow();
  if (is_pair(result)) set(id, {b_.CreateExtractValue(call, 0), b_.CreateExtractValue(call, 1)});
  else if (is_packed(result))
    set(id, {b_.CreateExtractElement(call, uint64_t{0}), b_.CreateExtractElement(call, uint64_t{1})});
  else if (!own.empty()) set(id, {gives == own[0] ? static_cast<Value*>(call) : b_.CreateIsNotNull(call)});
}

void HostFunction::call_loop(NodeId id, std::span<Value* const> data, std::span<Value* const> steps,
                             Value* count) {
  Builder at_entry(&target_->getEntryBlock(), target_->getEntryBlock().begin());
  llvm::Type* const pointer = b_.getPtrTy();
  const auto size = static_cast<uint32_t>(data.size());
  Value* const addresses = at_entry.CreateAlloca(pointer, at_entry.getInt32(size));
  Value* const lengths = at_entry.CreateAlloca(b_.getInt64Ty());
  Value* const strides = at_entry.CreateAlloca(b_.getInt64Ty(), at_entry.getInt32(size));
  for (size_t i = 0; i < data.size(); ++i) {
    b_.CreateStore(data[i], field(addresses, 8 * i));
    b_.CreateStore(steps[i], field(strides, 8 * i));
  }
  b_.CreateStore(count, lengths);
  auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, pointer, pointer}, false);
  llvm::CallInst* const call =
      b_.CreateCall(type, c_function(id, 0), {addresses, lengths, strides, c_function(id, 1)});
  call->setDoesNotThrow();
}

void HostFunction::run_loop(NodeId id) {
  std::vector<Value*> data;
  std::vector<Value*> steps;
  for (const NodeId operand : source_.operands(id)) {
    data.push_back(parts(operand)[0]);
    steps.push_back(parts(operand)[3]);
  }
  call_loop(id, data, steps, parts(source_.operands(id)[0])[2]);
}

/// Runs a loop for one element, by slots on the stack.
void HostFunction::run_loop_once(NodeId id) {
  Builder at_entry(&target_->getEntryBlock(), target_->getEntryBlock().begin());
  const auto new_slot = [&] {
    llvm::AllocaInst* const slot = at_entry.CreateAlloca(b_.getInt64Ty(), at_entry.getInt32(2));
    slot->setAlignment(llvm::Align(16));
    return slot;
  };
  std::vector<Value*> data;
  for (const NodeId operand : source_.operands(id)) {
    data.push_back(new_slot());
    store_slot(source_.type(operand), parts(operand), data.back());
  }
  const ir::Type result = source_.type(id);
  std::vector<ir::Type> outputs{result};
  if (!result.is_scalar()) {
    const auto members = unit_.source.types.members(result);
    outputs.assign(members.begin(), members.end());
  }
  const size_t inputs = data.size();
  for (size_t i = 0; i < outputs.size(); ++i) data.push_back(new_slot());
  const std::vector<Value*> steps(data.size(), b_.getInt64(0));
  call_loop(id, data, steps, b_.getInt64(1));
  Parts given;
  for (size_t i = 0; i < outputs.size(); ++i) given.append(load_slot(outputs[i], data[inputs + i]));
  set(id, given);
}

}  // namespace ingot::codegen
