#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ingot::base {

/// The features of x86-64 CPUs that compiled code may use, by LLVM's names. Sets of them are strings with
/// commas between the names: `sse3,avx2`.
std::span<const std::string_view> cpu_feature_names();

/// Those that this CPU has and its system lets programs use.
const std::string& cpu_features();

/// Whether a set holds a feature.
bool has_feature(std::string_view set, std::string_view feature);

/// The first feature of `needed` that `present` lacks; empty if there is none.
std::string_view missing_feature(std::string_view needed, std::string_view present);

}  // namespace ingot::base
