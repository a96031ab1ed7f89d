#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/dtype.h"

namespace ingot::ir {

/// Every op of the table; the text form drops a trailing underscore.
enum class Op : uint16_t {
#define OP(name, operands, accepts, gives) name,
#define STRUCT(name, stage, effects) name,
#include "ir/ops.def"
};

inline constexpr int kOpCount = 0
#define OP(name, operands, accepts, gives) +1  // NOLINT(bugprone-macro-parentheses)
#define STRUCT(name, stage, effects) +1        // NOLINT(bugprone-macro-parentheses)
#include "ir/ops.def"
    ;

/// Where an op may occur.
enum class Stage : uint8_t { Array = 1, Loop = 2, Both = 3 };

/// What an op does besides giving a value. Passes query these, never lists of ops.
struct Effects {
  uint16_t bits = 0;
  constexpr bool any(Effects other) const { return (bits & other.bits) != 0; }
  constexpr bool pure() const { return bits == 0; }
  constexpr Effects operator|(Effects other) const { return {static_cast<uint16_t>(bits | other.bits)}; }
  constexpr bool operator==(const Effects&) const = default;
};

namespace effect {
inline constexpr Effects Pure{0};
inline constexpr Effects Read{1};       ///< of memory
inline constexpr Effects Write{2};      ///< to memory
inline constexpr Effects Allocate{4};   ///< gives memory with an identity of its own
inline constexpr Effects Raise{8};      ///< may leave the function with an exception
inline constexpr Effects Exit{16};      ///< may leave for a label outside
inline constexpr Effects Host{32};      ///< is observable outside, or observes it
inline constexpr Effects Random{64};    ///< draws from a stream of random numbers
inline constexpr Effects Sync{128};     ///< waits for other threads
inline constexpr Effects Control{256};  ///< in the table only: has those of its regions
}  // namespace effect

/// What an elementwise op gives for operands of a dtype.
enum class Gives : uint8_t { Same, Bool, Component, Complex, Int32 };

/// Whether letters that stand for dtype classes (B bool, I integers, F floats, C complex) have that of a
/// dtype.
constexpr bool has_class(std::string_view letters, base::DType dtype) {
  const char letter = base::is_bool(dtype)    ? 'B'
                      : base::is_int(dtype)   ? 'I'
                      : base::is_float(dtype) ? 'F'
                                              : 'C';
  return letters.find(letter) != std::string_view::npos;
}

/// Whether an op with these columns takes operands of this dtype.
constexpr bool accepts(std::string_view letters, Gives gives, base::DType dtype) {
  return has_class(letters, dtype) && (gives != Gives::Complex || base::complex_of(dtype).has_value());
}

/// The dtype of what is given for operands of an accepted dtype.
constexpr base::DType result_dtype(Gives gives, base::DType operand) {
  switch (gives) {
    case Gives::Same: return operand;
    case Gives::Bool: return base::DType::Bool;
    case Gives::Component: return base::component_of(operand);
    case Gives::Complex: return base::complex_of(operand).value_or(operand);
    case Gives::Int32: return base::DType::Int32;
  }
  __builtin_unreachable();
}

enum class AttributeKind : uint8_t { Int, Ints, Option, OpCode, OpCodes, Exception, Text, Symbol, Choice };

/// Whether an attribute of this kind takes all the words at the end.
constexpr bool is_list(AttributeKind kind) {
  return kind == AttributeKind::Ints || kind == AttributeKind::OpCodes;
}

/// Whether an attribute of this kind, the last one, may be left out.
constexpr bool is_optional(AttributeKind kind) { return kind == AttributeKind::Option; }

struct AttributeInfo {
  AttributeKind kind = AttributeKind::Int;
  std::string_view name;
};

inline constexpr int kMaxAttributes = 3;

/// Whether a node may have so many words for attributes of these kinds.
constexpr bool is_count_of_attributes(std::span<const AttributeInfo> schema, size_t count) {
  const bool is_list_last = !schema.empty() && is_list(schema.back().kind);
  const bool is_option_last = !schema.empty() && is_optional(schema.back().kind);
  const size_t least = schema.size() - (is_list_last || is_option_last ? 1 : 0);
  return count >= least && (is_list_last || count <= schema.size());
}

struct Laws {
  bool commutative = false;
  bool associative = false;
  bool idempotent = false;
  bool extreme = false;
  bool unwrapped = false;
};

/// How often the region of an op runs.
enum class Loop : uint8_t { No, Counted, Tested };

/// One card of the op table.
struct OpInfo {
  std::string_view name;
  bool elementwise = false;
  uint8_t operands = 0;       ///< of elementwise ops
  std::string_view accepts;   ///< of elementwise ops: letters of dtype classes
  Gives gives = Gives::Same;  ///< of elementwise ops
  Stage stage = Stage::Both;
  Effects effects;
  Laws laws;
  std::optional<int> identity;
  std::optional<double> neutral;
  std::optional<Op> opposite;
  std::optional<Op> overflow_of;
  Loop loop = Loop::No;
  /// Of elementwise ops: the time of a real element, in additions, about; and that of one in lanes, in
  /// additions of lanes.
  uint8_t cost = 1;
  uint8_t lane_cost = 1;
  /// Of elementwise ops: by operand, whether the derivative is not zero everywhere (`GRAD`).
  std::array<bool, 2> slopes{};
  uint8_t regions = 0;
  bool typed = false;
  bool terminator = false;
  uint8_t attribute_count = 0;
  std::array<AttributeInfo, kMaxAttributes> attributes;
  std::array<std::string_view, 6> numpy;  ///< empty names end it

