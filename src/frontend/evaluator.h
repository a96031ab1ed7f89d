#pragma once

#include <deque>
#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/effort.h"
#include "frontend/lowered.h"
#include "frontend/operator.h"
#include "frontend/registry.h"
#include "frontend/value.h"
#include "ir/builder.h"

namespace ingot::frontend {

/// The raw value that a class or its bases hold under a name; invalid: there is none. Runs no code.
nb::object lookup(nb::handle type, const std::string& name);
bool is_member_of_enum(nb::handle object);
bool is_enum(nb::handle type);

/// One evaluation of a Python function, called with arguments of known types, to array-stage IR: of its AST,
/// over known and staged values. No user code runs and no user object changes.
class Evaluator {
 public:
  struct Facts;

  /// Evaluates with the facts that earlier evaluations, into the same module, have found.
  Evaluator(const Registry& registry, ir::Module& module, Request request, Facts& facts);
  ~Evaluator();

  /// Evaluates a Python function into the module. Throws base::Unsupported, or NeedsFact.
  Lowered lower(const nb::object& function);

  /// One call of a builtin, with its arguments.
  struct Call {
    std::vector<Value> positional;
    std::vector<std::pair<std::string, Value>> keywords;
    std::string name;  ///< of the function, for messages
    nb::handle node;
    nb::object function{};  ///< of Python or NumPy; invalid for methods
    bool is_last{};         ///< nothing uses the values after it

    std::vector<Value> values() const;  ///< all of them
  };

  // What follows is open to the files of this component alone, which are the evaluator's parts.
  Value bound_method(const Value& function, const Value& self);  ///< sequences.cpp, as the next one
  Value bound_partial(std::vector<Value> parts);                 ///< of the function, a tuple and a dict
  Value by_ranges(const char* name, std::vector<Value> arguments, nb::handle node);  ///< of `library.ranges`
  struct Axis;
  struct Frame;
  struct Target;
  struct Edge;
  class Here;
  class CallersLists;
  class Collectives;
  class Fields;
  class Parameters;
  class Kernels;
  class Members;
  struct Launch;
  class Columns;
  class Pins;
  class PooledValues;
  class Renamed;
  class Rows;
  class Strings;
  class Unrolled;
  class AtHandler;
  using Iteration = std::function<void(const Value&)>;  ///< called with each element
  struct Clause;
  struct Catcher;
  class Handling;
  struct Outward;

  // statements.cpp
  void run_body(nb::handle statements);
  void run(nb::handle statement);
  [[noreturn]] void refuse_statement(nb::handle s);
  /// The implementation that a user has registered for a function by `ingot.implements`; invalid: none.
  nb::object implementation_of(const nb::object& function);
  /// The message for a call of an unknown function, and what to write instead.
  static std::pair<std::string, std::string> refusal_of_call(const nb::object& function);
  [[noreturn]] void refuse_call(const nb::object& function, nb::handle node);
  void run_assign(nb::handle s);
  void run_aug_assign(nb::handle s);
  void run_ann_assign(nb::handle s);
  /// `before op= right`: the new value; none: the object itself has changed.
  std::optional<Value> changed(const Value& before, Operator op, const Value& right, nb::handle s);
  void run_expr(nb::handle s);
  void run_if(nb::handle s);
  void run_for(nb::handle s);
  void run_while(nb::handle s);
  void run_return(nb::handle s);
  void run_break(nb::handle s);
  void run_continue(nb::handle s);
  void run_pass(nb::handle s);
  void run_raise(nb::handle s);
  void run_assert(nb::handle s);
  void run_delete(nb::handle s);
  void delete_item(nb::handle target);
  void delete_item_of(const Value& container, const Value& index, nb::handle target);
  void assign_item(const Value& container, const Value& index, Value value, nb::handle target);
  void run_match(nb::handle s);
  void run_try(nb::handle s);
  void run_clauses(nb::handle s);
  void run_with(nb::handle s);
  void run_function_def(nb::handle s);
  void run_import(nb::handle s);  ///< imports.cpp, as the next ones
  void run_import_from(nb::handle s);
  Value imported_module(const std::string& name, nb::handle s);
  void assign(nb::handle target, Value value);
  std::vector<Value> unpack(const Value& value, size_t count, nb::handle node);
  std::vector<Value> unpack_starred(const Value& value, size_t before, size_t after, nb::handle node);
  void bind(const std::string& name, Value value);

  // patterns.cpp
  /// Reads the subject of a match again, if it was read on a path that may not be taken.
  using Reading = std::function<Value()>;
  Value match_pattern(nb::handle pattern, const Value& subject, const Reading& read = {});
  Value match_sequence(nb::handle pattern, const Value& subject, const Reading& read);
  Value match_instance(nb::handle pattern, const nb::object& type, const Value& subject, const Reading& read);
  Value both_of(const Value& a, const std::function<Value()>& b, nb::handle node);

  // closures.cpp
  /// A variable of this activation, in a cell or not; null: it has never been bound.
  Value* local(const std::string& name);
  void set_local(const std::string& name, Value value);
  bool is_outer(const std::string& name) const;          ///< a variable around the compiled function
  void set_outer(const std::string& name, Value value);  ///< in the caller's scope; Unbound: by `del`
  uint32_t new_cell(Value value);
  void share_locals();  ///< moves variables that inner functions use to cells
  Value make_closure(nb::handle node, const std::string& name);
  Value stored(Value value);  ///< for a variable, which can be an alias: an array becomes memory
  Value call_closure(const Closure& closure, Call& call);
  Value first_iterable(nb::handle comprehension);
  /// Evaluates `element` for each element of a comprehension; `first` is the outermost iterable.
  void comprehend(nb::handle e, const Value& first, const std::function<void()>& element);
  std::vector<Value> comprehended(nb::handle e, const Value& first);
  /// `sum(... for ...)` and the like as loops; none for other calls.
  std::optional<Value> call_of_generator(const Value& callee, nb::handle e);
  void iterate_comprehension(nb::handle comprehension, const Value& first, const std::string& kind);
  Value consume(nb::handle comprehension, const std::string& kind, nb::handle node);
  Value array_of_comprehension(nb::handle comprehension, nb::handle node);
  void forget(const std::string& suffix);
  std::string suffix_of(nb::handle node) const;  ///< of names of a location in this activation

  // sets.cpp
  nb::object history_of(const Set& set, nb::handle node);
  nb::object host_set(const Set& set, nb::handle node);  ///< a new one, of the same elements and order
  Value new_set(const nb::object& history);
  void need_hashable(const Value& value, nb::handle node);
  nb::object element_of_set(const Value& value, nb::handle node);
  nb::object iterable_of_set(const Value& value, nb::handle node);  ///< as histories hold it
  Value eval_set(nb::handle e);
  Value eval_set_comp(nb::handle e);
  Value set_method(const Set& set, const std::string& name, Call& call);
  /// An operator or comparison of two sets; none: another one.
  std::optional<Value> binary_of_sets(Operator op, const Value& a, const Value& b, nb::handle node);
  /// `set op= right`; false: it becomes another set.
  bool change_set(const Set& set, Operator op, const Value& right, nb::handle node);
  std::vector<Value> elements_of_set(const Set& set, nb::handle node);
  Value is_element(const Value& wanted, const Value& set, nb::handle node);

