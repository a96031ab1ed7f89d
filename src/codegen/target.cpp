#include "codegen/target.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "base/error.h"

namespace ingot::codegen {

namespace {

int level_of(const llvm::StringMap<bool>& features) {
  const auto has = [&](std::initializer_list<const char*> names) {
    return std::ranges::all_of(names, [&](const char* name) { return features.lookup(name); });
  };
  if (!has({"cx16", "sahf", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"})) return 1;
  if (!has({"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"})) return 2;
  return has({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}) ? 4 : 3;
}

int vector_bits_of(int level) { return level == 4 ? 512 : level == 3 ? 256 : 128; }

}  // namespace

Target Target::host() {
  const llvm::StringMap<bool> found = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> names;
  for (const auto& feature : found) names.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::ranges::sort(names, {}, [](const std::string& name) { return name.substr(1); });
  Target target;
  target.cpu = llvm::sys::getHostCPUName().str();
  for (const std::string& name : names) target.features += (target.features.empty() ? "" : ",") + name;
  target.level = level_of(found);
  target.has_f16c = found.lookup("f16c");
  target.vector_bits = vector_bits_of(target.level);
  return target;
}

Target Target::generic(int level) {
  INGOT_ASSERT(level >= 1 && level <= 4, "levels of x86-64 are 1 to 4");
  Target target;
  target.cpu = level == 1 ? "x86-64" : "x86-64-v" + std::to_string(level);
  target.level = level;
  target.has_f16c = level >= 3;
  target.vector_bits = vector_bits_of(level);
  return target;
}

Target Target::named(std::string_view word) {
  if (word == "sse") return generic(2);
  if (word == "avx2") return generic(3);
  if (word == "avx512") return generic(4);
  Target target = host();
  if (word == "scalar") target.vector_bits = 0;
  return target;
}

}  // namespace ingot::codegen
