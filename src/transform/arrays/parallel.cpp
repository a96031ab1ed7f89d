// Parallel loops. What a loop over `prange` carries is made a reduction as soon as the frontend is done, so
// that interpreter and compiled code have one order by construction: `carried_of` finds how the iterations
// use each value, `find_race` refuses what it does not know. An iteration yields its contribution where a
// neutral number replaces the carried value: the identity, or for `if x > m: m = x` what is below all
// numbers, which drops NaN too; which of two zeros is kept is the smallest of 2 * iteration + sign over the
// iterations that have a zero. Counts are taken from 0 and added to what was there with one check. All this
// goes through loops inside an iteration. Python ints that are summed otherwise keep their loop serial. For
// `m = max(x, m)`, by which NaN stays until the next iteration, the loop runs once more, in order, where a
// NaN comes out of it. Accumulations into elements that iterations may share
// (`transform/analyses/accumulations`) are no race. Where every order gives the same value, up to 16 pieces
// of the range have copies of the array, of at least four iterations for an element, and are combined with it
// at the end; those of floats keep the loop serial, as their values would depend on the cut. What is selected
// by a comparison (`transform/analyses/selections`) goes through such pieces, too: each begins with the
// initial values of the loop, and the pieces' extremes are selected in order.

#include "transform/arrays/parallel.h"

#include <algorithm>
#include <limits>
#include <map>

#include "ir/evaluate.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/activity.h"
#include "transform/analyses/dependence.h"
#include "transform/analyses/races.h"
#include "transform/analyses/reductions.h"
#include "transform/analyses/selections.h"
#include "transform/functions/inline.h"
#include "transform/functions/simplify.h"
#include "transform/writers/loop_writer.h"
#include "transform/writers/parallel_writer.h"

namespace ingot::transform {

namespace {

class Parallelizer : public ParallelWriter {
 public:
  Parallelizer(const Function& source, bool only_sums)
      : ParallelWriter(source), only_sums_(only_sums), loops_(b_) {}

 protected:
  void visit(NodeId id) override {
    if (is_contribution(id) || is_redirected(id)) return;
    if (!is_over_prange(source_, id)) return clone(id);
    in_order_ = {};
    Found found;
    std::map<NodeId, int64_t> assumed;
    const bool races = find_race(source_, id, found.meeting, found.tables, &assumed).has_value();
    found.carried = carried_by(id);
    found.is_independent = !races && found.tables.empty() && found.meeting.empty();
    if (only_sums_ &&
        (!found.is_independent || !assumed.empty() || !are_sums(id, found.carried) || has_marks(id)))
      return clone(id);
    if (assumed.empty()) return write(id, found);
    // What the iterations were shown to be independent by is looked at when the loop is entered.
    NodeId natural = loops_.truth(true);
    for (const auto& [value, least] : assumed)
      natural = loops_.both(natural, loops_.less_equal(b_.index(least), use(value)));
    const Nodes results = source_.results_of(id);
    std::vector<Type> types;
    for (const NodeId result : results) types.push_back(source_.type(result));
    const auto at_once = [&] {
      write(id, found);
      return use_all(results);
    };
    const auto one_by_one = [&] {
      in_order(id);
      return use_all(results);
    };
    const Nodes given = loops_.branch(natural, types, at_once, one_by_one);
    for (size_t i = 0; i < results.size(); ++i) bind(results[i], given[i]);
  }
  void set_attributes(NodeId id, std::span<int64_t> attributes) override {
    if (std::ranges::count(independent_, id) > 0)
      attributes[0] = static_cast<int64_t>(ir::Schedule::IndependentThreads);
    if (id == in_order_) attributes[0] = static_cast<int64_t>(ir::Schedule::Serial);
  }

