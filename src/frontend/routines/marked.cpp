// A marked function (`library.registry.routine`) becomes a routine (recursion.cpp), whether it is recursive
// or not, so that passes see its calls. It is *exact*: there is one routine for each shape of what is passed,
// which includes known numbers and known facts about the layout of arrays; a call never widens the shape. So
// it is compiled as if it were inlined, which the pass `inline` does. Recursion inside of an exact routine is
// handled like any other. Only recursive exact routines are evaluated until their results settle, and only
// these report a stack overflow.
//
// A user's function that has been inlined often becomes a routine, too: otherwise inlined calls grow
// exponentially with their depth.

#include "frontend/arrays/primitives.h"
#include "frontend/arrays/scalars.h"
#include "frontend/joins/joins.h"
#include "frontend/kinds/value_kind.h"
#include "frontend/routines/functions.h"
#include "frontend/routines/routines.h"
#include "frontend/tracer/frame.h"

namespace ingot::frontend {

namespace {

constexpr size_t kMostFrequent = 16;  ///< functions of the IR that an often called function becomes

}  // namespace

bool is_same_shape(const State& a, const State& b) {
  const auto is_same_name = [](const nb::object& x, const nb::object& y) {
    return same(Static{x}, Static{y});
  };
  return same(a, b) && std::ranges::equal(a.heap, b.heap, [&](const auto& x, const auto& y) {
           const HeapObject& one = x.second;
           const HeapObject& other = y.second;
           return one.type == other.type && one.type_of.is(other.type_of) && one.argument == other.argument &&
                  one.leaves == other.leaves && one.is_mapping == other.is_mapping &&
                  std::ranges::equal(one.keys, other.keys, is_same_name);
         });
}

bool is_called_often(Tracer& t, const Frame& frame) {
  if (t.frame == nullptr || t.facts.launch != nullptr || !t.iterates.empty() ||
      module_of(frame).starts_with(kLibrary))
    return false;
  for (const Frame* at = t.frame; at != nullptr; at = at->caller)
    if (at->axis) return false;  // its collectives may combine with those of other batch elements
  return t.facts.effort.is_called_often(frame.node.ptr());
}

std::optional<Value> call_frequent(Tracer& t, const Frame& frame, State key, bool reports, nb::handle node) {
  const std::function<bool(const Value&)> is_passed = [&](const Value& value) {
    return kind_of_value(value).passed_instead(value) == nullptr &&
           std::ranges::all_of(parts_of(value), is_passed);
  };
  const Passed given = passed(t, frame.arguments);
  for (const auto& [name, value] : given.state.locals)
    if (!is_passed(value)) return std::nullopt;
  for (const auto& [id, object] : given.state.heap)
    if (!std::ranges::all_of(object.values, is_passed)) return std::nullopt;
  const State shape = shape_of(given.state, [](NodeId) { return false; });
  size_t made = 0;
  bool is_known = false;
  for (const Routine& routine : t.facts.routines) {
    if (!routine.is_exact || routine.is_forgotten || !is_same_function(routine.frame, frame)) continue;
    ++made;
    is_known = is_known || is_same_shape(routine.key, shape);
  }
  if (!is_known && made >= kMostFrequent) return std::nullopt;
  try {
    return call_marked(t, frame, std::move(key), reports, node);
  } catch (const base::Unsupported&) {
    t.facts.effort.inline_always(frame.node.ptr());  // even if it is refused for another reason
  }
  throw NeedsFact{.kind = NeedsFact::Kind::Routines};
}

/// Facts about the slots of a shape: the layout of arrays, and which axes are short.
std::vector<ir::ParameterInfo> forms_of(Tracer& t, const State& shape, const State& given) {
  std::vector<NodeId> nodes;
  carry(t, shape, given, nodes);
  const ir::Function& f = t.builder->function();
  std::vector<ir::ParameterInfo> forms;
  for (const NodeId node : nodes) {
    ir::ParameterInfo& form = forms.emplace_back();
    const auto parameters = f.region_parameters(f.body());
    if (const auto own = std::ranges::find(parameters, node); own != parameters.end()) {
      const ir::ParameterInfo& known = f.parameters()[static_cast<size_t>(own - parameters.begin())];
      form.layout = known.layout;
      form.ones = known.ones;
      form.last = known.last;
    } else if (f.type(node).is_view() && t.builder->function().is_constant(is_contiguous(t, node), 1)) {
      form.layout = ir::Layout::C;
    }
  }
  return forms;
}

/// The slots of a routine's shape that are of arguments: not of captured arrays, nor of pools.
std::vector<size_t> slots_of_arguments(Tracer& t, const State& entry) {
  std::vector<ir::Type> before;
  std::vector<size_t> slots;
  const auto add = [&](const Value& value, bool is_of_argument) {
    const size_t first = before.size();
    slot_types(t.module.types, value, before);
    for (size_t slot = first; is_of_argument && slot < before.size(); ++slot) slots.push_back(slot);
  };
  for (const auto& [name, value] : entry.locals) add(value, !name.starts_with(kCaptured));
  for (const auto& [id, object] : entry.heap)
    for (const Value& value : object.values) add(value, !t.facts.pools.objects.contains(id));
  return slots;
}

/// Notes what can be demanded if a parameter has to be known when compiling.
void trace_parameter(Tracer& t, Routine& routine, uint32_t parameter, NodeId operand) {
  const auto named = t.named_arguments.find(operand.index);
  if (named != t.named_arguments.end()) routine.named_arguments[parameter] = named->second;
  const std::optional<NeedsFact> source = source_of(t, operand, t.here);
  if (source && source->site.empty()) routine.scalar_arguments[parameter] = source->argument;
  if (!routine.is_exact) return;
  const auto measured = t.unmeasured.find(operand.index);
  if (measured != t.unmeasured.end()) routine.unmeasured[parameter] = measured->second;
  if (source && !source->site.empty()) routine.loop_indices[parameter] = source->site;
}

/// A location in a routine, as inlined at the call that is being evaluated.
ir::SpanId inlined_here(Tracer& t, ir::SpanId inner) {
  if (!inner) return t.builder->span();
  ir::Span location = t.module.span(inner);
  location.inlined_at = inlined_here(t, location.inlined_at);
  return t.module.span(location);
}

bool is_same_location(const Tracer& t, ir::SpanId a, ir::SpanId b) {
  for (; a && b && a != b; a = t.module.span(a).inlined_at, b = t.module.span(b).inlined_at) {
    ir::Span one = t.module.span(a);
    one.inlined_at = t.module.span(b).inlined_at;
    if (one != t.module.span(b)) return false;
  }
  return a == b;
}

/// Adds the calls that first led to a routine to the location of a refusal in it.
void add_callers(const Tracer& t, base::Unsupported& refusal) {
  const std::vector<base::Site> callers = t.module.sites(t.builder->span());
  if (refusal.location.file.empty() && !callers.empty()) refusal.location = callers.front().location;
  refusal.sites.insert(refusal.sites.end(), callers.begin(), callers.end());
}

}  // namespace ingot::frontend
