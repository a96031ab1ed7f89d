// A value is a tag, then what the tag specifies: counts and numbers of objects as 32 bits, numbers as their
// bits, little-endian; ints beyond 64 bits as strings in base 16. Frozensets are written in their order.

#include "bindings/portable.h"

#include <nanobind/stl/string.h>

#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "bindings/described.h"
#include "bindings/fields.h"
#include "interop/numpy.h"

namespace ingot::bindings {

using nb::literals::operator""_a;

namespace {

static_assert(std::endian::native == std::endian::little);

enum class Tag : uint8_t {
  None,
  False,
  True,
  Ellipsis,
  Int,
  LongInt,
  Float,
  Complex,
  Text,
  Bytes,
  Tuple,
  List,
  Dict,
  FrozenSet,
  Slice,
  Range,
  NumPyNumber,
  DType,
  LongLong,
  SubArray,
  Fields,
  Code,
  Object,
  Description,
};

/// One level of nesting. Throws RecursionError, as Python does.
class Level {
 public:
  Level() {
    if (Py_EnterRecursiveCall(" while storing compiled code") != 0) throw nb::python_error();
  }
  ~Level() { Py_LeaveRecursiveCall(); }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;
};

/// NumPy's dtype of a number, if it is one of the built-in ones: there is one object of it.
bool is_dtype_of_numbers(PyObject* value) {
  if (!PyArray_DescrCheck(value)) return false;
  const int number = reinterpret_cast<PyArray_Descr*>(value)->type_num;
  if (!dtype_of(number)) return false;
  const nb::object usual = nb::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromType(number)));
  return usual.ptr() == value;
}

class Encoder {
 public:
  explicit Encoder(const nb::callable& name) : name_(name) {}

  void value(nb::handle given) {
    PyObject* const it = given.ptr();
    PyTypeObject* const type = Py_TYPE(it);
    const Level level;
    if (it == Py_None) tag(Tag::None);
    else if (it == Py_False) tag(Tag::False);
    else if (it == Py_True) tag(Tag::True);
    else if (it == Py_Ellipsis) tag(Tag::Ellipsis);
    else if (type == &PyLong_Type) integer(it);
    else if (type == &PyFloat_Type) tagged(Tag::Float, PyFloat_AS_DOUBLE(it));
    else if (type == &PyComplex_Type) tagged(Tag::Complex, reinterpret_cast<PyComplexObject*>(it)->cval);
    else if (type == &PyUnicode_Type) text(it);
    else if (type == &PyBytes_Type) bytes(it);
    else if (type == &PyTuple_Type) sequence(Tag::Tuple, it);
    else if (type == &PyList_Type) sequence(Tag::List, it);
    else if (type == &PyDict_Type) dict(it);
    else if (type == &PyFrozenSet_Type) sequence(Tag::FrozenSet, it);
    else if (type == &PySlice_Type) parts(Tag::Slice, given, {"start", "stop", "step"});
    else if (type == &PyRange_Type) parts(Tag::Range, given, {"start", "stop", "step"});
    else if (type == &PyCode_Type) code(given);
    else other(it);
  }

  std::string take() { return std::move(out_); }

 private:
  template <class T>
  void raw(const T& number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    out_.append(bytes, sizeof bytes);
  }
  void tag(Tag which) { raw(which); }
  template <class T>
  void tagged(Tag which, const T& number) {
    tag(which);
    raw(number);
  }
  void counted(Tag which, size_t count) {
    if (count > UINT32_MAX) throw nb::value_error("too long to be stored");
    tagged(which, static_cast<uint32_t>(count));
  }

  void integer(PyObject* it) {
    int overflow = 0;
    const int64_t number = PyLong_AsLongLongAndOverflow(it, &overflow);
    if (overflow == 0) return tagged(Tag::Int, number);
    const nb::object digits = nb::steal(PyNumber_ToBase(it, 16));
    if (!digits.is_valid()) throw nb::python_error();
    tag(Tag::LongInt);
    text(digits.ptr());
  }

