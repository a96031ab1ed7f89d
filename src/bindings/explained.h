#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "ir/function.h"

namespace ingot::bindings {

/// After this pass a function consists of the loops that its arrays are fused into.
inline constexpr std::string_view kPassThatMakesLoops = "to_loops";
/// ... and after this one, if it changes something, some of these arrays are not stored.
inline constexpr std::string_view kPassThatDropsArrays = "rematerialize";

/// What a pass has left, for Python: what is known of its loops, nests and launches (src/explain).
struct Stage {
  Stage() = default;
  explicit Stage(const ir::Module& left) : module(left.clone()) {}

  std::shared_ptr<const ir::Module> module;
  /// By function and launch; empty before code is made.
  std::map<std::pair<std::string, ir::NodeId>, std::string> kernels{};
};

/// Adds the classes of what is known to `_core`.
void add_explained(nanobind::module_& core);

}  // namespace ingot::bindings
