#include "ir/library.h"

namespace ingot::ir {

namespace {

/// a[m, m], b[m, n] → x[m, n], of f32, f64, c64 or c128. Raises LinAlgError for a singular matrix. (An f16 or
/// integer system is cast before.)
bool fits_solve(std::span<const Type> operands, std::span<const Type> results) {
  return operands.size() == 2 && results.size() == 1 && operands[0].is_array() && operands[0].rank() == 2 &&
         operands[0].dtype() >= DType::Float32 && operands[1] == operands[0] && results[0] == operands[0];
}

/// n → x[n]: n numbers from NumPy's global legacy stream, distributed normally, in the order that n calls of
/// `np.random.randn()` would give.
bool fits_randn(std::span<const Type> operands, std::span<const Type> results) {
  return operands.size() == 1 && results.size() == 1 && operands[0] == kInt64 &&
         results[0] == Type::array(DType::Float64, 1);
}

/// a[..., m, k], b[..., k, n] → x[..., m, n]: NumPy's matmul, of f32, f64, c64 or c128; batch lengths equal.
bool fits_matmul(std::span<const Type> operands, std::span<const Type> results) {
  return operands.size() == 2 && results.size() == 1 && operands[0].is_array() && operands[0].rank() >= 2 &&
         operands[0].dtype() >= DType::Float32 && operands[1] == operands[0] && results[0] == operands[0];
}

constexpr LibraryInfo kLibraries[] = {
    {"solve", effect::Raise, fits_solve, 1, 1},
    {"randn", effect::Random, fits_randn, 0, 0},
    {"matmul", effect::Raise, fits_matmul, 0, 1},
};

}  // namespace

const LibraryInfo* find_library(std::string_view name) {
  for (const LibraryInfo& entry : kLibraries)
    if (entry.name == name) return &entry;
  return nullptr;
}

std::span<const LibraryInfo> libraries() { return kLibraries; }

}  // namespace ingot::ir
