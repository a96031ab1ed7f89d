#include "frontend/evaluator_parts.h"
#include "frontend/kinds/fields.h"
#include "frontend/kinds/members.h"
#include "frontend/kinds/strings.h"
#include "frontend/kinds/value_kind.h"
#include "frontend/known_sizes.h"
#include "frontend/rows.h"

// Python's builtin functions on containers, types and strings.
//
// Iterators. The result of `zip`, `enumerate` and `reversed` holds its iterable, and a cell of the shadow
// heap with the number of elements that `next` has taken, or None once a loop has iterated over it; iterating
// (`begin_iterate`) takes the elements that are left, once.

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

Value Evaluator::known_number(const Value& value) {
  const Scalar* s = value.as<Scalar>();
  if (s == nullptr || !s->kind.is_python() || !builder_->function().is_constant(s->node)) return value;
  if (s->kind == Kind::py_int())
    return Static{nb::int_(static_cast<int64_t>(builder_->function().constant(s->node).bits[0]))};
  if (s->kind == Kind::py_bool()) return as_bool(s->node);
  return value;
}

/// `operator.index`.
Value Evaluator::builtin_index(Call& call) {
  const Value value = need(call, 0, "a");
  finish(call, 1);
  if (const std::optional<int64_t> known = static_int(value)) return Static{nb::int_(*known)};
  return Scalar{Kind::py_int(), stage_index(value)};
}

Value Evaluator::builtin_list(Call& call) {
  finish(call, 1);
  if (call.positional.empty()) return new_list({});
  return listed(call.positional[0], call.node);
}

Value Evaluator::builtin_tuple(Call& call) {
  finish(call, 1);
  if (call.positional.empty()) return Tuple{};
  if (const Tuple* t = call.positional[0].as<Tuple>()) return Tuple{t->members};
  return Tuple{elements_of(call.positional[0], call.node)};
}

Value Evaluator::builtin_dict(Call& call) {
  const Reference dict = make_dict(call.node);
  if (call.positional.size() > 1) raise_as_called(call);
  Call update{.positional = call.positional, .keywords = call.keywords, .name = "update", .node = call.node};
  dict_method(dict, "update", update);
  return dict;
}

Value Evaluator::builtin_sorted(Call& call) {
  const Value iterable = need(call, 0, "iterable");
  const Value list = listed(iterable, call.node);
  if (const Reference* known = list.as<Reference>(); known != nullptr && growing(list) == nullptr) {
    const std::vector<Value> values =
        contents(*known, call.node).values;  // calls of a key function replace the state
    return new_list(sorted_values(values, call));
  }
  by_library("sort", {list}, call.node, call.keywords);
  return list;
}

Value Evaluator::builtin_reversed(Call& call) {
  const Value sequence = need(call, 0, "sequence");
  finish(call, 1);
  if (const auto own = kind_of_value(sequence).reversed(*this, sequence, call.node)) return *own;
  std::vector<Value> elements = elements_of(sequence, call.node);
  std::ranges::reverse(elements);
  return iterator("reversed", Tuple{std::move(elements)});
}

nb::object Evaluator::type_of(const Value& value, nb::handle node) {
  if (const nb::object type = class_of_value(value); type.is_valid()) return stood_for(type);
  if (nb::object type = kind_of_value(value).type_of(*this, value, node); type.is_valid()) return type;
  unsupported(node, "the type of a " + type_name(value), "use the value itself");
}

Value Evaluator::builtin_type(Call& call) {
  if (call.positional.size() != 1)
    unsupported(call.node, "`type` with several arguments", "define the class outside");
  if (const Pooled* r = PooledValues::optional(call.positional[0]))
    call.positional[0] = PooledValues(*this).present(
        *r, ExceptionKind::TypeChangeError, "`type` of None, where that of an instance was compiled");
  if (const Pooled* r = PooledValues::open(call.positional[0]))
    return object_attribute(*r, "__class__", call.node);
  return Static{type_of(call.positional[0], call.node)};
}

