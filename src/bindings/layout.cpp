#include "bindings/layout.h"

#include <string>

#include "base/error.h"

namespace ingot::bindings {

std::vector<SlotType> slots_of(std::string_view layout) {
  constexpr std::string_view kView = "view<";
  std::vector<SlotType> slots;
  while (!layout.empty()) {
    std::string_view word = layout.substr(0, layout.find(' '));
    layout.remove_prefix(word.size() + 1);
    int rank = -1;
    if (word.starts_with(kView)) {
      const size_t comma = word.find(',');
      rank = std::stoi(std::string(word.substr(comma + 1)));
      word = word.substr(kView.size(), comma - kView.size());
    }
    slots.push_back({base::known(base::dtype_from_name(word)), rank});
  }
  return slots;
}

}  // namespace ingot::bindings
