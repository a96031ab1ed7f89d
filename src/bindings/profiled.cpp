#include "bindings/profiled.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <pthread.h>
#include <structmember.h>

#include <array>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "bindings/callable.h"
#include "interop/exceptions.h"
#include "profile/profile.h"

namespace ingot::bindings {

using nb::literals::operator""_a;
using profile::Activation;
using profile::Counts;
using profile::Frame;
using profile::Kind;
using profile::Label;
using profile::LabelId;

namespace {

constexpr std::array<const char*, 8> kKinds = {"region", "compiled", "compile", "load",
                                               "upload", "download", "zero",    "kernel"};

Kind kind_named(const std::string& name) {
  for (size_t i = 0; i < kKinds.size(); ++i)
    if (name == kKinds[i]) return static_cast<Kind>(i);
  throw nb::value_error("no kind of row");
}

// ---- Functions

struct Profiled {
  PyObject_HEAD vectorcallfunc call;
  PyObject* function;
  LabelId label;
  bool is_compiled;  ///< by `ingot.jit`: the call has one row, not two
};

Profiled& profiled(PyObject* self) { return *reinterpret_cast<Profiled*>(self); }

PyObject* call_profiled(PyObject* self, PyObject* const* arguments, size_t flagged, PyObject* keywords) {
  Profiled& it = profiled(self);
  if (!profile::is_on()) [[likely]]
    return PyObject_Vectorcall(it.function, arguments, flagged, keywords);
  return guarded(
      [&]() -> PyObject* {
        // What the function does may let go of it.
        const nb::object function = nb::borrow(it.function);
        const Activation activation(it.label);
        return it.is_compiled ? call_unrecorded(function.ptr(), arguments, flagged, keywords)
                              : PyObject_Vectorcall(function.ptr(), arguments, flagged, keywords);
      },
      nullptr);
}

PyObject* make_profiled(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* const self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  profiled(self).call = &call_profiled;
  profiled(self).function = Py_NewRef(Py_None);
  return self;
}

/// Profiled(function, label)
int initialise_profiled(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static const char* const kNames[] = {"function", "label", nullptr};
  PyObject* function = nullptr;
  unsigned label = 0;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "OI", const_cast<char**>(kNames), &function, &label) ==
      0)
    return -1;
  Py_XSETREF(profiled(self).function, Py_NewRef(function));
  profiled(self).label = label;
  profiled(self).is_compiled = is_compiled_function(function);
  return 0;
}

int traverse_profiled(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(profiled(self).function);
  return 0;
}

int clear_profiled(PyObject* self) {
  Py_XSETREF(profiled(self).function, Py_NewRef(Py_None));
  return 0;
}

