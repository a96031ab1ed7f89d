#include <algorithm>

#include "softgpu/machine/floats.h"

// Ops on two numbers of 16 bits in a register, and floats of 8 bits.

namespace softgpu {

namespace {

/// f(a, b) of both halves.
template <class T, class F>
Plan halves_plan(F) {
  return plan2<uint32_t, uint32_t, uint32_t>([](uint32_t a, uint32_t b) {
    const auto low = static_cast<uint16_t>(F{}(static_cast<T>(a), static_cast<T>(b)));
    const auto high = static_cast<uint16_t>(F{}(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
    return uint32_t{high} << 16 | low;
  });
}

template <class T>
Plan plan_integers(const Op& op) {
  if (op.has("relu")) {
    if (std::is_unsigned_v<T>) return {};
    if (op.name == "min") return halves_plan<T>([](T a, T b) { return std::max(std::min(a, b), T{0}); });
    if (op.name == "max") return halves_plan<T>([](T a, T b) { return std::max(std::max(a, b), T{0}); });
    return {};
  }
  if (op.has("sat")) return {};
  if (op.name == "add") return halves_plan<T>([](T a, T b) { return a + b; });
  if (op.name == "sub") return halves_plan<T>([](T a, T b) { return a - b; });
  if (op.name == "min") return halves_plan<T>([](T a, T b) { return std::min(a, b); });
  if (op.name == "max") return halves_plan<T>([](T a, T b) { return std::max(a, b); });
  return {};
}

enum class Relation : uint8_t { Less = 1, Equal = 2, Greater = 4, Unordered = 8 };

/// The relations that a comparison is true for.
uint16_t relations(const Op& op) {
  static constexpr struct {
    std::string_view name;
    uint16_t set;
  } kKnown[] = {{"eq", 2},   {"ne", 5},  {"lt", 1},   {"le", 3},   {"gt", 4},   {"ge", 6},  {"equ", 10},
                {"neu", 13}, {"ltu", 9}, {"leu", 11}, {"gtu", 12}, {"geu", 14}, {"num", 7}, {"nan", 8}};
  const auto* const found =
      std::ranges::find_if(kKnown, [&](const auto& known) { return known.name == op.statement.parts[1]; });
  return found == std::end(kKnown) ? uint16_t{0} : found->set;
}

template <class T>
bool holds(uint16_t set, uint32_t a, uint32_t b, uint32_t at) {
  const double x = number(T{static_cast<uint16_t>(a >> at)});
  const double y = number(T{static_cast<uint16_t>(b >> at)});
  const Relation is = x < y    ? Relation::Less
                      : x == y ? Relation::Equal
                      : x > y  ? Relation::Greater
                               : Relation::Unordered;
  return (set & static_cast<uint16_t>(is)) != 0;
}

/// Halves that hold become 1.0; or, below, all ones.
template <class T>
void set_pair(Warp& w, const Instruction& i, Mask m) {
  each_lane(m, [&](uint32_t l) {
    uint32_t both = 0;
    for (uint32_t at = 0; at < 32; at += 16) {
      const bool is = holds<T>(i.flags, w.get<uint32_t>(i.a)[l], w.get<uint32_t>(i.b)[l], at);
      if (is) both |= uint32_t{stored<T>(1.0).bits} << at;
    }
    w.at<uint32_t>(i.d)[l] = both;
  });
}

template <class T>
void set_pair_bits(Warp& w, const Instruction& i, Mask m) {
  each_lane(m, [&](uint32_t l) {
    uint32_t both = 0;
    for (uint32_t at = 0; at < 32; at += 16)
      if (holds<T>(i.flags, w.get<uint32_t>(i.a)[l], w.get<uint32_t>(i.b)[l], at)) both |= 0xFFFFu << at;
    w.at<uint32_t>(i.d)[l] = both;
  });
}

/// setp.f16x2 p|q: of the lower and the upper half.
template <class T>
void compare_pair(Warp& w, const Instruction& i, Mask m) {
  const auto put = [&](Slot slot, uint32_t at) {
    if (slot == kNoSlot) return;
    Mask set = 0;
    each_lane(m, [&](uint32_t l) {
      set |= static_cast<Mask>(holds<T>(i.flags, w.get<uint32_t>(i.a)[l], w.get<uint32_t>(i.b)[l], at)) << l;
    });
    Mask* const d = w.at<Mask>(slot);
    *d = (*d & ~m) | set;
  };
  put(i.d, 0);
  put(i.e, 16);
}

template <class T>
Plan plan_relation(const Op& op) {
  const uint16_t set = relations(op);
  if (set == 0 || op.has("and") || op.has("or") || op.has("xor")) return {};
  if (op.name == "setp") return {compare_pair<T>, {kPredicate, 4, 4}, set};
  if (op.type.packed) return {set_pair<T>, {4, 4, 4}, set};
  return op.type.bits == 32 && !op.type.is_float() ? Plan{set_pair_bits<T>, {4, 4, 4}, set} : Plan{};
}

/// A float of 8 bits: sign, exponent, fraction. e4m3 has no infinity; the largest exponent is of numbers,
/// too.
template <int kFraction>
uint8_t byte_of(double value) {
  constexpr int kBias = kFraction == 3 ? 7 : 15;
  constexpr int kMost = kFraction == 3 ? 0x7E : 0x7B;
  if (std::isnan(value)) return 0x7F;
  const auto sign = static_cast<uint8_t>(std::signbit(value) ? 0x80 : 0);
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (std::isinf(magnitude)) return static_cast<uint8_t>(sign | kMost);
  const int exponent = std::max(std::ilogb(magnitude), 1 - kBias);
  const double scaled = std::nearbyint(std::ldexp(magnitude, kFraction - exponent));
  if (scaled * std::ldexp(1.0, exponent - kFraction) > std::ldexp(2.0, 16))
    return static_cast<uint8_t>(sign | kMost);
  const int bits = static_cast<int>(scaled) + ((exponent + kBias - 1) << kFraction);
  return static_cast<uint8_t>(sign | std::min(bits, kMost));
}

template <int kFraction>
double number_of_byte(uint8_t bits) {
  constexpr int kBias = kFraction == 3 ? 7 : 15;
  const int exponent = (bits & 0x7F) >> kFraction;
  const int fraction = bits & ((1 << kFraction) - 1);
  double value = exponent == 0 ? std::ldexp(fraction, 1 - kBias - kFraction)
                               : std::ldexp(fraction + (1 << kFraction), exponent - kBias - kFraction);
  if (kFraction == 3 && (bits & 0x7F) == 0x7F) value = std::numeric_limits<double>::quiet_NaN();
  if (kFraction == 2 && exponent == 31)
    value =
        fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  return (bits & 0x80) != 0 ? -value : value;
}

double relu_of(double value, uint16_t flags) { return (flags & flag::kRelu) != 0 && value < 0 ? 0.0 : value; }

template <int kFraction>
void bytes_of_pair(Warp& w, const Instruction& i, Mask m) {
  each_lane(m, [&](uint32_t l) {
    const uint32_t a = w.get<uint32_t>(i.a)[l];
    const uint8_t low = byte_of<kFraction>(relu_of(number(F16{static_cast<uint16_t>(a)}), i.flags));
    const uint8_t high = byte_of<kFraction>(relu_of(number(F16{static_cast<uint16_t>(a >> 16)}), i.flags));
    w.at<uint16_t>(i.d)[l] = static_cast<uint16_t>(high << 8 | low);
  });
}

template <int kFraction>
void bytes_of_floats(Warp& w, const Instruction& i, Mask m) {
  each_lane(m, [&](uint32_t l) {
    const uint8_t high = byte_of<kFraction>(relu_of(static_cast<double>(w.get<float>(i.a)[l]), i.flags));
    const uint8_t low = byte_of<kFraction>(relu_of(static_cast<double>(w.get<float>(i.b)[l]), i.flags));
    w.at<uint16_t>(i.d)[l] = static_cast<uint16_t>(high << 8 | low);
  });
}

template <int kFraction>
void pair_of_bytes(Warp& w, const Instruction& i, Mask m) {
  each_lane(m, [&](uint32_t l) {
    const uint16_t a = w.get<uint16_t>(i.a)[l];
    const auto half = [&](int bits) {
      return stored<F16>(relu_of(number_of_byte<kFraction>(static_cast<uint8_t>(bits)), i.flags)).bits;
    };
    w.at<uint32_t>(i.d)[l] = uint32_t{half(a >> 8)} << 16 | half(a & 255);
  });
}

/// To 10 bits of fraction; with kSign ties go away from zero.
void to_tf32(Warp& w, const Instruction& i, Mask m) {
  each_lane(m, [&](uint32_t l) {
    uint32_t bits = w.get<uint32_t>(i.a)[l];
    const auto value = std::bit_cast<float>(bits);
    if (std::isnan(value)) {
      bits = 0x7FFFFFFF;
    } else {
      if ((i.flags & flag::kRelu) != 0 && value < 0) bits = 0;
      const bool is_away = (i.flags & flag::kSign) != 0;
      const bool is_zero = (i.flags & flag::kRound) == static_cast<uint16_t>(Round::Zero);
      if (!is_zero && !std::isinf(value)) bits += is_away ? 0x1000u : 0xFFFu + ((bits >> 13) & 1);
      bits &= ~0x1FFFu;
    }
    w.at<uint32_t>(i.d)[l] = bits;
  });
}

}  // namespace

Plan plan_packed(const Op& op) {
  if (!op.last.packed) return {};
  if (op.last.bits == 32 && (op.name == "set" || op.name == "setp"))
    return op.last.kind == 'f'   ? plan_relation<F16>(op)
           : op.last.kind == 'h' ? plan_relation<BF16>(op)
                                 : Plan{};
  if (op.type.kind == 's') return plan_integers<int16_t>(op);
  return op.type.kind == 'u' ? plan_integers<uint16_t>(op) : Plan{};
}

Plan plan_convert_packed(const Op& op) {
  const size_t operands = op.statement.operands.size();
  if (op.has("tf32")) {
    if (op.statement.parts.back() != "f32" || op.has("satfinite")) return {};
    const bool is_away = op.has("rna");
    return {to_tf32, {4, 4}, static_cast<uint16_t>(op.flags() | (is_away ? flag::kSign : 0))};
  }
  const auto is_small = [](ptx::Type type) { return type.kind == '4' || type.kind == '5'; };
  if (is_small(op.type)) {
    if (!op.has("rn") || !op.has("satfinite")) return {};
    const bool is_four = op.type.kind == '4';
    if (op.last == ptx::Type{'f', 32} && operands == 3)
      return {is_four ? bytes_of_floats<3> : bytes_of_floats<2>, {2, 4, 4}, op.flags()};
    if (op.last == ptx::Type{'f', 32, true} && operands == 2)
      return {is_four ? bytes_of_pair<3> : bytes_of_pair<2>, {2, 4}, op.flags()};
    return {};
  }
  if (is_small(op.last) && op.type == ptx::Type{'f', 32, true})
    return {op.last.kind == '4' ? pair_of_bytes<3> : pair_of_bytes<2>, {4, 2}, op.flags()};
  return {};
}

}  // namespace softgpu
