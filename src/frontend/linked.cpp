// Calls of functions that are linked with the kernels. Their declarations in the library specify the
// arguments of the C function: numbers of dtypes, and addresses (`*float32`) of arrays.

#include "frontend/kernels.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

/// Checks that a linked name has only one type.
void Evaluator::Kernels::declare(const nb::object& declaration, const std::string& name, nb::handle node) {
  std::vector<nb::object>& known = e_.launch_->linked;
  for (const nb::object& other : known) {
    if (other.is(declaration)) return;
    if (text_of(other.attr("name")) == name && !other.attr("form").equal(declaration.attr("form"))) {
      e_.unsupported(node, "a kernel with two functions `" + name + "` of different signatures",
                     "give them different names in what is linked");
    }
  }
  known.push_back(declaration);
}

/// An argument as it is passed to C.
NodeId Evaluator::Kernels::passed(const Value& value, const std::string& type, const std::string& name,
                                  nb::handle node) {
  const bool is_pointer = type.starts_with('*');
  const std::string wanted = type.substr(is_pointer ? 1 : 0);
  const DType dtype = base::known(base::dtype_from_numpy(wanted));
  const auto refuse = [&](const std::string& given) {
    e_.raise(ExceptionKind::TypeError,
             "`" + name + "` wants " + (is_pointer ? "an array of " : "") + wanted + ", not " + given);
  };
  if (is_pointer) {
    if (!value.is<Array>()) refuse("'" + e_.type_name(value) + "'");
    const Array array = e_.named(value);
    if (array.type.dtype() != dtype)
      refuse("an array of " + std::string(base::info(array.type.dtype()).numpy));
    e_.need_writable(array, "assignment destination is read-only", node);
    return array.node;
  }
  const Array* const array = value.as<Array>();
  if (array != nullptr && array->type.rank() > 0) refuse("an array");
  const Value number = array != nullptr ? e_.from_node(e_.whole(value)) : value;
  const std::optional<Kind> kind = e_.kind_of(number);
  const auto rank = [](DType t) { return base::is_complex(t) ? 3 : base::is_float(t) ? 2 : 1; };
  if (!kind || rank(kind->dtype()) > rank(dtype))
    refuse(kind ? std::string(kind->name()) : "'" + e_.type_name(number) + "'");
  return e_.value_for(number, dtype);
}

Value Evaluator::Kernels::linked(Call& call) {
  const nb::object declaration =
      e_.require_static(call.positional.at(0), "a declaration", call.node).attr("declaration");
  const std::string name = text_of(declaration.attr("name"));
  around_call(call.node, name);
  declare(declaration, name, call.node);
  const nb::object result = e_.require_static(call.positional.at(1), "a dtype", call.node);
  const std::vector<Value> types = e_.elements_of(call.positional.at(2), call.node);
  const std::vector<Value> arguments = e_.elements_of(call.positional.at(3), call.node);
  std::vector<NodeId> operands;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string type = text_of(e_.require_static(types.at(i), "a type", call.node));
    operands.push_back(passed(arguments[i], type, name, call.node));
  }
  const int64_t attributes[] = {e_.module_.text(name).index};
  if (result.is_none()) {
    e_.builder_->make(Op::linked, operands, attributes, ir::Type());
    return Static{nb::none()};
  }
  const DType dtype = base::known(base::dtype_from_numpy(text_of(result)));
  return e_.from_node(e_.builder_->make(Op::linked, operands, attributes, ir::Type::scalar(dtype)));
}

Value Evaluator::primitive_linked(Call& call) { return Kernels(*this).linked(call); }

}  // namespace ingot::frontend
