#include <algorithm>
#include <bit>
#include <type_traits>

#include "softgpu/machine/plan.h"

// Logic, bit fields, moves and selections.

namespace softgpu {

namespace {

template <class F>
Plan by_bits(uint32_t bits, F f) {
  switch (bits) {
    case 16: return f(uint16_t{});
    case 32: return f(uint32_t{});
    case 64: return f(uint64_t{});
    default: return {};
  }
}

template <class F>
Plan mask_plan(F) {
  return {[](Warp& w, const Instruction& i, Mask m) {
            Mask* const d = w.at<Mask>(i.d);
            *d = (*d & ~m) | (F{}(*w.get<Mask>(i.a), *w.get<Mask>(i.b)) & m);
          },
          {kPredicate, kPredicate, kPredicate}};
}

template <class F>
Plan mask_plan1(F) {
  return {[](Warp& w, const Instruction& i, Mask m) {
            Mask* const d = w.at<Mask>(i.d);
            *d = (*d & ~m) | (F{}(*w.get<Mask>(i.a)) & m);
          },
          {kPredicate, kPredicate}};
}

Plan plan_masks(const Op& op) {
  if (op.name == "and") return mask_plan([](Mask a, Mask b) { return a & b; });
  if (op.name == "or") return mask_plan([](Mask a, Mask b) { return a | b; });
  if (op.name == "xor") return mask_plan([](Mask a, Mask b) { return a ^ b; });
  if (op.name == "not") return mask_plan1([](Mask a) { return ~a; });
  if (op.name == "mov") return mask_plan1([](Mask a) { return a; });
  return {};
}

Plan plan_logic(const Op& op) {
  const std::string_view name = op.name;
  return by_bits(op.type.bits, [&]<class T>(T) -> Plan {
    if (name == "and") return plan2<T, T, T>([](T a, T b) { return static_cast<T>(a & b); });
    if (name == "or") return plan2<T, T, T>([](T a, T b) { return static_cast<T>(a | b); });
    if (name == "xor") return plan2<T, T, T>([](T a, T b) { return static_cast<T>(a ^ b); });
    if (name == "not") return plan1<T, T>([](T a) { return static_cast<T>(~a); });
    if (name == "cnot") return plan1<T, T>([](T a) { return static_cast<T>(a == 0 ? 1 : 0); });
    if (name == "mov") return plan1<T, T>([](T a) { return a; });
    return {};
  });
}

template <class T>
T field(T a, uint32_t b, uint32_t c) {
  using U = std::make_unsigned_t<T>;
  constexpr uint32_t kBits = 8 * sizeof(T);
  const uint32_t from = b & 255;
  const uint32_t length = std::min(c & 255, kBits);
  if (length == 0) return 0;
  const uint32_t top = std::min(from + length - 1, kBits - 1);
  const bool sign = std::is_signed_v<T> && ((static_cast<U>(a) >> top) & 1) != 0;
  U result = from >= kBits ? U{0} : static_cast<U>(static_cast<U>(a) >> from);
  const uint32_t known = from >= kBits ? 0 : std::min(length, kBits - from);
  const U kept = known >= kBits ? ~U{0} : static_cast<U>((U{1} << known) - 1);
  result &= kept;
  if (sign) result |= static_cast<U>(~kept);
  return static_cast<T>(result);
}

template <class T>
T inserted(T a, T b, uint32_t c, uint32_t d) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  const uint32_t from = c & 255;
  const uint32_t length = std::min(d & 255, kBits);
  if (from >= kBits || length == 0) return b;
  const T ones = length >= kBits ? ~T{0} : static_cast<T>((T{1} << length) - 1);
  const T where = static_cast<T>(ones << from);
  return static_cast<T>((b & ~where) | ((a << from) & where));
}

template <class T>
void insert(Warp& w, const Instruction& i, Mask m) {
  each_lane(m, [&](uint32_t l) {
    w.at<T>(i.d)[l] =
        inserted(w.get<T>(i.a)[l], w.get<T>(i.b)[l], w.get<uint32_t>(i.c)[l], w.get<uint32_t>(i.e)[l]);
  });
}

Plan plan_fields(const Op& op) {
  const bool is_signed = op.type.kind == 's';
  if (op.name == "bfe") {
    if (op.type.bits == 32)
      return is_signed ? plan3<int32_t, int32_t, uint32_t, uint32_t>(
                             [](int32_t a, uint32_t b, uint32_t c) { return field(a, b, c); })
                       : plan3<uint32_t, uint32_t, uint32_t, uint32_t>(
                             [](uint32_t a, uint32_t b, uint32_t c) { return field(a, b, c); });
    return is_signed ? plan3<int64_t, int64_t, uint32_t, uint32_t>(
                           [](int64_t a, uint32_t b, uint32_t c) { return field(a, b, c); })
                     : plan3<uint64_t, uint64_t, uint32_t, uint32_t>(
                           [](uint64_t a, uint32_t b, uint32_t c) { return field(a, b, c); });
  }
  if (op.type.bits == 32) return {insert<uint32_t>, {4, 4, 4, 4, 4}};
  return {insert<uint64_t>, {8, 8, 8, 4, 4}};
}

uint32_t mirrored(uint32_t a) {
  a = ((a >> 1) & 0x55555555) | ((a & 0x55555555) << 1);
  a = ((a >> 2) & 0x33333333) | ((a & 0x33333333) << 2);
  a = ((a >> 4) & 0x0F0F0F0F) | ((a & 0x0F0F0F0F) << 4);
  return __builtin_bswap32(a);
}

uint64_t mirrored64(uint64_t a) {
  return uint64_t{mirrored(static_cast<uint32_t>(a))} << 32 | mirrored(static_cast<uint32_t>(a >> 32));
}

/// bfind: the index of the highest bit that differs from the sign; `kShift`: how far to the left it is from
/// there.
template <class T, bool kShift>
uint32_t highest(T a) {
  using U = std::make_unsigned_t<T>;
  const U bits = a < T{0} ? static_cast<U>(~a) : static_cast<U>(a);
  if (bits == 0) return UINT32_MAX;
  const auto zeros = static_cast<uint32_t>(std::countl_zero(bits));
  return kShift ? zeros : static_cast<uint32_t>(8 * sizeof(T)) - 1 - zeros;
}

template <class T>
Plan find_plan(bool shift) {
  return shift ? plan1<uint32_t, T>([](T a) { return highest<T, true>(a); })
               : plan1<uint32_t, T>([](T a) { return highest<T, false>(a); });
}

/// fns: the index of the n-th bit that is set, counted from `base` up, or for negative n down.
uint32_t nth_set(uint32_t bits, uint32_t base, int32_t n) {
  if (n == 0) return base < 32 && ((bits >> base) & 1) != 0 ? base : UINT32_MAX;
  int32_t left = n > 0 ? n : -n;
  const int step = n > 0 ? 1 : -1;
  for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step)
    if (((bits >> at) & 1) != 0 && --left == 0) return static_cast<uint32_t>(at);
  return UINT32_MAX;
}

