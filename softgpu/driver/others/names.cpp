#include "softgpu/driver/others/names.h"

#include <string_view>

// The table of cuGetProcAddress. Here the functions are names only: the caller casts to their types.

extern "C" {
#define FUNCTION(name, symbol, since) void symbol();
#include "softgpu/driver/others/functions.def"
#undef FUNCTION
}

namespace softgpu::driver {

void* function_named(const char* name, int version) {
  static constexpr struct {
    std::string_view name;
    void (*function)();
    int since;
  } kFunctions[] = {
#define FUNCTION(name, symbol, since) {#name, symbol, since},
#include "softgpu/driver/others/functions.def"
#undef FUNCTION
  };
  void (*found)() = nullptr;
  int newest = -1;
  for (const auto& known : kFunctions) {
    if (known.name != name || known.since > version || known.since < newest) continue;
    found = known.function;
    newest = known.since;
  }
  return reinterpret_cast<void*>(found);
}

}  // namespace softgpu::driver
