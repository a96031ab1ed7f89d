// Generators. A generator is evaluated where it is iterated over: its body in an activation of its own, and
// at each `yield` the consumer's code for the element. Both change variables inside of the loops and branches
// of the generator, so one state holds the variables of both, the generator's under names of their own. If a
// consumer leaves early, the handlers of the generator run as for a GeneratorExit.

#include "frontend/kinds/generators.h"

#include "frontend/arrays/arguments.h"
#include "frontend/arrays/arrays.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/expressions/closures.h"
#include "frontend/expressions/expressions.h"
#include "frontend/joins/joins.h"
#include "frontend/kinds/functions.h"
#include "frontend/kinds/list_buffers.h"
#include "frontend/kinds/lists.h"
#include "frontend/kinds/pooled_values.h"
#include "frontend/kinds/special_methods.h"
#include "frontend/kinds/structure.h"
#include "frontend/routines/functions.h"
#include "frontend/statements/statements.h"
#include "frontend/tracer/builtins.h"
#include "frontend/tracer/checkpoint.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"
#include "frontend/tracer/scopes.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

nb::object scope(const char* question, nb::handle node) {
  return imported("ingot._code.scope").attr(question)(node);
}

bool is_library(const nb::dict& globals) {
  const nb::object name = globals.attr("get")("__name__", nb::str(""));
  return text_of(name).starts_with("ingot.library");
}

Value nothing() { return Static{nb::none()}; }

Value iterate_generator(Tracer& t, const Generator& generator, nb::handle node, const Iteration& iteration,
                        bool held);
void iterate_beside(Tracer& t, const Zip& zip, nb::handle node, const Iteration& iteration, bool held);

}  // namespace

Frame frame_of(const Definition& definition) {
  Frame frame;
  frame.function = definition.hollow;
  frame.node = definition.node;
  frame.file = definition.file;
  frame.globals = definition.globals;
  frame.cells = definition.outside;
  frame.shared = definition.shared;
  frame.qualname = definition.qualname;
  for (const nb::handle name : scope("names", definition.node)) frame.local_names.insert(text_of(name));
  return frame;
}

Value suspended(Tracer& t, const Frame& frame, const std::map<std::string, Value>& locals) {
  Definition definition{.node = frame.node,
                        .hollow = frame.function,
                        .globals = frame.globals,
                        .outside = frame.cells,
                        .shared = frame.shared,
                        .file = frame.file,
                        .qualname = frame.qualname};
  std::vector<std::string> names;
  std::vector<Value> values;
  for (const auto& [name, value] : locals) {
    names.push_back(name);
    values.push_back(stored(t, value));
  }
  return iterator(t, "generator",
                  Generator{share(std::move(definition)), share(std::move(names)), share(std::move(values))});
}

Value eval_generator(Tracer& t, nb::handle e) {
  const nb::object node = scope("generator", e);
  if (node.is_none()) {
    unsupported(t, e, "an assignment expression in a generator expression that is not consumed at once",
                "write a loop");
  }
  Value first = stored(t, first_iterable(t, e));
  need_iterable(t, first);
  Definition definition{.node = node,
                        .hollow = imported("ingot._code.scope").attr("hollow")(node, "<genexpr>"),
                        .globals = t.frame->globals,
                        .outside = t.frame->cells,
                        .shared = t.frame->shared,
                        .file = t.frame->file,
                        .qualname = t.frame->qualname + ".<locals>.<genexpr>",
                        .creator = t.frame->number};
  return iterator(t, "generator",
                  Generator{share(std::move(definition)), share(std::vector<std::string>{"@it"}),
                            share(std::vector<Value>{std::move(first)})});
}