Plan plan_counts(const Op& op) {
  const bool wide = op.type.bits == 64;
  if (op.name == "popc")
    return wide
               ? plan1<uint32_t, uint64_t>([](uint64_t a) { return static_cast<uint32_t>(std::popcount(a)); })
               : plan1<uint32_t, uint32_t>(
                     [](uint32_t a) { return static_cast<uint32_t>(std::popcount(a)); });
  if (op.name == "clz")
    return wide ? plan1<uint32_t, uint64_t>(
                      [](uint64_t a) { return static_cast<uint32_t>(std::countl_zero(a)); })
                : plan1<uint32_t, uint32_t>(
                      [](uint32_t a) { return static_cast<uint32_t>(std::countl_zero(a)); });
  if (op.name == "brev")
    return wide ? plan1<uint64_t, uint64_t>([](uint64_t a) { return mirrored64(a); })
                : plan1<uint32_t, uint32_t>([](uint32_t a) { return mirrored(a); });
  if (op.name == "fns")
    return plan3<uint32_t, uint32_t, uint32_t, int32_t>(
        [](uint32_t a, uint32_t b, int32_t n) { return nth_set(a, b, n); });
  if (op.name != "bfind") return {};
  const bool shift = op.has("shiftamt");
  if (op.type.kind == 's') return wide ? find_plan<int64_t>(shift) : find_plan<int32_t>(shift);
  return wide ? find_plan<uint64_t>(shift) : find_plan<uint32_t>(shift);
}

/// The byte of the pair {b, a} that a selector gives.
uint32_t byte_of(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t pair = uint64_t{b} << 32 | a;
  const auto byte = static_cast<uint32_t>(pair >> (8 * (selector & 7))) & 255;
  return (selector & 8) != 0 ? (byte & 128) != 0 ? 255 : 0 : byte;
}

template <class F>
Plan permutation(F) {
  return plan3<uint32_t, uint32_t, uint32_t, uint32_t>([](uint32_t a, uint32_t b, uint32_t c) {
    uint32_t result = 0;
    for (uint32_t k = 0; k < 4; ++k) result |= byte_of(a, b, F{}(c, k)) << (8 * k);
    return result;
  });
}

Plan plan_prmt(const Op& op) {
  if (op.has("f4e")) return permutation([](uint32_t c, uint32_t k) { return (c & 3) + k; });
  if (op.has("b4e")) return permutation([](uint32_t c, uint32_t k) { return ((c & 3) - k) & 7; });
  if (op.has("rc8")) return permutation([](uint32_t c, uint32_t) { return c & 3; });
  if (op.has("ecl")) return permutation([](uint32_t c, uint32_t k) { return std::max(k, c & 3); });
  if (op.has("ecr")) return permutation([](uint32_t c, uint32_t k) { return std::min(k, c & 3); });
  if (op.has("rc16")) return permutation([](uint32_t c, uint32_t k) { return (c & 1) * 2 + (k & 1); });
  return permutation([](uint32_t c, uint32_t k) { return (c >> (4 * k)) & 15; });
}

