// Arrays of iterations next to each other (`expand`). An array of n elements that each iteration makes is one
// of n rows with an element for each iteration of a block: what was at a byte of it is at that byte times the
// iterations of a block, plus the iteration's element. So all views of it keep their shapes and get one axis
// more, the last one, along which lanes are contiguous. Views of other memory that move on by an element from
// iteration to iteration get such an axis, too. The loops inside run for all lanes, and what does not depend
// on the iteration is computed once for them.

#include "transform/loops/expand.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>

#include "ir/annotation.h"
#include "ir/directives.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/from_outside.h"
#include "transform/analyses/lane_judge.h"
#include "transform/writers/loop_writer.h"

namespace ingot::transform {

namespace {

/// The iterations of a block, and the least that are worth one.
constexpr int64_t kBlock = 64;
constexpr int64_t kFewIterations = 8;
/// Loops with more nodes are left as they are: they are written twice.
constexpr size_t kMostNodes = 400;
/// Where lanes are in different rows of memory, each element is fetched for itself: longer rows are faster
/// one after the other.
constexpr int64_t kLongestRow = 48;

/// How a view gets an axis of iterations: of rows it is the first one, else the last.
enum class Axis : uint8_t { None, OfBlock, OfLoop, OfRows };

/// A loop that is taken.
struct Expanded {
  Nodes allocs;
  std::map<uint32_t, Axis> views;
  std::unordered_map<uint32_t, NodeId> offsets;  ///< of views along the loop, where its iteration 0 has them
  std::map<uint32_t, size_t> arms;  ///< of branches by what is known before, the one that lanes can run
  Nodes counts = {};                ///< of loops inside, as far as they are known before
  bool in_rows = false;             ///< lanes are in different rows of some memory
};

/// Whether a number of bytes is seen to be one of elements.
bool is_multiple(const Function& f, NodeId bytes, int64_t size) {
  if (f.is_constant(bytes)) return f.constant(bytes).as<int64_t>() % size == 0;
  const auto part = [&](size_t i) { return is_multiple(f, f.operand(bytes, i), size); };
  switch (f.op(bytes)) {
    case Op::multiply: return part(0) || part(1);
    case Op::add:
    case Op::subtract: return part(0) && part(1);
    default: return false;
  }
}

class ExpandJudge {
 public:
  ExpandJudge(const Function& function, NodeId loop)
      : f_(function), loop_(loop), is_outside_(function, loop), varies_(function.node_count()) {}

  std::optional<Expanded> judge() {
    const bool is_plain = f_.op(loop_) == Op::for_ && f_.result_count(loop_) == 0 &&
                          !ir::is_careful(f_, loop_) && !ir::is_directed(f_, loop_) &&
                          !ir::has_lanes(ir::schedule_of(f_, loop_));
    if (!is_plain) return std::nullopt;
    const NodeId count = f_.operand(loop_, 0);
    if (f_.is_constant(count) && f_.constant(count).as<int64_t>() < kFewIterations) return std::nullopt;
    const bool makes_any = std::ranges::any_of(f_.region_body(f_.region(loop_)),
                                               [&](NodeId node) { return f_.op(node) == Op::alloc; });
    if (!makes_any) return std::nullopt;
    varies_[iteration().index] = true;
    if (!fits(f_.region(loop_)) || !any_loop_ || nodes_ > kMostNodes) return std::nullopt;
    return std::move(found_);
  }

 private:
  NodeId iteration() const { return f_.region_parameters(f_.region(loop_))[0]; }
  bool varies(NodeId value) const { return varies_[value.index]; }
  bool are_outside(std::span<const NodeId> values) {
    return std::ranges::all_of(values, [&](NodeId value) { return is_outside_(value); });
  }
  bool is_own(NodeId buffer) const { return std::ranges::find(found_.allocs, buffer) != found_.allocs.end(); }

