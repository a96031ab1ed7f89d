#include "bindings/signature.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/packages.h"
#include "bindings/callable.h"
#include "bindings/copied.h"
#include "bindings/described.h"
#include "bindings/fields.h"
#include "bindings/guards.h"
#include "bindings/mpi.h"
#include "bindings/streams.h"
#include "bindings/ufuncs.h"
#include "devices/libraries.h"
#include "eager/device_array.h"
#include "eager/pending.h"
#include "interop/arrays.h"
#include "interop/exceptions.h"
#include "interop/numpy.h"
#include "interop/same.h"
#include "ir/function.h"

#define PY_UFUNC_UNIQUE_SYMBOL ingot_ufunc
#define NO_IMPORT_UFUNC
#include <numpy/ufuncobject.h>
#include <structmember.h>

namespace ingot::bindings {

namespace described = frontend::described;
namespace nb = nanobind;

namespace {

using base::DType;
using frontend::Kind;

constexpr int kMaxDepth = 64;  ///< of containers; deeper ones are iterated over with checks of the stack

constexpr size_t kMostWords = 10'000;  ///< of a description that has more tuples, namedtuples or slices

constexpr size_t kMostLooks = 100'000;  ///< at what tuples outside hold; larger ones are refused

bool is_captured_within(size_t& looks, PyObject* object);

constexpr const char* kStreamParts[] = {"words", "legacy_words"};
constexpr const char* kCopiedParts[] = {"known", "given"};

bool is_number(PyObject* value) {
  return PyBool_Check(value) || PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
         PyComplex_CheckExact(value) || dtype_of_scalar(Py_TYPE(value)).has_value();
}

/// NumPy's `_NoValue`, the default of keywords that may be None.
bool is_no_value(PyObject* value) {
  static PyObject* const no_value =
      nb::object(nb::module_::import_("numpy").attr("_NoValue")).release().ptr();
  return value == no_value;
}

/// An instance of a NumPy class written in Python that describes types.
bool is_of_numpy(PyObject* value) {
  static PyObject* const limits = [] {
    const nb::module_ numpy = nb::module_::import_("numpy");
    return nb::make_tuple(numpy.attr("finfo"), numpy.attr("iinfo")).release().ptr();
  }();
  return is_no_value(value) || PySequence_Contains(limits, reinterpret_cast<PyObject*>(Py_TYPE(value))) == 1;
}

/// A function of NumPy's written in Python.
bool is_function_of_numpy(const PyTypeObject* type) {
  static const PyTypeObject* const functions =
      Py_TYPE(nb::object(nb::module_::import_("numpy").attr("sum")).ptr());
  return type == functions;
}

/// Whether an object is a member of an Enum, which stands for itself.
bool is_member_of_enum(PyObject* value) {
  PyTypeObject* const metaclass = Py_TYPE(Py_TYPE(value));
  if (metaclass == &PyType_Type || (metaclass->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) return false;
  static PyObject* const known = nb::object(nb::module_::import_("enum").attr("EnumType")).release().ptr();
  return PyType_IsSubtype(metaclass, reinterpret_cast<PyTypeObject*>(known)) != 0;
}

/// A class that a `class` statement has made, not one of an extension's: Python itself accesses the
/// attributes of its instances.
bool is_users(const PyTypeObject* type) {
  static const destructor users = [] {
    const nb::object own = nb::module_::import_("enum").attr("auto");  // a class that is loaded already
    return reinterpret_cast<PyTypeObject*>(own.ptr())->tp_dealloc;
  }();
  return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 && type->tp_dealloc == users;
}

/// Whether a class, or one that it is made of, is of a package whose objects have no parts.
bool is_of_closed_package(const PyTypeObject* type) {
  static PyObject* const name = PyUnicode_InternFromString("__module__");
  PyObject* const order = type->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(order); ++i) {
    auto* const base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(order, i));
    if ((base->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 || base->tp_dict == nullptr) continue;
    PyObject* const module = PyDict_GetItem(base->tp_dict, name);
    if (module == nullptr || !PyUnicode_CheckExact(module)) continue;
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(module, &size);
    if (text == nullptr) PyErr_Clear();
    else if (i == 0 && std::string_view(text).starts_with(base::kOpenModules)) return false;
    else if (base::is_closed_package({text, static_cast<size_t>(size)})) return true;
  }
  return false;
}

/// Whether an object is one of Python's own arrays of numbers, or other elements.
bool is_buffer(PyObject* object) {
  if (PyByteArray_CheckExact(object) || PyMemoryView_Check(object)) return true;
  if (std::string_view(Py_TYPE(object)->tp_name) != "array.array") return false;
  static PyObject* const known = nb::object(nb::module_::import_("array").attr("array")).release().ptr();
  return reinterpret_cast<PyObject*>(Py_TYPE(object)) == known;
}

nb::tuple names_of(std::span<const char* const> all) {
  nb::list names;
  for (const char* const name : all) names.append(name);
  return nb::tuple(names);
}

nb::object foreign_module() { return nb::module_::import_("ingot._objects.foreign"); }

/// What `ingot.host` gives: a function, whatever its class is.
bool is_host_function(const PyTypeObject* type) {
  static PyObject* const mark = PyUnicode_InternFromString("__ingot_host__");
  return is_users(type) && _PyType_Lookup(const_cast<PyTypeObject*>(type), mark) != nullptr;
}

bool has_constant_keys(PyObject* dict) {
  PyObject* key = nullptr;
  for (Py_ssize_t position = 0; PyDict_Next(dict, &position, &key, nullptr) != 0;)
    if (!is_key(key)) return false;
  return true;
}

}  // namespace

bool is_constant(PyObject* value) {
  PyTypeObject* const type = Py_TYPE(value);
  return value == Py_None || type == &PyUnicode_Type || type == &PyBytes_Type || PyType_Check(value) ||
         PyFunction_Check(value) || PyCFunction_Check(value) || PyModule_Check(value) ||
         PyArray_DescrCheck(value) || PyObject_TypeCheck(value, &PyUFunc_Type) || is_no_value(value) ||
         is_function_of_numpy(type) || is_callable(value) || holds_ufunc(value) || is_host_function(type) ||
         is_constant_handle(value);
}

bool is_key(PyObject* key) {
  return PyUnicode_CheckExact(key) || PyLong_CheckExact(key) || PyBool_Check(key) ||
         PyBytes_CheckExact(key) || key == Py_None || is_member_of_enum(key);
}

uint64_t word_of_constant(PyObject* value) {
  uint64_t hash = reinterpret_cast<uintptr_t>(value) >> 4;
  if (is_plain(value)) hash = static_cast<uint64_t>(PyObject_Hash(value));
  else if (PyArray_IsScalar(value, Generic)) hash = 0;
  else if (PyArray_DescrCheck(value) && is_renamed_in_place(value))
    hash = hash_of_form(reinterpret_cast<PyArray_Descr*>(value));
  return word_of(Tag::Constant, hash);
}

bool is_instance(PyObject* object) {
  if (is_namespace(object)) return true;
  PyObject* const order = Py_TYPE(object)->tp_mro;
  if ((Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 || order == nullptr) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(order); ++i) {
    auto* const base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(order, i));
    if (base != &PyBaseObject_Type && !is_users(base)) return false;
  }
  return !is_callable(object) && !is_member_of_enum(object);
}

