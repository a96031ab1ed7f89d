#include <algorithm>
#include <map>

#include "ir/lexicon.h"
#include "tools/outside.h"
#include "tools/replay.h"

namespace ingot::tools {

namespace {

using base::DType;

std::string text_of(const Exception& exception) {
  std::string text = std::string(base::name_of(exception.kind)) + " " + ir::quoted(exception.message);
  if (exception.location.line != 0)
    text += " at " + ir::quoted(exception.location.file) + ":" + std::to_string(exception.location.line);
  return text;
}

std::string text_of(DType dtype, const std::byte* element) {
  return ir::literal(dtype, base::Scalar::load(dtype, element));
}

std::string ending(const Outcome& outcome) {
  return outcome.raised ? "raised " + text_of(*outcome.raised) : "returned";
}

bool same_ending(const Outcome& a, const Outcome& b) {
  if (!a.raised || !b.raised) return !a.raised && !b.raised;
  const base::SourceLocation& p = a.raised->location;
  const base::SourceLocation& q = b.raised->location;
  return a.raised->kind == b.raised->kind && a.raised->message == b.raised->message &&
         (p.line == 0 || q.line == 0 || (p.line == q.line && p.file == q.file));
}

/// Compares the results of two outcomes, one after the other.
class Results {
 public:
  Results(const Outcome& expected, const Outcome& got) : expected_(expected), got_(got) {}

  std::string compare(const Slot& expected, const Slot& got) {
    if (expected.dtype != got.dtype || expected.is_view != got.is_view) return "another type";
    if (!expected.is_view) {
      if (expected.unspecified) return {};
      return compare_elements(expected.dtype, as_bytes(expected.number), as_bytes(got.number));
    }
    if (expected.lengths != got.lengths) return "other lengths";
    const bool has_elements = std::ranges::find(expected.lengths, 0) == expected.lengths.end();
    if (has_elements && expected.strides != got.strides) return "other strides";
    const auto wanted = expected_.fresh.find(expected.memory);
    const auto given = got_.fresh.find(got.memory);
    if (wanted == expected_.fresh.end() || given == got_.fresh.end()) {
      const bool same = wanted == expected_.fresh.end() && given == got_.fresh.end() &&
                        expected.memory == got.memory && expected.offset == got.offset;
      return same ? "" : "a view of other memory";
    }
    // Results that share memory must share it in both.
    if (pairs_.try_emplace(expected.memory, got.memory).first->second != got.memory ||
        reverse_.try_emplace(got.memory, expected.memory).first->second != expected.memory)
      return "memory shared with other results";
    std::string found;
    size_t number = 0;
    for_each_offset(expected.lengths, expected.strides, [&](int64_t offset) {
      if (!found.empty()) return;
      found = compare_elements(expected.dtype, &wanted->second.bytes[index(expected, offset)],
                               &given->second.bytes[index(got, offset)]);
      if (found.empty()) ++number;
    });
    return found.empty() ? found : "element " + std::to_string(number) + " is " + found;
  }

 private:
  static const std::byte* as_bytes(const base::Scalar& number) {
    return reinterpret_cast<const std::byte*>(number.bits.data());
  }
  static size_t index(const Slot& slot, int64_t offset) { return static_cast<size_t>(slot.offset + offset); }
  static std::string compare_elements(DType dtype, const std::byte* expected, const std::byte* got) {
    if (same_element(dtype, expected, got)) return {};
    return text_of(dtype, got) + " for " + text_of(dtype, expected);
  }

  const Outcome& expected_;
  const Outcome& got_;
  std::map<uint64_t, uint64_t> pairs_;
  std::map<uint64_t, uint64_t> reverse_;
};

/// Compares what is in one of the arguments' memories afterwards.
std::string compare_memory(const ReplayFile& call, uint64_t number, const Bytes& expected, Bytes got) {
  const std::string where = "memory " + std::to_string(number);
  if (expected.size() != got.size()) return where + " has another size";
  for (size_t i = 0; i < call.arguments.size() && expected != got; ++i) {
    const Slot& slot = call.arguments[i];
    if (!slot.is_view || slot.memory != number) continue;
    std::string found;
    size_t element = 0;
    for_each_offset(slot.lengths, slot.strides, [&](int64_t offset) {
      if (!found.empty()) return;
      const std::byte* wanted = &expected[static_cast<size_t>(slot.offset + offset)];
      std::byte* given = &got[static_cast<size_t>(slot.offset + offset)];
      if (!same_element(slot.dtype, wanted, given)) {
        found = "argument " + std::to_string(i + 1) + " afterwards: element " + std::to_string(element) +
                " is " + text_of(slot.dtype, given) + " for " + text_of(slot.dtype, wanted);
      }
      std::copy_n(wanted, base::size_of(slot.dtype), given);  // a NaN
      ++element;
    });
    if (!found.empty()) return found;
  }
  const auto differ = std::ranges::mismatch(expected, got);
  if (differ.in1 == expected.end()) return {};
  return where + " afterwards: byte " + std::to_string(differ.in1 - expected.begin()) +
         ", which is no argument's, differs";
}

const Bytes& contents(const Outcome& outcome, uint64_t number, const Memory& before) {
  const auto after = outcome.after.find(number);
  return after == outcome.after.end() ? before.bytes : after->second;
}

}  // namespace

std::string difference(const ReplayFile& call, const Outcome& expected, const Outcome& got) {
  if (!same_ending(expected, got)) return ending(got) + ", expected: " + ending(expected);
  if (expected.results.size() != got.results.size()) {
    return std::to_string(got.results.size()) + " results for " + std::to_string(expected.results.size());
  }
  std::string found;
  Results results(expected, got);
  for (size_t i = 0; i < expected.results.size() && found.empty(); ++i) {
    found = results.compare(expected.results[i], got.results[i]);
    if (!found.empty()) found.insert(0, "result " + std::to_string(i + 1) + ": ");
  }
  for (const auto& [number, bytes] : expected.after) {
    if (found.empty() && !call.memories.contains(number))
      found = "the call has no memory " + std::to_string(number);
  }
  for (const auto& [number, memory] : call.memories) {
    if (!found.empty()) break;
    found = compare_memory(call, number, contents(expected, number, memory), contents(got, number, memory));
  }
  return found;
}

}  // namespace ingot::tools