  bool fits(RegionId region) {
    return std::ranges::all_of(f_.region_body(region), [&](NodeId node) { return fits(node); });
  }
  bool fits_at_end(NodeId node) const {
    return f_.op(node) == Op::yield && std::ranges::none_of(f_.operands(node), [&](NodeId value) {
             return f_.type(value).is_view() || f_.type(value).is_buffer();
           });
  }
  bool fits(NodeId node) {
    ++nodes_;
    if (ir::info(f_.op(node)).terminator) return fits_at_end(node);
    const auto operands = f_.operands(node);
    switch (f_.op(node)) {
      case Op::result: return true;
      case Op::alloc: return fits_alloc(node);
      case Op::view: return fits_view(node);
      case Op::load:
      case Op::store: return fits_access(node);
      case Op::for_: return fits_with_regions(node);
      case Op::if_: return is_outside_(operands[0]) ? fits_by_arms(node) : fits_with_regions(node);
      default: break;
    }
    varies_[node.index] = std::ranges::any_of(operands, [&](NodeId value) { return varies(value); });
    const bool has_own =
        std::ranges::any_of(operands, [&](NodeId value) { return is_own(value) || has_axis(value); });
    if (f_[node].region_count > 0 || !ir::info(f_.op(node)).effects.pure() || has_own) return false;
    return f_.type(node).is_scalar() || !varies(node);
  }
  bool fits_alloc(NodeId node) {
    if (loops_around_ > 0 || !is_outside_(f_.operand(node, 0))) return false;
    if (!is_own(node)) found_.allocs.push_back(node);
    return true;
  }
  bool has_axis(NodeId view) const { return found_.views.contains(view.index); }

  bool fits_view(NodeId view) {
    const auto operands = f_.operands(view);
    if (f_.type(view).rank() >= ir::kMaxRank) return false;
    const int64_t size = size_of(view);
    if (is_own(operands[0])) {
      const auto rank = static_cast<size_t>(f_.type(view).rank());
      const auto strides = operands.subspan(2 + rank, rank);
      const auto is_whole = [&](NodeId bytes) { return is_multiple(f_, bytes, size); };
      if (!are_outside(operands.subspan(1)) || !is_whole(operands[1])) return false;
      if (!std::ranges::all_of(strides, is_whole)) return false;
      const auto before = std::ranges::find_if(
          found_.views, [&](const auto& other) { return f_.operand(NodeId(other.first), 0) == operands[0]; });
      if (before != found_.views.end() && size_of(NodeId(before->first)) != size) return false;
      found_.views[view.index] = Axis::OfBlock;
      return true;
    }
    if (!is_outside_(operands[0]) || !are_outside(operands.subspan(2))) return false;
    if (is_outside_(operands[1])) return true;
    const NodeId start = start_of(operands[1], size);
    if (!start) {
      found_.views[view.index] = Axis::OfRows;
      found_.in_rows = true;
      return is_affine(operands[1]);
    }
    found_.views[view.index] = Axis::OfLoop;
    found_.offsets[view.index] = start;
    return true;
  }
  int64_t size_of(NodeId view) const { return static_cast<int64_t>(base::size_of(f_.type(view).dtype())); }

  /// What an offset is without the iteration times the size of an element; none: it is something else.
  NodeId start_of(NodeId offset, int64_t size) {
    if (f_.op(offset) == Op::add)
      for (const size_t i : {0, 1})
        if (is_outside_(f_.operand(offset, i)) && is_step(f_.operand(offset, 1 - i), size))
          return f_.operand(offset, i);
    return is_step(offset, size) ? offset : NodeId();
  }
  bool is_step(NodeId node, int64_t size) const {
    if (f_.op(node) != Op::multiply) return false;
    for (const size_t i : {0, 1})
      if (f_.operand(node, i) == iteration() && is_number(f_.operand(node, 1 - i), size)) return true;
    return false;
  }
  /// Whether a number grows by the same from iteration to iteration.
  bool is_affine(NodeId node) {
    if (is_outside_(node) || node == iteration()) return true;
    const Op op = f_.op(node);
    if (op != Op::add && op != Op::subtract && op != Op::multiply) return false;
    const auto operands = f_.operands(node);
    if (op == Op::multiply && !is_outside_(operands[0]) && !is_outside_(operands[1])) return false;
    return is_affine(operands[0]) && is_affine(operands[1]);
  }
  bool is_number(NodeId node, int64_t number) const {
    return f_.is_constant(node) && f_.constant(node).as<int64_t>() == number;
  }

