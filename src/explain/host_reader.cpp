#include "explain/host_reader.h"

#include <algorithm>
#include <map>

#include "ir/builder.h"
#include "ir/evaluate.h"

namespace ingot::explain {

using base::DType;
using ir::NodeId;
using ir::Op;

Count sum(Count a, Count b) {
  int64_t result = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &result)) return std::nullopt;
  return result;
}

Count product(Count a, Count b) {
  int64_t result = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &result)) return std::nullopt;
  return result;
}

Count product(std::span<const Count> counts) {
  Count all = 1;
  for (const Count count : counts) all = product(all, count);
  return all;
}

Count bounded(Count size, Count bound) { return size && bound ? std::min(*size, *bound) : size; }

Count largest(Count a, Count b, Count bound) {
  return a && b ? bounded(std::max(*a, *b), bound) : std::nullopt;
}

std::optional<base::SourceLocation> location_of(const ir::Function& function, NodeId node) {
  const ir::SpanId span = function[node].span;
  if (!span) return std::nullopt;
  return function.module().location(span);
}

Line line_of(const ir::Function& function, NodeId node) {
  const std::optional<base::SourceLocation> location = location_of(function, node);
  if (!location) return std::nullopt;
  return std::pair(location->file, location->line);
}

bool is_check(Op op) { return ir::info(op).effects == ir::effect::Raise; }

namespace {

bool is_same(const Known& a, const Known& b) {
  const auto* const x = std::get_if<std::shared_ptr<const View>>(&a);
  const auto* const y = std::get_if<std::shared_ptr<const View>>(&b);
  return x != nullptr && y != nullptr ? **x == **y : a == b;
}

}  // namespace

HostReader::HostReader(const ir::Function& function) : function_(function), values_(function.node_count()) {}

void HostReader::give(std::span<const Argument> arguments) {
  const std::span<const NodeId> parameters = function_.region_parameters(function_.body());
  const std::vector<ir::ParameterInfo> infos(function_.parameters().begin(), function_.parameters().end());
  const auto is_alone = [&](size_t i) {
    const auto same = [&](const ir::ParameterInfo& other) { return other.alias_set == infos[i].alias_set; };
    return infos[i].alias_set != 0 && std::ranges::count_if(infos, same) == 1;
  };
  std::map<const void*, Known> seen;
  for (size_t i = 0; i < std::min(parameters.size(), arguments.size()); ++i) {
    const ir::Type type = function_.type(parameters[i]);
    if (const auto* const bits = std::get_if<base::Scalar>(&arguments[i]);
        bits != nullptr && type.is_scalar())
      set(parameters[i], Number{type.dtype(), *bits});
    const auto* const array = std::get_if<ArrayArgument>(&arguments[i]);
    if (array == nullptr) continue;
    Known& known = seen[array->identity];
    if (std::holds_alternative<std::monostate>(known)) {
      const std::vector<Count> lengths(array->shape.begin(), array->shape.end());
      Buffer& buffer = buffers_.emplace_back(Buffer{infos[i].name, array->bytes, Buffer::Kind::Argument,
                                                    array->dtype, lengths, array->itemsize});
      if (!is_alone(i)) shared_.insert(&buffer);
      known = std::make_shared<View>(View{&buffer,
                                          lengths,
                                          array->itemsize,
                                          is_alone(i) ? Count(0) : std::nullopt,
                                          {array->strides.begin(), array->strides.end()}});
    }
    set(parameters[i], known);
  }
}

std::shared_ptr<const View> HostReader::view(NodeId node) const {
  const auto* const known = std::get_if<std::shared_ptr<const View>>(&values_[node.index]);
  return known != nullptr ? *known : nullptr;
}

Count HostReader::integer(NodeId node) const {
  const auto* const number = std::get_if<Number>(&values_[node.index]);
  if (number == nullptr || !base::is_int(number->dtype)) return std::nullopt;
  return ir::evaluate_cast(number->dtype, DType::Int64, number->bits).as<int64_t>();
}

std::optional<bool> HostReader::condition(NodeId node) const {
  const auto* const number = std::get_if<Number>(&values_[node.index]);
  if (number == nullptr) return std::nullopt;
  return number->bits.as<uint8_t>() != 0;
}

HostReader::Nodes HostReader::read(ir::RegionId region, Count times) {
  for (const NodeId node : function_.region_body(region)) {
    const auto operands = function_.operands(node);
    switch (function_.op(node)) {
      case Op::result: continue;
      case Op::yield: return {operands.begin(), operands.end()};
      case Op::exit_: left_ = Exit{operands[0], {operands.begin() + 1, operands.end()}}; break;
      case Op::return_:
        results_.assign(operands.begin(), operands.end());
        left_ = Exit{};
        break;
      default: visit(node, times);
    }
    if (left_) break;
  }
  return {};
}

void HostReader::visit(NodeId node, Count times) {
  const Op op = function_.op(node);
  if (op == Op::if_) visit_if(node, times);
  else if (op == Op::block) visit_block(node, times);
  else if (ir::is_loop(op) || op == Op::library || op == Op::call || op == Op::copy || op == Op::host)
    visit_loop(node, times);
  else if (function_.result_count(node) == 1) evaluate(node);
}

