#include "support.h"

// Faults of kernels, and their reports.

namespace softgpu {
namespace {

/// The fault of a kernel with one parameter, an allocation of 100 words.
Fault fault_in(const std::string& body, uint32_t threads = 64, uint64_t limit = 1000000) {
  Bench bench(kernel_of(1,
                        ".shared .align 4 .b8 tile[64];\nld.param.u64 %d1, [p0]; mov.u32 %r1, %tid.x; "
                        "mad.wide.u32 %d2, %r1, 4, %d1;\n" +
                            body));
  bench.options.limit = limit;
  const uint64_t memory = bench.put(std::vector<uint32_t>(100));
  return fault_of(bench, 2, threads, {memory}).value_or(Fault(FaultKind::Trap, "none"));
}

TEST(Faults, AccessesOutsideOfAllocations) {
  const Fault past = fault_in("st.global.u32 [%d2], %r1;", 128);
  EXPECT_EQ(past.kind, FaultKind::Illegal);
  EXPECT_STREQ(
      past.what(),
      "a write of 4 bytes: 0 bytes after the end of an allocation of 400 bytes\n"
      "  in kernel `k`, block (0, 0, 0), thread (100, 0, 0)\n  in line 14 of the PTX: st.global.u32");
  EXPECT_TRUE(has(fault_in("ld.global.u32 %r2, [%d1+-4];").what(),
                  "a read of 4 bytes: 4 bytes before an allocation of 400 bytes"));
  EXPECT_TRUE(has(fault_in("ld.global.u64 %d3, [%d1+400];").what(), "0 bytes after the end"));
  EXPECT_TRUE(has(fault_in("mov.u64 %d1, 16; ld.global.u32 %r2, [%d1];").what(), "a null pointer"));
  EXPECT_TRUE(has(fault_in("atom.global.add.u32 %r2, [%d1+4000], 1;").what(), "an atomic access"));
  EXPECT_TRUE(has(fault_in("st.shared.u32 [tile+64], %r1;").what(), "of shared memory, which has 64 bytes"));
  EXPECT_TRUE(has(fault_in(".local .align 8 .b8 l[32]; ld.local.u32 %r2, [l+32];").what(), "local memory"));
}

TEST(Faults, TheHostsPointersAndFreedMemory) {
  int mine = 0;
  Bench bench(kernel_of(1, "ld.param.u64 %d1, [p0]; st.global.u32 [%d1], 1;"));
  EXPECT_TRUE(
      has(fault_of(bench, 1, 1, {reinterpret_cast<uint64_t>(&mine)})->what(), "a pointer of the host?"));
  EXPECT_EQ(mine, 0);
  const uint64_t memory = bench.put(std::vector<int>(10));
  bench.run("k", 1, 1, {memory});
  bench.memory().free(*bench.memory().starting(memory));
  EXPECT_TRUE(
      has(fault_of(bench, 1, 1, {memory})->what(), "byte 0 of an allocation of 40 bytes that was freed"));
  bench.put(std::vector<int>(10));
  EXPECT_TRUE(has(fault_of(bench, 1, 1, {memory})->what(), "that was freed"));
}

TEST(Faults, MisalignedAccesses) {
  const Fault fault = fault_in("ld.global.u32 %r2, [%d1+2];");
  EXPECT_EQ(fault.kind, FaultKind::Misaligned);
  EXPECT_EQ(fault_in("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d1+8];").kind, FaultKind::Misaligned);
  EXPECT_EQ(fault_in("st.shared.u32 [tile+2], %r1;").kind, FaultKind::Misaligned);
}

TEST(Faults, BarriersThatNotAllComeTo) {
  const Fault both =
      fault_in("setp.lt.u32 %p1, %r1, 7; @%p1 bra one; bar.sync 0; bra two;\none: bar.sync 0;\ntwo:");
  EXPECT_EQ(both.kind, FaultKind::Barrier);
  EXPECT_TRUE(has(both.what(), "a barrier in divergent code: other threads of the warp wait at another one"));
  EXPECT_TRUE(has(fault_in("setp.lt.u32 %p1, %r1, 7; @%p1 bar.sync 0;").what(),
                  "some threads of the warp pass it by"));
  const Fault spin = fault_in("setp.lt.u32 %p1, %r1, 32; @!%p1 bra two; bar.sync 1;\ntwo: bar.sync 0;");
  EXPECT_EQ(spin.kind, FaultKind::Deadlock);
}

TEST(Faults, BarriersDoNotWaitForThreadsThatHaveExited) {
  for (const char* body :
       {"setp.eq.u32 %p1, %r1, 7; @%p1 ret; bar.sync 0;", "setp.ge.u32 %p1, %r1, 32; @%p1 exit; bar.sync 0;",
        "setp.lt.u32 %p1, %r1, 40; @!%p1 bra two; bar.sync 0;\ntwo:"}) {
    Bench bench(kernel_of(1, std::string("mov.u32 %r1, %tid.x; ") + body));
    EXPECT_NO_THROW(bench.run("k", 1, 64, {0})) << body;
  }
}

TEST(Faults, WarpsThatCannotGoOn) {
  const Fault lost = fault_in(
      "setp.lt.u32 %p1, %r1, 7; @%p1 bra one; bra two;\none: shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;\ntwo: "
      "bar.warp.sync -1; bar.sync 0;",
      32);
  EXPECT_EQ(lost.kind, FaultKind::Deadlock);
  EXPECT_TRUE(has(fault_in("mov.u32 %r2, 1; shfl.sync.idx.b32 %r3, %r1, 0, 31, %r2;").what(),
                  "its own mask does not name"));
  EXPECT_EQ(fault_in("loop: bra loop;").kind, FaultKind::Timeout);
}

TEST(Faults, TrapsAndBadCalls) {
  EXPECT_EQ(fault_in("trap;").kind, FaultKind::Trap);
  Bench endless(module_of(".func f() { call f; ret; }\n.entry k() { call f; ret; }"));
  EXPECT_EQ(fault_of(endless, 1, 1, {})->kind, FaultKind::Stack);
  Bench missing(module_of(".extern .func g;\n.entry k() { call g; ret; }"));
  EXPECT_TRUE(has(fault_of(missing, 1, 1, {})->what(), "a call of `g`, which is only declared"));
}

TEST(Faults, TheSourceLineIsReported) {
  Bench bench(
      module_of(".file 1 \"kernels.py\"\n.entry k() { .reg .b32 %r<2>; .reg .b64 %d<2>;\n.loc 1 42 "
                "8\nmov.u64 %d1, 0; ld.global.u32 %r1, [%d1]; }"));
  EXPECT_TRUE(has(fault_of(bench, 1, 1, {})->what(), "at kernels.py:42\n"));
}

TEST(FaultsDeathTest, TheHostCannotTouchDeviceMemory) {
  Memory memory(1 << 20);
  const auto* const address = reinterpret_cast<volatile int*>(memory.allocate(64)->base);
  EXPECT_DEATH(static_cast<void>(*address), "");
}

}  // namespace
}  // namespace softgpu