void destroy_profiled(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Py_CLEAR(profiled(self).function);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* bind_to(PyObject* self, PyObject* instance, PyObject*) {
  return instance == nullptr || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

PyObject* wrapped(PyObject* self, void*) { return Py_NewRef(profiled(self).function); }

PyObject* label_number(PyObject* self, void*) { return PyLong_FromUnsignedLong(profiled(self).label); }

/// The function that is compiled instead of it.
PyObject* compiled_for(PyObject* self, void*) {
  PyObject* const function = profiled(self).function;
  if (!is_compiled_function(function) && !is_profiled_function(function)) return Py_NewRef(function);
  return PyObject_GetAttrString(function, "__ingot_function__");
}

/// Classes that Python makes have these of the base: they call, and are bound, in the same way.
PyObject* enable(PyObject* type, PyObject*) {
  auto* const made = reinterpret_cast<PyTypeObject*>(type);
  if (made->tp_call == &PyVectorcall_Call) made->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  if (made->tp_descr_get == &bind_to) made->tp_flags |= Py_TPFLAGS_METHOD_DESCRIPTOR;
  PyType_Modified(made);
  Py_RETURN_NONE;
}

nb::object profiled_type() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(Profiled, call), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyGetSetDef attributes[] = {
      {"__wrapped__", &wrapped, nullptr, "The function.", nullptr},
      {"__ingot_function__", &compiled_for, nullptr, "The function that compiled code has instead of it.",
       nullptr},
      {"_label", &label_number, nullptr, "The number of the row's label.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMethodDef methods[] = {{"__init_subclass__", &enable, METH_NOARGS | METH_CLASS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&make_profiled)},
                                {Py_tp_init, reinterpret_cast<void*>(&initialise_profiled)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(&destroy_profiled)},
                                {Py_tp_traverse, reinterpret_cast<void*>(&traverse_profiled)},
                                {Py_tp_clear, reinterpret_cast<void*>(&clear_profiled)},
                                {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                                {Py_tp_descr_get, reinterpret_cast<void*>(&bind_to)},
                                {Py_tp_members, members},
                                {Py_tp_getset, attributes},
                                {Py_tp_methods, methods},
                                {0, nullptr}};
  static PyType_Spec spec = {"ingot._ingot.profile.Profiled", sizeof(Profiled), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
                                 Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
                             slots};
  return nb::steal(PyType_FromSpec(&spec));
}

// ---- Regions

struct Region {
  PyObject_HEAD LabelId label;
  uint32_t open;  ///< frames that it owns
};

Region& region(PyObject* self) { return *reinterpret_cast<Region*>(self); }

/// Region(label)
int initialise_region(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static const char* const kNames[] = {"label", nullptr};
  unsigned label = 0;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "I", const_cast<char**>(kNames), &label) == 0)
    return -1;
  region(self).label = label;
  return 0;
}

void destroy_region(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  if (region(self).open > 0) profile::forget_owner(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* enter_region(PyObject* self, PyObject*) {
  if (!profile::is_on()) return Py_NewRef(self);
  return guarded(
      [&] {
        profile::Thread& here = profile::Thread::here();
        here.tree.enter(region(self).label, profile::ticks(), profile::next_number(), self);
        here.settle();
        ++region(self).open;
        return Py_NewRef(self);
      },
      nullptr);
}

PyObject* leave_region(PyObject* self, PyObject* const*, Py_ssize_t) {
  if (region(self).open > 0) {
    const int64_t now = profile::ticks();
    --region(self).open;
    profile::leave_owner(self, now);
  }
  Py_RETURN_NONE;
}

/// The numbers that a region that is open has been given.
template <class T, T Counts::* kWhich>
PyObject* count_of(PyObject* self, void*) {
  const Frame* const frame = region(self).open > 0 ? profile::frame_of(self) : nullptr;
  const T count = frame == nullptr ? T() : frame->counts.*kWhich;
  if constexpr (std::is_same_v<T, double>) return PyFloat_FromDouble(count);
  else return PyLong_FromLongLong(count);
}

template <class T, T Counts::* kWhich>
int set_count(PyObject* self, PyObject* value, void*) {
  if (value == nullptr) {
    PyErr_SetString(PyExc_AttributeError, "a count of a region cannot be deleted");
    return -1;
  }
  T count = 0;
  if constexpr (std::is_same_v<T, double>) {
    count = PyFloat_AsDouble(value);
  } else {
    const nb::object whole = nb::steal(PyNumber_Index(value));
    if (!whole.is_valid()) return -1;
    count = PyLong_AsLongLong(whole.ptr());
  }
  if (count == -1 && PyErr_Occurred() != nullptr) return -1;
  if (Frame* const frame = region(self).open > 0 ? profile::frame_of(self) : nullptr)
    frame->counts.*kWhich = count;
  return 0;
}

PyObject* label_of_region(PyObject* self, void*) { return PyLong_FromUnsignedLong(region(self).label); }

nb::object region_type() {
  static PyMethodDef methods[] = {
      {"__enter__", &enter_region, METH_NOARGS, nullptr},
      {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&leave_region)), METH_FASTCALL,
       nullptr},
      {nullptr, nullptr, 0, nullptr}};
  static PyGetSetDef attributes[] = {
      {"bytes_up", &count_of<int64_t, &Counts::bytes_up>, &set_count<int64_t, &Counts::bytes_up>,
       "Bytes that the call has moved to a device; 0 where nothing is counted.", nullptr},
      {"bytes_down", &count_of<int64_t, &Counts::bytes_down>, &set_count<int64_t, &Counts::bytes_down>,
       "Bytes that the call has moved from a device.", nullptr},
      {"flops", &count_of<double, &Counts::flops>, &set_count<double, &Counts::flops>,
       "Floating-point operations of the call.", nullptr},
      {"_label", &label_of_region, nullptr, "The number of the row's label.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_init, reinterpret_cast<void*>(&initialise_region)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(&destroy_region)},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, attributes},
                                {0, nullptr}};
  static PyType_Spec spec = {"ingot._ingot.profile.Region", sizeof(Region), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  return nb::steal(PyType_FromSpec(&spec));
}

// ---- What regions and decorators are asked of

struct Maker {
  PyObject_HEAD vectorcallfunc call;
  PyObject* type;    ///< of regions
  PyObject* labels;  ///< a dict: the number of a label by the name of a region
};

Maker& maker(PyObject* self) { return *reinterpret_cast<Maker*>(self); }

/// A region of a name that is known; all else is made by the method `_made`.
PyObject* call_maker(PyObject* self, PyObject* const* arguments, size_t flagged, PyObject* keywords) {
  const Maker& it = maker(self);
  if (PyVectorcall_NARGS(flagged) == 1 && keywords == nullptr && PyUnicode_CheckExact(arguments[0])) {
    PyObject* const label = PyDict_GetItemWithError(it.labels, arguments[0]);
    if (label == nullptr && PyErr_Occurred() != nullptr) return nullptr;
    if (label != nullptr) {
      auto* const type = reinterpret_cast<PyTypeObject*>(it.type);
      PyObject* const made = type->tp_alloc(type, 0);
      if (made != nullptr) region(made).label = static_cast<LabelId>(PyLong_AsUnsignedLong(label));
      return made;
    }
  }
  const nb::object make = nb::steal(PyObject_GetAttrString(self, "_made"));
  if (!make.is_valid()) return nullptr;
  return PyObject_Vectorcall(make.ptr(), arguments, flagged & ~PY_VECTORCALL_ARGUMENTS_OFFSET, keywords);
}

PyObject* make_maker(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* const self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  maker(self).call = &call_maker;
  maker(self).type = Py_NewRef(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  maker(self).labels = PyDict_New();
  return self;
}

/// Maker(type, labels)
int initialise_maker(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static const char* const kNames[] = {"type", "labels", nullptr};
  PyObject* type = nullptr;
  PyObject* labels = nullptr;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "O!O!", const_cast<char**>(kNames), &PyType_Type,
                                  &type, &PyDict_Type, &labels) == 0)
    return -1;
  const nb::object base = nb::module_::import_("ingot._ingot").attr("profile").attr("Region");
  if (PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), reinterpret_cast<PyTypeObject*>(base.ptr())) ==
      0) {
    PyErr_SetString(PyExc_TypeError, "regions are of a subclass of Region");
    return -1;
  }
  Py_XSETREF(maker(self).type, Py_NewRef(type));
  Py_XSETREF(maker(self).labels, Py_NewRef(labels));
  return 0;
}

