#include "ir/directives.h"

#include <algorithm>

namespace ingot::ir {

namespace {

TextId names_at(const Function& function, NodeId node) {
  const SpanId span = function[node].span;
  return span ? function.module().span(span).loops : TextId();
}

/// Whether a directive's `name` or `name:line` names loops of a name in a line.
bool is_name(std::string_view given, std::string_view name, uint32_t line) {
  return !name.empty() && (given == name || given == std::string(name) + ":" + std::to_string(line));
}

}  // namespace

std::string_view loop_name(const Function& function, NodeId loop) {
  const TextId names = names_at(function, loop);
  if (!names) return {};
  size_t number = 0;  // of loops around that were made here, too
  const Span& here = function.module().span(function[loop].span);
  for (NodeId at = function[function[loop].parent].owner; at; at = function[function[at].parent].owner) {
    const SpanId span = function[at].span;
    number += is_counted_loop(function.op(at)) && span && function.module().span(span) == here;
  }
  std::string_view rest = function.module().text(names);
  for (; number > 0; --number) {
    const size_t end = rest.find(',');
    if (end == std::string_view::npos) return {};
    rest.remove_prefix(end + 1);
  }
  return rest.substr(0, rest.find(','));
}

bool names_loops(const Function& function, SpanId location) {
  return location && static_cast<bool>(function.module().span(location).loops);
}

bool is_directed(const Module& module, std::string_view name, uint32_t line) {
  return std::ranges::any_of(module.directives, [&](const Directive& directive) {
    return std::ranges::any_of(directive.loops,
                               [&](const std::string& one) { return is_name(one, name, line); });
  });
}

bool is_inlined(const Function& function, RegionId region) {
  const Module& module = function.module();
  for (NodeId at = function[region].owner; at; at = function[function[at].parent].owner) {
    if (!is_counted_loop(function.op(at)) || !names_at(function, at)) continue;
    const std::string_view name = loop_name(function, at);
    const bool is_stage = std::ranges::any_of(module.directives, [&](const Directive& each) {
      return each.kind == Directive::Kind::Inline &&
             is_name(each.loops[0], name, module.span(function[at].span).line);
    });
    if (is_stage) return true;
  }
  return false;
}

bool is_stage(const Function& function, NodeId array, std::span<const NodeId> users) {
  const TextId own = names_at(function, array);
  const Module& module = function.module();
  if (module.directives.empty() || !own) return false;
  const std::string name(module.text(own).substr(0, module.text(own).find(',')));
  const bool moves = std::ranges::any_of(module.directives, [&](const Directive& directive) {
    const bool is_move =
        directive.kind == Directive::Kind::ComputeAt || directive.kind == Directive::Kind::Inline;
    return is_move && is_name(directive.loops[0], name, module.span(function[array].span).line);
  });
  return moves && std::ranges::none_of(users, [&](NodeId user) { return names_at(function, user) == own; });
}

bool is_directed(const Function& function, NodeId loop) {
  const Module& module = function.module();
  if (module.directives.empty() || !function[loop].span) return false;
  return is_directed(module, loop_name(function, loop), module.span(function[loop].span).line);
}

}  // namespace ingot::ir
