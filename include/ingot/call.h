#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Calling compiled functions. A program that only calls saved objects needs this header and the runtime
/// alone: no compiler, no Python.
namespace ingot {

/// The element types, numbered as everywhere in Ingot.
enum class ElementType : uint8_t {
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

/// The element type that a C++ type is. (Float16 has none: its bits are a uint16_t.)
template <class T>
constexpr ElementType element_type() {
  if constexpr (std::is_same_v<T, bool>) return ElementType::Bool;
  else if constexpr (std::is_same_v<T, int8_t>) return ElementType::Int8;
  else if constexpr (std::is_same_v<T, uint8_t>) return ElementType::UInt8;
  else if constexpr (std::is_same_v<T, int16_t>) return ElementType::Int16;
  else if constexpr (std::is_same_v<T, uint16_t>) return ElementType::UInt16;
  else if constexpr (std::is_same_v<T, int32_t>) return ElementType::Int32;
  else if constexpr (std::is_same_v<T, uint32_t>) return ElementType::UInt32;
  else if constexpr (std::is_same_v<T, int64_t>) return ElementType::Int64;
  else if constexpr (std::is_same_v<T, uint64_t>) return ElementType::UInt64;
  else if constexpr (std::is_same_v<T, float>) return ElementType::Float32;
  else if constexpr (std::is_same_v<T, double>) return ElementType::Float64;
  else if constexpr (std::is_same_v<T, std::complex<float>>) return ElementType::Complex64;
  else {
    static_assert(std::is_same_v<T, std::complex<double>>, "not an element type");
    return ElementType::Complex128;
  }
}

/// One number.
struct Scalar {
  ElementType type = ElementType::Float64;
  alignas(16) std::array<std::byte, 16> bytes{};

  template <class T>
  static Scalar of(T value) {
    Scalar scalar;
    scalar.type = element_type<T>();
    std::memcpy(scalar.bytes.data(), &value, sizeof value);
    return scalar;
  }
  /// Throws std::invalid_argument if it is of another type.
  template <class T>
  T as() const {
    if (type != element_type<T>()) throw std::invalid_argument("a number of another type");
    T value;
    std::memcpy(static_cast<void*>(&value), bytes.data(), sizeof value);
    return value;
  }
};

/// A window on memory that somebody else owns.
struct View {
  ElementType type = ElementType::Float64;
  void* data = nullptr;  ///< the element with index 0 in every axis
  std::vector<int64_t> lengths;
  std::vector<int64_t> strides;  ///< bytes

  /// Contiguous elements, in C order.
  template <class T>
  static View of(T* data, std::vector<int64_t> lengths) {
    View view{element_type<T>(), data, std::move(lengths), {}};
    view.strides.resize(view.lengths.size());
    int64_t stride = sizeof(T);
    for (size_t i = view.lengths.size(); i-- > 0; stride *= view.lengths[i]) view.strides[i] = stride;
    return view;
  }
};

/// An array that a call gave: a view and what keeps its memory. `owner` is null if that is an argument's.
struct Array {
  View view;
  std::shared_ptr<void> owner;
};

using Argument = std::variant<Scalar, View>;
using Result = std::variant<Scalar, Array>;

/// An exception of the compiled code, with the name Python knows it under.
class Raised : public std::runtime_error {
 public:
  Raised(std::string exception_name, const std::string& message, std::string source, uint32_t source_line)
      : std::runtime_error(message),
        kind(std::move(exception_name)),
        file(std::move(source)),
        line(source_line) {}
  std::string kind;  ///< "ZeroDivisionError"
  std::string file;  ///< empty: no location is known
  uint32_t line;
};

/// A compiled function. Copies share the code. Calls from several threads at once are allowed.
class Function {
 public:
  /// Of a file that `save` wrote. Throws std::runtime_error for one that is damaged or has no such function.
  static Function open(const std::string& path, std::string_view name);
  /// Of the bytes of such a file.
  static Function from_bytes(std::string bytes, std::string_view name);

  /// Throws Raised for an exception of the function, std::invalid_argument for arguments of other types or
  /// ranks than its parameters.
  std::vector<Result> operator()(std::span<const Argument> arguments) const;
  std::vector<Result> operator()(std::initializer_list<Argument> arguments) const {
    return (*this)(std::span(arguments.begin(), arguments.size()));
  }

  /// Throws std::runtime_error if the file cannot be written.
  void save(const std::string& path) const;

 private:
  struct State;
  explicit Function(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace ingot
