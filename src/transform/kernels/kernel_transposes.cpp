#include "transform/kernels/kernel_transposes.h"

#include <algorithm>

#include "base/dtype.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/analyses/from_outside.h"
#include "transform/kernels/kernel_together.h"

namespace ingot::transform {

namespace {

/// Rows and columns of a square; more of small elements, of which a warp's 32 are too few for memory.
constexpr int64_t kEdge = 32;
constexpr int64_t kEdgeOfSmall = 64;
constexpr int64_t kSmall = 2;
/// Fewer rows or columns are not worth a square.
constexpr int64_t kFewest = 16;
/// Shared memory of a block, at most.
constexpr int64_t kBlockBytes = 24 << 10;
/// Bytes of a bank of shared memory: the columns of a square are that much longer than what they hold.
constexpr int64_t kBank = 4;
/// Iterations that take longer, in additions, or have more nodes are not copied.
constexpr int kMostCost = 24;
constexpr size_t kMostNodes = 64;

int64_t bytes_of(const Function& f, NodeId load) {
  return static_cast<int64_t>(base::size_of(f.type(load).dtype()));
}
int64_t edge_of(const Function& f, std::span<const NodeId> loads) {
  const auto is_small = [&](NodeId load) { return bytes_of(f, load) <= kSmall; };
  return std::ranges::all_of(loads, is_small) ? kEdgeOfSmall : kEdge;
}
int64_t stride_of(const Function& f, NodeId load, int64_t edge) {
  return edge + std::max<int64_t>(kBank / bytes_of(f, load), 1);
}

class TranspositionFinder {
 public:
  TranspositionFinder(const Function& f, std::span<const NodeId> levels, int64_t shared_bytes)
      : f_(f),
        levels_(levels.begin(), levels.end()),
        most_bytes_(std::min(kBlockBytes, shared_bytes)),
        depends_(f.node_count()) {}

  std::optional<Transposition> find() {
    if (levels_.size() < 2 || !has_plain_iterations()) return std::nullopt;
    for (size_t i = 0; i < levels_.size(); ++i) depends_[parameter(i).index] = uint32_t{1} << i;
    ir::walk(f_, f_.region(levels_.front()), [&](NodeId node) {
      for (const NodeId operand : f_.operands(node)) depends_[node.index] |= depends_[operand.index];
    });
    const std::optional<size_t> columns = level_of_stores();
    if (!columns) return std::nullopt;
    Transposition found{levels_, {}, levels_[*columns], {}};
    for (const NodeId load : accesses(Op::load)) {
      const std::optional<size_t> rows = level_of(load);
      if (!rows || rows == columns || is_stored_to(load) || !has_plain_place(load)) continue;
      if ((depends_[load.index] >> *columns & 1) == 0) continue;  // all columns load the same
      if (!found.rows) found.rows = levels_[*rows];
      if (found.rows == levels_[*rows]) found.loads.push_back(load);
    }
    const auto fits = [&] {
      int64_t bytes = 0;
      const int64_t edge = edge_of(f_, found.loads);
      for (const NodeId load : found.loads) bytes += edge * stride_of(f_, load, edge) * bytes_of(f_, load);
      return bytes <= most_bytes_;
    };
    while (!found.loads.empty() && !fits()) found.loads.pop_back();
    return found.loads.empty() ? std::nullopt : std::optional(std::move(found));
  }

 private:
  NodeId parameter(size_t level) const { return f_.region_parameters(f_.region(levels_[level]))[0]; }
  bool is_outside(NodeId value) const { return !f_.encloses(levels_.front(), value); }

