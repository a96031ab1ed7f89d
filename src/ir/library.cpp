#include "ir/library.h"

#include <algorithm>

namespace ingot::ir {

namespace {

/// a[..., m, k], b[..., k, n] → x[..., m, n]: NumPy's matmul, of f32, f64, c64 or c128; batch lengths equal,
/// or b a single matrix.
bool fits_matmul(std::span<const Type> operands, std::span<const Type> results) {
  if (operands.size() != 2 || results.size() != 1) return false;
  const Type& a = operands[0];
  const Type& b = operands[1];
  return a.is_array() && a.rank() >= 2 && a.dtype() >= DType::Float32 && results[0] == a && b.is_array() &&
         b.dtype() == a.dtype() && (b.rank() == 2 || b.rank() == a.rank());
}

/// One of NumPy's gufuncs by a name with a dot: inputs, outputs, and an i64 vector of one element, all of
/// them views in C order, of which the last states whether the routine failed.
bool fits_gufunc(std::span<const Type> operands, std::span<const Type> results) {
  const auto is_array = [](Type type) { return type.is_array(); };
  return operands.size() >= 2 && std::ranges::all_of(operands, is_array) && results.size() == 1 &&
         results[0] == Type::array(DType::Int64, 1);
}

constexpr LibraryInfo kGufunc = {"gufunc", effect::Read | effect::Write, fits_gufunc, 0, 0};

/// seed[n], its kind, length → x[length]: the words of a new stream as NumPy's `default_rng` makes it, before
/// `settle_pcg64`.
bool fits_default_rng(std::span<const Type> operands, std::span<const Type> results) {
  return operands.size() == 3 && results.size() == 1 && operands[1] == kInt64 && operands[2] == kInt64 &&
         (operands[0] == Type::array(DType::Int64, 1) || operands[0] == Type::array(DType::UInt64, 1)) &&
         results[0] == Type::array(DType::UInt64, 1);
}

constexpr LibraryInfo kLibraries[] = {
    {"default_rng", effect::Raise | effect::Random, fits_default_rng, 2, 2},
    {"matmul", effect::Raise, fits_matmul, 0, 1},
};

}  // namespace

const LibraryInfo* find_library(std::string_view name) {
  if (name.starts_with("linalg.") || name.starts_with("fft.")) return &kGufunc;
  for (const LibraryInfo& entry : kLibraries)
    if (entry.name == name) return &entry;
  return nullptr;
}

std::span<const LibraryInfo> libraries() { return kLibraries; }

}  // namespace ingot::ir
