#include "devices/hip_driver.h"
#include "support.h"

namespace ingot::devices {
namespace {

TEST(HipTest, FunctionsHaveTheNamesOfHip) {
  EXPECT_EQ(hip_name("cuInit"), "hipInit");
  EXPECT_EQ(hip_name("cuMemcpyHtoDAsync_v2"), "hipMemcpyHtoDAsync");
  EXPECT_EQ(hip_name("cuLaunchKernel"), "hipModuleLaunchKernel");
  EXPECT_EQ(hip_name("cuFuncSetAttribute"), "");
}

TEST(HipTest, DevicesReportTheirProcessor) {
  open_hip_stand_ins();
  ASSERT_EQ(devices("amd").size(), 1u) << why_none("amd");
  const Properties& properties = devices("amd")[0]->properties();
  EXPECT_EQ(properties.code, "gfx90a");
  EXPECT_EQ(properties.capability, 0);
  EXPECT_EQ(properties.warp, 1);
  EXPECT_EQ(properties.block_threads, 1024);
}

TEST(HipTest, TheLinkersWordsAreReported) {
  open_hip_stand_ins();
  ASSERT_EQ(devices("amd").size(), 1u) << why_none("amd");
  try {
    devices("amd")[0]->load("unresolved");
    FAIL() << "nothing is wrong";
  } catch (const DeviceError& error) {
    EXPECT_STREQ(error.what(), "AMD's linker: undefined symbol: unresolved");
  }
}

}  // namespace
}  // namespace ingot::devices