namespace {

/// Gives a generator expression access to the variables of the activation that made it.
void see_creator(Tracer& t, const Definition& definition, Frame& frame) {
  const Frame* creator = frame.caller;
  while (creator != nullptr && creator->number != definition.creator) creator = creator->caller;
  if (creator == nullptr) {
    unsupported(t, t.here, "a generator expression that is iterated over outside the function that made it",
                "iterate over it there, or write a generator");
  }
  if (creator->home() == frame.caller->home()) {
    for (const auto& [name, own] : creator->renamed) frame.renamed.emplace(name, own);
    frame.local_names.insert(creator->local_names.begin(), creator->local_names.end());
    return;
  }
  // The activation that made it is a caller of the current one: its variables have their present values.
  const std::map<std::string, Value>* locals = nullptr;
  for (const Frame* at = frame.caller->home(); at != creator->home(); at = at->caller->home())
    locals = &at->callers_locals;
  for (const nb::handle free : scope("free", definition.node)) {
    const std::string name = text_of(free);
    const std::string own = creator->own_name(name);
    if (definition.shared.contains(own)) {
      frame.renamed[name] = own;
      continue;
    }
    const auto it = locals->find(own);
    if (it == locals->end() && !creator->local_names.contains(name)) continue;
    frame.renamed[name] = name + frame.suffix;
    frame.local_names.insert(name + frame.suffix);
    t.state.locals[name + frame.suffix] = it == locals->end() ? Value(Unbound{}) : it->second;
  }
}

/// Whether all iterators in a value were made since `Facts::next_object` had the given value.
bool is_new(const Tracer& t, const Value& iterable, uint32_t since) {
  if (const Iterator* i = iterable.as<Iterator>(); i != nullptr && i->cell < since) return false;
  return std::ranges::all_of(parts_of(iterable), [&](const Value& part) { return is_new(t, part, since); });
}

}  // namespace

bool is_held(const Tracer& t, const Value& given, uint32_t since, nb::handle expression) {
  const std::string kind = class_of(expression);
  if (kind == "Call" || kind == "GeneratorExp") return !is_new(t, given, since);
  return t.frame->consumer == nullptr || !is_library(t.frame->globals) || t.frame->is_held;
}

void iterate(Tracer& t, const Value& iterable, nb::handle node, const Iteration& iteration, bool held) {
  if (const Generator* g = iterable.as<Generator>()) iterate_generator(t, *g, node, iteration, held);
  else iterate_beside(t, *iterable.as<Zip>(), node, iteration, held);
}

namespace {

/// The handlers of a generator as its consumer sees them.
std::vector<Catcher*> handlers_outside(const Tracer& t, const Frame& generator, std::deque<Catcher>& made) {
  const nb::object leaving = imported("builtins").attr("GeneratorExit");
  std::vector<Catcher*> seen(t.handlers.begin(),
                             t.handlers.begin() + static_cast<ptrdiff_t>(generator.first_handler));
  for (size_t i = generator.first_handler; i < t.handlers.size(); ++i) {
    Catcher* const handler = t.handlers[i];
    if (handler->barrier || handler->closes || !handler->refusal.empty()) {
      seen.push_back(handler);
      continue;
    }
    const bool catches_all = std::ranges::any_of(handler->clauses, [&](const Clause& clause) {
      return clause.types.empty() || std::ranges::any_of(clause.types, [&](const nb::object& type) {
               return PyObject_IsSubclass(leaving.ptr(), type.ptr()) == 1;
             });
    });
    if (!handler->is_final() && !catches_all) continue;
    Catcher& outside = made.emplace_back(*handler);
    outside.closes = true;
    if (catches_all) outside.refusal = "leaving a generator that catches GeneratorExit";
    else if (generator.is_held)
      outside.refusal = "leaving a generator that has a `finally`, and that something else holds,";
    seen.push_back(&outside);
  }
  return seen;
}

Value iterate_generator(Tracer& t, const Generator& generator, nb::handle node, const Iteration& iteration,
                        bool held) {
  const Definition& definition = *generator.definition;
  Frame frame = frame_of(definition);
  prepare(t, frame, node);
  frame.suffix =
      "@g" + std::to_string(t.facts.suffixes.emplace(frame.path, t.facts.suffixes.size() + 1).first->second);
  for (const std::string& name : std::set<std::string>(frame.local_names)) {
    frame.renamed[name] = name + frame.suffix;
    frame.local_names.insert(name + frame.suffix);
  }
  frame.is_held = held;
  const size_t handled = t.handled.size();
  const Iteration consume = [&](const Value& value) {
    std::deque<Catcher> made;
    const Restored<std::vector<const Error*>> outside(t.handled, first_of(t.handled, handled));
    const Restored<std::vector<Catcher*>> handlers(t.handlers, handlers_outside(t, frame, made));
    const Restored<std::string> path(frame.caller->path, frame.caller->path + "~" + key_of(t, t.here));
    const Restored<Frame*> active(t.frame, frame.caller);
    iteration(value);
  };
  frame.consumer = &consume;
  frame.first_handler = t.handlers.size();
  for (size_t i = 0; i < generator.names->size(); ++i)
    t.state.locals[(*generator.names)[i] + frame.suffix] = (*generator.values)[i];
  if (definition.creator != 0) see_creator(t, definition, frame);
  Value result = nothing();
  {
    const Pushed<std::string> open(t.iterates, frame.suffix);
    const Restored<Frame*> active(t.frame, &frame);
    Catcher border(t, &frame);
    border.of_generator = true;
    const Pushed<Catcher*> catching(t.handlers, &border);
    share_locals(t);
    const nb::object body = attribute(frame.node, "body");
    if (class_of(frame.node) == "Lambda") {
      result = eval_open(t, body);
    } else if (count_returns(body) == 0) {
      run_body(t, body);
    } else {
      result = block(t, [&](Target& target) {
        frame.returns = &target;
        run_body(t, body);
        return nothing();
      });
    }
  }
  forget(t, frame.suffix);
  return result;
}

}  // namespace

