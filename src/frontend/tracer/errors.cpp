#include "frontend/tracer/errors.h"

#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

namespace {

/// Descriptions of an expression's variables, for a message; in Ingot's library: of the user's call.
std::vector<std::string> operands_of(const Tracer& t, nb::handle node);

constexpr size_t kMostOperands = 3;  ///< of an expression, in a message

}  // namespace

void unsupported(Tracer& t, nb::handle node, const std::string& reason, const std::string& advice) {
  throw refusal(t, node, reason, advice);
}

base::Unsupported refusal(const Tracer& t, nb::handle node, const std::string& reason,
                          const std::string& advice) {
  const Frame* outermost = nullptr;  // of the library functions around this location
  for (const Frame* at = t.frame; at != nullptr && at->of_library; at = at->caller) outermost = at;
  const bool in_python = outermost != nullptr && outermost->of_python;
  const auto [shown, remedy] = in_python ? refusal_of_call(outermost->function) : std::pair(reason, advice);
  base::Unsupported refused(location_of(t, node), shown, remedy);
  if (t.frame != nullptr) {
    refused.sites = t.module.sites(t.frame->of_library ? t.builder->span() : t.frame->called_at);
    if (!t.frame->of_library)
      refused.sites.insert(refused.sites.begin(), {refused.location, t.module.text(t.frame->name)});
    refused.operands = operands_of(t, node.is_valid() ? node : t.here);
  }
  return refused;
}

std::vector<std::pair<std::string, const Value*>> variables_in(const Tracer& t, nb::handle node) {
  const Frame* frame = t.frame;
  const std::map<std::string, Value>* locals = &t.state.locals;
  for (; frame->of_library && frame->caller != nullptr; frame = frame->caller) {
    node = frame->call;
    if (frame->consumer == nullptr) locals = &frame->callers_locals;
  }
  std::vector<std::pair<std::string, const Value*>> all;
  if (!node.is_valid() || has_attribute(node, "body")) return all;
  std::set<std::string> seen;
  for (const nb::handle part : imported("ast").attr("walk")(node)) {
    if (class_of(part) != "Name") continue;
    const std::string name = text_of(part.attr("id"));
    const auto cell = frame->shared.find(name);
    const Value* value = nullptr;
    if (cell != frame->shared.end()) {
      const auto object = t.state.heap.find(cell->second);
      if (object != t.state.heap.end()) value = object->second.values.data();
    } else if (const auto known = locals->find(frame->own_name(name)); known != locals->end()) {
      value = &known->second;
    }
    if (value != nullptr && seen.insert(name).second) all.emplace_back(name, value);
  }
  return all;
}

void raise_host_error(Tracer& t, nb::python_error& error) {
  rethrow_lack_of_memory(error);
  const nb::object value = nb::borrow<nb::object>(error.value());
  error.restore();
  PyErr_Clear();
  raise_object(t, value);
}

namespace {

std::vector<std::string> operands_of(const Tracer& t, nb::handle node) {
  std::vector<std::string> all;
  for (const auto& [name, value] : variables_in(t, node)) {
    if (all.size() == kMostOperands) break;
    if (const std::string words = kind_of_value(*value).words(t, *value); !words.empty())
      all.push_back("`" + name + "` is " + words);
  }
  return all;
}

}  // namespace

}  // namespace ingot::frontend
