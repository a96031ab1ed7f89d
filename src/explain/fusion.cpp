#include "explain/fusion.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/walk.h"

namespace ingot::explain {

namespace {

using ir::NodeId;
using ir::Op;
using Use = std::variant<const FusedOp*, const Buffer*>;
using Uses = std::vector<Use>;
using Ops = std::vector<const FusedOp*>;

template <class T>
void add_new(std::vector<T>& all, const T& one) {
  if (std::ranges::find(all, one) == all.end()) all.push_back(one);
}

template <class T>
void add_new(std::vector<T>& all, const std::vector<T>& more) {
  for (const T& one : more) add_new(all, one);
}

Ops ops_among(const Uses& uses) {
  Ops found;
  for (const Use& use : uses)
    if (const auto* const op = std::get_if<const FusedOp*>(&use)) found.push_back(*op);
  return found;
}

Count* find(Touched& touched, const Buffer* buffer) {
  const auto at = std::ranges::find(touched, buffer, &Touched::value_type::first);
  return at == touched.end() ? nullptr : &at->second;
}

Count total(const Touched& touched) {
  Count all = 0;
  for (const auto& [buffer, bytes] : touched) all = sum(all, bytes);
  return all;
}

std::string dtype_text(const ir::Function& function, NodeId node) {
  const ir::Type type = function.type(node);
  return type.has_dtype() ? std::string(base::info(type.dtype()).name)
                          : function.module().types.to_string(type);
}

FusedOp::Kind kind_of(Op op) {
  switch (op) {
    case Op::load: return FusedOp::Kind::Load;
    case Op::store: return FusedOp::Kind::Store;
    case Op::select:
    case Op::cast: return FusedOp::Kind::Move;
    default: return FusedOp::Kind::Compute;
  }
}

size_t loops_directly_in(const ir::Function& function, ir::RegionId region) {
  size_t count = 0;
  ir::walk(function, region, [&](NodeId node) {
    if (!ir::is_loop(function.op(node))) return ir::Walk::Into;
    ++count;
    return ir::Walk::Past;
  });
  return count;
}

/// Reads a function; loops that touch memory become nests.
class FusionReader final : public HostReader {
 public:
  FusionReader(const ir::Function& function, Fusion& fusion)
      : HostReader(function), fusion_(fusion), makers_(function.node_count()) {}

  void finish();

 private:
  friend class NestReader;

  void visit(NodeId node, Count times) override;
  void visit_loop(NodeId node, Count times) override;
  void pass(NodeId to, NodeId from) override {
    HostReader::pass(to, from);
    makers_[to.index] = makers_of(from);
  }
  using HostReader::pass;
  const Ops& makers_of(NodeId node) const { return makers_[node.index]; }
  bool holds_nests(NodeId loop) const;
  void name_buffers();
  Count least() const;

  Fusion& fusion_;
  std::vector<Ops> makers_;  ///< by node: the ops, in nests that came before, which it depends on
};

/// Reads one nest: which memory it touches how often, and the ops on the way from loads to stores.
class NestReader {
 public:
  NestReader(FusionReader& outside, NodeId node, Count iterations)
      : outside_(outside), function_(outside.function()), node_(node), iterations_(iterations) {}

  std::optional<Nest> nest();

 private:
  std::optional<Nest> routine();
  void enter(NodeId loop, Count times, int depth);
  void visit(ir::RegionId region, Count times, int depth);
  void touch(NodeId node, Count times);
  void store(NodeId node);
  void add_loads(NodeId index, std::set<NodeId>& seen, std::vector<NodeId>& loads) const;
  std::vector<NodeId> loads_of(std::span<const NodeId> indices) const;
  Uses uses_of(std::span<const NodeId> nodes);
  /// What a value comes from: an op, or those that it passes on.
  Uses sources(NodeId value);
  Uses sources_carried(NodeId value);
  const FusedOp* add(FusedOp op);
  NodeId maker(NodeId value) const {
    return function_.op(value) == Op::result ? function_.operand(value, 0) : value;
  }

