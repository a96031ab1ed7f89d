#include "transform/dependence.h"

#include <algorithm>
#include <cstdlib>

#include "ir/builder.h"
#include "ir/walk.h"
#include "transform/alias.h"
#include "transform/ranges.h"
#include "transform/reductions.h"

namespace ingot::transform {

namespace {

using ir::NodeId;
using ir::Op;
using ir::RegionId;

/// `scale` * the loop's index + bases + constant, or up to `spread` more; the bases are values from outside
/// the loop, in order, or none.
struct Affine {
  int64_t scale = 0;
  std::vector<NodeId> bases;
  int64_t constant = 0;
  int64_t spread = 0;
  bool operator==(const Affine&) const = default;
};

struct Access {
  NodeId node;
  NodeId view;  ///< none: of memory that is not a view's
  std::span<const NodeId> indices;
  bool whole = false;  ///< all elements of the view
  bool writes = false;
};

class RaceFinder {
 public:
  RaceFinder(const ir::Function& function, NodeId loop, std::span<const ir::Cursor> cursors, Carries carries)
      : f_(function),
        loop_(loop),
        around_{function.region(loop)},
        loops_{loop},
        cursors_(cursors),
        carries_(carries) {}
  RaceFinder(const ir::Function& function, std::span<const RegionId> around, std::span<const NodeId> loops)
      : f_(function), around_(around.begin(), around.end()), loops_(loops.begin(), loops.end()) {}

  /// Accumulations may meet; those that may are put there.
  void allow(std::vector<Accumulation>& meeting, Stores stores) {
    accumulations_ = accumulations_in(f_, loop_);
    meeting_ = &meeting;
    if (stores == Stores::Apart) return;
    ir::walk(f_, f_.region(loop_), [&](NodeId node) {
      if (f_.op(node) != Op::store || is_inside(f_.operand(node, 0))) return;
      if (std::ranges::count(accumulations_, node, &Accumulation::store) > 0) return;
      accumulations_.push_back({{}, node, f_.operand(node, 0), Op::constant, false});
    });
  }

  /// Numbers in tables are taken to differ; the tables are put there.
  void allow(std::vector<Table>& tables) { tables_ = &tables; }

  std::optional<Conflict> find() {
    if (auto conflict = carried_values()) return conflict;
    if (auto conflict = collect(f_.region(loop_))) return conflict;
    const auto schedule = static_cast<ir::Schedule>(f_.attribute(loop_, 0));
    if (schedule == ir::Schedule::Independent) return std::nullopt;
    return find_in_memory();
  }
  /// Whether a store is at a place that a table may name.
  bool stores_by_table() {
    bool any = false;
    ir::walk(f_, f_.region(loop_), [&](NodeId node) {
      const bool stores = f_.op(node) == Op::store || f_.op(node) == Op::stream;
      if (!stores || any) return;
      const auto rank = static_cast<size_t>(f_.type(f_.operand(node, 0)).rank());
      for (const NodeId index : f_.operands(node).subspan(1, rank)) any = any || table_of(index).has_value();
    });
    return any;
  }
  std::optional<Conflict> find_meeting() {
    for (const RegionId region : around_)
      if (auto conflict = collect(region)) return conflict;
    return find_in_memory();
  }

 private:
  std::optional<Conflict> find_in_memory() {
    for (size_t i = 0; i < accesses_.size(); ++i) {
      for (size_t k = i; k < accesses_.size(); ++k) {
        const Access& a = accesses_[i];
        const Access& b = accesses_[k];
        if ((a.writes || b.writes) && may_meet(a, b) && !store_alike(a, b) && !accumulate(a.node, b.node))
          return Conflict{a.node, b.node, "iterations may touch the same element"};
      }
    }
    return std::nullopt;
  }

  bool is_asked() const {
    return loop_ && ir::has_threads(static_cast<ir::Schedule>(f_.attribute(loop_, 0)));
  }
  bool is_inside(NodeId node) const {
    return std::ranges::any_of(around_,
                               [&](RegionId region) { return f_.encloses(region, f_[node].parent); });
  }
  bool is_in_turn(NodeId node) const {
    return std::ranges::any_of(loops_,
                               [&](NodeId loop) { return f_.encloses(f_.region(loop), f_[node].parent); });
  }
  bool is_index(NodeId node) const {
    return std::ranges::any_of(loops_,
                               [&](NodeId loop) { return f_.region_parameters(f_.region(loop))[0] == node; });
  }

