#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstddef>

namespace ingot::codegen {

/// Operations of a CPU, where LLVM's, which all CPUs have, do not suffice. The functions of this class itself
/// are portable: any CPU that LLVM knows runs what they make. A CPU replaces those that it has instructions
/// for. Values have the same bits either way.
class Instructions {
 public:
  using Builder = llvm::IRBuilder<>;
  using Value = llvm::Value;

  Instructions() = default;
  virtual ~Instructions() = default;
  Instructions(const Instructions&) = delete;
  Instructions& operator=(const Instructions&) = delete;

  /// @name Capabilities
  enum class Access : uint8_t { Load, Store, Gather, Scatter };
  /// Whether such an access of numbers of so many bits touches only the lanes of a mask. Else it is made of
  /// accesses of one number.
  virtual bool masks(Access, unsigned /*bits*/) const { return false; }
  /// Whether any operation can run under a mask, at no cost.
  virtual bool masks_all() const { return false; }
  /// a * b + c, rounded once; the kernels of mathematics are made of it. Else the runtime's are called.
  virtual bool has_fma() const { return false; }
  /// Conversions of binary16 to float and back.
  virtual bool has_halves() const { return false; }
  /// Whether lanes of 64-bit integers, unsigned too, become doubles and back in one instruction.
  virtual bool converts_words() const { return false; }
  /// How many parts of each kind, integers and floats, functions return in registers, besides their status.
  virtual size_t returned_parts() const { return 0; }

  /// @name Numbers
  /// A float or double, or lanes of them, towards 0 as i32 or i64: out of range the least integer.
  virtual Value* truncated(Builder& b, Value* number, bool to_64_bits) const;
  /// Whether the three that follow are there; without, kernels split numbers by their bits.
  virtual bool splits_numbers() const { return false; }
  /// y * 2**n, n integral, rounded once.
  virtual Value* scaled(Builder& b, Value* y, Value* n) const;
  /// The exponent of 2 in x, as a float: that of the largest power that |x| is not below.
  virtual Value* exponent(Builder& b, Value* x) const;
  /// In [3/4, 3/2): x by a power of 2; NaN of negative numbers.
  virtual Value* mantissa(Builder& b, Value* x) const;

  /// @name Memory
  /// The bits of a register whose lanes can be compacted; 0: there is none. And a vector of 32-bit or 64-bit
  /// numbers, of at most so many bits, whose first lanes are those of another that a mask selects; the rest
  /// is any.
  virtual unsigned compressed_bits() const { return 0; }
  virtual Value* compressed(Builder& b, Value* lanes, Value* mask) const;
  /// Stores past the caches become visible before all later stores.
  virtual void fence_streams(Builder& b) const;
};

/// What devices have in common.
class DeviceInstructions : public Instructions {
 public:
  bool has_fma() const override { return true; }
  bool has_halves() const override { return true; }
  /// Results are passed like arguments, however many they are.
  size_t returned_parts() const override { return 8; }
};

}  // namespace ingot::codegen
