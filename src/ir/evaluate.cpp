#include "ir/evaluate.h"

#include <array>
#include <cstring>
#include <limits>
#include <string_view>

#include "base/math.h"
#include "ir/builder.h"

namespace ingot::ir {

namespace {

using base::Scalar;

template <class T>
T load(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

// One card each: what the op accepts and gives, and its value.
#define OP(name, operand_count, accepts_letters, gives_what)       \
  struct Card_##name {                                             \
    static constexpr int kOperands = operand_count;                \
    static constexpr std::string_view kAccepts = #accepts_letters; \
    static constexpr Gives kGives = Gives::gives_what;             \
    template <class T>                                             \
    static auto value(T a, [[maybe_unused]] T b) {                 \
      if constexpr (kOperands == 1) return base::math::name(a);    \
      else return base::math::name(a, b);                          \
    }                                                              \
  };
#include "ir/ops.def"

template <class Card, class T>
void loop(const void* a, int64_t a_stride, const void* b, int64_t b_stride, void* out, int64_t count) {
  auto* at_a = static_cast<const std::byte*>(a);
  auto* at_b = static_cast<const std::byte*>(b);
  auto* at_out = static_cast<std::byte*>(out);
  for (int64_t i = 0; i < count; ++i) {
    const T x = load<T>(at_a);
    const T y = Card::kOperands == 1 ? x : load<T>(at_b);
    const auto result = Card::value(x, y);
    static_assert(base::dtype_for<std::remove_const_t<decltype(result)>>() ==
                  result_dtype(Card::kGives, base::dtype_for<T>()));
    std::memcpy(at_out, &result, sizeof result);
    at_a += a_stride;
    at_b += b_stride;
    at_out += sizeof result;
  }
}

using Loops = std::array<ElementLoop, base::kDTypeCount>;

template <class Card, class T>
consteval ElementLoop loop_or_null() {
  if constexpr (accepts(Card::kAccepts, Card::kGives, base::dtype_for<T>())) return loop<Card, T>;
  else return nullptr;
}

template <class Card>
consteval Loops loops_of() {
  Loops loops{};
  for (int t = 0; t < base::kDTypeCount; ++t)
    base::visit_dtype(static_cast<DType>(t),
                      [&]<class T>() { loops[static_cast<size_t>(t)] = loop_or_null<Card, T>(); });
  return loops;
}

constexpr Loops kLoops[] = {
#define OP(name, ...) loops_of<Card_##name>(),
#define STRUCT(name, ...) Loops{},
#include "ir/ops.def"
};
static_assert(std::size(kLoops) == kOpCount);

template <class From, class To>
void convert(const void* a, int64_t a_stride, const void*, int64_t, void* out, int64_t count) {
  auto* at = static_cast<const std::byte*>(a);
  auto* to = static_cast<std::byte*>(out);
  for (int64_t i = 0; i < count; ++i) {
    const To result = base::math::cast<To>(load<From>(at + i * a_stride));
    std::memcpy(to + i * static_cast<int64_t>(sizeof(To)), &result, sizeof result);
  }
}

}  // namespace

ElementLoop element_loop(Op op, DType dtype) {
  return kLoops[static_cast<size_t>(op)][static_cast<size_t>(dtype)];
}

ElementLoop cast_loop(DType from, DType to) {
  return base::visit_dtype(from, [&]<class From>() {
    return base::visit_dtype(to, []<class To>() -> ElementLoop { return convert<From, To>; });
  });
}

std::optional<Scalar> identity_of(Op op, DType dtype) {
  const std::optional<int> number = info(op).identity;
  if (!number) return std::nullopt;
  return evaluate_cast(DType::Int64, dtype, Scalar::of(static_cast<int64_t>(*number)));
}

std::optional<Scalar> neutral_of(Op op, DType dtype) {
  const std::optional<double> number = info(op).neutral;
  if (!number || base::is_complex(dtype)) return std::nullopt;
  return evaluate_cast(DType::Float64, dtype, Scalar::of(*number));
}

Scalar limit_of(DType dtype, bool largest) {
  return base::visit_dtype(dtype, [&]<class T>() -> Scalar {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_integral_v<T>) return Scalar::of(largest ? Limits::max() : Limits::lowest());
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return evaluate_cast(DType::Float64, dtype, Scalar::of(largest ? kInfinity : -kInfinity));
  });
}

Scalar evaluate(Op op, DType dtype, std::span<const Scalar> operands) {
  const ElementLoop apply = element_loop(op, dtype);
  INGOT_ASSERT(apply != nullptr && operands.size() == info(op).operands,
               "no value of " + std::string(name_of(op)) + " for " + std::string(base::info(dtype).name));
  Scalar result;
  apply(operands[0].bits.data(), 0, operands.back().bits.data(), 0, result.bits.data(), 1);
  return result;
}

Scalar evaluate_cast(DType from, DType to, Scalar value) {
  Scalar result;
  cast_loop(from, to)(value.bits.data(), 0, nullptr, 0, result.bits.data(), 1);
  return result;
}

}  // namespace ingot::ir