  std::optional<Conflict> carried_values() const {
    const auto parameters = f_.region_parameters(f_.region(loop_));
    const NodeId last = f_.terminator(f_.region(loop_));
    if (f_.op(last) == Op::raise || f_.op(last) == Op::unreachable) return std::nullopt;
    if (f_.op(last) != Op::yield) return Conflict{last, last, "an iteration leaves the loop"};
    for (size_t i = 1; carries_ == Carries::Checked && i < parameters.size(); ++i) {
      if (std::ranges::count(cursors_, i - 1, &ir::Cursor::slot) > 0) continue;
      if (!carried_of(f_, loop_, i - 1))
        return Conflict{parameters[i], f_.operand(last, i - 1), "an iteration uses what the one before gave"};
    }
    return std::nullopt;
  }

  std::optional<Conflict> collect(RegionId region) {
    std::optional<Conflict> conflict;
    ir::walk(f_, region, [&](NodeId node) {
      conflict = collect(node);
      return conflict ? ir::Walk::Stop : ir::Walk::Into;
    });
    return conflict;
  }
  std::optional<Conflict> collect(NodeId node) {
    const ir::Effects card = ir::info(f_.op(node)).effects;
    if (card.any(ir::effect::Control)) return std::nullopt;
    const ir::Effects effects = ir::effects_of(f_, node);
    // In a loop over `prange`, what C's functions do is the user's business, but for memory that they are
    // given.
    const bool may_call = f_.op(node) == Op::c_call && is_asked();
    if (!may_call && effects.any(ir::effect::Host | ir::effect::Random | ir::effect::Sync))
      return Conflict{node, node, "its effects are seen outside in the order of the iterations"};
    if (effects.any(ir::effect::Exit) && leaves(node))
      return Conflict{node, node, "an iteration leaves the loop"};
    if (effects.any(ir::effect::Read | ir::effect::Write)) add_accesses(node, effects.any(ir::effect::Write));
    return std::nullopt;
  }
  bool leaves(NodeId node) const {
    if (f_.op(node) == Op::raise) return false;  // ends the turn with its exception
    if (f_.op(node) != Op::exit_) return true;
    return !is_inside(f_.operand(node, 0));
  }

  void add_accesses(NodeId node, bool writes) {
    const auto operands = f_.operands(node);
    const auto is_scalar = [&](NodeId operand) { return f_.type(operand).is_scalar(); };
    const bool is_call = f_.op(node) == Op::call || f_.op(node) == Op::c_call;
    // A function that is given no memory works on its own.
    if (is_call && std::ranges::all_of(operands, is_scalar)) return;
    if (is_call) {
      for (const NodeId operand : operands) {
        if (f_.type(operand).is_view()) accesses_.push_back({node, operand, {}, true, writes});
        else if (!is_scalar(operand)) accesses_.push_back({node, {}, {}, true, writes});
      }
      return;
    }
    if (operands.empty() || !f_.type(operands[0]).is_view()) {
      accesses_.push_back({node, {}, {}, true, writes});
      return;
    }
    const auto rank = static_cast<size_t>(f_.type(operands[0]).rank());
    const Op op = f_.op(node);
    const bool by_element = op == Op::load || op == Op::store || op == Op::stream || op == Op::atomic;
    const auto indices = by_element ? operands.subspan(1, rank) : std::span<const NodeId>();
    accesses_.push_back({node, operands[0], indices, !by_element, writes});
    for (const NodeId other : operands.subspan(1))
      if (f_.type(other).is_view()) accesses_.push_back({node, other, {}, true, false});
  }

