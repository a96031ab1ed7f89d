#include <bit>
#include <cfloat>
#include <cmath>
#include <functional>
#include <limits>

#include "support.h"

// Each family of ops against the host's arithmetic.

namespace softgpu {
namespace {

template <class T>
std::string register_of(const std::string& number) {
  const char kind = sizeof(T) == 2              ? 'h'
                    : sizeof(T) == 4            ? (std::is_same_v<T, float> ? 'f' : 'r')
                    : std::is_same_v<T, double> ? 'g'
                                                : 'd';
  return std::string("%") + kind + number;
}

template <class T>
std::string bits_of() {
  return "b" + std::to_string(8 * sizeof(T));
}

template <class T>
std::vector<T> samples() {
  if constexpr (std::is_floating_point_v<T>) {
    using L = std::numeric_limits<T>;
    return {T{0},          -T{0},         T{1},           T(-1.5),        T(2.5),       T(0.1),
            T(1e10),       T(-3e-5),      L::max(),       L::lowest(),    L::min(),     L::denorm_min(),
            -L::min() / 2, L::infinity(), -L::infinity(), L::quiet_NaN(), T(12345.678), T(-0.75)};
  } else {
    using L = std::numeric_limits<T>;
    return {T(0),          T(1),   T(2),     T(-1), T(7), T(31), T(-13), L::max(), L::min(), T(L::max() / 3),
            T(0x5A5A5A5A), T(100), T(0x8001)};
  }
}

template <class T>
bool is_same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) && std::isnan(b)) return true;
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// Executes `text` on all combinations of samples: %D the result, %A, %B, %C the operands, %P and %Q
/// predicates.
template <class D, class A, class B, class C>
void check(const std::string& text, const std::function<D(A, B, C)>& expected,
           std::vector<A> as = samples<A>(), std::vector<B> bs = samples<B>(),
           std::vector<C> cs = {samples<C>()[2], samples<C>()[3]}) {
  std::vector<A> a;
  std::vector<B> b;
  std::vector<C> c;
  for (const A x : as)
    for (const B y : bs)
      for (const C z : cs) {
        a.push_back(x);
        b.push_back(y);
        c.push_back(z);
      }
  std::string line;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && text[i + 1] == 'D') {
      line += register_of<D>("1");
      ++i;
    } else if (text[i] == '%' && text[i + 1] == 'A') {
      line += register_of<A>("2");
      ++i;
    } else if (text[i] == '%' && text[i + 1] == 'B') {
      line += register_of<B>("3");
      ++i;
    } else if (text[i] == '%' && text[i + 1] == 'C') {
      line += register_of<C>("4");
      ++i;
    } else line += text[i];
  }
  const auto access = [](const std::string& type, const std::string& to, const std::string& parameter,
                         size_t bytes, bool loads) {
    return "ld.param.u64 %d40, [" + parameter + "]; mad.wide.u32 %d40, %r40, " + std::to_string(bytes) +
           ", %d40; " +
           (loads ? "ld.global." + type + " " + to + ", [%d40];\n"
                  : "st.global." + type + " [%d40], " + to + ";\n");
  };
  Bench bench(
      kernel_of(5,
                "mov.u32 %r41, %ctaid.x; mov.u32 %r42, %ntid.x; mov.u32 %r43, %tid.x; mad.lo.u32 %r40, %r41, "
                "%r42, %r43;\n"
                "cvt.u64.u32 %d41, %r40; ld.param.u64 %d42, [p4]; setp.ge.u64 %p9, %d41, %d42; @%p9 ret;\n" +
                    access(bits_of<A>(), register_of<A>("2"), "p1", sizeof(A), true) +
                    access(bits_of<B>(), register_of<B>("3"), "p2", sizeof(B), true) +
                    access(bits_of<C>(), register_of<C>("4"), "p3", sizeof(C), true) + line + "\n" +
                    access(bits_of<D>(), register_of<D>("1"), "p0", sizeof(D), false)));
  const uint64_t out = bench.put(std::vector<D>(a.size()));
  bench.run("k", static_cast<uint32_t>(a.size() + 63) / 64, 64,
            {out, bench.put(a), bench.put(b), bench.put(c), a.size()});
  const std::vector<D> got = bench.get<D>(out, a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const D wanted = expected(a[i], b[i], c[i]);
    ASSERT_TRUE(is_same(got[i], wanted)) << text << " of " << +a[i] << ", " << +b[i] << ", " << +c[i]
                                         << " gives " << +got[i] << ", not " << +wanted;
  }
}

