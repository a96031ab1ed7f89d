#pragma once

#include <memory>
#include <new>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/interpreter.h"
#include "ir/race_tracker.h"

/// Internals of the interpreter. A `Strand` runs nodes on an explicit stack of frames, so that recursion
/// costs no stack of the host, and the threads of a kernel can stop at a barrier and resume later.
namespace ingot::ir {

using base::Scalar;

/// The values of one call of a function, by node.
struct Activation {
  const Function* function;
  std::vector<Value> values;
};

/// A parallel loop that runs.
struct ParallelLoop {
  std::vector<int64_t> order;  ///< the iterations, shuffled
  size_t position = 0;
  std::vector<std::vector<Scalar>> contributions;  ///< by combiner, then by iteration
  RaceTracker tracker;
  int64_t failed_iteration = -1;  ///< the lowest that raised
  Raised failure;
};

/// A region that runs.
struct Frame {
  Activation* activation;
  std::unique_ptr<Activation> own;  ///< of a function's body: the activation it has begun
  NodeId owner;                     ///< the node whose region it is; of a called body, the caller's `call`
  RegionId region;
  size_t next = 0;  ///< in the region's body
  int64_t iteration = 0;
  int64_t count = 0;
  std::unique_ptr<ParallelLoop> parallel;
};

/// A tracker that gets a strand's accesses, and the strand that they are reported as.
struct Watch {
  RaceTracker* tracker;
  uint32_t iteration;
};

/// Threads of a launch that go in step.
inline constexpr uint32_t kWarp = 32;

/// What the threads of one block of a launch have in common.
struct ThreadBlock {
  RegionId region;  ///< of the launch
  const Function* function;
  RaceTracker between_warps;
  std::vector<RaceTracker> in_warp;
  std::unordered_map<uint32_t, BlockRef> shared;  ///< by `alloc` node
};

/// A thread of execution.
struct Strand {
  enum class State : uint8_t { Running, Waiting, Done, Failed };
  State state = State::Running;
  std::vector<Frame> frames;
  std::vector<Watch> watches;
  size_t calls = 0;
  std::optional<Raised> raised;
  std::vector<Value> results;  ///< once Done
  ThreadBlock* block = nullptr;
  uint32_t thread = 0;  ///< its number in the block
  int64_t number = 0;   ///< its number in the launch, in the order of the last axis of the grid first
  bool yields = false;  ///< lets others run before it goes on
  /// @name While Waiting
  NodeId collective;
  Scope scope = Scope::Block;
  uint32_t mask = 0;  ///< of scope Warp: the lanes it waits for; 0: for all that come

  uint32_t lane() const { return thread % kWarp; }
  bool has_ended() const { return state == State::Done || state == State::Failed; }
};

/// Thrown where memory for a value is refused; becomes MemoryError.
struct OutOfMemory : std::bad_alloc {};

class Machine;

/// One node being executed: its operands, and how it gives its value.
class Step {
 public:
  Step(Machine& m, Strand& s, Activation& a, NodeId n)
      : machine(m), strand(s), activation(a), function(*a.function), node(n) {}

  Machine& machine;
  Strand& strand;
  Activation& activation;
  const Function& function;
  NodeId node;

  Op op() const { return function.op(node); }
  Type type() const { return function.type(node); }
  size_t count() const { return function.operands(node).size(); }
  NodeId operand(size_t i) const { return function.operand(node, i); }
  Type type(size_t i) const { return function.type(operand(i)); }
  int64_t attribute(size_t i) const { return function.attribute(node, i); }

  const Value& value(size_t i) const { return activation.values[operand(i).index]; }
  /// The operand as what it must be; InternalError if it is not (an unspecified value was used).
  template <class T>
  const T& as(size_t i) const {
    const T* found = std::get_if<T>(&value(i));
    if (found == nullptr) fail("uses a value that nothing has given");
    return *found;
  }
  const Scalar& scalar(size_t i) const { return as<Scalar>(i); }
  int64_t index(size_t i) const { return scalar(i).as<int64_t>(); }
  bool truth(size_t i) const { return scalar(i).bits[0] != 0; }
  const ArrayValue& array(size_t i) const { return *as<std::shared_ptr<const ArrayValue>>(i); }
  const ViewValue& view(size_t i) const { return as<ViewValue>(i); }
  /// i64 operands from `first` on.
  std::vector<int64_t> indices(size_t first, size_t count) const;
  std::vector<Value> values(size_t first = 0) const;

  void give(Value value) const { activation.values[node.index] = std::move(value); }
  template <class T>
  void give_number(T number) const {
    give(Scalar::of(number));
  }
  void give(ArrayValue array) const { give(std::make_shared<const ArrayValue>(std::move(array))); }

  /// Throws InternalError with what is wrong, the node and its location.
  [[noreturn]] void fail(const std::string& what) const;
  void need(bool holds, const char* what) const {
    if (!holds) fail(what);
  }
  void raise(base::ExceptionKind kind, std::string message) const;