  // recursion.cpp
  struct Routine;
  struct Passed;
  class InRoutine;
  /// Calls a function that is a routine, or becomes one by this call; none: the caller has to inline it.
  std::optional<Value> call_recursive(Frame& frame, const std::map<std::string, Value>& locals,
                                      nb::handle node);
  Passed passed(const std::map<std::string, Value>& arguments, const std::set<uint32_t>& pools = {}) const;
  State key_of(const State& passed) const;
  bool is_same_call(const State& a, const State& b) const;
  bool is_same_function(const Frame& a, const Frame& b) const;
  bool is_same_key(const Value& a, const Value& b) const;
  bool ends_when_compiling(const Frame& outer, const std::map<std::string, Value>& arguments) const;
  std::vector<NodeId> add_parameters(const Routine& routine, std::span<const ir::Type> types);
  /// Calls a function that is marked as a routine, which is compiled for each shape of what is passed.
  Value call_marked(const Frame& frame, State key, bool reports, nb::handle node);
  /// Whether a user's function has been inlined so often that its calls grow too large.
  bool is_called_often(const Frame& frame);
  /// Calls such a function as if it were marked; none: it is inlined all the same.
  std::optional<Value> call_frequent(const Frame& frame, State key, bool reports, nb::handle node);
  Routine& new_routine(const Frame& frame, State key, bool reports, bool is_exact = false);
  Value call_routine(Routine& routine, const std::map<std::string, Value>& arguments, nb::handle node);
  /// A hidden argument; a routine is passed it from its first use on; null: there is none.
  const Value* captured(PyObject* owner, const std::string& name);
  Value returned(const Routine& routine, const Passed& passed, std::span<const NodeId> operands,
                 std::span<const NodeId> results);
  /// A routine is passed more than was known; no entry: all facts about it are dropped.
  [[noreturn]] void widen(Routine& routine, std::optional<State> entry);
  void refuse_to_pass(const Value& value, bool is_exact, nb::handle node);
  HeapObject& pool_at(uint32_t pool);  ///< a routine is passed it from its first use on
  void ask_for_pools(const Routine& routine, const Passed& given, nb::handle node);
  /// Copies what is known of the objects passed to a routine to the objects of its shapes.
  void describe_objects(Routine& routine, const std::vector<uint32_t>& objects);
  void solve(Routine& routine);
  /// Evaluates the body of a routine that reports errors; the value that it returns.
  Value reported(Frame& frame, std::map<std::string, Value> locals);
  [[noreturn]] void report(const Catcher& routine, const Error& error);
  void unify(std::vector<Edge>& edges, ir::RegionId here);
  size_t number_of_error(const Error& error);
  /// A dummy value of a shape, and of the objects of `home` that it leads to.
  Value blank(const Value& shape, const State& home);
  /// The result of a routine that reports errors; raises the error that it has reported.
  Value raised_or_result(const Routine& routine, const Value& reported);
  bool evaluate_routine(Routine& routine);
  std::set<size_t> columns_of(const State& shape);
  Passed at_end(const Routine& routine, Value value) const;
  std::string root_path() const;  ///< where the paths of calls begin
  void begin_routines();
  void finish_routines();

  // marked.cpp
  bool is_same_shape(const State& a, const State& b) const;
  std::vector<ir::ParameterInfo> forms_of(const State& shape, const State& given);
  std::vector<size_t> slots_of_arguments(const State& entry);
  void trace_parameter(Routine& routine, uint32_t parameter, NodeId operand);
  ir::SpanId inlined_here(ir::SpanId inner);
  bool is_same_location(ir::SpanId a, ir::SpanId b) const;
  void add_callers(base::Unsupported& refusal) const;

  // generators.cpp
  Frame frame_of(const Definition& definition) const;
  /// The result of a call of a generator function: an iterator, which has not begun.
  Value suspended(const Frame& frame, const std::map<std::string, Value>& locals);
  Value eval_generator(nb::handle e);
  Value eval_yield(nb::handle e);
  Value eval_yield_from(nb::handle e);
  /// Iterates over that. `held`: something else may hold the generator when the loop ends early.
  void iterate(const Value& iterable, nb::handle node, const Iteration& iteration, bool held);
  Value iterate_generator(const Generator& generator, nb::handle node, const Iteration& iteration, bool held);
  void iterate_beside(const Zip& zip, nb::handle node, const Iteration& iteration, bool held);
  /// Gives a generator expression access to the variables of the activation that made it.
  void see_creator(const Definition& definition, Frame& frame);
  /// Whether all iterators in a value were made since `next_object_` had the given value.
  bool is_new(const Value& iterable, uint32_t since) const;
  bool is_held(const Value& given, uint32_t since, nb::handle expression) const;  ///< by something else
  /// The handlers of a generator as its consumer sees them.
  std::vector<Catcher*> handlers_outside(const Frame& generator, std::deque<Catcher>& made) const;
  Reference list_of(const Value& iterable, nb::handle node, std::optional<size_t> most = std::nullopt);
  /// The k-th element of an iterable that is iterated over together with a generator, and whether it exists.
  struct IndexedIterable {
    std::function<Value(const Value&)> has;
    std::function<Value(const Value&)> element;
  };
  /// Raises if Python raises at once because a value is no iterable.
  void need_iterable(const Value& value);
  /// The result of the `__iter__` of an instance's class; none: it has none.
  std::optional<Value> iterator_of_object(const Value& value, nb::handle node);
  /// Unrolls the loops from number `since` on, where possible.
  void unroll_loops(size_t since, nb::handle node);

  // loops.cpp
  /// The iterations of a staged loop: their count, and the element of the k-th.
  struct Trips {
    NodeId count;
    std::function<Value(NodeId)> element;
  };
  struct Checkpoint;
  Checkpoint checkpoint(bool keeps_state = true);  ///< else going back leaves variables and objects
  void go_back(const Checkpoint& point);
  void unrolled_loop(nb::handle s, const Value& iterable, std::vector<Value> elements);
  Value iterator(std::string name, Value iterates);
  /// The iterable of an iterator, which is exhausted then; other values as they are.
  Value begin_iterate(const Value& iterable, nb::handle node);
  /// Whether a generator yields a value equal to `wanted`; iterates up to that value.
  Value is_yielded(const Value& wanted, const Value& given, nb::handle node);
  /// The elements of an iterable that was known when iterating began; refuses it if it is not any more.
  std::vector<Value> still_known(const Value& iterable, nb::handle node);
  /// Runs an iteration for each element of a known iterable; each one sees what earlier ones changed in it.
  void each_element(const Value& iterable, std::vector<Value> elements, nb::handle node,
                    const std::function<void(const Value&)>& iteration);
  /// The iterations from the `first` on (0, or 1 after a peeled one).
  void counted_loop(nb::handle s, const Value& iterable, int64_t first = 0);
  void peeled_loop(nb::handle s, const Value& iterable);
  bool loses_in_first_iteration(const State& entry, const State& carried);
  void while_loop(nb::handle s);
  void loop_body(nb::handle s);
  void with_breaks(nb::handle s, const std::function<void()>& loop);
  State assumed_carried(const std::string& key, const State& entry);
  Trips trips_of(const Value& iterable, nb::handle node);
  std::optional<std::vector<Value>> static_elements(const Value& iterable, nb::handle node,
                                                    bool ranges = false);
  std::string key_of(nb::handle node) const;

