#include "transform/kernels/kernel_plan.h"

#include <algorithm>
#include <map>

#include "base/reduction.h"
#include "ir/builder.h"
#include "ir/cursor.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/analyses/dependence.h"
#include "transform/analyses/disjoint.h"
#include "transform/analyses/from_outside.h"
#include "transform/analyses/recurrence.h"
#include "transform/analyses/thread_judge.h"
#include "transform/writers/block_tree.h"

namespace ingot::transform {

using ir::NodeId;
using ir::Op;
using ir::RegionId;
using ir::Type;

namespace {

/// Axes that arrays have at most.
constexpr size_t kAllLevels = 16;
/// Loops of so few iterations, known while compiling, that combine what their iterations carry, are one
/// thread's.
constexpr int64_t kFewCombined = 64;
/// Loops of so few iterations, known while compiling, are not shared by threads.
constexpr int64_t kFewAlong = 16;

bool is_memory_op(Op op) { return op == Op::load || op == Op::store || op == Op::stream || op == Op::copy; }

}  // namespace

KernelPlan::KernelPlan(const ir::Function& function, const base::Machine& machine)
    : f_(function),
      machine_(machine),
      parts_(function.node_count(), Part::Host),
      escapes_(function.node_count(), false),
      host_level_(function.node_count(), false),
      task_of_(function.node_count(), kNone),
      before_(function.node_count(), kNone),
      needed_(function.node_count(), false),
      deferred_(function.node_count(), false) {
  find_escapes();
  plan(f_.body());
  find_results();
  find_needed();
  find_deferred();
}

const KernelPlan::Task* KernelPlan::task_before(NodeId node) const {
  const uint32_t task = before_[node.index];
  return task == kNone ? nullptr : &tasks_[task];
}

void KernelPlan::find_escapes() {
  std::vector<NodeId> allocation(f_.node_count());
  ir::walk(f_, f_.body(), [&](NodeId node) {
    if (f_.op(node) == Op::alloc) allocation[node.index] = node;
    const bool is_pure = f_[node].region_count == 0 && ir::info(f_.op(node)).effects.pure() &&
                         !ir::info(f_.op(node)).terminator;
    const bool is_window = f_.type(node).is_view() || f_.type(node).is_buffer();
    for (const NodeId operand : f_.operands(node)) {
      const NodeId from = allocation[operand.index];
      if (!from) continue;
      if (is_pure && is_window) allocation[node.index] = from;
      else if (!is_pure && !is_memory_op(f_.op(node))) escapes_[from.index] = true;
    }
  });
}

bool KernelPlan::is_loop(NodeId node) const { return ir::is_counted_loop(f_.op(node)); }

bool KernelPlan::is_parallel(NodeId loop) const {
  return is_loop(loop) && (only_checks(f_, loop) || (can_share(f_, loop) && written_layouts(f_, loop).known));
}

/// The accumulations, and stores, that are all that keeps a loop's iterations from running at once.
std::vector<Accumulation> KernelPlan::meeting_in(NodeId loop) const {
  if (f_.op(loop) != Op::for_ || f_.result_count(loop) > 0 || ir::is_careful(f_, loop)) return {};
  const ir::Effects bad = ir::effect::Raise | ir::effect::Exit | ir::effect::Host | ir::effect::Random;
  if (ir::effects_of(f_, loop).any(bad)) return {};
  std::vector<Accumulation> meeting;
  if (find_race(f_, loop, meeting, Stores::Shared)) return {};
  if (!written_layouts(f_, loop).known) return {};
  return meeting;
}

NodeId KernelPlan::row_of(NodeId nest, NodeId store) const {
  const std::vector<NodeId> levels = levels_of(nest);
  NodeId owner = f_[f_[store].parent].owner;
  while (f_.op(owner) == Op::if_) owner = f_[f_[owner].parent].owner;
  return std::ranges::find(levels, owner) == levels.end() ? owner : NodeId();
}

/// Whether each iteration of a nest adds at most once by each of its stores whose sums have an order, or by
/// one store to elements of one row, each once.
bool KernelPlan::is_scatter(NodeId nest, const std::vector<Accumulation>& meeting) const {
  const NodeId count = f_.operand(nest, 0);
  if (f_.is_constant(count) && f_.constant(count).as<int64_t>() < kFewCombined) return false;
  const RegionId iteration = f_.region(levels_of(nest).back());
  return std::ranges::all_of(meeting, [&](const Accumulation& own) {
    if (own.exact) return true;
    const NodeId row = row_of(nest, own.store);
    if (row && (!is_row(nest, row, own) || std::ranges::count(meeting, own.view, &Accumulation::view) > 1))
      return false;
    RegionId region = row ? f_[row].parent : f_[own.store].parent;
    while (region != iteration) {
      const NodeId owner = f_[region].owner;
      if (!owner || f_.op(owner) != Op::if_) return false;
      region = f_[owner].parent;
    }
    return true;
  });
}

/// Whether the iterations of a loop each add to another element of the last axis, all else being the same,
/// and none of them leaves its element out.
bool KernelPlan::is_row(NodeId nest, NodeId loop, const Accumulation& sum) const {
  if (f_.op(loop) != Op::for_ || f_.result_count(loop) > 0 || f_.encloses(nest, f_.operand(loop, 0)))
    return false;
  if (f_[sum.store].parent != f_.region(loop)) return false;
  const auto operands = f_.operands(sum.store);
  const auto indices = operands.subspan(1, operands.size() - 2);
  if (indices.size() < 2 || indices.back() != f_.region_parameters(f_.region(loop))[0]) return false;
  return std::ranges::all_of(indices.first(indices.size() - 1), FromOutside(f_, loop));
}

const Accumulation* KernelPlan::accumulation_of(NodeId store) const {
  const auto found = std::ranges::find(accumulations_, store, &Accumulation::store);
  return found == accumulations_.end() ? nullptr : &*found;
}

/// Whether a thread of a kernel can do all that is in a node: calls, routines and memory of a size that is
/// not known, or that is much, are the host's. `other_memory` is not the thread's.
bool KernelPlan::fits_in_kernel(NodeId node, std::span<const NodeId> other_memory) const {
  int64_t left = machine_.stack_bytes;
  return ir::walk(f_, node, [&](NodeId at) {
    const Op op = f_.op(at);
    if (op == Op::call || op == Op::library || op == Op::launch || op == Op::return_ ||
        ir::host_only(f_, at) || op == Op::kept)
      return ir::Walk::Stop;
    if (op != Op::alloc || std::ranges::find(other_memory, at) != other_memory.end()) return ir::Walk::Into;
    const NodeId bytes = f_.operand(at, 0);
    if (!f_.is_constant(bytes) || escapes_[at.index]) return ir::Walk::Stop;
    left -= f_.constant(bytes).as<int64_t>();
    return left >= 0 ? ir::Walk::Into : ir::Walk::Stop;
  });
}

/// Whether threads can do the iterations of a nest as rows that have memory, along each of which they go by
/// loops that hold no others.
bool KernelPlan::fits_as_rows(NodeId nest) const {
  const NodeId count = f_.operand(nest, 0);
  const bool is_short = f_.is_constant(count) && f_.constant(count).as<int64_t>() < kFewToShare;
  if (f_.result_count(nest) > 0 || (is_short && levels_of(nest).size() == 1)) return false;
  const std::vector<NodeId> memory = memory_of_rows(nest);
  if (memory.empty() || !fits_in_kernel(nest, memory) || rows_of(nest) == Rows::None) return false;
  return std::ranges::none_of(f_.region_body(f_[memory[0]].parent), [&](NodeId node) {
    return is_loop(node) && ir::has_loop(f_, f_.region(node));
  });
}

bool KernelPlan::is_memory_of_row(NodeId nest, NodeId alloc) const {
  if (escapes_[alloc.index] || !FromOutside(f_, nest)(f_.operand(alloc, 0))) return false;
  const RegionId row = f_[alloc].parent;
  return ir::walk(f_, row, [&](NodeId node) {
    const bool uses = std::ranges::find(f_.operands(node), alloc) != f_.operands(node).end();
    const bool is_known = f_.op(node) == Op::view && f_[node].parent == row;
    return !uses || is_known ? ir::Walk::Into : ir::Walk::Stop;
  });
}

std::vector<NodeId> KernelPlan::memory_of_rows(NodeId nest) const {
  std::vector<NodeId> memory;
  for (const NodeId node : f_.region_body(f_.region(levels_of(nest).back())))
    if (f_.op(node) == Op::alloc && is_memory_of_row(nest, node)) memory.push_back(node);
  return memory;
}

/// Whether the iterations of a loop combine what they carry, and raise nothing.
bool KernelPlan::is_running(NodeId loop) const {
  return f_.op(loop) == Op::for_ && f_.result_count(loop) > 0 && !ir::is_careful(f_, loop) &&
         !ir::effects_of(f_, loop).any(ir::effect::Raise) && combines(f_, loop) &&
         written_layouts(f_, loop).known;
}

bool KernelPlan::is_scan(NodeId loop) const {
  if (!fits_in_kernel(loop) || !is_running(loop) || !fits_in_block(loop, 2)) return false;
  const NodeId count = f_.operand(loop, 0);
  return !f_.is_constant(count) || f_.constant(count).as<int64_t>() >= kFewCombined;
}

/// Whether shared memory holds so many elements for each thread of a block and each value that a loop gives.
bool KernelPlan::fits_in_block(NodeId loop, int64_t indices) const {
  int64_t bytes = 0;
  for (const NodeId result : f_.results_of(loop)) {
    if (!f_.type(result).is_scalar()) return false;
    bytes += static_cast<int64_t>(base::size_of(base::lane_dtype(f_.type(result).dtype())));
  }
  return indices * bytes * machine_.block_threads <= machine_.shared_bytes;
}

/// Whether shared memory holds, for each value that loops give, an element for each thread of a block and the
/// levels of a tree; the loops run one after the other and share the elements of a dtype.
bool KernelPlan::fit_in_block(std::span<const NodeId> loops) const {
  std::map<base::DType, int64_t> most;
  for (const NodeId loop : loops) {
    std::map<base::DType, int64_t> own;
    for (const NodeId result : f_.results_of(loop)) {
      const base::DType lane = base::lane_dtype(f_.type(result).dtype());
      most[lane] = std::max(most[lane], ++own[lane]);
    }
  }
  int64_t bytes = 0;
  for (const auto& [dtype, count] : most) bytes += count * static_cast<int64_t>(base::size_of(dtype));
  return bytes * (machine_.block_threads + BlockTree::kMostLevels) <= machine_.shared_bytes;
}

/// Whether the values that a node gives, and what it carries, are numbers.
bool KernelPlan::has_only_numbers(NodeId node) const {
  return std::ranges::all_of(f_.results_of(node), [&](NodeId result) { return f_.type(result).is_scalar(); });
}

/// Whether something in a node has to be the host's, or is a launch of its own.
bool KernelPlan::needs_host_inside(NodeId node) const {
  if (!fits_in_kernel(node) || !has_only_numbers(node)) return true;
  if (ir::effects_of(f_, node).any(ir::effect::Exit)) return true;
  const bool is_serial =
      ir::walk(f_, node, [&](NodeId at) { return is_parallel(at) ? ir::Walk::Stop : ir::Walk::Into; });
  return !is_serial || has_launch_inside(node);
}

/// Whether a node contains, outside of loops in it, a launch whose iterations have an order.
bool KernelPlan::has_launch_inside(NodeId node) const {
  if (ir::is_loop(f_.op(node))) return false;
  for (size_t i = 0; i < f_[node].region_count; ++i)
    for (const NodeId inner : f_.region_body(f_.region(node, i)))
      if (is_scan(inner) || meeting_part(inner) || has_launch_inside(inner)) return true;
  return false;
}

/// The part for a nest whose iterations conflict in sums or stores alone; none of others.
std::optional<KernelPlan::Part> KernelPlan::meeting_part(NodeId node) const {
  if (!is_loop(node) || !fits_in_kernel(node)) return std::nullopt;
  const std::vector<Accumulation> meeting = meeting_in(node);
  if (meeting.empty()) return std::nullopt;
  if (std::ranges::all_of(meeting, &Accumulation::exact)) return Part::Nest;
  return is_scatter(node, meeting) ? std::optional(Part::Scatter) : std::nullopt;
}

KernelPlan::Part KernelPlan::classify(NodeId node) const {
  if (f_.op(node) == Op::launch) return Part::Launch;
  if (f_[node].region_count == 0) return is_memory_op(f_.op(node)) ? Part::Task : Part::Host;
  if (!ir::effects_of(f_, node).any(ir::effect::Read | ir::effect::Write)) return Part::Host;
  if (is_parallel(node) && has_only_numbers(node) && (fits_in_kernel(node) || fits_as_rows(node))) {
    if (f_.result_count(node) > 0) {
      // What raises is done twice.
      const ir::Effects effects = ir::effects_of(f_, node);
      const bool is_once = effects.any(ir::effect::Raise) && effects.any(ir::effect::Write);
      return fit_in_block({{node}}) && !is_once ? Part::Reduction : Part::Task;
    }
    const NodeId count = f_.operand(node, 0);
    const bool is_short = f_.is_constant(count) && f_.constant(count).as<int64_t>() < kFewToShare;
    if (!is_short) return Part::Nest;
    const bool has_inner = ir::any_within(f_, f_.region(node), [&](NodeId at) { return is_parallel(at); });
    if (!has_inner) return Part::Task;
    return levels_of(node).size() > 1 || has_rows_of_its_own(node) ? Part::Nest : Part::Host;
  }
  if (is_scan(node)) return Part::Scan;
  if (const auto part = meeting_part(node)) return *part;
  return needs_host_inside(node) ? Part::Host : Part::Task;
}

/// Whether the iterations of a loop inside a nest conflict only where those of the nest do.
bool KernelPlan::meet_alike(NodeId nest, NodeId inner) const {
  if (is_parallel(nest)) return false;
  const std::vector<Accumulation> around = meeting_in(nest);
  const std::vector<Accumulation> inside = meeting_in(inner);
  return !inside.empty() && std::ranges::all_of(inside, [&](const Accumulation& own) {
    return std::ranges::find(around, own.store, &Accumulation::store) != around.end();
  });
}

/// Whether the iterations of a loop inside a nest over `prange` may run at once though they may raise: what
/// is written is then unspecified, and the exception of the lowest iteration is the one that is seen.
bool KernelPlan::raises_apart(NodeId nest, NodeId inner) const {
  if (!is_over_prange(f_, nest) || f_.op(inner) != Op::for_ || ir::is_careful(f_, inner)) return false;
  const ir::Effects effects = ir::effects_of(f_, inner);
  const ir::Effects bad = ir::effect::Exit | ir::effect::Host | ir::effect::Random | ir::effect::Sync;
  return effects.any(ir::effect::Raise) && !effects.any(bad) && is_parallel(nest) && !find_race(f_, inner) &&
         written_layouts(f_, inner).known;
}

/// Whether what is loaded may be changed by what is in a node.
bool KernelPlan::is_changed(std::span<const NodeId> loads, NodeId inside) const {
  return std::ranges::any_of(loads, [&](NodeId load) { return may_write(f_, inside, f_.operand(load, 0)); });
}

std::vector<NodeId> KernelPlan::levels_of(NodeId nest, size_t most) const {
  std::vector<NodeId> levels{nest};
  while (levels.size() < most) {
    NodeId inner;
    std::vector<NodeId> loads;
    for (const NodeId node : f_.region_body(f_.region(levels.back()))) {
      if (f_.op(node) == Op::yield || f_.op(node) == Op::result) continue;
      if (f_[node].region_count == 0 && ir::info(f_.op(node)).effects.pure()) continue;
      if (f_.op(node) == Op::load && !inner) {
        loads.push_back(node);
        continue;
      }
      if (inner || !is_loop(node) || f_.result_count(node) > 0) return levels;
      const bool is_level =
          is_parallel(node) || meet_alike(levels.front(), node) || raises_apart(levels.front(), node);
      if (!is_level) return levels;
      inner = node;
    }
    if (!inner || f_.encloses(nest, f_.operand(inner, 0))) return levels;
    // Each thread loads anew what an iteration of the outer loop loads once.
    if (is_changed(loads, inner)) return levels;
    levels.push_back(inner);
  }
  return levels;
}

std::optional<Tiling> KernelPlan::tiling_of(NodeId nest) const {
  std::optional<Tiling> tiling = Tiling::find(f_, levels_of(nest, kAllLevels));
  return tiling && is_parallel(nest) && fits_in_kernel(nest) ? std::move(tiling) : std::nullopt;
}

std::optional<Transposition> KernelPlan::transposition_of(NodeId nest) const {
  // A thread that raises leaves the others alone.
  if (machine_.block_threads < KernelWriter::kWarp || !is_parallel(nest) || !fits_in_kernel(nest) ||
      ir::effects_of(f_, nest).any(ir::effect::Raise))
    return std::nullopt;
  return Transposition::find(f_, levels_of(nest, kAllLevels), machine_.shared_bytes);
}

KernelPlan::Rows KernelPlan::rows_of(NodeId nest) const {
  // A thread that raises leaves the others alone.
  if (ir::effects_of(f_, nest).any(ir::effect::Raise)) return Rows::None;
  Rows rows = Rows::None;
  bool has_shared = false;
  std::vector<NodeId> reductions;
  for (const NodeId node : f_.region_body(f_.region(levels_of(nest).back()))) {
    const Op op = f_.op(node);
    if (op == Op::load || op == Op::store || op == Op::yield || op == Op::result) continue;
    if (f_[node].region_count == 0 && ir::info(op).effects.pure()) continue;
    if (op == Op::alloc && is_memory_of_row(nest, node)) continue;
    if (!is_loop(node) || f_.encloses(nest, f_.operand(node, 0))) return Rows::None;
    const bool is_known = is_parallel(node);
    has_shared = has_shared || is_known;
    if (is_known && f_.result_count(node) == 0) continue;
    const bool is_scanned = !is_known && machine_.warp_threads > 0 && is_running(node);
    const Rows own = is_known ? Rows::Reduced : is_scanned ? Rows::Scanned : Rows::None;
    if (own == Rows::None || (rows != Rows::None && rows != own)) return Rows::None;
    if (own == Rows::Reduced) reductions.push_back(node);
    rows = own;
  }
  if (!fit_in_block(reductions)) return Rows::None;
  return rows == Rows::None && has_shared ? Rows::Reduced : rows;
}

bool KernelPlan::is_along(NodeId loop) const {
  const NodeId count = f_.operand(loop, 0);
  const bool is_short = f_.is_constant(count) && f_.constant(count).as<int64_t>() <= kFewAlong;
  return !is_short && f_.op(loop) == Op::for_ && !ir::is_careful(f_, loop) && is_parallel(loop) &&
         !ir::effects_of(f_, loop).any(ir::effect::Raise);
}

/// What a region comes to after loads, arithmetic and checks.
KernelPlan::Tail KernelPlan::tail_of(RegionId region) const {
  NodeId last;
  std::vector<NodeId> loads;
  for (const NodeId node : f_.region_body(region)) {
    const Op op = f_.op(node);
    if (op == Op::result || op == Op::yield) continue;
    if (f_[node].region_count > 0) {
      const bool is_known = (op == Op::if_ || op == Op::for_) && f_.result_count(node) == 0 && !last;
      if (!is_known) return Tail::Other;
      last = node;
    } else if (op == Op::load || op == Op::check) {
      if (last) return Tail::Other;
      if (op == Op::load) loads.push_back(node);
    } else if (!ir::info(op).effects.pure() || ir::info(op).terminator) {
      return Tail::Other;
    }
  }
  if (!last) return Tail::Alone;
  if (is_changed(loads, last)) return Tail::Other;
  if (f_.op(last) == Op::for_) return is_along(last) ? Tail::Along : Tail::Alone;
  const Tail first = tail_of(f_.region(last, 0));
  const Tail second = tail_of(f_.region(last, 1));
  return first == Tail::Other || second == Tail::Other ? Tail::Other : std::max(first, second);
}

bool KernelPlan::has_rows_of_its_own(NodeId nest) const {
  return is_parallel(nest) && tail_of(f_.region(levels_of(nest).back())) == Tail::Along;
}

bool KernelPlan::uses_task(NodeId node, uint32_t task) const {
  if (task == kNone) return false;
  return std::ranges::any_of(f_.operands(node),
                             [&](NodeId operand) { return task_of_[operand.index] == task; });
}

/// Whether the order of a node and of tasks before it does not matter.
bool KernelPlan::goes_past(NodeId node) const {
  const ir::Effects effects = ir::info(f_.op(node)).effects;
  return f_[node].region_count == 0 && !ir::info(f_.op(node)).terminator &&
         (effects.pure() || f_.op(node) == Op::alloc);
}

void KernelPlan::add_to_task(NodeId node) {
  if (open_ == kNone) {
    open_ = static_cast<uint32_t>(tasks_.size());
    tasks_.emplace_back();
  }
  tasks_[open_].nodes.push_back(node);
  ir::walk(f_, node, [&](NodeId at) { task_of_[at.index] = open_; });
  for (const NodeId result : f_.results_of(node)) task_of_[result.index] = open_;
}

void KernelPlan::plan(RegionId region) {
  open_ = kNone;
  for (const NodeId node : f_.region_body(region)) {
    host_level_[node.index] = true;
    if (f_.op(node) == Op::result) continue;
    const Part part = classify(node);
    parts_[node.index] = part;
    any_ = any_ || part != Part::Host;
    if ((part == Part::Nest && !is_parallel(node)) || part == Part::Scatter)
      for (const Accumulation& accumulation : meeting_in(node)) accumulations_.push_back(accumulation);
    if (part == Part::Task) {
      add_to_task(node);
      continue;
    }
    if (goes_past(node)) {
      if (!uses_task(node, open_)) continue;
      if (is_pure_number(node)) {
        parts_[node.index] = Part::Task;
        add_to_task(node);
        continue;
      }
    }
    if (open_ != kNone) before_[node.index] = open_;
    open_ = kNone;
    if (part != Part::Host) continue;
    for (size_t i = 0; i < f_[node].region_count; ++i) {
      for (const NodeId parameter : f_.region_parameters(f_.region(node, i)))
        host_level_[parameter.index] = true;
      plan(f_.region(node, i));
    }
    open_ = kNone;
  }
}

bool KernelPlan::is_pure_number(NodeId node) const {
  return f_[node].region_count == 0 && ir::info(f_.op(node)).effects.pure() && f_.type(node).is_scalar() &&
         f_.op(node) != Op::param && f_.op(node) != Op::result && !ir::info(f_.op(node)).terminator;
}

bool KernelPlan::is_in_cell(NodeId value) const {
  if (task_of_[value.index] != kNone) return host_level_[value.index];
  const NodeId owner = f_.op(value) == Op::result ? f_.operand(value, 0) : value;
  const Part part = parts_[owner.index];
  return host_level_[owner.index] && (part == Part::Reduction || part == Part::Scan);
}

void KernelPlan::find_results() {
  std::vector<bool> is_result(f_.node_count());
  ir::walk(f_, f_.body(), [&](NodeId node) {
    for (const NodeId operand : f_.operands(node)) {
      const uint32_t task = task_of_[operand.index];
      if (task == kNone || task == task_of_[node.index] || is_result[operand.index]) continue;
      if (f_.op(node) == Op::result) continue;
      is_result[operand.index] = true;
      tasks_[task].results.push_back(operand);
    }
  });
}

/// A value that the host has to know, and what it is computed from.
void KernelPlan::need(NodeId value) {
  if (needed_[value.index]) return;
  needed_[value.index] = true;
  if (task_of_[value.index] != kNone) return;
  if (ir::info(f_.op(value)).effects.pure() && f_.op(value) != Op::param && f_.op(value) != Op::result)
    for (const NodeId operand : f_.operands(value)) need(operand);
}

void KernelPlan::find_needed() {
  ir::walk(f_, f_.body(), [&](NodeId node) {
    if (!host_level_[node.index] || task_of_[node.index] != kNone || f_.op(node) == Op::result)
      return ir::Walk::Past;
    if (is_shared(node))
      for (const NodeId view : written_layouts(f_, node).views)
        if (f_.op(view) == Op::view)
          for (const NodeId number : f_.operands(view).subspan(2)) need(number);
    if (parts_[node.index] == Part::Reduction || parts_[node.index] == Part::Scan) {
      need(f_.operand(node, 0));
      return ir::Walk::Past;
    }
    if (parts_[node.index] == Part::Scatter) {
      for (const NodeId level : levels_of(node)) need(f_.operand(level, 0));
      for (const Accumulation& sum : accumulations_)
        if (const NodeId row = f_.encloses(node, sum.store) ? row_of(node, sum.store) : NodeId())
          need(f_.operand(row, 0));
      return ir::Walk::Past;
    }
    if (parts_[node.index] == Part::Nest) {
      const std::vector<NodeId> levels = levels_of(node);
      for (const NodeId level : levels) need(f_.operand(level, 0));
      if (const auto tiling = tiling_of(node)) {
        for (const NodeId level : tiling->levels) need(f_.operand(level, 0));
        need(f_.operand(tiling->depth, 0));
      }
      if (const auto transposition = transposition_of(node))
        for (const NodeId level : transposition->levels) need(f_.operand(level, 0));
      for (const NodeId alloc : memory_of_rows(node)) need(f_.operand(alloc, 0));
      if (rows_of(node) != Rows::None)
        for (const NodeId inner : f_.region_body(f_.region(levels.back())))
          if (is_loop(inner)) need(f_.operand(inner, 0));
      return ir::Walk::Past;
    }
    if (parts_[node.index] == Part::Launch) {
      for (const NodeId operand : f_.operands(node)) need(operand);
      return ir::Walk::Past;
    }
    if (!is_pure_number(node))
      for (const NodeId operand : f_.operands(node)) need(operand);
    return ir::Walk::Into;
  });
  while (find_reads()) {
  }
}

/// Whether all that a node does is to load numbers, and to compute with them.
bool KernelPlan::only_reads(NodeId node) const {
  return ir::walk(f_, node, [&](NodeId at) {
    const Op op = f_.op(at);
    const bool is_known =
        op == Op::load || op == Op::if_ || op == Op::yield || op == Op::result || is_pure_number(at);
    return is_known ? ir::Walk::Into : ir::Walk::Stop;
  });
}

bool KernelPlan::is_in_loop(NodeId node) const {
  for (NodeId at = f_[f_[node].parent].owner; at; at = f_[f_[at].parent].owner)
    if (f_.op(at) == Op::for_) return true;
  return false;
}

/// Finds one more task whose numbers the host loads itself; the host then needs the operands of these loads.
bool KernelPlan::find_reads() {
  for (Task& task : tasks_) {
    if (task.is_read) continue;
    const bool only_loads = std::ranges::all_of(task.nodes, [&](NodeId node) { return only_reads(node); });
    const auto is_needed = [&](NodeId result) { return needed_[result.index]; };
    // In a loop the host keeps what it has read of small arrays.
    const bool is_repeated = is_in_loop(task.nodes.front()) && std::ranges::any_of(task.results, is_needed);
    if (!only_loads || !(is_repeated || std::ranges::all_of(task.results, is_needed))) continue;
    task.is_read = true;
    for (const NodeId result : task.results) need(result);
    for (const NodeId node : task.nodes)
      ir::walk(f_, node, [&](NodeId at) {
        for (const NodeId operand : f_.operands(at)) need(operand);
      });
    return true;
  }
  return false;
}

std::vector<NodeId> KernelPlan::reads_in(NodeId loop) const {
  std::vector<NodeId> reads;
  for (const Task& task : tasks_) {
    if (!task.is_read || !f_.encloses(f_.region(loop), task.nodes.front())) continue;
    for (const NodeId node : task.nodes)
      ir::walk(f_, node, [&](NodeId at) {
        if (f_.op(at) == Op::load) reads.push_back(at);
      });
  }
  return reads;
}

void KernelPlan::find_deferred() {
  ir::walk(f_, f_.body(), [&](NodeId node) {
    if (!host_level_[node.index]) return ir::Walk::Past;
    if (needed_[node.index]) return ir::Walk::Into;
    if (is_in_cell(node)) {
      deferred_[node.index] = true;
    } else if (is_pure_number(node)) {
      deferred_[node.index] =
          std::ranges::any_of(f_.operands(node), [&](NodeId operand) { return deferred_[operand.index]; });
    }
    return ir::Walk::Into;
  });
}

}  // namespace ingot::transform
