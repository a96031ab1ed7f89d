#include "transform/derivatives/derive.h"

#include <algorithm>
#include <optional>

#include "transform/analyses/activity.h"
#include "transform/derivatives/forward.h"
#include "transform/derivatives/reverse.h"
#include "transform/functions/inline.h"

namespace ingot::transform {

namespace {

bool is_pulled(const Function& f, int64_t tag) {
  for (uint32_t i = 0; i < f.node_count(); ++i)
    if (f.op(NodeId(i)) == Op::pull && f.attribute(NodeId(i), 0) == tag) return true;
  return false;
}

std::unique_ptr<Function> derived(const Function& function, int64_t tag) {
  if (is_pulled(function, tag)) return reverse(function, tag);
  return Forward(function, tag).run();
}

}  // namespace

std::unique_ptr<Function> derive(const Function& function) {
  if (!largest_tag(function)) return nullptr;
  std::unique_ptr<Function> made = inline_all_calls(function);
  for (auto tag = largest_tag(made == nullptr ? function : *made); tag; tag = largest_tag(*made))
    made = derived(made == nullptr ? function : *made, *tag);
  return made;
}

}  // namespace ingot::transform
