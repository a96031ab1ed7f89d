#include <thread>

#include "support.h"

namespace ingot::devices {
namespace {

using Words = std::vector<uint32_t>;

TEST_F(DevicesTest, TellsOfTheDevice) {
  const Properties& p = device_->properties();
  EXPECT_EQ(p.kind, "emulated");
  EXPECT_EQ(p.name, "Ingot software device");
  EXPECT_EQ(p.index, 0);
  EXPECT_EQ(p.capability, 90);
  EXPECT_GT(p.memory, 1 << 20);
  EXPECT_GT(p.processors, 0);
  EXPECT_EQ(p.warp, 32);
  EXPECT_EQ(p.block_threads, 1024);
  EXPECT_GT(p.block_memory, 48 * 1024);
  EXPECT_GE(p.grid[0], 65535);
  EXPECT_EQ(why_none("emulated"), "");
}

TEST_F(DevicesTest, CopiesFillsAndLaunches) {
  const Address p = words(Words(100, 5));
  launch("add", p, 100, 7);
  EXPECT_EQ(read(p, 100), Words(100, 12));
  const Address q = device_->allocate(400);
  device_->copy(q, p, 400);
  device_->fill(p, std::byte{1}, 200);
  EXPECT_EQ(read(q, 100), Words(100, 12));
  EXPECT_EQ(read(p, 50), Words(50, 0x01010101));
  EXPECT_EQ(read(p + 200, 50), Words(50, 12));
  device_->free(p);
  device_->free(q);
}

}  // namespace
}  // namespace ingot::devices
