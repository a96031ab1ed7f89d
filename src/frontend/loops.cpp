#include "frontend/kinds/fields.h"
#include "frontend/kinds/strings.h"
#include "frontend/kinds/value_kind.h"
#include "frontend/rows.h"
#include "frontend/unrolled.h"

// Loops. A fixpoint finds the values that the iterations of a staged loop carry: first the body is evaluated
// as if it changed nothing; each value that it does change becomes a carried slot of the joined type, and the
// body is evaluated again, until nothing new is found. Shapes only move up a finite lattice, so this ends;
// the next evaluation of an inner loop begins with its solution.
//
// Demands. If a value must be known (an axis, an index into a tuple, the choice between two functions), the
// evaluator goes from the number back to the loop indices and scalar arguments that it depends on, and
// demands one of them: the loop is unrolled, or the argument becomes part of the signature.

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

Evaluator::Checkpoint Evaluator::checkpoint(bool keeps_state) {
  std::vector<size_t> edges;
  edges.reserve(targets_.size());
  for (const Target* target : targets_) edges.push_back(target->edges.size());
  return {builder_->mark(), keeps_state ? std::optional(state_) : std::nullopt, std::move(edges),
          hosts_.size()};
}

void Evaluator::go_back(const Checkpoint& point) {
  builder_->roll_back(point.mark);
  if (point.state) state_ = *point.state;
  for (size_t i = 0; i < point.edges.size(); ++i) {
    targets_[i]->edges.erase(targets_[i]->edges.begin() + static_cast<ptrdiff_t>(point.edges[i]),
                             targets_[i]->edges.end());
  }
  hosts_.resize(std::max(point.hosts, kept_hosts_));
  std::erase_if(loop_indices_, [&](const auto& entry) { return entry.first >= point.mark.nodes; });
}

namespace {

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

}  // namespace

std::string Evaluator::key_of(nb::handle node) const {
  return frame_->path + "/" + text_of(node.attr("lineno")) + ":" + text_of(node.attr("col_offset"));
}

void Evaluator::with_breaks(nb::handle s, const std::function<void()>& loop) {
  if (!leaves_loop(s.attr("body"), "Break")) {
    loop();
    return run_body(s.attr("orelse"));
  }
  block([&](Target& target) {
    {
      const Pushed<Target*> open(frame_->breaks, &target);
      loop();
    }
    run_body(s.attr("orelse"));  // a `break` in it leaves the outer loop
    return Value(Static{nb::none()});
  });
}

void Evaluator::loop_body(nb::handle s) {
  if (!leaves_loop(s.attr("body"), "Continue")) return run_body(s.attr("body"));
  block([&](Target& target) {
    const Pushed<Target*> open(frame_->continues, &target);
    run_body(s.attr("body"));
    return Value(Static{nb::none()});
  });
}

void Evaluator::run_for(nb::handle s) {
  const uint32_t since = next_object_;
  const Value given = eval(s.attr("iter"));
  Value iterable = begin_iterate(given, s);
  // A list whose length the loop changes is read by index, as Python's iterators do.
  if (unrolled_.contains(key_of(s) + "#changes") && is_list(iterable) &&
      !is_of_mapping(*iterable.as<Reference>()))
    iterable = begin_iterate(by_library("by_index", {iterable}, s), s);
  // Small inner loops are written out: a few known iterations, or the length of a short axis, and a body of a
  // few statements without loops.
  const auto written_out = [&](const Trips& trips) -> std::optional<std::vector<Value>> {
    const nb::object body = s.attr("body");
    const auto statements = static_cast<int64_t>(nb::len(body));
    for (nb::handle statement : body)
      if (nb::hasattr(statement, "body")) return std::nullopt;
    if (loops_.empty() || statements > ir::kLongestShort) return std::nullopt;
    measure(trips.count);
    const ir::Function& f = builder_->function();
    const auto known = [&](NodeId node) { return f.constant(node).as<int64_t>(); };
    if (!f.is_constant(trips.count) || known(trips.count) * statements > ir::kLongestShort)
      return std::nullopt;
    std::vector<Value> numbers;
    for (int64_t k = 0; k < known(trips.count); ++k) {
      const Value number = trips.element(builder_->index(k));
      const NodeId node = number.as<Scalar>()->node;
      if (!f.is_constant(node)) return std::nullopt;
      numbers.emplace_back(Static{nb::int_(known(node))});
    }
    return numbers;
  };
  with_breaks(s, [&] {
    if (iterates_generator(iterable)) {
      const auto iteration = [&](const Value& element) {
        assign(s.attr("target"), element);
        loop_body(s);
      };
      return iterate(iterable, s, iteration, is_held(given, since, s.attr("iter")));
    }
    // A single iteration needs no join of its variables with those of another one.
    const Range* range = iterable.as<Range>();
    const bool is_counted = range != nullptr && !range->parallel && !range->endless;
    const Trips trips = is_counted ? trips_of(iterable, s) : Trips();
    const bool is_one_iteration = is_counted && builder_->function().is_constant(trips.count, 1);
    if (const auto numbers = is_counted && !is_one_iteration ? written_out(trips) : std::nullopt)
      return unrolled_loop(s, iterable, *numbers);
    if (const auto elements = static_elements(iterable, s, is_one_iteration))
      return unrolled_loop(s, iterable, *elements);
    if (unrolled_.contains(key_of(s))) counted_.insert(key_of(s));
    const Checkpoint point = checkpoint();
    try {
      counted_loop(s, iterable);
    } catch (const NeedsFact& fact) {
      if (fact.site != key_of(s)) throw;
      go_back(point);
      unrolled_.insert(fact.site);
      if (const auto elements = static_elements(iterable, s)) return unrolled_loop(s, iterable, *elements);
      // The loop cannot be unrolled: code that needs its index known does without, or is refused.
      if (!counted_.insert(fact.site).second) throw;
      counted_loop(s, iterable);
    }
  });
}

