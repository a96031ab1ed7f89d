#pragma once

#include <memory>
#include <string>
#include <string_view>

/// AMD's library for code objects, as far as it is used here: it links LLVM's objects to code objects, which
/// the driver loads. Its names and numbers are defined here.
namespace ingot::devices {

class Comgr {
 public:
  /// Opens the shared object of this name or path. Throws DeviceError if there is none, or one of another
  /// version than 2.
  static std::unique_ptr<Comgr> open(const std::string& path);

  /// The code object of a relocatable one for this processor (`gfx942`). Throws DeviceError with the linker's
  /// words. May be called from any thread.
  std::string link(std::string_view object, const std::string& processor) const;

 private:
  Comgr() = default;
  struct Functions;
  std::shared_ptr<const Functions> functions_;
};

}  // namespace ingot::devices
