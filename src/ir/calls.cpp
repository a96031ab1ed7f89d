#include "ir/calls.h"

namespace ingot::ir {

namespace {

using Callees = std::vector<std::vector<uint32_t>>;

Callees callees_of(const Module& module) {
  Callees callees(module.function_count());
  for (uint32_t i = 0; i < callees.size(); ++i) {
    const Function* const f = module.function(FunctionId(i));
    if (f == nullptr) continue;
    for (uint32_t n = 0; n < f->node_count(); ++n)
      if (f->op(NodeId(n)) == Op::call)
        callees[i].push_back(static_cast<uint32_t>(f->attribute(NodeId(n), 0)));
  }
  return callees;
}

bool reaches_itself(const Callees& callees, uint32_t start) {
  std::vector<bool> seen(callees.size());
  std::vector<uint32_t> open = callees[start];
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    if (at == start) return true;
    if (seen[at]) continue;
    seen[at] = true;
    open.insert(open.end(), callees[at].begin(), callees[at].end());
  }
  return false;
}

template <class Fn>
void each_node(const Module& module, Fn&& fn) {
  for (uint32_t i = 0; i < module.function_count(); ++i) {
    const Function* const function = module.function(FunctionId(i));
    for (uint32_t k = 0; function != nullptr && k < function->node_count(); ++k) fn(*function, NodeId(k));
  }
}

}  // namespace

std::vector<bool> recursive_functions(const Module& module) {
  const Callees callees = callees_of(module);
  std::vector<bool> recursive(callees.size());
  for (uint32_t i = 0; i < recursive.size(); ++i) recursive[i] = reaches_itself(callees, i);
  return recursive;
}

std::vector<bool> functions_reaching(const Module& module, bool (*holds)(const Function&)) {
  const Callees callees = callees_of(module);
  std::vector<bool> reaching(callees.size());
  std::vector<std::vector<uint32_t>> callers(callees.size());
  std::vector<uint32_t> open;
  for (uint32_t i = 0; i < callees.size(); ++i) {
    for (const uint32_t callee : callees[i]) callers[callee].push_back(i);
    if (module.function(FunctionId(i)) != nullptr && holds(*module.function(FunctionId(i))))
      open.push_back(i);
  }
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    if (reaching[at]) continue;
    reaching[at] = true;
    open.insert(open.end(), callers[at].begin(), callers[at].end());
  }
  return reaching;
}

bool calls_routine(const Module& module, std::string_view routine) {
  bool any = false;
  each_node(module, [&](const Function& function, NodeId node) {
    any = any || (function.op(node) == Op::library &&
                  module.text(TextId(static_cast<uint32_t>(function.attribute(node, 0)))) == routine);
  });
  return any;
}

std::vector<HostCall> host_calls(const Module& module) {
  std::vector<HostCall> calls;
  each_node(module, [&](const Function& function, NodeId node) {
    if (function.op(node) == Op::host) calls.push_back({function.attribute(node, 0), &function, node});
  });
  return calls;
}

}  // namespace ingot::ir