  bool has_plain_iterations() const {
    int cost = 0;
    size_t nodes = 0;
    for (size_t i = 0; i < levels_.size(); ++i) {
      for (const NodeId node : f_.region_body(f_.region(levels_[i]))) {
        const Op op = f_.op(node);
        if (op == Op::yield || op == Op::result) continue;
        if (i + 1 < levels_.size() && node == levels_[i + 1]) continue;
        if (++nodes > kMostNodes || f_[node].region_count > 0 || f_.result_count(node) > 1) return false;
        const bool is_access = op == Op::load || (op == Op::store && i + 1 == levels_.size());
        if (!is_access && !ir::info(op).effects.pure()) return false;
        if (ir::info(op).elementwise) cost += ir::cost_of(op, f_.type(f_.operand(node, 0)).dtype());
      }
    }
    return cost <= kMostCost;
  }
  Nodes accesses(Op op) const {
    Nodes found;
    for (const NodeId node : f_.region_body(f_.region(levels_.back())))
      if (f_.op(node) == op) found.push_back(node);
    return found;
  }
  /// The level along which an access goes on by one element; none: it does not, or that is not known.
  std::optional<size_t> level_of(NodeId access) const {
    const NodeId view = f_.operand(access, 0);
    const auto rank = static_cast<size_t>(f_.type(view).rank());
    if (!is_outside(view)) return std::nullopt;
    const auto indices = f_.operands(access).subspan(1, rank);
    for (size_t axis = 0; axis < rank; ++axis) {
      if (!is_dense(f_, view, axis)) continue;
      for (size_t i = 0; i < levels_.size(); ++i) {
        if (!goes_on(indices[axis], i)) continue;
        const auto depends = [&](NodeId index) { return (depends_[index.index] >> i & 1) != 0; };
        return std::ranges::count_if(indices, depends) == 1 ? std::optional(i) : std::nullopt;
      }
    }
    return std::nullopt;
  }
  /// Whether an index is that of a level, and something that all its iterations have in common.
  bool goes_on(NodeId index, size_t level) const {
    if (index == parameter(level)) return true;
    const uint32_t own = uint32_t{1} << level;
    if (depends_[index.index] != own || (f_.op(index) != Op::add && f_.op(index) != Op::subtract))
      return false;
    const NodeId a = f_.operand(index, 0);
    const NodeId b = f_.operand(index, 1);
    if (depends_[b.index] == 0) return goes_on(a, level);
    return f_.op(index) == Op::add && depends_[a.index] == 0 && goes_on(b, level);
  }
  std::optional<size_t> level_of_stores() const {
    std::optional<size_t> level;
    for (const NodeId store : accesses(Op::store)) {
      const std::optional<size_t> own = level_of(store);
      if (!own || (level && own != level)) return std::nullopt;
      level = own;
    }
    return level;
  }
  bool is_stored_to(NodeId load) const {
    const Root root = root_of(f_, f_.operand(load, 0));
    return std::ranges::any_of(accesses(Op::store), [&](NodeId store) {
      return may_overlap(f_, root, root_of(f_, f_.operand(store, 0)));
    });
  }
  /// Whether a load's indices are computed without loading anything.
  bool has_plain_place(NodeId load) const {
    return std::ranges::all_of(f_.operands(load), FromOutside(f_, [&](NodeId value) {
                                 return f_.op(value) == Op::param ? Origin::Outside
                                                                  : origin_in(f_, levels_.front(), value);
                               }));
  }

