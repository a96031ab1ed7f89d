#include "codegen/host_function.h"

#include "base/abi.h"

namespace ingot::codegen {

using llvm::Value;

void emit_entry(Unit& unit, const ir::Function& source, bool recursive, States states) {
  llvm::Type* const pointer = llvm::PointerType::getUnqual(unit.context);
  auto* const type = llvm::FunctionType::get(llvm::Type::getInt32Ty(unit.context), {pointer, pointer}, false);
  auto* const function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                                entry_symbol(source.name()), unit.module);
  function->setDoesNotThrow();
  using Form = HostFunction::Form;
  if (states == States::Any)
    return HostFunction(unit, source, function, Form::Entry, recursive, FloatStates::Any).emit();
  llvm::Function* other = nullptr;
  if (states == States::Both) {
    other = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage,
                                   "ingot_in_any_state_" + source.name(), unit.module);
    other->setDoesNotThrow();
  }
  HostFunction(unit, source, function, Form::Entry, recursive, FloatStates::Default).emit(other);
  if (other != nullptr) HostFunction(unit, source, other, Form::Entry, recursive, FloatStates::Any).emit();
}

void emit_internal(Unit& unit, const ir::Function& source, llvm::Function* target, bool recursive,
                   FloatStates states) {
  HostFunction(unit, source, target, HostFunction::Form::Internal, recursive, states).emit();
}

HostFunction::HostFunction(Unit& unit, const ir::Function& source, llvm::Function* target, Form form,
                           bool recursive, FloatStates states)
    : LaneBody(unit, source, target, states), form_(form), recursive_(recursive) {
  if (states == FloatStates::Default) return;
  // Rarely run, so it is made with the least effort (glue.h).
  target_->addFnAttr(llvm::Attribute::OptimizeNone);
  target_->addFnAttr(llvm::Attribute::NoInline);
}

void HostFunction::emit(llvm::Function* other) {
  emit_prologue();
  if (other != nullptr) leave_to(other);
  scalars_.set_short(form_ == Form::Entry);  // but for what is in loops
  const Parts parameters = take_parameters();
  emit_region(source_.body(), parameters);
  fence_streams();
}

void HostFunction::emit_prologue() {
  context_ = target_->getArg(0);
  if (unit_.target.machine.vector_bits > 0) {
    const std::string bits = std::to_string(unit_.target.machine.vector_bits);
    target_->addFnAttr("prefer-vector-width", bits);
    target_->addFnAttr("min-legal-vector-width", bits);
  }
  for (unsigned i = 0; i < target_->arg_size(); ++i)
    if (target_->getArg(i)->getType()->isPointerTy() && (i == 0 || form_ == Form::Entry))
      target_->addParamAttr(i, llvm::Attribute::NonNull);
  attention_ = b_.CreateLoad(b_.getPtrTy(), field(context_, offsetof(entry::Context, attention)));
  if (recursive_) check_stack();
}

void HostFunction::leave_to(llvm::Function* other) {
  Value* const state = b_.CreateLoad(b_.getInt32Ty(), field(context_, offsetof(entry::Context, float_state)));
  Block* const leaves = new_block("state");
  leave_if(b_.CreateIsNotNull(state), leaves);
  const auto on = b_.saveIP();
  b_.SetInsertPoint(leaves);
  b_.CreateRet(b_.CreateCall(other, {context_, target_->getArg(1)}));
  b_.restoreIP(on);
}

Parts HostFunction::take_parameters() {
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

/// Replaces loaded parts of a view by known ones.
void HostFunction::fill_in(ir::Type type, const ir::ParameterInfo& known, Parts& parts) {
  if (!type.is_view() || type.rank() == 0) return;
  const auto rank = static_cast<size_t>(type.rank());
  const size_t inner = known.layout == ir::Layout::C ? rank - 1 : 0;
  if (known.layout != ir::Layout::Any) parts[2 + rank + inner] = b_.getInt64(base::size_of(type.dtype()));
  for (size_t axis = 0; known.ones && axis < rank; ++axis)
    if ((*known.ones >> axis & 1) != 0) parts[2 + axis] = b_.getInt64(1);
  if (known.last == 0) return;
  const auto last = static_cast<uint64_t>(known.last);
  parts[1 + rank] = b_.getInt64(last);
  if (known.layout == ir::Layout::C && rank > 1)
    parts[2 * rank] = b_.getInt64(last * base::size_of(type.dtype()));
}

void HostFunction::emit_poll() {
  Value* const flag = b_.CreateLoad(b_.getInt32Ty(), attention_, /*isVolatile=*/true);
  Block* const attend = new_block("attend");
  leave_if(b_.CreateIsNotNull(flag), attend);
  Block* const on = here();
  b_.SetInsertPoint(attend);
  auto* const type = llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy()}, false);
  llvm::Function* const poll = unit_.outside("ingot_v1_poll", type, false);
  poll->addFnAttr(llvm::Attribute::Cold);
  // The memory that compiled code itself works on stays as it is.
  poll->setMemoryEffects(llvm::MemoryEffects::inaccessibleOrArgMemOnly());
  Value* const status = b_.CreateCall(poll, {context_});
  Block* const leave = new_block("leave");
  b_.CreateCondBr(b_.CreateIsNull(status), on, leave);
  b_.SetInsertPoint(leave);
  return_status(status);
  b_.SetInsertPoint(on);
}

void HostFunction::check_stack() {
  Value* const here_on_stack =
      b_.CreateIntrinsic(llvm::Intrinsic::addressofreturnaddress, {b_.getPtrTy()}, {});
  Value* const limit = b_.CreateLoad(b_.getPtrTy(), field(context_, offsetof(entry::Context, stack_limit)));
  leave_if(b_.CreateICmpULT(here_on_stack, limit), leaving_block(base::ExceptionKind::RecursionError));
  emit_poll();
}

}  // namespace ingot::codegen
