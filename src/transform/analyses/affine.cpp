#include "transform/analyses/affine.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include <utility>

namespace ingot::transform {

namespace {

using Wide = Polynomial::Wide;

/// What is larger is not known any more: products of two constants stay in 128 bits.
constexpr size_t kMostTerms = 16;
constexpr Wide kMostFactor = Wide{1} << 66;
/// Stands for what is beyond all sums that are looked at.
constexpr Wide kInfinite = Wide{1} << 124;
/// Steps of a proof that is tried before others.
constexpr int kShortSteps = 8;
/// Limits of a search: its depth, its steps where it only decides whether a sum wraps or which case holds,
/// and how many inequalities are held, the first ones.
constexpr int kDepth = 8;
constexpr int kFewSteps = 100;
constexpr size_t kMostHeld = 64;
/// Choices that are gone through, one in the other.
constexpr int kChoices = 3;

Wide limited(Wide number) { return std::clamp(number, -kInfinite, kInfinite); }
/// A product of a number and a bound, which may be infinite.
Wide times(Wide a, Wide b) {
  const auto is_narrow = [](Wide number) { return number == static_cast<int64_t>(number); };
  if (is_narrow(a) && is_narrow(b)) return limited(a * b);  // one instruction, of the common case
  Wide made = 0;
  if (__builtin_mul_overflow(a, b, &made)) return (a < 0) == (b < 0) ? kInfinite : -kInfinite;
  return limited(made);
}

}  // namespace

std::optional<Monomial> Monomial::product(const Monomial& a, const Monomial& b) {
  if (a.count_ + b.count_ > kMostFactors) return std::nullopt;
  Monomial made;
  made.count_ = a.count_ + b.count_;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), made.atoms_.begin());
  return made;
}

Monomial Monomial::without(Atom atom) const {
  Monomial made;
  const auto own = std::find(begin(), end(), atom);
  std::copy(own + 1, end(), std::copy(begin(), own, made.atoms_.begin()));
  made.count_ = count_ - 1;
  return made;
}

Polynomial::Polynomial(Wide constant) {
  if (constant != 0) terms_.emplace_back(Monomial(), constant);
  limit();
}

Polynomial Polynomial::of(Atom atom) {
  Polynomial made;
  made.terms_.emplace_back(Monomial(atom), 1);
  return made;
}

Polynomial Polynomial::unknown() {
  Polynomial made;
  made.is_known_ = false;
  return made;
}

Wide Polynomial::constant() const {
  return !terms_.empty() && terms_[0].first.empty() ? terms_[0].second : 0;
}

size_t Polynomial::degree() const {
  size_t most = 0;
  for (const auto& [monomial, factor] : terms_) most = std::max(most, monomial.size());
  return most;
}

