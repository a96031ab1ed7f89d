#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "base/dtype.h"

namespace ingot::base {

/// The bits of one element of any dtype, little end first, the unused bytes zero: two scalars of one dtype
/// are the same value (with the same NaN bits) exactly when their bits are equal. The dtype is known from the
/// context.
struct Scalar {
  std::array<uint64_t, 2> bits = {0, 0};

  template <class T>
  static Scalar of(T value) {
    static_assert(sizeof(T) <= sizeof(bits));
    Scalar s;
    std::memcpy(s.bits.data(), &value, sizeof(T));
    return s;
  }
  template <class T>
  T as() const {
    static_assert(sizeof(T) <= sizeof(bits));
    T value;
    std::memcpy(static_cast<void*>(&value), bits.data(), sizeof(T));
    return value;
  }
  /// Reads one element of dtype `t` at `address`, which need not be aligned.
  static Scalar load(DType t, const void* address) {
    Scalar s;
    std::memcpy(s.bits.data(), address, size_of(t));
    return s;
  }
  /// Writes one element of dtype `t` at `address`, which need not be aligned.
  void store(DType t, void* address) const { std::memcpy(address, bits.data(), size_of(t)); }

  bool operator==(const Scalar&) const = default;
};

}  // namespace ingot::base
