#include "ir/relaxation.h"

#include <iterator>

namespace ingot::ir {

std::optional<Relaxation> Relaxations::named(std::string_view name) {
  for (size_t i = 0; i < std::size(kRelaxationNames); ++i)
    if (kRelaxationNames[i] == name) return static_cast<Relaxation>(i);
  return std::nullopt;
}

std::string Relaxations::text() const {
  std::string all;
  for (size_t i = 0; i < std::size(kRelaxationNames); ++i) {
    if (!has(static_cast<Relaxation>(i))) continue;
    if (!all.empty()) all += ", ";
    all += kRelaxationNames[i];
  }
  return all;
}

}  // namespace ingot::ir
