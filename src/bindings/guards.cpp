#include "bindings/guards.h"

#include <utility>

#include "bindings/fields.h"
#include "bindings/inline_vector.h"
#include "interop/numpy.h"
#include "interop/same.h"

namespace ingot::bindings {

namespace {

int same_tuple(PyObject* a, PyObject* b) {
  if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i)
    if (const int is = same(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i)); is != 1) return is;
  return 1;
}

/// A number that another content of the dict has another of; 0: Python keeps none.
uint64_t version_of(PyObject* dict) {
#if PY_VERSION_HEX < 0x030C0000
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#else
  (void)dict;
  return 0;
#endif
}

/// A number that a class has another of after a change of it or its bases; 0: it has none now.
unsigned version_of_class(PyObject* type) {
  const auto* const it = reinterpret_cast<const PyTypeObject*>(type);
  return (it->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG) == 0 ? 0 : it->tp_version_tag;
}

PyObject* held_at(PyObject* tuple, PyObject* index) {
  const nb::object number = nb::steal(PyLong_FromUnicodeObject(index, 10));
  const Py_ssize_t at = number.is_valid() ? PyLong_AsSsize_t(number.ptr()) : -1;
  if (at < 0 || at >= PyTuple_GET_SIZE(tuple)) return nullptr;
  return Py_NewRef(PyTuple_GET_ITEM(tuple, at));
}

}  // namespace

bool is_partial(PyObject* object) {
  static PyObject* const partial =
      nb::object(nb::module_::import_("functools").attr("partial")).release().ptr();
  return reinterpret_cast<PyObject*>(Py_TYPE(object)) == partial;
}

const std::array<PyObject*, 3>& names_in_partials() {
  static const std::array<PyObject*, 3> names = {PyUnicode_InternFromString("func"),
                                                 PyUnicode_InternFromString("args"),
                                                 PyUnicode_InternFromString("keywords")};
  return names;
}

bool is_read_plainly(PyObject* owner) {
  return PyDict_CheckExact(owner) || PyCell_Check(owner) || PyTuple_CheckExact(owner) ||
         PyMethod_Check(owner) || is_partial(owner);
}

