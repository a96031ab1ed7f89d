// C functions: those of ctypes and cffi, which the program calls, and loops of ufuncs, which the library
// calls. `ingot._objects.c_functions` converts a stand-in of an argument as Python converts the argument, or
// raises. A pointer - `x.ctypes`, its `data`, the result of `data_as` - is a foreign value with a reference
// to its array: it can be passed to a C function, every other use is refused.

#include "frontend/calls/c_functions.h"

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using ir::Op;

namespace {

nb::object c_functions() { return imported("ingot._objects.c_functions"); }

}  // namespace

nb::object c_function(const nb::object& function) {
  PyObject* const f = function.ptr();
  const auto name_of_type = [](const auto* object) { return std::string_view(Py_TYPE(object)->tp_name); };
  const PyObject* const owner = PyCFunction_Check(f) ? PyCFunction_GET_SELF(f) : nullptr;
  const bool is_of_ctypes = name_of_type(Py_TYPE(f)) == "_ctypes.PyCFuncPtrType";
  const bool is_of_cffi = name_of_type(f).starts_with("_cffi_backend.") ||
                          (owner != nullptr && name_of_type(owner) == "_cffi_backend.Lib");
  if (!is_of_ctypes && !is_of_cffi) return {};
  const nb::object found = c_functions().attr("of")(function);
  return found.is_none() ? nb::object() : found;
}

bool is_library_of_c(nb::handle object) {
  return std::string_view(Py_TYPE(object.ptr())->tp_name) == "CDLL" &&
         nb::isinstance(object, imported("ctypes").attr("CDLL"));
}

nb::object function_of_library(const nb::object& library, const std::string& name) {
  return is_library_of_c(library) ? attribute_or(library, name.c_str(), nb::object()) : nb::object();
}

bool is_ufunc_of_scipy(const nb::object& function) {
  if (std::string_view(Py_TYPE(function.ptr())->tp_name) != "numpy.ufunc") return false;
  return nb::cast<bool>(c_functions().attr("is_of_scipy")(function));
}

/// One that is written in Python, or one of the dispatched functions of `scipy.fft`.
bool is_function_of_scipy(const nb::object& function) {
  const bool is_function = PyFunction_Check(function.ptr()) != 0;
  if (!is_function && std::string_view(Py_TYPE(function.ptr())->tp_name) != "uarray._Function") return false;
  const nb::object module = attribute_or(function, "__module__", nb::object());
  return module.is_valid() && PyUnicode_Check(module.ptr()) && text_of(module).starts_with("scipy.");
}

namespace {

Value call_c_function(Tracer& t, const nb::object& declared, const Call& call);

}  // namespace

std::optional<Value> call_of_c(Tracer& t, const nb::object& function, Call& call) {
  if (is_ufunc_of_scipy(function)) {
    const nb::module_ rules = imported("ingot.library.rules.special");
    const nb::object name = function.attr("__name__");
    const nb::object own = rules.attr("PARTIALS").attr("get")(name);
    const nb::object unknown = rules.attr("UNKNOWN").attr("get")(name, nb::tuple());
    call.positional.insert(call.positional.begin(),
                           {Static{imported("scipy.special")}, Static{own},
                            host_value(t, unknown, "the operands", call.node), Static{function}});
    return inline_function(t, attribute(imported("ingot.library.special"), "call"), call);
  }
  if (const nb::object declared = c_function(function); declared.is_valid())
    return call_c_function(t, declared, call);
  if (!is_function_of_scipy(function)) return std::nullopt;
  const nb::object twin = imported("ingot._objects.scipy").attr("twin_of")(function);
  if (!twin.is_none()) return inline_function(t, twin, call);
  const auto refusal = nb::cast<nb::tuple>(imported("ingot._objects.scipy").attr("refusal_of")(function));
  unsupported(t, call.node, text_of(refusal[0]), text_of(refusal[1]));
}

namespace {

int64_t number_of_c_function(Tracer& t, const nb::object& form) {
  for (size_t i = 0; i < t.functions.size(); ++i)
    if (t.functions[i].equal(form)) return static_cast<int64_t>(i);
  t.functions.push_back(form);
  return static_cast<int64_t>(t.functions.size() - 1);
}

}  // namespace

Foreign pointer_to(Tracer& t, const Array& array, const nb::object& type) {
  Foreign pointer{nb::cast(Description{described::Foreign{type}}), ""};
  pointer.points_to = share(Value(named(t, array)));
  return pointer;
}

std::optional<Value> pointer_attribute(Tracer& t, const Foreign& pointer, const std::string& name) {
  const nb::object type = pointer.description.attr("type");
  if (!pointer.points_to || !type.is(c_functions().attr("INTERFACE"))) return std::nullopt;
  if (name == "data") return pointer_to(t, *pointer.points_to->as<Array>(), c_functions().attr("Address"));
  if (name == "data_as") return Method{share(Value(pointer)), name};
  return std::nullopt;
}

