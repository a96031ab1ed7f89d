#include "bindings/callable.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <structmember.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/binding.h"
#include "bindings/counted.h"
#include "bindings/fields.h"
#include "bindings/guards.h"
#include "bindings/profiled.h"
#include "bindings/recogniser.h"
#include "bindings/signature.h"
#include "bindings/specialisation.h"
#include "bindings/streams.h"
#include "eager/device_array.h"
#include "eager/pending.h"
#include "interop/exceptions.h"
#include "interop/gil.h"
#include "interop/numpy.h"
#include "profile/profile.h"

namespace ingot::bindings {

using nb::literals::operator""_a;

namespace {

/// The description of a list of arguments, for Python.
struct Arguments {
  Counted<const Parameters> parameters;  ///< as they were: describing may run code
  std::unique_ptr<Signature> signature = std::make_unique<Signature>();
  nb::object values{};  ///< what the signature does not hold itself

  /// Whether other values are recognised as arguments of this description.
  bool recognises(const nb::list& others) const {
    std::vector<PyObject*> given;
    for (const nb::handle value : others) given.push_back(value.ptr());
    Recogniser recogniser;
    return Recogniser::knows(signature->words()) &&
           recogniser.recognise(*parameters, given, signature->words(), signature->objects());
  }

  static nb::list list_of(std::span<PyObject* const> objects) {
    nb::list list;
    for (PyObject* object : objects) list.append(nb::handle(object));
    return list;
  }
};

/// A description that is known, with the specialisations of it.
class Known {
 public:
  Known(const Signature& signature, nb::list candidates)
      : words_(signature.words().begin(), signature.words().end()),
        candidates_(std::move(candidates)),
        is_recognised_(Recogniser::knows(words_)) {
    for (PyObject* object : signature.objects()) {
      kept_.push_back(private_of(object));
      objects_.push_back(kept_.back().ptr());
    }
  }

  /// Runs no code of the user's.
  bool is(const Signature& signature) const {
    const std::span<const uint64_t> words = signature.words();
    if (words.size() != words_.size()) return false;
    for (size_t i = 0; i < words_.size(); ++i)
      if (words[i] != words_[i]) return false;
    return std::ranges::equal(objects_, signature.objects(), &is_one_object);
  }
  /// The same of arguments that a Recogniser knows; false may also mean that it does not.
  bool is(const Parameters& parameters, std::span<PyObject* const> values, Recogniser& recogniser) const {
    return is_recognised_ && recogniser.recognise(parameters, values, words_, objects_);
  }
  const nb::list& candidates() const { return candidates_; }

  int traverse(visitproc visit, void* argument) const {
    for (const nb::object& object : kept_)
      if (const int stop = visit(object.ptr(), argument); stop != 0) return stop;
    return visit(candidates_.ptr(), argument);
  }

 private:
  std::vector<uint64_t> words_;
  std::vector<PyObject*> objects_;
  std::vector<nb::object> kept_;  ///< these objects
  nb::list candidates_;
  bool is_recognised_;
};

struct State {
  nb::object function;
  nb::object shown;  ///< what calls it where a profiler looks; invalid: none has yet
  Counted<const Parameters> parameters;
  Counted<const Binding> binding;           ///< none: the function's parameters are not known yet
  std::vector<nb::object> kept;             ///< what the captures point to
  std::vector<Counted<const Known>> known;  ///< the last used ones first, roughly
  eager::Operation* operation = nullptr;    ///< what calls are that may wait; `kept` has it
  std::optional<profile::LabelId> label;    ///< in profiles
  bool is_reduction = false;                ///< calls may compute what their first argument waits for

  static constexpr size_t kMaxKnown = 64;
  static constexpr size_t kMostTried = 2;  ///< of these, before arguments are described
  static constexpr size_t kMostTriedOfAlike = 16;

