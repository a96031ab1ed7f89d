#pragma once

#include <string_view>
#include <vector>

#include "ir/function.h"

namespace ingot::ir {

/// By function: whether it may call itself, perhaps through others.
std::vector<bool> recursive_functions(const Module& module);

/// By function, whether a condition holds of it or of one that it calls, perhaps through others.
std::vector<bool> functions_reaching(const Module& module, bool (*holds)(const Function&));

/// Whether a function of the module calls a routine of the library table.
bool calls_routine(const Module& module, std::string_view routine);

/// A call into the embedding program; `site` is its number.
struct HostCall {
  int64_t site;
  const Function* function;
  NodeId node;
};
std::vector<HostCall> host_calls(const Module& module);

}  // namespace ingot::ir
