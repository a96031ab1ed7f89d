#include "frontend/kinds/strings.h"

#include "frontend/arrays/arguments.h"
#include "frontend/arrays/arrays.h"
#include "frontend/arrays/indexing.h"
#include "frontend/arrays/numpy.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/calls/python_builtins.h"
#include "frontend/kinds/list_buffers.h"
#include "frontend/kinds/mappings.h"
#include "frontend/kinds/sequences.h"
#include "frontend/kinds/sets.h"
#include "frontend/kinds/structure.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

/// A known string of at most so many characters is iterated over by unrolling, unless it is an argument.
constexpr size_t kMostCharacters = 64;
constexpr int64_t kEmpty = -1;  ///< the code of the empty string

bool is_character(const Value& value) {
  const Characters* text = value.as<Characters>();
  return text != nullptr && text->codes->is<Scalar>();
}

Py_ssize_t count_in(const Value& known) { return PyUnicode_GET_LENGTH(known.as<Static>()->object.ptr()); }

int64_t character_of(const Value& known, Py_ssize_t position) {
  return static_cast<int64_t>(PyUnicode_READ_CHAR(known.as<Static>()->object.ptr(), position));
}

}  // namespace

bool Strings::is_known(const Value& value) {
  const Static* s = value.as<Static>();
  return s != nullptr && PyUnicode_CheckExact(s->object.ptr());
}

bool Strings::is_string(const Value& value) {
  return is_known(value) || value.is<Characters>() || value.is<String>();
}

bool Strings::may_be_character(const Value& text) { return is_known(text) && count_in(text) <= 1; }

std::optional<Value> Strings::opened(const Value& text, bool is_iterated, nb::handle node) {
  if (!t_.request.opens_texts || !is_known(text) || t_.frame->of_library) return std::nullopt;
  const auto given = t_.text_arguments.find(text.as<Static>()->object.ptr());
  if (given != t_.text_arguments.end())
    throw NeedsFact::of(given->second, location_of(t_, node), NeedsFact::Kind::Characters);
  if (is_iterated && static_cast<size_t>(count_in(text)) <= kMostCharacters) return std::nullopt;
  t_.has_characters = true;
  return Characters{share(codes_of(text))};
}

Value Strings::characters_of(const Value& text) {
  if (!may_be_character(text)) return Characters{share(codes_of(text))};
  const int64_t code = count_in(text) == 0 ? kEmpty : character_of(text, 0);
  return Characters{share(Value(Scalar{Kind::py_int(), t_.builder->index(code)}))};
}

/// An array of the code points of a string.
Value Strings::codes_of(const Value& text) {
  ir::Builder& builder = *t_.builder;
  if (const Characters* characters = text.as<Characters>()) {
    if (!is_character(text)) return *characters->codes;
    const NodeId code = code_of(text);
    const NodeId length = this->length(*characters);
    const NodeId one = builder.index(1);
    const Array made = new_memory(t_, {&one, 1}, DType::Int64);
    builder.make(Op::store, {made.node, builder.index(0), code});
    Array part = made;
    part.node = leading(t_, made.node, length);
    return part;
  }
  const Py_ssize_t size = count_in(text);
  const NodeId length = builder.index(size);
  const Array made = new_memory(t_, {&length, 1}, DType::UInt32);
  for (Py_ssize_t i = 0; i < size; ++i) {
    const NodeId code = builder.constant(static_cast<uint32_t>(character_of(text, i)));
    builder.make(Op::store, {made.node, builder.index(i), code});
  }
  return made;
}

NodeId Strings::code_of(const Value& character) {
  const Value opened = is_known(character) ? characters_of(character) : character;
  return opened.as<Characters>()->codes->as<Scalar>()->node;
}

NodeId Strings::length(const Characters& text) {
  ir::Builder& builder = *t_.builder;
  if (const Array* codes = text.codes->as<Array>()) return builder.length(codes->node, 0);
  const NodeId is_empty = builder.make(Op::less, {text.codes->as<Scalar>()->node, builder.index(0)});
  return builder.make(Op::select, {is_empty, builder.index(0), builder.index(1)});
}

Value Strings::character(const Characters& text, NodeId position) {
  const NodeId code = t_.builder->make(Op::load, {text.codes->as<Array>()->node, position});
  return Characters{share(Value(Scalar{Kind::py_int(), t_.builder->cast(code, DType::Int64)}))};
}

