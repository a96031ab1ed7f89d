#include <thread>

#include "driver_support.h"

// Graphs, captures, libraries, the linker, boxes of memory, several threads: the rest of the driver.

namespace softgpu {
namespace {

/// In the ABI's layout.
struct KernelParams {
  void* function;
  unsigned grid[3], block[3], shared;
  void** parameters;
  void** extra;
  void* kernel;
  void* context;
};
struct FillParams {
  Address to;
  size_t pitch;
  unsigned value, width;
  size_t columns, rows;
};

class GraphTest : public DriverTest {
 protected:
  void* stream() {
    void* made = nullptr;
    EXPECT_EQ(call<int(void**, unsigned)>("cuStreamCreate")(&made, 1), 0);
    return made;
  }
  void* graph() {
    void* made = nullptr;
    EXPECT_EQ(call<int(void**, unsigned)>("cuGraphCreate")(&made, 0), 0);
    return made;
  }
  void* instance(void* graph) {
    void* made = nullptr;
    EXPECT_EQ(call<int(void**, void*, uint64_t)>("cuGraphInstantiate")(&made, graph, 0), 0);
    return made;
  }
  int launch_graph(void* exec, void* on) { return call<int(void*, void*)>("cuGraphLaunch")(exec, on); }
  void* fill(void* graph, Address to, unsigned value, size_t count) {
    void* node = nullptr;
    const FillParams params{to, 0, value, 4, count, 1};
    EXPECT_EQ((call<int(void**, void*, void**, size_t, const FillParams*, void*)>("cuGraphAddMemsetNode")(
                  &node, graph, nullptr, 0, &params, context_)),
              0);
    return node;
  }
  /// A node that adds `v` to what is threefold, after another.
  void* kernel(void* graph, Address p, uint32_t n, uint32_t v, void* after) {
    void* node = nullptr;
    void* arguments[] = {&p, &n, &v};
    const KernelParams params{add_, {1, 1, 1}, {64, 1, 1}, 0, arguments, nullptr, nullptr, nullptr};
    EXPECT_EQ((call<int(void**, void*, void**, size_t, const KernelParams*)>("cuGraphAddKernelNode")(
                  &node, graph, &after, after == nullptr ? 0 : 1, &params)),
              0);
    return node;
  }
  using Words = std::vector<uint32_t>;
};

TEST_F(GraphTest, NodesRunInTheirOrderAndAreChangedInTheExecutable) {
  const Address p = memory(16);
  void* const on = stream();
  void* const made = graph();
  void* const node = kernel(made, p, 4, 1, fill(made, p, 5, 4));
  void* const exec = instance(made);
  EXPECT_EQ(launch_graph(exec, on), 0);
  EXPECT_EQ(synchronise(), 0);
  EXPECT_EQ(words(p, 4), Words(4, 16));
  uint32_t n = 2, v = 100;
  Address to = p;
  void* arguments[] = {&to, &n, &v};
  KernelParams params{add_, {1, 1, 1}, {64, 1, 1}, 0, arguments, nullptr, nullptr, nullptr};
  EXPECT_EQ(
      (call<int(void*, void*, const KernelParams*)>("cuGraphExecKernelNodeSetParams")(exec, node, &params)),
      0);
  EXPECT_EQ(launch_graph(exec, on), 0);
  EXPECT_EQ(synchronise(), 0);
  EXPECT_EQ(words(p, 4), (Words{115, 115, 5, 5}));
  // A graph of the same form replaces it; one of another does not.
  void* const other = graph();
  kernel(other, p, 4, 7, fill(other, p, 1, 4));
  struct {
    int result;
    void* node;
    void* from;
  } update{};
  EXPECT_EQ(call<int(void*, void*, void*)>("cuGraphExecUpdate")(exec, other, &update), 0);
  EXPECT_EQ(launch_graph(exec, on), 0);
  EXPECT_EQ(synchronise(), 0);
  EXPECT_EQ(words(p, 4), Words(4, 10));
  fill(other, p, 1, 4);
  EXPECT_EQ(call<int(void*, void*, void*)>("cuGraphExecUpdate")(exec, other, &update), 910);
  size_t count = 0;
  EXPECT_EQ(call<int(void*, void**, size_t*)>("cuGraphGetNodes")(other, nullptr, &count), 0);
  EXPECT_EQ(count, 3u);
}

TEST_F(GraphTest, StreamsAreCaptured) {
  const Address p = memory(16);
  void* const one = stream();
  void* const two = stream();
  void* event = nullptr;
  EXPECT_EQ(call<int(void**, unsigned)>("cuEventCreate")(&event, 2), 0);
  EXPECT_EQ(call<int(void*, int)>("cuStreamBeginCapture")(one, 0), 0);
  EXPECT_EQ(call<int(Address, unsigned, size_t, void*)>("cuMemsetD32Async")(p, 2, 4, one), 0);
  EXPECT_EQ(call<int(void*, void*)>("cuEventRecord")(event, one), 0);
  EXPECT_EQ(call<int(void*, void*, unsigned)>("cuStreamWaitEvent")(two, event, 0), 0);
  EXPECT_EQ(launch(p, 4, 1, two), 0);
  EXPECT_EQ(call<int(void*, void*)>("cuEventRecord")(event, two), 0);
  EXPECT_EQ(call<int(void*, void*, unsigned)>("cuStreamWaitEvent")(one, event, 0), 0);
  EXPECT_EQ(launch(p, 2, 3, one), 0);
  void* made = nullptr;
  EXPECT_EQ(call<int(void*, void**)>("cuStreamEndCapture")(one, &made), 0);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(launch_graph(instance(made), two), 0);
    EXPECT_EQ(synchronise(), 0);
    EXPECT_EQ(words(p, 4), (Words{24, 24, 7, 7}));
  }
  // Waiting for a stream that is captured breaks the capture.
  EXPECT_EQ(call<int(void*, int)>("cuStreamBeginCapture")(one, 0), 0);
  EXPECT_EQ(call<int(void*)>("cuStreamSynchronize")(one), 900);
  EXPECT_EQ(launch(p, 4, 1, one), 901);
  EXPECT_EQ(call<int(void*, void**)>("cuStreamEndCapture")(one, &made), 901);
  // Work of another stream has to be waited for.
  EXPECT_EQ(call<int(void*, int)>("cuStreamBeginCapture")(one, 0), 0);
  EXPECT_EQ(call<int(void*, void*)>("cuEventRecord")(event, one), 0);
  EXPECT_EQ(call<int(void*, void*, unsigned)>("cuStreamWaitEvent")(two, event, 0), 0);
  EXPECT_EQ(launch(p, 4, 1, two), 0);
  EXPECT_EQ(call<int(void*, void**)>("cuStreamEndCapture")(one, &made), 905);
  EXPECT_EQ(synchronise(), 0);
}

const char* const kCaller = R"(.version 7.8
.target sm_90
.address_size 64
.extern .func (.param .b32 r) helper(.param .b32 a);
.extern .global .align 4 .u32 factor;
.func (.param .b32 r) own(.param .b32 a) { .reg .b32 %r<3>; ld.param.u32 %r1, [a]; add.u32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }
.visible .entry linked(.param .u64 p)
{ .reg .b32 %r<9>; .reg .b64 %d<3>;
ld.param.u64 %d1, [p]; mov.u32 %r1, 20; ld.global.u32 %r4, [factor];
{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), helper, (x); ld.param.b32 %r2, [y]; }
{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r2; call (y), own, (x); ld.param.b32 %r3, [y]; }
mad.lo.u32 %r3, %r3, %r4, 0; st.global.u32 [%d1], %r3; ret; }
)";
const char* const kCallee = R"(.version 7.8
.target sm_90
.address_size 64
.visible .global .align 4 .u32 factor = 10;
.func (.param .b32 r) own(.param .b32 a) { .reg .b32 %r<3>; ld.param.u32 %r1, [a]; add.u32 %r1, %r1, 200; st.param.b32 [r], %r1; ret; }
.visible .func (.param .b32 r) helper(.param .b32 a)
{ .reg .b32 %r<3>; ld.param.u32 %r1, [a];
{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), own, (x); ld.param.b32 %r2, [y]; }
st.param.b32 [r], %r2; ret; }
)";

