// Relaxations. `fastmath` is a set of names in the function's header (`relaxed(contract, reassoc)`): codegen
// puts them on arithmetic (`OpRule::relaxes`) but not on the kernels of elementary functions, whose bits rest
// on exact operations. `schedule` makes parallel loops of `for` loops that carry nothing but reductions
// (`reductions.h`), of floats where `reassoc` allows it, of integers always; their order is that of
// reductions over arrays.

#include "transform/analyses/reductions.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "ir/builder.h"
#include "ir/evaluate.h"
#include "ir/uses.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"

namespace ingot::transform {

namespace {

using ir::NodeId;
using ir::Op;

using Given = std::pair<NodeId, size_t>;  ///< a node with regions, and which of its values

/// The node in an iteration whose result this is.
Given given_of(const ir::Function& f, NodeId value) {
  if (f.op(value) != Op::result) return {value, 0};
  return {f.operand(value, 0), static_cast<size_t>(f.attribute(value, 0))};
}
/// The loop in an iteration that carries this value, or gives it; none of others.
std::optional<Given> loop_of(const ir::Function& f, NodeId value) {
  const bool is_param = f.op(value) == Op::param;
  if (is_param && f.attribute(value, 0) == 0) return std::nullopt;
  const Given given = is_param
                          ? Given{f[f[value].parent].owner, static_cast<size_t>(f.attribute(value, 0)) - 1}
                          : given_of(f, value);
  if (!given.first || f.op(given.first) != Op::for_) return std::nullopt;
  return given;
}

/// Whether something holds of all values that leave a block as one of its results.
template <class Holds>
bool all_leaving(const ir::Function& f, Given given, Holds&& holds) {
  const auto [block, slot] = given;
  const ir::RegionId region = f.region(block);
  const NodeId label = f.region_parameters(region)[0];
  const NodeId last = f.terminator(region);
  if (f.op(last) == Op::yield && !holds(f.operand(last, slot))) return false;
  return ir::walk(f, region, [&](NodeId node) {
    const bool leaves = f.op(node) == Op::exit_ && f.operand(node, 0) == label;
    return leaves && !holds(f.operand(node, slot + 1)) ? ir::Walk::Stop : ir::Walk::Into;
  });
}
/// Whether a region ends, but not in values.
bool gives_nothing(const ir::Function& f, ir::RegionId region) {
  const Op op = f.op(f.terminator(region));
  return op == Op::exit_ || op == Op::raise || op == Op::unreachable;
}

/// Follows one carried value through an iteration.
class Chain {
 public:
  Chain(const ir::Function& function, NodeId loop, NodeId parameter, bool checked)
      : f_(function),
        users_(function),
        body_(function.region(loop)),
        parameter_(parameter),
        checked_(checked) {
    find_dependents();
  }

  std::optional<Op> combiner(NodeId yielded) {
    if (!f_.type(parameter_).is_scalar() || !combines(yielded)) return std::nullopt;
    const bool has_identity = ir::identity_of(*op_, f_.type(parameter_).dtype()).has_value();
    if (!has_identity && (links_ > 1 || branches_)) return std::nullopt;
    return op_;
  }
  bool combines(NodeId yielded) {
    return leads_to(yielded) && op_ && uses_of(parameter_) == ends_ &&
           std::ranges::all_of(
               arrivals_, [&](const auto& value) { return uses_of(NodeId(value.first)) == value.second; });
  }

  /// What is combined with the carried value, and a check that was left out of account.
  const std::vector<NodeId>& terms() const { return terms_; }
  NodeId check() const { return check_; }
  bool differs() const { return differs_; }
  bool depends(NodeId value) const { return depends_[value.index]; }
  /// Uses in the iteration.
  size_t uses_of(NodeId value) {
    return static_cast<size_t>(std::ranges::count_if(users_.of(value), [&](NodeId user) {
      return f_.encloses(body_, user) && !(checked_ && is_overflow_check(user));
    }));
  }

