// Recursion. A function that is called while it is being inlined becomes a *routine*, a function of the IR:
// one for each combination of function, static arguments and types. Its parameters are the leaves of what is
// passed - arguments, the variables and containers reachable from them, captured arrays - and its results are
// the leaves of its returned value and of what it has changed. Both are shapes (joins/joins.h) over formal
// numbers of objects, found by a fixpoint: the entry is the join over all calls; the exit begins as nothing,
// so that the first evaluation sees the paths that return without recursion, and is widened until an
// evaluation finds nothing new. If the arguments of a call widen the entry, everything is evaluated again.
//
// Pools have the same numbers in all routines: a routine is passed the pools that it uses, and returns what
// it changes of them; evaluating it finds which these are. Columns of list buffers are known to be
// contiguous, and LLVM removes parameters that a routine does not need. If the number of instances in the
// arguments differs between calls, their class needs a pool. If a handler is open around a call, the routine
// *reports* errors: a handler around its body turns all that it raises into results, an error's number and
// arguments, so that containers and variables have the values of the time of the raise. Codegen compares the
// stack with the thread's limit when a recursive function is entered, and returns up to two parts of each
// kind in registers.
//
// Marked functions are routines, too: marked.cpp.

#include "frontend/arrays/scalars.h"
#include "frontend/joins/joins.h"
#include "frontend/joins/objects.h"
#include "frontend/kinds/pooled_values.h"
#include "frontend/kinds/rows.h"
#include "frontend/routines/functions.h"
#include "frontend/routines/routines.h"
#include "frontend/statements/exceptions.h"
#include "frontend/tracer/checkpoint.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"
#include "frontend/tracer/scopes.h"

namespace ingot::frontend {

using ir::Op;

namespace {

constexpr uint32_t kFormalObject = 0x8000'0000;
constexpr uint32_t kFormalArray = 0xc000'0000;

/// Limits for activations of a function whose recursion may end when compiling: nested ones, and in one.
constexpr size_t kMostNested = 16;
constexpr size_t kMostRepeats = 64;
constexpr int kMostEvaluations = 64;

/// How many errors of a routine may have a cause or context: errors raised at each level of a recursion would
/// have endless chains.
constexpr size_t kMostChained = 16;

/// Whether there are copies of containers of the caller's, which only the outermost function stores.
bool has_copies(const State& state) {
  return std::ranges::any_of(state.heap, [](const auto& entry) { return entry.second.argument < -1; });
}

void refuse_joined(Tracer& t, const State& state, nb::handle node) {
  if (!has_joined(state)) return;
  for (const auto& [id, object] : state.heap) need_path(t, object, node);
  unsupported(t, node,
              "a dict, list or instance that is another one on another path, as an argument or result of a "
              "function that is not inlined,",
              "make a copy of it before, as by `dict(p)`");
}

Error without_others(Error error) {
  error.cause = error.context = nullptr;
  return error;
}

using Renumber = ValueKind::Renumber;

/// Formal numbers in the order of first visits.
class Numbering {
 public:
  /// Objects in `fixed` keep their numbers.
  explicit Numbering(uint32_t first, const std::set<uint32_t>& fixed = {}) : first_(first), fixed_(fixed) {}

  uint32_t operator()(uint32_t actual) {
    if (fixed_.contains(actual)) return actual;
    const auto [known, is_new] = formal_.emplace(actual, first_ + static_cast<uint32_t>(actual_.size()));
    if (is_new) actual_.push_back(actual);
    return known->second;
  }
  const std::vector<uint32_t>& actual() const { return actual_; }

 private:
  uint32_t first_;
  std::set<uint32_t> fixed_;
  std::map<uint32_t, uint32_t> formal_;
  std::vector<uint32_t> actual_;
};

/// Variables, and the objects reachable from them, under formal numbers.
State numbered(const std::map<std::string, Value>& variables, const std::map<uint32_t, HeapObject>& heap,
               Numbering& objects, Numbering& arrays) {
  State state;
  const Renumber object = [&](uint32_t id) { return objects(id); };
  const Renumber array = [&](uint32_t id) { return arrays(id); };
  for (const auto& [name, value] : variables) state.locals.emplace(name, renumbered(value, object, array));
  for (size_t i = 0; i < objects.actual().size(); ++i) {
    const auto it = heap.find(objects.actual()[i]);
    if (it == heap.end()) continue;
    HeapObject copy = it->second;
    for (Value& value : copy.values) value = renumbered(value, object, array);
    state.heap.emplace(kFormalObject + static_cast<uint32_t>(i), std::move(copy));
  }
  return state;
}

/// The name under which a routine is passed the cell of a variable of an outer function.
std::string cell_name(const std::string& variable) { return "@cell." + variable; }

constexpr const char* kResult = "@result";

/// The attribute that marks a function as a routine, see `ingot.library.registry.routine`.
constexpr const char* kMark = "__ingot_routine__";

bool is_function(const Value& value) { return kind_of_value(value).is_function(value); }

/// Whether the number of containers and variables, their lengths as far as known, and the functions in them
/// are the same: a recursion over known nested lists, or over functions of functions, ends when compiling.
template <class AreAlike>
bool hold_alike(const std::map<uint32_t, HeapObject>& a, const std::map<uint32_t, HeapObject>& b,
                AreAlike are_alike) {
  return std::ranges::equal(a, b, [&](const auto& x, const auto& y) {
    return x.first == y.first && x.second.type == y.second.type &&
           std::ranges::equal(x.second.values, y.second.values, are_alike);
  });
}

/// How many values the containers and variables of a state hold.
size_t values_in(const State& state) {
  size_t size = 0;
  for (const auto& [id, object] : state.heap) size += object.values.size();
  return size;
}

/// A routine is passed more than was known; no entry: all facts about it are dropped.
[[noreturn]] void widen_routine(Routine& routine, std::optional<State> entry);
Value returned(Tracer& t, const Routine& routine, const Passed& passed, std::span<const NodeId> operands,
               std::span<const NodeId> results, nb::handle node);

}  // namespace

/// Gives the tracer the state at the beginning of another function while it lives.
class InRoutine {
 public:
  InRoutine(Tracer& t, Routine& routine)
      : builder_(t.builder, std::make_unique<ir::Builder>(t.module, routine.name)),
        state_(t.state, {}),
        frame_(t.frame, nullptr),
        routine_(t.routine, &routine),
        merges_(t.merges, nullptr),
        indices_(t.loop_indices, {}),
        captured_(t.captured, {}),
        arguments_(t.scalar_arguments, {}),
        named_(t.named_arguments, {}),
        unmeasured_(t.unmeasured, {}),
        conditions_(t.conditions, {}),
        handlers_(t.handlers, {}),
        handled_(t.handled, {}),
        iterates_(t.iterates, {}),
        loops_(t.loops, {}),
        targets_(t.targets, {}),
        makings_(t.facts.pools.makings, routine.makings),
        pinned_(t.pinned, {}),
        outputs_(t.outputs, {}),
        mixed_(t.mixed, {}),
        here_(t.here, {}),
        place_(t.result_location, {}) {}