  // joins.cpp: values and states of paths that join. A *shape* is a value in which leaves without a node are
  // slots: these differ between the paths, so the results of the node that joins the paths carry them.
  Value fork(NodeId condition, const std::function<Value()>& then, const std::function<Value()>& other);
  Value block(const std::function<Value(Target&)>& body);
  [[noreturn]] void leave_to(Target& target, Value value);
  Value close(NodeId node, std::vector<Edge>& edges);
  Value join(const Value& a, const Value& b, const std::string& what);
  /// The number of the join of two objects, one of each path; 0: not known.
  uint32_t merged(uint32_t a, uint32_t b);
  void carry(const Value& shape, const Value& actual, std::vector<NodeId>& out);
  Value fill(const Value& shape, std::span<const NodeId>& values);
  NodeId convert(const Value& number, Kind kind);
  /// Renumbers objects that were made on one path as the corresponding objects of another path, so that both
  /// are joined as one. Only where nothing else can see the difference.
  void align(const State& to, const Value& to_value, State& state, Value& value);
  State join(const State& a, const State& b);
  void carry(const State& shape, const State& actual, std::vector<NodeId>& out);
  State fill(State shape, std::span<const NodeId>& values);

  // expressions.cpp
  Value eval(nb::handle expression);
  /// Like `eval`, but the value may still be None at run time: for arguments that take None.
  Value eval_open(nb::handle expression);
  Value eval_name(nb::handle e);
  Value open(const Value& value, const std::string& name, nb::handle node);  ///< raises where it is not bound
  Value eval_constant(nb::handle e);
  Value eval_binary(nb::handle e);
  Value eval_unary(nb::handle e);
  Value eval_compare(nb::handle e);
  /// The exception of a variable that is not bound, and its message.
  std::pair<base::ExceptionKind, std::string> absence_of(const std::string& name) const;
  Value eval_name_open(nb::handle e);
  Value eval_bool(nb::handle e);
  /// `and` and `or`; `by_truth`: no more than the truth of the result is wanted.
  Value eval_bool_by(nb::handle e, bool by_truth);
  Value eval_condition(nb::handle e);  ///< a value of the same truth, perhaps another one
  Value eval_conditional(nb::handle e);
  Value eval_attribute(nb::handle e);
  Value eval_index(nb::handle e);  ///< where None is another index: TypeChangeError if it is None at run time
  Value eval_subscript(nb::handle e);
  Value eval_item(const Value& container, const Value& index, nb::handle e);
  std::optional<Value> item_by_library(const Value& value, const Value& index, nb::handle e);  ///< `np.mgrid`
  Value eval_call(nb::handle e);
  Value eval_tuple(nb::handle e);
  void need_small(const Value& tuple, nb::handle node);  ///< refuses one of too many values
  Value eval_list(nb::handle e);
  Value eval_dict(nb::handle e);
  Value eval_slice(nb::handle e);
  Value eval_bound(nb::handle e);  ///< of a slice: perhaps None (sequences.cpp, as the next ones)
  const Maybe* open_bound(const Value& index) const;  ///< a bound of a slice that may be None; null: none
  /// Applies `use` to a slice on two paths: with the bound, and with None instead of it.
  Value by_bound(const Maybe& bound, const Value& index, const std::function<Value(const Value&)>& use);
  Value eval_walrus(nb::handle e);
  Value eval_lambda(nb::handle e);
  Value eval_list_comp(nb::handle e);
  Value list_comp(nb::handle e);
  Value list_buffer_comprehension(nb::handle e, const Value& first);
  bool is_range_to_demand(const Value& iterable) const;  ///< its bounds can be known when compiling
  Value eval_dict_comp(nb::handle e);
  Value eval_joined_str(nb::handle e);
  std::vector<Value> eval_elements(nb::handle elements);  ///< of a display, starred ones among them
  /// The result of a module's `__getattr__` (PEP 562); none: it has the attribute, or no such function.
  std::optional<Value> made_by_module(const nb::object& module, const std::string& name, nb::handle e);
  Value attribute_of(const Value& value, const std::string& name, nb::handle node);
  Value array_attribute(const Array& array, const std::string& name, nb::handle node);
  /// If an argument is a memory map, refuses operations that distinguish one from other arrays: the evaluator
  /// does not know which arrays are of its class.
  void need_no_memory_maps(const std::string& what, nb::handle node);
  Value call(const Value& callee, Call& call);
  void need_present(Call& call);  ///< none of its arguments may be None
  /// Handles a call of Python's or NumPy's own functions with foreign arguments: raises or refuses.
  void refuse_foreign(const Call& call, const std::string& name, nb::object function);
  /// Runs a handler; if it refuses arguments whose types make Python raise, raises that error.
  Value handle(const Builtin& builtin, Call& call);
  /// Raises what Python's function raises, if the types, number and names of the arguments decide it.
  void raise_as_called(const Call& call);
  Value inline_function(const nb::object& function, Call& call);
  Value load_global(const std::string& name, nb::handle node);

  // python_builtins.cpp
  Value known_number(const Value& value);  ///< Static where it is a constant int
  nb::object type_of(const Value& value, nb::handle node);
  /// A value in Python's format, as `{!r:>5}`.
  Value text_of_value(const Value& value, const std::string& form, nb::handle node);
  Value joined_text(const std::vector<Value>& pieces);
  /// `format % given`; none: the format is no known string.
  std::optional<Value> formatted(const Value& format, const Value& given, nb::handle node);
  /// Of nested lists and tuples of numbers and arrays; without a dtype, NumPy's for them.
  Value array_of(const Value& value, nb::handle node, std::optional<DType> wanted = std::nullopt);
  Value array_of_range(const Range& range, nb::handle node);
  Value compare_sequences(Operator op, std::vector<Value> a, std::vector<Value> b, nb::handle node);

  // methods.cpp
  Value new_list(std::vector<Value> values);
  Value new_dict(std::vector<nb::object> keys, std::vector<Value> values);
  Value static_value(const nb::object& object);  ///< a host list becomes a list of the shadow heap
  nb::object host_change(const nb::object& container, const char* method, const nb::tuple& arguments);
  void replay(const Reference& container, const char* method, const std::vector<Value>& arguments,
              nb::handle node);
  Value change_list(const Reference& list, const char* method, std::vector<Value> arguments,
                    std::vector<Value> added, nb::handle node);
  Value remove_from_dict(const Reference& dict, const char* method, const std::vector<Value>& arguments,
                         nb::handle node);
  std::vector<Value> elements_of(const Value& iterable, nb::handle node);  ///< demanded, or refused
  std::vector<size_t> indices_of(const Slice& slice, size_t size, nb::handle node);
  NodeId index_of_equal(const std::vector<Value>& values, const Value& wanted, nb::handle node);
  Value list_method(const Reference& list, const std::string& name, Call& call);
  Value count_of_equal(const std::vector<Value>& values, const Value& wanted, nb::handle node);
  Value dict_method(const Reference& dict, const std::string& name, Call& call);
  std::vector<Value> sorted_values(const std::vector<Value>& values, Call& call);
  std::vector<std::pair<Value, Value>> items_of(const Value& mapping, nb::handle node);