  /// Lanes find neighbours, all the same, or each something in a row of its own.
  bool fits_access(NodeId node) {
    const auto operands = f_.operands(node);
    const NodeId view = operands[0];
    const auto rank = static_cast<size_t>(f_.type(view).rank());
    const auto indices = operands.subspan(1, rank);
    const auto is_same = [&](NodeId index) { return !varies(index); };
    if (f_.op(node) == Op::load) varies_[node.index] = true;
    else if (has_axis(view) && found_.views.at(view.index) == Axis::OfRows)
      return false;  // which may overlap
    if (std::ranges::all_of(indices, is_same)) {
      if (!has_axis(view) && f_.op(node) == Op::load) varies_[node.index] = false;
      return has_axis(view) || f_.op(node) == Op::load;
    }
    if (has_axis(view) || is_own_view(view)) return false;
    if (indices.back() != iteration() || !is_contiguous_at_end(view)) found_.in_rows = true;
    const auto moving = std::ranges::find_if_not(indices, is_same);
    return moves(*moving) && std::all_of(moving + 1, indices.end(), is_same);
  }
  bool is_own_view(NodeId view) const { return f_.op(view) == Op::view && is_own(f_.operand(view, 0)); }
  /// Whether an index grows by one from iteration to iteration.
  bool moves(NodeId index) const {
    if (index == iteration()) return true;
    if (f_.op(index) != Op::add)
      return f_.op(index) == Op::subtract && !varies(f_.operand(index, 1)) && moves(f_.operand(index, 0));
    for (const size_t i : {0, 1})
      if (!varies(f_.operand(index, 1 - i))) return moves(f_.operand(index, i));
    return false;
  }
  bool is_contiguous_at_end(NodeId view) const {
    if (f_.op(view) == Op::view) return is_number(f_.operands(view).back(), size_of(view));
    if (f_.op(view) != Op::param || f_[view].parent != f_.body()) return false;
    return f_.parameters()[static_cast<size_t>(f_.attribute(view, 0))].layout == ir::Layout::C;
  }

  bool fits_with_regions(NodeId node) {
    const auto is_scalar = [&](NodeId value) { return f_.type(value).is_scalar(); };
    if (!std::ranges::all_of(f_.operands(node), is_scalar)) return false;
    if (f_.op(node) == Op::for_) {
      const NodeId count = f_.operand(node, 0);
      if (varies(count)) return false;
      if (is_outside_(count)) found_.counts.push_back(count);
      any_loop_ = true;
    }
    const int around = loops_around_;
    if (f_.op(node) == Op::for_) ++loops_around_;
    for (const NodeId result : f_.results_of(node)) varies_[result.index] = true;
    for (size_t i = 0; i < f_[node].region_count; ++i) {
      const auto parameters = f_.region_parameters(f_.region(node, i));
      for (size_t k = f_.op(node) == Op::for_ ? 1 : 0; k < parameters.size(); ++k)
        varies_[parameters[k].index] = true;
      if (!fits(f_.region(node, i))) return loops_around_ = around, false;
    }
    loops_around_ = around;
    return true;
  }

