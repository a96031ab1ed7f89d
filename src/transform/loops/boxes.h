#pragma once

#include <memory>
#include <string>

#include "transform/writers/rewriter.h"

/// @file The steps by which directives have iterations of a loop copy, or ask for early, what they read of an
/// array: a box, of each axis the indices from the least to the largest that the loops inside give it. Where
/// an index is no sum of theirs, it is the whole axis.
///
/// They refuse what is no array among the function's parameters, and an array of which the loop reads no
/// element by its own indices.

namespace ingot::transform {

/// Has each iteration first copy the box, as far as the array has it, without gaps, and read the copy.
/// Refuses an array that the loop may write. The loops that copy have names.
std::unique_ptr<Function> copy_boxes(const Function& function, const ir::Directive& directive);

/// The name of the loop that copies along an axis: `b_panel_0` of `cache("b", "panel")`.
std::string name_of_copy(const ir::Directive& directive, size_t axis);

/// Has each iteration ask for the lines of memory of the box that comes `number` iterations later.
std::unique_ptr<Function> fetch_boxes(const Function& function, const ir::Directive& directive);

}  // namespace ingot::transform
