#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "ir/interpreter.h"
#include "ir/text.h"
#include "ir/verifier.h"

namespace ingot::ir {

/// Values for and from `interpret`.
template <class T>
Value number(T value) {
  return base::Scalar::of(value);
}
template <class T>
T as_number(const Value& value) {
  return std::get<base::Scalar>(value).as<T>();
}
template <class T>
Value array_of(std::vector<int64_t> lengths, const std::vector<T>& elements) {
  ArrayValue array{base::dtype_for<T>(), std::move(lengths),
                   std::vector<std::byte>(elements.size() * sizeof(T))};
  if (!elements.empty()) std::memcpy(array.data.data(), elements.data(), array.data.size());
  return std::make_shared<const ArrayValue>(std::move(array));
}
template <class T>
std::vector<T> elements_of(const Value& value) {
  const ArrayValue& array = *std::get<std::shared_ptr<const ArrayValue>>(value);
  std::vector<T> elements(array.data.size() / sizeof(T));
  if (!elements.empty()) std::memcpy(elements.data(), array.data.data(), array.data.size());
  return elements;
}
inline std::vector<int64_t> lengths_of(const Value& value) {
  return std::get<std::shared_ptr<const ArrayValue>>(value)->lengths;
}

/// A view of a vector's memory, in C order.
template <class T>
ViewValue view_of(std::vector<T>& memory, std::vector<int64_t> lengths = {}, Space space = Space::Host) {
  auto block = std::make_shared<MemoryBlock>();
  block->data = reinterpret_cast<std::byte*>(memory.data());
  block->size = static_cast<int64_t>(memory.size() * sizeof(T));
  block->space = space;
  if (lengths.empty()) lengths = {static_cast<int64_t>(memory.size())};
  std::vector<int64_t> strides(lengths.size());
  int64_t stride = sizeof(T);
  for (size_t i = lengths.size(); i-- > 0; stride *= lengths[i]) strides[i] = stride;
  return {base::dtype_for<T>(), block, 0, lengths, strides};
}

/// A program as text: parsed, verified at its stage, and run; `@f` is called.
class Program {
 public:
  explicit Program(std::string_view text, Stage stage = Stage::Array) : module_(parse(text, "test.ir")) {
    for (uint32_t i = 0; i < module_->function_count(); ++i)
      for (const Fault& fault : verify(*module_->function(FunctionId(i)), stage))
        ADD_FAILURE() << to_string(*module_->function(FunctionId(i)), fault);
  }
  Outcome run(const std::vector<Value>& arguments, InterpretOptions options = {}) const {
    return interpret(*module_, *module_->find("f"), arguments, options);
  }
  /// The results of a run that must not raise.
  std::vector<Value> results(const std::vector<Value>& arguments, InterpretOptions options = {}) const {
    Outcome outcome = run(arguments, options);
    EXPECT_FALSE(outcome.raised) << outcome.exception.message;
    return outcome.results;
  }
  /// The message of the InternalError that a run must end with.
  std::string fault(const std::vector<Value>& arguments, InterpretOptions options = {}) const {
    try {
      run(arguments, options);
    } catch (const base::InternalError& error) {
      return error.what();
    }
    ADD_FAILURE() << "no InternalError";
    return "";
  }

 private:
  std::unique_ptr<Module> module_;
};

}  // namespace ingot::ir
