#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "frontend/kind.h"
#include "ir/function.h"

/// What the values that enter and leave compiled code are: the one type from the call to the result. Where a
/// call is looked up it is words (bindings/signature.h), in Python an object, in files that object's state
/// (bindings/described.h): projections, each made in one place.
namespace ingot::frontend {

namespace nb = nanobind;

/// What holds records in Python: `np.ndarray`, `np.recarray`, or a single `np.void` or `np.record`.
enum class Holder : uint8_t { Array, RecArray, Record };
inline constexpr std::array kHolders = {"ndarray", "recarray", "record"};  ///< by Holder

/// What is particular to each kind of descriptions: its fields, which decide whether two are equal, and are
/// attributes in Python.
namespace described {

// NOLINTBEGIN(bugprone-macro-parentheses): they are declarations
#define INGOT_FIELD(type, name, initial) type name = initial;
#define INGOT_KIND(kind, name, is_whole, fields)                        \
  struct kind {                                                         \
    static constexpr const char* kName = name;                          \
    bool fits([[maybe_unused]] size_t parts) const { return is_whole; } \
    fields                                                              \
  };
// NOLINTEND(bugprone-macro-parentheses)
#include "frontend/descriptions.def"
#undef INGOT_FIELD

/// Calls `fn(name, field)` for each field.
#define INGOT_FIELD(type, name, initial) fn(#name, it.name);
#undef INGOT_KIND
#define INGOT_KIND(kind, name, is_whole, fields)                           \
  template <class It, class Fn>                                            \
    requires std::is_same_v<std::remove_const_t<It>, kind>                 \
  void for_each_field([[maybe_unused]] It& it, [[maybe_unused]] Fn&& fn) { \
    fields                                                                 \
  }
#include "frontend/descriptions.def"
#undef INGOT_FIELD
#undef INGOT_KIND

}  // namespace described

#define INGOT_FIELD(type, name, initial)
#define INGOT_KIND(kind, name, is_whole, fields) kind,
enum class Described : uint8_t {
#include "frontend/descriptions.def"
};
#undef INGOT_KIND

/// One argument, or what a function gives, or a part of one. A value; what it holds of Python's never
/// changes.
struct Description {
#define INGOT_KIND(kind, name, is_whole, fields) , described::kind
  template <class, class... Each>
  using VariantOf = std::variant<Each...>;
  using Kinds = VariantOf<void
#include "frontend/descriptions.def"
                          >;
#undef INGOT_KIND
#undef INGOT_FIELD

  Kinds of{};
  std::vector<Description> parts{};
  uint32_t column = 0;  ///< in an element of a list buffer: the first of its own

  Described kind() const { return static_cast<Described>(of.index()); }
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(of);
  }
  template <class T>
  const T* as() const {
    return std::get_if<T>(&of);
  }
  /// It is of this kind.
  template <class T>
  const T& get() const {
    return std::get<T>(of);
  }
  bool is_whole() const {
    return std::visit([&](const auto& it) { return it.fits(parts.size()); }, of);
  }
  template <class Fn>
  void for_each_field(Fn&& fn) const {
    std::visit([&](const auto& it) { described::for_each_field(it, fn); }, of);
  }
  template <class Fn>
  void for_each_field(Fn&& fn) {
    std::visit([&](auto& it) { described::for_each_field(it, fn); }, of);
  }

  /// For Python's collector of cycles.
  int traverse(visitproc visit, void* argument) const {
    int stop = 0;
    for_each_field([&]<class T>(const char*, const T& field) {
      if constexpr (std::is_base_of_v<nb::handle, T>)
        if (stop == 0 && field.is_valid()) stop = visit(field.ptr(), argument);
    });
    for (const Description& part : parts)
      if (stop == 0) stop = part.traverse(visit, argument);
    return stop;
  }
  void clear() {
    of = described::Absent{};
    parts.clear();
  }
};

}  // namespace ingot::frontend
