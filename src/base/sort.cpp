#include "base/sort.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "base/math.h"

namespace ingot::base {

namespace {

template <class T>
bool sorts_before(T a, T b) {
  using math::has_nan;
  if constexpr (is_complex_v<T>) {
    const auto x = a.real();
    const auto y = b.real();
    if (x < y) return !has_nan(a.imag()) || has_nan(b.imag());
    if (x > y) return has_nan(b.imag()) && !has_nan(a.imag());
    if (x == y || (has_nan(x) && has_nan(y))) return sorts_before(a.imag(), b.imag());
    return has_nan(y);
  } else {
    return math::less(a, b) || (has_nan(b) && !has_nan(a));
  }
}

}  // namespace

void sort_line(DType dtype, void* elements, int64_t count) {
  const auto size = static_cast<size_t>(count);
  std::vector<int64_t> indices(size);
  std::iota(indices.begin(), indices.end(), int64_t{0});
  argsort_line(dtype, elements, indices.data(), count);
  visit_dtype(dtype, [&]<class T>() {
    T* const to = static_cast<T*>(elements);
    const auto from = std::make_unique_for_overwrite<T[]>(size);
    std::copy_n(to, size, from.get());
    for (size_t i = 0; i < size; ++i) to[i] = from[static_cast<size_t>(indices[i])];
  });
}

void argsort_line(DType dtype, const void* elements, int64_t* indices, int64_t count) {
  visit_dtype(dtype, [&]<class T>() {
    const T* const keys = static_cast<const T*>(elements);
    std::sort(indices, indices + count, [&](int64_t i, int64_t j) {
      if (sorts_before(keys[i], keys[j])) return true;
      return !sorts_before(keys[j], keys[i]) && i < j;
    });
  });
}

}  // namespace ingot::base
