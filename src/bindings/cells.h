#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ingot::bindings {

namespace nb = nanobind;

/// The numbers that compiled code puts into the caller's containers, until they are put there. Of each
/// container the code gets four arrays with an element for each index: tags, which are the kinds of the
/// numbers that were put there last, and the numbers, as int64, float64 and complex128.
class Cells {
 public:
  /// Of the containers of one call. `layouts`: by container, the names of an instance's attributes; None: it
  /// is a list or a dict, with its own places. The containers outlive it.
  Cells(nb::tuple layouts, std::span<PyObject* const> containers);

  static constexpr size_t kArrays = 4;
  static constexpr std::array<int64_t, kArrays> kStrides = {8, 8, 8, 16};

  struct Strip {
    std::byte* data;
    int64_t length;
    int64_t stride;
  };
  /// The arrays of all containers, one container's after the other's.
  std::span<const Strip> strips() const { return strips_; }

  /// Puts the numbers where they belong. Throws what that raises. Wants the GIL.
  void flush();

 private:
  void flush(size_t container);

  const nb::tuple layouts_;
  std::span<PyObject* const> containers_;
  std::vector<nb::object> keys_;  ///< of dicts, in order
  std::vector<Strip> strips_;
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace ingot::bindings
