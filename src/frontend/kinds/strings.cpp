#include "frontend/kinds/strings.h"

#include "frontend/kinds/sequences.h"
#include "frontend/kinds/structure.h"

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

bool Evaluator::Strings::is_known(const Value& value) {
  const Static* s = value.as<Static>();
  return s != nullptr && PyUnicode_CheckExact(s->object.ptr());
}

bool Evaluator::Strings::is_string(const Value& value) {
  return is_known(value) || value.is<Characters>() || value.is<String>();
}

bool Evaluator::Strings::may_be_character(const Value& text) { return is_known(text) && count_in(text) <= 1; }

std::optional<Value> Evaluator::Strings::opened(const Value& text, bool is_iterated, nb::handle node) {
  if (!e_.request_.opens_texts || !is_known(text) || e_.frame_->of_library) return std::nullopt;
  const auto given = e_.text_arguments_.find(text.as<Static>()->object.ptr());
  if (given != e_.text_arguments_.end())
    throw NeedsFact::of(given->second, e_.location_of(node), NeedsFact::Kind::Characters);
  if (is_iterated && static_cast<size_t>(count_in(text)) <= kMostCharacters) return std::nullopt;
  e_.has_characters_ = true;
  return Characters{share(codes_of(text))};
}

Value Evaluator::Strings::characters_of(const Value& text) {
  if (!may_be_character(text)) return Characters{share(codes_of(text))};
  const int64_t code = count_in(text) == 0 ? kEmpty : character_of(text, 0);
  return Characters{share(Value(Scalar{Kind::py_int(), e_.builder_->index(code)}))};
}

/// An array of the code points of a string.
Value Evaluator::Strings::codes_of(const Value& text) {
  ir::Builder& builder = *e_.builder_;
  if (const Characters* characters = text.as<Characters>()) {
    if (!is_character(text)) return *characters->codes;
    const NodeId code = code_of(text);
    const NodeId length = this->length(*characters);
    const NodeId one = builder.index(1);
    const Array made = e_.new_memory({&one, 1}, DType::Int64);
    builder.make(Op::store, {made.node, builder.index(0), code});
    Array part = made;
    part.node = e_.leading(made.node, length);
    return part;
  }
  const Py_ssize_t size = count_in(text);
  const NodeId length = builder.index(size);
  const Array made = e_.new_memory({&length, 1}, DType::UInt32);
  for (Py_ssize_t i = 0; i < size; ++i) {
    const NodeId code = builder.constant(static_cast<uint32_t>(character_of(text, i)));
    builder.make(Op::store, {made.node, builder.index(i), code});
  }
  return made;
}

NodeId Evaluator::Strings::code_of(const Value& character) {
  const Value opened = is_known(character) ? characters_of(character) : character;
  return opened.as<Characters>()->codes->as<Scalar>()->node;
}

NodeId Evaluator::Strings::length(const Characters& text) {
  ir::Builder& builder = *e_.builder_;
  if (const Array* codes = text.codes->as<Array>()) return builder.length(codes->node, 0);
  const NodeId is_empty = builder.make(Op::less, {text.codes->as<Scalar>()->node, builder.index(0)});
  return builder.make(Op::select, {is_empty, builder.index(0), builder.index(1)});
}

Value Evaluator::Strings::character(const Characters& text, NodeId position) {
  const NodeId code = e_.builder_->make(Op::load, {text.codes->as<Array>()->node, position});
  return Characters{share(Value(Scalar{Kind::py_int(), e_.builder_->cast(code, DType::Int64)}))};
}

Value Evaluator::Strings::item(const Value& text, const Value& index, nb::handle node) {
  const Characters whole{share(codes_of(text))};
  if (index.is<Slice>()) return Characters{share(e_.index_array(*whole.codes->as<Array>(), index, node))};
  const std::optional<Kind> kind = e_.kind_of(index);
  if (!kind || index.is<Array>() || !(base::is_int(kind->dtype()) || *kind == Kind::py_bool())) {
    e_.raise_by_type("subscript", "", {text, index});
    e_.unsupported(node, "an element of a " + e_.type_name(text), "use an array, a list, a tuple or a dict");
  }
  e_.need_index_sized(index);
  return character(whole, e_.staged_index_of(index, length(whole), "string index out of range"));
}