Value eval_yield(Tracer& t, nb::handle e) {
  const Value value = e.attr("value").is_none() ? nothing() : stored(t, eval_open(t, e.attr("value")));
  if (t.frame->is_closing)
    unsupported(t, e, "a `yield` in a generator that its consumer has left",
                "iterate over the generator to its end");
  const Here here(t, e);
  (*t.frame->consumer)(value);
  return nothing();
}

Value eval_yield_from(Tracer& t, nb::handle e) {
  const Value iterable = begin_iterate(t, eval(t, e.attr("value")), e);
  if (const Generator* g = iterable.as<Generator>()) {
    const Here here(t, e);
    // Leaving the generator first closes the one that it delegates to, even if something else holds that.
    return iterate_generator(t, *g, e, [&t](const Value& value) { (*t.frame->consumer)(value); }, false);
  }
  const std::string suffix = suffix_of(t, e);
  for (const char* hidden : {"@items", "@item"}) t.frame->renamed[hidden] = hidden + suffix;
  bind_variable(t, "@items", iterable);
  run(t, scope("delegation", e));
  forget(t, suffix);
  return nothing();
}

namespace {

void iterate_beside(Tracer& t, const Zip& zip, nb::handle node, const Iteration& iteration, bool held) {
  const std::vector<Value>& members = *zip.members;
  if (std::ranges::count_if(members, iterates_generator) > 1) {
    unsupported(t, node, "generators that are iterated over in step",
                "make a list of one of them, or iterate over one of them by `for`");
  }
  const size_t at = static_cast<size_t>(std::ranges::find_if(members, iterates_generator) - members.begin());
  std::vector<std::optional<Indexed>> parts(members.size());
  for (size_t i = 0; i < members.size(); ++i)
    if (i != at) parts[i] = kind_of_value(members[i]).indexed(t, members[i], node);
  const std::string suffix = "@w" + std::to_string(t.iterates.size()) + suffix_of(t, node);
  const std::string name = "@place" + suffix;
  t.state.locals[name] = Static{nb::int_(0)};
  const Pushed<std::string> open(t.iterates, suffix);
  block(t, [&](Target& stop) {
    const auto need = [&](size_t from, size_t to) {
      for (size_t i = from; i < to; ++i) {
        const Value index = t.state.locals.at(name);  // a copy: what is asked may replace the state
        const Value there = parts[i]->has(index);
        const std::optional<bool> known = static_truth(t, there);
        if (known == true) continue;
        const auto leave = [&]() -> Value { leave_to(t, stop, nothing()); };
        if (known) leave();
        fork(t, truth(t, there, node), nothing, leave);
      }
    };
    const auto step = [&](const Value& value) {
      need(at + 1, members.size());
      Tuple tuple;
      for (size_t i = 0; i < members.size(); ++i)
        tuple.members.push_back(i == at ? value : parts[i]->element(Value(t.state.locals.at(name))));
      iteration(tuple);
      // No loop has 2**63 iterations.
      const Value index = t.state.locals.at(name);
      const NodeId next = t.builder->make(Op::add, {stage_index(t, index), t.builder->index(1)});
      t.state.locals[name] = known_number(t, Scalar{Kind::py_int(), next});
      need(0, at);
    };
    need(0, at);
    iterate(t, members[at], node, step, held);
    return nothing();
  });
  t.state.locals.erase(name);
}

}  // namespace

