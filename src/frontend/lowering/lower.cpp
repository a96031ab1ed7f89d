// Hidden arguments. Values from outside the function are guarded. An array or a container from outside
// becomes a further argument: the frontend throws NeedsFact, the caller describes it together with the
// others - which detects shared memory - and lowers again. So does a number whose guard has failed twice.

#include "frontend/lowering/lower.h"

#include "base/packages.h"
#include "frontend/arrays/arguments.h"
#include "frontend/expressions/expressions.h"
#include "frontend/kernels/kernels.h"
#include "frontend/kinds/callers_lists.h"
#include "frontend/kinds/containers.h"
#include "frontend/kinds/fields.h"
#include "frontend/kinds/parameters.h"
#include "frontend/kinds/rows.h"
#include "frontend/routines/functions.h"
#include "frontend/routines/routines.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

/// The name of a capture, which is an owner and a name there: for a cell of the function, that of the
/// variable; empty: it has none.
std::string captured_name(const nb::object& function, const nb::tuple& capture) {
  const std::string name = text_of(capture[1]);
  const nb::object cells = attribute(function, "__closure__");
  if (!name.empty() || cells.is_none()) return name;
  const nb::object names = attribute(attribute(function, "__code__"), "co_freevars");
  for (size_t i = 0; i < nb::len(cells); ++i)
    if (nb::object(cells[i]).is(capture[0])) return text_of(names[i]);
  return name;
}

/// In the order of the signature; the code object has the keyword-only ones before `*args`.
std::vector<std::string> parameter_names(nb::handle code) {
  const nb::tuple names = code.attr("co_varnames");
  const size_t count = nb::cast<size_t>(code.attr("co_argcount"));
  const size_t keyword_only = nb::cast<size_t>(code.attr("co_kwonlyargcount"));
  const unsigned flags = nb::cast<unsigned>(code.attr("co_flags"));
  std::vector<std::string> ordered;
  ordered.reserve(count);
  for (size_t i = 0; i < count; ++i) ordered.push_back(text_of(names[i]));
  size_t next = count + keyword_only;
  if ((flags & CO_VARARGS) != 0) ordered.push_back(text_of(names[next++]));
  for (size_t i = count; i < count + keyword_only; ++i) ordered.push_back(text_of(names[i]));
  if ((flags & CO_VARKEYWORDS) != 0) ordered.push_back(text_of(names[next]));
  return ordered;
}

void begin(Tracer& t, const nb::object& function) {
  t.facts.effort.begin();
  t.facts.pools.begin();
  t.builder = std::make_unique<ir::Builder>(t.module, text_of(function.attr("__name__")));
  t.builder->relax(t.request.relaxations);
  const nb::object code = attribute(function, "__code__");
  t.builder->set_span(t.module.span({.file = t.module.text(text_of(code.attr("co_filename"))),
                                     .line = nb::cast<uint32_t>(code.attr("co_firstlineno")),
                                     .function = t.module.text(text_of(function.attr("__name__"))),
                                     .inlined_at = {}}));
  t.result_location = t.module.location(t.builder->span());
}

/// The parameters by name. Those and captures are opened.
std::map<std::string, Value> take_arguments(Tracer& t, const nb::object& function) {
  const nb::tuple& arguments = t.request.arguments;
  const nb::tuple& captures = t.request.captures;
  const std::vector<std::string> names = parameter_names(attribute(function, "__code__"));
  std::vector<Value> values;
  INGOT_ASSERT(nb::len(arguments) == names.size(),
               "a function is compiled for other parameters than its own");
  values.reserve(nb::len(arguments));
  for (size_t i = 0; i < nb::len(arguments); ++i)
    values.push_back(
        Parameters(t).value(nb::cast<const Description&>(arguments[i]), names[i], static_cast<int>(i)));
  std::map<std::string, Value> locals;
  for (size_t i = 0; i < values.size(); ++i) locals[names[i]] = values[i];
  for (size_t i = 0; i < nb::len(captures); ++i) {
    const nb::tuple capture = nb::cast<nb::tuple>(captures[i]);
    const auto& description = nb::cast<const Description&>(capture[2]);
    t.captured_names.push_back(captured_name(function, capture));
    if (description.is<described::Guarded>()) continue;
    const Value value =
        Parameters(t).value(description, "outside." + std::to_string(i), static_cast<int>(values.size() + i));
    t.captured.emplace(std::pair(nb::handle(capture[0]).ptr(), text_of(capture[1])), value);
  }
  if (t.facts.writes.any) add_cells(t);
  for (const Value& value : values) Fields(t).open(value);
  for (const auto& [index, value] : t.captured) Fields(t).open(value);
  for (const auto& [number, object] : t.state.heap)
    for (const Value& value : object.values) Fields(t).open(value);
  CallersLists(t).open();
  t.given_captures = t.captured;
  return locals;
}

}  // namespace

/// The description of the result, with the pools that it refers to.
Description returned(Tracer& t, const Value& value, Outward& outward) {
  outward.is_result = true;
  Description result = describe_result(t, value, outward);
  const size_t own = outward.leaves.size();
  if (!outward.pools.empty()) result = {described::Pools{}, {result}};
  for (size_t i = 0; i < outward.pools.size(); ++i)
    result.parts.push_back(PooledValues(t).describe_pool(outward.pools[i], outward));
  // The pools come first: the values that refer to them are made of them.
  const auto first = outward.leaves.begin();
  std::rotate(first, first + static_cast<std::ptrdiff_t>(own), outward.leaves.end());
  for (size_t& buffer : outward.buffers)
    buffer = buffer < own ? buffer + outward.leaves.size() - own : buffer - own;
  if (!outward.buffers.empty()) result = {described::Holding{std::move(outward.buffers)}, {result}};
  return result;
}

namespace {

/// Defines the function, and gives what its caller needs.
void finish(Tracer& t, Lowered& lowered, const std::vector<ir::Type>& results) {
  Kernels(t).settle();
  std::vector<ir::Type> parameters;
  for (const NodeId p : t.builder->function().region_parameters(ir::RegionId(0)))
    parameters.push_back(t.builder->function().type(p));
  lowered.function = t.module.declare(t.builder->function().name(), parameters, results);
  t.module.define(lowered.function, t.builder->finish(results));
  finish_routines(t);
  Kernels(t).check(*t.module.function(lowered.function));
  lowered.guards = std::move(t.guards);
  lowered.hosts = std::move(t.hosts);
  lowered.functions = std::move(t.functions);
  if (t.facts.launch != nullptr) lowered.linked = t.facts.launch->linked;
  lowered.errors = t.errors;
}

}  // namespace

Lowered lower(Tracer& t, const nb::object& function) {
  begin(t, function);
  std::map<std::string, Value> locals = take_arguments(t, function);
  Lowered lowered;
  lowered.writes = t.facts.writes.any;
  lowered.layouts = CallersLists(t).layouts();
  PooledValues(t).make_pools();
  Rows(t).make_pools();
  begin_routines(t);
  std::vector<ir::Type> results;
  try {
    const Value value = run_function(t, function, std::move(locals), {});
    Outward outward;
    lowered.result = returned(t, value, outward);
    for (const NodeId leaf : outward.leaves) results.push_back(t.builder->function().type(leaf));
    t.builder->terminate(Op::return_, outward.leaves);
  } catch (const Diverged&) {
    lowered.result = {described::Static{nb::none()}};
  }
  finish(t, lowered, results);
  return lowered;
}

}  // namespace ingot::frontend
