#include "transform/analyses/ranges.h"

#include <limits>
#include <random>

#include "transform/compare.h"

namespace ingot::transform {
namespace {

/// The text after simplify, which must do the same on all pairs of these numbers.
std::string simplified(const std::string& body) {
  const std::string text =
      "func @f(%a: i64, %b: i64, %x: view<f64, 1> alias 1) -> (i64) {\n"
      "  %zero = constant 0 : i64\n  %one = constant 1 : i64\n"
      "  %n = length %x {axis=0} : i64\n" +
      body + "}\n";
  const Comparison comparison(text, {"simplify"});
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (int64_t a : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{7}, kMost, kMost - 1, -kMost - 1})
    for (int64_t b : {int64_t{0}, int64_t{3}, int64_t{-2}, kMost, -kMost - 1})
      for (int64_t n : {0, 1, 5})
        comparison.check({base::Scalar::of(a), base::Scalar::of(b),
                          make_view(base::DType::Float64, {n}, Layout::Contiguous, 1)},
                         text);
  return comparison.text();
}

bool holds(const std::string& text, const std::string& word) { return text.find(word) != std::string::npos; }

TEST(Ranges, LengthsAreNotNegative) {
  EXPECT_FALSE(holds(simplified("  %m = maximum %n, %zero : i64\n  return %m\n"), "maximum"));
  EXPECT_TRUE(holds(simplified("  %m = maximum %a, %zero : i64\n  return %m\n"), "maximum"));
}

TEST(Ranges, LargestOfTheSameSumsIsOneValue) {
  // The lengths of x[2:], x[:-2] and x[1:-1].
  const std::string text = simplified(R"(
  %two = constant 2 : i64
  %start = minimum %two, %n : i64
  %from = subtract %n, %start : i64
  %less = subtract %n, %two : i64
  %to = maximum %less, %zero : i64
  %first = minimum %one, %n : i64
  %before = subtract %n, %one : i64
  %end = maximum %before, %zero : i64
  %both = subtract %end, %first : i64
  %inner = maximum %both, %zero : i64
  %a1 = equal %from, %to : bool
  %a2 = equal %to, %inner : bool
  %all = bitwise_and %a1, %a2 : bool
  %r = cast %all : i64
  return %r
)");
  EXPECT_FALSE(holds(text, "equal")) << text;
  const std::string other = simplified(R"(
  %d = subtract %n, %b : i64
  %m = maximum %d, %zero : i64
  %k = minimum %b, %n : i64
  %e = subtract %n, %k : i64
  %q = equal %m, %e : bool
  %r = cast %q : i64
  return %r
)");
  EXPECT_TRUE(holds(other, "equal")) << other;
}

TEST(Ranges, TheSameSumIsOneValue) {
  // The length of x[4:], and `x.shape[0] - 5 + 1`.
  const std::string text = simplified(R"(
  %four = constant 4 : i64
  %five = constant 5 : i64
  %short = subtract %n, %five : i64
  %first = add %short, %one : i64
  %second = subtract %n, %four : i64
  %same = equal %first, %second : bool
  %once = multiply %first, %a : i64
  %again = multiply %second, %a : i64
  %both = bitwise_xor %once, %again : i64
  %r = cast %same : i64
  %s = add %r, %both : i64
  return %s
)");
  EXPECT_FALSE(holds(text, "multiply")) << text;
  // A sum that may wrap is the same number, too, but is not known to be.
  const std::string other = simplified(R"(
  %two = constant 2 : i64
  %d = add %a, %b : i64
  %e = multiply %d, %two : i64
  %g = add %d, %a : i64
  %h = add %g, %b : i64
  %r = subtract %e, %h : i64
  return %r
)");
  EXPECT_TRUE(holds(other, "multiply")) << other;
}

TEST(Ranges, SumsThatMayWrapAreNotCompared) {
  const std::string sum = "  %s = add %a, %one : i64\n";
  const std::string minimum = "  %m = minimum %a, %s : i64\n  return %m\n";
  EXPECT_TRUE(holds(simplified(sum + minimum), "minimum"));
  const std::string check =
      "  %o = add_overflows %a, %one : bool\n  %e = invert %o : bool\n"
      "  check %e {kind=OverflowError, message=\"\"}\n";
  EXPECT_FALSE(holds(simplified(check + sum + minimum), "minimum"));
}

TEST(Ranges, LengthsHaveBytes) {
  // A length of float64 plus one does not wrap; nor does the index of a loop over it plus one.
  EXPECT_FALSE(
      holds(simplified("  %s = add %n, %one : i64\n  %m = minimum %n, %s : i64\n  return %m\n"), "minimum"));
  EXPECT_FALSE(holds(simplified(R"(
  %r = for %n, %zero {schedule=serial, width=0} : i64 {
  ^(%i: i64, %s: i64):
    %o = add_overflows %i, %n : bool
    %e = cast %o : i64
    %t = add %s, %e : i64
    yield %t
  }
  return %r
)"),
                     "add_overflows"));
}

TEST(Ranges, WhatACheckLetsPassHoldsAfterIt) {
  const std::string compare = "  %l = less %b, %a : bool\n  %r = cast %l : i64\n";
  EXPECT_FALSE(holds(simplified("  %c = less %a, %b : bool\n  check %c {kind=ValueError, message=\"\"}\n" +
                                compare + "  return %r\n"),
                     "%b, %a"));
  EXPECT_TRUE(holds(simplified("  %c = less %a, %b : bool\n" + compare +
                               "  check %c {kind=ValueError, message=\"\"}\n  return %r\n"),
                    "cast"));
}

TEST(Ranges, AnArmKnowsItsCondition) {
  const std::string text = simplified(R"(
  %c = greater %n, %zero : bool
  %r = if %c : i64 {
    %d = remainder %a, %n : i64
    yield %d
  } {
    yield %zero
  }
  %k = subtract %n, %r : i64
  %l = less %k, %zero : bool
  %m = minimum %k, %n : i64
  %s = select %l, %r, %m : i64
  return %s
)");
  EXPECT_FALSE(holds(text, "less")) << text;
  EXPECT_FALSE(holds(text, "minimum")) << text;
}

TEST(Ranges, ConditionsEndWithTheirRegion) {
  const std::string text = simplified(R"(
  %c = greater %a, %zero : bool
  %r = if %c : i64 {
    %m = maximum %a, %zero : i64
    %k = multiply %m, %m : i64
    %j = multiply %k, %m : i64
    %i = multiply %j, %m : i64
    %h = multiply %i, %m : i64
    yield %h
  } {
    yield %b
  }
  %z = maximum %a, %zero : i64
  %s = add %z, %r : i64
  return %s
)");
  EXPECT_EQ(text.find("maximum"), text.rfind("maximum")) << text;
  EXPECT_TRUE(holds(text, "maximum")) << text;
}

TEST(Ranges, ChainsOfBranchesAreLookedThroughOnce) {
  std::string body = "  %s0 = remainder %b, %one : i64\n";
  for (int i = 0; i < 300; ++i) {
    const std::string now = std::to_string(i), next = std::to_string(i + 1);
    body += "  %l" + now + " = less %s" + now + ", %a : bool\n  %s" + next + " = if %l" + now +
            " : i64 {\n    %p" + now + " = add %s" + now + ", %b : i64\n    %q" + now + " = multiply %p" +
            now + ", %p" + now + " : i64\n    %r" + now + " = floor_divide %q" + now +
            ", %b : i64\n    yield %r" + now + "\n  } {\n    %m" + now + " = minimum %s" + now +
            ", %n : i64\n    yield %m" + now + "\n  }\n";
  }
  EXPECT_TRUE(holds(simplified(body + "  %z = maximum %s300, %zero : i64\n  return %z\n"), "if"));
}

/// Random programs of the ops that compute lengths and indices, with checks between.
class RandomRanges {
 public:
  explicit RandomRanges(uint64_t seed) : random_(seed) {
    text_ =
        "func @f(%v0: i64, %v1: i64, %x: view<f64, 1> alias 1) -> (i64, i64, bool, bool, bool, bool) {\n"
        "  %v2 = length %x {axis=0} : i64\n  %v3 = constant 0 : i64\n  %v4 = constant 1 : i64\n"
        "  %v5 = constant 2 : i64\n  %v6 = constant 9223372036854775807 : i64\n";
    values_ = 7;
    for (int i = 0; i < 24; ++i) add();
    text_ += "  return " + number() + ", " + number();
    for (int i = 0; i < 4; ++i) text_ += ", %c" + std::to_string(conditions_ - 1 - i);
    text_ += "\n}\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::string number() {
    // The last ones more often than the first.
    const uint64_t back = random_() % 2 == 0 ? random_() % 4 : random_() % static_cast<uint64_t>(values_);
    return "%v" + std::to_string(values_ - 1 - static_cast<int>(std::min<uint64_t>(back, values_ - 1U)));
  }
  template <size_t N>
  std::string any(const char* const (&names)[N]) {
    return names[random_() % N];
  }
  void add() {
    static constexpr const char* kArithmetic[] = {
        "add", "add", "subtract", "subtract", "multiply", "minimum", "maximum", "floor_divide", "remainder"};
    static constexpr const char* kTests[] = {
        "less",          "less_equal",         "greater",           "greater_equal", "equal", "not_equal",
        "add_overflows", "subtract_overflows", "multiply_overflows"};
    const std::string condition = "%c" + std::to_string(conditions_++);
    text_ += "  " + condition + " = " + any(kTests) + " " + number() + ", " + number() + " : bool\n";
    const std::string value = "%v" + std::to_string(values_);
    switch (random_() % 8) {
      case 0: {
        const std::string other = "%i" + std::to_string(conditions_);
        if (random_() % 2 == 0) text_ += "  " + other + " = invert " + condition + " : bool\n";
        text_ +=
            "  check " +
            (random_() % 2 == 0 && text_.ends_with("invert " + condition + " : bool\n") ? other : condition);
        text_ += " {kind=ValueError, message=\"" + std::to_string(conditions_) + "\"}\n";
        return;
      }
      case 1:
        text_ += "  " + value + " = select " + condition + ", " + number() + ", " + number() + " : i64\n";
        break;
      case 2:
        text_ += "  " + value + " = if " + condition + " : i64 {\n    %t" + value.substr(1) + " = " +
                 any(kArithmetic) + " " + number() + ", " + number() + " : i64\n    yield %t" +
                 value.substr(1) + "\n  } {\n    yield " + number() + "\n  }\n";
        break;
      default:
        text_ += "  " + value + " = " + any(kArithmetic) + " " + number() + ", " + number() + " : i64\n";
    }
    ++values_;
  }

  std::mt19937_64 random_;
  std::string text_;
  int values_ = 0;
  int conditions_ = 0;
};

TEST(Ranges, StateWhatHoldsInRandomPrograms) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  std::mt19937_64 random(3);
  size_t shorter = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const RandomRanges program(seed);
    const Comparison comparison(program.text(), {"simplify"});
    shorter += comparison.text().size() < program.text().size();
    for (int i = 0; i < 12; ++i) {
      const auto edge = [&] {
        constexpr int64_t kEdges[] = {0, 1, 2, -1, 5, -7, kMost, kMost - 1, -kMost - 1, -kMost, kMost / 2};
        return base::Scalar::of(kEdges[random() % std::size(kEdges)]);
      };
      const ir::Value view =
          make_view(base::DType::Float64, {static_cast<int64_t>(random() % 4)}, Layout::Contiguous, 1);
      comparison.check({edge(), edge(), view}, program.text());
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GT(shorter, 1000u);
}

}  // namespace
}  // namespace ingot::transform
