#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/message.h"
#include "frontend/evaluator.h"
#include "frontend/memory_order.h"

/// What the files of the evaluator share, and nobody else sees.

namespace ingot::frontend {

/// The end of a path that waits to be joined: its suspended region, what it knew there, the value it brings,
/// and the label it exits to (none: it falls through).
struct Evaluator::Edge {
  ir::RegionId region;
  State state;
  Value value;
  NodeId label;
  NodeId condition{};  ///< the innermost one that led here
};

/// A label and the exits to it found so far.
struct Evaluator::Target {
  NodeId label;
  std::vector<Edge> edges;
  size_t handlers = 0;  ///< how many were open where the label was made
  size_t iterates = 0;  ///< and how many generators were being iterated over
};

/// One `except`, with the classes that it catches (none: all).
struct Evaluator::Clause {
  nb::object node;
  std::vector<nb::object> types;
};

/// The clauses of a `try`, its `finally`, the border of a prange loop, which no exit crosses, or that of a
/// generator, which no StopIteration leaves.
struct Evaluator::Catcher {
  explicit Catcher(const Evaluator& evaluator, Frame* activation);

  Frame* frame;
  size_t handled;    ///< how many exceptions were being handled where it began
  size_t breaks;     ///< of its loops, how many the handler stands in
  size_t continues;  ///< the same
  Target* after = nullptr;
  std::vector<Clause> clauses;
  nb::list finalbody;
  size_t* sites = nullptr;
  bool barrier = false;
  bool of_generator = false;
  bool of_routine = false;  ///< what comes here is handed to the routine's caller
  bool closes = false;      ///< it is passed where a consumer leaves the generator whose `finally` it is
  std::string refusal{};    ///< why no way out may pass here; empty: it may

  /// Whether it catches anything.
  bool catches_some() const {
    return !barrier && (!clauses.empty() || is_final() || of_generator || of_routine || !refusal.empty());
  }
  bool is_final() const { return nb::len(finalbody) > 0; }
};

/// How the names begin under which a routine is passed captured arrays; a number follows.
inline constexpr const char* kCaptured = "@outside.";

/// The modules of Ingot's own library have names that begin so.
inline constexpr std::string_view kLibrary = "ingot.library.";

/// A point to go back to when a fact is found that contradicts what was built since.
struct Evaluator::Checkpoint {
  ir::Builder::Mark mark;
  State state;
  std::vector<size_t> edges;  ///< of each target in `targets_`
  size_t hosts;
};

/// The axis of the lanes of a loop: the one that runs, and how it comes to collectives, see collectives.cpp.
struct Evaluator::Axis {
  nb::object name;  ///< None: it has none
  std::shared_ptr<const Value> size;
  std::shared_ptr<const Value> index;
  const Routine* routine;
  nb::object* probe;           ///< what is told at which collective it stops; null: it does not stop there
  std::vector<Value> results;  ///< of collectives in order, as far as they are known
  size_t met = 0;              ///< to how many it has come

  /// What there was before it began.
  size_t nodes = 0;
  ir::RegionId region{};
  std::map<uint32_t, HeapObject> heap{};
  size_t targets = 0;
  size_t handlers = 0;
  size_t loops = 0;
  size_t derivatives = 0;
};

/// One activation of a Python function: the one compiled, or one inlined into it.
struct Evaluator::Frame {
  nb::object function;
  nb::object node;  ///< its ast.FunctionDef or ast.Lambda
  nb::object code;  ///< invalid: it stands in a function that is being evaluated
  nb::dict globals;
  std::map<std::string, nb::object> cells;
  std::set<std::string> local_names;
  std::map<std::string, uint32_t> shared;  ///< variables that inner functions use: their cells in the heap
  std::map<std::string, std::string> renamed;  ///< targets of the comprehensions that are being evaluated
  bool is_nested = false;                      ///< one of these is a function of its own in Python
  std::string qualname;
  std::map<std::string, Value> callers_locals;  ///< while this activation is the current one
  std::map<std::string, Value> arguments;       ///< its variables when it began, see recursion.cpp
  size_t repeats = 0;                           ///< how many activations of the same function it has inlined
  ir::TextId file;
  ir::TextId name;
  ir::SpanId called_at;
  nb::handle call;  ///< where its caller calls it
  /// A function of Ingot's own, or of Python's, NumPy's or SciPy's: what stands in it stands at its call, for
  /// the user.
  bool of_library = false;
  bool of_python = false;
  std::string path;  ///< the calls that led here: part of the keys of facts
  Frame* caller = nullptr;
  std::vector<std::pair<int64_t, bool>> derivatives;  ///< that it is called in
  Target* returns = nullptr;                          ///< null: the only return is the last statement
  std::vector<Target*> breaks;
  std::vector<Target*> continues;
  int depth = 0;
  uint64_t number = 0;  ///< no other activation has it
  /// Of a generator that is being iterated over: what is done with what it yields. Its variables stand among
  /// those of the activation that iterates over it, its caller.
  const Iteration* consumer = nullptr;
  std::string suffix;        ///< of the names that its variables have there
  size_t first_handler = 0;  ///< of its own
  bool is_held = false;      ///< something else may hold it when iterating ends
  bool is_closing = false;   ///< its consumer has left it
  std::optional<Axis> axis;  ///< while it runs a lane

