#pragma once

#include <algorithm>
#include <array>
#include <string_view>

/// Packages of Python's whose functions and objects are not written in Python.
namespace ingot::base {

inline constexpr std::array<std::string_view, 16> kClosedPackages = {
    "awkward", "cudf",   "cupy",    "cupyx", "dask",  "h5py",       "jax",    "jaxlib",
    "pandas",  "polars", "pyarrow", "scipy", "torch", "tensorflow", "xarray", "zarr"};

/// The modules of SciPy's matrices, whose parts the library takes.
inline constexpr std::string_view kOpenModules = "scipy.sparse._";

/// Whether objects of a module of this name belong to such a package: its functions are not inlined, its
/// objects have no parts.
constexpr bool is_closed_package(std::string_view module) {
  return std::ranges::find(kClosedPackages, module.substr(0, module.find('.'))) != kClosedPackages.end();
}

}  // namespace ingot::base