template <class T>
void check_integers(const std::string& type) {
  using U = std::make_unsigned_t<T>;
  using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  const auto op = [&](const std::string& name, T (*f)(T, T, T)) {
    check<T, T, T, T>(
        name + "." + type +
            (name == "mad.lo" || name == "mad.hi" || name == "sad" ? " %D, %A, %B, %C;" : " %D, %A, %B;"),
        f);
  };
  op("add", [](T a, T b, T) { return static_cast<T>(U(a) + U(b)); });
  op("sub", [](T a, T b, T) { return static_cast<T>(U(a) - U(b)); });
  op("mul.lo", [](T a, T b, T) { return static_cast<T>(uint64_t(a) * uint64_t(b)); });
  op("mul.hi", [](T a, T b, T) {
    return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> (8 * sizeof(T)));
  });
  op("mad.lo", [](T a, T b, T c) { return static_cast<T>(uint64_t(a) * uint64_t(b) + uint64_t(c)); });
  op("min", [](T a, T b, T) { return std::min(a, b); });
  op("max", [](T a, T b, T) { return std::max(a, b); });
  op("sad", [](T a, T b, T c) { return static_cast<T>(U(c) + (a < b ? U(b) - U(a) : U(a) - U(b))); });
  const auto divide = [](T a, T b, bool rest) {
    if (b == 0) return rest ? a : static_cast<T>(~U{0});
    if (std::is_signed_v<T> && b == T(-1)) return rest ? T(0) : static_cast<T>(U(0) - U(a));
    return static_cast<T>(rest ? a % b : a / b);
  };
  check<T, T, T, T>("div." + type + " %D, %A, %B;", [&](T a, T b, T) { return divide(a, b, false); });
  check<T, T, T, T>("rem." + type + " %D, %A, %B;", [&](T a, T b, T) { return divide(a, b, true); });
  check<T, T, uint32_t, T>("shr." + type + " %D, %A, %B;", [](T a, uint32_t n, T) {
    return static_cast<T>(n >= 8 * sizeof(T) ? (a < T(0) ? -1 : 0) : a >> n);
  });
  check<T, T, uint32_t, T>("shl.b" + type.substr(1) + " %D, %A, %B;", [](T a, uint32_t n, T) {
    return static_cast<T>(n >= 8 * sizeof(T) ? U(0) : U(U(a) << n));
  });
  check<int32_t, T, T, T>("setp.lt." + type + " %p1, %A, %B; selp.b32 %D, 1, 0, %p1;",
                          [](T a, T b, T) { return a < b ? 1 : 0; });
  check<int32_t, T, T, T>("setp.ge." + type + " %p1|%p2, %A, %B; setp.eq.or." + type +
                              " %p3, %A, %C, !%p1; selp.b32 %D, 1, 0, %p3; @%p2 add.s32 %D, %D, 2;",
                          [](T a, T b, T c) { return (a == c || a < b ? 1 : 0) + (a < b ? 2 : 0); });
}

TEST(Ops, IntegerArithmetic) {
  check_integers<int16_t>("s16");
  check_integers<uint16_t>("u16");
  check_integers<int32_t>("s32");
  check_integers<uint32_t>("u32");
  check_integers<int64_t>("s64");
  check_integers<uint64_t>("u64");
}

