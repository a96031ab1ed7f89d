#include "support.h"

// Blocks that wait for other blocks.

namespace softgpu {
namespace {

/// Each block takes its number from a counter ([p0]) and adds it to what the block of the number before has
/// left: [p1] has a flag for each block, [p2] the sums. `publish` and `look` write the flag at %d4 and read
/// the one at %d5 into %r3.
std::string chain(const std::string& publish, const std::string& look) {
  return kernel_of(
      3,
      "ld.param.u64 %d1, [p0]; ld.param.u64 %d2, [p1]; ld.param.u64 %d3, [p2]; mov.u32 %r9, %tid.x; "
      "setp.ne.u32 %p1, %r9, 0; @%p1 bra all;\n"
      "atom.global.add.u32 %r1, [%d1], 1; mad.wide.u32 %d4, %r1, 4, %d2; mad.wide.u32 %d6, %r1, 4, %d3; "
      "mov.u32 %r4, 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra have;\n"
      "add.u64 %d5, %d4, -4;\nspin: " +
          look +
          " setp.eq.u32 %p1, %r3, 0; @%p1 bra spin;\nld.global.u32 %r4, [%d6+-4];\n"
          "have: add.u32 %r4, %r4, %r1; st.global.u32 [%d6], %r4; " +
          publish + "\nall: bar.sync 0;");
}

constexpr uint32_t kBlocks = 150;

struct Chained {
  std::vector<uint32_t> sums;
  std::string fault;
};

Chained run_chain(const std::string& ptx, uint64_t seed) {
  Bench bench(ptx);
  bench.options.seed = seed;
  bench.options.finds_races = true;
  const uint64_t counter = bench.put(std::vector<uint32_t>(1));
  const uint64_t flags = bench.put(std::vector<uint32_t>(kBlocks));
  const uint64_t sums = bench.put(std::vector<uint32_t>(kBlocks));
  Chained made;
  try {
    bench.run("k", kBlocks, 64, {counter, flags, sums});
  } catch (const Fault& fault) {
    made.fault = fault.what();
  }
  made.sums = bench.get<uint32_t>(sums, kBlocks);
  return made;
}

TEST(Waiting, BlocksOfACounterWaitForLowerOnes) {
  const std::string ways[] = {
      chain("st.release.gpu.global.u32 [%d4], 1;", "ld.acquire.gpu.global.u32 %r3, [%d5];"),
      chain("membar.gl; st.relaxed.gpu.global.u32 [%d4], 1;",
            "nanosleep.u32 20; ld.relaxed.gpu.global.u32 %r3, [%d5]; membar.gl;"),
      chain("fence.acq_rel.gpu; atom.global.exch.b32 %r8, [%d4], 1;",
            "atom.global.or.b32 %r3, [%d5], 0; fence.acq_rel.gpu;")};
  for (const std::string& ptx : ways) {
    for (uint64_t seed = 0; seed < 25; ++seed) {
      const Chained made = run_chain(ptx, seed);
      EXPECT_EQ(made.fault, "") << seed;
      uint32_t sum = 0;
      for (uint32_t i = 0; i < kBlocks; ++i) EXPECT_EQ(made.sums[i], sum += i) << seed;
    }
  }
}

TEST(Waiting, WhatIsNotReleasedRaces) {
  const std::string ptx =
      chain("st.relaxed.gpu.global.u32 [%d4], 1;", "ld.acquire.gpu.global.u32 %r3, [%d5];");
  for (uint64_t seed = 0; seed < 8; ++seed)
    EXPECT_TRUE(has(run_chain(ptx, seed).fault, "a race: a read of what thread 0 of block")) << seed;
}

TEST(Waiting, WhatIsReadWithoutALookRaces) {
  // The first block publishes what it has stored; the second one reads it without having asked whether it is
  // there.
  const std::string begin =
      "ld.param.u64 %d1, [p0]; mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra second;\n"
      "st.global.u32 [%d1], 7; membar.gl; st.relaxed.gpu.global.u32 [%d1+4], 1; ret;\nsecond: ";
  const auto fault_of_second = [&](const std::string& body) {
    Bench bench(kernel_of(1, begin + body));
    bench.options.finds_races = true;
    try {
      bench.run("k", 2, 1, {bench.put(std::vector<uint32_t>(2))});
    } catch (const Fault& fault) {
      return std::string(fault.what());
    }
    return std::string();
  };
  EXPECT_TRUE(
      has(fault_of_second("ld.global.u32 %r2, [%d1];"), "a race: a read of what thread 0 of block 0"));
  EXPECT_EQ(fault_of_second("ld.acquire.gpu.global.u32 %r2, [%d1+4]; ld.global.u32 %r2, [%d1];"), "");
  EXPECT_EQ(fault_of_second("ld.relaxed.gpu.global.u32 %r2, [%d1+4]; membar.gl; ld.global.u32 %r2, [%d1];"),
            "");
}

/// Blocks wait until the word of another one, `step` further, is set, and then set their own; the one that
/// has no such neighbour sets it at once.
std::string neighbours(int step) {
  return kernel_of(1,
                   "ld.param.u64 %d1, [p0]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; mad.wide.s32 %d2, "
                   "%r1, 4, %d1; add.s32 %r3, %r1, " +
                       std::to_string(step) +
                       "; setp.ge.u32 %p1, %r3, %r2; @%p1 bra set; mad.wide.s32 %d3, %r3, 4, %d1;\n"
                       "spin: ld.volatile.global.u32 %r4, [%d3]; setp.eq.u32 %p1, %r4, 0; @%p1 bra spin;\n"
                       "set: st.volatile.global.u32 [%d2], 1;");
}

TEST(Waiting, FurtherBlocksBeginWhereAllWait) {
  for (const int step : {-1, 1, 3}) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
      Bench bench(neighbours(step));
      bench.options.seed = seed;
      const uint64_t words = bench.put(std::vector<uint32_t>(40));
      bench.run("k", 40, 1, {words});
      EXPECT_EQ(bench.get<uint32_t>(words, 40), std::vector<uint32_t>(40, 1)) << step << " " << seed;
    }
  }
}

