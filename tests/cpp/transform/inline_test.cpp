#include "transform/functions/inline.h"

#include "ir/random_function.h"
#include "transform/compare.h"

namespace ingot::transform {
namespace {

using ir::test::RandomFunction;

/// Calls of a random function, some of them in branches and loops, and another one that uses its results.
std::string random_calls(uint64_t seed) {
  ir::Module module;
  ir::test::RandomOptions options;
  options.spans = false;
  options.nodes = 5 + static_cast<int>(seed % 30);
  RandomFunction(module, seed, options).build();
  return replaced(ir::print(module), "@f(", "@g(") + R"(
func @h(%x: f64, %c: bool, %v: view<f64, 1>, %w: view<f64, 1>) -> (f64, i64) {
  %one = constant 1 : i64
  %r, %i, %b = call %x, %x, %one, %one, %c, %v, %w {function=@g, catches=0} : (f64, i64, bool)
  %s = sin %r : f64
  return %s, %i
}

func @f(%a: f64, %b: f64, %n: i64, %m: i64, %c: bool, %v: view<f64, 1> alias 1, %w: view<f64, 1> alias 2) -> (f64, i64, bool) {
  %1, %2, %3 = call %b, %a, %m, %n, %c, %v, %w {function=@g, catches=0} : (f64, i64, bool)
  %4, %5 = if %3 : (f64, i64) {
    %6, %7 = call %1, %c, %w, %v {function=@h, catches=0} : (f64, i64)
    yield %6, %7
  } {
    yield %a, %2
  }
  %three = constant 3 : i64
  %8 = for %three, %4 {schedule=serial, width=0} : f64 {
  ^(%k: i64, %t: f64):
    %9, %10, %11 = call %t, %b, %k, %5, %3, %v, %v {function=@g, catches=0} : (f64, i64, bool)
    yield %9
  }
  return %8, %5, %3
}
)";
}

TEST(Inline, KeepsWhatRandomFunctionsDo) {
  int small = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Comparison comparison(random_calls(seed), {"inline", "simplify"});
    if (comparison.text().find("call ") == std::string::npos) ++small;
    for (int64_t length : {0, 1, 7}) {
      const std::vector<ir::Value> arguments = {
          base::Scalar::of(1.5),
          base::Scalar::of(-0.25),
          base::Scalar::of<int64_t>(2),
          base::Scalar::of<int64_t>(-3),
          base::Scalar::of(seed % 3 == 0),
          make_view(base::DType::Float64, {length}, Layout::Spread, seed),
          make_view(base::DType::Float64, {length + 1}, Layout::Reversed, seed + 1)};
      comparison.check(arguments, "seed " + std::to_string(seed));
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
  }
  EXPECT_GT(small, 50);
}

TEST(Inline, LeavesFunctionsWithoutCallsAlone) {
  const auto module = ir::parse("func @f(%x: f64) -> (f64) { return %x }", "test.ir");
  EXPECT_EQ(inline_calls(*module->function(*module->find("f"))), nullptr);
}

TEST(Inline, AllCallsButThoseOfRecursion) {
  std::string large = "func @large(%x: f64) -> (f64) {\n  %0 = lgamma %x : f64\n";
  for (int i = 0; i < 100; ++i)
    large += "  %" + std::to_string(i + 1) + " = lgamma %" + std::to_string(i) + " : f64\n";
  const auto module = ir::parse(large + R"(  return %100
}
func @down(%x: f64) -> (f64) {
  %0 = call %x {function=@down, catches=0} : f64
  return %0
}
func @f(%x: f64) -> (f64) {
  %0 = call %x {function=@large, catches=0} : f64
  %1 = call %0 {function=@large, catches=0} : f64
  %2 = call %1 {function=@down, catches=0} : f64
  return %2
}
)",
                                "test.ir");
  const ir::Function& f = *module->function(*module->find("f"));
  EXPECT_EQ(inline_calls(f), nullptr);
  const std::string text = ir::print(*inline_all_calls(f));
  EXPECT_EQ(text.find("@large"), std::string::npos) << text;
  EXPECT_NE(text.find("@down"), std::string::npos) << text;
}

TEST(Module, KeepsWhatCallsLeadTo) {
  const auto module = ir::parse(R"(
func @a() -> () {
  call {function=@b, catches=0}
  return
}
func @b() -> () { return }
func @c() -> () {
  call {function=@a, catches=0}
  return
}
)",
                                "test.ir");
  const ir::FunctionId a = *module->find("a");
  module->keep_reachable({&a, 1});
  EXPECT_NE(module->function(a), nullptr);
  EXPECT_NE(module->function(*module->find("b")), nullptr);
  EXPECT_EQ(module->function(*module->find("c")), nullptr);
}

}  // namespace
}  // namespace ingot::transform