  static std::optional<int64_t> sum(int64_t a, int64_t b) {
    int64_t both = 0;
    if (__builtin_add_overflow(a, b, &both)) return std::nullopt;
    return both;
  }
  std::optional<Affine> affine(NodeId node) const {
    if (is_index(node)) return Affine{1, {}, 0};
    if (f_.is_constant(node)) return Affine{0, {}, f_.constant(node).as<int64_t>()};
    if (!is_inside(node)) return Affine{0, {node}, 0};
    if (const auto most = most_of_index(node)) return Affine{0, {}, 0, *most};
    const Op op = f_.op(node);
    if (op == Op::select) return wrapped_index(node);
    if (op != Op::add && op != Op::subtract && op != Op::multiply) return std::nullopt;
    const auto a = affine(f_.operand(node, 0));
    const auto b = affine(f_.operand(node, 1));
    if (!a || !b) return std::nullopt;
    if (op == Op::multiply) return product(*a, *b);
    const int64_t sign = op == Op::add ? 1 : -1;
    if (sign < 0 && (!b->bases.empty() || b->spread > 0)) return std::nullopt;
    std::vector<NodeId> bases = a->bases;
    bases.insert(bases.end(), b->bases.begin(), b->bases.end());
    std::ranges::sort(bases);
    const auto scale = sum(a->scale, sign * b->scale);
    const auto constant = sum(a->constant, sign * b->constant);
    const auto spread = sum(a->spread, b->spread);
    if (!scale || !constant || !spread) return std::nullopt;
    return Affine{*scale, std::move(bases), *constant, *spread};
  }
  /// The largest index of a loop inside, whose count is known to be at most some constant.
  std::optional<int64_t> most_of_index(NodeId node) const {
    if (f_.op(node) != Op::param) return std::nullopt;
    const NodeId loop = f_[f_[node].parent].owner;
    if (f_.op(loop) != Op::for_ || f_.region_parameters(f_[node].parent)[0] != node) return std::nullopt;
    NodeId count = f_.operand(loop, 0);
    if (f_.op(count) == Op::minimum) count = f_.operand(count, f_.is_constant(f_.operand(count, 0)) ? 0 : 1);
    if (!f_.is_constant(count)) return std::nullopt;
    return std::max<int64_t>(f_.constant(count).as<int64_t>(), 1) - 1;
  }
  /// select(i < 0, ..., i): i, if that is never negative.
  std::optional<Affine> wrapped_index(NodeId node) const {
    const NodeId condition = f_.operand(node, 0);
    const NodeId plain = f_.operand(node, 2);
    if (f_.op(condition) != Op::less || f_.operand(condition, 0) != plain) return std::nullopt;
    const NodeId zero = f_.operand(condition, 1);
    const auto i = affine(plain);
    const bool natural = i && i->scale >= 0 && i->constant >= 0 &&
                         std::ranges::all_of(i->bases, [&](NodeId base) { return is_natural(f_, base); });
    return natural && f_.is_constant(zero) && f_.constant(zero).as<int64_t>() == 0 ? i : std::nullopt;
  }
  static std::optional<Affine> product(const Affine& a, const Affine& b) {
    if (!a.bases.empty() || !b.bases.empty() || (a.scale != 0 && b.scale != 0)) return std::nullopt;
    if (a.spread > 0 || b.spread > 0) return std::nullopt;
    const Affine& x = a.scale != 0 ? a : b;
    const int64_t factor = a.scale != 0 ? b.constant : a.constant;
    Affine made;
    if (__builtin_mul_overflow(x.scale, factor, &made.scale) ||
        __builtin_mul_overflow(x.constant, factor, &made.constant))
      return std::nullopt;
    return made;
  }

  /// Whether two accesses put what is the same in all turns into one view: whichever comes last.
  bool store_alike(const Access& a, const Access& b) const {
    if (f_.op(a.node) != Op::store || f_.op(b.node) != Op::store || a.view != b.view) return false;
    const NodeId first = f_.operands(a.node).back();
    const NodeId second = f_.operands(b.node).back();
    if (f_.is_constant(first) && f_.is_constant(second)) return f_.constant(first) == f_.constant(second);
    return first == second && !is_inside(first);
  }

