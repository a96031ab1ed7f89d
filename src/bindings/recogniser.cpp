#include "bindings/recogniser.h"

#include <algorithm>

#include "bindings/copied.h"
#include "bindings/fields.h"
#include "bindings/guards.h"
#include "interop/arrays.h"
#include "interop/same.h"

namespace ingot::bindings {

namespace {

using base::DType;

constexpr uint64_t kAliasBits = kMaxAliasSet << kAliasShift;
constexpr size_t kMostWords = 1024;  ///< of a description that is recognised, which may be as deep

bool is_number_of(PyObject* value, uint64_t kind) {
  switch (kind) {
    case kFloat: return PyFloat_CheckExact(value);
    case kInt: return PyLong_CheckExact(value) && fits(value);
    case kBool: return PyBool_Check(value);
    case kComplex: return PyComplex_CheckExact(value);
    default: return dtype_of_scalar(Py_TYPE(value)) == static_cast<DType>(kind);
  }
}

/// Whether a value is described as the constant that this object is. Equal strings and numbers have equal
/// words.
bool is_same_constant(PyObject* value, PyObject* object) {
  if (PyArray_DescrCheck(object) && is_renamed_in_place(object))
    return PyArray_DescrCheck(value) && same_fields(value, object);
  if (value == object) return is_plain(value) || dtype_of_scalar(Py_TYPE(value)) || is_constant(value);
  return Py_TYPE(value) == Py_TYPE(object) && (is_plain(value) || dtype_of_scalar(Py_TYPE(value))) &&
         same(value, object) == 1;
}

/// Closures in closures are compared so far.
constexpr int kDeepest = 5;

bool has_attributes(PyObject* function) {
  const PyObject* const own = reinterpret_cast<PyFunctionObject*>(function)->func_dict;
  return own != nullptr && PyDict_GET_SIZE(own) != 0;
}

/// Whether a function was made for all that are alike, and has variables of its own (`_of_its_own` in
/// `_operations/alike.py`).
bool is_made_for_all(PyObject* function) {
  static PyObject* const name = PyUnicode_InternFromString("__ingot_own__");
  PyObject* const own = reinterpret_cast<PyFunctionObject*>(function)->func_dict;
  return own != nullptr && PyDict_GET_SIZE(own) == 1 && PyDict_GetItemWithError(own, name) != nullptr;
}

/// Whether two functions of one code have the names and the docstring that it gives them, or the same.
bool are_called_alike(PyObject* a, PyObject* b) {
  const auto& mine = *reinterpret_cast<const PyFunctionObject*>(a);
  const auto& theirs = *reinterpret_cast<const PyFunctionObject*>(b);
  return mine.func_name == theirs.func_name && mine.func_qualname == theirs.func_qualname &&
         mine.func_doc == theirs.func_doc;
}

bool has_defaults(PyObject* function) {
  return PyFunction_GET_DEFAULTS(function) != nullptr || PyFunction_GET_KW_DEFAULTS(function) != nullptr;
}

/// Whether a function does the same as a known one: what is written in a call is another object each time.
/// False may also mean that they have more than what is compared here. Runs no code.
bool are_alike(PyObject* a, PyObject* known, int depth) {
  if (!PyFunction_Check(a) || !PyFunction_Check(known) || depth > kDeepest) return false;
  if (PyFunction_GET_CODE(a) != PyFunction_GET_CODE(known) ||
      PyFunction_GET_GLOBALS(a) != PyFunction_GET_GLOBALS(known) || !are_called_alike(a, known) ||
      has_attributes(a) || has_defaults(a) || has_defaults(known))
    return false;
  PyObject* const mine = PyFunction_GET_CLOSURE(a);
  PyObject* const theirs = PyFunction_GET_CLOSURE(known);
  if (mine == nullptr || theirs == nullptr) return mine == theirs && !has_attributes(known);
  if (!is_made_for_all(known)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mine); ++i) {
    PyObject* const x = PyCell_GET(PyTuple_GET_ITEM(mine, i));
    PyObject* const y = PyCell_GET(PyTuple_GET_ITEM(theirs, i));
    if (x == nullptr || y == nullptr) return false;
    if (x != y && !is_same_constant(x, y) && !are_alike(x, y, depth + 1)) return false;
  }
  return true;
}

}  // namespace

