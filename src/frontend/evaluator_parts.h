#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/message.h"
#include "frontend/evaluator.h"
#include "frontend/memory_order.h"

/// Shared by the evaluator's files, and private to them.

namespace ingot::frontend {

/// The end of a path that waits for its join: its suspended region, the state there, the path's value, and
/// the label that it exits to (none: it falls through).
struct Evaluator::Edge {
  ir::RegionId region;
  State state;
  Value value;
  NodeId label;
  NodeId condition{};  ///< the innermost condition that led here
};

/// A label and the exits to it found so far.
struct Evaluator::Target {
  NodeId label;
  std::vector<Edge> edges;
  size_t handlers = 0;  ///< how many handlers were open where the label was made
  size_t iterates = 0;  ///< how many generators were being iterated over there
};

/// One `except`, with the classes that it catches (none: all).
struct Evaluator::Clause {
  nb::object node;
  std::vector<nb::object> types;
};

/// A handler: the clauses of a `try`, its `finally`, the border of a prange loop (no exit crosses it), or
/// that of a generator (no StopIteration leaves it).
struct Evaluator::Catcher {
  explicit Catcher(const Evaluator& evaluator, Frame* activation);

  Frame* frame;
  size_t handled;    ///< how many exceptions were being handled where it began
  size_t breaks;     ///< how many loops of its activation the handler is in
  size_t continues;  ///< the same
  Target* after = nullptr;
  std::vector<Clause> clauses;
  nb::list finalbody;
  size_t* sites = nullptr;
  bool barrier = false;
  bool of_generator = false;
  bool of_routine = false;  ///< what is caught is returned to the routine's caller
  bool closes = false;      ///< its `finally` runs when a consumer leaves the generator
  bool stores = false;      ///< what the function has changed of the caller's is stored, as by a `finally`
  std::string refusal{};    ///< why no exit may pass here; empty: exits may

  /// Whether it catches anything.
  bool catches_some() const {
    return !barrier && (!clauses.empty() || is_final() || of_generator || of_routine || !refusal.empty());
  }
  bool is_final() const { return stores || nb::len(finalbody) > 0; }
};

/// The prefix of the names of captured arrays that a routine is passed; a number follows.
inline constexpr const char* kCaptured = "@outside.";

/// The prefix of the names of modules of Ingot's own library.
inline constexpr std::string_view kLibrary = "ingot.library.";

/// A point to roll back to, if a new fact contradicts what was built after it.
struct Evaluator::Checkpoint {
  ir::Builder::Mark mark;
  std::optional<State> state;
  std::vector<size_t> edges;  ///< of each target in `targets_`
  size_t hosts;
};

/// The axis of a batch: the batch element that runs, and the collectives that it comes to (collectives.cpp).
struct Evaluator::Axis {
  nb::object name;  ///< None: it has none
  std::shared_ptr<const Value> size;
  std::shared_ptr<const Value> index;
  const Routine* routine;
  nb::object* probe;           ///< set to the collective at which it stops; null: it stops at none
  std::vector<Value> results;  ///< of the collectives, in order, that are known
  size_t met = 0;              ///< how many collectives it has come to