  /// Whether two accesses are of accumulations that may meet.
  bool accumulate(NodeId a, NodeId b) {
    const auto of = [&](NodeId access) {
      return std::ranges::find_if(accumulations_, [&](const Accumulation& each) {
        return each.load == access || each.store == access;
      });
    };
    const auto first = of(a);
    const auto second = of(b);
    const bool both = first != accumulations_.end() && second != accumulations_.end() &&
                      first->view == second->view && first->combiner == second->combiner;
    if (!both) return false;
    for (const auto& each : {first, second})
      if (std::ranges::count(*meeting_, each->store, &Accumulation::store) == 0) meeting_->push_back(*each);
    return true;
  }

  /// Whether the accesses of two different turns may be to one element.
  bool may_meet(const Access& a, const Access& b) const {
    if (!a.view || !b.view) return a.view == b.view;
    if (is_own(a.view) && is_own(b.view)) return false;
    if (!may_overlap(f_, ir_root(a.view), ir_root(b.view))) return false;
    if (a.view != b.view && are_apart(a, b)) return false;
    if (is_of_row(a, b) || is_of_row(b, a)) return false;
    if (a.view != b.view || is_inside(a.view)) return !is_row(a.view) || !same_row(a.view, b.view);
    if (a.whole || b.whole) return true;
    for (const ir::Cursor& cursor : cursors_)
      if (ir::stores_at(f_, a.node, cursor) && ir::stores_at(f_, b.node, cursor)) return false;
    return !differ(a.indices, b.indices);
  }
  /// Whether turns have indices of their own along an axis.
  bool differ(std::span<const NodeId> a, std::span<const NodeId> b) const {
    for (size_t axis = 0; axis < a.size(); ++axis) {
      const auto i = affine(a[axis]);
      const auto k = affine(b[axis]);
      if (i && k && *i == *k && std::abs(i->scale) > i->spread) return true;
    }
    for (size_t axis = 0; tables_ != nullptr && a.size() > 1 && axis < a.size(); ++axis) {
      const auto table = table_of(a[axis]);
      if (!table || table != table_of(b[axis])) continue;
      if (std::ranges::find(*tables_, *table) == tables_->end()) tables_->push_back(*table);
      return true;
    }
    return false;
  }
  /// The table that gives an index, counted from the end where it is negative.
  std::optional<Table> table_of(NodeId index) const {
    while (is_wide_cast(index) || f_.op(index) == Op::select) {
      const bool is_select = f_.op(index) == Op::select;
      const NodeId plain = f_.operand(index, is_select ? 2 : 0);
      const NodeId condition = f_.operand(index, 0);
      const bool is_wrapped = is_select && f_.op(condition) == Op::less &&
                              is_zero(f_.operand(condition, 1)) &&
                              without_casts(f_.operand(condition, 0)) == without_casts(plain);
      if (is_select ? !is_wrapped : !base::is_int(f_.type(plain).dtype())) return std::nullopt;
      index = plain;
    }
    if (f_.op(index) != Op::load || !is_inside(index)) return std::nullopt;
    const NodeId view = f_.operand(index, 0);
    const auto place = f_.type(view).rank() == 1 ? affine(f_.operand(index, 1)) : std::nullopt;
    if (is_inside(view) || !place || place->scale != 1 || place->spread > 0) return std::nullopt;
    const bool is_written = std::ranges::any_of(accesses_, [&](const Access& access) {
      return access.writes && (!access.view || may_overlap(f_, ir_root(access.view), ir_root(view)));
    });
    return is_written ? std::nullopt : std::optional(Table{view, place->bases, place->constant});
  }
  bool is_zero(NodeId node) const { return f_.is_constant(node) && f_.constant(node).bits[0] == 0; }
  NodeId without_casts(NodeId node) const {
    while (is_wide_cast(node)) node = f_.operand(node, 0);
    return node;
  }
  /// A cast that leaves the numbers of a table as they are: those that may be looked at fit into 32 bits.
  bool is_wide_cast(NodeId node) const {
    return f_.op(node) == Op::cast && base::is_int(f_.type(node).dtype()) &&
           base::size_of(f_.type(node).dtype()) >= 4;
  }
  /// ... of two views that are parts of one buffer alike, or fields of the same records.
  bool are_apart(const Access& a, const Access& b) const {
    if (a.whole || b.whole || is_inside(a.view) || is_inside(b.view)) return false;
    const auto x = element_of(f_, a.view, a.indices);
    const auto y = element_of(f_, b.view, b.indices);
    if (x && y && x->is_of_the_axes_of(*y) && differ(x->indices, y->indices)) return true;
    const size_t axes = axes_of_records(f_, a.view, b.view);
    return axes > 0 && differ(a.indices.first(axes), b.indices.first(axes));
  }
  Root ir_root(NodeId view) const { return root_of(f_, view); }
  /// Memory that the turn has made.
  bool is_own(NodeId view) const {
    const Root root = ir_root(view);
    return root.kind == Root::Kind::Fresh && is_in_turn(NodeId(root.number));
  }

