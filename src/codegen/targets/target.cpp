#include "codegen/targets/target.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/X86TargetParser.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "codegen/targets/amd.h"
#include "codegen/targets/device.h"
#include "codegen/targets/kernel_target.h"
#include "codegen/targets/opencl.h"
#include "codegen/targets/x86.h"
#include "codegen/with_llvm.h"

namespace ingot::codegen {

namespace {

/// The features that each level of the psABI adds to the one before.
constexpr std::string_view kLevels[] = {
    "64bit,cx8,cmov,mmx,fxsr,sse,sse2",
    "cx16,sahf,popcnt,sse3,ssse3,sse4.1,sse4.2",
    "avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe,xsave",
    "avx512f,evex512,avx512bw,avx512cd,avx512dq,avx512vl",
};

/// Threads of a block of the launches that loops become, and bytes of arrays that a thread may have of its
/// own.
constexpr int64_t kBlockThreads = 256;
constexpr int64_t kThreadBytes = 16 << 10;

int level_of(std::string_view features) {
  int level = 1;
  while (level < 4 && base::missing_feature(kLevels[level], features).empty()) ++level;
  return level;
}

const Instructions& portable_instructions() {
  static const Instructions all;
  return all;
}

const Instructions& x86_instructions(int level, bool has_halves) {
  static const std::array<X86Instructions, 8> all = {X86Instructions{1, false}, X86Instructions{1, true},
                                                     X86Instructions{2, false}, X86Instructions{2, true},
                                                     X86Instructions{3, false}, X86Instructions{3, true},
                                                     X86Instructions{4, false}, X86Instructions{4, true}};
  return all[static_cast<size_t>(2 * (level - 1) + (has_halves ? 1 : 0))];
}

void set_level(Target& target, int level) {
  target.level = level;
  target.machine.vector_bits = level == 4 ? 512 : level == 3 ? 256 : 128;
  target.machine.registers = level == 4 ? 32 : 16;
  target.machine.divides = level == 4;
  target.instructions = &x86_instructions(level, base::has_feature(target.needs, "f16c"));
  target.machine.compresses = target.instructions->compressed_bits() > 0;
}

const KernelTarget& kernels_of(std::string_view code) {
  constexpr std::string_view kPtx = "sm_";
  if (code == "opencl") return opencl_target();
  if (const KernelTarget* const amd = amd_target(code)) return *amd;
  INGOT_ASSERT(code.starts_with(kPtx), "codegen: code of the kind " + std::string(code));
  int capability = 0;
  std::from_chars(code.data() + kPtx.size(), code.data() + code.size(), capability);
  const std::optional<DeviceTarget> device = DeviceTarget::of(capability);
  INGOT_ASSERT(device.has_value(), "codegen: GPUs before compute capability 7.5");
  return kernel_target(*device);
}

Target find_host() {
  Target target;
  target.cpu = llvm::sys::getHostCPUName().str();
  target.needs = base::cpu_features();
  std::vector<std::string> names;
  // What the name implies is not listed again, as reading the list takes LLVM long.
  llvm::SmallVector<llvm::StringRef, 128> own;
  if (llvm::X86::parseArchX86(target.cpu) != llvm::X86::CK_None)
    llvm::X86::getFeaturesForCPU(target.cpu, own);
  // Features that base/cpu.h does not know stay unused: objects could not state that they need it.
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    if (!base::has_feature(target.needs, feature.first())) names.push_back("-" + feature.first().str());
    else if (!llvm::is_contained(own, feature.first())) names.push_back("+" + feature.first().str());
  }
  std::ranges::sort(names, {}, [](const std::string& name) { return name.substr(1); });
  for (const std::string& name : names) target.features += (target.features.empty() ? "" : ",") + name;
  set_level(target, level_of(target.needs));
  return target;
}

}  // namespace

Target Target::host() {
  static const Target found = [] {
    Target made;
    with_llvm([&] { made = find_host(); });
    return made;
  }();
  return found;
}

Target Target::generic(int level) {
  INGOT_ASSERT(level >= 1 && level <= 4, "levels of x86-64 are 1 to 4");
  Target target;
  target.cpu = level == 1 ? "x86-64" : "x86-64-v" + std::to_string(level);
  for (int i = 0; i < level; ++i) target.needs += (i == 0 ? "" : ",") + std::string(kLevels[i]);
  set_level(target, level);
  return target;
}

Target Target::portable() {
  Target target = generic(1);
  target.machine.vector_bits = 0;
  target.machine.streamed_bytes = 0;
  target.instructions = &portable_instructions();
  return target;
}

Target Target::with_device(std::string_view code, bool has_products) const {
  Target target = *this;
  target.kernels = &kernels_of(code);
  target.machine.vector_bits = 0;
  target.machine.block_threads = kBlockThreads;
  target.machine.products = has_products ? base::Machine::Products::Device : base::Machine::Products::Loops;
  target.machine.warp_threads = target.kernels->warp_threads();
  target.machine.shared_bytes = target.kernels->shared_bytes();
  target.machine.blocks_in_order = target.kernels->blocks_in_order();
  target.machine.stack_bytes = kThreadBytes;
  target.machine.streamed_bytes = 0;
  return target;
}

Target Target::named(std::string_view word) {
  if (word == "sse") return generic(2);
  if (word == "avx2") return generic(3);
  if (word == "avx512") return generic(4);
  if (word == "scalar") return portable();
  return host();
}

}  // namespace ingot::codegen
