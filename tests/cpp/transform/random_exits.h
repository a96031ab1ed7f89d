#pragma once

#include <random>
#include <utility>
#include <vector>

#include "ir/builder.h"

namespace ingot::transform::test {

/// Builds a function `@f(n: i64, x: f64, c: bool, log: view<i64, 1>, v: view<f64, 1>)` that gives `(i64, f64,
/// view<f64, 1>)`, of branches, loops and blocks inside each other that are left by all kinds of exit:
/// regions end in yield, exit, raise or unreachable. It passes the verifier at the array stage and ends in
/// few steps. What it does is mixed into `log`, in an order that matters. Both views have at least one
/// element. The same seed gives the same function.
class RandomExits {
 public:
  RandomExits(ir::Module& module, uint64_t seed, bool spans)
      : module_(module), spans_(spans), random_(seed), b_(module, "f") {
    b_.set_folding(seed % 2 == 0);
    types_ = {ir::kInt64,
              ir::kFloat64,
              ir::kBool,
              Type::array(ir::DType::Float64, 1),
              Type::view(ir::DType::Float64, 1),
              Type::view(ir::DType::Float64, 0),
              Type::buffer(),
              module.types.optional(ir::kFloat64)};
  }

  ir::FunctionId build() {
    const Types parameters = {ir::kInt64, ir::kFloat64, ir::kBool, Type::view(ir::DType::Int64, 1),
                              types_[4]};
    const char* const names[] = {"n", "x", "c", "log", "v"};
    Nodes nodes;
    for (size_t i = 0; i < parameters.size(); ++i)
      nodes.push_back(b_.add_parameter(
          parameters[i], {.name = names[i], .alias_set = static_cast<uint32_t>(i > 2 ? i - 2 : 0)}));
    log_ = nodes[3];
    v_ = nodes[4];
    pool_ = {nodes[0], nodes[1], nodes[2], v_};
    const Types results = {ir::kInt64, ir::kFloat64, types_[4]};
    set_location();
    if (!grow(8, 0)) b_.terminate(Op::unreachable, {});
    else b_.terminate(Op::return_, pick_all(results));
    const ir::FunctionId id = module_.declare("f", parameters, results);
    module_.define(id, b_.finish(results));
    return id;
  }

 private:
  using NodeId = ir::NodeId;
  using Op = ir::Op;
  using Type = ir::Type;
  using Nodes = std::vector<NodeId>;
  using Types = std::vector<Type>;
  struct Label {
    NodeId node;
    Types types;
    bool used = false;
  };

  uint64_t below(uint64_t limit) { return random_() % limit; }
  bool chance(uint64_t one_in) { return below(one_in) == 0; }
  Type type_of(NodeId node) const { return b_.function().type(node); }

  void set_location() {
    if (!spans_) return;
    ir::Span span;
    span.file = module_.text("f.py");
    span.line = ++line_;
    span.end_column = 9;
    b_.set_span(module_.span(span));
  }

  NodeId pick(Type type) {
    Nodes fitting;
    for (const NodeId value : pool_)
      if (type_of(value) == type) fitting.push_back(value);
    if (!fitting.empty() && !chance(6)) return fitting[below(fitting.size())];
    if (type == ir::kInt64) return b_.index(static_cast<int64_t>(below(9)) - 2);
    if (type == ir::kFloat64) return b_.constant(static_cast<double>(below(9)) / 4);
    if (type == ir::kBool) return b_.constant(chance(2));
    if (type.is_array()) return b_.make(Op::read, {v_});
    if (type.is_buffer()) return b_.make(Op::buffer, {v_});
    if (type == types_[4]) return v_;
    if (type.is_view()) return b_.make(Op::view, {b_.make(Op::buffer, {v_}), b_.index(0)}, {}, type);
    return chance(2) ? b_.make(Op::none, {}, {1}, type) : b_.make(Op::some, {pick(ir::kFloat64)});
  }
  Nodes pick_all(const Types& types) {
    Nodes all;
    for (const Type type : types) all.push_back(pick(type));
    return all;
  }
  Types some_types() {
    Types types(below(3));
    for (Type& type : types) type = types_[chance(2) ? below(3) : below(types_.size())];
    return types;
  }