TEST(Ops, WideAndSaturatingAndCarrying) {
  check<int64_t, int32_t, int32_t, int64_t>("mul.wide.s32 %D, %A, %B;",
                                            [](int32_t a, int32_t b, int64_t) { return int64_t{a} * b; });
  check<uint64_t, uint32_t, uint32_t, uint64_t>(
      "mad.wide.u32 %D, %A, %B, %C;", [](uint32_t a, uint32_t b, uint64_t c) { return uint64_t{a} * b + c; });
  check<int32_t, int16_t, int16_t, int16_t>("mul.wide.s16 %D, %A, %B;",
                                            [](int16_t a, int16_t b, int16_t) { return int32_t{a} * b; });
  check<int32_t, int32_t, int32_t, int32_t>("add.sat.s32 %D, %A, %B;", [](int32_t a, int32_t b, int32_t) {
    return static_cast<int32_t>(std::clamp<int64_t>(int64_t{a} + b, INT32_MIN, INT32_MAX));
  });
  check<uint64_t, uint64_t, uint64_t, uint64_t>(
      "mov.b64 {%r2, %r3}, %A; mov.b64 {%r4, %r5}, %B; add.cc.u32 %r6, %r2, %r4; addc.u32 %r7, %r3, %r5; "
      "mov.b64 %D, {%r6, %r7};",
      [](uint64_t a, uint64_t b, uint64_t) { return a + b; });
  check<uint64_t, uint64_t, uint64_t, uint64_t>(
      "mov.b64 {%r2, %r3}, %A; mov.b64 {%r4, %r5}, %B; sub.cc.u32 %r6, %r2, %r4; subc.u32 %r7, %r3, %r5; "
      "mov.b64 %D, {%r6, %r7};",
      [](uint64_t a, uint64_t b, uint64_t) { return a - b; });
  check<uint64_t, uint64_t, uint64_t, uint64_t>(
      "mov.b64 {%r2, %r3}, %A; mov.b64 {%r4, %r5}, %B; mul.lo.u32 %r6, %r2, %r4; mul.hi.u32 %r7, %r2, %r4; "
      "mad.lo.cc.u32 %r7, %r3, %r4, %r7; "
      "madc.hi.u32 %r8, %r3, %r4, 0; mad.lo.u32 %r7, %r2, %r5, %r7; mov.b64 %D, {%r6, %r7};",
      [](uint64_t a, uint64_t b, uint64_t) { return a * b; });
}

TEST(Ops, Bits) {
  using U = uint32_t;
  check<U, U, U, U>("lop3.b32 %D, %A, %B, %C, 0xE8;",
                    [](U a, U b, U c) { return (a & b) | (a & c) | (b & c); });
  check<U, U, U, U>("shf.l.wrap.b32 %D, %A, %B, %C;",
                    [](U a, U b, U c) { return U(((uint64_t{b} << 32 | a) << (c & 31)) >> 32); });
  check<U, U, U, U>("shf.r.clamp.b32 %D, %A, %B, %C;",
                    [](U a, U b, U c) { return U((uint64_t{b} << 32 | a) >> std::min(c, 32u)); });
  check<U, U, U, U>("prmt.b32 %D, %A, %B, 0x7B24;", [](U a, U b, U) {
    const auto sign = (a >> 24 & 128) != 0 ? 255u : 0u;
    return (b >> 24) << 24 | sign << 16 | (a >> 16 & 255) << 8 | (b & 255);
  });
  check<U, U, U, U>(
      "popc.b32 %D, %A; clz.b32 %r30, %B; add.u32 %D, %D, %r30; brev.b32 %r30, %A; xor.b32 %D, %D, %r30;",
      [](U a, U b, U) {
        U reversed = 0;
        for (U k = 0; k < 32; ++k) reversed |= (a >> k & 1) << (31 - k);
        return (U(std::popcount(a)) + U(std::countl_zero(b))) ^ reversed;
      });
  check<U, uint64_t, uint64_t, U>("bfind.u64 %D, %A;", [](uint64_t a, uint64_t, U) {
    return a == 0 ? ~0u : 63 - U(std::countl_zero(a));
  });
  check<U, int32_t, int32_t, U>("bfind.s32 %D, %A;", [](int32_t a, int32_t, U) {
    const U bits = U(a < 0 ? ~a : a);
    return bits == 0 ? ~0u : 31 - U(std::countl_zero(bits));
  });
  const std::vector<U> positions{0, 1, 5, 8, 31, 32, 40, 255};
  check<U, U, U, U>(
      "bfe.u32 %D, %A, %B, %C;",
      [](U a, U b, U c) { return b > 31 ? 0 : U(a >> b) & U((uint64_t{1} << std::min(c, 32u)) - 1); },
      samples<U>(), positions, positions);
  check<int32_t, int32_t, U, U>(
      "bfe.s32 %D, %A, %B, %C;",
      [](int32_t a, U b, U c) {
        if (c == 0) return 0;
        const int64_t wide = int64_t{a} >> std::min(b, 31u);
        return b > 31 || c >= 32 ? int32_t(wide >> (b > 31 ? 31 : 0))
                                 : int32_t(int64_t(uint64_t(wide) << (64 - c)) >> (64 - c));
      },
      samples<int32_t>(), positions, positions);
  check<U, U, U, U>(
      "bfi.b32 %D, %A, %B, %C, 8;",
      [](U a, U b, U c) {
        const U where = c > 31 ? 0 : U(0xFFu << c);
        return (b & ~where) | (c > 31 ? 0 : (a << c) & where);
      },
      samples<U>(), samples<U>(), positions);
  check<U, U, U, int32_t>("slct.u32.s32 %D, %A, %B, %C;", [](U a, U b, int32_t c) { return c >= 0 ? a : b; });
  check<U, U, U, U>("dp4a.s32.s32 %D, %A, %B, %C;", [](U a, U b, U c) {
    for (U k = 0; k < 32; k += 8) c += U(int32_t(int8_t(a >> k)) * int32_t(int8_t(b >> k)));
    return c;
  });
  check<uint64_t, uint16_t, uint16_t, uint16_t>(
      "mov.b64 %D, {%A, %B, %C, 5};", [](uint16_t a, uint16_t b, uint16_t c) {
        return uint64_t{5} << 48 | uint64_t{c} << 32 | uint64_t{b} << 16 | a;
      });
}