 private:
  Restored<std::unique_ptr<ir::Builder>> builder_;
  Restored<State> state_;
  Restored<Frame*> frame_;
  Restored<Routine*> routine_;
  Restored<Tracer::Merges*> merges_;
  Restored<std::unordered_map<uint32_t, std::string>> indices_;
  Restored<Tracer::Captures> captured_;
  Restored<std::unordered_map<uint32_t, int>> arguments_;
  Restored<std::unordered_map<uint32_t, int>> named_;
  Restored<std::unordered_map<uint32_t, int>> unmeasured_;
  Restored<std::vector<NodeId>> conditions_;
  Restored<std::vector<Catcher*>> handlers_;
  Restored<std::vector<const Error*>> handled_;
  Restored<std::vector<std::string>> iterates_;
  Restored<std::vector<std::pair<std::string, Value>>> loops_;
  Restored<std::vector<Target*>> targets_;
  Restored<Pools::Makings> makings_;
  Restored<std::vector<uint32_t>> pinned_;
  Restored<std::vector<NodeId>> outputs_;
  Restored<std::set<uint32_t>> mixed_;
  Restored<nb::handle> here_;
  Restored<base::SourceLocation> place_;
};

namespace {

Routine& new_routine(Tracer& t, const Frame& frame, State key, bool reports, bool is_exact = false);
void refuse_to_pass(Tracer& t, const Value& value, bool is_exact, nb::handle node);
Value call_routine(Tracer& t, Routine& routine, const std::map<std::string, Value>& arguments,
                   nb::handle node);
/// The result of a routine that reports errors; raises the error that it has reported.
Value raised_or_result(Tracer& t, const Routine& routine, const Value& reported);
void unify(Tracer& t, std::vector<Edge>& edges, ir::RegionId here);
/// A dummy value of a shape, and of the objects of `home` that it leads to.
Value blank(Tracer& t, const Value& shape, const State& home);
void solve(Tracer& t, Routine& routine);
bool evaluate_routine(Tracer& t, Routine& routine);

}  // namespace

std::string root_path(const Tracer& t) { return t.routine == nullptr ? "" : t.routine->name + ":"; }

void begin_routines(Tracer& t) {
  for (Routine& routine : t.facts.routines) {
    routine.is_solved = false;
    std::erase_if(routine.pools, [&](uint32_t pool) { return !t.facts.pools.objects.contains(pool); });
  }
  t.solved.clear();
  t.kept_hosts = 0;
}

void finish_routines(Tracer& t) {
  for (Routine& routine : t.facts.routines)
    if (routine.is_solved) t.module.define(routine.function, std::move(routine.body));
}

Passed passed(const Tracer& t, const std::map<std::string, Value>& arguments,
              const std::set<uint32_t>& pools) {
  Numbering objects(kFormalObject, t.facts.pools.objects);
  Numbering arrays(kFormalArray);
  State state = numbered(arguments, t.state.heap, objects, arrays);
  for (const uint32_t pool : pools) state.heap.emplace(pool, t.state.heap.at(pool));
  return {std::move(state), objects.actual(), arrays.actual()};
}

namespace {

/// Static parts and types: numbers and arrays by their types, containers by their kinds, those of the
/// caller's, at any depth, by which they are: where they are stored and returned depends on that.
State key_of_passed(const Tracer& t, const State& passed) {
  State key;
  std::set<uint32_t> arguments;
  for (const auto& [name, value] : passed.locals) {
    key.locals.emplace(name, kind_of_value(value).key(t, value));
    arguments.insert(object_of(value));
  }
  for (const auto& [id, object] : passed.heap) {
    if (!arguments.contains(id) && object.argument < 0) continue;
    HeapObject& kept = key.heap[id];
    kept.type = object.type;
    kept.type_of = object.type_of;
    kept.is_mapping = object.is_mapping;
    kept.argument = object.argument;
  }
  return key;
}

bool is_same_call(const State& a, const State& b) {
  const auto is_same = [](const auto& x, const auto& y) {
    return x.first == y.first && kind_of_value(x.second).has_same_key(x.second, y.second);
  };
  return std::ranges::equal(a.locals, b.locals, is_same) &&
         std::ranges::equal(a.heap, b.heap, [](const auto& x, const auto& y) {
           return x.first == y.first && x.second.type == y.second.type &&
                  x.second.type_of.is(y.second.type_of) && x.second.is_mapping == y.second.is_mapping &&
                  x.second.argument == y.second.argument;
         });
}

/// Whether only functions or known numbers change from call to call, and no unknown number: such a recursion
/// may end when compiling.
bool ends_when_compiling(const Frame& outer, const std::map<std::string, Value>& arguments) {
  bool known_changes = false;
  bool other_changes = false;
  bool function_changes = false;
  const std::function<void(const Value&, const Value&)> compare = [&](const Value& a, const Value& b) {
    if (is_function(a) && is_function(b) && !same(a, b)) function_changes = true;
    const std::vector<Value> x = parts_of(a);
    const std::vector<Value> y = parts_of(b);
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) compare(x[i], y[i]);
    other_changes = other_changes || (b.is<Pooled>() && !same(a, b));
    if (!number_kind(a) || same(a, b)) return;
    (known_of(a).is_valid() && known_of(b).is_valid() ? known_changes : other_changes) = true;
  };
  for (const auto& [name, value] : outer.arguments)
    if (const auto it = arguments.find(name); it != arguments.end()) compare(value, it->second);
  return function_changes || (known_changes && !other_changes);
}

}  // namespace

