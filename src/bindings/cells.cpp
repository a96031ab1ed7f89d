#include "bindings/cells.h"

#include <cstring>
#include <optional>
#include <utility>

#include "base/dtype.h"
#include "base/error.h"
#include "base/half.h"
#include "bindings/code.h"
#include "bindings/elements.h"
#include "interop/arrays.h"
#include "interop/numpy.h"
#include "runtime/context.h"

namespace ingot::bindings {

namespace described = frontend::described;
using base::DType;
using nb::literals::operator""_a;

namespace {

template <class T>
T at(const Cells::Strip& strip, size_t position) {
  T value;
  std::memcpy(&value, strip.data + static_cast<int64_t>(position) * strip.stride, sizeof value);
  return value;
}

/// The number of a tag's kind: NumPy's dtypes from 1 on, then Python's bool, int, float and complex.
nb::object number_of(int64_t tag, const Cells::Strip* strips, size_t position) {
  constexpr std::array kPython = {DType::Bool, DType::Int64, DType::Float64, DType::Complex128};
  const bool is_numpys = tag <= base::kDTypeCount;
  const auto kind = static_cast<size_t>(tag - 1 - (is_numpys ? 0 : base::kDTypeCount));
  const DType dtype = is_numpys ? static_cast<DType>(kind) : kPython.at(kind);
  std::byte bytes[16];
  const auto put = [&](auto value) { std::memcpy(bytes, &value, sizeof value); };
  const auto whole = at<double>(strips[2], position);
  const auto pair = at<std::array<double, 2>>(strips[3], position);
  switch (dtype) {
    case DType::Float16: put(base::half_bits(whole)); break;
    case DType::Float32: put(static_cast<float>(whole)); break;
    case DType::Float64: put(whole); break;
    case DType::Complex64: put(std::array{static_cast<float>(pair[0]), static_cast<float>(pair[1])}); break;
    case DType::Complex128: put(pair); break;
    default: put(at<int64_t>(strips[1], position));  // of narrow ones the lowest bytes
  }
  return (is_numpys ? numpy_number : python_number)(dtype, bytes);
}

/// The description of a list buffer that is changed, or of a dict of two; null: it is another container.
const Description* list_buffer_of(nb::handle layout) {
  return nb::isinstance<Description>(layout) ? nb::inst_ptr<Description>(layout) : nullptr;
}

const std::byte* bytes_of(PyObject* array) {
  return reinterpret_cast<const std::byte*>(PyArray_BYTES(as_array(array)));
}

int64_t size_of(PyObject* container) {
  if (PyList_Check(container)) return PyList_GET_SIZE(container);
  return PyDict_Check(container) ? PyDict_GET_SIZE(container) : 0;
}

/// Calls `fn` for a list buffer, or for the two of a dict.
template <class Fn>
void each_list(const Description& it, Fn&& fn) {
  if (it.is<described::ListBuffer>()) return fn(it);
  for (const Description& part : it.parts) fn(part);
}

/// The elements of a list when it was described: its columns have as many. It may have others by now.
int64_t length_of(const Description& list, std::span<PyObject* const> leaves) {
  if (list.parts.size() == 1) return 0;
  const int64_t leaf = list.parts[1].get<described::Array>().argument.value_or(-1);
  return leaf < 0 ? 0 : PyArray_DIM(as_array(leaves[static_cast<size_t>(leaf)]), 0);
}

/// How many elements each of the four arrays has.
std::array<int64_t, Cells::kArrays> lengths_of(nb::handle layout, PyObject* container) {
  if (const Description* list = list_buffer_of(layout)) {
    int64_t numbers = 0;
    each_list(*list, [&](const Description& each) { numbers += static_cast<int64_t>(each.parts.size()); });
    return {0, numbers, 0, 0};
  }
  const int64_t length = layout.is_none() ? size_of(container) : PyTuple_GET_SIZE(layout.ptr());
  return {length, length, length, length};
}

}  // namespace

Cells::Cells(nb::tuple layouts, std::span<PyObject* const> containers, std::span<PyObject* const> leaves)
    : layouts_(std::move(layouts)), containers_(containers), leaves_(leaves), keys_(containers.size()) {
  int64_t bytes = 0;
  for (size_t i = 0; i < containers.size(); ++i) {
    const std::array<int64_t, kArrays> lengths = lengths_of(layouts_[i], containers[i]);
    for (size_t array = 0; array < kArrays; ++array) {
      strips_.push_back({nullptr, lengths[array], kStrides[array]});
      bytes += lengths[array] * kStrides[array];
    }
    if (!PyDict_Check(containers[i]) || !nb::handle(layouts_[i]).is_none()) continue;
    keys_[i] = nb::steal(PyDict_Keys(containers[i]));
    if (!keys_[i].is_valid()) throw nb::python_error();
  }
  memory_ = std::make_unique<std::byte[]>(static_cast<size_t>(bytes));
  std::byte* next = memory_.get();
  for (Strip& strip : strips_) {
    strip.data = next;
    next += strip.length * strip.stride;
  }
  for (size_t i = 0; i < containers.size(); ++i) {
    const Description* const list = list_buffer_of(layouts_[i]);
    if (list == nullptr) continue;
    std::vector<int64_t> numbers;
    each_list(*list, [&](const Description& each) {
      numbers.push_back(length_of(each, leaves));
      numbers.resize(numbers.size() + each.parts.size() - 1, kGiven);
    });
    std::memcpy(strips_[kArrays * i + 1].data, numbers.data(), numbers.size() * sizeof(int64_t));
  }
}

const std::byte* Cells::kept_in_code(int64_t number) {
  return reinterpret_cast<const runtime::Buffer*>(number)->data;  // NOLINT(performance-no-int-to-ptr)
}

void Cells::flush(const Kept& kept) {
  for (size_t i = 0; i < containers_.size(); ++i) {
    if (const Description* list = list_buffer_of(layouts_[i])) flush_list(i, *list, kept);
    else flush_numbers(i);
  }
}

void Cells::flush_list(size_t container, const Description& it, const Kept& kept) {
  const Strip& numbers = strips_[kArrays * container + 1];
  std::vector<Elements::Columns> columns;
  int64_t length = 0;
  size_t next = 0;
  each_list(it, [&](const Description& list) {
    length = at<int64_t>(numbers, next++);
    Elements::Columns& own = columns.emplace_back();
    for (size_t i = 1; i < list.parts.size(); ++i) {
      const auto& column = list.parts[i].get<described::Array>();
      const auto number = at<int64_t>(numbers, next++);
      const int64_t leaf = column.argument.value_or(-1);
      const std::byte* data = nullptr;
      if (number != kGiven) data = kept(number);
      else if (leaf >= 0) data = bytes_of(leaves_[static_cast<size_t>(leaf)]);
      own.push_back({data, static_cast<int64_t>(base::size_of(column.dtype)), column.dtype});
    }
  });
  Elements elements([](const HeldArray&) -> nb::object {
    throw base::InternalError("an array in a list of the caller's");
  });
  PyObject* const object = containers_[container];
  if (it.is<described::ListBuffer>()) return elements.refill(object, it.parts[0], length, columns[0]);
  elements.refill(object, {it.parts[0].parts[0], columns[0]}, {it.parts[1].parts[0], columns[1]}, length);
}

void Cells::flush_numbers(size_t container) {
  const Strip* const strips = &strips_[kArrays * container];
  const nb::handle names = layouts_[container];
  PyObject* const it = containers_[container];
  for (size_t position = 0; position < static_cast<size_t>(strips->length); ++position) {
    const auto tag = at<int64_t>(*strips, position);
    if (tag == 0) continue;
    const nb::object number = number_of(tag, strips, position);
    const auto index = static_cast<Py_ssize_t>(position);
    int failed = 0;
    if (!names.is_none()) {
      failed = PyObject_GenericSetAttr(it, PyTuple_GET_ITEM(names.ptr(), index), number.ptr());
    } else if (keys_[container].is_valid()) {
      failed = PyObject_SetItem(it, PyList_GET_ITEM(keys_[container].ptr(), index), number.ptr());
    } else {
      failed = PySequence_SetItem(it, index, number.ptr());
    }
    if (failed != 0) throw nb::python_error();
  }
  std::memset(strips->data, 0, static_cast<size_t>(strips->length * strips->stride));
}

namespace {

/// The cells of a call that Python makes.
struct HeldCells {
  HeldCells(const nb::tuple& layouts, const nb::list& containers, const nb::list& leaves)
      : containers_held(containers), leaves_held(leaves) {
    for (const nb::handle each : containers) containers_of.push_back(each.ptr());
    for (const nb::handle each : leaves) leaves_of.push_back(each.ptr());
    cells.emplace(layouts, containers_of, leaves_of);
  }

