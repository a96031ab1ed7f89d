#pragma once

#include <stdexcept>

namespace ingot::runtime {

/// An object that cannot be loaded: damaged, made by something else, or requiring what the loader or this
/// version of the runtime does not have. Nothing of it is kept.
class LoadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace ingot::runtime