  /// A slice of a view from outside that holds one place along an axis, another one in each turn.
  bool is_row(NodeId view) const {
    return f_.op(base_of_row(view)) == Op::slice && row_axis(view).has_value();
  }
  NodeId base_of_row(NodeId view) const {
    while (f_.op(view) == Op::squeeze || f_.op(view) == Op::expand || f_.op(view) == Op::transpose)
      view = f_.operand(view, 0);
    return view;
  }
  std::optional<std::pair<size_t, Affine>> row_axis(NodeId view) const {
    const NodeId slice = base_of_row(view);
    if (f_.op(slice) != Op::slice || is_inside(f_.operand(slice, 0))) return std::nullopt;
    for (size_t axis = 0; axis < static_cast<size_t>(f_.type(slice).rank()); ++axis) {
      const auto start = affine(f_.operand(slice, 1 + 3 * axis));
      const auto count = affine(f_.operand(slice, 2 + 3 * axis));
      if (start && start->scale != 0 && start->spread == 0 && count == Affine{0, {}, 1})
        return std::pair(axis, *start);
    }
    return std::nullopt;
  }
  /// Whether an element of the whole view lies in the row of the same turn.
  bool is_of_row(const Access& row, const Access& element) const {
    if (element.whole || !row.view || f_.op(base_of_row(row.view)) != Op::slice) return false;
    const auto axis = row_axis(row.view);
    if (!axis || f_.operand(base_of_row(row.view), 0) != element.view) return false;
    return affine(element.indices[axis->first]) == axis->second;
  }
  bool same_row(NodeId a, NodeId b) const {
    const auto x = row_axis(a);
    return x == row_axis(b) && f_.operand(base_of_row(a), 0) == f_.operand(base_of_row(b), 0);
  }

  const ir::Function& f_;
  NodeId loop_;
  std::vector<RegionId> around_;  ///< in which everything is looked at
  std::vector<NodeId> loops_;     ///< whose numbers of turns tell apart
  std::span<const ir::Cursor> cursors_;
  Carries carries_ = Carries::Checked;
  std::vector<Access> accesses_;
  std::vector<Accumulation> accumulations_;
  std::vector<Accumulation>* meeting_ = nullptr;
  std::vector<Table>* tables_ = nullptr;
};

}  // namespace

std::optional<Conflict> find_race(const ir::Function& function, ir::NodeId loop,
                                  std::span<const ir::Cursor> cursors, Carries carries) {
  INGOT_ASSERT(function.op(loop) == ir::Op::for_, "find_race is of a for");
  return RaceFinder(function, loop, cursors, carries).find();
}

std::optional<Conflict> find_race(const ir::Function& function, ir::NodeId loop,
                                  std::vector<Accumulation>& meeting, std::vector<Table>& tables) {
  RaceFinder finder(function, loop, {}, Carries::Checked);
  finder.allow(meeting, Stores::Apart);
  finder.allow(tables);
  return finder.find();
}

bool stores_by_table(const ir::Function& function, ir::NodeId loop) {
  return RaceFinder(function, loop, {}, Carries::Checked).stores_by_table();
}

std::optional<Conflict> find_meeting(const ir::Function& function, std::span<const ir::RegionId> around,
                                     std::span<const ir::NodeId> loops) {
  return RaceFinder(function, around, loops).find_meeting();
}

std::optional<Conflict> find_race(const ir::Function& function, ir::NodeId loop,
                                  std::vector<Accumulation>& meeting, Stores stores) {
  RaceFinder finder(function, loop, {}, Carries::Checked);
  finder.allow(meeting, stores);
  return finder.find();
}

}  // namespace ingot::transform