bool is_captured(PyObject* object) {
  size_t looks = kMostLooks;
  return is_captured_within(looks, object);
}

namespace {

bool is_captured_within(size_t& looks, PyObject* object) {
  if (looks == 0) return false;
  --looks;
  if (PyTuple_CheckExact(object) || is_namedtuple(object)) {
    if (Py_EnterRecursiveCall(" while looking at a tuple") != 0) throw nb::python_error();
    PyObject* const* const members = &PyTuple_GET_ITEM(object, 0);
    const bool is_any = std::any_of(members, members + PyTuple_GET_SIZE(object),
                                    [&](PyObject* member) { return is_captured_within(looks, member); });
    Py_LeaveRecursiveCall();
    return is_any;
  }
  if (PyList_CheckExact(object) || PyDict_CheckExact(object) || PyArray_CheckExact(object)) return true;
  if (is_memory_map(object) || is_buffer(object)) return true;
  if (is_instance(object)) return !is_of_numpy(object) && !is_of_closed_package(Py_TYPE(object));
  return eager::is_device_array(object) || PyRange_Check(object) || bindings::is_stream(object) ||
         holder_of(object) || is_copied(Py_TYPE(object)) || is_handle(object);
}

}  // namespace

bool is_namedtuple(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  if (!PyTuple_Check(object) || (type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 || Py_TYPE(type) != &PyType_Type)
    return false;
  if (type->tp_iter != PyTuple_Type.tp_iter ||
      type->tp_as_mapping->mp_subscript != PyTuple_Type.tp_as_mapping->mp_subscript ||
      type->tp_as_sequence->sq_length != PyTuple_Type.tp_as_sequence->sq_length ||
      type->tp_as_sequence->sq_contains != PyTuple_Type.tp_as_sequence->sq_contains ||
      type->tp_getattro != PyObject_GenericGetAttr)
    return false;
  static PyObject* const name = PyUnicode_InternFromString("_fields");
  PyObject* const fields = _PyType_Lookup(type, name);
  if (fields == nullptr || !PyTuple_CheckExact(fields) ||
      PyTuple_GET_SIZE(fields) != PyTuple_GET_SIZE(object))
    return false;
  if (type->tp_dictoffset == 0) return true;
  const nb::object dict = nb::steal(PyObject_GenericGetDict(object, nullptr));
  if (!dict.is_valid()) throw nb::python_error();
  return PyDict_GET_SIZE(dict.ptr()) == 0;
}

OwnAttributes::OwnAttributes(PyObject* instance) : instance_(instance) {
  if (Py_TYPE(instance)->tp_dictoffset == 0) return;
  dict_ = nb::steal(PyObject_GenericGetDict(instance, nullptr));
  if (!dict_.is_valid()) throw nb::python_error();
}

PyObject* OwnAttributes::find(PyObject* name) const {
  if (PyCell_Check(instance_)) return PyCell_Get(instance_);
  PyObject* const raw = _PyType_Lookup(Py_TYPE(instance_), name);
  if (raw != nullptr && Py_IS_TYPE(raw, &PyMemberDescr_Type)) {
    const PyMemberDef* const member = reinterpret_cast<PyMemberDescrObject*>(raw)->d_member;
    if (member->type != T_OBJECT_EX) return nullptr;
    return Py_XNewRef(*reinterpret_cast<PyObject**>(reinterpret_cast<char*>(instance_) + member->offset));
  }
  const bool is_own = dict_.is_valid() && (raw == nullptr || Py_TYPE(raw)->tp_descr_set == nullptr);
  return is_own ? Py_XNewRef(PyDict_GetItemWithError(dict_.ptr(), name)) : nullptr;
}

/// Where a value is, for messages: an argument or capture, or an item of `parent`.
struct Signature::Path {
  const Path* parent;
  PyObject* key;     ///< a dict's key, or the name; null: `index`
  Py_ssize_t index;  ///< in a list or tuple; -1: the parent itself
  int depth;

  std::string text() const {
    if (parent == nullptr) {
      const std::string name(nb::cast<const char*>(nb::handle(key)));
      return name.empty() || name.front() <= '9' ? "a captured variable" : name;  // of a tuple, its index
    }
    if (key == nullptr && index < 0) return parent->text();
    const std::string inside = key == nullptr ? std::to_string(index) : std::string(nb::repr(key).c_str());
    return parent->text() + "[" + inside + "]";
  }
};

[[gnu::always_inline]] inline void Signature::keep(PyObject* value, const Path& path) {
  if (!is_quick_ || path.parent != nullptr) held_.add(Py_NewRef(value));
}

[[gnu::always_inline]] inline void Signature::leaf(PyObject* value, const Path& path) {
  keep(value, path);
  leaves_.push_back(value);
}

[[gnu::always_inline]] inline void Signature::scalar(PyObject* value, uint64_t kind, const Path& path) {
  leaf(value, path);
  words_.push_back(word_of(Tag::Scalar, kind));
}

void Signature::constant(PyObject* value, const Path& path) {
  keep(value, path);
  words_.push_back(word_of_constant(value));
  objects_.push_back(value);
}

[[gnu::always_inline]] inline bool Signature::array(PyObject* value, const Path& path) {
  ArrayLayout laid;
  return lay_out(value, laid) ? described(value, laid, path) : records(value, path);
}

/// An object that holds records, as the array of their first bytes.
bool Signature::records(PyObject* value, const Path& path) {
  const std::optional<Holder> holder = holder_of(value);
  if (!holder || !has_known_fields(descr_of(value, *holder))) return foreign(value);
  PyArray_Descr* const descr = descr_of(value, *holder);
  PyObject* array = value;
  if (*holder == Holder::Record) {
    array = array_of_record(value);
    if (array == nullptr) return false;
    hold(array);
  }
  ArrayLayout laid;
  uint64_t word = 0;
  if (!lay_out_records(as_array(array), laid) || !word_of_array(laid, parameters_->sees_layout, false, word))
    return foreign(value);
  words_.push_back(word_of_fields(*holder, descr));
  objects_.push_back(reinterpret_cast<PyObject*>(descr));
  hold(Py_NewRef(reinterpret_cast<PyObject*>(descr)));
  leaf(array, path);
  words_.push_back(word);
  memories_.add(laid, words_.size() - 1);
  return true;
}

/// As an array of a kind of its own.
bool Signature::memory_map(PyObject* value, const Path& path) {
  ArrayLayout laid;
  if (!lay_out(value, laid)) return foreign(value);
  const size_t at = words_.size();
  if (!described(value, laid, path)) return false;
  if (tag_of(words_[at]) == Tag::Array) words_[at] |= kMapped;
  return true;
}

/// Whether nothing waits that must be computed before the call.
bool Signature::is_computed(PyObject* value) const {
  const eager::DeviceArray& array = eager::device_array(value);
  return !eager::is_pending(array) && (parameters_->only_reads || !array.memory->is_read());
}

bool Signature::device_array(PyObject* value, const Path& path) {
  if (!is_computed(value)) {
    if (is_quick_) return false;
    eager::compute(value);
    if (!parameters_->only_reads) eager::compute_readers(*eager::device_array(value).memory);
  }
  const eager::DeviceArray& array = eager::device_array(value);
  if (!is_moved_to(array.device())) return false;
  has_device_arrays_ = true;
  const Window& window = array.window;
  const base::Strided strided = window.strided();
  return described(value,
                   {strided, window.dtype, eager::address_of(window.data), array.is_writable, strided.is_c(),
                    strided.is_f()},
                   path);
}

/// Whether the call runs on a device: the one of its first array on one, or of the function.
bool Signature::is_moved_to(devices::Device& device) {
  if (device_ == nullptr) device_ = &device;
  if (device_ == &device) return true;
  if (!is_quick_) {
    const bool is_of_function = parameters_->device != nullptr;
    PyErr_Format(PyExc_ValueError,
                 is_of_function
                     ? "a function of %s is given an array that is on %s: move it with ingot.device_put"
                     : "arrays are on %s and on %s: move them to one device with ingot.device_put",
                 eager::name_of(*device_).c_str(), eager::name_of(device).c_str());
  }
  return false;
}

bool Signature::uses_libraries() const {
  const devices::Libraries* const libraries = device_->libraries();
  return libraries != nullptr && libraries->is_for_compiled_code();
}

[[gnu::always_inline]] inline bool Signature::described(PyObject* value, const ArrayLayout& laid,
                                                        const Path& path) {
  uint64_t word = 0;
  if (!word_of_array(laid, parameters_->sees_layout, detail_.is_measured, word)) return foreign(value);
  leaf(value, path);
  words_.push_back(word);
  memories_.add(laid, words_.size() - 1);
  return true;
}

bool Signature::number(PyObject* value, const Path& path) {
  if ((detail_.is_demanded || detail_.is_static) && is_number(value)) constant(value, path);
  else if (PyFloat_CheckExact(value)) scalar(value, kFloat, path);
  else if (PyBool_Check(value)) scalar(value, kBool, path);
  else if (PyComplex_CheckExact(value)) scalar(value, kComplex, path);
  else if (PyLong_CheckExact(value)) {
    if (!fits(value)) {
      if (!is_quick_)
        PyErr_Format(PyExc_OverflowError, "the int `%s` does not fit 64 bits", path.text().c_str());
      return false;
    }
    scalar(value, kInt, path);
  } else if (const std::optional<DType> dtype = dtype_of_scalar(Py_TYPE(value))) {
    scalar(value, static_cast<uint64_t>(*dtype), path);
  } else {
    return records(value, path);
  }
  return true;
}

[[gnu::always_inline]] inline bool Signature::describe_value(PyObject* value, const Path& path) {
  PyTypeObject* const type = Py_TYPE(value);
  if (type == &PyArray_Type) return array(value, path);
  if (type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type || type == &PyComplex_Type)
    return number(value, path);
  if (type == &PyDict_Type || type == &PyList_Type) return container(value, path);
  return PyArray_IsScalar(value, Generic) ? number(value, path) : other(value, path);
}

/// A string as an array over its code points, of as many bytes as it has for each.
bool Signature::characters(PyObject* text, const Path& path) {
  npy_intp length = PyUnicode_GET_LENGTH(text);
  const int kind = PyUnicode_KIND(text);
  const int type = kind == PyUnicode_1BYTE_KIND   ? NPY_UINT8
                   : kind == PyUnicode_2BYTE_KIND ? NPY_UINT16
                                                  : NPY_UINT32;
  PyObject* const codes = PyArray_SimpleNewFromData(1, &length, type, PyUnicode_DATA(text));
  if (codes == nullptr) return false;
  hold(codes);
  hold(Py_NewRef(text));
  PyArray_CLEARFLAGS(as_array(codes), NPY_ARRAY_WRITEABLE);
  words_.push_back(word_of(Tag::Characters));
  return array(codes, path);
}

bool Signature::other(PyObject* value, const Path& path) {
  if (detail_.is_opened && PyUnicode_CheckExact(value)) return characters(value, path);
  if (eager::is_device_array(value)) return device_array(value, path);
  if (is_memory_map(value)) return memory_map(value, path);
  if (is_constant(value)) {
    constant(value, path);
    return true;
  }
  if (path.depth == kMaxDepth && is_quick_) return false;
  // A tuple that holds one tuple twice, and so on, is described as often as it is reached.
  const bool is_tuple = PyTuple_CheckExact(value) || PySlice_Check(value) || is_namedtuple(value);
  if (is_tuple && words_.size() > kMostWords) return foreign(value);
  if (PySlice_Check(value)) {
    const auto* const slice = reinterpret_cast<PySliceObject*>(value);
    words_.push_back(word_of(Tag::Slice));
    const Path inside{&path, nullptr, -1, path.depth + 1};
    return describe_value(slice->start, inside) && describe_value(slice->stop, inside) &&
           describe_value(slice->step, inside);
  }
  if (PyTuple_CheckExact(value)) {
    words_.push_back(word_of(Tag::Tuple, static_cast<uint64_t>(PyTuple_GET_SIZE(value))));
    return sequence(value, path);
  }
  if (is_member_of_enum(value)) {
    constant(value, path);
    return true;
  }
  if (is_namedtuple(value)) {
    keep(value, path);
    words_.push_back(word_of(Tag::Named, static_cast<uint64_t>(PyTuple_GET_SIZE(value))));
    objects_.push_back(reinterpret_cast<PyObject*>(Py_TYPE(value)));
    hold(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(value))));
    return sequence(value, path);
  }
  if (PyRange_Check(value)) return range(value, path);
  if (is_buffer(value)) return buffer(value, path);
  if (is_instance(value))
    return is_of_closed_package(Py_TYPE(value)) ? foreign(value) : instance(value, path);
  if (!detail_.is_static && is_copied(Py_TYPE(value))) return copied(value, path);
  if (PyMethod_Check(value)) return method(value, path);
  if (is_partial(value)) return partial(value, path);
  if (is_handle(value)) return handle(value, path);
  return bindings::is_stream(value) ? stream(value, path) : records(value, path);
}

