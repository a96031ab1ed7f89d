#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/device_calls.h"
#include "runtime/gdb.h"
#include "runtime/load_error.h"
#include "runtime/mapping.h"

namespace ingot::runtime {

/// Machine code in memory, ready to be called: a relocatable x86-64 object (`.o`) that has been linked
/// against the closed list of symbols.h. Code is read-only and executable, constants read-only, data
/// writable. With INGOT_PERF=1 and INGOT_GDB=1 in the environment, its functions' names are passed to perf
/// and gdb.
///
/// Sections for unwinders, linkers and debuggers (.eh_frame, notes, .ingot, debug information) are not put
/// into memory. What compiled code never has is refused: thread-local, weak, common and indirect symbols,
/// section groups, constructors, sections both writable and executable.
class LoadedObject {
 public:
  /// Throws LoadError, which names the missing symbol, the unknown kind of relocation, or what is damaged.
  /// The image is not needed afterwards.
  static LoadedObject load(std::span<const std::byte> image);

  /// The address of the global symbol of this name that the object defines; null if there is none.
  void* find(std::string_view name) const;
  /// The same for functions only.
  void* find_function(std::string_view name) const;

  /// How the kernels in it are loaded; given before the first launch.
  void load_kernels_with(std::shared_ptr<const devices::LoadOptions> options) {
    kernels_.load_with(std::move(options));
  }

  /// Whether its code uses this external symbol.
  bool calls(std::string_view name) const;

  /// A symbol of the object with an address in memory.
  struct Symbol {
    std::string name;
    std::byte* address;
    size_t size;
    bool is_function;
    bool is_global;
  };
  /// All of them, sorted by name.
  std::span<const Symbol> symbols() const { return symbols_; }

 private:
  LoadedObject(Mapping mapping, std::vector<Symbol> symbols, std::vector<std::string> outside);
  const Symbol* find_global(std::string_view name) const;

  Mapping mapping_;
  LoadedKernels kernels_;  ///< gone before the mapping is
  std::vector<Symbol> symbols_;
  std::vector<std::string> outside_;  ///< the names of external symbols
  GdbRegistration gdb_;
};

}  // namespace ingot::runtime
