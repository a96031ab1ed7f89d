#include "frontend/kinds/value_kind.h"

namespace ingot::frontend {

std::optional<Description> Evaluator::Outward::again(uint32_t object) {
  if (object != 0) {
    const auto [known, is_new] = made.emplace(object, count);
    if (!is_new) return Description{described::Same{known->second}};
  }
  ++count;
  return std::nullopt;
}

Description Evaluator::describe_result(const Value& given, Outward& outward) {
  const Value value = given.is<Maybe>() ? given : present(given, "the result", {});
  if (std::optional<Description> own = kind_of_value(value).describe(*this, value, outward)) return *own;
  unsupported({}, "a result that is a " + type_name(value),
              "return numbers, arrays, instances, or tuples, lists and dicts of them");
}

}  // namespace ingot::frontend
