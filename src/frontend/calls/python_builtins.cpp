// Python's builtin functions on containers, types and strings.
//
// Iterators. The result of `zip`, `enumerate` and `reversed` holds its iterable, and a cell of the shadow
// heap with the number of elements that `next` has taken, or None once a loop has iterated over it; iterating
// (`begin_iterate`) takes the elements that are left, once.

#include "frontend/calls/python_builtins.h"

#include "frontend/arrays/arguments.h"
#include "frontend/arrays/arrays.h"
#include "frontend/arrays/known_sizes.h"
#include "frontend/arrays/numpy.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/kinds/dicts.h"
#include "frontend/kinds/fields.h"
#include "frontend/kinds/list_buffers.h"
#include "frontend/kinds/lists.h"
#include "frontend/kinds/mappings.h"
#include "frontend/kinds/members.h"
#include "frontend/kinds/objects.h"
#include "frontend/kinds/pooled_values.h"
#include "frontend/kinds/sequences.h"
#include "frontend/kinds/special_methods.h"
#include "frontend/kinds/strings.h"
#include "frontend/tracer/builtins.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

Value builtin_list(Tracer& t, Call& call) {
  finish(t, call, 1);
  if (call.positional.empty()) return new_list(t, {});
  return listed(t, call.positional[0], call.node);
}

Value builtin_tuple(Tracer& t, Call& call) {
  finish(t, call, 1);
  if (call.positional.empty()) return Tuple{};
  return Tuple{elements_of(t, call.positional[0], call.node)};
}

Value builtin_dict(Tracer& t, Call& call) {
  const Dict dict = make_dict(t, call.node);
  if (call.positional.size() > 1) raise_as_called(t, call);
  Call update{.positional = call.positional, .keywords = call.keywords, .name = "update", .node = call.node};
  dict_method(t, dict, "update", update);
  return dict;
}

Value builtin_sorted(Tracer& t, Call& call) {
  const Value iterable = need(t, call, 0, "iterable");
  const Value list = listed(t, iterable, call.node);
  if (const List* known = list.as<List>(); known != nullptr && growing(t, list) == nullptr) {
    const std::vector<Value> values =
        contents(t, known->object, call.node).values;  // calls of a key function replace the state
    return new_list(t, sorted_values(t, values, call));
  }
  by_library(t, "sort", {list}, call.node, call.keywords);
  return list;
}

Value builtin_reversed(Tracer& t, Call& call) {
  const Value sequence = need(t, call, 0, "sequence");
  finish(t, call, 1);
  if (const auto own = kind_of_value(sequence).reversed(t, sequence, call.node)) return *own;
  std::vector<Value> elements = elements_of(t, sequence, call.node);
  std::ranges::reverse(elements);
  return iterator(t, "reversed", Tuple{std::move(elements)});
}

namespace {

nb::object type_of(Tracer& t, const Value& value, nb::handle node) {
  if (const nb::object type = class_of_value(t, value); type.is_valid()) return stood_for(type);
  if (nb::object type = kind_of_value(value).type_of(t, value, node); type.is_valid()) return type;
  unsupported(t, node, "the type of a " + type_name(t, value), "use the value itself");
}

}  // namespace

Value builtin_type(Tracer& t, Call& call) {
  if (call.positional.size() != 1)
    unsupported(t, call.node, "`type` with several arguments", "define the class outside");
  if (const Pooled* r = PooledValues::optional(call.positional[0]))
    call.positional[0] = PooledValues(t).present(*r, ExceptionKind::TypeChangeError,
                                                 "`type` of None, where that of an instance was compiled");
  if (const Pooled* r = PooledValues::open(call.positional[0]))
    return object_attribute(t, *r, "__class__", call.node);
  return Static{type_of(t, call.positional[0], call.node)};
}