  // operators.cpp
  Value binary(Operator op, const Value& a, const Value& b, nb::handle node);
  std::optional<Value> binary_of_known(Operator op, const Value& a, const Value& b, nb::handle node);
  std::optional<Value> binary_of_sequences(Operator op, const Value& a, const Value& b, nb::handle node);
  std::optional<Value> repeated(const Value& sequence, const Value& count, nb::handle node);
  Value binary_of_numbers(Operator op, const Value& a, const Value& b, nb::handle node);
  Value compare(Operator op, const Value& a, const Value& b, nb::handle node);
  std::optional<Value> compare_open_classes(Operator op, const Value& a, const Value& b, nb::handle node);
  Value compare_identity(Operator op, const Value& a, const Value& b, nb::handle node);
  Value compare_values(Operator op, const Value& a, const Value& b, nb::handle node);
  Value compare_numbers(Operator op, const Value& a, const Value& b);
  Value contains(Operator op, const Value& wanted, const Value& container, nb::handle node);
  Value is_among(std::vector<Value> values, const Value& wanted, nb::handle node);
  Value of_no_number(const Value& a, const Value& other, bool answer);
  Value unary(Operator op, const Value& a, nb::handle node);
  bool is_numpys(const Value& value) const;  ///< an array, or one of NumPy's numbers
  /// The kind of a number that a sequence is repeated by; none: it is no int.
  std::optional<Kind> repeats(const Value& count) const;
  /// If one operand is NumPy's and the other a sequence: both, the sequence as an array; else none.
  std::optional<std::pair<Value, Value>> as_arrays(const Value& a, const Value& b, nb::handle node);
  Value python_arithmetic(Operator op, const Value& a, const Value& b, nb::handle node);
  Value python_int(Operator op, NodeId a, NodeId b, nb::handle node);
  Value python_float(Operator op, NodeId a, NodeId b, nb::handle node);
  Value complex_power(NodeId x, NodeId y);  ///< Python's power, with its exceptions
  Value python_power(const Value& a, const Value& b, nb::handle node);
  std::optional<Value> compare_complex_scalars(ir::Op op, const Value& a, const Value& b);
  std::optional<Value> compare_with_int(ir::Op op, const std::vector<Value>& operands,
                                        std::span<const Kind> kinds);
  std::optional<Value> of_large_ints(const std::vector<Value>& operands, std::span<const Kind> kinds,
                                     std::string_view numpy_name);
  Value elementwise(ir::Op op, std::vector<Value> operands, std::string_view numpy_name, nb::handle node);
  Value matmul(const Value& a, const Value& b, nb::handle node, bool is_dot = false);
  Value sum_of_products(NodeId left, NodeId right);
  Value product_of_matrices(NodeId left, NodeId right);
  /// Compares Python's int with its float or complex exactly.
  NodeId compare_int(ir::Op op, const Value& number, const Value& other);
  /// `a == b` as containers compare their members.
  Value equal_members(const Value& a, const Value& b, nb::handle node);
  Value as_bool(NodeId node) const;  ///< Static where it is constant
  /// What an operator gives where the one that it is or negates gives `is`.
  Value answer(Operator op, const Value& is, nb::handle node);
  Value answer(Operator op, NodeId is);
  /// Whether an operator of two numbers is Python's own, without NumPy.
  bool is_pythons_own(const Value& a, const Value& b) const;
  NodeId truth(const Value& value, nb::handle node);
  std::optional<bool> static_truth(const Value& value);

  // arrays.cpp
  /// A classified index: how each axis of the array is taken, and the index arrays, if any.
  struct Indexing;
  Value index_array(const Array& array, const Value& index, nb::handle node);
  /// The array and the index without lists and single bools, for the same part; none: it has none of these.
  std::optional<std::pair<Array, Value>> without_sequences(const Array& array, const Value& index,
                                                           nb::handle node);
  void assign_index(const Array& array, const Value& index, const Value& value, nb::handle node);
  void need_writable(const Array& array, const char* complaint, nb::handle node);
  Indexing classify(const Array& array, const Value& index, nb::handle node);
  void take_mask(Indexing& indexing, const Value& mask, int axis, NodeId array);
  NodeId take_part(NodeId shaped, const Indexing& indexing);
  /// The arrays of an index, broadcast together.
  std::vector<NodeId> index_arrays(const Indexing& indexing);
  /// Checks the arrays of an index against an array's lengths, and counts negative ones from the end.
  void take_from_the_end(NodeId shaped, const Indexing& indexing, std::vector<NodeId>& arrays);
  std::vector<int64_t> gathered_order(const Indexing& indexing, int index_rank) const;
  NodeId unmasked(NodeId view, const Indexing& indexing, const Value& value);
  void need_depth(int rank, const Indexing& indexing);
  void assign_mask(NodeId view, const Indexing& indexing, NodeId value);
  void assign_gathered(NodeId array, NodeId view, const Indexing& indexing, const Value& value);
  /// Converts as an assignment to an array does; `among`: to elements that an index array or a mask selects,
  /// for which NumPy casts its scalars unchecked.
  NodeId value_for(const Value& value, DType dtype, bool among = false);
  /// Checks that the result of an operation can be stored in an array of these lengths.
  void need_shape(const Array& result, std::span<const NodeId> lengths);
  /// An array broadcast to lengths; `gathered`: the lengths are those of index arrays (for messages).
  NodeId fit(NodeId value, std::span<const NodeId> lengths, bool gathered = false);
  /// `(2,3)` as NumPy's messages show a shape, with holes for its lengths, which join `shown`.
  static std::string show_shape(std::span<const NodeId> lengths, std::vector<NodeId>& shown);
  void check_shapes(NodeId condition, base::ExceptionKind kind, const std::string& message,
                    std::span<const NodeId> shown);
  NodeId in_range(NodeId index, NodeId length, int axis);
  std::array<NodeId, 3> slice_of(const Slice& slice, NodeId length);  ///< start, length, step
  std::vector<NodeId> broadcast_together(
      std::vector<NodeId> operands, base::ExceptionKind kind = base::ExceptionKind::ValueError,
      const char* complaint = "operands could not be broadcast together with shapes ");
  std::vector<NodeId> lengths_of(NodeId shaped);
  NodeId size_of(NodeId shaped);
  NodeId whole(const Value& value);           ///< an array's value: reads a view
  Array named(const Value& value);            ///< an array as memory: materialises a value
  Value from_node(NodeId node);               ///< a NumPy scalar, or an array not yet named
  Array owner(NodeId view);                   ///< the array object of newly allocated memory
  Array viewing(NodeId view, Access access);  ///< a new object on the memory of another
  NodeId materialized(NodeId array);          ///< new memory, in memory_order
  NodeId transposed(NodeId array, std::span<const int64_t> axes);
  using Making = std::function<NodeId(const std::vector<NodeId>& operands)>;
  /// The elementwise result of arrays of one rank and scalars, in memory_order.
  NodeId by_element(std::vector<NodeId> operands, const Making& make);
  std::vector<int64_t> order_of(std::span<const NodeId> operands);  ///< `memory_order`
  /// If a number is the length of an argument's last axis, asks for facts about that axis.
  void measure(NodeId length);
  /// A reduction along axes (ascending), in memory_order; over all axes.
  NodeId reduce(std::vector<NodeId> operands, ir::Op combiner, std::span<const int64_t> axes);
  NodeId reduce_all(const std::vector<NodeId>& operands, ir::Op combiner);
  NodeId both(NodeId a, NodeId b);
  NodeId negate(NodeId a);

