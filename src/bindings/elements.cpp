#include "bindings/elements.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "bindings/code.h"
#include "bindings/numpy.h"

namespace ingot::bindings {

using base::DType;

int64_t Column::integer(int64_t index) const {
  if (dtype == DType::Int8) return *reinterpret_cast<const int8_t*>(at(index));
  int64_t number;
  std::memcpy(&number, at(index), sizeof number);
  return number;
}

std::optional<DType> dtype_of_kind(nb::handle kind) {
  constexpr std::string_view kPrefix = "numpy.";
  const std::string_view name = nb::cast<const char*>(kind);
  if (!name.starts_with(kPrefix)) return std::nullopt;
  return base::known(base::dtype_from_numpy(std::string_view(name).substr(kPrefix.size())));
}

nb::object text_of_code(int64_t code) {
  nb::object text = nb::steal(code < 0 ? PyUnicode_New(0, 0) : PyUnicode_FromOrdinal(static_cast<int>(code)));
  if (!text.is_valid()) throw nb::python_error();
  return text;
}

std::vector<size_t> pools_of(nb::handle described) {
  std::vector<size_t> pools;
  if (PyTuple_Check(described.ptr()) == 0) pools.push_back(nb::cast<size_t>(described));
  else
    for (const nb::handle pool : described) pools.push_back(nb::cast<size_t>(pool));
  return pools;
}

Form::Form(nb::handle description) {
  size_t columns = 0;
  read(description, columns);
}

Form::Form(nb::handle description, size_t& columns) { read(description, columns); }

void Form::read(nb::handle description, size_t& columns) {
  const std::string_view tag = nb::cast<const char*>(description[0]);
  const auto read_parts = [&](nb::handle given) {
    for (const nb::handle part : given) parts.push_back(Form(part, columns));
    has_records = std::ranges::any_of(parts, &Form::has_records);
  };
  column = columns;
  if (tag == "static") {
    object = PyTuple_GET_ITEM(description.ptr(), 1);
  } else if (tag == "absent") {
    kind = Kind::Absent;
  } else if (tag == "scalar") {
    kind = Kind::Number;
    numpys = dtype_of_kind(description[1]);
    ++columns;
  } else if (tag == "character") {
    kind = Kind::Character;
    ++columns;
  } else if (tag == "member") {
    kind = Kind::Member;
    object = PyTuple_GET_ITEM(description.ptr(), 1);
    ++columns;
  } else if (tag == "maybe") {
    kind = Kind::Maybe;
    ++columns;
    parts.push_back(Form(PyTuple_GET_ITEM(description.ptr(), 1), columns));
  } else if (tag == "record") {
    kind = Kind::Record;
    pools = pools_of(description[1]);
    object = PyTuple_GET_ITEM(description.ptr(), 2);
    has_records = true;
    ++columns;
  } else if (tag == "array") {
    kind = Kind::Array;
    dtype = base::known(base::dtype_from_name(nb::cast<std::string>(description[1])));
    rank = nb::cast<int>(description[2]);
    is_writable = nb::cast<bool>(description[3]);
    owns = nb::cast<bool>(description[4]);
    columns += 3 + 2 * static_cast<size_t>(rank);
  } else if (tag == "named") {
    kind = Kind::Named;
    object = PyTuple_GET_ITEM(description.ptr(), 1);
    read_parts(description[2]);
  } else {
    kind = Kind::Tuple;
    read_parts(description[1]);
  }
}

PyObject* Elements::make(const Form& form, const Columns& columns, int64_t index) {
  const auto number = [&] { return columns[form.column].at(index); };
  switch (form.kind) {
    case Form::Kind::Static: return nb::borrow(form.object).release().ptr();
    case Form::Kind::Absent: return nullptr;
    case Form::Kind::Number: {
      const Column& column = columns[form.column];
      if (form.numpys) return numpy_number(column.dtype, number()).release().ptr();
      if (column.dtype != DType::Int64) return python_number(column.dtype, number()).release().ptr();
      PyObject* const made = PyLong_FromLongLong(column.integer(index));
      if (made == nullptr) throw nb::python_error();
      return made;
    }
    case Form::Kind::Character: return text_of_code(columns[form.column].integer(index)).release().ptr();
    case Form::Kind::Member: {
      const auto member = static_cast<Py_ssize_t>(columns[form.column].integer(index));
      return Py_NewRef(PyTuple_GET_ITEM(form.object.ptr(), member));
    }
    case Form::Kind::Maybe: {
      const int64_t missing = columns[form.column].integer(index);
      if (missing == 0) return make(form.parts[0], columns, index);
      return missing == 1 ? nb::none().release().ptr() : nullptr;
    }
    case Form::Kind::Record:
      return record(form.pools, form.object, columns[form.column].integer(index)).release().ptr();
    case Form::Kind::Array: return held(form, columns, index).release().ptr();
    case Form::Kind::Tuple:
    case Form::Kind::Named: break;
  }
  const auto size = static_cast<Py_ssize_t>(form.parts.size());
  auto* const type = reinterpret_cast<PyTypeObject*>(form.object.ptr());
  nb::object all = nb::steal(form.kind == Form::Kind::Tuple ? PyTuple_New(size) : type->tp_alloc(type, size));
  if (!all.is_valid()) throw nb::python_error();
  for (Py_ssize_t i = 0; i < size; ++i)
    PyTuple_SET_ITEM(all.ptr(), i, part(form.parts[static_cast<size_t>(i)], columns, index));
  return all.release().ptr();
}

PyObject* Elements::part(const Form& form, const Columns& columns, int64_t index) {
  PyObject* const made = make(form, columns, index);
  if (made == nullptr) throw base::InternalError("a part of a result that is not there");
  return made;
}

nb::object Elements::held(const Form& form, const Columns& columns, int64_t index) {
  size_t column = form.column;
  const auto next = [&] { return columns[column++].integer(index); };
  HeldArray array;
  array.buffer = next();
  array.offset = next();
  array.argument = next();
  array.window.dtype = form.dtype;
  array.window.rank = form.rank;
  array.is_writable = form.is_writable;
  array.owns = form.owns || array.argument == HeldArray::kOwner;
  for (int axis = 0; axis < form.rank; ++axis) array.window.lengths[axis] = next();
  for (int axis = 0; axis < form.rank; ++axis) array.window.strides[axis] = next();
  return make_array_(array);
}

nb::object Elements::list(const Form& form, int64_t length, const Columns& columns) {
  nb::object all = nb::steal(PyList_New(length));
  if (!all.is_valid()) throw nb::python_error();
  for (int64_t i = 0; i < length; ++i) PyList_SET_ITEM(all.ptr(), i, part(form, columns, i));
  return all;
}

void Elements::add_instances(nb::handle names, const Form& form, int64_t length, Columns columns) {
  pools_.push_back(
      {names, &form, std::move(columns), {}, std::vector<nb::object>(static_cast<size_t>(length))});
}

void Elements::add_rows(int64_t length, Columns headers, const Form& form, Columns store) {
  pools_.push_back({{},
                    &form,
                    std::move(store),
                    std::move(headers),
                    std::vector<nb::object>(static_cast<size_t>(length))});
}

nb::object Elements::record(std::span<const size_t> pools, nb::handle type, int64_t index) {
  if (index < 0) return index == -1 ? nb::none() : nb::object();
  size_t number = pools[0];
  if (pools.size() > 1) {
    const auto bits = std::bit_width(pools.size() - 1);
    const auto kin = static_cast<size_t>(index) & ((size_t{1} << bits) - 1);
    number = pools[kin];
    type = PyTuple_GET_ITEM(type.ptr(), static_cast<Py_ssize_t>(kin));
    index >>= bits;
  }
  Pool& pool = pools_[number];
  nb::object& made = pool.made[static_cast<size_t>(index)];
  if (made.is_valid()) return made;
  const bool is_row = !pool.names.is_valid();
  if (is_row) {
    made = nb::steal(PyList_New(pool.headers[1].integer(index)));
  } else {
    const nb::tuple nothing;
    made = nb::steal(
        PyBaseObject_Type.tp_new(reinterpret_cast<PyTypeObject*>(type.ptr()), nothing.ptr(), nullptr));
  }
  if (!made.is_valid()) throw nb::python_error();
  // What refers to others waits to be run: chains of references may be long.
  if (is_row && !pool.form->has_records) fill_row(pool, index);
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