/// As an instance whose attribute is an array on its handle.
bool Signature::handle(PyObject* value, const Path& path) {
  if (is_repeated(value)) return true;
  if (containers_.size() >= kMaxContainers) return foreign(value);
  const Handle own = handle_of(value);
  npy_intp count = own.count;
  PyObject* const array = PyArray_SimpleNewFromData(1, &count, own.dtype, own.memory);
  if (array == nullptr) return false;
  hold(array);
  return stand_in(value, own.type, "_handle", array, path);
}

/// As an instance of a class of the library's that has one attribute, an array.
bool Signature::stand_in(PyObject* value, PyObject* type, const char* name, PyObject* array,
                         const Path& path) {
  keep(value, path);
  containers_.push_back(value);
  const Attributes* const wanted = parameters_->attributes_of(reinterpret_cast<PyTypeObject*>(type));
  words_.push_back(word_of(Tag::Object, wanted == nullptr ? 0 : wanted->names.size()));
  objects_.push_back(type);
  hold(Py_NewRef(type));
  if (wanted == nullptr) return true;
  for (PyObject* const each : wanted->names) {
    if (PyUnicode_CompareWithASCIIString(each, name) != 0) words_.push_back(word_of(Tag::Absent));
    else if (!this->array(array, path)) return false;
  }
  return true;
}

