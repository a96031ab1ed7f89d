#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// Replaces calls by the bodies of their functions: of functions that are not recursive, directly or through
/// others, and that are small or called at one site only. Small is a body whose ops, with those of what is
/// put into it, cost at most as much as `kSmallBody` additions (`ir::OpInfo::cost`). A node of the body gets
/// the call as the site that it is inlined at. Calls that catch exceptions stay, and those of functions with
/// other relaxations. At either stage, best before all passes over one function. Null: no call of the
/// function is replaced.
std::unique_ptr<ir::Function> inline_calls(const ir::Function& function);

/// The same however much the bodies cost and wherever they are called.
std::unique_ptr<ir::Function> inline_all_calls(const ir::Function& function);

inline constexpr int64_t kSmallBody = 1000;

}  // namespace ingot::transform