bool is_same_function(const Frame& a, const Frame& b) {
  return a.node.is(b.node) && a.globals.is(b.globals) && a.derivatives == b.derivatives &&
         std::ranges::equal(a.cells, b.cells, [](const auto& x, const auto& y) {
           return x.first == y.first && x.second.is(y.second);
         });
}

std::optional<Value> call_recursive(Tracer& t, Frame& frame, const std::map<std::string, Value>& locals,
                                    nb::handle node) {
  std::map<std::string, Value>& arguments = frame.arguments;
  arguments = locals;
  frame.derivatives = t.derivatives;
  for (const auto& [name, cell] : frame.shared) arguments.emplace(cell_name(name), Cell{cell});
  const auto is_it = [&](const Frame& other) { return is_same_function(frame, other); };
  std::vector<Frame*> active;
  for (Frame* at = t.frame; at != nullptr; at = at->caller)
    if (at->consumer == nullptr && is_it(*at)) active.push_back(at);
  const bool is_known =
      std::ranges::any_of(t.facts.routines, [&](const Routine& r) { return is_it(r.frame); });
  const bool is_marked = t.frame != nullptr && has_attribute(frame.function, kMark);
  const auto can_be_passed = [](const State& state) { return !has_copies(state) && !has_joined(state); };
  const bool is_frequent =
      !is_marked && is_called_often(t, frame) && can_be_passed(passed(t, arguments).state);
  if (active.empty() && !is_known && !is_marked && !is_frequent) return std::nullopt;
  State key = key_of_passed(t, passed(t, arguments).state);
  const bool reports = !t.handled.empty() || std::ranges::any_of(t.handlers, [](const Catcher* handler) {
    return handler->catches_some();
  });
  bool is_routine = false;
  for (Routine& routine : t.facts.routines) {
    if (routine.is_exact || !is_it(routine.frame) || !is_same_call(routine.key, key)) continue;
    routine.is_forgotten = false;
    for (auto& [name, value] : routine.key.locals) value = join(t, value, key.locals.at(name), name);
    if (routine.reports == reports) return call_routine(t, routine, arguments, node);
    is_routine = true;
  }
  if (is_routine) return call_routine(t, new_routine(t, frame, std::move(key), reports), arguments, node);
  if (!module_of(frame).starts_with(kLibrary)) {
    if (active.size() > 1) Rows(t).unite(active.front()->arguments, arguments, node);
    for (const Routine& routine : t.facts.routines)
      if (!routine.is_exact && !routine.is_forgotten && is_it(routine.frame))
        Rows(t).unite(routine.key.locals, arguments, node);
  }
  std::erase_if(active, [&](const Frame* at) {
    return !is_same_call(key_of_passed(t, passed(t, at->arguments).state), key);
  });
  if (active.empty()) {
    if (is_marked) return call_marked(t, frame, std::move(key), reports, node);
    return is_frequent ? call_frequent(t, frame, std::move(key), reports, node) : std::nullopt;
  }
  const auto are_alike = [](const Value& a, const Value& b) {
    return !is_function(a) || !is_function(b) || same(a, b);
  };
  const State before = passed(t, active.front()->arguments).state;
  const State now = passed(t, arguments).state;
  const auto differs = [&](const auto& argument) {
    const auto other = before.locals.find(argument.first);
    return number_kind(argument.second) && !known_of(argument.second).is_valid() &&
           other != before.locals.end() &&
           !same(active.front()->arguments.at(argument.first), arguments.at(argument.first));
  };
  // If lists only grow, numbers of run time decide when the recursion ends. Functions of the library, such as
  // loops over batch elements, call themselves with other functions instead.
  const bool only_grows = !module_of(frame).starts_with(kLibrary) && values_in(now) > values_in(before) &&
                          std::ranges::any_of(now.locals, differs);
  const bool holds_others = !hold_alike(before.heap, now.heap, are_alike) && !only_grows;
  if ((holds_others || ends_when_compiling(*active.front(), arguments)) && active.size() < kMostNested &&
      ++active.back()->repeats < kMostRepeats)
    return std::nullopt;
  for (const auto& [name, value] : arguments) refuse_to_pass(t, value, false, node);
  new_routine(t, frame, std::move(key), reports);
  throw NeedsFact{.kind = NeedsFact::Kind::Routines};
}

