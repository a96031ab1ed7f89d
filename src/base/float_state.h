#pragma once

#include <cstdint>

namespace ingot::base {

/// The floating-point state of a thread, as far as values depend on it: from x86-64's MXCSR the direction of
/// rounding, whether denormal results and operands are taken as zeros (FTZ, DAZ), and which exceptions trap.
/// The default state rounds to nearest, keeps denormal numbers and traps nothing. Elementary functions are
/// defined in it (`ir::wants_default_state`); `+ - * /` and `sqrt` follow the state of the thread that calls.
class FloatState {
 public:
  constexpr FloatState() = default;  ///< the default one

  /// That of the calling thread.
  static FloatState current() {
    FloatState state;
    state.difference_ = (__builtin_ia32_stmxcsr() & kControl) ^ kDefault;
    return state;
  }
  /// As `word` gave it.
  static constexpr FloatState of_word(uint32_t word) {
    FloatState state;
    state.difference_ = word;
    return state;
  }
  /// 0: the default state.
  constexpr uint32_t word() const { return difference_; }

  constexpr FloatState without_traps() const { return of_word(difference_ & ~kTraps); }

  /// Makes it the calling thread's; the flags of exceptions that have been raised stay.
  void set() const {
    __builtin_ia32_ldmxcsr((__builtin_ia32_stmxcsr() & ~kControl) | (kDefault ^ difference_));
  }

  friend constexpr bool operator==(FloatState a, FloatState b) = default;

 private:
  static constexpr uint32_t kControl = 0xffc0;  ///< all but the flags
  static constexpr uint32_t kDefault = 0x1f80;
  static constexpr uint32_t kTraps = 0x1f80;

  uint32_t difference_ = 0;  ///< the control bits that are not those of the default state
};

/// A state during its lifetime: the thread is switched to it if its own is another one, and back. Code that
/// is to run in it has to be in a function that is called meanwhile, as compilers move arithmetic.
class InFloatState {
 public:
  explicit InFloatState(FloatState wanted = {}) : before_(FloatState::current()), wanted_(wanted) {
    if (before_ != wanted_) [[unlikely]]
      wanted_.set();
  }
  ~InFloatState() {
    if (before_ != wanted_) [[unlikely]]
      before_.set();
  }
  InFloatState(const InFloatState&) = delete;
  InFloatState& operator=(const InFloatState&) = delete;

 private:
  FloatState before_;
  FloatState wanted_;
};

}  // namespace ingot::base
