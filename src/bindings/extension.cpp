#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "base/scalar.h"
#include "bindings/exceptions.h"
#include "bindings/products.h"
#include "bindings/results.h"
#include "runtime/allocator.h"
#include "runtime/context.h"
#include "runtime/object.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL ingot_numpy
#include <numpy/arrayobject.h>

// The extension: what a call of a compiled function needs, without LLVM. Imported with the package.

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace ingot::bindings {

namespace {

using base::DType;
using runtime::SlotInfo;

/// What calls of Python's main thread poll; SIGINT sets its bit. Calls of other threads have words of their
/// own, since Python handles signals in its main thread. Part of the closed list of process-wide state.
uint32_t main_attention = 0;
pthread_t main_thread;
struct sigaction previous_handler;

void on_interrupt(int signal, siginfo_t* details, void* context) {
  std::atomic_ref(main_attention).fetch_or(runtime::Context::kInterrupt);
  if ((previous_handler.sa_flags & SA_SIGINFO) != 0 && previous_handler.sa_sigaction != nullptr) {
    previous_handler.sa_sigaction(signal, details, context);
  } else if (previous_handler.sa_handler != SIG_DFL && previous_handler.sa_handler != SIG_IGN) {
    previous_handler.sa_handler(signal);
  }
}

/// Puts itself before Python's own handler, if Python handles Ctrl-C here at all.
void watch_interrupts() {
  struct sigaction current{};
  if (sigaction(SIGINT, nullptr, &current) != 0 || current.sa_handler == SIG_DFL ||
      current.sa_handler == SIG_IGN)
    return;
  previous_handler = current;
  struct sigaction ours{};
  ours.sa_sigaction = on_interrupt;
  ours.sa_flags = SA_SIGINFO | (current.sa_flags & ~SA_SIGINFO);
  ours.sa_mask = current.sa_mask;
  sigaction(SIGINT, &ours, nullptr);
}

void find_main_thread() {
  const nb::object thread = nb::module_::import_("threading").attr("main_thread")();
  main_thread = nb::cast<pthread_t>(thread.attr("ident"));
  // What forks is the child's main thread.
  pthread_atfork(nullptr, nullptr, [] { main_thread = pthread_self(); });
}

/// The GIL while compiled code runs: held at first, let go in a long call.
class Gil {
 public:
  Gil() = default;
  ~Gil() { hold(); }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

  void release() { thread_ = PyEval_SaveThread(); }
  void hold() {
    if (thread_ == nullptr) return;
    try {
      PyEval_RestoreThread(std::exchange(thread_, nullptr));
    } catch (...) {
      // Python has ended, and ends this thread: it must not be unwound through compiled code.
      for (;;) pause();
    }
  }

 private:
  PyThreadState* thread_ = nullptr;  ///< what was saved; null: the GIL is held
};

constexpr int kTypeNumbers[] = {NPY_BOOL,    NPY_INT8,    NPY_UINT8,     NPY_INT16,     NPY_UINT16,
                                NPY_INT32,   NPY_UINT32,  NPY_INT64,     NPY_UINT64,    NPY_FLOAT16,
                                NPY_FLOAT32, NPY_FLOAT64, NPY_COMPLEX64, NPY_COMPLEX128};

nb::object as_python(DType dtype, const void* element) {
  PyArray_Descr* descr = PyArray_DescrFromType(kTypeNumbers[static_cast<size_t>(dtype)]);
  const nb::object scalar = nb::steal(PyArray_Scalar(const_cast<void*>(element), descr, nullptr));
  Py_DECREF(descr);
  return scalar.attr("item")();
}

base::Scalar scalar_bits(DType dtype, nb::handle value) {
  PyArray_Descr* descr = PyArray_DescrFromType(kTypeNumbers[static_cast<size_t>(dtype)]);
  const nb::object array = nb::steal(PyArray_FromAny(value.ptr(), descr, 0, 0, NPY_ARRAY_FORCECAST, nullptr));
  if (!array.is_valid()) throw nb::python_error();
  return base::Scalar::load(dtype, PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.ptr())));
}

/// The storage of one slot: a scalar, or a view with its buffer.
struct Slot {
  alignas(16) std::byte scalar[16] = {};
  std::vector<std::byte> view;
  runtime::Buffer buffer{};