  FusionReader& outside_;
  const ir::Function& function_;
  NodeId node_;
  Count iterations_;
  std::set<NodeId> made_;                                ///< the values of the nest's nodes
  std::map<std::vector<uint32_t>, const FusedOp*> ops_;  ///< by node, or by what is loaded
  std::map<NodeId, std::pair<NodeId, size_t>> carried_;  ///< by value: what yields it, at which position
  Nest nest_;
};

void FusionReader::visit(NodeId node, Count times) {
  Ops makers;
  for (const NodeId operand : function_.operands(node)) add_new(makers, makers_of(operand));
  for (const NodeId result : function_.results_of(node)) makers_[result.index] = makers;
  HostReader::visit(node, times);
}

/// Whether a loop is around nests rather than being one: it allocates, calls, or holds several loops.
bool FusionReader::holds_nests(NodeId loop) const {
  size_t loops = 0;
  for (size_t i = 0; i < function_[loop].region_count; ++i) {
    const ir::RegionId region = function_.region(loop, i);
    loops += loops_directly_in(function_, region);
    if (ir::any_within(function_, region, [&](NodeId node) {
          return function_.op(node) == Op::alloc || function_.op(node) == Op::library;
        }))
      return true;
  }
  return loops > 1;
}

void FusionReader::visit_loop(NodeId node, Count times) {
  if (!holds_nests(node)) {
    if (std::optional<Nest> nest = NestReader(*this, node, times).nest())
      fusion_.nests.push_back(std::move(*nest));
    return;
  }
  const size_t counts = function_.op(node) == Op::while_ ? 0 : 1;
  const Count count = counts > 0 ? integer(function_.operand(node, 0)) : std::nullopt;
  Nodes given;
  for (size_t i = 0; i < function_[node].region_count; ++i) {
    const ir::RegionId region = function_.region(node, i);
    pass(function_.region_parameters(region).subspan(counts), function_.operands(node).subspan(counts));
    given = read(region, product(times, count));
    left_.reset();
  }
  pass(function_.results_of(node), given);
}

void FusionReader::finish() {
  for (const NodeId result : results_)
    if (const auto of = view(result); of && of->buffer->kind == Buffer::Kind::Temporary)
      of->buffer->kind = Buffer::Kind::Result;
  name_buffers();
  fusion_.name = function_.name();
  fusion_.least = least();
  fusion_.memory = std::move(buffers_);
}

void FusionReader::name_buffers() {
  std::set<const Buffer*> touched;
  for (const Nest& nest : fusion_.nests)
    for (const Touched* part : {&nest.read, &nest.written})
      for (const auto& [buffer, bytes] : *part) touched.insert(buffer);
  std::vector<Buffer*> of_kind[2];
  for (Buffer& buffer : buffers_) {
    if (!touched.contains(&buffer)) continue;
    fusion_.buffers.push_back(&buffer);
    if (buffer.kind != Buffer::Kind::Argument)
      of_kind[buffer.kind == Buffer::Kind::Result].push_back(&buffer);
  }
  for (size_t k = 0; k < 2; ++k) {
    const bool is_numbered = k == 0 || of_kind[k].size() > 1;
    for (size_t i = 0; i < of_kind[k].size(); ++i)
      of_kind[k][i]->name = (k == 0 ? "t" : "result") + (is_numbered ? std::to_string(i + 1) : "");
  }
}

/// The bytes of arguments that are read before they are written, and of what is written that stays.
Count FusionReader::least() const {
  Touched arguments;
  Touched written;
  const auto add = [](Touched& to, const Buffer* buffer, Count size) {
    Count* const before = find(to, buffer);
    const Count most = largest(before != nullptr ? *before : Count(0), size, buffer->bytes);
    if (before != nullptr) *before = most;
    else to.emplace_back(buffer, most);
  };
  for (const Nest& nest : fusion_.nests) {
    for (const auto& [buffer, size] : nest.read)
      if (buffer->kind == Buffer::Kind::Argument && find(written, buffer) == nullptr)
        add(arguments, buffer, size);
    for (const auto& [buffer, size] : nest.written)
      if (buffer->kind != Buffer::Kind::Temporary) add(written, buffer, size);
  }
  return sum(total(arguments), total(written));
}

std::optional<Nest> NestReader::nest() {
  if (!ir::is_loop(function_.op(node_))) return routine();
  enter(node_, 1, 1);
  ir::walk(function_, node_, [&](NodeId node) {
    if (function_.op(node) == Op::store) store(node);
  });
  for (const NodeId result : function_.results_of(node_))
    outside_.makers_[result.index] = ops_among(sources(result));
  if (nest_.ops.empty() && nest_.read.empty() && nest_.written.empty() && !nest_.hidden) return std::nullopt;
  for (Touched* part : {&nest_.read, &nest_.written})
    for (auto& [buffer, bytes] : *part) bytes = product(bytes, iterations_);
  nest_.iterations = iterations_;
  return std::move(nest_);
}

/// A library routine, a copy, or a call, which takes whole arrays.
std::optional<Nest> NestReader::routine() {
  const Op op = function_.op(node_);
  std::vector<std::shared_ptr<const View>> views;
  for (const NodeId operand : function_.operands(node_))
    if (auto view = outside_.view(operand)) views.push_back(std::move(view));
  if (views.empty()) return std::nullopt;
  const View* const last = op == Op::library || op == Op::copy ? views.back().get() : nullptr;
  FusedOp made{std::string(ir::name_of(op)), FusedOp::Kind::Compute, "", location_of(function_, node_), {}};
  const ir::Module& module = function_.module();
  if (op == Op::library)
    made.name = module.text(ir::TextId(static_cast<uint32_t>(function_.attribute(node_, 0))));
  if (op == Op::call)
    made.name = module.signature(ir::FunctionId(static_cast<uint32_t>(function_.attribute(node_, 0)))).name;
  for (const auto& view : views) {
    if (view.get() != last) add_new(made.uses, Use(view->buffer));
    if (find(nest_.read, view->buffer) == nullptr) nest_.read.emplace_back(view->buffer, 0);
    *find(nest_.read, view->buffer) = product(view->bytes(), iterations_);
  }
  for (const NodeId operand : function_.operands(node_))
    for (const FusedOp* maker : outside_.makers_of(operand)) made.uses.emplace_back(maker);
  if (last != nullptr) {
    made.puts = last->buffer;
    nest_.written.emplace_back(last->buffer, *find(nest_.read, last->buffer));
    std::erase_if(nest_.read, [&](const auto& each) { return each.first == last->buffer; });
  }
  const FusedOp* const added = add(std::move(made));
  for (const NodeId result : function_.results_of(node_)) outside_.makers_[result.index] = Ops{added};
  nest_.iterations = iterations_;
  return std::move(nest_);
}

void NestReader::enter(NodeId loop, Count times, int depth) {
  nest_.loops = std::max(nest_.loops, depth);
  const size_t counts = function_.op(loop) == Op::while_ ? 0 : 1;
  const Count count = counts > 0 ? outside_.integer(function_.operand(loop, 0)) : std::nullopt;
  for (size_t i = 0; i < function_[loop].region_count; ++i) {
    const ir::RegionId region = function_.region(loop, i);
    const auto parameters = function_.region_parameters(region);
    for (size_t k = counts; k < parameters.size(); ++k) carried_[parameters[k]] = {loop, k - counts};
    visit(region, product(times, count), depth);
  }
  const std::vector<NodeId> results = function_.results_of(loop);
  for (size_t k = 0; k < results.size(); ++k) carried_[results[k]] = {loop, k};
}

void NestReader::visit(ir::RegionId region, Count times, int depth) {
  for (const NodeId node : function_.region_body(region)) {
    const Op op = function_.op(node);
    if (op == Op::result) continue;
    const std::vector<NodeId> results = function_.results_of(node);
    made_.insert(results.begin(), results.end());
    if (ir::is_loop(op)) {
      enter(node, times, depth + 1);
      continue;
    }
    if (op == Op::load || op == Op::store) touch(node, times);
    else if (results.size() == 1 && ir::info(op).effects.pure() && function_[node].region_count == 0)
      outside_.evaluate(node);
    for (size_t i = 0; i < function_[node].region_count; ++i) {
      visit(function_.region(node, i), times, depth);
      if (op != Op::if_) continue;
      for (size_t k = 0; k < results.size(); ++k) carried_[results[k]] = {node, k};
    }
  }
}

void NestReader::touch(NodeId node, Count times) {
  const NodeId operand = function_.operand(node, 0);
  const auto view = outside_.view(operand);
  if (view == nullptr) {
    nest_.hidden = true;
    return;
  }
  // A view that is made in the nest is another one at each iteration; an unknown count means all elements.
  const Count elements = made_.contains(operand) ? times : view->elements();
  const Count size = product(times ? bounded(times, elements) : elements, view->itemsize);
  Touched& touched = function_.op(node) == Op::store ? nest_.written : nest_.read;
  if (find(touched, view->buffer) == nullptr) touched.emplace_back(view->buffer, 0);
  Count& known = *find(touched, view->buffer);
  known = bounded(sum(known, size), view->buffer->bytes);
}

void NestReader::store(NodeId node) {
  const auto operands = function_.operands(node);
  std::vector<NodeId> values{operands.back()};
  const std::vector<NodeId> loads = loads_of(operands.subspan(1, operands.size() - 2));
  values.insert(values.end(), loads.begin(), loads.end());
  Uses uses = uses_of(values);
  if (const auto view = outside_.view(operands[0]))
    add({"store", FusedOp::Kind::Store, view->buffer->dtype, location_of(function_, node), std::move(uses),
         view->buffer});
}

const FusedOp* NestReader::add(FusedOp op) {
  const FusedOp* const added = &outside_.fusion_.all_ops.emplace_back(std::move(op));
  nest_.ops.push_back(added);
  return added;
}

Uses NestReader::sources(NodeId value) {
  if (carried_.contains(value)) return sources_carried(value);
  if (!made_.contains(value)) {
    const Ops& makers = outside_.makers_of(value);
    return {makers.begin(), makers.end()};
  }
  const NodeId node = maker(value);
  if (function_.is_constant(node)) return {};
  const bool is_load = function_.op(node) == Op::load;
  const auto operands = function_.operands(node);
  std::vector<uint32_t> key{node.index};
  if (is_load) {
    key.clear();
    for (const NodeId operand : operands) key.push_back(operand.index);
    key.push_back(NodeId::kNone);
  }
  const auto [at, is_new] = ops_.emplace(key, nullptr);
  if (!is_new) return at->second != nullptr ? Uses{at->second} : Uses();
  Uses uses;
  if (is_load) {
    if (const auto view = outside_.view(operands[0])) uses.emplace_back(view->buffer);
    const Uses of_indices = uses_of(loads_of(operands.subspan(1)));
    uses.insert(uses.end(), of_indices.begin(), of_indices.end());
  } else {
    uses = uses_of(operands);
  }
  const Op op = function_.op(node);
  const FusedOp* const added = add({std::string(ir::name_of(op)), kind_of(op), dtype_text(function_, node),
                                    location_of(function_, node), std::move(uses)});
  ops_[key] = added;
  return {added};
}

/// The loads that indices are made of.
std::vector<NodeId> NestReader::loads_of(std::span<const NodeId> indices) const {
  std::vector<NodeId> loads;
  std::set<NodeId> seen;
  for (const NodeId index : indices) add_loads(index, seen, loads);
  return loads;
}

void NestReader::add_loads(NodeId index, std::set<NodeId>& seen, std::vector<NodeId>& loads) const {
  if (!made_.contains(index) || !seen.insert(index).second) return;
  const NodeId node = maker(index);
  if (function_.op(node) == Op::load) loads.push_back(index);
  else if (!carried_.contains(index))
    for (const NodeId operand : function_.operands(node)) add_loads(operand, seen, loads);
}

Uses NestReader::uses_of(std::span<const NodeId> nodes) {
  Uses uses;
  for (const NodeId node : nodes) add_new(uses, sources(node));
  return uses;
}

/// What a loop or an `if` yields at that position.
Uses NestReader::sources_carried(NodeId value) {
  const auto [node, position] = carried_.at(value);
  carried_.erase(value);
  const size_t results = function_.result_count(node);
  Uses found;
  for (size_t i = 0; i < function_[node].region_count; ++i) {
    const NodeId end = function_.terminator(function_.region(node, i));
    if (function_.op(end) != Op::yield) continue;
    const auto given = function_.operands(end);
    const auto ends = given.subspan(given.size() - std::min(results, given.size()));
    if (position < ends.size()) add_new(found, sources(ends[position]));
  }
  if (function_.op(node) == Op::parallel_for) {
    const Op combiner = static_cast<Op>(function_.ints(node)[position]);
    found = {add({"reduce " + std::string(ir::name_of(combiner)), FusedOp::Kind::Reduce, "",
                  location_of(function_, node), std::move(found)})};
  }
  outside_.makers_[value.index] = ops_among(found);
  return found;
}

}  // namespace

Count Nest::moved() const { return hidden ? std::nullopt : sum(total(read), total(written)); }

Count Fusion::moved() const {
  Count all = 0;
  for (const Nest& nest : nests) all = sum(all, nest.moved());
  return all;
}

Fusion fusion_of(const ir::Function& function, std::span<const Argument> arguments) {
  Fusion fusion;
  FusionReader reader(function, fusion);
  reader.give(arguments);
  reader.read(1);
  reader.finish();
  return fusion;
}

}  // namespace ingot::explain
