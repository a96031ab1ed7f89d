#include "codegen/targets/device.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Metadata.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetOptions.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "base/error.h"
#include "codegen/emit.h"
#include "codegen/targets/device_lowering.h"

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace ingot::codegen {

namespace {

constexpr const char* kTriple = "nvptx64-nvidia-cuda";

/// The name of each generation, oldest first, with the first PTX version that has it.
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

}  // namespace

std::unique_ptr<llvm::TargetMachine> make_device_machine(const DeviceTarget& target) {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(
      nvptx().createTargetMachine(kTriple, target.cpu(), target.features(), options, std::nullopt,
                                  std::nullopt, llvm::CodeGenOptLevel::Default, /*JIT=*/false));
  INGOT_ASSERT(machine != nullptr, "codegen: LLVM knows the GPU " + target.cpu());
  return machine;
}

void annotate_kernel(llvm::Function& function, const char* what, unsigned number) {
  llvm::LLVMContext& context = function.getContext();
  llvm::Metadata* const mark[] = {
      llvm::ValueAsMetadata::get(&function), llvm::MDString::get(context, what),
      llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), number))};
  function.getParent()
      ->getOrInsertNamedMetadata("nvvm.annotations")
      ->addOperand(llvm::MDNode::get(context, mark));
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
  module.setDataLayout(make_device_machine({})->createDataLayout());
}

void mark_kernel(llvm::Function& function) {
  function.setCallingConv(llvm::CallingConv::PTX_Kernel);
  annotate_kernel(function, "kernel", 1);
}

std::string emit_ptx(llvm::Module& module, const DeviceTarget& target) {
  INGOT_ASSERT(module.getTargetTriple() == kTriple, "codegen: the module is prepared for devices");
  verify(module);
  lower_fences(module);
  check_for_devices(module, {.intrinsics = "llvm.nvvm."});
  return emit_for_device(module, *make_device_machine(target), llvm::CodeGenFileType::AssemblyFile);
}

}  // namespace ingot::codegen