void Evaluator::unrolled_loop(nb::handle s, const Value& iterable, std::vector<Value> elements) {
  each_element(iterable, std::move(elements), s, [&](const Value& element) {
    assign(s.attr("target"), element);
    loop_body(s);
  });
}

Value Evaluator::iterator(std::string name, Value iterates) {
  return Iterator{new_cell(Static{nb::int_(0)}), std::move(name), share(std::move(iterates))};
}

Value Evaluator::begin_iterate(const Value& iterable, nb::handle node) {
  if (std::optional<Value> iterated = iterated_of(iterable)) return *std::move(iterated);
  return kind_of_value(iterable).iterated(*this, iterable, node).value_or(iterable);
}

std::vector<Value> Evaluator::still_known(const Value& iterable, nb::handle node) {
  std::optional<std::vector<Value>> elements = static_elements(iterable, node, true);
  if (!elements && kind_of_value(iterable).may_change_length(iterable)) {
    const auto is_of_dict = [&](const Value& part) { return is_of_mapping(Reference{object_of(part)}); };
    if (is_of_dict(iterable) || std::ranges::any_of(parts_of(iterable), is_of_dict))
      unsupported(node, "a dict that may get other keys while it is iterated over",
                  "iterate over a list of its keys or items");
    const std::string fact = key_of(node) + "#changes";
    if (is_list(iterable) && class_of(node) == "For" && !unrolled_.contains(fact))
      throw NeedsFact::at(fact, location_of(node));
    unsupported(node, "a list that grows or shrinks while it is iterated over",
                "iterate over a copy of it, or count its places");
  }
  if (!elements) trips_of(iterable, node);  // raises, or refuses
  return base::known(std::move(elements));
}

void Evaluator::each_element(const Value& iterable, std::vector<Value> elements, nb::handle node,
                             const std::function<void(const Value&)>& iteration) {
  const bool may_change = kind_of_value(iterable).may_change_length(iterable);
  std::optional<Reference> dict;
  kind_of_value(iterable).each_object(iterable, [&](uint32_t object) {
    if (state_.heap.at(object).type == HeapObject::Type::Dict) dict = Reference{object};
  });
  const size_t size = dict ? contents(*dict, node).values.size() : 0;
  const Pins pins(*this, elements);
  const Pins iterated(*this, {iterable});
  Unrolled unrolled(*this, iterable, node);
  for (size_t i = 0; i < elements.size(); ++i) {
    unrolled.iteration();
    if (elements[i].is<Unbound>()) return;  // a list in reverse that has become shorter
    iteration(Value(elements[i]));
    if (const Set* s = iterable.as<Set>(); s != nullptr && nb::len(host_set(*s, node)) != elements.size())
      raise(ExceptionKind::RuntimeError, "Set changed size during iteration");
    if (!may_change) continue;
    elements = still_known(iterable, node);
    if (dict && contents(*dict, node).values.size() != size)
      raise(ExceptionKind::RuntimeError, "dictionary changed size during iteration");
  }
}

