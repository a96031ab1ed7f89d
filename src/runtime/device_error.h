#pragma once

#include <string>

namespace ingot::runtime {

/// Why the calling thread's last call of a device failed; of an unsupported request, what that is and, after
/// a line's end, what to do instead.
const std::string& last_device_error();
void set_last_device_error(std::string message);

}  // namespace ingot::runtime
