// Inner functions and comprehensions. A variable that an inner function uses is stored in a cell of the
// shadow heap, so that paths and loops carry it, whichever function changes it. A comprehension is evaluated
// inline, its targets under names of their own.
//
// A variable of a function around the compiled one is guarded like a global, until compiled code assigns to
// it (`nonlocal`). Then its cell is an argument: an instance of the caller with the attribute
// `cell_contents`.
//
// A comprehension that makes a number or an array is a loop (`ingot._code.scope` writes these).

#include "frontend/expressions/closures.h"

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/indexing.h"
#include "frontend/arrays/numpy.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/expressions/expressions.h"
#include "frontend/kinds/containers.h"
#include "frontend/kinds/dicts.h"
#include "frontend/kinds/generators.h"
#include "frontend/kinds/list_buffers.h"
#include "frontend/kinds/lists.h"
#include "frontend/kinds/mappings.h"
#include "frontend/kinds/objects.h"
#include "frontend/kinds/rows.h"
#include "frontend/tracer/checkpoint.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"
#include "frontend/tracer/scopes.h"

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

bool is_outer(const Tracer& t, const std::string& name);  ///< a variable around the compiled function
void set_outer(Tracer& t, const std::string& name,
               Value value);  ///< in the caller's scope; Unbound: by `del`
Value list_comp(Tracer& t, nb::handle e);
void iterate_comprehension(Tracer& t, nb::handle comprehension, const Value& first, const std::string& kind);
Value consume(Tracer& t, nb::handle comprehension, const std::string& kind, nb::handle node);
Value array_of_comprehension(Tracer& t, nb::handle comprehension, nb::handle node);

}  // namespace

Value* local(Tracer& t, const std::string& name) {
  const std::string own = t.frame->own_name(name);
  if (const auto cell = t.frame->shared.find(own); cell != t.frame->shared.end())
    return &t.state.heap.at(cell->second).values[0];
  if (is_outer(t, name)) {
    const Value* const cell = captured(t, t.frame->cells.at(name).ptr(), kCellItself);
    if (cell == nullptr) return nullptr;
    HeapObject& variable = t.state.heap.at(object_of(*cell));
    return &variable.values[index_of_attribute(t, variable, kCellContents, {})];
  }
  // Among the variables may be those of the activation that iterates over a generator.
  if (!own.starts_with('@') && !t.frame->local_names.contains(own)) return nullptr;
  const auto it = t.state.locals.find(own);
  return it == t.state.locals.end() ? nullptr : &it->second;
}

namespace {

bool is_outer(const Tracer& t, const std::string& name) {
  return t.frame->cells.contains(name) && !t.frame->local_names.contains(name) &&
         !t.frame->renamed.contains(name);
}

}  // namespace

void set_local(Tracer& t, const std::string& name, Value value) {
  const std::string own = t.frame->own_name(name);
  if (const auto cell = t.frame->shared.find(own); cell != t.frame->shared.end()) {
    t.state.heap.at(cell->second).values[0] = std::move(value);
  } else if (is_outer(t, name)) {
    set_outer(t, name, std::move(value));
  } else if (!own.starts_with('@') && !t.frame->local_names.contains(own)) {
    unsupported(t, t.here, "an assignment to the global `" + name + "`", "return the new value");
  } else {
    t.state.locals[own] = std::move(value);
  }
}

namespace {

void set_outer(Tracer& t, const std::string& name, Value value) {
  const nb::object& cell = t.frame->cells.at(name);
  const Value* const known = captured(t, cell.ptr(), kCellItself);
  if (known == nullptr) throw NeedsFact::capture(cell, kCellItself);
  const uint32_t variable = object_of(*known);
  const size_t index = index_of_attribute(t, t.state.heap.at(variable), kCellContents, {});
  const nb::str contents(kCellContents);
  if (value.is<Unbound>()) {
    replay(t, variable, "__delattr__", {Static{contents}}, t.here);
  } else {
    if (const Maybe* m = value.as<Maybe>(); m != nullptr && m->may_be_none) {
      unsupported(t, t.here,
                  "an assignment of what is None on some paths to the `nonlocal` name `" + name + "`",
                  "assign on each path, or use NaN");
    }
    value = present(t, value, name, t.here);
    if (value.is<Closure>() || value.is<Generator>() || value.is<Iterator>() || value.is<Set>()) {
      unsupported(t, t.here,
                  "an assignment of a " + type_name(t, value) + " to the `nonlocal` name `" + name + "`",
                  "assign numbers, strings, arrays, lists, dicts or instances");
    }
    write_back(t, variable, index, contents, value, t.here);
  }
  t.state.heap.at(variable).values[index] = std::move(value);
}

}  // namespace

