#include "transform/loops/lanes.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/reduction.h"
#include "ir/annotation.h"
#include "ir/builder.h"
#include "ir/evaluate.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/distances.h"

namespace ingot::transform {

namespace {

using ir::Function;
using ir::NodeId;
using ir::Op;
using ir::RegionId;

/// So many floats of an iteration for each that is carried leave registers for what they are computed from.
constexpr size_t kFewValues = 5;
/// Registers over which a short sum does not wait for its last addition.
constexpr size_t kRegistersOfSum = 4;
/// ... and those of reductions whose iterations compute many values.
constexpr size_t kRegistersOfValues = 2;
/// More iterations are all the same.
constexpr int64_t kMost = kMostLanes;
/// ... and those of loops whose lanes end after different iterations.
constexpr size_t kRegistersOfWhile = 2;

/// ... and of loops with elementary functions, whose instructions wait for each other: the CPU runs those of
/// a few iterations at once, which are not enough.
constexpr size_t kRegistersOfLong = 2;
/// Where iterations compute more values than this, those of two registers are kept in memory.
constexpr size_t kMostValues = 128;

class LaneCounter {
 public:
  LaneCounter(const Function& function, const base::Machine& machine) : f_(function), machine_(machine) {}

  std::unique_ptr<Function> run() {
    std::vector<NodeId> loops;
    for (uint32_t i = 0; i < f_.node_count(); ++i)
      if (is_undecided(NodeId(i))) loops.emplace_back(i);
    if (loops.empty()) return nullptr;
    ir::Annotation annotation(f_);
    for (const NodeId loop : loops) decide(loop, annotation);
    return annotation.finish();
  }

 private:
  bool is_undecided(NodeId id) const {
    if (f_.op(id) != Op::for_ && f_.op(id) != Op::parallel_for) return false;
    return ir::width_of(f_, id) == 0 && ir::has_lanes(ir::schedule_of(f_, id));
  }
  void decide(NodeId loop, ir::Annotation& annotation) const {
    if (f_.op(loop) == Op::parallel_for && f_.result_count(loop) > 0 && machine_.has_lanes()) {
      if (machine_.compact) return annotation.set(loop, 1, static_cast<int64_t>(compact_lanes(loop)));
      // The lanes of reductions are those of their order, where it matters.
      if (const uint64_t few = lanes_for_values(loop)) annotation.set(loop, 1, static_cast<int64_t>(few));
      return;
    }
    const uint64_t count = machine_.has_lanes() ? lane_count(loop) : 1;
    const bool has_cursors = f_.result_count(loop) > 0;
    if (count > 1 && std::has_single_bit(count) && (!has_cursors || machine_.compresses)) {
      annotation.set(loop, 1, static_cast<int64_t>(count));
      return;
    }
    const bool threads = ir::has_threads(ir::schedule_of(f_, loop));
    annotation.set(loop, 0, static_cast<int64_t>(ir::cpu_schedule(threads, false)));
  }

  /// Those of a register. Fewer than sums have, which then are in memory.
  uint64_t compact_lanes(NodeId loop) const {
    constexpr auto kMostCompact = static_cast<uint64_t>(base::kReductionLanes / 2);
    return std::min(lanes_of_register(f_.region(loop)), kMostCompact);
  }

  bool is_float(NodeId id) const { return f_.type(id).is_scalar() && base::is_float(f_.type(id).dtype()); }

  /// The lanes of reductions that leave registers for what iterations compute: of those that take any order,
  /// and of long chains; 0: it does not matter.
  uint64_t lanes_for_values(NodeId loop) const {
    const RegionId body = f_.region(loop);
    const auto few = [&](size_t registers) {
      const uint64_t count = registers * lanes_of_register(body);
      return count < static_cast<uint64_t>(base::kReductionLanes) ? count : 0;
    };
    if (waits(body)) return few(kRegistersOfLong);
    const auto combiners = f_.ints(loop);
    for (size_t i = 0; i < combiners.size(); ++i)
      if (ir::is_ordered(static_cast<Op>(combiners[i]), f_.type(f_.operand(loop, i + 1)).dtype())) return 0;
    const auto values = static_cast<size_t>(std::ranges::count_if(
        f_.region_body(body), [&](NodeId node) { return ir::info(f_.op(node)).elementwise; }));
    if (ir::has_loop(f_, body) || values <= machine_.registers / 2) return 0;
    return few(kRegistersOfValues);
  }

