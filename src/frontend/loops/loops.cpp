// Loops. A fixpoint finds the values that the iterations of a staged loop carry: first the body is evaluated
// as if it changed nothing; each value that it does change becomes a carried slot of the joined type, and the
// body is evaluated again, until nothing new is found. Shapes only move up a finite lattice, so this ends;
// the next evaluation of an inner loop begins with its solution.
//
// Demands. If a value must be known (an axis, an index into a tuple, the choice between two functions), the
// frontend goes from the number back to the loop indices and scalar arguments that it depends on, and
// demands one of them: the loop is unrolled, or the argument becomes part of the signature.

#include "frontend/loops/loops.h"

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/expressions/closures.h"
#include "frontend/expressions/expressions.h"
#include "frontend/joins/joins.h"
#include "frontend/joins/objects.h"
#include "frontend/kinds/generators.h"
#include "frontend/kinds/list_buffers.h"
#include "frontend/kinds/mappings.h"
#include "frontend/kinds/sets.h"
#include "frontend/loops/unrolled.h"
#include "frontend/tracer/checkpoint.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"
#include "frontend/tracer/scopes.h"
#include "ir/directives.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

void unrolled_loop(Tracer& t, nb::handle s, const Value& iterable, std::vector<Value> elements);
/// The iterations from the `first` on (0, or 1 after a peeled one).
void counted_loop(Tracer& t, nb::handle s, const Value& iterable, int64_t first = 0);
void while_loop(Tracer& t, nb::handle s);

/// Whether statements hold a `break` or `continue` of the loop whose body they are.
bool leaves_loop(nb::handle statements, const char* kind) {
  for (const nb::handle s : statements) {
    const std::string name = class_of(s);
    if (name == kind) return true;
    if (name == "FunctionDef") continue;
    const bool loop = name == "For" || name == "While";
    for (const char* part : bodies_of(name)) {
      if (loop && std::string_view(part) == "body") continue;
      if (leaves_loop(s.attr(part), kind)) return true;
    }
  }
  return false;
}

void with_breaks(Tracer& t, nb::handle s, const std::function<void()>& loop) {
  if (!leaves_loop(s.attr("body"), "Break")) {
    loop();
    return run_body(t, s.attr("orelse"));
  }
  block(t, [&](Target& target) {
    {
      const Pushed<Target*> open(t.frame->breaks, &target);
      loop();
    }
    run_body(t, s.attr("orelse"));  // a `break` in it leaves the outer loop
    return Value(Static{nb::none()});
  });
}

void loop_body(Tracer& t, nb::handle s) {
  if (!leaves_loop(s.attr("body"), "Continue")) return run_body(t, s.attr("body"));
  block(t, [&](Target& target) {
    const Pushed<Target*> open(t.frame->continues, &target);
    run_body(t, s.attr("body"));
    return Value(Static{nb::none()});
  });
}

/// The name of a loop: the first of those that `with ingot.loop` gives, or that of its variable; empty: none.
std::string name_of_loop(const Tracer& t, nb::handle s) {
  if (t.frame->of_library) return {};
  if (t.loop_names) {
    const std::string& names = t.module.text(t.loop_names);
    return names.substr(0, names.find(','));
  }
  return class_of(s.attr("target")) == "Name" ? text_of(s.attr("target").attr("id")) : std::string();
}

/// Adds a loop's name to those of the program; gives whether directives name it.
bool learn_name(Tracer& t, nb::handle s) {
  const std::string name = name_of_loop(t, s);
  if (name.empty()) return false;
  const auto line = nb::cast<uint32_t>(s.attr("lineno"));
  t.module.loop_names.insert(name);
  t.module.loop_names.insert(name + ":" + std::to_string(line));
  return ir::is_directed(t.module, name, line);
}

bool has_element(nb::handle target) {
  const std::string name = class_of(target);
  if (name == "Starred") return has_element(target.attr("value"));
  if (name != "Tuple" && name != "List") return name == "Subscript";
  const nb::list parts(target.attr("elts"));
  return std::any_of(parts.begin(), parts.end(), has_element);
}

/// Whether statements store elements: `a[i] = ...`.
bool stores_elements(nb::handle statements) {
  for (const nb::handle s : statements) {
    const std::string name = class_of(s);
    const nb::list targets = name == "Assign" ? nb::list(s.attr("targets")) : nb::list();
    if ((name == "AugAssign" || name == "AnnAssign") && has_element(s.attr("target"))) return true;
    if (std::any_of(targets.begin(), targets.end(), has_element)) return true;
  }
  return false;
}

}  // namespace