  /// A branch that all iterations take alike: where lanes cannot run one of its arms, or arms make arrays,
  /// the loop is taken for one of them, that of the smaller arrays.
  bool fits_by_arms(NodeId node) {
    const Found before{found_, nodes_, any_loop_};
    if (fits_with_regions(node) && found_.allocs.size() == before.found.allocs.size()) return true;
    const auto is_scalar = [&](NodeId result) { return f_.type(result).is_scalar(); };
    if (!std::ranges::all_of(f_.results_of(node), is_scalar)) return false;
    std::optional<Found> best;
    for (const size_t arm : {0, 1}) {
      take(before);
      if (!fits(f_.region(node, arm))) continue;
      if (best && bytes_in(best->found) <= bytes_in(found_)) continue;
      found_.arms[node.index] = arm;
      best = {found_, nodes_, any_loop_};
    }
    if (best) take(*best);
    return best.has_value();
  }
  struct Found {
    Expanded found;
    size_t nodes;
    bool any_loop;
  };
  void take(const Found& other) {
    found_ = other.found;
    nodes_ = other.nodes;
    any_loop_ = other.any_loop;
  }
  int64_t bytes_in(const Expanded& found) const {
    int64_t all = 0;
    for (const NodeId alloc : found.allocs)
      if (const NodeId size = f_.operand(alloc, 0); f_.is_constant(size))
        all += f_.constant(size).as<int64_t>();
    return all;
  }

  const Function& f_;
  NodeId loop_;
  FromOutside is_outside_;
  std::vector<bool> varies_;
  Expanded found_;
  bool any_loop_ = false;
  size_t nodes_ = 0;
  int loops_around_ = 0;
};

class Expander : public Rewriter {
 public:
  Expander(const Function& source, const base::Machine& machine, const std::vector<bool>& left)
      : Rewriter(source), loops_(b_), cache_(machine.far_cache / 2), left_(left) {}

  struct Written {
    NodeId loop;   ///< of the source
    NodeId lanes;  ///< what runs its iterations in lanes
  };
  const std::vector<Written>& written() const { return written_; }

 protected:
  void visit(NodeId id) override {
    if (expanded_) return visit_inside(id);
    if (source_.op(id) != Op::for_ || left_[id.index]) return clone(id);
    std::optional<Expanded> found = ExpandJudge(source_, id).judge();
    if (!found) return clone(id);
    write(id, std::move(*found));
  }

 private:
  /// The new node, before the loop, of what is computed from outside.
  NodeId outside(NodeId loop, NodeId old) {
    if (!source_.encloses(loop, old)) return use(old);
    const auto known = outside_.find(old.index);
    if (known != outside_.end()) return known->second;
    NodeId made;
    if (source_.is_constant(old)) {
      made = b_.constant(source_.type(old), source_.constant(old));
    } else {
      Nodes operands;
      for (const NodeId operand : source_.operands(old)) operands.push_back(outside(loop, operand));
      made = b_.make(source_.op(old), operands, source_.attributes(old), source_.type(old));
    }
    return outside_[old.index] = made;
  }

