#include "transform/loops/threads.h"

#include <algorithm>

#include "ir/directives.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/thread_judge.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

namespace {

/// Loops that hold none, and have no more iterations than this, are not shared: that is less than one piece.
constexpr int64_t kShort = 1024;

class Sharer : public Rewriter {
 public:
  explicit Sharer(const Function& source) : Rewriter(source), chosen_(source.node_count()) {
    ir::walk(source, source.body(), [&](NodeId node) {
      if (source.op(node) == Op::launch) return ir::Walk::Past;
      std::vector<Table> tables;
      chosen_[node.index] = is_loop(node) &&
                            (is_asked(node) || (!has_few_iterations(node) && !is_left(node))) &&
                            can_share(source, node, &tables);
      return chosen_[node.index] ? ir::Walk::Past : ir::Walk::Into;
    });
  }

 protected:
  void set_attributes(NodeId id, std::span<int64_t> attributes) override {
    if (!is_loop(id)) return;
    const ir::Schedule own = ir::schedule_of(source_, id);
    const bool undecided = own == ir::Schedule::Serial || own == ir::Schedule::Independent;
    if (undecided && !chosen_[id.index]) return;
    if (chosen_[id.index] && own == ir::Schedule::IndependentThreads) return;
    attributes[0] = static_cast<int64_t>(ir::cpu_schedule(chosen_[id.index], ir::has_lanes(own)));
  }

 private:
  bool is_loop(NodeId node) const { return ir::is_counted_loop(source_.op(node)); }
  /// Whether a schedule chooses loops for threads, and has not chosen this one, but perhaps one in it.
  bool is_left(NodeId loop) const {
    const bool chooses = std::ranges::any_of(source_.module().directives, [](const ir::Directive& each) {
      return each.kind == ir::Directive::Kind::Parallel;
    });
    const auto is_chosen = [&](NodeId node) {
      return is_loop(node) && is_asked(node) && ir::is_directed(source_, node);
    };
    return chooses &&
           (ir::is_directed(source_, loop) || ir::any_within(source_, source_.region(loop), is_chosen));
  }
  bool is_asked(NodeId loop) const { return ir::has_threads(ir::schedule_of(source_, loop)); }
  bool has_few_iterations(NodeId loop) const {
    NodeId count = source_.operand(loop, 0);
    const bool is_known = source_.is_constant(count);
    if (is_known && source_.constant(count).as<int64_t>() < kFewToShare) return true;
    if (source_.op(count) == Op::minimum) count = source_.operand(count, 1);
    return source_.is_constant(count) && source_.constant(count).as<int64_t>() <= kShort &&
           !ir::has_loop(source_, source_.region(loop));
  }
  std::vector<bool> chosen_;
};

}  // namespace

std::unique_ptr<ir::Function> threads(const ir::Function& function) { return Sharer(function).run(); }

}  // namespace ingot::transform
