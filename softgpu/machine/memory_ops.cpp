#include <algorithm>
#include <type_traits>

#include "softgpu/machine/access.h"
#include "softgpu/machine/floats.h"

// ld, st, atom, red.

namespace softgpu {

namespace {

using ptx::Space;

constexpr Access kRead = Access::Read;
constexpr Access kWrite = Access::Write;
constexpr Access kAtomic = Access::Atomic;

/// A load that others' stores may be waited for by.
void look(Warp& w, const Instruction& i, Mask m) {
  if ((i.flags & flag::kStrong) == 0 || m == 0) [[likely]]
    return;
  w.poll(i, address_at(w, i, i.a, first_of(m)), first_of(m));
}

/// Others may see what is stored there.
template <Space kSpace>
constexpr bool kIsSeen = kSpace != Space::Local && kSpace != Space::Param;

template <Space kSpace, class M, class R>
void load(Warp& w, const Instruction& i, Mask m) {
  if constexpr (kIsSeen<kSpace>) look(w, i, m);
  R* const d = w.at<R>(i.d);
  each_lane(m, [&](uint32_t l) {
    M value;
    std::memcpy(&value, accessed<kSpace>(w, i, address_at(w, i, i.a, l), sizeof(M), l, kRead), sizeof(M));
    d[l] = static_cast<R>(value);
  });
}

template <Space kSpace, class M, class R>
void load_vector(Warp& w, const Instruction& i, Mask m) {
  if constexpr (kIsSeen<kSpace>) look(w, i, m);
  const std::vector<Slot>& slots = w.frame->function->lists[i.target];
  each_lane(m, [&](uint32_t l) {
    const std::byte* from = accessed<kSpace>(w, i, address_at(w, i, i.a, l),
                                             static_cast<uint32_t>(sizeof(M) * slots.size()), l, kRead);
    for (const Slot slot : slots) {
      M value;
      std::memcpy(&value, from, sizeof(M));
      from += sizeof(M);
      if (slot != kNoSlot) w.at<R>(slot)[l] = static_cast<R>(value);
    }
  });
}

template <Space kSpace, class M, class R>
void store(Warp& w, const Instruction& i, Mask m) {
  if constexpr (kIsSeen<kSpace>) ++w.launch.progress;
  const R* const b = w.get<R>(i.b);
  each_lane(m, [&](uint32_t l) {
    const M value = static_cast<M>(b[l]);
    std::memcpy(accessed<kSpace>(w, i, address_at(w, i, i.a, l), sizeof(M), l, kWrite), &value, sizeof(M));
  });
}

template <Space kSpace, class M, class R>
void store_vector(Warp& w, const Instruction& i, Mask m) {
  if constexpr (kIsSeen<kSpace>) ++w.launch.progress;
  const std::vector<Slot>& slots = w.frame->function->lists[i.target];
  each_lane(m, [&](uint32_t l) {
    std::byte* to = accessed<kSpace>(w, i, address_at(w, i, i.a, l),
                                     static_cast<uint32_t>(sizeof(M) * slots.size()), l, kWrite);
    for (const Slot slot : slots) {
      const M value = static_cast<M>(w.get<R>(slot)[l]);
      std::memcpy(to, &value, sizeof(M));
      to += sizeof(M);
    }
  });
}

template <Space kSpace, class M, class R, bool kLoads>
void access(Warp& w, const Instruction& i, Mask m) {
  if constexpr (kLoads) {
    i.lanes == 1 ? load<kSpace, M, R>(w, i, m) : load_vector<kSpace, M, R>(w, i, m);
  } else {
    i.lanes == 1 ? store<kSpace, M, R>(w, i, m) : store_vector<kSpace, M, R>(w, i, m);
  }
}

template <Space kSpace, bool kLoads, class M>
Handler by_register(uint8_t bytes) {
  if (bytes < sizeof(M)) return nullptr;
  // The sign of a load goes as far as the register.
  if constexpr (sizeof(M) <= 2)
    if (bytes == 2) return access<kSpace, M, uint16_t, kLoads>;
  if constexpr (sizeof(M) <= 4)
    if (bytes == 4) return access<kSpace, M, uint32_t, kLoads>;
  if (bytes == 8) return access<kSpace, M, uint64_t, kLoads>;
  return nullptr;
}

template <Space kSpace, bool kLoads>
Handler by_type(ptx::Type type, uint8_t bytes) {
  const bool is_signed = type.kind == 's' && kLoads;
  switch (type.bits) {
    case 8:
      return is_signed ? by_register<kSpace, kLoads, int8_t>(bytes)
                       : by_register<kSpace, kLoads, uint8_t>(bytes);
    case 16:
      return is_signed ? by_register<kSpace, kLoads, int16_t>(bytes)
                       : by_register<kSpace, kLoads, uint16_t>(bytes);
    case 32:
      return is_signed ? by_register<kSpace, kLoads, int32_t>(bytes)
                       : by_register<kSpace, kLoads, uint32_t>(bytes);
    case 64: return by_register<kSpace, kLoads, uint64_t>(bytes);
    default: return nullptr;
  }
}

template <bool kLoads>
Handler by_space(Space space, ptx::Type type, uint8_t bytes) {
  switch (space) {
    case Space::Shared: return by_type<Space::Shared, kLoads>(type, bytes);
    case Space::Local: return by_type<Space::Local, kLoads>(type, bytes);
    case Space::Param: return by_type<Space::Param, kLoads>(type, bytes);
    case Space::Generic:
    case Space::Global:
    case Space::Const: return by_type<Space::Generic, kLoads>(type, bytes);
    case Space::Register: return nullptr;
  }
  return nullptr;
}

template <class T, Space kSpace, class F>
void atomic(Warp& w, const Instruction& i, Mask m) {
  bool changes = false;
  each_lane(m, [&](uint32_t l) {
    std::byte* const at = accessed<kSpace>(w, i, address_at(w, i, i.a, l), sizeof(T), l, kAtomic);
    T old;
    std::memcpy(&old, at, sizeof(T));
    const T c = i.c == kNoSlot ? T{} : w.get<T>(i.c)[l];
    const T made = F{}(old, w.get<T>(i.b)[l], c);
    changes |= std::memcmp(&made, &old, sizeof(T)) != 0;
    std::memcpy(at, &made, sizeof(T));
    if (i.d != kNoSlot) w.at<T>(i.d)[l] = old;
  });
  if (changes) {
    ++w.launch.progress;
  } else if (m != 0) {
    w.poll(i, address_at(w, i, i.a, first_of(m)), first_of(m));
  }
}

template <class T, class F>
Handler in_space(Space space, F) {
  if (space == Space::Shared) return atomic<T, Space::Shared, F>;
  return space == Space::Generic || space == Space::Global ? atomic<T, Space::Generic, F> : nullptr;
}

template <class T>
Handler integer_atomic(std::string_view op, Space space) {
  using U = std::make_unsigned_t<T>;
  if (op == "add")
    return in_space<T>(space,
                       [](T a, T b, T) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); });
  if (op == "min") return in_space<T>(space, [](T a, T b, T) { return std::min(a, b); });
  if (op == "max") return in_space<T>(space, [](T a, T b, T) { return std::max(a, b); });
  if (op == "and") return in_space<T>(space, [](T a, T b, T) { return static_cast<T>(a & b); });
  if (op == "or") return in_space<T>(space, [](T a, T b, T) { return static_cast<T>(a | b); });
  if (op == "xor") return in_space<T>(space, [](T a, T b, T) { return static_cast<T>(a ^ b); });
  if (op == "exch") return in_space<T>(space, [](T, T b, T) { return b; });
  if (op == "cas") return in_space<T>(space, [](T a, T b, T c) { return a == b ? c : a; });
  if (op == "inc")
    return in_space<T>(space, [](T a, T b, T) { return a >= b ? T{0} : static_cast<T>(a + 1); });
  if (op == "dec")
    return in_space<T>(space, [](T a, T b, T) { return a == 0 || a > b ? b : static_cast<T>(a - 1); });
  return nullptr;
}