Value Evaluator::builtin_isinstance(Call& call) {
  if (call.positional.size() != 2 || !call.keywords.empty()) raise_as_called(call);
  const Value value = call.positional[0];
  const nb::object classes = require_static(call.positional[1], "a class", call.node);
  if (const Maybe* m = value.as<Maybe>(); m != nullptr && m->may_be_none) {
    const NodeId tag = builder_->make(Op::tag, {m->node});
    const auto one = [&](const Value& v) {
      Call again{.positional = {v, call.positional[1]}, .keywords = {}, .name = call.name, .node = call.node};
      return builtin_isinstance(again);
    };
    return fork(
        builder_->make(Op::equal, {tag, builder_->constant<int8_t>(0)}),
        [&] { return one(present(value, "the value", call.node)); }, [&] { return one(Static{nb::none()}); });
  }
  if (const Pooled* r = PooledValues::optional(value)) {
    return PooledValues(*this).on_both(*r, [&](const Value& v) {
      Call again{.positional = {v, call.positional[1]}, .keywords = {}, .name = call.name, .node = call.node};
      return builtin_isinstance(again);
    });
  }
  if (const Pooled* r = PooledValues::open(value)) {
    return PooledValues(*this).is_of(*r, [&](const nb::object& type) {
      Call again{.positional = {PooledValues(*this).of_type(*r, type), call.positional[1]},
                 .keywords = {},
                 .name = call.name,
                 .node = call.node};
      return static_truth(builtin_isinstance(again)) == true;
    });
  }
  const nb::object type = value.is<Array>() ? attribute(imported("numpy"), "ndarray")
                                            : type_of(present(value, "the value", call.node), call.node);
  if (is_instance(value)) {
    guards_.push_back({type, "__mro__", attribute(type, "__mro__"), true});
    for (const nb::handle one : PyTuple_Check(classes.ptr()) ? nb::tuple(classes) : nb::make_tuple(classes)) {
      const bool is_class = PyType_Check(one.ptr()) != 0;
      const nb::handle own = reinterpret_cast<PyObject*>(&PyType_Type);
      const bool is_plain =
          is_class && lookup(one.type(), "__instancecheck__").is(lookup(own, "__instancecheck__"));
      const bool is_base = is_class && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type.ptr()),
                                                        reinterpret_cast<PyTypeObject*>(one.ptr())) != 0;
      if (!is_plain && !is_base)
        unsupported(call.node, "`isinstance` with what decides by itself", "name the class of the instance");
    }
  }
  const nb::object own = imported("builtins").attr("issubclass");
  try {
    // An instance of a stand-in class is of both classes: the library tests for its own.
    nb::object is = own(type, classes);
    if (const nb::object raw = class_of_value(value); raw.is_valid() && !raw.is(type) && is.is(Py_False))
      is = own(raw, classes);
    if (value.is<Array>() && !is.is(own(attribute(imported("numpy"), "memmap"), classes)))
      need_no_memory_maps("the class of an array", call.node);
    return Static{is};
  } catch (nb::python_error& error) {
    rethrow_lack_of_memory(error);
    raise(ExceptionKind::TypeError, "isinstance() arg 2 must be a type, a tuple of types, or a union");
  }
}

Value Evaluator::builtin_slice(Call& call) {
  if (call.positional.empty() || call.positional.size() > 3 || !call.keywords.empty()) raise_as_called(call);
  std::array<Value, 3> parts = {Static{nb::none()}, call.positional[0], Static{nb::none()}};
  if (call.positional.size() > 1) {
    parts[0] = call.positional[0];
    parts[1] = call.positional[1];
  }
  if (call.positional.size() > 2) parts[2] = call.positional[2];
  return Slice{share(std::move(parts))};
}

Value Evaluator::builtin_divmod(Call& call) {
  const Value a = need(call, 0, "x");
  const Value b = need(call, 1, "y");
  finish(call, 2);
  const std::optional<Kind> of_a = kind_of(a);
  const std::optional<Kind> of_b = kind_of(b);
  if (!of_a || !of_b || *of_a == Kind::py_complex() || *of_b == Kind::py_complex()) raise_as_called(call);
  const bool is_python = of_a && of_b && of_a->is_python() && of_b->is_python();
  if (is_python && (*of_a == Kind::py_float() || *of_b == Kind::py_float())) {
    check(builder_->make(Op::not_equal, {stage(b, Kind::py_float()), builder_->constant(0.0)}),
          ExceptionKind::ZeroDivisionError, "float divmod()");
  }
  return Tuple{{binary(Operator::FloorDiv, a, b, call.node), binary(Operator::Mod, a, b, call.node)}};
}