/// As an instance whose attribute is an array on its memory, which does not change its size as long as it is
/// held. NumPy's code makes the array.
bool Signature::buffer(PyObject* value, const Path& path) {
  if (is_quick_) return false;
  if (is_repeated(value)) return true;
  const nb::object parts = nb::module_::import_("ingot._objects.buffers").attr("parts")(nb::handle(value));
  if (parts.is_none() || containers_.size() >= kMaxContainers) return foreign(value);
  nb::object elements = parts[1];
  PyObject* const array = elements.ptr();
  hold(elements.release().ptr());
  return stand_in(value, nb::object(parts[0]).ptr(), "elements", array, path);
}

/// As what an instance of a class of the library's is made of: what is known of it, and what is in it.
bool Signature::copied(PyObject* value, const Path& path) {
  if (is_quick_) return false;
  if (std::find(open_.begin(), open_.end(), value) != open_.end()) return refuse(value, path);
  if (is_repeated(value)) return true;
  if (path.depth >= kMaxDepth || containers_.size() >= kMaxContainers) return foreign(value);
  const nb::object parts = nb::module_::import_("ingot._objects.copied").attr("parts")(nb::handle(value));
  if (parts.is_none()) return foreign(value);
  keep(value, path);
  containers_.push_back(value);
  words_.push_back(word_of(Tag::Copied));
  objects_.push_back(nb::object(parts[0]).ptr());
  PyObject* const known = nb::object(parts[1]).ptr();
  PyObject* const given = nb::object(parts[2]).ptr();
  hold(nb::object(parts).release().ptr());
  return nested(" while describing a container", [&] {
    const Path inside{&path, nullptr, -1, path.depth + 1};
    const Detail usual = detail_;
    open_.push_back(value);
    detail_ = {.is_demanded = true};
    bool is_described = describe_value(known, inside);
    detail_ = usual;
    is_described = is_described && describe_value(given, inside);
    open_.pop_back();
    return is_described;
  });
}

