#include "bindings/host_calls.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <utility>

#include "bindings/code.h"
#include "bindings/described.h"
#include "interop/collected.h"
#include "interop/exceptions.h"
#include "interop/numpy.h"
#include "runtime/abi.h"

namespace ingot::bindings {

namespace described = frontend::described;
using base::DType;
using nb::literals::operator""_a;

namespace {

constexpr size_t kMostOnStack = 16;

nb::object checked(PyObject* made) {
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

/// Whether a result is what it is declared to be, and needs no conversion.
bool is_expected(PyObject* value, DType dtype, bool is_python) {
  if (!is_python) return false;
  switch (dtype) {
    case DType::Float64: return PyFloat_CheckExact(value);
    case DType::Bool: return PyBool_Check(value);
    case DType::Complex128: return PyComplex_CheckExact(value);
    default: return false;
  }
}

[[noreturn]] void raise(const nb::object& error) {
  set_error(error);
  throw nb::python_error();
}

/// An array, its layout, and something that keeps it so: NumPy resizes no array that is referred to weakly.
class ArrayState {
 public:
  explicit ArrayState(PyObject* array) : array_(nb::borrow(array)), dtype_(dtype()), place_(place()) {
    for (PyObject* owner = array; owner != nullptr && PyArray_Check(owner);
         owner = PyArray_BASE(as_array(owner)))
      references_.push_back(checked(PyWeakref_NewRef(owner, nullptr)));
  }
  bool has_changed() const {
    if (place() != place_) return true;
    const auto* const before = reinterpret_cast<PyArray_Descr*>(dtype_.ptr());
    const auto* const now = PyArray_DESCR(as_array(array_.ptr()));
    return before != now && !nb::object(dtype_).equal(dtype());
  }

 private:
  nb::object dtype() const {
    return nb::borrow(reinterpret_cast<PyObject*>(PyArray_DESCR(as_array(array_.ptr()))));
  }
  std::vector<npy_intp> place() const {
    PyArrayObject* const it = as_array(array_.ptr());
    std::vector<npy_intp> all(PyArray_DIMS(it), PyArray_DIMS(it) + PyArray_NDIM(it));
    all.insert(all.end(), PyArray_STRIDES(it), PyArray_STRIDES(it) + PyArray_NDIM(it));
    return all;
  }

  nb::object array_;
  nb::object dtype_;
  std::vector<npy_intp> place_;
  std::vector<nb::object> references_;
};

std::vector<ArrayState> array_states(const Watched& watched) {
  std::vector<ArrayState> all;
  if (watched.guards == nullptr) return all;
  for (PyObject* leaf : watched.leaves)
    if (PyArray_Check(leaf)) all.emplace_back(leaf);
  return all;
}

/// Whether what `print` writes goes to a file or string of Python's, whose `write` changes nothing else.
bool writes_as_python() {
  static PyObject* const name = PyUnicode_InternFromString("write");
  static PyObject* const output = PyUnicode_InternFromString("stdout");
  static PyObject* const names = nb::object(nb::module_::import_("sys").attr("__dict__")).release().ptr();
  const auto write = [](nb::handle type) {
    return _PyType_Lookup(reinterpret_cast<PyTypeObject*>(type.ptr()), name);
  };
  static PyObject* const of_text = write(nb::object(nb::module_::import_("io").attr("TextIOWrapper")));
  static PyObject* const of_string = write(nb::object(nb::module_::import_("io").attr("StringIO")));
  PyObject* const out = PyDict_GetItemWithError(names, output);
  if (out == nullptr || out == Py_None) return true;
  PyObject* const own = write(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(out))));
  return own != nullptr && (own == of_text || own == of_string);
}

/// Refuses what a call has changed.
void look_after(const Watched& watched, const std::vector<ArrayState>& arrays, const nb::object& function,
                const nb::object& sites) {
  const auto refuse = [&](const nb::object& what) {
    raise(nb::module_::import_("ingot._host.callbacks").attr("of_change")(what, function, sites));
  };
  if (PyObject* const guard = watched.guards->changed())
    refuse(nb::module_::import_("ingot._host.callbacks").attr("named")(nb::handle(guard)));
  for (const ArrayState& array : arrays)
    if (array.has_changed()) refuse(nb::str("the shape or dtype of an array"));
}

}  // namespace

HostCalls::Part::Part(nb::handle described) {
  if (PyTuple_CheckExact(described.ptr())) {
    const auto description = nb::borrow<nb::tuple>(described);
    object = nb::borrow<nb::object>(description[0]);
    if (nb::len(description) == 1) return;
    for (const nb::handle field : description[1]) {
      const auto conversion = nb::cast<std::string>(field[0]);
      fields.push_back({conversion.empty() ? '\0' : conversion[0], nb::object(field[1])});
    }
    for (const nb::handle part : description[2]) parts.emplace_back(part);
    return;
  }
  if (PyLong_Check(described.ptr())) {
    container = nb::cast<int64_t>(described);
    return;
  }
  const frontend::Kind number = nb::cast<const Description&>(described).get<described::Scalar>().number;
  is_numpys = !number.is_python();
  dtype = number.dtype();
}

