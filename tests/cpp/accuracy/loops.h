#pragma once

#include "codegen/math_loop.h"
#include "runtime/loader.h"

namespace ingot::accuracy {

/// Loops over arrays, compiled and loaded.
class Loops {
 public:
  Loops(std::span<const codegen::MathLoop> loops, const codegen::Target& target,
        const codegen::Options& options = {})
      : compiled(codegen::compile_math_loops(loops, target, options)),
        code_(runtime::LoadedObject::load(std::as_bytes(std::span(compiled.object)))) {}

  template <class T>
  using Function = void (*)(const T* x, const T* y, T* result, int64_t count);
  template <class T>
  Function<T> get(const codegen::MathLoop& loop) const {
    return reinterpret_cast<Function<T>>(code_.find_function(loop.symbol()));
  }

  codegen::Compiled compiled;

 private:
  runtime::LoadedObject code_;
};

}  // namespace ingot::accuracy
