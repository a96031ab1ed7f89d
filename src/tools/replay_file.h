#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "base/exception.h"
#include "base/scalar.h"
#include "base/strided.h"

namespace ingot::tools {

using Bytes = std::vector<std::byte>;

/// Memory of values.
struct Memory {
  static constexpr size_t kAlignment = 64;
  Bytes bytes;
  size_t misalignment = 0;  ///< its address modulo kAlignment
};
/// By number.
using Memories = std::map<uint64_t, Memory>;

/// The value of a parameter or result: a number, or a view of memory.
struct Slot {
  base::DType dtype = base::DType::Bool;
  bool is_view = false;
  bool unspecified = false;  ///< of a number: it may be any
  base::Scalar number;
  uint64_t memory = 0;
  int64_t offset = 0;  ///< of the element with index 0 in every axis, in bytes
  std::vector<int64_t> lengths;
  std::vector<int64_t> strides;   ///< bytes
  base::Reach reach;              ///< of an argument
  base::SourceLocation location;  ///< in the file
};

/// A number or an array by value, as it is passed to and from the outside.
struct Elements {
  base::DType dtype = base::DType::Bool;
  bool is_array = false;
  std::vector<int64_t> lengths;
  Bytes bytes;  ///< in C order
};

struct Exception {
  base::ExceptionKind kind = base::ExceptionKind::Exception;
  std::string message;
  base::SourceLocation location;  ///< line 0: unknown
};

/// A library routine or host call that was made.
struct OutsideCall {
  std::string routine;  ///< of the library table; "host": the embedding program's own call
  int64_t site = 0;     ///< the host call's number
  std::vector<Elements> operands;
  std::vector<Elements> results;  ///< of a routine; what it fills are its last operands
  std::optional<Exception> raised;
};

/// How a call ended.
struct Outcome {
  std::optional<Exception> raised;
  std::vector<Slot> results;
  Memories fresh;                   ///< memory of results that is no argument's
  std::map<uint64_t, Bytes> after;  ///< what is in the arguments' memories afterwards, where it has changed
};

/// A replay file: docs/replay.md.
struct ReplayFile {
  std::string function;             ///< empty: the text's first
  std::vector<std::string> stages;  ///< the files of its texts, next to the replay file
  Memories memories;                ///< of the arguments
  std::vector<Slot> arguments;
  std::vector<OutsideCall> calls;
  std::optional<Outcome> outcome;
};

/// Reads a replay file; `file` names it in errors. Every view is in its memory, where that is known. Throws
/// base::UserError with the location.
ReplayFile parse_replay_file(std::string_view text, const std::string& file);

/// Writes a replay file that holds an outcome alone.
void write_outcome(std::ostream& out, const Outcome& outcome);

/// Calls fn(offset) for each element of a view in C order, `offset` in bytes from its first element.
template <class Fn>
void for_each_offset(const std::vector<int64_t>& lengths, const std::vector<int64_t>& strides, Fn&& fn) {
  for (const int64_t length : lengths)
    if (length == 0) return;
  std::vector<int64_t> index(lengths.size(), 0);
  for (int64_t offset = 0;;) {
    fn(offset);
    size_t axis = lengths.size();
    for (; axis > 0; --axis) {
      if (++index[axis - 1] < lengths[axis - 1]) {
        offset += strides[axis - 1];
        break;
      }
      offset -= (lengths[axis - 1] - 1) * strides[axis - 1];
      index[axis - 1] = 0;
    }
    if (axis == 0) return;
  }
}

}  // namespace ingot::tools
