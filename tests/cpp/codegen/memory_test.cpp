#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <numeric>

#include "run.h"

namespace ingot::codegen {
namespace {

TEST(Memory, LoadsAndStoresStridedMisalignedElements) {
  Program p(R"(func @f(%x: view<c128, 2>, %y: view<c128, 2>) -> () {
  %n = length %x {axis=0} : i64
  %m = length %x {axis=1} : i64
  for %n {schedule=serial, width=0} {
  ^(%i: i64):
    for %m {schedule=serial, width=0} {
    ^(%j: i64):
      %a = load %x, %i, %j : c128
      %b = conjugate %a : c128
      store %y, %i, %j, %b
      yield
    }
    yield
  }
  return
})");
  std::array<std::byte, 1 + 16 * 12> in{};
  std::array<std::complex<double>, 6> out{};
  for (size_t i = 0; i < 12; ++i) {
    const std::complex<double> z(static_cast<double>(i), 0.5);
    std::memcpy(in.data() + 1 + 16 * i, &z, 16);
  }
  ViewArgument x(in.data(), {2, 3}, 16);
  x.slot.data = in.data() + 1 + 16 * 11;
  x.extent[2] = -96;
  x.extent[3] = -32;
  ViewArgument y(out.data(), {2, 3}, 16);
  ASSERT_EQ(p.call({&x.slot, &y.slot}), 0);
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(out[i], std::complex<double>(11.0 - 2.0 * static_cast<double>(i), -0.5));
}

TEST(Memory, BoolsAreBytes) {
  Program p(R"(func @f(%x: view<bool, 1>, %i: i64) -> (bool) {
  %a = load %x, %i : bool
  %b = invert %a : bool
  store %x, %i, %b
  return %a
})");
  std::array<uint8_t, 2> data = {1, 0};
  ViewArgument x(data.data(), {2}, 1);
  for (int64_t i : {0, 1}) {
    uint8_t result = 7;
    ASSERT_EQ(p.call({&x.slot, &i, &result}), 0);
    EXPECT_EQ(result, 1 - i);
    EXPECT_EQ(data[static_cast<size_t>(i)], i);
  }
}

const char* const kAllocate = R"(func @f(%n: i64) -> (view<f32, 1>, buffer, i64) {
  %size = constant 4 : i64
  %zero = constant 0 : i64
  %bytes = multiply %n, %size : i64
  %buffer = alloc %bytes {life=call} : buffer
  %v = view %buffer, %zero, %n, %size : view<f32, 1>
  for %n {schedule=serial, width=0} {
  ^(%i: i64):
    %x = cast %i : f32
    store %v, %i, %x
    yield
  }
  %one = constant 1 : i64
  %less = subtract %n, %one : i64
  %tail = view %buffer, %size, %less, %size : view<f32, 1>
  %same = buffer %tail : buffer
  %offset = offset %tail : i64
  return %tail, %same, %offset
})";

TEST(Memory, ResultsViewWhatWasAllocated) {
  Program p(kAllocate);
  runtime::Call call(p.context);
  int64_t n = 100000;
  ViewArgument view;
  runtime::Buffer* buffer = nullptr;
  int64_t offset = 0;
  std::vector<void*> slots = {&n, &view.slot, &buffer, &offset};
  ASSERT_EQ(call.run(p.f.entry, slots.data()), 0);
  EXPECT_EQ(view.extent[0], n - 1);
  EXPECT_EQ(view.extent[1], 4);
  EXPECT_EQ(offset, 4);
  EXPECT_EQ(view.slot.buffer, buffer);
  const runtime::OwnedBuffer owned = call.take(buffer);
  ASSERT_NE(owned, nullptr);
  for (int64_t i = 0; i < n - 1; ++i)
    EXPECT_EQ(reinterpret_cast<float*>(view.slot.data)[i], static_cast<float>(i + 1));
}

TEST(Memory, AllocationsThatFailRaiseMemoryError) {
  Program p(kAllocate);
  for (int64_t n : {int64_t{-1}, int64_t{1} << 60}) {
    ViewArgument view;
    runtime::Buffer* buffer = nullptr;
    int64_t offset = 0;
    EXPECT_EQ(p.call({&n, &view.slot, &buffer, &offset}),
              runtime::status_of(base::ExceptionKind::MemoryError));
    EXPECT_EQ(p.message(),
              "Unable to allocate an array with shape (" + std::to_string(n) + ",) and data type float32");
  }
}

TEST(Memory, CopiesAsIfThroughATemporary) {
  Program p(R"(func @f(%x: view<i16, 1>, %y: view<i16, 1>) -> () {
  copy %x, %y
  return
})");
  std::array<int16_t, 8> data{};
  std::iota(data.begin(), data.end(), int16_t{0});
  ViewArgument to(data.data(), {8}, 2);
  ViewArgument from(data.data(), {8}, 2);
  from.slot.data = reinterpret_cast<std::byte*>(&data[7]);
  from.extent[1] = -2;
  ASSERT_EQ(p.call({&to.slot, &from.slot}), 0);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(data[static_cast<size_t>(i)], 7 - i);
  std::array<int16_t, 8> other{};
  ViewArgument disjoint(other.data(), {8}, 2);
  ASSERT_EQ(p.call({&disjoint.slot, &from.slot}), 0);
  EXPECT_EQ(other[0], 0);
  EXPECT_EQ(other[7], 7);
}

TEST(Memory, DistancesAreBetweenFirstElements) {
  Program p(R"(func @f(%x: view<i16, 1>, %y: view<f64, 1>) -> (i64, i64, i64) {
  %there = distance %x, %y : i64
  %back = distance %y, %x : i64
  %none = distance %x, %x : i64
  return %there, %back, %none
})");
  std::array<double, 8> data{};
  ViewArgument x(reinterpret_cast<int16_t*>(data.data()) + 3, {2}, 2);
  ViewArgument y(&data[5], {3}, 8);
  int64_t there = 0;
  int64_t back = 0;
  int64_t none = 1;
  ASSERT_EQ(p.call({&x.slot, &y.slot, &there, &back, &none}), 0);
  EXPECT_EQ(there, 34);
  EXPECT_EQ(back, -34);
  EXPECT_EQ(none, 0);
}

TEST(Memory, SwappedBuffersKeepTheirIdentity) {
  Program p(R"(func @f(%x: view<f64, 1>, %y: view<f64, 1>, %n: i64) -> (bool, f64) {
  %a, %b = for %n, %x, %y {schedule=serial, width=0} : (view<f64, 1>, view<f64, 1>) {
  ^(%k: i64, %u: view<f64, 1>, %v: view<f64, 1>):
    yield %v, %u
  }
  %bx = buffer %x : buffer
  %ba = buffer %a : buffer
  %same = same_object %bx, %ba : bool
  %zero = constant 0 : i64
  %r = load %a, %zero : f64
  return %same, %r
})");
  double one = 1;
  double two = 2;
  ViewArgument x(&one, {1}, 8);
  ViewArgument y(&two, {1}, 8);
  for (int64_t n : {0, 1, 2, 3}) {
    uint8_t same = 9;
    double result = 0;
    ASSERT_EQ(p.call({&x.slot, &y.slot, &n, &same, &result}), 0);
    EXPECT_EQ(same, n % 2 == 0);
    EXPECT_EQ(result, n % 2 == 0 ? 1 : 2);
  }
}

}  // namespace
}  // namespace ingot::codegen
