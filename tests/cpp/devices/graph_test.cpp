#include <cstring>
#include <thread>

#include "devices/recording.h"
#include "support.h"

namespace ingot::devices {
namespace {

using Words = std::vector<uint32_t>;

class GraphTest : public DevicesTest {
 protected:
  static Argument number(uint32_t value) {
    Argument argument;
    std::memcpy(argument.value.data(), &value, sizeof value);
    return argument;
  }
  static Argument address(Address value) {
    Argument argument;
    std::memcpy(argument.value.data(), &value, sizeof value);
    argument.is_address = true;
    return argument;
  }
  Step step(const char* kernel, Address p, uint32_t n, uint32_t v = 0) {
    Step made;
    made.kernel = &code_->kernel(kernel);
    made.launch = {.grid = {(n + 63) / 64, 1, 1}, .block = {64, 1, 1}};
    made.arguments = {address(p), number(n), number(v)};
    return made;
  }
  static void replay(Graph& graph) {
    graph.begin();
    for (size_t i = 0; i < graph.pieces(); ++i) graph.launch(i);
  }
};

TEST_F(GraphTest, ACaptureDoesNothingAndAGraphDoesItAll) {
  const Address p = words(Words(100, 2));
  const Address q = words(Words(100, 0));
  Recording recording(*device_);
  recording.add(*device_, step("add", p, 100, 1));
  recording.add(*device_, step("square", p, 100));
  device_->copy(q, p, 400);
  device_->fill(p, std::byte{1}, 8);
  recording.close();
  EXPECT_EQ(recording.steps().size(), 4u);
  Graph graph(recording);
  EXPECT_EQ(read(p, 100), Words(100, 2));
  replay(graph);
  EXPECT_EQ(read(q, 100), Words(100, 9));
  EXPECT_EQ(read(p, 3), (Words{0x01010101, 0x01010101, 9}));
  replay(graph);
  EXPECT_EQ(read(q, 3), (Words{0x01010102u * 0x01010102u, 0x01010102u * 0x01010102u, 100}));
  EXPECT_EQ(graph.pieces(), 1u);
}

TEST_F(GraphTest, AddressesAreChanged) {
  for (int seed = 0; seed < 5; ++seed) {
    begin(seed);
    const Address p = words(Words(100, 2));
    const Address q = words(Words(100, 5));
    const Address r = words(Words(100, 0));
    Recording recording(*device_);
    recording.add(*device_, step("square", p, 100));
    device_->copy(r, p, 400);
    device_->fill(p, std::byte{0}, 4);
    recording.close();
    Graph graph(recording);
    std::vector<Address> found;
    for (const Step& each : graph.steps()) each.each_address([&](Address a) { found.push_back(a); });
    EXPECT_EQ(found, (std::vector<Address>{p, r, p, p}));
    replay(graph);
    graph.set_address(0, 0, q);
    graph.set_address(1, 1, q);
    graph.set_address(2, 0, q);
    replay(graph);
    EXPECT_EQ(read(r, 3), (Words{25, 25, 25}));
    EXPECT_EQ(read(q, 2), (Words{0, 25}));
    EXPECT_EQ(read(p, 2), (Words{0, 4}));
  }
}

TEST_F(GraphTest, WhatIsDoneAtOnceIsRefused) {
  const Address p = words(Words(10, 2));
  const auto event = device_->make_event();
  const auto stream = device_->make_stream();
  uint32_t word = 0;
  {
    const Recording recording(*device_);
    EXPECT_THROW(device_->read(&word, p, 4), NotRecordable);
    EXPECT_THROW(device_->write(p, &word, 4), NotRecordable);
    EXPECT_THROW(device_->synchronize(), NotRecordable);
    EXPECT_THROW(stream->synchronize(), NotRecordable);
    EXPECT_THROW((void)stream->is_done(), NotRecordable);
    EXPECT_THROW(event->record(*stream), NotRecordable);
    EXPECT_THROW(event->let_wait(*stream), NotRecordable);
    EXPECT_THROW(event->synchronize(), NotRecordable);
    EXPECT_THROW((void)event->is_done(), NotRecordable);
    EXPECT_THROW(launch("add", p, 10), NotRecordable);
    EXPECT_THROW(const Recording inner(*device_), NotRecordable);
    const Recording::Suspended suspended;
    device_->read(&word, p, 4);
    EXPECT_EQ(word, 2u);
  }
  launch("add", p, 10, 1);
  EXPECT_EQ(read(p, 1), Words(1, 3));
}

TEST_F(GraphTest, OtherThreadsDoNotCapture) {
  const Address p = words(Words(10, 2));
  const Recording recording(*device_);
  std::thread([&] {
    launch("add", p, 10, 1);
    EXPECT_EQ(read(p, 1), Words(1, 3));
  }).join();
}

TEST_F(GraphTest, MemoryIsUsedAgainInsideAndGoesWithTheGraph) {
  const int64_t before = device_->memory().in_use;
  {
    Recording recording(*device_);
    Address first = 0;
    {
      const auto memory = recording.allocate(1000);
      first = memory->address();
      EXPECT_NE(recording.allocate(1000)->address(), first);
    }
    const auto again = recording.allocate(900);
    EXPECT_EQ(again->address(), first);
    recording.add(*device_, step("add", first, 10, 1));
    recording.close();
    const Graph graph(recording);
    EXPECT_TRUE(graph.is_shared());
    EXPECT_GE(device_->memory().in_use, before + 2000);
  }
  EXPECT_EQ(device_->memory().in_use, before);
}

TEST_F(GraphTest, AWaitPartsIt) {
  const Address p = words(Words(10, 2));
  Recording recording(*device_);
  recording.set_caller(7);
  recording.add(*device_, step("add", p, 10, 1));
  recording.wait(recording.allocate_separate(8));
  recording.add(*device_, step("square", p, 10));
  recording.close();
  Graph graph(recording);
  ASSERT_EQ(graph.pieces(), 2u);
  ASSERT_EQ(graph.waits().size(), 1u);
  EXPECT_EQ(graph.waits()[0].caller, 7u);
  graph.begin();
  graph.launch(0);
  EXPECT_EQ(read(p, 1), Words(1, 3));
  graph.launch(1);
  EXPECT_EQ(read(p, 1), Words(1, 9));
}

TEST_F(GraphTest, StreamsTakeIterations) {
  for (int seed = 0; seed < 12; ++seed) {
    begin(seed);
    const auto a = device_->make_stream();
    const auto b = device_->make_stream();
    const Address p = words(Words(100, 1));
    device_->stream().synchronize();
    Recording recording(*device_);
    const auto memory = recording.allocate(400);
    device_->copy(memory->address(), p, 400);
    recording.add(*device_, step("add", memory->address(), 100, 1));
    device_->copy(p, memory->address(), 400);
    recording.close();
    Graph graph(recording);
    for (int iteration = 0; iteration < 6; ++iteration) {
      device_->use_stream(iteration % 2 == 0 ? a.get() : b.get());
      replay(graph);
    }
    EXPECT_EQ(read(p, 100), Words(100, 7)) << seed;
    device_->use_stream(nullptr);
  }
}

TEST_F(GraphTest, AFaultIsReportedAndStays) {
  const Address p = words(Words(10, 2));
  Recording recording(*device_);
  recording.add(*device_, step("stray", p, 10));
  recording.close();
  Graph graph(recording);
  replay(graph);
  EXPECT_TRUE(has(error_of([&] { device_->synchronize(); }), "stray"));
  EXPECT_THROW(replay(graph), DeviceError);
}

}  // namespace
}  // namespace ingot::devices