bool Recogniser::knows(std::span<const uint64_t> words) {
  return words.size() <= kMostWords && std::ranges::all_of(words, [](uint64_t word) {
           switch (tag_of(word)) {
             case Tag::Array:
             case Tag::Scalar:
             case Tag::Constant:
             case Tag::Tuple:
             case Tag::List:
             case Tag::Dict:
             case Tag::Slice:
             case Tag::Range:
             case Tag::Method:
             case Tag::Partial:
             case Tag::Fields:
             case Tag::Named:
             case Tag::Object:
             case Tag::Absent:
             case Tag::Same: return true;
             default: return false;
           }
         });
}

/// Throws InternalError where a description is shorter than what it is compared with.
[[gnu::always_inline]] inline uint64_t Recogniser::next_word() {
  INGOT_ASSERT(word_ < words_.size(), "a description ends before the arguments do");
  return words_[word_++];
}

[[gnu::always_inline]] inline PyObject* Recogniser::next_object() {
  INGOT_ASSERT(object_ < objects_.size(), "a description ends before the arguments do");
  return objects_[object_++];
}

[[gnu::always_inline]] inline bool Recogniser::array(PyObject* value, uint64_t wanted) {
  ArrayLayout laid;
  uint64_t word = 0;
  if (!lay_out(value, laid) || !word_of_array(laid, parameters_->sees_layout, is_measured(wanted), word))
    return false;
  if (word != (wanted & ~kAliasBits & ~kMapped)) return false;
  leaves_.push_back(value);
  memories_.add(laid, word_ - 1);
  return true;
}

bool Recogniser::records(PyObject* value, uint64_t wanted) {
  const std::optional<Holder> holder = holder_of(value);
  PyObject* const dtype = next_object();
  const uint64_t array_wanted = next_word();
  if (!holder || *holder != holder_of_word(wanted)) return false;
  if (!same_fields(reinterpret_cast<PyObject*>(descr_of(value, *holder)), dtype)) return false;
  if (*holder == Holder::Record) {
    value = array_of_record(value);
    if (value == nullptr) return false;
    held_.add(value);
  }
  ArrayLayout laid;
  uint64_t word = 0;
  if (!lay_out_records(as_array(value), laid) || !word_of_array(laid, parameters_->sees_layout, false, word))
    return false;
  if (word != (array_wanted & ~kAliasBits)) return false;
  leaves_.push_back(value);
  memories_.add(laid, word_ - 1);
  return true;
}

/// Whether a container has not been seen before in these arguments.
bool Recogniser::is_new(PyObject* container) {
  if (std::find(containers_.begin(), containers_.end(), container) != containers_.end()) return false;
  containers_.push_back(container);
  return true;
}

[[gnu::always_inline]] inline bool Recogniser::tuple(PyObject* tuple) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    if (!value(PyTuple_GET_ITEM(tuple, i), true)) return false;
  return true;
}

/// Code that runs meanwhile may change its length.
[[gnu::always_inline]] inline bool Recogniser::list(PyObject* list) {
  const Py_ssize_t count = PyList_GET_SIZE(list);
  for (Py_ssize_t i = 0; i < count; ++i)
    if (i >= PyList_GET_SIZE(list) || !value(PyList_GET_ITEM(list, i), true)) return false;
  return PyList_GET_SIZE(list) == count;
}

bool Recogniser::dict(PyObject* dict) {
  const auto size = static_cast<size_t>(PyDict_GET_SIZE(dict));
  const size_t keys = object_;
  INGOT_ASSERT(size <= words_.size() - word_ && size <= objects_.size() - object_,
               "a description ends before the arguments do");
  word_ += size;
  object_ += size;
  PyObject* key = nullptr;
  PyObject* item = nullptr;
  size_t i = 0;
  for (Py_ssize_t index = 0; PyDict_Next(dict, &index, &key, &item) != 0; ++i) {
    if (i == size) return false;  // code that ran meanwhile has added one
    if (key != objects_[keys + i] && !(is_key(key) && is_same_constant(key, objects_[keys + i])))
      return false;
    if (!value(item, true)) return false;
  }
  return i == size;
}

bool Recogniser::range(PyObject* range) {
  for (size_t i = 0; i < kRangeParts; ++i) {
    PyObject* const part = part_of_range(range, i);
    if (part == nullptr) return false;
    held_.add(part);
    const bool is_known = tag_of(words_[word_]) == Tag::Constant;
    if (is_usual_step(part, i) && !is_known) return false;
    if (!value(part, false)) return false;
  }
  return true;
}

bool Recogniser::namedtuple(PyObject* value) {
  return reinterpret_cast<PyObject*>(Py_TYPE(value)) == next_object() && is_namedtuple(value) && tuple(value);
}