int traverse_maker(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(maker(self).type);
  Py_VISIT(maker(self).labels);
  return 0;
}

void destroy_maker(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Py_CLEAR(maker(self).type);
  Py_CLEAR(maker(self).labels);
  type->tp_free(self);
  Py_DECREF(type);
}

nb::object maker_type() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(Maker, call), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyMethodDef methods[] = {{"__init_subclass__", &enable, METH_NOARGS | METH_CLASS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&make_maker)},
                                {Py_tp_init, reinterpret_cast<void*>(&initialise_maker)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(&destroy_maker)},
                                {Py_tp_traverse, reinterpret_cast<void*>(&traverse_maker)},
                                {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                                {Py_tp_members, members},
                                {Py_tp_methods, methods},
                                {0, nullptr}};
  static PyType_Spec spec = {
      "ingot._ingot.profile.Maker", sizeof(Maker), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};
  return nb::steal(PyType_FromSpec(&spec));
}

// ---- Calls that are left and gone on with

/// A generator, or a coroutine: the time of its call is that of its steps.
class Steps {
 public:
  explicit Steps(LabelId label) : label_(label) {}

  void enter() {
    if (!profile::is_on()) return;
    profile::Thread& here = profile::Thread::here();
    number_ = profile::next_number();
    here.tree.enter_step(label_, profile::ticks(), number_);
    here.settle();
    if (thread_) return;
    thread_ = here.shared_from_this();
    first_ = {here.tree.current(), here.age};
    ++here.tree.node(first_.node).calls;
  }
  void leave() {
    if (number_ == 0) return;
    const int64_t now = profile::ticks();
    profile::Thread& here = profile::Thread::here();
    const size_t at = here.tree.find(std::exchange(number_, 0));
    if (at >= here.tree.frames().size()) return;
    spent_ += now - here.tree.frames()[at].start;
    here.leave(at, now);
  }
  /// There are no more: the length of the call is known.
  void end() {
    if (thread_ && thread_->age == first_.age) thread_->tree.node(first_.node).end_call(spent_);
    thread_.reset();
  }

 private:
  LabelId label_;
  uint64_t number_ = 0;
  int64_t spent_ = 0;
  std::shared_ptr<profile::Thread> thread_;
  profile::Spot first_{};  ///< where the call is counted
};

/// A region of Ingot's own, which Python opens and closes.
class Compiling {
 public:
  Compiling(LabelId around, LabelId label) : around_(around), label_(label) {}
  void enter() {
    if (profile::is_on()) activation_ = std::make_unique<Activation>(around_, label_);
  }
  void exit(const nb::args&) { activation_.reset(); }

 private:
  LabelId around_;
  LabelId label_;
  std::unique_ptr<Activation> activation_;
};

// ---- What is asked for

nb::tuple described(const Label& label) {
  return nb::make_tuple(label.name, kKinds[static_cast<size_t>(label.kind)], label.implementation,
                        label.device);
}

