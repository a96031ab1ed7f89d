#include "frontend/kinds/functions.h"
#include "frontend/kinds/pooled_values.h"
#include "frontend/kinds/structure.h"

// Generators. A generator is evaluated where it is iterated over: its body in an activation of its own, and
// at each `yield` the consumer's code for the element. Both change variables inside of the loops and branches
// of the generator, so one state holds the variables of both, the generator's under names of their own. If a
// consumer leaves early, the handlers of the generator run as for a GeneratorExit.

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

}  // namespace

Evaluator::Frame Evaluator::frame_of(const Definition& definition) const {
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

Value Evaluator::suspended(const Frame& frame, const std::map<std::string, Value>& locals) {
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
    values.push_back(stored(value));
  }
  return iterator("generator",
                  Generator{share(std::move(definition)), share(std::move(names)), share(std::move(values))});
}

Value Evaluator::eval_generator(nb::handle e) {
  const nb::object node = scope("generator", e);
  if (node.is_none()) {
    unsupported(e, "an assignment expression in a generator expression that is not consumed at once",
                "write a loop");
  }
  Value first = stored(first_iterable(e));
  need_iterable(first);
  Definition definition{.node = node,
                        .hollow = imported("ingot._code.scope").attr("hollow")(node, "<genexpr>"),
                        .globals = frame_->globals,
                        .outside = frame_->cells,
                        .shared = frame_->shared,
                        .file = frame_->file,
                        .qualname = frame_->qualname + ".<locals>.<genexpr>",
                        .creator = frame_->number};
  return iterator("generator", Generator{share(std::move(definition)), share(std::vector<std::string>{"@it"}),
                                         share(std::vector<Value>{std::move(first)})});
}

