// Calls of functions that are linked with the kernels. Their declarations in the library specify the
// arguments of the C function: numbers of dtypes, and addresses (`*float32`) of arrays.

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/scalars.h"
#include "frontend/kernels/kernels.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

/// Checks that a linked name has only one type.
void Kernels::declare(const nb::object& declaration, const std::string& name, nb::handle node) {
  std::vector<nb::object>& known = t_.facts.launch->linked;
  for (const nb::object& other : known) {
    if (other.is(declaration)) return;
    if (text_of(other.attr("name")) == name && !other.attr("form").equal(declaration.attr("form"))) {
      unsupported(t_, node, "a kernel with two functions `" + name + "` of different signatures",
                  "give them different names in what is linked");
    }
  }
  known.push_back(declaration);
}

/// An argument as it is passed to C.
NodeId Kernels::passed(const Value& value, const std::string& type, const std::string& name,
                       nb::handle node) {
  const bool is_pointer = type.starts_with('*');
  const std::string wanted = type.substr(is_pointer ? 1 : 0);
  const DType dtype = base::known(base::dtype_from_numpy(wanted));
  const auto refuse = [&](const std::string& given) {
    raise(t_, ExceptionKind::TypeError,
          "`" + name + "` wants " + (is_pointer ? "an array of " : "") + wanted + ", not " + given);
  };
  if (is_pointer) {
    if (!array_type_of(value)) refuse("'" + type_name(t_, value) + "'");
    const Array array = named(t_, value);
    if (array.type.dtype() != dtype)
      refuse("an array of " + std::string(base::info(array.type.dtype()).numpy));
    need_writable(t_, array, "assignment destination is read-only", node);
    return array.node;
  }
  if (const std::optional<ir::Type> array = array_type_of(value); array && array->rank() > 0)
    refuse("an array");
  const Value number = without_0d(t_, value);
  const std::optional<Kind> kind = kind_of(number);
  const auto rank = [](DType one) { return base::is_complex(one) ? 3 : base::is_float(one) ? 2 : 1; };
  if (!kind || rank(kind->dtype()) > rank(dtype))
    refuse(kind ? std::string(kind->name()) : "'" + type_name(t_, number) + "'");
  return value_for(t_, number, dtype);
}

Value Kernels::linked(Call& call) {
  const nb::object declaration =
      require_static(t_, call.positional.at(0), "a declaration", call.node).attr("declaration");
  const std::string name = text_of(declaration.attr("name"));
  around_call(call.node, name);
  declare(declaration, name, call.node);
  const nb::object result = require_static(t_, call.positional.at(1), "a dtype", call.node);
  const std::vector<Value> types = elements_of(t_, call.positional.at(2), call.node);
  const std::vector<Value> arguments = elements_of(t_, call.positional.at(3), call.node);
  std::vector<NodeId> operands;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string type = text_of(require_static(t_, types.at(i), "a type", call.node));
    operands.push_back(passed(arguments[i], type, name, call.node));
  }
  const int64_t attributes[] = {t_.module.text(name).index};
  if (result.is_none()) {
    t_.builder->make(Op::linked, operands, attributes, ir::Type());
    return Static{nb::none()};
  }
  const DType dtype = base::known(base::dtype_from_numpy(text_of(result)));
  return from_node(t_, t_.builder->make(Op::linked, operands, attributes, ir::Type::scalar(dtype)));
}

Value primitive_linked(Tracer& t, Call& call) { return Kernels(t).linked(call); }

}  // namespace ingot::frontend