 private:
  /// Whether a node reports that an int overflows, and only checks use it.
  bool is_overflow_check(NodeId node) {
    if (!ir::info(f_.op(node)).overflow_of) return false;
    return std::ranges::all_of(users_.of(node), [&](NodeId user) {
      return f_.op(user) == Op::invert && std::ranges::all_of(users_.of(user), [&](NodeId check) {
               if (f_.op(check) == Op::check && !check_) check_ = check;
               return f_.op(check) == Op::check;
             });
    });
  }
  /// Whether a value is the carried one, with something combined or not. Arrivals are counted: a value in
  /// between may have no other uses.
  bool leads_to(NodeId value) {
    if (value == parameter_) {
      ++ends_;
      return true;
    }
    if (absorbs(value)) return true;
    if (!f_.encloses(body_, value)) return false;
    if (++arrivals_[value.index] > 1) return true;
    if (const auto inner = loop_of(f_, value)) return leads_through_loop(*inner);
    const Given given = given_of(f_, value);
    if (f_.op(given.first) == Op::if_) return leads_through_arms(given);
    if (f_.op(given.first) == Op::block) return leads_through_block(given);
    if (f_.op(value) == Op::select) return leads_through_select(value);
    return leads_through_op(value);
  }
  /// `true` in a branch is what `or` with it gives, `false` what `and` gives.
  bool absorbs(NodeId value) {
    if (!branches_ || !f_.is_constant(value) || f_.type(value) != ir::kBool) return false;
    const Op op = f_.constant(value).bits[0] != 0 ? Op::bitwise_or : Op::bitwise_and;
    const bool fits = op_.value_or(op) == op;
    op_ = op;
    return fits;
  }
  /// Each iteration of a loop inside leads to what it carries, which begins as what leads on.
  bool leads_through_loop(Given inner) {
    const auto [loop, slot] = inner;
    branches_ = true;
    if (!f_.encloses(body_, loop)) return false;
    if (!loops_.insert(inner).second) return true;
    const ir::RegionId region = f_.region(loop);
    arrivals_.try_emplace(f_.region_parameters(region)[slot + 1].index);
    return (gives_nothing(f_, region) || leads_to(f_.operand(f_.terminator(region), slot))) &&
           leads_to(f_.operand(loop, slot + 1));
  }
  bool leads_through_arms(Given given) {
    branches_ = true;
    for (size_t arm = 0; arm < 2; ++arm) {
      const ir::RegionId region = f_.region(given.first, arm);
      if (!gives_nothing(f_, region) && !leads_to(f_.operand(f_.terminator(region), given.second)))
        return false;
    }
    return true;
  }
  /// What an iteration gives that ends early: `continue`, or `break` of a loop inside.
  bool leads_through_block(Given given) {
    branches_ = true;
    return all_leaving(f_, given, [&](NodeId value) { return leads_to(value); });
  }
  /// As through the arms of an `if`; a use in the condition is one too many.
  bool leads_through_select(NodeId value) {
    branches_ = true;
    return leads_to(f_.operand(value, 1)) && leads_to(f_.operand(value, 2));
  }
  bool leads_through_op(NodeId value) {
    const ir::OpInfo& card = ir::info(f_.op(value));
    const bool is_difference = f_.op(value) == Op::subtract;
    if (!card.elementwise || !(card.laws.associative || is_difference)) return false;
    const Op op = is_difference ? Op::add : f_.op(value);
    if (op_.value_or(op) != op) return false;
    op_ = op;
    ++links_;
    const auto operands = f_.operands(value);
    const bool first = depends(operands[0]);
    if (first == depends(operands[1]) || (is_difference && !first)) return false;
    terms_.push_back(operands[first ? 1 : 0]);
    differs_ = differs_ || is_difference;
    return leads_to(operands[first ? 0 : 1]);
  }
  /// What is computed from the carried value, branches that do so included.
  void find_dependents() {
    depends_.assign(f_.node_count(), false);
    depends_[parameter_.index] = true;
    // The results of a branch come before what is in it.
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t i = parameter_.index; i < f_.node_count(); ++i) {
        const NodeId id(i);
        if (depends_[i] || !f_.encloses(body_, id)) continue;
        depends_[i] = is_made_of_dependents(id);
        if (!depends_[i]) continue;
        changed = true;
        for (ir::RegionId at = f_[id].parent; at != body_; at = f_[f_[at].owner].parent)
          depends_[f_[at].owner.index] = true;
      }
    }
  }

