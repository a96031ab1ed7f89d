#include <numeric>

#include "support.h"

// Threads that diverge, wait for each other and work together.

namespace softgpu {
namespace {

const std::string kIndex =
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;\n"
    "ld.param.u64 %d1, [p0]; mad.wide.u32 %d2, %r4, 4, %d1;\n";

/// The numbers that the threads of `k` store, whose bodies leave them in %r10.
std::vector<uint32_t> stored(const std::string& body, uint32_t blocks, uint32_t threads, uint64_t seed = 0) {
  Bench bench(kernel_of(1, kIndex + body + "\nst.global.u32 [%d2], %r10;"));
  bench.options.seed = seed;
  const uint64_t out = bench.put(std::vector<uint32_t>(blocks * threads));
  bench.run("k", blocks, threads, {out});
  return bench.get<uint32_t>(out, blocks * threads);
}

TEST(Flow, LoopsOfDifferentLengthsJoinAgain) {
  // A loop in a loop, with an exit from the inner one, and a count of the threads that are together
  // afterwards.
  const auto got = stored(
      "mov.u32 %r10, 0; mov.u32 %r5, 0;\n"
      "outer: setp.ge.u32 %p1, %r5, %r3; @%p1 bra done; mov.u32 %r6, 0;\n"
      "inner: setp.gt.u32 %p2, %r6, %r5; @%p2 bra next; add.u32 %r10, %r10, %r6; setp.gt.u32 %p3, %r10, "
      "1000; @%p3 bra done;\n"
      "add.u32 %r6, %r6, 1; bra inner;\n"
      "next: add.u32 %r5, %r5, 1; bra outer;\n"
      "done: activemask.b32 %r7; popc.b32 %r7, %r7; mad.lo.u32 %r10, %r7, 1000000, %r10;",
      1, 40);
  for (uint32_t t = 0; t < 40; ++t) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < t && sum <= 1000; ++i)
      for (uint32_t j = 0; j <= i && sum <= 1000; ++j) sum += j;
    EXPECT_EQ(got[t], (t < 32 ? 32u : 8u) * 1000000 + sum) << t;
  }
}

