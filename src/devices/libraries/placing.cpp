#include "devices/libraries/placing.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "devices/cuda_device.h"

namespace ingot::devices {

namespace {

// One thread for each element. Matrices: element i of rows * columns, of `words` words of 32 bits.
constexpr const char* kText = R"(.version 7.0
.target sm_75
.address_size 64
.visible .entry place(.param .u64 to, .param .s64 to_row, .param .s64 to_column, .param .u64 from,
  .param .s64 from_row, .param .s64 from_column, .param .s64 count, .param .s64 columns,
  .param .s64 low, .param .s64 high, .param .u32 words)
{
  .reg .pred %p<5>; .reg .b32 %r<8>; .reg .b64 %d<20>;
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mul.wide.u32 %d1, %r1, %r2; cvt.u64.u32 %d2, %r3; add.s64 %d1, %d1, %d2;
  ld.param.s64 %d3, [count]; setp.ge.s64 %p1, %d1, %d3; @%p1 ret;
  ld.param.s64 %d4, [columns]; div.s64 %d5, %d1, %d4;
  mul.lo.s64 %d6, %d5, %d4; sub.s64 %d6, %d1, %d6;
  ld.param.u64 %d7, [to]; ld.param.s64 %d8, [to_row]; ld.param.s64 %d9, [to_column];
  mad.lo.s64 %d7, %d5, %d8, %d7; mad.lo.s64 %d7, %d6, %d9, %d7;
  ld.param.u64 %d10, [from]; ld.param.s64 %d11, [from_row]; ld.param.s64 %d12, [from_column];
  mad.lo.s64 %d10, %d5, %d11, %d10; mad.lo.s64 %d10, %d6, %d12, %d10;
  sub.s64 %d13, %d6, %d5; ld.param.s64 %d14, [low]; ld.param.s64 %d15, [high];
  setp.ge.s64 %p2, %d13, %d14; setp.le.and.s64 %p3, %d13, %d15, %p2;
  ld.param.u32 %r4, [words]; mov.u32 %r5, 0;
again:
  mov.u32 %r6, 0;
  @%p3 ld.global.u32 %r6, [%d10];
  st.global.u32 [%d7], %r6;
  add.s64 %d7, %d7, 4; add.s64 %d10, %d10, 4; add.u32 %r5, %r5, 1;
  setp.lt.u32 %p4, %r5, %r4; @%p4 bra again;
  ret;
}
.visible .entry multiply32(.param .u64 elements, .param .s64 count, .param .u64 factor)
{
  .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %d<6>; .reg .f32 %f<3>;
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mul.wide.u32 %d1, %r1, %r2; cvt.u64.u32 %d2, %r3; add.s64 %d1, %d1, %d2;
  ld.param.s64 %d3, [count]; setp.ge.s64 %p1, %d1, %d3; @%p1 ret;
  ld.param.u64 %d4, [elements]; shl.b64 %d1, %d1, 2; add.s64 %d4, %d4, %d1; ld.param.u64 %d5, [factor];
  ld.global.f32 %f1, [%d4]; ld.global.f32 %f2, [%d5]; mul.rn.f32 %f1, %f1, %f2; st.global.f32 [%d4], %f1;
  ret;
}
.visible .entry multiply64(.param .u64 elements, .param .s64 count, .param .u64 factor)
{
  .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %d<6>; .reg .f64 %f<3>;
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mul.wide.u32 %d1, %r1, %r2; cvt.u64.u32 %d2, %r3; add.s64 %d1, %d1, %d2;
  ld.param.s64 %d3, [count]; setp.ge.s64 %p1, %d1, %d3; @%p1 ret;
  ld.param.u64 %d4, [elements]; shl.b64 %d1, %d1, 3; add.s64 %d4, %d4, %d1; ld.param.u64 %d5, [factor];
  ld.global.f64 %f1, [%d4]; ld.global.f64 %f2, [%d5]; mul.rn.f64 %f1, %f1, %f2; st.global.f64 [%d4], %f1;
  ret;
}
)";

constexpr int64_t kBlock = 256;

Launch launch_of(int64_t count) {
  const int64_t blocks = (count + kBlock - 1) / kBlock;
  if (blocks > INT32_MAX) throw DeviceError("a matrix of more elements than a launch has threads");
  return {.grid = {static_cast<uint32_t>(blocks), 1, 1}, .block = {kBlock, 1, 1}};
}

}  // namespace

DeviceView columns(base::DType dtype, Address data, int64_t rows, int64_t columns) {
  const auto size = static_cast<int64_t>(base::size_of(dtype));
  return {dtype, data, {rows, columns}, {size, size * std::max<int64_t>(rows, 1)}};
}

DeviceView vector(base::DType dtype, Address data, int64_t length) {
  return {dtype, data, {length}, {static_cast<int64_t>(base::size_of(dtype))}};
}

DeviceView as_column(const DeviceView& vector) {
  return {vector.dtype, vector.data, {vector.lengths[0], 1}, {vector.strides[0], 0}};
}

void Placing::place(const DeviceView& to, const DeviceView& from, Band band) {
  INGOT_ASSERT(to.rank() == 2 && from.rank() == 2 && to.lengths == from.lengths,
               "placing: matrices of the same lengths");
  INGOT_ASSERT(to.element() == from.element() && to.element() % 4 == 0, "placing: elements of whole words");
  int64_t count = to.size();
  if (count == 0) return;
  Address to_data = to.data;
  Address from_data = from.data;
  std::array<int64_t, 4> strides = {to.strides[0], to.strides[1], from.strides[0], from.strides[1]};
  int64_t columns = to.lengths[1];
  auto words = static_cast<uint32_t>(to.element() / 4);
  void* const arguments[] = {&to_data, &strides[0], &strides[1], &from_data, &strides[2], &strides[3],
                             &count,   &columns,    &band.low,   &band.high, &words};
  device_.launch(kernel("place"), launch_of(count), arguments);
}

void Placing::multiply(Address elements, int64_t count, base::DType dtype, Address factor) {
  if (count == 0) return;
  void* const arguments[] = {&elements, &count, &factor};
  device_.launch(kernel(dtype == base::DType::Float32 ? "multiply32" : "multiply64"), launch_of(count),
                 arguments);
}

const Kernel& Placing::kernel(const char* name) {
  const std::lock_guard lock(mutex_);
  if (!code_) code_ = device_.load(kText);
  return code_->kernel(name);
}

void Placing::abandon() noexcept {
  const std::lock_guard lock(mutex_);
  code_.reset();
}

}  // namespace ingot::devices