class LinkTest : public GraphTest {
 protected:
  int add(void* link, const char* text) {
    return call<int(void*, int, const void*, size_t, const char*, unsigned, int*, void**)>("cuLinkAddData")(
        link, 1, text, std::strlen(text) + 1, "text", 0, nullptr, nullptr);
  }
  void* link() {
    void* made = nullptr;
    EXPECT_EQ(call<int(unsigned, int*, void**, void**)>("cuLinkCreate")(0, nullptr, nullptr, &made), 0);
    return made;
  }
  int complete(void* link, void*& image) {
    size_t bytes = 0;
    return call<int(void*, void**, size_t*)>("cuLinkComplete")(link, &image, &bytes);
  }
};

TEST_F(LinkTest, TextsAreJoinedAndALibraryIsLoadedWhereItIsUsed) {
  void* const joined = link();
  EXPECT_EQ(add(joined, kCaller), 0);
  EXPECT_EQ(add(joined, kCallee), 0);
  void* image = nullptr;
  ASSERT_EQ(complete(joined, image), 0) << message();
  void* library = nullptr;
  ASSERT_EQ((call<int(void**, const void*, int*, void**, unsigned, int*, void**, unsigned)>(
                "cuLibraryLoadData")(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0)),
            0);
  EXPECT_EQ(call<int(void*)>("cuLinkDestroy")(joined), 0);
  void* kernel = nullptr;
  EXPECT_EQ(call<int(void**, void*, const char*)>("cuLibraryGetKernel")(&kernel, library, "none"), 500);
  ASSERT_EQ(call<int(void**, void*, const char*)>("cuLibraryGetKernel")(&kernel, library, "linked"), 0);
  Address p = memory(4);
  void* parameters[] = {&p};
  struct {
    unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, shared = 0;
    void* stream = nullptr;
    void* attributes = nullptr;
    unsigned count = 0;
  } config;
  EXPECT_EQ((call<int(const void*, void*, void**, void**)>("cuLaunchKernelEx")(&config, kernel, parameters,
                                                                               nullptr)),
            0);
  EXPECT_EQ(words(p, 1), Words(1, 2210));
  EXPECT_EQ(call<int(void*)>("cuLibraryUnload")(library), 0);
}

