#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "softgpu/machine/ptx.h"
#include "softgpu/machine/warp.h"

/// Plans of the ops that compute: of each family, the handler for an op with its types. Only the component's
/// sources include this.
namespace softgpu {

enum class Round : uint8_t { Nearest, Zero, Down, Up };

/// Instruction::flags of ops that compute.
namespace flag {
constexpr uint16_t kRound = 3;  ///< the Round
constexpr uint16_t kFtz = 4;
constexpr uint16_t kSat = 8;
constexpr uint16_t kNan = 16;        ///< min, max: NaN wins
constexpr uint16_t kSign = 32;       ///< min, max: .xorsign.abs
constexpr uint16_t kToInteger = 64;  ///< cvt between floats: to a whole number
constexpr uint16_t kNotC = 128;      ///< a predicate operand c is negated
constexpr uint16_t kRelu = 256;
}  // namespace flag

/// Kinds of operands besides their widths in bytes.
constexpr uint8_t kPredicate = 1;  ///< a Mask

/// A handler, and of each operand - the result first - the bytes of one value.
struct Plan {
  Handler run = nullptr;
  std::vector<uint8_t> widths{};
  uint16_t flags = 0;

  explicit operator bool() const { return run != nullptr; }
};

/// An op with its first and its last type.
struct Op {
  const ptx::Statement& statement;
  std::string_view name;
  ptx::Type type{};
  ptx::Type last{};

  bool has(std::string_view part) const { return statement.has(part); }
  /// .rn, .rni and so on, .ftz and .sat as flags.
  uint16_t flags() const;
};

/// Each gives no handler for what it does not know.
Plan plan_integer(const Op& op);
Plan plan_bits(const Op& op);
Plan plan_compare(const Op& op);
Plan plan_float(const Op& op);
Plan plan_packed(const Op& op);
/// To and from tf32 and floats of 8 bits.
Plan plan_convert_packed(const Op& op);
/// `to` and `from`: bytes of the registers.
Plan plan_convert(const Op& op, uint8_t to, uint8_t from);

template <class T>
constexpr uint8_t width_of = sizeof(T);

/// Plans of functions without state on the values of one thread.
template <class D, class A, class F>
Plan plan1(F) {
  return {[](Warp& w, const Instruction& i, Mask m) {
            D* const d = w.at<D>(i.d);
            const A* const a = w.get<A>(i.a);
            if (m == kAll) {
#pragma GCC ivdep
              for (uint32_t l = 0; l < kLanes; ++l) d[l] = F{}(a[l]);
            } else {
              each_lane(m, [&](uint32_t l) { d[l] = F{}(a[l]); });
            }
          },
          {width_of<D>, width_of<A>}};
}

template <class D, class A, class B, class F>
Plan plan2(F) {
  return {[](Warp& w, const Instruction& i, Mask m) {
            D* const d = w.at<D>(i.d);
            const A* const a = w.get<A>(i.a);
            const B* const b = w.get<B>(i.b);
            if (m == kAll) {
#pragma GCC ivdep
              for (uint32_t l = 0; l < kLanes; ++l) d[l] = F{}(a[l], b[l]);
            } else {
              each_lane(m, [&](uint32_t l) { d[l] = F{}(a[l], b[l]); });
            }
          },
          {width_of<D>, width_of<A>, width_of<B>}};
}

template <class D, class A, class B, class C, class F>
Plan plan3(F) {
  return {[](Warp& w, const Instruction& i, Mask m) {
            D* const d = w.at<D>(i.d);
            const A* const a = w.get<A>(i.a);
            const B* const b = w.get<B>(i.b);
            const C* const c = w.get<C>(i.c);
            if (m == kAll) {
#pragma GCC ivdep
              for (uint32_t l = 0; l < kLanes; ++l) d[l] = F{}(a[l], b[l], c[l]);
            } else {
              each_lane(m, [&](uint32_t l) { d[l] = F{}(a[l], b[l], c[l]); });
            }
          },
          {width_of<D>, width_of<A>, width_of<B>, width_of<C>}};
}

}  // namespace softgpu