  // scalars.cpp
  NodeId stage(const Value& value, Kind kind);            ///< a number as a scalar node of this kind
  NodeId stage_for_loop(const Value& value, DType loop);  ///< an operand of a NumPy loop, weak ones checked
  NodeId stage_index(const Value& value);                 ///< an integer (by __index__) as i64
  std::optional<Kind> kind_of(const Value& value) const;  ///< of numbers and arrays
  std::optional<int64_t> static_int(const Value& value) const;
  void need_index_sized(const Value& index);  ///< else raises IndexError as Python's sequences do
  /// The loop or argument that a number depends on, and that can be known when compiling. `is_last`: also
  /// numbers in dicts and instances, which may change from call to call.
  std::optional<NeedsFact> source_of(NodeId number, nb::handle node, bool is_last = false) const;
  void settle(Value& value, NodeId condition) const;
  void demand(NodeId number, nb::handle node);  ///< of `source_of`, if there is one
  nb::object require_static(const Value& value, const char* what, nb::handle node);
  Value stage_number(const Value& value);  ///< a static number as a constant; others as they are
  NodeId is_there(const Maybe& maybe);     ///< neither None nor unbound
  Value present(const Value& value, const std::string& name, nb::handle node);  ///< a Maybe, checked
  std::string type_name(const Value& value) const;  ///< as Python's messages name it

  // batching.cpp
  nb::object dtypes_in(const Value& value, bool& has_arrays);
  std::optional<Value> tried_iteration(Call& call);  ///< the result of one iteration, to be rolled back
  Value structure_of(const nb::object& object);

  // growing.cpp
  std::optional<Value> form_of(const Value& element);  ///< without nodes; none: list buffers cannot hold it
  std::optional<Value> joined_form(const Value& a, const Value& b);
  std::optional<Value> form_of_list(const HeapObject& list);  ///< unbound: of an empty one
  /// The list buffer that two lists can become, with slots as values.
  std::optional<HeapObject> join_lists(const HeapObject& a, const HeapObject& b);
  HeapObject list_buffer_shape(const Value& form, const HeapObject& list) const;
  HeapObject as_list_buffer(const HeapObject& list, const Value& form);
  void become_list_buffer(uint32_t list, const Value& form);
  NodeId leading(NodeId view, NodeId count);
  void store_element(const HeapObject& list, NodeId at_index, const Value& element);
  Value load_element(const HeapObject& list, NodeId at_index);
  const HeapObject* growing(const Value& value) const;  ///< null: not a list of unknown length
  NodeId length_of(const HeapObject& list) const;
  bool is_list(const Value& value) const;
  bool may_grow(const Value& list);  ///< it has elements, and a list buffer can hold them
  std::vector<NodeId> list_buffer_lengths(
      const Value& iterable) const;  ///< of the lists that are iterated over
  /// Refuses iterations that change the length of a list; if it is a dict's, raises as Python does.
  void check_lengths(const Value& iterable, std::span<const NodeId> before, nb::handle node);
  Value widen(const Reference& list, const Value& given, nb::handle node);  ///< the element as stored
  void grow(const Reference& list, const Value& given, nb::handle node);
  Value list_buffer_item(const Reference& list, const Value& index, nb::handle node);
  void set_list_buffer_item(const Reference& list, const Value& index, const Value& value, nb::handle node);
  Value checked_index(const Value& index);
  Value list_buffer_method(const Reference& list, const std::string& name, Call& call);
  /// A function of `ingot.library.lists`.
  Value by_library(const char* name, std::vector<Value> arguments, nb::handle node,
                   std::vector<std::pair<std::string, Value>> keywords = {});
  std::vector<Value> sorted_by_library(const std::vector<Value>& values, Call& call);
  bool has_open_length(const Value& iterable) const;  ///< whether its length is not known
  NodeId array_of_list_buffer(const HeapObject& list, nb::handle node, std::optional<DType> wanted = {});
  Description describe_list_buffer(const HeapObject& list, Outward& outward);

  // mappings.cpp
  const HeapObject* mapping(const Value& value) const;  ///< null: not a dict of unknown keys
  bool is_of_mapping(const Reference& list) const;      ///< the keys or the values of one
  Reference make_dict(nb::handle node);
  void become_mapping(const Reference& dict);
  void clear_mapping(const Reference& dict);
  /// If a key is not known and the dict can become one of unknown keys, asks for that.
  void ask_for_mapping(const Reference& dict, const Value& key, nb::handle node);
  Value by_dicts(const char* name, const HeapObject& dict, std::vector<Value> more, nb::handle node,
                 bool with_values = true);
  void put_in_mapping(const Reference& dict, const Value& key, const Value& value, nb::handle node);
  void refuse_while_iterated(const HeapObject& dict, nb::handle node);
  Value mapping_method(const Reference& dict, const std::string& name, Call& call);
  void by_update(const Reference& dict, const Value& other, nb::handle node);
  std::optional<Value> iterated_of(const Value& iterable) const;  ///< the lists that represent such a dict
  Value listed(const Value& iterable, nb::handle node);

  // ufuncs.cpp
  Value elementwise_call(ir::Op op, Call& call);
  /// Removes keywords that have NumPy's default values from a ufunc's call. Whether others remain that only
  /// the library implements; `dtype`: whether the keyword `dtype` is one of these.
  bool needs_library(Call& call, bool dtype);
  /// Calls a ufunc with any keywords through the library.
  Value ufunc_by_library(const Call& call);
  /// The same, if the library's own function for the ufunc does not take these arguments; else none.
  std::optional<Value> ufunc_of_library(Call& call);
  /// `array op= right`: NumPy's function with the array as its output.
  void in_place(const Array& array, Operator op, const Value& right, nb::handle s);
  /// The new value of `array op= right` for an array without aliases.
  Value combined(const Array& array, Operator op, const Value& right, nb::handle s);
  /// A ufunc's result as it is stored in an array, where the mask is true (null: everywhere).
  Value fit_for(const Array& out, const std::string& ufunc, const std::function<Value()>& make,
                const Value* where);
  /// Stores that.
  void put_out(const Array& out, const std::string& ufunc, const std::function<Value()>& make,
               const Value* where);
  /// The same for the `out` of a call, which is the call's value.
  Value into_output(const Value& out, const Call& call, const std::function<Value()>& make,
                    const Value* where);
  void make_arrays(Call& call, size_t count);  ///< of those of the first arguments that are sequences
  NodeId masked(const Value& given, NodeId result, NodeId otherwise);
  Value operand_as(const Value& operand, DType dtype, const std::string& ufunc, const std::string& which);

