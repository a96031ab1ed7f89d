// A block of threads has R * down rows and C * across columns of a nest. The depth is divided into strips:
// what loads of rows and of columns give for a strip is put into shared memory, where neighbouring threads
// load neighbouring elements; then each thread runs the strip's iterations for its R rows and C columns, so
// that R + C numbers from shared memory serve R * C iterations. A thread's columns are in groups of what one
// instruction loads, and groups of neighbouring threads are neighbours.
//
// The last tile along an axis begins where it is whole, and stores what is of no other tile. If something is
// loaded before the depth, it begins as others do: then rows and columns beyond the last repeat the last one,
// and are dropped.

#include "transform/kernels/kernel_tiles.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/dtype.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/analyses/from_outside.h"
#include "transform/kernels/kernel_together.h"

namespace ingot::transform {

namespace {

/// Shared memory of a block for tiles, at most.
constexpr int64_t kBlockBytes = 40 << 10;
/// Registers of 32 bits that a thread carries sums in.
constexpr int64_t kSumRegisters = 64;
constexpr int64_t kRegister = 4;
/// What one instruction loads.
constexpr int64_t kAccess = 16;
/// Elements of each operand that a thread puts into the block's memory at once: their addresses are in
/// registers next to its sums.
constexpr int64_t kLoadedAtOnce = 2;
/// Iterations of the depth that are written one after the other.
constexpr int64_t kUnrolled = 8;
/// Iterations of the depth that are in the block's memory at once, at most; nests with fewer are not worth
/// tiles.
constexpr int64_t kStrip = 16;
/// So many large tiles keep a device busy; of fewer, small ones are taken.
constexpr int64_t kManyTiles = 128;
constexpr size_t kMostNodes = 40;
/// Iterations of the depth that take longer, in additions, are not copied.
constexpr int kMostCost = 24;
/// Nodes of a thread's iterations that are written one after the other.
constexpr int64_t kMostWritten = 512;

/// On what of a nest's iterations a value depends.
enum Dependence : uint8_t { kRow = 1, kColumn = 2, kDepth = 4, kCarried = 8 };

class TilingFinder {
 public:
  TilingFinder(const Function& f, std::span<const NodeId> levels)
      : f_(f), levels_(levels.begin(), levels.end()), depends_(f.node_count()) {}

  std::optional<Tiling> find() {
    if (levels_.size() < 2 || !find_depth()) return std::nullopt;
    Tiling found{levels_, depth_, {}, {}, {}, store_};
    mark(parameter(found.rows()), kRow);
    mark(parameter(found.columns()), kColumn);
    mark(parameter(depth_), kDepth);
    const RegionId own = f_.region(depth_);
    const auto parameters = f_.region_parameters(own);
    for (size_t i = 1; i < parameters.size(); ++i) mark(parameters[i], kCarried);
    ir::walk(f_, f_.region(found.rows()), [&](NodeId node) { follow(node); });
    for (const NodeId node : f_.region_body(own)) {
      if (f_.op(node) != Op::load || !has_plain_place(node)) continue;
      const uint8_t depends = depends_[node.index];
      if (depends == (kRow | kDepth)) found.of_rows.push_back(node);
      if (depends == (kColumn | kDepth)) found.of_columns.push_back(node);
    }
    if (found.of_rows.empty() || found.of_columns.empty()) return std::nullopt;
    if (store_ && !changes_one_number()) return std::nullopt;
    found.load = load_;
    return found;
  }

