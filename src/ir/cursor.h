#pragma once

#include <optional>
#include <vector>

#include "ir/function.h"

namespace ingot::ir {

/// A number that a `for` carries to count how many elements its iterations have stored so far: where an
/// iteration stores, there and nowhere else one is added. So each iteration's elements go after those of the
/// iterations before.
struct Cursor {
  size_t slot;       ///< of what the loop carries
  NodeId parameter;  ///< i64, in the body
  NodeId grown;      ///< the node that adds one: in the body, or in an arm of an `if` there
};

/// The cursor that a carried value of a `for` forms, or none. Its parameter is used only as the last index of
/// stores in the region where it grows, of elements that do not depend on it, in views from outside the loop.
std::optional<Cursor> cursor_of(const Function& function, NodeId loop, size_t slot);

/// The cursors of a `for`, if it carries nothing else; none if it does.
std::optional<std::vector<Cursor>> cursors_of(const Function& function, NodeId loop);

/// Whether a store is at the cursor's index.
bool stores_at(const Function& function, NodeId store, const Cursor& cursor);

}  // namespace ingot::ir