Value call_marked(Tracer& t, const Frame& frame, State key, bool reports, nb::handle node) {
  const std::map<std::string, Value>& arguments = frame.arguments;
  for (const auto& [name, value] : arguments) refuse_to_pass(t, value, true, node);
  const Passed given = passed(t, arguments);
  State shape = shape_of(given.state, [](NodeId) { return false; });
  const std::vector<ir::ParameterInfo> forms = forms_of(t, shape, given.state);
  size_t open = 0;
  for (Routine& routine : t.facts.routines) {
    if (!is_same_function(routine.frame, frame)) continue;
    if (routine.is_open) ++open;
    if (!routine.is_exact || routine.reports != reports) continue;
    if (!is_same_shape(routine.key, shape) || routine.forms != forms) continue;
    routine.is_forgotten = false;
    return call_routine(t, routine, arguments, node);
  }
  if (open == 2 * kMostNested) refuse_recursion(t, frame, node);
  if (open >= kMostNested) {
    new_routine(t, frame, std::move(key), reports);
    throw NeedsFact{.kind = NeedsFact::Kind::Routines};
  }
  Routine& made = new_routine(t, frame, std::move(shape), reports, true);
  made.forms = forms;
  return call_routine(t, made, arguments, node);
}

namespace {

Routine& new_routine(Tracer& t, const Frame& frame, State key, bool reports, bool is_exact) {
  // The keys of facts about locations in a routine begin with its name.
  for (Routine& routine : t.facts.routines) {
    if (!routine.is_forgotten || routine.reports != reports || routine.is_exact != is_exact ||
        !is_same_function(routine.frame, frame))
      continue;
    routine.frame = frame;
    routine.key = std::move(key);
    routine.is_forgotten = false;
    routine.unmeasured.clear();
    routine.loop_indices.clear();
    return routine;
  }
  const std::string number = std::to_string(t.facts.routines.size() + 1);
  Routine& made = t.facts.routines.emplace_back(
      Routine{frame, std::move(key), text_of(frame.function.attr("__name__")) + "." + number});
  made.reports = reports;
  made.is_exact = is_exact;
  made.function = t.module.declare(made.name, {}, {});
  return made;
}

}  // namespace

HeapObject& pool_at(Tracer& t, uint32_t pool) {
  const auto found = t.state.heap.find(pool);
  if (found != t.state.heap.end()) return found->second;
  if (t.routine == nullptr) throw base::InternalError("a pool is made before it is used");
  t.routine->pools.insert(pool);
  for (const auto& [site, lists] : t.facts.pools.by_family)
    if (lists == pool) t.routine->pools.insert(t.facts.pools.numbers.at("elements of " + site));
  widen_routine(*t.routine, std::nullopt);
}

namespace {

/// Asks for pools of classes whose instances make the arguments of a routine differ between calls.
void ask_for_pools(Tracer& t, const Routine& routine, const Passed& given, nb::handle node) {
  std::map<PyObject*, int> more;  // instances than in earlier calls
  for (const uint32_t object : given.objects) {
    if (const auto made = t.facts.pools.makings.classes.find(object);
        made != t.facts.pools.makings.classes.end())
      ++more[made->second.ptr()];
  }
  for (const auto& [formal, object] : routine.entry->heap)
    if (object.type == HeapObject::Type::Object) --more[object.type_of.ptr()];
  for (const auto& [type, count] : more)
    if (count != 0) PooledValues(t).ask_for({nb::borrow(type)}, node);
  for (const uint32_t object : given.objects) {
    std::vector<std::string> sites;
    for (const Value& value : t.state.heap.at(object).values) {
      const std::vector<std::string> own = Rows(t).sites_of(value);
      sites.insert(sites.end(), own.begin(), own.end());
    }
    if (!sites.empty()) Rows(t).ask_for(sites, node);
  }
}

/// Copies what is known of the objects passed to a routine to the objects of its shapes.
void describe_objects(Tracer& t, Routine& routine, const std::vector<uint32_t>& objects) {
  Pools::Makings& known = routine.makings;
  for (size_t i = 0; i < objects.size(); ++i) {
    const uint32_t formal = kFormalObject + static_cast<uint32_t>(i);
    if (const auto type = t.facts.pools.makings.classes.find(objects[i]);
        type != t.facts.pools.makings.classes.end())
      known.classes.insert_or_assign(formal, type->second);
    const auto sites = t.facts.pools.makings.sites.find(objects[i]);
    if (sites == t.facts.pools.makings.sites.end()) continue;
    for (const std::string& site : sites->second) {
      if (std::ranges::find(known.sites[formal], site) == known.sites[formal].end())
        known.sites[formal].push_back(site);
    }
  }
}

void refuse_to_pass(Tracer& t, const Value& value, bool is_exact, nb::handle node) {
  if (const char* const advice = kind_of_value(value).passed_instead(value); advice != nullptr) {
    const std::string whom = is_exact ? "a function that is not inlined" : "a recursive function";
    unsupported(t, node, "a " + type_name(t, value) + " that is passed to or from " + whom, advice);
  }
  for (const Value& part : parts_of(value)) refuse_to_pass(t, part, is_exact, node);
}

void widen_routine(Routine& routine, std::optional<State> entry) {
  routine.entry = std::move(entry);
  routine.exit.reset();
  routine.outcomes.clear();
  throw NeedsFact{.kind = NeedsFact::Kind::Routines};
}

}  // namespace

