#include "bindings/fields.h"

#include <algorithm>

namespace ingot::bindings {

namespace {

PyTypeObject* type_of_numpy(const char* name) {
  return reinterpret_cast<PyTypeObject*>(
      nb::object(nb::module_::import_("numpy").attr(name)).release().ptr());
}

PyTypeObject* recarray_type() {
  static PyTypeObject* const type = type_of_numpy("recarray");
  return type;
}

PyTypeObject* record_type() {
  static PyTypeObject* const type = type_of_numpy("record");
  return type;
}

bool has_fields(const PyArray_Descr* descr) { return PyDataType_HASFIELDS(descr); }

bool has_attributes(PyObject* object) {
  PyObject** const dict = _PyObject_GetDictPtr(object);
  return dict != nullptr && *dict != nullptr && PyDict_GET_SIZE(*dict) > 0;
}

PyArray_Descr* as_descr(PyObject* object) { return reinterpret_cast<PyArray_Descr*>(object); }

/// A field as NumPy has it: (dtype, offset), or with a title.
struct Field {
  PyArray_Descr* descr;
  PyObject* offset;
  PyObject* title;  ///< null: none
};

/// The field of a name that there is.
Field field_of(const PyArray_Descr* descr, PyObject* name) {
  PyObject* const field = PyDict_GetItemWithError(PyDataType_FIELDS(descr), name);
  return {as_descr(PyTuple_GET_ITEM(field, 0)), PyTuple_GET_ITEM(field, 1),
          PyTuple_GET_SIZE(field) > 2 ? PyTuple_GET_ITEM(field, 2) : nullptr};
}

bool is_one_text(PyObject* a, PyObject* b) {
  return a == b || (a != nullptr && b != nullptr && PyUnicode_Compare(a, b) == 0);
}

/// The shapes of arrays in fields are tuples of ints.
bool is_one_shape(PyObject* a, PyObject* b) {
  if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i)
    if (PyLong_AsSsize_t(PyTuple_GET_ITEM(a, i)) != PyLong_AsSsize_t(PyTuple_GET_ITEM(b, i))) return false;
  return true;
}

bool is_one_form(const PyArray_Descr* a, const PyArray_Descr* b) {
  if (a == b) return true;  // compared now: what is kept is a copy
  if (a->type_num != b->type_num || a->typeobj != b->typeobj || a->byteorder != b->byteorder ||
      PyDataType_ELSIZE(a) != PyDataType_ELSIZE(b) ||
      PyDataType_FLAGCHK(a, NPY_ALIGNED_STRUCT) != PyDataType_FLAGCHK(b, NPY_ALIGNED_STRUCT) ||
      PyDataType_METADATA(a) != PyDataType_METADATA(b) || has_fields(a) != has_fields(b) ||
      PyDataType_HASSUBARRAY(a) != PyDataType_HASSUBARRAY(b))
    return false;
  if (PyDataType_HASSUBARRAY(a)) {
    return is_one_form(PyDataType_SUBARRAY(a)->base, PyDataType_SUBARRAY(b)->base) &&
           is_one_shape(PyDataType_SUBARRAY(a)->shape, PyDataType_SUBARRAY(b)->shape);
  }
  if (!has_fields(a))
    return dtype_of(a->type_num) ||
           PyArray_EquivTypes(const_cast<PyArray_Descr*>(a), const_cast<PyArray_Descr*>(b));
  PyObject* const names = PyDataType_NAMES(a);
  PyObject* const others = PyDataType_NAMES(b);
  if (names == others && PyDataType_FIELDS(a) == PyDataType_FIELDS(b))
    return true;  // renaming makes new ones
  if (PyTuple_GET_SIZE(names) != PyTuple_GET_SIZE(others)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    if (!is_one_text(PyTuple_GET_ITEM(names, i), PyTuple_GET_ITEM(others, i))) return false;
    const Field x = field_of(a, PyTuple_GET_ITEM(names, i));
    const Field y = field_of(b, PyTuple_GET_ITEM(others, i));
    if (!is_one_text(x.title, y.title) || PyLong_AsSsize_t(x.offset) != PyLong_AsSsize_t(y.offset) ||
        !is_one_form(x.descr, y.descr))
      return false;
  }
  return true;
}

}  // namespace