Value builtin_isinstance(Tracer& t, Call& call) {
  if (call.positional.size() != 2 || !call.keywords.empty()) raise_as_called(t, call);
  const Value value = call.positional[0];
  const nb::object classes = require_static(t, call.positional[1], "a class", call.node);
  const auto is_one = [&](const Value& v) {
    Call again{.positional = {v, call.positional[1]}, .name = call.name, .node = call.node};
    return builtin_isinstance(t, again);
  };
  if (const auto is = kind_of_value(value).by_presence(t, value, is_one, call.node)) return *is;
  if (const Pooled* r = PooledValues::open(value)) {
    return PooledValues(t).is_of(*r, [&](const nb::object& type) {
      return static_truth(t, is_one(PooledValues(t).of_type(*r, type))) == true;
    });
  }
  const bool is_array = array_type_of(value).has_value();
  const nb::object type = is_array ? attribute(imported("numpy"), "ndarray")
                                   : type_of(t, present(t, value, "the value", call.node), call.node);
  if (is_instance(value)) {
    t.guards.push_back({type, "__mro__", attribute(type, "__mro__"), true});
    for (const nb::handle one : PyTuple_Check(classes.ptr()) ? nb::tuple(classes) : nb::make_tuple(classes)) {
      const bool is_class = PyType_Check(one.ptr()) != 0;
      const nb::handle own = reinterpret_cast<PyObject*>(&PyType_Type);
      const bool is_plain =
          is_class && lookup(one.type(), "__instancecheck__").is(lookup(own, "__instancecheck__"));
      const bool is_base = is_class && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type.ptr()),
                                                        reinterpret_cast<PyTypeObject*>(one.ptr())) != 0;
      if (!is_plain && !is_base)
        unsupported(t, call.node, "`isinstance` with what decides by itself",
                    "name the class of the instance");
    }
  }
  const nb::object own = imported("builtins").attr("issubclass");
  try {
    // An instance of a stand-in class is of both classes: the library tests for its own.
    nb::object is = own(type, classes);
    if (const nb::object raw = class_of_value(t, value); raw.is_valid() && !raw.is(type) && is.is(Py_False))
      is = own(raw, classes);
    if (is_array && !is.is(own(attribute(imported("numpy"), "memmap"), classes)))
      need_no_memory_maps(t, "the class of an array", call.node);
    return Static{is};
  } catch (nb::python_error& error) {
    rethrow_lack_of_memory(error);
    raise(t, ExceptionKind::TypeError, "isinstance() arg 2 must be a type, a tuple of types, or a union");
  }
}

Value builtin_slice(Tracer& t, Call& call) {
  if (call.positional.empty() || call.positional.size() > 3 || !call.keywords.empty())
    raise_as_called(t, call);
  std::array<Value, 3> parts = {Static{nb::none()}, call.positional[0], Static{nb::none()}};
  if (call.positional.size() > 1) std::ranges::copy(call.positional, parts.begin());
  return Slice{share(std::move(parts))};
}

Value builtin_divmod(Tracer& t, Call& call) {
  const Value a = need(t, call, 0, "x");
  const Value b = need(t, call, 1, "y");
  finish(t, call, 2);
  const std::optional<Kind> of_a = kind_of(a);
  const std::optional<Kind> of_b = kind_of(b);
  if (!of_a || !of_b || *of_a == Kind::py_complex() || *of_b == Kind::py_complex()) raise_as_called(t, call);
  const bool is_python = of_a && of_b && of_a->is_python() && of_b->is_python();
  if (is_python && (*of_a == Kind::py_float() || *of_b == Kind::py_float())) {
    check(t, t.builder->make(Op::not_equal, {stage(t, b, Kind::py_float()), t.builder->constant(0.0)}),
          ExceptionKind::ZeroDivisionError, "float divmod()");
  }
  return Tuple{{binary(t, Operator::FloorDiv, a, b, call.node), binary(t, Operator::Mod, a, b, call.node)}};
}

