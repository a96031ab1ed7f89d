#include "bindings/results.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "bindings/numpy.h"
#include "runtime/allocator.h"
#include "runtime/object_info.h"

/// PyTraceMalloc_Track: Python 3.11 declares it as a C++ function.
extern "C" int ingot_trace_memory(unsigned domain, uintptr_t address,
                                  size_t size) __asm__("PyTraceMalloc_Track");

namespace ingot::bindings {

namespace {

using runtime::Allocator;
using runtime::Buffer;
using runtime::SlotInfo;

/// Under which tracemalloc shows the memory of NumPy's arrays.
constexpr unsigned kTraceDomain = 389047;

void* data_of(Buffer* buffer) { return buffer == nullptr ? nullptr : buffer->data; }

void* allocate(void*, size_t size) {
  return size > static_cast<size_t>(Allocator::kMaxBytes)
             ? nullptr
             : data_of(Allocator::allocate(static_cast<int64_t>(size)));
}

void* allocate_zeros(void*, size_t count, size_t size) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
  void* data = allocate(nullptr, bytes);
  if (data != nullptr) std::memset(data, 0, bytes);
  return data;
}

void* reallocate(void*, void* data, size_t size) {
  if (data == nullptr) return allocate(nullptr, size);
  if (size > static_cast<size_t>(Allocator::kMaxBytes)) return nullptr;
  return data_of(Allocator::reallocate(Allocator::buffer_of(data), static_cast<int64_t>(size)));
}

void free_data(void*, void* data, size_t) {
  if (data != nullptr) Allocator::free(Allocator::buffer_of(data));
}

/// A new reference to NumPy's capsule of the handler, or null with an exception set. All arrays share one,
/// which lives as long as the process.
PyObject* handler() {
  static constexpr PyDataMem_Handler functions = {
      "ingot", 1, {nullptr, allocate, allocate_zeros, reallocate, free_data}};
  static PyObject* capsule = nullptr;
  if (capsule == nullptr)
    capsule = PyCapsule_New(const_cast<PyDataMem_Handler*>(&functions), "mem_handler", nullptr);
  return Py_XNewRef(capsule);
}

}  // namespace

bool covers(runtime::ViewSlot& view, base::DType dtype, int rank) {
  const int64_t* const lengths = view.lengths();
  const int64_t* const strides = view.strides(rank);
  if (view.data != view.buffer->data) return false;
  if (std::find(lengths, lengths + rank, 0) != lengths + rank) return view.buffer->size == 0;
  int axes[SlotInfo::kMaxRank];
  std::iota(axes, axes + rank, 0);
  std::sort(axes, axes + rank, [&](int a, int b) { return strides[a] < strides[b]; });
  int64_t expected = static_cast<int64_t>(base::size_of(dtype));
  for (int i = 0; i < rank; ++i) {
    const int axis = axes[i];
    if (lengths[axis] == 1) continue;
    if (strides[axis] != expected) return false;
    expected *= lengths[axis];
  }
  return expected == view.buffer->size;
}

PyObject* owning_array(runtime::OwnedBuffer buffer, runtime::ViewSlot& view, int type_number, int rank) {
  npy_intp lengths[SlotInfo::kMaxRank];
  npy_intp strides[SlotInfo::kMaxRank];
  std::copy_n(view.lengths(), rank, lengths);
  std::copy_n(view.strides(rank), rank, strides);
  PyObject* const capsule = handler();
  if (capsule == nullptr) return nullptr;
  if (buffer->size == 0) std::fill_n(strides, rank, 0);  // as NumPy does for no elements
  PyObject* const object = PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(type_number), rank,
                                                lengths, strides, buffer->data, NPY_ARRAY_WRITEABLE, nullptr);
  if (object == nullptr) {
    Py_DECREF(capsule);
    return nullptr;
  }
  const Buffer* const owned = buffer.release();
  ingot_trace_memory(kTraceDomain, reinterpret_cast<uintptr_t>(owned->data),
                     static_cast<size_t>(std::max<int64_t>(owned->size, 1)));
  auto* const array = reinterpret_cast<PyArrayObject*>(object);
  reinterpret_cast<PyArrayObject_fields*>(array)->mem_handler = capsule;
  PyArray_ENABLEFLAGS(array, NPY_ARRAY_OWNDATA);
  return object;
}