  bool is_made_of_dependents(NodeId id) const {
    const bool is_param = f_.op(id) == Op::param;
    const bool is_result = f_.op(id) == Op::result;
    const NodeId owner = is_param ? f_[f_[id].parent].owner : is_result ? f_.operand(id, 0) : id;
    const auto slot = is_param || is_result ? static_cast<size_t>(f_.attribute(id, 0)) : 0;
    const auto is_yielded = [&](size_t region) {
      const NodeId last = f_.terminator(f_.region(owner, region));
      return f_.op(last) == Op::yield && depends(f_.operand(last, slot));
    };
    if (is_result && f_.op(owner) == Op::for_)
      return depends(f_.region_parameters(f_.region(owner))[slot + 1]);
    if (is_result && f_.op(owner) == Op::if_)
      return depends(f_.operand(owner, 0)) || is_yielded(0) || is_yielded(1);
    if (is_result && f_.op(owner) == Op::block)
      return !all_leaving(f_, {owner, slot}, [&](NodeId value) { return !depends(value); });
    if (is_param && f_.op(owner) == Op::for_) {
      const NodeId last = f_.terminator(f_.region(owner));
      return slot > 0 && (depends(f_.operand(owner, slot)) ||
                          (f_.op(last) == Op::yield && depends(f_.operand(last, slot - 1))));
    }
    // What a loop of another kind carries may be anything that goes into it.
    if (is_param && f_.op(owner) != Op::while_) return false;
    return std::ranges::any_of(f_.operands(is_param ? owner : id),
                               [&](NodeId operand) { return depends(operand); });
  }

  const ir::Function& f_;
  ir::Uses users_;
  ir::RegionId body_;
  NodeId parameter_;
  bool checked_;
  NodeId check_;
  std::vector<NodeId> terms_;
  bool differs_ = false;
  std::vector<bool> depends_;
  std::optional<Op> op_;
  size_t links_ = 0;
  size_t ends_ = 0;
  std::unordered_map<uint32_t, size_t> arrivals_;  ///< by value in between
  std::set<Given> loops_;                          ///< in between
  bool branches_ = false;
};

/// A value that becomes another one where a comparison of the two decides so, once or several times in an
/// iteration, in branches or in loops inside.
class Comparison {
 public:
  Comparison(const ir::Function& function, NodeId loop, NodeId parameter, Chain& chain)
      : f_(function), body_(function.region(loop)), parameter_(parameter), chain_(chain) {}

  std::optional<Carried> extreme(NodeId yielded) {
    const base::DType dtype = f_.type(parameter_).dtype();
    if (!base::is_int(dtype) && !base::is_float(dtype)) return std::nullopt;
    if (!leads_to(yielded) || !found_) return std::nullopt;
    const bool is_all = std::ranges::all_of(
        uses_, [&](const auto& value) { return chain_.uses_of(NodeId(value.first)) == value.second; });
    return is_all ? found_ : std::nullopt;
  }

