#include <atomic>
#include <thread>

#include "support.h"

namespace ingot::devices {
namespace {

using Words = std::vector<uint32_t>;

constexpr int kSeeds = 12;

TEST_F(DevicesTest, AStreamKeepsItsOrderAndRunsLate) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    begin(seed);
    const Address p = words(Words(100, 2));
    launch("add", p, 100, 1);
    launch("square", p, 100);
    launch("add", p, 100, 3);
    EXPECT_FALSE(device_->stream().is_done());
    EXPECT_EQ(read(p, 100), Words(100, 12));
    EXPECT_TRUE(device_->stream().is_done());
  }
}

TEST_F(DevicesTest, AThreadsWorkGoesIntoItsStream) {
  const auto stream = device_->make_stream();
  EXPECT_EQ(&stream->device(), device_);
  Stream& own = device_->stream();
  device_->use_stream(stream.get());
  EXPECT_EQ(&device_->stream(), stream.get());
  const Address p = words(Words(10, 1));
  EXPECT_TRUE(own.is_done());
  launch("add", p, 10, 0);
  EXPECT_FALSE(stream->is_done());  // each look runs an operation
  std::thread([&] { EXPECT_EQ(&device_->stream(), &own); }).join();
  stream->synchronize();
  EXPECT_TRUE(stream->is_done());
  device_->use_stream(&own);
  EXPECT_EQ(&device_->stream(), &own);
  EXPECT_EQ(read(p, 10), Words(10, 1));
}

TEST_F(DevicesTest, PrioritiesThatAreNotThere) {
  for (const int priority : {-100, -1, 0, 1, 100, std::numeric_limits<int>::min()}) {
    const auto stream = device_->make_stream(priority);
    stream->synchronize();
  }
}

TEST_F(DevicesTest, EventsOrderStreams) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    begin(seed);
    const auto a = device_->make_stream();
    const auto b = device_->make_stream();
    const auto first = device_->make_event();
    const auto second = device_->make_event();
    device_->use_stream(a.get());
    const Address p = words(Words(100, 2));
    launch("add", p, 100, 1);
    first->record(*a);
    device_->use_stream(b.get());
    first->let_wait(*b);
    launch("square", p, 100);
    second->record(*b);
    device_->use_stream(a.get());
    second->let_wait(*a);
    launch("add", p, 100, 5);
    EXPECT_EQ(read(p, 100), Words(100, 14)) << seed;
    EXPECT_TRUE(second->is_done());
    EXPECT_GT(second->since(*first), 0);
    device_->use_stream(nullptr);
  }
}

TEST_F(DevicesTest, AStreamWaitsForWhatIsInAnotherOne) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    begin(seed);
    const auto a = device_->make_stream();
    const auto b = device_->make_stream();
    device_->use_stream(a.get());
    const Address p = words(Words(100, 2));
    launch("add", p, 100, 1);
    device_->order(*a, *b);
    device_->use_stream(b.get());
    launch("square", p, 100);
    device_->order(*b, *a);
    device_->order(*b, *b);
    device_->use_stream(a.get());
    launch("add", p, 100, 5);
    EXPECT_EQ(read(p, 100), Words(100, 14)) << seed;
    device_->use_stream(nullptr);
  }
}

TEST_F(DevicesTest, AnEventIsWaitedFor) {
  const auto event = device_->make_event();
  EXPECT_TRUE(event->is_done());
  event->synchronize();
  event->let_wait(device_->stream());
  const Address p = words(Words(100, 2));
  for (int k = 0; k < 4; ++k) launch("add", p, 100, 1);
  event->record(device_->stream());
  EXPECT_FALSE(event->is_done());
  event->synchronize();
  EXPECT_TRUE(event->is_done());
  const auto never = device_->make_event();
  EXPECT_TRUE(has(error_of([&] { never->since(*event); }), "the time between events: "));
}

TEST_F(DevicesTest, AStreamIsDestroyedWhenItIsDone) {
  Address p = 0;
  {
    const auto stream = device_->make_stream();
    device_->use_stream(stream.get());
    p = words(Words(100, 2));
    launch("add", p, 100, 1);
  }
  EXPECT_EQ(read(p, 100), Words(100, 3));  // in the device's own stream again
}

TEST_F(DevicesTest, CodeIsUnloadedAfterWhatRunsOfIt) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    begin(seed);
    const Address p = words(Words(100, 2));
    launch("add", p, 100, 1);
    code_.reset();
    EXPECT_EQ(read(p, 100), Words(100, 3));
  }
}

TEST_F(DevicesTest, TheDeviceWaitsForAllStreams) {
  std::vector<std::unique_ptr<Stream>> streams;
  const Address p = words(Words(100, 2));
  device_->synchronize();
  for (int k = 0; k < 5; ++k) {
    streams.push_back(device_->make_stream());
    device_->use_stream(streams.back().get());
    for (int iteration = 0; iteration < 20; ++iteration) launch("add", p, 100, 1);
    EXPECT_FALSE(streams.back()->is_done());
  }
  device_->use_stream(nullptr);
  device_->synchronize();
  for (const auto& stream : streams) EXPECT_TRUE(stream->is_done());
  EXPECT_EQ(read(p, 100), Words(100, 102));
}

TEST_F(DevicesTest, ThreadsWorkOnTheirOwnStreams) {
  for (int seed = 0; seed < 3; ++seed) {
    begin(seed);
    std::atomic<int> wrong{0};
    const auto work = [&](uint32_t which) {
      const auto stream = device_->make_stream();
      device_->use_stream(stream.get());
      for (uint32_t iteration = 0; iteration < 60; ++iteration) {
        const uint32_t n = 50 + (which + 1) * iteration;
        const Address p = words(Words(n, iteration));
        launch("add", p, n, which);
        const Address q = device_->allocate(n * 4);
        device_->copy(q, p, n * 4);
        device_->free(p);
        launch("square", q, n);
        if (read(q, n) != Words(n, (iteration + which) * (iteration + which))) ++wrong;
        device_->free(q);
        if (iteration % 20 == 19) device_->release_memory();
        if (iteration % 16 == 15) device_->load(kKernels);
      }
      device_->use_stream(nullptr);
    };
    std::vector<std::thread> threads;
    for (uint32_t which = 0; which < 3; ++which) threads.emplace_back(work, which);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(device_->memory().in_use, 0);
  }
}

}  // namespace
}  // namespace ingot::devices
