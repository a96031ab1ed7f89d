#include "ir/op.h"

#include <algorithm>

namespace ingot::ir {

namespace {

using base::DType;

constexpr std::string_view text_name(std::string_view token) {
  if (token.ends_with('_')) token.remove_suffix(1);
  return token;
}

// The cards build a table of OpInfo: OP and STRUCT begin an entry, the columns fill the last one.
struct Table {
  std::array<OpInfo, kOpCount> entries;
  std::array<int, kOpCount> derivatives{};  ///< how many expressions GRAD has
  int count = 0;

  constexpr void begin_elementwise(std::string_view name, int operands, std::string_view accepts,
                                   Gives gives) {
    OpInfo& e = entries[static_cast<size_t>(count++)];
    e.name = text_name(name);
    e.elementwise = true;
    e.operands = static_cast<uint8_t>(operands);
    e.accepts = accepts;
    e.gives = gives;
  }
  constexpr void begin_struct(std::string_view name, Stage stage, Effects effects) {
    OpInfo& e = entries[static_cast<size_t>(count++)];
    e.name = text_name(name);
    e.stage = stage;
    e.effects = effects;
  }
  constexpr OpInfo& last() { return entries[static_cast<size_t>(count - 1)]; }

  template <class... Names>
  constexpr void numpy(Names... names) {
    size_t i = 0;
    ((last().numpy[i++] = names), ...);
  }
  /// The text of GRAD: expressions with commas between.
  constexpr void gradient(std::string_view text) {
    int depth = 0;
    while (!text.empty()) {
      size_t end = 0;
      for (; end < text.size() && (depth > 0 || text[end] != ','); ++end)
        depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
      int& done = derivatives[static_cast<size_t>(count - 1)];
      last().slopes[static_cast<size_t>(done++)] = !text.substr(0, end).ends_with("zero");
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  template <class... Attributes>
  constexpr void attributes(Attributes... attributes) {
    OpInfo& e = last();
    ((e.attributes[e.attribute_count++] = attributes), ...);
  }
};

constexpr Table make_table() {
  using namespace effect;
  constexpr auto Array = Stage::Array;
  constexpr auto Loop = Stage::Loop;
  constexpr auto Both = Stage::Both;
  Table t;
#define OP(name, operands, accepts, gives) t.begin_elementwise(#name, operands, #accepts, Gives::gives);
#define STRUCT(name, stage, effects) t.begin_struct(#name, stage, effects);
#define NUMPY(...) t.numpy(__VA_ARGS__);
#define Commutative .commutative = true
#define Associative .associative = true
#define Idempotent .idempotent = true
#define Extreme .extreme = true
#define Unwrapped .unwrapped = true
#define COST(alone, in_lanes) \
  t.last().cost = alone;      \
  t.last().lane_cost = in_lanes;
#define GRAD(...) t.gradient(#__VA_ARGS__);
#define LAWS(...) t.last().laws = Laws{__VA_ARGS__};
#define IDENTITY(number) t.last().identity = number;
#define NEUTRAL(number) t.last().neutral = number;
#define OPPOSITE(op) t.last().opposite = Op::op;
#define OVERFLOWS(op) t.last().overflow_of = Op::op;
#define LOOP(kind) t.last().loop = ir::Loop::kind;
#define Int(name) \
  AttributeInfo { AttributeKind::Int, #name }
#define Ints(name) \
  AttributeInfo { AttributeKind::Ints, #name }
#define Option(name) \
  AttributeInfo { AttributeKind::Option, #name }
#define OpCodes(name) \
  AttributeInfo { AttributeKind::OpCodes, #name }
#define OpCode(name) \
  AttributeInfo { AttributeKind::OpCode, #name }
#define Exception(name) \
  AttributeInfo { AttributeKind::Exception, #name }
#define Text(name) \
  AttributeInfo { AttributeKind::Text, #name }
#define Symbol(name) \
  AttributeInfo { AttributeKind::Symbol, #name }
#define Choice(name) \
  AttributeInfo { AttributeKind::Choice, #name }
#define ATTRIBUTES(...) t.attributes(__VA_ARGS__);
#define REGIONS(count) t.last().regions = count;
#define TYPED t.last().typed = true;
#define TERMINATOR t.last().terminator = true;
#include "ir/ops.def"
#undef Commutative
#undef Associative
#undef Idempotent
#undef Extreme
#undef Unwrapped
#undef Int
#undef Ints
#undef Option
#undef OpCode
#undef OpCodes
#undef Exception
#undef Text
#undef Symbol
#undef Choice
  return t;
}

constexpr Table kTable = make_table();
static_assert(kTable.count == kOpCount, "every card begins one entry");

constexpr bool well_formed() {
  for (size_t op = 0; op < kTable.entries.size(); ++op) {
    const OpInfo& e = kTable.entries[op];
    if (e.elementwise && (e.accepts.empty() || e.operands == 0 || e.operands > 2)) return false;
    const bool is_inexact = e.accepts.find_first_of("FC") != std::string_view::npos &&
                            e.gives != Gives::Bool && e.gives != Gives::Int32;
    if (kTable.derivatives[op] != (is_inexact ? e.operands : 0)) return false;
    for (size_t i = 0; i + 1 < e.attribute_count; ++i)
      if (is_list(e.attributes[i].kind)) return false;
  }
  return true;
}
static_assert(well_formed(),
              "an elementwise card accepts something, and has a derivative where it gives numbers that have; "
              "a list attribute comes last");

constexpr std::string_view kSchedules[] = {"serial",  "independent",    "vector",
                                           "threads", "threads_vector", "independent_threads"};
constexpr std::string_view kLives[] = {"call", "lent", "region", "stack"};
constexpr std::string_view kScopes[] = {"warp", "block", "device", "system"};
constexpr std::string_view kOrders[] = {"relaxed", "acquire_release"};
constexpr std::string_view kQuestions[] = {"all", "any", "equal", "ballot", "count"};
constexpr std::string_view kAgreements[] = {"some", "all"};
constexpr std::string_view kSources[] = {"index", "up", "down", "exclusive"};

}  // namespace

const OpInfo& info(Op op) { return kTable.entries[static_cast<size_t>(op)]; }

std::optional<Op> op_from_name(std::string_view name) {
  for (size_t i = 0; i < kTable.entries.size(); ++i)
    if (kTable.entries[i].name == name) return static_cast<Op>(i);
  return std::nullopt;
}

bool is_long(Op op) {
  constexpr int kLong = 30;
  return info(op).elementwise && info(op).cost >= kLong;
}

bool wants_default_state(Op op, DType operand) {
  if (!info(op).elementwise || base::is_bool(operand) || base::is_int(operand)) return false;
  // These two take numbers' bits.
  if (is_long(op)) return op != Op::mantissa && op != Op::exponent;
  if (op == Op::cube || op == Op::fourth_power) return true;
  return base::is_complex(operand) && (op == Op::absolute || op == Op::sign || op == Op::sqrt);
}

namespace {

/// How many real numbers a number counts for in costs.
int reals_of(DType operand) {
  constexpr int kComplex = 4;
  return base::is_complex(operand) ? kComplex : 1;
}

}  // namespace

int cost_of(Op op, DType operand) { return info(op).cost * reals_of(operand); }
int lane_cost_of(Op op, DType operand) { return info(op).lane_cost * reals_of(operand); }

std::span<const std::string_view> choices(std::string_view attribute) {
  if (attribute == "schedule") return kSchedules;
  if (attribute == "life") return kLives;
  if (attribute == "scope") return kScopes;
  if (attribute == "question") return kQuestions;
  if (attribute == "agreement") return kAgreements;
  if (attribute == "source") return kSources;
  return kOrders;
}

}  // namespace ingot::ir