/// A step of 1 is part of its kind.
bool Signature::range(PyObject* value, const Path& path) {
  words_.push_back(word_of(Tag::Range));
  const Path inside{&path, nullptr, -1, path.depth + 1};
  for (size_t i = 0; i < kRangeParts; ++i) {
    PyObject* const part = part_of_range(value, i);
    if (part == nullptr) return false;
    hold(part);
    if (is_usual_step(part, i)) constant(part, inside);
    else if (!number(part, inside)) return false;
  }
  return true;
}

/// Whether a container has been described; then it is the same one again.
bool Signature::is_repeated(PyObject* container) {
  for (size_t i = 0; i < containers_.size(); ++i) {
    if (containers_[i] != container) continue;
    words_.push_back(word_of(Tag::Same, i));
    return true;
  }
  return false;
}

/// Describes a nested value, with a check of the depth.
template <class Fn>
bool Signature::nested(const char* where, Fn&& describe) {
  if (Py_EnterRecursiveCall(where) != 0) return false;
  const bool is_described = describe();
  Py_LeaveRecursiveCall();
  return is_described;
}

bool Signature::method(PyObject* value, const Path& path) {
  PyObject* const function = PyMethod_GET_FUNCTION(value);
  if (words_.size() > kMostWords || path.depth >= kMaxDepth || !is_constant(function)) return foreign(value);
  hold(Py_NewRef(value));
  words_.push_back(word_of(Tag::Method));
  const Path inside{&path, nullptr, -1, path.depth + 1};
  return describe_value(function, inside) && describe_value(PyMethod_GET_SELF(value), inside);
}

bool Signature::partial(PyObject* value, const Path& path) {
  if (words_.size() > kMostWords || path.depth >= kMaxDepth) return foreign(value);
  words_.push_back(word_of(Tag::Partial));
  const Path inside{&path, nullptr, -1, path.depth + 1};
  return nested(" while describing a partial", [&] {
    for (PyObject* const name : names_in_partials()) {
      PyObject* const part = held(value, name);
      if (part == nullptr) return false;
      hold(part);
      if (!describe_value(part, inside)) return false;
    }
    return true;
  });
}

/// As an instance whose attributes are arrays on its words.
bool Signature::stream(PyObject* value, const Path& path) {
  if (is_repeated(value)) return true;
  if (containers_.size() >= kMaxContainers) return foreign(value);
  keep(value, path);
  containers_.push_back(value);
  bindings::know_bits_of(value);
  const bindings::Stream parts = stream_of(value);
  hold(Py_NewRef(parts.lock));
  locks_.push_back(parts.lock);
  words_.push_back(word_of(Tag::Stream, parts.legacy_words == nullptr ? 1 : 2));
  objects_.push_back(reinterpret_cast<PyObject*>(Py_TYPE(value)));
  if (!words_of_stream(parts.words, bindings::Stream::kWords, path)) return false;
  return parts.legacy_words == nullptr ||
         words_of_stream(parts.legacy_words, bindings::Stream::kLegacyWords, path);
}

bool Signature::words_of_stream(uint64_t* words, size_t count, const Path& path) {
  const auto length = static_cast<npy_intp>(count);
  PyObject* const array = PyArray_SimpleNewFromData(1, &length, NPY_UINT64, words);
  if (array == nullptr) return false;
  hold(array);
  return this->array(array, path);
}

bool Signature::sequence(PyObject* value, const Path& path) {
  return nested(" while describing a tuple", [&] {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i)
      if (!describe_value(PyTuple_GET_ITEM(value, i), {&path, nullptr, i, path.depth + 1})) return false;
    return true;
  });
}