 private:
  /// What is known of a loop.
  struct Found {
    std::vector<Accumulation> meeting;
    std::vector<Table> tables;
    std::vector<Carried> carried;
    bool is_independent = false;  ///< the iterations do not conflict
  };
  void write(NodeId id, const Found& found) {
    const auto& [meeting, tables, all, is_independent] = found;
    if (is_independent && !only_sums_) independent_.push_back(id);
    const bool exact = std::ranges::all_of(meeting, &Accumulation::exact);
    const bool hangs_on_tables = !tables.empty() && (!all.empty() || !meeting.empty());
    const auto has = [&](Carried::Way way) { return std::ranges::count(all, way, &Carried::way) > 0; };
    if (has(Carried::Way::InOrder) || hangs_on_tables || !exact) return in_order(id);
    const bool may_be_lost = std::ranges::any_of(all, &Carried::nan_stands);
    if (meeting.empty() && !has(Carried::Way::Selected)) {
      if (may_be_lost) return write_unless_lost(id, all);
      return all.empty() ? clone(id) : write(id, all);
    }
    const bool goes_on = source_.op(source_.terminator(source_.region(id))) == Op::yield;
    if (goes_on && !may_be_lost && redirected_.empty() && go_in_pieces(id, all)) write_pieces(id, found);
    else in_order(id);
  }
  std::vector<Carried> carried_by(NodeId loop) const {
    std::vector<Carried> all;
    for (size_t i = 0; i < source_.result_count(loop); ++i)
      all.push_back(carried_of(source_, loop, i).value_or(Carried{.way = Carried::Way::InOrder}));
    for (const Selection& each : selections_of(source_, loop).value_or(Selections()).all) {
      all[each.extreme] = {.way = Carried::Way::Selected};
      for (const size_t follower : each.followers) all[follower] = {.way = Carried::Way::Selected};
    }
    return all;
  }
  /// Whether pieces of the range give each value that is carried so that they can be combined in order.
  bool go_in_pieces(NodeId loop, const std::vector<Carried>& all) const {
    for (size_t i = 0; i < all.size(); ++i) {
      const Type type = source_.type(source_.result(loop, i));
      if (all[i].way == Carried::Way::Passed) continue;
      if (!type.is_scalar()) return false;
      if (all[i].way != Carried::Way::Combined) continue;
      const bool is_exact = base::is_int(type.dtype()) || base::is_bool(type.dtype());
      if (!is_exact || !all[i].neutral) return false;
    }
    return true;
  }
  bool are_sums(NodeId loop, const std::vector<Carried>& all) const {
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].way == Carried::Way::InOrder) return false;
      if (all[i].way == Carried::Way::Selected || all[i].nan_stands) return false;
      const bool is_passed = all[i].way == Carried::Way::Passed;
      const bool is_sum = all[i].way == Carried::Way::Combined && all[i].combiner == Op::add;
      if (!is_passed && !is_sum && has_tangents(source_.type(source_.result(loop, i)))) return false;
    }
    return true;
  }
  bool has_marks(NodeId loop) const {
    return !ir::walk(source_, source_.region(loop), [&](NodeId node) {
      const Op op = source_.op(node);
      const bool is_one = op == Op::lift || op == Op::primal || op == Op::tangent || op == Op::pull;
      return is_one || op == Op::back ? ir::Walk::Stop : ir::Walk::Into;
    });
  }
  void write(NodeId loop, const std::vector<Carried>& all) {
    const auto threads = ir::schedule_of(source_, loop);
    const Nodes inits = use_all(source_.operands(loop).subspan(1));
    const auto parameters = source_.region_parameters(source_.region(loop));
    std::vector<Slot> slots;
    std::vector<Slot> signs;
    for (size_t i = 0; i < all.size(); ++i) {
      const Carried& carried = all[i];
      if (carried.way == Carried::Way::Passed) bind(parameters[i + 1], inits[i]);
      if (carried.way == Carried::Way::Passed) continue;
      const bool starts_anew = carried.way == Carried::Way::Counted;
      const NodeId init = starts_anew ? b_.constant(ir::kInt64, base::Scalar{}) : inits[i];
      // 0.0 would make 0.0 of -0.0.
      auto neutral = carried.neutral;
      if (may_be_negative_zero(loop, i, carried)) neutral = negative_zero(dtype_of(loop, i));
      slots.push_back({i, carried.combiner, neutral, init});
      if (has_zeros(loop, i, carried)) signs.push_back(slot_of_zeros(carried.last_stands));
      if (may_be_negative_zero(loop, i, carried))
        signs.push_back({{}, Op::bitwise_and, {}, is_negative_zero(init)});
    }
    std::vector<Slot> both = slots;
    both.insert(both.end(), signs.begin(), signs.end());
    const Nodes given = write_parallel(loop, threads, both, [&](NodeId index, const Nodes& contributions) {
      Nodes positions;
      for (size_t k = 0; k < slots.size(); ++k) {
        const Carried& carried = all[*slots[k].carried];
        if (has_zeros(loop, *slots[k].carried, carried))
          positions.push_back(zero_at(index, contributions[k], carried.last_stands));
        if (may_be_negative_zero(loop, *slots[k].carried, carried))
          positions.push_back(is_negative_zero(contributions[k]));
      }
      return positions;
    });
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].way == Carried::Way::Passed) bind(source_.result(loop, i), inits[i]);
    size_t next = slots.size();
    for (size_t k = 0; k < slots.size(); ++k) {
      const size_t i = *slots[k].carried;
      NodeId value = given[k];
      if (all[i].way == Carried::Way::Counted) value = counted(all[i].check, inits[i], value);
      if (has_zeros(loop, i, all[i])) value = with_sign(inits[i], value, given[next++], all[i].last_stands);
      if (may_be_negative_zero(loop, i, all[i]))
        value = loops_.select(given[next++], b_.make(Op::negative, {loops_.zero(dtype_of(loop, i))}), value);
      bind(source_.result(loop, i), value);
    }
  }

  void in_order(NodeId loop) {
    in_order_ = loop;
    clone(loop);
  }
  /// Extremes that NaN replaces: where the result is NaN, the iterations run once more for them, in order; so
  /// they must have no effects that are seen.
  void write_unless_lost(NodeId loop, const std::vector<Carried>& all) {
    const ir::Effects allowed = ir::effect::Read | ir::effect::Raise;
    if ((ir::effects_of(source_, loop).bits & ~allowed.bits) != 0) return in_order(loop);
    write(loop, all);
    Nodes results;
    std::vector<Type> types;
    for (size_t i = 0; i < all.size(); ++i) {
      if (!all[i].nan_stands) continue;
      results.push_back(source_.result(loop, i));
      types.push_back(source_.type(results.back()));
    }
    const Nodes others = use_all(source_.results_of(loop));
    const Nodes given = use_all(results);
    NodeId is_lost = loops_.truth(false);
    for (const NodeId value : given) is_lost = loops_.either(is_lost, b_.make(Op::not_equal, {value, value}));
    const auto once_more = [&] {
      in_order(loop);
      return use_all(results);
    };
    const Nodes chosen = loops_.branch(is_lost, types, once_more, [&] { return given; });
    for (size_t i = 0; i < others.size(); ++i) bind(source_.result(loop, i), others[i]);
    for (size_t i = 0; i < results.size(); ++i) bind(results[i], chosen[i]);
  }

  /// @name Pieces of the range
  /// Each has copies of the arrays that iterations accumulate into, and values of its own for what the loop
  /// carries, which are combined in the order of the pieces: so many, at most, and each of so many
  /// iterations, at least - for an element of its copies. A shorter loop with copies runs in order.
  static constexpr int64_t kMostCopies = 16;
  static constexpr int64_t kMostPieces = 64;
  static constexpr int64_t kLeastIterations = 4;
  static constexpr int64_t kLeastIterationsAlone = 64;
  struct Copies {
    NodeId view;  ///< of the source
    Op combiner;
    std::optional<Carried> extreme;
    NodeId copies;  ///< a view with one axis more

    bool is_of(const Accumulation& other) const {
      const auto comparison = [](const auto& of) { return of ? comparison_of(*of) : Op::add; };
      return view == other.view && combiner == other.combiner &&
             extreme.has_value() == other.extreme.has_value() &&
             comparison(extreme) == comparison(other.extreme);
    }
  };
  struct Pieces {
    std::vector<Copies> copies;
    Nodes inits;   ///< of what is carried
    Nodes starts;  ///< ... in each piece
    Nodes ends;    ///< views: what is carried after each piece
    NodeId iterations;
    NodeId count;
  };

  void write_pieces(NodeId loop, const Found& found) {
    Pieces pieces;
    NodeId elements = b_.index(found.meeting.empty() ? kLeastIterationsAlone / kLeastIterations : 1);
    for (const Accumulation& each : found.meeting) {
      if (std::ranges::any_of(pieces.copies, [&](const Copies& known) { return known.is_of(each); }))
        continue;
      pieces.copies.push_back({each.view, each.combiner, each.extreme, {}});
      elements = loops_.add(elements, loops_.product(lengths_of(each.view)));
    }
    pieces.iterations = loops_.maximum(use(source_.operand(loop, 0)), b_.index(0));
    const NodeId least = loops_.multiply(elements, b_.index(kLeastIterations));
    const int64_t most = found.meeting.empty() ? kMostPieces : kMostCopies;
    pieces.count = loops_.minimum(b_.make(Op::floor_divide, {pieces.iterations, least}), b_.index(most));
    pieces.inits = use_all(source_.operands(loop).subspan(1));
    if (found.meeting.empty()) {
      pieces.count = loops_.maximum(pieces.count, b_.index(1));
      for (const auto& [low, high] : base::known(selections_of(source_, loop)).pairs)
        pieces.count = loops_.select(b_.make(Op::greater, {pieces.inits[low], pieces.inits[high]}),
                                     b_.index(1), pieces.count);
      return write_pieces(loop, found, pieces);
    }
    const Nodes results = source_.results_of(loop);
    std::vector<Type> types;
    for (const NodeId result : results) types.push_back(source_.type(result));
    const auto apart = [&] {
      write_pieces(loop, found, pieces);
      return use_all(results);
    };
    const auto one_by_one = [&] {
      in_order(loop);
      return use_all(results);
    };
    NodeId are_worth_it = loops_.less(b_.index(1), pieces.count);
    for (const auto& [low, high] : base::known(selections_of(source_, loop)).pairs)
      are_worth_it = loops_.both(
          are_worth_it, loops_.negate(b_.make(Op::greater, {pieces.inits[low], pieces.inits[high]})));
    const Nodes given = loops_.branch(are_worth_it, types, apart, one_by_one);
    for (size_t i = 0; i < results.size(); ++i) bind(results[i], given[i]);
  }
  void write_pieces(NodeId loop, const Found& found, Pieces& pieces) {
    for (Copies& copies : pieces.copies) {
      Nodes lengths = lengths_of(copies.view);
      lengths.insert(lengths.begin(), pieces.count);
      const Type type = source_.type(copies.view);
      copies.copies = loops_.new_view(lengths, type.dtype(), type.space());
    }
    const auto& all = found.carried;
    for (size_t i = 0; i < all.size(); ++i) {
      const Type type = b_.function().type(pieces.inits[i]);
      const bool is_passed = all[i].way == Carried::Way::Passed;
      const bool begins_anew = !is_passed && all[i].way != Carried::Way::Selected;
      pieces.starts.push_back(begins_anew ? b_.constant(type, *all[i].neutral) : pieces.inits[i]);
      pieces.ends.push_back(is_passed ? NodeId() : loops_.new_view({&pieces.count, 1}, type.dtype()));
    }
    write_loop_over(loop, found, pieces);
    for (const Copies& copies : pieces.copies) combine(copies, pieces.count);
    combine_carried(loop, found, pieces);
  }
  Nodes lengths_of(NodeId view) {
    Nodes lengths;
    for (int i = 0; i < source_.type(view).rank(); ++i) lengths.push_back(b_.length(use(view), i));
    return lengths;
  }
  void write_loop_over(NodeId loop, const Found& found, const Pieces& pieces) {
    const NodeId most = loops_.ceiling(pieces.iterations, pieces.count);
    // Each piece writes at its own index.
    const int64_t attributes[] = {source_.attribute(loop, 0), 1};
    const ir::SpanId location = b_.span();
    const NodeId made = b_.begin(Op::parallel_for, {&pieces.count, 1}, attributes);
    const NodeId piece = b_.enter(made, 0, {{ir::kInt64}})[0];
    for (const Copies& copies : pieces.copies) {
      const DType dtype = source_.type(copies.view).dtype();
      const base::Scalar nothing =
          copies.extreme ? *copies.extreme->neutral : *ir::identity_of(copies.combiner, dtype);
      const NodeId none = b_.constant(Type::scalar(dtype), nothing);
      loops_.nest(lengths_of(copies.view),
                  [&](std::span<const NodeId> at) { loops_.store(copies.copies, behind(piece, at), none); });
    }
    const NodeId first = loops_.multiply(piece, most);
    const NodeId count = loops_.minimum(most, loops_.subtract(pieces.iterations, first));
    for (const Accumulation& each : found.meeting) {
      const auto copies =
          std::ranges::find_if(pieces.copies, [&](const Copies& known) { return known.is_of(each); });
      for (NodeId access : {each.load, each.store}) redirected_[access.index] = {copies->copies, piece};
    }
    const RegionId body = source_.region(loop);
    const Nodes ends = loops_.loop(count, pieces.starts, [&](auto k, auto carried) {
      const auto parameters = source_.region_parameters(body);
      bind(parameters[0], loops_.add(first, k[0]));
      for (size_t i = 0; i < carried.size(); ++i) bind(parameters[i + 1], carried[i]);
      enter_region(body);
      visit_body(body);
      leave_region(body);
      return use_all(source_.operands(source_.terminator(body)));
    });
    redirected_.clear();
    for (size_t i = 0; i < ends.size(); ++i)
      if (pieces.ends[i]) loops_.store(pieces.ends[i], {&piece, 1}, ends[i]);
    b_.yield({});
    b_.set_span(location);
    b_.end(made);
  }
  void combine(const Copies& copies, NodeId pieces) {
    loops_.nest(lengths_of(copies.view), [&](std::span<const NodeId> at) {
      const NodeId before = loops_.load(use(copies.view), at);
      const auto next = [&](std::span<const NodeId> piece, std::span<const NodeId> value) {
        const NodeId other = loops_.load(copies.copies, behind(piece[0], at));
        return Nodes{copies.extreme ? select(*copies.extreme, value[0], other)
                                    : b_.make(copies.combiner, {value[0], other})};
      };
      loops_.store(use(copies.view), at, loops_.loop(pieces, {&before, 1}, next)[0]);
    });
  }
  NodeId select(const Carried& extreme, NodeId before, NodeId other) {
    return loops_.select(b_.make(comparison_of(extreme), {other, before}), other, before);
  }
  /// What the loop carries, after the pieces.
  void combine_carried(NodeId loop, const Found& found, const Pieces& pieces) {
    const auto& all = found.carried;
    const Selections selections = base::known(selections_of(source_, loop));
    Nodes befores = pieces.inits;
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].way == Carried::Way::Counted) befores[i] = pieces.starts[i];
    const Nodes given = loops_.loop(pieces.count, befores, [&](auto piece, auto values) {
      Nodes next(values.begin(), values.end());
      const auto end_of = [&](size_t i) { return loops_.load(pieces.ends[i], piece); };
      for (size_t i = 0; i < all.size(); ++i) {
        if (all[i].way == Carried::Way::Extreme) next[i] = select(all[i], values[i], end_of(i));
        if (all[i].way == Carried::Way::Combined) next[i] = b_.make(all[i].combiner, {values[i], end_of(i)});
        if (all[i].way == Carried::Way::Counted) next[i] = loops_.add(values[i], end_of(i));
      }
      for (const Selection& each : selections.all) {
        const NodeId other = end_of(each.extreme);
        const NodeId is_taken = b_.make(each.comparison, {other, values[each.extreme]});
        next[each.extreme] = loops_.select(is_taken, other, values[each.extreme]);
        for (const size_t i : each.followers) next[i] = loops_.select(is_taken, end_of(i), values[i]);
      }
      return next;
    });
    for (size_t i = 0; i < all.size(); ++i) {
      const bool is_counted = all[i].way == Carried::Way::Counted;
      bind(source_.result(loop, i), is_counted ? counted(all[i].check, pieces.inits[i], given[i]) : given[i]);
    }
  }
  static Nodes behind(NodeId piece, std::span<const NodeId> at) {
    Nodes indices{piece};
    indices.insert(indices.end(), at.begin(), at.end());
    return indices;
  }
  bool is_redirected(NodeId id) {
    const auto other = redirected_.find(id.index);
    if (other == redirected_.end()) return false;
    const auto [copies, piece] = other->second;
    const Nodes operands = use_all(source_.operands(id).subspan(1));
    const auto rank = static_cast<size_t>(source_.type(source_.operand(id, 0)).rank());
    const Nodes at = behind(piece, std::span(operands).first(rank));
    if (source_.op(id) == Op::load) bind(id, loops_.load(copies, at));
    else loops_.store(copies, at, operands.back());
    return true;
  }

  /// @name The sign of an extreme that is zero
  /// Of equal numbers the first one is kept, or the last; 0.0 and -0.0 are the equal ones that differ. So the
  /// iterations also give 2 * their number, plus 1 for -0.0, where they have a zero, else a number beyond
  /// those of all iterations.
  bool has_zeros(NodeId loop, size_t i, const Carried& carried) const {
    return carried.way == Carried::Way::Extreme &&
           base::is_float(source_.type(source_.result(loop, i)).dtype());
  }
  static int64_t no_iteration(bool last) { return last ? -1 : std::numeric_limits<int64_t>::max(); }
  Slot slot_of_zeros(bool last) {
    return {{}, last ? Op::maximum : Op::minimum, {}, b_.index(no_iteration(last))};
  }
  NodeId is_zero(NodeId value) {
    return b_.make(Op::equal, {value, b_.constant(b_.function().type(value), base::Scalar{})});
  }
  NodeId zero_at(NodeId index, NodeId value, bool last) {
    const NodeId sign = b_.cast(b_.make(Op::signbit, {value}), DType::Int64);
    const NodeId position = b_.make(Op::add, {b_.make(Op::add, {index, index}), sign});
    return b_.make(Op::select, {is_zero(value), position, b_.index(no_iteration(last))});
  }
  NodeId with_sign(NodeId init, NodeId value, NodeId position, bool last) {
    const NodeId zero = b_.constant(b_.function().type(value), base::Scalar{});
    const NodeId odd = b_.make(Op::bitwise_and, {position, b_.index(1)});
    const NodeId is_negative = b_.make(Op::equal, {odd, b_.index(1)});
    const NodeId found = b_.make(Op::select, {is_negative, b_.make(Op::negative, {zero}), zero});
    // Of equal numbers, what the loop began with is the first.
    const NodeId begins = last ? b_.make(Op::equal, {position, b_.index(no_iteration(last))}) : is_zero(init);
    const NodeId own = b_.make(Op::select, {begins, init, found});
    return b_.make(Op::select, {is_zero(value), own, value});
  }

  /// A sum is -0.0 where all that is added is, and what it begins with, which may be.
  bool may_be_negative_zero(NodeId loop, size_t i, const Carried& carried) const {
    const bool is_sum = carried.way == Carried::Way::Combined && carried.combiner == Op::add;
    if (!is_sum || only_sums_ || !base::is_float(dtype_of(loop, i))) return false;
    const NodeId init = source_.operand(loop, i + 1);
    return !source_.is_constant(init) || source_.constant(init).bits == negative_zero(dtype_of(loop, i)).bits;
  }
  DType dtype_of(NodeId loop, size_t i) const { return source_.type(source_.result(loop, i)).dtype(); }
  static base::Scalar negative_zero(DType dtype) {
    base::Scalar made;
    const double value = -0.0;
    ir::cast_loop(DType::Float64, dtype)(&value, 0, nullptr, 0, made.bits.data(), 1);
    return made;
  }
  NodeId is_negative_zero(NodeId value) { return loops_.both(is_zero(value), b_.make(Op::signbit, {value})); }

  /// A Python int and what was counted.
  NodeId counted(NodeId check, NodeId init, NodeId count) {
    const NodeId overflows = b_.make(Op::add_overflows, {init, count});
    const NodeId fits = b_.make(Op::invert, {overflows});
    if (check) b_.make(Op::check, {&fits, 1}, source_.attributes(check));
    return b_.make(Op::add, {init, count});
  }

  bool only_sums_;
  LoopWriter loops_;
  NodeId in_order_;    ///< a loop whose iterations stay in order
  Nodes independent_;  ///< loops whose iterations are shown not to conflict
  /// By access of an accumulation in a piece: the copies, and the number of the piece.
  std::unordered_map<uint32_t, std::pair<NodeId, NodeId>> redirected_;
};

bool has_prange(const Function& f) {
  for (uint32_t i = 0; i < f.node_count(); ++i)
    if (is_over_prange(f, NodeId(i))) return true;
  return false;
}

}  // namespace

std::unique_ptr<ir::Function> parallel(const ir::Function& function) {
  if (!has_prange(function)) return nullptr;
  // A callee may write into a part of an array that is the iteration's own.
  const std::unique_ptr<Function> whole = inline_all_calls(function);
  const std::unique_ptr<Function> simple = simplify(whole == nullptr ? function : *whole);
  refuse_races(*simple);
  return Parallelizer(*simple, false).run();
}

std::unique_ptr<ir::Function> parallel_sums(const ir::Function& function) {
  return has_prange(function) ? Parallelizer(function, true).run() : nullptr;
}

}  // namespace ingot::transform