  /// Under what name a variable stands among those of `home`.
  std::string own_name(const std::string& variable) const {
    const auto alias = renamed.find(variable);
    return alias == renamed.end() ? variable : alias->second;
  }
  /// The activation among whose variables its own stand.
  const Frame* home() const { return consumer == nullptr ? this : caller->home(); }
};

/// What a call of a routine passes: arguments and what they lead to, under formal numbers.
struct Evaluator::Passed {
  State state;
  std::vector<uint32_t> objects;  ///< the caller's, by formal number
  std::vector<uint32_t> arrays;
};

/// A function of the IR that one of Python's has become, see recursion.cpp.
struct Evaluator::Routine {
  Frame frame;
  State key;
  std::string name;
  std::optional<State> entry{};  ///< the shape of what is passed; none: not called yet
  std::optional<State> exit{};   ///< the shape of what is returned, or a parameter's node; none: nothing
  std::vector<std::pair<PyObject*, std::string>> captures{};  ///< what of `captured_` it is passed
  std::map<uint32_t, int> scalar_arguments{};                 ///< of the entry's, by parameter
  std::map<uint32_t, int> named_arguments{};                  ///< the same
  std::vector<ir::ParameterInfo> forms{};  ///< what is known of the slots of `key`; of one that is exact
  std::map<uint32_t, int> unmeasured{};    ///< the same; of one that is exact
  std::map<uint32_t, std::string> loop_indices{};  ///< keys of loops around its call; of one that is exact
  std::set<uint32_t> pools{};  ///< what of the pools it reaches: it is passed these, and gives them back
  Pools::Makings makings{};    ///< what is known of the objects of its shapes
  /// Whether it is called where something may catch what it raises: it returns (0 or the number of an error
  /// from 1, its result, what each error holds).
  bool reports = false;
  std::vector<Error> errors{};  ///< with what is known of their parts
  std::set<size_t> outcomes{};  ///< which there are: 0 its result, or the numbers of errors
  size_t objects = 0;           ///< how many it is passed
  size_t arrays = 0;
  ir::FunctionId function{};
  std::unique_ptr<ir::Function> body{};
  bool is_exact = false;      ///< of a function with the mark: `key` is the shape of all that is passed
  bool is_recursive = false;  ///< of one that is exact, as far as is known
  bool is_dependent = false;  ///< on the results of one that was open, the same
  Routine* outer = nullptr;   ///< the one in which it was called first
  bool is_open = false;
  bool is_solved = false;
  bool is_forgotten = false;  ///< nothing is known of it any more, and nobody has called it since