Value Evaluator::builtin_pow(Call& call) {
  const Call given = call;
  const Value base = need(call, 0, "base");
  const Value exponent = need(call, 1, "exp");
  const Value* const modulus = argument(call, 2, "mod");
  finish(call, 3);
  if (modulus == nullptr || is_none(*modulus)) return binary(Operator::Pow, base, exponent, call.node);
  const std::vector<Value> values = given.values();
  if (std::ranges::all_of(values, [](const Value& value) { return value.is<Static>(); }))
    return by_host(given, "a power with a modulus");
  const bool are_ints = std::ranges::all_of(values, [this](const Value& value) {
    const std::optional<Kind> kind = number_kind(value);
    return kind == Kind::py_int() || kind == Kind::py_bool();
  });
  if (!are_ints) unsupported(call.node, "`pow` with a modulus, of other numbers than ints", "use ** and %");
  return call_library(*this, "numbers", "power_modulo", {base, exponent, *modulus}, call.node);
}

Value Evaluator::builtin_round(Call& call) {
  const Value value = need(call, 0, "number");
  const Value* digits = argument(call, 1, "ndigits");
  finish(call, 2);
  const bool whole_number = digits == nullptr || is_none(*digits);
  if (value.is<Static>() && (whole_number || digits->is<Static>())) {
    return by_python(*this, [&] {
      const nb::object round = imported("builtins").attr("round");
      const nb::object given = value.as<Static>()->object;
      return Static{whole_number ? round(given) : round(given, digits->as<Static>()->object)};
    });
  }
  const std::optional<Kind> kind = number_kind(value);
  if (kind && whole_number) {
    if (*kind == Kind::py_int() || *kind == Kind::py_bool())
      return Scalar{Kind::py_int(), stage(value, Kind::py_int())};
    if (!kind->is_python() && (base::is_bool(kind->dtype()) || base::is_complex(kind->dtype())))
      raise(ExceptionKind::TypeError, "type " + type_name(value) + " doesn't define __round__ method");
    Value even = value;
    if (base::is_float(kind->dtype()))
      even = Scalar{Kind::py_float(), builder_->make(Op::rint, {stage(value, Kind::py_float())})};
    Call conversion{.positional = {even}, .keywords = {}, .name = "int", .node = call.node};
    return builtin_int(conversion);
  }
  const std::optional<Kind> decimals = whole_number ? std::nullopt : number_kind(*digits);
  if (kind && decimals && (base::is_int(decimals->dtype()) || *decimals == Kind::py_bool()) &&
      !base::is_complex(kind->dtype())) {
    const Value count = decimals->is_python() && !base::is_bool(decimals->dtype())
                            ? *digits
                            : Scalar{Kind::py_int(), stage_index(*digits)};
    Call rounding{.positional = {value, count}, .keywords = {}, .name = "round", .node = call.node};
    if (!kind->is_python() && !base::is_bool(kind->dtype()))
      return this->call(Static{imported("numpy").attr("round")}, rounding);
    const char* const name = *kind == Kind::py_float() ? "round_float" : "round_int";
    return inline_function(imported("ingot.library.mathematics").attr(name), rounding);
  }
  unsupported(call.node, "`round` of a " + type_name(value) + " with these arguments",
              "use np.rint, or round(x)");
}

Value Evaluator::text_of_value(const Value& value, const std::string& form, nb::handle node) {
  if (const Error* e = value.as<Error>()) {
    if (form.starts_with("{!r")) unsupported(node, "the repr of an exception", "show its text");
    return text_of_value(text_of_error(*e), form, node);
  }
  if (const String* t = value.as<String>(); t != nullptr && (form == "{}" || form == "{!s}")) return *t;
  Value kept = value;
  if (const nb::object type = class_of_value(value); type.is_valid()) {
    const Member* m = value.as<Member>();
    if (m != nullptr && Members(*this).has_own_text(*m))
      unsupported(node, "the text of a member of an Enum that is not known, by a method of its class,",
                  "show its name");
    const bool is_plain = m != nullptr || (!is_instance(value) && !has_text(type));
    if (!is_plain) return text_of_object(value, form, node);
  }
  if (value.is<Static>()) {
    if (const std::string large = too_large_by_format(nb::str(form.c_str())); !large.empty())
      unsupported(node, large, "use a smaller width");
    return by_python(
        *this, [&] { return Static{nb::str(form.c_str()).attr("format")(value.as<Static>()->object)}; });
  }
  if (const Structured* s = value.as<Structured>()) {
    kept = Fields(*this).copy(*s, node);
  } else if (const Array* a = value.as<Array>()) {
    // A copy: the string shows the present value.
    if (a->type.rank() == 0) unsupported(node, "the text of an array without axes", "show its element");
    kept = owner(builder_->make(Op::materialize, {whole(value)}));
  } else if (is_list(value) && form_of_list(state_.heap.at(value.as<Reference>()->object))) {
    const bool is_open = growing(value) != nullptr;
    kept =
        is_open ? by_library("copy", {value}, node) : new_list(contents(*value.as<Reference>(), node).values);
  } else if (!kind_of(value) && !value.is<Tuple>() && !value.is<String>() && !value.is<Characters>() &&
             !value.is<Member>()) {
    unsupported(node, "the text of a " + type_name(value), "show its parts");
  }
  return String{form, share(std::vector<Value>{kept})};
}

