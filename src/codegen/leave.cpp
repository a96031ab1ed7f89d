#include "base/abi.h"
#include "codegen/host_function.h"

namespace ingot::codegen {

using llvm::Value;

void HostFunction::return_status(Value* status) {
  llvm::Type* const type = target_->getReturnType();
  if (!type->isStructTy()) b_.CreateRet(status);
  // An exception that is caught leaves results of 0.
  else b_.CreateRet(b_.CreateInsertValue(llvm::Constant::getNullValue(type), status, 0));
}

void HostFunction::leave(base::ExceptionKind kind, uint32_t site, std::span<Value* const> shown) {
  Value* const error = field(context_, offsetof(entry::Context, error));
  b_.CreateStore(b_.getInt32(site), field(error, offsetof(entry::Error, site)));
  for (size_t i = 0; i < shown.size(); ++i)
    b_.CreateStore(shown[i], field(error, offsetof(entry::Error, arguments) + 8 * i));
  return_status(b_.getInt32(static_cast<uint32_t>(entry::status_of(kind))));
}

HostFunction::Block* HostFunction::leaving_block(base::ExceptionKind kind) {
  for (const auto& [known, block] : leaving_)
    if (known == kind) return block;
  const auto point = b_.saveIP();
  Block* const block = new_block("leave");
  b_.SetInsertPoint(block);
  b_.CreateStore(b_.getInt32(entry::Error::kNoSite), field(context_, offsetof(entry::Context, error.site)));
  return_status(b_.getInt32(static_cast<uint32_t>(entry::status_of(kind))));
  b_.restoreIP(point);
  leaving_.emplace_back(kind, block);
  return block;
}

void HostFunction::emit_return_(NodeId id) {
  const auto operands = source_.operands(id);
  if (form_ == Form::Internal) {
    const Parts all = gather(operands);
    llvm::StructType* const type = unit_.result_struct(source_.results());
    Value* returned = llvm::Constant::getNullValue(target_->getReturnType());
    for (unsigned i = 0; i < all.size(); ++i) {
      llvm::Type* const memory = type->getElementType(i);
      Value* const part = memory == all[i]->getType() ? all[i] : b_.CreateZExt(all[i], memory);
      if (results_ != nullptr) b_.CreateStore(part, b_.CreateStructGEP(type, results_, i));
      else returned = b_.CreateInsertValue(returned, part, i + 1);
    }
    b_.CreateRet(returned);
    return;
  } else {
    const size_t first = source_.parameters().size();
    for (size_t i = 0; i < operands.size(); ++i) {
      Value* const slot = b_.CreateLoad(b_.getPtrTy(), field(results_, 8 * (first + i)));
      store_slot(source_.type(operands[i]), parts(operands[i]), slot);
    }
  }
  return_status(b_.getInt32(0));
}

/// Adds a call to those that the exception has left.
void HostFunction::store_caller(NodeId call) {
  Value* const error = field(context_, offsetof(entry::Context, error));
  Value* const count = field(error, offsetof(entry::Error, caller_count));
  Value* const before = b_.CreateLoad(b_.getInt32Ty(), count);
  Value* const last = b_.getInt32(entry::Error::kMaxCallers - 1);
  Value* const at = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, before, last);
  b_.CreateStore(b_.CreateAdd(at, b_.getInt32(1)), count);
  Value* const slot = b_.CreateGEP(b_.getInt32Ty(), field(error, offsetof(entry::Error, callers)), at);
  b_.CreateStore(b_.getInt32(unit_.site(site_of(call))), slot);
}

/// Notes where an error comes up that no site of the source raises.
void HostFunction::store_location(NodeId location) {
  Value* const error = field(context_, offsetof(entry::Context, error));
  Value* const site = b_.CreateLoad(b_.getInt32Ty(), field(error, offsetof(entry::Error, site)));
  Value* const slot = field(error, offsetof(entry::Error, arguments) + 8 * entry::Error::kLocation);
  Value* const own = b_.getInt64(uint64_t{1} + unit_.site(site_of(location)));
  Value* const is_none = b_.CreateICmpEQ(site, b_.getInt32(entry::Error::kNoSite));
  b_.CreateStore(b_.CreateSelect(is_none, own, b_.CreateLoad(b_.getInt64Ty(), slot)), slot);
}

void HostFunction::leave_with(Value* status, int64_t catches, std::optional<NodeId> call,
                              std::optional<NodeId> location) {
  Value* leaves = b_.CreateIsNotNull(status);
  const auto is = [&](base::ExceptionKind kind) {
    return b_.CreateICmpEQ(status, b_.getInt32(static_cast<uint32_t>(entry::status_of(kind))));
  };
  if (catches == 1) leaves = b_.getFalse();
  for (const base::ExceptionKind kind : {
#define X(name) base::ExceptionKind::name,
           INGOT_EXCEPTIONS(X)
#undef X
       }) {
    if (catches == 1 && !base::catches(catches, kind)) leaves = b_.CreateOr(leaves, is(kind));
    if (catches > 1 && base::catches(catches, kind)) leaves = b_.CreateAnd(leaves, b_.CreateNot(is(kind)));
  }
  Block* const failed = new_block("failed");
  leave_if(leaves, failed);
  const auto on = b_.saveIP();
  b_.SetInsertPoint(failed);
  if (call) store_caller(*call);
  if (location && has_device()) store_location(*location);
  return_status(status);
  b_.restoreIP(on);
}

void HostFunction::emit_call(NodeId id) {
  const ir::FunctionId callee_id(static_cast<uint32_t>(source_.attribute(id, 0)));
  const int64_t catches = source_.attribute(id, 1);
  const ir::Module::Signature& signature = unit_.source.signature(callee_id);
  llvm::Function* const callee = unit_.internal(callee_id, states_);
  llvm::StructType* const type = unit_.result_struct(signature.results);
  const bool in_memory = unit_.returns_in_memory(signature.results);
  Parts arguments{context_};
  arguments.append(gather(source_.operands(id)));
  Value* home = nullptr;
  if (in_memory) {
    Builder at_entry(&target_->getEntryBlock(), target_->getEntryBlock().begin());
    home = at_entry.CreateAlloca(type);
    arguments.push_back(home);
    // An exception that is caught leaves the results as they were.
    if (catches != 0) b_.CreateStore(llvm::Constant::getNullValue(type), home);
  }
  llvm::CallInst* const call = b_.CreateCall(callee, arguments);
  call->setCallingConv(callee->getCallingConv());
  const bool in_registers = !in_memory && !signature.results.empty();
  Value* const status = in_registers ? b_.CreateExtractValue(call, 0) : call;
  // There may be any number of the calls of a recursion.
  const bool is_counted = !recursive_ || !unit_.recursive(callee_id);
  leave_with(status, catches, is_counted ? std::optional(id) : std::nullopt);
  if (catches != 0)
    b_.CreateStore(b_.getInt32(0), field(context_, offsetof(entry::Context, error.caller_count)));

  Parts results;
  if (catches != 0) results.push_back(status);
  Types types;
  for (ir::Type result : signature.results) unit_.append_types(result, types);
  for (unsigned i = 0; i < types.size(); ++i) {
    Value* part = in_registers ? b_.CreateExtractValue(call, i + 1)
                               : b_.CreateLoad(type->getElementType(i), b_.CreateStructGEP(type, home, i));
    if (types[i]->isIntegerTy(1)) part = b_.CreateTrunc(part, types[i]);
    results.push_back(part);
  }
  set(id, std::move(results));
}

}  // namespace ingot::codegen
