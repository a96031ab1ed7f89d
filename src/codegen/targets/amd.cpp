// The kernel target of AMD's GPUs.
//
// Modules have no address spaces until the functions that they call, which are compiled for the host, are
// linked in. Then the arrays of a thread are put where these GPUs have them, tables into constant memory.
// Warps are of 64 threads on some of them and of 32 on others, and have no barriers of their own; kernels
// that rely on warps are refused.

#include "codegen/targets/amd.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "base/error.h"
#include "codegen/emit.h"
#include "codegen/targets/device.h"
#include "codegen/targets/device_lowering.h"
#include "codegen/targets/device_math.h"
#include "codegen/targets/instructions.h"
#include "codegen/targets/kernel_target.h"

#ifdef INGOT_AMDGPU
extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmPrinter();
}
#endif

namespace ingot::codegen {

namespace {

constexpr const char* kTriple = "amdgcn-amd-amdhsa";
constexpr unsigned kCodeObjects = 500;  ///< version 5, which ROCm knows from 6.0 on

/// Address spaces.
enum Space : unsigned { kGeneric = 0, kGlobal = 1, kShared = 3, kConstant = 4, kPrivate = 5 };

const llvm::Target& amdgpu() {
#ifdef INGOT_AMDGPU
  static const llvm::Target* const found = [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    std::string error;
    return llvm::TargetRegistry::lookupTarget(kTriple, error);
  }();
  INGOT_ASSERT(found != nullptr, "codegen: LLVM has no AMDGPU target");
  return *found;
#else
  throw base::Unsupported({}, "code for AMD's GPUs, which this build of Ingot does not make,",
                          "build Ingot from its sources, with INGOT_AMDGPU=ON");
#endif
}

/// A thread's arrays are where GPUs have them. Lifetimes are marked of those that were there before.
void place_arrays(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    if (auto* const call = llvm::dyn_cast<llvm::LifetimeIntrinsic>(&instruction)) {
      call->eraseFromParent();
      continue;
    }
    auto* const array = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (array == nullptr || array->getAddressSpace() == kPrivate) continue;
    llvm::IRBuilder<> b(array);
    llvm::AllocaInst* const placed =
        b.CreateAlloca(array->getAllocatedType(), kPrivate, array->getArraySize());
    placed->setAlignment(array->getAlign());
    array->replaceAllUsesWith(b.CreateAddrSpaceCast(placed, array->getType()));
    array->eraseFromParent();
  }
}

/// A kernel's arguments are in the device's memory; LLVM's selection finds out which memory is reached from
/// there. (Its other passes would fold the casts.)
void place_arguments(llvm::Function& kernel) {
  llvm::IRBuilder<> b(&kernel.getEntryBlock(), kernel.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  for (llvm::Argument& argument : kernel.args()) {
    if (!argument.getType()->isPointerTy() || argument.use_empty()) continue;
    llvm::Value* const global = b.CreateAddrSpaceCast(&argument, b.getPtrTy(kGlobal));
    llvm::Value* const generic = b.CreateAddrSpaceCast(global, argument.getType());
    argument.replaceUsesWithIf(generic, [&](const llvm::Use& use) { return use.getUser() != global; });
  }
}

/// The module's tables and variables are where GPUs have them.
void place_globals(llvm::Module& module) {
  for (llvm::GlobalVariable& variable : llvm::make_early_inc_range(module.globals())) {
    if (variable.getAddressSpace() != kGeneric || variable.getName().starts_with("llvm.")) continue;
    auto* const placed = new llvm::GlobalVariable(
        module, variable.getValueType(), variable.isConstant(), variable.getLinkage(),
        variable.hasInitializer() ? variable.getInitializer() : nullptr, "", &variable,
        llvm::GlobalValue::NotThreadLocal, variable.isConstant() ? kConstant : kGlobal);
    placed->takeName(&variable);
    placed->setAlignment(variable.getAlign());
    placed->setUnnamedAddr(variable.getUnnamedAddr());
    variable.replaceAllUsesWith(llvm::ConstantExpr::getAddrSpaceCast(placed, variable.getType()));
    variable.eraseFromParent();
  }
}

class Amd final : public WithoutWarps {
 public:
  int64_t shared_bytes() const override { return 64 << 10; }
  explicit Amd(std::string processor) : processor_(std::move(processor)) {}

  const std::string& processor() const { return processor_; }
  const Instructions& instructions() const override { return instructions_; }
  void prepare(llvm::Module& module) const override { prepare_device_module(module); }
  void mark_kernel(llvm::Function& function, unsigned threads, unsigned /*blocks*/) const override {
    function.setCallingConv(llvm::CallingConv::AMDGPU_KERNEL);
    function.addFnAttr("amdgpu-flat-work-group-size", "1," + std::to_string(threads));
    function.addFnAttr("uniform-work-group-size", "true");
  }
  std::unique_ptr<llvm::TargetMachine> machine() const override;
  void link(llvm::Module& module) const override;
  std::string code_of(llvm::Module& module, llvm::TargetMachine& machine) const override {
    return emit(module, machine, llvm::CodeGenFileType::ObjectFile);
  }
  std::string shown(const llvm::Module& module, llvm::TargetMachine& machine) const override {
    return emit(*llvm::CloneModule(module), machine, llvm::CodeGenFileType::AssemblyFile);
  }

  llvm::Function* linked(llvm::Module&, const std::string&, llvm::FunctionType*) const override {
    throw base::Unsupported({}, "a call of a function that is linked (`cuda.declare_device`) on AMD's GPUs",
                            "write the function in Python");
  }

  Value* grid_value(Builder& b, GridValue what, unsigned axis) const override;
  void barrier(Builder& b) const override;
  void fence(Builder& b, ir::Scope scope) const override {
    const char* const name = scope == ir::Scope::System   ? ""
                             : scope == ir::Scope::Device ? "agent"
                                                          : "workgroup";
    fence(b, name, llvm::AtomicOrdering::SequentiallyConsistent);
  }

  void nanosleep(Builder& b, Value*) const override {
    b.CreateIntrinsic(llvm::Intrinsic::amdgcn_s_sleep, {}, {b.getInt32(1)});
  }

  unsigned shared_space() const override { return kShared; }
  unsigned global_space() const override { return kGlobal; }

 private:
  std::string processor_;
  DeviceInstructions instructions_;

  static std::string emit(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType kind) {
    verify(module);
    check_for_devices(module, {.intrinsics = "llvm.amdgcn.", .orders_accesses = true});
    for (llvm::Function& function : module)
      if (function.getCallingConv() == llvm::CallingConv::AMDGPU_KERNEL) place_arguments(function);
    return emit_for_device(module, machine, kind);
  }
  static void fence(Builder& b, llvm::StringRef scope, llvm::AtomicOrdering order) {
    llvm::SyncScope::ID threads = llvm::SyncScope::System;
    if (!scope.empty()) threads = b.getContext().getOrInsertSyncScopeID(scope);
    b.CreateFence(order, threads);
  }
  [[noreturn]] void refuse(const std::string& what) const override {
    throw base::Unsupported({}, what + " on AMD's GPUs", "use shared memory and `syncthreads` instead");
  }
};

std::unique_ptr<llvm::TargetMachine> Amd::machine() const {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> made(amdgpu().createTargetMachine(
      kTriple, processor_, "", options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default,
      /*JIT=*/false));
  INGOT_ASSERT(made != nullptr, "codegen: LLVM knows the GPU " + processor_);
  return made;
}

void Amd::link(llvm::Module& module) const {
  link_device_math(module);
  module.setTargetTriple(kTriple);
  module.setDataLayout(machine()->createDataLayout());
  module.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", kCodeObjects);
  for (const llvm::Function& function : module)
    if (function.isDeclaration() && !function.isIntrinsic())
      refuse("a call of `" + function.getName().str() +
             "` in a kernel (printing, or memory of a length that "
             "only the kernel knows)");
  for (llvm::Function& function : module) place_arrays(function);
  place_globals(module);
}

/// The launch's block counts come after the kernel's arguments: three counts of blocks, of 4 bytes each, then
/// three of threads, of 2.
KernelTarget::Value* Amd::grid_value(Builder& b, GridValue what, unsigned axis) const {
  using namespace llvm::Intrinsic;
  static constexpr ID kBlock[] = {amdgcn_workgroup_id_x, amdgcn_workgroup_id_y, amdgcn_workgroup_id_z};
  static constexpr ID kThread[] = {amdgcn_workitem_id_x, amdgcn_workitem_id_y, amdgcn_workitem_id_z};
  const auto wide = [&](Value* index) { return b.CreateZExt(index, b.getInt64Ty(), "", /*IsNonNeg=*/true); };
  if (what == GridValue::Block) return wide(b.CreateIntrinsic(kBlock[axis], {}, {}));
  if (what == GridValue::Thread) return wide(b.CreateIntrinsic(kThread[axis], {}, {}));
  const bool is_blocks = what == GridValue::Blocks;
  llvm::Type* const type = is_blocks ? b.getInt32Ty() : b.getInt16Ty();
  Value* const hidden = b.CreateIntrinsic(amdgcn_implicitarg_ptr, {}, {});
  Value* const at = b.CreateConstGEP1_64(b.getInt8Ty(), hidden, is_blocks ? 4 * axis : 12 + 2 * axis);
  llvm::LoadInst* const count = b.CreateAlignedLoad(type, at, llvm::Align(is_blocks ? 4 : 2));
  count->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
  return wide(count);
}

void Amd::barrier(Builder& b) const {
  fence(b, "workgroup", llvm::AtomicOrdering::Release);
  b.CreateIntrinsic(llvm::Intrinsic::amdgcn_s_barrier, {}, {});
  fence(b, "workgroup", llvm::AtomicOrdering::Acquire);
}

}  // namespace

const KernelTarget* amd_target(std::string_view processor) {
  static const std::array all = {Amd("gfx90a"), Amd("gfx942"), Amd("gfx1100")};
  const auto found = std::ranges::find(all, processor, &Amd::processor);
  return found != all.end() ? &*found : nullptr;
}

}  // namespace ingot::codegen
