#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace ingot::base {

/// What a refusal is about, where somebody decides by it.
enum class Refusal : uint8_t {
  Other,
  Race,      ///< iterations of a loop over `prange` that may depend on each other
  Argument,  ///< an argument, or a part of one, of a kind that compiled code does not have
};
constexpr std::string_view name_of(Refusal code) {
  constexpr std::string_view kNames[] = {"other", "race", "argument"};
  return kNames[static_cast<uint8_t>(code)];
}

/// A refusal with its code. To be rethrown, not copied, by who sees an Unsupported.
class Refused : public Unsupported {
 public:
  Refused(Unsupported refusal, Refusal about, std::string of = {})
      : Unsupported(std::move(refusal)), code(about), argument(std::move(of)) {}
  Refusal code;
  std::string argument;  ///< the name of the argument that it is about
};

/// Any refusal, with its code.
inline Refused with_code(const Unsupported& refusal) {
  if (const auto* const known = dynamic_cast<const Refused*>(&refusal)) return *known;
  return {refusal, Refusal::Other};
}

}  // namespace ingot::base
