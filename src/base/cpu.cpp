#include "base/cpu.h"

#include <cpuid.h>

#include <array>
#include <cstdint>
#include <vector>

namespace ingot::base {

namespace {

enum Register : uint8_t { kEax, kEbx, kEcx, kEdx };

/// The state that the system must save when it changes threads, as bits of XCR0.
enum State : uint32_t { kNone = 0, kYmm = 0x6, kZmm = 0xe6 };

/// Where CPUID reports a feature (Intel's manual, volume 2, CPUID; AMD's, volume 3, appendix E).
struct Feature {
  std::string_view name;
  uint32_t leaf;
  uint32_t subleaf;
  Register location;
  int bit;
  State state;
};

constexpr Feature kFeatures[] = {
    {"64bit", 0x80000001, 0, kEdx, 29, kNone},
    {"cx8", 1, 0, kEdx, 8, kNone},
    {"cmov", 1, 0, kEdx, 15, kNone},
    {"mmx", 1, 0, kEdx, 23, kNone},
    {"fxsr", 1, 0, kEdx, 24, kNone},
    {"sse", 1, 0, kEdx, 25, kNone},
    {"sse2", 1, 0, kEdx, 26, kNone},
    {"cx16", 1, 0, kEcx, 13, kNone},
    {"sahf", 0x80000001, 0, kEcx, 0, kNone},
    {"popcnt", 1, 0, kEcx, 23, kNone},
    {"sse3", 1, 0, kEcx, 0, kNone},
    {"ssse3", 1, 0, kEcx, 9, kNone},
    {"sse4.1", 1, 0, kEcx, 19, kNone},
    {"sse4.2", 1, 0, kEcx, 20, kNone},
    {"movbe", 1, 0, kEcx, 22, kNone},
    {"pclmul", 1, 0, kEcx, 1, kNone},
    {"aes", 1, 0, kEcx, 25, kNone},
    {"xsave", 1, 0, kEcx, 27, kNone},
    {"lzcnt", 0x80000001, 0, kEcx, 5, kNone},
    {"bmi", 7, 0, kEbx, 3, kNone},
    {"bmi2", 7, 0, kEbx, 8, kNone},
    {"adx", 7, 0, kEbx, 19, kNone},
    {"sha", 7, 0, kEbx, 29, kNone},
    {"gfni", 7, 0, kEcx, 8, kNone},
    {"avx", 1, 0, kEcx, 28, kYmm},
    {"f16c", 1, 0, kEcx, 29, kYmm},
    {"fma", 1, 0, kEcx, 12, kYmm},
    {"avx2", 7, 0, kEbx, 5, kYmm},
    {"vaes", 7, 0, kEcx, 9, kYmm},
    {"vpclmulqdq", 7, 0, kEcx, 10, kYmm},
    {"avxvnni", 7, 1, kEax, 4, kYmm},
    {"avxifma", 7, 1, kEax, 23, kYmm},
    {"avxvnniint8", 7, 1, kEdx, 4, kYmm},
    {"avxneconvert", 7, 1, kEdx, 5, kYmm},
    {"avxvnniint16", 7, 1, kEdx, 10, kYmm},
    {"avx512f", 7, 0, kEbx, 16, kZmm},
    {"evex512", 7, 0, kEbx, 16, kZmm},  // LLVM's name for vectors of that length
    {"avx512cd", 7, 0, kEbx, 28, kZmm},
    {"avx512bw", 7, 0, kEbx, 30, kZmm},
    {"avx512dq", 7, 0, kEbx, 17, kZmm},
    {"avx512vl", 7, 0, kEbx, 31, kZmm},
    {"avx512ifma", 7, 0, kEbx, 21, kZmm},
    {"avx512vbmi", 7, 0, kEcx, 1, kZmm},
    {"avx512vbmi2", 7, 0, kEcx, 6, kZmm},
    {"avx512vnni", 7, 0, kEcx, 11, kZmm},
    {"avx512bitalg", 7, 0, kEcx, 12, kZmm},
    {"avx512vpopcntdq", 7, 0, kEcx, 14, kZmm},
    {"avx512vp2intersect", 7, 0, kEdx, 8, kZmm},
    {"avx512fp16", 7, 0, kEdx, 23, kZmm},
    {"avx512bf16", 7, 1, kEax, 5, kZmm},
};

/// The bits of XCR0; 0 where programs may not read it.
uint32_t saved_state() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  constexpr uint32_t kOsxsave = 1u << 27;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kOsxsave) == 0) return 0;
  uint32_t low = 0, high = 0;  // NOLINT(misc-const-correctness): the instruction writes them
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

bool is_present(const Feature& feature, uint32_t saved) {
  std::array<uint32_t, 4> registers{};
  const int known = __get_cpuid_count(feature.leaf, feature.subleaf, &registers[kEax], &registers[kEbx],
                                      &registers[kEcx], &registers[kEdx]);
  return known != 0 && (registers[feature.location] >> feature.bit & 1) != 0 &&
         (saved & feature.state) == feature.state;
}

std::string find_features() {
  const uint32_t saved = saved_state();
  std::string found;
  for (const Feature& feature : kFeatures)
    if (is_present(feature, saved)) found += (found.empty() ? "" : ",") + std::string(feature.name);
  return found;
}

/// Takes the first name off a set.
std::string_view take_name(std::string_view& set) {
  const size_t end = set.find(',');
  const std::string_view name = set.substr(0, end);
  set = end == std::string_view::npos ? std::string_view() : set.substr(end + 1);
  return name;
}

}  // namespace

std::span<const std::string_view> cpu_feature_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Feature& feature : kFeatures) all.push_back(feature.name);
    return all;
  }();
  return names;
}

const std::string& cpu_features() {
  static const std::string features = find_features();
  return features;
}

bool has_feature(std::string_view set, std::string_view feature) {
  while (!set.empty())
    if (take_name(set) == feature) return true;
  return false;
}

std::string_view missing_feature(std::string_view needed, std::string_view present) {
  if (needed == present) return {};
  while (!needed.empty()) {
    const std::string_view name = take_name(needed);
    if (!has_feature(present, name)) return name;
  }
  return {};
}

}  // namespace ingot::base
