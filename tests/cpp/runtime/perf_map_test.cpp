#include "runtime/perf_map.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "runtime/loader.h"
#include "support.h"

namespace ingot::runtime {
namespace {

using testing::EnvironmentFlag;

/// The file that perf looks for; there is none before and after each test.
class PerfMap : public ::testing::Test {
 protected:
  PerfMap() { std::filesystem::remove(path_); }
  ~PerfMap() override { std::filesystem::remove(path_); }
  std::string text() const {
    auto bytes = testing::read_bytes(path_);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  LoadedObject load() const { return LoadedObject::load(bytes_); }

  std::string path_ = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  testing::Bytes bytes_ = testing::compile_c("int perf_function(int x) { return x * x + 1; }");
};

TEST_F(PerfMap, is_not_written_unless_asked) {
  auto object = load();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(PerfMap, has_a_line_for_each_function) {
  const EnvironmentFlag flag("INGOT_PERF");
  auto first = load();
  auto second = load();
  std::string expected;
  for (const auto* object : {&first, &second}) {
    for (const auto& symbol : object->symbols()) {
      if (!symbol.is_function) continue;
      char line[100];
      std::snprintf(line, sizeof line, "%zx %zx perf_function\n", reinterpret_cast<size_t>(symbol.address),
                    symbol.size);
      expected += line;
    }
  }
  EXPECT_NE(expected, "");
  EXPECT_EQ(text(), expected);
}

TEST_F(PerfMap, has_no_line_breaks_in_names) {
  append_to_perf_map(std::vector<PerfSymbol>{{"a\nb", reinterpret_cast<const void*>(0x1f00), 0x20}});
  EXPECT_EQ(text(), "1f00 20 a?b\n");
}

TEST_F(PerfMap, is_not_written_through_links) {
  const EnvironmentFlag flag("INGOT_PERF");
  const testing::TemporaryFolder folder;
  testing::write_text(folder / "victim", "precious");
  std::filesystem::create_symlink(folder / "victim", path_);
  auto first = load();
  EXPECT_EQ(std::filesystem::file_size(folder / "victim"), 8u);

  std::filesystem::remove(path_);
  std::filesystem::create_symlink(folder / "absent", path_);
  auto second = load();
  EXPECT_FALSE(std::filesystem::exists(folder / "absent"));
}

TEST_F(PerfMap, is_not_written_into_a_file_with_another_name) {
  const EnvironmentFlag flag("INGOT_PERF");
  const std::string victim = path_ + ".victim";
  testing::write_text(victim, "precious");
  ASSERT_EQ(link(victim.c_str(), path_.c_str()), 0);
  auto object = load();
  EXPECT_EQ(std::filesystem::file_size(victim), 8u);
  std::filesystem::remove(victim);
}

TEST_F(PerfMap, does_not_wait_for_the_reader_of_a_pipe) {
  const EnvironmentFlag flag("INGOT_PERF");
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  auto object = load();
  EXPECT_NE(object.find("perf_function"), nullptr);
}

}  // namespace
}  // namespace ingot::runtime
