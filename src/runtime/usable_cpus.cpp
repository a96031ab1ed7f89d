#include "runtime/usable_cpus.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstring>
#include <optional>
#include <string_view>

namespace ingot::runtime {

namespace {

/// A path without the heap, of which files are read; one that is too long names no file.
class Path {
 public:
  explicit Path(std::string_view start) noexcept { append(start); }

  void append(std::string_view part) noexcept {
    is_whole_ = is_whole_ && part.size() < text_.size() - size_;
    if (!is_whole_) return;
    std::memcpy(text_.data() + size_, part.data(), part.size());
    size_ += part.size();
    text_[size_] = '\0';
  }
  void cut(size_t size) noexcept { text_[size_ = size] = '\0'; }
  size_t size() const noexcept { return size_; }
  std::string_view text() const noexcept { return {text_.data(), size_}; }

  /// The start of the file, of which `buffer` has the text.
  template <size_t kSize>
  std::string_view read_into(std::array<char, kSize>& buffer) const noexcept {
    const int file = is_whole_ ? open(text_.data(), O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return {};
    size_t size = 0;
    for (ssize_t count = 1; count > 0 && size < kSize;
         size += static_cast<size_t>(std::max<ssize_t>(count, 0)))
      count = read(file, buffer.data() + size, kSize - size);
    close(file);
    return {buffer.data(), size};
  }

 private:
  std::array<char, 4096> text_{};
  size_t size_ = 0;
  bool is_whole_ = true;
};

/// Takes what precedes a separator, and the separator, from the start of a text.
std::string_view take(std::string_view& text, char separator) noexcept {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

std::optional<int64_t> number(std::string_view text) noexcept {
  int64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{} || value <= 0)
    return std::nullopt;
  return value;
}

int cpus(std::optional<int64_t> quota, std::optional<int64_t> period) noexcept {
  if (!quota || !period) return INT_MAX;
  const int64_t whole = *quota / *period + (*quota % *period != 0 ? 1 : 0);
  return static_cast<int>(std::min<int64_t>(whole, INT_MAX));
}

/// The quota in one folder of the second version of control groups, or of the first.
int cpus_of_folder(Path& folder, bool is_second) noexcept {
  std::array<char, 64> buffer;
  const size_t size = folder.size();
  const auto text_of = [&](const char* name) {
    folder.append(name);
    const std::string_view text = folder.read_into(buffer);
    folder.cut(size);
    return text;
  };
  if (is_second) {
    std::string_view text = text_of("/cpu.max");
    const auto quota = number(take(text, ' '));
    return cpus(quota, number(text));
  }
  const auto quota = number(text_of("/cpu.cfs_quota_us"));
  return cpus(quota, number(text_of("/cpu.cfs_period_us")));
}

/// The least quota of a group and those around it. The group need not be there: a container sees its own as
/// the root.
int cpus_of_group(std::string_view root, std::string_view mount, std::string_view group,
                  bool is_second) noexcept {
  Path folder(root);
  folder.append(mount);
  const size_t top = folder.size();
  folder.append(group);
  int least = cpus_of_folder(folder, is_second);
  while (folder.size() > top) {
    folder.cut(std::max(top, folder.text().rfind('/')));
    least = std::min(least, cpus_of_folder(folder, is_second));
  }
  return least;
}

bool has_cpu(std::string_view controllers) noexcept {
  while (!controllers.empty())
    if (take(controllers, ',') == "cpu") return true;
  return false;
}

}  // namespace

int cpus_of_groups(const char* groups, const char* root) noexcept {
  std::array<char, 8192> buffer;
  std::string_view text = Path(groups).read_into(buffer);
  int least = std::min(cpus_of_group(root, "", "", true), cpus_of_group(root, "/cpu", "", false));
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    const std::string_view hierarchy = take(line, ':');
    const std::string_view controllers = take(line, ':');
    if (hierarchy == "0" && controllers.empty()) least = std::min(least, cpus_of_group(root, "", line, true));
    else if (has_cpu(controllers)) least = std::min(least, cpus_of_group(root, "/cpu", line, false));
  }
  return least;
}

int usable_cpus() noexcept {
  int count = 1;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) count = CPU_COUNT(&allowed);
  return std::clamp(cpus_of_groups("/proc/self/cgroup", "/sys/fs/cgroup"), 1, count);
}

}  // namespace ingot::runtime