template <class T>
Handler float_atomic(std::string_view op, Space space) {
  if (op == "add") return in_space<T>(space, [](T a, T b, T) { return stored<T>(number(a) + number(b)); });
  return nullptr;
}

template <class T>
uint32_t pair_sum(uint32_t a, uint32_t b) {
  uint32_t both = 0;
  for (uint32_t k = 0; k < 32; k += 16) {
    const T x{static_cast<uint16_t>(a >> k)}, y{static_cast<uint16_t>(b >> k)};
    both |= uint32_t{stored<T>(number(x) + number(y)).bits} << k;
  }
  return both;
}

Handler pair_atomic(std::string_view op, char kind, Space space) {
  if (op != "add") return nullptr;
  if (kind == 'f')
    return in_space<uint32_t>(space, [](uint32_t a, uint32_t b, uint32_t) { return pair_sum<F16>(a, b); });
  return in_space<uint32_t>(space, [](uint32_t a, uint32_t b, uint32_t) { return pair_sum<BF16>(a, b); });
}

/// One element of a vector, in the bits of its register.
template <class T, class F>
void vector_atomic(Warp& w, const Instruction& i, Mask m, bool gives) {
  const auto* const lists = w.frame->function->lists.data() + i.target;
  const std::vector<Slot>& given = lists[gives ? 1 : 0];
  ++w.launch.progress;
  each_lane(m, [&](uint32_t l) {
    const auto bytes = static_cast<uint32_t>(sizeof(T) * given.size());
    std::byte* at = w.generic(i, w.get<uint64_t>(i.a)[l], bytes, l, kAtomic);
    for (size_t k = 0; k < given.size(); ++k, at += sizeof(T)) {
      T old;
      std::memcpy(&old, at, sizeof(T));
      const T made = F{}(old, w.get<T>(given[k])[l]);
      std::memcpy(at, &made, sizeof(T));
      if (gives && lists[0][k] != kNoSlot) w.at<T>(lists[0][k])[l] = old;
    }
  });
}

