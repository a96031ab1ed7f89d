#include "devices/pool.h"

#include <map>
#include <random>
#include <set>

#include "support.h"

// The pool over memory, streams and marks that the test moves on.

namespace ingot::devices {
namespace {

class FakeStream final : public Stream {
 public:
  Device& device() const override { throw DeviceError("none"); }
  void synchronize() override {}
  bool is_done() override { return done == put; }
  uint64_t put = 0, done = 0;
};

class FakeSource final : public PoolSource {
 public:
  Address take(int64_t bytes) override {
    ++takes;
    if (used + bytes > memory) return 0;
    used += bytes;
    const Address address = (next += 1 << 20);
    blocks[address] = bytes;
    return address;
  }
  bool give_back(Address address) noexcept override {
    const auto found = blocks.find(address);
    if (found == blocks.end() || refuses) return false;
    used -= found->second;
    blocks.erase(found);
    return true;
  }
  bool is_idle(const Stream& stream) override {
    const auto& fake = static_cast<const FakeStream&>(stream);
    return fake.done == fake.put;
  }
  void wait(const Stream& stream) override {
    if (is_broken) throw DeviceError("broken");
    ++waits;
    auto& fake = const_cast<FakeStream&>(static_cast<const FakeStream&>(stream));
    fake.done = fake.put;
  }
  Mark mark(const Stream& stream) override {
    if (is_broken) throw DeviceError("broken");
    const auto& fake = static_cast<const FakeStream&>(stream);
    ++marks;
    return new std::pair<const FakeStream*, uint64_t>(&fake, fake.put);
  }
  bool is_passed(Mark mark) override {
    const auto& [stream, at] = *static_cast<std::pair<const FakeStream*, uint64_t>*>(mark);
    return stream->done >= at;
  }
  void let_wait(const Stream& stream, Mark mark) override {
    const auto& [other, at] = *static_cast<std::pair<const FakeStream*, uint64_t>*>(mark);
    ordered.emplace_back(&stream, at);
    EXPECT_NE(other, &stream);
  }
  void drop(Mark mark) noexcept override {
    --marks;
    delete static_cast<std::pair<const FakeStream*, uint64_t>*>(mark);
  }