  /// Counts and objects from before it began.
  size_t nodes = 0;
  ir::RegionId region{};
  std::map<uint32_t, HeapObject> heap{};
  size_t targets = 0;
  size_t handlers = 0;
  size_t loops = 0;
  size_t derivatives = 0;
};

/// One activation of a Python function: of the compiled one, or of one inlined into it.
struct Evaluator::Frame {
  nb::object function;
  nb::object node;  ///< its ast.FunctionDef or ast.Lambda
  nb::object code;  ///< invalid: it is defined in a function that is being evaluated
  nb::dict globals;
  std::map<std::string, nb::object> cells;
  std::set<std::string> local_names;
  std::map<std::string, uint32_t> shared;  ///< variables that inner functions use: their cells in the heap
  std::map<std::string, std::string> renamed;  ///< targets of the comprehensions that are being evaluated
  bool is_nested = false;                      ///< one of these is a function of its own in Python
  std::string qualname;
  std::map<std::string, Value> callers_locals;  ///< while this activation is the current one
  std::map<std::string, Value> arguments;       ///< its variables when it began, see recursion.cpp
  size_t repeats = 0;  ///< how many activations of the same function are inlined in it
  ir::TextId file;
  ir::TextId name;
  ir::SpanId called_at;
  nb::handle call;  ///< where its caller calls it
  /// A function of Ingot, Python, NumPy or SciPy: messages and tracebacks locate its code at its call.
  bool of_library = false;
  bool of_python = false;
  std::string path;  ///< the chain of calls that led here: part of the keys of facts
  Frame* caller = nullptr;
  std::vector<std::pair<int64_t, bool>> derivatives;  ///< that it is called in
  Target* returns = nullptr;                          ///< null: the only return is the last statement
  std::vector<Target*> breaks;
  std::vector<Target*> continues;
  int depth = 0;
  uint64_t number = 0;  ///< no other activation has it
  /// Of a generator that is being iterated over: called with what it yields. The generator's variables are
  /// stored with those of its caller, the activation that iterates over it.
  const Iteration* consumer = nullptr;
  std::string suffix;        ///< of the names of its variables there
  size_t first_handler = 0;  ///< of its own ones
  bool is_held = false;      ///< something else may hold it when iterating ends
  bool is_closing = false;   ///< its consumer has left it
  std::optional<Axis> axis;  ///< while it runs a batch element

  /// The name under which a variable is stored in `home`.
  std::string own_name(const std::string& variable) const {
    const auto alias = renamed.find(variable);
    return alias == renamed.end() ? variable : alias->second;
  }
  /// The activation that stores its variables.
  const Frame* home() const { return consumer == nullptr ? this : caller->home(); }
};

/// What a call of a routine passes: arguments and the objects reachable from them, under formal numbers.
struct Evaluator::Passed {
  State state;
  std::vector<uint32_t> objects;  ///< the caller's, by formal number
  std::vector<uint32_t> arrays;
};

/// A function of the IR that a Python function has become, see recursion.cpp.
struct Evaluator::Routine {
  Frame frame;
  State key;
  std::string name;
  std::optional<State> entry{};  ///< the shape of what is passed; none: it has not been called yet
  std::optional<State> exit{};   ///< the shape of what is returned, or a parameter's node; none: nothing
  std::vector<std::pair<PyObject*, std::string>> captures{};  ///< the part of `captured_` that it is passed
  std::map<uint32_t, int> scalar_arguments{};                 ///< of the entry's, by parameter
  std::map<uint32_t, int> named_arguments{};                  ///< the same
  std::vector<ir::ParameterInfo> forms{};          ///< facts about the slots of `key`; only if exact
  std::map<uint32_t, int> unmeasured{};            ///< the same; only if exact
  std::map<uint32_t, std::string> loop_indices{};  ///< keys of loops around its call; only if exact
  std::set<uint32_t> pools{};  ///< objects of pools that it reaches: it is passed these, and returns them
  Pools::Makings makings{};    ///< facts about the objects of its shapes
  /// Whether it reports errors, because a caller may catch them: it returns (0 or the number of an error from
  /// 1, its result, the parts of each error).
  bool reports = false;
  std::vector<Error> errors{};  ///< with what is known of their parts
  std::set<size_t> outcomes{};  ///< possible ones: 0 for its result, or the numbers of errors
  size_t objects = 0;           ///< how many objects it is passed
  size_t arrays = 0;
  ir::FunctionId function{};
  std::unique_ptr<ir::Function> body{};
  bool is_exact = false;      ///< of a marked function: `key` is the shape of all that is passed
  bool is_recursive = false;  ///< if exact: as far as is known
  bool is_dependent = false;  ///< if exact: on the results of one that was open
  Routine* outer = nullptr;   ///< the one in which it was called first
  bool is_open = false;
  bool is_solved = false;
  bool is_forgotten = false;  ///< its facts were dropped, and it has not been called since