template <class T, class F>
Handler vector_handler(bool gives, F) {
  if (gives) return [](Warp& w, const Instruction& i, Mask m) { vector_atomic<T, F>(w, i, m, true); };
  return [](Warp& w, const Instruction& i, Mask m) { vector_atomic<T, F>(w, i, m, false); };
}

/// The sum, or the lesser or greater number, of two floats; a NaN gives the other one.
template <class T>
T joined(char op, T a, T b) {
  const auto x = number(a), y = number(b);
  if (op == '+') return stored<T>(x + y);
  if (std::isnan(x)) return b;
  if (std::isnan(y)) return a;
  return (op == '<' ? x <= y : x >= y) ? a : b;
}

template <class T, char kOp>
uint32_t joined_pair(uint32_t a, uint32_t b) {
  uint32_t both = 0;
  for (uint32_t k = 0; k < 32; k += 16)
    both |= uint32_t{joined(kOp, T{static_cast<uint16_t>(a >> k)}, T{static_cast<uint16_t>(b >> k)}).bits}
            << k;
  return both;
}

template <char kOp>
Handler joining_vector(ptx::Type type, bool gives) {
  if (type.packed && type.kind == 'f')
    return vector_handler<uint32_t>(gives,
                                    [](uint32_t a, uint32_t b) { return joined_pair<F16, kOp>(a, b); });
  if (type.packed && type.kind == 'h')
    return vector_handler<uint32_t>(gives,
                                    [](uint32_t a, uint32_t b) { return joined_pair<BF16, kOp>(a, b); });
  if (type == ptx::Type{'f', 16})
    return vector_handler<F16>(gives, [](F16 a, F16 b) { return joined(kOp, a, b); });
  if (type == ptx::Type{'h', 16})
    return vector_handler<BF16>(gives, [](BF16 a, BF16 b) { return joined(kOp, a, b); });
  if (type == ptx::Type{'f', 32} && kOp == '+')
    return vector_handler<float>(gives, [](float a, float b) { return a + b; });
  return nullptr;
}

/// Pieces of `kBytes`, each in a register R.
template <class R, uint32_t kBytes>
void pack(Warp& w, const Instruction& i, Mask m) {
  const std::vector<Slot>& slots = w.frame->function->lists[i.target];
  const auto whole = kBytes * slots.size();
  each_lane(m, [&](uint32_t l) {
    uint64_t value = 0;
    for (size_t k = 0; k < slots.size(); ++k) {
      const uint64_t piece = w.get<R>(slots[k])[l] & (UINT64_MAX >> (64 - 8 * kBytes));
      value |= piece << (8 * kBytes * k);
    }
    if (whole == 8) w.at<uint64_t>(i.d)[l] = value;
    else if (whole == 4) w.at<uint32_t>(i.d)[l] = static_cast<uint32_t>(value);
    else w.at<uint16_t>(i.d)[l] = static_cast<uint16_t>(value);
  });
}

