#include "transform/analyses/dependence.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ir/builder.h"
#include "ir/library.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/analyses/from_outside.h"
#include "transform/analyses/reductions.h"
#include "transform/analyses/selections.h"
#include "transform/analyses/two_iterations.h"

namespace ingot::transform {

namespace {

using ir::NodeId;
using ir::Op;
using ir::RegionId;
using ir::Type;

/// So many pairs of accesses are looked at more closely: in loops over `prange`, and in others.
constexpr int kMostPairs = 1000;
constexpr int kFewPairs = 60;
/// ... and so many steps of a proof.
constexpr int kMostSteps = 300;
constexpr int kFewSteps = 40;
/// Of all proofs about one loop, in polynomials looked at: some tenths of a second.
constexpr int64_t kMostEffort = 300'000;
/// ... about one load.
constexpr int64_t kLittleEffort = 100'000;

/// Without view: of memory that is not a view's.
struct Access : Touched {
  bool writes = false;
};

class RaceFinder {
 public:
  RaceFinder(const ir::Function& function, NodeId loop, std::span<const ir::Cursor> cursors, Carries carries)
      : f_(function),
        loop_(loop),
        iterations_{{function.region(loop)}, {loop}},
        cursors_(cursors),
        carries_(carries) {}
  RaceFinder(const ir::Function& function, std::span<const RegionId> around, std::span<const NodeId> loops)
      : f_(function), iterations_{{around.begin(), around.end()}, {loops.begin(), loops.end()}} {}

  /// Accumulations may conflict; those that may are put into `meeting`.
  void allow(std::vector<Accumulation>& meeting, Stores stores) {
    accumulations_ = accumulations_in(f_, loop_);
    meeting_ = &meeting;
    if (stores == Stores::Disjoint) return;
    ir::walk(f_, f_.region(loop_), [&](NodeId node) {
      if (f_.op(node) != Op::store || is_inside(f_.operand(node, 0))) return;
      if (std::ranges::count(accumulations_, node, &Accumulation::store) > 0) return;
      accumulations_.push_back({{}, node, f_.operand(node, 0), Op::constant, false});
    });
  }

  /// Numbers in tables are taken to differ; the tables are put there.
  void allow(std::vector<Table>& tables) {
    tables_ = &tables;
    for (Accumulation& each : accumulations_) each.exact = each.exact || each.extreme;
    const std::vector<Accumulation> extremes = extremes_in(f_, loop_);
    accumulations_.insert(accumulations_.end(), extremes.begin(), extremes.end());
  }
  /// Pairs whose order can be asked for before the loop are no conflict; they are put into `open`.
  void allow(std::vector<AccessPair>& open) { open_ = &open; }
  /// Accesses through one span are no conflict; spans are put there.
  void allow_spans(std::vector<NodeId>& spans) { spans_ = &spans; }
  /// Values from outside are taken to be at least 0, or 1; those that are needed to be so are put there.
  void assume(std::map<NodeId, int64_t>& assumed) { assumed_ = &assumed; }

  std::optional<Conflict> find() {
    if (auto conflict = collect(f_.region(loop_))) return conflict;
    if (auto conflict = carried_values()) return conflict;
    const auto schedule = ir::schedule_of(f_, loop_);
    if (ir::is_shown_independent(schedule)) return std::nullopt;
    if (!ir::has_threads(schedule)) return find_in_memory();
    // Most is shown with little effort, which takes less of it than another proof.
    if (RaceFinder(f_, loop_, cursors_, carries_).is_free_at_once()) return std::nullopt;
    pairs_ = kMostPairs;
    steps_ = kMostSteps;
    return find_in_memory();
  }
  bool reads_tables() const {
    return ir::any_within(f_, f_.region(loop_), [&](NodeId node) {
      return f_.op(node) == Op::load && base::is_int(f_.type(node).dtype()) && table_read_by(node);
    });
  }
  /// Whether a store is at an index that may come from a table.
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
  std::vector<NodeId> checks_of_tables(std::vector<Table>& tables, bool in_branches) {
    std::vector<NodeId> checks;
    if (collect(f_.region(loop_))) return checks;
    ir::walk(f_, f_.region(loop_), [&](NodeId node) {
      if (!in_branches && (f_.op(node) == Op::if_ || f_.op(node) == Op::block)) return ir::Walk::Past;
      if (f_.op(node) != Op::check) return ir::Walk::Into;
      std::vector<Table> own;
      if (!is_of_tables(f_.operand(node, 0), own) || own.empty()) return ir::Walk::Into;
      checks.push_back(node);
      for (const Table& table : own)
        if (std::ranges::find(tables, table) == tables.end()) tables.push_back(table);
      return ir::Walk::Into;
    });
    return checks;
  }
  std::optional<Table> table_of_number(NodeId node) {
    if (collect(f_.region(loop_))) return std::nullopt;
    return table_read_by(without_casts(node));
  }
  std::optional<Conflict> find_conflict_between() {
    for (const RegionId region : iterations_.around)
      if (auto conflict = collect(region)) return conflict;
    return find_in_memory();
  }
  /// Whether iterations may load one element.
  bool may_load_again(NodeId load) {
    add_accesses(load, false);
    steps_ = kMostSteps;
    effort_ = kLittleEffort;
    return may_meet(accesses_[0], accesses_[0]);
  }

