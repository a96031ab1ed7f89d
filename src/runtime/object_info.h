#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "base/exception.h"
#include "runtime/abi.h"

namespace ingot::runtime {

/// What one slot of an entry is (see abi.h).
struct SlotInfo {
  enum class Kind : uint8_t { Scalar, View, Buffer };
  static constexpr int kMaxRank = 16;

  Kind kind = Kind::Scalar;
  base::DType dtype = base::DType::Bool;  ///< of the elements
  uint8_t rank = 0;                       ///< of a view; 0 for the others
  /// Of a parameter: whether the code may write into the memory that it shows.
  bool is_written = true;

  bool operator==(const SlotInfo&) const = default;
};

struct EntryInfo {
  std::string symbol;
  std::vector<SlotInfo> params;
  std::vector<SlotInfo> results;
  /// Whether it may be called in the default floating-point state alone (base/float_state.h).
  bool wants_default_state = false;

  bool operator==(const EntryInfo&) const = default;
};

/// A location that raises. `message` shows the error's arguments in its holes `{}`, in order; `{{` and `}}`
/// represent braces.
struct ErrorSite {
  base::ExceptionKind kind = base::ExceptionKind::RuntimeError;
  std::string message;
  std::vector<base::DType> arguments;  ///< as many as the message has holes; none complex
  base::SourceLocation location;
  std::string function;               ///< the Python function's name
  std::vector<base::Site> callers{};  ///< the calls that are inlined there, the innermost first
  /// The number by which the embedding program makes an exception of the arguments; -1: one that shows the
  /// message.
  int64_t made = -1;
};

/// The metadata of an object.
struct ObjectInfo {
  std::string build;     ///< the id of the Ingot that made it
  std::string features;  ///< of the CPU that the code needs: a set of base/cpu.h
  std::vector<EntryInfo> entries;
  std::vector<ErrorSite> sites;  ///< by `Error::site`
};

/// Little-endian bytes with a version and a checksum. Throws base::InternalError for what `decode` would
/// refuse: a rank, a dtype or a number of arguments that is out of range.
std::string encode(const ObjectInfo& info);

/// Throws LoadError unless `bytes` are what `encode` of this version of the format returned.
ObjectInfo decode(std::span<const std::byte> bytes);

/// The message of an error, as Python would show it. Throws base::InternalError if the error's site is not
/// one of `info`'s.
std::string format_error(const ObjectInfo& info, const Error& error);
/// Where it was raised, and the calls that it has left, the innermost first; nothing where no location of the
/// object has raised it.
std::vector<base::Site> sites_of(const ObjectInfo& info, const Error& error);

}  // namespace ingot::runtime
