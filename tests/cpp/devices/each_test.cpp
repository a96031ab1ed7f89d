#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <thread>

#include "support.h"

// Properties of each available device: the software device, also through HIP's functions, those of OpenCL,
// and GPUs where a driver is installed. Where INGOT_TEST_DEVICE names a kind, on devices of this kind alone.

namespace ingot::devices {
namespace {

using Words = std::vector<uint32_t>;

/// The faults of kernels of the second are reported, and end no process.
constexpr const char* kAll[] = {"emulated", "gpu", "opencl", "amd"};
constexpr const char* kLasting[] = {"emulated", "gpu", "amd"};
constexpr const char* kRefusing[] = {"emulated", "opencl"};

bool is_asked_for(std::string_view kind) {
  const char* const only = std::getenv("INGOT_TEST_DEVICE");
  return only == nullptr || kind == only;
}

template <class F>
void for_each_device(F&& f, std::span<const char* const> kinds = kAll) {
  if (is_asked_for("amd")) open_hip_stand_ins();
  for (const char* const kind : kinds)
    if (is_asked_for(kind))
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
    EXPECT_EQ(properties.code, properties.kind == "opencl" ? "opencl"
                               : properties.kind == "amd"  ? "gfx90a"
                                                           : "sm_" + std::to_string(properties.capability));
    EXPECT_GE(properties.grid[0], 65535);
    const auto code = device.load(kernels_for(device));
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
    run(device, code->kernel("add"), p, 640, 5, properties.has_grid_barriers);
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
    const auto code = device.load(kernels_for(device));
    const Kernel& iterations = code->kernel("iterations");
    // PoCL 3.1 does not report it.
    EXPECT_EQ(iterations.shared_bytes(),
              device.properties().kind == "opencl" ? iterations.shared_bytes() : 1024);
    EXPECT_GE(iterations.resident_blocks(256, 2048), 1);
    auto* const pinned = static_cast<uint32_t*>(device.allocate_pinned(1024));
    ASSERT_NE(pinned, nullptr);
    Address p = device.allocate(1024);
    for (const int64_t shared : {int64_t{1024}, device.properties().block_memory - 1024}) {
      device.fill(p, std::byte{}, 1024);
      void* const arguments[] = {&p};
      device.launch(iterations, {.block = {256, 1, 1}, .shared_bytes = static_cast<uint32_t>(shared)},
                    arguments);
      device.read(pinned, p, 1024);
      device.stream().synchronize();
      for (uint32_t k = 0; k < 256; ++k) ASSERT_EQ(pinned[k], 255 - k);
    }
    device.free(p);
    device.free_pinned(pinned);
  });
}

TEST(EachDeviceTest, EventsOrderStreams) {
  for_each_device([](Device& device) {
    SCOPED_TRACE(device.properties().name);
    const auto code = device.load(kernels_for(device));
    const auto a = device.make_stream();
    const auto b = device.make_stream();
    for (uint32_t iteration = 0; iteration < 10; ++iteration) {
      const auto first = device.make_event();
      const auto second = device.make_event();
      EXPECT_TRUE(second->is_done());
      device.use_stream(a.get());
      const Address p = device.allocate(400);
      device.write(p, Words(100, iteration).data(), 400);
      run(device, code->kernel("add"), p, 100, 1);
      first->record(*a);
      device.use_stream(b.get());
      first->let_wait(*b);
      run(device, code->kernel("square"), p, 100, 0);
      second->record(*b);
      device.use_stream(a.get());
      second->let_wait(*a);
      run(device, code->kernel("add"), p, 100, 5);
      EXPECT_EQ(values_of(device, p, 100), Words(100, (iteration + 1) * (iteration + 1) + 5));
      EXPECT_TRUE(second->is_done());
      device.free(p);
    }
    device.use_stream(nullptr);
  });
}

