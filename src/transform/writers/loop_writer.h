#pragma once

#include <functional>

#include "transform/writers/rewriter.h"

namespace ingot::transform {

/// Writes loops, branches and arithmetic on indices through a Builder.
class LoopWriter {
 public:
  explicit LoopWriter(ir::Builder& builder) : b_(builder) {}

  /// What a loop does with its indices and carried values: the values for the next iteration.
  using Iteration = std::function<Nodes(std::span<const NodeId> indices, std::span<const NodeId> carried)>;

  /// From now on, loops are to run one iteration at a time (or as the scheduler chooses).
  void set_one_by_one(bool on) { one_by_one_ = on; }
  bool one_by_one() const { return one_by_one_; }
  /// From now on, iterations of loops that carry nothing are known to be independent.
  void set_independent(bool on) { independent_ = on; }
  bool independent() const { return independent_; }

  /// Loops for each axis, the first outermost; C order. Gives the carried values after the last iteration.
  Nodes nest(std::span<const NodeId> lengths, std::span<const NodeId> inits, const Iteration& iteration);
  void nest(std::span<const NodeId> lengths, const std::function<void(std::span<const NodeId>)>& iteration);
  /// One loop.
  Nodes loop(NodeId count, std::span<const NodeId> inits, const Iteration& iteration) {
    return nest({&count, 1}, inits, iteration);
  }
  /// An `if`; of a condition that is known, the arm alone.
  Nodes branch(NodeId condition, const std::vector<Type>& types, const std::function<Nodes()>& then,
               const std::function<Nodes()>& otherwise);
  /// ... that gives nothing, and does nothing otherwise.
  void when(NodeId condition, const std::function<void()>& then);
  /// `test` gives the condition first, then the values; `body` what is tested next.
  using Step = std::function<Nodes(std::span<const NodeId>)>;
  Nodes repeat(std::span<const NodeId> inits, const Step& test, const Step& body);
  /// What the iterations of a loop give, combined with `inits` in the order of reductions.
  Nodes combined(std::span<const Op> combiners, NodeId count, std::span<const NodeId> inits,
                 const std::function<Nodes(NodeId)>& iteration);
  NodeId combined(Op combiner, NodeId count, NodeId init, const std::function<NodeId(NodeId)>& iteration) {
    return combined({&combiner, 1}, count, {&init, 1}, [&](NodeId k) { return Nodes{iteration(k)}; })[0];
  }
  /// Whether any iteration of a loop gives true.
  NodeId any(NodeId count, const std::function<NodeId(NodeId)>& iteration) {
    return combined(Op::bitwise_or, count, truth(false), iteration);
  }

  NodeId index(int64_t number) { return b_.index(number); }
  NodeId truth(bool holds) { return b_.constant(holds); }
  NodeId absolute(NodeId a) { return b_.make(Op::absolute, {a}); }
  NodeId add(NodeId a, NodeId b) { return b_.make(Op::add, {a, b}); }
  NodeId subtract(NodeId a, NodeId b) { return b_.make(Op::subtract, {a, b}); }
  NodeId multiply(NodeId a, NodeId b) { return b_.make(Op::multiply, {a, b}); }
  NodeId less(NodeId a, NodeId b) { return b_.make(Op::less, {a, b}); }
  NodeId less_equal(NodeId a, NodeId b) { return b_.make(Op::less_equal, {a, b}); }
  NodeId equal(NodeId a, NodeId b) { return b_.make(Op::equal, {a, b}); }
  NodeId minimum(NodeId a, NodeId b) { return b_.make(Op::minimum, {a, b}); }
  NodeId maximum(NodeId a, NodeId b) { return b_.make(Op::maximum, {a, b}); }
  /// How many parts of a size a count has, the last one perhaps smaller.
  NodeId ceiling(NodeId count, NodeId size) {
    return b_.make(Op::floor_divide, {add(count, subtract(size, b_.index(1))), size});
  }
  NodeId both(NodeId a, NodeId b) { return b_.make(Op::bitwise_and, {a, b}); }
  /// ... where `b` is computed only if `a` holds.
  NodeId both(NodeId a, const std::function<NodeId()>& b) {
    return branch(a, {ir::kBool}, [&] { return Nodes{b()}; }, [&] { return Nodes{truth(false)}; })[0];
  }
  NodeId either(NodeId a, NodeId b) { return b_.make(Op::bitwise_or, {a, b}); }
  NodeId negate(NodeId a) { return b_.make(Op::invert, {a}); }
  NodeId select(NodeId c, NodeId a, NodeId b) { return b_.make(Op::select, {c, a, b}); }
  NodeId load(NodeId view, std::span<const NodeId> indices);
  void store(NodeId view, std::span<const NodeId> indices, NodeId value);

  /// The bytes of an array of elements of so many bytes; of arrays that a cache does not hold, its bytes.
  NodeId bytes_in(int64_t cache, int64_t element, std::span<const NodeId> lengths);
  /// How many iterations that each take so many bytes a cache holds; may be none.
  NodeId iterations_in(int64_t cache, NodeId bytes);
  /// A loop over blocks of at most `length` of `total` iterations, which gets the first iteration of each and
  /// how many it has.
  void blocks(NodeId total, NodeId length, bool are_independent,
              const std::function<void(NodeId first, NodeId iterations)>& block);

  /// The product of lengths; 1 of none.
  NodeId product(std::span<const NodeId> lengths);
  /// The indices of the k-th element in C order; `k` is that index if there is one axis.
  Nodes unflatten(NodeId k, std::span<const NodeId> lengths);
  /// A scalar constant zero of a dtype.
  NodeId zero(DType dtype) { return b_.constant(Type::scalar(dtype), base::Scalar{}); }

  /// A view in C order of a buffer from an offset on.
  NodeId c_view(NodeId buffer, NodeId offset, std::span<const NodeId> lengths, DType dtype);
  /// A view in C order of a new buffer.
  NodeId new_view(std::span<const NodeId> lengths, DType dtype, ir::Space space = ir::Space::Host);
  NodeId view(NodeId buffer, NodeId offset, std::span<const NodeId> lengths, std::span<const NodeId> strides,
              Type type);

  ir::Builder& builder() { return b_; }

 private:
  Nodes nest(std::span<const NodeId> lengths, Nodes& indices, std::span<const NodeId> inits,
             const Iteration& iteration);

  ir::Builder& b_;
  bool one_by_one_ = false;
  bool independent_ = false;
};

}  // namespace ingot::transform