template <class T>
void check_floats(const std::string& type) {
  using F = T (*)(T, T, T);
  check<T, T, T, T>("add.rn." + type + " %D, %A, %B;", F{[](T a, T b, T) { return a + b; }});
  check<T, T, T, T>("sub." + type + " %D, %A, %B;", F{[](T a, T b, T) { return a - b; }});
  check<T, T, T, T>("mul.rn." + type + " %D, %A, %B;", F{[](T a, T b, T) { return a * b; }});
  check<T, T, T, T>("div.rn." + type + " %D, %A, %B;", F{[](T a, T b, T) { return a / b; }});
  check<T, T, T, T>("fma.rn." + type + " %D, %A, %B, %C;", F{[](T a, T b, T c) { return std::fma(a, b, c); }},
                    samples<T>(), samples<T>(), samples<T>());
  check<T, T, T, T>("sqrt.rn." + type + " %D, %A; rcp.rn." + type + " " + register_of<T>("9") + ", %B; add." +
                        type + " %D, %D, " + register_of<T>("9") + ";",
                    F{[](T a, T b, T) { return std::sqrt(a) + 1 / b; }});
  check<T, T, T, T>("neg." + type + " %D, %A; copysign." + type + " %D, %B, %D;",
                    F{[](T a, T b, T) { return std::copysign(a, b); }});
  check<T, T, T, T>("abs." + type + " %D, %A; min." + type + " %D, %D, %B; max." + type + " %D, %D, %C;",
                    F{[](T a, T b, T c) {
                      const auto least = std::isnan(a)       ? b
                                         : std::isnan(b)     ? std::fabs(a)
                                         : std::fabs(a) == b ? (std::signbit(b) ? b : std::fabs(a))
                                                             : std::min(std::fabs(a), b);
                      return std::isnan(least) ? c : std::isnan(c) ? least : std::max(least, c);
                    }});
  const std::vector<std::pair<std::string, std::function<bool(T, T)>>> comparisons{
      {"eq", [](T a, T b) { return a == b; }},
      {"ne", [](T a, T b) { return a < b || a > b; }},
      {"lt", [](T a, T b) { return a < b; }},
      {"le", [](T a, T b) { return a <= b; }},
      {"gt", [](T a, T b) { return a > b; }},
      {"ge", [](T a, T b) { return a >= b; }},
      {"equ", [](T a, T b) { return !(a < b || a > b); }},
      {"neu", [](T a, T b) { return a != b; }},
      {"ltu", [](T a, T b) { return !(a >= b); }},
      {"leu", [](T a, T b) { return !(a > b); }},
      {"gtu", [](T a, T b) { return !(a <= b); }},
      {"geu", [](T a, T b) { return !(a < b); }},
      {"num", [](T a, T b) { return !std::isnan(a) && !std::isnan(b); }},
      {"nan", [](T a, T b) { return std::isnan(a) || std::isnan(b); }}};
  for (const auto& [name, f] : comparisons)
    check<int32_t, T, T, T>("setp." + name + "." + type + " %p1, %A, %B; selp.s32 %D, 1, 0, %p1;",
                            [f = f](T a, T b, T) { return f(a, b) ? 1 : 0; });
  check<int32_t, T, T, T>(
      "testp.subnormal." + type + " %p1, %A; testp.infinite." + type +
          " %p2, %B; xor.pred %p1, %p1, %p2; selp.s32 %D, 1, 0, %p1;",
      [](T a, T b, T) { return (std::fpclassify(a) == FP_SUBNORMAL) != (std::isinf(b)) ? 1 : 0; });
}