/// (path, kind, implementation, device, calls, seconds, own seconds, shortest, longest, bytes up, bytes down,
/// flops, threads, their names) of each row; shortest is None where no call has ended.
nb::list rows() {
  const std::vector<profile::Row> all = profile::rows();
  const profile::Scale scale;
  nb::list all_rows;
  for (const profile::Row& row : all) {
    nb::list path;
    for (const LabelId label : row.path) path.append(profile::label_of(label).name);
    const Label label = profile::label_of(row.path.back());
    const profile::Node& it = row.counted;
    nb::object shortest = nb::none();
    if (it.shortest <= it.longest) shortest = nb::float_(scale.seconds(it.shortest));
    nb::list names;
    for (const std::string& name : row.names) names.append(name);
    all_rows.append(nb::make_tuple(
        nb::tuple(path), kKinds[static_cast<size_t>(label.kind)], label.implementation, label.device,
        it.calls, scale.seconds(it.total), scale.seconds(it.own), shortest, scale.seconds(it.longest),
        it.counts.bytes_up, it.counts.bytes_down, it.counts.flops, row.threads, nb::tuple(names)));
  }
  return all_rows;
}

/// (number of the thread, name, events, events that there was no memory for) of each thread; an event is
/// (name, kind, implementation, device, nanosecond of its start, nanoseconds).
nb::list events() {
  profile::settle_kernels(true);
  const profile::Scale scale;
  nb::list all;
  for (const std::shared_ptr<profile::Thread>& thread : profile::threads()) {
    thread->find_name();
    nb::list own;
    const auto put = [&](LabelId label, int64_t start, int64_t stop) {
      const int64_t from = scale.nanoseconds_at(start);
      own.append(described(profile::label_of(label)) +
                 nb::make_tuple(from, scale.nanoseconds_at(stop) - from));
    };
    for (const profile::Event& event : thread->events)
      put(thread->tree.node(event.node).label, event.start, event.stop);
    for (const profile::WorkEvent& event : thread->copied_work_events())
      put(event.label, event.start, event.stop);
    all.append(
        nb::make_tuple(thread->number, thread->name, own, thread->lost_events + thread->lost_work_events));
  }
  return all;
}

void add(LabelId label, double seconds, int64_t calls, int64_t bytes_up, int64_t bytes_down, double flops) {
  if (!profile::is_on()) return;
  const int64_t length = seconds == 0 ? 0 : profile::Scale().ticks_of(seconds);
  const bool is_inside = profile::label_of(label).device.empty();
  profile::Thread& here = profile::Thread::here();
  here.tree.add(label, calls, length, {bytes_up, bytes_down, flops}, is_inside);
}

}  // namespace

bool is_profiled_function(PyObject* object) {
  return Py_TYPE(object)->tp_vectorcall_offset == offsetof(Profiled, call) &&
         profiled(object).call == &call_profiled;
}

void bind_profile(nb::module_& m) {
  nb::module_ it = m.def_submodule("profile");
  it.attr("Profiled") = profiled_type();
  it.attr("Region") = region_type();
  it.attr("Maker") = maker_type();
  nb::class_<Steps>(it, "Steps")
      .def(nb::init<LabelId>(), "label"_a)
      .def("enter", &Steps::enter)
      .def("leave", &Steps::leave)
      .def("end", &Steps::end);
  nb::class_<Compiling>(it, "Compiling")
      .def(nb::init<LabelId, LabelId>(), "around"_a, "label"_a)
      .def("__enter__", &Compiling::enter)
      .def("__exit__", &Compiling::exit);
  it.def(
      "label",
      [](const std::string& name, const std::string& kind, const std::string& implementation,
         const std::string& device) {
        return profile::number_of({name, implementation, device, kind_named(kind)});
      },
      "name"_a, "kind"_a = "region", "implementation"_a = "", "device"_a = "", "The number of a label.");
  it.def(
      "label_of", [](LabelId label) { return described(profile::label_of(label)); }, "label"_a,
      "(name, kind, implementation, device)");
  it.def("start", &profile::start, "traces"_a);
  it.def("stop", &profile::stop);
  it.def("reset", &profile::reset);
  it.def("is_on", &profile::is_on);
  it.def("is_tracing", &profile::is_tracing);
  it.def("rows", &rows);
  it.def("events", &events);
  it.def("add", &add, "label"_a, "seconds"_a, "calls"_a, "bytes_up"_a, "bytes_down"_a, "flops"_a);
  it.def("uncounted", &profile::uncounted_work);
  it.def("begin_in_child", &profile::begin_in_child);
  // Within the system's call, since Python's other threads may want labels before it.
  pthread_atfork(&profile::hold_labels, &profile::release_labels, &profile::release_labels);
}

}  // namespace ingot::bindings
