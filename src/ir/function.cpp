#include "ir/function.h"

#include <algorithm>

namespace ingot::ir {

size_t Function::result_count(NodeId id) const {
  const Type t = type(id);
  if (t.is(TypeKind::Results)) return module_->types.members(t).size();
  return t.is_void() ? 0 : 1;
}

NodeId Function::result(NodeId id, size_t i) const {
  if (!type(id).is(TypeKind::Results)) return id;
  // The projections come right after the node in its region; with regions, after the nodes inside.
  const Node& n = nodes_[id.index];
  const std::vector<NodeId>& siblings = regions_[n.parent.index].nodes;
  const auto at = std::lower_bound(siblings.begin(), siblings.end(), id);
  return *(at + 1 + static_cast<ptrdiff_t>(i));
}

std::vector<NodeId> Function::results_of(NodeId id) const {
  std::vector<NodeId> values(result_count(id));
  for (size_t i = 0; i < values.size(); ++i) values[i] = result(id, i);
  return values;
}

bool Function::encloses(RegionId outer, RegionId inner) const {
  // A region's owner is older than the region, so ids fall from inner to outer.
  while (inner.index > outer.index) {
    const NodeId owner = regions_[inner.index].owner;
    if (!owner) return false;
    inner = nodes_[owner.index].parent;
  }
  return inner == outer;
}

bool Function::encloses(NodeId owner, NodeId node) const {
  for (size_t i = 0; i < nodes_[owner.index].region_count; ++i)
    if (encloses(region(owner, i), node)) return true;
  return false;
}

bool Function::reaches(NodeId definition, RegionId region) const {
  const RegionId home = nodes_[definition.index].parent;
  NodeId entry;
  while (region != home) {
    if (region.index < home.index) return false;
    entry = regions_[region.index].owner;
    if (!entry) return false;
    region = nodes_[entry.index].parent;
  }
  return !entry || definition < entry;
}

std::unique_ptr<Module> Module::clone() const {
  auto copy = std::make_unique<Module>();
  copy->types = types;
  copy->texts_ = texts_;
  copy->text_ids_ = text_ids_;
  copy->spans_ = spans_;
  copy->directives = directives;
  copy->loop_names = loop_names;
  copy->nests = nests;
  copy->signatures_ = signatures_;
  for (const std::unique_ptr<Function>& function : functions_) {
    copy->functions_.emplace_back(function == nullptr ? nullptr : new Function(*function));
    if (function != nullptr) copy->functions_.back()->module_ = copy.get();
  }
  return copy;
}

TextId Module::text(std::string_view text) {
  const auto [it, is_new] = text_ids_.try_emplace(std::string(text), static_cast<uint32_t>(texts_.size()));
  if (is_new) texts_.emplace_back(text);
  return TextId(it->second);
}

SpanId Module::span(const Span& span) {
  if (!spans_.empty() && spans_.back() == span) return SpanId(static_cast<uint32_t>(spans_.size() - 1));
  spans_.push_back(span);
  return SpanId(static_cast<uint32_t>(spans_.size() - 1));
}

base::SourceLocation Module::location(SpanId id) const {
  if (!id) return {};
  const Span& s = spans_[id.index];
  return {text(s.file), s.line, s.column, s.end_column};
}

std::vector<base::Site> Module::sites(SpanId id) const {
  std::vector<base::Site> all;
  for (; id; id = spans_[id.index].inlined_at) {
    const TextId name = spans_[id.index].function;
    all.push_back({location(id), name ? text(name) : std::string()});
  }
  return all;
}

FunctionId Module::declare(std::string name, std::vector<Type> parameters, std::vector<Type> results) {
  INGOT_ASSERT(!find(name), "a function of this name exists: " + name);
  signatures_.push_back({std::move(name), std::move(parameters), std::move(results)});
  functions_.emplace_back();
  return FunctionId(static_cast<uint32_t>(functions_.size() - 1));
}

void Module::redeclare(FunctionId id, std::vector<Type> parameters, std::vector<Type> results) {
  INGOT_ASSERT(function(id) == nullptr, "redeclared without a body: " + signature(id).name);
  signatures_[id.index].parameters = std::move(parameters);
  signatures_[id.index].results = std::move(results);
}

void Module::define(FunctionId id, std::unique_ptr<Function> function) {
  const Signature& s = signatures_[id.index];
  INGOT_ASSERT(s.name == function->name(), "defined under its name: " + s.name);
  INGOT_ASSERT(std::ranges::equal(s.results, function->results()), "results of " + s.name);
  functions_[id.index] = std::move(function);
}

void Module::keep_reachable(std::span<const FunctionId> entries) {
  if (entries.size() == functions_.size()) return;
  std::vector<bool> reached(functions_.size());
  std::vector<FunctionId> open(entries.begin(), entries.end());
  while (!open.empty()) {
    const FunctionId at = open.back();
    open.pop_back();
    const Function* const body = function(at);
    if (reached[at.index] || body == nullptr) continue;
    reached[at.index] = true;
    for (uint32_t i = 0; i < body->node_count(); ++i) {
      const NodeId node(i);
      if (body->op(node) == Op::call) open.emplace_back(static_cast<uint32_t>(body->attribute(node, 0)));
    }
  }
  for (size_t i = 0; i < functions_.size(); ++i)
    if (!reached[i]) functions_[i].reset();
}

std::optional<FunctionId> Module::find(std::string_view name) const {
  for (size_t i = 0; i < signatures_.size(); ++i)
    if (signatures_[i].name == name) return FunctionId(static_cast<uint32_t>(i));
  return std::nullopt;
}

}  // namespace ingot::ir