void unroll_loops(Tracer& t, size_t since, nb::handle node) {
  for (size_t i = since; i < t.loops.size(); ++i) {
    const auto& [key, iterated] = t.loops[i];
    const Range* r = iterated.as<Range>();
    if (r == nullptr || t.facts.counted.contains(key)) continue;
    for (const Value& bound : *r->bounds)
      if (const Scalar* s = bound.as<Scalar>()) demand(t, s->node, node);
    if (std::ranges::all_of(*r->bounds, [](const Value& bound) { return bound.is<Static>(); }))
      throw NeedsFact::at(key, location_of(t, node));
  }
}

List list_of(Tracer& t, const Value& iterable, nb::handle node, std::optional<size_t> most) {
  const List list = new_list(t, {});
  const size_t since = t.loops.size();
  const Iteration iteration = [&](const Value& value) {
    unroll_loops(t, since, node);
    if (most && contents(t, list.object, node).values.size() == *most) {
      raise(t, ExceptionKind::ValueError,
            "too many values to unpack (expected " + std::to_string(*most) + ")");
    }
    append(t, list, value, node);
  };
  iterate(t, iterable, node, iteration, true);
  return list;
}

Value is_yielded(Tracer& t, const Value& wanted, const Value& given, nb::handle node) {
  const Value iterable = begin_iterate(t, given, node);
  return block(t, [&](Target& found) {
    const auto leave = [&]() -> Value { leave_to(t, found, Static{nb::bool_(true)}); };
    const Iteration iteration = [&](const Value& value) {
      const Value equal = equal_members(t, wanted, value, node);
      const std::optional<bool> known = static_truth(t, equal);
      if (known == true) leave();
      if (!known) fork(t, truth(t, equal, node), leave, nothing);
    };
    iterate(t, iterable, node, iteration, true);
    return Value(Static{nb::bool_(false)});
  });
}

Value builtin_count(Tracer& t, Call& call) {
  const Value* start = argument(t, call, 0, "start");
  const Value* step = argument(t, call, 1, "step");
  finish(t, call, 2);
  const Value first = start == nullptr ? Value(Static{nb::int_(0)}) : *start;
  const Value by = step == nullptr ? Value(Static{nb::int_(1)}) : *step;
  if (kind_of(first) == Kind::py_int() && kind_of(by) == Kind::py_int())
    return iterator(t, "count", Range{share(std::array<Value, 3>{first, nothing(), by}), false, true});
  Value made = call_library(t, "iterators", "counted", {first, by}, call.node);
  made.as<Iterator>()->name = "count";
  return made;
}

void need_iterable(Tracer& t, const Value& value) {
  if (rank_of(value) == 0) raise(t, ExceptionKind::TypeError, "iteration over a 0-d array");
  if (number_kind(value))
    raise(t, ExceptionKind::TypeError, "'" + type_name(t, value) + "' object is not iterable");
  raise_by_type(t, "iterate", "", {value});
}

