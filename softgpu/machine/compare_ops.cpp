#include <algorithm>
#include <array>
#include <cmath>

#include "softgpu/machine/floats.h"

// setp and set: comparisons, combined with a predicate.

namespace softgpu {

namespace {

/// The combination of a comparison with a predicate; bits 9 and 10 of the flags.
constexpr uint16_t kAnd = 1 << 9;
constexpr uint16_t kOr = 2 << 9;
constexpr uint16_t kXor = 3 << 9;

Mask combined(Mask value, Mask with, uint16_t flags) {
  if ((flags & kXor) == kXor) return value ^ with;
  if ((flags & kXor) == kOr) return value | with;
  return value & with;
}

/// What `set` gives where the comparison holds; its index is at bit 9 of the flags.
struct Truth {
  ptx::Type type;
  uint32_t bits;
};
constexpr int kTruthShift = 9;
const std::array kTruths = {Truth{{'f', 32}, 0x3F800000}, Truth{{'f', 16}, 0x3C00}, Truth{{'h', 16}, 0x3F80},
                            Truth{{'s', 32}, UINT32_MAX}, Truth{{'s', 16}, UINT16_MAX}};

template <class T, class F>
Mask compared_lanes(Warp& w, const Instruction& i, Mask m) {
  const T* const a = w.get<T>(i.a);
  const T* const b = w.get<T>(i.b);
  Mask result = 0;
  if (m == kAll) {
    for (uint32_t l = 0; l < kLanes; ++l) result |= static_cast<Mask>(F{}(a[l], b[l])) << l;
  } else {
    each_lane(m, [&](uint32_t l) { result |= static_cast<Mask>(F{}(a[l], b[l])) << l; });
  }
  return result;
}

void put_predicate(Warp& w, const Instruction& i, Mask m, Mask result) {
  Mask opposite = ~result;
  if ((i.flags & kXor) != 0) {
    const Mask with = *w.get<Mask>(i.c) ^ ((i.flags & flag::kNotC) != 0 ? kAll : 0);
    opposite = combined(opposite, with, i.flags);
    result = combined(result, with, i.flags);
  }
  if (i.d != kNoSlot) {
    Mask* const d = w.at<Mask>(i.d);
    *d = (*d & ~m) | (result & m);
  }
  if (i.e != kNoSlot) {
    Mask* const e = w.at<Mask>(i.e);
    *e = (*e & ~m) | (opposite & m);
  }
}

void put_value(Warp& w, const Instruction& i, Mask m, Mask result) {
  const Truth& truth = kTruths.at(i.flags >> kTruthShift);
  each_lane(m, [&](uint32_t l) {
    const uint32_t bits = (result >> l & 1) != 0 ? truth.bits : 0;
    if (truth.type.bits == 32) w.at<uint32_t>(i.d)[l] = bits;
    else w.at<uint16_t>(i.d)[l] = static_cast<uint16_t>(bits);
  });
}

template <class T, class F, void (*kPut)(Warp&, const Instruction&, Mask, Mask)>
void compare(Warp& w, const Instruction& i, Mask m) {
  kPut(w, i, m, compared_lanes<T, F>(w, i, m));
}

template <class T, class F>
Plan plan_with(const Op& op, F) {
  constexpr uint8_t kBytes = sizeof(T);
  if (op.name == "setp") {
    uint16_t flags = 0;
    if (op.has("and")) flags = kAnd;
    if (op.has("or")) flags = kOr;
    if (op.has("xor")) flags = kXor;
    Plan plan{compare<T, F, put_predicate>, {kPredicate, kBytes, kBytes}, flags};
    if (flags != 0) plan.widths.push_back(kPredicate);
    return plan;
  }
  if (op.type.packed) return {};
  const ptx::Type type{op.type.is_float() ? op.type.kind : 's', op.type.bits};
  const auto truth = std::ranges::find(kTruths, type, &Truth::type);
  if (truth == kTruths.end()) return {};
  const auto index = static_cast<uint16_t>(truth - kTruths.begin());
  return {compare<T, F, put_value>,
          {static_cast<uint8_t>(type.bits / 8), kBytes, kBytes},
          static_cast<uint16_t>(index << kTruthShift)};
}

template <class T>
Plan integer_plan(const Op& op) {
  if (op.has("eq")) return plan_with<T>(op, [](T a, T b) { return a == b; });
  if (op.has("ne")) return plan_with<T>(op, [](T a, T b) { return a != b; });
  if (op.has("lt") || op.has("lo")) return plan_with<T>(op, [](T a, T b) { return a < b; });
  if (op.has("le") || op.has("ls")) return plan_with<T>(op, [](T a, T b) { return a <= b; });
  if (op.has("gt") || op.has("hi")) return plan_with<T>(op, [](T a, T b) { return a > b; });
  if (op.has("ge") || op.has("hs")) return plan_with<T>(op, [](T a, T b) { return a >= b; });
  return {};
}

/// A number as it is compared.
template <class T, bool kFtz>
auto compared(T a) {
  if constexpr (kFtz) return flushed(number(a));
  return number(a);
}

template <class T, bool kFtz>
Plan float_plan(const Op& op) {
  static constexpr auto v = [](T a) { return compared<T, kFtz>(a); };
  if (op.has("eq")) return plan_with<T>(op, [](T a, T b) { return v(a) == v(b); });
  if (op.has("ne")) return plan_with<T>(op, [](T a, T b) { return v(a) < v(b) || v(a) > v(b); });
  if (op.has("lt")) return plan_with<T>(op, [](T a, T b) { return v(a) < v(b); });
  if (op.has("le")) return plan_with<T>(op, [](T a, T b) { return v(a) <= v(b); });
  if (op.has("gt")) return plan_with<T>(op, [](T a, T b) { return v(a) > v(b); });
  if (op.has("ge")) return plan_with<T>(op, [](T a, T b) { return v(a) >= v(b); });
  if (op.has("equ")) return plan_with<T>(op, [](T a, T b) { return !(v(a) < v(b) || v(a) > v(b)); });
  if (op.has("neu")) return plan_with<T>(op, [](T a, T b) { return v(a) != v(b); });
  if (op.has("ltu")) return plan_with<T>(op, [](T a, T b) { return !(v(a) >= v(b)); });
  if (op.has("leu")) return plan_with<T>(op, [](T a, T b) { return !(v(a) > v(b)); });
  if (op.has("gtu")) return plan_with<T>(op, [](T a, T b) { return !(v(a) <= v(b)); });
  if (op.has("geu")) return plan_with<T>(op, [](T a, T b) { return !(v(a) < v(b)); });
  if (op.has("num")) return plan_with<T>(op, [](T a, T b) { return v(a) == v(a) && v(b) == v(b); });
  if (op.has("nan")) return plan_with<T>(op, [](T a, T b) { return v(a) != v(a) || v(b) != v(b); });
  return {};
}

}  // namespace

Plan plan_compare(const Op& op) {
  const ptx::Type type = op.last;
  if (op.name != "setp" && op.name != "set") return {};
  if (op.name == "set" && (op.has("and") || op.has("or") || op.has("xor"))) return {};
  if (type.packed) return {};
  if (type.kind == 'f') {
    if (type.bits == 64) return float_plan<double, false>(op);
    if (type.bits == 16) return float_plan<F16, false>(op);
    return op.has("ftz") ? float_plan<float, true>(op) : float_plan<float, false>(op);
  }
  if (type.kind == 'h') return float_plan<BF16, false>(op);
  const bool is_signed = type.kind == 's';
  switch (type.bits) {
    case 16: return is_signed ? integer_plan<int16_t>(op) : integer_plan<uint16_t>(op);
    case 32: return is_signed ? integer_plan<int32_t>(op) : integer_plan<uint32_t>(op);
    case 64: return is_signed ? integer_plan<int64_t>(op) : integer_plan<uint64_t>(op);
    default: return {};
  }
}

}  // namespace softgpu
