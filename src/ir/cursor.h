#pragma once

#include <optional>
#include <vector>

#include "ir/function.h"

namespace ingot::ir {

/// A number that a `for` carries to say how many elements its turns have stored so far: where a turn stores,
/// there and in no other place one is added. So each turn's elements go behind those of the turns before.
struct Cursor {
  size_t slot;       ///< of what the loop carries
  NodeId parameter;  ///< i64, in the body
  NodeId grown;      ///< the node that adds one: in the body, or in an arm of an `if` there
};

/// The cursor that a carried value of a `for` is, or none. Its parameter is used as the last index of stores
/// in the region where it grows, of elements it does not decide on, in views from outside the loop; and for
/// nothing else.
std::optional<Cursor> cursor_of(const Function& function, NodeId loop, size_t slot);

/// The cursors of a `for`, if it carries nothing else; none if it does.
std::optional<std::vector<Cursor>> cursors_of(const Function& function, NodeId loop);

/// Whether a store is at the cursor's place.
bool stores_at(const Function& function, NodeId store, const Cursor& cursor);

}  // namespace ingot::ir