  void write(NodeId loop, Expanded found) {
    const ir::SpanId location = b_.span();
    outside_.clear();
    const NodeId count = loops_.maximum(use(source_.operand(loop, 0)), b_.index(0));
    Nodes sizes;
    NodeId fits = loops_.less_equal(b_.index(kFewIterations), count);
    NodeId left = b_.index(cache_ / kBlock);
    for (const NodeId alloc : found.allocs) {
      sizes.push_back(outside(loop, source_.operand(alloc, 0)));
      fits = loops_.both(fits, loops_.both(loops_.less_equal(b_.index(0), sizes.back()),
                                           loops_.less_equal(sizes.back(), left)));
      left = loops_.subtract(left, loops_.minimum(sizes.back(), left));
    }
    for (const auto& [branch, arm] : found.arms) {
      const NodeId taken = outside(loop, source_.operand(NodeId(branch), 0));
      fits = loops_.both(fits, arm == 0 ? taken : b_.make(Op::invert, {taken}));
    }
    if (found.in_rows)
      for (const NodeId inner : found.counts)
        fits = loops_.both(fits, loops_.less_equal(outside(loop, inner), b_.index(kLongestRow)));
    const auto in_lanes = [&] {
      made_views_.clear();
      make_views(loop, Axis::OfLoop, found);
      make_views(loop, Axis::OfRows, found);
      // Each block makes its arrays, so that threads may share the blocks.
      const bool are_shared = ir::has_threads(ir::schedule_of(source_, loop));
      loops_.blocks(count, b_.index(kBlock), are_shared, [&](NodeId first, NodeId iterations) {
        for (size_t i = 0; i < sizes.size(); ++i) {
          const NodeId alloc = found.allocs[i];
          const Nodes bytes{loops_.multiply(sizes[i], b_.index(kBlock))};
          own_[alloc.index] = b_.make(Op::alloc, bytes, source_.attributes(alloc), source_.type(alloc));
        }
        make_elements(loop, found);
        make_views(loop, Axis::OfBlock, found);
        expanded_ = &found;
        write_block(loop, first, iterations);
        expanded_ = nullptr;
      });
      return Nodes();
    };
    loops_.branch(fits, {}, in_lanes, [&] { return clone(loop), Nodes(); });
    b_.set_span(location);
  }
  void make_views(NodeId loop, Axis wanted, const Expanded& found) {
    for (const auto& [view, axis] : found.views)
      if (axis == wanted && !elements_.contains(view)) make_view(loop, NodeId(view), axis, found);
  }
  /// Of an array that iterations see through different views, all elements are found in one: those of other
  /// iterations are seen to be others.
  void make_elements(NodeId loop, const Expanded& found) {
    elements_.clear();
    std::map<std::pair<uint32_t, base::DType>, NodeId> wholes;
    const auto is_other = [&](NodeId view, NodeId other) {
      return source_.operand(view, 0) == source_.operand(other, 0) && !is_alike(view, other);
    };
    for (const auto& [number, axis] : found.views) {
      const NodeId view(number);
      const bool differs = std::ranges::any_of(
          found.views, [&](const auto& other) { return is_other(view, NodeId(other.first)); });
      if (axis != Axis::OfBlock || !differs) continue;
      const base::DType dtype = source_.type(view).dtype();
      const auto size = static_cast<int64_t>(base::size_of(dtype));
      const NodeId alloc = source_.operand(view, 0);
      const auto [whole, is_new] = wholes.try_emplace({alloc.index, dtype});
      if (is_new) {
        const NodeId bytes = outside(loop, source_.operand(alloc, 0));
        const NodeId rows = b_.make(Op::floor_divide, {bytes, b_.index(size)});
        const Nodes lengths{rows, b_.index(kBlock)};
        const Nodes strides{b_.index(size * kBlock), b_.index(size)};
        whole->second = loops_.view(own_.at(alloc.index), b_.index(0), lengths, strides,
                                    Type::view(dtype, 2, source_.type(view).space()));
      }
      const auto rank = static_cast<size_t>(source_.type(view).rank());
      Elements& made = elements_[number];
      made = {whole->second, elements_in(loop, source_.operand(view, 1), size), {}};
      for (const NodeId stride : source_.operands(view).subspan(2 + rank))
        made.strides.push_back(elements_in(loop, stride, size));
    }
  }
  NodeId elements_in(NodeId loop, NodeId bytes, int64_t size) {
    if (source_.is_constant(bytes)) return b_.index(source_.constant(bytes).as<int64_t>() / size);
    const NodeId left = source_.operand(bytes, 0);
    const NodeId right = source_.operand(bytes, 1);
    if (source_.op(bytes) == Op::multiply) {
      const bool is_left = is_multiple(source_, left, size);
      return loops_.multiply(elements_in(loop, is_left ? left : right, size),
                             outside(loop, is_left ? right : left));
    }
    const NodeId a = elements_in(loop, left, size);
    const NodeId b = elements_in(loop, right, size);
    return source_.op(bytes) == Op::add ? loops_.add(a, b) : loops_.subtract(a, b);
  }
  void write_block(NodeId loop, NodeId first, NodeId iterations) {
    set_location(loop);
    const ir::SpanId location = b_.span();
    const NodeId made = b_.begin(Op::for_, {&iterations, 1}, source_.attributes(loop));
    lane_ = b_.enter(made, 0, std::array{ir::kInt64})[0];
    iteration_ = loops_.add(first, lane_);
    bind(source_.region_parameters(source_.region(loop))[0], iteration_);
    visit_body(source_.region(loop));
    b_.yield({});
    b_.set_span(location);
    b_.end(made);
    written_.push_back({loop, made});
  }