  runtime::ViewSlot& as_view() { return *reinterpret_cast<runtime::ViewSlot*>(view.data()); }
  void* prepare(const SlotInfo& info) {
    if (info.kind != SlotInfo::Kind::View) return scalar;
    view.assign(sizeof(runtime::ViewSlot) + 2 * sizeof(int64_t) * info.rank, std::byte{0});
    return view.data();
  }
};

void free_memory(PyObject* capsule) {
  runtime::FreeBuffer{}(static_cast<runtime::Buffer*>(PyCapsule_GetPointer(capsule, nullptr)));
}

/// A call under way: the context, the slots, and what leaves it for Python.
class Invocation {
 public:
  Invocation(const runtime::ObjectInfo& info, const runtime::EntryInfo& entry, nb::list leaves,
             nb::object host, nb::object library, nb::object keeps)
      : info_(info),
        entry_(entry),
        leaves_(std::move(leaves)),
        host_(std::move(host)),
        library_(std::move(library)),
        keeps_(std::move(keeps)),
        slots_(entry.params.size() + entry.results.size()) {
    for (size_t i = 0; i < slots_.size(); ++i) {
      const SlotInfo& slot =
          i < entry.params.size() ? entry.params[i] : entry.results[i - entry.params.size()];
      addresses_.push_back(slots_[i].prepare(slot));
      if (i < entry.params.size()) fill(slots_[i], slot, leaves_[i]);
    }
  }

  nb::object run(runtime::Entry function) {
    static constexpr runtime::Hooks hooks = {&Invocation::release_gil, &Invocation::handle_interrupt,
                                             &Invocation::call_outside};
    uint32_t own = 0;
    uint32_t* const attention = pthread_equal(pthread_self(), main_thread) != 0 ? &main_attention : &own;
    runtime::Context context = runtime::make_context(attention, &hooks, this);
    runtime::Call call(context);
    call_ = &call;
    runtime::watch_length(context);
    const runtime::Status status = call.run(function, addresses_.data());
    runtime::unwatch_length(context);
    gil_.hold();
    if (status != 0) return failure(context.error);
    nb::list results;
    for (size_t i = 0; i < entry_.results.size(); ++i) {
      Slot& slot = slots_[entry_.params.size() + i];
      const bool whole = entry_.results[i].kind == SlotInfo::Kind::View && is_all_of(i);
      results.append(whole ? owned(slot.as_view(), entry_.results[i]) : outward(slot, entry_.results[i]));
    }
    return results;
  }

 private:
  static void fill(Slot& slot, const SlotInfo& info, nb::handle leaf) {
    if (info.kind != SlotInfo::Kind::View) {
      scalar_bits(info.dtype, leaf).store(info.dtype, slot.scalar);
      return;
    }
    auto* array = reinterpret_cast<PyArrayObject*>(leaf.ptr());
    runtime::ViewSlot& view = slot.as_view();
    view.data = static_cast<std::byte*>(PyArray_DATA(array));
    view.buffer = &slot.buffer;
    // The buffer begins at the lowest byte of the array.
    int64_t low = 0;
    for (int axis = 0; axis < info.rank; ++axis) {
      view.lengths()[axis] = PyArray_DIM(array, axis);
      view.strides(info.rank)[axis] = PyArray_STRIDE(array, axis);
      low += std::min<int64_t>(0, (PyArray_DIM(array, axis) - 1) * PyArray_STRIDE(array, axis));
    }
    slot.buffer.data = PyArray_SIZE(array) == 0 ? view.data : view.data + low;
  }

  /// Whether a result is a whole buffer of the call's, which nothing else that leaves the call shares.
  bool is_all_of(size_t result) {
    const size_t first = entry_.params.size();
    const SlotInfo& info = entry_.results[result];
    const auto view_of = [&](size_t i) { return &slots_[first + i].as_view(); };
    const runtime::Buffer* buffer = view_of(result)->buffer;
    for (size_t i = 0; i < first; ++i)
      if (buffer == &slots_[i].buffer) return false;
    if (memories_.contains(buffer)) return false;
    for (size_t i = 0; i < entry_.results.size(); ++i) {
      if (i == result || entry_.results[i].kind != SlotInfo::Kind::View) continue;
      if (view_of(i)->buffer == buffer) return false;
    }
    return covers(*view_of(result), info.dtype, info.rank);
  }

