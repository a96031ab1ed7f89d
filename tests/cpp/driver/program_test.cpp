#include "driver/program.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/refused.h"
#include "driver/pipeline.h"
#include "ir/text.h"

namespace ingot::driver {
namespace {

constexpr const char* kShared = R"(
func @f(%x: view<f64, 1> alias 1, %n: i64) -> () {
  %one = constant 1 : i64
  for %n {schedule=threads, width=0} {
  ^(%i: i64):
    %a = load %x, %i : f64
    %k = add %i, %one : i64
    store %x, %k, %a
    yield
  }
  return
}
)";

constexpr const char* kDerived = R"(
func @f(%x: f64) -> (f64) {
  %one = constant 1.0 : f64
  %v = lift %x, %one {tag=1} : f64
  %y = multiply %v, %v : f64
  %t = tangent %y {tag=1} : f64
  return %t
}
)";

Program program_of(const char* text, Report& report) {
  auto module = ir::parse(text, "<text>");
  const ir::FunctionId entry = base::known(module->find("f"));
  return {std::move(module), entry, report};
}

std::vector<std::string> names_of(const Report& report) {
  std::vector<std::string> names;
  for (const Report::Phase& phase : report.phases) names.push_back(phase.name);
  return names;
}

TEST(Program, is_made_by_phases_of_the_report) {
  Report report;
  std::vector<std::string> texts;
  report.dump = [&](std::string_view phase, const ir::Module& module) {
    texts.push_back(std::string(phase) + ": " + ir::print(module));
  };
  const Program program = program_of(kDerived, report);
  EXPECT_EQ(names_of(report), (std::vector<std::string>{"derive", "parallel"}));
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_EQ(texts[0].find("derive: "), 0U);
  EXPECT_EQ(texts[0].find("tangent"), std::string::npos);
  EXPECT_NE(ir::print(program.module()).find("multiply"), std::string::npos);
}

TEST(Program, refuses_races_by_a_code) {
  Report report;
  try {
    program_of(kShared, report);
    FAIL() << "it was taken";
  } catch (const base::Unsupported& refusal) {
    EXPECT_EQ(base::with_code(refusal).code, base::Refusal::Race);
    EXPECT_EQ(base::with_code(base::Unsupported({}, "", "")).code, base::Refusal::Other);
  }
}

}  // namespace
}  // namespace ingot::driver
