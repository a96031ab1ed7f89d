#include "transform/analyses/two_iterations.h"

#include <algorithm>
#include <numeric>

#include "ir/builder.h"
#include "transform/analyses/disjoint.h"

namespace ingot::transform {

namespace {

using ir::Function;
using ir::NodeId;
using ir::Op;
using ir::RegionId;
using Wide = Polynomial::Wide;

/// Atoms of a view: any index along an axis, and, from this on, lengths.
constexpr size_t kLengths = 1024;
/// Numbers of iterations are below this.
constexpr Wide kMostIterations = Wide{1} << 47;
/// Sums of numbers of iterations times these stay in 64 bits.
constexpr Wide kSmallFactor = 1 << 12;
constexpr Wide kSmallConstant = Wide{1} << 61;
/// What is made by more steps than this is looked at no further.
constexpr int kMostNesting = 40;
/// Of one access: so many checks and branches that have been passed are looked at, the last ones.
constexpr int kMostPassed = 16;

bool is_integer(const Function& f, NodeId node) { return f.type(node) == ir::kInt64; }

}  // namespace

bool Iterations::encloses(const Function& f, NodeId node) const {
  return std::ranges::any_of(around, [&](RegionId region) { return f.encloses(region, node); });
}

bool Iterations::encloses_in_iteration(const Function& f, NodeId node) const {
  return std::ranges::any_of(loops, [&](NodeId loop) { return f.encloses(loop, node); });
}

bool Iterations::is_index(const Function& f, NodeId node) const {
  return std::ranges::any_of(loops,
                             [&](NodeId loop) { return f.region_parameters(f.region(loop))[0] == node; });
}

TwoIterations::TwoIterations(const Function& function, const Iterations& iterations, Order order, Facts facts,
                             int steps, int64_t& effort)
    : f_(function),
      iterations_(iterations),
      order_(order),
      facts_(facts),
      inequalities_(steps, effort),
      is_same_(function, [&function, &iterations](NodeId node) {
        return iterations.encloses(function, node) ? origin_inside(function, node) : Origin::Outside;
      }) {}

Atom TwoIterations::atom(NodeId node, Iteration iteration, size_t axis) const {
  return (Atom{node.index} << 16) | (Atom{axis} << 4) | iteration;
}

/// The number of an iteration: of the earlier one, or that and how much later the other one is.
Polynomial TwoIterations::number_of(Iteration iteration) {
  const NodeId index = f_.region_parameters(f_.region(iterations_.loops[0]))[0];
  if (order_ == Order::Free) {
    const Atom own = atom(index, iteration);
    inequalities_.bound(own, 0, kMostIterations);
    counted_.insert(own);
    return Polynomial::of(own);
  }
  const Atom earlier = atom(index, 0);
  const Atom later = atom(index, 3);
  inequalities_.bound(earlier, 0, kMostIterations);
  inequalities_.bound(later, 1, kMostIterations);
  counted_.insert({earlier, later});
  const bool is_earlier = (order_ == Order::Rising) == (iteration == 1);
  return is_earlier ? Polynomial::of(earlier) : Polynomial::of(earlier) + Polynomial::of(later);
}

TwoIterations::Form TwoIterations::form(NodeId node, Iteration iteration) {
  const Iteration own = iteration_of(node, iteration);
  const std::pair<uint32_t, Iteration> key{node.index, own};
  if (const auto known = forms_.find(key); known != forms_.end()) return known->second;
  ++nesting_;
  Form found = nesting_ > kMostNesting ? Form{Polynomial::of(atom(node, own))} : find_form(node, own);
  --nesting_;
  if (!found.sum.is_known()) found = {Polynomial::of(atom(node, own))};
  forms_[key] = found;
  return found;
}

/// A polynomial that a value is, not modulo 2**64.
Polynomial TwoIterations::exact(NodeId node, Iteration iteration) {
  const Form found = form(node, iteration);
  return found.exact ? found.sum : Polynomial::of(atom(node, iteration_of(node, iteration)));
}

TwoIterations::Form TwoIterations::find_form(NodeId node, Iteration iteration) {
  const Form itself{Polynomial::of(atom(node, iteration))};
  const bool is_opaque = facts_ == Facts::None && (f_.op(node) == Op::select ||
                                                   f_.op(node) == Op::floor_divide || f_.op(node) == Op::if_);
  if (!is_integer(f_, node) || is_opaque) return itself;
  if (f_.is_constant(node)) return {Polynomial(f_.constant(node).as<int64_t>())};
  switch (f_.op(node)) {
    case Op::param: {
      const NodeId loop = f_[f_[node].parent].owner;
      const bool counts = loop && ir::is_counted_loop(f_.op(loop)) && f_.attribute(node, 0) == 0;
      return counts ? index_of_loop(node, loop, iteration) : of_opaque(node, iteration);
    }
    case Op::length: {
      // Lengths of one view are one.
      const NodeId of = f_.operand(node, 0);
      const Atom own =
          atom(of, iteration_of(of, iteration), kLengths + static_cast<size_t>(f_.attribute(node, 0)));
      inequalities_.bound(own, 0, INT64_MAX);
      return {Polynomial::of(own)};
    }
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::negative: return of_arithmetic(node, iteration);
    case Op::select:
      return of_choice(node, f_.operand(node, 0), f_.operand(node, 1), f_.operand(node, 2), iteration);
    case Op::if_:
    case Op::result: return of_branch(node, iteration);
    case Op::minimum:
    case Op::maximum: return of_extreme(node, iteration);
    case Op::remainder:
    case Op::floor_divide: return of_division(node, iteration);
    case Op::cast: return of_cast(node, iteration);
    default: return of_opaque(node, iteration);
  }
}

TwoIterations::Form TwoIterations::of_opaque(NodeId node, Iteration iteration) {
  assume(node, 0);
  return {Polynomial::of(atom(node, iteration))};
}

/// Takes a value from outside to be no less.
void TwoIterations::assume(NodeId node, int64_t least) {
  if (iterations_.encloses(f_, node)) return;
  may_assume_ = true;
  if (assumed_ == nullptr) return;
  inequalities_.bound(atom(node, 0), least, INT64_MAX);
  int64_t& known = assumed_->try_emplace(node, least).first->second;
  known = std::max(known, least);
}
void TwoIterations::assume_factor(NodeId node) {
  if (f_.is_constant(node) || iterations_.encloses(f_, node)) return;
  may_assume_factors_ = true;
  if (!assumes_factors_) return;
  if (form(node, 0).sum == Polynomial::of(atom(node, 0))) assume(node, 1);
}

TwoIterations::Form TwoIterations::index_of_loop(NodeId parameter, NodeId loop, Iteration iteration) {
  if (iterations_.is_index(f_, parameter)) {
    const Polynomial number = number_of(iteration);
    if (bounded_.insert({parameter.index, iteration}).second)
      keep_below(number, f_.operand(loop, 0), iteration);
    return {number};
  }
  const Atom own = atom(parameter, iteration);
  inequalities_.bound(own, 0, most_below(f_.operand(loop, 0)));
  counted_.insert(own);
  if (bounded_.insert({parameter.index, iteration}).second)
    keep_below(Polynomial::of(own), f_.operand(loop, 0), iteration);
  return {Polynomial::of(own)};
}

/// The largest number below a count.
Wide TwoIterations::most_below(NodeId count) const {
  Wide most = kMostIterations;
  const auto look = [&](NodeId node) {
    if (f_.is_constant(node))
      most = std::min<Wide>(most, std::max<int64_t>(f_.constant(node).as<int64_t>(), 1) - 1);
  };
  look(count);
  if (f_.op(count) == Op::minimum)
    for (const NodeId each : f_.operands(count)) look(each);
  return most;
}

/// An index that is at least 0 is below a count, which therefore is at least 1.
void TwoIterations::keep_below(const Polynomial& index, NodeId count, Iteration iteration) {
  if (facts_ == Facts::None) return;
  const auto is_none = [&](NodeId node) {
    return f_.is_constant(node) && f_.constant(node).as<int64_t>() <= 0;
  };
  const Op op = f_.op(count);
  if (op == Op::minimum) {
    for (const NodeId each : f_.operands(count)) keep_below(index, each, iteration);
    return;
  }
  if (op == Op::maximum && (is_none(f_.operand(count, 0)) || is_none(f_.operand(count, 1))))
    return keep_below(index, f_.operand(count, is_none(f_.operand(count, 0)) ? 1 : 0), iteration);
  if (op == Op::select && (is_none(f_.operand(count, 1)) || is_none(f_.operand(count, 2)))) {
    const bool holds = !is_none(f_.operand(count, 1));
    for (const Polynomial& natural : naturals_of(f_.operand(count, 0), holds, iteration))
      inequalities_.hold(natural);
    return keep_below(index, f_.operand(count, holds ? 1 : 2), iteration);
  }
  if (op == Op::cast) keep_in_range(index, count, iteration);
  inequalities_.hold(exact(count, iteration) - index - Polynomial(1));
}

/// The count of a range with a step is (length - 1) // step + 1, of unsigned numbers.
void TwoIterations::keep_in_range(const Polynomial& index, NodeId count, Iteration iteration) {
  const auto is_one = [&](NodeId node) {
    return f_.is_constant(node) && f_.constant(node).as<int64_t>() == 1;
  };
  const auto less_one = [&](NodeId node, Op op) {
    const bool fits =
        f_.op(node) == op && f_.type(node).dtype() == base::DType::UInt64 && is_one(f_.operand(node, 1));
    return fits ? f_.operand(node, 0) : NodeId();
  };
  const auto of_cast = [&](NodeId node) {
    const bool fits = node && f_.op(node) == Op::cast && is_integer(f_, f_.operand(node, 0));
    return fits ? f_.operand(node, 0) : NodeId();
  };
  const NodeId quotient = less_one(f_.operand(count, 0), Op::add);
  if (!quotient || f_.op(quotient) != Op::floor_divide) return;
  const NodeId length = of_cast(less_one(f_.operand(quotient, 0), Op::subtract));
  NodeId step = of_cast(f_.operand(quotient, 1));
  if (!length || !step) return;
  const bool is_difference = f_.op(length) == Op::subtract;
  // Of what is known to be a number at least 1, taken modulo 2**64.
  const Polynomial all =
      is_difference ? exact(f_.operand(length, 0), iteration) - exact(f_.operand(length, 1), iteration)
                    : exact(length, iteration);
  const bool is_absolute = f_.op(step) == Op::absolute;
  if (is_absolute) step = f_.operand(step, 0);
  Polynomial by = exact(step, iteration);
  const Polynomial one(1);
  if (is_absolute && !inequalities_.is_natural(by - one)) by = Polynomial() - by;
  if (!inequalities_.is_natural(by - one) || !inequalities_.is_natural(all - one)) return;
  inequalities_.hold(all - one - index * by);
}

std::vector<uint32_t> TwoIterations::key_of(Op op, std::span<const NodeId> operands,
                                            Iteration iteration) const {
  std::vector<uint32_t> key{static_cast<uint32_t>(op)};
  for (const NodeId operand : operands)
    key.insert(key.end(), {operand.index, iteration_of(operand, iteration)});
  return key;
}
bool TwoIterations::is_checked(NodeId node, Iteration iteration) const {
  return checked_.contains(key_of(f_.op(node), f_.operands(node), iteration));
}

TwoIterations::Form TwoIterations::of_arithmetic(NodeId node, Iteration iteration) {
  const Op op = f_.op(node);
  if (op == Op::multiply)
    for (const NodeId factor : f_.operands(node)) assume_factor(factor);
  const Form a = op == Op::negative ? Form{} : form(f_.operand(node, 0), iteration);
  const Form b = form(f_.operand(node, op == Op::negative ? 0 : 1), iteration);
  const Polynomial sum = op == Op::add ? a.sum + b.sum : op == Op::multiply ? a.sum * b.sum : a.sum - b.sum;
  const bool is_exact = a.exact && b.exact && (is_checked(node, iteration) || inequalities_.fits(sum));
  return {sum, is_exact};
}

/// One of two values, by a condition.
TwoIterations::Form TwoIterations::of_choice(NodeId node, NodeId condition, NodeId taken, NodeId other,
                                             Iteration iteration) {
  if (const auto holds = known(condition, iteration)) return form(*holds ? taken : other, iteration);
  const Atom own = atom(node, iteration);
  std::vector<Inequalities::Case> cases;
  for (const NodeId value : {taken, other}) {
    const auto checked = checked_;  // what the condition implies holds in the arm alone
    cases.push_back({exact(value, iteration), naturals_of(condition, value == taken, iteration)});
    checked_ = checked;
  }
  inequalities_.choose(own, std::move(cases));
  return {Polynomial::of(own)};
}

TwoIterations::Form TwoIterations::of_branch(NodeId node, Iteration iteration) {
  const bool is_result = f_.op(node) == Op::result;
  const NodeId branch = is_result ? f_.operand(node, 0) : node;
  if (f_.op(branch) != Op::if_ || facts_ == Facts::None) return of_opaque(node, iteration);
  NodeId values[2];
  for (size_t arm = 0; arm < 2; ++arm) {
    const NodeId last = f_.terminator(f_.region(branch, arm));
    if (f_.op(last) != Op::yield) return of_opaque(node, iteration);
    values[arm] = f_.operand(last, is_result ? static_cast<size_t>(f_.attribute(node, 0)) : 0);
  }
  if (values[0] == values[1]) return form(values[0], iteration);
  return of_choice(node, f_.operand(branch, 0), values[0], values[1], iteration);
}

TwoIterations::Form TwoIterations::of_extreme(NodeId node, Iteration iteration) {
  const Polynomial a = exact(f_.operand(node, 0), iteration);
  const Polynomial b = exact(f_.operand(node, 1), iteration);
  const bool is_least = f_.op(node) == Op::minimum;
  // At least 0 where the first one is taken.
  const Polynomial taken = is_least ? b - a : a - b;
  if (inequalities_.is_natural(taken)) return {a};
  if (inequalities_.is_natural(Polynomial() - taken)) return {b};
  const Atom own = atom(node, iteration);
  const bool first = inequalities_.is_natural(a);
  const bool second = inequalities_.is_natural(b);
  if (is_least ? first && second : first || second) inequalities_.bound(own, 0, INT64_MAX);
  for (const Polynomial& each : {a, b})
    inequalities_.hold(is_least ? each - Polynomial::of(own) : Polynomial::of(own) - each);
  inequalities_.choose(own, {{a, {taken}}, {b, {Polynomial() - taken}}});
  return {Polynomial::of(own)};
}

/// n = m * (n // m) + n % m, and n % m is between 0 and m, where m is at least 1.
TwoIterations::Form TwoIterations::of_division(NodeId node, Iteration iteration) {
  const Polynomial own = Polynomial::of(atom(node, iteration));
  const NodeId number = f_.operand(node, 0);
  const NodeId by = f_.operand(node, 1);
  const Polynomial n = exact(number, iteration);
  const Polynomial m = exact(by, iteration);
  if (!inequalities_.is_natural(m - Polynomial(1))) return of_opaque(node, iteration);
  if (f_.op(node) == Op::remainder) {
    inequalities_.bound(atom(node, iteration), 0, INT64_MAX);
    inequalities_.hold(m - Polynomial(1) - own);
    return {own};
  }
  const Wide most = m.is_constant() ? INT64_MAX / m.constant() : INT64_MAX;
  if (inequalities_.is_natural(n)) inequalities_.bound(atom(node, iteration), 0, most);
  else assume(node, 0);
  compare_quotients(n, m, own);
  inequalities_.hold(n - m * own);
  inequalities_.hold(m * own + m - Polynomial(1) - n);
  for (uint32_t i = 0; i < f_.node_count(); ++i) {
    const NodeId other(i);
    if (f_.op(other) != Op::remainder || f_.operand(other, 0) != number || f_.operand(other, 1) != by)
      continue;
    const Polynomial rest = exact(other, iteration);
    inequalities_.hold(n - m * own - rest);
    inequalities_.hold(m * own + rest - n);
  }
  return {own};
}

/// Of two numbers, the larger one has the larger quotient.
void TwoIterations::compare_quotients(const Polynomial& number, const Polynomial& by,
                                      const Polynomial& quotient) {
  constexpr size_t kMostQuotients = 6;
  for (const Quotient& other : quotients_) {
    if (other.by != by) continue;
    if (inequalities_.is_natural(number - other.number)) inequalities_.hold(quotient - other.quotient);
    else if (inequalities_.is_natural(other.number - number)) inequalities_.hold(other.quotient - quotient);
  }
  if (quotients_.size() < kMostQuotients) quotients_.push_back({number, by, quotient});
}

TwoIterations::Form TwoIterations::of_cast(NodeId node, Iteration iteration) {
  const ir::Type from = f_.type(f_.operand(node, 0));
  const Atom own = atom(node, iteration);
  if (base::is_bool(from.dtype())) inequalities_.bound(own, 0, 1);
  const bool is_narrow = base::is_int(from.dtype()) && base::size_of(from.dtype()) < 8;
  if (is_narrow) {
    const Wide most = Wide{1} << (8 * base::size_of(from.dtype()));
    const bool is_signed = base::is_signed(from.dtype());
    inequalities_.bound(own, is_signed ? -most / 2 : 0, is_signed ? most / 2 - 1 : most - 1);
  }
  return {Polynomial::of(own)};
}

/// What is at least 0 where a condition holds, or does not.
std::vector<Polynomial> TwoIterations::naturals_of(NodeId condition, bool holds, Iteration iteration) {
  const Op op = f_.op(condition);
  if (op == Op::invert) return naturals_of(f_.operand(condition, 0), !holds, iteration);
  if (op == (holds ? Op::bitwise_and : Op::bitwise_or)) {
    std::vector<Polynomial> both = naturals_of(f_.operand(condition, 0), holds, iteration);
    for (Polynomial& each : naturals_of(f_.operand(condition, 1), holds, iteration))
      both.push_back(std::move(each));
    return both;
  }
  if (f_.operands(condition).size() != 2) return {};
  const NodeId a = f_.operand(condition, 0);
  const NodeId b = f_.operand(condition, 1);
  if (!is_integer(f_, a) || !is_integer(f_, b)) return {};
  if (const std::optional<Op> plain = ir::info(op).overflow_of) {
    if (!holds) checked_.insert(key_of(*plain, f_.operands(condition), iteration));
    return {};
  }
  if (!ir::info(op).opposite) return {};
  const Polynomial less = exact(b, iteration) - exact(a, iteration);  // a <= b
  const Polynomial more = Polynomial() - less;
  const Polynomial one(1);
  switch (op) {
    case Op::less: return {holds ? less - one : more};
    case Op::less_equal: return {holds ? less : more - one};
    case Op::greater: return {holds ? more - one : less};
    case Op::greater_equal: return {holds ? more : less - one};
    default: break;
  }
  if (holds == (op == Op::equal)) return {less, more};
  // Other numbers, of which one is known to be no less.
  for (const Polynomial& natural : {less, more})
    if (inequalities_.is_natural(natural)) return {natural - one};
  return {};
}

std::optional<bool> TwoIterations::known(NodeId condition, Iteration iteration) {
  if (!ir::is_ordering(f_.op(condition))) return std::nullopt;
  for (const bool holds : {true, false}) {
    const std::vector<Polynomial> naturals = naturals_of(condition, holds, iteration);
    if (!naturals.empty() && inequalities_.is_natural(naturals[0])) return holds;
  }
  return std::nullopt;
}

void TwoIterations::stand_at(const Touched& first, const Touched& second) {
  stand_at(first.node, 1);
  stand_at(second.node, 2);
}

/// What holds where a node is passed: the condition of a check, or of a branch of which the other arm leaves.
std::vector<Polynomial> TwoIterations::naturals_behind(NodeId passed, Iteration iteration) {
  if (f_.op(passed) == Op::check) return naturals_of(f_.operand(passed, 0), true, iteration);
  if (f_.op(passed) != Op::if_) return {};
  const auto goes_on = [&](size_t arm) { return f_.op(f_.terminator(f_.region(passed, arm))) == Op::yield; };
  if (goes_on(0) == goes_on(1)) return {};
  return naturals_of(f_.operand(passed, 0), goes_on(0), iteration);
}

void TwoIterations::stand_at(NodeId node, Iteration iteration) {
  std::vector<NodeId> inner_first{node};
  while (const NodeId owner = f_[f_[inner_first.back()].parent].owner) inner_first.push_back(owner);
  // The checks passed last imply most.
  int left = kMostPassed;
  std::vector<std::vector<NodeId>> passed(inner_first.size());
  for (size_t i = 0; i < inner_first.size(); ++i) {
    const auto body = f_.region_body(f_[inner_first[i]].parent);
    for (auto before = std::ranges::lower_bound(body, inner_first[i]); before != body.begin() && left > 0;) {
      --before;
      if (f_.op(*before) != Op::check && f_.op(*before) != Op::if_) continue;
      passed[i].push_back(*before);
      --left;
    }
    std::ranges::reverse(passed[i]);
  }
  const auto hold = [&](const std::vector<Polynomial>& all) {
    for (const Polynomial& natural : all) inequalities_.hold(natural);
  };
  // From outside to inside: what is known outside shows that sums do not wrap.
  for (size_t i = inner_first.size(); i-- > 0;) {
    for (const NodeId each : passed[i]) hold(naturals_behind(each, iteration));
    if (i == 0) return;
    const NodeId owner = inner_first[i];
    const RegionId region = f_[inner_first[i - 1]].parent;
    if (ir::is_counted_loop(f_.op(owner))) form(f_.region_parameters(region)[0], iteration);
    if (f_.op(owner) == Op::if_)
      hold(naturals_of(f_.operand(owner, 0), region == f_.region(owner, 0), iteration));
  }
}

TwoIterations::Position TwoIterations::position(const Touched& access, Iteration iteration) {
  Position made{access.view, {}};
  const auto rank = static_cast<size_t>(f_.type(access.view).rank());
  for (size_t axis = 0; axis < rank; ++axis) {
    if (!access.whole) {
      made.axes.push_back(form(access.indices[axis], iteration));
      continue;
    }
    const Atom any = atom(access.view, iteration, axis + 1);
    inequalities_.bound(any, 0, kMostIterations);
    counted_.insert(any);
    made.axes.push_back({Polynomial::of(any)});
  }
  // Any element of a slice is below its lengths.
  NodeId first_slice = access.view;
  while (f_.op(first_slice) == Op::squeeze || f_.op(first_slice) == Op::expand ||
         f_.op(first_slice) == Op::transpose)
    first_slice = f_.operand(first_slice, 0);
  for (;;) {
    const NodeId view = made.base;
    std::vector<Form>& axes = made.axes;
    switch (f_.op(view)) {
      case Op::slice:
        for (size_t axis = 0; axis < axes.size(); ++axis) {
          const bool is_any = access.whole && axes[axis].sum.degree() == 1;
          if (is_any && made.base == first_slice)
            keep_below(axes[axis].sum, f_.operand(view, 2 + 3 * axis), iteration);
          const Polynomial start = exact(f_.operand(view, 1 + 3 * axis), iteration);
          const Polynomial step = exact(f_.operand(view, 3 + 3 * axis), iteration);
          const bool is_all = start == Polynomial() && step == Polynomial(1);
          // All elements of a slice are in the array that it is of.
          if (!is_all) axes[axis] = {start + step * axes[axis].sum, axes[axis].exact};
        }
        break;
      case Op::squeeze:
        for (const int64_t axis : f_.ints(view))
          axes.insert(axes.begin() + static_cast<ptrdiff_t>(axis), Form{});
        break;
      case Op::expand: {
        const auto added = f_.ints(view);
        for (size_t i = added.size(); i-- > 0;) axes.erase(axes.begin() + static_cast<ptrdiff_t>(added[i]));
        break;
      }
      case Op::transpose: {
        const auto order = f_.ints(view);
        std::vector<Form> before(axes.size());
        for (size_t axis = 0; axis < axes.size(); ++axis)
          before[static_cast<size_t>(order[axis])] = axes[axis];
        axes = std::move(before);
        break;
      }
      default: return made;
    }
    made.base = f_.operand(view, 0);
  }
}

bool TwoIterations::is_small(const Polynomial& sum) const {
  return sum.is_known() && sum.degree() <= 1 && std::ranges::all_of(sum.terms(), [&](const auto& term) {
           const auto& [monomial, factor] = term;
           const Wide most = monomial.empty() ? kSmallConstant : kSmallFactor;
           return (monomial.empty() || counted_.contains(monomial[0])) && factor <= most && factor >= -most;
         });
}

bool TwoIterations::differ(const Form& a, const Form& b) {
  const Polynomial difference = a.sum - b.sum;
  if (!difference.is_known()) return false;
  const bool is_sure = (a.exact && b.exact) || is_small(difference);
  // Multiples of a number - of a power of two, modulo 2**64 - and a rest that is none.
  int64_t divisor = 0;
  for (const auto& [monomial, factor] : difference.terms()) {
    const bool fits = factor >= -kSmallConstant && factor <= kSmallConstant;
    if (!monomial.empty()) divisor = std::gcd(divisor, fits ? static_cast<int64_t>(factor) : int64_t{1});
  }
  if (!is_sure) divisor &= -divisor;
  if (divisor != 0 && difference.constant() % divisor != 0) return true;
  return is_sure && inequalities_.is_nonzero(difference);
}

bool TwoIterations::differ(NodeId first, NodeId second) { return differ(form(first, 1), form(second, 2)); }

bool TwoIterations::differ_along_any(std::span<const NodeId> first, std::span<const NodeId> second) {
  for (size_t axis = 0; axis < first.size(); ++axis)
    if (differ(first[axis], second[axis])) return true;
  return false;
}

bool TwoIterations::differ(const Touched& first, const Touched& second) {
  const Position a = position(first, 1);
  const Position b = position(second, 2);
  if (a.base != b.base) return false;
  // Other indices of a view that is made of a buffer may be the same locations.
  const bool is_made = f_.op(a.base) == Op::view;
  if (iterations_.encloses(f_, a.base) || (is_made && first.view != second.view)) return false;
  // Elements of a view that is not in order are compared when the loop runs (`written_layouts`); parts are
  // not.
  const auto is_element = [&](const Touched& one) { return !one.whole && one.view == a.base; };
  if (is_made && !is_in_c_order(f_, a.base) && !(is_element(first) && is_element(second))) return false;
  for (size_t axis = 0; axis < a.axes.size(); ++axis)
    if (differ(a.axes[axis], b.axes[axis])) return true;
  if (a.axes.size() < 2) return false;
  // Where they conflict, they have the same index along each axis.
  for (size_t axis = 0; axis < a.axes.size(); ++axis) {
    if (!a.axes[axis].exact || !b.axes[axis].exact) continue;
    const Polynomial difference = a.axes[axis].sum - b.axes[axis].sum;
    inequalities_.hold(difference);
    inequalities_.hold(Polynomial() - difference);
  }
  for (size_t axis = 0; axis < a.axes.size(); ++axis)
    if (differ(a.axes[axis], b.axes[axis])) return true;
  return false;
}

}  // namespace ingot::transform