  /// Whether errors that it reports are distinguished by where they were raised: a recursion would have
  /// endlessly many locations.
  bool keeps_indices() const { return is_exact && !is_recursive; }
};

/// What the evaluations of a function into a module have found: each begins with it.
struct Evaluator::Facts {
  explicit Facts(const ir::Module& module);
  ~Facts();
  /// What was found of routines under other facts.
  void forget_routines();

  Effort effort;
  std::set<std::string> unrolled{};  ///< keys of locations, with what is asked of them
  std::set<std::string> counted{};   ///< loops that cannot be unrolled: their indices are never known
  std::set<std::string> peeled{};
  std::set<std::string> grown{};  ///< comprehensions that are list buffers, though their lengths can be known
  Pools pools{};
  std::deque<Routine> routines{};
  std::unique_ptr<Launch> launch;  ///< of a kernel
  Writes writes{};
  /// Keys and names that facts have hold in all evaluations: what is counted goes on.
  std::map<std::string, uint64_t> suffixes{};  ///< of activations of generators, by path
  uint64_t frames = 0;
  uint32_t next_object = 1;
  uint32_t errors_made = 0;
};

inline Evaluator::Catcher::Catcher(const Evaluator& evaluator, Frame* activation)
    : frame(activation),
      handled(evaluator.handled_.size()),
      breaks(activation->breaks.size()),
      continues(activation->continues.size()) {}

/// Sets the location of nodes that are made while it lives.
class Evaluator::Here {
 public:
  Here(Evaluator& evaluator, nb::handle node);
  ~Here() {
    evaluator_.here_ = before_;
    evaluator_.builder_->set_span(span_before_);
  }
  Here(const Here&) = delete;
  Here& operator=(const Here&) = delete;

 private:
  Evaluator& evaluator_;
  nb::handle before_;
  ir::SpanId span_before_;
};

/// An element on a stack while it lives.
template <class T>
class Pushed {
 public:
  Pushed(std::vector<T>& stack, T element) : stack_(stack) { stack_.push_back(std::move(element)); }
  ~Pushed() { stack_.pop_back(); }
  Pushed(const Pushed&) = delete;
  Pushed& operator=(const Pushed&) = delete;

 private:
  std::vector<T>& stack_;
};

/// Gives a variable another value while it lives.
template <class T>
class Restored {
 public:
  Restored(T& variable, T value) : variable_(variable), before_(std::exchange(variable, std::move(value))) {}
  ~Restored() { variable_ = std::move(before_); }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

  const T& before() const { return before_; }

