#include "frontend/value.h"

namespace ingot::frontend {

Value::Value() noexcept = default;
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

void rethrow_lack_of_memory(const nb::python_error& error) {
  // A SystemError is how Python reports C code that fails without an exception.
  if (error.matches(PyExc_MemoryError) || error.matches(PyExc_SystemError)) throw nb::python_error(error);
}

}  // namespace ingot::frontend

template class std::vector<ingot::frontend::Value>;
