#include "ir/index_sum.h"

namespace ingot::ir {

namespace {

/// Products with larger numbers are no sums.
constexpr int64_t kMostFactor = int64_t{1} << 20;
/// What a sum is made of is looked into so often; the rest are values.
constexpr int kMostLooks = 256;

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

IndexSum operand_sum(const Function& f, NodeId value) {
  IndexSum sum;
  const auto add = [&](NodeId part, int64_t factor) {
    if (const auto number = known_number(f, part)) sum.constant = wrapped(sum.constant, *number, factor);
    else sum.add_term(part, factor);
  };
  const Op op = known_number(f, value) ? Op::constant : f.op(value);
  if (op == Op::add || op == Op::subtract) {
    add(f.operand(value, 0), 1);
    add(f.operand(value, 1), op == Op::add ? 1 : -1);
    return sum;
  }
  if (op == Op::negative) {
    add(f.operand(value, 0), -1);
    return sum;
  }
  for (size_t i = 0; op == Op::multiply && i < 2; ++i) {
    const auto factor = known_number(f, f.operand(value, i));
    if (!factor || *factor > kMostFactor || *factor < -kMostFactor) continue;
    add(f.operand(value, 1 - i), *factor);
    return sum;
  }
  add(value, 1);
  return sum;
}

IndexSum index_sum(const Function& f, NodeId value) {
  IndexSum sum;
  IndexSum waiting;  // operands mostly come before what is made of them: from the last one on, each is looked
                     // at once
  waiting.terms[value] = 1;
  for (int looks = 0; !waiting.terms.empty() && looks < kMostLooks; ++looks) {
    const auto [node, factor] = *waiting.terms.rbegin();
    waiting.terms.erase(node);
    const IndexSum parts = operand_sum(f, node);
    if (parts.terms.contains(node)) sum.add_term(node, factor);
    else waiting.add(parts, factor);
  }
  sum.add(waiting);
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