Value Evaluator::Strings::ord(const Value& text) {
  const Characters& characters = *text.as<Characters>();
  const NodeId length = this->length(characters);
  e_.check(e_.builder_->make(Op::equal, {length, e_.builder_->index(1)}), ExceptionKind::TypeError,
           "ord() expected a character, but string of length {} found", {length});
  if (const Scalar* code = characters.codes->as<Scalar>()) return *code;
  return *character(characters, e_.builder_->index(0)).as<Characters>()->codes;
}

Value Evaluator::Strings::by_library(const char* name, std::vector<Value> arguments, nb::handle node) {
  return call_library(e_, "strings", name, std::move(arguments), node);
}

std::optional<Value> Evaluator::Strings::compare(Operator op, const Value& a, const Value& b,
                                                 nb::handle node) {
  if (a.is<String>() || b.is<String>() || !is_string(a) || !is_string(b)) {
    const Value& other = a.is<Characters>() ? b : a;
    const std::optional<Kind> kind = e_.kind_of(other);
    const bool differs =
        is_none(other) || other.is<Tuple>() || other.is<Reference>() || (kind && kind->is_python());
    if (is_equality(op) && differs) return Value(Static{nb::bool_(op == Operator::NotEq)});
    return std::nullopt;
  }
  ir::Builder& builder = *e_.builder_;
  const Op by_code = base::known(info(op).op);
  const auto is_one = [](const Value& v) { return is_character(v) || may_be_character(v); };
  if (is_one(a) && is_one(b)) return e_.as_bool(builder.make(by_code, {code_of(a), code_of(b)}));
  const auto has_other_length = [](const Value& character, const Value& known) {
    return is_character(character) && is_known(known) && count_in(known) > 1;
  };
  if (is_equality(op) && (has_other_length(a, b) || has_other_length(b, a)))
    return Value(Static{nb::bool_(op == Operator::NotEq)});
  const char* const function = is_equality(op) ? "equal" : "order";
  const Value result = by_library(function, {codes_of(a), codes_of(b)}, node);
  if (is_equality(op)) return e_.answer(op, result, node);
  return e_.compare(op, result, Static{nb::int_(0)}, node);
}

std::optional<Value> Evaluator::Strings::contains(const Value& part, const Value& whole, nb::handle node) {
  std::vector<Value> members;
  if (whole.is<Set>()) {
    members = e_.elements_of_set(*whole.as<Set>(), node);
  } else if (whole.is<Reference>() && !e_.is_list(whole) && e_.mapping(whole) == nullptr) {
    for (const nb::object& key : e_.contents(*whole.as<Reference>(), node).keys)
      members.push_back(Static{key});
  } else if (is_known(whole) && is_character(part) &&
             static_cast<size_t>(count_in(whole)) <= kMostCharacters) {
    members.push_back(Static{nb::str("")});
    for (const nb::handle each : whole.as<Static>()->object)
      members.push_back(Static{nb::borrow<nb::object>(each)});
  } else if (is_string(whole) && !whole.is<String>()) {
    if (is_string(part) && !part.is<String>())
      return by_library("contains", {codes_of(whole), codes_of(part)}, node);
    if (!is_string(part) && (e_.kind_of(part) || is_none(part) || part.is<Tuple>() || part.is<Reference>()))
      e_.raise(ExceptionKind::TypeError,
               "'in <string>' requires string as left operand, not " + e_.type_name(part));
    e_.unsupported(node, "`in` of a text and a " + e_.type_name(part), "compare with ==");
  } else {
    return std::nullopt;
  }
  NodeId found = e_.builder_->constant(false);
  for (const Value& member : members) {
    const NodeId is_member = e_.truth(e_.equal_members(part, member, node), node);
    found = e_.builder_->make(Op::bitwise_or, {found, is_member});
  }
  return e_.as_bool(found);
}

