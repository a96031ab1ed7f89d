#include <chrono>

#include "softgpu/machine/warp.h"
#include "support.h"
#include "tests/cpp/mutator.h"

// Malformed PTX is refused: no text crashes the reader, hangs it, or takes memory without bound.

namespace softgpu {
namespace {

std::string error_of(const std::string& ptx) {
  Memory memory(64 << 20);
  try {
    load(ptx, memory);
  } catch (const LoadError& error) {
    EXPECT_EQ(memory.available(), memory.total());
    return error.what();
  }
  return "";
}

std::string repeated(const std::string& text, size_t times) {
  std::string all;
  for (size_t k = 0; k < times; ++k) all += text;
  return all;
}

TEST(Untrusted, NestingHasABound) {
  for (const std::string open :
       {"{", "{ .reg .b32 a;", "mov.b32 %r1, {", "call (", "ld.u32 %r1, [", "@%p1 bra ("}) {
    EXPECT_NE(error_of(kernel_of(0, repeated(open, 20'000))), "") << open;
    EXPECT_NE(error_of(kernel_of(0, open + repeated(open.substr(open.size() - 1), 20'000))), "") << open;
  }
  EXPECT_NE(error_of(module_of(".global .b32 x[1] = " + repeated("{", 20'000))), "");
  EXPECT_NE(error_of(module_of(".section .debug " + repeated("{", 20'000))), "");
  EXPECT_EQ(error_of(kernel_of(0, repeated("{", 100) + repeated("}", 100))), "");
}

TEST(Untrusted, SizesHaveBounds) {
  const auto variable = [](const std::string& text) { return error_of(kernel_of(0, text)); };
  EXPECT_TRUE(has(error_of(module_of(".entry k(.param .b8 p[2147483647]) { ret; }")), "at most 4352 bytes"));
  EXPECT_TRUE(has(error_of(module_of(".entry k(.param .b8 p[4353]) { ret; }")), "at most 4352 bytes"));
  EXPECT_EQ(error_of(module_of(".entry k(.param .b8 p[4352]) { ret; }")), "");
  const std::string newer = ".version 8.1\n.target sm_90\n.address_size 64\n";
  EXPECT_EQ(error_of(newer + ".entry k(.param .b8 p[32764]) { ret; }"), "");
  EXPECT_NE(error_of(newer + ".entry k(.param .b8 p[32765]) { ret; }"), "");
  EXPECT_NE(error_of(module_of(".func f(.param .b8 p[2147483648]) { ret; }")), "");
  EXPECT_TRUE(has(variable(".shared .b8 s[49153];"), "at most 49152 bytes"));
  EXPECT_EQ(variable(".shared .b8 s[49152];"), "");
  EXPECT_NE(variable(".shared .b8 s[49152]; .shared .b8 t[1];"), "");
  EXPECT_NE(variable(".shared .b8 s[4294967296];"), "");
  EXPECT_NE(variable(".local .b8 s[4294967295]; .local .b8 t[4294967295];"), "");
  EXPECT_NE(variable(".param .b8 s[4294967295];"), "");
  EXPECT_NE(variable(".shared .align 2147483648 .b8 s[4];"), "");
  EXPECT_NE(variable(".local .align 4294967296 .b8 s[4];"), "");
  EXPECT_NE(error_of(module_of(".shared .b8 s[49153];")), "");
  EXPECT_NE(error_of(module_of(".const .b8 s[65537];")), "");
  EXPECT_EQ(error_of(module_of(".const .b8 s[65536];")), "");
  EXPECT_NE(error_of(module_of(".global .b8 s[281474976710656];")), "");
  EXPECT_NE(error_of(module_of(".global .b8 s[18446744073709551615];")), "");
  EXPECT_NE(error_of(module_of(".file 4294967296 \"a\"")), "");
  EXPECT_EQ(error_of(module_of(repeated(".file 4294967295 \"a\"\n", 100))), "");
}

TEST(Untrusted, NumbersAreReadWholeOrRefused) {
  const auto of = [](const std::string& number) {
    return error_of(kernel_of(0, "mov.b64 %d1, " + number + ";"));
  };
  for (const char* const good :
       {"1", "-1", "017", "0x1F", "0b101", "18446744073709551615", "0d3FF0000000000000", "1.5", "2.", "7U"})
    EXPECT_EQ(of(good), "") << good;
  for (const char* const bad :
       {"18446744073709551616", "12ab", "0x", "0xG", "0b2", "08", "0d3FF00000000000000", "1.5.2", "0f", "U"})
    EXPECT_NE(of(bad), "") << bad;
  EXPECT_EQ(error_of(module_of(".entry k() { .reg .b32 %r<999999999>; mov.b32 %r999999998, 1; ret; }")), "");
  EXPECT_NE(error_of(module_of(".entry k() { .reg .b32 %r<999999999>; mov.b32 %r999999999, 1; ret; }")), "");
  EXPECT_NE(error_of(module_of(".entry k() { .reg .b32 %r<9>; mov.b32 %r99999999999999999999, 1; ret; }")),
            "");
  EXPECT_NE(error_of(module_of(".entry k() { .reg .b32 %r<4294967296>; ret; }")), "");
}

/// For each op, a result that is not declared, and arguments of wrong sizes.
TEST(Untrusted, OperandsOfOtherFormsAreRefusedOrHarmless) {
  const std::string sink =
      "activemask.b32 _;\nvote.sync.ballot.b32 _, %p1, -1;\nvote.sync.any.pred _, %p1, -1;\n"
      "redux.sync.add.s32 _, %r1, -1;\nmatch.any.sync.b32 _, %r1, -1;\nbarrier.red.popc.aligned.u32 _, 0, "
      "%p1;\n"
      "isspacep.global _, %d1;\nmov.u32 _, %clock;\nmov.b32 _, {%h1, %h2};\nstacksave.u64 _;\n";
  std::string each;
  for (const char c : sink) {
    each += c;
    if (c != '\n') continue;
    try {
      Bench bench(kernel_of(0, "setp.eq.s32 %p1, 0, 0; mov.u32 %r1, 0; mov.u64 %d1, 0;" + each));
      bench.run("k", 1, 64, {});
    } catch (const LoadError&) {
    }
    each.clear();
  }
  EXPECT_TRUE(has(error_of(kernel_of(0, "alloca.u64 %d1, %d2, 0;")), "an alignment of 0"));
  EXPECT_NE(error_of(kernel_of(0, "alloca.u64 %d1, %d2, 3;")), "");
  EXPECT_NE(error_of(kernel_of(
                0, "mma.sync.aligned.m8n8k4.row.col.f64.f64.f16.f64 {%g1, %g2}, {%g3}, {}, {%g4, %g5};")),
            "");
  const auto called = [](const std::string& function, const std::string& parameters) {
    Bench bench(
        module_of(".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
                  ".extern .func (.param .b64 r) malloc(.param .b64 a);\n"
                  ".visible .entry k() {\n" +
                  parameters + "call (o), " + function + ", (x, y);\nret; }"));
    fault_of(bench, 1, 32, {});
  };
  called("vprintf", ".param .b8 z[15]; .param .b8 x; .param .b8 y; .param .b8 o;");
  called("malloc", ".param .b8 z[8]; .param .b8 x; .param .b8 y; .param .b8 o;");
}

TEST(Untrusted, PrintfHoldsNoMoreThanItsText) {
  const std::string format = "%999999999d|%.999999999d|%99999999999999999999d|%*d|%.*d|%-5d|%+.3d\\n";
  std::string bytes;
  for (size_t k = 0; k + 1 < format.size(); ++k) {
    const bool is_end = format[k] == '\\';
    bytes += std::to_string(is_end ? 10 : static_cast<int>(format[k])) + ", ";
    if (is_end) break;
  }
  Bench bench(
      module_of(".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
                ".global .b8 format[" +
                std::to_string(format.size()) + "] = {" + bytes +
                "0};\n"
                ".global .b32 values[9] = {1, 2, 3, -2147483648, 4, -7, 5, 6, 7};\n"
                ".visible .entry k() {\n.reg .b64 %d<3>; .param .b64 x; .param .b64 y; .param .b32 o;\n"
                "mov.u64 %d1, format; st.param.b64 [x], %d1; mov.u64 %d2, values; st.param.b64 [y], %d2;\n"
                "call (o), vprintf, (x, y);\nret; }"));
  std::string printed;
  bench.options.printed = &printed;
  bench.run("k", 1, 1, {});
  EXPECT_LT(printed.size(), 5000u);
  EXPECT_TRUE(printed.ends_with("|5|6    |+007\n")) << printed.substr(printed.size() - 40);
}

double seconds_of(const std::string& ptx) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(error_of(ptx), "");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Long lists take time in their length, not in its square.
TEST(Untrusted, LongTextsAreReadInTime) {
  constexpr size_t kMany = 20'000;
  std::string registers, uses, labels, ladder, scopes;
  for (size_t k = 0; k < kMany; ++k) {
    const std::string n = std::to_string(k);
    registers += ".reg .b32 v" + n + ";\n";
    uses += "mov.b32 v" + n + ", 1;\n";
    labels += "L" + n + ": mov.b32 %r1, 1;\n";
    ladder += "B" + n + ": @%p1 bra L0;\n";
    scopes += "{ .reg .b32 v; mov.b32 v, 1; }\n";
  }
  EXPECT_LT(seconds_of(kernel_of(0, registers + uses)), 5);
  EXPECT_LT(seconds_of(kernel_of(0, ladder + "bra END;\n" + labels + "END: ret;\n")), 5);
  EXPECT_LT(seconds_of(kernel_of(0, scopes)), 5);
}

std::vector<std::string> originals() {
  return {
      file_text("kernels.ptx"), file_text("libraries.ptx"),
      kernel_of(
          1,
          ".shared .align 8 .b8 s[64]; .local .align 8 .b8 l[32]; .reg .b32 t;\n"
          "ld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 7;\n@%p1 bra L1;\n"
          "mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2; st.global.u32 [%d3], %r1;\n"
          "L1: bar.sync 0; atom.global.add.u32 %r2, [%d1], 1; shfl.sync.down.b32 %r3|%p2, %r1, 1, 31, -1;\n"
          "{ .reg .b32 t; mov.b32 t, %r3; st.shared.u32 [s+4], t; ld.shared.v2.u32 {%r4, _}, [s]; }\n"
          "st.local.u64 [l+8], %d1; ld.local.u64 %d4, [l+8]; mov.b64 {%r5, %r6}, %d4;\n"
          "vote.sync.ballot.b32 %r7, %p1, -1; redux.sync.add.u32 %r8, %r1, -1; cvt.rn.f32.u32 %f1, %r8;\n"
          "fma.rn.f32 %f2, %f1, %f1, 0f3F800000; setp.gt.f32 %p3, %f2, %f1; selp.b32 %r9, 1, 2, %p3;\n"
          "alloca.u64 %d5, 16, 8; cp.async.ca.shared.global [s], [%d1], 8; cp.async.wait_all;\n"
          "mbarrier.init.shared.b64 [s+8], 32; elect.sync %r10|%p4, -1; match.any.sync.b32 %r11, %r1, -1;")};
}

/// Runs all kernels of a program as a driver would let them run.
void run_all(const Program& program, Memory& memory) {
  const Allocation* const data = memory.allocate(4096);
  for (const std::string& name : program.kernels()) {
    const Function& kernel = *program.kernel(name);
    if (kernel.local_bytes > Warp::kMostLocal || kernel.max_threads < 64) continue;
    std::vector<std::byte> bytes;
    for (const Parameter& parameter : kernel.parameters) {
      bytes.resize(parameter.offset + parameter.bytes);
      std::memcpy(bytes.data() + parameter.offset, &data->base, std::min<size_t>(parameter.bytes, 8));
    }
    std::string printed;
    LaunchOptions options;
    options.limit = 100'000;
    options.printed = &printed;
    try {
      run_kernel(program, kernel, {{1, 1, 1}, {64, 1, 1}, 256}, bytes, memory, options);
    } catch (const Fault&) {
    }
  }
}

TEST(Untrusted, SpoiledTextsAreRefusedOrRun) {
  const std::vector<std::string> texts = originals();
  for (const std::string& text : texts) ASSERT_EQ(error_of(text), "");
  const uint64_t first = ingot::first_mutation();
  for (uint64_t seed = first; seed < first + ingot::mutations(300); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::string spoiled = ingot::Mutator(seed).spoiled(texts[seed % texts.size()]);
    Memory memory(64 << 20);
    try {
      run_all(*load(spoiled, memory), memory);
    } catch (const LoadError&) {
    }
  }
}

}  // namespace
}  // namespace softgpu
