#include "bindings/results.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "bindings/device_array.h"
#include "bindings/numpy.h"

namespace ingot::bindings {

namespace {

/// The string of these code points: an array, or one number, below 0 for the empty string.
nb::object text_of_codes(nb::object codes) {
  if (PyLong_Check(codes.ptr())) return text_of_code(nb::cast<int64_t>(codes));
  if (is_device_array(codes.ptr())) codes = to_host(device_array(codes.ptr()));
  const nb::object wide = nb::steal(PyArray_FromAny(codes.ptr(), PyArray_DescrFromType(NPY_UINT32), 1, 1,
                                                    NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST, nullptr));
  if (!wide.is_valid()) throw nb::python_error();
  PyArrayObject* const array = as_array(wide.ptr());
  nb::object text =
      nb::steal(PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, PyArray_DATA(array), PyArray_DIM(array, 0)));
  if (!text.is_valid()) throw nb::python_error();
  return text;
}

nb::object finished(nb::object array, bool is_writable) {
  if (!is_writable) protect(array.ptr());
  return array;
}

}  // namespace

/// Makes the parts of a result, in the order in which the values come.
template <class V>
struct ResultPlan::Maker {
  V& values;
  std::vector<nb::object> made{};                 ///< arrays, containers and instances, in order
  std::unique_ptr<Elements> elements_of_lists{};  ///< made when it is first asked for

  nb::object array(const ResultPlan& plan) {
    const Shown shown = values.shown();
    const int64_t argument = plan.may_be_argument_ ? values.integer() : plan.argument_;
    const bool is_record = plan.kind_ == Kind::Fields && plan.holder_ == Holder::Record;
    if (argument >= 0) return is_record ? record_of(values.leaf(argument)) : values.leaf(argument);
    return array(shown, plan.is_writable_, plan.owns_ || argument == HeldArray::kOwner, &plan);
  }

  /// An array of a list of unknown length.
  nb::object array(const HeldArray& held) {
    if (held.argument >= 0) return values.leaf(held.argument);
    return array(values.shown(held), held.is_writable, held.owns);
  }

  nb::object array(const Shown& shown, bool is_writable, bool owns, const ResultPlan* plan = nullptr) {
    if (shown.leaf >= 0) {
      nb::object owner = values.leaf(shown.leaf);
      is_writable = is_writable && bindings::is_writable(owner.ptr());
      return held(array_like(shown.window, is_writable, std::move(owner)), plan);
    }
    if (nb::object whole = values.whole(shown); whole.is_valid())
      return held(finished(std::move(whole), is_writable), plan);
    if (!owns) return held(finished(part(shown), is_writable), plan);
    nb::object& known = values.made_with(shown);
    if (!known.is_valid()) known = held(finished(part(shown), is_writable), plan);
    return known;
  }

  /// A dtype with fields: that of an argument, or a new one, so that renaming its fields renames no other's.
  nb::object dtype(const ResultPlan& plan) {
    if (plan.dtype_leaf_ >= 0) {
      const nb::object leaf = values.leaf(plan.dtype_leaf_);
      if (PyArray_Check(leaf.ptr())) {
        const nb::object own = nb::borrow(reinterpret_cast<PyObject*>(PyArray_DESCR(as_array(leaf.ptr()))));
        if (same_fields(own.ptr(), plan.object_.ptr())) return own;
      }
    }
    return private_of(plan.object_.ptr());
  }

  /// Where a plan is of records, the object that holds them on the array of their bytes. A device has no
  /// records: they are copied to the host.
  nb::object held(nb::object bytes, const ResultPlan* plan) {
    if (plan == nullptr || plan->kind_ != Kind::Fields) return bytes;
    if (is_device_array(bytes.ptr())) {
      const DeviceArray& array = device_array(bytes.ptr());
      const bool is_writable = array.is_writable;
      bytes = finished(to_host(array), is_writable);
    }
    const nb::object records = records_on(bytes, plan->holder_, dtype(*plan));
    return plan->holder_ == Holder::Record ? record_of(records) : records;
  }