 private:
  /// Whether few steps show that no two iterations touch the same memory, whatever the loop carries.
  bool is_free_at_once() { return !collect(f_.region(loop_)) && !find_in_memory(); }

  std::optional<Conflict> find_in_memory() {
    for (size_t i = 0; i < accesses_.size(); ++i) {
      for (size_t k = i; k < accesses_.size(); ++k) {
        const Access& a = accesses_[i];
        const Access& b = accesses_[k];
        if (!(a.writes || b.writes) || !may_meet(a, b) || store_alike(a, b) || named_or_added(a, b)) continue;
        if (are_in_span(a, b)) continue;
        if (!stays_open({a.node, b.node}))
          return Conflict{a.node, b.node, "iterations may touch the same element", Conflict::Kind::Elements};
      }
    }
    return std::nullopt;
  }

  bool stays_open(const AccessPair& pair) {
    if (open_ == nullptr || !can_ask_for_order(f_, loop_, pair)) return false;
    open_->push_back(pair);
    return true;
  }

  bool are_in_span(const Access& a, const Access& b) {
    const NodeId view = a.view;
    if (spans_ == nullptr || !view || view != b.view || f_.op(view) != Op::view || !is_inside(view))
      return false;
    const Type type = f_.type(view);
    if (type.rank() != 1 ||
        !is_number(f_.operand(view, 3), static_cast<int64_t>(base::size_of(type.dtype()))))
      return false;
    if (std::ranges::find(*spans_, view) == spans_->end()) spans_->push_back(view);
    return true;
  }
  bool is_asked() const { return loop_ && ir::has_threads(ir::schedule_of(f_, loop_)); }
  /// Rows at indices from a table are disjoint if the indices differ; else accumulations into them may
  /// conflict.
  bool named_or_added(const Access& a, const Access& b) {
    const bool are_rows = a.indices.size() != 1;
    return (are_rows && are_named(a, b)) || accumulate(a.node, b.node) || (!are_rows && are_named(a, b));
  }

  bool is_inside(NodeId node) const { return iterations_.encloses(f_, node); }

