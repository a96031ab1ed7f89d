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

/// A place in a source file: 1-based line, 0-based columns in bytes of UTF-8, as Python's `ast` counts them.
/// Line 0: no place.
struct Place {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t end_column = 0;
  bool operator==(const Place&) const = default;
};

/// A place in a function of this name.
struct Site {
  Place place;
  std::string function;
};

/// What a person wrote cannot be read: a malformed `.ir` text, a signature string. The message starts with
/// the place.
class UserError : public std::runtime_error {
 public:
  UserError(const Place& place, const std::string& message)
      : std::runtime_error(place.file + ":" + std::to_string(place.line) + ":" +
                           std::to_string(place.column + 1) + ": " + message) {}
};

/// Python code that Ingot does not compile: what it is, where it stands, what to write instead.
class Unsupported : public std::runtime_error {
 public:
  Unsupported(Place where, const std::string& reason, std::string remedy)
      : std::runtime_error(reason), place(std::move(where)), advice(std::move(remedy)) {}
  Place place;
  std::string advice;
  std::vector<Site> sites{};  ///< the place and the calls that led there, the innermost first
  /// What is written at these places, each with the calls that led there, is put where `{}` stands in the
  /// reason.
  std::vector<std::vector<Site>> quoted{};
  std::vector<std::string> operands{};  ///< what the names in the refused expression are: "`x` is an int"
};

/// A fault of Ingot itself: the pass or room, and what was found.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Nobody waits any more for what is being compiled.
class Abandoned : public std::exception {
 public:
  const char* what() const noexcept override { return "nobody waits for what was being compiled"; }
};

/// Memory has run out amid the compiler's work, at a place that it does not come back from: nothing more is
/// compiled in this process. What is compiled runs on.
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

/// What an optional holds, which must hold something.
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
