#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace ingot::accuracy {

/// A function of arrays; the count is a multiple of the vector's lanes.
template <class T>
using Pass = std::function<void(const T* x, const T* y, T* result, int64_t count)>;

/// The function of the C library's name (`sin`) in "libmvec" or "sleef" (its version of 1 ulp) at 256 or 512
/// bits, applied to arrays; null if this machine has none.
template <class T>
Pass<T> find_pass(const std::string& name, bool binary, const std::string& library, int bits);

}  // namespace ingot::accuracy