namespace {

/// An array of `owner`'s memory; takes a reference to `dtype`.
nb::object view_of(nb::object owner, void* data, PyArray_Descr* dtype, std::span<const npy_intp> lengths,
                   const npy_intp* strides, bool is_writable) {
  nb::object array =
      nb::steal(PyArray_NewFromDescr(&PyArray_Type, dtype, static_cast<int>(lengths.size()), lengths.data(),
                                     strides, data, is_writable ? NPY_ARRAY_WRITEABLE : 0, nullptr));
  if (!array.is_valid()) throw nb::python_error();
  if (PyArray_SetBaseObject(as_array(array.ptr()), owner.release().ptr()) != 0) throw nb::python_error();
  return array;
}

}  // namespace

nb::object view_at(const nb::object& owner, int64_t offset, nb::handle dtype,
                   const std::vector<int64_t>& lengths, const std::vector<int64_t>& strides,
                   bool is_writable) {
  PyArray_Descr* descr = nullptr;
  if (PyArray_DescrConverter(dtype.ptr(), &descr) == NPY_FAIL) throw nb::python_error();
  const std::vector<npy_intp> extents(lengths.begin(), lengths.end());
  const std::vector<npy_intp> steps(strides.begin(), strides.end());
  char* const data = PyArray_BYTES(as_array(owner.ptr())) + offset;
  return view_of(owner, data, descr, extents, steps.data(), is_writable);
}

/// Makes the parts of a result, in the order in which the code gives them.
struct ResultPlan::Maker {
  Invocation& call;
  const Signature& arguments;
  size_t next = 0;                            ///< result of the code
  std::vector<nb::object> made{};             ///< arrays, containers and instances, in order
  std::map<const Buffer*, nb::object> own{};  ///< the arrays that own the memory that they were made with
  std::unordered_map<const Buffer*, size_t> held{};  ///< in how many places of lists of unknown length
  std::unique_ptr<Elements> elements_of_lists{};     ///< made when it is first asked for

  base::DType dtype(size_t result) const { return call.code().results()[result].dtype; }

  int64_t integer() {
    const size_t result = next++;
    const bool is_wide = base::size_of(dtype(result)) == sizeof(int64_t);
    const void* const element = call.frame().result(result);
    return is_wide ? *static_cast<const int64_t*>(element) : *static_cast<const int8_t*>(element);
  }

  nb::object number(bool is_numpys) {
    const size_t result = next++;
    return (is_numpys ? numpy_number : python_number)(dtype(result), call.frame().result(result));
  }

  nb::object array(const ResultPlan& plan) {
    const size_t result = next++;
    const int64_t argument = plan.may_be_argument_ ? integer() : plan.argument_;
    if (argument >= 0) return leaf(argument);
    const SlotInfo& info = call.code().results()[result];
    const Window window{call.frame().result_view(result), info.dtype, info.rank};
    return array(window, plan.is_writable_, plan.owns_ || argument == HeldArray::kOwner);
  }

  nb::object leaf(int64_t argument) const {
    return nb::borrow(arguments.leaves()[static_cast<size_t>(argument)]);
  }

  /// What a view shows.
  struct Window {
    runtime::ViewSlot& slot;
    base::DType dtype;
    int rank;
  };

  nb::object array(const Window& window, bool is_writable, bool owns) {
    Buffer* const buffer = window.slot.buffer;
    if (const int64_t parameter = call.frame().parameter_of(buffer); parameter >= 0) {
      nb::object owner = leaf(parameter);
      is_writable = is_writable && PyArray_ISWRITEABLE(as_array(owner.ptr()));
      return view(window, std::move(owner), is_writable, true);
    }
    if (uses(buffer) == 1 && covers(window.slot, window.dtype, window.rank))
      return finished(call.owning(window.slot, window.dtype, window.rank), is_writable);
    if (!owns) return finished(part(window), is_writable);
    nb::object& known = own[buffer];
    if (!known.is_valid()) known = finished(part(window), is_writable);
    return known;
  }