  std::optional<Conflict> carried_values() const {
    const auto parameters = f_.region_parameters(f_.region(loop_));
    const NodeId last = f_.terminator(f_.region(loop_));
    if (f_.op(last) == Op::raise || f_.op(last) == Op::unreachable) return std::nullopt;
    if (f_.op(last) != Op::yield) return leaving(last);
    if (carries_ == Carries::Ignored) return std::nullopt;
    std::vector<size_t> unknown;
    for (size_t i = 0; i + 1 < parameters.size(); ++i)
      if (std::ranges::count(cursors_, i, &ir::Cursor::slot) == 0 && !carried_of(f_, loop_, i))
        unknown.push_back(i);
    if (unknown.empty() || (is_asked() && selections_of(f_, loop_))) return std::nullopt;
    const NodeId carried = parameters[unknown[0] + 1];
    return Conflict{carried, made_of(f_.operand(last, unknown[0]), carried),
                    "an iteration uses what the one before gave", Conflict::Kind::Carried};
  }
  static Conflict leaving(NodeId node) {
    return {node, node, "an iteration leaves the loop", Conflict::Kind::Leaving};
  }
  /// What a carried value becomes, where branches and loops inside give it.
  NodeId made_of(NodeId value, NodeId carried, int steps = 8) const {
    if (f_.op(value) == Op::param || !is_inside(value) || steps == 0) return value;
    const bool is_result = f_.op(value) == Op::result;
    const NodeId giver = is_result ? f_.operand(value, 0) : value;
    const auto slot = is_result ? static_cast<size_t>(f_.attribute(value, 0)) : 0;
    std::vector<NodeId> given;
    if (f_.op(giver) == Op::select) given = {f_.operand(giver, 1), f_.operand(giver, 2)};
    for (size_t i = 0; i < f_[giver].region_count; ++i) {
      const NodeId last = f_.terminator(f_.region(giver, i));
      if (f_.op(last) == Op::yield && slot < f_.operands(last).size())
        given.push_back(f_.operand(last, slot));
    }
    for (const NodeId each : given) {
      const NodeId made = made_of(each, carried, steps - 1);
      if (f_.op(made) != Op::param && is_inside(made) && !f_.is_constant(made)) return made;
    }
    return value;
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
    if (f_.op(node) == Op::library && !routine_of(node).effects.any(ir::effect::Random)) {
      add_accesses_of_routine(node);
      return std::nullopt;
    }
    // In a loop over `prange`, what C's functions do is the user's business, but for memory that they are
    // given.
    const bool may_call = f_.op(node) == Op::c_call && is_asked();
    if (!may_call && effects.any(ir::effect::Host | ir::effect::Random | ir::effect::Sync))
      return Conflict{node, node, "its effects are seen outside in the order of the iterations",
                      effects.any(ir::effect::Random) ? Conflict::Kind::Drawing : Conflict::Kind::Other};
    if (effects.any(ir::effect::Exit) && leaves(node)) return leaving(node);
    if (effects.any(ir::effect::Read | ir::effect::Write)) add_accesses(node, effects.any(ir::effect::Write));
    return std::nullopt;
  }
  bool leaves(NodeId node) const {
    if (f_.op(node) == Op::raise) return false;  // ends the iteration with its exception
    if (f_.op(node) != Op::exit_) return true;
    return !is_inside(f_.operand(node, 0));
  }

  const ir::LibraryInfo& routine_of(NodeId node) const {
    const auto text = static_cast<uint32_t>(f_.attribute(node, 0));
    return *ir::find_library(f_.module().text(ir::TextId(text)));
  }
  /// A routine fills the last of its views, if it takes any.
  void add_accesses_of_routine(NodeId node) {
    const auto operands = f_.operands(node);
    for (const NodeId operand : operands)
      if (f_.type(operand).is_view())
        accesses_.push_back({{node, operand, {}, true}, operand == operands.back()});
  }
  void add_accesses(NodeId node, bool writes) {
    const auto operands = f_.operands(node);
    const auto is_scalar = [&](NodeId operand) { return f_.type(operand).is_scalar(); };
    const bool is_call = f_.op(node) == Op::call || f_.op(node) == Op::c_call;
    // A function that is given no memory works on its own.
    if (is_call && std::ranges::all_of(operands, is_scalar)) return;
    if (is_call) {
      for (const NodeId operand : operands) {
        if (f_.type(operand).is_view()) accesses_.push_back({{node, operand, {}, true}, writes});
        else if (!is_scalar(operand)) accesses_.push_back({{node, {}, {}, true}, writes});
      }
      return;
    }
    if (operands.empty() || !f_.type(operands[0]).is_view()) {
      accesses_.push_back({{node, {}, {}, true}, writes});
      return;
    }
    const auto rank = static_cast<size_t>(f_.type(operands[0]).rank());
    const Op op = f_.op(node);
    const bool by_element = op == Op::load || op == Op::store || op == Op::stream || op == Op::atomic ||
                            op == Op::atomic_load || op == Op::atomic_store;
    const auto indices = by_element ? operands.subspan(1, rank) : std::span<const NodeId>();
    accesses_.push_back({node, operands[0], indices, !by_element, writes});
    for (const NodeId other : operands.subspan(1))
      if (f_.type(other).is_view()) accesses_.push_back({{node, other, {}, true}, false});
  }

  /// Whether two accesses put what is the same in all iterations into one view: whichever comes last.
  bool store_alike(const Access& a, const Access& b) const {
    if (f_.op(a.node) != Op::store || f_.op(b.node) != Op::store || a.view != b.view) return false;
    const NodeId first = f_.operands(a.node).back();
    const NodeId second = f_.operands(b.node).back();
    if (f_.is_constant(first) && f_.is_constant(second)) return f_.constant(first) == f_.constant(second);
    return first == second && !is_inside(first);
  }