void run_for(Tracer& t, nb::handle s) {
  const bool is_directed = learn_name(t, s);
  const uint32_t since = t.facts.next_object;
  const Value given = eval(t, s.attr("iter"));
  Value iterable = begin_iterate(t, given, s);
  // A list whose length the loop changes is read by index, as Python's iterators do.
  if (t.facts.unrolled.contains(key_of(t, s) + "#changes") && iterable.is<List>() &&
      !is_of_mapping(t, iterable))
    iterable = begin_iterate(t, by_library(t, "by_index", {iterable}, s), s);
  // Small inner loops are written out: a few known iterations, or the length of a short axis, and a body of a
  // few statements without loops. Elements that are computed where they are read have one store.
  const auto written_out = [&](const Trips& trips) -> std::optional<std::vector<Value>> {
    const nb::object body = s.attr("body");
    const auto statements = static_cast<int64_t>(nb::len(body));
    for (nb::handle statement : body)
      if (nb::hasattr(statement, "body")) return std::nullopt;
    if (is_directed || t.loops.empty() || statements > ir::kLongestShort) return std::nullopt;
    const ir::Function& f = t.builder->function();
    if (stores_elements(body) && ir::is_inlined(f, t.builder->current())) return std::nullopt;
    measure(t, trips.count);
    const auto known = [&](NodeId node) { return f.constant(node).as<int64_t>(); };
    if (!f.is_constant(trips.count) || known(trips.count) * statements > ir::kLongestShort)
      return std::nullopt;
    std::vector<Value> numbers;
    for (int64_t k = 0; k < known(trips.count); ++k) {
      numbers.push_back(known_number(t, trips.element(t.builder->index(k))));
      if (!static_int(numbers.back())) return std::nullopt;
    }
    return numbers;
  };
  with_breaks(t, s, [&] {
    if (iterates_generator(iterable)) {
      const auto iteration = [&](const Value& element) {
        assign(t, s.attr("target"), element);
        loop_body(t, s);
      };
      return iterate(t, iterable, s, iteration, is_held(t, given, since, s.attr("iter")));
    }
    // A single iteration needs no join of its variables with those of another one.
    const Range* range = iterable.as<Range>();
    const bool is_counted = range != nullptr && !range->parallel && !range->endless;
    const Trips trips = is_counted ? trips_of(t, iterable, s) : Trips();
    const bool is_one_iteration =
        is_counted && !is_directed && t.builder->function().is_constant(trips.count, 1);
    if (const auto numbers = is_counted && !is_one_iteration ? written_out(trips) : std::nullopt)
      return unrolled_loop(t, s, iterable, *numbers);
    if (const auto elements = static_elements(t, iterable, s, is_one_iteration))
      return unrolled_loop(t, s, iterable, *elements);
    if (t.facts.unrolled.contains(key_of(t, s))) t.facts.counted.insert(key_of(t, s));
    const Checkpoint point = checkpoint(t);
    try {
      counted_loop(t, s, iterable);
    } catch (const NeedsFact& fact) {
      if (fact.site != key_of(t, s)) throw;
      go_back(t, point);
      t.facts.unrolled.insert(fact.site);
      if (const auto elements = static_elements(t, iterable, s))
        return unrolled_loop(t, s, iterable, *elements);
      // The loop cannot be unrolled: code that needs its index known does without, or is refused.
      if (!t.facts.counted.insert(fact.site).second) throw;
      counted_loop(t, s, iterable);
    }
  });
}

namespace {

void unrolled_loop(Tracer& t, nb::handle s, const Value& iterable, std::vector<Value> elements) {
  each_element(t, iterable, std::move(elements), s, [&](const Value& element) {
    assign(t, s.attr("target"), element);
    loop_body(t, s);
  });
}

}  // namespace

Value iterator(Tracer& t, std::string name, Value iterates) {
  return Iterator{new_cell(t, Static{nb::int_(0)}), std::move(name), share(std::move(iterates))};
}

Value begin_iterate(Tracer& t, const Value& iterable, nb::handle node) {
  if (std::optional<Value> iterated = iterated_of(t, iterable)) return *std::move(iterated);
  return kind_of_value(iterable).iterated(t, iterable, node).value_or(iterable);
}