 private:
  struct Choice {
    NodeId condition;
    NodeId taken;
    NodeId other;
  };
  /// A use of a value that is the carried one, or what that has become.
  bool leads_to(NodeId value) {
    if (++uses_[value.index] > 1 || value == parameter_) return true;
    if (!f_.encloses(body_, value)) return false;
    if (const auto inner = loop_of(f_, value)) return leads_through_loop(*inner);
    if (const Given given = given_of(f_, value); f_.op(given.first) == Op::block)
      return all_leaving(f_, given, [&](NodeId each) { return leads_to(each); });
    if (f_.op(value) == Op::minimum || f_.op(value) == Op::maximum) return leads_through_extreme(value);
    const auto choice = choice_of(value);
    if (!choice) return false;
    if (!chain_.depends(choice->condition)) return leads_to(choice->taken) && leads_to(choice->other);
    return compares(*choice) && (f_.op(value) == Op::select || is_silent(value));
  }
  bool leads_through_loop(Given inner) {
    const auto [loop, slot] = inner;
    if (!f_.encloses(body_, loop)) return false;
    if (!loops_.insert(inner).second) return true;
    const ir::RegionId region = f_.region(loop);
    uses_.try_emplace(f_.region_parameters(region)[slot + 1].index);
    return (gives_nothing(f_, region) || leads_to(f_.operand(f_.terminator(region), slot))) &&
           leads_to(f_.operand(loop, slot + 1));
  }
  /// Of integers, of which equal ones are one.
  bool leads_through_extreme(NodeId value) {
    const Op op = f_.op(value);
    const base::DType dtype = f_.type(parameter_).dtype();
    const bool first = chain_.depends(f_.operand(value, 0));
    if (!base::is_int(dtype) || first == chain_.depends(f_.operand(value, 1))) return false;
    if (found_ && found_->combiner != op) return false;
    found_ = extreme_of(op, dtype);
    return leads_to(f_.operand(value, first ? 0 : 1));
  }
  bool compares(const Choice& choice) {
    const auto [condition, taken, other] = choice;
    if (!ir::is_ordering(f_.op(condition))) return false;
    const bool swapped = chain_.depends(taken);
    const NodeId candidate = swapped ? other : taken;
    const NodeId current = swapped ? taken : other;
    const bool first = f_.operand(condition, 0) == candidate;
    if (chain_.depends(candidate) || f_.operand(condition, first ? 0 : 1) != candidate ||
        f_.operand(condition, first ? 1 : 0) != current || chain_.uses_of(condition) != 1)
      return false;
    const Carried own = extreme_of(f_.op(condition), first, swapped, f_.type(parameter_).dtype());
    const auto words = [](const Carried& c) { return std::tuple(c.combiner, c.last_stands, c.nan_stands); };
    const bool fits = !found_ || words(*found_) == words(own);
    // Of several in an iteration, it would not be seen that NaN replaced a value.
    if (!fits || (own.nan_stands && current != parameter_)) return false;
    found_ = own;
    const bool leads = leads_to(current);
    ++uses_[current.index];  // by the comparison
    return leads;
  }
  /// The result of a branch does nothing else: what depends on the comparison is seen nowhere.
  bool is_silent(NodeId value) const {
    const NodeId branch = f_.op(value) == Op::result ? f_.operand(value, 0) : value;
    return f_.result_count(branch) == 1 && f_.region_body(f_.region(branch, 0)).size() == 1 &&
           f_.region_body(f_.region(branch, 1)).size() == 1;
  }
  std::optional<Choice> choice_of(NodeId value) const {
    if (f_.op(value) == Op::select)
      return Choice{f_.operand(value, 0), f_.operand(value, 1), f_.operand(value, 2)};
    const bool is_result = f_.op(value) == Op::result;
    const NodeId branch = is_result ? f_.operand(value, 0) : value;
    const auto slot = is_result ? static_cast<size_t>(f_.attribute(value, 0)) : 0;
    if (f_.op(branch) != Op::if_) return std::nullopt;
    NodeId arms[2];
    for (size_t arm = 0; arm < 2; ++arm) {
      const NodeId last = f_.terminator(f_.region(branch, arm));
      if (f_.op(last) != Op::yield) return std::nullopt;
      arms[arm] = f_.operand(last, slot);
    }
    return Choice{f_.operand(branch, 0), arms[0], arms[1]};
  }