  /// Such a result, as `outward` gives it, but with the finished array as memory and no offset.
  nb::object owned(runtime::ViewSlot& view, const SlotInfo& info) {
    runtime::OwnedBuffer buffer = call_->take(view.buffer);
    const nb::object key = nb::make_tuple(reinterpret_cast<uintptr_t>(view.buffer));
    const nb::object array = nb::steal(owning_array(
        std::move(buffer), view, kTypeNumbers[static_cast<size_t>(info.dtype)], static_cast<int>(info.rank)));
    if (!array.is_valid()) throw nb::python_error();
    return described(key, array, nb::none(), view, info.dtype, static_cast<int>(info.rank));
  }

  /// Numbers, and views as (key of the buffer, memory, offset, lengths, strides, dtype): the buffer of an
  /// argument has the argument's number as key and no memory.
  nb::object outward(Slot& slot, const SlotInfo& info) {
    if (info.kind != SlotInfo::Kind::View) return as_python(info.dtype, slot.scalar);
    return outward(slot.as_view(), info.dtype, info.rank);
  }

  nb::object outward(runtime::ViewSlot& view, DType dtype, int rank) {
    nb::object key;
    nb::object memory = nb::none();
    for (size_t i = 0; i < entry_.params.size(); ++i)
      if (view.buffer == &slots_[i].buffer) key = nb::int_(i);
    if (!key.is_valid()) {
      key = nb::make_tuple(reinterpret_cast<uintptr_t>(view.buffer));
      memory = memory_of(view.buffer);
    }
    return described(key, memory, nb::int_(view.data - view.buffer->data), view, dtype, rank);
  }

  static nb::object described(const nb::object& key, const nb::object& memory, const nb::object& offset,
                              runtime::ViewSlot& view, DType dtype, int rank) {
    nb::list lengths;
    nb::list strides;
    for (int axis = 0; axis < rank; ++axis) {
      lengths.append(view.lengths()[axis]);
      strides.append(view.strides(rank)[axis]);
    }
    return nb::make_tuple(key, memory, offset, nb::tuple(lengths), nb::tuple(strides),
                          std::string(base::info(dtype).numpy));
  }

  /// The bytes of a buffer that the code allocated, as an array that owns them from now on.
  nb::object memory_of(runtime::Buffer* buffer) {
    nb::object& memory = memories_[buffer];
    if (memory.is_valid()) return memory;
    const npy_intp size = buffer->size;
    const nb::object owner = nb::steal(PyCapsule_New(call_->take(buffer).release(), nullptr, free_memory));
    if (!owner.is_valid()) throw nb::python_error();
    memory = nb::steal(PyArray_SimpleNewFromData(1, &size, NPY_UINT8, buffer->data));
    PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(memory.ptr()), nb::object(owner).release().ptr());
    return memory;
  }

  nb::object failure(const runtime::Error& error) const {
    const base::ExceptionKind kind = runtime::exception_of(error.status);
    // What compiled code caught is not pending any more.
    const bool is_pending = pending_.is_valid() && error.site == runtime::Error::kNoSite &&
                            error.status == runtime::status_of(kind_of(pending_));
    const nb::object pending = is_pending ? pending_ : nb::none();
    if (error.site == runtime::Error::kNoSite)
      return nb::make_tuple(std::string(base::name_of(kind)), "", "", 0, pending);
    const base::Place& place = info_.sites[error.site].place;
    return nb::make_tuple(std::string(base::name_of(kind)), runtime::format_error(info_, error), place.file,
                          place.line, pending);
  }

  const runtime::ObjectInfo& info_;
  const runtime::EntryInfo& entry_;
  nb::list leaves_;
  nb::object host_;
  nb::object library_;
  nb::object keeps_;  ///< the host calls whose callee keeps what it gets
  std::vector<Slot> slots_;
  std::vector<void*> addresses_;
  runtime::Call* call_ = nullptr;
  std::map<const runtime::Buffer*, nb::object> memories_;
  nb::object pending_;
  Gil gil_;

  static Invocation& of(runtime::Context* context) { return *static_cast<Invocation*>(context->user); }

  /// Runs something with the GIL; keeps what it raises, until the next time.
  template <class Fn>
  runtime::Status outside(runtime::Context* context, Fn&& fn) {
    gil_.hold();
    pending_.reset();
    runtime::Status status = 0;
    try {
      fn();
    } catch (nb::python_error& error) {
      pending_ = nb::borrow<nb::object>(error.value());
      status = runtime::status_of(kind_of(pending_));
      context->error = runtime::Error{status, runtime::Error::kNoSite, {}};
    }
    runtime::watch_length(*context);
    return status;
  }

  static void release_gil(runtime::Context* context) { of(context).gil_.release(); }

  /// Lets Python's own handler of the signal decide.
  static runtime::Status handle_interrupt(runtime::Context* context) {
    return of(context).outside(context, [] {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    });
  }

  struct Word {
    DType dtype;
    int rank;  ///< -1: a scalar
  };
  static std::vector<Word> words_of(const char* layout) {
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
  static nb::object array_on(runtime::ViewSlot& view, const Word& word) {
    npy_intp lengths[SlotInfo::kMaxRank];
    npy_intp strides[SlotInfo::kMaxRank];
    for (int axis = 0; axis < word.rank; ++axis) {
      lengths[axis] = view.lengths()[axis];
      strides[axis] = view.strides(word.rank)[axis];
    }
    PyArray_Descr* descr = PyArray_DescrFromType(kTypeNumbers[static_cast<size_t>(word.dtype)]);
    return nb::steal(PyArray_NewFromDescr(&PyArray_Type, descr, word.rank, lengths, strides, view.data,
                                          NPY_ARRAY_WRITEABLE, nullptr));
  }

  static runtime::Status call_outside(runtime::Context* context, const char* what, const char* layout,
                                      int64_t number, void** slots) {
    if (std::strcmp(what, "matmul") == 0) {
      matmul(layout, slots);
      return 0;
    }
    Invocation& self = of(context);
    return self.outside(context, [&] {
      nb::list values;
      const std::vector<Word> words = words_of(layout);
      for (size_t i = 0; i < words.size(); ++i) {
        if (words[i].rank < 0) {
          values.append(as_python(words[i].dtype, slots[i]));
          continue;
        }
        if (std::strcmp(what, "host") == 0 && nb::cast<bool>(self.keeps_.attr("__contains__")(number))) {
          values.append(
              self.outward(*static_cast<runtime::ViewSlot*>(slots[i]), words[i].dtype, words[i].rank));
          continue;
        }
        const nb::object array = array_on(*static_cast<runtime::ViewSlot*>(slots[i]), words[i]);
        if (std::strcmp(what, "host") != 0) {
          values.append(array);
          continue;
        }
        // What a host call gets is its own: a copy, described as results are.
        const nb::object copy = array.attr("copy")();
        values.append(nb::make_tuple(nb::make_tuple("host", i),
                                     copy.attr("reshape")(-1).attr("view")("uint8"), 0, copy.attr("shape"),
                                     copy.attr("strides"), std::string(base::info(words[i].dtype).numpy)));
      }
      if (std::strcmp(what, "host") == 0) self.host_(number, values);
      else self.library_(std::string(what), values);
    });
  }
};

