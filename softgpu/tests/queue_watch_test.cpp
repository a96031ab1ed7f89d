#include <functional>
#include <set>

#include "softgpu/machine/device.h"
#include "support.h"

// Races between streams, and the orders that even seeds give.

namespace softgpu {
namespace {

/// A device with memory of 1024 bytes, two streams, and what the host and they do.
struct Queues {
  explicit Queues(uint64_t seed = 0) : device(options(seed)), p(device.memory().allocate(1024)->base) {}

  static DeviceOptions options(uint64_t seed) {
    DeviceOptions made;
    made.memory = 1 << 20;
    made.seed = seed;
    made.finds_races = true;
    return made;
  }
  void fill(uint32_t stream, uint64_t at = 0, uint64_t bytes = 1024) {
    device.enqueue(stream, [=, this](Device& on) { on.fill(p + at, 7, 1, bytes); });
  }
  void read(uint32_t stream, uint64_t at = 0, uint64_t bytes = 1024) {
    device.enqueue(stream,
                   [=, this](Device& on) { on.copy(reinterpret_cast<uint64_t>(host), p + at, bytes); });
  }
  std::string race() {
    device.run_all();
    if (!device.failure()) return "";
    EXPECT_EQ(device.failure()->kind, FaultKind::Race);
    return device.failure()->what();
  }

  Device device;
  uint64_t p;
  uint32_t a = device.create_stream(false), b = device.create_stream(false);
  std::byte host[1024]{};
};

TEST(QueueWatch, WhatNothingOrdersRacesInEveryOrder) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Queues written(seed);
    written.fill(written.a);
    written.read(written.b);
    EXPECT_TRUE(has(written.race(), "a race between streams: a ")) << seed;
    Queues read(seed);
    read.read(read.a);
    read.fill(read.b);
    EXPECT_TRUE(has(read.race(), "of an allocation of 1024 bytes")) << seed;
    Queues twice(seed);
    twice.fill(twice.a);
    twice.fill(twice.b);
    EXPECT_TRUE(has(twice.race(), "a fill writes memory")) << seed;
  }
}

TEST(QueueWatch, AnEventOrders) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Queues queues(seed);
    queues.fill(queues.a);
    queues.device.wait_for(queues.b, queues.device.now(queues.a));
    queues.read(queues.b);
    queues.device.wait_for(queues.a, queues.device.now(queues.b));
    queues.fill(queues.a);
    EXPECT_EQ(queues.race(), "");
  }
}

TEST(QueueWatch, AnEventDoesNotCoverWhatComesAfterIt) {
  Queues queues;
  queues.fill(queues.a);
  const Moment early = queues.device.now(queues.a);
  queues.fill(queues.a, 512, 512);
  queues.device.wait_for(queues.b, early);
  queues.read(queues.b, 0, 512);
  queues.read(queues.b, 500, 20);
  EXPECT_TRUE(has(queues.race(), "a race between streams"));
}

TEST(QueueWatch, TheHostOrdersWhatItWaitsFor) {
  Queues queues;
  queues.fill(queues.a);
  queues.device.run_until(queues.device.now(queues.a));
  queues.read(queues.b);
  EXPECT_EQ(queues.race(), "");
  Queues asked;
  asked.fill(asked.a);
  const Moment moment = asked.device.now(asked.a);
  while (!asked.device.is_passed(moment)) asked.device.step();
  asked.fill(asked.b);
  EXPECT_EQ(asked.race(), "");
}

TEST(QueueWatch, OthersBytesAndReadsDoNotRace) {
  Queues queues;
  queues.fill(queues.a, 0, 500);
  queues.fill(queues.b, 500, 524);
  EXPECT_EQ(queues.race(), "");
  Queues reads;
  reads.read(reads.a);
  reads.read(reads.b);
  EXPECT_EQ(reads.race(), "");
}

TEST(QueueWatch, FootprintsMeetByByte) {
  Allocation memory;
  memory.whole = 1000;
  Touched even, odd;
  for (uint64_t k = 0; k < 400; k += 2) {
    even.add(memory, k, 1, Access::Write);
    odd.add(memory, k + 1, 1, Access::Write);
  }
  odd.add(memory, 600, 8, Access::Read);
  std::vector<Footprint> found;
  const auto collect = [&](const Allocation&, Access, const Footprint& footprint) {
    found.push_back(footprint);
  };
  even.for_each(collect);
  odd.for_each(collect);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_FALSE(found[0].is_whole());
  for (const Footprint& other : {found[1], found[2]}) EXPECT_FALSE(found[0].meets(other));
  EXPECT_TRUE(found[0].meets({398, 700}));
  EXPECT_FALSE(found[0].meets({399, 700}));
  EXPECT_TRUE(found[0].meets(found[0]));
  EXPECT_TRUE((Footprint{0, 128}).is_whole());
}

TEST(QueueWatch, AnEvenSeedLeavesStreamsBehind) {
  int runs = 0;
  std::set<char> last;
  for (uint64_t seed = 2; seed < 82; seed += 2) {
    DeviceOptions options;
    options.memory = 1 << 20;
    options.seed = seed;
    Device device(options);
    std::string text;
    const uint32_t streams[] = {device.create_stream(false), device.create_stream(false)};
    for (int k = 0; k < 6; ++k)
      for (const char name : {'a', 'b'})
        device.enqueue(streams[name - 'a'], [&text, name](Device&) { text += name; });
    device.run_all();
    EXPECT_EQ(text.size(), 12u);
    runs += text == "aaaaaabbbbbb" || text == "bbbbbbaaaaaa" ? 1 : 0;
    last.insert(text.back());
  }
  EXPECT_GT(runs, 10);
  EXPECT_EQ(last.size(), 2u);
}

}  // namespace
}  // namespace softgpu
