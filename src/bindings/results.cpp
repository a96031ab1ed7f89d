#include "bindings/results.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "bindings/elements.h"
#include "bindings/fields.h"
#include "eager/device_array.h"
#include "interop/numpy.h"

namespace ingot::bindings {

namespace described = frontend::described;

namespace {

/// The string of these code points: an array, or one number, below 0 for the empty string.
nb::object text_of_codes(nb::object codes) {
  if (PyLong_Check(codes.ptr())) return text_of_code(nb::cast<int64_t>(codes));
  if (eager::is_device_array(codes.ptr())) codes = eager::to_host(eager::device_array(codes.ptr()));
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
  if (!is_writable) eager::protect(array.ptr());
  return array;
}

/// Makes the parts of a result, in the order in which the values come.
template <class V>
struct Maker {
  V& values;
  std::vector<nb::object> made{};                 ///< arrays, containers and instances, in order
  std::unique_ptr<Elements> elements_of_lists{};  ///< made when it is first asked for

  nb::object array(const described::Array& it, const described::Records* records = nullptr) {
    const Shown shown = values.shown();
    const int64_t argument = it.argument ? *it.argument : values.integer();
    const bool is_record = records != nullptr && records->holder == Holder::Record;
    if (argument >= 0) return is_record ? record_of(values.leaf(argument)) : values.leaf(argument);
    return array(shown, it.is_writable, it.owns || argument == HeldArray::kOwner, records);
  }

  /// An array of a list of unknown length.
  nb::object array(const HeldArray& held) {
    if (held.argument >= 0) return values.leaf(held.argument);
    return array(values.shown(held), held.is_writable, held.owns);
  }

  nb::object array(const Shown& shown, bool is_writable, bool owns,
                   const described::Records* records = nullptr) {
    if (shown.leaf >= 0) {
      nb::object owner = values.leaf(shown.leaf);
      is_writable = is_writable && eager::is_writable(owner.ptr());
      return held(eager::array_like(shown.window, is_writable, std::move(owner)), records);
    }
    if (nb::object whole = values.whole(shown); whole.is_valid())
      return held(finished(std::move(whole), is_writable), records);
    if (!owns) return held(finished(part(shown), is_writable), records);
    nb::object& known = values.made_with(shown);
    if (!known.is_valid()) known = held(finished(part(shown), is_writable), records);
    return known;
  }

  /// A dtype with fields: that of an argument, or a new one, so that renaming its fields renames no other's.
  nb::object dtype(const nb::object& known, int of) {
    if (of >= 0) {
      const nb::object leaf = values.leaf(of);
      if (PyArray_Check(leaf.ptr())) {
        const nb::object own = nb::borrow(reinterpret_cast<PyObject*>(PyArray_DESCR(as_array(leaf.ptr()))));
        if (same_fields(own.ptr(), known.ptr())) return own;
      }
    }
    return private_of(known.ptr());
  }

  /// Of records, the object that holds them on the array of their bytes. A device has no records: they are
  /// copied to the host.
  nb::object held(nb::object bytes, const described::Records* records) {
    if (records == nullptr) return bytes;
    if (eager::is_device_array(bytes.ptr())) {
      const eager::DeviceArray& array = eager::device_array(bytes.ptr());
      const bool is_writable = array.is_writable;
      bytes = finished(eager::to_host(array), is_writable);
    }
    const nb::object made_on = records_on(bytes, records->holder, dtype(records->dtype, records->dtype_of));
    return records->holder == Holder::Record ? record_of(made_on) : made_on;
  }

  /// A part of a memory of the call's, or what shares it with another result. Where it is alone and all of
  /// the memory, but not in NumPy's order, it is copied, unless it is on a device.
  nb::object part(const Shown& shown) {
    const nb::object memory = values.bytes_of(shown);
    Window window = shown.window;
    if (window.strided().is_empty()) {  // as NumPy's
      window.data = eager::lowest_of(memory.ptr());
      std::fill_n(window.strides, window.rank, 0);
    }
    nb::object array = eager::array_like(window, true, memory);
    if (eager::is_device_array(array.ptr()) || !values.is_alone(shown) ||
        PyArray_NBYTES(as_array(array.ptr())) != PyArray_NBYTES(as_array(memory.ptr())))
      return array;
    nb::object copy = nb::steal(PyArray_NewCopy(as_array(array.ptr()), NPY_KEEPORDER));
    if (!copy.is_valid()) throw nb::python_error();
    return copy;
  }