Value Strings::item(const Value& text, const Value& index, nb::handle node) {
  const Characters whole{share(codes_of(text))};
  if (index.is<Slice>()) return Characters{share(index_array(t_, *whole.codes->as<Array>(), index, node))};
  const std::optional<Kind> kind = kind_of(index);
  if (!kind || index.is<Array>() || !(base::is_int(kind->dtype()) || *kind == Kind::py_bool())) {
    raise_by_type(t_, "subscript", "", {text, index});
    unsupported(t_, node, "an element of a " + type_name(t_, text),
                "use an array, a list, a tuple or a dict");
  }
  need_index_sized(t_, index);
  return character(whole, staged_index_of(t_, index, length(whole), "string index out of range"));
}

Value Strings::ord(const Value& text) {
  const Characters& characters = *text.as<Characters>();
  const NodeId length = this->length(characters);
  check(t_, t_.builder->make(Op::equal, {length, t_.builder->index(1)}), ExceptionKind::TypeError,
        "ord() expected a character, but string of length {} found", {length});
  if (const Scalar* code = characters.codes->as<Scalar>()) return *code;
  return *character(characters, t_.builder->index(0)).as<Characters>()->codes;
}

Value Strings::by_library(const char* name, std::vector<Value> arguments, nb::handle node) {
  return call_library(t_, "strings", name, std::move(arguments), node);
}

std::optional<Value> Strings::compare(Operator op, const Value& a, const Value& b, nb::handle node) {
  if (a.is<String>() || b.is<String>() || !is_string(a) || !is_string(b)) {
    const Value& other = a.is<Characters>() ? b : a;
    const std::optional<Kind> kind = kind_of(other);
    const bool differs =
        is_none(other) || other.is<Tuple>() || container_of(other) != 0 || (kind && kind->is_python());
    if (is_equality(op) && differs) return Value(Static{nb::bool_(op == Operator::NotEq)});
    return std::nullopt;
  }
  ir::Builder& builder = *t_.builder;
  const Op by_code = base::known(info(op).op);
  const auto is_one = [](const Value& v) { return is_character(v) || may_be_character(v); };
  if (is_one(a) && is_one(b)) return as_bool(t_, builder.make(by_code, {code_of(a), code_of(b)}));
  const auto has_other_length = [](const Value& character, const Value& known) {
    return is_character(character) && is_known(known) && count_in(known) > 1;
  };
  if (is_equality(op) && (has_other_length(a, b) || has_other_length(b, a)))
    return Value(Static{nb::bool_(op == Operator::NotEq)});
  const char* const function = is_equality(op) ? "equal" : "order";
  const Value result = by_library(function, {codes_of(a), codes_of(b)}, node);
  if (is_equality(op)) return answer(t_, op, result, node);
  return frontend::compare(t_, op, result, Static{nb::int_(0)}, node);
}

std::optional<Value> Strings::contains(const Value& part, const Value& whole, nb::handle node) {
  std::vector<Value> members;
  if (whole.is<Set>()) {
    members = elements_of_set(t_, *whole.as<Set>(), node);
  } else if (whole.is<Dict>() && mapping(t_, whole) == nullptr) {
    for (const nb::object& key : contents(t_, whole.as<Dict>()->object, node).keys)
      members.push_back(Static{key});
  } else if (is_known(whole) && is_character(part) &&
             static_cast<size_t>(count_in(whole)) <= kMostCharacters) {
    members.push_back(Static{nb::str("")});
    for (const nb::handle each : whole.as<Static>()->object)
      members.push_back(Static{nb::borrow<nb::object>(each)});
  } else if (is_string(whole) && !whole.is<String>()) {
    if (is_string(part) && !part.is<String>())
      return by_library("contains", {codes_of(whole), codes_of(part)}, node);
    if (!is_string(part) && (kind_of(part) || is_none(part) || part.is<Tuple>() || container_of(part) != 0))
      raise(t_, ExceptionKind::TypeError,
            "'in <string>' requires string as left operand, not " + type_name(t_, part));
    unsupported(t_, node, "`in` of a text and a " + type_name(t_, part), "compare with ==");
  } else {
    return std::nullopt;
  }
  NodeId found = t_.builder->constant(false);
  for (const Value& member : members) {
    const NodeId is_member = truth(t_, equal_members(t_, part, member, node), node);
    found = t_.builder->make(Op::bitwise_or, {found, is_member});
  }
  return as_bool(t_, found);
}