  nb::tuple captures() const;
  nb::tuple demanded() const;
  Counted<const Known> find(const Signature& signature);
  void bring_forward(size_t number);
  void forget();
  template <class Fn>
  void describe_otherwise(Fn&& change);
};

struct Object {
  PyObject_HEAD vectorcallfunc call;
  State* state;
};

Object& object_of(PyObject* self) { return *reinterpret_cast<Object*>(self); }

nb::tuple State::captures() const {
  nb::list all;
  for (const Capture& capture : parameters->captures)
    all.append(nb::make_tuple(nb::handle(capture.owner), nb::handle(capture.name)));
  return nb::tuple(all);
}

nb::tuple State::demanded() const {
  nb::list all;
  for (size_t i = 0; i < parameters->details.size(); ++i)
    if (parameters->details[i].is_demanded) all.append(i);
  return nb::tuple(all);
}

/// Everything known. Objects that are released with it may run code, which must not see it half cleared.
void State::forget() { const std::vector<Counted<const Known>> gone = std::exchange(known, {}); }

/// Changes what is described of arguments. A thread that describes some at the moment goes on with the old.
template <class Fn>
void State::describe_otherwise(Fn&& change) {
  Parameters changed = *parameters;
  change(changed);
  parameters = Counted<const Parameters>::make(std::move(changed));
  forget();
}

/// The one of this number is looked at earlier from now on.
void State::bring_forward(size_t number) {
  if (number > 0 && number < known.size()) std::swap(known[number - 1], known[number]);
}

/// What is known of a description; none: nothing.
Counted<const Known> State::find(const Signature& signature) {
  for (size_t i = 0; i < known.size(); ++i) {
    if (!known[i]->is(signature)) continue;
    Counted<const Known> found = known[i];
    bring_forward(i);
    return found;
  }
  return {};
}

/// The first of the specialisations whose guards hold; null: none.
nb::object choose(const nb::list& candidates) {
  // By index, since a guard that looks something up may make the list longer.
  for (size_t i = 0; i < candidates.size(); ++i) {  // NOLINT(modernize-loop-convert)
    nb::object candidate = candidates[i];
    if (nb::inst_ptr<Specialisation>(candidate)->guards().changed() == nullptr) return candidate;
  }
  return {};
}

/// The same without running code of the user's; null: none, or code would run.
nb::object choose_quietly(const nb::list& candidates) {
  for (size_t i = 0; i < candidates.size(); ++i) {  // NOLINT(modernize-loop-convert)
    nb::object candidate = candidates[i];
    const Guards& guards = nb::inst_ptr<Specialisation>(candidate)->guards();
    if (guards.runs_code()) return {};
    if (guards.changed() == nullptr) return candidate;
  }
  return {};
}

/// The result of a call whose arguments have been recognised; an invalid object: it needs more.
nb::object call_known(const Known& known, const Recogniser& recogniser) {
  const nb::list& candidates = known.candidates();
  const nb::object chosen = choose_quietly(candidates);
  if (!chosen.is_valid()) return {};
  const Specialisation& specialisation = *nb::inst_ptr<Specialisation>(chosen);
  if (!specialisation.is_callable(recogniser.leaves())) return {};
  return specialisation.call({recogniser.leaves(), recogniser.containers(), {}, {}});
}

/// The result of a call of NumPy's arrays, numbers and containers of these like the last ones that are known;
/// an invalid object: it is another call and has not begun, or an exception is set.
nb::object call_recognised(State& state, const Counted<const Parameters>& parameters, const Bound& bound) {
  const size_t most = parameters->has_alike ? State::kMostTriedOfAlike : State::kMostTried;
  for (size_t i = 0; i < std::min(state.known.size(), most); ++i) {
    const Counted<const Known> known = state.known[i];
    Recogniser recogniser;
    if (known->is(*parameters, bound.values, recogniser)) {
      state.bring_forward(i);
      return call_known(*known, recogniser);
    }
    if (PyErr_Occurred() != nullptr || !(parameters == state.parameters)) return {};
  }
  return {};
}

/// The result of a call of arguments that are known, which needs nothing of Python's; an invalid object: it
/// does, and has not begun.
nb::object call_described(const Parameters& parameters, const Known& known, const Signature& signature,
                          const Bound& bound) {
  const nb::list candidates = known.candidates();
  const nb::object chosen = choose(candidates);
  if (!chosen.is_valid()) return {};
  const Specialisation& specialisation = *nb::inst_ptr<Specialisation>(chosen);
  if (!specialisation.is_callable(signature.leaves())) return {};
  if (!specialisation.guards().runs_code()) return specialisation.call(signature.given());
  // Code of the user's has run since the arguments were described.
  Signature again;
  if (!again.describe_quickly(parameters, bound.values.data(), bound.values.size())) return {};
  if (!Known(signature, candidates).is(again)) return {};
  return specialisation.call(again.given());
}

/// The arguments of a vectorcall as a tuple and a dict.
std::pair<nb::object, nb::dict> packed(PyObject* const* arguments, size_t count, PyObject* keywords) {
  nb::object positional = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(count)));
  if (!positional.is_valid()) throw nb::python_error();
  for (size_t i = 0; i < count; ++i)
    PyTuple_SET_ITEM(positional.ptr(), static_cast<Py_ssize_t>(i), Py_NewRef(arguments[i]));
  nb::dict named;
  const Py_ssize_t given = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t k = 0; k < given; ++k)
    if (PyDict_SetItem(named.ptr(), PyTuple_GET_ITEM(keywords, k),
                       arguments[count + static_cast<size_t>(k)]) != 0)
      throw nb::python_error();
  return {std::move(positional), std::move(named)};
}

/// Whether a class has got a `__call__` since it was made; from then on it is called without vectorcall, as
/// the classes that are made with one.
bool has_call_of_its_own(PyTypeObject* type) {
  if (type->tp_call == &PyVectorcall_Call || (type->tp_flags & Py_TPFLAGS_HAVE_VECTORCALL) == 0) return false;
  type->tp_flags &= ~Py_TPFLAGS_HAVE_VECTORCALL;
  return true;
}

/// The file of the code that an entry of a traceback is in.
nb::object file_of(const nb::object& traceback) {
  return traceback.attr("tb_frame").attr("f_code").attr("co_filename");
}

