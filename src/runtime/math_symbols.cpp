#include "runtime/math_symbols.h"

#include <algorithm>
#include <vector>

#include "base/math/called.h"

namespace ingot::runtime {

namespace {

INGOT_CALLED_REAL(INGOT_DEFINE_CALLED_REAL)
INGOT_CALLED_COMPLEX(INGOT_DEFINE_CALLED_COMPLEX)

std::vector<MathFunction> make_table() {
  std::vector<MathFunction> functions;
#define X(op, operands, name, T) \
  functions.push_back({#op, base::dtype_for<T>(), reinterpret_cast<void*>(&ingot_v1_math_##op##_##name)});
  INGOT_CALLED_REAL(X)
  INGOT_CALLED_COMPLEX(X)
#undef X
  std::ranges::stable_sort(functions, {}, &MathFunction::op);
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