  /// Whether errors that it reports are told apart by where they were raised: in a recursion there would be
  /// no end of places.
  bool keeps_places() const { return is_exact && !is_recursive; }
};

inline Evaluator::Catcher::Catcher(const Evaluator& evaluator, Frame* activation)
    : frame(activation),
      handled(evaluator.handled_.size()),
      breaks(activation->breaks.size()),
      continues(activation->continues.size()) {}

/// Sets the place of the nodes made while it lives.
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

/// Another value of a variable while it lives.
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

/// The first elements, as many as there are of `count`.
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

/// Whether it is a function, a module, a number or a text of a type that is Python's own.
inline bool is_plain(nb::handle object) {
  PyTypeObject* const type = Py_TYPE(object.ptr());
  return type == &PyFunction_Type || type == &PyModule_Type || type == &PyCFunction_Type ||
         type == &PyType_Type || type == &PyBool_Type || type == &PyLong_Type || type == &PyFloat_Type ||
         type == &PyUnicode_Type || object.is_none();
}

/// Whether it is a function of `ingot.profile`. Compiled code has what it wraps in its place.
bool is_counted(nb::handle object);
/// That function.
nb::object uncounted(const nb::object& object);

/// Whether an object is a type of Ingot's or Numba's, such as `ingot.float32`.
bool is_type(nb::handle object);
/// What a call of an object calls: what `ingot.profile` has wrapped, NumPy's class of a type's scalars; else
/// the object.
nb::object meant_by(const nb::object& object);

/// What `ingot._c_functions` says of a function of C's; invalid: it is none that is called by its address.
nb::object c_function(const nb::object& function);
/// What a library that `ctypes` has opened holds of a function; invalid: it is no such, or holds none.
nb::object function_of_library(const nb::object& library, const std::string& name);
/// Whether it is a library that `ctypes` has opened.
bool is_library_of_c(nb::handle object);
bool is_ufunc_of_scipy(const nb::object& function);
bool is_function_of_scipy(const nb::object& function);
inline bool is_of_scipy(const nb::object& function) {
  return is_ufunc_of_scipy(function) || is_function_of_scipy(function);
}

/// Whether it is a function of `ingot.jit`, or an object of `ingot.profile`: its attribute
/// `__ingot_function__` is what is compiled. (What wraps one has its attributes, too.)
bool is_jitted(nb::handle object);
/// Whether a function or class is of a package that is not written in Python, as its module says.
bool is_of_closed_package(const nb::object& function);
/// Whether it is compiled with `parallel=False`.
bool is_in_order(const nb::object& function);

/// Whether it is a ufunc that `ingot.vectorize` has made.
inline bool is_vectorized(nb::handle object) {
  return nb::isinstance(object, imported("ingot._vectorize").attr("Vectorized"));
}

/// An expression as Python writes it.
inline std::string as_written(nb::handle e) { return text_of(imported("ast").attr("unparse")(e)); }

/// Whether what is iterated over is a list or dict, or several things of which one is.
bool iterates_container(const Value& iterable);

/// Whether a range has no end: what `enumerate` and `count` count.
bool counts_on(const Value& iterable);

/// The attributes of a statement, or of a clause of one, that hold statements or clauses.
std::span<const char* const> bodies_of(std::string_view statement);

/// How many `return` statements these statements hold, those of inner functions apart.
int count_returns(nb::handle statements);

/// Whether a function is a method that `collections.namedtuple` gives its classes, which the evaluator has.
bool is_of_namedtuple(const nb::object& function);

/// Whether `dataclasses` has written a function, which may stand in a wrapper of the library's.
bool is_generated(const nb::object& raw);
/// The class that one of `ingot.library.buffers` stands for; others are their own.
nb::object stood_for(const nb::object& type);

/// Instances, lists and dicts among values that are still needed while it lives, whatever variables become.
class Evaluator::Pins {
 public:
  Pins(Evaluator& evaluator, const std::vector<Value>& values)
      : pinned_(evaluator.pinned_), before_(evaluator.pinned_.size()) {
    for (const Value& value : values) add(value);
  }
  ~Pins() { pinned_.resize(before_); }
  Pins(const Pins&) = delete;
  Pins& operator=(const Pins&) = delete;

 private:
  void add(const Value& value) {
    if (const Object* o = value.as<Object>()) pinned_.push_back(o->object);
    if (const Reference* r = value.as<Reference>()) pinned_.push_back(r->object);
    if (const View* v = value.as<View>()) pinned_.push_back(v->object);
    for (const Value& part : parts_of(value)) add(part);
  }

  std::vector<uint32_t>& pinned_;
  size_t before_;
};

/// -1 or 1 for a Python int, known when compiling, that lies below or above 64 bits; 0: any other value.
int side_of_64_bits(const Value& value);

/// Whether it is such an int of which NumPy makes an object, as no integer dtype has it.
bool is_object_of_numpy(const Value& value);

/// Whether a ufunc is told along which axes its core runs.
bool has_axes(const Evaluator::Call& call);

inline bool is_none(const Value& value) { return value.is<Static>() && value.as<Static>()->object.is_none(); }

}  // namespace ingot::frontend
