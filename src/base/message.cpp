#include "base/message.h"

namespace ingot::base {

std::string escape_message(std::string_view text) {
  std::string message;
  for (char c : text) {
    message += c;
    if (c == '{' || c == '}') message += c;
  }
  return message;
}

int count_holes(std::string_view message) {
  int holes = 0;
  for (size_t i = 0; i < message.size(); ++i) {
    if (message[i] != '{' && message[i] != '}') continue;
    if (i + 1 == message.size()) return -1;
    const std::string_view pair = message.substr(i++, 2);
    if (pair == "{}") ++holes;
    else if (pair != "{{" && pair != "}}") return -1;
  }
  return holes;
}

std::string replace_holes(std::string_view message, std::string_view hole) {
  std::string replaced;
  for (size_t i = 0; i < message.size(); ++i) {
    const std::string_view pair = message.substr(i, 2);
    const bool is_pair = pair == "{}" || pair == "{{" || pair == "}}";
    replaced += pair == "{}" ? hole : message.substr(i, is_pair ? 2 : 1);
    if (is_pair) ++i;
  }
  return replaced;
}

std::string fill_message(std::string_view message, std::span<const std::string> values) {
  std::string filled;
  for (size_t i = 0; i < message.size(); ++i) {
    const std::string_view pair = message.substr(i, 2);
    if (pair == "{}") {
      if (!values.empty()) {
        filled += values.front();
        values = values.subspan(1);
      }
    } else {
      filled += message[i];
    }
    if (pair == "{}" || pair == "{{" || pair == "}}") ++i;
  }
  return filled;
}

}  // namespace ingot::base
