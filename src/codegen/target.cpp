#include "codegen/target.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/X86TargetParser.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"

namespace ingot::codegen {

namespace {

/// What each level of the psABI adds to the one before.
constexpr std::string_view kLevels[] = {
    "64bit,cx8,cmov,mmx,fxsr,sse,sse2",
    "cx16,sahf,popcnt,sse3,ssse3,sse4.1,sse4.2",
    "avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe,xsave",
    "avx512f,evex512,avx512bw,avx512cd,avx512dq,avx512vl",
};

int level_of(std::string_view features) {
  int level = 1;
  while (level < 4 && base::missing_feature(kLevels[level], features).empty()) ++level;
  return level;
}

int vector_bits_of(int level) { return level == 4 ? 512 : level == 3 ? 256 : 128; }

Target find_host() {
  Target target;
  target.cpu = llvm::sys::getHostCPUName().str();
  target.needs = base::cpu_features();
  std::vector<std::string> names;
  // What the name says already is not said again, as reading the list takes LLVM long.
  llvm::SmallVector<llvm::StringRef, 128> own;
  if (llvm::X86::parseArchX86(target.cpu) != llvm::X86::CK_None)
    llvm::X86::getFeaturesForCPU(target.cpu, own);
  // What base/cpu.h does not know stays unused: objects could not say that they need it.
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    if (!base::has_feature(target.needs, feature.first())) names.push_back("-" + feature.first().str());
    else if (!llvm::is_contained(own, feature.first())) names.push_back("+" + feature.first().str());
  }
  std::ranges::sort(names, {}, [](const std::string& name) { return name.substr(1); });
  for (const std::string& name : names) target.features += (target.features.empty() ? "" : ",") + name;
  target.level = level_of(target.needs);
  target.has_f16c = base::has_feature(target.needs, "f16c");
  target.machine.vector_bits = vector_bits_of(target.level);
  return target;
}

}  // namespace

Target Target::host() {
  static const Target found = find_host();
  return found;
}

Target Target::generic(int level) {
  INGOT_ASSERT(level >= 1 && level <= 4, "levels of x86-64 are 1 to 4");
  Target target;
  target.cpu = level == 1 ? "x86-64" : "x86-64-v" + std::to_string(level);
  for (int i = 0; i < level; ++i) target.needs += (i == 0 ? "" : ",") + std::string(kLevels[i]);
  target.level = level;
  target.has_f16c = level >= 3;
  target.machine.vector_bits = vector_bits_of(level);
  return target;
}

Target Target::named(std::string_view word) {
  if (word == "sse") return generic(2);
  if (word == "avx2") return generic(3);
  if (word == "avx512") return generic(4);
  Target target = host();
  if (word == "scalar") target.machine.vector_bits = 0;
  return target;
}

}  // namespace ingot::codegen
