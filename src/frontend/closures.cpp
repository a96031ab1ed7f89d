#include "frontend/kinds/value_kind.h"
#include "frontend/rows.h"

// Inner functions and comprehensions. A variable that an inner function uses is stored in a cell of the
// shadow heap, so that paths and loops carry it, whichever function changes it. A comprehension is evaluated
// inline, its targets under names of their own.
//
// A variable of a function around the compiled one is guarded like a global, until compiled code assigns to
// it (`nonlocal`). Then its cell is an argument: an instance of the caller with the attribute
// `cell_contents`.
//
// A comprehension that makes a number or an array is a loop (`ingot._code.scope` writes these).

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

constexpr const char* kCellContents = "cell_contents";
/// The name under which a cell of the caller itself is captured; without a name, its contents are.
constexpr const char* kCellItself = "cell";

nb::object scope(const char* question, nb::handle node) {
  return imported("ingot._code.scope").attr(question)(node);
}

}  // namespace

std::string Evaluator::suffix_of(nb::handle node) const {
  return "@" + text_of(node.attr("lineno")) + ":" + text_of(node.attr("col_offset")) + frame_->suffix;
}

Value* Evaluator::local(const std::string& name) {
  const std::string own = frame_->own_name(name);
  if (const auto cell = frame_->shared.find(own); cell != frame_->shared.end())
    return &state_.heap.at(cell->second).values[0];
  if (is_outer(name)) {
    const Value* const cell = captured(frame_->cells.at(name).ptr(), kCellItself);
    if (cell == nullptr) return nullptr;
    HeapObject& variable = state_.heap.at(cell->as<Object>()->object);
    return &variable.values[index_of_attribute(variable, kCellContents, {})];
  }
  // Among the variables may be those of the activation that iterates over a generator.
  if (!own.starts_with('@') && !frame_->local_names.contains(own)) return nullptr;
  const auto it = state_.locals.find(own);
  return it == state_.locals.end() ? nullptr : &it->second;
}

bool Evaluator::is_outer(const std::string& name) const {
  return frame_->cells.contains(name) && !frame_->local_names.contains(name) &&
         !frame_->renamed.contains(name);
}

void Evaluator::set_local(const std::string& name, Value value) {
  const std::string own = frame_->own_name(name);
  if (const auto cell = frame_->shared.find(own); cell != frame_->shared.end()) {
    state_.heap.at(cell->second).values[0] = std::move(value);
  } else if (is_outer(name)) {
    set_outer(name, std::move(value));
  } else if (!own.starts_with('@') && !frame_->local_names.contains(own)) {
    unsupported(here_, "an assignment to the global `" + name + "`", "return the new value");
  } else {
    state_.locals[own] = std::move(value);
  }
}

void Evaluator::set_outer(const std::string& name, Value value) {
  const nb::object& cell = frame_->cells.at(name);
  const Value* const known = captured(cell.ptr(), kCellItself);
  if (known == nullptr) throw NeedsFact::capture(cell, kCellItself);
  const Reference variable{known->as<Object>()->object};
  const size_t index = index_of_attribute(state_.heap.at(variable.object), kCellContents, {});
  const nb::str contents(kCellContents);
  if (value.is<Unbound>()) {
    replay(variable, "__delattr__", {Static{contents}}, here_);
  } else {
    if (const Maybe* m = value.as<Maybe>(); m != nullptr && m->may_be_none) {
      unsupported(here_, "an assignment of what is None on some paths to the `nonlocal` name `" + name + "`",
                  "assign on each path, or use NaN");
    }
    value = present(value, name, here_);
    if (value.is<Closure>() || value.is<Generator>() || value.is<Iterator>() || value.is<Set>()) {
      unsupported(here_, "an assignment of a " + type_name(value) + " to the `nonlocal` name `" + name + "`",
                  "assign numbers, strings, arrays, lists, dicts or instances");
    }
    write_back(variable, index, contents, value, here_);
  }
  state_.heap.at(variable.object).values[index] = std::move(value);
}