nb::object HostCalls::Part::make(Values& values) const {
  if (!parts.empty()) return text(values);
  if (object.is_valid()) return object;
  if (container >= 0) return nb::borrow(values.containers[static_cast<size_t>(container)]);
  return (is_numpys ? numpy_number : python_number)(dtype, values.slots[values.next++]);
}

/// As an f-string's value is made.
nb::object HostCalls::Part::text(Values& values) const {
  const nb::object all = checked(PyTuple_New(static_cast<Py_ssize_t>(2 * parts.size() + 1)));
  const auto literal = [&](size_t i) {
    PyObject* const found = PyTuple_GET_ITEM(object.ptr(), static_cast<Py_ssize_t>(i));
    PyTuple_SET_ITEM(all.ptr(), static_cast<Py_ssize_t>(2 * i), Py_NewRef(found));
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    literal(i);
    nb::object value = parts[i].make(values);
    const auto& [conversion, format] = fields[i];
    if (conversion == 's') value = checked(PyObject_Str(value.ptr()));
    if (conversion == 'r') value = checked(PyObject_Repr(value.ptr()));
    if (conversion == 'a') value = checked(PyObject_ASCII(value.ptr()));
    value = checked(PyObject_Format(value.ptr(), format.ptr()));
    PyTuple_SET_ITEM(all.ptr(), static_cast<Py_ssize_t>(2 * i + 1), value.release().ptr());
  }
  literal(parts.size());
  return checked(PyUnicode_Join(checked(PyUnicode_New(0, 0)).ptr(), all.ptr()));
}

int HostCalls::Part::traverse(visitproc visit, void* arg) const {
  Py_VISIT(object.ptr());
  for (const Field& field : fields) Py_VISIT(field.format.ptr());
  for (const Part& part : parts)
    if (const int stop = part.traverse(visit, arg); stop != 0) return stop;
  return 0;
}

HostCalls::HostCalls(const nb::dict& calls) {
  for (const auto [site, given] : calls) {
    const auto description = nb::cast<nb::tuple>(given);
    Call call{.function = description[0],
              .convert = description[1],
              .parts = {},
              .result = {},
              .sites = description[5]};
    for (const nb::handle part : description[2]) call.parts.emplace_back(part);
    if (!nb::object(description[3]).is_none())
      call.result = base::dtype_from_numpy(nb::cast<std::string>(description[3]));
    call.is_python = nb::cast<bool>(description[4]);
    call.is_watched = nb::cast<bool>(description[6]);
    call.is_print = call.function.is(nb::object(nb::module_::import_("builtins").attr("print")));
    if (nb::len(nb::handle(description[7])) > 0) call.names = description[7];
    call.first_leaf = nb::cast<size_t>(description[8]);
    if (call.parts.size() <= kMostOnStack) calls_.emplace(nb::cast<int64_t>(site), std::move(call));
  }
}

void HostCalls::call(int64_t site, void** slots, const Watched& watched,
                     std::span<PyObject* const> containers) const {
  const Call& call = calls_.at(site);
  nb::object given[kMostOnStack];
  PyObject* arguments[kMostOnStack];
  Values values{slots, call.first_leaf, containers};
  const bool runs_users_code = call.is_print && watched.guards != nullptr && !writes_as_python();
  const bool is_watched = call.is_watched || runs_users_code;
  const std::vector<ArrayState> arrays = is_watched ? array_states(watched) : std::vector<ArrayState>();
  try {
    for (size_t i = 0; i < call.parts.size(); ++i) {
      given[i] = call.parts[i].make(values);
      arguments[i] = given[i].ptr();
    }
    const size_t named = call.names.is_valid() ? nb::len(call.names) : 0;
    nb::object value = checked(
        PyObject_Vectorcall(call.function.ptr(), arguments, call.parts.size() - named, call.names.ptr()));
    const bool is_nothing = !call.result && value.is_none();
    if (!is_nothing && (!call.result || !is_expected(value.ptr(), *call.result, call.is_python)))
      value = call.convert(value);
    if (call.result) store_number(*call.result, static_cast<runtime::ViewSlot*>(slots[0])->data, value.ptr());
  } catch (nb::python_error& error) {
    const nb::object raised = nb::borrow<nb::object>(error.value());
    raise(nb::module_::import_("ingot._host.callbacks").attr("come_through")(raised, call.sites));
  }
  if (!is_watched) return;
  if (watched.guards != nullptr) look_after(watched, arrays, call.function, call.sites);
  else (void)watched.check(site);
}

int HostCalls::traverse(visitproc visit, void* arg) const {
  for (const auto& [site, call] : calls_) {
    Py_VISIT(call.function.ptr());
    Py_VISIT(call.convert.ptr());
    for (const Part& part : call.parts)
      if (const int stop = part.traverse(visit, arg); stop != 0) return stop;
  }
  return 0;
}

void HostCalls::bind(nb::module_& m) {
  nb::class_<HostCalls>(m, "HostCalls", nb::type_slots(Collected<HostCalls>::slots()))
      .def(nb::init<const nb::dict&>(), "calls"_a);
}

}  // namespace ingot::bindings