  void visit_inside(NodeId id) {
    const Op op = source_.op(id);
    if (op == Op::alloc) return bind(id, own_[id.index]);
    if (const auto taken = expanded_->arms.find(id.index); taken != expanded_->arms.end()) {
      const RegionId arm = source_.region(id, taken->second);
      visit_body(arm);
      const Nodes values = use_all(source_.operands(source_.terminator(arm)));
      for (size_t i = 0; i < values.size(); ++i) bind(source_.result(id, i), values[i]);
      return;
    }
    if (op == Op::view && elements_.contains(id.index)) return;
    if (op == Op::view && expanded_->views.contains(id.index)) return bind(id, made_views_.at(id.index));
    const bool is_access = op == Op::load || op == Op::store;
    if (!is_access || !expanded_->views.contains(source_.operand(id, 0).index)) return clone(id);
    const NodeId view = source_.operand(id, 0);
    if (const auto one = elements_.find(view.index); one != elements_.end()) {
      NodeId row = one->second.start;
      for (size_t i = 0; i < one->second.strides.size(); ++i)
        row = loops_.add(row, loops_.multiply(use(source_.operand(id, 1 + i)), one->second.strides[i]));
      Nodes place{one->second.whole, row, lane_};
      if (op == Op::store) place.push_back(use(source_.operands(id).back()));
      set_location(id);
      return bind(id, b_.make(op, place));
    }
    Nodes operands = use_all(source_.operands(id));
    const auto rank = static_cast<ptrdiff_t>(source_.type(view).rank());
    const Axis axis = expanded_->views.at(view.index);
    operands.insert(operands.begin() + 1 + (axis == Axis::OfRows ? 0 : rank),
                    axis == Axis::OfBlock ? lane_ : iteration_);
    set_location(id);
    bind(id, b_.make(op, operands));
  }
  /// Views of one array that differ in their first length alone become one: their elements can be compared.
  void make_view(NodeId loop, NodeId id, Axis axis, const Expanded& found) {
    const Type type = source_.type(id);
    const auto rank = static_cast<size_t>(type.rank());
    const auto operands = source_.operands(id);
    for (const auto& [other, made] : made_views_)
      if (is_alike(NodeId(other), id)) return void(made_views_[id.index] = made);
    if (axis == Axis::OfRows) return void(made_views_[id.index] = view_of_rows(loop, id));
    const bool of_block = axis == Axis::OfBlock;
    const NodeId block = b_.index(kBlock);
    const auto spread = [&](NodeId bytes) {
      const NodeId own = outside(loop, bytes);
      return of_block ? loops_.multiply(own, block) : own;
    };
    Nodes lengths;
    Nodes strides;
    for (const NodeId length : operands.subspan(2, rank)) lengths.push_back(outside(loop, length));
    for (const NodeId stride : operands.subspan(2 + rank)) strides.push_back(spread(stride));
    lengths.push_back(of_block ? block : use(source_.operand(loop, 0)));
    strides.push_back(b_.index(static_cast<int64_t>(base::size_of(type.dtype()))));
    const NodeId buffer = of_block ? own_.at(operands[0].index) : outside(loop, operands[0]);
    NodeId offset = b_.index(0);
    if (of_block) offset = spread(operands[1]);
    else if (found.offsets.at(id.index) != operands[1]) offset = outside(loop, found.offsets.at(id.index));
    made_views_[id.index] = loops_.view(buffer, offset, lengths, strides,
                                        Type::view(type.dtype(), static_cast<int>(rank) + 1, type.space()));
  }
  NodeId view_of_rows(NodeId loop, NodeId id) {
    const Type type = source_.type(id);
    const auto rank = static_cast<size_t>(type.rank());
    const auto operands = source_.operands(id);
    const auto [start, step] = parts_of(loop, operands[1]);
    Nodes lengths{use(source_.operand(loop, 0))};
    Nodes strides{step};
    for (const NodeId length : operands.subspan(2, rank)) lengths.push_back(outside(loop, length));
    for (const NodeId stride : operands.subspan(2 + rank)) strides.push_back(outside(loop, stride));
    return loops_.view(outside(loop, operands[0]), start, lengths, strides,
                       Type::view(type.dtype(), static_cast<int>(rank) + 1, type.space()));
  }
  /// What a number is in iteration 0, and by how much it grows with each one.
  std::pair<NodeId, NodeId> parts_of(NodeId loop, NodeId old) {
    if (old == source_.region_parameters(source_.region(loop))[0]) return {b_.index(0), b_.index(1)};
    if (!grows(loop, old)) return {outside(loop, old), b_.index(0)};
    const Op op = source_.op(old);
    const NodeId left = source_.operand(old, 0);
    const NodeId right = source_.operand(old, 1);
    const auto a = parts_of(loop, left);
    const auto b = parts_of(loop, right);
    if (op == Op::add) return {loops_.add(a.first, b.first), loops_.add(a.second, b.second)};
    if (op == Op::subtract) return {loops_.subtract(a.first, b.first), loops_.subtract(a.second, b.second)};
    const bool left_grows = grows(loop, left);
    const NodeId factor = left_grows ? b.first : a.first;
    return {loops_.multiply(a.first, b.first), loops_.multiply(left_grows ? a.second : b.second, factor)};
  }
  /// Whether a number is computed from that of the iteration.
  bool grows(NodeId loop, NodeId old) const {
    if (old == source_.region_parameters(source_.region(loop))[0]) return true;
    return source_.encloses(loop, old) &&
           std::ranges::any_of(source_.operands(old), [&](NodeId operand) { return grows(loop, operand); });
  }
  bool is_alike(NodeId view, NodeId other) const {
    if (source_.type(view) != source_.type(other)) return false;
    const auto a = source_.operands(view);
    const auto b = source_.operands(other);
    for (size_t i = 0; i < a.size(); ++i) {
      const bool are_constant = source_.is_constant(a[i]) && source_.is_constant(b[i]);
      const bool is_same = a[i] == b[i] || (are_constant && source_.constant(a[i]) == source_.constant(b[i]));
      if (!is_same && (i != 2 || source_.type(view).rank() == 0)) return false;
    }
    return true;
  }

