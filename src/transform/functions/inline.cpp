#include "transform/functions/inline.h"

#include <algorithm>
#include <unordered_map>

#include "ir/calls.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

namespace {

using ir::FunctionId;

FunctionId callee_of(const Function& function, NodeId call) {
  return FunctionId(static_cast<uint32_t>(function.attribute(call, 0)));
}

/// What is known of the functions that calls may be replaced by.
class Callees {
 public:
  /// `any_cost`: whatever their bodies cost.
  Callees(const ir::Module& module, bool any_cost)
      : module_(module),
        any_cost_(any_cost),
        all_(module.function_count()),
        recursive_(ir::recursive_functions(module)) {
    for (uint32_t i = 0; i < all_.size(); ++i) count_calls_in(FunctionId(i));
  }

  /// The function whose body replaces a node; null: the node stays.
  const Function* body_for(const Function& caller, NodeId node) {
    if (caller.op(node) != Op::call || caller.attribute(node, 1) != 0) return nullptr;
    const FunctionId callee = callee_of(caller, node);
    const Function* const body = module_.function(callee);
    if (body == nullptr || body->relaxations() != caller.relaxations()) return nullptr;
    return is_inlined(callee) ? body : nullptr;
  }

  /// Refuses calls whose bodies, with those of what they call, grow too large.
  void need_small(const Function& caller, std::span<const NodeId> calls) {
    int64_t sum = 0;
    for (const NodeId call : calls) {
      if (body_for(caller, call) != nullptr) sum += cost(callee_of(caller, call));
      if (sum <= kMostGrown) continue;
      base::Unsupported refusal(
          module_.location(caller[call].span),
          "a derivative of, or a prange loop around, calls that grow to more than 200 000 "
          "operations when each of them is written out",
          "call fewer functions there, or use loops");
      refusal.sites = module_.sites(caller[call].span);
      throw refusal;
    }
  }

 private:
  static constexpr int64_t kMostGrown = 200'000;

  struct Known {
    size_t calls = 0;
    std::optional<int64_t> cost;
  };

  void count_calls_in(FunctionId id) {
    const Function* const body = module_.function(id);
    for (uint32_t i = 0; body != nullptr && i < body->node_count(); ++i)
      if (body->op(NodeId(i)) == Op::call) ++all_[callee_of(*body, NodeId(i)).index].calls;
  }

  bool is_inlined(FunctionId id) {
    if (recursive_[id.index]) return false;
    return any_cost_ || all_[id.index].calls == 1 || cost(id) <= kSmallBody;
  }

  /// Of a function that does not call itself.
  int64_t cost(FunctionId id) {
    if (const std::optional<int64_t> known = all_[id.index].cost) return *known;
    const Function& body = *module_.function(id);
    int64_t sum = 0;
    for (uint32_t i = 0; i < body.node_count(); ++i) {
      const NodeId node(i);
      if (const Function* const inner = body_for(body, node)) sum += cost(callee_of(body, node));
      else sum += ir::info(body.op(node)).cost;
    }
    all_[id.index].cost = std::min(sum, kMostGrown + 1);
    return *all_[id.index].cost;
  }

  const ir::Module& module_;
  bool any_cost_;
  std::vector<Known> all_;
  std::vector<bool> recursive_;
};

class Inliner : public Rewriter {
 public:
  Inliner(const Function& source, Callees& callees) : Rewriter(source), callees_(callees) {}

 protected:
  void visit(NodeId id) override {
    const Function* const body = callees_.body_for(source_, id);
    if (body == nullptr) return clone(id);
    const ir::SpanId location = b_.span();
    const std::optional<Nodes> values =
        Inliner(*body, b_, callees_, location).put(use_all(source_.operands(id)));
    b_.set_span(location);
    if (!values) return;
    for (size_t i = 0; i < values->size(); ++i) bind(source_.result(id, i), (*values)[i]);
  }
  bool falls_through(NodeId terminator) const override {
    return Rewriter::falls_through(terminator) || (is_inner_ && source_.op(terminator) == Op::return_);
  }
  void set_location(NodeId id) override {
    if (!is_inner_) return Rewriter::set_location(id);
    b_.set_span(inlined(source_[id].span));
  }

 private:
  Inliner(const Function& callee, ir::Builder& into, Callees& callees, ir::SpanId call)
      : Rewriter(callee, into), callees_(callees), is_inner_(true), call_(call) {}

  /// Builds the body after the node made last. Returns what the function returns; none: it does not return.
  std::optional<Nodes> put(const Nodes& arguments) {
    const auto parameters = source_.region_parameters(source_.body());
    for (size_t i = 0; i < parameters.size(); ++i) bind(parameters[i], arguments[i]);
    if (!visit_body(source_.body())) return std::nullopt;
    return use_all(source_.operands(source_.terminator(source_.body())));
  }

  /// A site of the callee as one that is inlined at the call.
  ir::SpanId inlined(ir::SpanId own) {
    if (!own || !call_) return call_;
    const auto known = locations_.find(own.index);
    if (known != locations_.end()) return known->second;
    ir::Span location = source_.module().span(own);
    location.inlined_at = inlined(location.inlined_at);
    return locations_[own.index] = source_.module().span(location);
  }

  Callees& callees_;
  bool is_inner_ = false;
  ir::SpanId call_;
  std::unordered_map<uint32_t, ir::SpanId> locations_;
};

std::unique_ptr<Function> with_bodies(const Function& function, bool any_cost) {
  std::vector<NodeId> calls;
  for (uint32_t i = 0; i < function.node_count(); ++i)
    if (function.op(NodeId(i)) == Op::call) calls.emplace_back(i);
  if (calls.empty()) return nullptr;
  Callees callees(function.module(), any_cost);
  if (any_cost) callees.need_small(function, calls);
  const auto stays = [&](NodeId call) { return callees.body_for(function, call) == nullptr; };
  return std::ranges::all_of(calls, stays) ? nullptr : Inliner(function, callees).run();
}

}  // namespace

std::unique_ptr<ir::Function> inline_calls(const ir::Function& function) {
  return with_bodies(function, false);
}

std::unique_ptr<ir::Function> inline_all_calls(const ir::Function& function) {
  return with_bodies(function, true);
}

}  // namespace ingot::transform