 private:
  T& variable_;
  T before_;
};

/// The first `count` elements, or all if there are fewer.
template <class T>
std::vector<T> first_of(const std::vector<T>& all, size_t count) {
  return {all.begin(), all.begin() + static_cast<ptrdiff_t>(std::min(count, all.size()))};
}

inline nb::object attribute(nb::handle object, const char* name) {
  return nb::borrow<nb::object>(object.attr(name));
}
/// A string that holds half of a surrogate pair, which UTF-8 does not have.
struct LoneSurrogate {};
/// Throws LoneSurrogate.
std::string text_of(nb::handle object);
/// The class name of an AST node: "BinOp".
inline std::string class_of(nb::handle node) {
  const std::string_view name = Py_TYPE(node.ptr())->tp_name;
  return std::string(name.substr(name.rfind('.') + 1));
}

/// Whether it is None, or a function, module, class, number or string of one of Python's own types.
inline bool is_plain(nb::handle object) {
  PyTypeObject* const type = Py_TYPE(object.ptr());
  return type == &PyFunction_Type || type == &PyModule_Type || type == &PyCFunction_Type ||
         type == &PyType_Type || type == &PyBool_Type || type == &PyLong_Type || type == &PyFloat_Type ||
         type == &PyUnicode_Type || object.is_none();
}

/// Whether it is one of NumPy's objects that describe types or compute: dtypes, their limits, ufuncs,
/// `_NoValue`.
bool is_of_numpy(nb::handle object);

/// Whether it is a function of `ingot.profile`. Compiled code uses the wrapped function instead.
bool is_counted(nb::handle object);
/// That function.
nb::object uncounted(const nb::object& object);

/// Whether an object is a type of Ingot's or Numba's, such as `ingot.float32`.
bool is_type(nb::handle object);
/// What a call of an object calls: the function that `ingot.profile` has wrapped, NumPy's scalar class of a
/// type; else the object.
nb::object meant_by(const nb::object& object);

/// The description of a C function by `ingot._objects.c_functions`; invalid: it is not called by an address.
nb::object c_function(const nb::object& function);
/// The function of this name in a library that `ctypes` has opened; invalid: no such library or function.
nb::object function_of_library(const nb::object& library, const std::string& name);
/// Whether it is a library that `ctypes` has opened.
bool is_library_of_c(nb::handle object);
bool is_ufunc_of_scipy(const nb::object& function);
bool is_function_of_scipy(const nb::object& function);
inline bool is_of_scipy(const nb::object& function) {
  return is_ufunc_of_scipy(function) || is_function_of_scipy(function);
}

/// Whether it is a function of `ingot.jit`, or an object of `ingot.profile`: its attribute
/// `__ingot_function__` is the function to compile. (A wrapper of one also has this attribute.)
bool is_jitted(nb::handle object);
/// Whether the module of a function or class is of a package that is not written in Python.
bool is_of_closed_package(const nb::object& function);
/// Whether it is compiled with `parallel=False`.
bool is_in_order(const nb::object& function);

/// Whether it is a ufunc that `ingot.vectorize` has made.
inline bool is_vectorized(nb::handle object) {
  return nb::isinstance(object, imported("ingot._vectorize").attr("Vectorized"));
}

/// Calls a function of a module of Ingot's library.
Value call_library(Evaluator& e, const char* module, const char* name, std::vector<Value> arguments,
                   nb::handle node, std::vector<std::pair<std::string, Value>> keywords = {});

/// What Python's own code returns, which runs now; what it raises, the program raises.
template <class Fn>
auto by_python(Evaluator& e, const Fn& fn) {
  try {
    return fn();
  } catch (nb::python_error& error) {
    e.raise_host_error(error);
  }
}

/// An expression as Python writes it.
inline std::string as_written(nb::handle e) { return text_of(imported("ast").attr("unparse")(e)); }

/// The attributes of a statement, or of a clause of one, that hold statements or clauses.
std::span<const char* const> bodies_of(std::string_view statement);

/// How many `return` statements these statements hold, without those of inner functions.
int count_returns(nb::handle statements);

/// Whether a function is a method of the classes of `collections.namedtuple`, which the evaluator implements.
bool is_of_namedtuple(const nb::object& function);

/// Whether `dataclasses` has generated a function, perhaps in a wrapper of Python's library.
bool is_generated(const nb::object& raw);
/// The class that one of `ingot.library.buffers` stands for; other classes themselves.
nb::object stood_for(const nb::object& type);

/// Keeps the instances, lists and dicts among values while it lives, even if no variable holds them.
class Evaluator::Pins {
 public:
  Pins(Evaluator& evaluator, const std::vector<Value>& values);
  ~Pins() { pinned_.resize(before_); }
  Pins(const Pins&) = delete;
  Pins& operator=(const Pins&) = delete;

 private:
  std::vector<uint32_t>& pinned_;
  size_t before_;
};

/// -1 or 1 for a known Python int that is below or above the range of 64 bits; 0: any other value.
int side_of_64_bits(const Value& value);

/// Whether it is an int that NumPy makes an object, because no integer dtype can hold it.
bool is_object_of_numpy(const Value& value);

/// Whether a call of a ufunc specifies the axes along which its core runs.
bool has_axes(const Evaluator::Call& call);

inline bool is_none(const Value& value) { return value.is<Static>() && value.as<Static>()->object.is_none(); }

}  // namespace ingot::frontend
