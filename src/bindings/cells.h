#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bindings/described.h"

namespace ingot::bindings {

namespace nb = nanobind;

/// The numbers that compiled code puts into the caller's containers, until they are put there. Of each
/// container the code gets four arrays with an element for each index: tags, which are the kinds of the
/// numbers that were put there last, and the numbers, as int64, float64 and complex128. Of a list buffer that
/// it changes, the numbers as int64 are the length, and the number of the buffer of each column, or kGiven.
class Cells {
 public:
  /// Of the containers of one call. `layouts`: by container, the names of an instance's attributes; None: it
  /// is a list or a dict, with its own places; of a list buffer its description, of whose columns `argument`
  /// is the leaf. The containers and leaves outlive it.
  Cells(nb::tuple layouts, std::span<PyObject* const> containers, std::span<PyObject* const> leaves);

  static constexpr int64_t kGiven = -1;  ///< the buffer of a column is that of the leaf
  /// The memory of a buffer, by the number that op `keep` gave.
  using Kept = std::function<const std::byte*(int64_t)>;

  static constexpr size_t kArrays = 4;
  static constexpr std::array<int64_t, kArrays> kStrides = {8, 8, 8, 16};

  struct Strip {
    std::byte* data;
    int64_t length;
    int64_t stride;
  };
  /// The arrays of all containers, one container's after the other's.
  std::span<const Strip> strips() const { return strips_; }

  /// Puts the numbers where they belong, while the buffers are there. Throws what that raises. Wants the GIL.
  void flush() { flush(&kept_in_code); }
  void flush(const Kept& kept);

  /// Adds a class to the extension: cells for calls that Python makes, which hold what they are of.
  static void bind(nb::module_& m);
  /// Those of such an object.
  static Cells& of(nb::handle held);

 private:
  static const std::byte* kept_in_code(int64_t number);
  void flush_numbers(size_t container);
  void flush_list(size_t container, const Description& list, const Kept& kept);

  const nb::tuple layouts_;
  std::span<PyObject* const> containers_;
  std::span<PyObject* const> leaves_;
  std::vector<nb::object> keys_;  ///< of dicts, in order
  std::vector<Strip> strips_;
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace ingot::bindings
