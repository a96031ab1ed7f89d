#pragma once

#include "frontend/kinds/value_kind.h"

namespace ingot::frontend {

/// Strings whose characters are known only at run time (`Characters`). A known string becomes one where it is
/// iterated over, or indexed by an unknown number: an argument is described as an array of its code points
/// from then on, another string is copied into such an array. This is decided once for a function: if
/// `Characters` do not support an operation that it uses, all strings remain known.
class Strings {
 public:
  explicit Strings(Tracer& t) : t_(t) {}

  /// Whether a value is a string, known or not.
  static bool is_string(const Value& value);
  static bool is_known(const Value& value);
  /// A known string as `Characters`; asks for that if it is an argument; none: it remains known.
  std::optional<Value> opened(const Value& text, bool is_iterated, nb::handle node);
  /// The `Characters` of a known string: one character, or an array of code points.
  Value characters_of(const Value& text);
  /// Whether a string is known and has at most one character.
  static bool may_be_character(const Value& text);

  NodeId length(const Characters& text);
  Value character(const Characters& text, NodeId position);  ///< of an array of code points, at a valid index
  Value item(const Value& text, const Value& index, nb::handle node);
  Value ord(const Value& text);
  /// A comparison of operands of which one is `Characters`; none: strings do not decide it.
  std::optional<Value> compare(Operator op, const Value& a, const Value& b, nb::handle node);
  /// `part in whole`, of which one is `Characters`; none: the same.
  std::optional<Value> contains(const Value& part, const Value& whole, nb::handle node);
  /// An item of a dict whose keys are known.
  Value item_of(const HeapObject& dict, const Value& key, nb::handle node);
  /// Refuses `Characters` among the arguments of a builtin that does not support them.
  void need_known(const Call& call);

 private:
  NodeId code_of(const Value& character);
  Value codes_of(const Value& text);
  Value by_library(const char* name, std::vector<Value> arguments, nb::handle node);

  Tracer& t_;
};

/// A string that is a value in a hole, such as `{!r}`.
inline Value filled_by(const Value& value, const std::string& form) {
  return String{form, share(std::vector<Value>{value})};
}

/// `format % given`; none: the format is no known string.
std::optional<Value> formatted(Tracer& t, const Value& format, const Value& given, nb::handle node);

}  // namespace ingot::frontend
