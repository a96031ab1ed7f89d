#include "support.h"

// The checks that are off by default: races, and reads of unwritten memory.

namespace softgpu {
namespace {

const std::string kBegin =
    ".shared .align 4 .b8 tile[512];\nld.param.u64 %d1, [p0]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; "
    "mov.u32 %r20, tile;\n"
    "mad.lo.u32 %r3, %r1, 4, %r20; mad.wide.u32 %d2, %r1, 4, %d1; mov.u32 %r4, %ntid.x; mad.lo.u32 %r5, %r2, "
    "%r4, %r1; mad.wide.u32 %d3, %r5, 4, %d1;\n";

/// The message of the race that a kernel has, or nothing.
std::string race_in(const std::string& body, uint32_t blocks = 2, uint32_t threads = 64) {
  Bench bench(kernel_of(1, kBegin + body));
  bench.options.finds_races = true;
  const uint64_t memory = bench.put(std::vector<uint32_t>(1000));
  try {
    bench.run("k", blocks, threads, {memory});
  } catch (const Fault& fault) {
    EXPECT_EQ(fault.kind, FaultKind::Race);
    return fault.what();
  }
  return "";
}

TEST(Watch, RacesOnSharedMemory) {
  const std::string neighbour = "xor.b32 %r6, %r1, 32; mad.lo.u32 %r6, %r6, 4, %r20;";
  EXPECT_EQ(race_in("st.shared.u32 [%r3], %r1; bar.sync 0;" + neighbour +
                    "ld.shared.u32 %r7, [%r6]; bar.sync 0; st.shared.u32 [%r3], %r7;"),
            "");
  EXPECT_TRUE(has(race_in("st.shared.u32 [%r3], %r1;" + neighbour + "ld.shared.u32 %r7, [%r6];"),
                  "a race: a write of what thread 0 of block 0 has touched"));
  EXPECT_TRUE(has(race_in("st.shared.u32 [%r3], %r1; bar.sync 0;" + neighbour +
                          "ld.shared.u32 %r7, [%r6]; st.shared.u32 [%r3], %r7;"),
                  "a race: a read of what thread 32"));
  EXPECT_TRUE(has(race_in("st.shared.u32 [tile], %r1;"), "a race: a write of what thread 0"));
  EXPECT_EQ(race_in("atom.shared.add.u32 %r7, [tile], %r1;"), "");
  EXPECT_NE(
      race_in(
          "atom.shared.add.u32 %r7, [tile], %r1; setp.eq.u32 %p1, %r1, 40; @%p1 ld.shared.u32 %r7, [tile];"),
      "");
}

TEST(Watch, ThreadsOfAWarpNeedItsBarrier) {
  const std::string neighbour = "xor.b32 %r6, %r1, 1; mad.lo.u32 %r6, %r6, 4, %r20;";
  EXPECT_NE(race_in("st.shared.u32 [%r3], %r1;" + neighbour + "ld.shared.u32 %r7, [%r6];"), "");
  EXPECT_EQ(race_in("st.shared.u32 [%r3], %r1; bar.warp.sync -1;" + neighbour + "ld.shared.u32 %r7, [%r6];"),
            "");
}

TEST(Watch, RacesOnGlobalMemory) {
  EXPECT_EQ(race_in("st.global.u32 [%d3], %r1;"), "");
  EXPECT_TRUE(
      has(race_in("st.global.u32 [%d2], %r1;"), "a race: a write of what thread 0 of block 0 has touched"));
  EXPECT_EQ(race_in("red.global.add.u32 [%d1], 1;"), "");
  // The last block adds up the numbers of all, after fences and an atomic count.
  const std::string last =
      "atom.global.add.u32 %r7, [%d1+3000], 1; bar.sync 0; setp.ne.u32 %p1, %r7, 127; @%p1 bra done; "
      "ld.global.u32 %r8, [%d1]; ld.global.u32 %r9, [%d1+256];\ndone:";
  EXPECT_EQ(race_in("st.global.u32 [%d3], %r1; membar.gl;" + last), "");
  EXPECT_NE(race_in("st.global.u32 [%d3], %r1;" + last), "");
}

TEST(Watch, ReadsOfWhatNobodyHasWritten) {
  const auto run = [](const std::string& body, bool is_written) {
    Bench bench(kernel_of(1, kBegin + body), true);
    const uint64_t memory =
        is_written ? bench.put(std::vector<uint32_t>(64)) : bench.memory().allocate(256)->base;
    try {
      bench.run("k", 1, 64, {memory});
    } catch (const Fault& fault) {
      EXPECT_EQ(fault.kind, FaultKind::Unwritten);
      return std::string(fault.what());
    }
    return std::string();
  };
  EXPECT_EQ(run("ld.global.u32 %r7, [%d2];", true), "");
  EXPECT_TRUE(has(run("ld.global.u32 %r7, [%d2];", false),
                  "a read of 4 bytes of byte 0 of an allocation of 256 bytes that nobody has written"));
  EXPECT_EQ(run("st.global.u32 [%d2], 1; ld.global.u32 %r7, [%d2];", false), "");
  EXPECT_NE(run("mov.u16 %h1, 1; st.global.u16 [%d2], %h1; ld.global.u32 %r7, [%d2];", false), "");
  EXPECT_NE(run("red.global.add.u32 [%d1], 1;", false), "");
  EXPECT_TRUE(has(run("ld.shared.u32 %r7, [%r3];", true), "of shared memory at 0 that nobody has written"));
  EXPECT_EQ(run("st.shared.u32 [%r3], 1; ld.shared.u32 %r7, [%r3];", true), "");
}

}  // namespace
}  // namespace softgpu