Value builtin_pow(Tracer& t, Call& call) {
  const Call given = call;
  const Value base = need(t, call, 0, "base");
  const Value exponent = need(t, call, 1, "exp");
  const Value* const modulus = argument(t, call, 2, "mod");
  finish(t, call, 3);
  if (modulus == nullptr || is_none(*modulus)) return binary(t, Operator::Pow, base, exponent, call.node);
  const std::vector<Value> values = given.values();
  if (std::ranges::all_of(values, [](const Value& value) { return known_of(value).is_valid(); }))
    return by_host(t, given, "a power with a modulus");
  const bool are_ints = std::ranges::all_of(values, [&t](const Value& value) {
    const std::optional<Kind> kind = number_kind(value);
    return kind == Kind::py_int() || kind == Kind::py_bool();
  });
  if (!are_ints)
    unsupported(t, call.node, "`pow` with a modulus, of other numbers than ints", "use ** and %");
  return call_library(t, "numbers", "power_modulo", {base, exponent, *modulus}, call.node);
}

Value builtin_round(Tracer& t, Call& call) {
  const Value value = need(t, call, 0, "number");
  const Value* digits = argument(t, call, 1, "ndigits");
  finish(t, call, 2);
  const bool whole_number = digits == nullptr || is_none(*digits);
  const nb::object known = known_of(value);
  if (known.is_valid() && (whole_number || known_of(*digits).is_valid())) {
    return by_python(t, [&] {
      const nb::object round = imported("builtins").attr("round");
      return Static{whole_number ? round(known) : round(known, known_of(*digits))};
    });
  }
  const std::optional<Kind> kind = number_kind(value);
  if (kind && whole_number) {
    if (*kind == Kind::py_int() || *kind == Kind::py_bool())
      return Scalar{Kind::py_int(), stage(t, value, Kind::py_int())};
    if (!kind->is_python() && (base::is_bool(kind->dtype()) || base::is_complex(kind->dtype())))
      raise(t, ExceptionKind::TypeError, "type " + type_name(t, value) + " doesn't define __round__ method");
    Value even = value;
    if (base::is_float(kind->dtype()))
      even = Scalar{Kind::py_float(), t.builder->make(Op::rint, {stage(t, value, Kind::py_float())})};
    Call conversion{.positional = {even}, .name = "int", .node = call.node};
    return builtin_int(t, conversion);
  }
  const std::optional<Kind> decimals = whole_number ? std::nullopt : number_kind(*digits);
  if (kind && decimals && (base::is_int(decimals->dtype()) || *decimals == Kind::py_bool()) &&
      !base::is_complex(kind->dtype())) {
    const Value count = decimals->is_python() && !base::is_bool(decimals->dtype())
                            ? *digits
                            : Scalar{Kind::py_int(), stage_index(t, *digits)};
    Call rounding{.positional = {value, count}, .name = "round", .node = call.node};
    if (!kind->is_python() && !base::is_bool(kind->dtype()))
      return call_value(t, Static{imported("numpy").attr("round")}, rounding);
    const char* const name = *kind == Kind::py_float() ? "round_float" : "round_int";
    return inline_function(t, imported("ingot.library.mathematics").attr(name), rounding);
  }
  unsupported(t, call.node, "`round` of a " + type_name(t, value) + " with these arguments",
              "use np.rint, or round(x)");
}

Value text_of_value(Tracer& t, const Value& value, const std::string& form, nb::handle node) {
  if (const auto own = kind_of_value(value).text(t, value, form, node)) return *own;
  if (has_class(t, value)) return text_of_object(t, value, form, node);
  if (!value.is<List>() || !form_of_list(t, t.state.heap.at(value.as<List>()->object)))
    unsupported(t, node, "the text of a " + type_name(t, value), "show its parts");
  const bool is_open = growing(t, value) != nullptr;
  return filled_by(is_open ? by_library(t, "copy", {value}, node)
                           : new_list(t, contents(t, value.as<List>()->object, node).values),
                   form);
}

Value joined_text(Tracer& t, const std::vector<Value>& pieces) {
  if (std::ranges::all_of(pieces, [](const Value& piece) { return known_of(piece).is_valid(); })) {
    nb::list known;
    for (const Value& piece : pieces) known.append(known_of(piece));
    return Static{nb::str("").attr("join")(known)};
  }
  std::string form;
  std::vector<Value> parts;
  for (const Value& piece : pieces) {
    if (static_cast<double>(form.size()) > kMostCharacters)
      unsupported(t, t.here, kLargeText, "join fewer strings");
    if (const String* string = piece.as<String>()) {
      form += string->form;
      parts.insert(parts.end(), string->parts->begin(), string->parts->end());
    } else {
      const std::string literal = text_of(known_of(piece));
      for (const char character : literal) {
        if (character == '{' || character == '}') form += character;
        form += character;
      }
    }
  }
  return String{form, share(std::move(parts))};
}

