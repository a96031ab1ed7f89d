#include "softgpu/machine/ptx.h"
#include "support.h"

namespace softgpu {
namespace {

std::string error_of(const std::string& ptx) {
  Memory memory(1 << 20);
  try {
    load(ptx, memory);
  } catch (const LoadError& error) {
    EXPECT_EQ(memory.available(), memory.total());
    return error.what();
  }
  return "";
}

TEST(Parser, ReadsDirectivesVariablesAndFunctions) {
  const ptx::Module module = ptx::parse(
      "// text\n.version 8.3\n.target sm_80, debug\n.address_size 64\n"
      ".file 1 \"a.py\", 12, 34\n"
      ".global .align 8 .u64 table[2] = {generic(f), other+8};\n.const .f32 c[3] = {1.0, 0f40000000, -2.5};\n"
      ".visible .global .attribute(.managed) .v2 .b32 pair = {1, -1};\n.extern .shared .align 16 .b8 dyn[];\n"
      ".func (.param .b32 r) f(.param .b64 a, .reg .b32 b) .noreturn { /* over\n lines */ ret; }\n"
      ".entry k(.param .u64 .ptr .global .align 4 p, .param .align 8 .b8 s[24]) .maxntid 64, 2, 1 "
      ".minnctapersm 2\n"
      "{ .reg .pred %p<3>; .loc 1 7 3\n L0: @!%p1 bra.uni L0; { .param .b32 q; } .pragma \"nounroll\";\n"
      "ld.global.v2.f32 {%f1, _}, [%rd1+-8]; shfl.sync.down.b32 %r1|%p1, %r2, 1, 31, 0xffffffff; }\n"
      ".section .debug_str { .b8 1,2 { } }\n");
  EXPECT_EQ(module.version, 83);
  EXPECT_EQ(module.capability, 80);
  EXPECT_EQ(module.files.at(0), "a.py");
  ASSERT_EQ(module.variables.size(), 4u);
  EXPECT_EQ(module.variables[0].addresses.at(0).symbol, "f");
  EXPECT_TRUE(module.variables[0].addresses.at(0).is_generic);
  EXPECT_EQ(module.variables[0].addresses.at(1).offset, 8);
  EXPECT_EQ(module.variables[1].bytes.size(), 12u);
  EXPECT_EQ(module.variables[1].bytes[3], 0x3F);
  EXPECT_EQ(module.variables[2].size, 8u);
  EXPECT_EQ(module.variables[2].bytes[4], 0xFF);
  EXPECT_TRUE(module.variables[3].is_external);
  ASSERT_EQ(module.functions.size(), 2u);
  const ptx::Function& kernel = module.functions[1];
  EXPECT_TRUE(kernel.is_kernel);
  EXPECT_EQ(kernel.max_threads, 128u);
  EXPECT_EQ(kernel.parameters.at(1).size, 24u);
  ASSERT_EQ(kernel.statements.size(), 3u);
  EXPECT_TRUE(kernel.statements[0].is_guard_negated);
  EXPECT_EQ(kernel.statements[0].location.source_line, 7u);
  EXPECT_EQ(kernel.labels.at(0).at, 0u);
  EXPECT_EQ(kernel.statements[1].operands.at(1).integer, static_cast<uint64_t>(-8));
  EXPECT_EQ(kernel.statements[2].operands.at(0).kind, ptx::Operand::Pair);
  EXPECT_EQ(kernel.scopes.size(), 2u);
}

TEST(Parser, WhatIsNotKnownIsNamedWithItsLine) {
  EXPECT_EQ(error_of(kernel_of(0, "wgmma.fence.sync.aligned;")),
            "PTX line 12: the op `wgmma.fence.sync.aligned` is not known");
  EXPECT_EQ(error_of(kernel_of(0, "add.s33 %r1, %r2, %r3;")), "PTX line 12: the op `add.s33` is not known");
  EXPECT_TRUE(has(error_of(kernel_of(0, "add.s32 %r1, %r2, %d3;")), "`%d3` has 64 bits, not 32,"));
  EXPECT_TRUE(has(error_of(kernel_of(0, "add.s32 %r1, %r2, %r99;")), "`%r99` is not declared"));
  EXPECT_TRUE(has(error_of(kernel_of(0, "add.s32 %r1, %r2;")), "number of operands"));
  EXPECT_TRUE(has(error_of(kernel_of(0, "bra nowhere;")), "no label `nowhere`"));
  EXPECT_TRUE(has(error_of(kernel_of(0, "ld.shared.u32 %r1, [p9];")), "`p9` is not declared"));
  EXPECT_TRUE(has(error_of(module_of(".extern .global .u32 x;")), "`x` is only declared"));
  EXPECT_TRUE(has(error_of(module_of(".strange .u32 x;")), "`.strange` is not known"));
}

TEST(Parser, MalformedTextIsRefused) {
  const std::string sound =
      kernel_of(1, "ld.param.u64 %d1, [p0];\n@%p1 bra L1;\nL1: st.global.u32 [%d1+4], 5;");
  EXPECT_EQ(error_of(sound), "");
  EXPECT_NE(error_of(""), "");
  EXPECT_NE(error_of("no ptx at all"), "");
  EXPECT_NE(error_of(".version 2.3\n"), "");
  EXPECT_NE(error_of(".version 7.8\n.address_size 32\n"), "");
  // Every text that breaks off is an error or a smaller module, never a crash.
  for (size_t length = 0; length < sound.size(); ++length) error_of(sound.substr(0, length));
}

TEST(Parser, VariablesHaveTheirInitialValues) {
  Bench bench(module_of(
      ".global .align 8 .u64 where = other+4;\n.global .u32 other[2] = {7, 9};\n.const .f64 c = "
      "0d4000000000000000;\n"
      ".visible .entry k(.param .u64 p0)\n{ .reg .b64 %d<5>; .reg .b32 %r<3>; .reg .f64 %g<2>;\n"
      "ld.param.u64 %d1, [p0]; ld.global.u64 %d2, [where]; ld.u32 %r1, [%d2]; st.global.u32 [%d1], %r1;\n"
      "ld.const.f64 %g1, [c]; st.global.f64 [%d1+8], %g1; mov.u64 %d3, other; ld.global.u32 %r2, [%d3];\n"
      "st.global.u32 [%d1+4], %r2; }"));
  const uint64_t out = bench.put(std::vector<uint32_t>(4));
  bench.run("k", 1, 1, {out});
  EXPECT_EQ(bench.get<uint32_t>(out, 2), (std::vector<uint32_t>{9, 7}));
  EXPECT_EQ(bench.get<double>(out + 8, 1)[0], 2.0);
}

}  // namespace
}  // namespace softgpu
