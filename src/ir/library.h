#pragma once

#include <span>
#include <string_view>

#include "ir/op.h"
#include "ir/type.h"

namespace ingot::ir {

/// A routine outside the IR: what `library` nodes name. The runtime, or a library that it depends on, holds
/// it.
struct LibraryInfo {
  std::string_view name;
  Effects effects;
  /// Whether the routine takes operands and gives results of these types. At the loop stage it takes views
  /// instead
  /// of arrays - in C order, of matrices also with contiguous rows or columns -, then a view in C order that
  /// it fills with the result, and gives nothing.
  bool (*fits)(std::span<const Type> operands, std::span<const Type> results);
  /// The operand that has the result's shape: an array of its lengths, or (i64) its one length. The length of
  /// the last axis is that of `last_operand`.
  size_t shape_operand;
  size_t last_operand;
};

/// The routine of this name, or null. Routines and their rules: library.cpp.
const LibraryInfo* find_library(std::string_view name);
std::span<const LibraryInfo> libraries();

}  // namespace ingot::ir