  // primitives.cpp: arguments of the library's own calls
  const Array& array_argument(Call& call, size_t position);
  std::vector<NodeId> numbers_argument(Call& call, size_t position);
  std::vector<int64_t> axes_argument(Call& call, size_t position);
  std::optional<int64_t> axis_argument(Call& call, size_t position);  ///< none: None
  ir::Op combiner_argument(Call& call);
  Value rearranged(ir::Op op, Call& call, Access access);
  NodeId is_contiguous(NodeId view);                         ///< in C order without gaps, or empty
  int64_t derivative_argument(Call& call, size_t position);  ///< derivatives.cpp, as the next
  NodeId variable_argument(Call& call, size_t position, const Kind& kind);

  // builtins.cpp: arguments of a call by position or name, each requested once; `finish` refuses the rest
  const Value* argument(Call& call, size_t position, const char* name);
  /// Refuses NumPy keywords that the library's version of a function does not take.
  void refuse_keywords(const nb::object& function, Call& call);
  const Value& need(Call& call, size_t position, const char* name);
  void finish(Call& call, size_t positional);
  NodeId real_number(const Value& value);  ///< as the functions of `math` take it: a float64
  DType dtype_argument(Call& call, size_t position, DType otherwise);
  DType dtype_of(const Value& value, nb::handle node);  ///< from any spelling of a supported dtype
  std::vector<NodeId> shape_argument(const Value& shape);
  /// Raises if an array is too large for NumPy.
  void check_size(std::span<const NodeId> lengths, DType dtype);
  /// New arrays: with uninitialised elements, and filled with one value.
  Array empty(std::span<const NodeId> lengths, DType dtype);
  Array new_memory(std::span<const NodeId> lengths, DType dtype);  ///< as `empty`, its size checked before
  Array filled(std::span<const NodeId> lengths, NodeId value);
  using NewArray = std::function<Array(std::span<const NodeId> lengths)>;
  /// The same with its axes in Fortran's order in memory.
  Array new_array(std::vector<NodeId> lengths, bool fortran, const NewArray& make);
  std::string order_argument(Call& call, size_t position, const char* otherwise);  ///< one of C, F, A, K
  bool wants_fortran_order(Call& call, size_t position);
  void need_rank(size_t rank);      ///< refuses arrays of more axes than there can be
  void need_no_device(Call& call);  ///< NumPy's keywords `device` and `like`
  /// `copy` as a function and as a method, whose default orders are NumPy's K and C.
  Value copy(Call& call, const char* otherwise);
  /// `np.empty_like` and the like: new arrays with the axis order of the argument in memory.
  Value like(Call& call, const std::function<Array(std::span<const NodeId>, DType)>& make);
  Value minmax(Call& call, bool is_max);

  // containers.cpp
  /// The shadow heap's object of a container; refuses it if its structure differs between paths.
  HeapObject& contents(const Reference& container, nb::handle node);
  /// The position of an index or key in a container. None: the dict lacks the key, which is put into `key`.
  std::optional<size_t> index_in(const Reference& container, const Value& index, nb::object& key,
                                 const char* missing, nb::handle node);
  void put(const Reference& container, const Value& index, Value value, nb::handle node);
  /// Whether an index is a number that cannot be known when compiling; demands it if it can.
  bool is_staged_index(const Value& index, nb::handle node);
  /// A staged index as a position from 0 on, checked.
  NodeId staged_index_of(const Value& index, NodeId length, const std::string& missing);
  /// The member at a staged position: as a chain of `if` over all members.
  Value pick_staged(const std::vector<Value>& members, NodeId at_index, nb::handle node);
  /// The value of a dict under a staged number; none: its keys do not allow that.
  std::optional<Value> item_by_staged_key(const HeapObject& dict, const Value& key, nb::handle node);
  void put_staged(const Reference& list, const Value& index, const Value& value, nb::handle node);
  void append(const Reference& container, Value element, nb::handle node);
  /// Stores a value in the caller's own container, now or when the call ends, even by an exception.
  void write_back(const Reference& container, std::optional<size_t> at_index, const nb::object& key,
                  const Value& value, nb::handle node);
  /// The function's own lists and dicts in a value now belong to the caller.
  void give_away(const Value& value, nb::handle node);
  /// Refuses the use of an object that belongs to the caller.
  void need_own(const HeapObject& object, nb::handle node);
  bool holds(const Value& value, uint32_t object) const;
  /// Adds the cells, hidden arguments for the numbers that are stored in the caller's containers: an element
  /// of `tags` holds the kind, that of `ints`, `floats` or `complexes` the value.
  void add_cells();
  NodeId cell_of(int container, const char* what);

  // objects.cpp
  /// The class of an instance, a namedtuple or a member of an Enum; invalid for all other values.
  nb::object class_of_value(const Value& value) const;
  bool has_class(const Value& value) const;  ///< whether it is one of these
  /// Refuses instances among the arguments of a builtin; converts buffers to arrays where NumPy does.
  void need_no_instances(const Builtin& builtin, Call& call);
  nb::object class_attribute(const nb::object& type, const std::string& name);  ///< guarded; see `lookup`
  /// Whether a class has the same attribute of this name as `from`.
  bool inherits(const nb::object& type, const std::string& name, nb::handle from);
  size_t index_of_attribute(const HeapObject& instance, const std::string& name, nb::handle node);
  [[noreturn]] void raise_no_attribute(const nb::object& type, const std::string& name);
  /// A class's attribute, bound to an instance (class methods: to the class).
  Value bind_attribute(const Value& self, const nb::object& type, const nb::object& raw,
                       const std::string& name, nb::handle node);
  Value member_attribute(const Static& member, const nb::object& type, const std::string& name,
                         nb::handle node);
  Value object_attribute(const Value& value, const std::string& name, nb::handle node);
  Value type_attribute(const nb::object& type, const std::string& name, nb::handle node);
  std::optional<Value> super_attribute(nb::handle e);  ///< of `super()`; none: another expression
  void set_attribute(const Value& target, const std::string& name, Value value, nb::handle node);
  /// As `object.__setattr__` does it.
  void set_plain_attribute(const Value& object, const std::string& name, Value value, nb::handle node);
  /// Whether a frozen dataclass refuses to set or delete an attribute.
  bool refuses_assignment(const nb::object& type, const char* method, const std::string& name);
  void delete_attribute(const Value& target, const std::string& name, nb::handle node);
  Value make_instance(const nb::object& type, Call& call);
  Object begin_instance(const nb::object& type, nb::handle node);  ///< without attributes
  Value call_wrapper(const nb::object& wrapper, Call& call);       ///< of a slot of `object`
  Value run_generated_init(const Object& made, const nb::object& init, Call& call);
  Value make_namedtuple(const nb::object& type, Call& call);
  /// Calls Python's function, now, with arguments that have to be known; `what` describes them in messages.
  Value by_host(const Call& call, const char* what);
  /// The host function (`ingot.host`, or of `ctypes`) that a function is; invalid: it is none.
  static nb::object host_function(const nb::object& function);
  Value call_host_function(const nb::object& function, const Call& call);

  // c_functions.cpp
  /// Calls a function of C or SciPy; none: it is another one.
  std::optional<Value> call_of_c(const nb::object& function, Call& call);
  Value call_c_function(const nb::object& declared, const Call& call);
  NodeId c_argument(const nb::object& declared, size_t at_index, const Value& given, nb::handle node);
  int64_t number_of_c_function(const nb::object& form);
  nb::object form_of_loop(const nb::object& ufunc, const Value& dtypes, nb::handle node);
  /// A pointer of a type to an array's elements.
  Foreign pointer_to(const Array& array, const nb::object& type);
  /// An attribute of `x.ctypes`; none: `x.ctypes` has no such attribute, or `pointer` is something else.
  std::optional<Value> pointer_attribute(const Foreign& pointer, const std::string& name);
  Value pointer_as(const Foreign& pointer, const Call& call);