  /// An array of a list of unknown length.
  nb::object array(const HeldArray& given) {
    if (given.argument >= 0) return leaf(given.argument);
    struct {
      runtime::ViewSlot slot;
      int64_t extents[2 * SlotInfo::kMaxRank];
    } memory;
    auto* const buffer = reinterpret_cast<Buffer*>(given.buffer);  // NOLINT(performance-no-int-to-ptr)
    memory.slot = {buffer->data + given.offset, buffer};
    std::copy_n(given.lengths, given.rank, memory.slot.lengths());
    std::copy_n(given.strides, given.rank, memory.slot.strides(given.rank));
    return array({memory.slot, given.dtype, given.rank}, given.is_writable, given.owns);
  }

  /// In how many places of the result a buffer is.
  size_t uses(const Buffer* buffer) {
    const auto in_lists = held.find(buffer);
    size_t count = in_lists == held.end() ? 0 : in_lists->second;
    const std::span<const SlotInfo> results = call.code().results();
    for (size_t i = 0; i < results.size(); ++i)
      if (results[i].kind == SlotInfo::Kind::View && call.frame().result_view(i).buffer == buffer) ++count;
    return count;
  }

  static nb::object finished(nb::object array, bool is_writable) {
    if (!is_writable) PyArray_CLEARFLAGS(as_array(array.ptr()), NPY_ARRAY_WRITEABLE);
    return array;
  }

  /// A view of memory that `owner` owns. Without `has_strides`, those of no elements are 0, as NumPy's.
  static nb::object view(const Window& window, nb::object owner, bool is_writable, bool has_strides) {
    runtime::ViewSlot& slot = window.slot;
    npy_intp lengths[SlotInfo::kMaxRank];
    npy_intp strides[SlotInfo::kMaxRank];
    std::copy_n(slot.lengths(), window.rank, lengths);
    std::copy_n(slot.strides(window.rank), window.rank, strides);
    has_strides = has_strides || std::find(lengths, lengths + window.rank, 0) == lengths + window.rank;
    if (!has_strides) std::fill_n(strides, window.rank, 0);
    return view_of(std::move(owner), has_strides ? slot.data : slot.buffer->data,
                   PyArray_DescrFromType(type_number(window.dtype)),
                   std::span(lengths, static_cast<size_t>(window.rank)), strides, is_writable);
  }

  /// A part of a buffer of the call's, or what shares it with another result. Where it is alone and all of
  /// the buffer, but not in NumPy's order, it is copied.
  nb::object part(const Window& window) {
    Buffer* const buffer = window.slot.buffer;
    const nb::object memory = call.memory_of(buffer);
    nb::object array = view(window, memory, true, false);
    const bool is_alone = uses(buffer) == 1 && PyArray_NBYTES(as_array(array.ptr())) == buffer->size;
    if (!is_alone) return array;
    nb::object copy = nb::steal(PyArray_NewCopy(as_array(array.ptr()), NPY_KEEPORDER));
    if (!copy.is_valid()) throw nb::python_error();
    return copy;
  }

  nb::object sequence(const std::vector<ResultPlan>& parts, bool is_tuple) {
    const auto size = static_cast<Py_ssize_t>(parts.size());
    nb::object all = nb::steal(is_tuple ? PyTuple_New(size) : PyList_New(size));
    if (!all.is_valid()) throw nb::python_error();
    if (!is_tuple) made.push_back(all);
    for (Py_ssize_t i = 0; i < size; ++i) {
      PyObject* const item = make(parts[static_cast<size_t>(i)]).release().ptr();
      if (is_tuple) PyTuple_SET_ITEM(all.ptr(), i, item);
      else PyList_SET_ITEM(all.ptr(), i, item);
    }
    return all;
  }

  /// Made as `object` makes and fills it: no code of the class runs.
  nb::object instance(const ResultPlan& plan) {
    const nb::handle object = reinterpret_cast<PyObject*>(&PyBaseObject_Type);
    const nb::object it = object.attr("__new__")(plan.type_);
    made.push_back(it);
    for (size_t i = 0; i < plan.parts_.size(); ++i) {
      const nb::object part = make(plan.parts_[i]);
      PyObject* const name = PyTuple_GET_ITEM(plan.object_.ptr(), static_cast<Py_ssize_t>(i));
      if (PyObject_GenericSetAttr(it.ptr(), name, part.ptr()) != 0) throw nb::python_error();
    }
    return it;
  }