const Value* captured(Tracer& t, PyObject* owner, const std::string& name) {
  const auto known = t.captured.find({owner, name});
  if (known != t.captured.end()) return &known->second;
  if (t.routine == nullptr || !t.given_captures.contains({owner, name})) return nullptr;
  t.routine->captures.emplace_back(owner, name);
  widen_routine(*t.routine, std::nullopt);
}

namespace {

Value call_routine(Tracer& t, Routine& routine, const std::map<std::string, Value>& arguments,
                   nb::handle node) {
  std::map<std::string, Value> all = arguments;
  for (size_t i = 0; i < routine.captures.size(); ++i) {
    const auto& [owner, name] = routine.captures[i];
    all[kCaptured + std::to_string(i)] = *captured(t, owner, name);
  }
  for (const uint32_t pool : routine.pools) pool_at(t, pool);
  const Passed given = passed(t, all, routine.pools);
  describe_objects(t, routine, given.objects);
  for (const auto& [name, value] : given.state.locals) refuse_to_pass(t, value, routine.is_exact, node);
  refuse_joined(t, given.state, node);
  if (has_copies(given.state)) {
    unsupported(t, node, "a deque, set or other dict of the caller that is passed to a recursive function",
                "pass a new one: deque(...), set(...) of it");
  }
  for (const auto& [id, object] : given.state.heap) {
    for (const Value& value : object.values) refuse_to_pass(t, value, routine.is_exact, node);
    if (object.element != nullptr) refuse_to_pass(t, *object.element, routine.is_exact, node);
  }
  State shape = shape_of(given.state, [](NodeId) { return false; });
  if (!routine.entry) {
    routine.entry = std::move(shape);
    routine.objects = given.objects.size();
    routine.arrays = given.arrays.size();
  } else {
    if (!std::ranges::equal(
            shape.heap, routine.entry->heap, {}, [](const auto& entry) { return entry.first; },
            [](const auto& entry) { return entry.first; })) {
      ask_for_pools(t, routine, given, node);
      unsupported(t, node, "a recursive function whose arguments hold other containers from call to call",
                  "pass arrays, or lists of numbers");
    }
    const Restored<Pools::Makings> formal(t.facts.pools.makings, routine.makings);
    shape = join(t, *routine.entry, shape);
    if (!same(shape, *routine.entry)) widen_routine(routine, std::move(shape));
  }
  std::vector<NodeId> operands;
  carry(t, *routine.entry, given.state, operands);
  if (!routine.is_solved && !routine.is_open) {
    for (size_t i = 0; i < operands.size(); ++i)
      trace_parameter(t, routine, static_cast<uint32_t>(i), operands[i]);
    solve(t, routine);
  }
  if (t.routine != nullptr && (routine.is_open || routine.is_dependent)) t.routine->is_dependent = true;
  for (Routine* at = t.routine; routine.is_open && at != nullptr; at = at->outer) {
    at->is_dependent = at->is_recursive = true;
    if (at == &routine) break;
  }
  // Only recursion can overflow the stack.
  const bool catches = routine.reports && (routine.is_recursive || !routine.is_exact);
  std::vector<ir::Type> types;
  if (catches) types.push_back(ir::kInt32);
  if (routine.exit) slot_types(t.module.types, *routine.exit, types);
  const int64_t attributes[] = {routine.function.index, catches ? 2 : 0};
  const NodeId call = t.builder->make(Op::call, operands, attributes, t.module.types.results(types));
  const std::vector<NodeId> results = t.builder->function().results_of(call);
  const auto taken = [&]() -> Value {
    if (!routine.exit) {
      t.builder->terminate(Op::unreachable, {});
      throw Diverged{};
    }
    const auto values = std::span(results).subspan(catches ? 1 : 0);
    const Value value = returned(t, routine, given, operands, values, node);
    return routine.reports ? raised_or_result(t, routine, value) : value;
  };
  if (!catches) return taken();
  const NodeId has_begun = t.builder->make(Op::equal, {results[0], t.builder->constant<int32_t>(0)});
  return fork(t, has_begun, taken, [&]() -> Value {
    raise(t, base::ExceptionKind::RecursionError, "maximum recursion depth exceeded");
  });
}

/// An object as a routine leaves it. One that was passed keeps what does not change.
void store_changed(Tracer& t, uint32_t number, HeapObject changed, nb::handle node) {
  const auto known = t.state.heap.find(number);
  if (known == t.state.heap.end()) {
    t.state.heap.emplace(number, std::move(changed));
    return;
  }
  HeapObject& own = known->second;
  const auto equal = [](const Value& x, const Value& y) { return same(x, y); };
  if (!std::ranges::equal(own.values, changed.values, equal)) will_change(t, number, node);
  own.values = std::move(changed.values);
  own.keys = std::move(changed.keys);
  own.element = std::move(changed.element);
  own.conflict = std::move(changed.conflict);
  own.is_stale = changed.is_stale;
  own.given_away = changed.given_away;
}

/// Updates the state from a routine's results: objects that it has changed or made.
Value returned(Tracer& t, const Routine& routine, const Passed& passed, std::span<const NodeId> operands,
               std::span<const NodeId> results, nb::handle node) {
  State exit = *routine.exit;
  const auto outer = [&](NodeId parameter) { return operands[parameter.index]; };
  for (auto& [name, value] : exit.locals) value = with_nodes(value, outer);
  for (auto& [id, object] : exit.heap)
    for (Value& value : object.values) value = with_nodes(value, outer);
  exit = fill(t, exit, results);
  std::map<uint32_t, uint32_t> made;
  const auto actual = [&](uint32_t formal, uint32_t first, const std::vector<uint32_t>& known, size_t count) {
    if (const size_t at = formal - first; at < std::min(count, known.size())) return known[at];
    const auto [it, is_new] = made.emplace(formal, t.facts.next_object);
    if (is_new) ++t.facts.next_object;
    return it->second;
  };
  const Renumber object = [&](uint32_t id) {
    return t.facts.pools.objects.contains(id) ? id
                                              : actual(id, kFormalObject, passed.objects, routine.objects);
  };
  const Renumber array = [&](uint32_t id) { return actual(id, kFormalArray, passed.arrays, routine.arrays); };
  for (auto& [id, changed] : exit.heap) {
    for (Value& value : changed.values) value = renumbered(value, object, array);
    store_changed(t, object(id), std::move(changed), node);
  }
  for (const auto& [formal, id] : made) {
    const auto type = routine.makings.classes.find(formal);
    if (type != routine.makings.classes.end()) t.facts.pools.makings.classes.emplace(id, type->second);
    const auto sites = routine.makings.sites.find(formal);
    if (sites != routine.makings.sites.end()) t.facts.pools.makings.sites.emplace(id, sites->second);
  }
  return renumbered(exit.locals.at(kResult), object, array);
}

/// Sets another location for nodes that are made while it lives.
class AtPlace {
 public:
  AtPlace(ir::Builder& builder, ir::SpanId place) : builder_(builder), before_(builder.span()) {
    builder.set_span(place);
  }
  ~AtPlace() { builder_.set_span(before_); }
  AtPlace(const AtPlace&) = delete;
  AtPlace& operator=(const AtPlace&) = delete;

