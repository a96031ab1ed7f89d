// `format % values`, where the format is known and some of the values are not.

#include "frontend/arrays/mathematics.h"
#include "frontend/arrays/scalars.h"
#include "frontend/calls/python_builtins.h"
#include "frontend/expressions/expressions.h"
#include "frontend/kinds/objects.h"
#include "frontend/tracer/builtins.h"
#include "frontend/tracer/errors.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/frame.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

std::optional<Value> formatted(Tracer& t, const Value& format, const Value& given, nb::handle node) {
  const Static* known = format.as<Static>();
  if (known == nullptr || !PyUnicode_CheckExact(known->object.ptr())) return std::nullopt;
  const nb::object pieces = imported("ingot._objects.percent").attr("pieces")(known->object);
  if (pieces.is_none())
    unsupported(t, node, "'%' of a format with `*`, `%c` or digits of ints", "use an f-string");
  const Tuple* tuple = given.as<Tuple>();
  size_t next = 0;
  std::vector<Value> parts;
  for (const nb::handle piece : pieces) {
    if (PyUnicode_Check(piece.ptr())) {
      parts.emplace_back(Static{nb::borrow(piece)});
      continue;
    }
    const nb::object key = piece[0];
    const std::string kind = text_of(piece[3]);
    Value value = given;
    if (!key.is_none()) value = eval_item(t, given, Static{key}, node);
    else if (tuple != nullptr) value = tuple->members.at(next++);
    value = plain_number(t, present(t, value, "the value", node));
    if (const nb::object object = known_of(value); object.is_valid()) {
      parts.push_back(by_python(
          t, [&] { return Static{imported("operator").attr("mod")(piece[1], nb::make_tuple(object))}; }));
      continue;
    }
    if (kind == "float") value = Scalar{Kind::py_float(), real_number(t, value)};
    if (kind == "int" && !value.is<Array>()) {
      Call conversion{.positional = {value}, .name = "int", .node = node};
      value = builtin_int(t, conversion);
    }
    if (kind != "text" && (!kind_of(value) || value.is<Array>()))
      unsupported(t, node, "'%' of a " + type_name(t, value) + " as a number", "use its elements");
    parts.push_back(text_of_value(t, value, text_of(piece[2]), node));
  }
  return joined_text(t, parts);
}

}  // namespace ingot::frontend