  nb::object sequence(const std::vector<Description>& parts, bool is_tuple) {
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

  /// Made as `object` makes and fills it, if it is of a user's class: no code of the class runs. One of a
  /// class of the library's, which stands for another class, is what its `__ingot_result__` makes of it.
  nb::object instance(const described::Instance& instance, const std::vector<Description>& parts) {
    const nb::handle object = reinterpret_cast<PyObject*>(&PyBaseObject_Type);
    const auto* const type = reinterpret_cast<PyTypeObject*>(instance.type.ptr());
    const bool is_users = (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
    nb::object it = is_users ? object.attr("__new__")(instance.type) : instance.type();
    const size_t index = made.size();
    made.push_back(it);
    for (size_t i = 0; i < parts.size(); ++i) {
      const nb::object part = make(parts[i]);
      PyObject* const name = PyTuple_GET_ITEM(instance.names.ptr(), static_cast<Py_ssize_t>(i));
      if (PyObject_GenericSetAttr(it.ptr(), name, part.ptr()) != 0) throw nb::python_error();
    }
    if (instance.is_stand_in) made[index] = it = it.attr("__ingot_result__")();
    return it;
  }

  Elements& elements() {
    if (!elements_of_lists) {
      elements_of_lists = std::make_unique<Elements>([this](const HeldArray& held) { return array(held); });
    }
    return *elements_of_lists;
  }

  /// Of a list buffer.
  Elements::Columns columns(const Description& list) {
    Elements::Columns all;
    for (size_t i = 1; i < list.parts.size(); ++i) {
      const Shown column = values.column();
      all.push_back({column.window.data, column.window.strides[0], column.window.dtype});
    }
    return all;
  }

  /// A result made of instances and lists in pools, whose columns come first.
  nb::object pools(const std::vector<Description>& parts) {
    for (size_t i = 1; i < parts.size(); ++i) {
      const Description& first = parts[i].parts[0];
      const nb::handle names = parts[i].get<described::Pool>().names;
      const int64_t length = values.integer();
      Elements::Columns own = columns(first);
      if (!names.is_none()) {
        elements().add_instances(names, first.parts[0], length, std::move(own));
      } else {
        const Description& store = parts[i].parts[1];
        values.integer();  // the length of the store
        elements().add_rows(length, std::move(own), store, columns(store));
      }
    }
    const nb::object inner = make(parts[0]);
    elements().fill();
    return inner;
  }

  nb::object list_buffer(const Description& it) {
    const size_t index = made.size();
    made.emplace_back();
    const int64_t length = values.integer();
    return made[index] = elements().list(it.parts[0], length, columns(it));
  }

  nb::object dict(PyObject* keys, const std::vector<Description>& parts) {
    nb::dict all;
    made.push_back(all);
    for (size_t i = 0; i < parts.size(); ++i) {
      const nb::object item = make(parts[i]);
      PyObject* const key = PyTuple_GET_ITEM(keys, static_cast<Py_ssize_t>(i));
      if (PyDict_SetItem(all.ptr(), key, item.ptr()) != 0) throw nb::python_error();
    }
    return all;
  }

  nb::object mapping(const std::vector<Description>& parts) {
    nb::dict all;
    made.push_back(all);
    const nb::object keys = make(parts[0]);
    const nb::object items = make(parts[1]);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.ptr()); ++i) {
      if (PyDict_SetItem(all.ptr(), PyList_GET_ITEM(keys.ptr(), i), PyList_GET_ITEM(items.ptr(), i)) != 0)
        throw nb::python_error();
    }
    return all;
  }

  nb::object tuple(const nb::object& type, const std::vector<Description>& parts) {
    nb::object all = sequence(parts, true);
    if (type.is_none()) return all;
    return nb::handle(reinterpret_cast<PyObject*>(&PyTuple_Type)).attr("__new__")(type, all);
  }

  nb::object make(const Description& it) {
    switch (it.kind()) {
      case Described::Static: {
        const auto& [object, dtype_of] = it.get<described::Static>();
        return is_renamed_in_place(object.ptr()) ? dtype(object, dtype_of) : object;
      }
      case Described::Argument: return values.container(it.get<described::Argument>().number);
      case Described::Scalar: {
        const frontend::Kind number = it.get<described::Scalar>().number;
        return values.number(number.is_python() ? std::nullopt : std::optional(number.dtype()));
      }
      case Described::Array: return made.emplace_back(array(it.get<described::Array>()));
      case Described::Records:
        return made.emplace_back(array(it.parts[0].get<described::Array>(), it.as<described::Records>()));
      case Described::Maybe: {
        const bool is_there = values.integer() == 0;
        const nb::object inside = make(it.parts[0]);
        return is_there ? inside : nb::none();
      }
      case Described::OneOf: {
        const int64_t number = values.integer();
        const size_t index = made.size();
        const nb::object inside = make(it.parts[0]);
        return number < 0 ? inside : made.at(index) = values.container(number);
      }
      case Described::Member: {
        const auto number = static_cast<Py_ssize_t>(values.integer());
        return nb::borrow(PyTuple_GET_ITEM(it.get<described::Member>().members.ptr(), number));
      }
      case Described::Text: return it.get<described::Text>().form.attr("format")(*sequence(it.parts, true));
      case Described::Characters: return text_of_codes(make(it.parts[0]));
      case Described::Tuple: return tuple(it.get<described::Tuple>().type, it.parts);
      case Described::Same: return made.at(it.get<described::Same>().number);
      case Described::Instance: return instance(it.get<described::Instance>(), it.parts);
      case Described::Pooled: {
        const auto& [numbers, types] = it.get<described::Pooled>();
        return elements().record(numbers, types, values.integer());
      }
      case Described::Pools: return pools(it.parts);
      case Described::Holding: {
        values.hold(it.get<described::Holding>().buffers);
        return make(it.parts[0]);
      }
      case Described::List: return sequence(it.parts, false);
      case Described::ListBuffer: return list_buffer(it);
      case Described::Dict: return dict(it.get<described::Dict>().keys.ptr(), it.parts);
      case Described::Mapping: return mapping(it.parts);
      default: throw base::InternalError("a description of an argument as one of a result");
    }
  }
};

}  // namespace

template <class V>
nb::object make_result(const Description& description, V& values) {
  const auto* const known = description.as<described::Static>();
  if (known != nullptr && (known->object.is_none() || !is_renamed_in_place(known->object.ptr())))
    return known->object;
  Maker<V> maker{values};
  const auto* const array = description.as<described::Array>();
  return array != nullptr ? maker.array(*array) : maker.make(description);
}

template nb::object make_result(const Description& description, Values& values);
template nb::object make_result(const Description& description, FrameValues& values);

}  // namespace ingot::bindings
