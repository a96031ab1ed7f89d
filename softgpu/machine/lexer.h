#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace softgpu {

/// PTX that cannot be loaded: not PTX, or something of it that the software device does not have. The message
/// begins with the line of the PTX and names the op or directive.
class LoadError : public std::runtime_error {
 public:
  LoadError(uint32_t line, const std::string& message)
      : std::runtime_error("PTX line " + std::to_string(line) + ": " + message) {}
};

/// PTX whose variables the device has no memory for.
class NoMemory : public LoadError {
 public:
  using LoadError::LoadError;
};

/// A piece of PTX text. Names include their dots and colons, so that `ld.global.f32`, `.b32` and `%tid.x` are
/// one each; numbers are those of the text, unread.
struct Token {
  enum Kind : uint8_t { Name, Number, Text, Sign, End };
  Kind kind = End;
  std::string_view text;  ///< a Text's without its quotes
  uint32_t line = 0;
};

/// The tokens of a PTX text, without comments, with an End at the end. They point into the text. Throws
/// LoadError at what is no PTX.
std::vector<Token> tokens_of(std::string_view text);

}  // namespace softgpu