Value eval_joined_str(Tracer& t, nb::handle e) {
  std::vector<Value> pieces;
  for (const nb::handle piece : e.attr("values")) {
    if (class_of(piece) == "Constant") {
      pieces.emplace_back(Static{attribute(piece, "value")});
      continue;
    }
    const Value value = eval_open(t, piece.attr("value"));
    std::string form = "{";
    const int conversion = nb::cast<int>(piece.attr("conversion"));
    if (conversion > 0) form += std::string("!") + static_cast<char>(conversion);
    if (!piece.attr("format_spec").is_none()) {
      const Value spec = eval_joined_str(t, piece.attr("format_spec"));
      form += ":" + text_of(require_static(t, spec, "a format", piece));
    }
    pieces.push_back(text_of_value(t, present(t, value, "the value", piece), form + "}", piece));
  }
  return joined_text(t, pieces);
}

Value builtin_str(Tracer& t, Call& call) {
  if (call.name == "repr") {
    const Value value = need(t, call, 0, "obj");
    finish(t, call, 1);
    return text_of_value(t, value, "{!r}", call.node);
  }
  const Call given = call;
  const Value* const object = argument(t, call, 0, "object");
  const Value* const encoding = argument(t, call, 1, "encoding");
  const Value* const errors = argument(t, call, 2, "errors");
  finish(t, call, 3);
  if (encoding != nullptr || errors != nullptr) return by_host(t, given, "what bytes are decoded by");
  if (object == nullptr) return Static{nb::str("")};
  if (object->is<Characters>()) return *object;
  return text_of_value(t, *object, "{!s}", call.node);
}

Value by_host(Tracer& t, const Call& call, const char* what) {
  nb::list given;
  nb::dict named;
  raise_as_called(t, call);
  for (const Value& value : call.positional) given.append(require_static(t, value, what, call.node));
  for (const auto& [name, value] : call.keywords)
    named[name.c_str()] = require_static(t, value, what, call.node);
  return by_python(t, [&] { return Static{call.function(*nb::tuple(given), **named)}; });
}

Value array_of_range(Tracer& t, const Range& range, nb::handle node) {
  const auto& [start, stop, step] = *range.bounds;
  Call call{.positional = {start, stop, step}, .name = "arange", .node = node};
  return np_arange(t, call);
}

Value array_of(Tracer& t, const Value& value, nb::handle node, std::optional<DType> wanted) {
  if (const std::optional<Value> own = kind_of_value(value).array(t, value, wanted, node)) return *own;
  std::vector<Value> leaves;
  const std::function<void(const Value&)> collect = [&](const Value& v) {
    if (v.is<Tuple>() || container_of(v) != 0) {
      for (const Value& member : elements_of(t, v, node)) collect(member);
    } else {
      leaves.push_back(present(t, v, "the element", node));
    }
  };
  collect(value);
  if (std::ranges::any_of(leaves, [](const Value& leaf) { return array_type_of(leaf).has_value(); })) {
    const Value made = call_library(t, "joining", "array_of_arrays", {value}, node);
    return wanted ? Value(owner(t, materialized(t, t.builder->cast(whole(t, made), *wanted)))) : made;
  }
  const nb::object model = stand_in(t, value);
  if (!model.is_valid())
    unsupported(t, node, "an array of a " + type_name(t, value), "fill an array in a loop");
  for (const Value& leaf : leaves) {
    if (!kind_of(leaf))
      unsupported(t, node, "an array of a list that holds a " + type_name(t, leaf),
                  "fill an array in a loop");
  }
  nb::object made;
  made = by_python(t, [&] { return nb::object(imported("numpy").attr("array")(model)); });
  const std::string name = text_of(made.attr("dtype").attr("name"));
  std::optional<DType> dtype = base::dtype_from_numpy(name);
  if (!dtype) unsupported(t, node, "an array of dtype " + name, "use numbers of one kind");
  if (wanted) dtype = wanted;
  std::vector<NodeId> lengths;
  std::vector<int64_t> shape;
  for (const nb::handle length : made.attr("shape")) {
    shape.push_back(nb::cast<int64_t>(length));
    lengths.push_back(t.builder->index(shape.back()));
  }
  need_rank(t, lengths.size());
  const Array result = filled(t, lengths, t.builder->constant(ir::Type::scalar(*dtype), {}));
  std::vector<int64_t> at(shape.size(), 0);
  for (const Value& leaf : leaves) {
    std::vector<NodeId> operands{result.node};
    for (const int64_t index : at) operands.push_back(t.builder->index(index));
    operands.push_back(wanted ? value_for(t, leaf, *dtype) : stage(t, leaf, *dtype));
    t.builder->make(Op::store, operands);
    for (size_t axis = at.size(); axis-- > 0;) {
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
    }
  }
  return result;
}

