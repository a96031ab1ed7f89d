#include "bindings/binding.h"

#include <algorithm>
#include <utility>

namespace ingot::bindings {

namespace {

PyObject* empty_dict(Held& holder) {
  PyObject* const dict = PyDict_New();
  if (dict == nullptr) throw nb::python_error();
  holder.add(dict);
  return dict;
}

}  // namespace

Binding::Binding(nb::object code, nb::tuple names, size_t positional, size_t positional_only, bool has_rest,
                 bool has_others)
    : code_(std::move(code)),
      names_(std::move(names)),
      count_(names_.size()),
      positional_(positional),
      positional_only_(positional_only),
      has_rest_(has_rest),
      has_others_(has_others) {
  if (!PyCode_Check(code_.ptr())) throw nb::type_error("a code object is wanted");
  const auto* const it = reinterpret_cast<const PyCodeObject*>(code_.ptr());
  const auto taken = static_cast<size_t>(it->co_argcount);
  const size_t all = taken + static_cast<size_t>(it->co_kwonlyargcount) +
                     ((it->co_flags & CO_VARARGS) != 0 ? 1 : 0) +
                     ((it->co_flags & CO_VARKEYWORDS) != 0 ? 1 : 0);
  if (count_ != all || positional_ != taken ||
      positional_only_ != static_cast<size_t>(it->co_posonlyargcount) ||
      has_rest_ != ((it->co_flags & CO_VARARGS) != 0) ||
      has_others_ != ((it->co_flags & CO_VARKEYWORDS) != 0))
    throw nb::value_error("these are not the parameters of the function's code");
  for (const nb::handle each : names_)
    if (!PyUnicode_CheckExact(each.ptr())) throw nb::type_error("the name of a parameter is a string");
}

PyObject* Binding::name(size_t parameter) const {
  return PyTuple_GET_ITEM(names_.ptr(), static_cast<Py_ssize_t>(parameter));
}

/// The default that the function has now; null: none, or an exception is set. Borrowed.
PyObject* Binding::default_of(PyObject* function, size_t parameter) const {
  if (parameter >= positional_) {
    PyObject* const defaults = PyFunction_GET_KW_DEFAULTS(function);
    return defaults == nullptr ? nullptr : PyDict_GetItemWithError(defaults, name(parameter));
  }
  // The last default is that of the last parameter.
  PyObject* const defaults = PyFunction_GET_DEFAULTS(function);
  const size_t count = defaults == nullptr ? 0 : static_cast<size_t>(PyTuple_GET_SIZE(defaults));
  const size_t behind = positional_ - parameter;
  return behind > count ? nullptr : PyTuple_GET_ITEM(defaults, static_cast<Py_ssize_t>(count - behind));
}

/// The positional arguments that `*args` gets, which `holder` holds.
PyObject* Binding::rest(PyObject* const* arguments, size_t count, Held& holder) const {
  const size_t first = std::min(count, positional_);
  PyObject* const tuple = PyTuple_New(static_cast<Py_ssize_t>(count - first));
  if (tuple == nullptr) throw nb::python_error();
  holder.add(tuple);
  for (size_t i = first; i < count; ++i)
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i - first), Py_NewRef(arguments[i]));
  return tuple;
}

/// The parameter of a name, which is a string and nothing derived from it; `others` if there is none. Names
/// are mostly interned, so that they are found without being read.
size_t Binding::parameter_of(PyObject* keyword, size_t others) const {
  const size_t rest = has_rest_ ? positional_ : others;
  for (size_t i = positional_only_; i < others; ++i)
    if (i != rest && name(i) == keyword) return i;
  for (size_t i = positional_only_; i < others; ++i)
    if (i != rest && PyUnicode_Compare(name(i), keyword) == 0) return i;
  return others;
}

/// Gives an argument that has a name to its parameter, or to `**kwargs`; false: for Python to do. Runs no
/// code.
bool Binding::bind_keyword(PyObject* keyword, PyObject* value, Bound& bound) const {
  InlineVector<PyObject*, 24>& values = bound.own;
  if (!PyUnicode_CheckExact(keyword)) return false;
  const size_t others = count_ - (has_others_ ? 1 : 0);
  const size_t parameter = parameter_of(keyword, others);
  if (parameter < others) {
    if (values[parameter] != nullptr) return false;
    values[parameter] = value;
    return true;
  }
  if (!has_others_) return false;
  if (values[others] == nullptr) values[others] = empty_dict(bound.held);
  if (PyDict_SetItem(values[others], keyword, value) != 0) throw nb::python_error();
  return true;
}

bool Binding::bind(PyObject* function, PyObject* const* arguments, size_t count, PyObject* keywords,
                   Bound& bound) const {
  if (PyFunction_GET_CODE(function) != code_.ptr()) return false;
  if (keywords != nullptr || count != count_ || count != positional_)
    return bind_anew(function, arguments, count, keywords, bound);
  bound.values = {arguments, count};
  return true;
}

bool Binding::bind_anew(PyObject* function, PyObject* const* arguments, size_t count, PyObject* keywords,
                        Bound& bound) const {
  InlineVector<PyObject*, 24>& values = bound.own;
  if (count > positional_ && !has_rest_) return false;
  const size_t by_position = std::min(count, positional_);
  for (size_t i = 0; i < count_; ++i) values.push_back(i < by_position ? arguments[i] : nullptr);
  if (has_rest_) values[positional_] = rest(arguments, count, bound.held);
  const Py_ssize_t given = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t k = 0; k < given; ++k) {
    PyObject* const keyword = PyTuple_GET_ITEM(keywords, k);
    if (!bind_keyword(keyword, arguments[count + static_cast<size_t>(k)], bound)) return false;
  }
  for (size_t i = by_position; i < count_; ++i) {
    if (values[i] != nullptr) continue;
    if (has_others_ && i + 1 == count_) {
      values[i] = empty_dict(bound.held);
      continue;
    }
    values[i] = default_of(function, i);
    if (values[i] == nullptr) return false;
    bound.held.add(Py_NewRef(values[i]));
  }
  bound.values = values.span();
  return true;
}

}  // namespace ingot::bindings
