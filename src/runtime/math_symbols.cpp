#include "runtime/math_symbols.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/math.h"

namespace ingot::runtime {

namespace {

using base::DType;
using base::Half;
namespace math = base::math;

// X(op, operands, dtype classes): kept equal to what codegen calls by a test that sees both.
// clang-format off
#define INGOT_MATH_FUNCTIONS(X)                                                                            \
  X(floor_divide, 2, "F")                                                                                  \
  X(remainder, 2, "F")                                                                                     \
  X(fmod, 2, "F")                                                                                          \
  X(power, 2, "IFC")                                                                                       \
  X(absolute, 1, "C")                                                                                      \
  X(sign, 1, "C")                                                                                          \
  X(power_overflows, 2, "I") X(nextafter, 2, "F") X(spacing, 1, "F")         \
      X(scale_by_power, 2, "F") X(sqrt, 1, "C") X(cbrt, 1, "F")                                            \
          X(hypot, 2, "F") X(exp, 1, "FC") X(exp2, 1, "FC") X(expm1, 1, "FC") X(log, 1, "FC")              \
              X(log2, 1, "FC") X(log10, 1, "FC") X(log1p, 1, "FC") X(logaddexp, 2, "F")                    \
                  X(logaddexp2, 2, "F") X(sin, 1, "FC") X(cos, 1, "FC") X(tan, 1, "FC") X(arcsin, 1, "FC") \
                      X(arccos, 1, "FC") X(arctan, 1, "FC") X(arctan2, 2, "F") X(sinh, 1, "FC")            \
                          X(cosh, 1, "FC") X(tanh, 1, "FC") X(arcsinh, 1, "FC") X(arccosh, 1, "FC")        \
                              X(arctanh, 1, "FC") X(erf, 1, "F") X(erfc, 1, "F") X(gamma, 1, "F")          \
                                  X(lgamma, 1, "F")
// clang-format on

/// How a number is passed.
template <class T>
struct Passed {
  using Type = T;
  static T take(Type value) { return value; }
  static Type give(T value) { return value; }
};
template <>
struct Passed<Half> {
  using Type = uint16_t;
  static Half take(Type bits) { return Half::from_bits(bits); }
  static Type give(Half value) { return value.bits; }
};
template <>
struct Passed<bool> {
  using Type = uint8_t;
  static Type give(bool value) { return value ? 1 : 0; }
};
template <class T>
struct Passed<std::complex<T>> {
  using Type = const std::complex<T>*;
  static std::complex<T> take(Type address) { return *address; }
};

/// The function that code calls: `Card::value` of numbers as they are passed.
template <class Card, class T, class... Operands>
struct Shim {
  using Result = decltype(Card::value(Operands{}...));
  static void write(typename Passed<Operands>::Type... operands, Result* result) {
    *result = Card::value(Passed<Operands>::take(operands)...);
  }
  static auto give(typename Passed<Operands>::Type... operands) {
    return Passed<Result>::give(Card::value(Passed<Operands>::take(operands)...));
  }
  static void* address() {
    if constexpr (base::is_complex_v<Result>) return reinterpret_cast<void*>(&Shim::write);
    else return reinterpret_cast<void*>(&Shim::give);
  }
};

#define X(op, operands, classes)                          \
  struct Card_##op {                                      \
    static constexpr std::string_view kClasses = classes; \
    template <class... T>                                 \
    static auto value(T... a) {                           \
      return math::op(a...);                              \
    }                                                     \
  };
INGOT_MATH_FUNCTIONS(X)
#undef X

template <class Card, int kOperands, class T>
void add(std::string_view op, std::vector<MathFunction>& functions) {
  constexpr char kClass = math::Integer<T> ? 'I' : math::Floating<T> ? 'F' : math::Complex<T> ? 'C' : 'B';
  if constexpr (Card::kClasses.find(kClass) != std::string_view::npos) {
    if constexpr (kOperands == 1)
      functions.push_back({op, base::dtype_for<T>(), Shim<Card, T, T>::address()});
    else functions.push_back({op, base::dtype_for<T>(), Shim<Card, T, T, T>::address()});
  }
}

template <class Card, int kOperands>
void add_all(std::string_view op, std::vector<MathFunction>& functions) {
  for (int i = 0; i < base::kDTypeCount; ++i)
    base::visit_dtype(static_cast<DType>(i), [&]<class T>() { add<Card, kOperands, T>(op, functions); });
}

std::vector<MathFunction> make_table() {
  std::vector<MathFunction> functions;
#define X(op, operands, classes) add_all<Card_##op, operands>(#op, functions);
  INGOT_MATH_FUNCTIONS(X)
#undef X
  return functions;
}

}  // namespace

std::span<const MathFunction> math_functions() {
  static const std::vector<MathFunction> functions = make_table();
  return functions;
}

void* find_math_function(std::string_view symbol) {
  constexpr std::string_view kPrefix = "ingot_v1_math_";
  if (!symbol.starts_with(kPrefix)) return nullptr;
  symbol.remove_prefix(kPrefix.size());
  const size_t mark = symbol.rfind('_');
  if (mark == std::string_view::npos) return nullptr;
  const auto dtype = base::dtype_from_name(symbol.substr(mark + 1));
  for (const MathFunction& function : math_functions())
    if (function.op == symbol.substr(0, mark) && function.dtype == dtype) return function.address;
  return nullptr;
}

}  // namespace ingot::runtime
