#pragma once

#include <string>
#include <vector>

#include "transform/loops/windows.h"

namespace ingot::transform {

/// A nest of loops that computes an array which one later node, with all that is in it, reads: what
/// `compute_at`, `store_at` and `inline` move to there.
struct Stage {
  /// An axis of the array.
  struct Axis {
    NodeId stride;
    NodeId loop;      ///< of the nest: each of its iterations has elements of its own; none: there is no such
    IndexSum offset;  ///< what is added to the loop's index, or what that is subtracted from
    bool runs_down = false;
    // How long it is: this, or the one by the other.
    NodeId length;
    NodeId bytes;
    NodeId bytes_of_step;
  };

  NodeId nest;
  NodeId alloc;
  DType dtype{};
  std::vector<Axis> axes;
  Nodes views;        ///< of the array, by id
  Nodes stores;       ///< in the nest
  Nodes loads;        ///< elsewhere
  NodeId computed;    ///< what is, or encloses, the nest, next to
  NodeId used;        ///< ... what is, or encloses, what reads it last
  Nodes readers;      ///< these, in order: several read a stage that is computed inline
  Nodes from_around;  ///< what the nest needs of `computed`, by id
  /// Arms of `if`s before `used` that read the array, and have all of it computed at their start.
  std::vector<RegionId> elsewhere;
  std::string name;

  /// Whether a node is a view of the array, or the array.
  bool has(NodeId node) const;
  /// The axis along which iterations of a loop have elements of their own; none: -1.
  int axis_of(NodeId loop) const;
  /// Whether the nest is known to compute all elements along an axis.
  bool covers(const Function& function, const Axis& axis) const;
};

/// The stage whose outermost loop is this one. Throws base::Unsupported, with the lines, where the nest is
/// none, or where computing it later would change what it computes; `is_inline`: where it is read.
Stage find_stage(const Function& function, NodeId nest, bool is_inline);

/// The index along each axis of the array of an element of one of its views, which is known to be of these.
std::vector<IndexSum> position_in(const Function& function, const Stage& stage, NodeId access);
/// ... of the first element of a view, and how many steps along each axis of the array one along an axis of
/// the view is. False: it is no view of whole steps along the axes.
struct Placement {
  std::vector<IndexSum> first;
  std::vector<std::vector<int64_t>> steps;  ///< by axis of the view and of the array
  Nodes conditions;                         ///< where they hold: no axis repeats one element
};
bool place(const Function& function, const Stage& stage, NodeId view, Placement& placement);

}  // namespace ingot::transform
