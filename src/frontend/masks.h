#pragma once

#include "ir/builder.h"

namespace ingot::frontend {

/// The array of which a mask chooses the elements of `value`: of what is made of scalars and of elements that
/// the same mask chooses, by operations that cost little and cannot fail. Invalid: there is none. The array
/// has the mask's rank; its other elements mean nothing.
ir::NodeId before_mask(ir::Builder& builder, ir::NodeId value, ir::NodeId mask);

}  // namespace ingot::frontend
