#include "frontend/operator.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace ingot::frontend {

namespace {

using ir::Op;

constexpr std::nullopt_t kNone = std::nullopt;

constexpr std::array kOperators = {
#define OPERATOR(name, group, symbol, host, op, numpy, method, reflected) \
  OperatorInfo{#name, OperatorGroup::group, symbol, host, op, numpy, method, reflected},
#include "frontend/operators.def"
};

template <class Matches>
std::optional<Operator> find(Matches matches) {
  const auto found = std::ranges::find_if(kOperators, matches);
  if (found == kOperators.end()) return std::nullopt;
  return static_cast<Operator>(found - kOperators.begin());
}

}  // namespace

const OperatorInfo& info(Operator op) { return kOperators[static_cast<size_t>(op)]; }

Operator operator_of(nanobind::handle node) {
  std::string_view name = Py_TYPE(node.ptr())->tp_name;
  name = name.substr(name.rfind('.') + 1);
  return base::known(find([&](const OperatorInfo& row) { return name == row.ast; }));
}

std::optional<Operator> comparison_of(const std::string& method) {
  return find([&](const OperatorInfo& row) {
    const bool compares = row.group == OperatorGroup::Equality || row.group == OperatorGroup::Order;
    return compares && method == row.method;
  });
}

Operator comparison_of(Op op) {
  return base::known(find([&](const OperatorInfo& row) {
    return (row.group == OperatorGroup::Equality || row.group == OperatorGroup::Order) && row.op == op;
  }));
}

}  // namespace ingot::frontend
