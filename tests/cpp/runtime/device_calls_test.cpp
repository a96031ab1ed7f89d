#include "runtime/device_calls.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "base/error.h"
#include "devices/device.h"
#include "runtime/context.h"

namespace ingot::runtime {
namespace {

/// A view of one axis, as code has it.
struct Line {
  ViewSlot slot;
  int64_t length;
  int64_t stride;  ///< bytes
  int64_t& operator[](int64_t i) const { return *reinterpret_cast<int64_t*>(slot.data + i * stride); }
};

/// A routine of two views: alternately, the elements of each go into the other, and both grow.
Status move_along(Context*, const char*, const char*, int64_t, void** slots) {
  const auto& from = *static_cast<const Line*>(slots[0]);
  const auto& to = *static_cast<const Line*>(slots[1]);
  for (int64_t i = 0; i < from.length; ++i) {
    to[i] = 2 * from[i] + 1;
    from[i] += 100;
  }
  return 0;
}

void let_go(Context* context) { ++*static_cast<int*>(context->user); }

constexpr Hooks kHooks = {nullptr, &move_along, &let_go};

class DeviceCalls : public ::testing::Test {
 protected:
  void SetUp() override {
    devices::set_emulated_driver(INGOT_SOFTGPU_DRIVER);
    const auto found = devices::devices("emulated");
    ASSERT_EQ(found.size(), 1u) << devices::why_none("emulated");
    device_ = found[0];
    context_.device = device_;
  }

  /// Where two views of so many words are: first word, words from one to the next, elements.
  struct Layout {
    int64_t first;
    int64_t step;
    int64_t length;
  };
  void check(const Layout& from, const Layout& to) {
    std::vector<int64_t> words(32);
    std::iota(words.begin(), words.end(), 0);
    const auto bytes = static_cast<int64_t>(words.size() * sizeof(int64_t));
    const devices::Address memory = device_->allocate(bytes);
    device_->write(memory, words.data(), bytes);
    const auto line = [](std::byte* data, const Layout& layout) {
      return Line{{data + 8 * layout.first, nullptr}, layout.length, 8 * layout.step};
    };
    auto* const there = reinterpret_cast<std::byte*>(memory);  // NOLINT(performance-no-int-to-ptr)
    Line lines[] = {line(there, from), line(there, to)};
    void* slots[] = {&lines[0], &lines[1]};
    ASSERT_EQ(ingot_v1_device_outside(&context_, "routine", "view<i64,1> view<i64,1> ", 0, slots), 0);
    EXPECT_EQ(lines[0].slot.data, there + 8 * from.first);
    EXPECT_EQ(lines[1].slot.buffer, nullptr);
    std::vector<int64_t> got(words.size());
    device_->read(got.data(), memory, bytes);
    device_->free(memory);

    auto* const here = reinterpret_cast<std::byte*>(words.data());
    Line same[] = {line(here, from), line(here, to)};
    void* own[] = {&same[0], &same[1]};
    move_along(nullptr, nullptr, nullptr, 0, own);
    EXPECT_EQ(got, words);
  }

  devices::Device* device_ = nullptr;
  int waits_ = 0;
  Context context_ = make_context(nullptr, &kHooks, &waits_);
};

TEST_F(DeviceCalls, ViewsOfOneMemoryAreOfOneCopy) {
  check({0, 1, 6}, {1, 1, 6});    // after
  check({1, 1, 6}, {0, 1, 6});    // before
  check({5, -1, 6}, {0, 1, 6});   // backwards
  check({0, 2, 8}, {1, 2, 8});    // between
  check({0, 5, 6}, {12, 1, 6});   // in a gap
  check({0, 1, 6}, {0, 1, 6});    // the same
  check({0, 1, 6}, {6, 1, 6});    // side by side
  check({9, 1, 3}, {20, -2, 3});  // disjoint
  check({4, 1, 0}, {4, 1, 0});    // of nothing
  check({9, 1, 0}, {9, 1, 0});
  EXPECT_EQ(context_.buffers, nullptr);
}

TEST_F(DeviceCalls, RowsAreReadAtOnce) {
  std::vector<int32_t> words(20);
  std::iota(words.begin(), words.end(), 0);
  const devices::Address memory = device_->allocate(80);
  device_->write(memory, words.data(), 80);
  auto* const there = reinterpret_cast<std::byte*>(memory);  // NOLINT(performance-no-int-to-ptr)
  const auto read = [&](int64_t first, int64_t count, int64_t step) {
    std::vector<int32_t> got(4, -1);
    waits_ = 0;
    EXPECT_EQ(ingot_v1_device_read_row(&context_, got.data(), there + 4 * first, count, 4 * step, 4), 0);
    EXPECT_EQ(waits_, count > 0 ? 1 : 0);
    return got;
  };
  EXPECT_EQ(read(3, 4, 1), (std::vector<int32_t>{3, 4, 5, 6}));
  EXPECT_EQ(read(1, 3, 7), (std::vector<int32_t>{1, 8, 15, -1}));
  EXPECT_EQ(read(19, 4, -6), (std::vector<int32_t>{19, 13, 7, 1}));
  EXPECT_EQ(read(5, 3, 0), (std::vector<int32_t>{5, 5, 5, -1}));
  EXPECT_EQ(read(5, 1, 100), (std::vector<int32_t>{5, -1, -1, -1}));
  EXPECT_EQ(read(5, 0, 1), (std::vector<int32_t>(4, -1)));
  device_->free(memory);
}

TEST_F(DeviceCalls, MemoryIsClearedAndNothingIsWaitedFor) {
  std::vector<int32_t> words(20, 7);
  const devices::Address memory = device_->allocate(80);
  device_->write(memory, words.data(), 80);
  auto* const there = reinterpret_cast<std::byte*>(memory);  // NOLINT(performance-no-int-to-ptr)
  waits_ = 0;
  EXPECT_EQ(ingot_v1_device_clear(&context_, there + 8, 40), 0);
  EXPECT_EQ(ingot_v1_device_clear(&context_, there + 72, 0), 0);
  EXPECT_EQ(waits_, 0);
  device_->read(words.data(), memory, 80);
  for (size_t i = 0; i < words.size(); ++i) EXPECT_EQ(words[i], i >= 2 && i < 12 ? 0 : 7) << i;
  device_->free(memory);
}

TEST_F(DeviceCalls, WhatWaitsLetsGoBefore) {
  const devices::Address memory = device_->allocate(64);
  int64_t word = 7;
  device_->write(memory, &word, 8);
  auto* const there = reinterpret_cast<std::byte*>(memory);  // NOLINT(performance-no-int-to-ptr)
  EXPECT_EQ(waits_, 0);
  EXPECT_EQ(ingot_v1_device_read(&context_, &word, there, 8), 0);
  EXPECT_EQ(waits_, 1);
  void* const copy = ingot_v1_device_stage(&context_, there, 8);
  EXPECT_EQ(waits_, 2);
  EXPECT_EQ(ingot_v1_device_write_back(&context_, copy, there, 8), 0);
  EXPECT_EQ(waits_, 3);
  device_->free(memory);
}

}  // namespace
}  // namespace ingot::runtime