std::optional<Holder> holder_of(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  if (type == &PyArray_Type) {
    const bool holds = has_fields(PyArray_DESCR(as_array(object)));
    return holds ? std::optional(Holder::Array) : std::nullopt;
  }
  if (PyArray_IsScalar(object, Void)) {
    const bool is_record = (type == &PyVoidArrType_Type || type == record_type()) &&
                           has_fields(descr_of(object, Holder::Record));
    return is_record ? std::optional(Holder::Record) : std::nullopt;
  }
  if (!PyArray_Check(object) || type != recarray_type()) return std::nullopt;
  const bool holds = has_fields(PyArray_DESCR(as_array(object))) && !has_attributes(object);
  return holds ? std::optional(Holder::RecArray) : std::nullopt;
}

PyArray_Descr* descr_of(PyObject* object, Holder holder) {
  if (holder != Holder::Record) return PyArray_DESCR(as_array(object));
  return reinterpret_cast<PyArray_Descr*>(reinterpret_cast<PyVoidScalarObject*>(object)->descr);
}

namespace {

/// A string of Python's own class that UTF-8 has.
bool is_known_text(PyObject* text) {
  if (!PyUnicode_CheckExact(text)) return false;
  if (PyUnicode_AsUTF8AndSize(text, nullptr) != nullptr) return true;
  PyErr_Clear();
  return false;
}

}  // namespace

bool has_known_fields(PyArray_Descr* descr) {
  if (PyDataType_HASSUBARRAY(descr)) return has_known_fields(PyDataType_SUBARRAY(descr)->base);
  if (!has_fields(descr)) return dtype_of(descr->type_num) && PyArray_ISNBO(descr->byteorder);
  if (PyDataType_METADATA(descr) != nullptr || PyDataType_ELSIZE(descr) == 0) return false;
  PyObject* const names = PyDataType_NAMES(descr);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* const name = PyTuple_GET_ITEM(names, i);
    if (!is_known_text(name)) return false;
    const Field field = field_of(descr, name);
    if (field.title != nullptr && !is_known_text(field.title)) return false;
    if (!has_known_fields(field.descr)) return false;
  }
  return true;
}

bool same_fields(PyObject* a, PyObject* b) { return is_one_form(as_descr(a), as_descr(b)); }

namespace {

/// Whether the records of a dtype contain records.
bool has_inner_fields(const PyArray_Descr* descr) {
  if (!has_fields(descr)) return false;
  PyObject* const names = PyDataType_NAMES(descr);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    PyArray_Descr* const inner = field_of(descr, PyTuple_GET_ITEM(names, i)).descr;
    if (is_renamed_in_place(reinterpret_cast<PyObject*>(inner))) return true;
  }
  return false;
}

nb::object copy_of_fields(const PyArray_Descr* descr) {
  nb::dict fields;
  PyObject* const names = PyDataType_NAMES(descr);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    const nb::handle name = PyTuple_GET_ITEM(names, i);
    const Field field = field_of(descr, name.ptr());
    const nb::object own = private_descr(field.descr);
    const nb::handle offset = field.offset;
    if (field.title == nullptr) {
      fields[name] = nb::make_tuple(own, offset);
      continue;
    }
    const nb::handle title = field.title;
    const nb::object entry = nb::make_tuple(own, offset, title);
    fields[name] = entry;
    if (PyUnicode_Check(title.ptr())) fields[title] = entry;
  }
  return fields;
}

}  // namespace

