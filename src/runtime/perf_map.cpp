#include "runtime/perf_map.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/file.h"

namespace ingot::runtime {

namespace {

std::string line_of(const PerfSymbol& function) {
  char numbers[40];
  auto address = reinterpret_cast<uintptr_t>(function.address);
  std::snprintf(numbers, sizeof numbers, "%" PRIxPTR " %zx ", address, function.size);
  std::string line = numbers;
  for (const char c : function.name) line += static_cast<unsigned char>(c) < ' ' ? '?' : c;
  return line + '\n';
}

bool is_own_file(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
         status.st_nlink == 1;
}

}  // namespace

bool perf_map_enabled() {
  const char* value = std::getenv("INGOT_PERF");
  return value && std::string_view(value) == "1";
}

void append_to_perf_map(std::span<const PerfSymbol> functions) {
  std::string lines;
  for (const PerfSymbol& function : functions) lines += line_of(function);
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  constexpr int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  const File file(open(path.c_str(), flags, 0600));
  if (!file.is_open() || !is_own_file(file.descriptor())) return;
  // One write: the lines of several threads do not mix.
  [[maybe_unused]] const ssize_t written = write(file.descriptor(), lines.data(), lines.size());
}

}  // namespace ingot::runtime
