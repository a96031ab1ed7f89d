#include <algorithm>

#include "driver_support.h"

// Copies between contexts, which have their own memory.

namespace softgpu {
namespace {

TEST_F(DriverTest, DevicesCopyFromEachOther) {
  void* other = nullptr;
  const Address p = memory(400);
  auto* const create = reinterpret_cast<int (*)(void**, unsigned, int)>(dlsym(library_, "cuCtxCreate_v2"));
  ASSERT_EQ(create(&other, 0, 0), 0);
  const Address q = memory(400);
  EXPECT_NE(p, q);
  const auto set_current = call<int(void*)>("cuCtxSetCurrent");
  const auto copy = call<int(Address, void*, Address, void*, size_t, void*)>("cuMemcpyPeerAsync");
  const auto record = call<int(void*, void*)>("cuEventRecord");
  const auto wait = call<int(void*, void*, unsigned)>("cuStreamWaitEvent");
  const auto fill = call<int(Address, unsigned, size_t, void*)>("cuMemsetD32Async");

  // In a stream of the first context, after what is in one of the other.
  void* there = nullptr;
  void* event = nullptr;
  EXPECT_EQ(call<int(void**, unsigned)>("cuStreamCreate")(&there, 1), 0);
  EXPECT_EQ(call<int(void**, unsigned)>("cuEventCreate")(&event, 2), 0);
  EXPECT_EQ(fill(q, 7, 100, there), 0);
  EXPECT_EQ(record(event, there), 0);
  EXPECT_EQ(fill(q, 9, 50, there), 0);
  EXPECT_EQ(set_current(context_), 0);
  void* here = nullptr;
  EXPECT_EQ(call<int(void**, unsigned)>("cuStreamCreate")(&here, 1), 0);
  EXPECT_EQ(wait(here, event, 0), 0);
  EXPECT_EQ(copy(p, context_, q, other, 400, here), 0);
  EXPECT_EQ(call<int(void*)>("cuStreamSynchronize")(here), 0);
  EXPECT_EQ(words(p, 2), (std::vector<uint32_t>{7, 7}));
  EXPECT_EQ(call<int(Address, void*, Address, void*, size_t)>("cuMemcpyPeer")(q, other, p, context_, 8), 0);
  EXPECT_EQ(set_current(other), 0);
  EXPECT_EQ(call<int(void*)>("cuStreamSynchronize")(there), 0);
  EXPECT_EQ(words(q, 2), (std::vector<uint32_t>{9, 9}));

  EXPECT_EQ(copy(q, other, p, context_, 404, nullptr), 1);
  EXPECT_EQ(copy(p, context_, q, nullptr, 4, nullptr), 201);
  EXPECT_EQ(call<int(void*)>("cuCtxDestroy")(other), 0);
  EXPECT_EQ(set_current(context_), 0);
  EXPECT_EQ(copy(p, context_, q, other, 4, nullptr), 201);
}

TEST_F(DriverTest, PrioritiesOfStreams) {
  int least = 1, greatest = 1, found = 1;
  EXPECT_EQ(call<int(int*, int*)>("cuCtxGetStreamPriorityRange")(&least, &greatest), 0);
  EXPECT_EQ(least, 0);
  EXPECT_LT(greatest, -1);
  for (const int wished : {3, 0, -1, greatest, greatest - 4}) {
    void* stream = nullptr;
    EXPECT_EQ(call<int(void**, unsigned, int)>("cuStreamCreateWithPriority")(&stream, 1, wished), 0);
    EXPECT_EQ(call<int(void*, int*)>("cuStreamGetPriority")(stream, &found), 0);
    EXPECT_EQ(found, std::max(greatest, std::min(wished, 0)));
  }
}

}  // namespace
}  // namespace softgpu