  std::span<const AttributeInfo> schema() const { return {attributes.data(), attribute_count}; }
};

const OpInfo& info(Op op);
/// Whether the host alone runs an op: it calls the embedding program or C, draws random numbers, keeps
/// buffers, or is a routine that works in memory of its own, as sorts do.
inline bool host_only(Op op) {
  const Effects effects = info(op).effects;
  return op == Op::c_call || op == Op::c_value || effects.any(effect::Host | effect::Random) ||
         (effects.any(effect::Allocate) && effects.any(effect::Read | effect::Write));
}
inline std::string_view name_of(Op op) { return info(op).name; }
std::optional<Op> op_from_name(std::string_view name);

/// Whether an elementwise op takes operands of this dtype.
inline bool accepts(Op op, base::DType dtype) { return accepts(info(op).accepts, info(op).gives, dtype); }
/// The dtype an elementwise op gives for operands of an accepted dtype.
inline base::DType result_dtype(Op op, base::DType operand) { return result_dtype(info(op).gives, operand); }

/// Whether the value of a reduction depends on the order in which its elements are combined.
inline bool is_ordered(Op combiner, base::DType dtype) {
  return base::is_float(dtype) || base::is_complex(dtype) || info(combiner).laws.unwrapped;
}
/// Whether an op decides which of two operands is larger.
inline bool is_ordering(Op op) { return info(op).opposite && !info(op).laws.commutative; }
/// Whether a region of an op runs again and again; as often as its first operand has it.
inline bool is_loop(Op op) { return info(op).loop != Loop::No; }
inline bool is_counted_loop(Op op) { return info(op).loop == Loop::Counted; }

/// The time that an elementwise op takes for an element of operands of this dtype, in additions, about; and
/// in lanes, in additions of lanes.
int cost_of(Op op, base::DType operand);
int lane_cost_of(Op op, base::DType operand);

/// Whether an op takes as long as a function of elementary mathematics, whatever the operands' dtype.
bool is_long(Op op);

/// Whether the value of an elementwise op at operands of this dtype is that of the default floating-point
/// state (base/float_state.h), whatever the calling thread's is. Others round as the thread does.
bool wants_default_state(Op op, base::DType operand);

/// The values of Choice attributes, by attribute name: the strings, in the order of their numbers.
std::span<const std::string_view> choices(std::string_view attribute);

enum class Schedule : uint8_t { Serial, Independent, Vector, Threads, ThreadsVector, IndependentThreads };
/// Whether iterations may run together in the lanes of vectors.
constexpr bool has_lanes(Schedule s) { return s == Schedule::Vector || s == Schedule::ThreadsVector; }
/// Whether threads may share the iterations.
constexpr bool has_threads(Schedule s) {
  return s == Schedule::Threads || s == Schedule::ThreadsVector || s == Schedule::IndependentThreads;
}
/// Whether iterations have been shown to touch no memory that others write.
constexpr bool is_shown_independent(Schedule s) {
  return s == Schedule::Independent || s == Schedule::IndependentThreads;
}
constexpr Schedule cpu_schedule(bool threads, bool lanes) {
  if (threads) return lanes ? Schedule::ThreadsVector : Schedule::Threads;
  return lanes ? Schedule::Vector : Schedule::Serial;
}
/// How long an allocated buffer lives.
enum class Life : uint8_t {
  Call,    ///< until the call ends, or what it gives: it may be known beyond its region
  Lent,    ///< as long as its region; functions of the runtime and the host may be given it
  Region,  ///< as long as its region, inside the function alone
  Stack,   ///< small, of a known size, and nothing but loads and stores sees it
};
enum class Scope : uint8_t { Warp, Block, Device, System };
enum class Order : uint8_t { Relaxed, AcquireRelease };
/// What is asked of threads, which values have to agree, and where a value comes from (ops.def).
enum class Question : uint8_t { All, Any, Equal, Ballot, Count };
enum class Agreement : uint8_t { Some, All };
enum class Source : uint8_t { Index, Up, Down, Exclusive };

}  // namespace ingot::ir
