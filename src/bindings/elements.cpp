#include "bindings/elements.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "bindings/code.h"
#include "bindings/numpy.h"

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
  nb::object all = nb::steal(PyList_New(length));
  if (!all.is_valid()) throw nb::python_error();
  for (int64_t i = 0; i < length; ++i) PyList_SET_ITEM(all.ptr(), i, part(form, columns, i));
  return all;
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