TEST_F(LinkTest, WhatIsMissingOrTwiceIsRefused) {
  void* image = nullptr;
  void* const alone = link();
  EXPECT_EQ(add(alone, kCaller), 0);
  EXPECT_EQ(complete(alone, image), 218);
  EXPECT_TRUE(has(message(), "`factor` is only declared")) << message();
  void* const twice = link();
  for (int k = 0; k < 2; ++k) EXPECT_EQ(add(twice, kCallee), 0);
  EXPECT_EQ(complete(twice, image), 218);
  EXPECT_TRUE(has(message(), "is defined twice")) << message();
  void* const binary = link();
  EXPECT_EQ(add(binary,
                "\x7f"
                "ELF..."),
            218);
  void* module = nullptr;
  EXPECT_EQ(call<int(void**, const void*)>("cuModuleLoadData")(&module, "\x50\xed\x55\xba...."), 209);
  EXPECT_TRUE(has(message(), "the software device runs PTX")) << message();
}

TEST_F(GraphTest, RectanglesAreCopiedAndFilled) {
  struct Side {
    size_t x, y;
    int kind;
    const void* host;
    Address device;
    void* array;
    size_t pitch;
  };
  struct {
    Side from, to;
    size_t bytes, rows;
  } copy{};
  std::vector<uint32_t> source(24);
  for (uint32_t k = 0; k < 24; ++k) source[k] = k;
  const Address p = memory(48);
  EXPECT_EQ(call<int(Address, size_t, unsigned, size_t, size_t)>("cuMemsetD2D32")(p, 16, 9, 3, 3), 0);
  copy.from = {8, 1, 1, source.data(), 0, nullptr, 24};
  copy.to = {4, 0, 2, nullptr, p, nullptr, 16};
  copy.bytes = 8, copy.rows = 2;
  EXPECT_EQ(call<int(const void*)>("cuMemcpy2D")(&copy), 0);
  EXPECT_EQ(words(p, 3), (Words{9, 8, 9}));
  EXPECT_EQ(words(p + 16, 3), (Words{9, 14, 15}));
  copy.rows = 4;
  EXPECT_EQ(call<int(const void*)>("cuMemcpy2D")(&copy), 1);
}

TEST_F(GraphTest, ManagedMemoryIsOfBoth) {
  Address p = 0;
  EXPECT_EQ(call<int(Address*, size_t, unsigned)>("cuMemAllocManaged")(&p, 16, 1), 0);
  auto* const host = reinterpret_cast<uint32_t*>(p);
  for (uint32_t k = 0; k < 4; ++k) host[k] = k;
  EXPECT_EQ(launch(p, 4, 1), 0);
  EXPECT_EQ(synchronise(), 0);
  EXPECT_EQ(host[3], 10u);
  unsigned managed = 0;
  EXPECT_EQ(call<int(void*, int, Address)>("cuPointerGetAttribute")(&managed, 8, p), 0);
  EXPECT_EQ(managed, 1u);
  EXPECT_EQ(call<int(void*)>("cuMemFreeHost")(host), 1);
  EXPECT_EQ(call<int(Address)>("cuMemFree")(p), 0);
}

TEST_F(GraphTest, ManyThreadsUseTheDriver) {
  std::vector<std::thread> threads;
  std::vector<int> right(6, 0);
  for (uint32_t t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      EXPECT_EQ(call<int(void*)>("cuCtxSetCurrent")(context_), 0);
      void* const on = stream();
      const Address p = memory(64);
      for (uint32_t round = 0; round < 20; ++round) {
        EXPECT_EQ(call<int(Address, unsigned, size_t, void*)>("cuMemsetD32Async")(p, t, 16, on), 0);
        EXPECT_EQ(launch(p, 16, round, on), 0);
        EXPECT_EQ(call<int(void*)>("cuStreamSynchronize")(on), 0);
        right[t] += words(p, 16) == Words(16, 3 * t + round) ? 1 : 0;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, std::vector<int>(6, 20));
}

TEST_F(GraphTest, FunctionsOfTheHostMayNotCallTheDriver) {
  struct Data {
    int (*synchronise)();
    int result;
  } data{call<int()>("cuCtxSynchronize"), 0};
  const auto function = [](void* given) {
    auto& of = *static_cast<Data*>(given);
    of.result = of.synchronise();
  };
  EXPECT_EQ((call<int(void*, void (*)(void*), void*)>("cuLaunchHostFunc")(stream(), function, &data)), 0);
  EXPECT_EQ(synchronise(), 0);
  EXPECT_EQ(data.result, 800);
}

}  // namespace
}  // namespace softgpu
