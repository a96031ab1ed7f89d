#include "bindings/invocation.h"

#include <nanobind/stl/string.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "bindings/exceptions.h"
#include "bindings/gufuncs.h"
#include "bindings/interrupts.h"
#include "bindings/numpy.h"
#include "bindings/results.h"

namespace ingot::bindings {

using base::DType;
using runtime::SlotInfo;
using runtime::ViewSlot;

namespace {

void free_memory(PyObject* capsule) {
  runtime::FreeBuffer{}(static_cast<runtime::Buffer*>(PyCapsule_GetPointer(capsule, nullptr)));
}

nb::object described(const nb::object& key, const nb::object& memory, const nb::object& offset,
                     ViewSlot& view, DType dtype, int rank) {
  nb::list lengths;
  nb::list strides;
  for (int axis = 0; axis < rank; ++axis) {
    lengths.append(view.lengths()[axis]);
    strides.append(view.strides(rank)[axis]);
  }
  return nb::make_tuple(key, memory, offset, nb::tuple(lengths), nb::tuple(strides),
                        std::string(base::info(dtype).numpy));
}

}  // namespace

Invocation::Invocation(const Code& code, std::span<PyObject* const> leaves, const Outside& outside)
    : code_(code),
      outside_(outside),
      context_([&] {
        static constexpr runtime::Hooks hooks = {&Invocation::attend, &Invocation::call_outside};
        return runtime::make_context(&attention_, &hooks, this);
      }()),
      call_(context_),
      frame_(code, leaves) {}

bool Invocation::run() {
  if (!code_.polls()) return call_.run(code_.function(), frame_.slots()) == 0;
  runtime::watch_length(context_);
  const runtime::Status status = call_.run(code_.function(), frame_.slots());
  runtime::unwatch_length(context_);
  gil_.hold();
  return status == 0;
}

nb::object Invocation::failure() const {
  const runtime::Error& error = context_.error;
  // What compiled code caught is not pending any more.
  const bool is_pending = pending_.is_valid() && error.site == runtime::Error::kNoSite &&
                          error.status == runtime::status_of(kind_of(pending_));
  return failure_of(code_, error, is_pending ? pending_ : nb::none());
}

nb::object failure_of(const Code& code, const runtime::Error& error, const nb::object& pending) {
  const base::ExceptionKind kind = runtime::exception_of(error.status);
  return nb::make_tuple(std::string(base::name_of(kind)), runtime::format_error(code.info(), error),
                        tuple_of(runtime::sites_of(code.info(), error)), pending);
}

/// The number of an argument, or what tells a buffer of the call's from others.
nb::object Invocation::key_of(const runtime::Buffer* buffer) const {
  const int64_t argument = frame_.parameter_of(buffer);
  if (argument >= 0) return nb::int_(argument);
  return nb::make_tuple(reinterpret_cast<uintptr_t>(buffer));
}

nb::object Invocation::results(const nb::tuple& buffers) {
  nb::dict held;
  for (const nb::handle result : buffers) {
    for (runtime::Buffer* const buffer : frame_.held_buffers(nb::cast<size_t>(result))) {
      const bool is_argument = frame_.parameter_of(buffer) >= 0;
      held[nb::int_(reinterpret_cast<int64_t>(buffer))] =
          nb::make_tuple(key_of(buffer), is_argument ? nb::none() : memory_of(buffer));
    }
  }
  nb::list results;
  for (size_t i = 0; i < code_.results().size(); ++i) {
    const SlotInfo& info = code_.results()[i];
    if (info.kind != SlotInfo::Kind::View) {
      results.append(python_number(info.dtype, frame_.result(i)));
    } else if (ViewSlot& view = frame_.result_view(i);
               !memories_.contains(view.buffer) && frame_.is_all_of_its_buffer(i)) {
      const nb::object key = key_of(view.buffer);
      const nb::object whole = owning(view, info.dtype, info.rank);
      results.append(described(key, whole, nb::none(), view, info.dtype, info.rank));
    } else {
      results.append(outward(view, info.dtype, info.rank));
    }
  }
  if (buffers.size() > 0) results.append(held);
  return results;
}

nb::object Invocation::owning(ViewSlot& view, DType dtype, int rank) {
  PyObject* const array = owning_array(call_.take(view.buffer), view, type_number(dtype), rank);
  if (array == nullptr) throw nb::python_error();
  return nb::steal(array);
}

nb::object Invocation::memory_of(runtime::Buffer* buffer) {
  nb::object& memory = memories_[buffer];
  if (memory.is_valid()) return memory;
  const npy_intp size = buffer->size;
  const nb::object owner = nb::steal(PyCapsule_New(call_.take(buffer).release(), nullptr, free_memory));
  if (!owner.is_valid()) throw nb::python_error();
  memory = nb::steal(PyArray_SimpleNewFromData(1, &size, NPY_UINT8, buffer->data));
  if (!memory.is_valid()) throw nb::python_error();
  PyArray_SetBaseObject(as_array(memory.ptr()), nb::object(owner).release().ptr());
  return memory;
}

nb::object Invocation::outward(ViewSlot& view, DType dtype, int rank) {
  const bool is_argument = frame_.parameter_of(view.buffer) >= 0;
  const nb::object memory = is_argument ? nb::none() : memory_of(view.buffer);
  return described(key_of(view.buffer), memory, nb::int_(view.data - view.buffer->data), view, dtype, rank);
}

/// Runs something with the GIL; keeps what it raises, until the next time.
template <class Fn>
runtime::Status Invocation::with_gil(Fn&& fn) {
  gil_.hold();
  pending_.reset();
  runtime::Status status = 0;
  try {
    resting_at_the_end(fn);
  } catch (nb::python_error& error) {
    pending_ = nb::borrow<nb::object>(error.value());
    status = runtime::status_of(kind_of(pending_));
    context_.error = runtime::Error{status, runtime::Error::kNoSite, {}, 0, {}};
  }
  runtime::watch_length(context_);
  return status;
}

/// A long call lets go of the GIL. Where it goes on, and the thread is the one that handles signals, it takes
/// the GIL back for those that have come; what a handler raises leaves the call.
runtime::Status Invocation::attend(runtime::Context* context) {
  Invocation& self = of(context);
  if (self.gil_.is_held()) {
    self.gil_.release();
    if (!is_main_thread()) runtime::unwatch_length(*context);
    return 0;
  }
  return self.with_gil([] {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  });
}

/// What an operand of a call outside is.
struct Invocation::Word {
  DType dtype;
  int rank;  ///< -1: a scalar