uint32_t Evaluator::new_cell(Value value) {
  const uint32_t id = next_object_++;
  HeapObject cell{.type = HeapObject::Type::Cell, .values = {}, .keys = {}};
  cell.values.push_back(std::move(value));
  state_.heap.emplace(id, std::move(cell));
  return id;
}

void Evaluator::share_locals() {
  if (frame_->code.is_valid() && nb::len(nb::object(frame_->code.attr("co_cellvars"))) == 0) return;
  for (const nb::handle name : scope("shared", frame_->node)) {
    const std::string key = frame_->own_name(text_of(name));
    const auto it = state_.locals.find(key);
    Value value = it == state_.locals.end() ? Value(Unbound{}) : it->second;
    state_.locals.erase(key);
    frame_->shared[key] = new_cell(std::move(value));
  }
}

Value Evaluator::make_closure(nb::handle node, const std::string& name) {
  Definition definition;
  definition.node = nb::borrow<nb::object>(node);
  const std::string qualname = frame_->qualname + ".<locals>." + name;
  definition.hollow = imported("ingot._code.scope").attr("hollow")(node, qualname);
  definition.globals = frame_->globals;
  definition.outside = frame_->cells;
  definition.file = frame_->file;
  definition.qualname = qualname;
  for (const nb::handle free : scope("free", node)) {
    const std::string key = text_of(free);
    const auto cell = frame_->shared.find(frame_->own_name(key));
    if (cell != frame_->shared.end()) definition.shared[key] = cell->second;
  }
  const nb::object arguments = attribute(node, "args");
  std::vector<Value> defaults;
  for (const char* part : {"defaults", "kw_defaults"})
    for (const nb::handle value : arguments.attr(part))
      defaults.push_back(value.is_none() ? Value(Unbound{}) : stored(eval_open(value)));
  return Closure{share(std::move(definition)), share(std::move(defaults))};
}

Value Evaluator::stored(Value value) {
  if (const Array* a = value.as<Array>(); a != nullptr && a->type.is_array()) return named(value);
  return value;
}

void Evaluator::run_function_def(nb::handle s) {
  const std::string name = text_of(s.attr("name"));
  const nb::list nodes = s.attr("decorator_list");
  std::vector<Value> decorators;
  for (const nb::handle decorator : nodes) decorators.push_back(eval(decorator));
  const Pins pins(*this, decorators);
  Value function = make_closure(s, name);
  for (size_t i = decorators.size(); i-- > 0;) {
    Call call{.positional = {std::move(function)}, .keywords = {}, .name = {}, .node = nodes[i]};
    function = this->call(decorators[i], call);
  }
  bind(name, std::move(function));
}

Value Evaluator::eval_walrus(nb::handle e) {
  const Value value = eval_open(e.attr("value"));
  const std::string name = text_of(e.attr("target").attr("id"));
  // An expression around this one may have read the variable already: it is pinned for good.
  const auto pin = [this](uint32_t object) { pinned_.push_back(object); };
  each_object(value, pin);
  if (const Value* before = local(name)) each_object(*before, pin);
  bind(name, value);
  return *local(name);
}

Value Evaluator::eval_lambda(nb::handle e) { return make_closure(e, "<lambda>"); }

Value Evaluator::call_closure(const Closure& closure, Call& call) {
  for (Value& value : call.positional) value = stored(std::move(value));
  for (auto& [name, value] : call.keywords) value = stored(std::move(value));
  const Definition& definition = *closure.definition;
  auto locals = bind_arguments(definition.hollow, call.positional, call.keywords, call.node, &closure);
  const Pins pins(*this, call.is_last ? std::vector<Value>() : call.values());
  Frame frame = frame_of(definition);
  return run_frame(frame, std::move(locals), call.node);
}

