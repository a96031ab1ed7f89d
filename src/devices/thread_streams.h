#pragma once

#include "devices/device.h"

/// The streams that threads have set.
namespace ingot::devices {

/// The one that the calling thread has set for a device; null: none.
Stream* stream_of_thread(const Device& device) noexcept;
/// Null: none. False: of so many devices no thread can set streams. Throws std::bad_alloc.
bool set_stream_of_thread(const Device& device, Stream* stream);
/// Before it is destroyed.
void forget_stream_of_thread(const Stream& stream) noexcept;

}  // namespace ingot::devices
