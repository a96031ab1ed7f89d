#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "ir/function.h"
#include "transform/affine.h"

namespace ingot::transform {

/// The loops whose turns are compared: in `around` everything is looked at.
struct Turns {
  std::vector<ir::RegionId> around;
  std::vector<ir::NodeId> loops;

  bool encloses(const ir::Function& function, ir::NodeId node) const;
  bool encloses_in_turn(const ir::Function& function, ir::NodeId node) const;
  bool is_index(const ir::Function& function, ir::NodeId node) const;
};

/// Where an access touches memory: in a view, at one element or at all of them.
struct Touched {
  ir::NodeId node;
  ir::NodeId view;
  std::span<const ir::NodeId> indices;
  bool whole = false;
};

/// What i64 values are in two turns of loops, the number of the first turn smaller or larger than that of the
/// second; or in any two, if these are no turns of the loops. A value is a polynomial of atoms: the numbers
/// of the turns, those of loops inside, which are other ones in each turn, values from outside, which are the
/// same in both, and what is not looked into, which may differ.
///
/// A sum or product is looked into where it is shown not to wrap: by ranges, or by a check before it that it
/// does not. Else its polynomial is what it is modulo 2**64 (`exact` is false).
/// What is known where an access stands is taken from: the counts of the loops it is in, conditions of
/// branches, checks that have been passed, and what ops give (`minimum`, `remainder`, ...).
/// Numbers of turns are taken to be below 2**47: a loop does not get there; where its threads do, it does not
/// end but by an exception, and nothing is said then of what has been written.
class TwoTurns {
 public:
  enum class Order : uint8_t { Rising, Falling, Free };
  /// `Facts::None`: nothing is known but what numbers of turns are; what has been found holds wherever
  /// accesses stand.
  enum class Facts : uint8_t { All, None };
  /// `steps`: that a proof may take. `effort`: see `Inequalities`.
  TwoTurns(const ir::Function& function, const Turns& turns, Order order, Facts facts, int steps,
           int64_t& effort);

  /// Values from outside of which nothing is known are taken to be at least 0, and put there.
  void assume(std::set<ir::NodeId>& assumed) { assumed_ = &assumed; }

  /// What is known where these are, the one in the first turn, the other in the second, holds from here on.
  void stand_at(const Touched& first, const Touched& second);
  /// Whether the elements that two accesses touch, the one in the first turn, the other in the second, are
  /// different elements of one view, which both are parts of. What has no elements touches none.
  bool differ(const Touched& first, const Touched& second);
  /// Whether an index is another one.
  bool differ(ir::NodeId first, ir::NodeId second);
  bool differ_along_any(std::span<const ir::NodeId> first, std::span<const ir::NodeId> second);

 private:
  using Turn = uint8_t;  ///< 1 or 2; 0: of values that are the same in both
  struct Form {
    Polynomial sum;
    bool exact = true;
  };
  struct Position {
    ir::NodeId base;
    std::vector<Form> axes;
  };

  Turn turn_of(ir::NodeId node, Turn turn) const { return is_same_in_both(node) ? Turn{0} : turn; }
  bool is_same_in_both(ir::NodeId node) const;
  Atom atom(ir::NodeId node, Turn turn, size_t axis = 0) const;
  Polynomial number_of(Turn turn);
  Form form(ir::NodeId node, Turn turn);
  Form find_form(ir::NodeId node, Turn turn);
  Polynomial exact(ir::NodeId node, Turn turn);
  Form index_of_loop(ir::NodeId parameter, ir::NodeId loop, Turn turn);
  Form of_arithmetic(ir::NodeId node, Turn turn);
  Form of_select(ir::NodeId node, Turn turn);
  Form of_extreme(ir::NodeId node, Turn turn);
  Form of_division(ir::NodeId node, Turn turn);
  Form of_cast(ir::NodeId node, Turn turn);
  Form of_opaque(ir::NodeId node, Turn turn);
  bool is_checked(ir::NodeId node, Turn turn) const;
  std::vector<uint32_t> key_of(ir::Op op, std::span<const ir::NodeId> operands, Turn turn) const;
  Polynomial::Wide most_below(ir::NodeId count) const;
  void keep_below(const Polynomial& index, ir::NodeId count, Turn turn);
  std::vector<Polynomial> naturals_of(ir::NodeId condition, bool holds, Turn turn);
  std::optional<bool> known(ir::NodeId condition, Turn turn);
  std::vector<Polynomial> naturals_behind(ir::NodeId passed, Turn turn);
  void stand_at(ir::NodeId node, Turn turn);
  Position position(const Touched& access, Turn turn);
  bool differ(const Form& a, const Form& b);
  bool is_small(const Polynomial& sum) const;

  const ir::Function& f_;
  const Turns& turns_;
  Order order_;
  Facts facts_;
  Inequalities inequalities_;
  std::map<std::pair<uint32_t, Turn>, Form> forms_;
  std::set<Atom> counted_;  ///< numbers of turns
  std::set<std::pair<uint32_t, Turn>> bounded_;
  std::set<std::vector<uint32_t>>
      checked_;  ///< ops with operands, of which a check says that they do not wrap
  mutable std::map<ir::NodeId, bool> same_;  ///< by node that stands in a turn
  std::set<ir::NodeId>* assumed_ = nullptr;
  int nesting_ = 0;
};

}  // namespace ingot::transform