/// Gives the targets of a comprehension names of their own while it lives.
class Evaluator::Renamed {
 public:
  Renamed(Evaluator& evaluator, nb::handle comprehension)
      : before_(evaluator.frame_->renamed), frame_(evaluator.frame_), nested_(frame_->is_nested) {
    // PEP 709: since Python 3.12 comprehensions of lists, sets and dicts are inlined.
    frame_->is_nested = nested_ || PY_VERSION_HEX < 0x030c0000 || class_of(comprehension) == "GeneratorExp";
    const std::string suffix = evaluator.suffix_of(comprehension);
    for (const nb::handle name : scope("targets", comprehension)) {
      frame_->renamed[text_of(name)] = text_of(name) + suffix;
      frame_->local_names.insert(text_of(name) + suffix);
    }
    for (const nb::handle name : scope("shared_targets", comprehension))
      frame_->shared[text_of(name) + suffix] = evaluator.new_cell(Unbound{});
  }
  ~Renamed() {
    frame_->renamed = std::move(before_);
    frame_->is_nested = nested_;
  }
  Renamed(const Renamed&) = delete;
  Renamed& operator=(const Renamed&) = delete;

 private:
  std::map<std::string, std::string> before_;
  Frame* frame_;
  bool nested_;
};

void Evaluator::comprehend(nb::handle e, const Value& first, const std::function<void()>& element) {
  const nb::list generators = e.attr("generators");
  const Renamed renamed(*this, e);
  const size_t loops = loops_.size();
  const std::function<void(size_t)> iterate_from = [&](size_t number) {
    if (number == nb::len(generators)) return element();
    const nb::handle generator = generators[number];
    const nb::object iterated = attribute(generator, "iter");
    const uint32_t since = next_object_;
    const Value given = number == 0 ? first : eval(iterated);
    const Value iterable = begin_iterate(given, iterated);
    const nb::list tests = generator.attr("ifs");
    const Iteration iteration = [&](const Value& one) {
      unroll_loops(loops, iterated);
      assign(generator.attr("target"), one);
      for (const nb::handle test : tests) {
        const std::optional<bool> known = static_truth(eval_condition(test));
        if (!known)
          unsupported(test, "a condition of a comprehension that is not known when compiling",
                      "make an array and select from it, or write a loop");
        if (!*known) return;
      }
      iterate_from(number + 1);
    };
    if (iterates_generator(iterable))
      return iterate(iterable, iterated, iteration, is_held(given, since, iterated));
    each_element(iterable, elements_of(iterable, iterated), iterated, iteration);
  };
  iterate_from(0);
}

Value Evaluator::first_iterable(nb::handle comprehension) {
  return eval(nb::list(comprehension.attr("generators"))[0].attr("iter"));
}

std::vector<Value> Evaluator::comprehended(nb::handle e, const Value& first) {
  const Reference list = *new_list({}).as<Reference>();
  comprehend(e, first, [&] {
    const Value value = stored(eval_open(e.attr("elt")));
    contents(list, e).values.push_back(value);
  });
  return contents(list, e).values;
}

Value Evaluator::eval_list_comp(nb::handle e) { return Rows(*this).made(list_comp(e), e); }