TEST(EachDeviceTest, FreedMemoryGoesFromThreadToThread) {
  for_each_device([](Device& device) {
    SCOPED_TRACE(device.properties().name);
    const auto code = device.load(kernels_for(device));
    std::atomic<int> wrong{0};
    const auto work = [&](uint32_t which) {
      const auto stream = device.make_stream();
      device.use_stream(stream.get());
      for (uint32_t iteration = 0; iteration < 30; ++iteration) {
        const uint32_t n = 50 + (which + 1) * iteration;
        const Address p = device.allocate(n * 4), q = device.allocate(n * 4);
        device.write(p, Words(n, iteration).data(), n * 4);
        run(device, code->kernel("add"), p, n, which);
        device.copy(q, p, n * 4);
        device.free(p);
        run(device, code->kernel("square"), q, n, 0);
        if (values_of(device, q, n) != Words(n, (iteration + which) * (iteration + which))) ++wrong;
        device.free(q);
        if (iteration % 10 == 9) device.release_memory();
      }
      device.use_stream(nullptr);
    };
    std::vector<std::thread> threads;
    for (uint32_t which = 0; which < 3; ++which) threads.emplace_back(work, which);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(device.memory().in_use, 0);
  });
}

TEST(EachDeviceTest, WrongCopiesAndLaunchesAreRefusedAndDoNoHarm) {
  for_each_device(
      [](Device& device) {
        SCOPED_TRACE(device.properties().name);
        const auto code = device.load(kernels_for(device));
        const Address p = device.allocate(400);
        Words host(100, 5);
        device.write(p, host.data(), 400);
        EXPECT_THROW(device.read(host.data(), p, int64_t{1} << 40), DeviceError);
        EXPECT_THROW(device.write(p, host.data(), int64_t{1} << 40), DeviceError);
        EXPECT_THROW(device.fill(p, std::byte{0}, int64_t{1} << 40), DeviceError);
        EXPECT_THROW(device.write(p, host.data(), -1), DeviceError);
        Address given = p;
        uint32_t n = 100, v = 1;
        void* const arguments[] = {&given, &n, &v};
        const Kernel& add = code->kernel("add");
        for (const Launch& wrong :
             {Launch{.grid = {0, 1, 1}}, Launch{.block = {2048, 1, 1}}, Launch{.block = {64, 64, 1}},
              Launch{.grid = {1 << 20, 1, 1}, .block = {64, 1, 1}, .cooperative = true}})
          EXPECT_THROW(device.launch(add, wrong, arguments), DeviceError);
        EXPECT_EQ(values_of(device, p, 100), Words(100, 5));
        device.free(p);
      },
      kRefusing);
}

TEST(EachDeviceTest, WhatCannotBeDoneIsRefused) {
  for_each_device([](Device& device) {
    SCOPED_TRACE(device.properties().name);
    EXPECT_THROW(device.allocate(device.properties().memory + (int64_t{1} << 40)), OutOfMemory);
    EXPECT_THROW(device.load(".version 7.8\n.target sm_90\nnonsense"), DeviceError);
    const auto code = device.load(kernels_for(device));
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
  for_each_device(
      [](Device& device) {
        for (const char* const kernel : {"misaligned", "traps"}) {
          std::string first, second;
          {
            const auto code = device.load(kernels_for(device));
            const Address p = device.allocate(40);
            run(device, code->kernel(kernel), p, 1, 1);
            try {
              device.synchronize();
            } catch (const DeviceError& error) {
              first = error.what();
            }
            try {
              device.load(kernels_for(device));
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
      },
      kLasting);
  std::exit(0);
}

TEST(EachDeviceDeathTest, AFaultStaysUntilAReset) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(fail_each(), ::testing::ExitedWithCode(0), " 0 has failed");
}

TEST(EachDeviceTest, OpenClReportsWhyCodeCannotBeLoaded) {
  ASSERT_FALSE(devices("opencl").empty()) << why_none("opencl");
  Device& device = *devices("opencl")[0];
  try {
    device.load("__kernel void f(__global uint* p) { p[0] = nothing_of_this_name; }");
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_TRUE(has(error.what(), "opencl 0: code cannot be loaded: ")) << error.what();
    EXPECT_TRUE(has(error.what(), "nothing_of_this_name")) << error.what();
  }
}

}  // namespace
}  // namespace ingot::devices
