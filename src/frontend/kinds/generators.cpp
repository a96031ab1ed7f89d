#include "frontend/kinds/fields.h"
#include "frontend/kinds/pooled_values.h"

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
        const Value there = parts[i]->has(state_.locals.at(name));
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
        tuple.members.push_back(i == at ? value : parts[i]->element(state_.locals.at(name)));
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
  Call counting{.positional = {first, by}, .keywords = {}, .name = "count", .node = call.node};
  Value made = inline_function(imported("ingot.library.iterators").attr("counted"), counting);
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

}  // namespace ingot::frontend
