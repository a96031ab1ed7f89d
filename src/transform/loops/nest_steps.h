#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "transform/writers/rewriter.h"

/// @file The steps by which directives arrange loops: each builds a function anew. They change the loops of a
/// name that passes may change (`is_open`), and leave it to `follow_directives` whether they may.

namespace ingot::transform {

/// Whether a node is a loop that directives may name: not a version that runs where another would raise.
bool is_open(const Function& function, NodeId node);

/// A name in the text of a refusal.
inline std::string quoted(std::string_view name) { return "`" + std::string(name) + "`"; }

/// The location of a node, as of a loop of this name.
ir::SpanId named_location(const Function& function, NodeId node, std::string_view name);

/// Refuses, at a node; the locations of `quoted` are put where `{}` is in the reason.
[[noreturn]] void refuse_directive(const Function& function, NodeId at, const std::string& reason,
                                   const std::string& advice, std::span<const NodeId> quoted = {});

/// What becomes of a loop, of which it is asked once.
struct Change {
  std::string name;             ///< the new name; empty: as it was
  bool is_independent = false;  ///< its iterations have been shown to be
};
/// Gives loops names and marks.
std::unique_ptr<Function> change_loops(const Function& function,
                                       const std::function<Change(NodeId loop)>& change);

/// Has nests run as they are, in versions whose loops have no names, where an array that they write has two
/// indices for one location, and where it may share memory with another argument. Refuses what cannot be
/// asked before a nest.
std::unique_ptr<Function> guard_layouts(const Function& function, const Nodes& nests);

/// Makes two loops of each loop of a name: the inner one has `number` iterations, or what is left.
std::unique_ptr<Function> split_loops(const Function& function, const ir::Directive& directive);

/// The loops from one of the names on inwards that hold all of them: each holds the next and what can be
/// computed elsewhere. Refuses what is no such nest, and names that are not there.
Nodes nest_of(const Function& function, NodeId outermost, std::span<const std::string> names);

/// Puts the loops of a nest into another order; those that are not named stay where they are.
/// `check(nest, order)` may refuse: `order` has the numbers of the loops of the nest in their new order.
using Check = std::function<void(const Function& function, const Nodes& nest, std::span<const size_t> order)>;
std::unique_ptr<Function> reorder_loops(const Function& function, const ir::Directive& directive,
                                        const Check& check);

/// Makes one loop of two, one directly in the other.
std::unique_ptr<Function> fuse_loops(const Function& function, const ir::Directive& directive);

/// Writes the iterations of loops after each other. Where a loop has `n` iterations or what is left, there
/// are two versions of the nest that knows how many.
std::unique_ptr<Function> unroll_loops(const Function& function, const std::set<std::string>& names);

}  // namespace ingot::transform
