#pragma once

#include "devices/device.h"

namespace ingot::bindings {

/// Where a call runs, and where its results are.
struct CallTarget {
  devices::Device* device = nullptr;  ///< null: the host
  /// Whether arrays that a device's call makes become NumPy's.
  bool brings_home = false;
};

}  // namespace ingot::bindings
