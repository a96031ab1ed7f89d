#pragma once

#include <memory>
#include <span>
#include <string>

#include "transform/writers/rewriter.h"

/// @file The steps by which directives have iterations of a loop copy, or ask for early, what they read of an
/// array: a box, of each axis the indices from the least to the largest that the loops inside give it.
///
/// They refuse an array of which a loop reads nothing, or some at an index that is no sum of those of the
/// loops inside, or by several views.

namespace ingot::transform {

/// Whether the array of a directive is among the parameters of a function, and has axes.
bool has_array(const Function& function, const ir::Directive& directive);

/// The name of the loop that copies along an axis: `b_panel_0` of `cache("b", "panel")`.
std::string name_of_copy(const ir::Directive& directive, size_t axis);

/// Has each iteration first copy the box, as far as the array has it, without gaps, and read the copy.
/// Refuses an array that the loop may write. `names`: of the loops that copy, for as many axes as arrays
/// have.
std::unique_ptr<Function> copy_boxes(const Function& function, const ir::Directive& directive,
                                     std::span<const std::string> names);

/// Has each iteration ask for the lines of memory of the box that comes `number` iterations later.
std::unique_ptr<Function> fetch_boxes(const Function& function, const ir::Directive& directive);

}  // namespace ingot::transform
