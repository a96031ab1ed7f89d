#include <algorithm>
#include <limits>
#include <type_traits>

#include "softgpu/machine/plan.h"

// Integer arithmetic.

namespace softgpu {

namespace {

template <class T>
struct WiderOf;
template <>
struct WiderOf<uint16_t> {
  using type = uint32_t;
};
template <>
struct WiderOf<int16_t> {
  using type = int32_t;
};
template <>
struct WiderOf<uint32_t> {
  using type = uint64_t;
};
template <>
struct WiderOf<int32_t> {
  using type = int64_t;
};
template <>
struct WiderOf<uint64_t> {
  using type = unsigned __int128;
};
template <>
struct WiderOf<int64_t> {
  using type = __int128;
};
template <class T>
using Wider = typename WiderOf<T>::type;
template <class T>
using Bits = std::make_unsigned_t<T>;

/// Calls `f` with a value of the C++ type of an integer type.
template <class F>
Plan by_type(ptx::Type type, F f) {
  if (type.packed) return {};
  const bool is_signed = type.kind == 's';
  switch (type.bits) {
    case 16: return is_signed ? f(int16_t{}) : f(uint16_t{});
    case 32: return is_signed ? f(int32_t{}) : f(uint32_t{});
    case 64: return is_signed ? f(int64_t{}) : f(uint64_t{});
    default: return {};
  }
}

template <class T>
T high_product(T a, T b) {
  return static_cast<T>((static_cast<Wider<T>>(a) * static_cast<Wider<T>>(b)) >> (8 * sizeof(T)));
}

template <class T>
T low_product(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

template <class T>
T sum(T a, T b) {
  return static_cast<T>(static_cast<Bits<T>>(a) + static_cast<Bits<T>>(b));
}

template <class T>
T difference(T a, T b) {
  return static_cast<T>(static_cast<Bits<T>>(a) - static_cast<Bits<T>>(b));
}

template <class T>
T saturated(int64_t value) {
  return static_cast<T>(
      std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}

template <class T>
T quotient(T a, T b) {
  if (b == 0) return static_cast<T>(~Bits<T>{0});
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return difference(T{0}, a);
  return static_cast<T>(a / b);
}

template <class T>
T remainder(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return static_cast<T>(a % b);
}

Plan plan_sum(const Op& op) {
  const bool adds = op.name == "add";
  if (op.has("sat")) {
    if (op.type != ptx::Type{'s', 32}) return {};
    if (adds)
      return plan2<int32_t, int32_t, int32_t>(
          [](int32_t a, int32_t b) { return saturated<int32_t>(int64_t{a} + b); });
    return plan2<int32_t, int32_t, int32_t>(
        [](int32_t a, int32_t b) { return saturated<int32_t>(int64_t{a} - b); });
  }
  return by_type(op.type, [&]<class T>(T) {
    return adds ? plan2<T, T, T>([](T a, T b) { return sum(a, b); })
                : plan2<T, T, T>([](T a, T b) { return difference(a, b); });
  });
}

Plan plan_product(const Op& op) {
  const bool has_sum = op.name == "mad";
  return by_type(op.type, [&]<class T>(T) -> Plan {
    using W = Wider<T>;
    if (op.has("wide")) {
      if constexpr (sizeof(T) == 8) {
        return {};
      } else {
        if (has_sum)
          return plan3<W, T, T, W>(
              [](T a, T b, W c) { return sum(static_cast<W>(static_cast<W>(a) * static_cast<W>(b)), c); });
        return plan2<W, T, T>([](T a, T b) { return static_cast<W>(static_cast<W>(a) * static_cast<W>(b)); });
      }
    }
    if (op.has("hi"))
      return has_sum ? plan3<T, T, T, T>([](T a, T b, T c) { return sum(high_product(a, b), c); })
                     : plan2<T, T, T>([](T a, T b) { return high_product(a, b); });
    if (!op.has("lo") || op.has("sat")) return {};
    return has_sum ? plan3<T, T, T, T>([](T a, T b, T c) { return sum(low_product(a, b), c); })
                   : plan2<T, T, T>([](T a, T b) { return low_product(a, b); });
  });
}

template <class T>
T low24(T a) {
  return static_cast<T>(static_cast<T>(static_cast<Bits<T>>(a) << 8) >> 8);
}

Plan plan_24(const Op& op) {
  return by_type(op.type, [&]<class T>(T) -> Plan {
    if constexpr (sizeof(T) != 4) {
      return {};
    } else {
      using W = Wider<T>;
      static constexpr auto product = [](T a, T b) {
        return static_cast<W>(static_cast<W>(low24(a)) * static_cast<W>(low24(b)));
      };
      const bool high = op.has("hi");
      if (op.name == "mul24")
        return high ? plan2<T, T, T>([](T a, T b) { return static_cast<T>(product(a, b) >> 16); })
                    : plan2<T, T, T>([](T a, T b) { return static_cast<T>(product(a, b)); });
      return high ? plan3<T, T, T, T>(
                        [](T a, T b, T c) { return sum(static_cast<T>(product(a, b) >> 16), c); })
                  : plan3<T, T, T, T>([](T a, T b, T c) { return sum(static_cast<T>(product(a, b)), c); });
    }
  });
}

/// |a - b| + c
Plan plan_sad(const Op& op) {
  return by_type(op.type, []<class T>(T) {
    return plan3<T, T, T, T>(
        [](T a, T b, T c) { return sum(c, a < b ? difference(b, a) : difference(a, b)); });
  });
}

/// add.cc, addc and so on: the carry of each thread is the bit of a predicate, operand c; it is the last
/// operand.
template <bool kSubtracts, bool kTakes, bool kSets, class T>
void with_carry(Warp& w, const Instruction& i, Mask m) {
  T* const d = w.at<T>(i.d);
  const T* const a = w.get<T>(i.a);
  const T* const b = w.get<T>(i.b);
  Mask* const carry = w.at<Mask>(i.c);
  each_lane(m, [&](uint32_t l) {
    const T in = kTakes ? static_cast<T>((*carry >> l) & 1) : T{0};
    T result;
    bool first, second;
    if constexpr (kSubtracts) {
      first = __builtin_sub_overflow(a[l], b[l], &result);
      second = __builtin_sub_overflow(result, in, &result);
    } else {
      first = __builtin_add_overflow(a[l], b[l], &result);
      second = __builtin_add_overflow(result, in, &result);
    }
    d[l] = result;
    if (kSets) *carry = (*carry & ~(Mask{1} << l)) | (static_cast<Mask>(first || second) << l);
  });
}

template <class T>
Handler carry_handler(bool subtracts, bool takes, bool sets) {
  if (subtracts) {
    if (takes) return sets ? with_carry<true, true, true, T> : with_carry<true, true, false, T>;
    return with_carry<true, false, true, T>;
  }
  if (takes) return sets ? with_carry<false, true, true, T> : with_carry<false, true, false, T>;
  return with_carry<false, false, true, T>;
}

/// mad.cc and madc: the carry of each thread is the bit of operand e.
template <bool kHigh, bool kTakes, bool kSets, class T>
void product_with_carry(Warp& w, const Instruction& i, Mask m) {
  Mask* const carry = w.at<Mask>(i.e);
  each_lane(m, [&](uint32_t l) {
    const T a = w.get<T>(i.a)[l], b = w.get<T>(i.b)[l];
    const T product = kHigh ? high_product(a, b) : low_product(a, b);
    const auto in = static_cast<Bits<T>>(kTakes ? (*carry >> l) & 1 : 0);
    Bits<T> result;
    const bool first = __builtin_add_overflow(static_cast<Bits<T>>(product),
                                              static_cast<Bits<T>>(w.get<T>(i.c)[l]), &result);
    const bool second = __builtin_add_overflow(result, in, &result);
    w.at<T>(i.d)[l] = static_cast<T>(result);
    if (kSets) *carry = (*carry & ~(Mask{1} << l)) | (static_cast<Mask>(first || second) << l);
  });
}

template <bool kHigh, class T>
Handler product_carry_handler(bool takes, bool sets) {
  if (takes)
    return sets ? product_with_carry<kHigh, true, true, T> : product_with_carry<kHigh, true, false, T>;
  return product_with_carry<kHigh, false, true, T>;
}

Plan plan_product_carry(const Op& op) {
  return by_type(op.type, [&]<class T>(T) -> Plan {
    const bool takes = op.name == "madc";
    constexpr uint8_t kBytes = sizeof(T);
    const Handler run = op.has("hi") ? product_carry_handler<true, T>(takes, op.has("cc"))
                                     : product_carry_handler<false, T>(takes, op.has("cc"));
    return {run, {kBytes, kBytes, kBytes, kBytes, kPredicate}};
  });
}

Plan plan_carry(const Op& op) {
  const bool takes = op.name == "addc" || op.name == "subc";
  const bool subtracts = op.name.starts_with("sub");
  Plan plan;
  if (op.type.bits == 32) plan.run = carry_handler<uint32_t>(subtracts, takes, op.has("cc"));
  if (op.type.bits == 64) plan.run = carry_handler<uint64_t>(subtracts, takes, op.has("cc"));
  const auto bytes = static_cast<uint8_t>(op.type.bytes());
  plan.widths = {bytes, bytes, bytes, kPredicate};
  return plan;
}

template <class T>
T shortened_left(T a, uint32_t n) {
  return n >= 8 * sizeof(T) ? T{0} : static_cast<T>(static_cast<Bits<T>>(a) << n);
}

template <class T>
T shifted_right(T a, uint32_t n) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  if (std::is_signed_v<T>) return static_cast<T>(a >> std::min(n, kBits - 1));
  return n >= kBits ? T{0} : static_cast<T>(a >> n);
}

Plan plan_shift(const Op& op) {
  const bool left = op.name == "shl";
  return by_type(op.type, [&]<class T>(T) {
    return left ? plan2<T, T, uint32_t>([](T a, uint32_t n) { return shortened_left(a, n); })
                : plan2<T, T, uint32_t>([](T a, uint32_t n) { return shifted_right(a, n); });
  });
}

Plan plan_pairs(const Op& op) {
  const std::string_view name = op.name;
  return by_type(op.type, [&]<class T>(T) -> Plan {
    if (name == "div") return plan2<T, T, T>([](T a, T b) { return quotient(a, b); });
    if (name == "rem") return plan2<T, T, T>([](T a, T b) { return remainder(a, b); });
    if (name == "min") return plan2<T, T, T>([](T a, T b) { return std::min(a, b); });
    if (name == "max") return plan2<T, T, T>([](T a, T b) { return std::max(a, b); });
    if (name == "abs") return plan1<T, T>([](T a) { return a < T{0} ? difference(T{0}, a) : a; });
    if (name == "neg") return plan1<T, T>([](T a) { return difference(T{0}, a); });
    return {};
  });
}

}  // namespace

Plan plan_integer(const Op& op) {
  if (op.type.kind != 's' && op.type.kind != 'u' && op.type.kind != 'b') return {};
  if (((op.name == "add" || op.name == "sub") && op.has("cc")) || op.name == "addc" || op.name == "subc")
    return plan_carry(op);
  if (op.name == "madc" || (op.name == "mad" && op.has("cc"))) return plan_product_carry(op);
  if (op.name == "add" || op.name == "sub") return plan_sum(op);
  if (op.name == "mul" || op.name == "mad") return plan_product(op);
  if (op.name == "mul24" || op.name == "mad24") return plan_24(op);
  if (op.name == "sad") return plan_sad(op);
  if (op.name == "shl" || op.name == "shr") return plan_shift(op);
  return plan_pairs(op);
}

}  // namespace softgpu
