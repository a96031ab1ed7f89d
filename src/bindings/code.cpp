#include "bindings/code.h"

#include <algorithm>
#include <cstring>

#include "base/scalar.h"
#include "eager/device_array.h"
#include "interop/arrays.h"
#include "interop/gil.h"
#include "interop/numpy.h"

namespace ingot::bindings {

namespace {

using base::DType;
using runtime::Buffer;
using runtime::SlotInfo;
using runtime::ViewSlot;

constexpr size_t kAlignment = 16;
static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= kAlignment);
constexpr size_t rounded(size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

size_t size_of_slot(const SlotInfo& info) {
  return info.kind == SlotInfo::Kind::View ? sizeof(ViewSlot) + 2 * sizeof(int64_t) * info.rank : kAlignment;
}

template <class T>
void put(void* element, T value) {
  std::memcpy(element, &value, sizeof value);
}

template <class T>
T get(const void* element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

}  // namespace

namespace {

/// Where functions of the user's are now that were elsewhere when the code was made.
struct Move {
  std::string file;
  uint32_t first = 0;
  uint32_t last = 0;
  std::string now;
  int64_t lines = 0;
};

std::vector<Move> moves_of(const nb::tuple& given) {
  std::vector<Move> moves;
  for (const nb::handle each : given) {
    const auto parts = nb::cast<nb::tuple>(each);
    moves.push_back({nb::cast<const char*>(parts[0]), nb::cast<uint32_t>(parts[1]),
                     nb::cast<uint32_t>(parts[2]), nb::cast<const char*>(parts[3]),
                     nb::cast<int64_t>(parts[4])});
  }
  return moves;
}

}  // namespace

std::unique_ptr<Code> Code::load(const nb::bytes& bytes, std::shared_ptr<const devices::LoadOptions> options,
                                 const nb::tuple& moves) {
  const auto* data = reinterpret_cast<const std::byte*>(bytes.c_str());
  runtime::Object object = runtime::Object::open({data, bytes.size()});
  if (const std::vector<Move> all = moves_of(moves); !all.empty()) {
    object.move_locations([&](base::SourceLocation& location) {
      const auto move = std::find_if(all.begin(), all.end(), [&](const Move& each) {
        return each.file == location.file && each.first <= location.line && location.line <= each.last;
      });
      if (move == all.end()) return;
      location.file = move->now;
      location.line = static_cast<uint32_t>(location.line + move->lines);
    });
  }
  std::unique_ptr<Code> code(new Code(std::move(object)));
  if (options != nullptr) code->object_.code().load_kernels_with(std::move(options));
  return code;
}

Code::Code(runtime::Object object) : object_(std::move(object)) {
  function_ = object_.entry(entry().symbol);
  calls_outside_ = object_.code().calls("ingot_v1_outside");
  wants_default_state_ = entry().wants_default_state;
  polls_ = calls_outside_ || object_.code().calls("ingot_v1_poll");
  size_ = rounded(sizeof(void*) * (params().size() + results().size()) + sizeof(Buffer) * params().size());
  for (const std::span<const SlotInfo> slots : {params(), results()}) {
    for (const SlotInfo& slot : slots) {
      places_.push_back(size_);
      size_ += rounded(size_of_slot(slot));
    }
  }
}

const Code& Code::other() const {
  if (const Code* const known = other_.load(std::memory_order_acquire)) return *known;
  const EnsuredGil gil;
  nb::object made = other_from_();
  const Code* known = other_.load(std::memory_order_acquire);
  if (known == nullptr) {  // else another thread was quicker
    known = nb::cast<const Code*>(made);
    other_kept_ = std::move(made);
    other_.store(known, std::memory_order_release);
  }
  return *known;
}

Frame::Frame(const Code& code, std::span<PyObject* const> leaves, std::span<const Cells::Strip> cells)
    : code_(code), memory_(inside_) {
  if (code.size_ > kInside) {
    outside_ = std::make_unique_for_overwrite<std::byte[]>(code.size_);
    memory_ = outside_.get();
  }
  buffers_ = reinterpret_cast<Buffer*>(slots() + code.places_.size());
  for (size_t i = 0; i < code.places_.size(); ++i) slots()[i] = memory_ + code.places_[i];
  const size_t given = code.params().size() - cells.size();
  for (size_t i = 0; i < given; ++i) fill(i, leaves[i]);
  for (size_t i = 0; i < cells.size(); ++i) {
    buffers_[given + i] = {};
    fill_view(given + i, cells[i].data, &cells[i].length, &cells[i].stride);
  }
}

void Frame::fill(size_t i, PyObject* leaf) {
  const SlotInfo& info = code_.params()[i];
  buffers_[i] = {};
  if (info.kind != SlotInfo::Kind::View) return store_number(info.dtype, slots()[i], leaf);
  if (!PyArray_Check(leaf)) {
    const Window& window = eager::device_array(leaf).window;
    return fill_view(i, window.data, window.lengths, window.strides);
  }
  PyArrayObject* const array = as_array(leaf);
  fill_view(i, static_cast<std::byte*>(PyArray_DATA(array)), PyArray_DIMS(array), PyArray_STRIDES(array));
}

[[gnu::always_inline]] inline void Frame::fill_view(size_t i, std::byte* data, const int64_t* lengths,
                                                    const int64_t* strides) {
  const SlotInfo& info = code_.params()[i];
  ViewSlot& view = *static_cast<ViewSlot*>(slots()[i]);
  view.data = data;
  view.buffer = &buffers_[i];
  for (int axis = 0; axis < info.rank; ++axis) {
    view.lengths()[axis] = lengths[axis];
    view.strides(info.rank)[axis] = strides[axis];
  }
  // The buffer begins at the lowest byte of the array.
  buffers_[i].data = view.data + base::Strided{{lengths, info.rank}, {strides, info.rank}}.reach().low;
}

int64_t Frame::parameter_of(const Buffer* buffer) const {
  const bool is_one = buffer >= buffers_ && buffer < buffers_ + code_.params().size();
  return is_one ? buffer - buffers_ : -1;
}

std::vector<Buffer*> Frame::held_buffers(size_t result) {
  ViewSlot& column = result_view(result);
  std::vector<Buffer*> buffers(static_cast<size_t>(column.lengths()[0]));
  for (size_t i = 0; i < buffers.size(); ++i)
    buffers[i] = get<Buffer*>(column.data + static_cast<int64_t>(i) * column.strides(1)[0]);
  return buffers;
}

bool Frame::is_all_of_its_buffer(size_t result) {
  ViewSlot& view = result_view(result);
  if (parameter_of(view.buffer) >= 0) return false;
  const std::span<const SlotInfo> results = code_.results();
  for (size_t i = 0; i < results.size(); ++i) {
    if (i != result && results[i].kind == SlotInfo::Kind::View && result_view(i).buffer == view.buffer)
      return false;
  }
  return covers(Window::of(view, results[result].dtype, results[result].rank), *view.buffer);
}

void store_number(DType dtype, void* element, PyObject* number) {
  if (dtype == DType::Float64 && PyFloat_CheckExact(number)) {
    put(element, PyFloat_AS_DOUBLE(number));
  } else if (dtype == DType::Int64 && PyLong_CheckExact(number)) {
    const long long value = PyLong_AsLongLong(number);
    if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    put(element, value);
  } else if (dtype == DType::Bool && PyBool_Check(number)) {
    put(element, number == Py_True);
  } else if (dtype == DType::Complex128 && PyComplex_CheckExact(number)) {
    put(element, PyComplex_AsCComplex(number));
  } else if (dtype == DType::Float64 && Py_TYPE(number) == &PyDoubleArrType_Type) {
    put(element, PyArrayScalar_VAL(number, Double));
  } else {
    PyArray_Descr* descr = PyArray_DescrFromType(type_number(dtype));
    const nb::object array = nb::steal(PyArray_FromAny(number, descr, 0, 0, NPY_ARRAY_FORCECAST, nullptr));
    if (!array.is_valid()) throw nb::python_error();
    base::Scalar::load(dtype, PyArray_DATA(as_array(array.ptr()))).store(dtype, element);
  }
}

nb::object numpy_number(DType dtype, const void* element) {
  PyArray_Descr* descr = PyArray_DescrFromType(type_number(dtype));
  PyObject* const number = PyArray_Scalar(const_cast<void*>(element), descr, nullptr);
  Py_DECREF(descr);
  if (number == nullptr) throw nb::python_error();
  return nb::steal(number);
}

nb::object python_number(DType dtype, const void* element) {
  PyObject* number = nullptr;
  if (dtype == DType::Float64) number = PyFloat_FromDouble(get<double>(element));
  else if (dtype == DType::Int64) number = PyLong_FromLongLong(get<int64_t>(element));
  else if (dtype == DType::Bool) number = PyBool_FromLong(get<uint8_t>(element));
  else if (dtype == DType::Complex128) number = PyComplex_FromCComplex(get<Py_complex>(element));
  else return numpy_number(dtype, element).attr("item")();
  if (number == nullptr) throw nb::python_error();
  return nb::steal(number);
}

}  // namespace ingot::bindings
