#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "bindings/ufunc_loop.h"

namespace ingot::bindings {

/// The loop of a generalised ufunc for operands of some dtypes: compiled code for each layout of operands
/// that has been needed, in which the core is called once for each iteration. The base of
/// `ingot._vectorize.guvectorize.CoreLoop`, whose method `compile(layouts, ones)` makes the code, for a
/// character for each operand and a bit for each length of core axes that is 1.
///
/// An operand of layout `C` has no gaps and a leading axis for the iterations. `N`: it is one for all
/// iterations, has no gaps and no such axis. `A`: as `C`, with any strides.
class GufuncLoop : public UfuncLoop {
 public:
  /// `cores`: of each operand the numbers of the lengths that its axes in an iteration have; None: it is a
  /// number there. An operand without axes that is no number is an array of one element.
  GufuncLoop(const nb::tuple& dtypes, size_t inputs, nb::object element, bool is_closed,
             const nb::tuple& cores);

  int run(char* const* data, const int64_t* dimensions, const int64_t* strides) override;

  static void bind(nb::module_& m);

 private:
  /// An operand in the iterations of one run: its axes, that of the iterations first.
  struct Operand {
    std::byte* data;
    int rank;  ///< without that axis
    int64_t lengths[runtime::SlotInfo::kMaxRank];
    int64_t strides[runtime::SlotInfo::kMaxRank];
    bool is_dense;  ///< has no gaps in an iteration
    int64_t bytes;  ///< of one iteration, without gaps

    void close_gaps(int64_t size);
    std::vector<std::byte> move_to_copy(int64_t size);
  };
  enum class Layout : uint8_t { Contiguous, Strided, Same };

  std::vector<Operand> operands_of(char* const* data, const int64_t* dimensions,
                                   const int64_t* strides) const;
  /// Has inputs copied that are an output: NumPy, which copies others that share memory with it, takes it
  /// that each element is read before it is written. The copies.
  std::vector<std::vector<std::byte>> copy_shared(std::vector<Operand>& operands) const;
  Layout layout_of(const Operand& operand, size_t i) const;
  Key key_of(const std::vector<Operand>& operands, const int64_t* dimensions) const;
  int run_iterations(std::vector<Operand>& operands, const int64_t* dimensions);
  int run_code(const Variant& variant, const std::vector<Operand>& operands) const;
  void run_in_python(const std::vector<Operand>& operands);

  struct Core {
    std::vector<size_t> lengths;
    bool is_number;
  };
  std::vector<Core> cores_;
  size_t lengths_ = 0;  ///< how many lengths the core axes have among them
};

}  // namespace ingot::bindings
