#include "base/dtype.h"

#include <gtest/gtest.h>

namespace ingot::base {
namespace {

constexpr DType kAll[] = {DType::Bool,    DType::Int8,    DType::UInt8,     DType::Int16,     DType::UInt16,
                          DType::Int32,   DType::UInt32,  DType::Int64,     DType::UInt64,    DType::Float16,
                          DType::Float32, DType::Float64, DType::Complex64, DType::Complex128};

TEST(DType, SafeCasts) {
  EXPECT_TRUE(can_cast_safely(DType::Bool, DType::Int8));
  EXPECT_FALSE(can_cast_safely(DType::Int8, DType::Bool));
  EXPECT_TRUE(can_cast_safely(DType::UInt8, DType::Int16));
  EXPECT_FALSE(can_cast_safely(DType::UInt8, DType::Int8));
  EXPECT_FALSE(can_cast_safely(DType::Int8, DType::UInt64));
  EXPECT_TRUE(can_cast_safely(DType::Int8, DType::Float16));
  EXPECT_FALSE(can_cast_safely(DType::Int16, DType::Float16));
  EXPECT_FALSE(can_cast_safely(DType::Int32, DType::Float32));
  EXPECT_TRUE(can_cast_safely(DType::UInt64, DType::Float64));
  EXPECT_TRUE(can_cast_safely(DType::Int16, DType::Complex64));
  EXPECT_FALSE(can_cast_safely(DType::Float64, DType::Complex64));
  EXPECT_FALSE(can_cast_safely(DType::Complex64, DType::Float64));
}

TEST(DType, Promotion) {
  EXPECT_EQ(promote(DType::Int8, DType::UInt8), DType::Int16);
  EXPECT_EQ(promote(DType::Int64, DType::UInt64), DType::Float64);
  EXPECT_EQ(promote(DType::Int16, DType::Float16), DType::Float32);
  EXPECT_EQ(promote(DType::Int32, DType::Complex64), DType::Complex128);
  EXPECT_EQ(promote(DType::Bool, DType::UInt32), DType::UInt32);
}

TEST(DType, PromotionTakesBothSafely) {
  for (const DType a : kAll) {
    for (const DType b : kAll) {
      const DType both = promote(a, b);
      EXPECT_EQ(both, promote(b, a));
      EXPECT_TRUE(can_cast_safely(a, both));
      EXPECT_TRUE(can_cast_safely(b, both));
      if (can_cast_safely(a, b)) {
        EXPECT_EQ(both, b);
      }
    }
  }
}

}  // namespace
}  // namespace ingot::base
