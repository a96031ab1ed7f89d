#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace ingot::base {

/// The exceptions that compiled code raises, by the names Python knows them under. Numbers are part of the
/// entry ABI: append only.
// clang-format off
#define INGOT_EXCEPTIONS(X)                                                                              \
  X(ValueError) X(TypeError) X(IndexError) X(KeyError) X(ZeroDivisionError) X(OverflowError)             \
  X(ArithmeticError) X(FloatingPointError) X(AssertionError) X(AttributeError) X(NameError)              \
  X(UnboundLocalError) X(RuntimeError) X(RecursionError) X(StopIteration) X(LookupError)                 \
  X(NotImplementedError) X(Exception) X(MemoryError) X(KeyboardInterrupt) X(LinAlgError)                 \
  X(TypeChangeError) X(BrokenGroupError)
// clang-format on

enum class ExceptionKind : uint8_t {
#define X(name) name,
  INGOT_EXCEPTIONS(X)
#undef X
};

/// By number.
inline constexpr std::string_view kExceptionNames[] = {
#define X(name) #name,
    INGOT_EXCEPTIONS(X)
#undef X
};
inline constexpr int kExceptionCount = static_cast<int>(std::size(kExceptionNames));

constexpr std::string_view name_of(ExceptionKind kind) { return kExceptionNames[static_cast<uint8_t>(kind)]; }

constexpr std::optional<ExceptionKind> exception_from_name(std::string_view name) {
#define X(candidate) \
  if (name == #candidate) return ExceptionKind::candidate;
  INGOT_EXCEPTIONS(X)
#undef X
  return std::nullopt;
}

/// Whether an exception leaves the whole call at once: nothing in compiled code catches it.
constexpr bool leaves_at_once(ExceptionKind kind) {
  return kind == ExceptionKind::MemoryError || kind == ExceptionKind::KeyboardInterrupt;
}

/// Whether an exception of a thread of a launch means that other threads have ended: theirs come first.
constexpr bool follows_others(ExceptionKind kind) { return kind == ExceptionKind::BrokenGroupError; }

/// Which exceptions a call of the IR catches, by its `catches`: 0 none, 1 all that do not leave at once, 2
/// RecursionError alone.
constexpr bool catches(int64_t how, ExceptionKind kind) {
  return how == 1 ? !leaves_at_once(kind) : how == 2 && kind == ExceptionKind::RecursionError;
}

}  // namespace ingot::base