/// Machine code of one function, for Python.
struct Code {
  runtime::Object object;

  static std::unique_ptr<Code> load(const nb::bytes& bytes) {
    const auto* data = reinterpret_cast<const std::byte*>(bytes.c_str());
    return std::make_unique<Code>(Code{runtime::Object::open({data, bytes.size()})});
  }
  nb::object run(nb::list leaves, nb::object host, nb::object library, nb::object keeps) const {
    const runtime::EntryInfo& entry = object.info().entries[0];
    Invocation invocation(object.info(), entry, std::move(leaves), std::move(host), std::move(library),
                          std::move(keeps));
    return invocation.run(object.entry(entry.symbol));
  }
};

nb::dict memory() {
  const runtime::MemoryUse use = runtime::Allocator::use();
  nb::dict all;
  all["limit"] = use.limit;
  all["kept"] = use.kept;
  all["in_use"] = use.in_use;
  all["peak"] = use.peak;
  return all;
}

void check_environment() {
  const char* const limit = std::getenv("INGOT_CACHE_BYTES");
  if (limit == nullptr || runtime::parse_cache_limit(limit)) return;
  throw nb::value_error(("INGOT_CACHE_BYTES is no number of bytes: " + std::string(limit)).c_str());
}

}  // namespace

NB_MODULE(_ingot, m) {
  if (_import_array() < 0) throw nb::python_error();
  check_environment();
  find_matmul();
  find_main_thread();
  watch_interrupts();
  nb::class_<Code>(m, "Code")  // NOLINT(performance-unnecessary-value-param)
      .def_static("load", &Code::load, "object"_a)
      .def("run", &Code::run, "leaves"_a, "host"_a.none(), "library"_a.none(), "keeps"_a);
  m.def("memory", &memory);
  m.def("set_cache_limit", &runtime::Allocator::set_limit, "bytes"_a);
}

}  // namespace ingot::bindings