Value Evaluator::list_comp(nb::handle e) {
  const Checkpoint before = checkpoint();
  const Value first = first_iterable(e);
  const std::string known = key_of(e) + "#known";
  if (has_open_length(first) && !unrolled_.contains(known)) {
    if (is_range_to_demand(first)) grown_.insert(known);
    try {
      Value list = list_buffer_comprehension(e, first);
      // More is known of arrays in a list of known structure.
      const HeapObject* made = growing(list);
      if (made == nullptr || !made->element->is<Array>() || !first.is<Range>()) return list;
      try {
        go_back(before);
        return new_list(comprehended(e, first_iterable(e)));
      } catch (const base::Unsupported&) {
      } catch (const NeedsFact& fact) {
        if (!fact.is_of_argument() && fact.kind != NeedsFact::Kind::Site) throw;
      }
      go_back(before);
      return list_buffer_comprehension(e, first_iterable(e));
    } catch (const base::Unsupported&) {
      if (!first.is<Range>()) throw;
      go_back(before);
      try {
        return new_list(comprehended(e, first_iterable(e)));
      } catch (const base::Unsupported&) {
      }
      throw;
    }
  }
  try {
    return new_list(comprehended(e, first));
  } catch (const base::Unsupported&) {
    // The number of elements may depend on conditions, or on the iterables of inner loops.
    go_back(before);
    try {
      return list_buffer_comprehension(e, first_iterable(e));
    } catch (const base::Unsupported&) {
    }
    throw;
  }
}

Value Evaluator::list_buffer_comprehension(nb::handle e, const Value& first) {
  const std::string suffix = suffix_of(e);
  const Value list = new_list({});
  state_.locals["@result" + suffix] = list;
  iterate_comprehension(e, first, "list");
  forget(suffix);
  const HeapObject& made = state_.heap.at(list.as<Reference>()->object);
  if (!made.conflict.empty()) {
    unsupported(e, "a list of elements that are no numbers, of a length that is not known when compiling",
                "make an array, or a list of numbers or of tuples of numbers");
  }
  return list;
}

Value Evaluator::eval_dict_comp(nb::handle e) {
  const Value dict = make_dict(e);
  const Value first = first_iterable(e);
  if (has_open_length(first) && !is_range_to_demand(first)) {
    state_.locals["@result" + suffix_of(e)] = dict;
    iterate_comprehension(e, first, "dict");
    forget(suffix_of(e));
    return dict;
  }
  comprehend(e, first, [&] {
    const Value key = eval(e.attr("key"));
    put(*dict.as<Reference>(), key, eval_open(e.attr("value")), e);
  });
  return dict;
}

std::optional<Value> Evaluator::call_of_generator(const Value& callee, nb::handle e) {
  const nb::list arguments = e.attr("args");
  const Static* function = callee.as<Static>();
  if (function == nullptr || nb::len(arguments) == 0) return std::nullopt;
  const nb::handle first = arguments[0];
  const std::string kind = class_of(first);
  const bool is_generator = kind == "GeneratorExp";
  if (!is_generator && kind != "ListComp") return std::nullopt;
  const Builtin* builtin = registry_.find(function->object);
  if (builtin == nullptr) return std::nullopt;
  const std::string& name = builtin->name;
  const bool plain = nb::len(arguments) == 1 && nb::len(nb::list(e.attr("keywords"))) == 0;
  const bool is_array = builtin->module == "numpy" && (name == "array" || name == "asarray");
  if (is_array && !is_generator && plain) return array_of_comprehension(first, e);
  if (!is_generator) return std::nullopt;
  if (plain && (name == "any" || name == "all" || name == "max" || name == "min" || name == "sum"))
    return consume(first, name, e);
  if (plain && (name == "list" || name == "tuple" || name == "sorted" || name == "dict")) {
    Call call{.positional = {Tuple{comprehended(first, first_iterable(first))}},
              .keywords = {},
              .name = name,
              .node = e};
    return this->call(callee, call);
  }
  return std::nullopt;
}

void Evaluator::iterate_comprehension(nb::handle comprehension, const Value& first, const std::string& kind) {
  const Renamed renamed(*this, comprehension);
  const std::string suffix = suffix_of(comprehension);
  for (const char* hidden : {"@it", "@result", "@seen", "@place", "@value"}) {
    frame_->renamed[hidden] = hidden + suffix;
    frame_->local_names.insert(hidden + suffix);
  }
  bind("@it", first);
  run_body(imported("ingot._code.scope").attr("loops")(comprehension, kind));
}

