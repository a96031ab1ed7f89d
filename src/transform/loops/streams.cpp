#include "transform/loops/streams.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ir/cursor.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/writers/loop_writer.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

namespace {

/// Indices that are sums in each other are looked into so far.
constexpr int kDeepest = 8;

/// Whether iterations run in lanes, and store what they compute themselves.
bool may_stream(const Function& f, NodeId id) {
  const bool reduces = f.op(id) == Op::parallel_for && f.result_count(id) > 0;
  return ir::runs_in_lanes(f, id) && !reduces;
}

class StreamWriter : public Rewriter {
 public:
  StreamWriter(const Function& source, const base::Machine& machine)
      : Rewriter(source),
        loops_(b_),
        least_(static_cast<int64_t>(machine.streamed_bytes)),
        least_row_(static_cast<int64_t>(std::min(machine.streamed_row, machine.streamed_bytes))) {}

 protected:
  void visit(NodeId id) override {
    if (const auto past = past_.find(id.index); past != past_.end()) return stream(id, past->second);
    if (may_stream(source_, id)) find_streams(id);
    clone(id);
  }

 private:
  void stream(NodeId store, NodeId past) {
    Nodes operands = use_all(source_.operands(store));
    operands.push_back(past);
    b_.make(Op::stream, operands);
  }

  void find_streams(NodeId loop) {
    const RegionId body = source_.region(loop);
    const auto cursors = ir::cursors_of(source_, loop);
    for (NodeId node : source_.region_body(body)) {
      if (source_.op(node) != Op::store) continue;
      const NodeId view = source_.operand(node, 0);
      const bool at_cursor = cursors && std::ranges::any_of(*cursors, [&](const ir::Cursor& cursor) {
                               return ir::stores_at(source_, node, cursor);
                             });
      if (at_cursor || source_.encloses(body, view)) continue;
      if (!is_one_buffer(view) || reads_memory_of(body, view)) continue;
      const NodeId large = loops_.less_equal(b_.index(least_), written_bytes(node, std::nullopt));
      const NodeId long_rows = loops_.less_equal(b_.index(least_row_), written_bytes(node, loop));
      const NodeId past = loops_.both(large, long_rows);
      if (!b_.function().is_constant(past)) past_.emplace(node.index, past);
    }
  }

  /// Whether a view is of one buffer, whatever branches are taken, and not of one that each iteration of a
  /// loop makes: it is read there.
  bool is_one_buffer(NodeId view) const {
    const NodeId memory = memory_of(source_, view);
    if (source_.op(memory) != Op::alloc) return source_.op(memory) == Op::param;
    for (NodeId at = source_[source_[memory].parent].owner; at; at = source_[source_[at].parent].owner)
      if (ir::is_counted_loop(source_.op(at))) return false;
    return true;
  }
  /// Whether a region loads from the memory of a view, or from some that is not known.
  bool reads_memory_of(RegionId region, NodeId view) const {
    const NodeId memory = memory_of(source_, view);
    return ir::any_within(source_, region, [&](NodeId node) {
      if (!ir::info(source_.op(node)).effects.any(ir::effect::Read)) return false;
      if (source_.operands(node).empty()) return true;
      const NodeId read = source_.operand(node, 0);
      return !source_.type(read).is_view() || memory_of(source_, read) == memory ||
             source_.encloses(region, memory_of(source_, read));
    });
  }

  /// The loop, up to the function's outermost, whose iteration's number an index is computed from.
  std::optional<NodeId> loop_of_index(NodeId index) const {
    const Op op = source_.op(index);
    if (op == Op::param) {
      const NodeId owner = source_[source_[index].parent].owner;
      if (owner && ir::is_counted_loop(source_.op(owner))) return owner;
    } else if (op == Op::add || op == Op::subtract) {
      for (size_t i = 0; i < 2; ++i)
        if (const auto loop = loop_of_index(source_.operand(index, i))) return loop;
    }
    return std::nullopt;
  }
  /// Whether an index is computed from the number of an iteration of a loop, among others.
  bool has_loop(NodeId index, int depth = kDeepest) const {
    const Op op = source_.op(index);
    if (op == Op::param) return loop_of_index(index).has_value();
    const bool is_sum = op == Op::add || op == Op::subtract || op == Op::multiply;
    return is_sum && depth > 0 && std::ranges::any_of(source_.operands(index), [&](NodeId operand) {
             return has_loop(operand, depth - 1);
           });
  }
  /// Whether an index is one of a strip of iterations, of which a loop around goes through all.
  bool is_in_strip(NodeId index, int depth = kDeepest) const {
    return source_.op(index) == Op::add && depth > 0 &&
           std::ranges::any_of(source_.operands(index), [&](NodeId operand) {
             return (source_.op(operand) == Op::multiply && has_loop(operand)) ||
                    is_in_strip(operand, depth - 1);
           });
  }
  /// The bytes that the loops around a store write through it, or one of them.
  NodeId written_bytes(NodeId store, std::optional<NodeId> by) {
    const auto operands = source_.operands(store);
    const NodeId view = use(operands[0]);
    const Type element = source_.type(operands.back());
    NodeId bytes = b_.index(static_cast<int64_t>(base::size_of(element.dtype())));
    for (size_t i = 0; i + 2 < operands.size(); ++i) {
      const auto loop = loop_of_index(operands[1 + i]);
      if (!loop || (by && *by != *loop)) continue;
      const NodeId extent = b_.length(view, static_cast<int>(i));
      const bool is_all = !by && is_in_strip(operands[1 + i]);
      bytes =
          loops_.multiply(bytes, is_all ? extent : loops_.minimum(extent, use(source_.operand(*loop, 0))));
    }
    return bytes;
  }

  LoopWriter loops_;
  int64_t least_;
  int64_t least_row_;
  std::map<uint32_t, NodeId> past_;  ///< by store: whether it goes past the caches
};

}  // namespace

std::unique_ptr<ir::Function> streams(const ir::Function& function, const base::Machine& machine) {
  if (machine.streamed_bytes == 0) return nullptr;
  const bool any =
      ir::any_within(function, function.body(), [&](NodeId node) { return may_stream(function, node); });
  return any ? StreamWriter(function, machine).run() : nullptr;
}

}  // namespace ingot::transform