 private:
  ir::Builder& builder_;
  ir::SpanId before_;
};

Value raised_or_result(Tracer& t, const Routine& routine, const Value& reported) {
  const std::vector<Value> all = parts_of(reported);
  const auto raise_number = [&](size_t number) -> Value {
    const Tuple* parts = all[number + 1].as<Tuple>();
    if (parts == nullptr)
      unsupported(t, t.here, "an exception of a recursive function whose arguments differ", "give it a text");
    const Value made = with_parts(routine.errors[number - 1], parts->members);
    const Error& error = *made.as<Error>();
    const AtPlace place(*t.builder,
                        routine.keeps_indices() ? inlined_here(t, error.raised_at) : t.builder->span());
    pass_on(t, in_outer_context(t, error));
  };
  if (const std::optional<int64_t> known = static_int(all[0]))
    return *known > 0 ? raise_number(static_cast<size_t>(*known)) : all[1];
  const NodeId number = stage(t, all[0], Kind::py_int());
  const auto is = [&](size_t wanted) {
    return t.builder->make(Op::equal, {number, t.builder->index(static_cast<int64_t>(wanted))});
  };
  const auto nothing = [] { return Value(Static{nb::none()}); };
  const auto raise_it = [&]() -> Value {
    for (size_t i = 1; i < routine.errors.size(); ++i)
      if (routine.outcomes.contains(i)) fork(t, is(i), [&] { return raise_number(i); }, nothing);
    return raise_number(routine.errors.size());
  };
  if (!routine.outcomes.contains(0)) return raise_it();
  fork(t, is(0), nothing, raise_it);
  return all[1];
}

}  // namespace

void report(Tracer& t, const Catcher& routine, const Error& error) {
  const Restored<std::vector<Catcher*>> none(t.handlers, {});
  const Restored<Frame*> outermost(t.frame, routine.frame);
  t.state.locals.clear();
  Error given = error;
  const bool is_chained = t.routine->errors.size() < kMostChained;
  for (std::shared_ptr<const Error>* other : {&given.context, &given.cause})
    *other = !is_chained || !*other ? nullptr : share(without_others(**other));
  if (error.is_caused_by_context()) given.cause = given.context;
  leave_to(t, *routine.after, given);
}