  uint64_t lane_count(NodeId loop) const {
    if (machine_.compact) return compact_lanes(loop);
    const RegionId body = f_.region(loop);
    const uint64_t one = lanes_of_register(body);
    const uint64_t registers = has_while(body) ? kRegistersOfWhile
                               : waits(body) ? std::max<uint64_t>(kRegistersOfLong, registers_for_sums(body))
                                             : registers_for_sums(body);
    return std::min({registers * one, most_useful(loop, one), static_cast<uint64_t>(kMostLanes)});
  }

  /// Of the widest numbers of a region.
  uint64_t lanes_of_register(RegionId body) const {
    uint64_t widest = 1;
    std::vector<bool> is_data(f_.node_count());
    const auto look_at = [&](NodeId id) {
      const ir::Effects effects = ir::info(f_.op(id)).effects;
      const auto operands = f_.operands(id);
      is_data[id.index] =
          effects.any(ir::effect::Read) || is_float(id) ||
          std::ranges::any_of(operands, [&](NodeId operand) { return is_data[operand.index]; });
      const NodeId stored = effects.any(ir::effect::Write) ? operands.back() : id;
      if (!is_data[id.index] || !f_.type(stored).is_scalar()) return;
      const base::DType component = base::component_of(f_.type(stored).dtype());
      widest = std::max(widest, base::size_of(base::lane_dtype(component)));
    };
    std::ranges::for_each(f_.region_parameters(body), look_at);
    ir::walk(f_, body, [&](NodeId id) {
      look_at(id);
      for (size_t i = 0; i < f_[id].region_count; ++i)
        std::ranges::for_each(f_.region_parameters(f_.region(id, i)), look_at);
    });
    return static_cast<uint64_t>(machine_.vector_bits) / 8 / widest;
  }

  /// Lanes that a loop of a known few iterations fills: `one` register's, or more.
  uint64_t most_useful(NodeId loop, uint64_t one) const {
    const NodeId count = f_.operand(loop, 0);
    const auto most = [&](NodeId id) {
      return f_.is_constant(id)
                 ? static_cast<uint64_t>(std::clamp(f_.constant(id).as<int64_t>(), int64_t{0}, kMost))
                 : static_cast<uint64_t>(kMost);
    };
    uint64_t useful = most(count);
    if (f_.op(count) == Op::minimum)
      useful = std::min(most(f_.operand(count, 0)), most(f_.operand(count, 1)));
    return std::max(std::bit_ceil(useful), one);
  }

  /// Whether there is a loop that goes on until its lanes end it.
  bool has_while(RegionId region) const {
    return std::ranges::any_of(f_.region_body(region), [&](NodeId node) {
      if (f_.op(node) == Op::while_) return true;
      if (f_.op(node) == Op::for_ && ir::effects_of(f_, node).any(ir::effect::Exit)) return true;
      for (size_t i = 0; i < f_[node].region_count; ++i)
        if (has_while(f_.region(node, i))) return true;
      return false;
    });
  }

  /// Whether iterations are long chains of instructions, of few values.
  bool waits(RegionId body) const {
    size_t values = 0;
    bool has_long = false;
    ir::walk(f_, body, [&](NodeId node) {
      if (ir::info(f_.op(node)).elementwise) ++values;
      has_long = has_long || ir::is_long(f_.op(node));
    });
    return has_long && values <= kMostValues;
  }

  /// Lanes over which a short sum in a region does not wait for its last addition, and uses whole lines of
  /// memory: some registers, as long as what the loops carry takes no more than half of them.
  uint64_t registers_for_sums(RegionId region) const {
    uint64_t most = 1;
    for (NodeId node : f_.region_body(region)) {
      for (size_t i = 0; i < f_[node].region_count; ++i)
        most = std::max(most, registers_for_sums(f_.region(node, i)));
      if (f_.op(node) != Op::for_ || f_.result_count(node) == 0) continue;
      const auto body = f_.region_body(f_.region(node));
      const bool is_short = std::ranges::all_of(body, [&](NodeId inner) {
        return f_[inner].region_count == 0 && !(is_float(inner) && ir::is_long(f_.op(inner)));
      });
      const auto values =
          static_cast<size_t>(std::ranges::count_if(body, [&](NodeId inner) { return is_float(inner); }));
      const size_t carried = f_.result_count(node);
      if (!is_short || values > kFewValues * carried) continue;
      const size_t room = std::bit_floor(std::max<size_t>(machine_.registers / 2 / carried, 1));
      most = std::max<uint64_t>(most, std::min(room, kRegistersOfSum));
    }
    return most;
  }

  const Function& f_;
  const base::Machine& machine_;
};

}  // namespace

std::unique_ptr<ir::Function> lanes(const ir::Function& function, const base::Machine& machine) {
  return LaneCounter(function, machine).run();
}

}  // namespace ingot::transform
