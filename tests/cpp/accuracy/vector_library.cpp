#include "vector_library.h"

#include <dlfcn.h>

#include <cstring>

namespace ingot::accuracy {

namespace {

void* find_in(const char* file, const std::string& symbol) {
  void* const handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  return handle == nullptr ? nullptr : dlsym(handle, symbol.c_str());
}

template <class T, int kBytes>
struct VectorOf {
  using Type __attribute__((vector_size(kBytes))) = T;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"
#define INGOT_PASSES(suffix, bytes, features)                                                         \
  template <class T>                                                                                  \
  __attribute__((target(features))) void unary_##suffix(void* fn, const T* x, T* result, int64_t n) { \
    using V = typename VectorOf<T, bytes>::Type;                                                      \
    auto* const apply = reinterpret_cast<V (*)(V)>(fn);                                               \
    for (int64_t i = 0; i < n; i += bytes / static_cast<int64_t>(sizeof(T)))                          \
      *reinterpret_cast<V*>(result + i) = apply(*reinterpret_cast<const V*>(x + i));                  \
  }                                                                                                   \
  template <class T>                                                                                  \
  __attribute__((target(features))) void binary_##suffix(void* fn, const T* x, const T* y, T* result, \
                                                         int64_t n) {                                 \
    using V = typename VectorOf<T, bytes>::Type;                                                      \
    auto* const apply = reinterpret_cast<V (*)(V, V)>(fn);                                            \
    for (int64_t i = 0; i < n; i += bytes / static_cast<int64_t>(sizeof(T)))                          \
      *reinterpret_cast<V*>(result + i) =                                                             \
          apply(*reinterpret_cast<const V*>(x + i), *reinterpret_cast<const V*>(y + i));              \
  }
INGOT_PASSES(256, 32, "avx2,fma")
INGOT_PASSES(512, 64, "avx512f")
#undef INGOT_PASSES
#pragma GCC diagnostic pop

}  // namespace

template <class T>
Pass<T> find_pass(const std::string& name, bool binary, const std::string& library, int bits) {
  const bool is_double = sizeof(T) == 8;
  const bool wide = bits == 512;
  if (!(wide ? __builtin_cpu_supports("avx512f") : __builtin_cpu_supports("avx2"))) return nullptr;
  const std::string lanes = std::to_string(bits / 8 / static_cast<int>(sizeof(T)));
  void* fn = nullptr;
  if (library == "libmvec") {
    fn = find_in("libmvec.so.1", std::string("_ZGV") + (wide ? "e" : "d") + "N" + lanes +
                                     (binary ? "vv_" : "v_") + name + (is_double ? "" : "f"));
  } else {
    for (const char* accuracy : {"_u10", "_u05", "_u15"}) {
      if (fn == nullptr)
        fn = find_in("libsleef.so.3", "Sleef_" + name + (is_double ? "d" : "f") + lanes + accuracy +
                                          (wide ? "avx512f" : "avx2"));
    }
  }
  if (fn == nullptr) return nullptr;
  return [=](const T* x, const T* y, T* result, int64_t n) {
    if (binary) wide ? binary_512(fn, x, y, result, n) : binary_256(fn, x, y, result, n);
    else wide ? unary_512(fn, x, result, n) : unary_256(fn, x, result, n);
  };
}

template Pass<double> find_pass<double>(const std::string&, bool, const std::string&, int);
template Pass<float> find_pass<float>(const std::string&, bool, const std::string&, int);

}  // namespace ingot::accuracy