template <class F>
Plan funnel(F) {
  return plan3<uint32_t, uint32_t, uint32_t, uint32_t>(
      [](uint32_t a, uint32_t b, uint32_t c) { return F{}(uint64_t{b} << 32 | a, c); });
}

Plan plan_shf(const Op& op) {
  const bool left = op.has("l");
  if (op.has("wrap"))
    return left ? funnel([](uint64_t v, uint32_t n) { return static_cast<uint32_t>((v << (n & 31)) >> 32); })
                : funnel([](uint64_t v, uint32_t n) { return static_cast<uint32_t>(v >> (n & 31)); });
  return left ? funnel([](uint64_t v, uint32_t n) {
    return static_cast<uint32_t>((v << std::min(n, 32u)) >> 32);
  })
              : funnel([](uint64_t v, uint32_t n) { return static_cast<uint32_t>(v >> std::min(n, 32u)); });
}

/// lop3: each bit of the result is that of the table at the bits of a, b and c.
void lop3(Warp& w, const Instruction& i, Mask m) {
  each_lane(m, [&](uint32_t l) {
    const uint32_t a = w.get<uint32_t>(i.a)[l], b = w.get<uint32_t>(i.b)[l], c = w.get<uint32_t>(i.c)[l];
    const uint32_t table = w.get<uint32_t>(i.e)[l];
    uint32_t result = 0;
    for (uint32_t k = 0; k < 8; ++k)
      if (((table >> k) & 1) != 0)
        result |= ((k & 4) != 0 ? a : ~a) & ((k & 2) != 0 ? b : ~b) & ((k & 1) != 0 ? c : ~c);
    w.at<uint32_t>(i.d)[l] = result;
  });
}

template <class T>
void select(Warp& w, const Instruction& i, Mask m) {
  T* const d = w.at<T>(i.d);
  const T* const a = w.get<T>(i.a);
  const T* const b = w.get<T>(i.b);
  const Mask which = *w.get<Mask>(i.c) ^ ((i.flags & flag::kNotC) != 0 ? kAll : 0);
  each_lane(m, [&](uint32_t l) { d[l] = ((which >> l) & 1) != 0 ? a[l] : b[l]; });
}

Plan plan_slct(const Op& op) {
  return by_bits(op.type.bits, [&]<class T>(T) {
    return op.last.kind == 'f' ? plan3<T, T, T, float>([](T a, T b, float c) { return c >= 0 ? a : b; })
                               : plan3<T, T, T, int32_t>([](T a, T b, int32_t c) { return c >= 0 ? a : b; });
  });
}

template <class T>
uint32_t dot4(uint32_t a, uint32_t b, uint32_t c, bool b_signed) {
  for (uint32_t k = 0; k < 32; k += 8) {
    const auto x = static_cast<int32_t>(static_cast<T>(a >> k));
    const auto y = b_signed ? static_cast<int32_t>(static_cast<int8_t>(b >> k))
                            : static_cast<int32_t>(static_cast<uint8_t>(b >> k));
    c += static_cast<uint32_t>(x * y);
  }
  return c;
}

Plan plan_dp4a(const Op& op) {
  using U = uint32_t;
  const bool b_signed = op.last.kind == 's';
  if (op.type.kind == 's')
    return b_signed ? plan3<U, U, U, U>([](U a, U b, U c) { return dot4<int8_t>(a, b, c, true); })
                    : plan3<U, U, U, U>([](U a, U b, U c) { return dot4<int8_t>(a, b, c, false); });
  return b_signed ? plan3<U, U, U, U>([](U a, U b, U c) { return dot4<uint8_t>(a, b, c, true); })
                  : plan3<U, U, U, U>([](U a, U b, U c) { return dot4<uint8_t>(a, b, c, false); });
}

}  // namespace

Plan plan_bits(const Op& op) {
  if (op.type.kind == 'p') return plan_masks(op);
  if (op.name == "bfe" || op.name == "bfi") return plan_fields(op);
  if (op.name == "prmt") return plan_prmt(op);
  if (op.name == "shf") return plan_shf(op);
  if (op.name == "lop3") return {lop3, {4, 4, 4, 4, 4}};
  if (op.name == "slct") return plan_slct(op);
  if (op.name == "dp4a") return plan_dp4a(op);
  if (op.name == "selp") {
    const auto bytes = static_cast<uint8_t>(op.type.bytes());
    const Handler run = bytes == 2   ? select<uint16_t>
                        : bytes == 4 ? select<uint32_t>
                        : bytes == 8 ? select<uint64_t>
                                     : nullptr;
    return {run, {bytes, bytes, bytes, kPredicate}};
  }
  if (const Plan plan = plan_logic(op)) return plan;
  return plan_counts(op);
}

}  // namespace softgpu