 private:
  NodeId parameter(NodeId loop) const { return f_.region_parameters(f_.region(loop))[0]; }
  void mark(NodeId node, uint8_t what) { depends_[node.index] = what; }
  void follow(NodeId node) {
    for (const NodeId operand : f_.operands(node)) depends_[node.index] |= depends_[operand.index];
  }
  bool is_outside(NodeId value) const { return !f_.encloses(levels_.front(), value); }
  bool is_pure(NodeId node) const {
    return f_[node].region_count == 0 && ir::info(f_.op(node)).effects.pure() && f_.result_count(node) <= 1;
  }
  /// The one loop of the innermost level, before which nothing is stored.
  bool find_depth() {
    size_t nodes = 0;
    for (size_t i = 0; i < levels_.size(); ++i) {
      for (const NodeId node : f_.region_body(f_.region(levels_[i]))) {
        const Op op = f_.op(node);
        if (op == Op::yield || op == Op::result) continue;
        if (i + 1 < levels_.size() && node == levels_[i + 1]) continue;
        if (++nodes > kMostNodes) return false;
        if (is_pure(node) || op == Op::load) continue;
        if (i + 1 < levels_.size()) return false;
        if (op == Op::store && depth_) continue;
        if (op != Op::for_ || depth_) return false;
        depth_ = node;
      }
    }
    if (!depth_ || !is_outside(f_.operand(depth_, 0))) return false;
    const auto is_number = [&](NodeId result) { return f_.type(result).is_scalar(); };
    const auto body = f_.region_body(f_.region(depth_));
    if (body.size() > kMostNodes || !std::ranges::all_of(f_.results_of(depth_), is_number)) return false;
    int cost = 0;
    for (const NodeId node : body) {
      if (ir::info(f_.op(node)).elementwise)
        cost += ir::cost_of(f_.op(node), f_.type(f_.operand(node, 0)).dtype());
      if (cost > kMostCost) return false;
      if (f_.op(node) == Op::store && !store_ && f_.result_count(depth_) == 0) store_ = node;
      else if (f_.op(node) != Op::yield && f_.op(node) != Op::load && !is_pure(node)) return false;
    }
    return store_ || f_.result_count(depth_) > 0;
  }
  /// Whether what the depth stores is a number that each of its iterations loads there, and nothing else that
  /// it loads may be that.
  bool changes_one_number() {
    const auto position = f_.operands(store_).first(f_.operands(store_).size() - 1);
    const Root root = root_of(f_, position[0]);
    const auto depends = [&](NodeId node) { return (depends_[node.index] & (kDepth | kCarried)) != 0; };
    if (std::ranges::any_of(position, depends) || !has_plain_place(store_)) return false;
    for (const NodeId node : f_.region_body(f_.region(depth_))) {
      if (node == store_ && !load_) return false;
      if (f_.op(node) != Op::load) continue;
      if (!load_ && std::ranges::equal(f_.operands(node), position)) load_ = node;
      else if (may_overlap(f_, root, root_of(f_, f_.operand(node, 0)))) return false;
    }
    return true;
  }
  /// Whether a load's indices are computed without loading anything.
  bool has_plain_place(NodeId access) const {
    const auto rank = static_cast<size_t>(f_.type(f_.operand(access, 0)).rank());
    return std::ranges::all_of(f_.operands(access).first(1 + rank), FromOutside(f_, [&](NodeId value) {
                                 return f_.op(value) == Op::param ? Origin::Outside
                                                                  : origin_in(f_, levels_.front(), value);
                               }));
  }