std::vector<Atom> Polynomial::atoms() const {
  std::vector<Atom> all;
  for (const auto& [monomial, factor] : terms_) all.insert(all.end(), monomial.begin(), monomial.end());
  std::ranges::sort(all, std::ranges::greater());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::optional<std::pair<Polynomial, Polynomial>> Polynomial::split(Atom atom) const {
  std::pair<Polynomial, Polynomial> made;
  for (const Term& term : terms_) {
    const auto count = std::ranges::count(term.first, atom);
    if (count > 1) return std::nullopt;
    if (count == 0) made.second.terms_.push_back(term);
    else made.first.add(term.first.without(atom), term.second);
  }
  return made;
}

std::optional<Polynomial> Polynomial::factor_of(Atom atom) const {
  Polynomial made;
  for (const auto& [monomial, factor] : terms_) {
    const auto count = std::ranges::count(monomial, atom);
    if (count > 1) return std::nullopt;
    if (count == 1) made.add(monomial.without(atom), factor);
  }
  return made;
}

Wide Polynomial::constant_factor_of(Atom atom) const {
  Wide found = 0;
  for (const auto& [monomial, factor] : terms_) {
    if (std::ranges::find(monomial, atom) == monomial.end()) continue;
    if (monomial.size() != 1) return 0;
    found = factor;
  }
  return found;
}

void Polynomial::add(const Monomial& monomial, Wide factor) {
  const auto index = std::ranges::lower_bound(terms_, monomial, {}, &Term::first);
  if (index == terms_.end() || index->first != monomial) {
    terms_.emplace(index, monomial, factor);
    return;
  }
  index->second += factor;
  if (index->second == 0) terms_.erase(index);
}

void Polynomial::limit() {
  const bool fits = terms_.size() <= kMostTerms && std::ranges::all_of(terms_, [](const Term& term) {
                      return term.second <= kMostFactor && term.second >= -kMostFactor;
                    });
  if (!fits) *this = unknown();
}

/// a + sign * b.
Polynomial Polynomial::sum(const Polynomial& a, const Polynomial& b, int sign) {
  if (!a.is_known_ || !b.is_known_) return unknown();
  Polynomial made;
  made.terms_.reserve(a.terms_.size() + b.terms_.size());
  auto x = a.terms_.begin();
  auto y = b.terms_.begin();
  while (x != a.terms_.end() || y != b.terms_.end()) {
    const auto order = x == a.terms_.end()   ? std::strong_ordering::greater
                       : y == b.terms_.end() ? std::strong_ordering::less
                                             : x->first <=> y->first;
    if (order < 0) {
      made.terms_.push_back(*x++);
    } else if (order > 0) {
      made.terms_.emplace_back(y->first, sign * y->second);
      ++y;
    } else {
      const Wide factor = x->second + sign * y->second;
      if (factor != 0) made.terms_.emplace_back(x->first, factor);
      ++x;
      ++y;
    }
  }
  made.limit();
  return made;
}

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  if (!a.is_known_ || !b.is_known_) return Polynomial::unknown();
  Polynomial made;
  for (const auto& [x, by] : a.terms_) {
    for (const auto& [y, factor] : b.terms_) {
      Wide product = 0;
      const std::optional<Monomial> both = Monomial::product(x, y);
      if (!both || __builtin_mul_overflow(by, factor, &product) || product > kMostFactor ||
          product < -kMostFactor)
        return Polynomial::unknown();
      made.add(*both, product);
      made.limit();
      if (!made.is_known_) return made;
    }
  }
  return made;
}

size_t Inequalities::HashOfTerms::operator()(const Polynomial::Terms& terms) const {
  uint64_t hash = terms.size();
  const auto mix = [&](uint64_t word) { hash = (std::rotl(hash, 23) ^ word) * 0x9E3779B97F4A7C15; };
  for (const auto& [monomial, factor] : terms) {
    for (const Atom atom : monomial) mix(atom);
    mix(static_cast<uint64_t>(factor) + monomial.size());
  }
  return hash ^ (hash >> 32);
}

void Inequalities::bound(Atom atom, Wide low, Wide high) {
  const auto [known, is_new] = ranges_.try_emplace(atom, Range{low, high});
  if (is_new) return;
  known->second = {std::max(known->second.low, low), std::min(known->second.high, high)};
}

void Inequalities::hold(const Polynomial& natural) {
  if (!natural.is_known() || natural.is_constant() || held_.size() >= kMostHeld) return;
  if (std::ranges::find(held_, natural) == held_.end()) held_.push_back(natural);
  const auto& terms = natural.terms();
  const auto& [monomial, factor] = terms.back();
  if (monomial.size() != 1 || terms.size() > 2 || (terms.size() == 2 && natural.constant() == 0)) return;
  const Range known = range_of(monomial[0]);
  if (factor == 1) bound(monomial[0], -natural.constant(), known.high);
  if (factor == -1) bound(monomial[0], known.low, natural.constant());
}

void Inequalities::choose(Atom atom, std::vector<Case> cases) { cases_.try_emplace(atom, std::move(cases)); }

Inequalities::Range Inequalities::range_of(Atom atom) const {
  const auto known = ranges_.find(atom);
  if (known != ranges_.end()) return known->second;
  return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
}

/// A number that a sum is at least, by the ranges of its atoms.
Wide Inequalities::lowest(const Polynomial& sum) const {
  Wide all = 0;
  for (const auto& [monomial, factor] : sum.terms()) {
    Range product{1, 1};
    for (size_t i = 0; i < monomial.size(); ++i) {
      const Range own = range_of(monomial[i]);
      if (i == 0) {
        product = {std::min(own.low, own.high), std::max(own.low, own.high)};
        continue;
      }
      const Wide ends[] = {times(product.low, own.low), times(product.low, own.high),
                           times(product.high, own.low), times(product.high, own.high)};
      product = {*std::ranges::min_element(ends), *std::ranges::max_element(ends)};
    }
    const Wide least = times(factor, factor > 0 ? product.low : product.high);
    if (least == -kInfinite) return least;
    all = limited(all + least);
  }
  return all;
}

