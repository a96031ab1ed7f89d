#include "base/dtype.h"

namespace ingot::base {

bool can_cast_safely(DType from, DType to) {
  const DTypeInfo& source = info(from);
  const DTypeInfo& target = info(to);
  if (from == to || is_bool(from)) return true;
  if (target.dtype_class < source.dtype_class) return false;
  if (is_int(from) && is_int(to)) {
    if (source.is_signed == target.is_signed) return source.size <= target.size;
    return target.is_signed && source.size < target.size;
  }
  const size_t room = size_of(component_of(to));
  // A float holds the integers of half its size; by NumPy's rule, Float64 also takes those of its own.
  if (is_int(from)) return source.size < room || room == 8;
  return size_of(component_of(from)) <= room;
}

DType promote(DType a, DType b) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto candidate = static_cast<DType>(i);
    if (can_cast_safely(a, candidate) && can_cast_safely(b, candidate)) return candidate;
  }
  return DType::Complex128;
}

}  // namespace ingot::base