std::vector<Value> still_known(Tracer& t, const Value& iterable, nb::handle node) {
  std::optional<std::vector<Value>> elements = static_elements(t, iterable, node, true);
  if (!elements && kind_of_value(iterable).may_change_length(iterable)) {
    const auto is_of_dict = [&](const Value& part) { return is_of_mapping(t, part); };
    if (is_of_dict(iterable) || std::ranges::any_of(parts_of(iterable), is_of_dict))
      unsupported(t, node, "a dict that may get other keys while it is iterated over",
                  "iterate over a list of its keys or items");
    const std::string fact = key_of(t, node) + "#changes";
    if (iterable.is<List>() && class_of(node) == "For" && !t.facts.unrolled.contains(fact))
      throw NeedsFact::at(fact, location_of(t, node));
    unsupported(t, node, "a list that grows or shrinks while it is iterated over",
                "iterate over a copy of it, or count its places");
  }
  if (!elements) trips_of(t, iterable, node);  // raises, or refuses
  return base::known(std::move(elements));
}

void each_element(Tracer& t, const Value& iterable, std::vector<Value> elements, nb::handle node,
                  const std::function<void(const Value&)>& iteration) {
  const bool may_change = kind_of_value(iterable).may_change_length(iterable);
  std::optional<uint32_t> dict;
  kind_of_value(iterable).each_object(iterable, [&](uint32_t object) {
    if (t.state.heap.at(object).type == HeapObject::Type::Dict) dict = object;
  });
  const size_t size = dict ? contents(t, *dict, node).values.size() : 0;
  const Pins pins(t, elements);
  const Pins iterated(t, {iterable});
  Unrolled unrolled(t, iterable, node);
  for (size_t i = 0; i < elements.size(); ++i) {
    unrolled.iteration();
    if (elements[i].is<Unbound>()) return;  // a list in reverse that has become shorter
    iteration(Value(elements[i]));
    if (const Set* s = iterable.as<Set>(); s != nullptr && nb::len(host_set(t, *s, node)) != elements.size())
      raise(t, ExceptionKind::RuntimeError, "Set changed size during iteration");
    if (!may_change) continue;
    elements = still_known(t, iterable, node);
    if (dict && contents(t, *dict, node).values.size() != size)
      raise(t, ExceptionKind::RuntimeError, "dictionary changed size during iteration");
  }
}

