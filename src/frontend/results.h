#pragma once

#include "frontend/evaluator_parts.h"

namespace ingot::frontend {

/// The descriptions of values that leave the function, whose leaves are added to those of `outward`.
class Evaluator::Results {
 public:
  Results(Evaluator& evaluator, Outward& outward) : e_(evaluator), outward_(outward) {}

  Description describe(const Value& given);

 private:
  std::vector<Description> all(const std::vector<Value>& values);
  Description array(const Array& array);
  Description container(const Reference& container, const Value& value);
  Description instance(const Object& instance);
  Description set(const Set& set);

  Evaluator& e_;
  Outward& outward_;
};

}  // namespace ingot::frontend