  static std::vector<Word> read(const char* layout) {
    std::vector<Word> words;
    std::string word;
    for (; *layout != '\0'; ++layout) {
      if (*layout != ' ') {
        word += *layout;
        continue;
      }
      const bool is_view = word.starts_with("view<");
      const std::string name = is_view ? word.substr(5, word.find(',') - 5) : word;
      words.push_back(
          {base::dtype_from_name(name).value(), is_view ? std::stoi(word.substr(word.find(',') + 1)) : -1});
      word.clear();
    }
    return words;
  }

  /// The memory of a view as an array, for the time of the call.
  nb::object array_on(ViewSlot& view) const {
    npy_intp lengths[SlotInfo::kMaxRank];
    npy_intp strides[SlotInfo::kMaxRank];
    for (int axis = 0; axis < rank; ++axis) {
      lengths[axis] = view.lengths()[axis];
      strides[axis] = view.strides(rank)[axis];
    }
    PyArray_Descr* descr = PyArray_DescrFromType(type_number(dtype));
    return nb::steal(PyArray_NewFromDescr(&PyArray_Type, descr, rank, lengths, strides, view.data,
                                          NPY_ARRAY_WRITEABLE, nullptr));
  }
};

/// What a host call gets is its own: a copy, described as results are; or what the callee keeps itself. The
/// first `direct` ones are arrays that nobody keeps.
nb::list Invocation::host_values(const char* layout, bool kept, size_t direct, void** slots) {
  nb::list values;
  const std::vector<Word> words = Word::read(layout);
  for (size_t i = 0; i < words.size(); ++i) {
    const Word& word = words[i];
    if (word.rank < 0) {
      values.append(python_number(word.dtype, slots[i]));
      continue;
    }
    ViewSlot& view = *static_cast<ViewSlot*>(slots[i]);
    if (i < direct) {
      values.append(word.array_on(view));
      continue;
    }
    if (kept) {
      values.append(outward(view, word.dtype, word.rank));
      continue;
    }
    const nb::object copy = word.array_on(view).attr("copy")();
    values.append(nb::make_tuple(nb::make_tuple("host", i), copy.attr("reshape")(-1).attr("view")("uint8"), 0,
                                 copy.attr("shape"), copy.attr("strides"),
                                 std::string(base::info(word.dtype).numpy)));
  }
  return values;
}

runtime::Status Invocation::call_outside(runtime::Context* context, const char* what, const char* layout,
                                         int64_t number, void** slots) {
  Invocation& self = of(context);
  if (std::strcmp(what, "host") != 0 && !self.outside_.library.is_valid()) {
    const Gufunc* gufunc = nullptr;
    const runtime::Status status = self.with_gil([&] { gufunc = find_gufunc(what, layout); });
    if (status != 0) return status;
    if (gufunc != nullptr) {
      call_gufunc(*gufunc, slots, self.gil_);
      return 0;
    }
  }
  return self.with_gil([&] {
    const Outside& outside = self.outside_;
    if (std::strcmp(what, "host") == 0) {
      const nb::object direct = outside.keeps.attr("get")(number);
      const bool kept = !direct.is_none();
      outside.host(number, self.host_values(layout, kept, kept ? nb::cast<size_t>(direct) : 0, slots));
      return;
    }
    nb::list values;
    for (const Word& word : Word::read(layout)) {
      void* const slot = slots[nb::len(values)];
      values.append(word.rank < 0 ? python_number(word.dtype, slot)
                                  : word.array_on(*static_cast<ViewSlot*>(slot)));
    }
    const nb::object library = outside.library.is_valid()
                                   ? nb::borrow<nb::object>(outside.library)
                                   : nb::object(nb::module_::import_("ingot._jit").attr("_library_into"));
    library(std::string(what), values);
  });
}

}  // namespace ingot::bindings