uint32_t new_cell(Tracer& t, Value value) {
  const uint32_t id = t.facts.next_object++;
  HeapObject cell{.type = HeapObject::Type::Cell, .values = {}, .keys = {}};
  cell.values.push_back(std::move(value));
  t.state.heap.emplace(id, std::move(cell));
  return id;
}

void share_locals(Tracer& t) {
  if (t.frame->code.is_valid() && nb::len(nb::object(t.frame->code.attr("co_cellvars"))) == 0) return;
  for (const nb::handle name : scope("shared", t.frame->node)) {
    const std::string key = t.frame->own_name(text_of(name));
    const auto it = t.state.locals.find(key);
    Value value = it == t.state.locals.end() ? Value(Unbound{}) : it->second;
    t.state.locals.erase(key);
    t.frame->shared[key] = new_cell(t, std::move(value));
  }
}

namespace {

Value make_closure(Tracer& t, nb::handle node, const std::string& name) {
  Definition definition;
  definition.node = nb::borrow<nb::object>(node);
  const std::string qualname = t.frame->qualname + ".<locals>." + name;
  definition.hollow = imported("ingot._code.scope").attr("hollow")(node, qualname);
  definition.globals = t.frame->globals;
  definition.outside = t.frame->cells;
  definition.file = t.frame->file;
  definition.qualname = qualname;
  for (const nb::handle free : scope("free", node)) {
    const std::string key = text_of(free);
    const auto cell = t.frame->shared.find(t.frame->own_name(key));
    if (cell != t.frame->shared.end()) definition.shared[key] = cell->second;
  }
  const nb::object arguments = attribute(node, "args");
  std::vector<Value> defaults;
  for (const char* part : {"defaults", "kw_defaults"})
    for (const nb::handle value : arguments.attr(part))
      defaults.push_back(value.is_none() ? Value(Unbound{}) : stored(t, eval_open(t, value)));
  return Closure{share(std::move(definition)), share(std::move(defaults))};
}

}  // namespace

Value stored(Tracer& t, Value value) {
  if (const Array* a = value.as<Array>(); a != nullptr && a->type.is_array()) return named(t, value);
  return value;
}

void run_function_def(Tracer& t, nb::handle s) {
  const std::string name = text_of(s.attr("name"));
  const nb::list nodes = s.attr("decorator_list");
  std::vector<Value> decorators;
  for (const nb::handle decorator : nodes) decorators.push_back(eval(t, decorator));
  const Pins pins(t, decorators);
  Value function = make_closure(t, s, name);
  for (size_t i = decorators.size(); i-- > 0;) {
    Call call{.positional = {std::move(function)}, .name = {}, .node = nodes[i]};
    function = call_value(t, decorators[i], call);
  }
  bind_variable(t, name, std::move(function));
}

Value eval_walrus(Tracer& t, nb::handle e) {
  const Value value = eval_open(t, e.attr("value"));
  const std::string name = text_of(e.attr("target").attr("id"));
  // An expression around this one may have read the variable already: it is pinned for good.
  const auto pin = [&t](uint32_t object) { t.pinned.push_back(object); };
  each_object(value, pin);
  if (const Value* before = local(t, name)) each_object(*before, pin);
  bind_variable(t, name, value);
  return *local(t, name);
}

Value eval_lambda(Tracer& t, nb::handle e) { return make_closure(t, e, "<lambda>"); }

