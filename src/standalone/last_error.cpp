#include "standalone/last_error.h"

#include <exception>
#include <utility>

#include "runtime/abi.h"
#include "standalone/library.h"

namespace ingot::standalone {

namespace {

struct LastError {
  Failure failure;
  std::string text;
};

thread_local LastError last;

std::string text_of(const Failure& failure) {
  std::string text(base::name_of(failure.kind));
  if (!failure.message.empty()) text += ": " + failure.message;
  if (failure.file.empty()) return text;
  text += " (" + failure.file + ":" + std::to_string(failure.line);
  if (!failure.function.empty()) text += ", in " + failure.function;
  return text + ")";
}

}  // namespace

int32_t remember(Failure&& failure) noexcept {
  try {
    last.text = text_of(failure);
    last.failure = std::move(failure);
  } catch (const std::exception&) {
    return remember_no_memory();
  }
  return runtime::status_of(last.failure.kind);
}

int32_t remember(base::ExceptionKind kind, const char* message) noexcept {
  try {
    return remember({.kind = kind, .message = message});
  } catch (const std::exception&) {
    return remember_no_memory();
  }
}

int32_t remember_no_memory() noexcept {
  last.failure = {.kind = base::ExceptionKind::MemoryError};
  last.text = "MemoryError";  // short strings need no memory
  return runtime::status_of(last.failure.kind);
}

}  // namespace ingot::standalone

using ingot::standalone::last;

const char* ingot_standalone_error() { return last.text.c_str(); }
const char* ingot_standalone_error_kind() {
  return last.text.empty() ? "" : ingot::base::name_of(last.failure.kind).data();
}
const char* ingot_standalone_error_message() { return last.failure.message.c_str(); }
const char* ingot_standalone_error_file() { return last.failure.file.c_str(); }
int32_t ingot_standalone_error_line() { return last.failure.line; }
const char* ingot_standalone_error_function() { return last.failure.function.c_str(); }
