#pragma once

#include <string_view>

#include "codegen/scalars.h"

namespace ingot::codegen {

/// The arguments of a rule: the operands' parts, numbers or vectors of one length throughout, f16 widened to
/// f32 (and the result narrowed after it).
struct RuleArguments {
  Scalars& scalars;
  Builder& b;
  DType dtype;  ///< of the parts: never f16
  const Parts* operands;

  bool is_float() const { return base::is_float(dtype); }
  bool is_complex() const { return base::is_complex(dtype); }
  bool is_int() const { return base::is_int(dtype); }
  bool is_signed_int() const { return is_int() && base::is_signed(dtype); }
  llvm::Value* re(int i) const { return operands[i][0]; }
  llvm::Value* im(int i) const { return operands[i][1]; }
  llvm::Type* type() const { return operands[0][0]->getType(); }
};

using Rule = Parts (*)(const RuleArguments&);

/// How one elementwise op is emitted: by `emit` for the dtype classes (characters B, I, F, C) in
/// `inline_classes`, by a kernel (vecmath.h) or a call for the others.
struct OpRule {
  std::string_view inline_classes;
  Rule emit = nullptr;
  bool relaxes = false;  ///< float arithmetic, whose values relaxations may change
};

const OpRule& rule_of(ir::Op op);

#define RULE(name, classes) Parts emit_##name(const RuleArguments& a);
#define RELAXED(name, classes) RULE(name, classes)
#include "codegen/rules.def"

}  // namespace ingot::codegen
