#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "ir/function.h"
#include "transform/analyses/affine.h"
#include "transform/analyses/from_outside.h"

namespace ingot::transform {

/// The loops whose iterations are compared: all that is in `around` is taken into account.
struct Iterations {
  std::vector<ir::RegionId> around;
  std::vector<ir::NodeId> loops;

  bool encloses(const ir::Function& function, ir::NodeId node) const;
  bool encloses_in_iteration(const ir::Function& function, ir::NodeId node) const;
  bool is_index(const ir::Function& function, ir::NodeId node) const;
};

/// Where an access touches memory: in a view, at one element or at all of them.
struct Touched {
  ir::NodeId node;
  ir::NodeId view;
  std::span<const ir::NodeId> indices;
  bool whole = false;
};

/// What i64 values are in two iterations of loops, the number of the first iteration smaller or larger than
/// that of the second; or in any two, if these are no iterations of the loops. A value is a polynomial of
/// atoms: the numbers of the iterations, those of loops inside, which differ in each iteration, values from
/// outside, which are the same in both, and opaque values, which may differ.
///
/// A sum or product is expanded where it is shown not to wrap: by ranges, or by a check before it that it
/// does not. Else its polynomial is its value modulo 2**64 (`exact` is false). What is known at an access is
/// taken from: the counts of the loops it is in, conditions of branches, checks that have been passed, and
/// what ops give (`minimum`, `remainder`, ...). Numbers of iterations are taken to be below 2**47: a loop
/// does not get there; where its threads do, it does not end but by an exception, after which what has been
/// written is unspecified.
class TwoIterations {
 public:
  enum class Order : uint8_t { Rising, Falling, Free };
  /// `Facts::None`: only the ranges of the numbers of iterations are known; what has been found holds at
  /// every access.
  enum class Facts : uint8_t { All, None };
  /// `steps`: that a proof may take. `effort`: see `Inequalities`.
  TwoIterations(const ir::Function& function, const Iterations& iterations, Order order, Facts facts,
                int steps, int64_t& effort);

  /// Values from outside of which nothing is known are taken to be at least 0, and put there with what they
  /// are taken to be at least. `factors`: those that the iterations' numbers are multiplied by, at least 1.
  void assume(std::map<ir::NodeId, int64_t>& assumed, bool factors) {
    assumed_ = &assumed;
    assumes_factors_ = factors;
    inequalities_.go_on();
  }
  /// Whether there was a value to be taken so, and a factor.
  bool may_assume() const { return may_assume_; }
  bool may_assume_factors() const { return may_assume_factors_; }

  /// What is known where these are, the one in the first iteration, the other in the second, holds from here
  /// on.
  void stand_at(const Touched& first, const Touched& second);
  /// Whether the elements that two accesses touch, the one in the first iteration, the other in the second,
  /// are different elements of one view, which both are parts of. What has no elements touches none.
  bool differ(const Touched& first, const Touched& second);
  /// Whether an index is another one.
  bool differ(ir::NodeId first, ir::NodeId second);
  bool differ_along_any(std::span<const ir::NodeId> first, std::span<const ir::NodeId> second);

 private:
  using Iteration = uint8_t;  ///< 1 or 2; 0: of values that are the same in both
  struct Form {
    Polynomial sum;
    bool exact = true;
  };
  struct Position {
    ir::NodeId base;
    std::vector<Form> axes;
  };

  Iteration iteration_of(ir::NodeId node, Iteration iteration) const {
    return is_same_(node) ? Iteration{0} : iteration;
  }
  Atom atom(ir::NodeId node, Iteration iteration, size_t axis = 0) const;
  Polynomial number_of(Iteration iteration);
  Form form(ir::NodeId node, Iteration iteration);
  Form find_form(ir::NodeId node, Iteration iteration);
  Polynomial exact(ir::NodeId node, Iteration iteration);
  Form index_of_loop(ir::NodeId parameter, ir::NodeId loop, Iteration iteration);
  Form of_arithmetic(ir::NodeId node, Iteration iteration);
  Form of_choice(ir::NodeId node, ir::NodeId condition, ir::NodeId taken, ir::NodeId other,
                 Iteration iteration);
  Form of_branch(ir::NodeId node, Iteration iteration);
  Form of_extreme(ir::NodeId node, Iteration iteration);
  Form of_division(ir::NodeId node, Iteration iteration);
  Form of_cast(ir::NodeId node, Iteration iteration);
  Form of_opaque(ir::NodeId node, Iteration iteration);
  void assume(ir::NodeId node, int64_t least);
  void assume_factor(ir::NodeId node);
  void compare_quotients(const Polynomial& number, const Polynomial& by, const Polynomial& quotient);
  void keep_in_range(const Polynomial& index, ir::NodeId count, Iteration iteration);
  bool is_checked(ir::NodeId node, Iteration iteration) const;
  std::vector<uint32_t> key_of(ir::Op op, std::span<const ir::NodeId> operands, Iteration iteration) const;
  Polynomial::Wide most_below(ir::NodeId count) const;
  void keep_below(const Polynomial& index, ir::NodeId count, Iteration iteration);
  std::vector<Polynomial> naturals_of(ir::NodeId condition, bool holds, Iteration iteration);
  std::optional<bool> known(ir::NodeId condition, Iteration iteration);
  std::vector<Polynomial> naturals_behind(ir::NodeId passed, Iteration iteration);
  void stand_at(ir::NodeId node, Iteration iteration);
  Position position(const Touched& access, Iteration iteration);
  bool differ(const Form& a, const Form& b);
  bool is_small(const Polynomial& sum) const;

  const ir::Function& f_;
  const Iterations& iterations_;
  Order order_;
  Facts facts_;
  Inequalities inequalities_;
  mutable FromOutside is_same_;  ///< in both iterations
  std::map<std::pair<uint32_t, Iteration>, Form> forms_;
  std::set<Atom> counted_;  ///< numbers of iterations
  std::set<std::pair<uint32_t, Iteration>> bounded_;
  std::set<std::vector<uint32_t>> checked_;  ///< ops with operands, which a check shows not to wrap
  std::map<ir::NodeId, int64_t>* assumed_ = nullptr;
  bool assumes_factors_ = false;
  bool may_assume_ = false;
  bool may_assume_factors_ = false;
  struct Quotient {
    Polynomial number;
    Polynomial by;
    Polynomial quotient;
  };
  std::vector<Quotient> quotients_;
  int nesting_ = 0;
};

}  // namespace ingot::transform