Value Strings::item_of(const HeapObject& dict, const Value& key, nb::handle node) {
  NodeId position = t_.builder->index(-1);
  std::vector<Value> values;
  for (size_t i = 0; i < dict.keys.size(); ++i) {
    if (!is_known(Static{dict.keys[i]})) continue;
    const NodeId is_key =
        truth(t_, frontend::compare(t_, Operator::Eq, key, Static{dict.keys[i]}, node), node);
    position = t_.builder->make(Op::select,
                                {is_key, t_.builder->index(static_cast<int64_t>(values.size())), position});
    values.push_back(dict.values[i]);
  }
  const auto missing = [&]() -> Value { raise_key_error(t_, key); };
  if (values.empty()) return missing();
  const NodeId is_there = t_.builder->make(Op::greater_equal, {position, t_.builder->index(0)});
  return fork(
      t_, is_there, [&] { return open(t_, pick_staged(t_, values, position, node), "the item", node); },
      missing);
}

Value builtin_ord(Tracer& t, Call& call) {
  const Value text = need(t, call, 0, "character");
  finish(t, call, 1);
  if (text.is<Characters>()) return Strings(t).ord(text);
  if (text.is<String>())
    unsupported(t, call.node, "`ord` of a text that has parts which are not known when compiling",
                "take a character of it");
  return by_host(t, call, "what a character is made of");
}

Value builtin_chr(Tracer& t, Call& call) {
  const Value number = need(t, call, 0, "i");
  finish(t, call, 1);
  if (number.is<Static>()) return by_host(t, call, "what a character is made of");
  const NodeId code = stage_index(t, number);
  check(t,
        both(t, t.builder->make(Op::greater_equal, {code, t.builder->index(0)}),
             t.builder->make(Op::less, {code, t.builder->index(0x110000)})),
        ExceptionKind::ValueError, "chr() arg not in range(0x110000)");
  t.has_characters = true;
  return Characters{share(Value(Scalar{Kind::py_int(), code}))};
}

void Strings::need_known(const Call& call) {
  static const std::set<std::string> kKnown = {"len",       "ord",  "print",   "isinstance", "type",
                                               "enumerate", "zip",  "list",    "tuple",      "str",
                                               "repr",      "bool", "reversed"};
  if (kKnown.contains(call.name)) return;
  const std::function<bool(const Value&)> has_characters = [&](const Value& value) {
    return value.is<Characters>() || std::ranges::any_of(parts_of(value), has_characters);
  };
  if (std::ranges::any_of(call.values(), has_characters)) {
    unsupported(t_, call.node, "`" + call.name + "` of a text that is not known when compiling",
                "use len, ord, ==, `in`, indices and loops over it");
  }
}

namespace {

/// What strings have in common that are not known when compiling.
class StringKind : public BuiltinKind {
 public:
  std::string type_name(const Tracer&, const Value&) const override { return "str"; }
  nb::object stand_in(const Tracer&, const Value&) const override {
    return imported("ingot._objects.foreign").attr("TEXT");
  }
  bool has_methods(const Tracer&, const Value&) const override { return true; }
  Answer text(Tracer&, const Value& value, const std::string& form, nb::handle) const override {
    return filled_by(value, form);
  }
  Precedence precedence() const override { return Precedence::Strings; }
  Answer binary(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    if (op != Operator::Add) return std::nullopt;
    raise_by_type(t, "binary", info(op).symbol, {a, b});
    const auto shown = [&](const Value& text) {
      return text.is<Characters>() ? text_of_value(t, text, "{}", node) : text;
    };
    return joined_text(t, {shown(a), shown(b)});
  }

