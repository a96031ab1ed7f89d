#include "frontend/tracer/tracer.h"

#include "frontend/tracer/errors.h"
#include "frontend/tracer/scopes.h"

namespace ingot::frontend {

Facts::Facts(const ir::Module& module) : effort(module) {}
Facts::~Facts() = default;

Tracer::Tracer(const Registry& given_registry, ir::Module& given_module, Request given_request,
               Facts& given_facts)
    : registry(given_registry),
      module(given_module),
      request(std::move(given_request)),
      facts(given_facts),
      in_order(request.in_order) {}
Tracer::~Tracer() = default;

Here::Here(Tracer& t, nb::handle node) : t_(t), before_(t.here), span_before_(t.builder->span()) {
  t_.here = node;
  if (t_.frame->of_library) return;
  const auto number = [&](const char* name) { return nb::cast<uint32_t>(node.attr(name)); };
  const Frame& frame = *t.frame;
  const uint32_t line = number("lineno");
  const uint32_t end = number("end_lineno") == line ? number("end_col_offset") : 0;
  t_.builder->set_span(t_.module.span(
      {frame.file, line, number("col_offset"), end, frame.name, frame.called_at, t.loop_names}));
}

base::SourceLocation location_of(const Tracer& t, nb::handle node) {
  const nb::handle at = node.is_valid() ? node : t.here;
  if (!at.is_valid() || t.frame == nullptr) return t.result_location;
  if (t.frame->of_library) return t.module.location(t.builder->span());
  const auto number = [&](const char* name) { return nb::cast<uint32_t>(at.attr(name)); };
  const uint32_t end = number("end_lineno") == number("lineno") ? number("end_col_offset") : 0;
  return {t.module.text(t.frame->file), number("lineno"), number("col_offset"), end};
}

void step(Tracer& t, nb::handle node) {
  if (t.facts.effort.step()) return;
  unsupported(
      t, node,
      "what grows to more than 2 000 000 steps when compiling: calls in calls, or loops that are unrolled,",
      "use loops over arrays or ranges of run time, and call fewer functions");
}

std::vector<Value> Call::values() const {
  std::vector<Value> all = positional;
  for (const auto& keyword : keywords) all.push_back(keyword.second);
  return all;
}

}  // namespace ingot::frontend