  nb::tuple containers_held;
  nb::tuple leaves_held;
  std::vector<PyObject*> containers_of{};
  std::vector<PyObject*> leaves_of{};
  std::optional<Cells> cells{};
};

/// The arrays of cells, on their memory.
nb::list arrays_on(const nb::object& self) {
  constexpr std::array kDTypes = {DType::Int64, DType::Int64, DType::Float64, DType::Complex128};
  nb::list arrays;
  size_t number = 0;
  for (const Cells::Strip& strip : nb::inst_ptr<HeldCells>(self)->cells->strips()) {
    const Window window{kDTypes[number++ % Cells::kArrays], 1, strip.data, {strip.length}, {strip.stride}};
    arrays.append(array_on(window, true, self));
  }
  return arrays;
}

}  // namespace

Cells& Cells::of(nb::handle held) { return *nb::inst_ptr<HeldCells>(held)->cells; }

void Cells::bind(nb::module_& m) {
  nb::class_<HeldCells>(m, "Cells")
      .def(nb::init<const nb::tuple&, const nb::list&, const nb::list&>(), "layouts"_a, "containers"_a,
           "leaves"_a)
      .def_prop_ro("arrays", &arrays_on, "What the code gets after the leaves.")
      .def(
          "flush",
          [](HeldCells& held, const nb::object& kept) {
            if (kept.is_none()) return held.cells->flush();
            held.cells->flush([&](int64_t number) {
              const nb::object memory = kept[number];
              return bytes_of(memory.ptr());
            });
          },
          "kept"_a.none() = nb::none(),
          "Changes the containers. `kept`: the memories of the buffers that were kept; None: compiled code "
          "that runs has kept them.");
}

}  // namespace ingot::bindings
