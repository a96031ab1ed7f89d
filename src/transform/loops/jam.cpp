// Iterations together (`jam`). Where a vector loop is in a loop over rows, and its sums fetch vectors that
// all rows share, eight rows run at once: a product of matrices as three loops fetches an eighth of the
// second matrix's lines, and its sums do not wait for each other. Lanes take the registers that are left. So
// do rows that are summed one element after the other, in the written order: each sum waits for its last
// addition, and those of other rows are made meanwhile.

#include "transform/loops/jam.h"

#include <algorithm>
#include <bit>

#include "ir/directives.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/analyses/dependence.h"
#include "transform/analyses/disjoint.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

namespace {

/// Loops with more nodes are left as they are: their code would be copied for each iteration.
constexpr size_t kMostNodes = 100;
/// More iterations share little that eight do not share.
constexpr size_t kMostIterations = 8;
/// Loops with more nodes are not bound by the last one of what they carry.
constexpr size_t kShortChain = 8;

/// What of a loop depends on the number of its iteration, and how many of its iterations run at once.
class JamJudge {
 public:
  JamJudge(const Function& function, NodeId loop, const base::Machine& machine)
      : f_(function),
        loop_(loop),
        most_carried_(std::min(machine.registers / 2, kMostIterations)),
        varies_(function.node_count()),
        in_lanes_(function.node_count()) {}

  /// The number of iterations that run at once; 1: the loop is left as it is.
  size_t iterations() {
    if (f_.result_count(loop_) > 0 || has_lanes(loop_) || ir::is_directed(f_, loop_)) return 1;
    varies_[f_.region_parameters(f_.region(loop_))[0].index] = true;
    const bool fit = fits(f_.region(loop_), Around{});
    if (!fit || !(shares_ || waits_) || carried_ == 0 || nodes_ > kMostNodes) return 1;
    const size_t iterations = std::bit_floor(most_carried_ / carried_);
    return iterations > 1 && !find_race(f_, loop_) ? iterations : 1;
  }
  const std::vector<bool>& varies() const { return varies_; }

 private:
  /// The loops that a node is in.
  struct Around {
    NodeId vector;         ///< invalid: none
    bool carries = false;  ///< a loop in the vector loop that carries values of the iteration
  };

  bool has_lanes(NodeId loop) const {
    return ir::has_lanes(ir::schedule_of(f_, loop)) && ir::width_of(f_, loop) == 0;
  }
  bool varies(NodeId value) const { return varies_[value.index]; }
  bool any_varies(std::span<const NodeId> values) const {
    return std::ranges::any_of(values, [&](NodeId value) { return varies(value); });
  }

