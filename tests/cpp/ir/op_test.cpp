#include "ir/op.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>

#include "ir/builder.h"
#include "ir/evaluate.h"

namespace ingot::ir {
namespace {

using base::DType;
using base::Scalar;

/// Calls fn with each op that has values for a dtype, each dtype, and two numbers of it.
void each_pair(const std::function<void(Op, DType, const std::array<Scalar, 2>&)>& fn) {
  for (int op = 0; op < kOpCount; ++op)
    for (int dtype = 0; dtype < base::kDTypeCount; ++dtype) {
      const auto t = static_cast<DType>(dtype);
      if (element_loop(static_cast<Op>(op), t) == nullptr) continue;
      for (const double a : {-3.0, -0.0, 0.0, 1.0, 6.0})
        for (const double b : {-3.0, -0.0, 0.0, 1.0, 6.0})
          fn(static_cast<Op>(op), t,
             {evaluate_cast(DType::Float64, t, Scalar::of(a)),
              evaluate_cast(DType::Float64, t, Scalar::of(b))});
    }
}

std::string named(Op op, DType dtype) {
  return std::string(name_of(op)) + " of " + std::string(base::info(dtype).name);
}

TEST(Algebra, NumbersThatAreCombinedWithTheIdentityStayEqual) {
  each_pair([](Op op, DType t, const std::array<Scalar, 2>& numbers) {
    const auto identity = identity_of(op, t);
    EXPECT_EQ(identity.has_value(), info(op).laws.associative && !info(op).laws.extreme) << named(op, t);
    if (!identity) return;
    const bool has_size = op == Op::gcd || op == Op::lcm;
    const Scalar x = has_size ? evaluate(Op::absolute, t, {&numbers[0], 1}) : numbers[0];
    for (const std::array<Scalar, 2>& operands :
         {std::array{*identity, numbers[0]}, {numbers[0], *identity}}) {
      const Scalar both[] = {evaluate(op, t, operands), x};
      EXPECT_EQ(evaluate(Op::equal, t, both), Scalar::of(true)) << named(op, t);
    }
  });
}

TEST(Algebra, NeutralNumbersKeepAllBits) {
  each_pair([](Op op, DType t, const std::array<Scalar, 2>& numbers) {
    if (const auto neutral = neutral_of(op, t)) {
      EXPECT_EQ(evaluate(op, t, std::array{numbers[0], *neutral}), numbers[0]) << named(op, t);
    }
  });
}

TEST(Algebra, ExtremesAreOneOfTheirOperands) {
  each_pair([](Op op, DType t, const std::array<Scalar, 2>& numbers) {
    if (!info(op).laws.extreme) return;
    const Scalar given = evaluate(op, t, numbers);
    EXPECT_TRUE(given == numbers[0] || given == numbers[1]) << named(op, t);
  });
}

TEST(Algebra, OppositeComparisonsHoldWhereTheOthersDoNot) {
  each_pair([](Op op, DType t, const std::array<Scalar, 2>& numbers) {
    if (const auto opposite = info(op).opposite) {
      EXPECT_NE(evaluate(op, t, numbers), evaluate(*opposite, t, numbers)) << named(op, t);
    }
  });
}

TEST(Algebra, OverflowIsReportedOfTheOpOfThatName) {
  for (int op = 0; op < kOpCount; ++op) {
    if (const auto of = info(static_cast<Op>(op)).overflow_of) {
      EXPECT_EQ(name_of(static_cast<Op>(op)), std::string(name_of(*of)) + "_overflows");
    }
  }
}

}  // namespace
}  // namespace ingot::ir
