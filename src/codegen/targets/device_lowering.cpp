#include "codegen/targets/device_lowering.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/error.h"

namespace ingot::codegen {

namespace {

namespace Intrinsic = llvm::Intrinsic;

/// The intrinsics of elementary functions.
struct Elementary {
  Intrinsic::ID id;
  const char* op;
};
constexpr Elementary kElementary[] = {
    {Intrinsic::sin, "sin"},   {Intrinsic::cos, "cos"},     {Intrinsic::tan, "tan"},
    {Intrinsic::exp, "exp"},   {Intrinsic::exp2, "exp2"},   {Intrinsic::log, "log"},
    {Intrinsic::log2, "log2"}, {Intrinsic::log10, "log10"}, {Intrinsic::pow, "power"},
};

/// Those that are known to be selected, of all types that codegen has.
constexpr std::array kSelected = {
    Intrinsic::abs,
    Intrinsic::assume,
    Intrinsic::bitreverse,
    Intrinsic::bswap,
    Intrinsic::ceil,
    Intrinsic::copysign,
    Intrinsic::ctlz,
    Intrinsic::ctpop,
    Intrinsic::cttz,
    Intrinsic::expect,
    Intrinsic::experimental_noalias_scope_decl,
    Intrinsic::fabs,
    Intrinsic::floor,
    Intrinsic::fma,

    Intrinsic::fptosi_sat,
    Intrinsic::fptoui_sat,
    Intrinsic::fshl,
    Intrinsic::fshr,
    Intrinsic::is_fpclass,
    Intrinsic::lifetime_end,
    Intrinsic::lifetime_start,
    Intrinsic::maximum,
    Intrinsic::maxnum,
    Intrinsic::memcpy,
    Intrinsic::memmove,
    Intrinsic::memset,
    Intrinsic::minimum,
    Intrinsic::minnum,
    Intrinsic::nearbyint,
    Intrinsic::rint,
    Intrinsic::roundeven,
    Intrinsic::sadd_sat,
    Intrinsic::sadd_with_overflow,
    Intrinsic::scmp,
    Intrinsic::smax,
    Intrinsic::smin,
    Intrinsic::smul_with_overflow,
    Intrinsic::sqrt,
    Intrinsic::sshl_sat,
    Intrinsic::ssub_sat,
    Intrinsic::ssub_with_overflow,
    Intrinsic::trap,
    Intrinsic::trunc,
    Intrinsic::uadd_sat,
    Intrinsic::uadd_with_overflow,
    Intrinsic::ucmp,
    Intrinsic::umax,
    Intrinsic::umin,
    Intrinsic::umul_with_overflow,
    Intrinsic::ushl_sat,
    Intrinsic::usub_sat,
    Intrinsic::usub_with_overflow,
};

std::string text_of(const llvm::Value& value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

[[noreturn]] void refuse(const llvm::Instruction& instruction) {
  throw base::InternalError("codegen: GPUs have no code for `" + text_of(instruction) + "` in " +
                            instruction.getFunction()->getName().str());
}

void replace_by_call(llvm::Instruction& instruction, const std::string& name,
                     llvm::ArrayRef<llvm::Value*> operands) {
  llvm::SmallVector<llvm::Type*, 2> types;
  for (llvm::Value* operand : operands) types.push_back(operand->getType());
  const llvm::FunctionCallee callee = instruction.getModule()->getOrInsertFunction(
      name, llvm::FunctionType::get(instruction.getType(), types, false));
  llvm::IRBuilder<> b(&instruction);
  instruction.replaceAllUsesWith(b.CreateCall(callee, operands));
  instruction.eraseFromParent();
}

/// LLVM computes a remainder from a rounded quotient.
void lower_remainder(llvm::Instruction& instruction) {
  llvm::Type* const type = instruction.getType();
  if (!type->isDoubleTy() && !type->isFloatTy()) refuse(instruction);
  replace_by_call(instruction, type->isDoubleTy() ? "fmod" : "fmodf",
                  {instruction.getOperand(0), instruction.getOperand(1)});
}

void lower_intrinsic(llvm::IntrinsicInst& call) {
  const Intrinsic::ID id = call.getIntrinsicID();
  const auto* const known = std::ranges::find(kElementary, id, &Elementary::id);
  llvm::Type* const type = call.getType();
  const bool is_scaling = id == Intrinsic::ldexp && call.getArgOperand(1)->getType()->isIntegerTy(32);
  if ((known == std::end(kElementary) && !is_scaling) || (!type->isDoubleTy() && !type->isFloatTy())) return;
  const llvm::SmallVector<llvm::Value*, 2> operands(call.args());
  const bool is_double = type->isDoubleTy();
  replace_by_call(call,
                  is_scaling ? is_double ? "ldexp" : "ldexpf"
                             : std::string("ingot_v1_math_") + known->op + (is_double ? "_f64" : "_f32"),
                  operands);
}

/// Beyond the block a fence is for the whole device, or for the host, too.
void lower_fence(llvm::FenceInst& fence) {
  llvm::IRBuilder<> b(&fence);
  if (fence.getSyncScopeID() != llvm::SyncScope::SingleThread) {
    const bool is_system = fence.getSyncScopeID() == llvm::SyncScope::System;
    b.CreateIntrinsic(is_system ? Intrinsic::nvvm_membar_sys : Intrinsic::nvvm_membar_gl, {}, {});
  }
  fence.eraseFromParent();
}

bool is_wide(const llvm::Type* type) {
  const llvm::Type* const scalar = type->getScalarType();
  return (scalar->isIntegerTy() && scalar->getIntegerBitWidth() > 64) || scalar->isFP128Ty() ||
         scalar->isX86_FP80Ty() || scalar->isPPC_FP128Ty() || scalar->isBFloatTy();
}

llvm::AtomicOrdering ordering_of(const llvm::Instruction& access) {
  if (const auto* const load = llvm::dyn_cast<llvm::LoadInst>(&access)) return load->getOrdering();
  return llvm::cast<llvm::StoreInst>(access).getOrdering();
}

/// Whether LLVM has code for it, by the opcode and the types.
bool is_selected(const llvm::Instruction& instruction, const Selected& selected) {
  if (const auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
    return llvm::is_contained(kSelected, call->getIntrinsicID()) ||
           call->getCalledFunction()->getName().starts_with(selected.intrinsics);
  switch (instruction.getOpcode()) {
    case llvm::Instruction::Fence: return selected.orders_accesses;
    case llvm::Instruction::FRem:
    case llvm::Instruction::Invoke:
    case llvm::Instruction::LandingPad:
    case llvm::Instruction::IndirectBr:
    case llvm::Instruction::VAArg: return false;
    case llvm::Instruction::Alloca: return llvm::cast<llvm::AllocaInst>(instruction).isStaticAlloca();
    case llvm::Instruction::AtomicRMW:
    case llvm::Instruction::AtomicCmpXchg: return !is_wide(instruction.getOperand(1)->getType());
    case llvm::Instruction::Load:
    case llvm::Instruction::Store:
      return selected.orders_accesses || !instruction.isAtomic() ||
             !llvm::isStrongerThanMonotonic(ordering_of(instruction));
    case llvm::Instruction::SIToFP:
    case llvm::Instruction::UIToFP: return !is_wide(instruction.getOperand(0)->getType());
    case llvm::Instruction::FPToSI:
    case llvm::Instruction::FPToUI: return !is_wide(instruction.getType());
    default: return !instruction.getType()->isFPOrFPVectorTy() || !is_wide(instruction.getType());
  }
}

}  // namespace

void lower_for_devices(llvm::Module& module) {
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      if (instruction.getOpcode() == llvm::Instruction::FRem) lower_remainder(instruction);
      else if (auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) lower_intrinsic(*call);
    }
}

void lower_fences(llvm::Module& module) {
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function)))
      if (auto* const fence = llvm::dyn_cast<llvm::FenceInst>(&instruction)) lower_fence(*fence);
}

void check_for_devices(const llvm::Module& module, const Selected& selected) {
  for (const llvm::Function& function : module)
    for (const llvm::Instruction& instruction : llvm::instructions(function))
      if (!is_selected(instruction, selected)) refuse(instruction);
}

}  // namespace ingot::codegen