  void text(PyObject* it) {
    const auto size = static_cast<size_t>(PyUnicode_KIND(it)) * static_cast<size_t>(PyUnicode_GET_LENGTH(it));
    counted(Tag::Text, static_cast<size_t>(PyUnicode_GET_LENGTH(it)));
    raw(static_cast<uint8_t>(PyUnicode_KIND(it)));
    out_.append(static_cast<const char*>(PyUnicode_DATA(it)), size);
  }

  void bytes(PyObject* it) {
    counted(Tag::Bytes, static_cast<size_t>(PyBytes_GET_SIZE(it)));
    out_.append(PyBytes_AS_STRING(it), static_cast<size_t>(PyBytes_GET_SIZE(it)));
  }

  /// The items are read one by one: naming them may run code that changes a list.
  void sequence(Tag which, PyObject* it) {
    const nb::object items = nb::steal(PySequence_Tuple(it));
    if (!items.is_valid()) throw nb::python_error();
    const Py_ssize_t count = PyTuple_GET_SIZE(items.ptr());
    counted(which, static_cast<size_t>(count));
    for (Py_ssize_t i = 0; i < count; ++i) value(PyTuple_GET_ITEM(items.ptr(), i));
  }

  void dict(PyObject* it) {
    const nb::object items = nb::steal(PyDict_Items(it));
    if (!items.is_valid()) throw nb::python_error();
    counted(Tag::Dict, nb::len(items));
    for (const nb::handle item : items) {
      value(item[0]);
      value(item[1]);
    }
  }

  void parts(Tag which, nb::handle it, std::initializer_list<const char*> names) {
    tag(which);
    for (const char* const part : names) value(it.attr(part));
  }

  void code(nb::handle it) {
    parts(Tag::Code, it,
          {"co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount",
           "co_posonlyargcount", "co_kwonlyargcount", "co_flags", "co_linetable", "co_exceptiontable",
           "co_name", "co_qualname"});
    const auto first = nb::cast<int64_t>(it.attr("co_firstlineno"));
    const nb::tuple constants = nb::cast<nb::tuple>(it.attr("co_consts"));
    counted(Tag::Tuple, constants.size());
    for (const nb::handle constant : constants) {
      if (PyCode_Check(constant.ptr())) raw(nb::cast<int64_t>(constant.attr("co_firstlineno")) - first);
      value(constant);
    }
  }

  void other(PyObject* it) {
    if (const auto dtype = dtype_of_scalar(Py_TYPE(it))) {
      char element[16];
      PyArray_ScalarAsCtype(it, element);
      tagged(Tag::NumPyNumber, static_cast<uint8_t>(*dtype));
      out_.append(element, base::size_of(*dtype));
    } else if (is_dtype_of_numbers(it)) {
      const int number = reinterpret_cast<PyArray_Descr*>(it)->type_num;
      const bool is_longer = number == NPY_LONGLONG || number == NPY_ULONGLONG;
      if (is_longer) tagged(Tag::LongLong, static_cast<uint8_t>(number == NPY_ULONGLONG ? 1 : 0));
      else tagged(Tag::DType, static_cast<uint8_t>(*dtype_of(number)));
    } else if (PyArray_DescrCheck(it) && has_known_fields(reinterpret_cast<PyArray_Descr*>(it))) {
      fields(it);
    } else if (nb::isinstance<Description>(it)) {
      tag(Tag::Description);
      value(state_of(nb::cast<const Description&>(nb::handle(it))));
    } else {
      tagged(Tag::Object, nb::cast<uint32_t>(name_(nb::handle(it))));
    }
  }

