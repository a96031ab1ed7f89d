#include "driver/program.h"

#include <algorithm>
#include <map>
#include <string>

#include "ir/verifier.h"
#include "transform/dependence.h"
#include "transform/derive.h"
#include "transform/disjoint.h"
#include "transform/inline.h"
#include "transform/parallel.h"
#include "transform/simplify.h"

namespace ingot::driver {

namespace {

bool is_over_prange(const ir::Function& f, ir::NodeId node) {
  return f.op(node) == ir::Op::for_ && ir::has_threads(static_cast<ir::Schedule>(f.attribute(node, 0)));
}

[[noreturn]] void refuse(const ir::Module& module, const ir::Function& function, ir::NodeId loop,
                         const transform::Conflict& conflict) {
  using Kind = transform::Conflict::Kind;
  const bool leaves = conflict.kind == Kind::Leaving;
  if (leaves || conflict.kind == Kind::Drawing) {
    const ir::SpanId span = function[leaves ? loop : conflict.first].span;
    base::Unsupported refusal =
        leaves
            ? base::Unsupported(module.location(span), "a prange loop that an iteration leaves",
                                "use range; or let all iterations run, and keep the first one that finds "
                                "something, as by `first = min(first, i)`")
            : base::Unsupported(module.location(span), "a prange loop whose iterations draw random numbers",
                                "use range; or draw them before the loop, as an array: "
                                "`noise = rng.random(n)`, and `noise[i]` in the loop");
    refusal.sites = module.sites(span);
    throw refusal;
  }
  const auto sites_of = [&](ir::NodeId node) { return module.sites(function[node].span); };
  const base::SourceLocation first = module.location(function[conflict.first].span);
  const base::SourceLocation second = module.location(function[conflict.second].span);
  const bool is_one = first == second;
  const bool are_elements = conflict.kind == Kind::Elements;
  const bool is_carried = conflict.kind == Kind::Carried;
  std::string reason = conflict.reason;
  if (is_carried) reason += "{0.carried}";
  if (are_elements) reason = is_one ? "{} may be one element in two of them" : "{} and {} may be one element";
  else if (first.line == second.line) reason += "; line " + std::to_string(first.line);
  else reason += "; lines " + std::to_string(first.line) + " and " + std::to_string(second.line);
  base::Unsupported refusal(first, "a prange loop whose iterations may depend on each other (" + reason + ")",
                            "use range, or let each iteration write to elements of its own");
  if (are_elements || is_carried) refusal.quoted.push_back(sites_of(conflict.first));
  if (are_elements && !is_one) refusal.quoted.push_back(sites_of(conflict.second));
  refusal.sites = module.sites(function[conflict.first].span);
  throw refusal;
}

/// Refuses loops over `prange` whose iterations are not shown to be independent, and makes parallel loops of
/// those that carry values.
void prepare_parallel_loops(ir::Module& module, ir::FunctionId id) {
  const ir::Function& built = *module.function(id);
  bool any = false;
  for (uint32_t i = 0; i < built.node_count(); ++i) any = any || is_over_prange(built, ir::NodeId(i));
  if (!any) return;
  // A callee may write into a part of an array that is the iteration's own.
  const std::unique_ptr<ir::Function> whole = transform::inline_all_calls(built);
  const std::unique_ptr<ir::Function> simple = transform::simplify(whole == nullptr ? built : *whole);
  for (uint32_t i = 0; i < simple->node_count(); ++i) {
    if (!is_over_prange(*simple, ir::NodeId(i))) continue;
    std::vector<transform::Accumulation> meeting;
    std::vector<transform::Table> tables;
    std::map<ir::NodeId, int64_t> assumed;
    if (const auto conflict = transform::find_race(*simple, ir::NodeId(i), meeting, tables, &assumed))
      refuse(module, *simple, ir::NodeId(i), *conflict);
  }
  module.define(id, transform::parallel(*simple));
}

/// Makes the derivatives that are requested.
void make_derivatives(ir::Module& module, ir::FunctionId id) {
  const ir::Function& built = *module.function(id);
  if (!transform::has_derivatives(built)) return;
  const std::unique_ptr<ir::Function> whole = transform::inline_all_calls(built);
  module.define(id, transform::derive(whole == nullptr ? built : *whole));
}

/// Whether different indices of an argument are different elements in memory.
bool is_disjoint(const ir::Value& argument) {
  const auto* const view = std::get_if<ir::ViewValue>(&argument);
  if (view == nullptr || std::ranges::any_of(view->lengths, [](int64_t n) { return n < 1; })) return true;
  transform::PlainArithmetic plain;
  const auto element = static_cast<int64_t>(base::size_of(view->dtype));
  return transform::is_disjoint<transform::PlainArithmetic, int64_t>(plain, view->lengths, view->strides,
                                                                     element) != 0;
}

}  // namespace

Program::Program(std::unique_ptr<ir::Module> module, ir::FunctionId entry)
    : module_(std::move(module)), entry_(entry) {
  module_->keep_reachable({&entry_, 1});
  for (uint32_t i = 0; i < module_->function_count(); ++i) {
    const ir::FunctionId id(i);
    if (module_->function(id) == nullptr) continue;
    ir::verify_or_throw(*module_->function(id), ir::Stage::Array, "frontend");
    make_derivatives(*module_, id);
    prepare_parallel_loops(*module_, id);
  }
}

CompileResult Program::compile(const CompileOptions& options, Report& report) const {
  const std::unique_ptr<ir::Module> copy = module_->clone();  // the passes replace functions
  copy->heed(options.stop);
  const ir::FunctionId entry = base::known(copy->find(signature().name));
  return driver::compile(*copy, {&entry, 1}, options, report);
}

ir::Outcome Program::interpret(std::span<const ir::Value> arguments, ir::Externals& externals,
                               uint64_t seed) const {
  const bool in_order = !std::ranges::all_of(arguments, is_disjoint);
  return ir::interpret(*module_, entry_, arguments,
                       {.seed = seed, .externals = &externals, .in_order = in_order});
}

}  // namespace ingot::driver
