#include "transform/kernels/counters.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "ir/walk.h"
#include "transform/writers/loop_writer.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

namespace {

/// Counters that go through so many loops, at most, become none.
constexpr int kMostRounds = 4;

/// A slot of a loop, and what each iteration adds to it.
struct Counter {
  size_t slot;
  NodeId step;
};

class CounterRemover : public Rewriter {
 public:
  explicit CounterRemover(const Function& source) : Rewriter(source), loops_(b_) {
    ir::walk(source, source.body(), [&](NodeId node) {
      if (source.op(node) == Op::launch) return ir::Walk::Past;
      if (std::vector<Counter> found = counters_of(node); !found.empty())
        counters_[node.index] = std::move(found);
      return ir::Walk::Into;
    });
  }
  bool any() const { return !counters_.empty(); }

 protected:
  void visit(NodeId id) override {
    clone(id);
    for (const Counter& counter : of(id)) {
      const NodeId count = loops_.maximum(use(source_.operand(id, 0)), b_.index(0));
      bind(source_.result(id, counter.slot), after(id, counter, count));
    }
  }
  bool keeps(NodeId id, Slot, size_t slot) override {
    return std::ranges::find(of(id), slot, &Counter::slot) == of(id).end();
  }
  void enter_region(RegionId region) override {
    const NodeId loop = source_[region].owner;
    if (!loop) return;
    const auto parameters = source_.region_parameters(region);
    for (const Counter& counter : of(loop))
      bind(parameters[counter.slot + 1], after(loop, counter, use(parameters[0])));
  }

 private:
  const std::vector<Counter>& of(NodeId loop) const {
    const auto found = counters_.find(loop.index);
    return found == counters_.end() ? none_ : found->second;
  }
  /// What a counter is after so many iterations.
  NodeId after(NodeId loop, const Counter& counter, NodeId iterations) {
    const NodeId first = use(source_.operand(loop, counter.slot + 1));
    return loops_.add(first, loops_.multiply(iterations, use(counter.step)));
  }
  std::vector<Counter> counters_of(NodeId loop) const {
    if (source_.op(loop) != Op::for_ || source_.result_count(loop) == 0) return {};
    const RegionId body = source_.region(loop);
    const NodeId last = source_.terminator(body);
    if (source_.op(last) != Op::yield) return {};
    std::vector<Counter> found;
    for (size_t slot = 0; slot < source_.result_count(loop); ++slot) {
      const NodeId carried = source_.region_parameters(body)[slot + 1];
      const NodeId next = source_.operand(last, slot);
      if (source_.type(carried) != ir::kInt64 || source_.op(next) != Op::add || !source_.encloses(loop, next))
        continue;
      for (const size_t i : {size_t{0}, size_t{1}}) {
        const NodeId step = source_.operand(next, 1 - i);
        if (source_.operand(next, i) != carried || source_.encloses(loop, step)) continue;
        found.push_back({slot, step});
        break;
      }
    }
    return found;
  }

  LoopWriter loops_;
  std::unordered_map<uint32_t, std::vector<Counter>> counters_;  ///< by loop
  const std::vector<Counter> none_;
};

/// Lengths: those that a check of the function's body shows to be equal are one, and those of what is there
/// before a loop are taken before it.
class LengthSettler : public Rewriter {
 public:
  explicit LengthSettler(const Function& source) : Rewriter(source) {}

 protected:
  void visit(NodeId id) override {
    if (source_.op(id) == Op::length && made(id)) return;
    if (ir::is_loop(source_.op(id)) && !is_inside_) {
      ir::walk(source_, id, [&](NodeId node) {
        const bool is_known =
            source_.op(node) == Op::length && !made(node) && !source_.encloses(id, source_.operand(node, 0));
        if (is_known) clone(node);
      });
      is_inside_ = true;
      clone(id);
      is_inside_ = false;
      return;
    }
    clone(id);
    if (source_.op(id) != Op::check || source_[id].parent != source_.body()) return;
    const NodeId condition = source_.operand(id, 0);
    if (source_.op(condition) != Op::equal) return;
    const NodeId first = source_.operand(condition, 0);
    const NodeId second = source_.operand(condition, 1);
    const auto is_length = [&](NodeId node) { return source_.op(node) == Op::length; };
    if (is_length(first) && is_length(second)) bind(second, use(first));
  }

 private:
  bool is_inside_ = false;
};

}  // namespace

std::unique_ptr<ir::Function> counters(const ir::Function& function) {
  const bool has_loops = ir::has_loop(function, function.body());
  std::unique_ptr<ir::Function> made = has_loops ? LengthSettler(function).run() : nullptr;
  for (int round = 0; round < kMostRounds; ++round) {
    CounterRemover remover(made ? *made : function);
    if (!remover.any()) break;
    made = remover.run();
  }
  return made;
}

}  // namespace ingot::transform
