#pragma once

#include <optional>
#include <span>

#include "ir/builder.h"

namespace ingot::transform {

/// The derivatives of elementwise ops, as the column GRAD of the op table has them. Maps of tangents are
/// real-linear; numbers are paired by <c, t> = Re(c * t), without conjugation, so that what multiplies
/// tangents multiplies cotangents. On a branch cut the derivative is that of the side of the value; that of
/// f16 is computed in f32 and rounded once.

/// Whether the value of an op has a derivative with respect to an operand that is not zero everywhere.
bool has_slope(ir::Op op, size_t operand);

/// What the tangent of operand `i` adds to that of the result; none: nothing. Of a number among arrays, it
/// may be a number.
std::optional<ir::NodeId> push_forward(ir::Builder& builder, ir::Op op, std::span<const ir::NodeId> operands,
                                       ir::NodeId result, size_t i, ir::NodeId tangent);

/// What the cotangent of the result adds to that of operand `i`; none: nothing. Of a number among arrays, it
/// is an array, by element of the result.
std::optional<ir::NodeId> pull_back(ir::Builder& builder, ir::Op op, std::span<const ir::NodeId> operands,
                                    ir::NodeId result, size_t i, ir::NodeId cotangent);

}  // namespace ingot::transform
