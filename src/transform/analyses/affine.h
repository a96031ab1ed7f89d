#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ingot::transform {

/// Something that stands for an integer of 64 bits, by a number of its owner's.
using Atom = uint64_t;

/// A product of atoms, in order, of a few at most; empty: 1.
class Monomial {
 public:
  static constexpr size_t kMostFactors = 3;

  Monomial() = default;
  explicit Monomial(Atom atom) : count_(1), atoms_{atom} {}
  /// None: it has too many factors.
  static std::optional<Monomial> product(const Monomial& a, const Monomial& b);

  bool empty() const { return count_ == 0; }
  size_t size() const { return count_; }
  Atom operator[](size_t i) const { return atoms_[i]; }
  auto begin() const { return atoms_.begin(); }
  auto end() const { return atoms_.begin() + static_cast<ptrdiff_t>(count_); }
  /// Without one of the factors `atom`, which it has.
  Monomial without(Atom atom) const;

  bool operator==(const Monomial& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }
  std::strong_ordering operator<=>(const Monomial& other) const {
    return std::lexicographical_compare_three_way(begin(), end(), other.begin(), other.end());
  }

 private:
  size_t count_ = 0;
  std::array<Atom, kMostFactors> atoms_{};
};

/// A sum of products of atoms times constants, over the integers: nothing wraps. A polynomial with too many
/// terms or too large constants becomes unknown, as does all that is computed from it.
class Polynomial {
 public:
  __extension__ using Wide = __int128;
  using Term = std::pair<Monomial, Wide>;
  using Terms = std::vector<Term>;

  Polynomial() = default;
  explicit Polynomial(Wide constant);
  static Polynomial of(Atom atom);
  static Polynomial unknown();

  bool is_known() const { return is_known_; }
  bool is_constant() const { return is_known_ && (terms_.empty() || (terms_.size() == 1 && !degree())); }
  Wide constant() const;
  /// How many atoms the longest product has.
  size_t degree() const;
  /// Each atom once, the largest first.
  std::vector<Atom> atoms() const;
  const Terms& terms() const { return terms_; }
  /// The factor and the rest, free of the atom, of which this is factor * atom + rest; none: it is of a
  /// higher degree.
  std::optional<std::pair<Polynomial, Polynomial>> split(Atom atom) const;
  /// The factor alone.
  std::optional<Polynomial> factor_of(Atom atom) const;
  /// The same where it is a constant; 0: it is none, or the atom does not occur.
  Wide constant_factor_of(Atom atom) const;

  bool operator==(const Polynomial&) const = default;
  friend Polynomial operator+(const Polynomial& a, const Polynomial& b) { return sum(a, b, 1); }
  friend Polynomial operator-(const Polynomial& a, const Polynomial& b) { return sum(a, b, -1); }
  friend Polynomial operator*(const Polynomial& a, const Polynomial& b);

 private:
  static Polynomial sum(const Polynomial& a, const Polynomial& b, int sign);
  void add(const Monomial& monomial, Wide factor);
  void limit();

  Terms terms_;  ///< in order, without zeros
  bool is_known_ = true;
};

/// What is known of atoms, and what follows from that. What it reports is certain; much that is true is not
/// found.
///
/// A polynomial is shown to be at least 0 by subtracting nonnegative multiples of known inequalities until
/// its atoms' own ranges show it (Fourier-Motzkin elimination, which tries one atom after the other); or for
/// each of the values that an atom may have.
class Inequalities {
 public:
  using Wide = Polynomial::Wide;
  /// A value that an atom may have, and what is at least 0 then.
  struct Case {
    Polynomial value;
    std::vector<Polynomial> natural;
  };

  /// `steps`: that a search for one proof may take; all of them take some times that. `effort`: what is left
  /// of it for this and others, by polynomials that are looked at.
  Inequalities(int steps, int64_t& effort) : steps_(steps), all_(kSearches * steps), effort_(effort) {}
  /// All proofs may take more steps.
  void go_on() { all_ = kManySearches * steps_; }

  /// An atom is between two numbers; without: those of 64 bits.
  void bound(Atom atom, Wide low, Wide high);
  /// A polynomial is at least 0.
  void hold(const Polynomial& natural);
  /// An atom has the value of one of the cases.
  void choose(Atom atom, std::vector<Case> cases);

  bool is_natural(const Polynomial& sum);
  /// Whether a sum is known not to be 0.
  bool is_nonzero(const Polynomial& sum);
  /// Whether a sum is within the integers of 64 bits.
  bool fits(const Polynomial& sum);

 private:
  struct HashOfTerms {
    size_t operator()(const Polynomial::Terms& terms) const;
  };
  static constexpr int kSearches = 6;
  static constexpr int kManySearches = 15;
  struct Range {
    Wide low;
    Wide high;
  };
  Range range_of(Atom atom) const;
  Wide lowest(const Polynomial& sum) const;
  bool search(const Polynomial& sum, int steps);
  bool deepen(const Polynomial& sum);
  bool prove(const Polynomial& sum, int depth);
  void add_without(Atom atom, const Polynomial& factor, const Polynomial& sum, int depth,
                   std::vector<Polynomial>& found);
  void add_without(const Monomial& product, Wide factor, const Polynomial& sum,
                   std::vector<Polynomial>& found);
  bool differs(const Polynomial& sum, int depth);
  bool leaves_rest(const Polynomial& sum);
  bool leaves_rest_of_number(const Polynomial& sum);
  bool leaves_rest(const Polynomial& sum, Wide by);
  bool is_ruled_out(const Case& chosen);
  template <class Holds>
  bool in_each_case(const std::vector<Case>& cases, Holds&& holds);

  std::vector<Polynomial> held_;
  std::unordered_map<Atom, Range> ranges_;
  std::unordered_map<Atom, std::vector<Case>> cases_;
  std::unordered_map<Polynomial::Terms, int, HashOfTerms> seen_;  ///< in this search: how deep
  const int steps_;
  int left_ = 0;  ///< steps of this search
  int all_;       ///< ... of all
  int64_t& effort_;
  bool is_cut_ = false;  ///< the search has been ended somewhere by its depth
};

}  // namespace ingot::transform
