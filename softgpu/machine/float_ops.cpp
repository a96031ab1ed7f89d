#include <algorithm>
#include <type_traits>

#include "softgpu/machine/floats.h"

// Float arithmetic. An op to nearest without .ftz and .sat has a handler of its own, for speed; all others
// share one that reads the instruction's flags.

namespace softgpu {

namespace {

using std::bit_cast;

template <class F>
Plan by_type(ptx::Type type, F f) {
  if (type.kind == 'f' && !type.packed) {
    if (type.bits == 16) return f(F16{});
    if (type.bits == 32) return f(float{});
    if (type.bits == 64) return f(double{});
  }
  if (type.kind == 'h' && !type.packed) return f(BF16{});
  return {};
}

template <class T>
using Computed = std::conditional_t<std::is_same_v<T, float>, float, double>;

template <class C>
C prepared(C value, uint16_t flags) {
  return (flags & flag::kFtz) != 0 && std::is_same_v<C, float> ? flushed(value) : value;
}

template <class T>
T finished(Computed<T> value, uint16_t flags) {
  if ((flags & flag::kFtz) != 0 && std::is_same_v<T, float>) value = flushed(value);
  if ((flags & flag::kSat) != 0) value = saturated_unit(value);
  if ((flags & flag::kRelu) != 0) value = value > 0 || value != value ? value : Computed<T>{0};
  return stored<T>(value);
}

/// The general handler of `kCount` operands.
template <class T, class F, int kCount>
void with_flags(Warp& w, const Instruction& i, Mask m) {
  using C = Computed<T>;
  const auto value = [&](Slot slot, uint32_t l) { return prepared<C>(number(w.get<T>(slot)[l]), i.flags); };
  const RoundScope scope(static_cast<Round>(i.flags & flag::kRound));
  each_lane(m, [&](uint32_t l) {
    C result;
    if constexpr (kCount == 1) result = F{}(value(i.a, l));
    if constexpr (kCount == 2) result = F{}(value(i.a, l), value(i.b, l));
    if constexpr (kCount == 3) result = F{}(value(i.a, l), value(i.b, l), value(i.c, l));
    w.at<T>(i.d)[l] = finished<T>(result, i.flags);
  });
}

/// A plan for `f` on computed numbers.
template <class T, int kCount, class F>
Plan computing(const Op& op, F) {
  using C = Computed<T>;
  const uint16_t flags = op.flags();
  constexpr uint8_t kBytes = sizeof(T);
  if (flags != 0) return {with_flags<T, F, kCount>, std::vector<uint8_t>(kCount + 1, kBytes), flags};
  if constexpr (kCount == 1) return plan1<T, T>([](T a) { return stored<T>(C{F{}(number(a))}); });
  if constexpr (kCount == 2)
    return plan2<T, T, T>([](T a, T b) { return stored<T>(C{F{}(number(a), number(b))}); });
  if constexpr (kCount == 3)
    return plan3<T, T, T, T>(
        [](T a, T b, T c) { return stored<T>(C{F{}(number(a), number(b), number(c))}); });
}

constexpr auto kAdd = [](auto a, auto b) { return a + b; };
constexpr auto kSub = [](auto a, auto b) { return a - b; };
constexpr auto kMul = [](auto a, auto b) { return a * b; };
constexpr auto kDiv = [](auto a, auto b) { return a / b; };
constexpr auto kFma = [](auto a, auto b, auto c) { return std::fma(a, b, c); };
constexpr auto kSqrt = [](auto a) { return std::sqrt(a); };
constexpr auto kRcp = [](auto a) { return 1 / a; };
// Approximations are computed in double and rounded once.
constexpr auto kRsqrt = [](auto a) {
  return static_cast<decltype(a)>(1 / std::sqrt(static_cast<double>(a)));
};
constexpr auto kSin = [](auto a) { return static_cast<decltype(a)>(std::sin(static_cast<double>(a))); };
constexpr auto kCos = [](auto a) { return static_cast<decltype(a)>(std::cos(static_cast<double>(a))); };
constexpr auto kEx2 = [](auto a) { return static_cast<decltype(a)>(std::exp2(static_cast<double>(a))); };
constexpr auto kLg2 = [](auto a) { return static_cast<decltype(a)>(std::log2(static_cast<double>(a))); };
constexpr auto kTanh = [](auto a) { return static_cast<decltype(a)>(std::tanh(static_cast<double>(a))); };

/// min and max: one NaN gives the other number, or with .NaN a NaN; -0 is less than +0.
template <class T, bool kIsMax>
void extremum(Warp& w, const Instruction& i, Mask m) {
  using C = Computed<T>;
  each_lane(m, [&](uint32_t l) {
    C a = prepared<C>(number(w.get<T>(i.a)[l]), i.flags);
    C b = prepared<C>(number(w.get<T>(i.b)[l]), i.flags);
    C sign = 1;
    if ((i.flags & flag::kSign) != 0) {
      sign = std::signbit(a) != std::signbit(b) ? C{-1} : C{1};
      a = std::fabs(a);
      b = std::fabs(b);
    }
    C result = b;
    if (std::isnan(a) || std::isnan(b)) {
      const bool is_nan = (i.flags & flag::kNan) != 0 || (std::isnan(a) && std::isnan(b));
      result = is_nan ? std::numeric_limits<C>::quiet_NaN() : std::isnan(a) ? b : a;
    } else if (a == b) {
      result = std::signbit(a) != kIsMax ? a : b;
    } else if ((a > b) == kIsMax) {
      result = a;
    }
    T out = stored<T>((i.flags & flag::kSign) != 0 ? std::copysign(result, sign) : result);
    // The canonical NaN of PTX.
    if (std::isnan(result)) {
      if constexpr (std::is_same_v<T, float>) out = bit_cast<float>(0x7FFFFFFFu);
    }
    w.at<T>(i.d)[l] = out;
  });
}

template <class T>
Plan extremum_plan(const Op& op) {
  if (op.statement.operands.size() != 3) return {};
  uint16_t flags = op.flags();
  if (op.has("NaN")) flags |= flag::kNan;
  if (op.has("xorsign")) flags |= flag::kSign;
  return {
      op.name == "max" ? extremum<T, true> : extremum<T, false>, {sizeof(T), sizeof(T), sizeof(T)}, flags};
}

template <class U>
Plan sign_plan(const Op& op) {
  static constexpr U kTop = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
  if (op.has("ftz")) return {};
  if (op.name == "neg") return plan1<U, U>([](U a) { return static_cast<U>(a ^ kTop); });
  if (op.name == "abs") return plan1<U, U>([](U a) { return static_cast<U>(a & ~kTop); });
  // d = the magnitude of b with the sign of a.
  if (op.name == "copysign")
    return plan2<U, U, U>([](U a, U b) { return static_cast<U>((a & kTop) | (b & ~kTop)); });
  return {};
}

constexpr auto kNegFlushed = [](float a) { return -a; };
constexpr auto kAbsFlushed = [](float a) { return std::fabs(a); };

Plan plan_sign(const Op& op) {
  if (op.has("ftz") && op.type == ptx::Type{'f', 32})
    return op.name == "neg" ? computing<float, 1>(op, kNegFlushed) : computing<float, 1>(op, kAbsFlushed);
  switch (op.type.bits) {
    case 16: return sign_plan<uint16_t>(op);
    case 32: return sign_plan<uint32_t>(op);
    case 64: return sign_plan<uint64_t>(op);
    default: return {};
  }
}

template <class T>
Plan arithmetic(const Op& op) {
  const std::string_view name = op.name;
  if (name == "add") return computing<T, 2>(op, kAdd);
  if (name == "sub") return computing<T, 2>(op, kSub);
  if (name == "mul") return computing<T, 2>(op, kMul);
  if (name == "fma" || name == "mad") return computing<T, 3>(op, kFma);
  if (name == "min" || name == "max") return extremum_plan<T>(op);
  if (name == "ex2") return computing<T, 1>(op, kEx2);
  if (name == "tanh") return computing<T, 1>(op, kTanh);
  if constexpr (sizeof(T) != 2) {
    if (name == "div") return computing<T, 2>(op, kDiv);
    if (name == "sqrt") return computing<T, 1>(op, kSqrt);
    if (name == "rcp") return computing<T, 1>(op, kRcp);
    if (name == "rsqrt") return computing<T, 1>(op, kRsqrt);
    if (name == "lg2") return computing<T, 1>(op, kLg2);
    if (name == "sin") return computing<T, 1>(op, kSin);
    if (name == "cos") return computing<T, 1>(op, kCos);
  }
  return {};
}

/// Two 16-bit floats in a register.
template <class T, class F, int kCount>
void in_pairs(Warp& w, const Instruction& i, Mask m) {
  const auto half = [&](Slot slot, uint32_t l, uint32_t k) {
    return number(T{static_cast<uint16_t>(w.get<uint32_t>(slot)[l] >> (16 * k))});
  };
  each_lane(m, [&](uint32_t l) {
    uint32_t both = 0;
    for (uint32_t k = 0; k < 2; ++k) {
      double result;
      if constexpr (kCount == 1) result = F{}(half(i.a, l, k));
      if constexpr (kCount == 2) result = F{}(half(i.a, l, k), half(i.b, l, k));
      if constexpr (kCount == 3) result = F{}(half(i.a, l, k), half(i.b, l, k), half(i.c, l, k));
      both |= uint32_t{finished<T>(result, i.flags).bits} << (16 * k);
    }
    w.at<uint32_t>(i.d)[l] = both;
  });
}

constexpr auto kMin = [](double a, double b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : a == b ? (std::signbit(a) ? a : b) : a < b ? a : b;
};
constexpr auto kMax = [](double a, double b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : a == b ? (std::signbit(a) ? b : a) : a > b ? a : b;
};

constexpr auto kMinNan = [](double a, double b) {
  return std::isnan(a) ? a : std::isnan(b) ? b : kMin(a, b);
};
constexpr auto kMaxNan = [](double a, double b) {
  return std::isnan(a) ? a : std::isnan(b) ? b : kMax(a, b);
};

template <class T>
Plan pair_plan(const Op& op) {
  const auto plan2_of = [&]<class F>(F) { return Plan{in_pairs<T, F, 2>, {4, 4, 4}, op.flags()}; };
  if (op.name == "add") return plan2_of(kAdd);
  if (op.name == "sub") return plan2_of(kSub);
  if (op.name == "mul") return plan2_of(kMul);
  if (op.name == "fma")
    return {in_pairs<T, std::remove_const_t<decltype(kFma)>, 3>, {4, 4, 4, 4}, op.flags()};
  if (op.has("xorsign")) return {};
  if (op.has("NaN") && op.name == "min") return plan2_of(kMinNan);
  if (op.has("NaN") && op.name == "max") return plan2_of(kMaxNan);
  if (op.name == "ex2") return {in_pairs<T, std::remove_const_t<decltype(kEx2)>, 1>, {4, 4}, op.flags()};
  if (op.name == "tanh") return {in_pairs<T, std::remove_const_t<decltype(kTanh)>, 1>, {4, 4}, op.flags()};
  if (op.name == "min") return plan2_of(kMin);
  if (op.name == "max") return plan2_of(kMax);
  if (op.name == "neg") return plan1<uint32_t, uint32_t>([](uint32_t a) { return a ^ 0x80008000u; });
  if (op.name == "abs") return plan1<uint32_t, uint32_t>([](uint32_t a) { return a & 0x7FFF7FFFu; });
  return {};
}

template <class T, class F>
void test_with(Warp& w, const Instruction& i, Mask m) {
  Mask* const d = w.at<Mask>(i.d);
  Mask result = 0;
  each_lane(m, [&](uint32_t l) { result |= static_cast<Mask>(F{}(w.get<T>(i.a)[l])) << l; });
  *d = (*d & ~m) | result;
}

template <class T>
Plan test_plan(const Op& op) {
  const auto plan_of = [&]<class F>(F) { return Plan{test_with<T, F>, {kPredicate, sizeof(T)}}; };
  if (op.has("finite")) return plan_of([](T a) { return std::isfinite(a); });
  if (op.has("infinite")) return plan_of([](T a) { return std::isinf(a); });
  if (op.has("number")) return plan_of([](T a) { return !std::isnan(a); });
  if (op.has("notanumber")) return plan_of([](T a) { return std::isnan(a); });
  if (op.has("normal")) return plan_of([](T a) { return std::isnormal(a); });
  if (op.has("subnormal")) return plan_of([](T a) { return std::fpclassify(a) == FP_SUBNORMAL; });
  return {};
}

}  // namespace

uint16_t Op::flags() const {
  uint16_t made = 0;
  for (const std::string_view part : statement.parts) {
    if (part == "rz" || part == "rzi") made |= static_cast<uint16_t>(Round::Zero);
    if (part == "rm" || part == "rmi") made |= static_cast<uint16_t>(Round::Down);
    if (part == "rp" || part == "rpi") made |= static_cast<uint16_t>(Round::Up);
    if (part == "ftz") made |= flag::kFtz;
    if (part == "sat") made |= flag::kSat;
    if (part == "relu") made |= flag::kRelu;
    if (part.size() == 3 && part[0] == 'r' && part[2] == 'i') made |= flag::kToInteger;
  }
  return made;
}

Plan plan_float(const Op& op) {
  if (!op.type.is_float()) return {};
  if (op.type.packed) return op.type.kind == 'f' ? pair_plan<F16>(op) : pair_plan<BF16>(op);
  if (op.name == "neg" || op.name == "abs" || op.name == "copysign") return plan_sign(op);
  if (op.name == "testp") return op.type.bits == 64 ? test_plan<double>(op) : test_plan<float>(op);
  if (op.type.bits == 16 && (op.flags() & flag::kRound) != 0) return {};
  return by_type(op.type, [&]<class T>(T) { return arithmetic<T>(op); });
}

}  // namespace softgpu
