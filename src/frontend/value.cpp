#include "frontend/value.h"

namespace ingot::frontend {

Value::Value() noexcept = default;
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

}  // namespace ingot::frontend

template class std::vector<ingot::frontend::Value>;