/// Changes the traceback of the exception that is set: `changed` returns another one for it, or None.
template <class Fn>
void change_traceback(Fn&& changed) {
  PyObject* fetched[3] = {};
  PyErr_Fetch(&fetched[0], &fetched[1], &fetched[2]);
  PyErr_NormalizeException(&fetched[0], &fetched[1], &fetched[2]);
  nb::object type = nb::steal(fetched[0]);
  nb::object value = nb::steal(fetched[1]);
  nb::object traceback = nb::steal(fetched[2]);
  if (traceback.is_valid()) traceback = changed(traceback);
  if (traceback.is_none()) traceback = nb::object();
  if (value.is_valid())
    PyException_SetTraceback(value.ptr(), traceback.is_valid() ? traceback.ptr() : Py_None);
  PyErr_Restore(type.release().ptr(), value.release().ptr(), traceback.release().ptr());
}

/// Calls the Python side. Its own lines, in private parts of the package (`_calls`, `_host`), are left out of
/// the traceback of what the call raises.
PyObject* call_in_python(PyObject* self, const nb::object& positional, const nb::dict& named,
                         const nb::object& bound) {
  try {
    return nb::handle(self).attr("_call")(positional, named, bound).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
  }
  change_traceback([](nb::object rest) {
    const nb::object first = file_of(rest).attr("rpartition")("/_");
    const nb::object own = nb::object(first[0]) + nb::object(first[1]);
    const auto is_own = [&] { return nb::cast<bool>(file_of(rest).attr("startswith")(own)); };
    while (!rest.is_none() && is_own()) rest = rest.attr("tb_next");
    return rest;
  });
  return nullptr;
}

#if PY_VERSION_HEX >= 0x030c0000
/// Whether the profiler's tool of `sys.monitoring` is in use. C has no function for it, so `sys` is asked.
bool has_monitoring_tools() {
  static PyObject* const tool_of =
      nb::object(nb::module_::import_("sys").attr("monitoring").attr("get_tool")).release().ptr();
  static PyObject* const profiler =
      nb::object(nb::module_::import_("sys").attr("monitoring").attr("PROFILER_ID")).release().ptr();
  return !nb::handle(tool_of)(nb::handle(profiler)).is_none();
}
#endif

/// Whether a profiler wants to see the calls of this thread: a function of `sys.setprofile`, or a tool of
/// `sys.monitoring`, as cProfile is one from Python 3.12 on.
bool is_profiled() {
#if PY_VERSION_HEX < 0x030c0000
  return PyThreadState_GET()->c_profilefunc != nullptr;
#else
  return PyThreadState_GET()->c_profilefunc != nullptr || has_monitoring_tools();
#endif
}

/// A call as a profiler sees it: by a Python function that has name, file and line of the compiled one.
PyObject* call_shown(PyObject* self, State& state, PyObject* const* arguments, size_t flagged,
                     PyObject* keywords) {
  if (!state.shown.is_valid())
    state.shown = nb::module_::import_("ingot._calls.function").attr("shown_to_profilers")(nb::handle(self));
  const nb::object shown = state.shown;
  PyObject* const result = PyObject_Vectorcall(shown.ptr(), arguments, flagged, keywords);
  if (result != nullptr) return result;
  change_traceback([](const nb::object& rest) -> nb::object { return rest.attr("tb_next"); });
  return nullptr;
}

/// Computes pending operations that must be computed before a call with these arguments.
void compute_arguments(const State& state, PyObject* const* arguments, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!eager::is_device_array(arguments[i])) continue;
    eager::compute(arguments[i]);
    if (!state.parameters->only_reads) eager::compute_readers(*eager::device_array(arguments[i]).memory);
  }
}

bool waits(PyObject* object) {
  return eager::is_device_array(object) && eager::is_pending(eager::device_array(object));
}

/// The result of a call that need not run now, or that runs together with pending operations; an invalid
/// object: it is a call as any other. Where only the caller's stack refers to an argument, nobody looks at it
/// later.
nb::object call_waiting(PyObject* self, const State& state, PyObject* const* arguments, size_t count,
                        PyObject* keywords) {
  nb::object result;
  if (state.operation != nullptr && keywords == nullptr) {
    result = eager::Pending::of(*state.operation, arguments, count);
    if (result.is_valid() || !state.operation->is_in_place() || count != 2 ||
        !eager::is_device_array(arguments[0]) || waits(arguments[0]) || !waits(arguments[1]))
      return result;
    result = nb::module_::import_("ingot._operations.lazy")
                 .attr("written_by")(state.operation->number(), nb::handle(arguments[0]),
                                     nb::handle(arguments[1]), Py_REFCNT(arguments[1]) == 1);
  } else if (state.is_reduction && count > 0 && waits(arguments[0])) {
    const bool is_dropped = Py_REFCNT(arguments[0]) == 1;
    const auto [positional, named] = packed(arguments, count, keywords);
    result = nb::module_::import_("ingot._operations.lazy")
                 .attr("reduced")(nb::handle(self), positional, named, is_dropped);
  }
  return result.ptr() == Py_NotImplemented ? nb::object() : result;
}

