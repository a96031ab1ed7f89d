#include "ir/builder.h"

#include <algorithm>

namespace ingot::ir {

namespace {

constexpr uint32_t kNodesBetweenLooks = 256;  ///< whether anybody still waits for the function

size_t combine(size_t seed, size_t value) { return (seed ^ value) * 0x9e3779b97f4a7c15u + (seed >> 29); }

}  // namespace

Builder::Builder(Module& module, std::string name)
    : module_(&module), function_(std::make_unique<Function>(module, std::move(name))) {
  function_->regions_.emplace_back();
  open_.push_back(current_);
}

NodeId Builder::add_parameter(Type type, ParameterInfo parameter) {
  Function& f = *function_;
  INGOT_ASSERT(f.nodes_.size() == f.parameters_.size(), "parameters come first");
  f.parameters_.push_back(std::move(parameter));
  ++f.regions_[0].parameter_count;
  const int64_t index = static_cast<int64_t>(f.parameters_.size() - 1);
  return append(Op::param, {}, {&index, 1}, type);
}

NodeId Builder::make(Op op, std::span<const NodeId> operands, std::span<const int64_t> attributes,
                     Type type) {
  const OpInfo& card = info(op);
  INGOT_ASSERT(card.regions == 0 && !card.terminator, "make is for ops without regions");
  const Type inferred = infer(*function_, op, operands, attributes, type);
  const bool pure = card.effects.pure() && op != Op::param && op != Op::result;
  if (pure && folding_) {
    if (const NodeId folded = fold(*this, op, operands, attributes, inferred)) return folded;
    if (const NodeId known = find_equal(op, operands, attributes, inferred)) return known;
  }
  const NodeId node = append(op, operands, attributes, inferred);
  append_results(node);
  if (pure && folding_) remember(node);
  return node;
}

NodeId Builder::append(Op op, std::span<const NodeId> operands, std::span<const int64_t> attributes,
                       Type type) {
  Function& f = *function_;
  INGOT_ASSERT(!terminated(), "no node after a terminator");
  const NodeId id(static_cast<uint32_t>(f.nodes_.size()));
  if (id.index % kNodesBetweenLooks == 0) module_->go_on();
  f.nodes_.push_back({.op = op,
                      .region_count = info(op).regions,
                      .type = type,
                      .operand_begin = static_cast<uint32_t>(f.operands_.size()),
                      .operand_count = static_cast<uint32_t>(operands.size()),
                      .attribute_begin = static_cast<uint32_t>(f.attributes_.size()),
                      .attribute_count = static_cast<uint32_t>(attributes.size()),
                      .first_region = static_cast<uint32_t>(f.regions_.size()),
                      .span = span_,
                      .parent = current_});
  f.operands_.insert(f.operands_.end(), operands.begin(), operands.end());
  f.attributes_.insert(f.attributes_.end(), attributes.begin(), attributes.end());
  for (size_t i = 0; i < info(op).regions; ++i) f.regions_.push_back({.owner = id, .nodes = {}});
  f.regions_[current_.index].nodes.push_back(id);
  return id;
}

void Builder::append_results(NodeId node) {
  const Type type = function_->type(node);
  if (!type.is(TypeKind::Results)) return;
  // A copy, as appending may move the arena.
  const auto members = module_->types.members(type);
  const std::vector<Type> types(members.begin(), members.end());
  for (size_t i = 0; i < types.size(); ++i) {
    const int64_t index = static_cast<int64_t>(i);
    append(Op::result, {&node, 1}, {&index, 1}, types[i]);
  }
}

NodeId Builder::begin(Op op, std::span<const NodeId> operands, std::span<const int64_t> attributes,
                      std::span<const Type> results) {
  INGOT_ASSERT(info(op).regions > 0, "begin is for ops with regions");
  const Type type = infer(*function_, op, operands, attributes, module_->types.results(results));
  return append(op, operands, attributes, type);
}

std::vector<NodeId> Builder::enter(NodeId node, size_t region, std::span<const Type> parameters) {
  Function& f = *function_;
  const RegionId id = f.region(node, region);
  INGOT_ASSERT(f[id].nodes.empty() && f[node].parent == current_,
               "a region is entered once, from the region of its node");
  current_ = id;
  open_.push_back(id);
  std::vector<NodeId> nodes;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const int64_t index = static_cast<int64_t>(i);
    nodes.push_back(append(Op::param, {}, {&index, 1}, parameters[i]));
  }
  f.regions_[id.index].parameter_count = static_cast<uint32_t>(parameters.size());
  return nodes;
}

void Builder::terminate(Op op, std::span<const NodeId> operands, std::span<const int64_t> attributes) {
  INGOT_ASSERT(info(op).terminator, "terminate is for terminators");
  append(op, operands, attributes, infer(*function_, op, operands, attributes, {}));
  if (open_.size() == 1) return;
  open_.pop_back();
  current_ = open_.back();
}

bool Builder::terminated() const {
  const std::vector<NodeId>& nodes = function_->regions_[current_.index].nodes;
  return !nodes.empty() && info(function_->op(nodes.back())).terminator;
}

