#include <algorithm>

#include "softgpu/machine/decode.h"

// Operations of warps on matrices.

namespace softgpu {

namespace {

std::optional<MatrixType> matrix_type(std::string_view name) {
  static constexpr std::string_view kNames[] = {"f16", "bf16", "tf32", "f64", "s8", "u8", "f32", "s32"};
  const auto* const found = std::ranges::find(kNames, name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<MatrixType>(found - std::begin(kNames));
}

/// Registers of a fragment of `count` elements.
size_t registers_of(MatrixType type, size_t count) {
  const bool is_half = type == MatrixType::F16 || type == MatrixType::BF16;
  const bool is_byte = type == MatrixType::S8 || type == MatrixType::U8;
  return is_half ? (count + 1) / 2 : is_byte ? (count + 3) / 4 : count;
}

}  // namespace

bool FunctionDecoder::decode_matrix() {
  const std::string_view name = now_->parts[0];
  if (name == "ldmatrix" || name == "stmatrix") {
    const bool loads = name == "ldmatrix";
    if (!now_->has("m8n8") || !now_->has("b16")) unknown();
    Instruction i = begin(loads ? handlers::load_matrix : handlers::store_matrix);
    i.flags = now_->has("trans") ? 1 : 0;
    i.lanes = space() == ptx::Space::Shared ? 1 : 0;
    i.a = address_value(operand(loads ? 1 : 0));
    i.target = add_list(operand(loads ? 0 : 1), 4, loads);
    const size_t count = now_->has("x4") ? 4 : now_->has("x2") ? 2 : 1;
    if (into_.lists[i.target].size() != count) fail("the number of registers");
    add(i);
    return true;
  }
  if (name == "wmma") return decode_fragment();
  if (name != "mma") return false;
  static constexpr struct {
    std::string_view name;
    uint8_t rows, k;
  } kShapes[] = {{"m16n8k4", 16, 4}, {"m16n8k8", 16, 8},   {"m16n8k16", 16, 16},
                 {"m8n8k4", 8, 4},   {"m16n8k32", 16, 32}, {"m8n8k16", 8, 16}};
  const auto* const shape =
      std::ranges::find_if(kShapes, [&](const auto& known) { return now_->has(known.name); });
  std::vector<MatrixType> types;
  for (const std::string_view part : now_->parts)
    if (const auto type = matrix_type(part)) types.push_back(*type);
  if (shape == std::end(kShapes) || types.size() != 4 || now_->has("sp") || now_->has("kind::f8f6f4"))
    unknown();
  const MatrixOp op{types[1], types[2], types[3], types[0], shape->rows, shape->k, now_->has("satfinite")};
  const bool is_half = op.a == MatrixType::F16 || op.a == MatrixType::BF16;
  const bool is_byte = op.a == MatrixType::S8 || op.a == MatrixType::U8;
  const bool fits = is_half                    ? op.rows == 16 && (op.k == 8 || op.k == 16)
                    : is_byte                  ? op.k >= 16
                    : op.a == MatrixType::TF32 ? op.rows == 16 && op.k <= 8
                                               : op.a == MatrixType::F64 && op.k <= 16;
  if (!fits) unknown();
  Instruction i = begin(handlers::multiply_matrices);
  i.offset = op.coded();
  const auto width = [](MatrixType type) { return static_cast<uint8_t>(type == MatrixType::F64 ? 8 : 4); };
  i.target = add_list(operand(0), width(op.d), true);
  add_list(operand(1), width(op.a), false);
  add_list(operand(2), width(op.b), false);
  add_list(operand(3), width(op.c), false);
  const size_t halves = op.rows / 8u;
  const size_t counts[] = {registers_of(op.d, 2 * halves), registers_of(op.a, op.k / 4u * halves),
                           registers_of(op.b, op.k / 4u), registers_of(op.c, 2 * halves)};
  for (size_t k = 0; k < 4; ++k)
    if (into_.lists[i.target + k].size() != counts[k]) fail("the number of registers");
  add(i);
  return true;
}

bool FunctionDecoder::decode_fragment() {
  static constexpr struct {
    std::string_view name;
    uint8_t m, n, k;
  } kShapes[] = {{"m16n16k16", 16, 16, 16},
                 {"m32n8k16", 32, 8, 16},
                 {"m8n32k16", 8, 32, 16},
                 {"m16n16k8", 16, 16, 8},
                 {"m8n8k4", 8, 8, 4}};
  const auto* const shape =
      std::ranges::find_if(kShapes, [&](const auto& known) { return now_->has(known.name); });
  if (shape == std::end(kShapes) || now_->parts.size() < 3) unknown();
  if (now_->parts[1] == "mma") {
    decode_fragment_product(shape->m, shape->n, shape->k);
    return true;
  }
  const bool loads = now_->parts[1] == "load";
  const std::optional<MatrixType> type = matrix_type(now_->parts.back());
  const std::string_view which = now_->parts[2];
  if (!type || (!loads && now_->parts[1] != "store")) unknown();
  FragmentOp op{*type, which == "b" ? shape->k : shape->m, which == "a" ? shape->k : shape->n,
                now_->has("col"), space() == ptx::Space::Shared};
  Instruction i = begin(loads ? handlers::load_fragment : handlers::store_fragment);
  const size_t list = loads ? 0 : 1;
  i.a = address_value(operand(1 - list));
  const uint32_t natural = op.is_by_columns ? op.rows : op.columns;
  i.b = operands() > 2 ? value(operand(2), 4) : constant(natural, 4);
  i.target = add_list(operand(list), *type == MatrixType::F64 ? 8 : 4, loads);
  i.offset = op.coded();
  const size_t least = registers_of(*type, size_t{op.rows} * op.columns / kLanes);
  if (into_.lists[i.target].size() < std::max<size_t>(least, 1)) fail("the number of registers");
  add(i);
  return true;
}

void FunctionDecoder::decode_fragment_product(uint8_t m, uint8_t n, uint8_t k) {
  std::vector<MatrixType> types;
  for (const std::string_view part : now_->parts)
    if (const auto type = matrix_type(part)) types.push_back(*type);
  // Of halves only the types of d and c are named.
  if (types.size() == 2) types = {types[0], MatrixType::F16, MatrixType::F16, types[1]};
  if (types.size() != 4) unknown();
  const FragmentProduct op{types[1], types[2], types[3], types[0], m, n, k, now_->has("satfinite")};
  const auto width = [](MatrixType type) { return static_cast<uint8_t>(type == MatrixType::F64 ? 8 : 4); };
  Instruction i = begin(handlers::multiply_fragments);
  i.offset = op.coded();
  i.target = add_list(operand(0), width(op.d), true);
  add_list(operand(1), width(op.a), false);
  add_list(operand(2), width(op.b), false);
  add_list(operand(3), width(op.c), false);
  const size_t least[] = {
      registers_of(op.d, size_t{m} * n / kLanes), registers_of(op.a, size_t{m} * k / kLanes),
      registers_of(op.b, size_t{k} * n / kLanes), registers_of(op.c, size_t{m} * n / kLanes)};
  for (size_t at = 0; at < 4; ++at)
    if (into_.lists[i.target + at].size() < std::max<size_t>(least[at], 1)) fail("the number of registers");
  add(i);
}

}  // namespace softgpu
