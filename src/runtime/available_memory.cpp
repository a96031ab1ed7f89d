#include "runtime/available_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace ingot::runtime {

namespace {

/// The contents of a small file of the system's; no heap is used, as it may be exhausted.
class File {
 public:
  explicit File(const char* path) noexcept {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    for (ssize_t count = 1; count > 0 && size_ < text_.size();) {
      count = read(file, text_.data() + size_, text_.size() - size_);
      size_ += static_cast<size_t>(std::max<ssize_t>(count, 0));
    }
    close(file);
  }

  /// The number after a word at the start of a line, or at the start of the file; -1: there is none.
  int64_t number(std::string_view word = {}) const noexcept {
    const std::string_view text(text_.data(), size_);
    size_t at = 0;
    if (!text.starts_with(word)) {
      do at = text.find(word, at + 1);
      while (at != std::string_view::npos && text[at - 1] != '\n');
    }
    if (at == std::string_view::npos) return -1;
    at = text.find_first_not_of(' ', at + word.size());
    if (at == std::string_view::npos) return -1;
    int64_t number = -1;
    std::from_chars(text.data() + at, text.data() + size_, number);
    return number;
  }

 private:
  std::array<char, 8192> text_;
  size_t size_ = 0;
};

/// What a group may still use: its use includes pages of files, which can be reclaimed.
int64_t left_of_group(const char* limit, const char* use, const char* statistics) noexcept {
  const int64_t most = File(limit).number();
  const int64_t now = File(use).number();
  if (most < 0 || now < 0) return INT64_MAX;
  return most - now + std::max<int64_t>(File(statistics).number("inactive_file "), 0);
}

}  // namespace

int64_t memory_limit_of_group() noexcept {
  const int64_t bytes = File("/sys/fs/cgroup/memory.max").number();
  return bytes < 0 ? INT64_MAX : bytes;
}

int64_t available_memory() noexcept {
  const File machine("/proc/meminfo");
  const int64_t available = machine.number("MemAvailable:");
  const int64_t swap = machine.number("SwapFree:");
  int64_t bytes = available < 0 ? INT64_MAX : (available + std::max<int64_t>(swap, 0)) * 1024;
  bytes = std::min(bytes, left_of_group("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current",
                                        "/sys/fs/cgroup/memory.stat"));
  return std::min(bytes, left_of_group("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                                       "/sys/fs/cgroup/memory/memory.usage_in_bytes",
                                       "/sys/fs/cgroup/memory/memory.stat"));
}

}  // namespace ingot::runtime