  /// A dtype of arrays, or of records: (what `np.dtype` makes it of, align, whether its elements are
  /// `np.record`).
  void fields(PyObject* it) {
    auto* const descr = reinterpret_cast<PyArray_Descr*>(it);
    const nb::handle dtype(it);
    if (PyDataType_HASSUBARRAY(descr)) {
      tag(Tag::SubArray);
      value(dtype.attr("base"));
      value(dtype.attr("shape"));
      return;
    }
    tagged(Tag::Fields, static_cast<uint8_t>(PyDataType_FLAGCHK(descr, NPY_ALIGNED_STRUCT) != 0 ? 1 : 0));
    raw(static_cast<uint8_t>(descr->typeobj == &PyVoidArrType_Type ? 0 : 1));
    nb::dict form;
    nb::list formats;
    nb::list offsets;
    nb::list titles;
    for (const nb::handle name : dtype.attr("names")) {
      const nb::tuple field = nb::cast<nb::tuple>(dtype.attr("fields")[name]);
      formats.append(field[0]);
      offsets.append(field[1]);
      titles.append(field.size() > 2 ? nb::object(field[2]) : nb::none());
    }
    form["names"] = dtype.attr("names");
    form["formats"] = formats;
    form["offsets"] = offsets;
    form["titles"] = titles;
    form["itemsize"] = dtype.attr("itemsize");
    value(form);
  }

  const nb::callable& name_;
  std::string out_;
};

class Decoder {
 public:
  Decoder(std::string_view bytes, const nb::list& objects) : rest_(bytes), objects_(objects) {}

