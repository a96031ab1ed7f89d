#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/function.h"

/// @file What a user decides of loops, by their names, apart from the program (`ingot.schedule`).

namespace ingot::ir {

/// The name of a loop; empty: it has none. A location that has several names gives them to the loops made
/// there, from the outside in.
std::string_view loop_name(const Function& function, NodeId loop);

/// Whether the loops that are made at a location have names.
bool names_loops(const Function& function, SpanId location);

/// Whether directives name a loop of this name in this line.
bool is_directed(const Module& module, std::string_view name, uint32_t line);
/// Whether directives decide where an array is computed, which other loops than those of its location alone
/// read: `users` are the nodes that do.
bool is_stage(const Function& function, NodeId array, std::span<const NodeId> users);
/// Whether directives have the elements that a loop around a region computes be computed where they are read.
bool is_inlined(const Function& function, RegionId region);
/// Whether directives name a loop: no pass changes it that decides by itself.
bool is_directed(const Function& function, NodeId loop);

}  // namespace ingot::ir