bool Signature::instance(PyObject* value, const Path& path) {
  if (is_repeated(value)) return true;
  if (path.depth >= kMaxDepth || containers_.size() >= kMaxContainers) return foreign(value);
  PyTypeObject* const type = class_of_instance(value);
  const Attributes* const wanted = parameters_->attributes_of(type);
  keep(value, path);
  containers_.push_back(value);
  words_.push_back(word_of(Tag::Object, wanted == nullptr ? 0 : wanted->names.size()));
  objects_.push_back(reinterpret_cast<PyObject*>(type));
  hold(Py_NewRef(reinterpret_cast<PyObject*>(type)));
  if (wanted == nullptr) return true;
  return nested(" while describing an instance", [&] { return attributes(value, wanted, path); });
}

bool Signature::attributes(PyObject* value, const Attributes* wanted, const Path& path) {
  const OwnAttributes own(value);
  for (PyObject* const name : wanted->names) {
    const nb::object held = nb::steal(own.find(name));
    if (!held.is_valid()) {
      if (PyErr_Occurred() != nullptr) return false;
      words_.push_back(word_of(Tag::Absent));
    } else {
      const bool is_cell = PyCell_Check(value);
      const Path inside{&path, is_cell ? nullptr : name, is_cell ? -1 : 0, path.depth + 1};
      if (!describe_value(held.ptr(), inside)) return false;
    }
  }
  return true;
}

bool Signature::container(PyObject* value, const Path& path) {
  if (path.depth == kMaxDepth && is_quick_) return false;
  if (std::find(open_.begin(), open_.end(), value) != open_.end()) return refuse(value, path);
  if (is_repeated(value)) return true;
  const Py_ssize_t size = PyDict_CheckExact(value) ? PyDict_GET_SIZE(value) : PyList_GET_SIZE(value);
  const bool is_open =
      size > kMaxLeaves || detail_.has_buffers || (PyDict_CheckExact(value) && !has_constant_keys(value));
  if (is_open && !detail_.is_static)
    if (const std::optional<bool> is_described = list_buffer(value, path)) return *is_described;
  if (size > kMaxUnlike || (size > kMaxLeaves && leaves_.size() + static_cast<size_t>(size) > kMaxAllUnlike))
    return foreign(value);
  if (!is_quick_ && PyDict_CheckExact(value) && !has_constant_keys(value)) return foreign(value);
  keep(value, path);
  containers_.push_back(value);
  return nested(" while describing a container", [&] {
    open_.push_back(value);
    const bool is_described = items(value, path);
    open_.pop_back();
    return is_described;
  });
}

/// A list of elements that are alike, or a dict of such keys and values, as columns; none: they are not.
std::optional<bool> Signature::list_buffer(PyObject* container, const Path& path) {
  const bool is_dict = PyDict_CheckExact(container);
  std::optional<ListColumns> lists[2];
  if (is_dict) {
    const auto [keys, values] = items_of_dict(container);
    lists[0] = columns_of_list(keys.ptr(), true);
    if (lists[0]) lists[1] = columns_of_list(values.ptr());
  } else {
    lists[0] = columns_of_list(container);
  }
  if (!lists[0] || (is_dict && !lists[1])) return std::nullopt;
  keep(container, path);
  containers_.push_back(container);
  if (is_dict) words_.push_back(word_of(Tag::Mapping));
  return words_of_list(*lists[0]) && (!is_dict || words_of_list(*lists[1]));
}

bool Signature::words_of_list(const ListColumns& list) {
  words_.push_back(word_of(Tag::ListBuffer, list.columns.size()));
  words_of_element(list.form);
  for (const nb::object& column : list.columns) {
    PyObject* const array = column.ptr();
    hold(Py_NewRef(array));
    leaves_.push_back(array);
    ArrayLayout laid;
    if (!lay_out(array, laid)) return false;
    words_.push_back(word_of(Tag::Array, static_cast<uint64_t>(laid.dtype)));
    memories_.add(laid, words_.size() - 1);
  }
  return true;
}

void Signature::words_of_element(const ElementForm& form) {
  words_.push_back(word_of(form.tag, form.tag == Tag::Scalar ? form.kind : form.parts.size()));
  if (form.tag == Tag::Named) {
    objects_.push_back(form.type);
    hold(Py_NewRef(form.type));
  }
  for (const ElementForm& part : form.parts) words_of_element(part);
}

/// The items of a list or dict. Where describing them may run code, they are copied first.
bool Signature::items(PyObject* given, const Path& path) {
  const bool is_dict = PyDict_CheckExact(given);
  PyObject* from = given;
  if (!is_quick_) {
    from = is_dict ? PyDict_Copy(given) : PyList_GetSlice(given, 0, PyList_GET_SIZE(given));
    if (from == nullptr) return false;
    hold(from);
  }
  if (!is_dict) {
    words_.push_back(word_of(Tag::List, static_cast<uint64_t>(PyList_GET_SIZE(from))));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(from); ++i)
      if (!describe_value(PyList_GET_ITEM(from, i), {&path, nullptr, i, path.depth + 1})) return false;
    return true;
  }
  words_.push_back(word_of(Tag::Dict, static_cast<uint64_t>(PyDict_GET_SIZE(from))));
  PyObject* key = nullptr;
  for (Py_ssize_t position = 0; PyDict_Next(from, &position, &key, nullptr) != 0;) {
    if (is_quick_ && !is_key(key)) return false;
    constant(key, path);
  }
  if (given != others_) return values(from, path);
  PyObject* item = nullptr;
  const Detail usual = detail_;
  for (Py_ssize_t position = 0; PyDict_Next(from, &position, &key, &item) != 0;) {
    detail_ = is_static_name(key) ? Detail{.is_static = true} : usual;
    if (!describe_value(item, {&path, key, 0, path.depth + 1})) return false;
  }
  return true;
}