Value Evaluator::consume(nb::handle comprehension, const std::string& kind, nb::handle node) {
  const std::string suffix = suffix_of(comprehension);
  const Value first = eval(comprehension.attr("generators")[nb::int_(0)].attr("iter"));
  const bool orders = kind == "max" || kind == "min";
  if (orders) {
    state_.locals["@result" + suffix] = Unbound{};
    state_.locals["@seen" + suffix] = Static{nb::bool_(false)};
  } else {
    state_.locals["@result" + suffix] =
        Static{kind == "sum" ? nb::object(nb::int_(0)) : nb::object(nb::bool_(kind == "all"))};
  }
  iterate_comprehension(comprehension, first, kind);
  if (orders) {
    const Value seen = state_.locals["@seen" + suffix];
    const std::string message = kind + "() arg is an empty sequence";
    const std::optional<bool> known = static_truth(seen);
    if (known && !*known) raise(ExceptionKind::ValueError, message);
    if (!known) check(truth(seen, node), ExceptionKind::ValueError, message);
  }
  const Value result = present(state_.locals["@result" + suffix], "the result", node);
  forget(suffix);
  return result;
}

void Evaluator::forget(const std::string& suffix) {
  std::erase_if(state_.locals, [&](const auto& entry) { return entry.first.ends_with(suffix); });
}

Value Evaluator::array_of_comprehension(nb::handle comprehension, nb::handle node) {
  const nb::list generators = comprehension.attr("generators");
  const Value iterable = begin_iterate(first_iterable(comprehension), node);
  const bool open = iterable.is<Range>() || has_open_length(iterable);
  if (!open || nb::len(generators) > 1)
    return array_of(new_list(comprehended(comprehension, iterable)), node);
  const std::string suffix = suffix_of(comprehension);
  std::optional<Kind> kind;
  // Evaluating one element, which is then rolled back, shows what the elements are.
  const Checkpoint before = checkpoint();
  const Trips trips = trips_of(iterable, node);
  try {
    const Checkpoint probing = checkpoint();
    {
      const Renamed renamed(*this, comprehension);
      assign(generators[0].attr("target"), trips.element(builder_->index(0)));
      const Value one = eval(comprehension.attr("elt"));
      if (!one.is<Array>()) kind = kind_of(one);
    }
    go_back(probing);
  } catch (const Diverged&) {
    go_back(before);
  }
  if (!kind) {  // an array of rows
    go_back(before);
    return array_of(eval(comprehension), node);
  }
  const NodeId lengths[] = {trips.count};
  state_.locals["@result" + suffix] =
      filled(lengths, builder_->constant(ir::Type::scalar(kind->dtype()), {}));
  state_.locals["@place" + suffix] = Static{nb::int_(0)};
  iterate_comprehension(comprehension, iterable, "array");
  Value result = state_.locals["@result" + suffix];
  const bool filters = nb::len(nb::list(generators[0].attr("ifs"))) > 0;
  const Value index = state_.locals["@place" + suffix];
  const NodeId length = filters ? stage(index, Kind::py_int()) : trips.count;
  const std::optional<bool> any = filters ? static_truth(index) : std::nullopt;
  if (any == false) {  // no condition is true
    const NodeId none[] = {builder_->index(0)};
    result = filled(none, builder_->constant(ir::Type::scalar(DType::Float64), {}));
  } else if (kind->dtype() != DType::Float64) {
    builder_->check(builder_->make(Op::greater, {length, builder_->index(0)}), ExceptionKind::TypeChangeError,
                    "an empty list makes an array of float64 here");
  }
  if (filters && any != false) {
    const Slice taken{share(std::array<Value, 3>{Static{nb::none()}, index, Static{nb::none()}})};
    const Value part = index_array(*result.as<Array>(), taken, node);
    result = owner(builder_->make(Op::materialize, {whole(part)}));
  }
  forget(suffix);
  return result;
}

}  // namespace ingot::frontend