  Value namedtuple_method(const nb::object& function, Call& call);
  Value enum_member(const nb::object& type, Call& call);
  /// The number or string of a member of an IntEnum, StrEnum and the like; other values as they are.
  Value plain_number(const Value& value);

  // special_methods.cpp
  /// Calls a special method (`__add__`) of the user's class or of a dataclass; none: the class has none.
  std::optional<Value> call_special(const Value& self, const std::string& method,
                                    std::vector<Value> arguments, nb::handle node);
  /// Applies an operator, in Python's order; none: neither operand implements it.
  std::optional<Value> ask_both(Operator op, const Value& a, const Value& b, nb::handle node);
  /// The fields of a dataclass for which `wanted` is true.
  Tuple fields_of(const Value& object, const nb::object& type, const char* wanted, nb::handle node);
  std::optional<Value> binary_of_objects(Operator op, const Value& a, const Value& b, nb::handle node);
  std::optional<Value> in_place_of_object(Operator op, const Value& a, const Value& b, nb::handle node);
  std::optional<Value> compare_objects(Operator op, const Value& a, const Value& b, nb::handle node);
  /// None: neither an instance nor a tuple, nor of a class with such a method.
  std::optional<Value> unary_of_object(Operator op, const Value& a, nb::handle node);
  Value truth_of_object(const Value& value, nb::handle node);
  bool has_truth(const nb::object& type);  ///< a `__bool__` or `__len__` of the user's
  /// `len`, `abs` and the like; none: not for such arguments.
  std::optional<Value> builtin_of_object(const Builtin& builtin, Call& call);
  bool has_own_equality(const nb::object& type);  ///< an `__eq__` or `__hash__` of the user's
  bool has_text(const nb::object& type);          ///< a `__str__`, `__repr__` or `__format__` of the user's
  Value text_of_object(const Value& value, const std::string& form, nb::handle node);

  // foreign.cpp
  bool is_foreign(const Value& value) const;  ///< or contains a foreign value
  /// Handles operands of which one is foreign: raises what the types make Python raise, else refuses.
  /// `operation` is "binary", "compare", "unary", "subscript", "store", "attribute", "iterate", "unpack",
  /// "call" (of `function`) or "" (always refused), `symbol` what it is called.
  [[noreturn]] void use_foreign(const char* operation, const std::string& symbol,
                                const std::vector<Value>& operands, nb::handle node,
                                nb::object function = nb::none());
  /// A part of a foreign array, for indices of integers and slices; none where only its type is known.
  std::optional<Value> foreign_part(const Foreign& array, const Value& index, nb::handle node);
  /// Raises what Python raises for operands of these types, if the types alone decide it.
  void raise_by_type(const char* operation, const std::string& symbol, const std::vector<Value>& operands,
                     nb::object function = nb::none(),
                     const std::vector<std::pair<std::string, Value>>& keywords = {});
  /// An object of the same type as a value, for what depends on types only; invalid: there is none.
  nb::object stand_in(const Value& value) const;
  /// Raises an exception object of Python's own or NumPy's; `operands`: whose types it is raised for.
  [[noreturn]] void raise_object(nb::handle error, const std::vector<Value>& operands = {});

  // errors
  /// Why two values of a variable, from two paths, cannot be joined, for a message.
  Conflict apart(const Value& a, const Value& b, const std::string& what) const;
  std::string why_disjoint(const HeapObject& a, const HeapObject& b) const;
  base::Unsupported refusal(nb::handle node, const std::string& reason, const std::string& advice) const;
  [[noreturn]] void unsupported(nb::handle node, const std::string& reason, const std::string& advice);
  /// Descriptions of an expression's variables, for a message; in Ingot's library: of the user's call.
  std::vector<std::string> operands_of(nb::handle node) const;
  /// Values of an expression's variables, by name; in Ingot's library: of the user's call.
  std::vector<std::pair<std::string, const Value*>> variables_in(nb::handle node) const;
  /// Whether a number depends on one that was of another kind on another path.
  bool comes_of_mixed(const Value& value) const;
  /// Refuses code that is about to raise because of a number's kind, if it has this kind on some paths only.
  void need_one_kind(base::ExceptionKind kind, const std::vector<Value>& operands = {});
  [[noreturn]] void raise(base::ExceptionKind kind, std::string_view message,
                          std::initializer_list<NodeId> values = {});
  [[noreturn]] void raise_host_error(nb::python_error& error);
  [[noreturn]] void raise_key_error(const Value& key);
  /// Raises if a condition is false.
  void check(NodeId condition, base::ExceptionKind kind, std::string_view message,
             std::span<const NodeId> values);
  void check(NodeId condition, base::ExceptionKind kind, std::string_view message,
             std::initializer_list<NodeId> values = {}) {
    check(condition, kind, message, std::span(values.begin(), values.size()));
  }
  /// The message is the repr of a number and `rest`.
  [[noreturn]] void raise_showing(base::ExceptionKind kind, const Scalar& number, const std::string& rest);
  void check_showing(NodeId condition, base::ExceptionKind kind, const Scalar& number,
                     const std::string& rest);

  // exceptions.cpp
  /// Raises an error; the last of those that are being handled becomes its context.
  [[noreturn]] void raise_error(const Error& error);
  /// Looks for the clause that catches a raised error.
  [[noreturn]] void pass_on(const Error& error);
  std::optional<Error> instance_of_exception(const Value& value);
  Error error_of(base::ExceptionKind kind, std::string_view message, std::span<const NodeId> values);
  Error make_error(nb::object type, std::vector<Value> arguments);
  Value text_of_error(const Error& error);
  /// Its `args`; refused where code of its class may change them.
  const std::vector<Value>& arguments_of(const Error& error, const std::string& what);
  bool catches(const Catcher& handler, const Error& error) const;
  bool may_be_caught(const Error& error) const;
  void run_finals(size_t outside);  ///< evaluates the `finally` clauses between here and a label
  base::SourceLocation location_of(nb::handle node) const;
  /// Counts a statement or expression that is about to be evaluated; refuses endless growth.
  void step(nb::handle node);

  // leaving.cpp
  [[noreturn]] void raise_uncaught(const Error& error);
  Error in_context(Error error) const;
  /// Adds the exceptions being handled here as context to an error of a function evaluated without them.
  Error in_outer_context(Error error);
  Error caught(Error error, const Catcher& handler) const;
  /// The operands of a `raise` or `check` op; none: it needs more than they hold.
  struct Notice {
    base::ExceptionKind kind;
    ir::TextId message;
    std::vector<NodeId> values;
    std::optional<int64_t> made{};  ///< among `errors_`
    std::vector<int64_t> attributes() const;
  };
  std::optional<Notice> notice_of(const Error& error);
  std::optional<Notice> text_notice_of(const Error& error);
  /// The arguments of `_host.exceptions.built`: the description of an error and of those that it was raised
  /// from, and their arguments.
  std::pair<nb::tuple, Description> describe_error(const Error& error, Outward& outward);

