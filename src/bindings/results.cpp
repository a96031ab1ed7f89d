#include "bindings/results.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
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
  const bool is_empty = buffer->size == 0;  // NumPy has strides of its own for no elements
  PyObject* const object =
      PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(type_number), rank, lengths,
                           is_empty ? nullptr : strides, buffer->data, NPY_ARRAY_WRITEABLE, nullptr);
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

/// Makes the parts of a result, in the order in which the code gives them.
struct ResultPlan::Maker {
  Invocation& call;
  const Signature& arguments;
  size_t next = 0;                            ///< result of the code
  std::vector<nb::object> made{};             ///< arrays, containers and instances, in order
  nb::object pools = nb::none();              ///< what makes instances of their places
  std::map<const Buffer*, nb::object> own{};  ///< the arrays that own the memory that they were made with

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
    if (argument >= 0) return nb::borrow(arguments.leaves()[static_cast<size_t>(argument)]);
    const Buffer* const buffer = call.frame().result_view(result).buffer;
    if (const int64_t parameter = call.frame().parameter_of(buffer); parameter >= 0) {
      PyObject* const owner = arguments.leaves()[static_cast<size_t>(parameter)];
      const bool is_writable = plan.is_writable_ && PyArray_ISWRITEABLE(as_array(owner));
      return view(result, nb::borrow(owner), is_writable, true);
    }
    if (call.frame().is_all_of_its_buffer(result)) return finished(call.owning(result), plan);
    if (!plan.owns_) return finished(part(result), plan);
    nb::object& known = own[buffer];
    if (!known.is_valid()) known = finished(part(result), plan);
    return known;
  }

  static nb::object finished(nb::object array, const ResultPlan& plan) {
    if (!plan.is_writable_) PyArray_CLEARFLAGS(as_array(array.ptr()), NPY_ARRAY_WRITEABLE);
    return array;
  }

  /// A view of memory that `owner` owns. Without `has_strides`, NumPy has its own for no elements.
  nb::object view(size_t result, nb::object owner, bool is_writable, bool has_strides) {
    const SlotInfo& info = call.code().results()[result];
    runtime::ViewSlot& slot = call.frame().result_view(result);
    npy_intp lengths[SlotInfo::kMaxRank];
    npy_intp strides[SlotInfo::kMaxRank];
    std::copy_n(slot.lengths(), info.rank, lengths);
    std::copy_n(slot.strides(info.rank), info.rank, strides);
    has_strides = has_strides || std::find(lengths, lengths + info.rank, 0) == lengths + info.rank;
    nb::object array = nb::steal(PyArray_NewFromDescr(
        &PyArray_Type, PyArray_DescrFromType(type_number(info.dtype)), info.rank, lengths,
        has_strides ? strides : nullptr, has_strides ? slot.data : slot.buffer->data,
        is_writable ? NPY_ARRAY_WRITEABLE : 0, nullptr));
    if (!array.is_valid()) throw nb::python_error();
    if (PyArray_SetBaseObject(as_array(array.ptr()), owner.release().ptr()) != 0) throw nb::python_error();
    return array;
  }

  /// A part of a buffer of the call's, or what shares it with another result. Where it is alone and all of
  /// the buffer, but not in NumPy's order, it is copied.
  nb::object part(size_t result) {
    Buffer* const buffer = call.frame().result_view(result).buffer;
    const nb::object memory = call.memory_of(buffer);
    const nb::object array = view(result, memory, true, false);
    const std::span<const SlotInfo> results = call.code().results();
    size_t uses = 0;
    for (size_t i = 0; i < results.size(); ++i)
      if (results[i].kind == SlotInfo::Kind::View && call.frame().result_view(i).buffer == buffer) ++uses;
    const bool is_alone = uses == 1 && PyArray_NBYTES(as_array(array.ptr())) == buffer->size;
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

  nb::list columns(const ResultPlan& plan) {
    nb::list all;
    for (const ResultPlan& part : plan.parts_) all.append(array(part));
    return all;
  }

  /// What is made of instances that stand in pools, whose columns come last.
  nb::object pooled(const ResultPlan& plan) {
    pools = nb::module_::import_("ingot._jit").attr("Pools")();
    const nb::object inner = make(plan.parts_[0]);
    nb::list contents;
    for (size_t i = 1; i < plan.parts_.size(); ++i) {
      const int64_t length = integer();
      contents.append(nb::make_tuple(length, columns(plan.parts_[i])));
    }
    pools.attr("fill")(plan.object_, contents);
    return inner;
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
        nb::object inside = make(plan.parts_[0]);
        return is_there ? inside : nb::none();
      }
      case Kind::Text: return nb::object(plan.object_.attr("format"))(*sequence(plan.parts_, true));
      case Kind::Tuple: return sequence(plan.parts_, true);
      case Kind::Named:
        return nb::handle(reinterpret_cast<PyObject*>(&PyTuple_Type))
            .attr("__new__")(plan.object_, sequence(plan.parts_, true));
      case Kind::Again: return made[static_cast<size_t>(plan.argument_)];
      case Kind::Object: return instance(plan);
      case Kind::Record: return pools.attr("instance")(plan.argument_, plan.object_, integer());
      case Kind::Pooled: return pooled(plan);
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
        const nb::object elements = nb::module_::import_("ingot._jit").attr("elements");
        return made[place] = elements(plan.object_, length, columns(plan), pools);
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
    parts(description[2]);
  } else if (tag == "record") {
    kind_ = Kind::Record;
    argument_ = nb::cast<int64_t>(description[1]);
    object_ = description[2];
  } else if (tag == "pooled") {
    kind_ = Kind::Pooled;
    parts_.emplace_back(nb::cast<nb::tuple>(description[1]));
    nb::list forms;
    for (const nb::handle pool : nb::cast<nb::tuple>(description[2])) {
      nb::list lists;
      for (size_t i = 1; i < nb::len(pool); ++i) {
        parts_.emplace_back(nb::tuple(pool[i]));
        lists.append(nb::object(pool[i][1]));
      }
      forms.append(nb::make_tuple(pool[0], nb::tuple(lists)));
    }
    object_ = nb::tuple(forms);
  } else if (tag == "again") {
    kind_ = Kind::Again;
    argument_ = nb::cast<int64_t>(description[1]);
  } else {
    kind_ = tag == "tuple" ? Kind::Tuple : Kind::List;
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
}

}  // namespace ingot::bindings