Value call_closure(Tracer& t, const Closure& closure, Call& call) {
  for (Value& value : call.positional) value = stored(t, std::move(value));
  for (auto& [name, value] : call.keywords) value = stored(t, std::move(value));
  const Definition& definition = *closure.definition;
  auto locals = bind_arguments(t, definition.hollow, call.positional, call.keywords, call.node, &closure);
  const Pins pins(t, call.is_last ? std::vector<Value>() : call.values());
  Frame frame = frame_of(definition);
  return run_frame(t, frame, std::move(locals), call.node);
}

/// Gives the targets of a comprehension names of their own while it lives.
class Renamed {
 public:
  Renamed(Tracer& t, nb::handle comprehension)
      : before_(t.frame->renamed), frame_(t.frame), nested_(frame_->is_nested) {
    // PEP 709: since Python 3.12 comprehensions of lists, sets and dicts are inlined.
    frame_->is_nested = nested_ || PY_VERSION_HEX < 0x030c0000 || class_of(comprehension) == "GeneratorExp";
    const std::string suffix = suffix_of(t, comprehension);
    for (const nb::handle name : scope("targets", comprehension)) {
      frame_->renamed[text_of(name)] = text_of(name) + suffix;
      frame_->local_names.insert(text_of(name) + suffix);
    }
    for (const nb::handle name : scope("shared_targets", comprehension))
      frame_->shared[text_of(name) + suffix] = new_cell(t, Unbound{});
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

void comprehend(Tracer& t, nb::handle e, const Value& first, const std::function<void()>& element) {
  const nb::list generators = e.attr("generators");
  const Renamed renamed(t, e);
  const size_t loops = t.loops.size();
  const std::function<void(size_t)> iterate_from = [&](size_t number) {
    if (number == nb::len(generators)) return element();
    const nb::handle generator = generators[number];
    const nb::object iterated = attribute(generator, "iter");
    const uint32_t since = t.facts.next_object;
    const Value given = number == 0 ? first : eval(t, iterated);
    const Value iterable = begin_iterate(t, given, iterated);
    const nb::list tests = generator.attr("ifs");
    const Iteration iteration = [&](const Value& one) {
      unroll_loops(t, loops, iterated);
      assign(t, generator.attr("target"), one);
      for (const nb::handle test : tests) {
        const std::optional<bool> known = static_truth(t, eval_condition(t, test));
        if (!known)
          unsupported(t, test, "a condition of a comprehension that is not known when compiling",
                      "make an array and select from it, or write a loop");
        if (!*known) return;
      }
      iterate_from(number + 1);
    };
    if (iterates_generator(iterable))
      return iterate(t, iterable, iterated, iteration, is_held(t, given, since, iterated));
    each_element(t, iterable, elements_of(t, iterable, iterated), iterated, iteration);
  };
  iterate_from(0);
}

Value first_iterable(Tracer& t, nb::handle comprehension) {
  return eval(t, nb::list(comprehension.attr("generators"))[0].attr("iter"));
}

namespace {

std::vector<Value> comprehended(Tracer& t, nb::handle e, const Value& first) {
  const List list = new_list(t, {});
  comprehend(t, e, first, [&] {
    const Value value = stored(t, eval_open(t, e.attr("elt")));
    contents(t, list.object, e).values.push_back(value);
  });
  return contents(t, list.object, e).values;
}

}  // namespace

Value eval_list_comp(Tracer& t, nb::handle e) { return Rows(t).made(list_comp(t, e), e); }

namespace {

Value list_comp(Tracer& t, nb::handle e) {
  const Checkpoint before = checkpoint(t);
  const Value first = first_iterable(t, e);
  const std::string known = key_of(t, e) + "#known";
  if (has_open_length(t, first) && !t.facts.unrolled.contains(known)) {
    if (is_range_to_demand(t, first)) t.facts.grown.insert(known);
    try {
      Value list = list_buffer_comprehension(t, e, first);
      // More is known of arrays in a list of known structure.
      const HeapObject* made = growing(t, list);
      if (made == nullptr || !array_type_of(*made->element) || !first.is<Range>()) return list;
      try {
        go_back(t, before);
        return new_list(t, comprehended(t, e, first_iterable(t, e)));
      } catch (const base::Unsupported&) {
      } catch (const NeedsFact& fact) {
        if (!fact.is_of_argument() && fact.kind != NeedsFact::Kind::Site) throw;
      }
      go_back(t, before);
      return list_buffer_comprehension(t, e, first_iterable(t, e));
    } catch (const base::Unsupported&) {
      if (!first.is<Range>()) throw;
      go_back(t, before);
      try {
        return new_list(t, comprehended(t, e, first_iterable(t, e)));
      } catch (const base::Unsupported&) {
      }
      throw;
    }
  }
  try {
    return new_list(t, comprehended(t, e, first));
  } catch (const base::Unsupported&) {
    // The number of elements may depend on conditions, or on the iterables of inner loops.
    go_back(t, before);
    try {
      return list_buffer_comprehension(t, e, first_iterable(t, e));
    } catch (const base::Unsupported&) {
    }
    throw;
  }
}

}  // namespace

Value list_buffer_comprehension(Tracer& t, nb::handle e, const Value& first) {
  const std::string suffix = suffix_of(t, e);
  const List list = new_list(t, {});
  t.state.locals["@result" + suffix] = list;
  iterate_comprehension(t, e, first, "list");
  forget(t, suffix);
  const HeapObject& made = t.state.heap.at(list.object);
  if (!made.conflict.empty()) {
    unsupported(t, e, "a list of elements that are no numbers, of a length that is not known when compiling",
                "make an array, or a list of numbers or of tuples of numbers");
  }
  return list;
}

Value eval_dict_comp(Tracer& t, nb::handle e) {
  const Dict dict = make_dict(t, e);
  const Value first = first_iterable(t, e);
  if (has_open_length(t, first) && !is_range_to_demand(t, first)) {
    t.state.locals["@result" + suffix_of(t, e)] = dict;
    iterate_comprehension(t, e, first, "dict");
    forget(t, suffix_of(t, e));
    return dict;
  }
  comprehend(t, e, first, [&] {
    const Value key = eval(t, e.attr("key"));
    put(t, dict, key, eval_open(t, e.attr("value")), e);
  });
  return dict;
}

std::optional<Value> call_of_generator(Tracer& t, const Value& callee, nb::handle e) {
  const nb::list arguments = e.attr("args");
  const nb::object function = known_of(callee);
  if (!function.is_valid() || nb::len(arguments) == 0) return std::nullopt;
  const nb::handle first = arguments[0];
  const std::string kind = class_of(first);
  const bool is_generator = kind == "GeneratorExp";
  if (!is_generator && kind != "ListComp") return std::nullopt;
  const Builtin* builtin = t.registry.find(function);
  if (builtin == nullptr) return std::nullopt;
  const std::string& name = builtin->name;
  const bool plain = nb::len(arguments) == 1 && nb::len(nb::list(e.attr("keywords"))) == 0;
  const bool is_array = builtin->module == "numpy" && (name == "array" || name == "asarray");
  if (is_array && !is_generator && plain) return array_of_comprehension(t, first, e);
  if (!is_generator) return std::nullopt;
  if (plain && (name == "any" || name == "all" || name == "max" || name == "min" || name == "sum"))
    return consume(t, first, name, e);
  if (plain && (name == "list" || name == "tuple" || name == "sorted" || name == "dict")) {
    Call call{
        .positional = {Tuple{comprehended(t, first, first_iterable(t, first))}}, .name = name, .node = e};
    return call_value(t, callee, call);
  }
  return std::nullopt;
}

namespace {

void iterate_comprehension(Tracer& t, nb::handle comprehension, const Value& first, const std::string& kind) {
  const Renamed renamed(t, comprehension);
  const std::string suffix = suffix_of(t, comprehension);
  for (const char* hidden : {"@it", "@result", "@seen", "@place", "@value"}) {
    t.frame->renamed[hidden] = hidden + suffix;
    t.frame->local_names.insert(hidden + suffix);
  }
  bind_variable(t, "@it", first);
  run_body(t, imported("ingot._code.scope").attr("loops")(comprehension, kind));
}

Value consume(Tracer& t, nb::handle comprehension, const std::string& kind, nb::handle node) {
  const std::string suffix = suffix_of(t, comprehension);
  const Value first = eval(t, comprehension.attr("generators")[nb::int_(0)].attr("iter"));
  const bool orders = kind == "max" || kind == "min";
  if (orders) {
    t.state.locals["@result" + suffix] = Unbound{};
    t.state.locals["@seen" + suffix] = Static{nb::bool_(false)};
  } else {
    t.state.locals["@result" + suffix] =
        Static{kind == "sum" ? nb::object(nb::int_(0)) : nb::object(nb::bool_(kind == "all"))};
  }
  iterate_comprehension(t, comprehension, first, kind);
  if (orders) {
    const Value seen = t.state.locals["@seen" + suffix];
    const std::string message = kind + "() arg is an empty sequence";
    const std::optional<bool> known = static_truth(t, seen);
    if (known && !*known) raise(t, ExceptionKind::ValueError, message);
    if (!known) check(t, truth(t, seen, node), ExceptionKind::ValueError, message);
  }
  const Value result = present(t, t.state.locals["@result" + suffix], "the result", node);
  forget(t, suffix);
  return result;
}

Value array_of_comprehension(Tracer& t, nb::handle comprehension, nb::handle node) {
  const nb::list generators = comprehension.attr("generators");
  const Value iterable = begin_iterate(t, first_iterable(t, comprehension), node);
  const bool open = iterable.is<Range>() || has_open_length(t, iterable);
  if (!open || nb::len(generators) > 1)
    return array_of(t, new_list(t, comprehended(t, comprehension, iterable)), node);
  const std::string suffix = suffix_of(t, comprehension);
  std::optional<Kind> kind;
  // Evaluating one element, which is then rolled back, shows what the elements are.
  const Checkpoint before = checkpoint(t);
  const Trips trips = trips_of(t, iterable, node);
  try {
    const Checkpoint probing = checkpoint(t);
    {
      const Renamed renamed(t, comprehension);
      assign(t, generators[0].attr("target"), trips.element(t.builder->index(0)));
      const Value one = eval(t, comprehension.attr("elt"));
      kind = number_kind(one);
    }
    go_back(t, probing);
  } catch (const Diverged&) {
    go_back(t, before);
  }
  if (!kind) {  // an array of rows
    go_back(t, before);
    return array_of(t, eval(t, comprehension), node);
  }
  const NodeId lengths[] = {trips.count};
  t.state.locals["@result" + suffix] =
      filled(t, lengths, t.builder->constant(ir::Type::scalar(kind->dtype()), {}));
  t.state.locals["@place" + suffix] = Static{nb::int_(0)};
  iterate_comprehension(t, comprehension, iterable, "array");
  Value result = t.state.locals["@result" + suffix];
  const bool filters = nb::len(nb::list(generators[0].attr("ifs"))) > 0;
  const Value index = t.state.locals["@place" + suffix];
  const NodeId length = filters ? stage(t, index, Kind::py_int()) : trips.count;
  const std::optional<bool> any = filters ? static_truth(t, index) : std::nullopt;
  if (any == false) {  // no condition is true
    const NodeId none[] = {t.builder->index(0)};
    result = filled(t, none, t.builder->constant(ir::Type::scalar(DType::Float64), {}));
  } else if (kind->dtype() != DType::Float64) {
    t.builder->check(t.builder->make(Op::greater, {length, t.builder->index(0)}),
                     ExceptionKind::TypeChangeError, "an empty list makes an array of float64 here");
  }
  if (filters && any != false) {
    const Slice taken{share(std::array<Value, 3>{Static{nb::none()}, index, Static{nb::none()}})};
    const Value part = eval_item(t, result, taken, node);
    result = owner(t, t.builder->make(Op::materialize, {whole(t, part)}));
  }
  forget(t, suffix);
  return result;
}

}  // namespace

}  // namespace ingot::frontend