  bool fits(RegionId region, Around around) {
    return std::ranges::all_of(f_.region_body(region), [&](NodeId node) { return fits(node, around); });
  }
  bool fits(NodeId node, Around around) {
    const Op op = f_.op(node);
    if (op == Op::result || op == Op::yield) return true;
    ++nodes_;
    if (op == Op::for_) return fits_loop(node, around);
    const auto operands = f_.operands(node);
    varies_[node.index] = any_varies(operands);
    in_lanes_[node.index] =
        std::ranges::any_of(operands, [&](NodeId value) { return in_lanes_[value.index]; });
    if (op == Op::store) return varies(node) && keeps_order(node);
    if (op == Op::load) {
      shares_ = shares_ || (around.carries && !varies(node) && is_row(node, around.vector));
      return true;
    }
    return f_[node].region_count == 0 && ir::info(op).effects.pure();
  }
  /// Whether what a store writes stays there where iterations run together: its elements have locations of
  /// their own, or each iteration stores once, and nothing else is done to that memory.
  bool keeps_order(NodeId store) const {
    const NodeId view = f_.operand(store, 0);
    if (stands_once(f_, loop_, view)) return true;
    for (NodeId at = f_[f_[store].parent].owner; at != loop_; at = f_[f_[at].parent].owner)
      if (ir::is_loop(f_.op(at))) return false;
    const Root memory = root_of(f_, view);
    return !ir::any_within(f_, f_.region(loop_), [&](NodeId node) {
      const bool is_other = node != store && (f_.op(node) == Op::load || f_.op(node) == Op::store);
      return is_other && may_overlap(f_, memory, root_of(f_, f_.operand(node, 0)));
    });
  }
  /// Whether a load is of neighbours in the lanes of a loop.
  bool is_row(NodeId load, NodeId vector) const {
    const auto indices = f_.operands(load).subspan(1);
    return indices.back() == f_.region_parameters(f_.region(vector))[0] &&
           std::ranges::none_of(indices.first(indices.size() - 1),
                                [&](NodeId index) { return in_lanes_[index.index]; });
  }
  bool fits_loop(NodeId loop, Around around) {
    const auto operands = f_.operands(loop);
    const auto parameters = f_.region_parameters(f_.region(loop));
    if (varies(operands[0]) || in_lanes_[operands[0].index]) return false;
    for (size_t i = 1; i < parameters.size(); ++i) {
      varies_[parameters[i].index] = varies(operands[i]);
      in_lanes_[parameters[i].index] = true;
    }
    if (has_lanes(loop)) {
      if (around.vector || f_.result_count(loop) > 0) return false;
      around.vector = loop;
      in_lanes_[parameters[0].index] = true;
    }
    // A carried value varies as soon as what the iteration yields for it does.
    const Around outside = around;
    const NodeId last = f_.terminator(f_.region(loop));
    const size_t nodes_before = nodes_;
    const bool shared_before = shares_;
    for (bool changed = true; changed;) {
      nodes_ = nodes_before;
      shares_ = shared_before;
      around.carries = outside.carries || (around.vector && any_varies(parameters.subspan(1)));
      if (!fits(f_.region(loop), around)) return false;
      changed = false;
      for (size_t i = 1; i < parameters.size(); ++i) {
        if (varies(parameters[i]) || !varies(f_.operand(last, i - 1))) continue;
        varies_[parameters[i].index] = changed = true;
      }
    }
    size_t carried = 0;
    for (size_t i = 1; i < parameters.size(); ++i) {
      const NodeId result = f_.result(loop, i - 1);
      varies_[result.index] = varies(parameters[i]);
      in_lanes_[result.index] = true;
      carried += varies(result);
    }
    carried_ = std::max(carried_, carried);
    waits_ = waits_ || (carried > 0 && !around.vector && is_chain(loop));
    return true;
  }
  /// Whether iterations of a loop wait for little but sums of floats that they carry.
  bool is_chain(NodeId loop) const {
    const auto body = f_.region_body(f_.region(loop));
    const bool is_short = std::ranges::all_of(
        body, [&](NodeId node) { return f_[node].region_count == 0 && !ir::is_long(f_.op(node)); });
    const NodeId last = f_.terminator(f_.region(loop));
    const bool sums = std::ranges::any_of(f_.operands(last), [&](NodeId value) {
      return f_.op(value) == Op::add && base::is_float(f_.type(value).dtype());
    });
    return is_short && sums && body.size() <= kShortChain && !f_.is_constant(f_.operand(loop, 0));
  }

  const Function& f_;
  NodeId loop_;
  size_t most_carried_;         ///< values at once, for which there are registers
  std::vector<bool> varies_;    ///< with the iteration of the loop
  std::vector<bool> in_lanes_;  ///< may be different in the lanes of the vector loop
  size_t carried_ = 0;          ///< values of the iteration that one loop carries, at most
  size_t nodes_ = 0;
  bool shares_ = false;
  bool waits_ = false;  ///< a loop outside of lanes is a chain of sums
};

class Jammer : public Rewriter {
 public:
  Jammer(const Function& source, const base::Machine& machine) : Rewriter(source), machine_(machine) {}

 protected:
  void visit(NodeId id) override {
    if (varies_ != nullptr) return visit_jammed(id);
    if (source_.op(id) != Op::for_) return clone(id);
    JamJudge judge(source_, id, machine_);
    const size_t iterations = judge.iterations();
    if (iterations == 1) return clone(id);
    write(id, iterations, judge.varies());
  }
  NodeId use(NodeId old) override {
    return varies_ != nullptr && (*varies_)[old.index] ? copies_[iteration_][old.index] : Rewriter::use(old);
  }
  void bind(NodeId old, NodeId made) override {
    if (varies_ != nullptr && (*varies_)[old.index]) copies_[iteration_][old.index] = made;
    else Rewriter::bind(old, made);
  }

