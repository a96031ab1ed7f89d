#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>

#include "ir/op.h"

namespace ingot::frontend {

/// An operator of Python's, by the name of its AST node; see operators.def.
enum class Operator : uint8_t {
#define OPERATOR(name, ...) name,
#include "frontend/operators.def"
};

/// What operators have in common.
enum class OperatorGroup : uint8_t { Binary, Unary, Equality, Order, Identity, Membership, Truth };

/// A row of operators.def, whose head has the meaning of each column.
struct OperatorInfo {
  const char* ast;
  OperatorGroup group;
  const char* symbol;
  const char* host;
  std::optional<ir::Op> op;
  const char* numpy;
  const char* method;
  const char* reflected;
};

const OperatorInfo& info(Operator op);
/// The operator of an AST node; throws base::InternalError for other nodes.
Operator operator_of(nanobind::handle node);
/// The comparison that one of `__eq__`, `__lt__` and the like makes; none: another method.
std::optional<Operator> comparison_of(const std::string& method);
/// The comparison that an op makes.
Operator comparison_of(ir::Op op);

inline bool is_of(OperatorGroup group, Operator op) { return info(op).group == group; }
inline bool is_equality(Operator op) { return is_of(OperatorGroup::Equality, op); }
inline bool is_identity(Operator op) { return is_of(OperatorGroup::Identity, op); }
inline bool is_membership(Operator op) { return is_of(OperatorGroup::Membership, op); }
/// Whether it compares values: `==`, `<` and the like.
inline bool is_comparison(Operator op) { return is_equality(op) || is_of(OperatorGroup::Order, op); }
/// Whether it is the negation of another one: `!=`, `not in`, `is not`.
inline bool is_negated(Operator op) {
  return op == Operator::NotEq || op == Operator::NotIn || op == Operator::IsNot;
}
/// As programs write it.
inline std::string symbol_of(Operator op) { return op == Operator::Pow ? "**" : info(op).symbol; }

}  // namespace ingot::frontend
