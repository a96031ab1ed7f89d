#include "base/cpu.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace ingot::base {
namespace {

TEST(Cpu, FeaturesAreThoseOfTheSystem) {
  std::set<std::string> flags;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;) flags.insert(word);
  }
  ASSERT_FALSE(flags.empty());
  // Where the kernel's names are not LLVM's.
  const std::map<std::string, std::string> kernels = {
      {"64bit", "lm"},
      {"sahf", "lahf_lm"},
      {"sse3", "pni"},
      {"sse4.1", "sse4_1"},
      {"sse4.2", "sse4_2"},
      {"pclmul", "pclmulqdq"},
      {"lzcnt", "abm"},
      {"bmi", "bmi1"},
      {"sha", "sha_ni"},
      {"evex512", "avx512f"},
      {"avxvnni", "avx_vnni"},
      {"avx512vbmi2", "avx512_vbmi2"},
      {"avx512vnni", "avx512_vnni"},
      {"avx512bitalg", "avx512_bitalg"},
      {"avx512vpopcntdq", "avx512_vpopcntdq"},
      {"avx512vp2intersect", "avx512_vp2intersect"},
      {"avx512fp16", "avx512_fp16"},
      {"avx512bf16", "avx512_bf16"},
  };
  // What kernels do not name, or only new ones do.
  const std::set<std::string> nameless = {"avxifma", "avxvnniint8", "avxneconvert", "avxvnniint16"};
  for (const std::string_view name : cpu_feature_names()) {
    const std::string feature(name);
    if (nameless.contains(feature)) continue;
    const auto kernel = kernels.find(feature);
    EXPECT_EQ(has_feature(cpu_features(), name),
              flags.contains(kernel == kernels.end() ? feature : kernel->second))
        << name;
  }
}

TEST(Cpu, SetsAreStrings) {
  EXPECT_TRUE(has_feature("sse3,avx2", "sse3"));
  EXPECT_TRUE(has_feature("sse3,avx2", "avx2"));
  EXPECT_FALSE(has_feature("sse3,avx2", "avx"));
  EXPECT_FALSE(has_feature("", "avx"));
  EXPECT_EQ(missing_feature("", ""), "");
  EXPECT_EQ(missing_feature("avx", "avx"), "");
  EXPECT_EQ(missing_feature("avx,fma", "sse3,fma,avx"), "");
  EXPECT_EQ(missing_feature("avx,avx512f,fma", "sse3,fma,avx"), "avx512f");
  EXPECT_EQ(missing_feature("avx", ""), "avx");
}

}  // namespace
}  // namespace ingot::base
