#include "runtime/device_error.h"

#include <utility>

namespace ingot::runtime {

namespace {
thread_local std::string last_error;
}  // namespace

const std::string& last_device_error() { return last_error; }
void set_last_device_error(std::string message) { last_error = std::move(message); }

}  // namespace ingot::runtime