  /// A number that depends on a value.
  NodeId shown(NodeId value) {
    const Type type = type_of(value);
    NodeId number = value;
    if (type.is_array()) number = b_.make(Op::reduce, {value}, {static_cast<int64_t>(Op::add), 0});
    else if (type.is_buffer()) number = b_.make(Op::same_object, {value, b_.make(Op::buffer, {v_})});
    else if (type.is_view() && type.rank() == 0) number = b_.make(Op::load, {value});
    else if (type.is_view()) number = b_.make(Op::load, {value, b_.index(0)});
    else if (type.is(ir::TypeKind::Optional)) number = b_.make(Op::tag, {value});
    return type_of(number) == ir::kInt64 ? number : b_.cast(number, ir::DType::Int64);
  }
  void write_log() {
    const NodeId zero = b_.index(0);
    const NodeId old = b_.make(Op::multiply, {b_.make(Op::load, {log_, zero}), b_.index(31)});
    const NodeId value = shown(pick(types_[below(types_.size())]));
    b_.make(Op::store, {log_, zero, b_.make(Op::add, {old, value})});
  }
  void grow_node() {
    switch (below(6)) {
      case 0: pool_.push_back(b_.make(Op::subtract, {pick(ir::kInt64), pick(ir::kInt64)})); return;
      case 1: pool_.push_back(b_.make(Op::add, {pick(ir::kFloat64), pick(ir::kFloat64)})); return;
      case 2: pool_.push_back(b_.make(Op::less, {pick(ir::kInt64), pick(ir::kInt64)})); return;
      case 3: {
        if (!chance(12)) return;
        const NodeId good = b_.make(Op::less, {pick(ir::kInt64), b_.index(7)});
        b_.make(Op::check, {good},
                {static_cast<int64_t>(base::ExceptionKind::ValueError), module_.text("large").index});
        return;
      }
      default: write_log();
    }
  }

  /// Whether control reaches the end of the code built so far.
  bool grow(int nodes, int depth) {
    for (int i = 0; i < nodes; ++i) {
      set_location();
      if (depth >= 5 || !chance(2)) {
        grow_node();
      } else if (!grow_region(nodes / 2 + 1, depth + 1)) {
        return false;
      }
    }
    set_location();
    return true;
  }

  /// Ends a region: whether by a yield.
  bool finish(const Nodes& fixed, const Types& types) {
    set_location();
    if (!labels_.empty() && chance(4)) {
      Label& label = labels_[below(labels_.size())];
      Nodes values = pick_all(label.types);
      values.insert(values.begin(), label.node);
      b_.terminate(Op::exit_, values);
      label.used = true;
      return false;
    }
    if (chance(40)) {
      const Nodes values = {pick(ir::kInt64)};
      b_.terminate(Op::raise, values,
                   std::vector<int64_t>{static_cast<int64_t>(base::ExceptionKind::IndexError),
                                        module_.text("at {}").index});
      return false;
    }
    Nodes values = fixed;
    for (const NodeId value : pick_all(types)) values.push_back(value);
    b_.yield(values);
    return true;
  }
  /// Fills the region that is entered; whether it ends by a yield.
  bool fill(int nodes, int depth, const Nodes& parameters, const Types& types) {
    const size_t visible = pool_.size();
    pool_.insert(pool_.end(), parameters.begin(), parameters.end());
    const bool arrives = grow(nodes, depth);
    const bool yields = arrives && finish({}, types);
    if (!arrives) b_.terminate(Op::unreachable, {});
    pool_.resize(visible);
    return yields;
  }
  NodeId few() {
    return b_.make(Op::subtract, {b_.make(Op::remainder, {pick(ir::kInt64), b_.index(4)}), b_.index(1)});
  }