template <class R, uint32_t kBytes>
void unpack(Warp& w, const Instruction& i, Mask m) {
  const std::vector<Slot>& slots = w.frame->function->lists[i.target];
  const auto whole = kBytes * slots.size();
  each_lane(m, [&](uint32_t l) {
    const uint64_t value = whole == 8   ? w.get<uint64_t>(i.a)[l]
                           : whole == 4 ? w.get<uint32_t>(i.a)[l]
                                        : w.get<uint16_t>(i.a)[l];
    for (size_t k = 0; k < slots.size(); ++k) {
      const uint64_t piece = (value >> (8 * kBytes * k)) & (UINT64_MAX >> (64 - 8 * kBytes));
      if (slots[k] != kNoSlot) w.at<R>(slots[k])[l] = static_cast<R>(piece);
    }
  });
}

}  // namespace

Handler load_handler(Space space, ptx::Type type, uint8_t register_bytes) {
  return by_space<true>(space, type, register_bytes);
}

Handler store_handler(Space space, ptx::Type type, uint8_t register_bytes) {
  return by_space<false>(space, type, register_bytes);
}

Handler atomic_handler(std::string_view op, ptx::Type type, Space space) {
  if (type.packed) return pair_atomic(op, type.kind, space);
  if (type.kind == 'h') return float_atomic<BF16>(op, space);
  if (type.kind == 'f') {
    if (type.bits == 16) return float_atomic<F16>(op, space);
    return type.bits == 32 ? float_atomic<float>(op, space) : float_atomic<double>(op, space);
  }
  if (type.bits == 16 && (op == "cas" || op == "exch")) return integer_atomic<uint16_t>(op, space);
  if (type.bits == 32)
    return type.kind == 's' ? integer_atomic<int32_t>(op, space) : integer_atomic<uint32_t>(op, space);
  if (type.bits == 64)
    return type.kind == 's' ? integer_atomic<int64_t>(op, space) : integer_atomic<uint64_t>(op, space);
  return nullptr;
}

Handler vector_atomic_handler(std::string_view op, ptx::Type type, bool gives) {
  if (op == "add") return joining_vector<'+'>(type, gives);
  if (op == "min") return joining_vector<'<'>(type, gives);
  if (op == "max") return joining_vector<'>'>(type, gives);
  return nullptr;
}

Handler pack_handler(uint32_t pieces, uint32_t piece) {
  const uint32_t whole = pieces * piece;
  if (whole != 2 && whole != 4 && whole != 8) return nullptr;
  if (piece == 1) return pack<uint16_t, 1>;
  return piece == 2 ? pack<uint16_t, 2> : piece == 4 ? pack<uint32_t, 4> : nullptr;
}

Handler unpack_handler(uint32_t pieces, uint32_t piece) {
  const uint32_t whole = pieces * piece;
  if (whole != 2 && whole != 4 && whole != 8) return nullptr;
  if (piece == 1) return unpack<uint16_t, 1>;
  return piece == 2 ? unpack<uint16_t, 2> : piece == 4 ? unpack<uint32_t, 4> : nullptr;
}

namespace handlers {

void local_address(Warp& w, const Instruction& i, Mask m) {
  each_lane(
      m, [&](uint32_t l) { w.at<uint64_t>(i.d)[l] = static_cast<uint64_t>(i.offset) + w.frame->local_base; });
}

void is_in_space(Warp& w, const Instruction& i, Mask m) {
  const uint64_t window = i.offset == static_cast<int64_t>(Space::Shared)  ? kSharedWindow
                          : i.offset == static_cast<int64_t>(Space::Local) ? kLocalWindow
                          : i.offset == static_cast<int64_t>(Space::Param) ? kParamWindow
                                                                           : 0;
  Mask* const d = w.at<Mask>(i.d);
  each_lane(m, [&](uint32_t l) {
    const bool is_there = (w.get<uint64_t>(i.a)[l] & (uint64_t{0xFF} << 56)) == window;
    *d = (*d & ~(Mask{1} << l)) | (static_cast<Mask>(is_there) << l);
  });
}

void clock(Warp& w, const Instruction& i, Mask m) {
  // Time is the count of instructions, so that runs are alike.
  const uint64_t now = w.launch.counts.instructions + w.pc;
  each_lane(m, [&](uint32_t l) {
    if (i.lanes == 8) w.at<uint64_t>(i.d)[l] = now;
    else w.at<uint32_t>(i.d)[l] = static_cast<uint32_t>(i.offset != 0 ? now >> 32 : now);
  });
}

}  // namespace handlers

}  // namespace softgpu
