#include "transform/kernels/row_memory.h"

#include <algorithm>

namespace ingot::transform {

namespace {

/// The memory of a strip's rows, if it has more than one, at most; and what each part of it begins at a
/// multiple of.
constexpr int64_t kMostBytes = int64_t{1} << 29;
constexpr int64_t kAlignment = 16;

}  // namespace

RowMemory::RowMemory(LoopWriter& loops, const Function& source, Nodes allocs, const Nodes& bytes)
    : loops_(loops), b_(loops.builder()), source_(source), left_out_(source.node_count()) {
  for (size_t i = 0; i < allocs.size(); ++i) parts_.push_back({allocs[i], bytes[i], NodeId(), NodeId()});
}

/// A nest of one row, or of rows that are longer, has one row at once.
NodeId RowMemory::rows_at_once(NodeId rows, const std::vector<Part*>& parts) {
  NodeId all = b_.index(kAlignment);
  for (Part* const part : parts) {
    const NodeId bounded = loops_.minimum(loops_.maximum(part->bytes, b_.index(0)), b_.index(kMostBytes));
    const NodeId units = loops_.ceiling(bounded, b_.index(kAlignment));
    part->apart = loops_.multiply(units, b_.index(kAlignment));
    all = loops_.add(all, part->apart);
  }
  const NodeId fit = b_.make(Op::floor_divide, {b_.index(kMostBytes), all});
  return loops_.maximum(loops_.minimum(rows, fit), b_.index(1));
}

Nodes RowMemory::begin_row(NodeId number) {
  row_ = number;
  return loops_.unflatten(loops_.add(first_, number), lengths_);
}

void RowMemory::in_strips(const Nodes& lengths, const std::function<bool(NodeId)>& needed,
                          const std::function<void()>& launch) {
  lengths_ = lengths;
  const NodeId all = loops_.product(lengths);
  std::vector<Part*> parts;
  left_out_.assign(source_.node_count(), false);
  for (Part& part : parts_) {
    part.buffer = {};
    if (needed(part.alloc)) parts.push_back(&part);
    else leave_out(part.alloc);
  }
  const auto launch_from = [&](NodeId first, NodeId rows) {
    first_ = first;
    rows_ = rows;
    launch();
  };
  if (parts.empty()) return launch_from(b_.index(0), all);
  const ir::SpanId location = b_.span();
  const NodeId most = rows_at_once(all, parts);
  const NodeId strips = loops_.ceiling(all, most);
  loops_.nest({&strips, 1}, [&](std::span<const NodeId> strip) {
    const NodeId is_one = loops_.equal(most, b_.index(1));
    for (Part* const part : parts) {
      const ir::SpanId own = source_[part->alloc].span;
      if (own) b_.set_span(own);
      const NodeId bytes = loops_.select(is_one, part->bytes, loops_.multiply(most, part->apart));
      part->buffer = b_.make(Op::alloc, {bytes}, {static_cast<int64_t>(ir::Life::Call)}, Type::buffer());
    }
    b_.set_span(location);
    const NodeId first = loops_.multiply(strip[0], most);
    launch_from(first, loops_.minimum(loops_.subtract(all, first), most));
  });
}

/// What is computed from an allocation that is not needed is not, either.
void RowMemory::leave_out(NodeId alloc) {
  left_out_[alloc.index] = true;
  for (const NodeId node : source_.region_body(source_[alloc].parent)) {
    const bool is_pure = source_[node].region_count == 0 && ir::info(source_.op(node)).effects.pure() &&
                         !ir::info(source_.op(node)).terminator;
    const auto is_out = [&](NodeId operand) { return left_out_[operand.index]; };
    if (is_pure && std::ranges::any_of(source_.operands(node), is_out)) left_out_[node.index] = true;
  }
}

bool RowMemory::write(NodeId id, const Use& use, NodeId& made) const {
  if (left_out_[id.index]) return true;
  const auto is_alloc = [&](NodeId node) { return std::ranges::find(parts_, node, &Part::alloc); };
  if (is_alloc(id) != parts_.end()) return true;
  if (source_.op(id) != Op::view) return false;
  const auto operands = source_.operands(id);
  const auto part = is_alloc(operands[0]);
  if (part == parts_.end()) return false;
  Nodes parts{part->buffer, loops_.add(use(operands[1]), loops_.multiply(row_, part->apart))};
  for (const NodeId operand : operands.subspan(2)) parts.push_back(use(operand));
  made = b_.make(Op::view, parts, source_.attributes(id), source_.type(id));
  return true;
}

}  // namespace ingot::transform
