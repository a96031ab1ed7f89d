#pragma once

#include "frontend/evaluator_parts.h"

namespace ingot::frontend {

/// The values of arguments, and of what is outside, by their descriptions: parameters of the IR, and the
/// caller's containers in the shadow heap.
class Evaluator::Parameters {
 public:
  explicit Parameters(Evaluator& evaluator) : e_(evaluator) {}

  /// `number`: of the argument that it is part of; -1: none. `is_named`: in a dict or an instance.
  Value value(const Description& given, const std::string& name, int number, bool is_named = false);
  Value array(const described::Array& given, const std::string& name, int number);

 private:
  Value container(HeapObject object, const Description& given, const std::string& name, int number,
                  bool is_named);
  std::vector<Value> parts(const Description& given, const std::string& name, int number, bool is_named);

  Evaluator& e_;
};

}  // namespace ingot::frontend
