#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "transform/analyses/alias.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

/// The arm of an `if` that does nothing but raise, while the other one goes on; none of others, and of other
/// nodes.
std::optional<size_t> raising_arm(const Function& function, NodeId node);

/// The checks in a loop that can be made for many iterations before the first of them runs: their conditions,
/// and those of the branches around them, are computed from the loop's index, from values from outside, and
/// from memory that no iteration writes - or, of a loop whose iterations are `independent`, that the same
/// iteration has not written before. An `if` with an arm that raises is a check as well. None of a loop with
/// exits in it, or with loops whose iterations are counted in it: their lanes end after different iterations;
/// `ragged`: such loops may be there, if they have no checks.
/// `gone`: checks, by node, that are known to hold.
///
/// They fall into phases. A check of phase p may need loads whose indices are in range only if checks hold:
/// those are of phases before p. So all conditions of a phase can be computed, in any order, where all checks
/// of the phases before hold in all iterations.
class EarlyChecks {
 public:
  EarlyChecks(const Function& function, NodeId loop, const std::vector<bool>& gone, bool independent = true,
              bool ragged = false);
  /// Lanes divide integers: what is divided is worth keeping.
  void set_divides(bool divides) { divides_ = divides; }

  size_t phases() const { return phases_.size(); }
  /// All of them.
  const Nodes& checks() const { return checks_; }
  bool is_made_in(size_t phase, NodeId check) const;
  /// What the condition of a check is, operand 0, where it does not raise.
  bool wanted(NodeId check) const { return raising_arm(f_, check) != size_t{0}; }
  /// Whether a node in the loop gives what checks of a phase are computed from.
  bool is_needed_in(size_t phase, NodeId node) const { return phases_[phase].needed[node.index]; }
  /// Whether a node in the loop has checks of a phase in its regions.
  bool is_around(size_t phase, NodeId node) const { return phases_[phase].around[node.index]; }

  /// Values of an iteration that can be computed where all of these checks hold in all iterations, too, and
  /// that the rest of an iteration needs; those that take longer to compute again than to keep. No check that
  /// stays in the iteration is in what they are computed by.
  struct Values {
    Nodes kept;
    std::vector<bool> needed;  ///< by node of the iteration itself: what they are computed from
    size_t phase = 0;          ///< in which all loads for them, in branches too, may be made
    int cost = 0;              ///< of all that is early, with the checks, in additions
  };
  Values values();

 private:
  struct Phase {
    std::vector<bool> needed;  ///< by node
    std::vector<bool> around;  ///< by node
  };
  /// What a condition is computed from, in the loop.
  struct Cone {
    Nodes nodes;
    Nodes loads;
  };

  void survey(RegionId region);
  void take(NodeId check);
  bool gather(NodeId value, Cone& cone) const;
  bool gather_parameter(NodeId parameter, Cone& cone) const;
  bool gather_branch(NodeId branch, Cone& cone) const;
  bool gather_way(NodeId check, Cone& cone) const;
  bool is_unwritten(NodeId load) const;
  bool may_precede(NodeId write, NodeId load) const;
  std::optional<size_t> phase_of_load(NodeId load);
  std::vector<uint32_t> sources(std::span<const NodeId> values) const;
  std::vector<bool> early_nodes();
  bool is_early(NodeId node, const std::vector<bool>& early);
  bool has_checks(NodeId node) const;
  bool has_other_checks(NodeId node) const;
  bool is_left_out(NodeId check) const;
  NodeId in_iteration(NodeId node) const;
  void collect_uses(NodeId node, Nodes& uses) const;
  void mark_needed(Nodes waiting, const std::vector<bool>& early, std::vector<bool>& needed) const;
  int cost_of(NodeId node) const;
  bool is_step(NodeId index) const;

  const Function& f_;
  NodeId loop_;
  RegionId body_;
  std::vector<uint32_t> order_;  ///< by node: its position in the loop
  uint32_t next_ = 0;
  std::vector<bool> gone_;
  bool independent_;
  bool ragged_;
  bool divides_ = false;
  bool jumps_ = false;  ///< there are exits, or loops counted in the iteration: no check is early
  bool writes_anything_ = false;
  Nodes writes_;  ///< each to the view that is its first operand
  Nodes found_;   ///< all checks that are not gone, in order
  std::unordered_map<uint32_t, std::optional<size_t>> phase_of_check_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> sources_of_check_;
  std::unordered_map<uint32_t, std::optional<size_t>> phase_of_load_;
  Nodes checks_;
  std::vector<Phase> phases_;
};

}  // namespace ingot::transform