/// The result of a call without Python; an invalid object: it has not begun, or an exception is set. Then
/// `in_python` becomes what Python need not find out again: the values of the parameters and their
/// description, `Arguments`, or None; an invalid object: Python binds them.
nb::object call_bound(State& state, PyObject* const* arguments, size_t count, PyObject* keywords,
                      nb::object& in_python) {
  // Where code runs meanwhile, what is known may change.
  const Counted<const Parameters> parameters = state.parameters;
  const Counted<const Binding> binding = state.binding;
  Bound bound;
  const bool is_bound = binding && binding->bind(state.function.ptr(), arguments, count, keywords, bound);
  if (is_bound) {
    nb::object result = call_recognised(state, parameters, bound);
    if (result.is_valid() || PyErr_Occurred() != nullptr) return result;
  }
  const size_t named = keywords == nullptr ? 0 : static_cast<size_t>(PyTuple_GET_SIZE(keywords));
  compute_arguments(state, arguments, count + named);
  if (!is_bound) return {};
  auto described = std::make_unique<Arguments>();
  Signature& signature = *described->signature;
  nb::object description = nb::none();
  if (signature.describe_quickly(*parameters, bound.values.data(), bound.values.size())) {
    if (const Counted<const Known> known = state.find(signature)) {
      nb::object result = call_described(*parameters, *known, signature, bound);
      if (result.is_valid()) return result;
    } else if (parameters == state.parameters) {
      described->parameters = parameters;
      described->values = nb::tuple(Arguments::list_of(bound.values));
      description = nb::cast(std::move(described));
    }
  }
  in_python = nb::make_tuple(Arguments::list_of(bound.values), description);
  return {};
}

/// A call whose exceptions do not show its arguments.
PyObject* call_barely(PyObject* self, State* state, PyObject* const* arguments, size_t count,
                      PyObject* keywords) {
  nb::object bound;
  if (state != nullptr) {
    if (nb::object result = call_waiting(self, *state, arguments, count, keywords); result.is_valid())
      return result.release().ptr();
    if (nb::object result = call_bound(*state, arguments, count, keywords, bound); result.is_valid())
      return result.release().ptr();
    if (PyErr_Occurred() != nullptr) return nullptr;
  }
  const auto [positional, named] = packed(arguments, count, keywords);
  return call_in_python(self, positional, named, bound.is_valid() ? bound : nb::none());
}

/// A call as one that no profiler sees.
PyObject* call_unseen(PyObject* self, State* state, PyObject* const* arguments, size_t count,
                      PyObject* keywords) {
  try {
    PyObject* const result = call_barely(self, state, arguments, count, keywords);
    if (result != nullptr || state == nullptr) return result;
  } catch (nb::python_error& error) {
    error.restore();
    if (state == nullptr) return nullptr;
  }
  change_traceback([&](const nb::object& traceback) -> nb::object {
    const auto [positional, named] = packed(arguments, count, keywords);
    return nb::module_::import_("ingot._host.frames")
        .attr("with_arguments")(nb::handle(self), traceback, positional, named);
  });
  return nullptr;
}

/// The label of its calls in profiles: made of its name, unless it has been given another.
profile::LabelId label_of(PyObject* self, State& state) {
  if (state.label) return *state.label;
  const nb::str shown_name(nb::handle(self).attr("__qualname__"));
  const std::string name(shown_name.c_str());
  const size_t local = name.rfind("<locals>.");
  const std::string shown = local == std::string::npos ? name : name.substr(local + 9);
  state.label = profile::number_of({shown, "ingot", "", profile::Kind::Compiled});
  return *state.label;
}

/// A call that a profiler of Python's may look at.
PyObject* call_seen(PyObject* self, State& state, PyObject* const* arguments, size_t flagged,
                    PyObject* keywords) {
  if (is_profiled()) return call_shown(self, state, arguments, flagged, keywords);
  return call_unseen(self, &state, arguments, static_cast<size_t>(PyVectorcall_NARGS(flagged)), keywords);
}

/// A call that Ingot's profile counts.
[[gnu::noinline]] PyObject* call_counted(PyObject* self, State& state, PyObject* const* arguments,
                                         size_t flagged, PyObject* keywords) {
  const profile::Activation activation(label_of(self, state));
  return call_seen(self, state, arguments, flagged, keywords);
}

PyObject* call(PyObject* self, PyObject* const* arguments, size_t flagged, PyObject* keywords) {
  return guarded(
      [&]() -> PyObject* {
        const auto count = static_cast<size_t>(PyVectorcall_NARGS(flagged));
        State* const state = object_of(self).state;
        if (has_call_of_its_own(Py_TYPE(self))) {
          const auto [positional, named] = packed(arguments, count, keywords);
          return Py_TYPE(self)->tp_call(self, positional.ptr(), named.ptr());
        }
        if (state != nullptr && profile::is_on()) [[unlikely]]
          return call_counted(self, *state, arguments, flagged, keywords);
        if (state != nullptr && is_profiled()) [[unlikely]]
          return call_shown(self, *state, arguments, flagged, keywords);
        return call_unseen(self, state, arguments, count, keywords);
      },
      nullptr);
}