TEST(Flow, WhoIsWaitedForDoesNotWaitWherePathsJoin) {
  // Two threads wait for all the others, which go on to their exit.
  const auto got = stored(
      "mov.u32 %r10, 1; setp.gt.u32 %p1, %r3, 1; @%p1 bra done; bar.warp.sync -1; mov.u32 %r10, 2;\ndone:", 1,
      32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(got[t], t > 1 ? 1u : 2u) << t;
}

TEST(Flow, WhoStaysJoinsAgain) {
  // Odd threads check whether they leave, and one of them does; the others are together again afterwards.
  const auto got = stored(
      "mov.u32 %r10, 0; and.b32 %r5, %r3, 1; setp.eq.u32 %p1, %r5, 0; @%p1 bra even;\n"
      "mov.u32 %r10, 100; setp.eq.u32 %p2, %r3, 7; @!%p2 bra even; ret;\n"
      "even: activemask.b32 %r7; popc.b32 %r7, %r7; add.u32 %r10, %r10, %r7;",
      1, 32);
  for (uint32_t t = 0; t < 32; ++t) {
    if (t == 7) continue;
    EXPECT_EQ(got[t], 31 + (t % 2) * 100) << t;
  }
}

TEST(Flow, SwitchesAndCallsAndRecursion) {
  Bench bench(module_of(
      ".func (.param .b32 r) fib(.param .b32 n)\n{ .reg .pred %p<2>; .reg .b32 %r<6>;\n ld.param.u32 %r1, "
      "[n]; setp.gt.u32 %p1, %r1, 1; @%p1 bra L1;\n"
      "st.param.b32 [r], %r1; ret;\nL1: sub.u32 %r2, %r1, 1; sub.u32 %r3, %r1, 2;\n"
      "{ .param .b32 a; .param .b32 q; st.param.b32 [a], %r2; call (q), fib, (a); ld.param.b32 %r4, [q]; }\n"
      "{ .param .b32 a; .param .b32 q; st.param.b32 [a], %r3; call (q), fib, (a); ld.param.b32 %r5, [q]; }\n"
      "add.u32 %r4, %r4, %r5; st.param.b32 [r], %r4; }\n"
      ".func (.param .b32 r) triple(.param .b32 n)\n{ .reg .b32 %r<2>; ld.param.u32 %r1, [n]; mul.lo.u32 "
      "%r1, %r1, 3; st.param.b32 [r], %r1; ret; }\n"
      ".global .align 8 .u64 table[2] = {fib, triple};\n"
      ".entry k(.param .u64 p0)\n{ .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n"
      "mov.u32 %r1, %tid.x; ld.param.u64 %d1, [p0]; mad.wide.u32 %d1, %r1, 4, %d1; and.b32 %r2, %r1, 1; "
      "mov.u64 %d2, table;\n"
      "mad.wide.u32 %d2, %r2, 8, %d2; ld.global.u64 %d3, [%d2]; rem.u32 %r3, %r1, 12;\n"
      "{ .param .b32 a; .param .b32 q; st.param.b32 [a], %r3; proto: .callprototype (.param .b32 _) _ "
      "(.param .b32 _);\n"
      "call (q), %d3, (a), proto; ld.param.b32 %r4, [q]; }\n"
      "activemask.b32 %r5; popc.b32 %r5, %r5; rem.u32 %r6, %r1, 3; ts: .branchtargets A, B, C; brx.idx %r6, "
      "ts;\n"
      "A: add.u32 %r4, %r4, 1000; bra D;\nB: add.u32 %r4, %r4, 2000; bra D;\nC: ;\n"
      "D: mad.lo.u32 %r4, %r5, 10000, %r4; st.global.u32 [%d1], %r4; }"));
  const uint64_t out = bench.put(std::vector<uint32_t>(32));
  bench.run("k", 1, 32, {out});
  const uint32_t fib[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
  for (uint32_t t = 0; t < 32; ++t)
    EXPECT_EQ(bench.get<uint32_t>(out, 32)[t],
              320000 + (t % 2 == 0 ? fib[t % 12] : t % 12 * 3) + (t % 3 == 2 ? 0 : (t % 3 + 1) * 1000))
        << t;
}

TEST(Flow, ExitsInTheMiddle) {
  Bench bench(kernel_of(1, kIndex + "setp.lt.u32 %p1, %r3, 5; @%p1 exit; setp.gt.u32 %p1, %r3, 9; @%p1 bra "
                                    "past; st.global.u32 [%d2], 7; ret;\n"
                                    "past: activemask.b32 %r5; st.global.u32 [%d2], %r5;"));
  const uint64_t out = bench.put(std::vector<uint32_t>(12));
  bench.run("k", 1, 12, {out});
  EXPECT_EQ(bench.get<uint32_t>(out, 12),
            (std::vector<uint32_t>{0, 0, 0, 0, 0, 7, 7, 7, 7, 7, 0xC00, 0xC00}));
}

TEST(Flow, AReductionOverSharedMemoryAndBarriers) {
  for (const uint64_t seed : {0, 1, 2}) {
    Bench bench(module_of(
        ".extern .shared .align 8 .b8 tile[];\n.entry k(.param .u64 p0)\n{ .reg .pred %p<3>; .reg .b32 "
        "%r<12>; .reg .b64 %d<9>;\n"
        "ld.param.u64 %d1, [p0]; mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mad.lo.u32 %r3, %r1, 4, %r2; "
        "mov.u32 %r10, %ctaid.x;\n"
        "add.u32 %r4, %r1, %r10; st.shared.u32 [%r3], %r4; mov.u32 %r5, %ntid.x; shr.u32 %r5, %r5, 1;\n"
        "loop: bar.sync 0; setp.eq.u32 %p1, %r5, 0; @%p1 bra done; setp.ge.u32 %p2, %r1, %r5; @%p2 bra "
        "skip;\n"
        "mad.lo.u32 %r6, %r5, 4, %r3; ld.shared.u32 %r7, [%r6]; ld.shared.u32 %r8, [%r3]; add.u32 %r8, %r8, "
        "%r7; st.shared.u32 [%r3], %r8;\n"
        "skip: shr.u32 %r5, %r5, 1; bra loop;\n"
        "done: setp.ne.u32 %p2, %r1, 0; @%p2 ret; mad.wide.u32 %d1, %r10, 4, %d1; ld.shared.u32 %r8, [tile]; "
        "st.global.u32 [%d1], %r8; }"));
    bench.options.seed = seed;
    bench.dynamic_shared = 1024;
    const uint64_t out = bench.put(std::vector<uint32_t>(5));
    bench.run("k", 5, 256, {out});
    for (uint32_t b = 0; b < 5; ++b) EXPECT_EQ(bench.get<uint32_t>(out, 5)[b], 255u * 128 + 256 * b);
  }
}

TEST(Flow, ShufflesVotesAndMatches) {
  EXPECT_EQ(stored("mov.u32 %r10, %r3; shfl.sync.bfly.b32 %r5, %r10, 16, 31, -1; add.u32 %r10, %r10, %r5; "
                   "shfl.sync.bfly.b32 %r5, %r10, 8, 31, -1; add.u32 %r10, %r10, %r5;"
                   "shfl.sync.bfly.b32 %r5, %r10, 4, 31, -1; add.u32 %r10, %r10, %r5; shfl.sync.bfly.b32 "
                   "%r5, %r10, 2, 31, -1; add.u32 %r10, %r10, %r5;"
                   "shfl.sync.bfly.b32 %r5, %r10, 1, 31, -1; add.u32 %r10, %r10, %r5;",
                   1, 32),
            std::vector<uint32_t>(32, 496));
  const auto up = stored("shfl.sync.up.b32 %r10|%p1, %r3, 3, 0, -1; @!%p1 add.u32 %r10, %r10, 100;", 1, 32);
  const auto down =
      stored("shfl.sync.down.b32 %r10|%p1, %r3, 2, 0x181f, -1; @!%p1 add.u32 %r10, %r10, 100;", 1, 32);
  const auto index = stored("mov.u32 %r5, 9; shfl.sync.idx.b32 %r10, %r3, %r5, 0x181f, -1;", 1, 32);
  const auto ballot = stored(
      "and.b32 %r5, %r3, 3; setp.eq.u32 %p1, %r5, 1; vote.sync.ballot.b32 %r10, %p1, -1; vote.sync.any.pred "
      "%p2, !%p1, -1; @%p2 add.u32 %r10, %r10, 1;",
      1, 32);
  const auto match = stored(
      "shr.u32 %r5, %r3, 2; match.any.sync.b32 %r10, %r5, -1; match.all.sync.b32 %r6|%p1, %r5, -1; @%p1 "
      "mov.u32 %r10, 0;",
      1, 32);
  const auto redux = stored(
      "mov.u32 %r6, 0xF0F0F0F0; and.b32 %r5, %r3, 4; setp.ne.u32 %p1, %r5, 0; selp.b32 %r6, %r6, 0x0F0F0F0F, "
      "%p1; redux.sync.max.u32 %r10, %r3, %r6;",
      1, 32);
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(up[t], t >= 3 ? t - 3 : t + 100);
    EXPECT_EQ(down[t], t % 8 < 6 ? t + 2 : t + 100);
    EXPECT_EQ(index[t], (t & ~7u) | 1);
    EXPECT_EQ(ballot[t], 0x22222223u);
    EXPECT_EQ(match[t], 0xFu << (t & ~3u));
    EXPECT_EQ(redux[t], (t & 4) != 0 ? 31u : 27u);
  }
}

TEST(Flow, ThreadsOfDifferentPathsGather) {
  // Both sides of a branch come to barriers of the warp, and a shuffle gathers paths that had diverged.
  const auto got = stored(
      "setp.lt.u32 %p1, %r3, 7; mov.u32 %r10, 5; @%p1 bra one; mul.lo.u32 %r10, %r3, %r3; bar.warp.sync -1; "
      "bra two;\n"
      "one: bar.warp.sync -1;\ntwo: shfl.sync.idx.b32 %r10, %r10, 9, 31, -1;",
      1, 32);
  EXPECT_EQ(got, std::vector<uint32_t>(32, 81));
  EXPECT_EQ(stored("setp.lt.u32 %p1, %r3, 16; @%p1 bra one; mov.u32 %r10, 3; bra two;\none: "
                   "shfl.sync.down.b32 %r10, %r3, 1, 31, 0xFFFF;\ntwo:",
                   1, 32)[4],
            5u);
}

TEST(Flow, GroupsOfAWarpWaitForTheirOwnThreads) {
  // The first path to come has threads of both groups; the second completes one group, and the third the
  // other.
  const std::string arm = "st.global.u32 [%d2], %r8; bar.warp.sync %r5; ld.global.u32 %r10, [%d3]; ";
  const auto got = stored(
      "and.b32 %r4, %r3, 8; mov.u32 %r5, 255; shl.b32 %r5, %r5, %r4; xor.b32 %r6, %r3, 4; sub.s32 %r6, %r6, "
      "%r3; "
      "mul.wide.s32 %d3, %r6, 4; add.u64 %d3, %d2, %d3; add.u32 %r8, %r3, 1; and.b32 %r7, %r3, 4; "
      "setp.eq.u32 %p1, %r7, 0; setp.eq.u32 %p2, %r4, 0; @!%p1 bra others;\n" +
          arm + "bra done;\nothers: @!%p2 bra three;\n" + arm + "bra done;\nthree: " + arm + "\ndone:",
      1, 16);
  for (uint32_t t = 0; t < 16; ++t) EXPECT_EQ(got[t], (t ^ 4) + 1);
}

TEST(Flow, AThreadMayWaitForAnotherOfItsWarp) {
  // A lock that each thread takes: the one that has it goes on although the others still spin.
  Bench bench(kernel_of(2,
                        "ld.param.u64 %d1, [p0]; ld.param.u64 %d2, [p1];\nloop: atom.global.cas.b32 %r1, "
                        "[%d1], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra loop;\n"
                        "ld.volatile.global.u32 %r2, [%d2]; add.u32 %r2, %r2, 1; st.volatile.global.u32 "
                        "[%d2], %r2; membar.gl; atom.exch.b32 %r3, [%d1], 0;"));
  const uint64_t out = bench.put(std::vector<uint32_t>(2));
  bench.run("k", 2, 70, {out, out + 4});
  EXPECT_EQ(bench.get<uint32_t>(out, 2), (std::vector<uint32_t>{0, 140}));
}

TEST(Flow, BarriersOfNumbersAndReductions) {
  const auto got = stored(
      "and.b32 %r5, %r3, 1; setp.eq.u32 %p1, %r5, 1; bar.red.popc.u32 %r10, 0, %p1; setp.eq.u32 %p2, %r3, "
      "77; bar.red.or.pred %p3, 0, %p2;"
      "@%p3 add.u32 %r10, %r10, 1000; bar.red.and.pred %p3, 0, !%p2; @%p3 add.u32 %r10, %r10, 5000;",
      1, 100);
  EXPECT_EQ(got, std::vector<uint32_t>(100, 1050));
  // The first warp gives, the second takes.
  const auto pair = stored(
      "setp.ge.u32 %p1, %r3, 32; mov.u32 %r10, 1; @%p1 bra take; add.u32 %r8, %r3, 500; sub.u64 %d3, %d2, 0; "
      "st.global.u32 [%d3+128], %r8; bar.arrive 3, 64; bra done;\n"
      "take: bar.sync 3, 64; ld.global.u32 %r10, [%d2]; add.u32 %r10, %r10, 1;\ndone:",
      1, 64, 5);
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(pair[t], t < 32 ? 1u : t - 32 + 501);
}

TEST(Flow, BlocksOfACooperativeLaunchWaitForEachOther) {
  Bench bench(kernel_of(1,
                        "ld.param.u64 %d1, [p0]; mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra all; "
                        "atom.add.release.gpu.global.u32 %r2, [%d1], 1;\n"
                        "mov.u32 %r4, %nctaid.x;\nspin: ld.acquire.gpu.global.u32 %r3, [%d1]; setp.lt.u32 "
                        "%p1, %r3, %r4; @%p1 bra spin;\nall: bar.sync 0; red.global.add.u32 [%d1+4], 1;"));
  const uint64_t out = bench.put(std::vector<uint32_t>(2));
  bench.options.all_resident = true;
  bench.run("k", 4, 64, {out});
  EXPECT_EQ(bench.get<uint32_t>(out, 2), (std::vector<uint32_t>{4, 256}));
}

TEST(Flow, Atomics) {
  const auto run = [](const std::string& op, const std::string& type, uint64_t initial, uint32_t threads) {
    const bool wide = type.ends_with("64");
    const std::string value = type == "f32" ? "%f1" : type == "f64" ? "%g1" : wide ? "%d5" : "%r5";
    Bench bench(kernel_of(1,
                          "ld.param.u64 %d1, [p0]; mov.u32 %r1, %tid.x; add.u32 %r5, %r1, 1; cvt.u64.u32 "
                          "%d5, %r5; cvt.rn.f32.u32 %f1, %r5; cvt.rn.f64.u32 %g1, %r5;\n"
                          "red.relaxed.gpu.global." +
                              op + "." + type + " [%d1], " + value + ";"));
    const uint64_t out = bench.put(std::vector<uint64_t>{initial});
    bench.run("k", 1, threads, {out});
    return bench.get<uint64_t>(out, 1)[0];
  };
  EXPECT_EQ(run("add", "u32", 5, 64), 5u + 64 * 65 / 2);
  EXPECT_EQ(run("add", "u64", 1ull << 40, 64), (1ull << 40) + 64 * 65 / 2);
  EXPECT_EQ(run("min", "s32", 0xFFFFFFF0u, 64), 0xFFFFFFF0u);
  EXPECT_EQ(run("min", "u32", 0xFFFFFFF0u, 64), 1u);
  EXPECT_EQ(run("max", "u64", 9, 64), 64u);
  EXPECT_EQ(run("and", "b32", 0xFF, 1), 1u);
  EXPECT_EQ(run("or", "b64", 0, 3), 3u);
  EXPECT_EQ(run("xor", "b32", 0, 3), 0u);
  EXPECT_EQ(run("inc", "u32", 0, 1), 1u);
  EXPECT_EQ(run("dec", "u32", 0, 1), 1u);
  EXPECT_EQ(run("add", "f32", 0, 64), 0x45020000u);  // 2080
  EXPECT_EQ(run("add", "f64", 0, 64), 0x40A0400000000000u);
  EXPECT_EQ(stored("atom.add.u32 %r10, [%d2], %r3; atom.exch.b32 %r10, [%d2], 9; atom.cas.b32 %r10, [%d2], "
                   "9, 11; ld.u32 %r9, [%d2]; add.u32 %r10, %r10, %r9;",
                   1, 40)[7],
            20u);
}

TEST(Flow, LocalAndGenericMemory) {
  const auto got = stored(
      ".local .align 4 .b8 depot[64]; .shared .align 4 .b8 tile[256];\n"
      "mov.u64 %d10, depot; cvta.local.u64 %d11, %d10; add.u32 %r5, %r3, 40; st.u32 [%d11+8], %r5; "
      "ld.local.u32 %r6, [%d10+8]; ld.local.u8 %r7, [depot+8];\n"
      "mov.u64 %d12, tile; cvta.shared.u64 %d13, %d12; mad.wide.u32 %d13, %r3, 4, %d13; st.u32 [%d13], %r6; "
      "cvta.to.shared.u64 %d14, %d13; ld.shared.u32 %r8, [%d14];\n"
      "isspacep.shared %p1, %d13; isspacep.global %p2, %d13; add.u32 %r10, %r8, %r7; @%p1 add.u32 %r10, "
      "%r10, 1000; @%p2 add.u32 %r10, %r10, 5000;",
      1, 50);
  for (uint32_t t = 0; t < 50; ++t) EXPECT_EQ(got[t], 2 * (t + 40) + 1000);
  // Vectors, and loads that extend.
  const auto vectors = stored(
      "mov.u64 %d10, {%r3, %r4}; .shared .align 16 .b8 v[16]; setp.eq.u32 %p1, %r3, 3; @%p1 st.shared.v4.u32 "
      "[v], {%r3, -2, 5, 6}; bar.sync 0;\n"
      "ld.shared.v2.u64 {%d11, %d12}, [v]; mov.b64 {%r5, %r6}, %d12; ld.shared.s8 %r7, [v+4]; ld.shared.u16 "
      "%r8, [v+4]; ld.shared.s8 %h1, [v+4]; cvt.s32.s16 %r9, %h1;\n"
      "add.u32 %r10, %r5, %r6; add.u32 %r10, %r10, %r7; add.u32 %r10, %r10, %r8; add.u32 %r10, %r10, %r9;",
      1, 40);
  EXPECT_EQ(vectors[0], 5u + 6 - 2 + 0xFFFE - 2);
}

TEST(Flow, SpecialRegisters) {
  Bench bench(
      kernel_of(1,
                "ld.param.u64 %d1, [p0]; mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; "
                "mov.u32 %r4, %ntid.x; mov.u32 %r5, %ntid.y;\n"
                "mad.lo.u32 %r6, %r3, %r5, %r2; mad.lo.u32 %r6, %r6, %r4, %r1; mov.u32 %r7, %ctaid.y; "
                "mov.u32 %r8, %nctaid.x; mov.u32 %r9, %ctaid.x; mad.lo.u32 %r7, %r7, %r8, %r9;\n"
                "mad.lo.u32 %r10, %r7, 24, %r6; mad.wide.u32 %d2, %r10, 4, %d1; mov.u32 %r11, %lanemask_lt; "
                "popc.b32 %r11, %r11; mov.u32 %r12, %laneid; sub.u32 %r11, %r11, %r12; add.u32 %r10, %r10, "
                "%r11; st.global.u32 [%d2], %r10;"));
  const uint64_t out = bench.put(std::vector<uint32_t>(24 * 6));
  bench.run("k", {{3, 2, 1}, {4, 3, 2}, 0}, {out});
  std::vector<uint32_t> wanted(24 * 6);
  std::iota(wanted.begin(), wanted.end(), 0u);
  EXPECT_EQ(bench.get<uint32_t>(out, 24 * 6), wanted);
}

}  // namespace
}  // namespace softgpu
