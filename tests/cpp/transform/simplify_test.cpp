#include "transform/functions/simplify.h"

#include "ir/random_function.h"
#include "transform/compare.h"

namespace ingot::transform {
namespace {

/// The text after simplify, which must do the same on an argument.
std::string simplified(const std::string& text,
                       const std::vector<ir::Value>& arguments = {base::Scalar::of<int64_t>(5)}) {
  const Comparison comparison(text, {"simplify"});
  comparison.check(arguments, text);
  return comparison.text();
}

TEST(Simplify, TakesTheArmOfAConstantCondition) {
  const std::string text = simplified(R"(
func @f(%n: i64) -> (i64) {
  %c = constant true : bool
  %r = if %c : i64 {
    %s = add %n, %n : i64
    yield %s
  } {
    raise {kind=ValueError, message="never"}
  }
  return %r
}
)");
  EXPECT_EQ(text.find("if"), std::string::npos);
}

TEST(Simplify, OpensBlocksAndDropsChecks) {
  const std::string text = simplified(R"(
func @f(%n: i64) -> (i64) {
  %r = block : i64 {
  ^(%l: label):
    %c = less %n, %n : bool
    %d = invert %c : bool
    check %d {kind=ValueError, message="never"}
    yield %n
  }
  return %r
}
)");
  EXPECT_EQ(text.find("block"), std::string::npos);
  EXPECT_EQ(text.find("check"), std::string::npos);
}

TEST(Simplify, ChecksOnceOnEachPath) {
  const std::string text = simplified(R"(
func @f(%n: i64) -> (i64) {
  %one = constant 1 : i64
  %five = constant 5 : i64
  %c = less %n, %five : bool
  %d = less_equal %n, %five : bool
  for %n {schedule=serial, width=0} {
  ^(%k: i64):
    check %d {kind=ValueError, message="in an iteration"}
    check %d {kind=ValueError, message="again in an iteration"}
    yield
  }
  check %d {kind=ValueError, message="after the loop"}
  if %c {
    check %d {kind=ValueError, message="again in an arm"}
    yield
  } {
    yield
  }
  return %one
}
)");
  EXPECT_NE(text.find("\"in an iteration"), std::string::npos);
  EXPECT_NE(text.find("\"after the loop"), std::string::npos);
  EXPECT_EQ(text.find("again"), std::string::npos);
}

TEST(Simplify, EndsWhereAnArmRaises) {
  const std::string text = simplified(R"(
func @f(%n: i64) -> (i64) {
  %c = constant true : bool
  %r = if %c : i64 {
    raise %n {kind=ValueError, message="{}"}
  } {
    yield %n
  }
  %s = add %r, %r : i64
  return %s
}
)");
  EXPECT_EQ(text.find("return"), std::string::npos);
}

TEST(Simplify, DropsWhatIsCarriedForNobody) {
  const std::string text = simplified(R"(
func @f(%n: i64) -> (i64) {
  %u = none {tag=2} : optional<i64>
  %zero = constant 0 : i64
  %a, %b, %c = for %n, %u, %zero, %zero {schedule=serial, width=0} : (optional<i64>, i64, i64) {
  ^(%k: i64, %p: optional<i64>, %q: i64, %s: i64):
    %o = some %k : optional<i64>
    %t = add %s, %k : i64
    %v = multiply %q, %k : i64
    yield %o, %v, %t
  }
  %d, %e = while %n, %c : (i64, i64) {
  ^(%p: i64, %q: i64):
    %g = less %zero, %p : bool
    yield %g, %p, %q
  } {
  ^(%p: i64, %q: i64):
    %one = constant 1 : i64
    %m = subtract %p, %one : i64
    %h = multiply %q, %q : i64
    yield %m, %h
  }
  return %c
}
)");
  EXPECT_EQ(text.find("multiply"), std::string::npos) << text;
  EXPECT_EQ(text.find("optional"), std::string::npos) << text;
  EXPECT_NE(text.find("while"), std::string::npos) << text;
}

TEST(Simplify, KnowsTheRangeOfALoopIndex) {
  const std::string text = simplified(R"(
func @f(%x: view<f64, 1>) -> (f64) {
  %n = length %x {axis=0} : i64
  %zero = constant 0 : i64
  %low = negative %n : i64
  %c = constant 0.0 : f64
  %s = for %n, %c {schedule=serial, width=0} : f64 {
  ^(%k: i64, %t: f64):
    %a = greater_equal %k, %low : bool
    %b = less %k, %n : bool
    %d = bitwise_and %a, %b : bool
    check %d, %k {kind=IndexError, message="{}"}
    %g = less %k, %zero : bool
    %h = add %k, %n : i64
    %i = select %g, %h, %k : i64
    %e = load %x, %i : f64
    %u = add %t, %e : f64
    yield %u
  }
  return %s
}
)",
                                      {make_view(base::DType::Float64, {33}, Layout::Spread, 1)});
  EXPECT_EQ(text.find("check"), std::string::npos) << text;
  EXPECT_EQ(text.find("select"), std::string::npos) << text;
}

TEST(Simplify, KnowsCountsThatRunDownAndIndicesThatFit) {
  const std::string text = simplified(R"(
func @f(%a: view<u8, 1> alias 1) -> () {
  %zero = constant 0 : i64
  %last = constant -1 : i64
  %one = constant 1 : i64
  %n = length %a {axis=0} : i64
  %start = subtract %n, %one : i64
  %some = greater %start, %last : bool
  %count = select %some, %n, %zero : i64
  for %count {schedule=serial, width=0} {
  ^(%i: i64):
    %short = constant 12 : i64
    for %short {schedule=serial, width=0} {
    ^(%k: i64):
      %small = cast %k : u8
      %again = cast %small : i64
      %fits = equal %again, %k : bool
      check %fits, %k {kind=OverflowError, message="{}"}
      store %a, %i, %small
      yield
    }
    yield
  }
  return
}
)",
                                      {make_view(base::DType::UInt8, {33}, Layout::Spread, 1)});
  EXPECT_EQ(text.find("select"), std::string::npos) << text;
  EXPECT_EQ(text.find("check"), std::string::npos) << text;
}

TEST(Passes, KeepWhatRandomFunctionsDo) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    ir::test::RandomOptions options;
    options.spans = seed % 2 != 0;
    options.nodes = 30 + static_cast<int>(seed % 50);
    const auto build = [&] {
      auto module = std::make_unique<ir::Module>();
      ir::test::RandomFunction(*module, seed, options).build();
      return module;
    };
    const Comparison comparison(build(), build(), {"simplify", "to_loops", "simplify"});
    for (int64_t length : {0, 1, 7, 40}) {
      const std::vector<ir::Value> arguments = {
          base::Scalar::of(1.5),
          base::Scalar::of(-0.25),
          base::Scalar::of<int64_t>(7),
          base::Scalar::of<int64_t>(-3),
          base::Scalar::of(seed % 3 == 0),
          make_view(base::DType::Float64, {length}, Layout::Spread, seed),
          make_view(base::DType::Float64, {length + 1}, Layout::Reversed, seed + 1)};
      comparison.check(arguments, "seed " + std::to_string(seed));
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace ingot::transform
