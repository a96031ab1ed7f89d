#pragma once

#include <cstdint>

namespace ingot::runtime {

/// The limit of the control group that this process is in, as far as it sees one; INT64_MAX: none.
int64_t memory_limit_of_group() noexcept;

/// How many bytes this process could write to beyond those it has: what the machine has free or can free
/// without harm, and what its control group may still use. INT64_MAX where nothing reports it.
int64_t available_memory() noexcept;

}  // namespace ingot::runtime