/// The same for Python: `arguments` and `keywords` as a function has them.
nb::object call_behind_profile(nb::handle self, const nb::tuple& arguments, const nb::dict& keywords) {
  State* const state = object_of(self.ptr()).state;
  std::vector<PyObject*> values;
  for (const nb::handle value : arguments) values.push_back(value.ptr());
  for (const auto& [name, value] : keywords) values.push_back(value.ptr());
  const nb::tuple names(keywords.attr("keys")());
  PyObject* const given = names.size() == 0 ? nullptr : names.ptr();
  PyObject* const result = call_unseen(self.ptr(), state, values.data(), arguments.size(), given);
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

/// (specialisation, leaves) of arguments that are known; None: `Function._prepare` finds them.
nb::object prepared(nb::handle self, const nb::tuple& arguments, const nb::dict& keywords) {
  State* const state = object_of(self.ptr()).state;
  if (state == nullptr) return nb::none();
  std::vector<PyObject*> values;
  for (const nb::handle value : arguments) values.push_back(value.ptr());
  for (const auto& [name, value] : keywords) values.push_back(value.ptr());
  const nb::tuple names(keywords.attr("keys")());
  const Counted<const Parameters> parameters = state->parameters;
  const Counted<const Binding> binding = state->binding;
  Bound bound;
  Signature signature;
  PyObject* const given = names.size() == 0 ? nullptr : names.ptr();
  if (state->known.empty() ||
      !binding->bind(state->function.ptr(), values.data(), arguments.size(), given, bound))
    return nb::none();
  if (!signature.describe_quickly(*parameters, bound.values.data(), bound.values.size())) return nb::none();
  const Counted<const Known> known = state->find(signature);
  if (!known) return nb::none();
  const nb::list candidates = known->candidates();
  nb::object chosen = choose(candidates);
  if (!chosen.is_valid() || nb::inst_ptr<Specialisation>(chosen)->guards().runs_code()) return nb::none();
  return nb::make_tuple(std::move(chosen), Arguments::list_of(signature.leaves()));
}

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* const self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  object_of(self).call = &call;
  object_of(self).state = nullptr;
  return self;
}

/// Callable(function, layouts)
int initialise(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static const char* const kNames[] = {"function", "layouts", nullptr};
  PyObject* function = nullptr;
  int sees_layout = 0;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "O!p", const_cast<char**>(kNames), &PyFunction_Type,
                                  &function, &sees_layout) == 0)
    return -1;
  return guarded(
      [&] {
        auto state = std::make_unique<State>();
        state->function = nb::borrow(function);
        Parameters parameters;
        parameters.sees_layout = sees_layout != 0;
        state->parameters = Counted<const Parameters>::make(std::move(parameters));
        if (object_of(self).state != nullptr) throw nb::type_error("a function is initialised once");
        object_of(self).state = state.release();
        return 0;
      },
      -1);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const State* const state = object_of(self).state;
  if (state == nullptr) return 0;
  Py_VISIT(state->function.ptr());
  Py_VISIT(state->shown.ptr());
  for (const nb::object& object : state->kept) Py_VISIT(object.ptr());
  for (const Counted<const Known>& known : state->known)
    if (const int stop = known->traverse(visit, arg); stop != 0) return stop;
  return 0;
}

int clear(PyObject* self) {
  delete std::exchange(object_of(self).state, nullptr);
  return 0;
}