Value builtin_iter(Tracer& t, Call& call) {
  Value value = need(t, call, 0, "object");
  if (call.positional.size() > 1) unsupported(t, call.node, "`iter` with two arguments", "write a loop");
  finish(t, call, 1);
  if (value.is<Iterator>()) return value;
  if (std::optional<Value> made = iterator_of_object(t, value, call.node)) return *made;
  need_iterable(t, value);
  if (value.is<Array>() || value.is<Structured>()) return iterator(t, "iterator", stored(t, value));
  kind_of_value(value).refuse_iterate(t, value, call.node);
  const nb::object model = stand_in(t, value);
  const bool is_known = value.is<Tuple>() || container_of(value) != 0 || value.is<View>() ||
                        value.is<Set>() || value.is<Range>() || value.is<Static>();
  if (!is_known)
    unsupported(t, call.node, "an iterator over a " + type_name(t, value), "iterate over it by `for`");
  std::string name = "iterator";
  if (model.is_valid()) name = text_of(imported("builtins").attr("iter")(model).type().attr("__name__"));
  return iterator(t, name, value);
}

std::optional<Value> iterator_of_object(Tracer& t, const Value& value, nb::handle node) {
  if (!is_instance(value)) return std::nullopt;
  if (PooledValues::open(value) != nullptr)
    unsupported(t, node, "iterating what may be an instance of several classes",
                "write a method that iterates over it");
  const std::optional<Value> made = call_special(t, value, "__iter__", {}, node);
  if (!made || made->is<Iterator>()) return made;
  if (is_instance(*made))
    unsupported(t, node, "an iterator that is a " + type_name(t, *made), "let `__iter__` be a generator");
  raise(t, ExceptionKind::TypeError, "iter() returned non-iterator of type '" + type_name(t, *made) + "'");
}

Value builtin_next(Tracer& t, Call& call) {
  if (call.positional.size() > 2) {
    raise(t, ExceptionKind::TypeError,
          "next expected at most 2 arguments, got " + std::to_string(call.positional.size()));
  }
  const Value given = need(t, call, 0, "iterator");
  const Value* last = argument(t, call, 1, "default");
  finish(t, call, 2);
  const nb::handle node = call.node;
  const Iterator* i = given.as<Iterator>();
  if (i == nullptr) {
    if (is_instance(given)) unsupported(t, node, "`next` of a " + type_name(t, given), "call its method");
    raise(t, ExceptionKind::TypeError, "'" + type_name(t, given) + "' object is not an iterator");
  }
  const auto stop = [&]() -> Value {
    if (last != nullptr) return *last;
    raise_error(t, make_error(t, imported("builtins").attr("StopIteration"), {}));
  };
  if (iterates_generator(*i->iterates)) {
    const Value iterable = begin_iterate(t, given, node);
    return block(t, [&](Target& found) {
      iterate(t, iterable, node, [&](const Value& value) { leave_to(t, found, value); }, true);
      return stop();
    });
  }
  const Value index = t.state.heap.at(i->cell).values[0];
  const bool nests =
      std::ranges::any_of(parts_of(*i->iterates), [](const Value& v) { return v.is<Iterator>(); });
  if (nests || (!static_int(index) && !index.is<Scalar>()))
    unsupported(t, node, "`next` of a " + i->name + " that has been iterated over already",
                "take its elements first");
  const Indexed iterated = kind_of_value(*i->iterates).indexed(t, *i->iterates, node);
  const auto take = [&] {
    const Value value = iterated.element(index);
    const NodeId next = t.builder->make(Op::add, {stage_index(t, index), t.builder->index(1)});
    t.state.heap.at(i->cell).values[0] = known_number(t, Scalar{Kind::py_int(), next});
    return value;
  };
  const Value there = iterated.has(index);
  if (const std::optional<bool> known = static_truth(t, there)) return *known ? take() : stop();
  if (last != nullptr) return fork(t, truth(t, there, node), take, stop);
  fork(t, truth(t, there, node), nothing, stop);
  return take();
}