  /// Informs the trackers; InternalError at a race.
  void touch(const void* address, size_t size, Access access) const;
  /// Informs the trackers of a fence in a scope.
  void fence(Scope scope) const;
  /// Memory that begins its life.
  void forget(const void* address, size_t size) const;
};

/// One run of `interpret`.
class Machine {
 public:
  Machine(const Module& m, const InterpretOptions& o) : module(m), options(o), random_(o.seed) {}

  const Module& module;
  const InterpretOptions& options;

  Outcome call(FunctionId function, std::span<const Value> arguments);
  /// Runs a strand until it waits, is done or has failed.
  void run(Strand& strand);

  /// Begins a call; at the recursion limit the strand raises instead.
  void enter_call(Strand& strand, FunctionId function, NodeId owner, std::span<const Value> arguments);
  /// 0 ... count - 1 in random order.
  std::vector<int64_t> shuffled(int64_t count);
  BlockRef allocate(int64_t size, Space space);
  /// Whether a call is one of a recursion, of which there may be any number.
  bool is_of_recursion(const Function& caller, FunctionId callee);

  std::vector<BlockRef> kept;  ///< by number

 private:
  void advance(Strand& strand);
  std::mt19937_64 random_;
  int64_t steps_ = 0;
  std::vector<bool> recursive_;  ///< by function; empty: not asked yet
};

/// @name Control (interpreter_control.cpp)
void enter_region(Strand& strand, NodeId owner, size_t region, std::span<const Value> parameters);
void give_results(Activation& activation, NodeId node, std::span<const Value> values);
/// Takes the strand's exception to what catches it: a call, a parallel loop, or nobody (Failed).
void unwind(Machine& machine, Strand& strand);
/// The message with its holes filled by operands from `first` on.
std::string format_message(const Step& step, TextId text, size_t first);

/// @name Values
/// The bytes of an array; throws OutOfMemory beyond the interpreter's limit.
size_t byte_count(std::span<const int64_t> lengths, DType dtype);
int64_t element_count(std::span<const int64_t> lengths);
ArrayValue make_array(DType dtype, std::vector<int64_t> lengths);
std::vector<int64_t> c_strides(std::span<const int64_t> lengths, DType dtype);
/// Whether a value has this type.
bool conforms(const TypeTable& types, Type type, const Value& value);
/// The stand-in for an unspecified value: zero of scalars, else nothing.
Value unspecified(Type type);
/// Null, or what is wrong with a view: a negative length, or elements outside its block.
const char* view_fault(const ViewValue& view);
/// Makes the bytes of bools 0 or 1.
void normalise(DType dtype, std::span<std::byte> bytes);
/// Copies elements at `strides` from `from` into C order.
void copy_out(const std::byte* from, std::span<const int64_t> lengths, std::span<const int64_t> strides,
              size_t size, std::byte* to);
/// Calls fn(indices) for each index of a shape, in C order.
template <class Fn>
void for_each_index(std::span<const int64_t> lengths, Fn&& fn) {
  for (int64_t length : lengths)
    if (length == 0) return;
  std::vector<int64_t> index(lengths.size(), 0);
  for (;;) {
    fn(std::span<const int64_t>(index));
    size_t axis = lengths.size();
    while (axis > 0 && ++index[axis - 1] == lengths[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}
inline int64_t dot_product(std::span<const int64_t> a, std::span<const int64_t> b) {
  int64_t sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// @name Memory (interpreter_memory.cpp)
/// The array that a view shows.
ArrayValue read_view(const Step& step, const ViewValue& view);
/// Sets the elements of a view, from C order or all from one.
void write_view(const Step& step, const ViewValue& view, const std::byte* elements, bool repeat);
/// The element at index operands from `first` on, all in range.
std::byte* element_at(const Step& step, const ViewValue& view, size_t first);
/// A view or array rearranged: the layout of the result on the same memory. `v.block` of arrays is null.
ViewValue rearrange(const Step& step, ViewValue v);
/// Index arrays from operand `first` on, for `axes` of a shape, checked: the lengths of the index, and for
/// each position in C order the index along each axis.
struct IndexArrays {
  std::vector<int64_t> lengths;
  std::vector<const int64_t*> at;
  std::vector<int64_t> rest;  ///< axes that are not indexed
};
IndexArrays index_arrays(const Step& step, size_t first, std::span<const int64_t> lengths);

/// A binary elementwise op on scalars, as reductions, scans and atomics use it.
class Combiner {
 public:
  Combiner(Op op, DType dtype);
  Scalar operator()(const Scalar& a, const Scalar& b) const;
  /// The start of a reduction, where `first` replaces a missing identity.
  Scalar start(const Scalar& first) const { return identity_.value_or(first); }
  bool has_identity() const { return identity_.has_value(); }

 private:
  void (*apply_)(const void*, int64_t, const void*, int64_t, void*, int64_t);
  bool in_default_state_;
  std::optional<Scalar> identity_;
};

// One function for each op of the table; a missing one fails the build.
void interp_elementwise(Step& step);
#define STRUCT(name, ...) void interp_##name(Step& step);
#include "ir/ops.def"

}  // namespace ingot::ir