Value Evaluator::joined_text(const std::vector<Value>& pieces) {
  if (std::ranges::all_of(pieces, [](const Value& piece) { return piece.is<Static>(); })) {
    nb::list known;
    for (const Value& piece : pieces) known.append(piece.as<Static>()->object);
    return Static{nb::str("").attr("join")(known)};
  }
  std::string form;
  std::vector<Value> parts;
  for (const Value& piece : pieces) {
    if (static_cast<double>(form.size()) > kMostCharacters)
      unsupported(here_, kLargeText, "join fewer strings");
    if (const String* t = piece.as<String>()) {
      form += t->form;
      parts.insert(parts.end(), t->parts->begin(), t->parts->end());
    } else {
      const std::string literal = text_of(piece.as<Static>()->object);
      for (const char character : literal) {
        if (character == '{' || character == '}') form += character;
        form += character;
      }
    }
  }
  return String{form, share(std::move(parts))};
}

Value Evaluator::eval_joined_str(nb::handle e) {
  std::vector<Value> pieces;
  for (const nb::handle piece : e.attr("values")) {
    if (class_of(piece) == "Constant") {
      pieces.emplace_back(Static{attribute(piece, "value")});
      continue;
    }
    const Value value = eval_open(piece.attr("value"));
    std::string form = "{";
    const int conversion = nb::cast<int>(piece.attr("conversion"));
    if (conversion > 0) form += std::string("!") + static_cast<char>(conversion);
    if (!piece.attr("format_spec").is_none()) {
      const Value spec = eval_joined_str(piece.attr("format_spec"));
      form += ":" + text_of(require_static(spec, "a format", piece));
    }
    pieces.push_back(text_of_value(present(value, "the value", piece), form + "}", piece));
  }
  return joined_text(pieces);
}

Value Evaluator::builtin_str(Call& call) {
  if (call.name == "repr") {
    const Value value = need(call, 0, "obj");
    finish(call, 1);
    return text_of_value(value, "{!r}", call.node);
  }
  const Call given = call;
  const Value* const object = argument(call, 0, "object");
  const Value* const encoding = argument(call, 1, "encoding");
  const Value* const errors = argument(call, 2, "errors");
  finish(call, 3);
  if (encoding != nullptr || errors != nullptr) return by_host(given, "what bytes are decoded by");
  if (object == nullptr) return Static{nb::str("")};
  if (object->is<Characters>()) return *object;
  return text_of_value(*object, "{!s}", call.node);
}

Value Evaluator::by_host(const Call& call, const char* what) {
  nb::list given;
  nb::dict named;
  raise_as_called(call);
  for (const Value& value : call.positional) given.append(require_static(value, what, call.node));
  for (const auto& [name, value] : call.keywords)
    named[name.c_str()] = require_static(value, what, call.node);
  return by_python(*this, [&] { return Static{call.function(*nb::tuple(given), **named)}; });
}

Value Evaluator::array_of_range(const Range& range, nb::handle node) {
  const auto& [start, stop, step] = *range.bounds;
  Call call{.positional = {start, stop, step}, .keywords = {}, .name = "arange", .node = node};
  return np_arange(call);
}

