#pragma once

#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace ingot::bindings {

/// What the slot of an operand of a call outside is.
struct SlotType {
  base::DType dtype;
  int rank;  ///< -1: a number
};

/// Of a layout, as compiled code gives it: `Hooks::outside` in runtime/abi.h.
std::vector<SlotType> slots_of(std::string_view layout);

}  // namespace ingot::bindings
