#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "ir/builder.h"

namespace ingot::ir::test {

struct RandomOptions {
  int nodes = 40;        ///< about how many, without those that guard and close
  int depth = 3;         ///< of regions
  bool spans = false;    ///< every node has a location
  bool folding = false;  ///< the Builder's
  bool arrays = true;    ///< also whole-array ops (Stage::Array)
};

/// The sign of a NaN is not specified.
inline bool shows_sign_of_nan(Op op) { return op == Op::signbit || op == Op::copysign; }

/// Builds a function `@f(a: f64, b: f64, n: i64, m: i64, c: bool, v: view<f64, 1>, w: view<f64, 1>)`, which
/// gives
/// `(f64, i64, bool)`. Every function is at the array stage, passes the verifier, ends in few steps, and on
/// any arguments stays inside its views: an index is a remainder by a length, and an empty view raises an
/// IndexError first. The same seed gives the same function everywhere.
class RandomFunction {
 public:
  RandomFunction(Module& module, uint64_t seed, const RandomOptions& options = {})
      : module_(module), options_(options), random_(seed), builder_(module, "f") {
    builder_.set_folding(options.folding);
  }

  /// Declares and defines the function.
  FunctionId build() {
    add_parameters();
    grow(options_.nodes, 0);
    const std::vector<NodeId> values = {pick(kFloat64), pick(kInt64), pick(kBool)};
    set_location();
    builder_.terminate(Op::return_, values);
    const std::vector<Type> results = {kFloat64, kInt64, kBool};
    const FunctionId id = module_.declare("f", parameter_types_, results);
    module_.define(id, builder_.finish(results));
    return id;
  }

 private:
  uint64_t below(uint64_t limit) { return random_() % limit; }
  bool chance(uint64_t one_in) { return below(one_in) == 0; }

  void add_parameter(Type type, const std::string& name, uint32_t alias_set = 0) {
    pool_.push_back(builder_.add_parameter(type, {.name = name, .alias_set = alias_set}));
    parameter_types_.push_back(type);
  }
  void add_parameters() {
    add_parameter(kFloat64, "a");
    add_parameter(kFloat64, "b");
    add_parameter(kInt64, "n");
    add_parameter(kInt64, "m");
    add_parameter(kBool, "c");
    add_parameter(Type::view(DType::Float64, 1), "v", 1);
    add_parameter(Type::view(DType::Float64, 1), "w", 2);
    for (size_t i = 5; i < 7; ++i) {
      set_location();
      views_.push_back(pool_[i]);
      lengths_.push_back(builder_.length(pool_[i], 0));
      const NodeId filled = builder_.make(Op::less, {builder_.index(0), lengths_.back()});
      builder_.check(filled, base::ExceptionKind::IndexError, "view of length {}", {lengths_.back()});
    }
    pool_.resize(5);
  }

  /// A new location for the next nodes, now and then inlined.
  void set_location() {
    if (!options_.spans) return;
    Span span;
    span.file = module_.text("f.py");
    span.line = ++line_;
    span.column = 4;
    span.end_column = 9;
    if (chance(3)) span.function = module_.text("f");
    if (chance(3)) span.inlined_at = builder_.span();
    if (chance(8)) span.inlined_at = {};
    builder_.set_span(module_.span(span));
  }

  /// A visible value of a type; a new constant or cast when there is none.
  NodeId pick(Type type) {
    std::vector<NodeId> fitting;
    for (NodeId value : pool_)
      if (builder_.function().type(value) == type) fitting.push_back(value);
    if (!fitting.empty() && !chance(8)) return fitting[below(fitting.size())];
    if (type.is_scalar()) return constant(type.dtype());
    return array();
  }
  NodeId constant(DType dtype) {
    constexpr int64_t kSmall[] = {0, 1, 2, 3, 5, 7, 100, -1, -2};
    const int64_t value = kSmall[below(base::is_signed(dtype) ? 9 : 7)];
    return base::visit_dtype(dtype, [&]<class T>() {
      if constexpr (base::is_complex_v<T>) {
        using Real = typename T::value_type;
        return builder_.constant(T(static_cast<Real>(value), Real(0.5)));
      } else if constexpr (std::is_same_v<T, base::Half>) {
        return builder_.constant(T(static_cast<float>(value) / 2));
      } else if constexpr (std::is_floating_point_v<T>) {
        return builder_.constant(static_cast<T>(static_cast<T>(value) / 4));
      } else if constexpr (std::is_same_v<T, bool>) {
        return builder_.constant(value % 2 != 0);
      } else {
        return builder_.constant(static_cast<T>(value));
      }
    });
  }
  NodeId array() { return builder_.make(Op::read, {views_[below(views_.size())]}); }
  DType random_dtype() { return chance(2) ? DType::Float64 : static_cast<DType>(below(base::kDTypeCount)); }

