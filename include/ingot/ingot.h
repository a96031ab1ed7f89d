#pragma once

#include <memory>
#include <string_view>

#include "ingot/call.h"

/// Ingot's C++ API: compiling functions given in the text form of the IR, and calling them.
namespace ingot {

/// Compiles for the CPU it runs on. One is used by one thread at a time; what it compiled outlives it.
class Compiler {
 public:
  Compiler();
  ~Compiler();
  Compiler(Compiler&&) noexcept;
  Compiler& operator=(Compiler&&) noexcept;

  /// The function `@name` of a text. Throws std::runtime_error, with the location, for a text that cannot be
  /// read or has no such function.
  Function compile(std::string_view text, std::string_view name);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ingot
