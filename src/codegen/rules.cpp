#include "codegen/rules.h"

#include <array>

namespace ingot::codegen {

namespace {

using ir::Op;

constexpr size_t kElementwise = 0
#define OP(...) +1
#include "ir/ops.def"
    ;
static_assert(static_cast<size_t>(Op::add) == 0, "elementwise cards come first");

constexpr std::array<OpRule, kElementwise> kRules = [] {
  std::array<OpRule, kElementwise> rules{};
#define RULE(name, classes) rules[static_cast<size_t>(Op::name)] = {#classes, emit_##name};
#define RELAXED(name, classes) rules[static_cast<size_t>(Op::name)] = {#classes, emit_##name, true};
#include "codegen/rules.def"
  return rules;
}();

}  // namespace

const OpRule& rule_of(Op op) {
  INGOT_ASSERT(static_cast<size_t>(op) < kElementwise, "codegen: an elementwise op");
  return kRules[static_cast<size_t>(op)];
}

bool is_called(Op op, DType dtype) { return !ir::has_class(rule_of(op).inline_classes, dtype); }

std::string math_symbol(Op op, DType dtype) {
  return "ingot_v1_math_" + std::string(ir::name_of(op)) + "_" + std::string(base::info(dtype).name);
}

}  // namespace ingot::codegen
