#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/abi.h"

namespace ingot::runtime::testing {

/// A folder that is removed with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// Sets a variable of the environment, and unsets it again.
class EnvironmentFlag {
 public:
  explicit EnvironmentFlag(const char* name);
  ~EnvironmentFlag();
  EnvironmentFlag(const EnvironmentFlag&) = delete;
  EnvironmentFlag& operator=(const EnvironmentFlag&) = delete;

 private:
  const char* name_;
};

struct Finished {
  int status;          ///< the exit status; -1 if a signal ended it
  std::string output;  ///< stdout and stderr
};

/// Runs a command of the shell.
Finished run_command(const std::string& command);

using Bytes = std::vector<std::byte>;

Bytes read_bytes(const std::filesystem::path& path);
void write_bytes(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_text(const std::filesystem::path& path, std::string_view text);
Bytes to_bytes(std::string_view text);

/// The object that the C compiler makes of `source`, after the entry ABI's declarations in C.
Bytes compile_c(std::string_view source, const std::string& flags = "-O2 -fPIC");

/// `text` is somewhere in the message of the exception that `action` throws.
template <class Exception, class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Exception& e) {
    return e.what();
  }
  return "(nothing was thrown)";
}

/// A view of an argument with its lengths and strides after it.
template <int rank>
struct ViewArgument {
  ViewSlot slot{};
  int64_t lengths[rank]{};
  int64_t strides[rank]{};
};

}  // namespace ingot::runtime::testing