TEST(Ops, FloatArithmetic) {
  check_floats<float>("f32");
  check_floats<double>("f64");
}

/// A number rounded to float in a direction: -1 down, 1 up, 0 to zero.
float rounded(double exact, int direction) {
  const auto near = static_cast<float>(exact);
  if (std::isnan(exact) || std::isinf(exact) || static_cast<double>(near) == exact) return near;
  const bool down = direction < 0 || (direction == 0 && exact > 0);
  if (down) return static_cast<double>(near) > exact ? std::nextafterf(near, -INFINITY) : near;
  return static_cast<double>(near) < exact ? std::nextafterf(near, INFINITY) : near;
}

TEST(Ops, RoundingModesFlushingAndSaturation) {
  const std::pair<std::string, int> modes[] = {{"rz", 0}, {"rm", -1}, {"rp", 1}};
  for (const auto& [mode, direction] : modes) {
    check<float, float, float, float>(
        "mul." + mode + ".f32 %D, %A, %B;",
        [d = direction](float a, float b, float) { return rounded(double{a} * b, d); });
    check<float, double, double, double>("cvt." + mode + ".f32.f64 %D, %A;",
                                         [d = direction](double a, double, double) { return rounded(a, d); });
  }
  const auto flush = [](float a) { return std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.f, a) : a; };
  check<float, float, float, float>("add.ftz.f32 %D, %A, %B;",
                                    [&](float a, float b, float) { return flush(flush(a) + flush(b)); });
  check<float, float, float, float>("mul.sat.f32 %D, %A, %B;", [](float a, float b, float) {
    return a * b > 0 ? std::min(a * b, 1.f) : 0.f;
  });
  check<float, float, float, float>("min.NaN.f32 %D, %A, %B;", [](float a, float b, float) {
    return std::isnan(a) || std::isnan(b) ? NAN : a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
  });
  check<float, float, float, float>(
      "ex2.approx.f32 %D, %A; sin.approx.f32 %f9, %B; add.f32 %D, %D, %f9;",
      [](float a, float b, float) { return float(std::exp2(double{a})) + float(std::sin(double{b})); });
}

TEST(Ops, HalvesAndBrainFloats) {
  const std::vector<uint16_t> all{0,      0x8000, 0x3C00, 0xBC01, 0x0001, 0x03FF,
                                  0x7BFF, 0x7C00, 0xFC00, 0x3555, 0x5640, 0x1234};
  const auto value = [](uint16_t a) { return static_cast<double>(std::bit_cast<_Float16>(a)); };
  const auto canonical = [](uint16_t a) { return (a & 0x7FFF) > 0x7C00 ? uint16_t{0x7FFF} : a; };
  check<uint16_t, uint16_t, uint16_t, uint16_t>(
      "fma.rn.f16 %D, %A, %B, %C;",
      [&](uint16_t a, uint16_t b, uint16_t c) { return canonical(half_of(value(a) * value(b) + value(c))); },
      all, all, all);
  check<uint16_t, double, double, double>("cvt.rn.f16.f64 %D, %A;",
                                          [&](double a, double, double) { return canonical(half_of(a)); });
  check<float, uint16_t, uint16_t, float>(
      "cvt.f32.f16 %D, %A;", [&](uint16_t a, uint16_t, float) { return float(value(a)); }, all, all);
  const auto wide = [](uint16_t a) { return std::bit_cast<float>(uint32_t{a} << 16); };
  const auto narrow = [](float a) {
    const auto bits = std::bit_cast<uint32_t>(a);
    return std::isnan(a) ? uint16_t{0x7FFF} : uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
  };
  check<uint16_t, uint16_t, uint16_t, uint16_t>(
      "add.rn.bf16 %D, %A, %B;", [&](uint16_t a, uint16_t b, uint16_t) { return narrow(wide(a) + wide(b)); },
      all, all);
  check<uint16_t, float, float, float>("cvt.rn.bf16.f32 %D, %A;",
                                       [&](float a, float, float) { return narrow(a); });
  check<uint32_t, float, float, float>("cvt.rn.f16x2.f32 %D, %A, %B;", [&](float a, float b, float) {
    return uint32_t{canonical(half_of(a))} << 16 | canonical(half_of(b));
  });
  check<uint32_t, uint16_t, uint16_t, uint16_t>(
      "mov.b32 %r9, {%A, %B}; add.f16x2 %D, %r9, %r9;",
      [&](uint16_t a, uint16_t b, uint16_t) {
        return uint32_t{canonical(half_of(value(b) * 2))} << 16 | canonical(half_of(value(a) * 2));
      },
      all, all);
}