bool Signature::values(PyObject* dict, const Path& path) {
  PyObject* key = nullptr;
  PyObject* item = nullptr;
  for (Py_ssize_t position = 0; PyDict_Next(dict, &position, &key, &item) != 0;)
    if (!describe_value(item, {&path, key, 0, path.depth + 1})) return false;
  return true;
}

bool Signature::is_static_name(PyObject* name) const {
  const std::vector<PyObject*>& all = parameters_->static_names;
  return PyUnicode_CheckExact(name) && std::any_of(all.begin(), all.end(), [&](PyObject* each) {
           return each == name || PyUnicode_Compare(each, name) == 0;
         });
}

/// `*args`, some of which is static.
bool Signature::rest(PyObject* tuple, const Path& path) {
  const std::vector<size_t>& all = parameters_->static_positions;
  const Detail usual = detail_;
  words_.push_back(word_of(Tag::Tuple, static_cast<uint64_t>(PyTuple_GET_SIZE(tuple))));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    const bool is_static = std::find(all.begin(), all.end(), static_cast<size_t>(i)) != all.end();
    detail_ = is_static ? Detail{.is_static = true} : usual;
    if (!describe_value(PyTuple_GET_ITEM(tuple, i), {&path, nullptr, i, path.depth + 1})) return false;
  }
  return true;
}

bool Signature::refuse(PyObject* container, const Path& path) {
  if (is_quick_) return false;
  const std::string name = path.text();
  const std::string what = "`" + name + "`, a " + Py_TYPE(container)->tp_name + " that holds itself,";
  const nb::object error = nb::handle(refusal_)(name, what, "pass its parts");
  set_error(error);
  return false;
}

/// What has no leaves but, of an array, its shape.
bool Signature::foreign(PyObject* value) {
  if (detail_.is_static && !PyArray_CheckExact(value)) {
    constant(value, {nullptr, nullptr, 0, 0});
    if (is_quick_) hold(Py_NewRef(value));
    return true;
  }
  if (is_quick_) return false;
  is_closed_ = false;
  const nb::object module = foreign_module();
  const nb::handle given = value;
  const nb::tuple constant = nb::tuple(module.attr("constants"));
  const int is_constant = PyObject_IsInstance(value, constant.ptr());  // by its own `__class__`
  if (is_constant < 0) return false;
  if (is_constant == 1) {
    this->constant(value, {nullptr, nullptr, 0, 0});
    return true;
  }
  const nb::object description = module.attr("describe")(given);
  words_.push_back(word_of(Tag::Foreign));
  objects_.push_back(description.ptr());
  hold(nb::object(description).release().ptr());
  if (PyArray_CheckExact(value) && PyArray_NDIM(as_array(value)) > 0 &&
      PyArray_NDIM(as_array(value)) <= kMaxLeaves) {
    const nb::object shape = module.attr("shape")(given);
    leaf(shape.ptr(), {nullptr, nullptr, 0, 0});
    PyArrayObject* const array = as_array(shape.ptr());
    ArrayLayout laid = laid_of(array, DType::Bool);
    laid.itemsize = 1;
    memories_.add(laid, words_.size() - 1);
  }
  return true;
}

/// For what is now neither an array nor a number, a guard holds what it is.
bool Signature::capture(const Parameters& parameters, size_t number) {
  const Capture capture = parameters.captures[number];
  PyObject* const value = held(capture.owner, capture.name);
  if (value == nullptr && PyErr_Occurred() != nullptr) return false;
  if (value != nullptr) hold(value);
  const Path path{nullptr, capture.name, 0, 0};
  if (value != nullptr && PyCell_Check(value)) {
    static PyObject* const nameless = PyUnicode_InternFromString("");
    detail_ = {};
    return instance(value, {nullptr, nameless, 0, 0});
  }
  const size_t argument = parameters.names.size() + number;
  const Detail& wanted = parameters.details[argument];
  detail_ = {.is_demanded = wanted.is_demanded,
             .is_measured = wanted.is_measured,
             .has_buffers = wanted.has_buffers};
  const bool is_small = value != nullptr && (!PyLong_CheckExact(value) || fits(value) || wanted.is_demanded);
  if (value != nullptr && (is_captured(value) || (is_number(value) && is_small)))
    return describe_value(value, path);
  words_.push_back(word_of(Tag::Guarded));
  return true;
}

bool Signature::describe_all(const Parameters& parameters, PyObject* const* values, size_t count) {
  INGOT_ASSERT(
      count == parameters.names.size() && parameters.details.size() == count + parameters.captures.size(),
      "arguments are described by other parameters");
  parameters_ = &parameters;
  device_ = parameters.device;
  if (!parameters.static_names.empty() && count != 0) others_ = values[count - 1];
  for (size_t i = 0; i < count; ++i) {
    const Path path{nullptr, PyTuple_GET_ITEM(parameters.names.ptr(), static_cast<Py_ssize_t>(i)), 0, 0};
    detail_ = parameters.details[i];
    const bool is_rest = i == parameters.rest && !parameters.static_positions.empty();
    if (!(is_rest ? rest(values[i], path) : describe_value(values[i], path))) return false;
  }
  for (size_t i = 0; i < parameters.captures.size(); ++i)
    if (!capture(parameters, i)) return false;
  memories_.all_of([&](size_t word, uint64_t alias_set) {
    words_[word] |= alias_set;
    return true;
  });
  if (device_ != nullptr)
    words_.push_back(word_of(Tag::Device, reinterpret_cast<uintptr_t>(device_) | (uses_libraries() ? 1 : 0)));
  return true;
}

