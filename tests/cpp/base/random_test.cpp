#include "base/random.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <string_view>

namespace ingot::base {
namespace {

/// A stream that counts: NumPy's `bitgen_t`.
struct Counting {
  uint64_t* state;
  uint64_t (*next_uint64)(void*);
  uint32_t (*next_uint32)(void*);
  double (*next_double)(void*);
  uint64_t (*next_raw)(void*);
};

uint64_t next(void* state) { return ++*static_cast<uint64_t*>(state); }

Counting counting(uint64_t& count) {
  return {&count, &next, [](void* state) { return static_cast<uint32_t>(next(state)); },
          [](void* state) { return static_cast<double>(next(state)) / 16; }, &next};
}

TEST(Random, NamesAreNotUsedTwice) {
  std::set<std::string_view> names;
  for (const DrawInfo& draw : draws()) {
    EXPECT_TRUE(names.insert(draw.name).second) << draw.name;
    EXPECT_EQ(find_draw(draw.name), &draw);
    EXPECT_NE(draw.address, nullptr);
  }
  EXPECT_EQ(find_draw("nothing"), nullptr);
}

TEST(Random, RoutinesTakeWords) {
  uint64_t count = 0;
  Counting stream = counting(count);
  const DrawInfo& uniform = *find_draw("uniform");
  ASSERT_EQ(uniform.parameter_count, 2U);
  const uint64_t bounds[] = {std::bit_cast<uint64_t>(2.0), std::bit_cast<uint64_t>(16.0)};
  EXPECT_EQ(std::bit_cast<double>(uniform.invoke(&stream, bounds)), 3.0);
  EXPECT_EQ(std::bit_cast<double>(uniform.invoke(&stream, bounds)), 4.0);
}

TEST(Random, ArraysAreOneParameter) {
  uint64_t count = 0;
  Counting stream = counting(count);
  const DrawInfo& fill = *find_draw("fill_standard_uniform");
  ASSERT_EQ(fill.parameter_count, 1U);
  EXPECT_TRUE(fill.parameter_types[0].is_array);
  EXPECT_FALSE(fill.result);
  double numbers[3] = {};
  const uint64_t words[] = {reinterpret_cast<uint64_t>(numbers), 2};
  fill.invoke(&stream, words);
  EXPECT_EQ(numbers[0], 1.0 / 16);
  EXPECT_EQ(numbers[1], 2.0 / 16);
  EXPECT_EQ(numbers[2], 0.0);
}

}  // namespace
}  // namespace ingot::base
