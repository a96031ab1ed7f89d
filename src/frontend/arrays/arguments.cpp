#include "frontend/arrays/arguments.h"

#include "base/message.h"
#include "frontend/arrays/scalars.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

const Value* argument(Tracer& t, Call& call, size_t position, const char* name) {
  const auto keyword = std::ranges::find_if(call.keywords, [&](const auto& k) { return k.first == name; });
  if (position < call.positional.size()) {
    if (keyword != call.keywords.end())
      raise(t, ExceptionKind::TypeError, call.name + "() got multiple values for argument '" + name + "'");
    return &call.positional[position];
  }
  if (keyword == call.keywords.end()) return nullptr;
  keyword->first = "";  // asked for
  return &keyword->second;
}

const Value& need(Tracer& t, Call& call, size_t position, const char* name) {
  const Value* value = argument(t, call, position, name);
  if (value == nullptr) {
    raise_as_called(t, call);
    raise(
        t, ExceptionKind::TypeError,
        call.name + "() missing required argument '" + name + "' (pos " + std::to_string(position + 1) + ")");
  }
  return *value;
}

void finish(Tracer& t, Call& call, size_t positional) {
  if (call.positional.size() > positional) {
    raise_as_called(t, call);
    raise(t, ExceptionKind::TypeError,
          call.name + "() takes at most " + std::to_string(positional) + " positional arguments (" +
              std::to_string(call.positional.size()) + " given)");
  }
  for (const auto& [name, value] : call.keywords) {
    if (!name.empty())
      unsupported(t, call.node, "the keyword `" + name + "` of `" + call.name + "`", "leave it out");
  }
}

std::string order_argument(Tracer& t, Call& call, size_t position, const char* otherwise) {
  const Value* order = argument(t, call, position, "order");
  if (order == nullptr || is_none(*order)) return otherwise;
  const nb::object given = require_static(t, *order, "an order", call.node);
  if (!PyUnicode_Check(given.ptr()))
    raise(t, ExceptionKind::TypeError, "order must be str, not " + type_name(t, *order));
  const std::string name = text_of(given);
  if (name.size() == 1 && std::string_view("CFAKcfak").find(name[0]) != std::string_view::npos)
    return text_of(given.attr("upper")());
  raise(t, ExceptionKind::ValueError,
        "order must be one of 'C', 'F', 'A', or 'K' (got '" + base::escape_message(name) + "')");
}

bool wants_fortran_order(Tracer& t, Call& call, size_t position) {
  need_no_device(t, call);
  const std::string order = order_argument(t, call, position, "C");
  if (order != "C" && order != "F") raise(t, ExceptionKind::ValueError, "only 'C' or 'F' order is permitted");
  return order == "F";
}

void need_rank(Tracer& t, size_t rank) {
  if (rank > static_cast<size_t>(ir::kMaxRank))
    unsupported(t, t.here, "an array of more than 16 axes", "use fewer axes");
}

void need_no_device(Tracer& t, Call& call) {
  if (const Value* like = argument(t, call, SIZE_MAX, "like");
      like != nullptr && !is_none(*like) && !array_type_of(*like)) {
    raise(t, ExceptionKind::TypeError,
          "The `like` argument must be an array-like that implements the `__array_function__` protocol.");
  }
  const Value* device = argument(t, call, SIZE_MAX, "device");
  if (device == nullptr || is_none(*device)) return;
  const nb::object name = require_static(t, *device, "a device", call.node);
  if (name.equal(nb::str("cpu"))) return;
  raise(t, ExceptionKind::ValueError,
        "Device not understood. Only \"cpu\" is allowed, but received: " + text_of(name));
}

DType dtype_argument(Tracer& t, Call& call, size_t position, DType otherwise) {
  const Value* value = argument(t, call, position, "dtype");
  return value == nullptr || is_none(*value) ? otherwise : dtype_of(t, *value, call.node);
}

DType dtype_of(Tracer& t, const Value& value, nb::handle node) {
  const nb::object spelled = require_static(t, value, "a dtype", node);
  nb::object dtype;
  dtype = by_python(t, [&] { return nb::object(imported("numpy").attr("dtype")(spelled)); });
  const std::string name = text_of(dtype.attr("name"));
  if (nb::cast<bool>(dtype.attr("isnative")))
    if (const std::optional<DType> known = base::dtype_from_numpy(name)) return *known;
  unsupported(t, node, "the dtype " + text_of(nb::str(dtype)),
              "use a bool, integer, floating or complex dtype");
}

std::vector<NodeId> shape_argument(Tracer& t, const Value& shape) {
  std::vector<Value> parts{shape};
  if (const nb::object known = known_of(shape); known.is_valid() && PyBytes_Check(known.ptr()))
    unsupported(t, t.here, "a shape that is a bytes object", "use a tuple of ints");
  if (shape.is<Range>()) unsupported(t, t.here, "a shape that is a range", "use a tuple of ints");
  if (const std::optional<ir::Type> array = array_type_of(shape); array && array->rank() > 0) {
    raise_by_type(t, "call", "zeros", {shape}, imported("numpy").attr("zeros"));
    unsupported(t, t.here, "a shape that is an array", "use a tuple of ints");
  }
  if (const Tuple* tuple = shape.as<Tuple>()) parts = tuple->members;
  if (const uint32_t list = container_of(shape); list != 0) parts = contents(t, list, t.here).values;
  need_rank(t, parts.size());
  std::vector<NodeId> lengths;
  for (const Value& part : parts) {
    if (const std::optional<Kind> kind = kind_of(part); kind && base::is_bool(kind->dtype()))
      raise(t, ExceptionKind::TypeError, "an integer is required");
    if (number_kind(part) == Kind(DType::UInt64)) {
      check(t, t.builder->make(Op::greater_equal, {stage(t, part, Kind::py_int()), t.builder->index(0)}),
            ExceptionKind::ValueError, "Maximum allowed dimension exceeded");
    }
    if (side_of_64_bits(part) != 0) raise(t, ExceptionKind::ValueError, "Maximum allowed dimension exceeded");
    const NodeId length = stage_index(t, part);
    check(t, t.builder->make(Op::greater_equal, {length, t.builder->index(0)}), ExceptionKind::ValueError,
          "negative dimensions are not allowed");
    lengths.push_back(length);
  }
  return lengths;
}

}  // namespace ingot::frontend