  /// A part of a memory of the call's, or what shares it with another result. Where it is alone and all of
  /// the memory, but not in NumPy's order, it is copied, unless it is on a device.
  nb::object part(const Shown& shown) {
    const nb::object memory = values.bytes_of(shown);
    Window window = shown.window;
    if (window.is_empty()) {  // as NumPy's
      window.data = lowest_of(memory.ptr());
      std::fill_n(window.strides, window.rank, 0);
    }
    nb::object array = array_like(window, true, memory);
    if (is_device_array(array.ptr()) || !values.is_alone(shown) ||
        PyArray_NBYTES(as_array(array.ptr())) != PyArray_NBYTES(as_array(memory.ptr())))
      return array;
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

  /// Made as `object` makes and fills it: no code of the class runs. One of a class of the library's, which
  /// stands for another class, is what its `__ingot_result__` makes of it.
  nb::object instance(const ResultPlan& plan) {
    const nb::handle object = reinterpret_cast<PyObject*>(&PyBaseObject_Type);
    nb::object it = object.attr("__new__")(plan.type_);
    const size_t index = made.size();
    made.push_back(it);
    for (size_t i = 0; i < plan.parts_.size(); ++i) {
      const nb::object part = make(plan.parts_[i]);
      PyObject* const name = PyTuple_GET_ITEM(plan.object_.ptr(), static_cast<Py_ssize_t>(i));
      if (PyObject_GenericSetAttr(it.ptr(), name, part.ptr()) != 0) throw nb::python_error();
    }
    if (plan.is_stand_in_) made[index] = it = it.attr("__ingot_result__")();
    return it;
  }

  Elements& elements() {
    if (!elements_of_lists) {
      elements_of_lists = std::make_unique<Elements>([this](const HeldArray& held) { return array(held); });
    }
    return *elements_of_lists;
  }

  Elements::Columns columns(const List& list) {
    Elements::Columns all;
    for (size_t i = 0; i < list.columns; ++i) {
      const Shown column = values.column();
      all.push_back({column.window.data, column.window.strides[0], column.window.dtype});
    }
    return all;
  }

  /// A result made of instances and lists in pools, whose columns come first.
  nb::object pooled(const ResultPlan& plan) {
    auto list = plan.lists_.begin();
    for (const nb::handle pool : plan.object_) {
      const nb::handle names = PyTuple_GET_ITEM(pool.ptr(), 0);
      const int64_t length = values.integer();
      Elements::Columns first = columns(*list);
      if (!names.is_none()) {
        elements().add_instances(names, list->form, length, std::move(first));
      } else {
        ++list;
        values.integer();  // the length of the store
        elements().add_rows(length, std::move(first), list->form, columns(*list));
      }
      ++list;
    }
    const nb::object inner = make(plan.parts_[0]);
    elements().fill();
    return inner;
  }

  nb::object holding(const ResultPlan& plan) {
    values.hold(plan.numbers_);
    return make(plan.parts_[0]);
  }

  nb::object make(const ResultPlan& plan) {
    switch (plan.kind_) {
      case Kind::Static: return plan.object_;
      case Kind::DType: return dtype(plan);
      case Kind::Argument: return values.container(plan.argument_);
      case Kind::Number: return values.number(plan.numpys_);
      case Kind::Array:
      case Kind::Fields: return made.emplace_back(array(plan));
      case Kind::Maybe: {
        const bool is_there = values.integer() == 0;
        const nb::object inside = make(plan.parts_[0]);
        return is_there ? inside : nb::none();
      }
      case Kind::Member:
        return nb::borrow(PyTuple_GET_ITEM(plan.object_.ptr(), static_cast<Py_ssize_t>(values.integer())));
      case Kind::Text: return nb::object(plan.object_.attr("format"))(*sequence(plan.parts_, true));
      case Kind::Characters: return text_of_codes(make(plan.parts_[0]));
      case Kind::Tuple: return sequence(plan.parts_, true);
      case Kind::Named:
        return nb::handle(reinterpret_cast<PyObject*>(&PyTuple_Type))
            .attr("__new__")(plan.object_, sequence(plan.parts_, true));
      case Kind::Again: return made[static_cast<size_t>(plan.argument_)];
      case Kind::Object: return instance(plan);
      case Kind::Record: return elements().record(plan.numbers_, plan.object_, values.integer());
      case Kind::Pooled: return pooled(plan);
      case Kind::Holding: return holding(plan);
      case Kind::List: return sequence(plan.parts_, false);
      case Kind::Mapping: {
        nb::dict all;
        made.push_back(all);
        const nb::object keys = make(plan.parts_[0]);
        const nb::object items = make(plan.parts_[1]);
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.ptr()); ++i) {
          if (PyDict_SetItem(all.ptr(), PyList_GET_ITEM(keys.ptr(), i), PyList_GET_ITEM(items.ptr(), i)) != 0)
            throw nb::python_error();
        }
        return all;
      }
      case Kind::ListBuffer: {
        const size_t index = made.size();
        made.emplace_back();
        const int64_t length = values.integer();
        const List& list = plan.lists_[0];
        return made[index] = elements().list(list.form, length, columns(list));
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
  const auto tag = nb::cast<std::string_view>(description[0]);
  const auto parts = [&](nb::handle given) {
    for (const nb::handle part : nb::cast<nb::tuple>(given)) parts_.emplace_back(nb::cast<nb::tuple>(part));
  };
  if (tag == "static") {
    object_ = private_of(nb::handle(description[1]).ptr());
    if (is_renamed_in_place(object_.ptr())) kind_ = Kind::DType;
    if (nb::len(description) > 2) dtype_leaf_ = nb::cast<int64_t>(description[2]);
  } else if (tag == "argument") {
    kind_ = Kind::Argument;
    argument_ = nb::cast<int64_t>(description[1]);
  } else if (tag == "scalar") {
    kind_ = Kind::Number;
    numpys_ = dtype_of_kind(description[1]);
  } else if (tag == "array" || tag == "fields") {
    const bool holds_records = tag == "fields";
    kind_ = holds_records ? Kind::Fields : Kind::Array;
    if (holds_records) {
      const auto name = nb::cast<std::string_view>(description[1]);
      holder_ = static_cast<Holder>(std::ranges::find(kHolders, name) - std::begin(kHolders));
      object_ = private_of(nb::handle(description[2]).ptr());
      dtype_leaf_ = nb::cast<int64_t>(description[4]);
    }
    const auto array = holds_records ? nb::cast<nb::tuple>(description[3]) : description;
    is_writable_ = nb::cast<bool>(array[3]);
    may_be_argument_ = array[4].is_none();
    if (!may_be_argument_) argument_ = nb::cast<int64_t>(array[4]);
    owns_ = nb::cast<bool>(array[5]);
  } else if (tag == "maybe") {
    kind_ = Kind::Maybe;
    parts_.emplace_back(nb::cast<nb::tuple>(description[1]));
  } else if (tag == "member") {
    kind_ = Kind::Member;
    object_ = description[1];
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
    // Of the class alone: a metaclass may have code that makes attributes.
    is_stand_in_ = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(type_.ptr()),
                                  nb::str("__ingot_result__").ptr()) != nullptr;
    object_ = description[2];
    parts(description[3]);
  } else if (tag == "mapping") {
    kind_ = Kind::Mapping;
    parts(description[1]);
  } else if (tag == "growing") {
    kind_ = Kind::ListBuffer;
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
    kind_ = tag == "tuple" ? Kind::Tuple : tag == "characters" ? Kind::Characters : Kind::List;
    parts(description[1]);
  }
}

template <class V>
nb::object ResultPlan::make(V& values) const {
  if (kind_ == Kind::Static) return object_;
  if (kind_ == Kind::Array) return Maker<V>{values}.array(*this);
  return Maker<V>{values}.make(*this);
}

template nb::object ResultPlan::make(Values& values) const;
template nb::object ResultPlan::make(FrameValues& values) const;

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