  void grow(int nodes, int depth) {
    for (int i = 0; i < nodes; ++i) {
      set_location();
      if (depth < options_.depth && chance(8)) {
        grow_region(std::max(nodes / 4, 2), depth + 1);
        i += nodes / 4;
      } else {
        grow_node();
      }
    }
  }

  void grow_node() {
    switch (below(options_.arrays ? 8 : 6)) {
      case 0: return access();
      case 1: return cast();
      case 2: return select();
      case 6: return whole_array();
      case 7: return elementwise(true);
      default: return elementwise(false);
    }
  }

  /// Any elementwise op for any dtype that it accepts.
  void elementwise(bool is_array) {
    std::vector<Op> ops;
    const DType dtype = is_array ? DType::Float64 : random_dtype();
    for (int i = 0; i < kOpCount; ++i)
      if (info(static_cast<Op>(i)).elementwise && accepts(static_cast<Op>(i), dtype))
        ops.push_back(static_cast<Op>(i));
    const Op drawn = ops[below(ops.size())];
    const Op op = shows_sign_of_nan(drawn) ? Op::absolute : drawn;
    std::vector<NodeId> operands;
    if (is_array) operands.push_back(shared_array());
    while (operands.size() < info(op).operands)
      operands.push_back(is_array && chance(2) ? operands[0] : pick(Type::scalar(dtype)));
    const NodeId node = builder_.make(op, operands);
    if (!is_array) return pool_.push_back(node);
    // Lengths differ between views: an array goes no further than its own sum.
    const DType given = builder_.function().type(node).dtype();
    if (!accepts(Op::add, given)) return;
    pool_.push_back(reduce(node, Op::add));
  }
  NodeId shared_array() { return builder_.make(Op::read, {views_[0]}); }
  NodeId reduce(NodeId array, Op combiner) {
    return builder_.make(Op::reduce, {array}, {static_cast<int64_t>(combiner), 0});
  }

  void whole_array() {
    const NodeId x = shared_array();
    switch (below(5)) {
      case 0: return pool_.push_back(reduce(x, Op::maximum));
      case 1: {
        const auto add = static_cast<int64_t>(Op::add);
        return pool_.push_back(reduce(builder_.make(Op::scan, {x}, {add, 0}), Op::minimum));
      }
      case 2: {
        const NodeId order = builder_.make(Op::argsort, {x}, {0, 1});
        return pool_.push_back(reduce(builder_.make(Op::gather, {x, order}, {0}), Op::add));
      }
      case 3: {
        const NodeId twice = builder_.make(Op::concat, {x, array()}, {0});
        return pool_.push_back(builder_.make(Op::length, {twice}, {0}));
      }
      default: return void(builder_.make(Op::write, {views_[0], builder_.make(Op::negative, {x})}));
    }
  }

  void cast() {
    const NodeId value = pick(Type::scalar(random_dtype()));
    pool_.push_back(builder_.cast(value, random_dtype()));
  }
  void select() {
    const Type type = Type::scalar(random_dtype());
    const NodeId condition = pick(kBool);
    const NodeId yes = pick(type);
    pool_.push_back(builder_.make(Op::select, {condition, yes, pick(type)}));
  }
  void access() {
    const size_t view = below(views_.size());
    const NodeId index = builder_.make(Op::remainder, {pick(kInt64), lengths_[view]});
    if (chance(2)) return pool_.push_back(builder_.make(Op::load, {views_[view], index}));
    builder_.make(Op::store, {views_[view], index, pick(kFloat64)});
  }

  void grow_region(int nodes, int depth) {
    const size_t visible = pool_.size();
    std::vector<NodeId> results;
    switch (below(5)) {
      case 0: results = branch(nodes, depth); break;
      case 1: results = counted(nodes, depth); break;
      case 2: results = open(nodes, depth); break;
      case 3: results = block(nodes, depth); break;
      default: results = parallel(depth); break;
    }
    pool_.resize(visible);
    pool_.insert(pool_.end(), results.begin(), results.end());
  }
  NodeId few() { return builder_.make(Op::remainder, {pick(kInt64), builder_.index(4)}); }