/// `x.ctypes.data_as(type)`.
Value pointer_as(Tracer& t, const Foreign& pointer, const Call& call) {
  const nb::object type = call.positional.size() == 1 ? known_of(call.positional[0]) : nb::object();
  if (!type.is_valid() || !call.keywords.empty() || !nb::cast<bool>(c_functions().attr("is_pointer")(type)))
    unsupported(t, call.node, "`data_as` with another type than c_void_p or POINTER of a number",
                "give it one of these");
  return pointer_to(t, *pointer.points_to->as<Array>(), type);
}

namespace {

NodeId c_argument(Tracer& t, const nb::object& declared, size_t index, const Value& given, nb::handle node) {
  Value value = present(t, given, "an argument of a C function", node);
  const Foreign* const pointer = value.as<Foreign>();
  const bool is_pointer = pointer != nullptr && pointer->points_to;
  nb::object model = is_pointer ? c_functions().attr("stand_in")(pointer->description.attr("type"),
                                                                 stand_in(t, *pointer->points_to))
                                : stand_in(t, value);
  const auto refuse = [&] {
    unsupported(t, node,
                "a " + type_name(t, value) + " as an argument of the C function `" +
                    text_of(declared.attr("name")) + "`",
                "pass a number, an array, or a pointer to an array");
  };
  if (!model.is_valid()) refuse();
  const nb::object becomes = declared.attr("argument")(index, model);
  if (becomes.is_none()) refuse();
  if (PyExceptionInstance_Check(becomes.ptr())) raise_object(t, becomes);
  const std::string form = text_of(becomes.attr("form"));
  if (is_pointer) return pointer->points_to->as<Array>()->node;
  if (form == "array") {
    const Array array = named(t, value);
    const nb::object flags = becomes.attr("flags");
    const auto wants = [&](const char* flag) { return nb::cast<bool>(flags.attr("__contains__")(flag)); };
    if (wants("WRITEABLE") && array.access != Access::Writable) refuse();
    call_library(t, "c_functions", "need_layout",
                 {value, Static{nb::bool_(wants("C_CONTIGUOUS"))}, Static{nb::bool_(wants("F_CONTIGUOUS"))},
                  Static{nb::int_(index + 1)}, Static{becomes.attr("words")}},
                 node);
    return array.node;
  }
  if (form == "null") return t.builder->constant(ir::kInt64, base::Scalar{});
  const DType dtype = base::known(base::dtype_from_numpy(text_of(becomes.attr("dtype"))));
  if (const nb::object known = known_of(value); known.is_valid())
    value = Static{becomes.attr("converted")(known)};
  value = without_0d(t, value);
  if (form == "exact") {
    const nb::tuple limits = nb::cast<nb::tuple>(becomes.attr("limits"));
    const std::vector<Value> numbers{Scalar{Kind::py_int(), stage(t, value, Kind(DType::Int64))},
                                     Static{nb::object(limits[0])}, Static{nb::object(limits[1])},
                                     Static{becomes.attr("words")}};
    if (dtype != DType::Int64)
      value = call_library(t, "c_functions", dtype == DType::UInt64 ? "positive" : "exact", numbers, node);
  }
  if (dtype == DType::Bool) return truth(t, value, node);
  const std::optional<Kind> own = kind_of(value);
  if (!own) refuse();
  const bool is_wide = base::is_float(dtype) || base::is_complex(dtype);
  const DType wide = base::is_complex(dtype) ? DType::Complex128 : DType::Float64;
  NodeId number = stage(t, value, *own);
  if (is_wide && own->dtype() != wide) number = t.builder->cast(number, wide);
  return (is_wide ? wide : own->dtype()) == dtype ? number : t.builder->cast(number, dtype);
}

Value call_c_function(Tracer& t, const nb::object& declared, const Call& call) {
  const nb::object function = declared.attr("function");
  for (const nb::handle name : declared.attr("guards")) {
    const nb::object value = attribute(function, text_of(name).c_str());
    t.guards.push_back({function, text_of(name), value});
  }
  if (!call.keywords.empty())
    unsupported(t, call.node, "a keyword of a C function", "pass the argument by its place");
  const nb::object misfit = declared.attr("misfit")(call.positional.size());
  if (PyExceptionInstance_Check(misfit.ptr())) raise_object(t, misfit);
  if (!misfit.is_none()) unsupported(t, call.node, text_of(misfit), "pass what it declares");
  std::vector<NodeId> operands;
  for (size_t i = 0; i < call.positional.size(); ++i)
    operands.push_back(c_argument(t, declared, i, call.positional[i], call.node));
  const int64_t attributes[] = {number_of_c_function(t, declared.attr("form")),
                                t.module.text(text_of(declared.attr("name"))).index, 0};
  const nb::object result = declared.attr("result");
  if (result.is_none()) {
    t.builder->make(Op::c_call, operands, attributes, ir::Type());
    return Static{nb::none()};
  }
  const DType dtype = base::known(base::dtype_from_numpy(text_of(result)));
  const NodeId made = t.builder->make(Op::c_call, operands, attributes, ir::Type::scalar(dtype));
  if (dtype == DType::Bool) return Scalar{Kind::py_bool(), made};
  if (base::is_complex(dtype)) return Scalar{Kind::py_complex(), t.builder->cast(made, DType::Complex128)};
  if (base::is_float(dtype)) return Scalar{Kind::py_float(), t.builder->cast(made, DType::Float64)};
  if (dtype == DType::UInt64) call_library(t, "c_functions", "small", {Scalar{Kind(dtype), made}}, call.node);
  return Scalar{Kind::py_int(), t.builder->cast(made, DType::Int64)};
}

/// The description by which a loop of a ufunc is found.
nb::object form_of_loop(Tracer& t, const nb::object& ufunc, const Value& dtypes, nb::handle node) {
  nb::list all;
  for (const Value& each : elements_of(t, dtypes, node)) all.append(require_static(t, each, "a dtype", node));
  return c_functions().attr("loop_form")(ufunc, all);
}

}  // namespace

