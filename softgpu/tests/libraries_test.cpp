#include <cmath>

#include "support.h"

// PTX that nvcc made of libraries.cu: the vendor's libraries for pipelines, barriers, matrices and groups.

namespace softgpu {
namespace {

class Libraries : public ::testing::Test {
 protected:
  Bench bench{file_text("libraries.ptx")};

  static std::vector<uint16_t> halves(const std::vector<float>& values) {
    std::vector<uint16_t> made;
    for (const float value : values) made.push_back(half_of(double{value}));
    return made;
  }
  /// Small whole numbers, so that sums are exact.
  static std::vector<float> numbers(size_t count, int seed) {
    std::vector<float> made;
    for (size_t k = 0; k < count; ++k)
      made.push_back(static_cast<float>((static_cast<int>(k) * 7 + seed) % 11 - 5));
    return made;
  }
};

TEST_F(Libraries, CopiesAreDoneWhenTheyAreWaitedFor) {
  const std::vector<float> rows = numbers(5 * 128 * 4, 3);
  const uint64_t sums = bench.put(std::vector<float>(128 * 4));
  bench.run("pipelined", 1, 128, {bench.put(rows), 5, sums});
  const std::vector<float> got = bench.get<float>(sums, 128 * 4);
  for (size_t t = 0; t < 128; ++t)
    for (size_t k = 0; k < 4; ++k) {
      float sum = 0;
      for (size_t row = 0; row < 5; ++row) sum += rows[(row * 128 + 127 - t) * 4 + k];
      EXPECT_EQ(got[t * 4 + k], sum) << t;
    }
}

TEST_F(Libraries, BarriersAreObjects) {
  for (const uint64_t seed : {0, 1, 2}) {
    bench.options.seed = seed;
    const uint64_t out = bench.put(std::vector<int>(5 * 64));
    bench.run("handed_over", 1, 128, {out});
    const std::vector<int> got = bench.get<int>(out, 5 * 64);
    for (int round = 0; round < 5; ++round)
      for (int t = 0; t < 64; ++t)
        EXPECT_EQ(got[static_cast<size_t>(round * 64 + t)], 100 * round + 63 - t) << seed;
  }
}

TEST_F(Libraries, MatricesAreMultipliedByWarps) {
  const std::vector<float> a = numbers(256, 1), b = numbers(256, 4);
  const uint64_t left = bench.put(halves(a)), right = bench.put(halves(b));
  const uint64_t c = bench.put(std::vector<float>(256)), fragments = bench.put(std::vector<float>(256));
  bench.run("multiply", 1, 32, {left, right, c});
  bench.run("multiply_fragments", 1, 32, {left, right, fragments});
  const std::vector<float> got = bench.get<float>(c, 128), whole = bench.get<float>(fragments, 256);
  for (size_t row = 0; row < 16; ++row)
    for (size_t column = 0; column < 16; ++column) {
      float sum = 1, other = 0;
      for (size_t k = 0; k < 16; ++k) {
        if (column < 8) sum += a[row * 16 + k] * b[k * 8 + column];
        other += a[row * 16 + k] * b[column * 16 + k];
      }
      if (column < 8) {
        EXPECT_EQ(got[row * 8 + column], sum) << row << " " << column;
      }
      EXPECT_EQ(whole[row * 16 + column], other) << row << " " << column;
    }
}

TEST_F(Libraries, MatricesOfDoubles) {
  std::vector<double> a, b;
  for (int k = 0; k < 32; ++k) {
    a.push_back(k * 0.5 - 3);
    b.push_back(7 - k * 0.25);
  }
  const uint64_t c = bench.put(std::vector<double>(64));
  bench.run("multiply_doubles", 1, 32, {bench.put(a), bench.put(b), c});
  const std::vector<double> got = bench.get<double>(c, 64);
  for (size_t row = 0; row < 8; ++row)
    for (size_t column = 0; column < 8; ++column) {
      double sum = 0;
      for (size_t k = 0; k < 4; ++k) sum += a[row * 4 + k] * b[k * 8 + column];
      EXPECT_EQ(got[row * 8 + column], sum);
    }
}

TEST_F(Libraries, MemoryOfTheStackAndOfTheHeap) {
  std::vector<int> counts;
  for (int t = 0; t < 64; ++t) counts.push_back(t * 5 % 17);
  const uint64_t sums = bench.put(std::vector<int>(64));
  bench.run("on_the_stack", 1, 64, {bench.put(counts), sums});
  std::vector<int> got = bench.get<int>(sums, 64);
  for (int t = 0; t < 64; ++t) {
    const int n = counts[static_cast<size_t>(t)];
    EXPECT_EQ(got[static_cast<size_t>(t)], n * (n - 1) / 2 * (t + 1));
  }
  const uint64_t before = bench.memory().available();
  bench.run("on_the_heap", 1, 32, {10, sums});
  got = bench.get<int>(sums, 32);
  for (int t = 0; t < 32; ++t) EXPECT_EQ(got[static_cast<size_t>(t)], 45 + 10 * t);
  EXPECT_EQ(bench.memory().available(), before);
}

TEST_F(Libraries, PrintfWritesItsText) {
  std::string text;
  bench.options.printed = &text;
  std::vector<uint64_t> arguments{12, std::bit_cast<uint64_t>(2.5)};
  bench.run("print_things", 1, 32, arguments);
  EXPECT_EQ(text,
            "thread 0:    12 7   |1099511627776 2.500 x text %\n"
            "thread 1:    12 7   |1099511627776 2.500 x text %\n");
}

TEST_F(Libraries, FloatsOfEightBits) {
  const std::vector<float> from{0.f, 1.f,   -1.1f, 0.07f, 448.f,    449.f, 1e9f, -57344.f,
                                3.f, 1e-3f, 17.f,  19.f,  -0.0017f, 60000, 240,  0.3f};
  const uint64_t fours = bench.put(std::vector<float>(16)), fives = bench.put(std::vector<float>(16));
  bench.run("through_bytes", 1, 8, {bench.put(from), fours, fives});
  EXPECT_EQ(bench.get<float>(fours, 16),
            (std::vector<float>{0.f, 1.f, -1.125f, 0.0703125f, 448.f, 448.f, 448.f, -448.f, 3.f, 0.001953125f,
                                16.f, 20.f, -0.001953125f, 448.f, 240.f, 0.3125f}));
  EXPECT_EQ(bench.get<float>(fives, 16),
            (std::vector<float>{0.f, 1.f, -1.f, 0.0625f, 448.f, 448.f, 57344.f, -57344.f, 3.f, 0.0009765625f,
                                16.f, 20.f, -0.001708984375f, 57344.f, 256.f, 0.3125f}));
}

TEST_F(Libraries, PairsAndVectorAtomics) {
  const std::vector<uint16_t> a = halves({1, 2, 3, 4}), b = halves({1, 5, 6, 4});
  const uint64_t equal = bench.put(std::vector<uint16_t>(4)), least = bench.put(std::vector<uint16_t>(4));
  const uint64_t sum = bench.put(std::vector<float>{1, 1, 1, 1});
  bench.run("in_pairs", 1, 2, {bench.put(a), bench.put(b), equal, least, sum});
  EXPECT_EQ(bench.get<uint16_t>(equal, 4), halves({1, 0, 0, 1}));
  EXPECT_EQ(bench.get<uint16_t>(least, 4), halves({1, 2, 3, 4}));
  EXPECT_EQ(bench.get<float>(sum, 4), (std::vector<float>{3, 2, 3, 2}));
}

TEST_F(Libraries, TheGridWaitsForAllItsBlocks) {
  const uint64_t numbers_at = bench.put(std::vector<int>(4 * 64)), out = bench.put(std::vector<int>(4 * 64));
  bench.options.all_resident = true;
  bench.run("all_together", 4, 64, {numbers_at, out});
  const std::vector<int> got = bench.get<int>(out, 256);
  for (int t = 0; t < 256; ++t) EXPECT_EQ(got[static_cast<size_t>(t)], (t + 64) % 256);
}

}  // namespace
}  // namespace softgpu