namespace {

/// What `enumerate` and `zip` result in.
class ZipKind final : public KindOfParts<Zip, &Zip::members> {
 public:
  std::optional<Elements> elements(Tracer& t, const Value& value, nb::handle node) const override;
  std::optional<Trips> trips(Tracer& t, const Value& value, nb::handle node) const override {
    std::vector<Trips> each;
    for (const Value& member : *value.as<Zip>()->members) each.push_back(trips_of(t, member, node));
    NodeId count = each[0].count;
    for (size_t i = 1; i < each.size(); ++i) count = t.builder->make(Op::minimum, {count, each[i].count});
    return Trips{count, [each](NodeId k) {
                   Tuple tuple;
                   for (const Trips& one : each) tuple.members.push_back(one.element(k));
                   return Value(tuple);
                 }};
  }
  Answer iterated(Tracer& t, const Value& value, nb::handle node) const override {
    return with_each_part(value, [&](const Value& member) { return begin_iterate(t, member, node); });
  }
  Indexed indexed(Tracer& t, const Value& value, nb::handle node) const override;
  Answer rest(Tracer& t, const Value& value, const Value& taken, Known known,
              nb::handle node) const override {
    std::vector<Value> members = parts(value);
    for (Value& member : members) {
      const Answer rest = kind_of_value(member).rest(t, member, taken, known, node);
      if (!rest) return std::nullopt;
      member = *rest;
    }
    return with_parts(value, std::move(members));
  }
  /// Of the items of a dict, whose keys and values are equally many.
  Answer length(Tracer& t, const Value& value, nb::handle node) const override {
    Call keys{.positional = {parts(value)[0]}, .name = "len", .node = node};
    return builtin_len(t, keys);
  }
  std::optional<bool> known_truth(Tracer& t, const Value& value) const override {
    return static_truth(t, parts(value)[0]);
  }
  std::optional<NodeId> truth(Tracer& t, const Value& value, nb::handle node) const override {
    return frontend::truth(t, parts(value)[0], node);
  }
  bool has_open_length(const Tracer& t, const Value& value) const override {
    return std::ranges::all_of(*value.as<Zip>()->members, [&](const Value& member) {
      return counts_on(member) || frontend::has_open_length(t, member);
    });
  }
  bool generates(const Value& value) const override {
    return std::ranges::any_of(*value.as<Zip>()->members, iterates_generator);
  }
  bool may_change_length(const Value& value) const override {
    return std::ranges::any_of(*value.as<Zip>()->members, [](const Value& member) {
      return kind_of_value(member).may_change_length(member);
    });
  }
};

std::optional<std::vector<Value>> ZipKind::elements(Tracer& t, const Value& value, nb::handle node) const {
  const std::vector<Value>& members = *value.as<Zip>()->members;
  const bool is_known = std::ranges::any_of(members, [&](const Value& member) {
    if (member.is<Zip>()) return elements(t, member, node).has_value();
    return !member.is<Range>() && !rank_of(member) && !kind_of_value(member).has_open_length(t, member);
  });
  if (!is_known) return std::nullopt;
  std::optional<size_t> count;
  std::vector<std::vector<Value>> parts(members.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (counts_on(members[i])) continue;
    auto elements = static_elements(t, members[i], node, true);
    if (!elements) return std::nullopt;
    if (std::ranges::any_of(*elements, [](const Value& v) { return v.is<Unbound>(); })) {
      unsupported(
          t, node,
          "a list that gets shorter while it is iterated over from the back together with something else",
          "iterate over its indices");
    }
    count = std::min(count.value_or(elements->size()), elements->size());
    parts[i] = std::move(*elements);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!counts_on(members[i])) continue;
    const Indexed counted = kind_of_value(members[i]).indexed(t, members[i], node);
    for (size_t k = 0; k < count.value_or(0); ++k) parts[i].push_back(counted.element(Static{nb::int_(k)}));
  }
  std::vector<Value> tuples(count.value_or(0));
  for (size_t i = 0; i < tuples.size(); ++i) {
    Tuple tuple;
    for (const auto& part : parts) tuple.members.push_back(part[i]);
    tuples[i] = std::move(tuple);
  }
  return tuples;
}