RegionId Builder::suspend() {
  INGOT_ASSERT(open_.size() > 1 && !terminated(), "an inner region without terminator is suspended");
  const RegionId region = current_;
  open_.pop_back();
  current_ = open_.back();
  return region;
}

void Builder::resume(RegionId region) {
  current_ = region;
  open_.push_back(region);
  INGOT_ASSERT(!terminated(), "a region without terminator is resumed");
}

void Builder::set_results(NodeId node, std::span<const Type> results) {
  function_->nodes_[node.index].type = module_->types.results(results);
}

std::vector<NodeId> Builder::end(NodeId node) {
  INGOT_ASSERT((*function_)[node].parent == current_, "end closes the node in its own region");
  append_results(node);
  return function_->results_of(node);
}

NodeId Builder::constant(Type type, base::Scalar bits) {
  return make(Op::constant, {}, {static_cast<int64_t>(bits.bits[0]), static_cast<int64_t>(bits.bits[1])},
              type);
}

NodeId Builder::cast(NodeId value, DType dtype) {
  return make(Op::cast, {value}, {}, function_->type(value).with_dtype(dtype));
}

void Builder::check(NodeId condition, base::ExceptionKind kind, std::string_view message,
                    std::initializer_list<NodeId> values) {
  if (folding_ && function_->is_constant(condition) && function_->constant(condition).bits[0] != 0) return;
  std::vector<NodeId> operands{condition};
  operands.insert(operands.end(), values.begin(), values.end());
  const int64_t attributes[] = {static_cast<int64_t>(kind), module_->text(message).index};
  make(Op::check, operands, attributes);
}

namespace {

size_t key_of_mask(NodeId mask) { return combine(static_cast<size_t>(Op::compress), mask.index); }

}  // namespace

size_t Builder::key(Op op, std::span<const NodeId> operands, std::span<const int64_t> attributes,
                    Type type) const {
  size_t key = combine(static_cast<size_t>(op), type.bits());
  for (NodeId operand : operands) key = combine(key, operand.index);
  for (int64_t word : attributes) key = combine(key, static_cast<size_t>(word));
  return key;
}

NodeId Builder::find_equal(Op op, std::span<const NodeId> operands, std::span<const int64_t> attributes,
                           Type type) const {
  const Function& f = *function_;
  const auto [first, last] = known_.equal_range(key(op, operands, attributes, type));
  for (auto it = first; it != last; ++it) {
    // Entries outlive a roll-back, so each is compared in full.
    const NodeId id = it->second;
    if (id.index < f.node_count() && f.op(id) == op && f.type(id) == type &&
        std::ranges::equal(f.operands(id), operands) && std::ranges::equal(f.attributes(id), attributes) &&
        f.reaches(id, current_)) {
      return id;
    }
  }
  return {};
}

void Builder::remember(NodeId node) {
  const Function& f = *function_;
  known_.emplace(key(f.op(node), f.operands(node), f.attributes(node), f.type(node)), node);
  if (f.op(node) == Op::compress) known_.emplace(key_of_mask(f.operand(node, 1)), node);
}

NodeId Builder::first_chosen(NodeId mask) const {
  const Function& f = *function_;
  const auto order = [&](NodeId id) { return std::pair(f.op(f.operand(id, 0)) == Op::iota, id.index); };
  NodeId first;
  const auto [begin, end] = known_.equal_range(key_of_mask(mask));
  for (auto it = begin; it != end; ++it) {
    const NodeId id = it->second;
    const bool is_one = id.index < f.node_count() && f.op(id) == Op::compress && f.operand(id, 1) == mask;
    if (is_one && f.reaches(id, current_) && (!first || order(id) < order(first))) first = id;
  }
  return first;
}

Builder::Mark Builder::mark() const {
  const Function& f = *function_;
  return {f.nodes_.size(),   f.operands_.size(), f.attributes_.size(),
          f.regions_.size(), open_.size(),       current_};
}

void Builder::roll_back(const Mark& mark) {
  Function& f = *function_;
  INGOT_ASSERT(mark.open <= open_.size() && open_[mark.open - 1] == mark.region,
               "the regions open at the mark are open");
  f.nodes_.resize(mark.nodes);
  f.operands_.resize(mark.operands);
  f.attributes_.resize(mark.attributes);
  f.regions_.resize(mark.regions);
  open_.resize(mark.open);
  current_ = mark.region;
  const NodeId first_gone(static_cast<uint32_t>(mark.nodes));
  extents_.erase(extents_.lower_bound({first_gone.index, 0}), extents_.end());
  for (RegionId open : open_) {
    std::vector<NodeId>& nodes = f.regions_[open.index].nodes;
    nodes.erase(std::lower_bound(nodes.begin(), nodes.end(), first_gone), nodes.end());
  }
}

std::unique_ptr<Function> Builder::finish(std::span<const Type> results) {
  INGOT_ASSERT(open_.size() == 1 && terminated(), "every region is closed");
  function_->results_.assign(results.begin(), results.end());
  known_.clear();
  return std::move(function_);
}

}  // namespace ingot::ir