Value Evaluator::Strings::item_of(const HeapObject& dict, const Value& key, nb::handle node) {
  NodeId position = e_.builder_->index(-1);
  std::vector<Value> values;
  for (size_t i = 0; i < dict.keys.size(); ++i) {
    if (!is_known(Static{dict.keys[i]})) continue;
    const NodeId is_key = e_.truth(e_.compare(Operator::Eq, key, Static{dict.keys[i]}, node), node);
    position = e_.builder_->make(Op::select,
                                 {is_key, e_.builder_->index(static_cast<int64_t>(values.size())), position});
    values.push_back(dict.values[i]);
  }
  const auto missing = [&]() -> Value { e_.raise_key_error(key); };
  if (values.empty()) return missing();
  const NodeId is_there = e_.builder_->make(Op::greater_equal, {position, e_.builder_->index(0)});
  return e_.fork(
      is_there, [&] { return e_.open(e_.pick_staged(values, position, node), "the item", node); }, missing);
}

Value Evaluator::builtin_ord(Call& call) {
  const Value text = need(call, 0, "character");
  finish(call, 1);
  if (text.is<Characters>()) return Strings(*this).ord(text);
  if (text.is<String>())
    unsupported(call.node, "`ord` of a text that has parts which are not known when compiling",
                "take a character of it");
  return by_host(call, "what a character is made of");
}

Value Evaluator::builtin_chr(Call& call) {
  const Value number = need(call, 0, "i");
  finish(call, 1);
  if (number.is<Static>()) return by_host(call, "what a character is made of");
  const NodeId code = stage_index(number);
  check(both(builder_->make(Op::greater_equal, {code, builder_->index(0)}),
             builder_->make(Op::less, {code, builder_->index(0x110000)})),
        ExceptionKind::ValueError, "chr() arg not in range(0x110000)");
  has_characters_ = true;
  return Characters{share(Value(Scalar{Kind::py_int(), code}))};
}

void Evaluator::Strings::need_known(const Call& call) {
  static const std::set<std::string> kKnown = {"len",       "ord",  "print",   "isinstance", "type",
                                               "enumerate", "zip",  "list",    "tuple",      "str",
                                               "repr",      "bool", "reversed"};
  if (kKnown.contains(call.name)) return;
  const std::function<bool(const Value&)> has_characters = [&](const Value& value) {
    return value.is<Characters>() || std::ranges::any_of(parts_of(value), has_characters);
  };
  if (std::ranges::any_of(call.values(), has_characters)) {
    e_.unsupported(call.node, "`" + call.name + "` of a text that is not known when compiling",
                   "use len, ord, ==, `in`, indices and loops over it");
  }
}

namespace {

/// What strings have in common that are not known when compiling.
class StringKind : public BuiltinKind {
 public:
  std::string type_name(const Evaluator&, const Value&) const override { return "str"; }
  nb::object stand_in(const Evaluator&, const Value&) const override {
    return imported("ingot._objects.foreign").attr("TEXT");
  }
  bool has_methods(const Evaluator&, const Value&) const override { return true; }
  Precedence precedence() const override { return Precedence::Strings; }
  Answer binary(Evaluator& e, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    if (op != Operator::Add) return std::nullopt;
    e.raise_by_type("binary", info(op).symbol, {a, b});
    const auto shown = [&](const Value& text) {
      return text.is<Characters>() ? e.text_of_value(text, "{}", node) : text;
    };
    return e.joined_text({shown(a), shown(b)});
  }

