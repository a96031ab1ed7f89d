#include "base/math/cast.h"

#include <limits>

namespace ingot::base::math {

int32_t truncate_to_int32(double value) {
  if (value >= -0x1p31 && value < 0x1p31) return static_cast<int32_t>(value);
  return std::numeric_limits<int32_t>::min();
}

int64_t truncate_to_int64(double value) {
  if (value >= -0x1p63 && value < 0x1p63) return static_cast<int64_t>(value);
  return std::numeric_limits<int64_t>::min();
}

uint64_t truncate_to_uint64(double value) {
  if (value >= 0x1p64) return 0;
  if (value >= 0x1p63) return static_cast<uint64_t>(value);
  return static_cast<uint64_t>(truncate_to_int64(value));
}

}  // namespace ingot::base::math
