#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ingot::base {

/// A location in a source file: 1-based line, 0-based columns in bytes of UTF-8, as Python's `ast` counts
/// them. Line 0: no location.
struct SourceLocation {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t end_column = 0;
  bool operator==(const SourceLocation&) const = default;
};

/// A location in a function of this name.
struct Site {
  SourceLocation location;
  std::string function;
};

/// A person's input that cannot be parsed: a malformed `.ir` text, a signature string. The message starts
/// with the location.
class UserError : public std::runtime_error {
 public:
  UserError(const SourceLocation& location, const std::string& message)
      : std::runtime_error(location.file + ":" + std::to_string(location.line) + ":" +
                           std::to_string(location.column + 1) + ": " + message) {}
};

/// Python code that Ingot does not compile: what it is, where it is, what to write instead.
class Unsupported : public std::runtime_error {
 public:
  Unsupported(SourceLocation where, const std::string& reason, std::string remedy)
      : std::runtime_error(reason), location(std::move(where)), advice(std::move(remedy)) {}
  SourceLocation location;
  std::string advice;
  std::vector<Site> sites{};  ///< the location and the calls that led there, the innermost first
  /// Locations, each with the calls that led there; what the source has there replaces `{}` in the reason.
  std::vector<std::vector<Site>> quoted{};
  std::vector<std::string> operands{};  ///< what the names in the refused expression are: "`x` is an int"
};

/// A fault of Ingot itself: the pass or component, and what was found.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Thrown when nobody waits for a compilation any more.
class Abandoned : public std::exception {
 public:
  const char* what() const noexcept override { return "nobody waits for what was being compiled"; }
};

/// Memory has run out during the compiler's work, at a point that it cannot return from: nothing more is
/// compiled in this process. Compiled code still runs.
class NoMemoryToCompile : public std::bad_alloc {
 public:
  explicit NoMemoryToCompile(bool is_earlier) : is_earlier_(is_earlier) {}
  const char* what() const noexcept override {
    return is_earlier_ ? "compiling ran out of memory earlier in this process, which can compile no more; "
                         "what is compiled, or in the cache on disk, still runs"
                       : "compiling ran out of memory; this process can compile no more, but what is "
                         "compiled, or in the cache on disk, still runs";
  }

 private:
  bool is_earlier_;
};

/// The value of an optional, which has to have one.
template <class T>
T known(std::optional<T> value) {
  if (!value) throw InternalError("an optional without a value");
  return *std::move(value);
}

/// Throws InternalError with the condition's text unless it holds.
#define INGOT_ASSERT(condition, message)                                                              \
  do {                                                                                                \
    if (!(condition)) throw ::ingot::base::InternalError(std::string(message) + " [" #condition "]"); \
  } while (0)

}  // namespace ingot::base