bool Inequalities::is_natural(const Polynomial& sum) { return search(sum, std::min(steps_, kFewSteps)); }

bool Inequalities::fits(const Polynomial& sum) {
  const Polynomial low(std::numeric_limits<int64_t>::min());
  const Polynomial high(std::numeric_limits<int64_t>::max());
  return is_natural(sum - low) && is_natural(high - sum);
}

bool Inequalities::is_nonzero(const Polynomial& sum) { return sum.is_known() && differs(sum, kChoices); }

bool Inequalities::differs(const Polynomial& sum, int depth) {
  if (!sum.is_known()) return false;
  if (sum.is_constant()) return sum.constant() != 0;
  const Polynomial one(1);
  if (leaves_rest_of_number(sum)) return true;
  if (search(sum - one, steps_) || search(Polynomial() - sum - one, steps_)) return true;
  if (leaves_rest(sum)) return true;
  // The sign may depend on what is chosen.
  for (const Atom atom : sum.atoms()) {
    const auto choice = cases_.find(atom);
    const auto parts = choice == cases_.end() || depth == 0 ? std::nullopt : sum.split(atom);
    if (!parts) continue;
    return in_each_case(choice->second, [&](const Case& chosen) {
      return differs(parts->first * chosen.value + parts->second, depth - 1) || is_ruled_out(chosen);
    });
  }
  return false;
}

/// Whether a sum is a multiple of an atom plus a remainder that is between 0 and that atom.
bool Inequalities::leaves_rest(const Polynomial& sum) {
  const Polynomial one(1);
  for (const Atom atom : sum.atoms()) {
    const auto parts = sum.split(atom);
    if (!parts || parts->second.degree() == 0 || parts->first.is_constant()) continue;
    for (const Polynomial& rest : {parts->second, Polynomial() - parts->second})
      if (is_natural(rest - one) && is_natural(Polynomial::of(atom) - one - rest)) return true;
  }
  return false;
}

/// Whether it is a multiple of a number, a factor in it, plus a remainder between 0 and that. Short proofs
/// alone are looked for.
bool Inequalities::leaves_rest_of_number(const Polynomial& sum) {
  std::set<Wide> factors;
  for (const auto& [monomial, factor] : sum.terms())
    if (!monomial.empty() && (factor > 1 || factor < -1)) factors.insert(factor < 0 ? -factor : factor);
  return std::ranges::any_of(factors, [&](Wide by) { return leaves_rest(sum, by); });
}

/// ... of a number.
bool Inequalities::leaves_rest(const Polynomial& sum, Wide by) {
  const Polynomial one(1);
  Polynomial rest;
  for (const auto& [monomial, factor] : sum.terms()) {
    if (!monomial.empty() && factor % by == 0) continue;
    Polynomial term(factor);
    for (const Atom atom : monomial) term = term * Polynomial::of(atom);
    rest = rest + term;
  }
  for (const Polynomial& each : {rest, Polynomial() - rest})
    if (search(each - one, kShortSteps) && search(Polynomial(by) - one - each, kShortSteps)) return true;
  return false;
}

/// Whether what holds in a case is wrong.
bool Inequalities::is_ruled_out(const Case& chosen) {
  return std::ranges::any_of(chosen.natural, [&](const Polynomial& natural) {
    return natural.is_known() && is_natural(Polynomial() - natural - Polynomial(1));
  });
}

template <class Holds>
bool Inequalities::in_each_case(const std::vector<Case>& cases, Holds&& holds) {
  const size_t before = held_.size();
  const auto ranges = ranges_;
  auto seen = std::exchange(seen_, {});
  bool all = true;
  for (size_t i = 0; i < cases.size() && all; ++i) {
    for (const Polynomial& natural : cases[i].natural) hold(natural);
    seen_.clear();
    all = holds(cases[i]);
    held_.erase(held_.begin() + static_cast<ptrdiff_t>(before), held_.end());
    ranges_ = ranges;
  }
  seen_ = std::move(seen);
  return all;
}

/// Short proofs first.
bool Inequalities::search(const Polynomial& sum, int steps) {
  if (!sum.is_known()) return false;
  if (lowest(sum) >= 0) return true;
  if (sum.is_constant()) return false;
  left_ = std::min(steps, all_);
  const int before = left_;
  const bool holds = deepen(sum);
  all_ -= before - left_;
  return holds;
}

