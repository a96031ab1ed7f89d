#include "bindings/values.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "bindings/results.h"
#include "eager/device_array.h"
#include "interop/collected.h"
#include "interop/numpy.h"

namespace ingot::bindings {

using base::DType;
using nb::literals::operator""_a;
using runtime::Buffer;

Shown FrameValues::shown(const HeldArray& held) {
  auto* const buffer = reinterpret_cast<Buffer*>(held.buffer);  // NOLINT(performance-no-int-to-ptr)
  Shown shown{held.window, call_.frame().parameter_of(buffer), buffer, false};
  shown.window.data = call_.at_home(shown.leaf, buffer->data + held.offset);
  return shown;
}

FrameValues::Memories& FrameValues::memories() {
  if (!memories_) memories_ = std::make_unique<Memories>();
  return *memories_;
}

void FrameValues::hold(std::span<const size_t> results) {
  for (const size_t result : results)
    for (const Buffer* const buffer : call_.held_buffers(result)) ++memories().held[buffer];
}

nb::object FrameValues::container(int64_t number) {
  return nb::borrow(arguments_.containers[static_cast<size_t>(number)]);
}

nb::object FrameValues::whole(const Shown& shown) {
  auto* const buffer = static_cast<Buffer*>(const_cast<void*>(shown.memory));
  if (!is_alone(shown) || !covers(shown.window, *buffer)) return {};
  return call_.owning(shown.window, buffer);
}

nb::object FrameValues::bytes_of(const Shown& shown) {
  return call_.memory_of(static_cast<Buffer*>(const_cast<void*>(shown.memory)));
}

bool FrameValues::is_alone(const Shown& shown) {
  size_t count = 0;
  if (memories_) {
    const auto in_lists = memories_->held.find(shown.memory);
    if (in_lists != memories_->held.end()) count = in_lists->second;
  }
  const std::span<const runtime::SlotInfo> results = call_.code().results();
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].kind == runtime::SlotInfo::Kind::View &&
        call_.frame().result_view(i).buffer == shown.memory)
      ++count;
  return count == 1;
}

nb::object& FrameValues::made_with(const Shown& shown) { return memories().made_with[shown.memory]; }

/// Those of a list that Python has.
class Objects::Listed final : public Values {
 public:
  Listed(Objects& objects, const nb::list& values) : objects_(objects), values_(values) {
    for (const nb::handle value : values)
      if (PyTuple_Check(value.ptr())) ++uses_[PyTuple_GET_ITEM(value.ptr(), 0)];
    if (values.size() > 0 && PyDict_Check(nb::handle(values[values.size() - 1]).ptr()))
      held_ = nb::borrow<nb::dict>(nb::handle(values[values.size() - 1]));
    // How often lists hold one is not counted.
    for (const auto& [number, owner] : held_) uses_[owner.ptr()] += 2;
  }

  int64_t integer() override { return nb::cast<int64_t>(next()); }

  nb::object number(std::optional<DType> numpys) override {
    const nb::handle value = next();
    if (!numpys) return nb::borrow(value);
    alignas(16) std::byte element[16];
    store_number(*numpys, element, value.ptr());
    return numpy_number(*numpys, element);
  }

  Shown shown() override {
    const nb::handle value = next();
    if (PyTuple_Check(value.ptr())) return shown(value);
    Shown shown;
    show(value.ptr(), shown);
    return shown;
  }

  Shown column() override {
    Shown column = shown();
    if (column.leaf >= 0 || !eager::is_device_array(static_cast<PyObject*>(const_cast<void*>(column.memory))))
      return column;
    const eager::DeviceArray& bytes = eager::device_array(bytes_of(column).ptr());
    const nb::object home = eager::to_host(bytes);
    column.window.data = reinterpret_cast<std::byte*>(PyArray_BYTES(as_array(home.ptr()))) +
                         (column.window.data - bytes.window.data);
    homes_.append(home);
    return column;
  }

  Shown shown(const HeldArray& held) override {
    Shown shown;
    shown.window = held.window;
    locate(nb::object(held_[nb::int_(held.buffer)]), held.offset, shown);
    return shown;
  }

  void hold(std::span<const size_t>) override {}