 protected:
  [[noreturn]] static void refuse_characters(Tracer& t, nb::handle node) {
    unsupported(t, node, "iterating over a text that is not known when compiling",
                "print or return the text");
  }
  ~StringKind() = default;
};

/// A format string that is filled by values.
class FilledKind final : public KindOfParts<String, &String::parts, StringKind> {
 public:
  bool same_form(const Value& a, const Value& b) const override {
    return a.as<String>()->form == b.as<String>()->form;
  }
  std::optional<Description> describe(Tracer& t, const Value& value, Outward& outward) const override {
    const String& text = *value.as<String>();
    return Description{described::Text{nb::str(text.form.c_str(), text.form.size())},
                       descriptions_of(t, *text.parts, outward)};
  }
  Answer text(Tracer&, const Value& value, const std::string& form, nb::handle) const override {
    return form == "{}" || form == "{!s}" ? value : filled_by(value, form);
  }
  void refuse_iterate(Tracer& t, const Value&, nb::handle node) const override { refuse_characters(t, node); }
  Answer length(Tracer& t, const Value&, nb::handle node) const override {
    unsupported(t, node, "the length of a text that is not known when compiling", "print or return the text");
  }
};

/// Characters that are data of run time.
class CharactersKind final : public KindOfParts<Characters, &Characters::codes, StringKind> {
 public:
  Answer join(Tracer& t, const Value& a, const Value& b, const std::string& what) const override {
    const Value& own = a.is<Characters>() ? a : b;
    if (is_character(own) && Strings::may_be_character(a.is<Characters>() ? b : a))
      return Characters{share(Value(Scalar{Kind::py_int(), {}}))};
    return ValueKind::join(t, a, b, what);
  }
  void carry(Tracer& t, const Value& shape, const Value& actual, Nodes& out) const override {
    const bool is_known = Strings::is_known(actual);
    ValueKind::carry(t, shape, is_known ? Strings(t).characters_of(actual) : actual, out);
  }
  Answer form(Tracer& t, const Value& value) const override {
    return is_character(value) ? form_of_parts(t, value) : std::nullopt;
  }
  void numbers(Tracer& t, const Value& form, const Value& element, Nodes& out) const override {
    const bool is_known = Strings::is_known(element);
    ValueKind::numbers(t, form, is_known ? Strings(t).characters_of(element) : element, out);
  }
  void convert(Tracer& t, const Value& from, const Value& to, Conversion& columns) const override {
    if (!Strings::is_known(from)) return ValueKind::convert(t, from, to, columns);
    const Value character = Strings(t).characters_of(from);
    columns.fill(character.as<Characters>()->codes->as<Scalar>()->node);
  }
  std::optional<Description> describe(Tracer& t, const Value& value, Outward& outward) const override {
    return Description{described::Characters{}, descriptions_of(t, parts(value), outward)};
  }
  void refuse_iterate(Tracer& t, const Value& value, nb::handle node) const override {
    if (is_character(value)) refuse_characters(t, node);
  }
  std::optional<Trips> trips(Tracer& t, const Value& value, nb::handle) const override {
    const Characters text = *value.as<Characters>();
    return Trips{Strings(t).length(text), [&t, text](NodeId k) { return Strings(t).character(text, k); }};
  }
  Answer reversed(Tracer& t, const Value& value, nb::handle node) const override {
    return reversed_slice(t, value, node);
  }
  bool has_open_length(const Tracer&, const Value&) const override { return true; }
  Answer item(Tracer& t, const Value& value, const Value& index, nb::handle node) const override {
    return Strings(t).item(value, index, node);
  }
  Answer length(Tracer& t, const Value& value, nb::handle) const override {
    return Scalar{Kind::py_int(), Strings(t).length(*value.as<Characters>())};
  }
  std::optional<NodeId> truth(Tracer& t, const Value& value, nb::handle) const override {
    const NodeId length = Strings(t).length(*value.as<Characters>());
    return t.builder->make(Op::not_equal, {length, t.builder->index(0)});
  }
  Answer compare(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    return Strings(t).compare(op, a, b, node);
  }
  Answer contains(Tracer& t, const Value& value, const Value& wanted, nb::handle node) const override {
    return Strings(t).contains(wanted, value, node);
  }
  Answer contained(Tracer& t, const Value& value, const Value& container, nb::handle node) const override {
    return Strings(t).contains(value, container, node);
  }
};

}  // namespace

INGOT_VALUE_KIND(String, FilledKind)
INGOT_VALUE_KIND(Characters, CharactersKind)

}  // namespace ingot::frontend
