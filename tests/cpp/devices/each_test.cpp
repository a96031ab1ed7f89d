#include <cstdio>

#include "support.h"

// What holds on each device that there is: the software device, and GPUs where a driver is installed.

namespace ingot::devices {
namespace {

using Words = std::vector<uint32_t>;

template <class F>
void for_each_device(F&& f) {
  for (const char* const kind : {"emulated", "gpu"})
    for (Device* const device : devices(kind)) f(*device);
}

Words values_of(Device& device, Address address, size_t count) {
  Words got(count);
  device.read(got.data(), address, static_cast<int64_t>(count * 4));
  return got;
}

void run(Device& device, const Kernel& kernel, Address p, uint32_t n, uint32_t v, bool cooperative = false) {
  void* const arguments[] = {&p, &n, &v};
  device.launch(kernel, {.grid = {(n + 63) / 64, 1, 1}, .block = {64, 1, 1}, .cooperative = cooperative},
                arguments);
}

TEST(EachDeviceTest, CopiesLaunchesAndEvents) {
  for_each_device([](Device& device) {
    const Properties& properties = device.properties();
    SCOPED_TRACE(properties.name);
    EXPECT_GE(properties.capability, 50);
    EXPECT_GE(properties.grid[0], 65535);
    const auto code = device.load(kKernels);
    constexpr uint32_t kCount = 100'000;
    const auto bytes = static_cast<int64_t>(kCount * 4);
    const Address p = device.allocate(bytes), q = device.allocate(bytes);
    EXPECT_EQ(p % 256, 0u);
    device.fill(p, std::byte{1}, bytes);
    run(device, code->kernel("add"), p, kCount, 7);
    const auto stream = device.make_stream(1);
    const auto start = device.make_event();
    const auto end = device.make_event();
    start->record(device.stream());
    device.use_stream(stream.get());
    start->let_wait(*stream);
    run(device, code->kernel("add"), p, kCount, 1);
    run(device, code->kernel("add"), p, 640, 5, true);
    device.copy(q, p, bytes);
    end->record(*stream);
    Words expected(kCount, 0x01010101 + 8);
    std::fill_n(expected.begin(), 640, 0x01010101 + 13);
    EXPECT_EQ(values_of(device, q, kCount), expected);
    EXPECT_GE(end->since(*start), 0);
    device.free(p);
    EXPECT_EQ(device.allocate(bytes), p);
    device.use_stream(nullptr);
    device.free(p);
    device.free(q);
    device.synchronize();
  });
}

TEST(EachDeviceTest, SharedAndPinnedMemory) {
  for_each_device([](Device& device) {
    SCOPED_TRACE(device.properties().name);
    const auto code = device.load(kKernels);
    const Kernel& turns = code->kernel("turns");
    EXPECT_EQ(turns.shared_bytes(), 1024);
    EXPECT_GE(turns.resident_blocks(256, 2048), 1);
    auto* const pinned = static_cast<uint32_t*>(device.allocate_pinned(1024));
    ASSERT_NE(pinned, nullptr);
    Address p = device.allocate(1024);
    for (const int64_t shared : {int64_t{1024}, device.properties().block_memory - 1024}) {
      device.fill(p, std::byte{}, 1024);
      void* const arguments[] = {&p};
      device.launch(turns, {.block = {256, 1, 1}, .shared_bytes = static_cast<uint32_t>(shared)}, arguments);
      device.read(pinned, p, 1024);
      device.stream().synchronize();
      for (uint32_t k = 0; k < 256; ++k) ASSERT_EQ(pinned[k], 255 - k);
    }
    device.free(p);
    device.free_pinned(pinned);
  });
}

TEST(EachDeviceTest, WhatCannotBeDoneIsRefused) {
  for_each_device([](Device& device) {
    SCOPED_TRACE(device.properties().name);
    EXPECT_THROW(device.allocate(device.properties().memory + (int64_t{1} << 40)), OutOfMemory);
    EXPECT_THROW(device.load(".version 7.8\n.target sm_90\nnonsense"), DeviceError);
    const auto code = device.load(kKernels);
    EXPECT_THROW(code->kernel("nothing"), DeviceError);
    EXPECT_THROW(device.launch(code->kernel("traps"), {.block = {4096, 1, 1}}, {}), DeviceError);
    const Address p = device.allocate(40);
    device.write(p, Words(10, 3).data(), 40);
    EXPECT_EQ(values_of(device, p, 10), Words(10, 3));
    device.free(p);
    device.release_memory();
    EXPECT_EQ(device.memory().in_use, 0);
    EXPECT_EQ(device.memory().kept, 0);
  });
}

void fail_each() {
  for_each_device([](Device& device) {
    for (const char* const kernel : {"misaligned", "traps"}) {
      std::string first, second;
      {
        const auto code = device.load(kKernels);
        const Address p = device.allocate(40);
        run(device, code->kernel(kernel), p, 1, 1);
        try {
          device.synchronize();
        } catch (const DeviceError& error) {
          first = error.what();
        }
        try {
          device.load(kKernels);
        } catch (const DeviceError& error) {
          second = error.what();
        }
      }
      std::fprintf(stderr, "%s\n", first.c_str());
      if (!has(first, " has failed: ") || first != second) std::exit(1);
      if (!device.reset()) std::exit(2);
      const Address p = device.allocate(40);
      device.write(p, Words(10, 3).data(), 40);
      if (values_of(device, p, 10) != Words(10, 3)) std::exit(3);
    }
  });
  std::exit(0);
}

TEST(EachDeviceDeathTest, AFaultStaysUntilAReset) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(fail_each(), ::testing::ExitedWithCode(0), "emulated 0 has failed");
}

}  // namespace
}  // namespace ingot::devices