namespace {

State assumed_carried(Tracer& t, const std::string& key, const State& entry) {
  State shape = shape_of(entry, seen_from(*t.builder, t.builder->current()));
  const auto solution = t.solutions.find(key);
  if (solution == t.solutions.end()) return shape;
  const auto widen = [&](Value& value, const Value& solved) {
    bool is_known = true;  // objects that an earlier evaluation has made are no others
    each_object(solved, [&](uint32_t object) { is_known = is_known && entry.heap.contains(object); });
    if (!is_known) return;
    std::vector<ir::Type> slots;
    slot_types(t.module.types, solved, slots);
    if (!slots.empty() || solved.is<Conflict>()) value = join(t, solved, value, "a variable of the loop");
  };
  for (auto& [name, solved] : solution->second.locals) widen(shape.locals[name], solved);
  for (auto& [id, object] : shape.heap) {
    const auto solved = solution->second.heap.find(id);
    if (solved == solution->second.heap.end()) continue;
    if (solved->second.element != nullptr && !same_element(object, solved->second)) {
      if (std::optional<HeapObject> list = join_lists(t, object, solved->second)) object = std::move(*list);
      continue;
    }
    if (solved->second.values.size() != object.values.size()) continue;
    for (size_t i = 0; i < object.values.size(); ++i) widen(object.values[i], solved->second.values[i]);
  }
  return shape;
}

/// Goes back to before a loop whose entry has got joined objects.
State again_from(Tracer& t, const std::string& key, const Checkpoint& point) {
  go_back(t, point);
  return assumed_carried(t, key, t.state);
}

/// Whether a Python number that enters the loop is carried as a NumPy dtype that may not hold it, or a NumPy
/// number as another dtype than that in which the first iteration computes.
bool loses_in_first_iteration(const State& entry, const State& carried) {
  for (const auto& [name, before] : entry.locals) {
    const auto it = carried.locals.find(name);
    const std::optional<Kind> after = it == carried.locals.end() ? std::nullopt : number_kind(it->second);
    const std::optional<Kind> kind = number_kind(before);
    if (!after || after->is_python() || !kind) continue;
    if (!kind->is_python() && *kind != *after) return true;
    if (!kind->is_weak()) continue;
    const nb::object known = known_of(before);
    if (!known.is_valid()) return true;
    try {
      const nb::object held = imported("numpy").attr(std::string(after->name()).c_str())(known);
      if (!held.attr("item")().equal(known)) return true;
    } catch (nb::python_error& error) {
      rethrow_lack_of_memory(error);
      return true;
    }
  }
  return false;
}

/// `s = 0.1; for v in x32: s += v`: the first iteration comes before the loop, which then carries a float32.
void peeled_loop(Tracer& t, nb::handle s, const Value& iterable) {
  const Trips trips = trips_of(t, iterable, s.attr("iter"));
  const NodeId some = t.builder->make(Op::greater, {trips.count, t.builder->index(0)});
  const auto iterations = [&] {
    {
      const Restored<std::string> path(t.frame->path, t.frame->path + "#first");
      assign(t, s.attr("target"), trips.element(t.builder->index(0)));
      loop_body(t, s);
    }
    counted_loop(t, s, iterable, 1);
    return Value(Static{nb::none()});
  };
  fork(t, some, iterations, [] { return Value(Static{nb::none()}); });
}

/// Ends a loop whose variables have settled on a shape; `end`: of its body, if the body has one.
void end_loop(Tracer& t, NodeId node, const std::optional<ir::RegionId>& end, const State& back,
              const std::string& key, const State& shape) {
  if (end) {
    t.builder->resume(*end);
    std::vector<NodeId> values;
    carry(t, shape, back, values);
    t.builder->yield(values);
  }
  const std::vector<NodeId> results = t.builder->end(node);
  std::span<const NodeId> rest(results);
  t.state = fill(t, shape, rest);
  t.solutions[key] = shape;
}

/// Begins the node of a loop, which may have a name.
NodeId begin_named(Tracer& t, nb::handle s, std::span<const NodeId> operands,
                   std::span<const int64_t> attributes) {
  const ir::SpanId here = t.builder->span();
  if (const std::string name = name_of_loop(t, s); !name.empty() && here) {
    ir::Span named = t.module.span(here);
    named.loops = t.module.text(name);
    t.builder->set_span(t.module.span(named));
  }
  const NodeId node = t.builder->begin(Op::for_, operands, attributes);
  t.builder->set_span(here);
  return node;
}

/// The names that loops in a loop are given.
ir::TextId names_inside(Tracer& t) {
  if (!t.loop_names) return {};
  const std::string names = t.module.text(t.loop_names);
  const size_t first = names.find(',');
  return first == std::string::npos ? ir::TextId() : t.module.text(names.substr(first + 1));
}

void counted_loop(Tracer& t, nb::handle s, const Value& iterable, int64_t first) {
  const std::string own_key = key_of(t, s);
  const std::string key = first == 0 ? own_key : own_key + "#rest";
  if (t.facts.peeled.contains(key)) return peeled_loop(t, s, iterable);
  const NodeId count = trips_of(t, iterable, s.attr("iter")).count;
  const ir::Function& f = t.builder->function();
  if (f.is_constant(count) && f.constant(count).as<int64_t>() <= first) return;
  Checkpoint point = checkpoint(t);
  State shape = assumed_carried(t, key, t.state);
  const Range* range = iterable.as<Range>();
  const bool parallel = range != nullptr && range->parallel;
  const Pins pins(t, {iterable});
  Catcher border(t, t.frame);
  border.barrier = parallel;
  const Pushed<Catcher*> open(t.handlers, &border);
  const Pushed<std::pair<std::string, Value>> inside(t.loops, {own_key, iterable});
  for (int iteration = 0; iteration < 256; ++iteration) {
    const Trips trips = trips_of(t, iterable, s.attr("iter"));
    const NodeId before = t.builder->index(first);
    std::vector<NodeId> operands{first == 0 ? trips.count
                                            : t.builder->make(Op::subtract, {trips.count, before})};
    carry(t, shape, *point.state, operands);
    const int64_t schedule[] = {static_cast<int64_t>(parallel ? ir::Schedule::Threads : ir::Schedule::Serial),
                                0};
    const NodeId node = begin_named(t, s, operands, schedule);
    const Restored<ir::TextId> names(t.loop_names, names_inside(t));
    std::vector<ir::Type> types{ir::kInt64};
    slot_types(t.module.types, shape, types);
    const std::vector<NodeId> parameters = t.builder->enter(node, 0, types);
    std::span<const NodeId> carried = std::span(parameters).subspan(1);
    t.state = fill(t, shape, carried);
    t.loop_indices[parameters[0].index] = own_key;
    const std::vector<NodeId> lengths = list_buffer_lengths(t, iterable);
    State next = shape;
    std::optional<ir::RegionId> end;
    State back;
    try {
      const NodeId iteration_number =
          first == 0 ? parameters[0] : t.builder->make(Op::add, {parameters[0], before});
      assign(t, s.attr("target"), trips.element(iteration_number));
      loop_body(t, s);
      check_lengths(t, iterable, lengths, s);
      end = t.builder->suspend();
      back = t.state;
      if (join_with_entry(t, point.state, shape, back)) {
        shape = again_from(t, key, point);
        continue;
      }
      next = join(t, shape, shape_of(back, seen_from(*t.builder, t.builder->current())));
    } catch (const Diverged&) {
    }
    if (!same(next, shape)) {
      go_back(t, point);
      if (first == 0 && !parallel && loses_in_first_iteration(*point.state, next)) {
        t.facts.peeled.insert(key);
        return peeled_loop(t, s, iterable);
      }
      shape = std::move(next);
      continue;
    }
    return end_loop(t, node, end, back, key, shape);
  }
  unsupported(t, s, "a loop whose variables do not settle on their types",
              "give them their types before the loop");
}

}  // namespace

