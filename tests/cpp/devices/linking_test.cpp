// Functions that are linked with kernels: by the driver, and by the vendor's tools if they are installed.

#include "devices/toolkit.h"
#include "support.h"

namespace ingot::devices {
namespace {

using Words = std::vector<uint32_t>;
using Kind = LinkInput::Kind;

constexpr const char* kHead = ".version 7.8\n.target sm_90\n.address_size 64\n";

/// A kernel that replaces each word by `f` of it.
const std::string kCaller = std::string(kHead) + R"(
.extern .func (.param .b32 r) f(.param .b32 x);
.visible .entry map(.param .u64 p) {
  .reg .b32 %i, %x; .reg .b64 %p, %o;
  ld.param.u64 %p, [p];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %o, %i, 4;
  add.s64 %p, %p, %o;
  ld.global.u32 %x, [%p];
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %x; call.uni (b), f, (a); ld.param.b32 %x, [b]; }
  st.global.u32 [%p], %x;
  ret;
})";

std::string adds(int number) {
  return std::string(kHead) +
         ".visible .func (.param .b32 r) f(.param .b32 x) { .reg .b32 %x; ld.param.b32 %x, [x]; " +
         "add.u32 %x, %x, " + std::to_string(number) + "; st.param.b32 [r], %x; ret; }";
}

struct LinkingTest : DevicesTest {
  Words mapped(const LoadOptions& options) {
    const auto code = device_->load(kCaller, options);
    const Address p = words({1, 2, 3});
    const Address given = p;
    void* const arguments[] = {const_cast<Address*>(&given)};
    device_->launch(code->kernel("map"), {.block = {3, 1, 1}}, arguments);
    const Words result = read(p, 3);
    device_->free(p);
    return result;
  }
  std::string refusal(const LoadOptions& options) {
    return error_of([&] { device_->load(kCaller, options); });
  }
};

TEST_F(LinkingTest, TheDriverLinksPtx) {
  EXPECT_EQ(mapped({.linked = {{Kind::Ptx, "f.ptx", adds(10)}}}), (Words{11, 12, 13}));
  EXPECT_EQ(mapped({.linked = {{Kind::Ptx, "f.ptx", adds(5)}}, .max_registers = 32}), (Words{6, 7, 8}));
}

TEST_F(LinkingTest, WhatCannotBeLinkedIsReported) {
  const std::string twice =
      refusal({.linked = {{Kind::Ptx, "f.ptx", adds(1)}, {Kind::Ptx, "g.ptx", adds(2)}}});
  EXPECT_TRUE(has(twice, "emulated 0: code cannot be loaded: ")) << twice;
  const std::string wrong = refusal({.linked = {{Kind::Ptx, "f.ptx", std::string(kHead) + "nonsense"}}});
  EXPECT_TRUE(has(wrong, "nonsense")) << wrong;
  for (const Kind kind : {Kind::Cubin, Kind::Object, Kind::Fatbin, Kind::Archive, Kind::LtoIr}) {
    const std::string words = "emulated 0: the software device links PTX and CUDA C++ alone, and f.bin is " +
                              std::string(name_of(kind));
    EXPECT_EQ(refusal({.linked = {{kind, "f.bin", "?"}}}), words);
  }
  EXPECT_EQ(mapped({.linked = {{Kind::Ptx, "f.ptx", adds(10)}}}), (Words{11, 12, 13}));  // no harm is done
}

TEST_F(LinkingTest, WhatIsAssembledIsLoaded) {
  const std::string text = std::string(kHead) + R"(
.visible .entry fill(.param .u64 p) { .reg .b64 %p; ld.param.u64 %p, [p]; st.global.u32 [%p], 7; ret; })";
  const std::optional<std::string> assembled = device_->assemble(text);
  ASSERT_TRUE(assembled);
  const auto code = device_->load_assembled(*assembled);
  const Address p = words({0});
  const Address given = p;
  void* const arguments[] = {const_cast<Address*>(&given)};
  device_->launch(code->kernel("fill"), {}, arguments);
  EXPECT_EQ(read(p, 1), Words{7});
  device_->free(p);
}

TEST_F(LinkingTest, TheToolkitWorksWithoutAGpu) {
  const LinkInput source{Kind::Source, "f.cu", "extern \"C\" __device__ int f(int x) { return 7 * x; }"};
  if (!jit_linker().why_none.empty()) GTEST_SKIP() << jit_linker().why_none;
  EXPECT_EQ(mapped({.linked = {source}}), (Words{7, 14, 21}));
  const LoadOptions options{.linked = {source}, .max_registers = 24};
  const std::optional<std::string> cubin = link_cubin(kCaller, with_compiled_sources(options, 90), 90);
  ASSERT_TRUE(cubin);
  EXPECT_EQ(cubin->substr(1, 3), "ELF");
  EXPECT_EQ(link_cubin(kCaller, {}, 20), std::nullopt);
  EXPECT_TRUE(has(error_of([&] { link_cubin(kCaller, {}, 90); }), "code cannot be linked: "));
  const LinkInput wrong{Kind::Source, "w.cu", "int f(;"};
  EXPECT_TRUE(has(error_of([&] { compile_source(wrong, 90); }), "w.cu cannot be compiled: "));
  EXPECT_TRUE(has(error_of([&] { compile_source(source, 20); }), "does not know GPUs of capability 2.0"));
}

}  // namespace
}  // namespace ingot::devices