  nb::object value() {
    const Level level;
    switch (raw<Tag>()) {
      case Tag::None: return nb::none();
      case Tag::False: return nb::bool_(false);
      case Tag::True: return nb::bool_(true);
      case Tag::Ellipsis: return nb::borrow(Py_Ellipsis);
      case Tag::Int: return nb::int_(raw<int64_t>());
      case Tag::LongInt: return long_integer();
      case Tag::Float: return nb::float_(raw<double>());
      case Tag::Complex: return made(PyComplex_FromCComplex(raw<Py_complex>()));
      case Tag::Text: return text();
      case Tag::Bytes: {
        const std::string_view content = take(raw<uint32_t>());
        return nb::bytes(content.data(), content.size());
      }
      case Tag::Tuple: return tuple(raw<uint32_t>());
      case Tag::List: return made(PySequence_List(tuple(raw<uint32_t>()).ptr()));
      case Tag::Dict: return dict();
      case Tag::FrozenSet: return made(PyFrozenSet_New(tuple(raw<uint32_t>()).ptr()));
      case Tag::Slice: {
        const nb::object parts = tuple(3);
        return made(
            PySlice_New(nb::handle(parts[0]).ptr(), nb::handle(parts[1]).ptr(), nb::handle(parts[2]).ptr()));
      }
      case Tag::Range:
        return made(PyObject_CallObject(reinterpret_cast<PyObject*>(&PyRange_Type), tuple(3).ptr()));
      case Tag::NumPyNumber: return number();
      case Tag::DType:
        return nb::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromType(type_number(dtype()))));
      case Tag::LongLong:
        return nb::steal(reinterpret_cast<PyObject*>(
            PyArray_DescrFromType(raw<uint8_t>() == 0 ? NPY_LONGLONG : NPY_ULONGLONG)));
      case Tag::SubArray: {
        const nb::object base = value();
        return dtype_of_numpy(nb::make_tuple(base, value()));
      }
      case Tag::Fields: {
        const bool is_aligned = raw<uint8_t>() != 0;
        const bool is_record = raw<uint8_t>() != 0;
        const nb::object dtype = dtype_of_numpy(value(), is_aligned);
        if (!is_record) return dtype;
        return dtype_of_numpy(nb::make_tuple(nb::module_::import_("numpy").attr("record"), dtype));
      }
      case Tag::Object: return object();
      case Tag::Description: {
        const nb::object state = value();
        if (!PyTuple_Check(state.ptr())) fail();
        return nb::cast(of_state(nb::borrow<nb::tuple>(state)));
      }
      case Tag::Code: break;
    }
    fail();
  }

  bool is_at_end() const { return rest_.empty(); }

 private:
  [[noreturn]] static void fail() { throw nb::value_error("what is stored cannot be read"); }

  std::string_view take(size_t count) {
    if (count > rest_.size()) fail();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  template <class T>
  T raw() {
    T number;
    std::memcpy(static_cast<void*>(&number), take(sizeof number).data(), sizeof number);
    return number;
  }
  static nb::object made(PyObject* new_reference) {
    if (new_reference == nullptr) throw nb::python_error();
    return nb::steal(new_reference);
  }

  /// Each item takes a byte at least.
  nb::object tuple(size_t count) {
    if (count > rest_.size()) fail();
    const nb::object items = made(PyTuple_New(static_cast<Py_ssize_t>(count)));
    for (size_t i = 0; i < count; ++i)
      PyTuple_SET_ITEM(items.ptr(), static_cast<Py_ssize_t>(i), value().release().ptr());
    return items;
  }

  nb::object long_integer() {
    if (raw<Tag>() != Tag::Text) fail();
    const nb::object digits = text();
    return made(PyLong_FromUnicodeObject(digits.ptr(), 0));
  }

  nb::object text() {
    const auto length = raw<uint32_t>();
    const auto kind = raw<uint8_t>();
    if (kind != 1 && kind != 2 && kind != 4) fail();
    const std::string_view content = take(size_t{length} * kind);
    return made(PyUnicode_FromKindAndData(kind, content.data(), static_cast<Py_ssize_t>(length)));
  }

  nb::object dict() {
    nb::dict all;
    for (auto count = raw<uint32_t>(); count != 0; --count) {
      const nb::object key = value();
      const nb::object item = value();
      if (PyDict_SetItem(all.ptr(), key.ptr(), item.ptr()) != 0) throw nb::python_error();
    }
    return all;
  }

  static nb::object dtype_of_numpy(const nb::object& form, bool is_aligned = false) {
    try {
      return nb::module_::import_("numpy").attr("dtype")(form, is_aligned);
    } catch (nb::python_error&) {
      fail();
    }
  }

  base::DType dtype() {
    const auto number = raw<uint8_t>();
    if (number >= base::kDTypeCount) fail();
    return static_cast<base::DType>(number);
  }

  nb::object number() {
    const base::DType type = dtype();
    alignas(16) char element[16];
    const std::string_view content = take(base::size_of(type));
    std::memcpy(element, content.data(), content.size());
    const nb::object descr = nb::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromType(type_number(type))));
    return made(PyArray_Scalar(element, reinterpret_cast<PyArray_Descr*>(descr.ptr()), nullptr));
  }

  nb::object object() {
    const auto number = raw<uint32_t>();
    if (number >= objects_.size()) fail();
    return objects_[number];
  }

  std::string_view rest_;
  const nb::list& objects_;
};

}  // namespace

nb::bytes encode(nb::handle value, const nb::callable& name) {
  Encoder encoder(name);
  encoder.value(value);
  const std::string bytes = encoder.take();
  return nb::bytes(bytes.data(), bytes.size());
}

nb::object decode(const nb::bytes& bytes, const nb::list& objects) {
  Decoder decoder({bytes.c_str(), bytes.size()}, objects);
  nb::object value = decoder.value();
  if (!decoder.is_at_end()) throw nb::value_error("what is stored goes on after its end");
  return value;
}

void bind_portable(nb::module_& m) {
  m.def("encode", &encode, "value"_a.none(), "name"_a,
        "The bytes of a value, in every process the same; objects that have none are numbers that `name` "
        "gives.");
  m.def("decode", &decode, "bytes"_a, "objects"_a,
        "The value of such bytes, with objects by their numbers. ValueError: they are none.");
  m.def(
      "digest",
      [](const nb::bytes& bytes) {
        const auto digest = base::sha256(std::as_bytes(std::span(bytes.c_str(), bytes.size())));
        return nb::bytes(digest.data(), digest.size());
      },
      "bytes"_a, "The SHA-256 of bytes.");
}

}  // namespace ingot::bindings
