#include "runtime/usable_cpus.h"

#include <gtest/gtest.h>

#include <climits>
#include <filesystem>
#include <fstream>
#include <string>

namespace ingot::runtime {
namespace {

/// A folder with files of control groups.
class Groups : public testing::Test {
 protected:
  Groups() {
    std::string pattern = (std::filesystem::temp_directory_path() / "groups-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  ~Groups() override { std::filesystem::remove_all(root_); }

  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = root_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  int cpus(const std::string& groups) const {
    write("groups", groups);
    return cpus_of_groups((root_ / "groups").c_str(), root_.c_str());
  }

  std::filesystem::path root_;
};

TEST_F(Groups, without_quotas_bound_nothing) {
  EXPECT_EQ(cpus_of_groups("/nowhere/groups", "/nowhere"), INT_MAX);
  EXPECT_EQ(cpus("0::/\n"), INT_MAX);
  write("cpu.max", "max 100000\n");
  EXPECT_EQ(cpus("0::/\n"), INT_MAX);
  for (const char* text : {"", "100000", "0 100000", "100000 0", "-1 100000", "word word"}) {
    write("cpu.max", text);
    EXPECT_EQ(cpus("0::/\n"), INT_MAX) << text;
  }
}

TEST_F(Groups, have_quotas_that_are_rounded_up) {
  write("cpu.max", "250000 100000\n");
  EXPECT_EQ(cpus("0::/\n"), 3);
  write("cpu.max", "200000 100000\n");
  EXPECT_EQ(cpus("0::/\n"), 2);
  write("cpu.max", "1000 100000\n");
  EXPECT_EQ(cpus("0::/\n"), 1);
  EXPECT_EQ(cpus(""), 1);  // nothing names the group: the root is the process's own
}

TEST_F(Groups, have_the_least_quota_of_those_around_them) {
  write("jobs/cpu.max", "400000 100000\n");
  write("jobs/one/cpu.max", "max 100000\n");
  write("jobs/one/step/cpu.max", "600000 100000\n");
  EXPECT_EQ(cpus("0::/jobs/one/step\n"), 4);
  write("jobs/one/step/cpu.max", "300000 100000\n");
  EXPECT_EQ(cpus("0::/jobs/one/step\n"), 3);
  EXPECT_EQ(cpus("0::/jobs/one\n"), 4);
  EXPECT_EQ(cpus("0::/others\n"), INT_MAX);
}

TEST_F(Groups, of_a_container_may_have_a_path_that_is_not_there) {
  write("cpu.max", "200000 100000\n");
  EXPECT_EQ(cpus("0::/docker/0123456789\n"), 2);
  EXPECT_EQ(cpus("0::/" + std::string(5000, 'x') + "\n"), 2);
}

TEST_F(Groups, of_the_first_version_are_known_by_their_controller) {
  write("cpu/slurm/job/cpu.cfs_quota_us", "150000\n");
  write("cpu/slurm/job/cpu.cfs_period_us", "100000\n");
  const std::string groups = "9:memory:/slurm\n4:cpuacct,cpu:/slurm/job\n0::/\n";
  EXPECT_EQ(cpus(groups), 2);
  EXPECT_EQ(cpus("4:cpuset:/slurm/job\n"), INT_MAX);
  write("cpu/slurm/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(cpus(groups), INT_MAX);
}

TEST(UsableCpus, are_at_least_one) { EXPECT_GE(usable_cpus(), 1); }

}  // namespace
}  // namespace ingot::runtime