void destroy(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* bind_to(PyObject* self, PyObject* instance, PyObject*) {
  return instance == nullptr || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

bool is_one(PyObject* object) {
  return Py_TYPE(object)->tp_vectorcall_offset == offsetof(Object, call) && object_of(object).call == &call;
}

State& state_of(nb::handle self) {
  State* const state = is_one(self.ptr()) ? object_of(self.ptr()).state : nullptr;
  if (state == nullptr) throw nb::type_error("a function that has not been initialised");
  return *state;
}

/// As they are described before anything is known of them but their types.
Parameters without_facts(Parameters parameters) {
  parameters.captures.clear();
  parameters.attributes.clear();
  parameters.details.resize(parameters.names.size());
  for (Detail& detail : parameters.details) detail = {.is_static = detail.is_static};
  return parameters;
}

std::unique_ptr<Arguments> described(nb::handle self, const nb::list& values,
                                     Counted<const Parameters> given_parameters) {
  auto arguments = std::make_unique<Arguments>();
  arguments->parameters = std::move(given_parameters);
  const Parameters& parameters = *arguments->parameters;
  std::vector<PyObject*> given;
  for (const nb::handle value : values) given.push_back(value.ptr());
  if (given.size() != parameters.names.size()) throw nb::value_error("a value for each parameter is wanted");
  const nb::object refusal = self.attr("_refusal");
  if (!arguments->signature->describe(parameters, given.data(), given.size(), refusal.ptr()))
    throw nb::python_error();
  return arguments;
}

std::unique_ptr<Arguments> describe(nb::handle self, const nb::list& values) {
  return described(self, values, state_of(self).parameters);
}

std::unique_ptr<Arguments> describe_plainly(nb::handle self, const nb::list& values) {
  return described(self, values, Counted<const Parameters>::make(without_facts(*state_of(self).parameters)));
}

void remember(nb::handle self, const Arguments& arguments, nb::list candidates) {
  State& state = state_of(self);
  if (!(arguments.parameters == state.parameters)) return;  // calls are described otherwise now
  if (!arguments.signature->is_closed() || state.find(*arguments.signature)) return;
  for (const nb::handle candidate : candidates)
    if (!nb::isinstance<Specialisation>(candidate)) throw nb::type_error("a candidate is a Specialisation");
  Counted<const Known> last;  // dies when all is as it should be
  if (state.known.size() == State::kMaxKnown) {
    last = std::move(state.known.back());
    state.known.pop_back();
  }
  state.known.push_back(Counted<const Known>::make(*arguments.signature, std::move(candidates)));
}

/// From now on calls are bound by these parameters, of which nothing is known yet.
void bind_by(nb::handle self, nb::object code, nb::tuple names, size_t positional, size_t positional_only,
             bool has_rest, bool has_others) {
  State& state = state_of(self);
  auto binding = Counted<const Binding>::make(std::move(code), std::move(names), positional, positional_only,
                                              has_rest, has_others);
  Parameters fresh;
  fresh.names = binding->names();
  fresh.details.resize(fresh.names.size());
  fresh.sees_layout = state.parameters->sees_layout;
  fresh.device = state.parameters->device;
  fresh.only_reads = state.parameters->only_reads;
  fresh.has_alike = state.parameters->has_alike;
  state.parameters = Counted<const Parameters>::make(std::move(fresh));
  std::swap(state.binding, binding);
  state.forget();
}

template <bool Detail::* kWhich>
void describe_more(nb::handle self, size_t number) {
  state_of(self).describe_otherwise(
      [&](Parameters& parameters) { parameters.details.at(number).*kWhich = true; });
}

void fix(nb::handle self, const nb::tuple& numbers, const nb::tuple& indices, const nb::tuple& names) {
  State& state = state_of(self);
  state.describe_otherwise([&](Parameters& parameters) {
    for (const nb::handle number : numbers) parameters.details.at(nb::cast<size_t>(number)).is_static = true;
    parameters.rest = state.binding->positional();
    for (const nb::handle index : indices) parameters.static_positions.push_back(nb::cast<size_t>(index));
    for (const nb::handle name : names) {
      parameters.static_names.push_back(name.ptr());
      state.kept.push_back(nb::borrow(name));
    }
  });
}

void open_texts(nb::handle self, const nb::tuple& arguments) {
  state_of(self).describe_otherwise([&](Parameters& parameters) {
    for (Detail& detail : parameters.details) detail.is_opened = false;
    for (const nb::handle number : arguments)
      parameters.details.at(nb::cast<size_t>(number)).is_opened = true;
  });
}

void describe_attributes(nb::handle self, nb::object type, const nb::tuple& names) {
  State& state = state_of(self);
  state.describe_otherwise([&](Parameters& parameters) {
    auto* const it = reinterpret_cast<PyTypeObject*>(type.ptr());
    std::vector<Attributes>& all = parameters.attributes;
    auto known = std::find_if(all.begin(), all.end(), [&](const Attributes& a) { return a.type == it; });
    if (known == all.end()) {
      all.push_back({it, {}});
      known = all.end() - 1;
      state.kept.push_back(std::move(type));
    }
    for (const nb::handle each : names) {
      PyObject* name = nb::borrow(each).release().ptr();
      PyUnicode_InternInPlace(&name);
      const nb::object interned = nb::steal(name);
      if (std::find(known->names.begin(), known->names.end(), name) != known->names.end()) continue;
      known->names.push_back(name);
      state.kept.push_back(interned);
    }
  });
}

nb::dict attributes_of(nb::handle self) {
  nb::dict all;
  for (const Attributes& each : state_of(self).parameters->attributes) {
    nb::list names;
    for (PyObject* name : each.names) names.append(nb::handle(name));
    all[nb::handle(reinterpret_cast<PyObject*>(each.type))] = nb::tuple(names);
  }
  return all;
}

void capture(nb::handle self, nb::object owner, const nb::str& name) {
  State& state = state_of(self);
  state.describe_otherwise([&](Parameters& parameters) {
    parameters.captures.push_back({owner.ptr(), name.ptr()});
    parameters.details.emplace_back();
    state.kept.push_back(std::move(owner));
    state.kept.push_back(name);
  });
}

template <class Fn>
void add_method(nb::handle type, const char* name, Fn fn, const char* text) {
  nb::setattr(type, name, nb::cpp_function(fn, nb::name(name), nb::is_method(), text));
}

/// Python before 3.12 calls the instances of classes that Python makes without vectorcall.
PyObject* enable(PyObject* type, PyObject*) {
  auto* const made = reinterpret_cast<PyTypeObject*>(type);
  if (made->tp_call == &PyVectorcall_Call) made->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  Py_RETURN_NONE;
}

}  // namespace

bool is_compiled_function(PyObject* object) { return is_one(object); }

bool is_callable(PyObject* object) { return is_one(object) || is_profiled_function(object); }

PyObject* call_unrecorded(PyObject* self, PyObject* const* arguments, size_t flagged, PyObject* keywords) {
  return guarded(
      [&]() -> PyObject* {
        State* const state = object_of(self).state;
        if (state == nullptr || has_call_of_its_own(Py_TYPE(self)))
          return PyObject_Vectorcall(self, arguments, flagged, keywords);
        return call_seen(self, *state, arguments, flagged, keywords);
      },
      nullptr);
}

namespace {

/// What Python asks of objects as calls see them.
void bind_questions(nb::module_& m) {
  m.def(
      "held",
      [](nb::handle owner, const nb::str& name) {
        const nb::object there = nb::steal(held(owner.ptr(), name.ptr()));
        if (!there.is_valid() && PyErr_Occurred() != nullptr) throw nb::python_error();
        return there.is_valid() ? nb::make_tuple(there) : nb::tuple(nb::list());
      },
      "owner"_a, "name"_a,
      "What a dict holds under a name, a cell, a tuple at an index, or an object as an attribute: in a "
      "tuple, "
      "an empty one where that is nothing.");
  m.def(
      "held_in_class",
      [](nb::handle type, const nb::str& name) {
        if (!PyType_Check(type.ptr())) throw nb::type_error("a class is wanted");
        const nb::object there = nb::steal(held_in_class(type.ptr(), name.ptr()));
        return there.is_valid() ? nb::make_tuple(there) : nb::tuple(nb::list());
      },
      "type"_a, "name"_a, "What a class or its bases hold under a name, as a tuple; an empty one: nothing.");
  m.def(
      "own_attribute",
      [](nb::handle instance, const nb::str& name) {
        const nb::object there = nb::steal(OwnAttributes(instance.ptr()).find(name.ptr()));
        if (!there.is_valid() && PyErr_Occurred() != nullptr) throw nb::python_error();
        return there.is_valid() ? nb::make_tuple(there) : nb::tuple(nb::list());
      },
      "instance"_a, "name"_a,
      "What an instance holds itself under a name, or a cell, as a tuple; an empty one: nothing. Runs no "
      "code.");
  m.def(
      "is_instance", [](nb::handle object) { return is_instance(object.ptr()); }, "object"_a.none(),
      "Whether an object is of a class that is made of `object` and classes of the user's alone.");
  m.def(
      "is_captured", [](nb::handle object) { return is_captured(object.ptr()); }, "object"_a.none(),
      "Whether a value outside a function is a further argument of it: arrays, containers, instances.");
  m.def(
      "is_partial", [](nb::handle object) { return is_partial(object.ptr()); }, "object"_a.none(),
      "Whether an object is a `functools.partial`, and of no class derived from it.");
  m.def(
      "is_stream", [](nb::handle object) { return is_stream(object.ptr()); }, "object"_a.none(),
      "Whether an object is a Generator or RandomState of NumPy's whose stream compiled code can draw from.");
  m.def(
      "know_bits_of",
      [](nb::handle stream) {
        if (is_stream(stream.ptr())) know_bits_of(stream.ptr());
      },
      "stream"_a, "Has the words of a Generator's bit generator drawn many at once, if that gives the same.");
  m.def(
      "holds_records", [](nb::handle object) { return holder_of(object.ptr()).has_value(); },
      "object"_a.none(),
      "Whether an object is an ndarray or a recarray of a dtype with fields, or an element of one.");
  m.def(
      "private_of", [](nb::handle object) { return private_of(object.ptr()); }, "object"_a.none(),
      "A dtype's copy, whose fields nobody else renames, or a tuple or description with such copies; else "
      "the "
      "object.");
  m.def(
      "has_known_fields",
      [](nb::handle dtype) {
        auto* const descr = reinterpret_cast<PyArray_Descr*>(dtype.ptr());
        return PyArray_DescrCheck(dtype.ptr()) && PyDataType_HASFIELDS(descr) && has_known_fields(descr);
      },
      "dtype"_a, "Whether a dtype has fields, and all of them are what compiled code has.");
  m.def(
      "is_namedtuple", [](nb::handle object) { return is_namedtuple(object.ptr()); }, "object"_a,
      "Whether an object is a namedtuple that is read as a tuple is.");
}

void bind_descriptions(const nb::object& type) {
  add_method(type, "_describe", &describe, "The description of values of the parameters, a list.");
  add_method(type, "_describe_plainly", &describe_plainly,
             "The same, as if nothing were known but types and what is static.");
  add_method(type, "_remember", &remember,
             "Calls with such arguments are made by the first of `candidates` whose guards hold.");
  add_method(
      type, "_bind_by", &bind_by,
      "Calls are bound by the parameters of a code object: names in their order, the numbers of those by "
      "position and by position alone, whether there are `*args` and `**kwargs`. Forgets what is known.");
  add_method(type, "_demand", &describe_more<&Detail::is_demanded>,
             "From now on the value of a number among the arguments decides.");
  add_method(type, "_buffer_lists", &describe_more<&Detail::has_buffers>,
             "Has the lists of an argument described as list buffers, if their elements are alike.");
  add_method(type, "_measure", &describe_more<&Detail::is_measured>,
             "From now on short last axes of its arrays decide.");
  add_method(
      type, "_fix", &fix,
      "The values of the parameters of these numbers decide, and those at these indices in `*args` and "
      "names in `**kwargs`. For a function that has not been called.");
  add_method(type, "_open_texts", &open_texts,
             "Strings among these arguments are described by their characters, no others.");
}

void bind_settings(const nb::object& type) {
  add_method(
      type, "_settle_on",
      [](nb::handle self, const eager::DeviceHandle& device) {
        state_of(self).describe_otherwise([&](Parameters& parameters) { parameters.device = device.it; });
      },
      "From now on all calls run on a device.");
  add_method(
      type, "_wait_as",
      [](nb::handle self, nb::object operation) {
        State& state = state_of(self);
        state.operation = nb::cast<eager::Operation*>(operation);
        state.kept.push_back(std::move(operation));
      },
      "From now on calls are this operation, which may wait.");
  add_method(
      type, "_profile_as",
      [](nb::handle self, const std::string& name) {
        state_of(self).label = profile::number_of({name, "ingot", "", profile::Kind::Compiled});
      },
      "From now on its calls have this name in profiles.");
  add_method(
      type, "_profile_label", [](nb::handle self) { return label_of(self.ptr(), state_of(self)); },
      "The number of the label of its calls in profiles.");
  add_method(
      type, "_reduce_what_waits", [](nb::handle self) { state_of(self).is_reduction = true; },
      "From now on calls are computed together with what their first argument waits for.");
  add_method(
      type, "_only_reads",
      [](nb::handle self) {
        state_of(self).describe_otherwise([](Parameters& parameters) { parameters.only_reads = true; });
      },
      "Calls write into no argument.");
  add_method(
      type, "_take_alike",
      [](nb::handle self) {
        state_of(self).describe_otherwise([](Parameters& parameters) { parameters.has_alike = true; });
      },
      "What is known of a function is known of others of its code, globals and values in closures.");
  add_method(type, "_capture", &capture,
             "From now on what `owner` holds under `name` is a further argument.");
  add_method(type, "_describe_attributes", &describe_attributes,
             "From now on instances of a class are described with the attributes of these names.");
  add_method(type, "_attributes", &attributes_of, "These names by class.");
  add_method(
      type, "_captures", [](nb::handle self) { return state_of(self).captures(); },
      "Pairs of owner and name.");
  add_method(
      type, "_demanded", [](nb::handle self) { return state_of(self).demanded(); },
      "The numbers of the arguments and captures of which the value decides.");
}

}  // namespace

void bind_callable(nb::module_& m) {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(Object, call), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyMethodDef methods[] = {{"__init_subclass__", &enable, METH_NOARGS | METH_CLASS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&make)},
                                {Py_tp_init, reinterpret_cast<void*>(&initialise)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(&destroy)},
                                {Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(&clear)},
                                {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                                {Py_tp_descr_get, reinterpret_cast<void*>(&bind_to)},
                                {Py_tp_members, members},
                                {Py_tp_methods, methods},
                                {0, nullptr}};
  static PyType_Spec spec = {
      "ingot._ingot.Callable", sizeof(Object), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};
  const nb::object type = nb::steal(PyType_FromSpec(&spec));
  if (!type.is_valid()) throw nb::python_error();
  m.attr("Callable") = type;

  nb::class_<Arguments>(m, "Arguments")
      .def_prop_ro("key", [](const Arguments& it) { return it.signature->key(); })
      .def_prop_ro("leaves", [](const Arguments& it) { return Arguments::list_of(it.signature->leaves()); })
      .def("recognises", &Arguments::recognises, "values"_a)
      .def_prop_ro("target", [](const Arguments& it) { return it.signature->target(); })
      .def_prop_ro("locks", [](const Arguments& it) { return Arguments::list_of(it.signature->locks()); })
      .def_prop_ro("containers",
                   [](const Arguments& it) { return Arguments::list_of(it.signature->containers()); });

  m.def("call_behind_profile", &call_behind_profile, "function"_a, "arguments"_a, "keywords"_a,
        "Calls a compiled function so that no profiler sees it.");
  m.def("prepared", &prepared, "function"_a, "arguments"_a, "keywords"_a,
        "(specialisation, leaves) of arguments that are known; None.");
  bind_questions(m);
  bind_descriptions(type);
  bind_settings(type);
}

}  // namespace ingot::bindings
