#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/dtype.h"

namespace ingot::ir {

using base::DType;

/// Where a buffer lives.
enum class Space : uint8_t { Host, Device, Pinned, Shared, Local };
inline constexpr int kSpaceCount = 5;

enum class TypeKind : uint8_t {
  Void,      ///< nothing: of nodes without a value
  Label,     ///< the target of exits, a parameter of a block's region
  Scalar,    ///< one element: `f64`
  Array,     ///< a whole array, a value: `array<f64, 2>`
  View,      ///< a window on a buffer: `view<f64, 2>`, `view<f64, 2, device>`
  Buffer,    ///< bytes with identity: `buffer`, `buffer<shared>`
  Optional,  ///< `optional<T>`
  Results,   ///< `(T, U)`: of nodes with several results, which `result` nodes give one by one
};

inline constexpr int kMaxRank = 16;

/// A type in 32 bits. Types of one module are equal exactly when their bits are: compound types are numbers
/// of the module's `TypeTable`, which interns them.
class Type {
 public:
  constexpr Type() = default;

  static constexpr Type none() { return {}; }
  static constexpr Type label() { return Type(TypeKind::Label, 0); }
  static constexpr Type scalar(DType t) { return Type(TypeKind::Scalar, static_cast<uint32_t>(t)); }
  static constexpr Type array(DType t, int rank) {
    return Type(TypeKind::Array, static_cast<uint32_t>(t) | static_cast<uint32_t>(rank) << 8);
  }
  static constexpr Type view(DType t, int rank, Space space = Space::Host) {
    return Type(TypeKind::View, static_cast<uint32_t>(t) | static_cast<uint32_t>(rank) << 8 |
                                    static_cast<uint32_t>(space) << 16);
  }
  static constexpr Type buffer(Space space = Space::Host) {
    return Type(TypeKind::Buffer, static_cast<uint32_t>(space) << 16);
  }

  constexpr TypeKind kind() const { return static_cast<TypeKind>(bits_ & 0xff); }
  constexpr bool is(TypeKind kind) const { return this->kind() == kind; }
  constexpr bool is_void() const { return is(TypeKind::Void); }
  constexpr bool is_scalar() const { return is(TypeKind::Scalar); }
  constexpr bool is_scalar(DType t) const { return *this == scalar(t); }
  constexpr bool is_array() const { return is(TypeKind::Array); }
  constexpr bool is_view() const { return is(TypeKind::View); }
  constexpr bool is_buffer() const { return is(TypeKind::Buffer); }
  /// An array or a view.
  constexpr bool has_shape() const { return is_array() || is_view(); }
  /// A scalar, an array or a view.
  constexpr bool has_dtype() const { return is_scalar() || has_shape(); }

  /// Of scalars, arrays and views.
  constexpr DType dtype() const { return static_cast<DType>(bits_ >> 8 & 0xff); }
  /// Of arrays and views; 0 of a scalar.
  constexpr int rank() const { return has_shape() ? static_cast<int>(bits_ >> 16 & 0xff) : 0; }
  /// Of views and buffers.
  constexpr Space space() const { return static_cast<Space>(bits_ >> 24 & 0xff); }
  /// Of compound types: the number in the TypeTable.
  constexpr uint32_t index() const { return bits_ >> 8; }

  /// The scalar, array or view type of the same shape with another dtype.
  constexpr Type with_dtype(DType t) const {
    Type other = *this;
    other.bits_ = (bits_ & ~0xff00u) | static_cast<uint32_t>(t) << 8;
    return other;
  }
  /// The view type of the same dtype, shape and space; of an array, in the host's memory.
  constexpr Type as_view() const { return is_view() ? *this : view(dtype(), rank()); }
  /// What reading all of a view gives.
  constexpr Type as_array() const { return array(dtype(), rank()); }
  constexpr Type element() const { return scalar(dtype()); }

  constexpr uint32_t bits() const { return bits_; }
  constexpr bool operator==(const Type&) const = default;

 private:
  friend class TypeTable;
  constexpr Type(TypeKind kind, uint32_t payload) : bits_(static_cast<uint32_t>(kind) | payload << 8) {}
  uint32_t bits_ = 0;
};

inline constexpr Type kBool = Type::scalar(DType::Bool);
inline constexpr Type kInt32 = Type::scalar(DType::Int32);
inline constexpr Type kInt64 = Type::scalar(DType::Int64);
inline constexpr Type kFloat64 = Type::scalar(DType::Float64);

/// The compound types of a module.
class TypeTable {
 public:
  Type optional(Type value);
  /// The type of a node that gives these: Void of none, the type itself of one, else Results.
  Type results(std::span<const Type> members);

  /// The members of Results; of an optional its one type.
  std::span<const Type> members(Type compound) const;

  /// The text form: `view<f64, 2>`.
  std::string to_string(Type type) const;

 private:
  Type intern(TypeKind kind, std::span<const Type> members);
  std::vector<std::vector<Type>> compounds_;
  std::unordered_map<std::string, uint32_t> interned_;
};

std::string_view name_of(Space space);

}  // namespace ingot::ir
