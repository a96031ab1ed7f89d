#pragma once

#include "frontend/evaluator_parts.h"

namespace ingot::frontend {

/// Texts whose characters are known only when the call runs (`Characters`). A known text becomes one where it
/// is iterated, or asked for an element at a place that is not known: one of the caller's is described as an
/// array of its code points from then on, others are put into one. Which of them stay known is decided once
/// for a function: where characters cannot do what is done with them, all texts stay known.
class Evaluator::Texts {
 public:
  explicit Texts(Evaluator& evaluator) : e_(evaluator) {}

  /// Whether a value is a text, known or not.
  static bool is_text(const Value& value);
  static bool is_known(const Value& value);
  /// A known text as characters; asks for it where the caller has it; none: it stays known.
  std::optional<Value> opened(const Value& text, bool is_iterated, nb::handle node);
  /// What a known text is as characters: a character, or the code points of more.
  Value characters_of(const Value& text);
  /// Whether a text is known, and is a character or none.
  static bool may_be_character(const Value& text);

  NodeId length(const Characters& text);
  Value character(const Characters& text, NodeId place);  ///< of more than one, at a place that there is
  Value item(const Value& text, const Value& index, nb::handle node);
  Value ord(const Value& text);
  /// A comparison, or `in`, where one side is characters; none: texts have no say in it.
  std::optional<Value> compare(const std::string& ast, const Value& a, const Value& b, nb::handle node);
  /// An item of a dict whose keys are known.
  Value item_of(const HeapObject& dict, const Value& key, nb::handle node);
  /// Refuses characters among the arguments of a builtin that does not know them.
  void need_known(const Call& call);

 private:
  NodeId code_of(const Value& character);
  Value codes_of(const Value& text);
  std::optional<Value> contains(const Value& part, const Value& whole, nb::handle node);
  Value by_library(const char* name, std::vector<Value> arguments, nb::handle node);

  Evaluator& e_;
};

}  // namespace ingot::frontend
