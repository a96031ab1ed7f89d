#include "codegen/targets/device.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Metadata.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetOptions.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "base/error.h"
#include "codegen/emit.h"
#include "codegen/targets/device_instructions.h"
#include "codegen/targets/device_math.h"
#include "codegen/targets/kernel_target.h"

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace ingot::codegen {

namespace {

constexpr const char* kTriple = "nvptx64-nvidia-cuda";

/// What each generation is called, oldest first, with the first PTX version that has it.
constexpr DeviceTarget kGenerations[] = {{75, 63}, {80, 70}, {86, 71}, {87, 74}, {89, 78}, {90, 78}};
static_assert(kGenerations[0].capability == DeviceTarget::kOldest);
static_assert(std::end(kGenerations)[-1] == DeviceTarget{});

const llvm::Target& nvptx() {
  static const llvm::Target* const found = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    std::string error;
    return llvm::TargetRegistry::lookupTarget(kTriple, error);
  }();
  INGOT_ASSERT(found != nullptr, "codegen: LLVM has no NVPTX target");
  return *found;
}

std::unique_ptr<llvm::TargetMachine> make_machine(const DeviceTarget& target) {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(
      nvptx().createTargetMachine(kTriple, target.cpu(), target.features(), options, std::nullopt,
                                  std::nullopt, llvm::CodeGenOptLevel::Default, /*JIT=*/false));
  INGOT_ASSERT(machine != nullptr, "codegen: LLVM knows the GPU " + target.cpu());
  return machine;
}

void annotate(llvm::Function& function, const char* what, unsigned number) {
  llvm::LLVMContext& context = function.getContext();
  llvm::Metadata* const mark[] = {
      llvm::ValueAsMetadata::get(&function), llvm::MDString::get(context, what),
      llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), number))};
  function.getParent()
      ->getOrInsertNamedMetadata("nvvm.annotations")
      ->addOperand(llvm::MDNode::get(context, mark));
}

class Gpu final : public KernelTarget {
 public:
  explicit Gpu(const DeviceTarget& target) : target_(target) {}

  const Instructions& instructions() const override { return device_instructions(); }
  void prepare(llvm::Module& module) const override { prepare_device_module(module); }
  void mark_kernel(llvm::Function& function, unsigned threads) const override {
    codegen::mark_kernel(function);
    annotate(function, "maxntidx", threads);
  }
  std::unique_ptr<llvm::TargetMachine> machine() const override { return make_machine(target_); }
  void link(llvm::Module& module) const override { link_device_math(module); }
  std::string text_of(llvm::Module& module, llvm::TargetMachine& machine) const override {
    return emit_file(module, machine, llvm::CodeGenFileType::AssemblyFile);
  }

  Value* place(Builder& b, Place what, unsigned axis) const override {
    using namespace llvm::Intrinsic;
    static constexpr ID kPlaces[4][3] = {
        {nvvm_read_ptx_sreg_ctaid_x, nvvm_read_ptx_sreg_ctaid_y, nvvm_read_ptx_sreg_ctaid_z},
        {nvvm_read_ptx_sreg_tid_x, nvvm_read_ptx_sreg_tid_y, nvvm_read_ptx_sreg_tid_z},
        {nvvm_read_ptx_sreg_nctaid_x, nvvm_read_ptx_sreg_nctaid_y, nvvm_read_ptx_sreg_nctaid_z},
        {nvvm_read_ptx_sreg_ntid_x, nvvm_read_ptx_sreg_ntid_y, nvvm_read_ptx_sreg_ntid_z}};
    Value* const index = b.CreateIntrinsic(kPlaces[static_cast<size_t>(what)][axis], {}, {});
    return b.CreateZExt(index, b.getInt64Ty(), "", /*IsNonNeg=*/true);
  }
  void barrier(Builder& b, ir::Scope scope) const override {
    if (scope == ir::Scope::Warp)
      b.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {}, {b.getInt32(~0U)});
    else b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
  }
  void fence(Builder& b, ir::Scope scope) const override {
    const llvm::Intrinsic::ID id = scope == ir::Scope::System   ? llvm::Intrinsic::nvvm_membar_sys
                                   : scope == ir::Scope::Device ? llvm::Intrinsic::nvvm_membar_gl
                                                                : llvm::Intrinsic::nvvm_membar_cta;
    b.CreateIntrinsic(id, {}, {});
  }

  unsigned shared_space() const override { return 3; }
  unsigned global_space() const override { return 1; }

 private:
  DeviceTarget target_;
};

}  // namespace

const KernelTarget& kernel_target(const DeviceTarget& target) {
  static const std::vector<std::unique_ptr<Gpu>> all = [] {
    std::vector<std::unique_ptr<Gpu>> made;
    for (const DeviceTarget& generation : kGenerations) made.push_back(std::make_unique<Gpu>(generation));
    return made;
  }();
  const auto at = std::ranges::find(kGenerations, target);
  INGOT_ASSERT(at != std::end(kGenerations), "codegen: a generation of GPUs");
  return *all[static_cast<size_t>(at - std::begin(kGenerations))];
}

std::optional<DeviceTarget> DeviceTarget::of(int capability) {
  const auto newer = std::ranges::upper_bound(kGenerations, capability, {}, &DeviceTarget::capability);
  if (newer == std::begin(kGenerations)) return std::nullopt;
  return *std::prev(newer);
}

std::string DeviceTarget::cpu() const { return "sm_" + std::to_string(capability); }

std::string DeviceTarget::features() const { return "+ptx" + std::to_string(ptx); }

std::vector<DeviceTarget> device_targets() {
  const std::unique_ptr<llvm::MCSubtargetInfo> known(nvptx().createMCSubtargetInfo(kTriple, "", ""));
  std::vector<DeviceTarget> targets;
  for (const DeviceTarget& target : kGenerations)
    if (known->isCPUStringValid(target.cpu())) targets.push_back(target);
  return targets;
}

void prepare_device_module(llvm::Module& module) {
  module.setTargetTriple(kTriple);
  module.setDataLayout(make_machine({})->createDataLayout());
}

void mark_kernel(llvm::Function& function) {
  function.setCallingConv(llvm::CallingConv::PTX_Kernel);
  annotate(function, "kernel", 1);
}

std::string emit_ptx(llvm::Module& module, const DeviceTarget& target) {
  INGOT_ASSERT(module.getTargetTriple() == kTriple, "codegen: the module is prepared for devices");
  verify(module);
  return emit_file(module, *make_machine(target), llvm::CodeGenFileType::AssemblyFile);
}

}  // namespace ingot::codegen