  /// Whether two accesses are of accumulations that may conflict.
  bool accumulate(NodeId a, NodeId b) {
    const auto of = [&](NodeId access) {
      return std::ranges::find_if(accumulations_, [&](const Accumulation& each) {
        return each.load == access || each.store == access;
      });
    };
    const auto first = of(a);
    const auto second = of(b);
    const bool both = first != accumulations_.end() && second != accumulations_.end() &&
                      whole_of(f_, first->view) == whole_of(f_, second->view) &&
                      first->combiner == second->combiner &&
                      first->extreme.has_value() == second->extreme.has_value();
    if (!both) return false;
    const bool are_alike =
        !first->extreme || comparison_of(*first->extreme) == comparison_of(*second->extreme);
    if (first->view != second->view || !are_alike) first->exact = second->exact = false;
    for (const auto& each : {first, second}) {
      const auto known = std::ranges::find(*meeting_, each->store, &Accumulation::store);
      if (known == meeting_->end()) meeting_->push_back(*each);
      else known->exact = each->exact;
    }
    return true;
  }

  /// Whether the accesses of two different iterations may be to one element.
  bool may_meet(const Access& a, const Access& b) {
    if (!a.view || !b.view) return a.view == b.view;
    if (is_own(a.view) && is_own(b.view)) return false;
    if (!may_overlap(f_, ir_root(a.view), ir_root(b.view))) return false;
    if (a.view != b.view && are_disjoint(a, b)) return false;
    for (const ir::Cursor& cursor : cursors_) {
      const bool are_at_cursor = ir::stores_at(f_, a.node, cursor) && ir::stores_at(f_, b.node, cursor);
      if (are_at_cursor && a.view == b.view) return false;
    }
    return !differ(a, b);
  }
  /// Whether something holds of two accesses in each two iterations.
  template <class Holds>
  bool in_all_iterations(const Access& a, const Access& b, Holds&& holds) {
    if (--pairs_ < 0) return false;
    using enum TwoIterations::Order;
    const auto in = [&](TwoIterations::Order order) {
      bool may_assume = false;
      bool may_assume_factors = false;
      const auto hold = [&](std::map<NodeId, int64_t>* assumed, bool factors) {
        TwoIterations both(f_, iterations_, order, TwoIterations::Facts::All, steps_, effort_);
        if (assumed != nullptr) both.assume(*assumed, factors);
        both.stand_at(a, b);
        const bool found = holds(both);
        may_assume = both.may_assume();
        may_assume_factors = both.may_assume_factors();
        return found;
      };
      if (hold(nullptr, false)) return true;
      for (const bool factors : {false, true}) {
        std::map<NodeId, int64_t> assumed;
        if (assumed_ == nullptr || !(factors ? may_assume_factors : may_assume)) break;
        if (!hold(&assumed, factors)) continue;
        for (const auto& [value, least] : assumed) {
          int64_t& known = assumed_->try_emplace(value, least).first->second;
          known = std::max(known, least);
        }
        return true;
      }
      return false;
    };
    if (!iterations_.encloses_in_iteration(f_, a.node) || !iterations_.encloses_in_iteration(f_, b.node))
      return in(Free);
    return in(Rising) && (a.node == b.node || in(Falling));
  }
  bool differ(const Access& a, const Access& b) {
    const bool are_elements = a.view == b.view && !a.whole && !b.whole && !is_inside(a.view);
    if (are_elements && iterations_.encloses_in_iteration(f_, a.node) &&
        iterations_.encloses_in_iteration(f_, b.node) && rising_.differ_along_any(a.indices, b.indices) &&
        falling_.differ_along_any(a.indices, b.indices))
      return true;
    return in_all_iterations(a, b, [&](TwoIterations& both) { return both.differ(a, b); });
  }
  bool differ_along_any(const Access& a, const Access& b, std::span<const NodeId> first,
                        std::span<const NodeId> second) {
    return in_all_iterations(a, b, [&](TwoIterations& both) { return both.differ_along_any(first, second); });
  }
  /// Whether the indices of two accesses along an axis are from one table.
  bool are_named(const Access& a, const Access& b) {
    if (tables_ == nullptr || !a.view || !b.view) return false;
    const auto first = location_of(a);
    const auto second = location_of(b);
    if (!first || !second || first->base != second->base) return false;
    for (size_t axis = 0; axis < first->indices.size(); ++axis) {
      if (!first->indices[axis] || !second->indices[axis]) continue;
      auto table = table_of(first->indices[axis]);
      if (!table || table != table_of(second->indices[axis])) continue;
      table->named = first->base;
      table->axis = axis;
      if (std::ranges::find(*tables_, *table) == tables_->end()) tables_->push_back(*table);
      return true;
    }
    return false;
  }
  /// The view from outside that an access touches a part of, and its index there along each axis along which
  /// it touches one element, as far as that is known.
  struct Location {
    NodeId base;
    std::vector<NodeId> indices;
  };
  std::optional<Location> location_of(const Access& access) const {
    Location position{access.view, {access.indices.begin(), access.indices.end()}};
    position.indices.resize(static_cast<size_t>(f_.type(access.view).rank()));
    for (; is_inside(position.base); position.base = f_.operand(position.base, 0)) {
      const NodeId view = position.base;
      auto& indices = position.indices;
      const auto at = [&](int64_t axis) { return indices.begin() + static_cast<ptrdiff_t>(axis); };
      if (f_.op(view) == Op::slice) {
        for (size_t axis = 0; axis < indices.size(); ++axis) {
          const auto part = f_.operands(view).subspan(1 + 3 * axis, 3);
          if (is_number(part[1], 1)) indices[axis] = part[0];
          else if (!is_number(part[0], 0) || !is_number(part[2], 1)) indices[axis] = {};
        }
      } else if (f_.op(view) == Op::squeeze) {
        for (const int64_t axis : f_.ints(view)) indices.insert(at(axis), NodeId());
      } else if (f_.op(view) == Op::transpose) {
        std::vector<NodeId> before(indices.size());
        for (size_t axis = 0; axis < indices.size(); ++axis)
          before[static_cast<size_t>(f_.ints(view)[axis])] = indices[axis];
        indices = std::move(before);
      } else {
        return std::nullopt;
      }
    }
    return position;
  }
  bool is_number(NodeId node, int64_t number) const {
    return f_.is_constant(node) && f_.constant(node).as<int64_t>() == number;
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
    return table_read_by(index);
  }
  std::optional<Table> table_read_by(NodeId index) const {
    if (f_.op(index) != Op::load || !is_inside(index)) return std::nullopt;
    const NodeId view = f_.operand(index, 0);
    if (is_inside(view) || f_.type(view).rank() != 1) return std::nullopt;
    Table found{view, {}, 0, {}, 0};
    bool counts = false;
    if (!add_place(f_.operand(index, 1), found, counts) || !counts) return std::nullopt;
    std::ranges::sort(found.bases);
    const bool is_written = std::ranges::any_of(accesses_, [&](const Access& access) {
      return access.writes && (!access.view || may_overlap(f_, ir_root(access.view), ir_root(view)));
    });
    return is_written ? std::nullopt : std::optional(std::move(found));
  }
  /// Whether a value is computed from numbers of tables, constants and values from outside.
  bool is_of_tables(NodeId value, std::vector<Table>& tables) const {
    FromOutside is_known(f_, [&](NodeId part) {
      const Origin origin = origin_in(f_, loop_, part);
      if (origin == Origin::Outside) return origin;
      if (auto table = table_read_by(part)) {
        tables.push_back(std::move(*table));
        return Origin::Outside;
      }
      return f_.type(part).is_scalar() ? origin : Origin::Inside;
    });
    return is_known(value);
  }
  /// The iteration's number, once, values from outside and constants.
  bool add_place(NodeId index, Table& position, bool& counts) const {
    if (iterations_.is_index(f_, index)) return !std::exchange(counts, true);
    if (f_.is_constant(index))
      return !__builtin_add_overflow(position.constant, f_.constant(index).as<int64_t>(), &position.constant);
    if (!is_inside(index)) {
      position.bases.push_back(index);
      return true;
    }
    return f_.op(index) == Op::add && add_place(f_.operand(index, 0), position, counts) &&
           add_place(f_.operand(index, 1), position, counts);
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
  bool are_disjoint(const Access& a, const Access& b) {
    if (a.whole || b.whole || is_inside(a.view) || is_inside(b.view)) return false;
    const auto x = element_of(f_, a.view, a.indices);
    const auto y = element_of(f_, b.view, b.indices);
    if (x && y && x->is_of_the_axes_of(*y) && differ_along_any(a, b, x->indices, y->indices)) return true;
    const size_t axes = axes_of_records(f_, a.view, b.view);
    return axes > 0 && differ_along_any(a, b, a.indices.first(axes), b.indices.first(axes));
  }
  Root ir_root(NodeId view) const { return root_of(f_, view); }
  /// Memory that the iteration has made.
  bool is_own(NodeId view) const {
    const auto origins = origins_of(f_, view);
    return origins && std::ranges::all_of(*origins, [&](const Root& root) {
             return root.kind == Root::Kind::Fresh &&
                    iterations_.encloses_in_iteration(f_, NodeId(root.number));
           });
  }

  const ir::Function& f_;
  NodeId loop_;
  Iterations iterations_;
  /// What is quickly seen.
  int64_t effort_ = kMostEffort;
  TwoIterations rising_{f_,        iterations_, TwoIterations::Order::Rising, TwoIterations::Facts::None,
                        kFewSteps, effort_};
  TwoIterations falling_{f_,        iterations_, TwoIterations::Order::Falling, TwoIterations::Facts::None,
                         kFewSteps, effort_};
  int pairs_ = kFewPairs;
  int steps_ = kFewSteps;
  std::span<const ir::Cursor> cursors_;
  Carries carries_ = Carries::Checked;
  std::vector<Access> accesses_;
  std::vector<Accumulation> accumulations_;
  std::vector<Accumulation>* meeting_ = nullptr;
  std::vector<Table>* tables_ = nullptr;
  std::map<NodeId, int64_t>* assumed_ = nullptr;
  std::vector<AccessPair>* open_ = nullptr;
  std::vector<NodeId>* spans_ = nullptr;
};

}  // namespace

std::optional<Conflict> find_race(const ir::Function& function, ir::NodeId loop,
                                  std::span<const ir::Cursor> cursors, Carries carries) {
  INGOT_ASSERT(function.op(loop) == ir::Op::for_, "find_race is of a for");
  return RaceFinder(function, loop, cursors, carries).find();
}

std::optional<Conflict> find_race(const ir::Function& function, ir::NodeId loop,
                                  std::vector<Accumulation>& meeting, std::vector<Table>& tables,
                                  std::map<ir::NodeId, int64_t>* assumed) {
  RaceFinder finder(function, loop, {}, Carries::Checked);
  finder.allow(meeting, Stores::Disjoint);
  finder.allow(tables);
  if (assumed != nullptr) finder.assume(*assumed);
  return finder.find();
}

std::optional<Conflict> find_race(const ir::Function& function, ir::NodeId loop,
                                  std::vector<AccessPair>& open) {
  RaceFinder finder(function, loop, {}, Carries::Checked);
  finder.allow(open);
  return finder.find();
}

std::optional<Conflict> find_race_but_in_spans(const ir::Function& function, ir::NodeId loop,
                                               std::vector<NodeId>& spans) {
  RaceFinder finder(function, loop, {}, Carries::Checked);
  finder.allow_spans(spans);
  return finder.find();
}

std::vector<NodeId> checks_of_tables(const ir::Function& function, ir::NodeId loop,
                                     std::vector<Table>& tables, bool in_branches) {
  return RaceFinder(function, loop, {}, Carries::Ignored).checks_of_tables(tables, in_branches);
}

std::optional<Table> table_of_number(const ir::Function& function, ir::NodeId loop, ir::NodeId node) {
  return RaceFinder(function, loop, {}, Carries::Ignored).table_of_number(node);
}

bool reads_tables(const ir::Function& function, ir::NodeId loop) {
  return RaceFinder(function, loop, {}, Carries::Ignored).reads_tables();
}

bool stores_by_table(const ir::Function& function, ir::NodeId loop) {
  return RaceFinder(function, loop, {}, Carries::Checked).stores_by_table();
}

std::optional<Conflict> find_conflict_between(const ir::Function& function,
                                              std::span<const ir::RegionId> around,
                                              std::span<const ir::NodeId> loops) {
  return RaceFinder(function, around, loops).find_conflict_between();
}

bool may_load_again(const ir::Function& function, ir::NodeId loop, ir::NodeId load) {
  return RaceFinder(function, std::array{function.region(loop)}, std::array{loop}).may_load_again(load);
}

std::optional<Conflict> find_race(const ir::Function& function, ir::NodeId loop,
                                  std::vector<Accumulation>& meeting, Stores stores) {
  RaceFinder finder(function, loop, {}, Carries::Checked);
  finder.allow(meeting, stores);
  return finder.find();
}

}  // namespace ingot::transform
