#include <cstring>
#include <numeric>

#include "devices/copy_queues.h"
#include "support.h"

// Copies that overlap kernels. The order between arrays is tested in tests/python/test_device_overlap.py.

namespace ingot::devices {
namespace {

using Words = std::vector<uint32_t>;

constexpr int kSeeds = 12;
constexpr auto kWords = static_cast<size_t>(CopyQueues::kSlotBytes / 4);

Words counted(size_t count, uint32_t from) {
  Words made(count);
  std::iota(made.begin(), made.end(), from);
  return made;
}

TEST_F(DevicesTest, UploadsReadTheHostsMemoryBeforeTheyReturn) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    begin(seed);
    CopyQueues& queues = *device_->copies();
    Stream& uploads = queues.uploads();
    Words values = counted(CopyQueues::kSlots * kWords + kWords / 2, 7);
    const Words expected = values;
    const auto bytes = static_cast<int64_t>(values.size() * 4);
    const Address p = device_->allocate(bytes), q = device_->allocate(bytes);
    queues.upload(p, values.data(), bytes);
    std::ranges::fill(values, 0);
    queues.upload(q, expected.data(), bytes);
    void* const pinned = device_->allocate_pinned(400);
    std::memcpy(pinned, expected.data(), 400);
    queues.upload(q, pinned, 400);
    std::memset(pinned, 0, 400);
    EXPECT_EQ(&uploads, &queues.uploads());
    queues.upload_point();
    queues.join();
    EXPECT_EQ(read(p, values.size()), expected);
    EXPECT_EQ(read(q, values.size()), expected);
  }
}

TEST_F(DevicesTest, UploadsAndDownloadsOverlapKernels) {
  int overlapping = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    begin(seed);
    CopyQueues& queues = *device_->copies();
    queues.be_exact();
    const Address p = words(Words(100, 2)), q = device_->allocate(400);
    launch("add", p, 100, 1);
    const CopyQueues::Position first = queues.advance();
    for (int k = 0; k < 20; ++k) launch("add", p, 100, 0);
    const CopyQueues::Position last = queues.advance();
    EXPECT_FALSE(queues.is_last(first));
    EXPECT_TRUE(queues.is_last(last));
    queues.uploads();
    queues.upload(q, counted(100, 1).data(), 400);
    const std::shared_ptr<Event> point = queues.upload_point();
    Words got(100);
    {
      const CopyQueues::Inside inside(*device_, queues.downloads_after(*point));
      device_->read(got.data(), q, 400);
    }
    EXPECT_EQ(got, counted(100, 1));
    {
      const CopyQueues::Inside inside(*device_, queues.downloads_after(first));
      device_->read(got.data(), p, 400);
    }
    EXPECT_EQ(got, Words(100, 3));
    overlapping += device_->stream().is_done() ? 0 : 1;
  }
  EXPECT_GT(overlapping, 2);
}

TEST_F(DevicesTest, CallsGetMarksAfterCopiesAndSeldomElse) {
  Library emulator;
  auto* const live = emulator.function<int(uint64_t*, uint64_t*)>("ingot_emulator_live");
  const auto objects = [&] {
    uint64_t bytes = 0, count = 0;
    live(&bytes, &count);
    return count;
  };
  CopyQueues& queues = *device_->copies();
  queues.be_exact();
  const uint64_t before = objects();
  for (int k = 0; k < CopyQueues::kExact; ++k) queues.advance();
  EXPECT_EQ(objects(), before + CopyQueues::kExact);
  for (int k = 0; k < 10 * CopyQueues::kSparse; ++k) queues.advance();
  EXPECT_LE(objects(), before + CopyQueues::kExact + 11);
  for (int k = 0; k < 1000 * CopyQueues::kSparse; ++k) queues.advance();
  EXPECT_LE(objects(), before + 128);
}

TEST_F(DevicesTest, CopiesBeginAnewAfterAReset) {
  for (int k = 0; k < 3; ++k) {
    CopyQueues& queues = *device_->copies();
    queues.uploads();
    const Address p = device_->allocate(400);
    queues.upload(p, counted(100, 3).data(), 400);
    queues.upload_point();
    queues.join();
    launch("add", p, 100, 2);
    queues.advance();
    EXPECT_EQ(read(p, 100), counted(100, 5));
    begin(k);
  }
}

TEST_F(DevicesTest, ACopyThatFailsLeavesTheOthersRight) {
  Library emulator;
  auto* const fail = emulator.function<int(uint64_t, int, uint64_t*)>("ingot_emulator_fail");
  const Words values = counted(3 * kWords, 1), others = counted(3 * kWords, 9);
  const auto bytes = static_cast<int64_t>(values.size() * 4);
  for (uint64_t n = 1; n < 40; ++n) {
    begin(static_cast<int>(n));
    CopyQueues& queues = *device_->copies();
    queues.uploads();
    const Address p = device_->allocate(bytes);
    fail(n, 2, nullptr);
    try {
      queues.upload(p, others.data(), bytes);
    } catch (const DeviceError&) {  // the planned failure
    }
    fail(0, 2, nullptr);
    queues.upload(p, values.data(), bytes);
    queues.upload_point();
    queues.join();
    EXPECT_EQ(read(p, values.size()), values) << n;
  }
}

}  // namespace
}  // namespace ingot::devices
