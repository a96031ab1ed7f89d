#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>

#include "transform/derivatives/pullback.h"
#include "transform/derivatives/recording.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

/// The function with the `pull` of a derivative made: the recorded range (`Recording`) keeps on tapes what
/// the reverse sweep needs, and the sweep replaces the `pull`. Memory that varies has shadows, to which the
/// sweep adds; it runs loops and branches backwards. Throws Unsupported, with its location, where an op has
/// no derivative.
std::unique_ptr<Function> reverse(const Function& function, int64_t tag);

/// Builds a function whose memory has shadows anew, with the tapes and the sweep of one `pull`.
///
/// A tape holds what one value was in each iteration of the loops around it. In regular loops it has an axis
/// for each loop, which the iterations' numbers index. Iterations of an irregular loop are counted over all
/// of its executions (`State::top`), and its tapes grow; where an execution began is kept by the loop around
/// it. The state of irregular loops is carried by the loops and branches around them.
class Reverse : public Rewriter, private Sweep {
 public:
  Reverse(const Shadowed& shadowed, NodeId pull);

 private:
  /// What one number was: in an axis for each loop around, or at the number of an iteration.
  struct Tape {
    int loop;
    base::DType dtype;
    NodeId memory;  ///< in regular loops
    size_t slot;    ///< in irregular ones: which of the state's buffers
  };
  /// The tapes of an irregular loop: how many iterations they have had, and their capacity.
  struct State {
    NodeId top;
    NodeId capacity;
    Nodes buffers;
  };
  /// How a value is kept: as numbers, or as its elements, one array after the other.
  struct Kept {
    std::vector<size_t> tapes;
    NodeId elements;  ///< a buffer
    Nodes lengths;
    Nodes parts;  ///< of a view: offset, lengths, strides; none: on a tape
  };

  /// What the iterations of a loop in blocks give to others.
  struct Blocks {
    Nodes sums;   ///< numbers from outside
    Nodes fixed;  ///< loads of the same element in all iterations
    Nodes split;  ///< loads of elements that other iterations load
  };

  class Back;

  void visit(NodeId id) override;
  void bind(NodeId old, NodeId made) override;
  void terminate(NodeId terminator) override;

  /// @name Tapes (reverse_tapes.cpp)
  void prepare(NodeId node);
  void prepare(NodeId value, Kept& kept);
  size_t add_tape(int loop, base::DType dtype);
  const Nodes& axes_of(int loop);
  NodeId hoist(NodeId old);
  bool is_dense(NodeId value);
  Nodes known_parts(NodeId view);
  void keep(NodeId value, NodeId made);
  void keep_view(const Kept& kept, NodeId view);
  NodeId kept_again(NodeId value);
  NodeId view_again(const Kept& kept, Type type);
  void put(size_t tape, NodeId number);
  NodeId get(size_t tape);
  NodeId elements_at(const Kept& kept, NodeId number, Type type);
  NodeId number_of_iteration(int loop, const Nodes& indices);
  NodeId tape_view(const Tape& tape);
  void reserve(int loop, NodeId count);

  /// @name The recorded range (reverse.cpp)
  void visit_control(NodeId id);
  bool runs_in_order(NodeId id) const;
  void hold_contributions(NodeId id);
  void combine_contributions(NodeId id);
  void enter(NodeId id, size_t region, NodeId made, const std::vector<int>& states);
  std::vector<int> states_in(NodeId id) const;
  void add_states(const std::vector<int>& states, Nodes& to) const;
  void set_states(const std::vector<int>& states, std::span<const NodeId> nodes);

  /// @name The sweep (reverse_sweep.cpp)
  void visit_pull(NodeId id);
  void sweep(RegionId region);
  void sweep_node(NodeId id);
  void sweep_if(NodeId id);
  bool has_choice(NodeId id) const;
  void sweep_counted(NodeId id);
  void sweep_iterations(NodeId id);
  void sweep_while(NodeId id);
  void sweep_back(NodeId id);
  void restore(RegionId region);
  NodeId computed_again(NodeId value);
  void clear(RegionId region);
  void set_iteration(int loop, NodeId iteration);
  Nodes cotangents_of(std::span<const NodeId> olds);
  NodeId some_cotangent(NodeId old);
  void set_cotangents(std::span<const NodeId> olds, std::span<const NodeId> made);
  std::vector<Type> types_of_cotangents(std::span<const NodeId> olds) const;
  Type type_of_cotangent(NodeId old) const;
  Nodes varied_of(std::span<const NodeId> olds) const;

  /// @name Iterations in any order (reverse_blocks.cpp)
  bool takes_any_order(NodeId loop) const;
  Nodes loads_of(NodeId loop, bool moves) const;
  bool are_disjoint(NodeId a, NodeId b) const;
  Nodes meeting_loads(NodeId loop) const;
  bool is_stored_to(NodeId loop, NodeId view) const;
  std::optional<Blocks> blocks_of(NodeId id) const;
  void sweep_in_blocks(NodeId id, const Blocks& blocks);
  void sweep_all_blocks(NodeId id, const Blocks& blocks);
  void sweep_iteration(NodeId id, const Nodes& standing, const Nodes& given);
  void add_where_loaded(NodeId loop, NodeId load, NodeId c);

  NodeId value(NodeId old) override;
  NodeId length(NodeId old, int axis) override;
  NodeId shadow(NodeId old) override;
  NodeId cotangent(NodeId old) override { return cotangents_[old.index]; }
  bool varies(NodeId old) const override { return recording_.varies(old); }
  void add(NodeId old, NodeId cotangent) override;
  bool is_masked(NodeId cotangent) const override { return masked_.contains(cotangent); }
  void mask(NodeId cotangent) override { masked_.insert(cotangent); }

  NodeId make(Op op, std::initializer_list<NodeId> operands) { return b_.make(op, operands); }
  State& state(int loop) { return states_[static_cast<size_t>(loop)]; }
  const Recording::Loop& loop(int number) const { return recording_.loops()[static_cast<size_t>(number)]; }

  Shadowed shadowed_;
  NodeId pull_;
  Recording recording_;
  std::vector<State> states_;                     ///< by loop
  std::vector<std::vector<base::DType>> dtypes_;  ///< by loop: of its state's buffers
  std::vector<Nodes> indices_;                    ///< by loop: where on its tapes the iteration is
  std::map<int, Nodes> axes_;                     ///< of regular loops: how often each around runs
  std::vector<Tape> tapes_;
  std::map<NodeId, Kept> kept_;
  std::map<NodeId, size_t> starts_;  ///< by irregular loop inside: the tape of where it began
  std::map<NodeId, size_t> trips_;   ///< by `while` inside: the tape of how often it ran
  std::map<NodeId, NodeId> start_nodes_;
  std::map<NodeId, NodeId> trip_nodes_;
  std::map<NodeId, NodeId> hoisted_;
  std::map<NodeId, Nodes> contributions_;  ///< by parallel loop in order: arrays
  Nodes back_;                             ///< by old id: what a value of a region inside was
  Nodes cotangents_;                       ///< by old id; none: zero
  std::set<NodeId> masked_;
  std::set<NodeId> deferred_;  ///< values whose cotangents are dealt with after the iteration
};

}  // namespace ingot::transform