bool Signature::describe_quickly(const Parameters& parameters, PyObject* const* values, size_t count) {
  return describe_all(parameters, values, count);
}

bool Signature::describe(const Parameters& parameters, PyObject* const* values, size_t count,
                         PyObject* refusal) {
  is_quick_ = false;
  refusal_ = refusal;
  return describe_all(parameters, values, count);
}

namespace {

/// Numbers the columns of an element.
void number_columns(Description& element, uint32_t& column) {
  element.column = column;
  if (element.is<described::Scalar>()) ++column;
  for (Description& part : element.parts) number_columns(part, column);
}

}  // namespace

Description Signature::list_buffer(uint64_t columns, size_t& word, size_t& object) const {
  Description made{described::ListBuffer{}, {description(word, object)}};
  uint32_t column = 0;
  number_columns(made.parts[0], column);
  for (uint64_t i = 0; i < columns; ++i) {
    const uint64_t now = words_[word++];
    made.parts.push_back(
        {described::Array{.dtype = static_cast<DType>(now >> 8 & 0xff),
                          .ndim = 1,
                          .alias_set = static_cast<uint32_t>(now >> kAliasShift & kMaxAliasSet),
                          .layout = Layout::C}});
  }
  return made;
}

Description Signature::description(size_t& word, size_t& object) const {
  const uint64_t now = words_[word++];
  const uint64_t rest = now >> 8;
  const auto alias_set = static_cast<uint32_t>(now >> kAliasShift & kMaxAliasSet);
  const auto next = [&] { return private_of(objects_[object++]); };
  const auto with_parts = [&](Description::Kinds of, uint64_t count) {
    Description made{std::move(of)};
    for (uint64_t i = 0; i < count; ++i) made.parts.push_back(description(word, object));
    return made;
  };
  const auto instance = [&](auto&& name_of) {
    const nb::object type = next();
    const nb::tuple names = name_of(type);
    return with_parts(described::Instance{.type = type, .names = names}, names.size());
  };
  switch (tag_of(now)) {
    case Tag::Array: {
      described::Array array{.dtype = static_cast<DType>(rest & 0xff),
                             .ndim = static_cast<int>(rest >> 8 & 0x1f),
                             .is_writable = (rest >> 13 & 1) != 0,
                             .alias_set = alias_set,
                             .layout = static_cast<Layout>(rest >> 14 & 3),
                             .ones = static_cast<uint32_t>(now >> 48),
                             .last = {},
                             .is_mapped = (now & kMapped) != 0};
      if (is_measured(now)) array.last = static_cast<int64_t>(rest >> 18 & (kMeasured - 1));
      return {array};
    }
    case Tag::Scalar: {
      constexpr std::array kPython = {Kind::py_bool(), Kind::py_int(), Kind::py_float(), Kind::py_complex()};
      const bool is_python = rest >= base::kDTypeCount;
      return {described::Scalar{is_python ? kPython.at(rest - base::kDTypeCount) : static_cast<DType>(rest)}};
    }
    case Tag::Constant: return {described::Static{next()}};
    case Tag::Slice: return with_parts(described::Slice{}, 3);
    case Tag::Range: return with_parts(described::Range{}, kRangeParts);
    case Tag::Method: return with_parts(described::Method{}, 2);
    case Tag::Partial: return with_parts(described::Partial{}, 3);
    case Tag::Tuple: return with_parts(described::Tuple{}, rest);
    case Tag::List: return with_parts(described::List{}, rest);
    case Tag::ListBuffer: return list_buffer(rest, word, object);
    case Tag::Mapping: return with_parts(described::Mapping{}, 2);
    case Tag::Dict: {
      nb::list keys;
      for (uint64_t i = 0; i < rest; ++i) keys.append(nb::handle(objects_[object++]));
      word += rest;
      return with_parts(described::Dict{nb::tuple(keys)}, rest);
    }
    case Tag::Named: return with_parts(described::Tuple{next()}, rest);
    case Tag::Object:
      return instance([&](const nb::object& type) {
        nb::list names;
        if (const Attributes* all = parameters_->attributes_of(reinterpret_cast<PyTypeObject*>(type.ptr())))
          for (PyObject* name : all->names) names.append(nb::handle(name));
        return nb::tuple(names);
      });
    case Tag::Stream: return instance([&](const nb::object&) { return names_of({kStreamParts, rest}); });
    case Tag::Copied: return instance([&](const nb::object&) { return names_of(kCopiedParts); });
    case Tag::Absent: return {described::Absent{}};
    case Tag::Same: return {described::Same{rest}};
    case Tag::Foreign: {
      auto foreign = nb::cast<const Description&>(next()).get<described::Foreign>();
      foreign.alias_set = alias_set;
      return {foreign};
    }
    case Tag::Characters: return with_parts(described::Characters{}, 1);
    case Tag::Fields: return with_parts(described::Records{holder_of_word(now), next()}, 1);
    case Tag::Guarded: return {described::Guarded{}};
    case Tag::Device: {
      const devices::Properties& properties = device_->properties();
      return {described::Device{nb::str(std::string(properties.kind).c_str()),
                                static_cast<int>(properties.index), rest % 2 != 0}};
    }
  }
  Py_UNREACHABLE();
}

nb::tuple Signature::key() const {
  nb::list all;
  size_t object = 0;
  for (size_t word = 0; word < words_.size();) all.append(description(word, object));
  return nb::tuple(all);
}

}  // namespace ingot::bindings
