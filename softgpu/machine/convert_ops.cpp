#include <algorithm>
#include <type_traits>

#include "softgpu/machine/floats.h"

// cvt, between all types.

namespace softgpu {

namespace {

template <class T>
constexpr bool kIsFloat = std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, F16> ||
                          std::is_same_v<T, BF16>;

double whole_number(double value, Round round) {
  switch (round) {
    case Round::Nearest: return std::nearbyint(value);
    case Round::Zero: return std::trunc(value);
    case Round::Down: return std::floor(value);
    case Round::Up: return std::ceil(value);
  }
  return value;
}

/// A float as an integer type: clamped to its range; NaN gives 0, or for 64 bits, or from float64, the top
/// bit alone.
template <class D, class S>
D integer_of(S from, uint16_t flags) {
  auto source = number(from);
  if ((flags & flag::kFtz) != 0 && std::is_same_v<S, float>) source = flushed(source);
  if (std::isnan(source)) {
    const bool is_top = std::is_same_v<S, double> || sizeof(D) == 8;
    using U = std::make_unsigned_t<D>;
    return is_top ? static_cast<D>(static_cast<U>(U{1} << (8 * sizeof(D) - 1))) : D{0};
  }
  const double value = whole_number(static_cast<double>(source), static_cast<Round>(flags & flag::kRound));
  const double above = std::ldexp(1.0, static_cast<int>(8 * sizeof(D)) - (std::is_signed_v<D> ? 1 : 0));
  if (value >= above) return std::numeric_limits<D>::max();
  if (value < (std::is_signed_v<D> ? -above : 0.0)) return std::numeric_limits<D>::min();
  return static_cast<D>(value);
}

template <class D, class S>
D integer_of_integer(S from, uint16_t flags) {
  if ((flags & flag::kSat) == 0) return static_cast<D>(from);
  using Wide = __int128;
  const Wide value = from;
  return static_cast<D>(
      std::clamp<Wide>(value, std::numeric_limits<D>::min(), std::numeric_limits<D>::max()));
}

/// A number as a float type.
template <class D, class C>
D float_of(C value, uint16_t flags) {
  const auto round = static_cast<Round>(flags & flag::kRound);
  if ((flags & flag::kRelu) != 0 && value < 0) value = 0;
  if constexpr (std::is_same_v<D, F16>) return {narrowed(static_cast<double>(value), 10, round)};
  if constexpr (std::is_same_v<D, BF16>) return {narrowed(static_cast<double>(value), 7, round)};
  if constexpr (std::is_floating_point_v<D>) {
    D result = static_cast<D>(value);
    if ((flags & flag::kFtz) != 0 && std::is_same_v<D, float>) result = flushed(result);
    return result;
  }
}

template <class D, class S>
D float_of_float(S from, uint16_t flags) {
  auto value = number(from);
  if ((flags & flag::kFtz) != 0 && std::is_same_v<S, float>) value = flushed(value);
  if ((flags & flag::kToInteger) != 0)
    value = static_cast<decltype(value)>(
        whole_number(static_cast<double>(value), static_cast<Round>(flags & flag::kRound)));
  if ((flags & flag::kSat) != 0) value = saturated_unit(value);
  return float_of<D>(value, flags);
}

template <class D, class S>
D converted(S from, uint16_t flags) {
  if constexpr (kIsFloat<S>) {
    if constexpr (kIsFloat<D>) return float_of_float<D>(from, flags);
    else return integer_of<D>(from, flags);
  } else if constexpr (kIsFloat<D>) {
    // To 16 bits by double would round twice where an integer has more than 53 bits; such overflow float16,
    // and for bfloat16 the first rounding is to odd.
    if constexpr (sizeof(D) == 2 && sizeof(S) == 8) {
      const bool is_negative = from < S{0};
      auto magnitude = is_negative ? uint64_t{0} - static_cast<uint64_t>(from) : static_cast<uint64_t>(from);
      if (magnitude >> 53 != 0)
        magnitude = (magnitude & ~uint64_t{0x7FF}) | ((magnitude & 0x7FF) != 0 ? 0x800 : 0);
      const double value = static_cast<double>(magnitude);
      return float_of<D>(is_negative ? -value : value, flags);
    } else if constexpr (sizeof(D) == 2) {
      return float_of<D>(static_cast<double>(from), flags);
    } else {
      return float_of<D>(from, flags);
    }
  } else {
    return integer_of_integer<D>(from, flags);
  }
}

template <class D, class S>
void convert(Warp& w, const Instruction& i, Mask m) {
  D* const d = w.at<D>(i.d);
  const S* const a = w.get<S>(i.a);
  const uint16_t flags = i.flags;
  const RoundScope scope((flags & flag::kToInteger) != 0 ? Round::Nearest
                                                         : static_cast<Round>(flags & flag::kRound));
  each_lane(m, [&](uint32_t l) { d[l] = converted<D>(a[l], flags); });
}

/// Between integers without saturation, which is most of them.
template <class D, class S>
Plan extend() {
  return plan1<D, S>([](S a) { return static_cast<D>(a); });
}

uint64_t raw(const Warp& w, Slot slot, uint32_t bytes, uint32_t lane) {
  if (bytes == 2) return w.get<uint16_t>(slot)[lane];
  return bytes == 4 ? w.get<uint32_t>(slot)[lane] : w.get<uint64_t>(slot)[lane];
}

/// Where registers are wider than the types: `lanes` has the bytes of the source, `offset` those of the
/// result.
template <class D, class S>
void convert_wide(Warp& w, const Instruction& i, Mask m) {
  const RoundScope scope((i.flags & flag::kToInteger) != 0 ? Round::Nearest
                                                           : static_cast<Round>(i.flags & flag::kRound));
  each_lane(m, [&](uint32_t l) {
    const uint64_t bits = raw(w, i.a, i.lanes, l);
    S from;
    std::memcpy(&from, &bits, sizeof from);
    const D made = converted<D>(from, i.flags);
    uint64_t out = 0;
    if constexpr (std::is_integral_v<D>) out = static_cast<uint64_t>(static_cast<int64_t>(made));
    else std::memcpy(&out, &made, sizeof made);
    if (i.offset == 2) w.at<uint16_t>(i.d)[l] = static_cast<uint16_t>(out);
    if (i.offset == 4) w.at<uint32_t>(i.d)[l] = static_cast<uint32_t>(out);
    if (i.offset == 8) w.at<uint64_t>(i.d)[l] = out;
  });
}

template <class D, class S>
Plan plan_pair(const Op& op, uint8_t to, uint8_t from) {
  const uint16_t flags = op.flags();
  if (to < sizeof(D) || from < sizeof(S)) return {};
  if (to != sizeof(D) || from != sizeof(S)) return {convert_wide<D, S>, {to, from}, flags};
  if constexpr (std::is_integral_v<D> && std::is_integral_v<S>)
    if ((flags & flag::kSat) == 0) return extend<D, S>();
  return {convert<D, S>, {to, from}, flags};
}

template <class F>
Plan by_type(ptx::Type type, F f) {
  if (type.packed) return {};
  const bool is_signed = type.kind == 's';
  if (type.kind == 'h') return f(BF16{});
  if (type.kind == 'f') return type.bits == 16 ? f(F16{}) : type.bits == 32 ? f(float{}) : f(double{});
  switch (type.bits) {
    case 8: return is_signed ? f(int8_t{}) : f(uint8_t{});
    case 16: return is_signed ? f(int16_t{}) : f(uint16_t{});
    case 32: return is_signed ? f(int32_t{}) : f(uint32_t{});
    case 64: return is_signed ? f(int64_t{}) : f(uint64_t{});
    default: return {};
  }
}

/// cvt.f16x2.f32 d, a, b: a becomes the upper half.
template <class T>
void pack_floats(Warp& w, const Instruction& i, Mask m) {
  each_lane(m, [&](uint32_t l) {
    const T high = float_of<T>(w.get<float>(i.a)[l], i.flags);
    const T low = float_of<T>(w.get<float>(i.b)[l], i.flags);
    w.at<uint32_t>(i.d)[l] = uint32_t{high.bits} << 16 | low.bits;
  });
}

}  // namespace

Plan plan_convert(const Op& op, uint8_t to, uint8_t from) {
  if (op.last.packed) return {};
  if (op.type.packed) {
    if (op.last != ptx::Type{'f', 32} || op.statement.operands.size() != 3) return {};
    return {op.type.kind == 'f' ? pack_floats<F16> : pack_floats<BF16>, {4, 4, 4}, op.flags()};
  }
  if (op.type.kind == 'p' || op.last.kind == 'p') return {};
  return by_type(op.type, [&]<class D>(D) {
    return by_type(op.last, [&]<class S>(S) { return plan_pair<D, S>(op, to, from); });
  });
}

}  // namespace softgpu