void HostReader::visit_block(NodeId node, Count times) {
  const ir::RegionId region = function_.region(node);
  const NodeId label = function_.region_parameters(region)[0];
  Nodes given = read(region, times);
  if (left_ && left_->label == label) {
    given = std::move(left_->values);
    left_.reset();
  }
  if (!unsure_.contains(label)) pass(function_.results_of(node), given);
}

void HostReader::visit_if(NodeId node, Count times) {
  const Nodes results = function_.results_of(node);
  if (const std::optional<bool> holds = condition(function_.operand(node, 0))) {
    pass(results, read(function_.region(node, *holds ? 0 : 1), times));
    return;
  }
  Nodes arms[2];
  for (size_t i = 0; i < 2; ++i) {
    arms[i] = read(function_.region(node, i), times);
    if (left_) unsure_.insert(left_->label);
    left_.reset();
  }
  pass(results, arms[1].empty() ? arms[0] : arms[1]);
  for (size_t i = 0; i < std::min({results.size(), arms[0].size(), arms[1].size()}); ++i)
    if (!is_same(known(arms[0][i]), known(arms[1][i]))) forget(results[i]);
}

void HostReader::pass(std::span<const NodeId> to, std::span<const NodeId> from) {
  for (size_t i = 0; i < std::min(to.size(), from.size()); ++i) pass(to[i], from[i]);
}

Known HostReader::value_of(NodeId node) {
  const auto operands = function_.operands(node);
  const auto operand_view = [&] { return view(operands[0]); };
  switch (function_.op(node)) {
    case Op::constant:
      if (!function_.type(node).is_scalar()) return {};
      return Number{function_.type(node).dtype(), function_.constant(node)};
    case Op::length:
    case Op::stride:
      if (const auto of = operand_view()) {
        const auto& extents = function_.op(node) == Op::length ? of->lengths : of->strides;
        const Count extent = extents[static_cast<size_t>(function_.attribute(node, 0))];
        if (extent) return Number{DType::Int64, base::Scalar::of(*extent)};
      }
      return {};
    case Op::buffer:
      if (const auto of = operand_view()) return of->buffer;
      return {};
    case Op::offset:
      if (const auto of = operand_view(); of && of->offset)
        return Number{DType::Int64, base::Scalar::of(*of->offset)};
      return {};
    case Op::alloc: return &buffers_.emplace_back(Buffer{"", integer(operands[0]), Buffer::Kind::Temporary});
    case Op::view: return view_value(node);
    case Op::same_object: return same_object(node);
    case Op::select:
      if (const std::optional<bool> holds = condition(operands[0])) return known(operands[*holds ? 1 : 2]);
      return {};
    case Op::some:
    case Op::value: return known(operands[0]);
    default: return number_value(node);
  }
}

Known HostReader::number_value(NodeId node) const {
  const Op op = function_.op(node);
  const bool is_cast = op == Op::cast;
  if ((!is_cast && !ir::info(op).elementwise) || !function_.type(node).is_scalar()) return {};
  std::vector<base::Scalar> given;
  DType dtype{};
  for (const NodeId operand : function_.operands(node)) {
    const auto* const number = std::get_if<Number>(&known(operand));
    if (number == nullptr) return {};
    given.push_back(number->bits);
    dtype = number->dtype;
  }
  const DType result = function_.type(node).dtype();
  return Number{result,
                is_cast ? ir::evaluate_cast(dtype, result, given[0]) : ir::evaluate(op, dtype, given)};
}

Known HostReader::same_object(NodeId node) const {
  const auto* const a = std::get_if<Buffer*>(&known(function_.operand(node, 0)));
  const auto* const b = std::get_if<Buffer*>(&known(function_.operand(node, 1)));
  if (a == nullptr || b == nullptr) return {};
  if (*a != *b && shared_.contains(*a) && shared_.contains(*b)) return {};
  return Number{DType::Bool, base::Scalar::of(*a == *b)};
}

Known HostReader::view_value(NodeId node) {
  const auto operands = function_.operands(node);
  const auto* const buffer = std::get_if<Buffer*>(&known(operands[0]));
  if (buffer == nullptr) return {};
  const ir::Type type = function_.type(node);
  const auto rank = static_cast<size_t>(type.rank());
  std::vector<Count> extents;
  for (const NodeId operand : operands.subspan(1)) extents.push_back(integer(operand));
  const auto part = [&](size_t begin) {
    return std::vector<Count>(extents.begin() + static_cast<ptrdiff_t>(begin),
                              extents.begin() + static_cast<ptrdiff_t>(begin + rank));
  };
  auto made = std::make_shared<View>(
      View{*buffer, part(1), static_cast<int64_t>(base::size_of(type.dtype())), extents[0], part(1 + rank)});
  Buffer& memory = **buffer;
  if (memory.dtype.empty()) {
    memory.dtype = base::info(type.dtype()).numpy;
    memory.shape = made->lengths;
    memory.itemsize = made->itemsize;
    if (!memory.bytes) memory.bytes = made->bytes();
  }
  return made;
}

}  // namespace ingot::explain
