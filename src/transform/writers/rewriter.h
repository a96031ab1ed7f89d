#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir/builder.h"

namespace ingot::transform {

using ir::DType;
using ir::Function;
using ir::NodeId;
using ir::Op;
using ir::RegionId;
using ir::Type;

using Nodes = std::vector<NodeId>;

/// The slots of a node with regions: values that go into it and come back with each iteration (of `for_`,
/// these are the results too), and values that it gives.
enum class Slot : uint8_t { Entry, Result };

/// Builds a function anew from another, node by node in program order, through the Builder's folding. A pass
/// derives from it and overrides what it does differently.
class Rewriter {
 public:
  explicit Rewriter(const Function& source);
  /// Builds the nodes of `source` into another function, of the same module.
  Rewriter(const Function& source, ir::Builder& into);
  virtual ~Rewriter() = default;
  Rewriter(const Rewriter&) = delete;
  Rewriter& operator=(const Rewriter&) = delete;

  std::unique_ptr<Function> run();

 protected:
  /// Deals with a node that is no terminator; by default `clone`.
  virtual void visit(NodeId id) { clone(id); }
  /// The new node for an old one, as an operand of the node that is made next.
  virtual NodeId use(NodeId old) { return made_[old.index]; }
  /// The new node that an old one has become, none yet: invalid.
  NodeId made(NodeId old) const { return made_[old.index]; }
  /// An old value - a parameter, a node or a result - has become this one.
  virtual void bind(NodeId old, NodeId made) { made_[old.index] = made; }
  /// What a type becomes.
  virtual Type convert(Type type) { return type; }
  /// Whether a terminator gives its region's values to what follows the region, where the region replaces its
  /// owner.
  virtual bool falls_through(NodeId terminator) const { return source_.op(terminator) == Op::yield; }
  /// Whether slot `i` of a node with regions stays.
  virtual bool keeps(NodeId, Slot, size_t) { return true; }
  /// May change the attributes with which a node with regions is made.
  virtual void set_attributes(NodeId, std::span<int64_t>) {}
  /// ... to those of a loop whose iterations are shown to be independent, in code that runs where they are.
  static void make_independent(std::span<int64_t> attributes);
  virtual void enter_region(RegionId) {}
  virtual void leave_region(RegionId) {}

  /// Makes the same node of the new operands, with what is in its regions.
  void clone(NodeId id);
  /// Writes a node in two versions, of which a condition chooses; its results are those of the one that runs.
  void write_versions(NodeId id, NodeId condition, const std::function<void()>& where_it_holds,
                      const std::function<void()>& elsewhere);
  /// Visits a region's nodes and terminator in the current region of the builder.
  void clone_body(RegionId region);
  /// Visits a region's nodes up to a terminator that falls through; false: the current region has ended
  /// otherwise.
  bool visit_body(RegionId region);
  /// Ends the current region as this terminator does.
  virtual void terminate(NodeId terminator);
  Nodes use_all(std::span<const NodeId> old);
  /// Nodes made from now on have the location of this one (or, if it has none, of the one before).
  virtual void set_location(NodeId id);

  const Function& source_;

 private:
  std::optional<ir::Builder> own_;

 protected:
  ir::Builder& b_;

 private:
  void clone_with_regions(NodeId id);
  Nodes kept(NodeId id, Slot slot, std::span<const NodeId> values, size_t fixed);
  std::vector<Type> types_of(std::span<const NodeId> old);
  void clone_region(NodeId id, size_t index, NodeId made);

  Nodes made_;
};

}  // namespace ingot::transform
