#pragma once

#include <set>
#include <string>

namespace ingot::codegen {

/// The beginning of every text.
std::string opencl_head();
/// The functions of these names, and those that they call.
std::string opencl_helpers(const std::set<std::string>& names);

}  // namespace ingot::codegen
