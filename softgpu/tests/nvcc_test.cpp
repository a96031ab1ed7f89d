#include <algorithm>
#include <bit>

#include "support.h"

// PTX that nvcc made of kernels.cu, an independent source.

namespace softgpu {
namespace {

class Nvcc : public ::testing::Test {
 protected:
  Bench bench{file_text("kernels.ptx")};

  std::vector<int> run(const std::string& name, uint32_t threads, std::vector<uint64_t> more = {}) {
    const uint64_t out = bench.put(std::vector<int>(threads));
    more.insert(more.begin(), out);
    bench.run(name, 1, threads, more);
    return bench.get<int>(out, threads);
  }
};

TEST_F(Nvcc, RecursionAndFunctionPointers) {
  const int fib[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34};
  const std::vector<int> fibs = run("fibs", 70);
  const std::vector<int> indirect = run("indirect", 70);
  for (int t = 0; t < 70; ++t) {
    EXPECT_EQ(fibs[static_cast<size_t>(t)], fib[t % 10]);
    EXPECT_EQ(indirect[static_cast<size_t>(t)], t % 2 == 1 ? t * t : t + 1);
  }
}

TEST_F(Nvcc, ShufflesAndTiles) {
  std::vector<float> x(5000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
  const uint64_t sum = bench.put(std::vector<float>(1));
  bench.run("sum_shuffle", 4, 128, {bench.put(x), sum, x.size()});
  EXPECT_EQ(bench.get<float>(sum, 1)[0], 714 * 21 + 1);
  constexpr size_t kSide = 32;
  std::vector<float> a(kSide * kSide), b(kSide * kSide);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i % 5);
    b[i] = static_cast<float>(i % 3);
  }
  const uint64_t c = bench.put(std::vector<float>(a.size()));
  bench.run("tiled", {{2, 2, 1}, {16, 16, 1}, 0}, {bench.put(a), bench.put(b), c, kSide});
  const std::vector<float> got = bench.get<float>(c, a.size());
  for (size_t i = 0; i < kSide; ++i)
    for (size_t j = 0; j < kSide; ++j) {
      float s = 0;
      for (size_t k = 0; k < kSide; ++k) s += a[i * kSide + k] * b[k * kSide + j];
      ASSERT_EQ(got[i * kSide + j], s);
    }
}

TEST_F(Nvcc, LocalArraysDynamicSharedMemoryAndTables) {
  const std::vector<int> locals = run("locals", 50, {40});
  bench.dynamic_shared = 384;
  const std::vector<int> dynamic = run("dynamic", 96);
  for (int t = 0; t < 50; ++t) {
    int a[16], s = 0;
    for (int i = 0; i < 16; ++i) a[i] = i * t;
    for (int i = 0; i < 40; ++i) {
      a[i & 15] += a[(i * 7) & 15];
      s ^= a[i & 15];
    }
    EXPECT_EQ(locals[static_cast<size_t>(t)], s);
  }
  for (int t = 0; t < 96; ++t)
    EXPECT_EQ(dynamic[static_cast<size_t>(t)], 95 - t + 5 + (t % 4 + 1) + (t % 2 == 1 ? 't' : 'o'));
}

TEST_F(Nvcc, VotesMatchesAndReductions) {
  const std::vector<int> got = run("votes", 64);
  for (uint32_t t = 0; t < 64; ++t) {
    const uint32_t warp = t / 32 * 32;
    uint32_t same = 0;
    for (uint32_t l = 0; l < 32; ++l) same |= static_cast<uint32_t>((warp + l) / 3 == t / 3) << l;
    uint32_t wanted = 0xAAAAAAAA ^ same ^ (warp * 32 + 496) ^ UINT32_MAX ^ (warp == 0 ? 7 : 0) ^
                      static_cast<uint32_t>(std::popcount(t)) ^ static_cast<uint32_t>(std::countl_zero(t)) ^
                      (t == 0 ? 0 : static_cast<uint32_t>(std::countr_zero(t)) + 1);
    const uint32_t from = (t & 8) | ((t + 3) & 7);
    if (t < 16) wanted += from * from;
    EXPECT_EQ(static_cast<uint32_t>(got[t]), wanted + 33) << t;
  }
}

TEST_F(Nvcc, SwitchesStructsAndLocks) {
  const std::vector<int> got = run("switches", 100);
  for (int t = 0; t < 100; ++t) {
    const int cases[] = {3, t * t, t * (t - 1) / 2, -t, t ^ 77, 12, t / 3 + 1, 1, 99};
    EXPECT_EQ(got[static_cast<size_t>(t)], cases[t % 9]);
  }
  const uint64_t lock = bench.put(std::vector<int>(2));
  bench.run("lock", 3, 100, {lock, lock + 4});
  EXPECT_EQ(bench.get<int>(lock, 2)[1], 300);
  const uint64_t out = bench.put(std::vector<double>(9));
  // A structure of a double and three ints, then the pointer.
  bench.run("byval", 1, 9, {std::bit_cast<uint64_t>(1.5), uint64_t{2} << 32 | 1, 3, out});
  for (size_t t = 0; t < 9; ++t) EXPECT_EQ(bench.get<double>(out, 9)[t], 2.5 + static_cast<double>(t % 3));
}

TEST_F(Nvcc, AssertionsReportTheirText) {
  bench.run("asserts", 1, 4, {2});
  try {
    bench.run("asserts", 1, 4, {3});
    ADD_FAILURE() << "no fault";
  } catch (const Fault& fault) {
    EXPECT_EQ(fault.kind, FaultKind::Assertion);
    EXPECT_TRUE(has(fault.what(), "an assertion failed: n < 3 (kernels.cu:")) << fault.what();
  }
}

}  // namespace
}  // namespace softgpu