State Evaluator::assumed_carried(const std::string& key, const State& entry) {
  State shape = shape_of(entry, seen_from(*builder_, builder_->current()));
  const auto solution = solutions_.find(key);
  if (solution == solutions_.end()) return shape;
  const auto widen = [&](Value& value, const Value& solved) {
    std::vector<ir::Type> slots;
    slot_types(module_.types, solved, slots);
    if (!slots.empty() || solved.is<Conflict>()) value = join(solved, value, "a variable of the loop");
  };
  for (auto& [name, solved] : solution->second.locals) widen(shape.locals[name], solved);
  for (auto& [id, object] : shape.heap) {
    const auto solved = solution->second.heap.find(id);
    if (solved == solution->second.heap.end()) continue;
    if (solved->second.element != nullptr && !same_element(object, solved->second)) {
      if (std::optional<HeapObject> list = join_lists(object, solved->second)) object = std::move(*list);
      continue;
    }
    if (solved->second.values.size() != object.values.size()) continue;
    for (size_t i = 0; i < object.values.size(); ++i) widen(object.values[i], solved->second.values[i]);
  }
  return shape;
}

/// Whether a Python number that enters the loop is carried as a NumPy dtype that may not hold it, or a NumPy
/// number as another dtype than that in which the first iteration computes.
bool Evaluator::loses_in_first_iteration(const State& entry, const State& carried) {
  for (const auto& [name, before] : entry.locals) {
    const auto it = carried.locals.find(name);
    const Scalar* after = it == carried.locals.end() ? nullptr : it->second.as<Scalar>();
    if (after == nullptr || after->kind.is_python() || before.is<Array>()) continue;
    const std::optional<Kind> kind = kind_of(before);
    if (kind && !kind->is_python() && *kind != after->kind) return true;
    if (!kind || !kind->is_weak()) continue;
    const Static* known = before.as<Static>();
    if (known == nullptr) return true;
    try {
      const nb::object held = imported("numpy").attr(std::string(after->kind.name()).c_str())(known->object);
      if (!held.attr("item")().equal(known->object)) return true;
    } catch (nb::python_error& error) {
      rethrow_lack_of_memory(error);
      return true;
    }
  }
  return false;
}

/// `s = 0.1; for v in x32: s += v`: the first iteration comes before the loop, which then carries a float32.
void Evaluator::peeled_loop(nb::handle s, const Value& iterable) {
  const Trips trips = trips_of(iterable, s.attr("iter"));
  const NodeId some = builder_->make(Op::greater, {trips.count, builder_->index(0)});
  const auto iterations = [&] {
    {
      const Restored<std::string> path(frame_->path, frame_->path + "#first");
      assign(s.attr("target"), trips.element(builder_->index(0)));
      loop_body(s);
    }
    counted_loop(s, iterable, 1);
    return Value(Static{nb::none()});
  };
  fork(some, iterations, [] { return Value(Static{nb::none()}); });
}

void Evaluator::counted_loop(nb::handle s, const Value& iterable, int64_t first) {
  const std::string own_key = key_of(s);
  const std::string key = first == 0 ? own_key : own_key + "#rest";
  if (peeled_.contains(key)) return peeled_loop(s, iterable);
  const NodeId count = trips_of(iterable, s.attr("iter")).count;
  const ir::Function& f = builder_->function();
  if (f.is_constant(count) && f.constant(count).as<int64_t>() <= first) return;
  const Checkpoint point = checkpoint();
  State shape = assumed_carried(key, state_);
  const bool parallel = iterable.is<Range>() && iterable.as<Range>()->parallel;
  const Pins pins(*this, {iterable});
  Catcher border(*this, frame_);
  border.barrier = parallel;
  const Pushed<Catcher*> open(handlers_, &border);
  const Pushed<std::pair<std::string, Value>> inside(loops_, {own_key, iterable});
  for (int iteration = 0; iteration < 256; ++iteration) {
    const Trips trips = trips_of(iterable, s.attr("iter"));
    const NodeId before = builder_->index(first);
    std::vector<NodeId> operands{first == 0 ? trips.count
                                            : builder_->make(Op::subtract, {trips.count, before})};
    carry(shape, *point.state, operands);
    const int64_t schedule[] = {static_cast<int64_t>(parallel ? ir::Schedule::Threads : ir::Schedule::Serial),
                                0};
    const NodeId node = builder_->begin(Op::for_, operands, schedule);
    std::vector<ir::Type> types{ir::kInt64};
    slot_types(module_.types, shape, types);
    const std::vector<NodeId> parameters = builder_->enter(node, 0, types);
    std::span<const NodeId> carried = std::span(parameters).subspan(1);
    state_ = fill(shape, carried);
    loop_indices_[parameters[0].index] = own_key;
    const std::vector<NodeId> lengths = list_buffer_lengths(iterable);
    State next = shape;
    std::optional<ir::RegionId> end;
    State back;
    try {
      const NodeId iteration_number =
          first == 0 ? parameters[0] : builder_->make(Op::add, {parameters[0], before});
      assign(s.attr("target"), trips.element(iteration_number));
      loop_body(s);
      check_lengths(iterable, lengths, s);
      end = builder_->suspend();
      back = state_;
      Value nothing;
      align(shape, nothing, back, nothing);
      next = join(shape, shape_of(back, seen_from(*builder_, builder_->current())));
    } catch (const Diverged&) {
    }
    if (!same(next, shape)) {
      go_back(point);
      if (first == 0 && !parallel && loses_in_first_iteration(*point.state, next)) {
        peeled_.insert(key);
        return peeled_loop(s, iterable);
      }
      shape = std::move(next);
      continue;
    }
    if (end) {
      builder_->resume(*end);
      std::vector<NodeId> values;
      carry(shape, back, values);
      builder_->yield(values);
    }
    const std::vector<NodeId> results = builder_->end(node);
    std::span<const NodeId> rest(results);
    state_ = fill(shape, rest);
    solutions_[key] = shape;
    return;
  }
  unsupported(s, "a loop whose variables do not settle on their types",
              "give them their types before the loop");
}

