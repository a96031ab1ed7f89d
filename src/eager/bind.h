#pragma once

#include <nanobind/nanobind.h>

/// What Python has of devices, added to the extension.
namespace ingot::eager {

/// The type `DeviceArray`, the base of `ingot.Array`, devices and copies.
void bind_devices(nanobind::module_& m);
/// Streams, events, pinned memory and what a device reports of kernels.
void bind_streams(nanobind::module_& m);
void bind_graphs(nanobind::module_& m);
/// The libraries of devices: what arrays they take is checked there (`ingot.cuda`).
void bind_libraries(nanobind::module_& m);
/// What shows arrays on devices to other libraries, and theirs to Ingot, by DLPack.
void bind_exchange(nanobind::module_& m);
/// `Operation`, and what `ingot._operations.lazy` needs.
void bind_pending(nanobind::module_& m);

inline void bind(nanobind::module_& m) {
  bind_devices(m);
  bind_streams(m);
  bind_graphs(m);
  bind_libraries(m);
  bind_exchange(m);
  bind_pending(m);
}

}  // namespace ingot::eager