PyObject* held(PyObject* owner, PyObject* name) {
  if (PyDict_CheckExact(owner)) return Py_XNewRef(PyDict_GetItemWithError(owner, name));
  if (PyCell_Check(owner)) return PyUnicode_GET_LENGTH(name) == 0 ? PyCell_Get(owner) : Py_NewRef(owner);
  if (PyTuple_CheckExact(owner)) return held_at(owner, name);
  PyObject* found = PyObject_GetAttr(owner, name);
  if (found == nullptr && PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
  return found;
}

PyObject* held_in_class(PyObject* type, PyObject* name) {
  auto* const it = reinterpret_cast<PyTypeObject*>(type);
  if (PyUnicode_CompareWithASCIIString(name, "__mro__") == 0) return Py_XNewRef(it->tp_mro);
  return Py_XNewRef(_PyType_Lookup(it, name));
}

int same(PyObject* a, PyObject* b) {
  if (a != b && Py_TYPE(a) == Py_TYPE(b) && PyTuple_CheckExact(a)) return same_tuple(a, b);
  const int is = same_plain(a, b);
  if (is != 0 || Py_TYPE(a) != Py_TYPE(b) || !PyArray_DescrCheck(a)) return is;
  return is_renamed_in_place(a) && same_fields(a, b) ? 1 : 0;
}

Guards::Guards(const nb::tuple& guards) {
  for (const nb::handle each : guards) {
    const auto given = nb::cast<nb::tuple>(each);
    PyObject* const owner = given[0].ptr();
    PyObject* name = nb::object(given[1]).release().ptr();
    PyUnicode_InternInPlace(&name);
    const bool is_present = nb::cast<bool>(given[3]);
    Guard guard{given, owner, nb::steal(name), is_present ? given[2].ptr() : nullptr, Owner::Other, {}};
    const auto is_named = [&](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
    if (PyDict_CheckExact(owner)) {
      guard.kind = Owner::Dict;
      guard.dict = index_of(owner);
    }
    if (PyCell_Check(owner)) guard.kind = Owner::Cell;
    if (nb::cast<bool>(given[4])) guard.kind = Owner::Class;
    if (PyFunction_Check(owner)) {
      guard.kind = Owner::Function;
      if (is_named("__code__")) guard.attribute = Attribute::Code;
      else if (is_named("__defaults__")) guard.attribute = Attribute::Defaults;
      else if (is_named("__kwdefaults__")) guard.attribute = Attribute::KeywordDefaults;
      else guard.kind = Owner::Other;
    }
    if (is_present && is_renamed_in_place(guard.expected)) {
      guard.copy = private_of(guard.expected);
      guard.expected = guard.copy.ptr();
    }
    if (guard.kind != Owner::Dict || guard.copy.is_valid()) others_.push_back(guards_.size());
    runs_code_ = runs_code_ || (guard.kind == Owner::Other && !is_read_plainly(owner));
    guards_.push_back(std::move(guard));
  }
}

/// What a function has as the attribute; null: any other owner. Borrowed.
PyObject* Guards::of_function(const Guard& guard) {
  PyObject* found = nullptr;
  if (guard.kind != Owner::Function) return nullptr;
  switch (guard.attribute) {
    case Attribute::Code: return PyFunction_GET_CODE(guard.owner);
    case Attribute::Defaults: found = PyFunction_GET_DEFAULTS(guard.owner); break;
    case Attribute::KeywordDefaults: found = PyFunction_GET_KW_DEFAULTS(guard.owner); break;
  }
  return found == nullptr ? Py_None : found;
}

/// Whether what is there is the very object that was. False: `holds` must look.
bool Guards::holds_at_once(const Guard& guard) {
  if (guard.copy.is_valid()) return false;
  if (guard.kind == Owner::Class) return guard.version != 0 && guard.version == version_of_class(guard.owner);
  if (guard.expected == nullptr) return false;
  if (guard.kind == Owner::Cell) return PyCell_GET(guard.owner) == guard.expected;
  if (guard.kind == Owner::Dict)
    return PyDict_GetItemWithError(guard.owner, guard.name.ptr()) == guard.expected;
  return of_function(guard) == guard.expected;
}

bool Guards::holds(const Guard& guard) {
  PyObject* const found = of_function(guard);
  const bool in_class = guard.kind == Owner::Class;
  const nb::object now = found != nullptr ? nb::borrow(found)
                         : in_class       ? nb::steal(held_in_class(guard.owner, guard.name.ptr()))
                                          : nb::steal(held(guard.owner, guard.name.ptr()));
  if (!now.is_valid() && PyErr_Occurred() != nullptr) throw nb::python_error();
  if (now.ptr() == guard.expected) {
    if (in_class) guard.version = version_of_class(guard.owner);  // no code has run since
    return true;
  }
  if (!now.is_valid() || guard.expected == nullptr) return false;
  const int is_same = same(now.ptr(), guard.expected);
  if (is_same < 0) throw nb::python_error();
  return is_same == 1;
}

size_t Guards::index_of(PyObject* dict) {
  size_t index = 0;
  while (index < dicts_.size() && dicts_[index].object != dict) ++index;
  if (index == dicts_.size()) dicts_.push_back({dict, 0});
  return index;
}

/// Whether the dicts hold what they held when all guards held last.
bool Guards::are_dicts_as_they_were() const {
  for (const Dict& dict : dicts_)
    if (dict.version == 0 || version_of(dict.object) != dict.version) return false;
  return true;
}

PyObject* Guards::changed() const {
  if (!are_dicts_as_they_were()) return changed_anew();
  for (const size_t i : others_)
    if (!holds_at_once(guards_[i]) && !holds(guards_[i])) return guards_[i].given.ptr();
  return nullptr;
}

/// The same, where all guards are looked at.
PyObject* Guards::changed_anew() const {
  // Looking at guards may run code that calls this again, so versions are those from before.
  InlineVector<uint64_t, 16> versions;
  for (const Dict& dict : dicts_) versions.push_back(version_of(dict.object));
  for (const Guard& guard : guards_) {
    const bool is_as_it_was = guard.kind == Owner::Dict && !guard.copy.is_valid() &&
                              versions[guard.dict] != 0 && versions[guard.dict] == dicts_[guard.dict].version;
    if (!is_as_it_was && !holds_at_once(guard) && !holds(guard)) return guard.given.ptr();
  }
  for (size_t i = 0; i < dicts_.size(); ++i) dicts_[i].version = versions[i];
  return nullptr;
}

int Guards::traverse(visitproc visit, void* argument) const {
  for (const Guard& guard : guards_)
    if (const int stop = visit(guard.given.ptr(), argument); stop != 0) return stop;
  return 0;
}

}  // namespace ingot::bindings