  LoopWriter loops_;
  int64_t cache_;
  const std::vector<bool>& left_;  ///< by node: loops that are not taken
  std::vector<Written> written_;
  std::unordered_map<uint32_t, NodeId> outside_;
  std::unordered_map<uint32_t, NodeId> own_;  ///< by alloc of the source
  std::map<uint32_t, NodeId> made_views_;     ///< by view of the source
  struct Elements {
    NodeId whole;   ///< all rows of an array
    NodeId start;   ///< the first row of a view
    Nodes strides;  ///< ... and how many rows apart the next ones are
  };
  std::map<uint32_t, Elements> elements_;  ///< by view of the source, where it is one of several
  const Expanded* expanded_ = nullptr;     ///< the loop that is being written in lanes; null: none
  NodeId lane_;                            ///< the iteration of the block, and of the loop
  NodeId iteration_;
};

}  // namespace

std::unique_ptr<ir::Function> expand(const ir::Function& function, const base::Machine& machine) {
  std::vector<bool> left(function.node_count());
  for (;;) {
    Expander expander(function, machine, left);
    const std::unique_ptr<Function> made = expander.run();
    if (expander.written().empty()) return nullptr;
    const std::vector<bool> none(made->node_count());
    bool all = true;
    ir::Annotation annotation(*made);
    for (const Expander::Written& written : expander.written()) {
      if (!fits_lanes(*made, written.lanes, none)) all = !(left[written.loop.index] = true);
      annotation.set(written.lanes, 0, static_cast<int64_t>(ir::Schedule::Vector));
    }
    if (all) return annotation.finish();
  }
}

}  // namespace ingot::transform
