#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace ingot::runtime {

/// Informs an attached gdb (or one that attaches later) of an object in memory, as long as this lives, by the
/// interface that gdb defines for just-in-time compilers. Usable from any thread.
class GdbRegistration {
 public:
  /// INGOT_GDB=1 is in the environment.
  static bool enabled();

  /// Of nothing.
  GdbRegistration() = default;
  /// `image`: the relocatable object, with the sections' addresses in its section headers.
  explicit GdbRegistration(std::vector<std::byte> image);

 private:
  struct Entry;
  struct Unregister {
    void operator()(Entry* entry) const noexcept;
  };
  std::unique_ptr<Entry, Unregister> entry_;
};

}  // namespace ingot::runtime