/// Calls the function of C that a form finds, which returns an int: (form, operands). Numbers are given as
/// i64, arrays by the address of their first element. Signals may interrupt those of the forms `mpi
/// wait` and `shards`.
Value primitive_call_c(Tracer& t, Call& call) {
  const nb::object form = require_static(t, call.positional.at(0), "a C function", call.node);
  std::vector<NodeId> operands;
  for (const Value& given : elements_of(t, call.positional.at(1), call.node)) {
    const Value each = present(t, given, "an operand of a C function", call.node);
    const bool is_array = rank_of(each).value_or(0) > 0;
    operands.push_back(is_array ? named(t, each).node : stage(t, each, Kind(DType::Int64)));
  }
  const std::string library = text_of(form[nb::int_(0)]);
  const bool may_be_interrupted = library == "mpi wait" || library == "shards";
  const int64_t attributes[] = {number_of_c_function(t, form),
                                t.module.text(text_of(form[nb::int_(1)])).index, may_be_interrupted ? 3 : 0};
  const NodeId code = t.builder->make(Op::c_call, operands, attributes, ir::Type::scalar(DType::Int32));
  return Scalar{Kind::py_int(), t.builder->cast(code, DType::Int64)};
}

/// A number that the process knows which runs the code: (form).
Value primitive_number_of_c(Tracer& t, Call& call) {
  const nb::object form = require_static(t, call.positional.at(0), "a number of C", call.node);
  const int64_t attributes[] = {number_of_c_function(t, form),
                                t.module.text(text_of(form[nb::int_(1)])).index, 2};
  return Scalar{Kind::py_int(), t.builder->make(Op::c_value, {}, attributes, ir::kInt64)};
}

/// Runs a loop of a ufunc on vectors of equal length: (ufunc, dtypes, inputs, outputs).
Value primitive_run_loop(Tracer& t, Call& call) {
  const nb::object ufunc = require_static(t, call.positional.at(0), "a ufunc", call.node);
  const nb::object form = form_of_loop(t, ufunc, call.positional.at(1), call.node);
  std::vector<NodeId> operands;
  for (const size_t part : {size_t{2}, size_t{3}})
    for (const Value& each : elements_of(t, call.positional.at(part), call.node))
      operands.push_back(named(t, each).node);
  const int64_t attributes[] = {number_of_c_function(t, form),
                                t.module.text(text_of(ufunc.attr("__name__"))).index, 1};
  t.builder->make(Op::c_call, operands, attributes, ir::Type());
  return Static{nb::none()};
}

/// The same for numbers, without outputs: a number, or a tuple of several.
Value primitive_of_loop(Tracer& t, Call& call) {
  const nb::object ufunc = require_static(t, call.positional.at(0), "a ufunc", call.node);
  const nb::object form = form_of_loop(t, ufunc, call.positional.at(1), call.node);
  std::vector<NodeId> operands;
  for (const Value& each : elements_of(t, call.positional.at(2), call.node))
    operands.push_back(stage(t, each, *kind_of(each)));
  std::vector<ir::Type> outputs;
  const std::vector<Value> dtypes = elements_of(t, call.positional.at(1), call.node);
  for (size_t i = operands.size(); i < dtypes.size(); ++i) {
    const std::string name = text_of(require_static(t, dtypes[i], "a dtype", call.node).attr("name"));
    outputs.push_back(ir::Type::scalar(base::known(base::dtype_from_numpy(name))));
  }
  const int64_t attributes[] = {number_of_c_function(t, form),
                                t.module.text(text_of(ufunc.attr("__name__"))).index, 1};
  const ir::Type type =
      outputs.size() == 1 ? outputs[0] : t.module.types.results(std::span<const ir::Type>(outputs));
  const NodeId made = t.builder->make(Op::c_value, operands, attributes, type);
  if (outputs.size() == 1) return Scalar{Kind(outputs[0].dtype()), made};
  Tuple all;
  for (size_t i = 0; i < outputs.size(); ++i)
    all.members.emplace_back(Scalar{Kind(outputs[i].dtype()), t.builder->function().result(made, i)});
  return all;
}

}  // namespace ingot::frontend
