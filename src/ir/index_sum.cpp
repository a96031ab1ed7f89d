#include "ir/index_sum.h"

namespace ingot::ir {

namespace {

/// Products with larger numbers are no sums: what is made of them stays far from 64 bits.
constexpr int64_t kMostFactor = int64_t{1} << 20;

int64_t wrapped(int64_t a, int64_t b, int64_t c) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b) * static_cast<uint64_t>(c));
}

}  // namespace

void IndexSum::add_term(NodeId value, int64_t factor) {
  const auto term = terms.try_emplace(value).first;
  term->second = wrapped(term->second, factor, 1);
  if (term->second == 0) terms.erase(term);
}

void IndexSum::add(const IndexSum& other, int64_t factor) {
  constant = wrapped(constant, other.constant, factor);
  for (const auto& [value, times] : other.terms) add_term(value, wrapped(0, times, factor));
}

std::optional<int64_t> known_number(const Function& function, NodeId value) {
  if (!function.is_constant(value) || !function.type(value).is_scalar(base::DType::Int64))
    return std::nullopt;
  return function.constant(value).as<int64_t>();
}

IndexSum index_sum(const Function& f, NodeId value, int depth) {
  IndexSum sum;
  if (const auto number = known_number(f, value)) {
    sum.constant = *number;
    return sum;
  }
  const Op op = f.op(value);
  const auto add = [&](size_t i, int64_t factor) {
    sum.add(index_sum(f, f.operand(value, i), depth - 1), factor);
  };
  if (depth > 0 && (op == Op::add || op == Op::subtract)) {
    add(0, 1);
    add(1, op == Op::add ? 1 : -1);
    return sum;
  }
  if (depth > 0 && op == Op::negative) {
    add(0, -1);
    return sum;
  }
  for (size_t i = 0; depth > 0 && op == Op::multiply && i < 2; ++i) {
    const auto factor = known_number(f, f.operand(value, i));
    if (!factor || *factor > kMostFactor || *factor < -kMostFactor) continue;
    add(1 - i, *factor);
    return sum;
  }
  sum.terms[value] = 1;
  return sum;
}

IndexSum index_sum(const Function& f, const IndexSum& sum, const std::function<NodeId(NodeId)>& other) {
  IndexSum found;
  found.constant = sum.constant;
  for (const auto& [value, factor] : sum.terms) found.add(index_sum(f, other(value)), factor);
  return found;
}

NodeId write(Builder& b, const IndexSum& sum, const std::function<NodeId(NodeId)>& use) {
  NodeId all;
  for (const auto& [value, factor] : sum.terms) {
    const NodeId term = factor == 1 ? use(value) : b.make(Op::multiply, {use(value), b.index(factor)});
    all = all ? b.make(Op::add, {all, term}) : term;
  }
  const NodeId constant = b.index(sum.constant);
  return !all ? constant : sum.constant == 0 ? all : b.make(Op::add, {all, constant});
}

}  // namespace ingot::ir