  bool grow_region(int nodes, int depth) {
    const ir::SpanId span = b_.span();
    NodeId node;
    bool goes_on = true;
    switch (below(6)) {
      case 0:
      case 1: goes_on = branch(node, nodes, depth); break;
      case 2: node = counted(nodes, depth); break;
      case 3: goes_on = open(node, nodes, depth); break;
      case 4: goes_on = block(node, nodes, depth); break;
      default: node = parallel(nodes, depth); break;
    }
    b_.set_span(span);
    for (const NodeId result : b_.end(node)) pool_.push_back(result);
    return goes_on;
  }
  bool branch(NodeId& node, int nodes, int depth) {
    const Types types = some_types();
    const NodeId condition = pick(ir::kBool);
    node = b_.begin(Op::if_, {&condition, 1}, {}, types);
    bool goes_on = false;
    for (size_t i = 0; i < 2; ++i) {
      b_.enter(node, i, {});
      if (fill(static_cast<int>(below(static_cast<uint64_t>(nodes) + 1)), depth, {}, types)) goes_on = true;
    }
    return goes_on;
  }
  NodeId counted(int nodes, int depth) {
    const Types types = some_types();
    Nodes operands = pick_all(types);
    operands.insert(operands.begin(), few());
    const NodeId node = b_.begin(Op::for_, operands, std::vector<int64_t>{0, 0});
    Types parameters = types;
    parameters.insert(parameters.begin(), ir::kInt64);
    fill(nodes, depth, b_.enter(node, 0, parameters), types);
    return node;
  }
  /// A `while` whose first carried value counts down.
  bool open(NodeId& node, int nodes, int depth) {
    Types before = some_types();
    Types after = some_types();
    // Now and then the test yields its carried values.
    const bool passes = chance(3);
    if (passes) after = before;
    Nodes operands = pick_all(before);
    operands.insert(operands.begin(), few());
    before.insert(before.begin(), ir::kInt64);
    after.insert(after.begin(), ir::kInt64);
    node = b_.begin(Op::while_, operands, {}, after);
    const size_t visible = pool_.size();
    const Nodes head = b_.enter(node, 0, before);
    pool_.insert(pool_.end(), head.begin(), head.end());
    bool ends = false;
    if (passes || grow(chance(2) ? 0 : 2, depth)) {
      NodeId more = b_.make(Op::less, {b_.index(0), head[0]});
      if (chance(2)) more = b_.make(Op::bitwise_and, {more, pick(ir::kBool)});
      if (passes) {
        Nodes values = head;
        values.insert(values.begin(), more);
        b_.yield(values);
        ends = true;
      } else {
        ends = finish({more, head[0]}, Types(after.begin() + 1, after.end()));
      }
    } else {
      b_.terminate(Op::unreachable, {});
    }
    pool_.resize(visible);
    const Nodes body = b_.enter(node, 1, after);
    pool_.insert(pool_.end(), body.begin(), body.end());
    if (grow(nodes, depth)) {
      const NodeId next = b_.make(Op::subtract, {body[0], b_.index(1)});
      finish({next}, Types(before.begin() + 1, before.end()));
    } else {
      b_.terminate(Op::unreachable, {});
    }
    pool_.resize(visible);
    return ends;
  }
  bool block(NodeId& node, int nodes, int depth) {
    const Types types = some_types();
    node = b_.begin(Op::block, {}, {}, types);
    labels_.push_back({b_.enter(node, 0, Types{Type::label()})[0], types});
    const bool ends = fill(nodes, depth, {}, types);
    const bool used = labels_.back().used;
    labels_.pop_back();
    return ends || used;
  }
  NodeId parallel(int nodes, int depth) {
    const Nodes operands = {few(), pick(ir::kInt64)};
    const std::vector<int64_t> attributes = {0, 0, static_cast<int64_t>(Op::add)};
    const NodeId node = b_.begin(Op::parallel_for, operands, attributes);
    // No exit leads out of it.
    std::vector<Label> outside = std::exchange(labels_, {});
    fill(nodes, depth, b_.enter(node, 0, Types{ir::kInt64}), {ir::kInt64});
    labels_ = std::move(outside);
    return node;
  }

  ir::Module& module_;
  bool spans_;
  std::mt19937_64 random_;
  ir::Builder b_;
  Types types_;
  Nodes pool_;  ///< visible values
  NodeId log_, v_;
  std::vector<Label> labels_;  ///< of the blocks around
  uint32_t line_ = 0;
};

}  // namespace ingot::transform::test
