#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/half.h"

namespace ingot::base {

/// The element types of arrays, in the order in which NumPy lists the loops of a ufunc: the first loop to
/// which all inputs cast safely is the one taken.
enum class DType : uint8_t {
  Bool,
  Int8,
  UInt8,
  Int16,
  UInt16,
  Int32,
  UInt32,
  Int64,
  UInt64,
  Float16,
  Float32,
  Float64,
  Complex64,
  Complex128,
};

inline constexpr int kDTypeCount = 14;

/// The four classes of dtypes, as bits of a `DTypeSet`'s class mask.
enum class DTypeClass : uint8_t { Bool = 1, Int = 2, Float = 4, Complex = 8 };

/// The properties of a dtype.
struct DTypeInfo {
  std::string_view name;   ///< in the text form of the IR: `f64`
  std::string_view numpy;  ///< as NumPy spells it: `float64`
  uint8_t size;            ///< bytes
  DTypeClass dtype_class;
  bool is_signed;  ///< of integers; true for floating and complex types
};

inline constexpr std::array<DTypeInfo, kDTypeCount> kDTypes = {{
    {"bool", "bool", 1, DTypeClass::Bool, false},
    {"i8", "int8", 1, DTypeClass::Int, true},
    {"u8", "uint8", 1, DTypeClass::Int, false},
    {"i16", "int16", 2, DTypeClass::Int, true},
    {"u16", "uint16", 2, DTypeClass::Int, false},
    {"i32", "int32", 4, DTypeClass::Int, true},
    {"u32", "uint32", 4, DTypeClass::Int, false},
    {"i64", "int64", 8, DTypeClass::Int, true},
    {"u64", "uint64", 8, DTypeClass::Int, false},
    {"f16", "float16", 2, DTypeClass::Float, true},
    {"f32", "float32", 4, DTypeClass::Float, true},
    {"f64", "float64", 8, DTypeClass::Float, true},
    {"c64", "complex64", 8, DTypeClass::Complex, true},
    {"c128", "complex128", 16, DTypeClass::Complex, true},
}};

constexpr const DTypeInfo& info(DType t) { return kDTypes[static_cast<size_t>(t)]; }
constexpr size_t size_of(DType t) { return info(t).size; }
constexpr bool is_bool(DType t) { return t == DType::Bool; }
constexpr bool is_int(DType t) { return info(t).dtype_class == DTypeClass::Int; }
constexpr bool is_float(DType t) { return info(t).dtype_class == DTypeClass::Float; }
constexpr bool is_complex(DType t) { return info(t).dtype_class == DTypeClass::Complex; }
constexpr bool is_signed(DType t) { return info(t).is_signed; }

/// The alignment of one element, as C's: a complex number is aligned as its components.
constexpr size_t alignment_of(DType t) { return is_complex(t) ? size_of(t) / 2 : size_of(t); }

/// Complex64 → Float32, Complex128 → Float64, every other dtype → itself.
constexpr DType component_of(DType t) {
  return t == DType::Complex64 ? DType::Float32 : t == DType::Complex128 ? DType::Float64 : t;
}

/// Float32 → Complex64, Float64 → Complex128; none for the others.
constexpr std::optional<DType> complex_of(DType t) {
  if (t == DType::Float32) return DType::Complex64;
  if (t == DType::Float64) return DType::Complex128;
  return std::nullopt;
}

/// The dtype named so in the text form of the IR.
constexpr std::optional<DType> dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < kDTypes.size(); ++i)
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

/// The dtype that NumPy spells so.
constexpr std::optional<DType> dtype_from_numpy(std::string_view name) {
  for (size_t i = 0; i < kDTypes.size(); ++i)
    if (kDTypes[i].numpy == name) return static_cast<DType>(i);
  return std::nullopt;
}

/// Calls `fn.template operator()<T>()` with the C++ type that holds one element of dtype `t`.
template <class Fn>
constexpr decltype(auto) visit_dtype(DType t, Fn&& fn) {
  switch (t) {
    case DType::Bool: return fn.template operator()<bool>();
    case DType::Int8: return fn.template operator()<int8_t>();
    case DType::UInt8: return fn.template operator()<uint8_t>();
    case DType::Int16: return fn.template operator()<int16_t>();
    case DType::UInt16: return fn.template operator()<uint16_t>();
    case DType::Int32: return fn.template operator()<int32_t>();
    case DType::UInt32: return fn.template operator()<uint32_t>();
    case DType::Int64: return fn.template operator()<int64_t>();
    case DType::UInt64: return fn.template operator()<uint64_t>();
    case DType::Float16: return fn.template operator()<Half>();
    case DType::Float32: return fn.template operator()<float>();
    case DType::Float64: return fn.template operator()<double>();
    case DType::Complex64: return fn.template operator()<std::complex<float>>();
    case DType::Complex128: return fn.template operator()<std::complex<double>>();
  }
  __builtin_unreachable();
}

template <class T>
inline constexpr bool is_complex_v = false;
template <class T>
inline constexpr bool is_complex_v<std::complex<T>> = true;

/// The dtype that holds a C++ value of type T.
template <class T>
constexpr DType dtype_for() {
  if constexpr (std::is_same_v<T, bool>) return DType::Bool;
  else if constexpr (std::is_same_v<T, int8_t>) return DType::Int8;
  else if constexpr (std::is_same_v<T, uint8_t>) return DType::UInt8;
  else if constexpr (std::is_same_v<T, int16_t>) return DType::Int16;
  else if constexpr (std::is_same_v<T, uint16_t>) return DType::UInt16;
  else if constexpr (std::is_same_v<T, int32_t>) return DType::Int32;
  else if constexpr (std::is_same_v<T, uint32_t>) return DType::UInt32;
  else if constexpr (std::is_same_v<T, int64_t>) return DType::Int64;
  else if constexpr (std::is_same_v<T, uint64_t>) return DType::UInt64;
  else if constexpr (std::is_same_v<T, Half>) return DType::Float16;
  else if constexpr (std::is_same_v<T, float>) return DType::Float32;
  else if constexpr (std::is_same_v<T, double>) return DType::Float64;
  else if constexpr (std::is_same_v<T, std::complex<float>>) return DType::Complex64;
  else {
    static_assert(std::is_same_v<T, std::complex<double>>, "no dtype holds this type");
    return DType::Complex128;
  }
}

/// Whether every value of `from` is kept by a conversion to `to`: NumPy's `can_cast(from, to, "safe")`.
bool can_cast_safely(DType from, DType to);

/// NumPy's `promote_types(a, b)`: the smallest dtype to which both cast safely (Float64 where integers have
/// no common integer type).
DType promote(DType a, DType b);

}  // namespace ingot::base
