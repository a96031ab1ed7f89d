#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/lowered.h"
#include "frontend/operator.h"
#include "frontend/registry.h"
#include "frontend/value.h"
#include "ir/builder.h"

namespace ingot::frontend {

struct Catcher;
struct Facts;
struct Frame;
struct Launch;
struct Routine;
struct Target;

/// One call of a builtin, with its arguments.
struct Call {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keywords{};
  std::string name;  ///< of the function, for messages
  nb::handle node;
  nb::object function{};  ///< of Python or NumPy; invalid for methods
  bool is_last{};         ///< nothing uses the values after it

  std::vector<Value> values() const;  ///< all of them
};

using Iteration = std::function<void(const Value&)>;  ///< called with each element
/// Reads the subject of a match again, if it was read on a path that may not be taken.
using Reading = std::function<Value()>;

/// A name that a pattern binds; a list of the members of a tuple for what a star takes.
struct Capturing {
  std::string name;
  Value value;
  bool is_list = false;
  Reading read{};  ///< of a value that is not known where the name is bound
};

/// What has been unrolled so far.
struct Unrolling {
  size_t depth = 0;  ///< of loops that are being unrolled now
  size_t iterations = 0;
  size_t ops = 0;  ///< of outermost loops that have ended
  const ir::Builder* builder = nullptr;
  size_t first = 0;  ///< the number of ops before the outermost loop
};

/// One evaluation of a Python function, called with arguments of known types, to array-stage IR: of its AST,
/// over known and staged values. No user code runs and no user object changes.
///
/// It has what is known and made. What evaluates are functions that take it first, in a header for each part
/// of Python.
struct Tracer {
  /// Evaluates with the facts that earlier evaluations, into the same module, have found.
  Tracer(const Registry& registry, ir::Module& module, Request request, Facts& facts);
  ~Tracer();

  using Merges = std::map<std::pair<uint32_t, uint32_t>, uint32_t>;
  using Captures = std::map<std::pair<PyObject*, std::string>, Value>;

  const Registry& registry;
  ir::Module& module;
  Request request;
  Facts& facts;
  std::unique_ptr<ir::Builder> builder;

  // The location in the program, and what is open around it.
  State state;                        ///< of its variables and objects
  Frame* frame = nullptr;             ///< the activation
  nb::handle here;                    ///< the expression that is being evaluated, for spans and messages
  Routine* routine = nullptr;         ///< the one being evaluated; null: the entry
  bool in_order;                      ///< see Request; set, too, by functions called
  ir::TextId loop_names;              ///< those that `with ingot.loop` gives the loops that are made now
  std::vector<NodeId> conditions;     ///< of the forks
  std::vector<Target*> targets;       ///< the labels that exits may lead to
  std::vector<Catcher*> handlers;     ///< the innermost last
  std::vector<const Error*> handled;  ///< exceptions whose clauses are being evaluated
  std::vector<std::string> iterates;  ///< suffixes of open generators
  std::vector<std::pair<std::string, Value>> loops;   ///< counted ones: key, iterable
  std::vector<std::pair<int64_t, bool>> derivatives;  ///< whether in reverse mode
  std::vector<Capturing> captures;                    ///< of the pattern being matched
  std::vector<NodeId> outputs;  ///< arrays that the ufunc being called must broadcast to or with
  /// Instances and containers that an expression or a loop being evaluated still needs.
  std::vector<uint32_t> pinned;
  Unrolling unrolling;
  Merges* merges = nullptr;     ///< at joins: maps one object of each path to their join; null: in loops
  nb::object* probe = nullptr;  ///< set by the next batch element to the collective where it stops

  // What is known of the program's numbers and objects.
  std::map<std::string, State> solutions;  ///< of loops by key: the carried state found so far
  std::vector<size_t> derivative_starts;   ///< by derivative: how many nodes there were before
  std::set<uint32_t> mixed;                ///< nodes of numbers that are `is_mixed`
  std::unordered_map<uint32_t, std::string> loop_indices;  ///< index nodes → keys of their loops
  Captures captured;                                       ///< that this function has
  std::vector<std::string> captured_names;                 ///< by number, as the user writes them
  Captures given_captures;                                 ///< that the entry has
  std::unordered_map<uint32_t, int> scalar_arguments;  ///< parameter nodes → arguments that they are part of
  /// ... in dicts and instances: the last to be asked for.
  std::unordered_map<uint32_t, int> named_arguments;
  std::unordered_map<uint32_t, int> unmeasured;  ///< ... of arrays with lengths that could be known
  std::map<PyObject*, int> text_arguments;       ///< known strings → arguments; records' dtypes → leaves
  bool has_memory_maps = false;                  ///< among the arguments and captures
  bool has_characters = false;                   ///< some string is not known

  // What the function needs, as a part of `Lowered`.
  std::vector<Guard> guards;
  std::vector<HostSite> hosts;
  std::vector<nb::object> functions;         ///< of C (`Lowered::functions`)
  std::vector<CallersContainer> containers;  ///< by number
  nb::list errors;                           ///< descriptions of exceptions: see `describe_error`
  std::vector<Routine*> solved;              ///< in the order in which their bodies were completed
  size_t kept_hosts = 0;                     ///< sites that bodies of routines name
  base::SourceLocation result_location;      ///< of the statement that returns the result
};

}  // namespace ingot::frontend