Value Evaluator::array_of(const Value& value, nb::handle node, std::optional<DType> wanted) {
  if (const std::optional<Value> own = kind_of_value(value).array(*this, value, wanted, node)) return *own;
  std::vector<Value> leaves;
  const std::function<void(const Value&)> collect = [&](const Value& v) {
    if (v.is<Tuple>() || v.is<Reference>()) {
      for (const Value& member : elements_of(v, node)) collect(member);
    } else {
      leaves.push_back(present(v, "the element", node));
    }
  };
  collect(value);
  if (std::ranges::any_of(leaves, [](const Value& leaf) { return leaf.is<Array>(); })) {
    const Value made = call_library(*this, "joining", "array_of_arrays", {value}, node);
    return wanted ? Value(owner(materialized(builder_->cast(whole(made), *wanted)))) : made;
  }
  const nb::object model = stand_in(value);
  if (!model.is_valid()) unsupported(node, "an array of a " + type_name(value), "fill an array in a loop");
  for (const Value& leaf : leaves) {
    if (!kind_of(leaf))
      unsupported(node, "an array of a list that holds a " + type_name(leaf), "fill an array in a loop");
  }
  nb::object made;
  made = by_python(*this, [&] { return nb::object(imported("numpy").attr("array")(model)); });
  const std::string name = text_of(made.attr("dtype").attr("name"));
  std::optional<DType> dtype = base::dtype_from_numpy(name);
  if (!dtype) unsupported(node, "an array of dtype " + name, "use numbers of one kind");
  if (wanted) dtype = wanted;
  std::vector<NodeId> lengths;
  std::vector<int64_t> shape;
  for (const nb::handle length : made.attr("shape")) {
    shape.push_back(nb::cast<int64_t>(length));
    lengths.push_back(builder_->index(shape.back()));
  }
  need_rank(lengths.size());
  const Value result = filled(lengths, builder_->constant(ir::Type::scalar(*dtype), {}));
  std::vector<int64_t> at(shape.size(), 0);
  for (const Value& leaf : leaves) {
    std::vector<NodeId> operands{result.as<Array>()->node};
    for (const int64_t index : at) operands.push_back(builder_->index(index));
    operands.push_back(wanted ? value_for(leaf, *dtype) : stage(leaf, *dtype));
    builder_->make(Op::store, operands);
    for (size_t axis = at.size(); axis-- > 0;) {
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
    }
  }
  return result;
}

Value Evaluator::np_array(Call& call) {
  const bool is_array = call.name == "array";
  const Value value = need(call, 0, is_array ? "object" : "a");
  const Value* given = argument(call, 1, "dtype");
  const std::optional<DType> dtype =
      given == nullptr || is_none(*given) ? std::nullopt : std::optional(dtype_of(*given, call.node));
  std::vector<Value> options;
  for (const auto& [name, otherwise] :
       {std::pair<const char*, nb::object>{"copy", is_array ? nb::object(nb::bool_(true)) : nb::none()},
        {"order", nb::str("K")},
        {"ndmin", nb::int_(0)}}) {
    const bool by_place = !is_array && std::string_view(name) == "order";
    const Value* option = argument(call, by_place ? 2 : SIZE_MAX, name);
    options.push_back(option == nullptr ? Value(Static{otherwise}) : *option);
  }
  argument(call, SIZE_MAX, "subok");
  finish(call, is_array ? 2 : 3);
  const std::optional<Kind> kind = kind_of(value);
  Value made = value;
  if (!value.is<Array>() && !kind) made = array_of(value, call.node, dtype);
  else if (!value.is<Array>()) {
    const DType of_number = dtype.value_or(base::known(kind).dtype());
    made = filled({}, dtype ? value_for(value, of_number) : stage(value, Kind(of_number)));
  }
  const bool is_new = !value.is<Array>();
  if (is_new) options[0] = Static{nb::none()};
  const Value target =
      dtype ? Value(Static{imported("numpy").attr("dtype")(std::string(base::info(*dtype).numpy))})
            : Value(Static{nb::none()});
  return call_library(*this, "creation", "as_array",
                      {Value(named(made)), target, options[0], options[1], options[2]}, call.node);
}

Value Evaluator::compare_sequences(Operator op, std::vector<Value> a, std::vector<Value> b, nb::handle node) {
  if (is_equality(op)) {
    NodeId equal = builder_->constant(a.size() == b.size());
    for (size_t i = 0; a.size() == b.size() && i < a.size(); ++i)
      equal = both(equal, truth(equal_members(a[i], b[i], node), node));
    return answer(op, equal);
  }
  const std::function<Value(size_t)> from = [&](size_t i) -> Value {
    if (i == a.size() || i == b.size()) {
      const Value left = Static{nb::int_(a.size())};
      return compare(op, left, Static{nb::int_(b.size())}, node);
    }
    const Value equal = equal_members(a[i], b[i], node);
    const auto decide = [&] {
      return compare(op, present(a[i], "the element", node), present(b[i], "the element", node), node);
    };
    if (const std::optional<bool> known = static_truth(equal)) return *known ? from(i + 1) : decide();
    return fork(truth(equal, node), [&] { return from(i + 1); }, decide);
  };
  return from(0);
}

}  // namespace ingot::frontend