TEST(Ops, Conversions) {
  check<int32_t, double, double, double>("cvt.rzi.s32.f64 %D, %A;", [](double a, double, double) {
    return std::isnan(a)        ? INT32_MIN
           : a >= 2147483647.0  ? INT32_MAX
           : a <= -2147483648.0 ? INT32_MIN
                                : int32_t(a);
  });
  check<int32_t, float, float, float>("cvt.rni.s32.f32 %D, %A;", [](float a, float, float) {
    return std::isnan(a)        ? 0
           : a >= 2147483648.f  ? INT32_MAX
           : a <= -2147483648.f ? INT32_MIN
                                : int32_t(std::nearbyint(a));
  });
  check<uint64_t, double, double, double>("cvt.rmi.u64.f64 %D, %A;", [](double a, double, double) {
    return std::isnan(a) ? uint64_t{1} << 63
           : a >= 0x1p64 ? UINT64_MAX
           : a <= 0      ? 0
                         : uint64_t(std::floor(a));
  });
  check<float, int64_t, int64_t, int64_t>("cvt.rn.f32.s64 %D, %A;",
                                          [](int64_t a, int64_t, int64_t) { return float(a); });
  check<double, uint64_t, uint64_t, uint64_t>("cvt.rn.f64.u64 %D, %A;",
                                              [](uint64_t a, uint64_t, uint64_t) { return double(a); });
  check<double, double, double, double>("cvt.rpi.f64.f64 %D, %A;",
                                        [](double a, double, double) { return std::ceil(a); });
  check<int32_t, uint32_t, uint32_t, uint32_t>(
      "cvt.s32.s8 %D, %A;", [](uint32_t a, uint32_t, uint32_t) { return int32_t{int8_t(a)}; });
  check<uint32_t, int32_t, int32_t, int32_t>(
      "cvt.u32.u16 %D, %h5; cvt.u16.u32 %h6, %A; cvt.u32.u16 %D, %h6;",
      [](int32_t a, int32_t, int32_t) { return uint32_t(a) & 0xFFFF; });
  check<int32_t, int32_t, int32_t, int32_t>(
      "cvt.sat.s8.s32 %D, %A;", [](int32_t a, int32_t, int32_t) { return std::clamp(a, -128, 127); });
  check<int64_t, int32_t, int32_t, int32_t>("cvt.s64.s32 %D, %A;",
                                            [](int32_t a, int32_t, int32_t) { return int64_t{a}; });
  check<float, float, float, float>("cvt.sat.f32.f32 %D, %A;",
                                    [](float a, float, float) { return a > 0 ? std::min(a, 1.f) : 0.f; });
}

TEST(Ops, BytesOfARegister) {
  Bench bench(kernel_of(1,
                        "{ .reg .b8 %b<5>; ld.param.u64 %d1, [p0]; mov.u32 %r1, 0x44332211; mov.b32 {%b1, "
                        "%b2, %b3, %b4}, %r1;\n"
                        "mov.b32 %r2, {%b4, %b3, %b2, %b1}; mov.b16 %h1, {%b2, %b1}; cvt.u32.u16 %r3, %h1;\n"
                        "st.global.u32 [%d1], %r2; st.global.u32 [%d1+4], %r3; }"));
  const uint64_t out = bench.put(std::vector<uint32_t>(2));
  bench.run("k", 1, 32, {out});
  EXPECT_EQ(bench.get<uint32_t>(out, 2), (std::vector<uint32_t>{0x11223344, 0x1122}));
}

}  // namespace
}  // namespace softgpu