namespace {

size_t number_of_error(Tracer& t, const Error& error) {
  std::vector<Error>& errors = t.routine->errors;
  const auto is_it = [&](const Error& other) {
    return same_form(error, other) &&
           (!t.routine->keeps_indices() || is_same_location(t, error.raised_at, other.raised_at)) &&
           std::ranges::equal(parts_of(error), parts_of(other), [&](const Value& a, const Value& b) {
             return known_of(a).is_valid() == known_of(b).is_valid() &&
                    (!known_of(a).is_valid() || same(a, b));
           });
  };
  const auto known = std::ranges::find_if(errors, is_it);
  if (known != errors.end()) return static_cast<size_t>(known - errors.begin()) + 1;
  errors.push_back(*shape_of(error, [](NodeId) { return false; }).as<Error>());
  return errors.size();
}

/// Evaluates the body of a routine that reports errors; the value that it returns.
Value reported(Tracer& t, Frame& frame, std::map<std::string, Value> locals) {
  const NodeId node = t.builder->begin(Op::block, {});
  const ir::Type label_type[] = {ir::Type::label()};
  Target target{t.builder->enter(node, 0, label_type)[0], {}};
  Catcher bottom(t, &frame);
  bottom.of_routine = true;
  bottom.after = &target;
  {
    const Pushed<Target*> open(t.targets, &target);
    const Pushed<Catcher*> catching(t.handlers, &bottom);
    try {
      Value value = stored(t, activate(t, frame, std::move(locals), {}));
      refuse_to_pass(t, value, t.routine->is_exact, {});
      target.edges.push_back({t.builder->suspend(), std::move(t.state), Tuple{{std::move(value)}}, {}, {}});
    } catch (const Diverged&) {
    }
  }
  unify(t, target.edges, t.builder->function()[node].parent);
  return close(t, node, target.edges);
}

/// Gives the paths to the end of a routine values of one form: its result and the parts of each error are
/// used only on their own paths.
void unify(Tracer& t, std::vector<Edge>& edges, ir::RegionId here) {
  struct Outcome {
    Edge* first = nullptr;
    Value first_value{};
    State state{};
    Value shape{};
  };
  std::map<size_t, Outcome> outcomes;
  std::vector<size_t> numbers;
  std::vector<Value> values;
  for (Edge& edge : edges) {
    const Error* error = edge.value.as<Error>();
    numbers.push_back(error == nullptr ? 0 : number_of_error(t, *error));
    values.push_back(error == nullptr ? parts_of(edge.value)[0] : Value(Tuple{parts_of(*error)}));
    Outcome& outcome = outcomes[numbers.back()];
    if (outcome.first == nullptr) {
      outcome = {&edge, values.back(), shape_of(edge.state, seen_from(*t.builder, here)),
                 shape_of(values.back(), seen_from(*t.builder, here))};
    } else {
      align(t, outcome.first->state, outcome.first_value, edge.state, values.back());
      outcome.state = join(t, outcome.state, edge.state);
      outcome.shape = join(t, outcome.shape, values.back(), "the result");
    }
    t.routine->outcomes.insert(numbers.back());
  }
  for (size_t i = 0; i < edges.size(); ++i) {
    t.builder->resume(edges[i].region);
    t.state = std::move(edges[i].state);
    Tuple all{{Static{nb::int_(numbers[i])}}};
    for (size_t k = 0; k <= t.routine->errors.size(); ++k) {
      const auto outcome = outcomes.find(k);
      if (k == numbers[i]) {
        all.members.push_back(values[i]);
      } else if (outcome != outcomes.end()) {
        all.members.push_back(blank(t, outcome->second.shape, outcome->second.state));
      } else {
        all.members.emplace_back(Tuple{});
      }
    }
    edges[i].value = std::move(all);
    edges[i].state = std::move(t.state);
    t.builder->suspend();
  }
}

Value blank(Tracer& t, const Value& shape, const State& home) {
  const auto fill_in = [&](uint32_t object) {
    const auto made = home.heap.find(object);
    if (made == home.heap.end() || t.state.heap.contains(object)) return;
    t.state.heap[object] = made->second;
    std::vector<Value> values = made->second.values;
    for (Value& value : values) value = blank(t, value, home);
    t.state.heap[object].values = std::move(values);
  };
  const ValueKind& kind = kind_of_value(shape);
  if (kind.is_leaf()) return kind.blank(t, shape);
  kind.each_object(shape, fill_in);
  return with_each_part(shape, [&](const Value& part) { return blank(t, part, home); });
}

void solve(Tracer& t, Routine& routine) {
  routine.is_open = true;
  routine.outer = t.routine;
  const size_t before = t.solved.size();
  try {
    for (int i = 0; !evaluate_routine(t, routine); ++i) {
      // Facts that were found with the old results have to be found again.
      const auto first = t.solved.begin() + static_cast<ptrdiff_t>(before);
      const auto kept = std::stable_partition(first, t.solved.end(), [](const Routine* inner) {
        return inner->is_exact && !inner->is_dependent;
      });
      for (auto inner = kept; inner != t.solved.end(); ++inner) (*inner)->is_solved = false;
      t.solved.erase(kept, t.solved.end());
      if (i == kMostEvaluations) {
        throw base::Unsupported(location_of(t, {}),
                                "a recursive function whose results do not settle on their types",
                                "give them their types before");
      }
    }
  } catch (base::Unsupported& refusal) {
    routine.is_open = false;
    if (routine.is_exact) add_callers(t, refusal);
    throw;
  } catch (...) {
    routine.is_open = false;
    throw;
  }
  routine.is_open = false;
  routine.is_solved = true;
  t.solved.push_back(&routine);
  t.kept_hosts = t.hosts.size();
}

/// The state at a routine's end: the returned value, what was passed, and the objects reachable from these.
Passed at_end(Tracer& t, const Routine& routine, Value value) {
  Numbering objects(kFormalObject, t.facts.pools.objects);
  Numbering arrays(kFormalArray);
  for (uint32_t i = 0; i < routine.objects; ++i) objects(kFormalObject + i);
  for (uint32_t i = 0; i < routine.arrays; ++i) arrays(kFormalArray + i);
  State state = numbered({{kResult, std::move(value)}}, t.state.heap, objects, arrays);
  for (const uint32_t pool : routine.pools) state.heap.emplace(pool, t.state.heap.at(pool));
  refuse_joined(t, state, {});
  return {std::move(state), objects.actual(), arrays.actual()};
}

/// The slots of a shape that are columns of list buffers, which are contiguous.
std::set<size_t> columns_of(Tracer& t, const State& shape) {
  std::vector<ir::Type> before;
  std::set<size_t> columns;
  for (const auto& [name, value] : shape.locals) slot_types(t.module.types, value, before);
  for (const auto& [id, object] : shape.heap) {
    for (size_t i = 0; i < object.values.size(); ++i) {
      const size_t own = before.size();
      slot_types(t.module.types, object.values[i], before);
      if (object.element != nullptr && i > 0 && before.size() > own) columns.insert(own);
    }
  }
  return columns;
}

std::vector<NodeId> add_parameters(Tracer& t, const Routine& routine, std::span<const ir::Type> types) {
  std::vector<ir::ParameterInfo> infos(types.size());
  if (routine.is_exact) {
    const std::vector<size_t> slots = slots_of_arguments(t, *routine.entry);
    INGOT_ASSERT(slots.size() == routine.forms.size(), "an exact routine has the slots of its key");
    for (size_t i = 0; i < slots.size(); ++i) infos[slots[i]] = routine.forms[i];
  }
  for (const size_t column : columns_of(t, *routine.entry)) infos[column].layout = ir::Layout::C;
  std::vector<NodeId> parameters;
  for (size_t i = 0; i < types.size(); ++i) {
    infos[i].name = "p" + std::to_string(i);
    parameters.push_back(t.builder->add_parameter(types[i], infos[i]));
  }
  return parameters;
}

/// Evaluates the body; false: its exit is wider than was known before.
bool evaluate_routine(Tracer& t, Routine& routine) {
  std::vector<ir::Type> types;
  std::vector<ir::Type> results;
  slot_types(t.module.types, *routine.entry, types);
  if (routine.exit) slot_types(t.module.types, *routine.exit, results);
  t.module.redeclare(routine.function, types, results);

  const InRoutine inside(t, routine);
  t.builder->relax(t.request.relaxations);
  if (!module_of(routine.frame).starts_with(kLibrary)) {
    t.builder->set_span(
        t.module.span({.file = routine.frame.file,
                       .line = nb::cast<uint32_t>(routine.frame.node.attr("lineno")),
                       .function = t.module.text(text_of(routine.frame.function.attr("__name__"))),
                       .inlined_at = {}}));
  }
  t.result_location = t.module.location(t.builder->span());
  const std::vector<NodeId> parameters = add_parameters(t, routine, types);
  std::span<const NodeId> rest(parameters);
  t.state = fill(t, *routine.entry, rest);
  for (const auto& [parameter, argument] : routine.scalar_arguments) t.scalar_arguments[parameter] = argument;
  for (const auto& [parameter, argument] : routine.named_arguments) t.named_arguments[parameter] = argument;
  for (const auto& [parameter, argument] : routine.unmeasured) t.unmeasured[parameter] = argument;
  for (const auto& [parameter, loop] : routine.loop_indices) t.loop_indices[parameter] = loop;
  for (const auto& [id, object] : t.state.heap) t.pinned.push_back(id);

  Frame frame = routine.frame;
  frame.arguments = t.state.locals;
  std::map<std::string, Value> locals = std::exchange(t.state.locals, {});
  for (auto& [name, cell] : frame.shared) {
    const auto given = locals.extract(cell_name(name));
    cell = given.mapped().as<Cell>()->object;
  }
  for (size_t i = 0; i < routine.captures.size(); ++i)
    t.captured[routine.captures[i]] = locals.extract(kCaptured + std::to_string(i)).mapped();

  std::optional<State> end;
  const bool kept_places = routine.keeps_indices();
  const size_t errors = routine.errors.size();
  const size_t outcomes = routine.outcomes.size();
  try {
    const Value value = routine.reports ? reported(t, frame, std::move(locals))
                                        : stored(t, activate(t, frame, std::move(locals), {}));
    refuse_to_pass(t, value, t.routine->is_exact, {});
    Passed all = at_end(t, routine, value);
    describe_objects(t, routine, all.objects);
    end = std::move(all.state);
  } catch (const Diverged&) {
  }
  if (kept_places && !routine.keeps_indices() && routine.reports) {
    routine.errors.clear();
    routine.outcomes.clear();
    routine.exit.reset();
    return false;
  }
  if (routine.errors.size() != errors || routine.outcomes.size() != outcomes) routine.exit.reset();
  if (end) {
    const State shape = shape_of(*end, [&](NodeId node) { return node.index < parameters.size(); });
    const Restored<Pools::Makings> formal(t.facts.pools.makings, routine.makings);
    State joined = routine.exit ? join(t, *routine.exit, shape) : shape;
    if (!routine.exit || !same(joined, *routine.exit)) {
      routine.exit = std::move(joined);
      if (!routine.is_exact || routine.is_recursive) return false;
      results.clear();
      slot_types(t.module.types, *routine.exit, results);
      t.module.redeclare(routine.function, types, results);
    }
    std::vector<NodeId> values;
    carry(t, *routine.exit, *end, values);
    t.builder->terminate(Op::return_, values);
  }
  routine.body = t.builder->finish(results);
  return true;
}

}  // namespace

}  // namespace ingot::frontend
