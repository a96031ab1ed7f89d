#include "transform/loops/prefetch.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/writers/loop_writer.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

namespace {

/// How many iterations ahead: about what memory takes, in iterations of a short loop.
constexpr int64_t kAhead = 32;
/// Indices of more ops are not computed twice.
constexpr size_t kMostOps = 12;

/// The accesses of a loop whose elements are found by tables.
class TableJudge {
 public:
  TableJudge(const Function& function, NodeId loop)
      : f_(function), body_(f_.region(loop)), iteration_(f_.region_parameters(body_)[0]) {}

  /// One of each line: elements of one view whose indices differ by constants are near each other.
  std::vector<NodeId> accesses() {
    std::vector<NodeId> found;
    std::set<std::vector<uint32_t>> seen;
    for (const NodeId node : f_.region_body(body_)) {
      if (f_.op(node) != Op::load && f_.op(node) != Op::store) continue;
      const NodeId view = f_.operand(node, 0);
      const auto indices = f_.operands(node).subspan(1, static_cast<size_t>(f_.type(view).rank()));
      std::vector<uint32_t> key{view.index};
      for (const NodeId index : indices)
        if (!f_.is_constant(index)) key.push_back(index.index);
      ops_ = tables_ = 0;
      const bool fits = !f_.encloses(body_, view) &&
                        std::ranges::all_of(indices, [&](NodeId index) { return can_repeat(index); });
      if (fits && tables_ > 0 && seen.insert(std::move(key)).second) found.push_back(node);
    }
    return found;
  }

  bool is_from_outside(NodeId value) const { return !f_.encloses(body_, value); }
  NodeId iteration() const { return iteration_; }

 private:
  /// Whether an index can be computed for a later iteration.
  bool can_repeat(NodeId value) {
    if (is_from_outside(value) || value == iteration_) return true;
    if (f_.op(value) == Op::param || ++ops_ > kMostOps) return false;
    if (f_.op(value) == Op::load) {
      ++tables_;
      return is_in_order(value);
    }
    return f_[value].region_count == 0 && ir::info(f_.op(value)).effects.pure() &&
           f_.type(value).is_scalar() &&
           std::ranges::all_of(f_.operands(value), [&](NodeId operand) { return can_repeat(operand); });
  }
  /// Whether iterations load elements one after the other.
  bool is_in_order(NodeId load) const {
    const auto operands = f_.operands(load);
    if (operands.size() < 2) return false;
    const NodeId last = operands.back();
    const bool is_sum =
        f_.op(last) == Op::add && (f_.operand(last, 0) == iteration_ || f_.operand(last, 1) == iteration_);
    const NodeId other = is_sum ? f_.operand(last, f_.operand(last, 0) == iteration_ ? 1 : 0) : iteration_;
    return (last == iteration_ || (is_sum && is_from_outside(other))) &&
           std::ranges::all_of(operands.first(operands.size() - 1),
                               [&](NodeId operand) { return is_from_outside(operand); });
  }

  const Function& f_;
  RegionId body_;
  NodeId iteration_;
  size_t ops_ = 0;
  size_t tables_ = 0;
};

class Prefetcher : public Rewriter {
 public:
  Prefetcher(const Function& source, const base::Machine& machine)
      : Rewriter(source), loops_(b_), cache_(machine.far_cache) {
    ir::walk(source, source.body(), [&](NodeId node) {
      if (source.op(node) == Op::launch || ir::runs_in_lanes(source, node)) return ir::Walk::Past;
      if (source.op(node) != Op::for_ || ir::is_careful(source, node)) return ir::Walk::Into;
      for (const NodeId access : TableJudge(source, node).accesses()) loops_of_.emplace(access.index, node);
      return ir::Walk::Into;
    });
  }
  bool any() const { return !loops_of_.empty(); }

 protected:
  void visit(NodeId id) override {
    if (source_.op(id) == Op::for_) ask(id);
    if (const auto found = loops_of_.find(id.index); found != loops_of_.end()) fetch(id, found->second);
    clone(id);
  }
  NodeId use(NodeId old) override {
    const auto found = is_later_ ? later_.find(old.index) : later_.end();
    return found != later_.end() ? found->second : Rewriter::use(old);
  }
  void bind(NodeId old, NodeId made) override {
    if (is_later_) later_[old.index] = made;
    else Rewriter::bind(old, made);
  }

 private:
  /// Before a loop: whether what it accesses by tables is large.
  void ask(NodeId loop) {
    for (const auto& [access, owner] : loops_of_) {
      if (owner != loop) continue;
      const NodeId view = use(source_.operand(NodeId(access), 0));
      const Type type = b_.function().type(view);
      Nodes lengths;
      for (int axis = 0; axis < type.rank(); ++axis) lengths.push_back(b_.length(view, axis));
      const auto size = static_cast<int64_t>(base::size_of(type.dtype()));
      large_[access] = loops_.less_equal(b_.index(cache_), loops_.bytes_in(cache_, size, lengths));
    }
  }
  void fetch(NodeId access, NodeId loop) {
    const NodeId view = source_.operand(access, 0);
    const auto rank = static_cast<size_t>(source_.type(view).rank());
    loops_.when(large_.at(access.index), [&] {
      const TableJudge judge(source_, loop);
      later_.clear();
      Nodes operands{use(view)};
      for (const NodeId index : source_.operands(access).subspan(1, rank))
        operands.push_back(later(judge, index));
      b_.make(Op::prefetch, operands);
    });
  }
  /// A value as it will be some iterations later.
  NodeId later(const TableJudge& judge, NodeId value) {
    if (judge.is_from_outside(value)) return use(value);
    const auto known = later_.find(value.index);
    if (known != later_.end()) return known->second;
    NodeId made;
    if (value == judge.iteration()) {
      made = loops_.add(use(value), b_.index(kAhead));
    } else if (source_.op(value) == Op::load) {
      Nodes operands = use_all(source_.operands(value));
      const auto axis = static_cast<int>(operands.size()) - 2;
      const NodeId last = loops_.subtract(b_.length(operands[0], axis), b_.index(1));
      operands.back() = loops_.minimum(loops_.add(operands.back(), b_.index(kAhead)), last);
      made = b_.make(Op::load, operands);
    } else {
      for (const NodeId operand : source_.operands(value)) later(judge, operand);
      is_later_ = true;
      clone(value);
      is_later_ = false;
      return later_.at(value.index);
    }
    return later_[value.index] = made;
  }

  LoopWriter loops_;
  int64_t cache_;
  std::map<uint32_t, NodeId> loops_of_;  ///< by access: the loop that it is in
  std::map<uint32_t, NodeId> large_;     ///< by access: whether its array is
  std::map<uint32_t, NodeId> later_;     ///< by node, of the access that is being written
  bool is_later_ = false;                ///< what is written is of a later iteration
};

}  // namespace

std::unique_ptr<ir::Function> prefetch(const ir::Function& function, const base::Machine& machine) {
  Prefetcher prefetcher(function, machine);
  return prefetcher.any() ? prefetcher.run() : nullptr;
}

}  // namespace ingot::transform
