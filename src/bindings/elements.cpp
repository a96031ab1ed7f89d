#include "bindings/elements.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "bindings/code.h"
#include "bindings/list_columns.h"
#include "interop/numpy.h"

namespace ingot::bindings {

namespace described = frontend::described;
using base::DType;

int64_t Column::integer(int64_t index) const {
  if (dtype == DType::Int8) return *reinterpret_cast<const int8_t*>(at(index));
  int64_t number;
  std::memcpy(&number, at(index), sizeof number);
  return number;
}

nb::object text_of_code(int64_t code) {
  nb::object text = nb::steal(code < 0 ? PyUnicode_New(0, 0) : PyUnicode_FromOrdinal(static_cast<int>(code)));
  if (!text.is_valid()) throw nb::python_error();
  return text;
}

PyObject* Elements::make(const Description& form, const Columns& columns, int64_t index) {
  const auto column = [&]() -> const Column& { return columns[form.column]; };
  switch (form.kind()) {
    case Described::Static: return nb::object(form.get<described::Static>().object).release().ptr();
    case Described::Absent: return nullptr;
    case Described::Scalar: {
      const DType dtype = column().dtype;
      const std::byte* const number = column().at(index);
      if (!form.get<described::Scalar>().number.is_python())
        return numpy_number(dtype, number).release().ptr();
      if (dtype != DType::Int64) return python_number(dtype, number).release().ptr();
      PyObject* const made = PyLong_FromLongLong(column().integer(index));
      if (made == nullptr) throw nb::python_error();
      return made;
    }
    case Described::Character: return text_of_code(column().integer(index)).release().ptr();
    case Described::Member: {
      const auto member = static_cast<Py_ssize_t>(column().integer(index));
      return Py_NewRef(PyTuple_GET_ITEM(form.get<described::Member>().members.ptr(), member));
    }
    case Described::Maybe: {
      const int64_t missing = column().integer(index);
      if (missing == 0) return make(form.parts[0], columns, index);
      return missing == 1 ? nb::none().release().ptr() : nullptr;
    }
    case Described::Pooled: {
      const auto& [pools, types] = form.get<described::Pooled>();
      return record(pools, types, column().integer(index)).release().ptr();
    }
    case Described::Array:
      return held(form.get<described::Array>(), form.column, columns, index).release().ptr();
    case Described::Tuple: break;
    default: throw base::InternalError("what no element of a list is");
  }
  const auto size = static_cast<Py_ssize_t>(form.parts.size());
  PyObject* const named = form.get<described::Tuple>().type.ptr();
  auto* const type = reinterpret_cast<PyTypeObject*>(named);
  nb::object all = nb::steal(named == Py_None ? PyTuple_New(size) : type->tp_alloc(type, size));
  if (!all.is_valid()) throw nb::python_error();
  for (Py_ssize_t i = 0; i < size; ++i)
    PyTuple_SET_ITEM(all.ptr(), i, part(form.parts[static_cast<size_t>(i)], columns, index));
  return all.release().ptr();
}

PyObject* Elements::part(const Description& form, const Columns& columns, int64_t index) {
  PyObject* const made = make(form, columns, index);
  if (made == nullptr) throw base::InternalError("a part of a result that is not there");
  return made;
}

nb::object Elements::held(const described::Array& form, size_t column, const Columns& columns,
                          int64_t index) {
  const auto next = [&] { return columns[column++].integer(index); };
  HeldArray array;
  array.buffer = next();
  array.offset = next();
  array.argument = next();
  array.window.dtype = form.dtype;
  array.window.rank = form.ndim;
  array.is_writable = form.is_writable;
  array.owns = form.owns || array.argument == HeldArray::kOwner;
  for (int axis = 0; axis < form.ndim; ++axis) array.window.lengths[axis] = next();
  for (int axis = 0; axis < form.ndim; ++axis) array.window.strides[axis] = next();
  return make_array_(array);
}

nb::object Elements::list(const Description& form, int64_t length, const Columns& columns) {
  return part_of_list(form, 0, length, columns);
}

nb::object Elements::part_of_list(const Description& form, int64_t first, int64_t end,
                                  const Columns& columns) {
  nb::object all = nb::steal(PyList_New(end - first));
  if (!all.is_valid()) throw nb::python_error();
  for (int64_t i = first; i < end; ++i) PyList_SET_ITEM(all.ptr(), i - first, part(form, columns, i));
  return all;
}

namespace {

/// Whether an object is the element of an index. Of numbers, bits decide.
bool is_element(PyObject* object, const Description& form, const Elements::Columns& columns, int64_t index) {
  if (const auto* tuple = form.as<described::Tuple>()) {
    const bool is_of_type = tuple->type.is_none()
                                ? PyTuple_CheckExact(object)
                                : reinterpret_cast<PyObject*>(Py_TYPE(object)) == tuple->type.ptr();
    if (!is_of_type || static_cast<size_t>(PyTuple_GET_SIZE(object)) != form.parts.size()) return false;
    for (size_t i = 0; i < form.parts.size(); ++i) {
      PyObject* const part = PyTuple_GET_ITEM(object, static_cast<Py_ssize_t>(i));
      if (!is_element(part, form.parts[i], columns, index)) return false;
    }
    return true;
  }
  const auto* number = form.as<described::Scalar>();
  if (number == nullptr) return false;
  const uint64_t kind = number->number.is_python() ? python_kind(number->number.dtype())
                                                   : static_cast<uint64_t>(number->number.dtype());
  alignas(16) std::byte stored[16];
  const Column& column = columns[form.column];
  return store_number_of(object, kind, stored) &&
         std::memcmp(stored, column.at(index), static_cast<size_t>(base::size_of(column.dtype))) == 0;
}

}  // namespace

void Elements::refill(PyObject* list, const Description& form, int64_t length, const Columns& columns) {
  // What an element that goes runs may change the list.
  for (int64_t i = 0; i < std::min<int64_t>(length, PyList_GET_SIZE(list)); ++i) {
    if (is_element(PyList_GET_ITEM(list, i), form, columns, i)) continue;
    if (PyList_SetItem(list, i, part(form, columns, i)) != 0) PyErr_Clear();
  }
  const Py_ssize_t size = PyList_GET_SIZE(list);
  nb::object rest;
  if (size < length) rest = part_of_list(form, size, length, columns);
  if (size != length && PyList_SetSlice(list, std::min<Py_ssize_t>(size, length), size, rest.ptr()) != 0)
    throw nb::python_error();
}

void Elements::refill(PyObject* dict, const Listed& keys, const Listed& values, int64_t length) {
  const auto put = [&](PyObject* key, PyObject* value) {
    if (PyDict_SetItem(dict, key, value) != 0) throw nb::python_error();
  };
  const auto value_at = [&](int64_t i) { return nb::steal(part(values.form, values.columns, i)); };
  int64_t known = 0;
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  for (Py_ssize_t at = 0; known < length && PyDict_Next(dict, &at, &key, &value) != 0; ++known) {
    if (!is_element(key, keys.form, keys.columns, known)) break;
    if (is_element(value, values.form, values.columns, known)) continue;
    const nb::object own = nb::borrow(key);
    put(own.ptr(), value_at(known).ptr());
  }
  nb::object before;
  if (known < PyDict_GET_SIZE(dict)) {
    before = nb::steal(PyDict_Copy(dict));
    if (!before.is_valid()) throw nb::python_error();
    PyDict_Clear(dict);
    known = 0;
  }
  for (; known < length; ++known) {
    const nb::object own = nb::steal(part(keys.form, keys.columns, known));
    PyObject* const old = before.is_valid() ? PyDict_GetItemWithError(before.ptr(), own.ptr()) : nullptr;
    if (old != nullptr && is_element(old, values.form, values.columns, known)) put(own.ptr(), old);
    else put(own.ptr(), value_at(known).ptr());
  }
}

void Elements::add_instances(nb::handle names, const Description& form, int64_t length, Columns columns) {
  pools_.push_back(
      {names, &form, true, std::move(columns), {}, std::vector<nb::object>(static_cast<size_t>(length))});
}

void Elements::add_rows(int64_t length, Columns headers, const Description& buffer, Columns store) {
  pools_.push_back({{},
                    buffer.parts.data(),
                    buffer.get<described::ListBuffer>().refers,
                    std::move(store),
                    std::move(headers),
                    std::vector<nb::object>(static_cast<size_t>(length))});
}

nb::object Elements::record(std::span<const size_t> pools, nb::handle types, int64_t index) {
  if (index < 0) return index == -1 ? nb::none() : nb::object();
  const auto bits = std::bit_width(pools.size() - 1);
  const auto kin = static_cast<size_t>(index) & ((size_t{1} << bits) - 1);
  const size_t number = pools[kin];
  PyObject* const type = PyTuple_GET_ITEM(types.ptr(), static_cast<Py_ssize_t>(kin));
  index >>= bits;
  Pool& pool = pools_[number];
  nb::object& made = pool.made[static_cast<size_t>(index)];
  if (made.is_valid()) return made;
  const bool is_row = !pool.names.is_valid();
  if (is_row) {
    made = nb::steal(PyList_New(pool.headers[1].integer(index)));
  } else {
    const nb::tuple nothing;
    made = nb::steal(PyBaseObject_Type.tp_new(reinterpret_cast<PyTypeObject*>(type), nothing.ptr(), nullptr));
  }
  if (!made.is_valid()) throw nb::python_error();
  // What refers to others waits to be run: chains of references may be long.
  if (is_row && !pool.refers) fill_row(pool, index);
  else waiting_.push_back({number, index});
  return made;
}

void Elements::fill_row(const Pool& pool, int64_t index) {
  PyObject* const list = pool.made[static_cast<size_t>(index)].ptr();
  const int64_t start = pool.headers[0].integer(index);
  const int64_t size = pool.headers[1].integer(index);
  for (int64_t i = 0; i < size; ++i) PyList_SET_ITEM(list, i, part(*pool.form, pool.columns, start + i));
}

/// As `object` does it: no code of the class runs.
void Elements::fill_instance(const Pool& pool, int64_t index) {
  PyObject* const instance = pool.made[static_cast<size_t>(index)].ptr();
  for (size_t i = 0; i < pool.form->parts.size(); ++i) {
    const nb::object value = nb::steal(make(pool.form->parts[i], pool.columns, index));
    if (!value.is_valid()) continue;
    PyObject* const name = PyTuple_GET_ITEM(pool.names.ptr(), static_cast<Py_ssize_t>(i));
    if (PyObject_GenericSetAttr(instance, name, value.ptr()) != 0) throw nb::python_error();
  }
}

void Elements::fill() {
  while (!waiting_.empty()) {
    const Waiting next = waiting_.back();
    waiting_.pop_back();
    const Pool& pool = pools_[next.pool];
    if (pool.names.is_valid()) fill_instance(pool, next.index);
    else fill_row(pool, next.index);
  }
}

}  // namespace ingot::bindings
