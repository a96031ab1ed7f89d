#include "driver/lowering.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace ingot::driver {
namespace {

/// Lowers once it knows all that it wants.
struct Wanting {
  struct Lowered {
    int attempts;
  };
  using Outcome = std::variant<Lowered, std::string, std::runtime_error>;

  Outcome attempt() {
    ++attempts;
    for (const std::string& fact : wanted) {
      if (fact == "impossible") return std::runtime_error(fact);
      if (!known.contains(fact)) return fact;
    }
    return Lowered{attempts};
  }
  void learn(const std::string& fact) { known.insert(fact); }

  std::vector<std::string> wanted{};
  std::set<std::string> known{};
  int attempts = 0;
};

TEST(Lowering, makes_an_attempt_for_each_fact_that_is_lacking) {
  Wanting none;
  EXPECT_EQ(lower(none).attempts, 1);
  Wanting two{{"a", "b", "a"}};
  EXPECT_EQ(lower(two).attempts, 3);
}

TEST(Lowering, throws_what_is_refused) {
  Wanting refused{{"a", "impossible"}};
  EXPECT_THROW(lower(refused), std::runtime_error);
  EXPECT_EQ(refused.attempts, 2);
}

}  // namespace
}  // namespace ingot::driver
