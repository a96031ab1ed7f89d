#include "codegen/targets/opencl_helpers.h"

#include "base/error.h"

namespace ingot::codegen {

namespace {

struct Helper {
  const char* name;
  const char* text;
};

/// A function calls only those above it.
constexpr Helper kHelpers[] = {
    {"ingot_barrier", R"(
void ingot_barrier(void) { barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); }
)"},
    {"ingot_fence", R"(
void ingot_fence(void) { mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); }
)"},
    {"ingot_from_half", R"(
float ingot_from_half(ushort h) {
  uint s = (uint)(h & 0x8000) << 16, e = (h >> 10) & 31, m = h & 0x3ff;
  if (e == 31) return as_float(s | 0x7f800000 | (m != 0 ? 0x400000 | m << 13 : 0));
  if (e == 0) return as_float(s | as_uint((float)m * 0x1p-24f));
  return as_float(s | (e + 112) << 23 | m << 13);
}
)"},
    {"ingot_to_half", R"(
ushort ingot_to_half(double x) {
  ulong b = as_ulong(x);
  ulong s = (b >> 48) & 0x8000;
  b &= 0x7fffffffffffffffUL;
  if (b > 0x7ff0000000000000UL) return (ushort)(s | 0x7e00 | ((b >> 42) & 0x3ff));
  int e = (int)(b >> 52) - 1023;
  if (e >= 16) return (ushort)(s | 0x7c00);
  if (e < -25) return (ushort)s;
  ulong m = (b & 0xfffffffffffffUL) | 0x10000000000000UL;
  int n = e < -14 ? 28 - e : 42;
  ulong q = m >> n, rest = m & ((1UL << n) - 1), half_way = 1UL << (n - 1);
  if (rest > half_way || (rest == half_way && (q & 1) != 0)) ++q;
  return (ushort)(s | (e < -14 ? q : ((ulong)(e + 14) << 10) + q));
}
)"},
    {"ingot_class", R"(
uint ingot_class(ulong b, int digits, int exponents) {
  ulong fraction = b & ((1UL << digits) - 1), top = (1UL << exponents) - 1, e = (b >> digits) & top;
  bool minus = (b >> (digits + exponents)) != 0;
  if (e == top && fraction != 0) return fraction >> (digits - 1) != 0 ? 2 : 1;
  if (e == top) return minus ? 4 : 512;
  if (e != 0) return minus ? 8 : 256;
  if (fraction != 0) return minus ? 16 : 128;
  return minus ? 32 : 64;
}
)"},
    {"ingot_wide", R"(
ulong2 ingot_wide_add(ulong2 a, ulong2 b) {
  ulong low = a.x + b.x;
  return (ulong2)(low, a.y + b.y + (low < a.x ? 1 : 0));
}
ulong2 ingot_wide_sub(ulong2 a, ulong2 b) { return (ulong2)(a.x - b.x, a.y - b.y - (a.x < b.x ? 1 : 0)); }
ulong2 ingot_wide_mul(ulong2 a, ulong2 b) {
  return (ulong2)(a.x * b.x, mul_hi(a.x, b.x) + a.x * b.y + a.y * b.x);
}
ulong2 ingot_wide_shl(ulong2 a, ulong2 b) {
  uint n = (uint)b.x & 127;
  if (n == 0) return a;
  if (n >= 64) return (ulong2)(0, a.x << (n - 64));
  return (ulong2)(a.x << n, a.y << n | a.x >> (64 - n));
}
ulong2 ingot_wide_shr(ulong2 a, ulong2 b, ulong above) {
  uint n = (uint)b.x & 127;
  if (n == 0) return a;
  if (n == 64) return (ulong2)(a.y, above);
  if (n > 64) return (ulong2)(a.y >> (n - 64) | above << (128 - n), above);
  return (ulong2)(a.x >> n | a.y << (64 - n), a.y >> n | above << (64 - n));
}
ulong2 ingot_wide_lshr(ulong2 a, ulong2 b) { return ingot_wide_shr(a, b, 0); }
ulong2 ingot_wide_ashr(ulong2 a, ulong2 b) { return ingot_wide_shr(a, b, (ulong)((long)a.y >> 63)); }
ulong2 ingot_wide_and(ulong2 a, ulong2 b) { return a & b; }
ulong2 ingot_wide_or(ulong2 a, ulong2 b) { return a | b; }
ulong2 ingot_wide_xor(ulong2 a, ulong2 b) { return a ^ b; }
bool ingot_wide_eq(ulong2 a, ulong2 b) { return a.x == b.x && a.y == b.y; }
bool ingot_wide_ult(ulong2 a, ulong2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }
bool ingot_wide_slt(ulong2 a, ulong2 b) {
  return (long)a.y < (long)b.y || (a.y == b.y && a.x < b.x);
}
)"},
};

/// Where 64-bit atomics are functions of an extension.
constexpr const char* kHead = R"(#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#pragma OPENCL FP_CONTRACT OFF
)";

}  // namespace

std::string opencl_head() { return kHead; }

std::string opencl_helpers(const std::set<std::string>& names) {
  std::string text;
  size_t found = 0;
  for (const Helper& helper : kHelpers) {
    if (!names.contains(helper.name)) continue;
    text += helper.text + 1;  // after the line's end
    ++found;
  }
  INGOT_ASSERT(found == names.size(), "codegen: a helper of OpenCL C");
  return text;
}

}  // namespace ingot::codegen