  Elements& elements() {
    if (!elements_of_lists) {
      elements_of_lists = std::make_unique<Elements>([this](const HeldArray& given) { return array(given); });
    }
    return *elements_of_lists;
  }

  Elements::Columns columns(const List& list) {
    Elements::Columns all;
    for (size_t i = 0; i < list.columns; ++i, ++next) {
      runtime::ViewSlot& column = call.frame().result_view(next);
      all.push_back({column.data, column.strides(1)[0], dtype(next)});
    }
    return all;
  }

  /// What is made of instances and lists that stand in pools, whose columns come first.
  nb::object pooled(const ResultPlan& plan) {
    auto list = plan.lists_.begin();
    for (const nb::handle pool : plan.object_) {
      const nb::handle names = PyTuple_GET_ITEM(pool.ptr(), 0);
      const int64_t length = integer();
      Elements::Columns first = columns(*list);
      if (!names.is_none()) {
        elements().add_instances(names, list->form, length, std::move(first));
      } else {
        ++list;
        ++next;  // the length of the store
        elements().add_rows(length, std::move(first), list->form, columns(*list));
      }
      ++list;
    }
    const nb::object inner = make(plan.parts_[0]);
    elements().fill();
    return inner;
  }

  nb::object holding(const ResultPlan& plan) {
    for (const size_t result : plan.numbers_)
      for (const Buffer* const buffer : call.frame().held_buffers(result)) ++held[buffer];
    return make(plan.parts_[0]);
  }

  nb::object make(const ResultPlan& plan) {
    switch (plan.kind_) {
      case Kind::Static: return plan.object_;
      case Kind::Argument: return nb::borrow(arguments.containers()[static_cast<size_t>(plan.argument_)]);
      case Kind::Number: return number(false);
      case Kind::NumpyNumber: return number(true);
      case Kind::Array: return made.emplace_back(array(plan));
      case Kind::Maybe: {
        const bool is_there = integer() == 0;
        const nb::object inside = make(plan.parts_[0]);
        return is_there ? inside : nb::none();
      }
      case Kind::Text: return nb::object(plan.object_.attr("format"))(*sequence(plan.parts_, true));
      case Kind::Letters:
        return nb::module_::import_("ingot._jit").attr("text_of_codes")(make(plan.parts_[0]));
      case Kind::Tuple: return sequence(plan.parts_, true);
      case Kind::Named:
        return nb::handle(reinterpret_cast<PyObject*>(&PyTuple_Type))
            .attr("__new__")(plan.object_, sequence(plan.parts_, true));
      case Kind::Again: return made[static_cast<size_t>(plan.argument_)];
      case Kind::Object: return instance(plan);
      case Kind::Record: return elements().record(plan.numbers_, plan.object_, integer());
      case Kind::Pooled: return pooled(plan);
      case Kind::Holding: return holding(plan);
      case Kind::List: return sequence(plan.parts_, false);
      case Kind::Mapping: {
        nb::dict all;
        made.push_back(all);
        const nb::object keys = make(plan.parts_[0]);
        const nb::object values = make(plan.parts_[1]);
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.ptr()); ++i) {
          if (PyDict_SetItem(all.ptr(), PyList_GET_ITEM(keys.ptr(), i), PyList_GET_ITEM(values.ptr(), i)) !=
              0)
            throw nb::python_error();
        }
        return all;
      }
      case Kind::Growing: {
        const size_t place = made.size();
        made.emplace_back();
        const int64_t length = integer();
        const List& list = plan.lists_[0];
        return made[place] = elements().list(list.form, length, columns(list));
      }
      case Kind::Dict: {
        nb::dict all;
        made.push_back(all);
        for (size_t i = 0; i < plan.parts_.size(); ++i) {
          const nb::object item = make(plan.parts_[i]);
          PyObject* const key = PyTuple_GET_ITEM(plan.object_.ptr(), static_cast<Py_ssize_t>(i));
          if (PyDict_SetItem(all.ptr(), key, item.ptr()) != 0) throw nb::python_error();
        }
        return all;
      }
    }
    Py_UNREACHABLE();
  }
};