  std::map<Address, int64_t> blocks;
  int64_t memory = int64_t{1} << 40, used = 0;
  Address next = 0;
  int takes = 0, waits = 0, marks = 0;
  std::vector<std::pair<const Stream*, uint64_t>> ordered;
  bool refuses = false, is_broken = false;
};

struct PoolTest : public ::testing::Test {
  FakeSource source;
  Pool pool{source};
  FakeStream a, b;
};

TEST_F(PoolTest, BlocksAreAnEighthLargerAtMost) {
  EXPECT_EQ(Pool::block_size(0), 512);
  EXPECT_EQ(Pool::block_size(1), 512);
  EXPECT_EQ(Pool::block_size(512), 512);
  EXPECT_EQ(Pool::block_size(513), 1024);
  EXPECT_EQ(Pool::block_size(4096), 4096);
  EXPECT_EQ(Pool::block_size(8193), 9216);
  EXPECT_EQ(Pool::block_size((1 << 20) + 1), (1 << 20) + (1 << 17));
  EXPECT_EQ(Pool::block_size(Pool::kLarge + 1), Pool::kLarge + Pool::kLargeUnit);
  int64_t before = 0;
  std::mt19937_64 random(1);
  for (int64_t bytes = 1; bytes < Pool::kMaxBytes / 2;
       bytes += 1 + static_cast<int64_t>(random() % 97) * bytes / 97) {
    const int64_t size = Pool::block_size(bytes);
    ASSERT_GE(size, bytes);
    ASSERT_LE(size, std::max(bytes + bytes / 8, (bytes + 511) / 512 * 512)) << bytes;
    ASSERT_EQ(size % 512, 0);
    ASSERT_EQ(Pool::block_size(size), size) << bytes;
    ASSERT_GE(size, before);
    before = size;
  }
}

TEST_F(PoolTest, AStreamGetsWhatItFreedLastAtOnce) {
  a.put = 5;
  const Address p = pool.allocate(1000, a), q = pool.allocate(1000, a);
  EXPECT_NE(p, q);
  pool.free(p, a);
  pool.free(q, a);
  EXPECT_EQ(pool.allocate(900, a), q);
  EXPECT_EQ(pool.allocate(1024, a), p);
  EXPECT_EQ(source.takes, 2);
  EXPECT_EQ(source.marks, 0);
}

TEST_F(PoolTest, AStreamThatMayWaitTakesNoMoreThanAFewBlocks) {
  pool.wait_in(b);
  std::vector<Address> taken;
  for (uint64_t k = 0; k < 20; ++k) {  // b fills a block, a works on it and frees it, and never gets on
    const Address p = pool.allocate(1000, b);
    taken.push_back(p);
    a.put = k + 1;
    pool.free(p, a);
  }
  EXPECT_LE(source.takes, 4);
  ASSERT_FALSE(source.ordered.empty());
  for (const auto& [stream, at] : source.ordered) EXPECT_EQ(stream, &b);
  EXPECT_LT(source.ordered.back().second, 20u);  // not for the last work
  EXPECT_GT(source.ordered.back().second, 15u);
  const int takes = source.takes;
  FakeStream c;
  pool.allocate(1000, c);  // another one does not wait
  EXPECT_EQ(source.takes, takes + 1);
}

TEST_F(PoolTest, OthersGetItWhenTheStreamHasPassedTheFree) {
  a.put = 5;
  const Address p = pool.allocate(1000, a);
  pool.free(p, a);
  const Address q = pool.allocate(1000, b);
  EXPECT_NE(p, q);
  EXPECT_EQ(source.marks, 1);
  a.put = 9;  // more work comes
  a.done = 4;
  const Address r = pool.allocate(1000, b);
  EXPECT_NE(r, p);
  EXPECT_EQ(source.marks, 1);
  a.done = 5;
  EXPECT_EQ(pool.allocate(1000, b), p);
  EXPECT_EQ(source.marks, 0);
}

TEST_F(PoolTest, AnIdleStreamNeedsNoMark) {
  const Address p = pool.allocate(1000, a);
  pool.free(p, a);
  EXPECT_EQ(pool.allocate(1000, b), p);
  EXPECT_EQ(source.marks, 0);
}

TEST_F(PoolTest, AMarkDoesNotCoverLaterFrees) {
  a.put = 5;
  const Address p = pool.allocate(1000, a), q = pool.allocate(1000, a);
  pool.free(p, a);
  pool.allocate(1000, b);  // marks
  a.put = 8;
  pool.free(q, a);
  a.done = 5;
  EXPECT_EQ(pool.allocate(1000, b), p);
  EXPECT_NE(pool.allocate(1000, b), q);
  a.done = 8;
  EXPECT_EQ(pool.allocate(1000, b), q);
}

TEST_F(PoolTest, AStreamThatIsGoneLeavesItsBlocks) {
  const auto stream = std::make_unique<FakeStream>();
  const Address p = pool.allocate(1000, *stream);
  pool.free(p, *stream);
  pool.retire(*stream, true);
  a.put = 1;
  EXPECT_EQ(pool.allocate(1000, a), p);
  pool.free(p, a);
  pool.retire(a, false);
  EXPECT_EQ(pool.use().kept, 0);
  EXPECT_TRUE(source.blocks.empty());
}

TEST_F(PoolTest, CountsWholeBlocks) {
  const Address p = pool.allocate(600, a), q = pool.allocate(100, a);
  EXPECT_EQ(pool.use().in_use, 1536);
  pool.free(p, a);
  EXPECT_EQ(pool.use().in_use, 512);
  EXPECT_EQ(pool.use().kept, 1024);
  EXPECT_EQ(pool.use().peak, 1536);
  pool.reset_peak();
  EXPECT_EQ(pool.use().peak, 512);
  pool.free(q, a);
  EXPECT_EQ(pool.release(), 1536);
  EXPECT_EQ(pool.use().kept, 0);
  EXPECT_EQ(source.used, 0);
  pool.free(p, a);  // what is not live
  EXPECT_EQ(pool.use().kept, 0);
}

TEST_F(PoolTest, TheLimitIsOfWhatIsInUseAndKept) {
  pool.set_limit(10 * 1024);
  const Address p = pool.allocate(4096, a), q = pool.allocate(4096, a);
  EXPECT_THROW(pool.allocate(4096, a), OutOfMemory);
  a.put = 1;
  pool.free(p, a);
  pool.free(q, a);
  EXPECT_EQ(pool.use().kept, 8192);
  const Address r = pool.allocate(6144, b);  // q goes back, after the stream has been waited for
  EXPECT_EQ(source.waits, 1);
  EXPECT_EQ(pool.use().kept, 4096);
  EXPECT_EQ(pool.use().in_use, 6144);
  pool.set_limit(6144);
  EXPECT_EQ(pool.use().kept, 0);
  EXPECT_EQ(source.used, 6144);
  try {
    pool.allocate(512, b);
    ADD_FAILURE();
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.bytes(), 512);
    EXPECT_STREQ(error.what(),
                 "no device memory for 512 bytes: 6144 are in use, 0 are kept, the limit is 6144");
  }
  pool.free(r, b);
  pool.set_limit(0);
  EXPECT_EQ(pool.use().limit, 0);
}

TEST_F(PoolTest, UnderPressureWhatIsKeptGoesBack) {
  source.memory = 16 * 1024;
  const Address p = pool.allocate(8192, a);
  pool.free(p, a);
  for (int k = 0; k < 16; ++k) pool.free(pool.allocate(512 * (k % 4 + 1), a), a);
  EXPECT_GT(pool.use().kept, 8192);
  const Address q = pool.allocate(16 * 1024, a);
  EXPECT_EQ(pool.use().kept, 0);
  EXPECT_THROW(pool.allocate(1, a), OutOfMemory);
  pool.free(q, a);
  EXPECT_EQ(pool.allocate(16 * 1024, b), q);
}

TEST_F(PoolTest, UnderPressureABusyStreamIsWaitedFor) {
  source.memory = 8192;
  a.put = 7;
  const Address p = pool.allocate(8192, a);
  pool.free(p, a);
  EXPECT_EQ(pool.allocate(8192, b), p);
  EXPECT_EQ(a.done, 7u);
}

TEST_F(PoolTest, ImpossibleSizes) {
  EXPECT_THROW(pool.allocate(-1, a), OutOfMemory);
  EXPECT_THROW(pool.allocate(std::numeric_limits<int64_t>::max(), a), OutOfMemory);
  EXPECT_THROW(pool.allocate(std::numeric_limits<int64_t>::min(), a), OutOfMemory);
  EXPECT_THROW(pool.allocate(Pool::kMaxBytes, a), OutOfMemory);
  EXPECT_EQ(pool.use().in_use, 0);
}

TEST_F(PoolTest, WhatThrowsLeavesThePoolAsItWas) {
  a.put = 1;
  const Address p = pool.allocate(1000, a);
  pool.free(p, a);
  source.is_broken = true;
  EXPECT_THROW(pool.allocate(1000, b), DeviceError);
  EXPECT_THROW(pool.release(), DeviceError);
  EXPECT_THROW(pool.set_limit(100), DeviceError);
  EXPECT_EQ(pool.use().limit, 0);
  EXPECT_EQ(pool.use().kept, 1024);
  EXPECT_EQ(pool.use().in_use, 0);
  source.is_broken = false;
  source.refuses = true;
  EXPECT_EQ(pool.release(), 0);
  EXPECT_EQ(pool.use().kept, 1024);
  source.refuses = false;
  EXPECT_EQ(pool.release(), 1024);
}

TEST_F(PoolTest, MemoryFromBeforeIsFreedWithoutHarm) {
  const Address p = pool.allocate(1000, a), q = pool.allocate(1000, a);
  pool.forget();
  EXPECT_EQ(pool.use().in_use, 0);
  source = FakeSource();  // gives the same addresses again
  const Address r = pool.allocate(1000, a);
  EXPECT_NE(r, p);
  EXPECT_NE(r, q);
  pool.free(p, a);
  pool.free(q, a);
  EXPECT_EQ(pool.use().in_use, 1024);
  EXPECT_EQ(pool.use().kept, 0);
  EXPECT_EQ(source.used, 1024);
  pool.free(r, a);
  EXPECT_EQ(pool.release(), 1024);
  EXPECT_EQ(source.used, 0);
}

/// Random allocations and frees in three streams that go on by themselves: no block is given to another
/// stream before its own has passed the free, none is live twice, and the counts agree.
TEST_F(PoolTest, RandomStreamsNeverShareABlock) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    FakeSource from;
    from.memory = 200'000;
    Pool tried(from);
    std::mt19937 random(seed);
    std::vector<FakeStream> streams(3);
    struct Live {
      Address address;
      size_t stream;
    };
    std::vector<Live> live;
    std::map<Address, std::pair<size_t, uint64_t>> freed;  // stream, and how much was in it
    for (int step = 0; step < 3000; ++step) {
      const size_t s = random() % 3;
      FakeStream& stream = streams[s];
      switch (random() % 4) {
        case 0: {
          Address address = 0;
          try {
            address = tried.allocate(static_cast<int64_t>(random() % 20'000), stream);
          } catch (const OutOfMemory&) {
            break;
          }
          const auto before = freed.find(address);
          if (before != freed.end() && before->second.first != s) {
            ASSERT_GE(streams[before->second.first].done, before->second.second) << seed << " " << step;
          }
          freed.erase(address);
          for (const Live& other : live) ASSERT_NE(other.address, address);
          live.push_back({address, s});
          ++stream.put;
          break;
        }
        case 1:
          if (!live.empty()) {
            const size_t k = random() % live.size();
            const Live gone = live[k];
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(k));
            ++streams[gone.stream].put;
            freed[gone.address] = {gone.stream, streams[gone.stream].put};
            tried.free(gone.address, streams[gone.stream]);
          }
          break;
        case 2: ++stream.put; break;
        default: stream.done = std::min(stream.put, stream.done + random() % 4);
      }
      ASSERT_EQ(tried.use().in_use + tried.use().kept, from.used);
    }
    for (const Live& each : live) tried.free(each.address, streams[each.stream]);
    EXPECT_EQ(tried.use().in_use, 0);
    tried.release();
    EXPECT_EQ(from.used, 0);
    EXPECT_EQ(from.marks, 0);
  }
}

}  // namespace
}  // namespace ingot::devices