  nb::object leaf(int64_t number) override { return objects_.leaves_[static_cast<size_t>(number)]; }
  nb::object container(int64_t number) override { return objects_.containers_[static_cast<size_t>(number)]; }

  nb::object whole(const Shown& shown) override { return shown.is_array ? bytes_of(shown) : nb::object(); }
  nb::object bytes_of(const Shown& shown) override {
    return nb::borrow(static_cast<PyObject*>(const_cast<void*>(shown.memory)));
  }
  bool is_alone(const Shown& shown) override {
    return uses_[shown.memory] == 1 && !objects_.kept_.contains(shown.memory);
  }
  nb::object& made_with(const Shown& shown) override {
    Made& made = objects_.made_with_[shown.memory];
    made.memory = bytes_of(shown);
    return made.array;
  }

 private:
  nb::handle next() {
    if (next_ == values_.size()) throw nb::index_error("a description of more values than there are");
    return values_[next_++];
  }

  /// An array that is given as it is.
  static void show(PyObject* object, Shown& shown) {
    shown.leaf = -1;
    shown.memory = object;
    shown.is_array = true;
    if (eager::is_device_array(object)) {
      shown.window = eager::device_array(object).window;
      return;
    }
    PyArrayObject* const array = as_array(object);
    shown.window = Window::of(array, base::known(dtype_of(PyArray_TYPE(array))));
  }

  /// Memory as (owner, offset, lengths, strides, dtype).
  Shown shown(nb::handle value) {
    Shown shown;
    if (nb::handle(value[1]).is_none()) {
      show(PyTuple_GET_ITEM(value.ptr(), 0), shown);
      return shown;
    }
    const nb::tuple lengths = value[2];
    const nb::tuple strides = value[3];
    shown.window.dtype = base::known(base::dtype_from_numpy(nb::cast<const char*>(value[4])));
    shown.window.rank = static_cast<int>(lengths.size());
    for (size_t axis = 0; axis < lengths.size(); ++axis) {
      shown.window.lengths[axis] = nb::cast<int64_t>(lengths[axis]);
      shown.window.strides[axis] = nb::cast<int64_t>(strides[axis]);
    }
    locate(value[0], nb::cast<int64_t>(value[1]), shown);
    return shown;
  }

  /// So many bytes from the lowest one of what owns the memory: an argument, by its number, or an array.
  void locate(nb::handle owner, int64_t offset, Shown& shown) {
    const bool is_leaf = PyLong_Check(owner.ptr());
    shown.leaf = is_leaf ? nb::cast<int64_t>(owner) : -1;
    shown.memory = is_leaf ? nullptr : owner.ptr();
    shown.is_array = false;
    const nb::object array = is_leaf ? leaf(shown.leaf) : nb::borrow(owner);
    shown.window.data = eager::lowest_of(array.ptr()) + offset;
  }

  Objects& objects_;
  const nb::list& values_;
  nb::dict held_;  ///< what owns the memories of arrays in lists, by their numbers
  std::map<const void*, size_t> uses_;
  nb::list homes_;  ///< copies of columns that are on a device
  size_t next_ = 0;
};

Objects::Objects(nb::list leaves, nb::list containers)
    : leaves_(std::move(leaves)), containers_(std::move(containers)) {}

nb::object Objects::make(const Description& description, const nb::list& values) {
  Listed listed(*this, values);
  return make_result<Values>(description, listed);
}

void Objects::keep(const nb::list& values) {
  for (const nb::handle value : values) {
    if (!PyTuple_Check(value.ptr())) continue;
    PyObject* const owner = PyTuple_GET_ITEM(value.ptr(), 0);
    kept_[owner] = nb::borrow(owner);
  }
}

int Objects::traverse(visitproc visit, void* arg) const {
  Py_VISIT(leaves_.ptr());
  Py_VISIT(containers_.ptr());
  return 0;
}

void Objects::clear() {
  leaves_.reset();
  containers_.reset();
}

void Objects::bind(nb::module_& m) {
  nb::class_<Objects>(m, "Objects", nb::type_slots(Collected<Objects>::slots()))
      .def(nb::init<nb::list, nb::list>(), "leaves"_a, "containers"_a)
      .def("make", &Objects::make, "description"_a, "values"_a)
      .def("keep", &Objects::keep, "values"_a);
}

}  // namespace ingot::bindings
