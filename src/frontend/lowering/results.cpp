#include "frontend/arrays/scalars.h"
#include "frontend/kinds/value_kind.h"
#include "frontend/tracer/errors.h"

namespace ingot::frontend {

std::optional<Description> Outward::again(uint32_t object) {
  if (object != 0) {
    const auto [known, is_new] = made.emplace(object, count);
    if (!is_new) return Description{described::Same{known->second}};
  }
  ++count;
  return std::nullopt;
}

Description describe_result(Tracer& t, const Value& given, Outward& outward) {
  const Value value = given.is<Maybe>() ? given : present(t, given, "the result", {});
  if (std::optional<Description> own = kind_of_value(value).describe(t, value, outward)) return *own;
  unsupported(t, {}, "a result that is a " + type_name(t, value),
              "return numbers, arrays, instances, or tuples, lists and dicts of them");
}

}  // namespace ingot::frontend
