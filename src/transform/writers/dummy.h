#pragma once

#include "ir/builder.h"

namespace ingot::transform {

/// A value of any type but a label's that is well formed and unused: zero of scalars; arrays and views
/// without elements (of no axes: one zero, or one element of a new buffer); a new buffer without bytes; an
/// empty optional. Made in the builder's current region.
ir::NodeId dummy(ir::Builder& builder, ir::Type type);

}  // namespace ingot::transform
