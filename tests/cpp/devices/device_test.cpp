#include <array>
#include <cstring>

#include "support.h"

namespace ingot::devices {
namespace {

using Words = std::vector<uint32_t>;

TEST_F(DevicesTest, ReportsTheDevice) {
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

TEST_F(DevicesTest, NoBytesAreCopiedFromAnywhere) {
  device_->write(0, nullptr, 0);
  device_->read(nullptr, 0, 0);
  device_->copy(0, 0, 0);
  device_->fill(0, std::byte{1}, 0);
  const Address p = device_->allocate(0);
  EXPECT_NE(p, 0u);
  EXPECT_EQ(p % 256, 0u);
  device_->free(p);
  device_->free(0);
}

TEST_F(DevicesTest, WrongCopiesAreRefusedAndDoNoHarm) {
  const Address p = words(Words(100, 5));
  Words host(300);
  EXPECT_TRUE(has(error_of([&] { device_->read(host.data(), p, 1200); }), "a copy from the device: "));
  EXPECT_TRUE(has(error_of([&] { device_->write(p, host.data(), 1200); }), "a copy to the device: "));
  EXPECT_TRUE(has(error_of([&] { device_->copy(p, p + 200, 400); }), "a copy on the device: "));
  EXPECT_TRUE(has(error_of([&] { device_->fill(p, std::byte{0}, 1200); }), "filling memory: "));
  EXPECT_TRUE(has(error_of([&] { device_->write(p, host.data(), -1); }), "a negative number of bytes"));
  EXPECT_EQ(read(p, 100), Words(100, 5));
  device_->free(p);
}

TEST_F(DevicesTest, ArgumentsAreReadBeforeALaunchReturns) {
  Address p = words(Words(10, 0));
  uint32_t n = 10, v = 3;
  void* const arguments[] = {&p, &n, &v};
  const Kernel& add = code_->kernel("add");
  device_->launch(add, {.block = {32, 1, 1}}, arguments);
  const Address whole = p;
  p = 0, n = 0, v = 1000;
  EXPECT_EQ(read(whole, 10), Words(10, 3));
}

TEST_F(DevicesTest, KernelsReportWhatTheyUse) {
  const Kernel& iterations = code_->kernel("iterations");
  EXPECT_EQ(&iterations, &code_->kernel("iterations"));
  EXPECT_EQ(iterations.shared_bytes(), 1024);
  EXPECT_GT(iterations.registers(), 0);
  EXPECT_EQ(iterations.local_bytes(), 0);
  EXPECT_GE(iterations.resident_blocks(64, 256), 2);
  EXPECT_EQ(iterations.resident_blocks(64, 200 * 1024), 1);
  EXPECT_TRUE(has(error_of([&] { code_->kernel("nothing"); }), "the kernel nothing: "));
}

TEST_F(DevicesTest, ManyBytesOfSharedMemory) {
  for (const uint32_t shared : {1024u, 47u * 1024, 48u * 1024, 100u * 1024, 226u * 1024, 1024u}) {
    Address p = words(Words(256, 0));
    void* const arguments[] = {&p};
    device_->launch(code_->kernel("iterations"), {.block = {256, 1, 1}, .shared_bytes = shared}, arguments);
    const Words got = read(p, 256);
    for (uint32_t k = 0; k < 256; ++k) ASSERT_EQ(got[k], 255 - k) << shared;
    device_->free(p);
  }
  Address p = words(Words(256, 0));
  void* const arguments[] = {&p};
  const Launch large{.block = {256, 1, 1}, .shared_bytes = 227 * 1024};
  EXPECT_TRUE(
      has(error_of([&] { device_->launch(code_->kernel("iterations"), large, arguments); }), "a launch: "));
  EXPECT_EQ(read(p, 256), Words(256, 0));
}

TEST_F(DevicesTest, WrongLaunchesAreRefusedAndDoNoHarm) {
  Address p = words(Words(64, 1));
  uint32_t n = 64, v = 1;
  void* const arguments[] = {&p, &n, &v};
  const Kernel& add = code_->kernel("add");
  for (const Launch& wrong :
       {Launch{.grid = {0, 1, 1}}, Launch{.block = {2048, 1, 1}}, Launch{.block = {64, 64, 1}},
        Launch{.grid = {1 << 20, 1, 1}, .block = {64, 1, 1}, .cooperative = true}})
    EXPECT_TRUE(has(error_of([&] { device_->launch(add, wrong, arguments); }), "emulated 0: a launch: "));
  device_->launch(add, {.grid = {4, 1, 1}, .block = {16, 1, 1}, .cooperative = true}, arguments);
  EXPECT_EQ(read(p, 64), Words(64, 2));
}

TEST_F(DevicesTest, CodeThatCannotBeLoaded) {
  const std::string error = error_of([&] {
    device_->load(
        ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k()\n{ frobnicate.u32 %r1; ret; }\n");
  });
  EXPECT_TRUE(has(error, "emulated 0: code cannot be loaded: ")) << error;
  EXPECT_TRUE(has(error, "CUDA_ERROR_INVALID_PTX")) << error;
  EXPECT_TRUE(has(error, "frobnicate")) << error;
  EXPECT_TRUE(has(error, "5")) << error;  // the line
  error_of([&] { device_->load(""); });
  error_of([&] {
    device_->load(
        "\x7f"
        "ELF");
  });
  const Address p = words(Words(10, 1));
  launch("add", p, 10, 1);
  EXPECT_EQ(read(p, 10), Words(10, 2));
}

TEST_F(DevicesTest, TextNeedsNoEnd) {
  std::string text = kKernels;
  const size_t length = text.size();
  text += "garbage";
  const auto code = device_->load(std::string_view(text).substr(0, length));
  EXPECT_GT(code->kernel("add").registers(), 0);
}

TEST_F(DevicesTest, PinnedMemoryIsReadAndWrittenLate) {
  auto* const pinned = static_cast<uint32_t*>(device_->allocate_pinned(400));
  ASSERT_NE(pinned, nullptr);
  for (uint32_t k = 0; k < 100; ++k) pinned[k] = k;
  const Address p = device_->allocate(400);
  device_->write(p, pinned, 400);
  launch("add", p, 100, 1);
  device_->read(pinned, p, 400);
  device_->synchronize();
  for (uint32_t k = 0; k < 100; ++k) ASSERT_EQ(pinned[k], k + 1);
  // The middle of it, too.
  device_->write(p, pinned + 50, 40);
  pinned[50] = 77;
  EXPECT_EQ(read(p, 1), Words(1, 77));
  device_->free_pinned(pinned);
  device_->free_pinned(nullptr);
  Words host(10, 3);
  device_->free_pinned(host.data());
}

TEST_F(DevicesTest, TheHostsMemoryIsReadAtTheCall) {
  Words host(100, 4);
  const Address p = device_->allocate(400);
  device_->write(p, host.data(), 400);
  host.assign(100, 9);
  EXPECT_EQ(read(p, 100), Words(100, 4));
}

TEST_F(DevicesTest, MemoryThatOthersHavePinnedIsReadAtTheCall) {
  Words host(100, 4);
  const Library library;
  auto* const pin = library.function<int(void*, size_t, unsigned)>("cuMemHostRegister_v2");
  ASSERT_EQ(pin(host.data(), 400, 0), 0);
  const Address p = device_->allocate(400);
  device_->write(p, host.data(), 400);
  host.assign(100, 9);
  EXPECT_EQ(read(p, 100), Words(100, 4));
  EXPECT_EQ(library.function<int(void*)>("cuMemHostUnregister")(host.data()), 0);
}

TEST_F(DevicesTest, ContextsOfOthersStayCurrent) {
  const Library library;
  auto* const current = library.function<int(void**)>("cuCtxGetCurrent");
  void* other = nullptr;
  ASSERT_EQ(library.function<int(void**, unsigned, int)>("cuCtxCreate_v2")(&other, 0, 0), 0);
  const Address p = words(Words(10, 1));
  launch("add", p, 10, 1);
  EXPECT_EQ(read(p, 10), Words(10, 2));
  void* now = nullptr;
  EXPECT_EQ(current(&now), 0);
  EXPECT_EQ(now, other);
  code_->kernel("traps");
  {
    const auto event = device_->make_event();
  }
  EXPECT_THROW(device_->write(p, &now, 1 << 20), DeviceError);
  EXPECT_EQ(current(&now), 0);
  EXPECT_EQ(now, other);
  EXPECT_EQ(library.function<int(void*)>("cuCtxDestroy_v2")(other), 0);
}

}  // namespace
}  // namespace ingot::devices
