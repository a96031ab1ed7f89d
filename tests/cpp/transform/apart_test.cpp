#include "transform/apart.h"

#include <gtest/gtest.h>

namespace ingot::transform {
namespace {

bool apart(const std::vector<int64_t>& lengths, const std::vector<int64_t>& strides) {
  PlainArithmetic plain;
  return is_apart<PlainArithmetic, int64_t>(plain, lengths, strides, 8) != 0;
}

TEST(Apart, OfNumbers) {
  EXPECT_TRUE(apart({}, {}));
  EXPECT_TRUE(apart({5}, {8}));
  EXPECT_TRUE(apart({5}, {-8}));
  EXPECT_FALSE(apart({5}, {4}));
  EXPECT_FALSE(apart({5}, {0}));
  EXPECT_TRUE(apart({1}, {0}));
  EXPECT_TRUE(apart({3, 4}, {32, 8}));
  EXPECT_TRUE(apart({4, 3}, {8, -32}));
  EXPECT_FALSE(apart({3, 4}, {24, 8}));
  EXPECT_FALSE(apart({3, 3}, {8, 8}));
  EXPECT_TRUE(apart({3, 1}, {8, 8}));
  EXPECT_TRUE(apart({2, 3, 4}, {96, 32, 8}));
  EXPECT_FALSE(apart({2, 3, 4}, {88, 32, 8}));
}

}  // namespace
}  // namespace ingot::transform
