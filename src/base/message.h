#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ingot::base {

/// The messages of exceptions that compiled code raises: strings with holes `{}` for run-time values, in
/// order; `{{` and `}}` represent braces.

/// `text` as a message that shows it unchanged.
std::string escape_message(std::string_view text);

/// How many holes a message has; -1 if its braces do not pair.
int count_holes(std::string_view message);

/// The message with `hole` for each of its holes, braces staying doubled.
std::string replace_holes(std::string_view message, std::string_view hole);

/// The message with `values` in its holes. A hole beyond the values stays empty.
std::string fill_message(std::string_view message, std::span<const std::string> values);

}  // namespace ingot::base