 private:
  NodeId make(Op op, NodeId a, NodeId b) { return b_.make(op, {a, b}); }

  /// Does `write` for each of the iterations that run at once.
  template <class Write>
  void each_iteration(Write write) {
    for (iteration_ = 0; iteration_ < copies_.size(); ++iteration_) write();
    iteration_ = 0;
  }

  void write(NodeId loop, size_t iterations, const std::vector<bool>& varies) {
    const ir::SpanId location = b_.span();
    const NodeId index = source_.region_parameters(source_.region(loop))[0];
    const NodeId several = b_.index(static_cast<int64_t>(iterations));
    const NodeId count = make(Op::maximum, use(source_.operand(loop, 0)), b_.index(0));
    const NodeId blocks = make(Op::floor_divide, count, several);

    const NodeId jammed = b_.begin(Op::for_, {&blocks, 1}, source_.attributes(loop));
    const NodeId first = make(Op::multiply, b_.enter(jammed, 0, {{ir::kInt64}})[0], several);
    varies_ = &varies;
    copies_.assign(iterations, Nodes(source_.node_count()));
    each_iteration([&] { bind(index, make(Op::add, first, b_.index(static_cast<int64_t>(iteration_)))); });
    visit_body(source_.region(loop));
    varies_ = nullptr;
    b_.yield({});
    b_.set_span(location);
    b_.end(jammed);

    const NodeId done = make(Op::multiply, blocks, several);
    const NodeId left = make(Op::subtract, count, done);
    const NodeId rest = b_.begin(Op::for_, {&left, 1}, source_.attributes(loop));
    bind(index, make(Op::add, b_.enter(rest, 0, {{ir::kInt64}})[0], done));
    visit_body(source_.region(loop));
    b_.yield({});
    b_.set_span(location);
    b_.end(rest);
  }

  void visit_jammed(NodeId id) {
    if (source_.op(id) == Op::for_) return write_loop(id);
    if (!(*varies_)[id.index]) return clone(id);
    each_iteration([&] { clone(id); });
  }

  /// A loop that carries the values of all iterations; those that all iterations share once.
  void write_loop(NodeId loop) {
    const auto carried = source_.region_parameters(source_.region(loop)).subspan(1);
    const auto values = [&](std::span<const NodeId> old) {
      Nodes all;
      for (size_t i = 0; i < carried.size(); ++i) {
        if ((*varies_)[carried[i].index]) each_iteration([&] { all.push_back(use(old[i])); });
        else all.push_back(use(old[i]));
      }
      return all;
    };
    const auto bind_all = [&](std::span<const NodeId> old, std::span<const NodeId> made) {
      size_t next = 0;
      for (size_t i = 0; i < carried.size(); ++i) {
        if ((*varies_)[carried[i].index]) each_iteration([&] { bind(old[i], made[next++]); });
        else bind(old[i], made[next++]);
      }
    };
    Nodes operands{use(source_.operand(loop, 0))};
    const Nodes inits = values(source_.operands(loop).subspan(1));
    operands.insert(operands.end(), inits.begin(), inits.end());
    std::vector<Type> types{ir::kInt64};
    for (NodeId init : inits) types.push_back(b_.function().type(init));
    const ir::SpanId location = b_.span();
    const NodeId made = b_.begin(Op::for_, operands, source_.attributes(loop));
    const Nodes entered = b_.enter(made, 0, types);
    bind(source_.region_parameters(source_.region(loop))[0], entered[0]);
    bind_all(carried, std::span(entered).subspan(1));
    visit_body(source_.region(loop));
    b_.yield(values(source_.operands(source_.terminator(source_.region(loop)))));
    b_.set_span(location);
    const Nodes given = b_.end(made);
    bind_all(source_.results_of(loop), given);
  }

  const base::Machine& machine_;
  const std::vector<bool>* varies_ = nullptr;  ///< of the loop that is being jammed; none: not in one
  std::vector<Nodes> copies_;                  ///< by iteration, what an old value that varies has become
  size_t iteration_ = 0;
};

}  // namespace

std::unique_ptr<ir::Function> jam(const ir::Function& function, const base::Machine& machine) {
  return Jammer(function, machine).run();
}

}  // namespace ingot::transform
