#include "base/strided.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace ingot::base {
namespace {

/// The bytes of all elements, one by one, counted from the first element's first one.
std::multiset<int64_t> bytes_of(const Strided& array) {
  std::multiset<int64_t> all;
  for (int64_t number = 0; number < array.size(); ++number) {
    int64_t rest = number;
    int64_t at = 0;
    for (size_t axis = array.rank(); axis-- > 0;) {
      at += rest % array.lengths[axis] * array.strides[axis];
      rest /= array.lengths[axis];
    }
    for (int64_t byte = 0; byte < array.itemsize; ++byte) all.insert(at + byte);
  }
  return all;
}

TEST(Strided, IsAsItsBytesAre) {
  const std::array<int64_t, 4> some_lengths = {0, 1, 2, 3};
  const std::array<int64_t, 8> some_strides = {-12, -4, 0, 2, 4, 6, 8, 12};
  for (const int64_t n : some_lengths) {
    for (const int64_t m : some_lengths) {
      for (const int64_t s : some_strides) {
        for (const int64_t t : some_strides) {
          const std::array lengths = {n, m};
          const std::array strides = {s, t};
          const Strided array{lengths, strides, 4};
          const std::multiset<int64_t> bytes = bytes_of(array);
          EXPECT_EQ(array.is_empty(), bytes.empty());
          EXPECT_EQ(array.bytes(), static_cast<int64_t>(bytes.size()));
          EXPECT_EQ(array.reach().low, bytes.empty() ? 0 : *bytes.begin());
          EXPECT_EQ(array.reach().high, bytes.empty() ? 0 : *bytes.rbegin() + 1);
          EXPECT_EQ(array.wide_reach().high, array.reach().high);
          const std::set<int64_t> once(bytes.begin(), bytes.end());
          const bool is_dense =
              array.reach().low == 0 && once.size() == bytes.size() && array.reach().size() == array.bytes();
          EXPECT_EQ(array.is_dense(), is_dense);
          EXPECT_EQ(array.covers(array.bytes() + 4), false);
          EXPECT_EQ(array.is_c(), bytes.empty() || ((m == 1 || t == 4) && (n == 1 || s == 4 * m)));
          EXPECT_EQ(array.is_f(), bytes.empty() || ((n == 1 || s == 4) && (m == 1 || t == 4 * n)));
          EXPECT_EQ(array.has_c_strides(), t == 4 && s == 4 * m);
          EXPECT_EQ(array.has_f_strides(), s == 4 && t == 4 * n);
        }
      }
    }
  }
}

TEST(Strided, NumbersHaveNoAxes) {
  const Strided number{{}, {}, 8};
  EXPECT_TRUE(number.is_c() && number.is_f() && number.is_dense());
  EXPECT_EQ(number.reach().size(), 8);
}

TEST(Strided, WideReachesDoNotOverflow) {
  const std::array<int64_t, 2> lengths = {int64_t{1} << 62, int64_t{1} << 62};
  const std::array<int64_t, 2> strides = {int64_t{1} << 62, -(int64_t{1} << 62)};
  const WideReach reach = Strided{lengths, strides, 1}.wide_reach();
  EXPECT_TRUE(reach.low < -(Wide{1} << 123) && reach.high > (Wide{1} << 123));
}

TEST(ByteRange, EmptyOnesOverlapNone) {
  const ByteRange all{10, 20};
  EXPECT_TRUE(all.overlaps({19, 30}) && all.overlaps({12, 13}));
  EXPECT_FALSE(all.overlaps({20, 30}) || all.overlaps({15, 15}));
  EXPECT_TRUE(all.contains({10, 20}) && all.contains({50, 50}) && all.contains(19));
  EXPECT_FALSE(all.contains({9, 12}) || all.contains(20));
}

TEST(Overlaps, JoinWhatOverlaps) {
  const std::array<ByteRange, 6> ranges = {{{60, 80}, {0, 10}, {50, 50}, {0, 100}, {100, 110}, {105, 120}}};
  const std::vector<Overlaps> groups = Overlaps::among(ranges);
  ASSERT_EQ(groups.size(), 3U);
  // An empty range between others does not part them.
  EXPECT_EQ(groups[0].members, (std::vector<size_t>{0, 1, 3}));
  EXPECT_TRUE(groups[0].low == 0 && groups[0].high == 100);
  EXPECT_EQ(groups[1].members, std::vector<size_t>{2});
  EXPECT_EQ(groups[2].members, (std::vector<size_t>{4, 5}));
  EXPECT_TRUE(groups[2].low == 100 && groups[2].high == 120);
}

}  // namespace
}  // namespace ingot::base