 protected:
  [[noreturn]] static void refuse_characters(Evaluator& e, nb::handle node) {
    e.unsupported(node, "iterating over a text that is not known when compiling", "print or return the text");
  }
  ~StringKind() = default;
};

/// A format string that is filled by values.
class FilledKind final : public KindOfParts<String, &String::parts, StringKind> {
 public:
  bool same_form(const Value& a, const Value& b) const override {
    return a.as<String>()->form == b.as<String>()->form;
  }
  std::optional<Description> describe(Evaluator& e, const Value& value, Outward& outward) const override {
    const String& text = *value.as<String>();
    return Description{described::Text{nb::str(text.form.c_str(), text.form.size())},
                       descriptions_of(e, *text.parts, outward)};
  }
  void refuse_iterate(Evaluator& e, const Value&, nb::handle node) const override {
    refuse_characters(e, node);
  }
  Answer length(Evaluator& e, const Value&, nb::handle node) const override {
    e.unsupported(node, "the length of a text that is not known when compiling", "print or return the text");
  }
};

/// Characters that are data of run time.
class CharactersKind final : public KindOfParts<Characters, &Characters::codes, StringKind> {
 public:
  Answer join(Evaluator& e, const Value& a, const Value& b, const std::string& what) const override {
    const Value& own = a.is<Characters>() ? a : b;
    if (is_character(own) && Strings::may_be_character(a.is<Characters>() ? b : a))
      return Characters{share(Value(Scalar{Kind::py_int(), {}}))};
    return ValueKind::join(e, a, b, what);
  }
  void carry(Evaluator& e, const Value& shape, const Value& actual, Nodes& out) const override {
    const bool is_known = Strings::is_known(actual);
    ValueKind::carry(e, shape, is_known ? Strings(e).characters_of(actual) : actual, out);
  }
  Answer form(Evaluator& e, const Value& value) const override {
    return is_character(value) ? form_of_parts(e, value) : std::nullopt;
  }
  void numbers(Evaluator& e, const Value& form, const Value& element, Nodes& out) const override {
    const bool is_known = Strings::is_known(element);
    ValueKind::numbers(e, form, is_known ? Strings(e).characters_of(element) : element, out);
  }
  void convert(Evaluator& e, const Value& from, const Value& to, Conversion& columns) const override {
    if (!Strings::is_known(from)) return ValueKind::convert(e, from, to, columns);
    const Value character = Strings(e).characters_of(from);
    columns.fill(character.as<Characters>()->codes->as<Scalar>()->node);
  }
  std::optional<Description> describe(Evaluator& e, const Value& value, Outward& outward) const override {
    return Description{described::Characters{}, descriptions_of(e, parts(value), outward)};
  }
  void refuse_iterate(Evaluator& e, const Value& value, nb::handle node) const override {
    if (is_character(value)) refuse_characters(e, node);
  }
  std::optional<Trips> trips(Evaluator& e, const Value& value, nb::handle) const override {
    const Characters text = *value.as<Characters>();
    return Trips{Strings(e).length(text), [&e, text](NodeId k) { return Strings(e).character(text, k); }};
  }
  Answer reversed(Evaluator& e, const Value& value, nb::handle node) const override {
    return reversed_slice(e, value, node);
  }
  bool has_open_length(const Evaluator&, const Value&) const override { return true; }
  Answer item(Evaluator& e, const Value& value, const Value& index, nb::handle node) const override {
    return Strings(e).item(value, index, node);
  }
  Answer length(Evaluator& e, const Value& value, nb::handle) const override {
    return Scalar{Kind::py_int(), Strings(e).length(*value.as<Characters>())};
  }
  std::optional<NodeId> truth(Evaluator& e, const Value& value, nb::handle) const override {
    const NodeId length = Strings(e).length(*value.as<Characters>());
    return e.builder_->make(Op::not_equal, {length, e.builder_->index(0)});
  }
  Answer compare(Evaluator& e, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    return Strings(e).compare(op, a, b, node);
  }
  Answer contains(Evaluator& e, const Value& value, const Value& wanted, nb::handle node) const override {
    return Strings(e).contains(wanted, value, node);
  }
  Answer contained(Evaluator& e, const Value& value, const Value& container, nb::handle node) const override {
    return Strings(e).contains(value, container, node);
  }
};

}  // namespace

INGOT_VALUE_KIND(String, FilledKind)
INGOT_VALUE_KIND(Characters, CharactersKind)

}  // namespace ingot::frontend