TEST(Waiting, AWaitForBlocksThatCannotBeginIsReported) {
  Bench bench(neighbours(1));
  const uint64_t words = bench.put(std::vector<uint32_t>(200));
  const std::optional<Fault> fault = fault_of(bench, 200, 1, {words});
  EXPECT_EQ(fault->kind, FaultKind::Deadlock);
  EXPECT_STREQ(fault->what(),
               "a wait that can never end: what this thread polls does not change; 64 blocks wait, and 136 "
               "others cannot begin before one of these ends\n"
               "  in kernel `k`, block (0, 0, 0), thread (0, 0, 0)\n"
               "  in line 13 of the PTX: ld.volatile.global.u32");
}

TEST(Waiting, AWaitForNobodyIsReported) {
  const std::string begin = "ld.param.u64 %d1, [p0]; mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 40; ";
  const std::string bodies[] = {
      // The other threads are at the barrier of the block, or at an end.
      "@%p1 bra all;\nspin: ld.acquire.gpu.global.u32 %r2, [%d1]; setp.eq.u32 %p2, %r2, 0; @%p2 bra "
      "spin;\nall: bar.sync 0;",
      "@%p1 ret;\nspin: nanosleep.u32 100; ld.relaxed.gpu.global.v2.u64 {%d2, %d3}, [%d1]; setp.eq.u64 %p2, "
      "%d2, 0; @%p2 bra spin;",
      // Each warp of each block polls a word of its own.
      "mov.u32 %r3, %ctaid.x; shr.u32 %r4, %r1, 5; shl.b32 %r3, %r3, 1; add.u32 %r3, %r3, %r4; mad.wide.u32 "
      "%d2, %r3, 4, %d1;\nspin: nanosleep.u32 100; ld.relaxed.gpu.global.u32 %r2, [%d2+32]; setp.eq.u32 %p2, "
      "%r2, 0; @%p2 bra spin;",
      // All threads ask for a lock that nobody gives back.
      "spin: atom.global.cas.b32 %r2, [%d1+16], 1, 1; setp.ne.u32 %p2, %r2, 0; @%p2 bra spin;"};
  for (const std::string& body : bodies) {
    for (const uint64_t seed : {0, 1, 2, 3}) {
      Bench bench(kernel_of(1, begin + body));
      bench.options.seed = seed;
      std::vector<uint32_t> words(100);
      words[4] = 1;
      const std::optional<Fault> fault = fault_of(bench, 3, 64, {bench.put(words)});
      EXPECT_EQ(fault->kind, FaultKind::Deadlock) << body;
      EXPECT_TRUE(has(fault->what(), "what this thread polls does not change; nobody else of the launch"))
          << body;
      EXPECT_TRUE(has(fault->what(), "in line ")) << body;
    }
  }
}

TEST(Waiting, LongWorkIsNoWait) {
  // Arithmetic, and strong loads of a long array, while another warp waits.
  Bench bench(
      kernel_of(1,
                "ld.param.u64 %d1, [p0]; mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bra work;\n"
                "spin: ld.volatile.global.u32 %r2, [%d1]; setp.eq.u32 %p2, %r2, 0; @%p2 bra spin; ret;\n"
                "work: mov.u32 %r3, 0; mov.u32 %r4, 0;\n"
                "more: add.u32 %r3, %r3, 1; and.b32 %r5, %r3, 1023; mad.wide.u32 %d2, %r5, 4, %d1; "
                "ld.volatile.global.u32 "
                "%r6, [%d2]; add.u32 %r4, %r4, %r6; setp.lt.u32 %p2, %r3, 300000; @%p2 bra more; "
                "st.volatile.global.u32 "
                "[%d1], 1;"));
  const uint64_t words = bench.put(std::vector<uint32_t>(1024));
  bench.run("k", 1, 64, {words});
  EXPECT_EQ(bench.get<uint32_t>(words, 1)[0], 1u);
  // Threads of the warp that waits.
  Bench warp(kernel_of(
      1,
      "ld.param.u64 %d1, [p0]; mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16; mov.u32 %r3, 0; @%p1 bra "
      "work;\n"
      "spin: ld.volatile.global.u32 %r2, [%d1]; setp.eq.u32 %p2, %r2, 0; @%p2 bra spin; ret;\n"
      "work: add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 1000000; @%p2 bra work; "
      "st.volatile.global.u32 [%d1], 1;"));
  const uint64_t word = warp.put(std::vector<uint32_t>(1));
  warp.run("k", 1, 32, {word});
  EXPECT_EQ(warp.get<uint32_t>(word, 1)[0], 1u);
}

}  // namespace
}  // namespace softgpu
