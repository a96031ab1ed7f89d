#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "bindings/code.h"
#include "bindings/execution.h"

namespace ingot::bindings {

/// The layout of the operands of one run of a ufunc's loop, as far as code differs by it.
class OperandLayout {
 public:
  enum class Kind : uint8_t { Contiguous, Strided, Number };
  /// Disjoint: no output shares memory with an input. Fold: the first input and the output are one number,
  /// which each iteration replaces (`reduce`); the other operands are described.
  enum class Mode : uint8_t { Disjoint, Shared, Fold };
  static constexpr size_t kMost = 31;

  OperandLayout(size_t count, Mode mode) : count_(count), word_(static_cast<uint64_t>(mode) << 62) {}

  Mode mode() const { return static_cast<Mode>(word_ >> 62); }
  size_t count() const { return count_; }
  Kind kind(size_t i) const { return static_cast<Kind>(word_ >> 2 * i & 3); }
  void set(size_t i, Kind kind) {
    word_ = (word_ & ~(uint64_t{3} << 2 * i)) | static_cast<uint64_t>(kind) << 2 * i;
  }
  uint64_t word() const { return word_; }

 private:
  size_t count_;
  uint64_t word_;
};

/// The loop of a ufunc for operands of some dtypes: compiled code for each layout that has been needed. The
/// base of `ingot._vectorize`'s class, whose method `compile(layouts, mode)` makes the code - a
/// `Specialisation` for arrays and numbers, inputs first - and whose method `run(inputs, outputs)` makes the
/// calls that such code cannot make alone; `exception(failure, errors)` is what a failure of code raises.
class UfuncLoop {
 public:
  /// `dtypes` are those of the operands, inputs first; `element` is the specialisation for one element, whose
  /// guards are those of all code. `is_closed`: it has no hidden arguments.
  UfuncLoop(const nb::tuple& dtypes, size_t inputs, nb::object element, bool is_closed);
  virtual ~UfuncLoop();
  UfuncLoop(const UfuncLoop&) = delete;
  UfuncLoop& operator=(const UfuncLoop&) = delete;

  /// Whether what the function read outside is known to be as it was; else the method `renewed` gives the
  /// loop for what it is now. Throws what looking raises.
  bool is_current() const;
  /// NumPy's numbers of the operands' types.
  const std::vector<int>& type_numbers() const { return type_numbers_; }
  /// Runs iterations on operands of these addresses: `dimensions[0]` of them, at these `strides`, as NumPy
  /// calls loops. With the GIL or without; -1 with an exception set.
  virtual int run(char* const* data, const int64_t* dimensions, const int64_t* strides);
  /// Compiles code for contiguous operands now. Throws what the compiler raises.
  void prepare();

  /// For Python's collector (collected.h).
  int traverse(visitproc visit, void* arg) const;
  void clear();

  static void bind(nb::module_& m);

 protected:
  /// What code is for.
  struct Key {
    uint64_t layouts;
    uint64_t lengths;  ///< which lengths of core axes are 1
    bool operator==(const Key&) const = default;
  };
  struct Variant {
    Key key;
    nb::object specialisation;
    nb::object loaded;  ///< the object of `code`; None: there is none
    const Code* code;   ///< null: Python makes the calls
    Variant* next;
  };

  size_t count() const { return dtypes_.size(); }
  bool is_output(size_t i) const { return i >= inputs_; }
  base::DType dtype(size_t i) const { return dtypes_[i]; }
  int64_t size(size_t i) const { return sizes_[i]; }
  const Variant* find(Key key) const;
  /// Keeps what `compile` has made for so many operands, unless another thread was quicker.
  const Variant& keep(Key key, nb::object made, size_t operands);
  /// The code for the floating-point state of the thread; null: an exception is set.
  static const Code* in_this_state(const Code* code);
  /// Sets the exception that a run has failed with: -1.
  int fail(const Variant& variant, const Execution& execution) const;
  /// A call that Python makes, of arrays on the operands.
  void call_in_python(const nb::list& inputs, const nb::list& outputs) const;

 private:
  struct Operands;

  OperandLayout layout_of(const Operands& operands) const;
  bool folds(const Operands& operands) const;
  const Variant& made(const OperandLayout& layout);
  int run_code(const Variant& variant, const OperandLayout& layout, const Operands& operands) const;
  void run_in_python(const Operands& operands);

  size_t inputs_;
  std::vector<base::DType> dtypes_;
  std::vector<int> type_numbers_;
  std::vector<int64_t> sizes_;  ///< of the elements
  nb::object element_;
  bool is_closed_;
  std::atomic<Variant*> first_ = nullptr;  ///< is read without the GIL; a list that only grows, with the GIL
};

}  // namespace ingot::bindings