void run_while(Tracer& t, nb::handle s) {
  with_breaks(t, s, [&] { while_loop(t, s); });
}

namespace {

void while_loop(Tracer& t, nb::handle s) {
  const std::string key = key_of(t, s);
  Checkpoint point = checkpoint(t);
  State shape = assumed_carried(t, key, t.state);
  for (int iteration = 0; iteration < 256; ++iteration) {
    std::vector<NodeId> operands;
    carry(t, shape, *point.state, operands);
    std::vector<ir::Type> types;
    slot_types(t.module.types, shape, types);
    const NodeId node = t.builder->begin(Op::while_, operands, {}, types);
    const ir::RegionId outside = t.builder->current();
    std::vector<NodeId> parameters = t.builder->enter(node, 0, types);
    std::span<const NodeId> carried(parameters);
    t.state = fill(t, shape, carried);
    Value condition;
    NodeId go_on;
    try {
      condition = eval_condition(t, s.attr("test"));
      go_on = truth(t, condition, s);
    } catch (const Diverged&) {
      // A condition that always raises ends the loop and the path after it.
      t.builder->enter(node, 1, types);
      t.builder->terminate(Op::unreachable, {});
      t.builder->end(node);
      t.builder->terminate(Op::unreachable, {});
      throw;
    }
    State middle = t.state;
    if (join_with_entry(t, point.state, shape, middle)) {
      shape = again_from(t, key, point);
      continue;
    }
    const ir::RegionId condition_end = t.builder->suspend();
    State next = join(t, shape, shape_of(middle, seen_from(*t.builder, outside)));
    std::optional<ir::RegionId> end;
    State back;
    if (same(next, shape)) {
      parameters = t.builder->enter(node, 1, types);
      carried = parameters;
      t.state = fill(t, shape, carried);
      try {
        loop_body(t, s);
        end = t.builder->suspend();
        back = t.state;
        if (join_with_entry(t, point.state, shape, back)) {
          shape = again_from(t, key, point);
          continue;
        }
        next = join(t, shape, shape_of(back, seen_from(*t.builder, outside)));
      } catch (const Diverged&) {
      }
    }
    if (!same(next, shape)) {
      go_back(t, point);
      shape = std::move(next);
      continue;
    }
    t.builder->resume(condition_end);
    std::vector<NodeId> values{go_on};
    carry(t, shape, middle, values);
    t.builder->yield(values);
    end_loop(t, node, end, back, key, shape);
    if (const std::optional<bool> known = static_truth(t, condition); known && *known) {
      t.builder->terminate(Op::unreachable, {});
      throw Diverged{};
    }
    return;
  }
  unsupported(t, s, "a loop whose variables do not settle on their types",
              "give them their types before the loop");
}

}  // namespace

Trips trips_of(Tracer& t, const Value& iterable, nb::handle node) {
  const ValueKind& kind = kind_of_value(iterable);
  kind.refuse_iterate(t, iterable, node);
  if (std::optional<Trips> trips = kind.trips(t, iterable, node)) return *std::move(trips);
  if (kind.elements(t, iterable, node)) {
    unsupported(t, node,
                "iterating over a " + type_name(t, iterable) + " together with something of unknown length",
                "use an array");
  }
  raise(t, ExceptionKind::TypeError, "'" + type_name(t, iterable) + "' object is not iterable");
}

std::optional<std::vector<Value>> static_elements(Tracer& t, const Value& iterable, nb::handle node,
                                                  bool ranges) {
  if (iterable.is<Range>() && !ranges && !t.facts.unrolled.contains(key_of(t, node))) return std::nullopt;
  return kind_of_value(iterable).elements(t, iterable, node);
}

}  // namespace ingot::frontend
