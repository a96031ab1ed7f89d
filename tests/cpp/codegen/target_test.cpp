#include "codegen/targets/target.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/cpu.h"
#include "ir/text.h"
#include "run.h"

namespace ingot::codegen {
namespace {

constexpr const char* kHalf = R"(func @f(%x: f64) -> (f64) {
  %two = constant 2.0 : f64
  %half = divide %x, %two : f64
  return %half
})";

TEST(Target, OfThisCpuUsesWhatObjectsCanName) {
  const Target target = Target::host();
  EXPECT_EQ(target.needs, base::cpu_features());
  for (std::string_view list = target.features; !list.empty();) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), item.size() + 1));
    EXPECT_EQ(item[0] == '+', base::has_feature(target.needs, item.substr(1))) << item;
  }
}

TEST(Target, OfALevelNeedsThatLevel) {
  EXPECT_TRUE(base::has_feature(Target::generic(1).needs, "sse2"));
  EXPECT_FALSE(base::has_feature(Target::generic(1).needs, "sse3"));
  EXPECT_TRUE(base::has_feature(Target::generic(3).needs, "avx2"));
  EXPECT_FALSE(base::has_feature(Target::generic(3).needs, "avx512f"));
  for (const std::string_view name : {"sse2", "popcnt", "fma", "avx512vl"})
    EXPECT_TRUE(base::has_feature(Target::generic(4).needs, name)) << name;
}

TEST(Target, IsStoredInObjects) {
  for (const Target& target : {Target::host(), Target::generic(1), Target::generic(2)}) {
    Program p(kHalf, {target, {.verify = true}});
    EXPECT_EQ(p.f.object->info().features, target.needs);
  }
}

TEST(Target, HasTheSameCodeAfterOthers) {
  const auto module = ir::parse(kHalf, "<test>");
  const ir::FunctionId entry = *module->find("f");
  std::map<std::string, std::string> objects;
  for (int round = 0; round < 3; ++round) {
    for (const int level : {1, 3}) {
      for (const Effort effort : {Effort::Quick, Effort::Normal}) {
        const std::string object =
            compile(*module, {&entry, 1}, Target::generic(level), {.effort = effort}).object;
        const std::string key = std::to_string(level) + (effort == Effort::Quick ? " quick" : "");
        EXPECT_EQ(objects.try_emplace(key, object).first->second, object) << key;
      }
    }
  }
  EXPECT_NE(objects["1"], objects["3"]);
  EXPECT_NE(objects["1"], objects["1 quick"]);
}

TEST(Target, OfAnotherCpuIsRefusedByTheLoader) {
  Target other = Target::generic(1);
  other.needs += ",avx2048";
  EXPECT_THROW(Program(kHalf, {other, {.verify = true}}), runtime::LoadError);
}

}  // namespace
}  // namespace ingot::codegen
