#include <random>

#include "support.h"

namespace ingot::devices {
namespace {

using Words = std::vector<uint32_t>;

constexpr int64_t kMebi = 1 << 20;

TEST_F(DevicesTest, TheHostsMemoryIsPinnedForATime) {
  Words values(1000, 3);
  const Address p = words(Words(1000, 1));
  device_->pin(values.data(), 4000);
  EXPECT_TRUE(device_->is_pinned(&values[999]));
  device_->write(p, values.data(), 4000);
  values.assign(1000, 5);
  EXPECT_EQ(read(p, 1000), Words(1000, 5));
  device_->read(values.data(), p, 4000);
  launch("add", p, 1000, 1);
  device_->unpin(&values[1]);  // nothing begins there
  EXPECT_TRUE(device_->is_pinned(values.data()));
  device_->unpin(values.data());
  EXPECT_FALSE(device_->is_pinned(values.data()));
  EXPECT_EQ(values, Words(1000, 5));
  device_->unpin(values.data());
  EXPECT_NE(error_of([&] { device_->pin(nullptr, 8); }).find("pinning memory"), std::string::npos);
  void* const own = device_->allocate_pinned(64);
  device_->unpin(own);
  EXPECT_TRUE(device_->is_pinned(own));
  device_->free_pinned(own);
}

TEST_F(DevicesTest, KernelsUseMappedMemory) {
  auto* const values = static_cast<uint32_t*>(device_->allocate_mapped(400));
  ASSERT_NE(values, nullptr);
  std::fill_n(values, 100, 2u);
  launch("square", device_->mapped(values, 400), 100);
  launch("add", device_->mapped(values + 50, 200), 50, 1);
  device_->synchronize();
  EXPECT_EQ(values[49], 4u);
  EXPECT_EQ(values[50], 5u);
  EXPECT_EQ(device_->mapped(values + 50, 204), 0u);
  device_->free_pinned(values);
  EXPECT_EQ(device_->mapped(values, 4), 0u);
  void* const pinned = device_->allocate_pinned(64);
  EXPECT_EQ(device_->mapped(pinned, 64), 0u);
  device_->free_pinned(pinned);
}

TEST_F(DevicesTest, ReportsWhatMemoryTheDriverHas) {
  device_->release_memory();
  const int64_t before = device_->free_memory();
  const Address p = device_->allocate(1 << 20);
  EXPECT_EQ(device_->free_memory(), before - (1 << 20));
  device_->free(p);
  EXPECT_EQ(device_->free_memory(), before - (1 << 20));
  device_->release_memory();
  EXPECT_EQ(device_->free_memory(), before);
}

TEST_F(DevicesTest, FreedMemoryIsUsedAgainInItsStream) {
  const Address p = device_->allocate(1000);
  device_->free(p);
  EXPECT_EQ(device_->allocate(1000), p);
  device_->free(p);
  // The caller that frees names the stream.
  const auto stream = device_->make_stream();
  device_->use_stream(stream.get());
  const Address q = device_->allocate(5000);
  device_->free(q);
  EXPECT_EQ(device_->allocate(5000), q);
  device_->use_stream(nullptr);
  device_->free(q);
  EXPECT_EQ(device_->allocate(5000), q);
}

TEST_F(DevicesTest, OtherStreamsWaitForFreedMemory) {
  const auto a = device_->make_stream();
  const auto b = device_->make_stream();
  device_->use_stream(a.get());
  const Address p = words(Words(1000, 1));
  for (int k = 0; k < 20; ++k) launch("add", p, 1000, 1);
  device_->free(p);
  device_->use_stream(b.get());
  EXPECT_NE(device_->allocate(4000), p);
  a->synchronize();
  EXPECT_EQ(device_->allocate(4000), p);
}

TEST_F(DevicesTest, CountsMemory) {
  EXPECT_EQ(device_->memory().limit, 0);
  EXPECT_EQ(device_->memory().in_use, 0);
  const Address p = device_->allocate(kMebi), q = device_->allocate(1);
  EXPECT_EQ(device_->memory().in_use, kMebi + 512);
  device_->free(p);
  EXPECT_EQ(device_->memory().in_use, 512);
  EXPECT_EQ(device_->memory().kept, kMebi);
  EXPECT_EQ(device_->memory().peak, kMebi + 512);
  device_->reset_memory_peak();
  EXPECT_EQ(device_->memory().peak, 512);
  EXPECT_EQ(device_->release_memory(), kMebi);
  EXPECT_EQ(device_->memory().kept, 0);
  device_->free(q);
  device_->free(q);  // what is not live
  EXPECT_EQ(device_->memory().in_use, 0);
}

TEST_F(DevicesTest, TheLimitHolds) {
  device_->set_memory_limit(3 * kMebi);
  EXPECT_EQ(device_->memory().limit, 3 * kMebi);
  const Address p = device_->allocate(2 * kMebi);
  try {
    device_->allocate(2 * kMebi);
    ADD_FAILURE();
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.bytes(), 2 * kMebi);
    EXPECT_TRUE(has(error.what(), "the limit is 3145728")) << error.what();
  }
  EXPECT_EQ(device_->memory().in_use, 2 * kMebi);
  device_->free(p);
  const Address q = device_->allocate(3 * kMebi);  // what is kept goes back
  EXPECT_EQ(device_->memory().kept, 0);
  device_->free(q);
  device_->set_memory_limit(kMebi);
  EXPECT_EQ(device_->memory().kept, 0);
  device_->set_memory_limit(0);
}

TEST_F(DevicesTest, TheDevicesMemoryRunsOut) {
  setenv("INGOT_EMULATOR_MEMORY", "16", 1);
  begin();
  const Address p = device_->allocate(7 * kMebi), q = device_->allocate(7 * kMebi);
  EXPECT_THROW(device_->allocate(7 * kMebi), OutOfMemory);
  device_->write(p, Words(100, 5).data(), 400);
  launch("add", p, 100, 1);
  device_->free(q);
  const Address r = device_->allocate(8 * kMebi);
  EXPECT_EQ(read(p, 100), Words(100, 6));
  device_->free(p);
  device_->free(r);
  for (const int64_t bytes : {int64_t{-1}, int64_t{1} << 50, std::numeric_limits<int64_t>::max()})
    EXPECT_THROW(device_->allocate(bytes), OutOfMemory);
  EXPECT_EQ(device_->memory().in_use, 0);
  EXPECT_GE(device_->release_memory(), 8 * kMebi);
}

/// Streams that run late, in orders of several seeds, over memory that is freed and allocated without any
/// wait: a block that another stream got too early would have wrong values.
TEST_F(DevicesTest, MemoryThatGoesFromStreamToStreamKeepsItsValues) {
  struct Array {
    Address address;
    size_t stream;
    uint32_t n, value;
  };
  for (int seed = 1; seed < 25; ++seed) {
    begin(seed);
    if (seed % 3 == 0) device_->set_memory_limit(64 * 1024);
    std::mt19937 random(static_cast<unsigned>(seed));
    std::vector<std::unique_ptr<Stream>> streams;
    for (int k = 0; k < 3; ++k) streams.push_back(device_->make_stream());
    std::vector<Array> live;
    const auto check = [&](const Array& array) {
      device_->use_stream(streams[array.stream].get());
      ASSERT_EQ(read(array.address, array.n), Words(array.n, array.value)) << seed;
      device_->free(array.address);
    };
    for (int step = 0; step < 400; ++step) {
      if (live.size() < 8 && random() % 3 != 0) {
        Array made{0, random() % 3, 1 + static_cast<uint32_t>(random() % 300), static_cast<uint32_t>(step)};
        device_->use_stream(streams[made.stream].get());
        made.address = words(Words(made.n, made.value));
        live.push_back(made);
      }
      if (live.empty()) continue;
      Array& array = live[random() % live.size()];
      device_->use_stream(streams[array.stream].get());
      launch("add", array.address, array.n, 7);
      array.value += 7;
      switch (random() % 8) {
        case 0:
        case 1:
        case 2:  // freed while its launches wait
          device_->free(array.address);
          array = live.back();
          live.pop_back();
          break;
        case 3: {
          const Array last = array;
          array = live.back();
          live.pop_back();
          check(last);
          break;
        }
        case 4: (void)streams[random() % 3]->is_done(); break;
        default: break;
      }
    }
    for (const Array& array : live) check(array);
    device_->use_stream(nullptr);
    streams.clear();
    EXPECT_EQ(device_->memory().in_use, 0);
    device_->set_memory_limit(0);
  }
}

}  // namespace
}  // namespace ingot::devices