nb::object private_descr(PyArray_Descr* descr) {
  PyArray_Descr* const base = PyDataType_HASSUBARRAY(descr) ? PyDataType_SUBARRAY(descr)->base : descr;
  if (!has_fields(base)) return nb::borrow(reinterpret_cast<PyObject*>(descr));
  nb::object copy = nb::steal(reinterpret_cast<PyObject*>(PyArray_DescrNew(descr)));
  if (!copy.is_valid()) throw nb::python_error();
  auto* const made = reinterpret_cast<_PyArray_LegacyDescr*>(copy.ptr());
  made->hash = -1;
  if (made->subarray != nullptr)
    Py_SETREF(made->subarray->base, as_descr(private_descr(base).release().ptr()));
  if (has_inner_fields(descr)) Py_SETREF(made->fields, copy_of_fields(descr).release().ptr());
  return copy;
}

bool is_renamed_in_place(PyObject* object) {
  if (PyArray_DescrCheck(object)) {
    const PyArray_Descr* const descr = as_descr(object);
    return has_fields(PyDataType_HASSUBARRAY(descr) ? PyDataType_SUBARRAY(descr)->base : descr);
  }
  if (!PyTuple_CheckExact(object)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    if (is_renamed_in_place(PyTuple_GET_ITEM(object, i))) return true;
  return false;
}

nb::object private_of(PyObject* object) {
  if (PyArray_DescrCheck(object))
    return is_renamed_in_place(object) ? private_descr(as_descr(object)) : nb::borrow(object);
  if (PyTuple_CheckExact(object)) {
    nb::list parts;
    bool is_other = false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
      const nb::object part = private_of(PyTuple_GET_ITEM(object, i));
      is_other = is_other || !part.is(PyTuple_GET_ITEM(object, i));
      parts.append(part);
    }
    return is_other ? nb::object(nb::tuple(parts)) : nb::borrow(object);
  }
  if (!nb::isinstance<Description>(object)) return nb::borrow(object);
  return nb::cast(private_of(nb::cast<const Description&>(nb::handle(object))));
}

uint64_t hash_of_form(const PyArray_Descr* descr) {
  if (PyDataType_HASSUBARRAY(descr)) return hash_of_form(PyDataType_SUBARRAY(descr)->base) * 31 + 1;
  uint64_t hash =
      static_cast<uint64_t>(descr->type_num) * 1000003U ^ static_cast<uint64_t>(PyDataType_ELSIZE(descr));
  if (!has_fields(descr)) return hash;
  PyObject* const names = PyDataType_NAMES(descr);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* const name = PyTuple_GET_ITEM(names, i);
    const auto of_name = static_cast<uint64_t>(PyObject_Hash(name));  // that of a string, which keeps it
    hash = (hash ^ of_name ^ hash_of_form(field_of(descr, name).descr)) * 0x100000001b3U;
  }
  return hash;
}

uint64_t word_of_fields(Holder holder, const PyArray_Descr* descr) {
  return word_of(Tag::Fields, static_cast<uint64_t>(holder) | hash_of_form(descr) << 8);
}

PyObject* array_of_record(PyObject* record) {
  const auto* const held = reinterpret_cast<PyVoidScalarObject*>(record);
  PyArray_Descr* const descr = descr_of(record, Holder::Record);
  Py_INCREF(descr);
  PyObject* const array = PyArray_NewFromDescr(&PyArray_Type, descr, 0, nullptr, nullptr, held->obval,
                                               held->flags & NPY_ARRAY_WRITEABLE, nullptr);
  if (array == nullptr) return nullptr;
  if (PyArray_SetBaseObject(as_array(array), Py_NewRef(record)) == 0) return array;
  Py_DECREF(array);
  return nullptr;
}

namespace {

/// What the addresses of records have to be multiples of; 0: their fields would not be aligned.
npy_intp alignment_of(const PyArray_Descr* descr) {
  if (PyDataType_HASSUBARRAY(descr)) return alignment_of(PyDataType_SUBARRAY(descr)->base);
  if (!has_fields(descr)) return PyDataType_ALIGNMENT(descr);
  npy_intp all = 1;
  PyObject* const names = PyDataType_NAMES(descr);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    const Field field = field_of(descr, PyTuple_GET_ITEM(names, i));
    const npy_intp own = alignment_of(field.descr);
    if (own == 0 || PyLong_AsSsize_t(field.offset) % own != 0) return 0;
    all = std::max(all, own);
  }
  return PyDataType_ELSIZE(descr) % all == 0 ? all : 0;
}