Indexed ZipKind::indexed(Tracer& t, const Value& value, nb::handle node) const {
  std::vector<Indexed> each;
  for (const Value& member : *value.as<Zip>()->members)
    each.push_back(kind_of_value(member).indexed(t, member, node));
  const auto has = [&t, each, node](const Value& index) -> Value {
    NodeId all = t.builder->constant(true);
    for (const Indexed& part : each) {
      const Value one = part.has(index);
      const std::optional<bool> known = static_truth(t, one);
      if (known == false) return one;
      if (!known) all = both(t, all, frontend::truth(t, one, node));
    }
    return as_bool(t, all);
  };
  const auto element = [each](const Value& index) {
    Tuple tuple;
    for (const Indexed& part : each) tuple.members.push_back(part.element(index));
    return Value(tuple);
  };
  return {has, element};
}

class IteratorKind final
    : public KindOfObjects<Iterator, &Iterator::cell, KindOfParts<Iterator, &Iterator::iterates>> {
 public:
  std::string type_name(const Tracer&, const Value& value) const override {
    return value.as<Iterator>()->name;
  }
  nb::object type_of(Tracer& t, const Value& value, nb::handle) const override {
    const nb::object model = stand_in(t, value);
    return model.is_valid() ? nb::borrow<nb::object>(model.type()) : nb::object();
  }
  nb::object stand_in(const Tracer&, const Value& value) const override {
    const nb::object made = imported("ingot._objects.foreign").attr("iterator")(value.as<Iterator>()->name);
    return made.is_none() ? nb::object() : made;
  }
  /// The iterable, or what is left of it; the iterator is exhausted then.
  Answer iterated(Tracer& t, const Value& value, nb::handle node) const override {
    const Iterator& iterator = *value.as<Iterator>();
    const Value taken = std::exchange(t.state.heap.at(iterator.cell).values[0], Static{nb::none()});
    const Known known = static_int(taken);
    if (known == 0) return begin_iterate(t, Value(*iterator.iterates), node);
    const ValueKind& kind = kind_of_value(*iterator.iterates);
    if (number_kind(taken))
      if (Answer rest = kind.rest(t, *iterator.iterates, taken, known, node))
        return begin_iterate(t, *rest, node);
    unsupported(t, node, "iterating over a " + iterator.name + " that has been iterated over already",
                "make it anew, or a list of it");
  }
  Answer reversed(Tracer& t, const Value& value, nb::handle) const override {
    raise(t, ExceptionKind::TypeError, "'" + value.as<Iterator>()->name + "' object is not reversible");
  }
  bool has_open_length(const Tracer& t, const Value& value) const override {
    return frontend::has_open_length(t, *value.as<Iterator>()->iterates);
  }
  bool generates(const Value& value) const override {
    return iterates_generator(*value.as<Iterator>()->iterates);
  }
  std::optional<bool> known_truth(Tracer&, const Value&) const override { return true; }
  Answer contains(Tracer& t, const Value& value, const Value& wanted, nb::handle node) const override {
    return frontend::compare(t, Operator::In, wanted, Tuple{elements_of(t, value, node)}, node);
  }
};

class GeneratorKind final : public KindOfParts<Generator, &Generator::values> {
 public:
  bool same_form(const Value& a, const Value& b) const override {
    return same_definition(*a.as<Generator>()->definition, *b.as<Generator>()->definition) &&
           *a.as<Generator>()->names == *b.as<Generator>()->names;
  }
  void each_object(const Value& value, const Visit& visit) const override {
    for (const auto& [name, cell] : value.as<Generator>()->definition->shared) visit(cell);
  }
  void renumber(Value& value, const Renumber& object, const Renumber&) const override {
    Generator& own = *value.as<Generator>();
    own.definition = renumbered(*own.definition, object);
  }
  const char* passed_instead(const Value&) const override { return "pass a list of its elements"; }
  bool generates(const Value&) const override { return true; }
};

}  // namespace

INGOT_VALUE_KIND(Zip, ZipKind)
INGOT_VALUE_KIND(Iterator, IteratorKind)
INGOT_VALUE_KIND(Generator, GeneratorKind)

}  // namespace ingot::frontend