  // lower.cpp
  /// The values that leave the function: their leaves, and the numbers of the described objects, in order.
  struct Outward {
    std::vector<NodeId> leaves;
    std::map<uint32_t, size_t> made;
    size_t count = 0;
    bool is_result = false;         ///< records and lists of arrays may leave
    std::vector<uint32_t> pools;    ///< of the records among them
    std::vector<size_t> buffers{};  ///< the leaves that are columns of buffers' numbers
    /// The description of an object that is described already; none: the next one to be.
    std::optional<Description> again(uint32_t object);
  };
  Description describe_result(const Value& value, Outward& outward);
  void begin(const nb::object& function);
  std::map<std::string, Value> take_arguments(const nb::object& function);
  Description returned(const Value& value, Outward& outward);
  void finish(Lowered& lowered, const std::vector<ir::Type>& results);
  /// The value that `owner` (a dict, a cell without a name, an object with attributes) holds: guarded, or a
  /// hidden argument.
  Value outside(const nb::object& owner, const std::string& name, const nb::object& object,
                const std::string& what, nb::handle e);
  Value host_value(nb::object object, const std::string& what, nb::handle node);
  /// Guards what decides how a function's arguments are bound.
  void guard_binding(const nb::object& function);
  std::map<std::string, Value> bind_arguments(const nb::object& function, std::vector<Value> positional,
                                              const std::vector<std::pair<std::string, Value>>& keywords,
                                              nb::handle node, const Closure* closure = nullptr);
  static bool yields(const Frame& frame);  ///< whether it is a generator's
  static std::string module_of(const Frame& frame);
  /// Makes a frame the next activation, called at a node, without entering it.
  void prepare(Frame& frame, nb::handle node);
  Value run_frame(Frame& frame, std::map<std::string, Value> locals, nb::handle node);
  /// Evaluates the body of a function in an activation.
  Value activate(Frame& frame, std::map<std::string, Value> locals, nb::handle node);
  /// Whether a function accepts a call with this number and these names of arguments.
  bool binds(const nb::object& function, const Call& call) const;
  Value run_function(nb::object function, std::map<std::string, Value> locals, nb::handle node);

  /// The expression that is being evaluated, for spans and messages.
  nb::handle here_;

  // The members that are references to what is counted and found are the facts.
  const Registry& registry_;
  ir::Module& module_;
  Request request_;
  std::unique_ptr<ir::Builder> builder_;
  Effort& effort_;
  State state_;
  Frame* frame_ = nullptr;
  uint32_t& next_object_;
  std::vector<size_t> derivative_starts_;              ///< by derivative: how many nodes there were before
  std::vector<std::pair<int64_t, bool>> derivatives_;  ///< around this location; whether in reverse mode
  using Merges = std::map<std::pair<uint32_t, uint32_t>, uint32_t>;
  Merges* merges_ = nullptr;  ///< at joins: maps one object of each path to their join; null: in loops
  std::map<std::string, State> solutions_;  ///< of loops by key: the carried state found so far
  std::set<std::string>& unrolled_;
  std::set<uint32_t> mixed_;  ///< nodes of numbers that are `is_mixed`
  std::set<std::string>& counted_;
  std::set<std::string>& peeled_;
  std::set<std::string>& grown_;
  Pools& pools_;
  std::unordered_map<uint32_t, std::string> loop_indices_;  ///< index nodes → keys of their loops
  using Captures = std::map<std::pair<PyObject*, std::string>, Value>;
  Captures captured_;                                   ///< that this function has
  std::vector<std::string> captured_names_;             ///< by number, as the user writes them
  Captures given_captures_;                             ///< that the entry has
  std::unordered_map<uint32_t, int> scalar_arguments_;  ///< parameter nodes → arguments that they are part of
  std::unordered_map<uint32_t, int>
      named_arguments_;                           ///< ... in dicts and instances: the last to be asked for
  bool has_memory_maps_ = false;                  ///< among the arguments and captures
  std::unordered_map<uint32_t, int> unmeasured_;  ///< ... of arrays with lengths that could be known
  /// What has been unrolled so far.
  struct Unrolling {
    size_t depth = 0;  ///< of loops that are being unrolled now
    size_t iterations = 0;
    size_t ops = 0;  ///< of outermost loops that have ended
    const ir::Builder* builder = nullptr;
    size_t first = 0;  ///< the number of ops before the outermost loop
  };
  Unrolling unrolling_;
  std::map<PyObject*, int> text_arguments_;           ///< known strings → arguments; records' dtypes → leaves
  bool in_order_;                                     ///< see Request; set, too, by functions called
  bool has_characters_ = false;                       ///< some string is not known
  std::vector<NodeId> conditions_;                    ///< of the forks that are open now
  std::vector<Catcher*> handlers_;                    ///< those that are open now, the innermost last
  std::vector<const Error*> handled_;                 ///< exceptions whose clauses are being evaluated
  std::vector<std::string> iterates_;                 ///< suffixes of open generators
  std::vector<std::pair<std::string, Value>> loops_;  ///< counted ones around this location: key, iterable
  std::map<std::string, uint64_t>& suffixes_;
  uint64_t& frames_;
  std::vector<Target*> targets_;  ///< the labels that exits may lead to now
  /// Instances and containers that an expression or a loop being evaluated still needs.
  std::vector<uint32_t> pinned_;
  std::unique_ptr<Launch>& launch_;
  nb::object* probe_ = nullptr;  ///< set by the next batch element to the collective where it stops
  std::deque<Routine>& routines_;
  Routine* routine_ = nullptr;    ///< the one being evaluated; null: the entry
  std::vector<Routine*> solved_;  ///< in the order in which their bodies were completed
  size_t kept_hosts_ = 0;         ///< sites that bodies of routines name
  std::vector<NodeId> outputs_;   ///< arrays that the ufunc being called must broadcast to or with
  std::vector<Guard> guards_;
  std::vector<HostSite> hosts_;
  std::vector<nb::object> functions_;  ///< of C (`Lowered::functions`)
  Writes& writes_;
  std::vector<CallersContainer> containers_;  ///< by number
  nb::list errors_;                           ///< descriptions of exceptions: see `describe_error`
  uint32_t& errors_made_;
  /// A name that a pattern binds; a list of the members of a tuple for what a star takes.
  struct Capturing {
    std::string name;
    Value value;
    bool is_list = false;
    Reading read{};  ///< of a value that is not known where the name is bound
  };
  std::vector<Capturing> captures_;       ///< of the pattern being matched
  base::SourceLocation result_location_;  ///< of the statement that returns the result

  void need_stream(const Builtin& method, Call& call);
  /// Refuses a function of `numpy.random`, if the NumPy that runs draws other numbers than the build's.
  void need_same_draws(const std::string& path, nb::handle node);
  NodeId words_of_stream(const Value& stream, bool legacy);  ///< primitives.cpp

  // The builtins (builtins.cpp, numpy.cpp): what the registry's entries call.
  using Handler = Value (Evaluator::*)(Call&);
#define INGOT_BUILTIN(handler, ...) Value handler(Call& call);
#include "frontend/builtins.def"
};

}  // namespace ingot::frontend