ResultPlan::ResultPlan(const nb::tuple& description) {
  const auto tag = nb::cast<std::string>(description[0]);
  const auto parts = [&](nb::handle given) {
    for (const nb::handle part : nb::cast<nb::tuple>(given)) parts_.emplace_back(nb::cast<nb::tuple>(part));
  };
  if (tag == "static") {
    object_ = description[1];
  } else if (tag == "argument") {
    kind_ = Kind::Argument;
    argument_ = nb::cast<int64_t>(description[1]);
  } else if (tag == "scalar") {
    const bool is_numpys = nb::cast<std::string>(description[1]).starts_with("numpy.");
    kind_ = is_numpys ? Kind::NumpyNumber : Kind::Number;
  } else if (tag == "array") {
    kind_ = Kind::Array;
    is_writable_ = nb::cast<bool>(description[3]);
    may_be_argument_ = description[4].is_none();
    if (!may_be_argument_) argument_ = nb::cast<int64_t>(description[4]);
    owns_ = nb::cast<bool>(description[5]);
  } else if (tag == "maybe") {
    kind_ = Kind::Maybe;
    parts_.emplace_back(nb::cast<nb::tuple>(description[1]));
  } else if (tag == "text" || tag == "dict") {
    kind_ = tag == "text" ? Kind::Text : Kind::Dict;
    object_ = description[1];
    parts(description[2]);
  } else if (tag == "named") {
    kind_ = Kind::Named;
    object_ = description[1];
    parts(description[2]);
  } else if (tag == "object") {
    kind_ = Kind::Object;
    type_ = description[1];
    object_ = description[2];
    parts(description[3]);
  } else if (tag == "mapping") {
    kind_ = Kind::Mapping;
    parts(description[1]);
  } else if (tag == "growing") {
    kind_ = Kind::Growing;
    object_ = description[1];
    lists_.push_back({Form(object_), nb::len(nb::handle(description[2]))});
  } else if (tag == "record") {
    kind_ = Kind::Record;
    numbers_ = pools_of(description[1]);
    object_ = description[2];
  } else if (tag == "pooled") {
    kind_ = Kind::Pooled;
    parts_.emplace_back(nb::cast<nb::tuple>(description[1]));
    object_ = description[2];
    for (const nb::handle pool : object_) {
      for (size_t i = 1; i < nb::len(pool); ++i)
        lists_.push_back({Form(nb::object(pool[i][1])), nb::len(nb::handle(pool[i][2]))});
    }
  } else if (tag == "holding") {
    kind_ = Kind::Holding;
    parts_.emplace_back(nb::cast<nb::tuple>(description[1]));
    for (const nb::handle result : nb::cast<nb::tuple>(description[2]))
      numbers_.push_back(nb::cast<size_t>(result));
  } else if (tag == "again") {
    kind_ = Kind::Again;
    argument_ = nb::cast<int64_t>(description[1]);
  } else {
    kind_ = tag == "tuple" ? Kind::Tuple : tag == "letters" ? Kind::Letters : Kind::List;
    parts(description[1]);
  }
}

nb::object ResultPlan::make(Invocation& call, const Signature& arguments) const {
  if (kind_ == Kind::Static) return object_;
  if (kind_ == Kind::Array) return Maker{call, arguments}.array(*this);
  return Maker{call, arguments}.make(*this);
}

int ResultPlan::traverse(visitproc visit, void* argument) const {
  if (object_.is_valid())
    if (const int stop = visit(object_.ptr(), argument); stop != 0) return stop;
  if (type_.is_valid())
    if (const int stop = visit(type_.ptr(), argument); stop != 0) return stop;
  for (const ResultPlan& part : parts_)
    if (const int stop = part.traverse(visit, argument); stop != 0) return stop;
  return 0;
}

void ResultPlan::clear() {
  object_.reset();
  type_.reset();
  parts_.clear();
  lists_.clear();
}

}  // namespace ingot::bindings