  const Function& f_;
  std::vector<NodeId> levels_;
  NodeId depth_;
  NodeId load_;
  NodeId store_;
  std::vector<uint8_t> depends_;  ///< by node
};

int64_t element_bytes(DType dtype) { return static_cast<int64_t>(base::size_of(dtype)); }

int64_t count_bits(int64_t power) { return std::countr_zero(static_cast<uint64_t>(power)); }

}  // namespace

std::optional<Tiling> Tiling::find(const Function& f, std::span<const NodeId> levels) {
  return TilingFinder(f, levels).find();
}

KernelTiles::KernelTiles(KernelWriter& kernels, LoopWriter& loops, const Function& source,
                         const Tiling& tiling, std::function<NodeId(NodeId)> use)
    : kernels_(kernels),
      loops_(loops),
      b_(loops.builder()),
      source_(source),
      tiling_(tiling),
      use_(std::move(use)),
      copies_(loops.builder(), source, tiling.levels.front(), use_) {
  across_ = int64_t{1} << ((count_bits(power_of_two_below(kernels.block_threads())) + 1) / 2);
  down_ = power_of_two_below(kernels.block_threads()) / across_;
  // What is loaded before the depth may be stored after it, by the tile that it is of.
  clamps_ = static_cast<bool>(tiling.load);
  for (const NodeId level : {tiling.rows(), tiling.columns()})
    for (const NodeId node : source.region_body(source.region(level)))
      clamps_ = clamps_ || source.op(node) == Op::load;
  find_shapes();
}

void KernelTiles::find_shapes() {
  int64_t registers = 0;
  for (const Type type : types_of_sums())
    registers += std::max<int64_t>(element_bytes(type.dtype()) / kRegister, 1);
  const auto nodes = static_cast<int64_t>(source_.region_body(source_.region(tiling_.depth)).size());
  const int64_t iterations =
      power_of_two_below(std::clamp<int64_t>(kSumRegisters / registers, 1, kMostWritten / nodes));
  const auto add = [&](int64_t rows, int64_t columns) {
    for (int64_t depth = kStrip; depth >= kUnrolled; depth /= 2) {
      const Shape shape{rows, columns, depth};
      if (bytes_of(shape) > std::min(kBlockBytes, kernels_.shared_bytes())) continue;
      shapes_.push_back(shape);
      return;
    }
  };
  constexpr int64_t kLeast = 2;
  if (iterations < kLeast * kLeast) return;
  const int64_t rows = int64_t{1} << (count_bits(iterations) / 2);
  if (iterations > kLeast * kLeast) add(rows, iterations / rows);
  add(kLeast, kLeast);
}

int64_t KernelTiles::bytes_of(const Shape& shape) const {
  int64_t bytes = 0;
  for (const NodeId load : tiling_.of_rows)
    bytes += stride_of(load, shape.rows * down_) * shape.depth * element_bytes(source_.type(load).dtype());
  for (const NodeId load : tiling_.of_columns)
    bytes +=
        stride_of(load, shape.columns * across_) * shape.depth * element_bytes(source_.type(load).dtype());
  return bytes;
}

/// A little more than the length, so that iterations of the depth are in different banks.
int64_t KernelTiles::stride_of(NodeId load, int64_t length) const {
  return length + std::max<int64_t>(kAccess / element_bytes(source_.type(load).dtype()), 1);
}

/// By the axis of the view along which neighbours are known to be neighbours in memory, else by the last one.
bool KernelTiles::is_along_depth(NodeId load) const {
  const NodeId view = source_.operand(load, 0);
  const auto indices = source_.operands(load).subspan(1);
  if (indices.empty()) return false;
  size_t axis = indices.size() - 1;
  for (size_t i = 0; i < indices.size(); ++i)
    if (is_dense(source_, view, i)) axis = i;
  const NodeId iteration = parameter(tiling_.depth);
  std::vector<bool> is_known(source_.node_count());  // that it does not
  const std::function<bool(NodeId)> depends = [&](NodeId value) {
    if (value == iteration) return true;
    if (is_known[value.index]) return false;
    is_known[value.index] = true;
    return std::ranges::any_of(source_.operands(value), depends);
  };
  return depends(indices[axis]);
}

NodeId KernelTiles::tiles_of(const Shape& shape) {
  const auto count = [&](NodeId level, int64_t of_tile) {
    const NodeId length = use_(source_.operand(level, 0));
    return loops_.ceiling(length, b_.index(of_tile));
  };
  return loops_.multiply(count(tiling_.rows(), shape.rows * down_),
                         count(tiling_.columns(), shape.columns * across_));
}

/// Whether there are rows and columns enough for one tile.
NodeId KernelTiles::has_tile(const Shape& shape) {
  const auto is_enough = [&](NodeId level, int64_t of_tile) {
    return loops_.less_equal(b_.index(of_tile), use_(source_.operand(level, 0)));
  };
  return loops_.both(is_enough(tiling_.rows(), shape.rows * down_),
                     is_enough(tiling_.columns(), shape.columns * across_));
}

void KernelTiles::write(const std::function<void()>& prepare, const std::function<void()>& plain) {
  const auto write_plain = [&] {
    plain();
    return Nodes();
  };
  const auto write_tiles = [&] {
    NodeId is_large = b_.constant(true);
    if (shapes_.size() > 1) {
      NodeId tiles = tiles_of(shapes_[0]);
      for (size_t i = 0; i + 2 < tiling_.levels.size(); ++i)
        tiles = loops_.multiply(tiles, use_(source_.operand(tiling_.levels[i], 0)));
      is_large = loops_.both(loops_.less_equal(b_.index(kManyTiles), tiles), has_tile(shapes_[0]));
    }
    const auto write = [&](const Shape& shape) {
      write_launch(shape, prepare);
      return Nodes();
    };
    loops_.branch(
        is_large, {}, [&] { return write(shapes_.front()); }, [&] { return write(shapes_.back()); });
    return Nodes();
  };
  const NodeId is_deep = loops_.less_equal(b_.index(kStrip), use_(source_.operand(tiling_.depth, 0)));
  const NodeId is_worth = loops_.both(has_tile(shapes_.back()), is_deep);
  loops_.branch(is_worth, {}, write_tiles, write_plain);
}

void KernelTiles::write_launch(const Shape& shape, const std::function<void()>& prepare) {
  Nodes counts;
  for (size_t i = 0; i + 2 < tiling_.levels.size(); ++i)
    counts.push_back(use_(source_.operand(tiling_.levels[i], 0)));
  const auto add = [&](NodeId level, int64_t of_tile) {
    const NodeId length = use_(source_.operand(level, 0));
    counts.push_back(loops_.ceiling(length, b_.index(of_tile)));
  };
  add(tiling_.rows(), shape.rows * down_);
  add(tiling_.columns(), shape.columns * across_);
  place_stages(shape);
  const auto at_top = [&] {
    prepare();
    for (Stage& stage : stages_)
      stage.view = kernels_.shared(stage.stride * shape.depth, source_.type(stage.load).dtype());
  };
  kernels_.groups(loops_.product(counts), b_.index(across_ * down_), at_top, [&](NodeId tile, NodeId thread) {
    write_tile(shape, loops_.unflatten(tile, counts), thread);
  });
}

void KernelTiles::place_stages(const Shape& shape) {
  stages_.clear();
  const auto add = [&](NodeId load, bool is_of_rows, int64_t length) {
    stages_.push_back({load, is_of_rows, is_along_depth(load), NodeId(), length, stride_of(load, length)});
  };
  for (const NodeId load : tiling_.of_rows) add(load, true, shape.rows * down_);
  for (const NodeId load : tiling_.of_columns) add(load, false, shape.columns * across_);
}

void KernelTiles::write_tile(const Shape& shape, std::span<const NodeId> at, NodeId thread) {
  make_lanes(shape, at, thread);
  Nodes inits;
  for (Lane& lane : lanes_)
    for (const NodeId init : inits_of(lane)) inits.push_back(init);
  finish_lanes(shape, run_depth(shape, thread, inits));
}

/// What the depth carries, of each row and column.
std::vector<Type> KernelTiles::types_of_sums() const {
  if (tiling_.load) return {source_.type(tiling_.load)};
  std::vector<Type> types;
  for (const NodeId result : source_.results_of(tiling_.depth)) types.push_back(source_.type(result));
  return types;
}

Nodes KernelTiles::inits_of(Lane& lane) {
  if (tiling_.load) return {copies_.rebuilt(lane, tiling_.load)};
  Nodes inits;
  for (const NodeId init : source_.operands(tiling_.depth).subspan(1))
    inits.push_back(copies_.rebuilt(lane, init));
  return inits;
}

/// Computed where it is needed: before the depth and after it, lest it has registers in between.
NodeId KernelTiles::position(const Side& side, int64_t lane) {
  const NodeId own = loops_.add(side.start, b_.index(side.group.offset(lane, side.threads)));
  if (!clamps_) return own;
  return loops_.minimum(own, loops_.subtract(use_(source_.operand(side.level, 0)), b_.index(1)));
}

/// Whether a row or column is there, and of no other tile.
NodeId KernelTiles::is_inside(const Side& side, int64_t lane) {
  const NodeId own = loops_.add(side.start, b_.index(side.group.offset(lane, side.threads)));
  return clamps_ ? loops_.less(own, use_(source_.operand(side.level, 0)))
                 : loops_.less_equal(side.begin, own);
}

Nodes KernelTiles::loads_before() const {
  Nodes loads;
  for (const NodeId level : {tiling_.rows(), tiling_.columns()}) {
    for (const NodeId node : source_.region_body(source_.region(level))) {
      if (node == tiling_.columns() || node == tiling_.depth) break;
      if (source_.op(node) == Op::load) loads.push_back(node);
    }
  }
  return loads;
}

/// Whether what is loaded before the depth, what it begins with, or what it does needs the iteration of a
/// level, but for what is in the block's memory.
bool KernelTiles::is_used_before(NodeId level) const {
  const NodeId iteration = parameter(level);
  std::vector<bool> is_known(source_.node_count());  // that it does not
  const std::function<bool(NodeId)> uses = [&](NodeId value) {
    if (value == iteration) return true;
    if (is_known[value.index]) return false;
    is_known[value.index] = true;
    const bool is_staged = std::ranges::find(stages_, value, &Stage::load) != stages_.end();
    return !is_staged && source_.encloses(tiling_.levels.front(), value) &&
           std::ranges::any_of(source_.operands(value), uses);
  };
  Nodes roots = loads_before();
  if (tiling_.load) roots.push_back(tiling_.load);
  if (tiling_.store) roots.push_back(source_.operands(tiling_.store).back());
  for (const NodeId init : source_.operands(tiling_.depth).subspan(1)) roots.push_back(init);
  for (const NodeId given : source_.operands(source_.terminator(source_.region(tiling_.depth))))
    roots.push_back(given);
  return std::ranges::any_of(roots, uses);
}

/// What comes before the depth, for each row and column of the thread.
void KernelTiles::make_lanes(const Shape& shape, std::span<const NodeId> at, NodeId thread) {
  outside_ = copies_.none();
  const size_t around = tiling_.levels.size() - 2;
  for (size_t i = 0; i < around; ++i) {
    outside_[parameter(tiling_.levels[i]).index] = at[i];
    copies_.visit_region(outside_, tiling_.levels[i], tiling_.levels[i + 1], false);
  }
  const NodeId x = loops_.both(thread, b_.index(across_ - 1));
  const NodeId y = b_.make(Op::right_shift, {thread, b_.index(count_bits(across_))});
  const auto side = [&](NodeId level, NodeId tile, int64_t lanes, int64_t threads, NodeId own,
                        const Nodes& loads) {
    const NodeId length = use_(source_.operand(level, 0));
    Side made{
        level,    lanes,   threads, group_of(lanes, loads), loops_.multiply(tile, b_.index(lanes * threads)),
        NodeId(), NodeId()};
    const NodeId last = loops_.subtract(length, b_.index(lanes * threads));
    made.first = clamps_ ? made.begin : loops_.minimum(made.begin, last);
    made.start = loops_.add(made.first, loops_.multiply(own, b_.index(made.group.size)));
    made.is_used = is_used_before(level);
    return made;
  };
  rows_ = side(tiling_.rows(), at[around], shape.rows, down_, y, tiling_.of_rows);
  columns_ = side(tiling_.columns(), at[around + 1], shape.columns, across_, x, tiling_.of_columns);
  const auto positions = [&](const Side& of) {
    Nodes all(static_cast<size_t>(of.lanes));
    if (!of.is_used) return all;
    for (int64_t i = 0; i < of.lanes; ++i) all[static_cast<size_t>(i)] = position(of, i);
    return all;
  };
  const Nodes rows = positions(rows_);
  const Nodes columns = positions(columns_);
  lanes_.clear();
  for (const NodeId row : rows) {
    for (const NodeId column : columns) {
      Lane& lane = lanes_.emplace_back(outside_);
      lane[parameter(tiling_.rows()).index] = row;
      lane[parameter(tiling_.columns()).index] = column;
      prepare_lane(lane);
    }
  }
}

/// What is loaded before the depth, and what its iterations use of before.
void KernelTiles::prepare_lane(Lane& lane) {
  for (const NodeId load : loads_before()) copies_.rebuilt(lane, load);
  const RegionId region = source_.region(tiling_.depth);
  std::vector<bool> is_made(source_.node_count());
  const std::function<void(NodeId)> make = [&](NodeId value) {
    if (is_made[value.index]) return;
    is_made[value.index] = true;
    if (std::ranges::find(stages_, value, &Stage::load) != stages_.end() || value == tiling_.load) return;
    if (source_.op(value) == Op::param && source_[value].parent == region) return;
    if (!source_.encloses(region, value)) {
      copies_.rebuilt(lane, value);
    } else {
      for (const NodeId operand : source_.operands(value)) make(operand);
    }
  };
  if (tiling_.store) make(source_.operands(tiling_.store).back());
  for (const NodeId given : source_.operands(source_.terminator(region))) make(given);
}

KernelTiles::Group KernelTiles::group_of(int64_t lanes, const Nodes& loads) const {
  return {std::clamp<int64_t>(kAccess / element_bytes(source_.type(loads[0]).dtype()), 1, lanes)};
}

/// The last strip may be shorter: threads then load the last iteration several times.
Nodes KernelTiles::run_depth(const Shape& shape, NodeId thread, const Nodes& inits) {
  const NodeId count = loops_.maximum(use_(source_.operand(tiling_.depth, 0)), b_.index(0));
  const NodeId strips = loops_.ceiling(count, b_.index(shape.depth));
  std::vector<Type> types;
  for (const NodeId init : inits) types.push_back(b_.function().type(init));
  return loops_.loop(strips, inits, [&](auto at, auto carried) {
    const Nodes sums(carried.begin(), carried.end());
    const NodeId first = loops_.multiply(at[0], b_.index(shape.depth));
    const NodeId left = loops_.subtract(count, first);
    fill_stages(shape, thread, first, loops_.minimum(left, b_.index(shape.depth)));
    kernels_.barrier();
    const auto iterations = [&](NodeId times, int64_t together) {
      return loops_.loop(times, sums, [&](auto part, auto own) {
        Nodes all(own.begin(), own.end());
        for (int64_t i = 0; i < together; ++i) {
          const NodeId iteration = loops_.add(loops_.multiply(part[0], b_.index(together)), b_.index(i));
          all = run_iteration(shape, thread, loops_.add(first, iteration), iteration, all);
        }
        return all;
      });
    };
    const Nodes next = loops_.branch(
        loops_.less(left, b_.index(shape.depth)), types, [&] { return iterations(left, 1); },
        [&] { return iterations(b_.index(shape.depth / kUnrolled), kUnrolled); });
    kernels_.barrier();
    return next;
  });
}

/// In some parts, one after the other, so that a thread computes the addresses of few elements at once.
/// Iterations of the depth beyond `there` are the last of these.
void KernelTiles::fill_stages(const Shape& shape, NodeId thread, NodeId first, NodeId there) {
  const int64_t threads = across_ * down_;
  int64_t parts = 1;
  for (const Stage& stage : stages_)
    parts = std::max(parts, stage.count(shape.depth, threads) / kLoadedAtOnce);
  for (const Stage& stage : stages_)
    parts = std::min(parts, stage.count(shape.depth, threads) / stage.rounds(shape.depth, threads));
  if (parts == 1) return fill_part(shape, thread, first, there, b_.index(0), 1);
  const NodeId count = b_.index(parts);
  loops_.nest({&count, 1},
              [&](std::span<const NodeId> part) { fill_part(shape, thread, first, there, part[0], parts); });
}

void KernelTiles::fill_part(const Shape& shape, NodeId thread, NodeId first, NodeId there, NodeId part,
                            int64_t parts) {
  struct Element {
    NodeId view;
    NodeId position;
    NodeId value;
  };
  std::vector<Element> elements;
  const int64_t threads = across_ * down_;
  // Of a strip, in 32 bits.
  const auto narrow = [&](NodeId number) { return b_.cast(number, DType::Int32); };
  const NodeId last = narrow(loops_.subtract(there, b_.index(1)));
  for (const Stage& stage : stages_) {
    const Side& side = stage.is_of_rows ? rows_ : columns_;
    const NodeId end = loops_.subtract(use_(source_.operand(side.level, 0)), b_.index(1));
    // The number of threads is a multiple of the number of neighbours, or less: each thread has one index
    // among them.
    const int64_t inner = std::min(stage.inner(shape.depth), threads);
    const int64_t rounds = stage.rounds(shape.depth, threads);
    const int64_t step = threads / inner;
    const int64_t count = stage.count(shape.depth, threads) / parts;
    const NodeId low = loops_.both(thread, b_.index(inner - 1));
    const NodeId high = loops_.add(b_.make(Op::right_shift, {thread, b_.index(count_bits(inner))}),
                                   loops_.multiply(part, b_.index(count / rounds * step)));
    const NodeId own_position = stage.along_depth ? high : low;
    const NodeId own_iteration = stage.along_depth ? low : high;
    const NodeId from = loops_.add(side.first, own_position);
    const NodeId to = loops_.add(loops_.multiply(own_iteration, b_.index(stage.stride)), own_position);
    for (int64_t k = 0; k < count; ++k) {
      const int64_t further = k / rounds * step;
      const int64_t among = k % rounds * threads;
      const int64_t of_position = stage.along_depth ? further : among;
      const int64_t of_iteration = stage.along_depth ? among : further;
      const NodeId position = loops_.add(from, b_.index(of_position));
      const NodeId iteration = narrow(loops_.add(own_iteration, b_.index(of_iteration)));
      Lane own = outside_;
      own[parameter(side.level).index] = clamps_ ? loops_.minimum(position, end) : position;
      own[parameter(tiling_.depth).index] =
          loops_.add(first, b_.cast(loops_.minimum(iteration, last), DType::Int64));
      const NodeId loaded = copies_.rebuilt(own, stage.load);
      elements.push_back(
          {stage.view, loops_.add(to, b_.index(of_iteration * stage.stride + of_position)), loaded});
    }
  }
  for (const Element& element : elements) loops_.store(element.view, {&element.position, 1}, element.value);
}

/// An iteration of the depth, number `iteration` of its strip, for all lanes: what they carry on.
Nodes KernelTiles::run_iteration(const Shape& shape, NodeId thread, NodeId at, NodeId iteration,
                                 const Nodes& carried) {
  const NodeId x = loops_.both(thread, b_.index(across_ - 1));
  const NodeId y = b_.make(Op::right_shift, {thread, b_.index(count_bits(across_))});
  std::vector<Nodes> staged;
  for (const Stage& stage : stages_) {
    const int64_t count = stage.is_of_rows ? shape.rows : shape.columns;
    const auto& loads = stage.is_of_rows ? tiling_.of_rows : tiling_.of_columns;
    const Group group = group_of(count, loads);
    const NodeId own = loops_.multiply(stage.is_of_rows ? y : x, b_.index(group.size));
    const NodeId start = loops_.add(loops_.multiply(iteration, b_.index(stage.stride)), own);
    Nodes& values = staged.emplace_back();
    for (int64_t i = 0; i < count; ++i) {
      const NodeId index = loops_.add(start, b_.index(group.offset(i, stage.is_of_rows ? down_ : across_)));
      values.push_back(loops_.load(stage.view, {&index, 1}));
    }
  }
  const RegionId region = source_.region(tiling_.depth);
  const auto parameters = source_.region_parameters(region);
  const size_t slots = tiling_.load ? 1 : parameters.size() - 1;
  Nodes next;
  for (size_t i = 0; i < lanes_.size(); ++i) {
    Lane lane = lanes_[i];
    lane[parameters[0].index] = at;
    for (size_t k = 0; k < slots; ++k)
      lane[tiling_.load ? tiling_.load.index : parameters[k + 1].index] = carried[i * slots + k];
    const size_t row = i / static_cast<size_t>(shape.columns);
    const size_t column = i % static_cast<size_t>(shape.columns);
    for (size_t k = 0; k < stages_.size(); ++k)
      lane[stages_[k].load.index] = staged[k][stages_[k].is_of_rows ? row : column];
    if (tiling_.store) next.push_back(copies_.rebuilt(lane, source_.operands(tiling_.store).back()));
    for (const NodeId given : source_.operands(source_.terminator(region)))
      next.push_back(copies_.rebuilt(lane, given));
  }
  return next;
}

/// What comes after the depth, for the rows and columns that exist.
void KernelTiles::finish_lanes(const Shape& shape, const Nodes& given) {
  const Nodes results = source_.results_of(tiling_.depth);
  const Nodes loads = loads_before();
  const auto finish = [&](int64_t row, int64_t column) {
    const auto i = static_cast<size_t>(row * shape.columns + column);
    Lane lane = outside_;
    lane[parameter(tiling_.rows()).index] = position(rows_, row);
    lane[parameter(tiling_.columns()).index] = position(columns_, column);
    for (const NodeId load : loads) lane[load.index] = lanes_[i][load.index];
    for (size_t k = 0; k < results.size(); ++k) lane[results[k].index] = given[i * results.size() + k];
    if (tiling_.store) {
      const auto operands = source_.operands(tiling_.store);
      Nodes indices;
      for (const NodeId operand : operands.first(operands.size() - 1))
        indices.push_back(copies_.rebuilt(lane, operand));
      loops_.store(indices[0], std::span(indices).subspan(1), given[i]);
    }
    bool is_after = false;
    for (const NodeId node : source_.region_body(source_.region(tiling_.columns()))) {
      const bool is_own = is_after && source_.op(node) != Op::yield && source_.op(node) != Op::result;
      if (is_own) copies_.rebuilt(lane, node);
      is_after = is_after || node == tiling_.depth;
    }
  };
  for (int64_t row = 0; row < shape.rows; ++row) {
    const auto all_of_row = [&] {
      for (int64_t column = 0; column < shape.columns; ++column) {
        const auto one = [&] {
          finish(row, column);
          return Nodes();
        };
        loops_.branch(is_inside(columns_, column), {}, one, [] { return Nodes(); });
      }
      return Nodes();
    };
    loops_.branch(is_inside(rows_, row), {}, all_of_row, [] { return Nodes(); });
  }
}

}  // namespace ingot::transform
