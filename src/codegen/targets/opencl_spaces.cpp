// Each pointer has the space of the pointers it is computed from, from allocations, parameters and globals
// on, until nothing changes.

#include "codegen/targets/opencl_spaces.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include "base/error.h"

namespace ingot::codegen {

void refuse_for_opencl(const std::string& what) {
  throw base::Unsupported({}, what + " in a kernel for an OpenCL device",
                          "run this function on a device of another kind, or on the CPU");
}

namespace {

constexpr unsigned kShared = 3;

Space of_global(const llvm::GlobalVariable& variable) {
  if (variable.getAddressSpace() == kShared) return Space::Local;
  if (!variable.isConstant()) refuse_for_opencl("memory that all launches share (a barrier of the grid)");
  return Space::Constant;
}

}  // namespace

Spaces::Spaces(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    if (function.getCallingConv() == llvm::CallingConv::SPIR_KERNEL) {
      for (const llvm::Argument& argument : function.args())
        if (argument.getType()->isPointerTy()) known_[&argument] = Space::Global;
    }
  }
  while (has_changed_) {
    has_changed_ = false;
    for (const llvm::Function& function : module)
      for (const llvm::Instruction& instruction : llvm::instructions(function)) visit(instruction);
  }
}

Space Spaces::of(const llvm::Value* value) const {
  if (!value->getType()->isPointerTy()) return Space::None;
  const Space found = look(value);
  return found == Space::None ? Space::Global : found;
}

Space Spaces::look(const llvm::Value* value) const {
  if (const auto* const variable = llvm::dyn_cast<llvm::GlobalVariable>(value)) return of_global(*variable);
  if (const auto* const constant = llvm::dyn_cast<llvm::ConstantExpr>(value)) {
    if (constant->getOpcode() == llvm::Instruction::IntToPtr) refuse_for_opencl("an address of a number");
    return look(constant->getOperand(0));
  }
  return known_.lookup(value);
}

void Spaces::add(Space& known, Space more) {
  if (more == Space::None || more == known) return;
  if (known != Space::None)
    refuse_for_opencl("an array that is sometimes one of a thread or block, and sometimes one of all");
  known = more;
  has_changed_ = true;
}

Space Spaces::of_result(const llvm::Instruction& instruction) {
  using llvm::Instruction;
  switch (instruction.getOpcode()) {
    case Instruction::Alloca: return Space::Private;
    case Instruction::GetElementPtr:
    case Instruction::AddrSpaceCast:
    case Instruction::BitCast:
    case Instruction::Freeze: return look(instruction.getOperand(0));
    case Instruction::Load: return Space::Global;
    case Instruction::Select: {
      Space both = look(instruction.getOperand(1));
      add(both, look(instruction.getOperand(2)));
      return both;
    }
    case Instruction::PHI: {
      Space all = Space::None;
      for (const llvm::Value* value : llvm::cast<llvm::PHINode>(instruction).incoming_values())
        add(all, look(value));
      return all;
    }
    case Instruction::Call: {
      const llvm::Function* const callee = llvm::cast<llvm::CallInst>(instruction).getCalledFunction();
      if (callee != nullptr && !callee->isDeclaration()) return returned(callee);
      break;
    }
    default: break;
  }
  refuse_for_opencl("a pointer that is made by \"" + std::string(instruction.getOpcodeName()) + '"');
}

void Spaces::visit(const llvm::Instruction& instruction) {
  const bool had_changed = has_changed_;
  if (instruction.getType()->isPointerTy()) {
    const Space made = of_result(instruction);
    has_changed_ = had_changed;  // joining meanwhile is no change
    add(known_[&instruction], made);
  }
  if (const auto* const end = llvm::dyn_cast<llvm::ReturnInst>(&instruction)) {
    const llvm::Value* const given = end->getReturnValue();
    if (given != nullptr && given->getType()->isPointerTy())
      add(returned_[instruction.getFunction()], look(given));
  }
  const auto* const store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
  if (store != nullptr && store->getValueOperand()->getType()->isPointerTy()) {
    Space stored = look(store->getValueOperand());
    add(stored, Space::Global);
    has_changed_ = has_changed_ && had_changed;
  }
  const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  if (call == nullptr || call->getCalledFunction() == nullptr || call->getCalledFunction()->isDeclaration())
    return;
  for (unsigned i = 0; i < call->arg_size(); ++i) {
    if (call->getArgOperand(i)->getType()->isPointerTy())
      add(known_[call->getCalledFunction()->getArg(i)], look(call->getArgOperand(i)));
  }
}

}  // namespace ingot::codegen