bool Inequalities::deepen(const Polynomial& sum) {
  for (int depth = 1; depth <= kDepth && left_ > 0; ++depth) {
    seen_.clear();
    is_cut_ = false;
    if (prove(sum, depth)) return true;
    if (!is_cut_) return false;
  }
  return false;
}

bool Inequalities::prove(const Polynomial& sum, int depth) {
  if (!sum.is_known()) return false;
  if (lowest(sum) >= 0) return true;
  if (sum.is_constant()) return false;
  if (depth == 0 || left_ <= 0 || effort_ <= 0) {
    is_cut_ = true;
    return false;
  }
  // Whatever the order in which atoms go, what is left is the same.
  const auto [known, is_new] = seen_.try_emplace(sum.terms(), depth);
  if (!is_new && known->second >= depth) return false;
  known->second = depth;
  --left_;
  std::vector<Polynomial> next;
  for (const Atom atom : sum.atoms())
    if (const auto factor = sum.factor_of(atom)) add_without(atom, *factor, sum, depth, next);
  std::ranges::stable_sort(
      next, {}, [](const Polynomial& each) { return std::pair(each.degree(), each.terms().size()); });
  for (const auto& [product, factor] : sum.terms())
    if (product.size() > 1) add_without(product, factor, sum, next);
  for (const Polynomial& each : next)
    if (prove(each, depth - 1)) return true;
  for (const Atom atom : sum.atoms()) {
    const auto choice = cases_.find(atom);
    const auto parts = choice == cases_.end() ? std::nullopt : sum.split(atom);
    if (parts && in_each_case(choice->second, [&](const Case& chosen) {
          if (prove(parts->first * chosen.value + parts->second, depth - 1)) return true;
          return std::ranges::any_of(chosen.natural, [&](const Polynomial& natural) {
            return prove(Polynomial() - natural - Polynomial(1), depth - 1);  // there is no such case
          });
        }))
      return true;
  }
  return false;
}

/// Adds the sum less what is held of a product, times what makes the product vanish.
void Inequalities::add_without(const Monomial& product, Wide factor, const Polynomial& sum,
                               std::vector<Polynomial>& found) {
  effort_ -= static_cast<int64_t>(held_.size()) + 1;
  for (size_t i = held_.size(); i-- > 0;) {
    const auto& terms = held_[i].terms();
    const auto other = std::ranges::find(terms, product, &Polynomial::Term::first);
    if (other == terms.end() || (other->second < 0) != (factor < 0) || factor % other->second != 0) continue;
    Polynomial less = sum - Polynomial(factor / other->second) * held_[i];
    if (less.is_known()) found.push_back(std::move(less));
  }
}

/// Adds the sum less what is held of an atom, times what makes the atom vanish.
void Inequalities::add_without(Atom atom, const Polynomial& factor, const Polynomial& sum, int depth,
                               std::vector<Polynomial>& found) {
  const bool rises = lowest(factor) >= 0;
  const bool falls = !rises && lowest(Polynomial() - factor) >= 0;
  const auto own = ranges_.find(atom);
  if (own != ranges_.end() && !factor.is_constant() && (rises || falls)) {
    // By its own range.
    const Polynomial end(rises ? own->second.low : own->second.high);
    Polynomial less = sum - factor * (Polynomial::of(atom) - end);
    if (less.is_known()) found.push_back(std::move(less));
  }
  effort_ -= static_cast<int64_t>(held_.size()) + 1;
  for (size_t i = held_.size(); i-- > 0;) {
    const Wide by = held_[i].constant_factor_of(atom);
    if (by == 0) continue;
    Polynomial multiple;
    if (by == 1 || by == -1) {
      multiple = by == 1 ? factor : Polynomial() - factor;
    } else {
      if (!factor.is_constant() || factor.constant() % by != 0) continue;
      multiple = Polynomial(factor.constant() / by);
    }
    const bool is_natural = rises || falls ? rises == (by > 0) : depth > 1 && prove(multiple, 1);
    if (!is_natural) continue;
    Polynomial less = sum - multiple * held_[i];
    if (less.is_known()) found.push_back(std::move(less));
  }
}

}  // namespace ingot::transform