constexpr int kMostAxes = 32;

nb::object new_array(PyTypeObject* type, PyArray_Descr* descr, int rank, const npy_intp* lengths,
                     const npy_intp* strides, PyArrayObject* memory) {
  Py_INCREF(descr);
  nb::object array = nb::steal(PyArray_NewFromDescr(type, descr, rank, lengths, strides, PyArray_DATA(memory),
                                                    PyArray_FLAGS(memory) & NPY_ARRAY_WRITEABLE, nullptr));
  if (!array.is_valid()) throw nb::python_error();
  return array;
}

void set_base(const nb::object& array, PyObject* base) {
  if (PyArray_SetBaseObject(as_array(array.ptr()), Py_NewRef(base)) != 0) throw nb::python_error();
}

}  // namespace

bool are_fields_aligned(PyArrayObject* records) {
  const npy_intp alignment = alignment_of(PyArray_DESCR(records));
  if (alignment == 0 || reinterpret_cast<uintptr_t>(PyArray_DATA(records)) % alignment != 0) return false;
  const npy_intp* const strides = PyArray_STRIDES(records);
  return std::all_of(strides, strides + PyArray_NDIM(records),
                     [&](npy_intp stride) { return stride % alignment == 0; });
}

nb::object bytes_of_records(PyArrayObject* array) {
  npy_intp lengths[kMostAxes + 1];
  npy_intp strides[kMostAxes + 1];
  const int rank = PyArray_NDIM(array);
  std::copy_n(PyArray_DIMS(array), rank, lengths);
  std::copy_n(PyArray_STRIDES(array), rank, strides);
  lengths[rank] = PyArray_ITEMSIZE(array);
  strides[rank] = 1;
  PyArray_Descr* const byte = PyArray_DescrFromType(NPY_UINT8);
  nb::object bytes = new_array(&PyArray_Type, byte, rank + 1, lengths, strides, array);
  Py_DECREF(byte);
  set_base(bytes, reinterpret_cast<PyObject*>(array));
  return bytes;
}

nb::object records_on(const nb::object& bytes, Holder holder, const nb::object& dtype) {
  PyArrayObject* const memory = as_array(bytes.ptr());
  PyTypeObject* const type = holder == Holder::RecArray ? recarray_type() : &PyArray_Type;
  const int rank = PyArray_NDIM(memory) - 1;
  const nb::object records =
      new_array(type, as_descr(dtype.ptr()), rank, PyArray_DIMS(memory), PyArray_STRIDES(memory), memory);
  auto* const from = reinterpret_cast<PyArrayObject_fields*>(memory);
  if (PyArray_CHKFLAGS(memory, NPY_ARRAY_OWNDATA) && Py_REFCNT(bytes.ptr()) == 1) {
    std::swap(from->mem_handler, reinterpret_cast<PyArrayObject_fields*>(records.ptr())->mem_handler);
    PyArray_CLEARFLAGS(memory, NPY_ARRAY_OWNDATA);
    PyArray_ENABLEFLAGS(as_array(records.ptr()), NPY_ARRAY_OWNDATA);
  } else {
    set_base(records, PyArray_BASE(memory) != nullptr ? PyArray_BASE(memory) : bytes.ptr());
  }
  return records;
}

nb::object record_of(const nb::object& array) {
  PyArrayObject* const memory = as_array(array.ptr());
  if (PyObject* const base = PyArray_BASE(memory); base != nullptr && PyArray_IsScalar(base, Void)) {
    const auto* const held = reinterpret_cast<PyVoidScalarObject*>(base);
    if (held->obval == PyArray_DATA(memory) &&
        is_one_form(descr_of(base, Holder::Record), PyArray_DESCR(memory)))
      return nb::borrow(base);
  }
  nb::object record = nb::steal(PyArray_Scalar(PyArray_DATA(memory), PyArray_DESCR(memory), array.ptr()));
  if (!record.is_valid()) throw nb::python_error();
  return record;
}

}  // namespace ingot::bindings