  const Function& f_;
  std::vector<NodeId> levels_;
  int64_t most_bytes_;
  std::vector<uint32_t> depends_;  ///< by node: on which levels
};

}  // namespace

std::optional<Transposition> Transposition::find(const Function& f, std::span<const NodeId> levels,
                                                 int64_t shared_bytes) {
  return TranspositionFinder(f, levels, shared_bytes).find();
}

KernelTransposes::KernelTransposes(KernelWriter& kernels, LoopWriter& loops, const Function& source,
                                   const Transposition& nest, const std::function<NodeId(NodeId)>& use)
    : kernels_(kernels),
      loops_(loops),
      b_(loops.builder()),
      source_(source),
      nest_(nest),
      use_(use),
      copies_(loops.builder(), source, nest.levels.front(), use),
      edge_(edge_of(source, nest.loads)),
      down_(std::min(power_of_two_below(kernels.block_threads() / KernelWriter::kWarp), edge_)) {}

void KernelTransposes::write(const std::function<void()>& prepare, const std::function<void()>& plain) {
  const auto squares = [&](NodeId level) { return loops_.ceiling(length(level), b_.index(edge_)); };
  const auto write_squares = [&] {
    Nodes counts;
    for (const NodeId level : nest_.levels)
      counts.push_back(level == nest_.rows || level == nest_.columns ? squares(level) : length(level));
    const auto at_top = [&] {
      prepare();
      stages_.clear();
      for (const NodeId load : nest_.loads) {
        const int64_t stride = stride_of(source_, load, edge_);
        stages_.push_back({load, kernels_.shared(edge_ * stride, source_.type(load).dtype()), stride});
      }
    };
    const NodeId threads = b_.index(KernelWriter::kWarp * down_);
    kernels_.groups(loops_.product(counts), threads, at_top, [&](NodeId square, NodeId thread) {
      write_square(loops_.unflatten(square, counts), thread);
    });
    return Nodes();
  };
  const auto is_enough = [&](NodeId level) { return loops_.less_equal(b_.index(kFewest), length(level)); };
  loops_.branch(loops_.both(is_enough(nest_.rows), is_enough(nest_.columns)), {}, write_squares,
                [&] { return plain(), Nodes(); });
}

void KernelTransposes::write_square(std::span<const NodeId> at, NodeId thread) {
  Lane outside = copies_.none();
  NodeId first_row;
  NodeId first_column;
  for (size_t i = 0; i < nest_.levels.size(); ++i) {
    const NodeId level = nest_.levels[i];
    if (level == nest_.rows) first_row = loops_.multiply(at[i], b_.index(edge_));
    else if (level == nest_.columns) first_column = loops_.multiply(at[i], b_.index(edge_));
    else outside[parameter(level).index] = at[i];
  }
  fill(outside, first_row, first_column, thread);
  kernels_.barrier();
  const NodeId x = loops_.both(thread, b_.index(KernelWriter::kWarp - 1));
  const NodeId y = b_.make(Op::floor_divide, {thread, b_.index(KernelWriter::kWarp)});
  for (int64_t i = 0; i < edge_; i += down_) {
    for (int64_t k = 0; k < edge_; k += KernelWriter::kWarp) {
      const NodeId row = loops_.add(y, b_.index(i));
      const NodeId column = loops_.add(x, b_.index(k));
      Lane lane = outside;
      const NodeId own_row = lane[parameter(nest_.rows).index] = loops_.add(first_row, row);
      const NodeId own_column = lane[parameter(nest_.columns).index] = loops_.add(first_column, column);
      const NodeId is_there = loops_.both(loops_.less(own_row, length(nest_.rows)),
                                          loops_.less(own_column, length(nest_.columns)));
      kernels_.when(is_there, [&] {
        for (const Stage& stage : stages_) {
          const NodeId index = loops_.add(loops_.multiply(column, b_.index(stage.stride)), row);
          lane[stage.load.index] = loops_.load(stage.view, {&index, 1});
        }
        for (size_t level = 0; level < nest_.levels.size(); ++level) {
          const bool is_last = level + 1 == nest_.levels.size();
          copies_.visit_region(lane, nest_.levels[level], is_last ? NodeId() : nest_.levels[level + 1],
                               false);
        }
      });
    }
  }
  kernels_.barrier();
}

/// Rows and columns beyond the last one repeat it.
void KernelTransposes::fill(const Lane& outside, NodeId first_row, NodeId first_column, NodeId thread) {
  const NodeId x = loops_.both(thread, b_.index(KernelWriter::kWarp - 1));
  const NodeId y = b_.make(Op::floor_divide, {thread, b_.index(KernelWriter::kWarp)});
  const auto within = [&](NodeId index, NodeId level) {
    return loops_.minimum(index, loops_.subtract(length(level), b_.index(1)));
  };
  struct Element {
    NodeId view;
    NodeId index;
    NodeId value;
  };
  std::vector<Element> elements;
  for (const Stage& stage : stages_) {
    for (int64_t i = 0; i < edge_; i += down_) {
      for (int64_t k = 0; k < edge_; k += KernelWriter::kWarp) {
        const NodeId row = loops_.add(x, b_.index(k));
        const NodeId column = loops_.add(y, b_.index(i));
        Lane lane = outside;
        lane[parameter(nest_.rows).index] = within(loops_.add(first_row, row), nest_.rows);
        lane[parameter(nest_.columns).index] = within(loops_.add(first_column, column), nest_.columns);
        const NodeId value = copies_.rebuilt(lane, stage.load);
        const NodeId index = loops_.add(loops_.multiply(column, b_.index(stage.stride)), row);
        elements.push_back({stage.view, index, value});
      }
    }
  }
  for (const Element& element : elements) loops_.store(element.view, {&element.index, 1}, element.value);
}

}  // namespace ingot::transform
