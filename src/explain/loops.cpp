#include "explain/loops.h"

#include <algorithm>
#include <map>

#include "base/reduction.h"
#include "ir/walk.h"

namespace ingot::explain {

namespace {

using ir::NodeId;
using ir::Op;

/// Whether an op is worth a line among those that a loop does.
bool does_work(Op op) {
  switch (op) {
    case Op::constant:
    case Op::result:
    case Op::length:
    case Op::stride: return false;
    default: return !ir::info(op).terminator || is_check(op);
  }
}

template <class T>
void add_new(std::vector<T>& all, const T& one) {
  if (std::ranges::find(all, one) == all.end()) all.push_back(one);
}

/// Puts the loops of one line together.
class LoopReader {
 public:
  LoopReader(std::string_view own, std::deque<Loop>& loops) : own_(own), loops_(loops) {}

  void read(const ir::Function& function) { read(function, function.body(), {}, nullptr, false); }

 private:
  bool is_own(const Line& line) const { return line && line->first.starts_with(own_); }
  Line line_of_loop(const ir::Function& function, NodeId node) const;
  Loop& at(const Line& line);
  /// `around`: the loops around the region, the innermost last. `checked`: what its checks are those of.
  void read(const ir::Function& function, ir::RegionId region, const std::vector<Loop*>& around,
            Loop* checked, bool is_shared);
  static void add(Loop& loop, const ir::Function& function, NodeId node, bool is_shared);

  std::string_view own_;
  std::deque<Loop>& loops_;
  std::map<std::pair<std::string, uint32_t>, Loop*> by_line_;
};

Line LoopReader::line_of_loop(const ir::Function& function, NodeId node) const {
  Line line = line_of(function, node);
  if (!is_own(line)) return line;
  ir::walk(function, node, [&](NodeId inner) {
    if (Line other = line_of(function, inner); other && !is_own(other)) line = std::move(other);
  });
  return line;
}

Loop& LoopReader::at(const Line& line) {
  Loop*& loop = by_line_[*line];
  if (loop == nullptr) loop = &loops_.emplace_back(Loop{line->first, line->second});
  return *loop;
}

void LoopReader::read(const ir::Function& function, ir::RegionId region, const std::vector<Loop*>& around,
                      Loop* checked, bool is_shared) {
  for (const NodeId node : function.region_body(region)) {
    const Op op = function.op(node);
    const Line own_line = line_of(function, node);
    std::vector<Loop*> inner = around;
    Loop* inner_checked = checked;
    if (const Line line = ir::is_loop(op) ? line_of_loop(function, node) : std::nullopt) {
      Loop& loop = at(line);
      add(loop, function, node, is_shared);
      for (Loop* outer : around) {
        if (outer == &loop) continue;
        add_new(outer->inside, &loop);
        add_new(loop.around, outer);
      }
      inner.push_back(&loop);
      inner_checked = line == own_line ? &loop : nullptr;
    } else if (!ir::is_loop(op) && does_work(op) && own_line) {
      for (Loop* outer : around)
        if (own_line->first == outer->file) outer->lines.insert(own_line->second);
    }
    if (is_check(op) && checked != nullptr)
      add_new(checked->checks,
              std::string(base::name_of(static_cast<base::ExceptionKind>(function.attribute(node, 0)))));
    for (size_t i = 0; i < function[node].region_count; ++i)
      read(function, function.region(node, i), inner, inner_checked, is_shared || op == Op::share);
  }
}

void LoopReader::add(Loop& loop, const ir::Function& function, NodeId node, bool is_shared) {
  const bool is_while = function.op(node) == Op::while_;
  const auto schedule =
      is_while ? ir::Schedule::Serial : static_cast<ir::Schedule>(function.attribute(node, 0));
  const bool has_lanes = ir::has_lanes(schedule);
  const int64_t count = has_lanes ? function.attribute(node, 1) : 0;
  bool has_loops = false;
  for (size_t i = 0; i < function[node].region_count; ++i)
    has_loops = has_loops || ir::has_loop(function, function.region(node, i));
  if (function.op(node) == Op::parallel_for && has_lanes)
    loop.lanes_of_reductions = std::max(loop.lanes_of_reductions, count != 0 ? count : base::kReductionLanes);
  else if (count > 1 || (!has_lanes && !has_loops))
    loop.lanes_of_plain = std::max({loop.lanes_of_plain, count, int64_t{1}});
  const bool shares = is_shared && ir::has_threads(schedule);
  loop.is_shared = loop.is_shared || shares;
  loop.is_inside_shared = loop.is_inside_shared || (is_shared && !shares);
}

}  // namespace

std::deque<Loop> loops_of(const ir::Module& module, std::string_view own) {
  std::deque<Loop> loops;
  LoopReader reader(own, loops);
  for (uint32_t i = 0; i < module.function_count(); ++i)
    if (const ir::Function* const function = module.function(ir::FunctionId(i))) reader.read(*function);
  return loops;
}

}  // namespace ingot::explain