bool Recogniser::partial(PyObject* value) {
  for (PyObject* const name : names_in_partials()) {
    PyObject* const part = held(value, name);
    if (part == nullptr) return false;
    held_.add(part);
    if (!this->value(part, false)) return false;
  }
  return true;
}

bool Recogniser::instance(PyObject* value, uint64_t count) {
  PyTypeObject* const type = class_of_instance(value);
  if (reinterpret_cast<PyObject*>(type) != next_object() || !(is_instance(value) || PyCell_Check(value)) ||
      !is_new(value))
    return false;
  const Attributes* const wanted = parameters_->attributes_of(type);
  if (count != (wanted == nullptr ? 0 : wanted->names.size())) return false;
  if (count == 0) return true;
  const OwnAttributes own(value);
  for (PyObject* const name : wanted->names) {
    PyObject* const held = own.find(name);
    if (held != nullptr) {
      held_.add(held);
      if (!this->value(held, false)) return false;
    } else if (PyErr_Occurred() != nullptr || tag_of(next_word()) != Tag::Absent) {
      return false;
    }
  }
  return true;
}

bool Recogniser::value(PyObject* value, bool is_inside) {
  const uint64_t wanted = next_word();
  const uint64_t rest = wanted >> 8;
  if (is_inside) held_.add(Py_NewRef(value));
  switch (tag_of(wanted)) {
    case Tag::Array: {
      const bool is_of_class = (wanted & kMapped) != 0 ? is_memory_map(value) : PyArray_CheckExact(value);
      return is_of_class && array(value, wanted);
    }
    case Tag::Scalar:
      if (!is_number_of(value, rest)) return false;
      leaves_.push_back(value);
      return true;
    case Tag::Constant: {
      PyObject* const known = next_object();
      return is_same_constant(value, known) || (parameters_->has_alike && are_alike(value, known, 0));
    }
    case Tag::Tuple:
      return PyTuple_CheckExact(value) && static_cast<uint64_t>(PyTuple_GET_SIZE(value)) == rest &&
             tuple(value);
    case Tag::List:
      return PyList_CheckExact(value) && static_cast<uint64_t>(PyList_GET_SIZE(value)) == rest &&
             is_new(value) && list(value);
    case Tag::Dict:
      return PyDict_CheckExact(value) && static_cast<uint64_t>(PyDict_GET_SIZE(value)) == rest &&
             is_new(value) && dict(value);
    case Tag::Named:
      return PyTuple_Check(value) && static_cast<uint64_t>(PyTuple_GET_SIZE(value)) == rest &&
             namedtuple(value);
    case Tag::Object: return instance(value, rest);
    case Tag::Slice: {
      if (!PySlice_Check(value)) return false;
      const auto* const slice = reinterpret_cast<PySliceObject*>(value);
      return this->value(slice->start, true) && this->value(slice->stop, true) &&
             this->value(slice->step, true);
    }
    case Tag::Range: return PyRange_Check(value) && range(value);
    case Tag::Method:
      return PyMethod_Check(value) && this->value(PyMethod_GET_FUNCTION(value), true) &&
             this->value(PyMethod_GET_SELF(value), true);
    case Tag::Partial: return is_partial(value) && partial(value);
    case Tag::Fields: return records(value, wanted);
    case Tag::Same: return rest < containers_.size() && containers_[rest] == value;
    default: return false;
  }
}

bool Recogniser::capture(const Capture& capture) {
  if (!is_read_plainly(capture.owner)) return false;  // code might run
  PyObject* const captured = held(capture.owner, capture.name);
  if (captured == nullptr) return false;
  held_.add(captured);
  return value(captured, false);
}

bool Recogniser::recognise(const Parameters& parameters, std::span<PyObject* const> values,
                           std::span<const uint64_t> words, std::span<PyObject* const> objects) {
  INGOT_ASSERT(values.size() == parameters.names.size(), "arguments are recognised by other parameters");
  words_ = words;
  objects_ = objects;
  parameters_ = &parameters;
  for (PyObject* const each : values)
    if (!value(each, false)) return false;
  for (const Capture& each : parameters.captures)
    if (!capture(each)) return false;
  INGOT_ASSERT(word_ == words.size() && object_ == objects.size(),
               "the arguments end before a description does");
  return memories_.all_of(
      [&](size_t word, uint64_t alias_set) { return (words[word] & kAliasBits) == alias_set; });
}

}  // namespace ingot::bindings
