#pragma once

#include <deque>

#include "frontend/effort.h"
#include "frontend/tracer/tracer.h"

namespace ingot::frontend {

/// The prefix of the names of captured arrays that a routine is passed; a number follows.
inline constexpr const char* kCaptured = "@outside.";

/// The prefix of the names of modules of Ingot's own library.
inline constexpr std::string_view kLibrary = "ingot.library.";

/// The end of a path that waits for its join: its suspended region, the state there, the path's value, and
/// the label that it exits to (none: it falls through).
struct Edge {
  ir::RegionId region;
  State state;
  Value value;
  NodeId label;
  NodeId condition{};  ///< the innermost condition that led here
};

/// A label and the exits to it found so far.
struct Target {
  NodeId label;
  std::vector<Edge> edges;
  size_t handlers = 0;  ///< how many handlers were open where the label was made
  size_t iterates = 0;  ///< how many generators were being iterated over there
};

/// One `except`, with the classes that it catches (none: all).
struct Clause {
  nb::object node;
  std::vector<nb::object> types;
};

/// A handler: the clauses of a `try`, its `finally`, the border of a prange loop (no exit crosses it), or
/// that of a generator (no StopIteration leaves it).
struct Catcher {
  explicit Catcher(const Tracer& t, Frame* activation);

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

/// The axis of a batch: the batch element that runs, and the collectives that it comes to
/// (calls/collectives.cpp).
struct Axis {
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

  int64_t mesh = -1;  ///< which axis of a mesh it is, of those of the shard that runs; -1: of a batch
};

/// One activation of a Python function: of the compiled one, or of one inlined into it.
struct Frame {
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
  std::map<std::string, Value> arguments;       ///< its variables when it began, see routines/recursion.cpp
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
struct Passed {
  State state;
  std::vector<uint32_t> objects;  ///< the caller's, by formal number
  std::vector<uint32_t> arrays;
};

/// A function of the IR that a Python function has become, see routines/recursion.cpp.
struct Routine {
  Frame frame;
  State key;
  std::string name;
  std::optional<State> entry{};  ///< the shape of what is passed; none: it has not been called yet
  std::optional<State> exit{};   ///< the shape of what is returned, or a parameter's node; none: nothing
  std::vector<std::pair<PyObject*, std::string>>
      captures{};                                  ///< the part of `Tracer::captured` that it is passed
  std::map<uint32_t, int> scalar_arguments{};      ///< of the entry's, by parameter
  std::map<uint32_t, int> named_arguments{};       ///< the same
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

/// The launch that is being evaluated, and the facts about it that evaluations pass on.
struct Launch {
  bool is_open = false;
  bool enters = false;  ///< the next call is that of the kernel: the user's code has no call of it
  const Routine* routine = nullptr;
  std::vector<NodeId> extents{};     ///< of the grid and of a block
  std::vector<NodeId> parameters{};  ///< of the region
  NodeId bytes{};                    ///< of dynamic shared memory
  /// Static shared memory: bytes by the location of the request. It is allocated where the launch begins, so
  /// requests that are found later are allocated in the next evaluation.
  std::map<std::string, int64_t> shared{};
  std::map<std::string, NodeId> allocated{};
  std::vector<nb::object> linked{};  ///< the declarations of functions that are linked with it
  bool has_found = false;
  bool is_dynamic = false;  ///< whether it uses dynamic shared memory
};

/// What the evaluations of a function into a module have found: each begins with it.
struct Facts {
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

inline Catcher::Catcher(const Tracer& t, Frame* activation)
    : frame(activation),
      handled(t.handled.size()),
      breaks(activation->breaks.size()),
      continues(activation->continues.size()) {}

}  // namespace ingot::frontend