void Evaluator::see_creator(const Definition& definition, Frame& frame) {
  const Frame* creator = frame.caller;
  while (creator != nullptr && creator->number != definition.creator) creator = creator->caller;
  if (creator == nullptr) {
    unsupported(here_, "a generator expression that is iterated over outside the function that made it",
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
    state_.locals[name + frame.suffix] = it == locals->end() ? Value(Unbound{}) : it->second;
  }
}

bool Evaluator::is_new(const Value& iterable, uint32_t since) const {
  if (const Iterator* i = iterable.as<Iterator>(); i != nullptr && i->cell < since) return false;
  return std::ranges::all_of(parts_of(iterable), [&](const Value& part) { return is_new(part, since); });
}

bool Evaluator::is_held(const Value& given, uint32_t since, nb::handle expression) const {
  const std::string kind = class_of(expression);
  if (kind == "Call" || kind == "GeneratorExp") return !is_new(given, since);
  return frame_->consumer == nullptr || !is_library(frame_->globals) || frame_->is_held;
}

void Evaluator::iterate(const Value& iterable, nb::handle node, const Iteration& iteration, bool held) {
  if (const Generator* g = iterable.as<Generator>()) iterate_generator(*g, node, iteration, held);
  else iterate_beside(*iterable.as<Zip>(), node, iteration, held);
}

std::vector<Evaluator::Catcher*> Evaluator::handlers_outside(const Frame& generator,
                                                             std::deque<Catcher>& made) const {
  const nb::object leaving = imported("builtins").attr("GeneratorExit");
  std::vector<Catcher*> seen(handlers_.begin(),
                             handlers_.begin() + static_cast<ptrdiff_t>(generator.first_handler));
  for (size_t i = generator.first_handler; i < handlers_.size(); ++i) {
    Catcher* const handler = handlers_[i];
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

Value Evaluator::iterate_generator(const Generator& generator, nb::handle node, const Iteration& iteration,
                                   bool held) {
  const Definition& definition = *generator.definition;
  Frame frame = frame_of(definition);
  prepare(frame, node);
  frame.suffix = "@g" + std::to_string(suffixes_.emplace(frame.path, suffixes_.size() + 1).first->second);
  for (const std::string& name : std::set<std::string>(frame.local_names)) {
    frame.renamed[name] = name + frame.suffix;
    frame.local_names.insert(name + frame.suffix);
  }
  frame.is_held = held;
  const size_t handled = handled_.size();
  const Iteration consume = [&](const Value& value) {
    std::deque<Catcher> made;
    const Restored<std::vector<const Error*>> outside(handled_, first_of(handled_, handled));
    const Restored<std::vector<Catcher*>> handlers(handlers_, handlers_outside(frame, made));
    const Restored<std::string> path(frame.caller->path, frame.caller->path + "~" + key_of(here_));
    const Restored<Frame*> active(frame_, frame.caller);
    iteration(value);
  };
  frame.consumer = &consume;
  frame.first_handler = handlers_.size();
  for (size_t i = 0; i < generator.names->size(); ++i)
    state_.locals[(*generator.names)[i] + frame.suffix] = (*generator.values)[i];
  if (definition.creator != 0) see_creator(definition, frame);
  Value result = nothing();
  {
    const Pushed<std::string> open(iterates_, frame.suffix);
    const Restored<Frame*> active(frame_, &frame);
    Catcher border(*this, &frame);
    border.of_generator = true;
    const Pushed<Catcher*> catching(handlers_, &border);
    share_locals();
    const nb::object body = attribute(frame.node, "body");
    if (class_of(frame.node) == "Lambda") {
      result = eval_open(body);
    } else if (count_returns(body) == 0) {
      run_body(body);
    } else {
      result = block([&](Target& target) {
        frame.returns = &target;
        run_body(body);
        return nothing();
      });
    }
  }
  forget(frame.suffix);
  return result;
}

Value Evaluator::eval_yield(nb::handle e) {
  const Value value = e.attr("value").is_none() ? nothing() : stored(eval_open(e.attr("value")));
  if (frame_->is_closing)
    unsupported(e, "a `yield` in a generator that its consumer has left",
                "iterate over the generator to its end");
  const Here here(*this, e);
  (*frame_->consumer)(value);
  return nothing();
}

Value Evaluator::eval_yield_from(nb::handle e) {
  const Value iterable = begin_iterate(eval(e.attr("value")), e);
  if (const Generator* g = iterable.as<Generator>()) {
    const Here here(*this, e);
    // Leaving the generator first closes the one that it delegates to, even if something else holds that.
    return iterate_generator(*g, e, [this](const Value& value) { (*frame_->consumer)(value); }, false);
  }
  const std::string suffix = suffix_of(e);
  for (const char* hidden : {"@items", "@item"}) frame_->renamed[hidden] = hidden + suffix;
  bind("@items", iterable);
  run(scope("delegation", e));
  forget(suffix);
  return nothing();
}

void Evaluator::iterate_beside(const Zip& zip, nb::handle node, const Iteration& iteration, bool held) {
  const std::vector<Value>& members = *zip.members;
  if (std::ranges::count_if(members, iterates_generator) > 1) {
    unsupported(node, "generators that are iterated over in step",
                "make a list of one of them, or iterate over one of them by `for`");
  }
  const size_t at = static_cast<size_t>(std::ranges::find_if(members, iterates_generator) - members.begin());
  std::vector<std::optional<IndexedIterable>> parts(members.size());
  for (size_t i = 0; i < members.size(); ++i)
    if (i != at) parts[i] = kind_of_value(members[i]).indexed(*this, members[i], node);
  const std::string suffix = "@w" + std::to_string(iterates_.size()) + suffix_of(node);
  const std::string name = "@place" + suffix;
  state_.locals[name] = Static{nb::int_(0)};
  const Pushed<std::string> open(iterates_, suffix);
  block([&](Target& stop) {
    const auto need = [&](size_t from, size_t to) {
      for (size_t i = from; i < to; ++i) {
        const Value index = state_.locals.at(name);  // a copy: what is asked may replace the state
        const Value there = parts[i]->has(index);
        const std::optional<bool> known = static_truth(there);
        if (known == true) continue;
        const auto leave = [&]() -> Value { leave_to(stop, nothing()); };
        if (known) leave();
        fork(truth(there, node), nothing, leave);
      }
    };
    const auto step = [&](const Value& value) {
      need(at + 1, members.size());
      Tuple tuple;
      for (size_t i = 0; i < members.size(); ++i)
        tuple.members.push_back(i == at ? value : parts[i]->element(Value(state_.locals.at(name))));
      iteration(tuple);
      // No loop has 2**63 iterations.
      const Value index = state_.locals.at(name);
      const NodeId next = builder_->make(Op::add, {stage_index(index), builder_->index(1)});
      state_.locals[name] = known_number(Scalar{Kind::py_int(), next});
      need(0, at);
    };
    need(0, at);
    iterate(members[at], node, step, held);
    return nothing();
  });
  state_.locals.erase(name);
}

void Evaluator::unroll_loops(size_t since, nb::handle node) {
  for (size_t i = since; i < loops_.size(); ++i) {
    const auto& [key, iterated] = loops_[i];
    const Range* r = iterated.as<Range>();
    if (r == nullptr || counted_.contains(key)) continue;
    for (const Value& bound : *r->bounds)
      if (const Scalar* s = bound.as<Scalar>()) demand(s->node, node);
    if (std::ranges::all_of(*r->bounds, [](const Value& bound) { return bound.is<Static>(); }))
      throw NeedsFact::at(key, location_of(node));
  }
}

Reference Evaluator::list_of(const Value& iterable, nb::handle node, std::optional<size_t> most) {
  const Reference list = *new_list({}).as<Reference>();
  const size_t since = loops_.size();
  const Iteration iteration = [&](const Value& value) {
    unroll_loops(since, node);
    if (most && contents(list, node).values.size() == *most) {
      raise(ExceptionKind::ValueError, "too many values to unpack (expected " + std::to_string(*most) + ")");
    }
    append(list, value, node);
  };
  iterate(iterable, node, iteration, true);
  return list;
}

Value Evaluator::is_yielded(const Value& wanted, const Value& given, nb::handle node) {
  const Value iterable = begin_iterate(given, node);
  return block([&](Target& found) {
    const auto leave = [&]() -> Value { leave_to(found, Static{nb::bool_(true)}); };
    const Iteration iteration = [&](const Value& value) {
      const Value equal = equal_members(wanted, value, node);
      const std::optional<bool> known = static_truth(equal);
      if (known == true) leave();
      if (!known) fork(truth(equal, node), leave, nothing);
    };
    iterate(iterable, node, iteration, true);
    return Value(Static{nb::bool_(false)});
  });
}

Value Evaluator::builtin_count(Call& call) {
  const Value* start = argument(call, 0, "start");
  const Value* step = argument(call, 1, "step");
  finish(call, 2);
  const Value first = start == nullptr ? Value(Static{nb::int_(0)}) : *start;
  const Value by = step == nullptr ? Value(Static{nb::int_(1)}) : *step;
  if (kind_of(first) == Kind::py_int() && kind_of(by) == Kind::py_int())
    return iterator("count", Range{share(std::array<Value, 3>{first, nothing(), by}), false, true});
  Value made = call_library(*this, "iterators", "counted", {first, by}, call.node);
  made.as<Iterator>()->name = "count";
  return made;
}

void Evaluator::need_iterable(const Value& value) {
  if (rank_of(value) == 0) raise(ExceptionKind::TypeError, "iteration over a 0-d array");
  if (number_kind(value))
    raise(ExceptionKind::TypeError, "'" + type_name(value) + "' object is not iterable");
  raise_by_type("iterate", "", {value});
}

Value Evaluator::builtin_iter(Call& call) {
  Value value = need(call, 0, "object");
  if (call.positional.size() > 1) unsupported(call.node, "`iter` with two arguments", "write a loop");
  finish(call, 1);
  if (value.is<Iterator>()) return value;
  if (std::optional<Value> made = iterator_of_object(value, call.node)) return *made;
  need_iterable(value);
  if (value.is<Array>() || value.is<Structured>()) return iterator("iterator", stored(value));
  kind_of_value(value).refuse_iterate(*this, value, call.node);
  const nb::object model = stand_in(value);
  const bool is_known = value.is<Tuple>() || value.is<Reference>() || value.is<View>() || value.is<Set>() ||
                        value.is<Range>() || value.is<Static>();
  if (!is_known) unsupported(call.node, "an iterator over a " + type_name(value), "iterate over it by `for`");
  std::string name = "iterator";
  if (model.is_valid()) name = text_of(imported("builtins").attr("iter")(model).type().attr("__name__"));
  return iterator(name, value);
}

std::optional<Value> Evaluator::iterator_of_object(const Value& value, nb::handle node) {
  if (!is_instance(value)) return std::nullopt;
  if (PooledValues::open(value) != nullptr)
    unsupported(node, "iterating what may be an instance of several classes",
                "write a method that iterates over it");
  const std::optional<Value> made = call_special(value, "__iter__", {}, node);
  if (!made || made->is<Iterator>()) return made;
  if (is_instance(*made))
    unsupported(node, "an iterator that is a " + type_name(*made), "let `__iter__` be a generator");
  raise(ExceptionKind::TypeError, "iter() returned non-iterator of type '" + type_name(*made) + "'");
}

Value Evaluator::builtin_next(Call& call) {
  if (call.positional.size() > 2) {
    raise(ExceptionKind::TypeError,
          "next expected at most 2 arguments, got " + std::to_string(call.positional.size()));
  }
  const Value given = need(call, 0, "iterator");
  const Value* last = argument(call, 1, "default");
  finish(call, 2);
  const nb::handle node = call.node;
  const Iterator* i = given.as<Iterator>();
  if (i == nullptr) {
    if (is_instance(given)) unsupported(node, "`next` of a " + type_name(given), "call its method");
    raise(ExceptionKind::TypeError, "'" + type_name(given) + "' object is not an iterator");
  }
  const auto stop = [&]() -> Value {
    if (last != nullptr) return *last;
    raise_error(make_error(imported("builtins").attr("StopIteration"), {}));
  };
  if (iterates_generator(*i->iterates)) {
    const Value iterable = begin_iterate(given, node);
    return block([&](Target& found) {
      iterate(iterable, node, [&](const Value& value) { leave_to(found, value); }, true);
      return stop();
    });
  }
  const Value index = state_.heap.at(i->cell).values[0];
  const bool nests =
      std::ranges::any_of(parts_of(*i->iterates), [](const Value& v) { return v.is<Iterator>(); });
  if (nests || (!static_int(index) && !index.is<Scalar>()))
    unsupported(node, "`next` of a " + i->name + " that has been iterated over already",
                "take its elements first");
  const IndexedIterable iterated = kind_of_value(*i->iterates).indexed(*this, *i->iterates, node);
  const auto take = [&] {
    const Value value = iterated.element(index);
    const NodeId next = builder_->make(Op::add, {stage_index(index), builder_->index(1)});
    state_.heap.at(i->cell).values[0] = known_number(Scalar{Kind::py_int(), next});
    return value;
  };
  const Value there = iterated.has(index);
  if (const std::optional<bool> known = static_truth(there)) return *known ? take() : stop();
  if (last != nullptr) return fork(truth(there, node), take, stop);
  fork(truth(there, node), nothing, stop);
  return take();
}

namespace {

/// What `enumerate` and `zip` result in.
class ZipKind final : public KindOfParts<Zip, &Zip::members> {
 public:
  std::optional<Elements> elements(Evaluator& e, const Value& value, nb::handle node) const override;
  std::optional<Trips> trips(Evaluator& e, const Value& value, nb::handle node) const override {
    std::vector<Trips> each;
    for (const Value& member : *value.as<Zip>()->members) each.push_back(e.trips_of(member, node));
    NodeId count = each[0].count;
    for (size_t i = 1; i < each.size(); ++i) count = e.builder_->make(Op::minimum, {count, each[i].count});
    return Trips{count, [each](NodeId k) {
                   Tuple tuple;
                   for (const Trips& one : each) tuple.members.push_back(one.element(k));
                   return Value(tuple);
                 }};
  }
  Answer iterated(Evaluator& e, const Value& value, nb::handle node) const override {
    return with_each_part(value, [&](const Value& member) { return e.begin_iterate(member, node); });
  }
  Indexed indexed(Evaluator& e, const Value& value, nb::handle node) const override;
  Answer rest(Evaluator& e, const Value& value, const Value& taken, Known known,
              nb::handle node) const override {
    std::vector<Value> members = parts(value);
    for (Value& member : members) {
      const Answer rest = kind_of_value(member).rest(e, member, taken, known, node);
      if (!rest) return std::nullopt;
      member = *rest;
    }
    return with_parts(value, std::move(members));
  }
  bool has_open_length(const Evaluator& e, const Value& value) const override {
    return std::ranges::all_of(*value.as<Zip>()->members, [&](const Value& member) {
      return counts_on(member) || e.has_open_length(member);
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

std::optional<std::vector<Value>> ZipKind::elements(Evaluator& e, const Value& value, nb::handle node) const {
  const std::vector<Value>& members = *value.as<Zip>()->members;
  const bool is_known = std::ranges::any_of(members, [&](const Value& member) {
    if (member.is<Zip>()) return elements(e, member, node).has_value();
    return !member.is<Range>() && !rank_of(member) && !kind_of_value(member).has_open_length(e, member);
  });
  if (!is_known) return std::nullopt;
  std::optional<size_t> count;
  std::vector<std::vector<Value>> parts(members.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (counts_on(members[i])) continue;
    auto elements = e.static_elements(members[i], node, true);
    if (!elements) return std::nullopt;
    if (std::ranges::any_of(*elements, [](const Value& v) { return v.is<Unbound>(); })) {
      e.unsupported(
          node,
          "a list that gets shorter while it is iterated over from the back together with something else",
          "iterate over its indices");
    }
    count = std::min(count.value_or(elements->size()), elements->size());
    parts[i] = std::move(*elements);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!counts_on(members[i])) continue;
    const Evaluator::IndexedIterable counted = kind_of_value(members[i]).indexed(e, members[i], node);
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

Evaluator::IndexedIterable ZipKind::indexed(Evaluator& e, const Value& value, nb::handle node) const {
  std::vector<Evaluator::IndexedIterable> each;
  for (const Value& member : *value.as<Zip>()->members)
    each.push_back(kind_of_value(member).indexed(e, member, node));
  const auto has = [&e, each, node](const Value& index) -> Value {
    NodeId all = e.builder_->constant(true);
    for (const Evaluator::IndexedIterable& part : each) {
      const Value one = part.has(index);
      const std::optional<bool> known = e.static_truth(one);
      if (known == false) return one;
      if (!known) all = e.both(all, e.truth(one, node));
    }
    return e.as_bool(all);
  };
  const auto element = [each](const Value& index) {
    Tuple tuple;
    for (const Evaluator::IndexedIterable& part : each) tuple.members.push_back(part.element(index));
    return Value(tuple);
  };
  return {has, element};
}

class IteratorKind final
    : public KindOfObjects<Iterator, &Iterator::cell, KindOfParts<Iterator, &Iterator::iterates>> {
 public:
  std::string type_name(const Evaluator&, const Value& value) const override {
    return value.as<Iterator>()->name;
  }
  nb::object type_of(Evaluator& e, const Value& value, nb::handle) const override {
    const nb::object model = stand_in(e, value);
    return model.is_valid() ? nb::borrow<nb::object>(model.type()) : nb::object();
  }
  nb::object stand_in(const Evaluator&, const Value& value) const override {
    const nb::object made = imported("ingot._objects.foreign").attr("iterator")(value.as<Iterator>()->name);
    return made.is_none() ? nb::object() : made;
  }
  /// The iterable, or what is left of it; the iterator is exhausted then.
  Answer iterated(Evaluator& e, const Value& value, nb::handle node) const override {
    const Iterator& iterator = *value.as<Iterator>();
    const Value taken = std::exchange(e.state_.heap.at(iterator.cell).values[0], Static{nb::none()});
    const Known known = e.static_int(taken);
    if (known == 0) return e.begin_iterate(Value(*iterator.iterates), node);
    const ValueKind& kind = kind_of_value(*iterator.iterates);
    if (number_kind(taken))
      if (Answer rest = kind.rest(e, *iterator.iterates, taken, known, node))
        return e.begin_iterate(*rest, node);
    e.unsupported(node, "iterating over a " + iterator.name + " that has been iterated over already",
                  "make it anew, or a list of it");
  }
  Answer reversed(Evaluator& e, const Value& value, nb::handle) const override {
    e.raise(ExceptionKind::TypeError, "'" + value.as<Iterator>()->name + "' object is not reversible");
  }
  bool has_open_length(const Evaluator& e, const Value& value) const override {
    return e.has_open_length(*value.as<Iterator>()->iterates);
  }
  bool generates(const Value& value) const override {
    return iterates_generator(*value.as<Iterator>()->iterates);
  }
  std::optional<bool> known_truth(Evaluator&, const Value&) const override { return true; }
  Answer contains(Evaluator& e, const Value& value, const Value& wanted, nb::handle node) const override {
    return e.compare(Operator::In, wanted, Tuple{e.elements_of(value, node)}, node);
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