  const ir::Function& f_;
  ir::RegionId body_;
  NodeId parameter_;
  Chain& chain_;
  std::optional<Carried> found_;
  std::unordered_map<uint32_t, size_t> uses_;  ///< that have led to a value
  std::set<Given> loops_;                      ///< in between
};

/// Of sums of Python ints whose checks were ignored: small constants of one sign are counted.
Carried of_checked(const ir::Function& f, const Chain& chain, Op combiner) {
  constexpr int64_t kSmall = 2;
  int64_t sum = 0;
  int64_t size = 0;
  bool known = combiner == Op::add && !chain.differs();
  for (NodeId term : chain.terms()) {
    known = known && f.is_constant(term);
    if (!known) break;
    const auto value = f.constant(term).as<int64_t>();
    known = value >= -kSmall && value <= kSmall;
    sum += value;
    size += std::abs(value);
  }
  if (!known || size > kSmall || std::abs(sum) != size) return {.way = Carried::Way::InOrder};
  return {.way = Carried::Way::Counted, .neutral = base::Scalar{}, .check = chain.check()};
}

/// `if v: v else: x`, or with exchanged arms, as `or` and `and` have it.
std::optional<Op> short_circuit(const ir::Function& f, NodeId parameter, NodeId yielded) {
  const bool is_branch = f.op(yielded) == Op::if_ && f.result_count(yielded) == 1;
  if (!is_branch || f.operand(yielded, 0) != parameter || f.type(parameter) != ir::kBool) return std::nullopt;
  for (size_t arm = 0; arm < 2; ++arm) {
    const ir::RegionId region = f.region(yielded, arm);
    const NodeId last = f.terminator(region);
    // What Python would not have evaluated is not seen.
    const auto is_silent = [&](NodeId node) {
      return node == last || (ir::effects_of(f, node).bits & ~ir::effect::Read.bits) == 0;
    };
    if (f.op(last) != Op::yield || !std::ranges::all_of(f.region_body(region), is_silent))
      return std::nullopt;
  }
  const auto given = [&](size_t arm) { return f.operand(f.terminator(f.region(yielded, arm)), 0); };
  if (given(0) == parameter) return Op::bitwise_or;
  if (given(1) == parameter) return Op::bitwise_and;
  return std::nullopt;
}

/// Whether an array becomes a new one, with something combined, and is looked at for nothing else.
bool combines_arrays(const ir::Function& f, NodeId loop, NodeId parameter, NodeId yielded) {
  const auto unconverted = [&](NodeId value) {
    while (f.op(value) == Op::cast || f.op(value) == Op::broadcast) value = f.operand(value, 0);
    return value;
  };
  const auto is_of_parameter = [&](NodeId node) {
    return !f.operands(node).empty() && f.type(f.operand(node, 0)).is_view() &&
           memory_of(f, f.operand(node, 0)) == parameter;
  };
  if (f.op(yielded) != Op::materialize) return false;
  const NodeId made = unconverted(f.operand(yielded, 0));
  const ir::OpInfo& card = ir::info(f.op(made));
  if (!card.elementwise || card.operands != 2 || !(card.laws.associative || f.op(made) == Op::subtract))
    return false;
  size_t reads = 0;
  for (size_t i = 0; i < (f.op(made) == Op::subtract ? 1 : 2); ++i) {
    const NodeId read = unconverted(f.operand(made, i));
    if (f.op(read) == Op::read && is_of_parameter(read)) ++reads;
  }
  const bool is_all = ir::walk(f, f.region(loop), [&](NodeId node) {
    const bool looks =
        !ir::info(f.op(node)).effects.pure() && std::ranges::any_of(f.operands(node), [&](NodeId operand) {
          return f.type(operand).is_view() && memory_of(f, operand) == parameter;
        });
    return looks && reads-- == 0 ? ir::Walk::Stop : ir::Walk::Into;
  });
  return is_all && reads == 0 && std::ranges::count(f.operands(f.terminator(f.region(loop))), parameter) == 0;
}

}  // namespace

