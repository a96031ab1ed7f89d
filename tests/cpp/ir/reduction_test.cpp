#include "base/reduction.h"

#include <cmath>
#include <random>

#include "interpreter_helpers.h"

namespace ingot::ir {
namespace {

/// The order of docs/semantics.md, written once more, otherwise.
double plain_sum(const std::vector<double>& x, const std::vector<bool>& where) {
  std::vector<double> blocks;
  for (size_t b = 0; b * 1024 < x.size(); ++b) {
    double p[32] = {};
    for (size_t k = 0; k < 32; ++k)
      for (size_t j = 0; j < 32; ++j) {
        const size_t i = 1024 * b + 32 * k + j;
        if (i < x.size() && where[i]) p[j] += x[i];
      }
    for (size_t s : {16u, 8u, 4u, 2u, 1u})
      for (size_t j = 0; j < s; ++j) p[j] += p[j + s];
    blocks.push_back(p[0]);
  }
  if (blocks.empty()) return 0;
  // Pairs of equal trees, from the left; the rest joins from the right.
  std::vector<std::pair<size_t, double>> trees;
  for (double block : blocks) {
    trees.push_back({1, block});
    while (trees.size() > 1 && trees[trees.size() - 2].first == trees.back().first) {
      const auto last = trees.back();
      trees.pop_back();
      trees.back() = {2 * last.first, trees.back().second + last.second};
    }
  }
  double sum = trees.back().second;
  for (size_t i = trees.size() - 1; i-- > 0;) sum = trees[i].second + sum;
  return sum;
}

TEST(Reduction, SumsInTheStatedOrder) {
  std::mt19937_64 random(1);
  const Program program(R"(
func @f(%x: array<f64, 1>, %m: array<bool, 1>) -> (f64, f64) {
  %s = reduce %x {combiner=add, axes=[0]} : f64
  %t = reduce %x, %m {combiner=add, axes=[0]} : f64
  return %s, %t
})");
  for (size_t n : {0u, 1u, 2u, 31u, 32u, 33u, 1023u, 1024u, 1025u, 2048u, 3000u, 7169u, 20000u}) {
    std::vector<double> x(n);
    std::vector<bool> where(n);
    std::vector<uint8_t> mask(n);
    for (size_t i = 0; i < n; ++i) {
      x[i] = std::ldexp(static_cast<double>(random() % 100000), static_cast<int>(random() % 40) - 20);
      mask[i] = random() % 3 == 0;
      where[i] = mask[i] != 0;
    }
    auto m = std::make_shared<ArrayValue>(
        *std::get<std::shared_ptr<const ArrayValue>>(array_of<uint8_t>({static_cast<int64_t>(n)}, mask)));
    m->dtype = DType::Bool;
    const auto results =
        program.results({array_of({static_cast<int64_t>(n)}, x), std::shared_ptr<const ArrayValue>(m)});
    EXPECT_EQ(as_number<double>(results[0]), plain_sum(x, std::vector<bool>(n, true))) << n;
    EXPECT_EQ(as_number<double>(results[1]), plain_sum(x, where)) << n;
  }
}

TEST(Reduction, SeveralAxesRunInCOrder) {
  const Program program(R"(
func @f(%x: array<f64, 3>) -> (array<f64, 1>) {
  %s = reduce %x {combiner=add, axes=[0, 2]} : array<f64, 1>
  return %s
})");
  std::vector<double> x(7 * 3 * 11);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 1.0 / static_cast<double>(i + 1);
  const auto sums = elements_of<double>(program.results({array_of({7, 3, 11}, x)})[0]);
  for (size_t j = 0; j < 3; ++j) {
    std::vector<double> range;
    for (size_t i = 0; i < 7; ++i)
      for (size_t k = 0; k < 11; ++k) range.push_back(x[(i * 3 + j) * 11 + k]);
    EXPECT_EQ(sums[j], plain_sum(range, std::vector<bool>(range.size(), true)));
  }
}

TEST(Reduction, ExtremesStartFromTheFirstElement) {
  const Program program(R"(
func @f(%x: array<f64, 1>) -> (f64, f64, f64, i64) {
  %a = reduce %x {combiner=minimum, axes=[0]} : f64
  %b = reduce %x {combiner=maximum, axes=[0]} : f64
  %c = reduce %x {combiner=fmax, axes=[0]} : f64
  %i = arg_reduce %x {combiner=maximum, axis=-1} : i64
  return %a, %b, %c, %i
})");
  const auto small = program.results({array_of<double>({3}, {2, 1, 3})});
  EXPECT_EQ(as_number<double>(small[0]), 1);
  EXPECT_EQ(as_number<double>(small[1]), 3);
  EXPECT_EQ(as_number<int64_t>(small[3]), 2);
  const auto nan = program.results({array_of<double>({4}, {2, std::nan(""), 9, std::nan("")})});
  EXPECT_TRUE(std::isnan(as_number<double>(nan[0])));
  EXPECT_TRUE(std::isnan(as_number<double>(nan[1])));
  EXPECT_EQ(as_number<double>(nan[2]), 9);
  EXPECT_EQ(as_number<int64_t>(nan[3]), 1);
}

TEST(Reduction, EmptyRangesGiveTheStart) {
  EXPECT_EQ(
      base::reduce_in_order(base::kOrderOfElements, int64_t{0}, 7, [](int&, int64_t) {}, std::plus<>()), 7);
}

}  // namespace
}  // namespace ingot::ir
