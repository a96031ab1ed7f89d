#include <cstdio>

#include "support.h"

// How a driver is found and opened: in processes of their own, since a driver stays open.

namespace ingot::devices {
namespace {

#define EXPECT(condition)                             \
  if (!(condition)) {                                 \
    std::fprintf(stderr, "not so: %s\n", #condition); \
    std::exit(1);                                     \
  }

void without_driver() {
  EXPECT(devices("tpu").empty());
  EXPECT(has(why_none("tpu"), "no kind of device \"tpu\""));
  set_emulated_driver("/nowhere/libcuda.so.1");
  EXPECT(devices("emulated").empty());
  EXPECT(has(why_none("emulated"), "there is no driver: "));
  EXPECT(has(why_none("emulated"), "/nowhere/libcuda.so.1"));
  EXPECT(why_none("gpu").empty() != devices("gpu").empty());
  std::exit(0);
}

void with_other_library() {
  set_emulated_driver("libm.so.6");
  EXPECT(devices("emulated").empty());
  EXPECT(has(why_none("emulated"), "too old, or none: it has no function cuInit"));
  std::exit(0);
}

void with_failing_driver() {
  using Fail = int(uint64_t, int, uint64_t*);
  Fail* const fail = Library().function<Fail>("ingot_emulator_fail");
  uint64_t missing = 0;
  for (uint64_t n = 1;; ++n) {
    set_emulated_driver(INGOT_SOFTGPU_DRIVER);  // asks anew where it has failed before
    fail(n, 999, nullptr);
    const bool is_there = !devices("emulated").empty();
    fail(0, 0, &missing);
    EXPECT(is_there == (missing != 0));
    EXPECT(is_there == why_none("emulated").empty());
    if (is_there) break;
    EXPECT(has(why_none("emulated"), "CUDA_ERROR_UNKNOWN"));
    EXPECT(n < 100);
  }
  // And the context, when it is first needed.
  Device& device = *devices("emulated")[0];
  for (uint64_t n = 1;; ++n) {
    fail(n, 999, nullptr);
    try {
      device.synchronize();
      fail(0, 0, &missing);
      EXPECT(missing != 0);
      EXPECT(n > 3);
      break;
    } catch (const DeviceError&) {
      EXPECT(n < 100);
    }
  }
  std::exit(0);
}

void with_a_failure_of_the_environment() {
  setenv("INGOT_EMULATOR_FAIL", "2:3", 1);
  EXPECT(devices("emulated").empty());
  EXPECT(has(why_none("emulated"), "CUDA_ERROR_NOT_INITIALIZED"));
  set_emulated_driver({});  // found next to this program
  EXPECT(devices("emulated").size() == 1);
  std::exit(0);
}

void together_with_the_vendors() {
  EXPECT(devices("emulated").size() == 1);
  for (Device* const device : devices("gpu")) EXPECT(device->properties().name != "Ingot software device");
  for (Device* const device : devices("gpu")) EXPECT(device->properties().kind == "gpu");
  std::exit(0);
}

TEST(OpenDeathTest, ThereMayBeNoDriver) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(without_driver(), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(with_other_library(), ::testing::ExitedWithCode(0), "");
}

TEST(OpenDeathTest, ADriverThatFailsIsAskedAnew) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(with_failing_driver(), ::testing::ExitedWithCode(0), "");
}

TEST(OpenDeathTest, TheEnvironmentPlansAFailure) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(with_a_failure_of_the_environment(), ::testing::ExitedWithCode(0), "");
}

TEST(OpenDeathTest, TheSoftwareDeviceIsNotTheVendors) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(together_with_the_vendors(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace ingot::devices