Carried extreme_of(Op combiner, base::DType dtype) {
  return {.way = Carried::Way::Extreme,
          .combiner = combiner,
          .neutral = ir::limit_of(dtype, combiner == Op::minimum)};
}

Carried extreme_of(Op comparison, bool first, bool swapped, base::DType dtype) {
  const bool greater = comparison == Op::greater || comparison == Op::greater_equal;
  const bool equal = comparison == Op::less_equal || comparison == Op::greater_equal;
  const bool largest = (greater == first) != swapped;
  Carried made = extreme_of(largest ? Op::maximum : Op::minimum, dtype);
  made.last_stands = base::is_float(dtype) && equal != swapped;
  // ... is taken because a comparison fails.
  made.nan_stands = base::is_float(dtype) && swapped;
  return made;
}

Op comparison_of(const Carried& extreme) {
  if (extreme.combiner == Op::minimum) return extreme.last_stands ? Op::less_equal : Op::less;
  return extreme.last_stands ? Op::greater_equal : Op::greater;
}

std::optional<Op> reduction_of(const ir::Function& function, NodeId loop, size_t i, bool checked) {
  const ir::RegionId body = function.region(loop);
  const NodeId last = function.terminator(body);
  if (function.op(last) != Op::yield) return std::nullopt;
  const NodeId parameter = function.region_parameters(body)[i + 1];
  return Chain(function, loop, parameter, checked).combiner(function.operand(last, i));
}

std::optional<Carried> carried_of(const ir::Function& function, NodeId loop, size_t i) {
  const ir::RegionId body = function.region(loop);
  const NodeId last = function.terminator(body);
  if (function.op(last) != Op::yield) return std::nullopt;
  const NodeId parameter = function.region_parameters(body)[i + 1];
  const NodeId yielded = function.operand(last, i);
  if (yielded == parameter) return Carried{};
  if (!function.type(parameter).is_scalar()) {
    const bool adds = combines_arrays(function, loop, parameter, yielded);
    return adds ? std::optional(Carried{.way = Carried::Way::InOrder}) : std::nullopt;
  }
  const auto combined = [&](Op op) {
    const auto identity = ir::identity_of(op, function.type(parameter).dtype());
    return Carried{.way = Carried::Way::Combined, .combiner = op, .neutral = identity};
  };
  if (const auto op = reduction_of(function, loop, i)) return combined(*op);
  Chain chain(function, loop, parameter, true);
  if (const auto op = chain.combiner(yielded)) return of_checked(function, chain, *op);
  Chain depends(function, loop, parameter, false);
  if (const auto inner = loop_of(function, yielded)) {
    const auto [inside, slot] = *inner;
    const bool goes_through = function.encloses(body, inside) &&
                              function.operand(inside, slot + 1) == parameter &&
                              depends.uses_of(parameter) == 1 && depends.uses_of(yielded) == 1;
    auto carried = goes_through ? carried_of(function, inside, slot) : std::nullopt;
    const bool is_known = carried && (carried->neutral || carried->way == Carried::Way::InOrder);
    if (is_known) return carried;
  }
  // To decide and to stay; what it becomes is for the next iteration alone.
  const bool is_short = depends.uses_of(parameter) == 2 && depends.uses_of(yielded) == 1;
  const auto op = is_short ? short_circuit(function, parameter, yielded) : std::nullopt;
  return op ? combined(*op) : Comparison(function, loop, parameter, depends).extreme(yielded);
}

}  // namespace ingot::transform