Value np_array(Tracer& t, Call& call) {
  const bool is_array = call.name == "array";
  const Value value = need(t, call, 0, is_array ? "object" : "a");
  const Value* given = argument(t, call, 1, "dtype");
  const std::optional<DType> dtype =
      given == nullptr || is_none(*given) ? std::nullopt : std::optional(dtype_of(t, *given, call.node));
  std::vector<Value> options;
  for (const auto& [name, otherwise] :
       {std::pair<const char*, nb::object>{"copy", is_array ? nb::object(nb::bool_(true)) : nb::none()},
        {"order", nb::str("K")},
        {"ndmin", nb::int_(0)}}) {
    const bool by_place = !is_array && std::string_view(name) == "order";
    const Value* option = argument(t, call, by_place ? 2 : SIZE_MAX, name);
    options.push_back(option == nullptr ? Value(Static{otherwise}) : *option);
  }
  argument(t, call, SIZE_MAX, "subok");
  finish(t, call, is_array ? 2 : 3);
  const std::optional<Kind> kind = kind_of(value);
  const bool is_new = !array_type_of(value);
  Value made = value;
  if (!kind) made = array_of(t, value, call.node, dtype);
  else if (is_new) {
    const DType of_number = dtype.value_or(base::known(kind).dtype());
    made = filled(t, {}, dtype ? value_for(t, value, of_number) : stage(t, value, Kind(of_number)));
  }
  if (is_new) options[0] = Static{nb::none()};
  const Value target =
      dtype ? Value(Static{imported("numpy").attr("dtype")(std::string(base::info(*dtype).numpy))})
            : Value(Static{nb::none()});
  return call_library(t, "creation", "as_array",
                      {Value(named(t, made)), target, options[0], options[1], options[2]}, call.node);
}

Value compare_sequences(Tracer& t, Operator op, std::vector<Value> a, std::vector<Value> b, nb::handle node) {
  if (is_equality(op)) {
    NodeId equal = t.builder->constant(a.size() == b.size());
    for (size_t i = 0; a.size() == b.size() && i < a.size(); ++i)
      equal = both(t, equal, truth(t, equal_members(t, a[i], b[i], node), node));
    return answer(t, op, equal);
  }
  const std::function<Value(size_t)> from = [&](size_t i) -> Value {
    if (i == a.size() || i == b.size()) {
      const Value left = Static{nb::int_(a.size())};
      return compare(t, op, left, Static{nb::int_(b.size())}, node);
    }
    const Value equal = equal_members(t, a[i], b[i], node);
    const auto decide = [&] {
      return compare(t, op, present(t, a[i], "the element", node), present(t, b[i], "the element", node),
                     node);
    };
    if (const std::optional<bool> known = static_truth(t, equal)) return *known ? from(i + 1) : decide();
    return fork(t, truth(t, equal, node), [&] { return from(i + 1); }, decide);
  };
  return from(0);
}

}  // namespace ingot::frontend
