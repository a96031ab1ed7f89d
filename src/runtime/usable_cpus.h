#pragma once

namespace ingot::runtime {

/// The number of CPUs that this process may use: those of its affinity, or fewer where a control group that
/// it is in has a quota (rounded up).
int usable_cpus() noexcept;

/// How many CPUs the quotas of control groups come to, rounded up: of the groups that the file `groups`
/// names, in the form of /proc/self/cgroup, and of those around them, in file systems below the folder
/// `root`. INT_MAX: there is no quota.
int cpus_of_groups(const char* groups, const char* root) noexcept;

}  // namespace ingot::runtime
