#pragma once

#include "codegen/targets/instructions.h"

namespace ingot::codegen {

/// Those of x86-64 CPUs of a level of the psABI, 1 to 4, with or without conversions of binary16.
class X86Instructions final : public Instructions {
 public:
  X86Instructions(int level, bool has_halves) : level_(level), has_halves_(has_halves) {}

  bool masks(Access access, unsigned bits) const override;
  bool masks_all() const override { return has_avx512(); }
  bool has_fma() const override { return level_ >= 3; }
  bool has_halves() const override { return has_halves_; }
  bool converts_words() const override { return has_avx512(); }
  size_t returned_parts() const override { return 2; }
  Value* truncated(Builder& b, Value* number, bool to_64_bits) const override;
  bool splits_numbers() const override { return has_avx512(); }
  Value* scaled(Builder& b, Value* y, Value* n) const override;
  Value* exponent(Builder& b, Value* x) const override;
  Value* mantissa(Builder& b, Value* x) const override;
  unsigned compressed_bits() const override { return has_avx512() ? 512 : level_ >= 3 ? 256 : 0; }
  Value* compressed(Builder& b, Value* lanes, Value* mask) const override;
  void fence_streams(Builder& b) const override;

 private:
  bool has_avx512() const { return level_ >= 4; }

  int level_;
  bool has_halves_;
};

}  // namespace ingot::codegen