void Evaluator::run_while(nb::handle s) {
  with_breaks(s, [&] { while_loop(s); });
}

void Evaluator::while_loop(nb::handle s) {
  const std::string key = key_of(s);
  const Checkpoint point = checkpoint();
  State shape = assumed_carried(key, state_);
  for (int iteration = 0; iteration < 256; ++iteration) {
    std::vector<NodeId> operands;
    carry(shape, *point.state, operands);
    std::vector<ir::Type> types;
    slot_types(module_.types, shape, types);
    const NodeId node = builder_->begin(Op::while_, operands, {}, types);
    const ir::RegionId outside = builder_->current();
    std::vector<NodeId> parameters = builder_->enter(node, 0, types);
    std::span<const NodeId> carried(parameters);
    state_ = fill(shape, carried);
    Value condition;
    NodeId go_on;
    try {
      condition = eval_condition(s.attr("test"));
      go_on = truth(condition, s);
    } catch (const Diverged&) {
      // A condition that always raises ends the loop and the path after it.
      builder_->enter(node, 1, types);
      builder_->terminate(Op::unreachable, {});
      builder_->end(node);
      builder_->terminate(Op::unreachable, {});
      throw;
    }
    State middle = state_;
    Value nothing;
    align(shape, nothing, middle, nothing);
    const ir::RegionId condition_end = builder_->suspend();
    State next = join(shape, shape_of(middle, seen_from(*builder_, outside)));
    std::optional<ir::RegionId> end;
    State back;
    if (same(next, shape)) {
      parameters = builder_->enter(node, 1, types);
      carried = parameters;
      state_ = fill(shape, carried);
      try {
        loop_body(s);
        end = builder_->suspend();
        back = state_;
        align(shape, nothing, back, nothing);
        next = join(shape, shape_of(back, seen_from(*builder_, outside)));
      } catch (const Diverged&) {
      }
    }
    if (!same(next, shape)) {
      go_back(point);
      shape = std::move(next);
      continue;
    }
    builder_->resume(condition_end);
    std::vector<NodeId> values{go_on};
    carry(shape, middle, values);
    builder_->yield(values);
    if (end) {
      builder_->resume(*end);
      values.clear();
      carry(shape, back, values);
      builder_->yield(values);
    }
    const std::vector<NodeId> results = builder_->end(node);
    std::span<const NodeId> rest(results);
    state_ = fill(shape, rest);
    solutions_[key] = shape;
    if (const std::optional<bool> known = static_truth(condition); known && *known) {
      builder_->terminate(Op::unreachable, {});
      throw Diverged{};
    }
    return;
  }
  unsupported(s, "a loop whose variables do not settle on their types",
              "give them their types before the loop");
}

Evaluator::Trips Evaluator::trips_of(const Value& iterable, nb::handle node) {
  const ValueKind& kind = kind_of_value(iterable);
  kind.refuse_iterate(*this, iterable, node);
  if (std::optional<Trips> trips = kind.trips(*this, iterable, node)) return *std::move(trips);
  if (kind.elements(*this, iterable, node)) {
    unsupported(node,
                "iterating over a " + type_name(iterable) + " together with something of unknown length",
                "use an array");
  }
  raise(ExceptionKind::TypeError, "'" + type_name(iterable) + "' object is not iterable");
}

std::optional<std::vector<Value>> Evaluator::static_elements(const Value& iterable, nb::handle node,
                                                             bool ranges) {
  if (iterable.is<Range>() && !ranges && !unrolled_.contains(key_of(node))) return std::nullopt;
  return kind_of_value(iterable).elements(*this, iterable, node);
}

}  // namespace ingot::frontend