  std::vector<NodeId> branch(int nodes, int depth) {
    const std::vector<Type> types = {kFloat64, kInt64};
    const NodeId condition = pick(kBool);
    const NodeId node = builder_.begin(Op::if_, {&condition, 1}, {}, types);
    const SpanId span = builder_.span();
    const size_t visible = pool_.size();
    // Now and then the arms are left open, to be ended when both exist.
    const bool suspends = chance(2);
    std::vector<RegionId> arms;
    std::vector<std::vector<NodeId>> yields;
    for (size_t i = 0; i < 2; ++i) {
      builder_.enter(node, i, {});
      grow(nodes, depth);
      const NodeId x = pick(kFloat64);
      yields.push_back({x, pick(kInt64)});
      if (suspends) {
        arms.push_back(builder_.suspend());
      } else {
        builder_.yield(yields[i]);
      }
      pool_.resize(visible);
    }
    for (size_t i = 0; i < arms.size(); ++i) {
      builder_.resume(arms[i]);
      builder_.yield({builder_.make(Op::negative, {yields[i][0]}), yields[i][1]});
    }
    builder_.set_span(span);
    return builder_.end(node);
  }

  std::vector<NodeId> counted(int nodes, int depth) {
    const NodeId count = few();
    const std::vector<NodeId> operands = {count, pick(kFloat64), pick(kBool)};
    const NodeId node = builder_.begin(Op::for_, operands, std::vector<int64_t>{0, 0});
    const SpanId span = builder_.span();
    const auto parameters = builder_.enter(node, 0, std::vector<Type>{kInt64, kFloat64, kBool});
    pool_.insert(pool_.end(), parameters.begin(), parameters.end());
    grow(nodes, depth);
    const NodeId x = pick(kFloat64);
    builder_.yield({x, pick(kBool)});
    builder_.set_span(span);
    return builder_.end(node);
  }

  /// A `while` whose first carried value counts down from at most 3.
  std::vector<NodeId> open(int nodes, int depth) {
    const std::vector<Type> types = {kInt64, kFloat64};
    const NodeId count = few();
    const std::vector<NodeId> operands = {count, pick(kFloat64)};
    const NodeId node = builder_.begin(Op::while_, operands, {}, types);
    const SpanId span = builder_.span();
    const size_t visible = pool_.size();
    const auto head = builder_.enter(node, 0, types);
    pool_.insert(pool_.end(), head.begin(), head.end());
    grow(1, depth);
    const NodeId more = builder_.make(Op::less, {builder_.index(0), head[0]});
    builder_.yield({more, head[0], pick(kFloat64)});
    pool_.resize(visible);
    const auto body = builder_.enter(node, 1, types);
    pool_.insert(pool_.end(), body.begin(), body.end());
    grow(nodes, depth);
    const NodeId next = builder_.make(Op::subtract, {body[0], builder_.index(1)});
    builder_.yield({next, pick(kFloat64)});
    builder_.set_span(span);
    return builder_.end(node);
  }

  /// A block that is left early when a condition holds.
  std::vector<NodeId> block(int nodes, int depth) {
    const NodeId node = builder_.begin(Op::block, {}, {}, std::vector<Type>{kFloat64});
    const SpanId span = builder_.span();
    const NodeId label = builder_.enter(node, 0, std::vector<Type>{Type::label()})[0];
    grow(nodes, depth);
    const NodeId condition = pick(kBool);
    const NodeId choice = builder_.begin(Op::if_, {&condition, 1});
    builder_.enter(choice, 0, {});
    builder_.terminate(Op::exit_, std::vector<NodeId>{label, pick(kFloat64)});
    builder_.enter(choice, 1, {});
    builder_.yield({});
    builder_.end(choice);
    grow(nodes / 2, depth);
    builder_.yield({pick(kFloat64)});
    builder_.set_span(span);
    return builder_.end(node);
  }

  /// A `parallel_for` that touches no memory.
  std::vector<NodeId> parallel(int depth) {
    const NodeId count = few();
    const std::vector<NodeId> operands = {count, pick(kInt64), pick(kFloat64)};
    const std::vector<int64_t> attributes = {0, 0, static_cast<int64_t>(Op::add),
                                             static_cast<int64_t>(Op::minimum)};
    const NodeId node = builder_.begin(Op::parallel_for, operands, attributes);
    const SpanId span = builder_.span();
    pool_.push_back(builder_.enter(node, 0, std::vector<Type>{kInt64})[0]);
    for (int i = 0; i < 4 - depth % 2; ++i) elementwise(false);
    const NodeId k = pick(kInt64);
    builder_.yield({k, pick(kFloat64)});
    builder_.set_span(span);
    return builder_.end(node);
  }

  Module& module_;
  RandomOptions options_;
  std::mt19937_64 random_;
  Builder builder_;
  std::vector<NodeId> pool_;  ///< visible scalars
  std::vector<NodeId> views_;
  std::vector<NodeId> lengths_;
  std::vector<Type> parameter_types_;
  uint32_t line_ = 0;
};

}  // namespace ingot::ir::test
