#pragma once

#include <bit>

#include "base/math/kernels/plain.h"
#include "codegen/scalars.h"
#include "codegen/unit.h"

/// The kernels' values as LLVM values (base/math/kernels/plain.h defines what the operations mean): of a
/// scalar type or a fixed vector. A constant has no type of its own; it takes that of the other operand.
namespace ingot::codegen {

namespace kernels = base::math::kernels;

/// The location where values are emitted.
struct Emission {
  Unit& unit;
  Builder& b;

  /// The lanes of a vector type; 1 of a scalar.
  static unsigned lanes(llvm::Type* type);
  /// `element` with the lanes of another type.
  static llvm::Type* with_lanes_of(llvm::Type* element, llvm::Type* like);
  /// Replaces the parts, in the lanes where x > limit, by the results of the runtime's `function`: `void
  /// (const T* x, parts' addresses..., T limit, int64_t lanes, extra...)`.
  void replace_large(llvm::Value* x, double limit, llvm::StringRef function,
                     std::span<llvm::Value** const> parts, std::span<llvm::Value* const> extra);
  /// Replaces the parts, if the mask is set in any lane, by the results of the runtime's `function`: `void
  /// (inputs' addresses..., parts' addresses..., extra...)`.
  void replace_if_any(llvm::Value* mask, llvm::StringRef function, std::span<llvm::Value* const> inputs,
                      std::span<llvm::Value** const> parts, std::span<llvm::Value* const> extra);
};

template <class T>
struct Emitted;

template <class T>
struct EmittedMask {
  Emission* at;
  llvm::Value* value;
  friend EmittedMask operator&(EmittedMask a, EmittedMask b) {
    return {a.at, a.at->b.CreateAnd(a.value, b.value)};
  }
  friend EmittedMask operator|(EmittedMask a, EmittedMask b) {
    return {a.at, a.at->b.CreateOr(a.value, b.value)};
  }
  friend EmittedMask operator!(EmittedMask a) { return {a.at, a.at->b.CreateNot(a.value)}; }
};

template <class T>
struct EmittedBits {
  using Mask = EmittedMask<T>;
  Emission* at = nullptr;
  llvm::Value* value = nullptr;
  int64_t constant = 0;

  EmittedBits(int64_t number) : constant(number) {}
  EmittedBits(Emission* emission, llvm::Value* emitted) : at(emission), value(emitted) {}
  llvm::Value* typed(llvm::Type* type) const {
    return value != nullptr ? value : llvm::ConstantInt::getSigned(type, constant);
  }
  template <class Make>
  static auto both(EmittedBits a, EmittedBits b, Make make) {
    const EmittedBits& bound = a.value != nullptr ? a : b;
    llvm::Type* const type = bound.value->getType();
    return std::pair(bound.at, make(bound.at->b, a.typed(type), b.typed(type)));
  }
#define INGOT_EMITTED(symbol, Create)                                                                \
  friend EmittedBits operator symbol(EmittedBits a, EmittedBits b) {                                 \
    const auto [at, value] =                                                                         \
        both(a, b, [](Builder& make, llvm::Value* x, llvm::Value* y) { return make.Create(x, y); }); \
    return {at, value};                                                                              \
  }
  INGOT_EMITTED(+, CreateAdd)
  INGOT_EMITTED(-, CreateSub)
  INGOT_EMITTED(&, CreateAnd)
  INGOT_EMITTED(|, CreateOr)
  INGOT_EMITTED(^, CreateXor)
#undef INGOT_EMITTED
  friend EmittedBits operator<<(EmittedBits a, int count) {
    return {a.at, a.at->b.CreateShl(a.value, static_cast<uint64_t>(count))};
  }
  friend EmittedBits operator>>(EmittedBits a, int count) {
    return {a.at, a.at->b.CreateLShr(a.value, static_cast<uint64_t>(count))};
  }
  friend Mask operator==(EmittedBits a, EmittedBits b) {
    const auto [at, value] =
        both(a, b, [](Builder& make, llvm::Value* x, llvm::Value* y) { return make.CreateICmpEQ(x, y); });
    return {at, value};
  }
  friend Mask operator<(EmittedBits a, EmittedBits b) {
    const auto [at, value] =
        both(a, b, [](Builder& make, llvm::Value* x, llvm::Value* y) { return make.CreateICmpSLT(x, y); });
    return {at, value};
  }
  friend EmittedBits select(Mask mask, EmittedBits a, EmittedBits b) {
    llvm::Type* const type =
        Emission::with_lanes_of(mask.at->b.getIntNTy(8 * sizeof(T)), mask.value->getType());
    return {mask.at, mask.at->b.CreateSelect(mask.value, a.typed(type), b.typed(type))};
  }
  friend Emitted<T> from_bits(EmittedBits a) {
    llvm::Type* const type = Emission::with_lanes_of(Emitted<T>::element(*a.at), a.value->getType());
    return {a.at, a.at->b.CreateBitCast(a.value, type)};
  }
};

template <class T>
struct Emitted {
  using Element = T;
  using Bits = EmittedBits<T>;
  using Mask = EmittedMask<T>;
  Emission* at = nullptr;
  llvm::Value* value = nullptr;
  double constant = 0;

  Emitted(double number) : constant(number) {}
  Emitted(Emission* emission, llvm::Value* emitted) : at(emission), value(emitted) {}
  static llvm::Type* element(Emission& at) { return sizeof(T) == 8 ? at.b.getDoubleTy() : at.b.getFloatTy(); }
  llvm::Value* typed(llvm::Type* type) const {
    return value != nullptr ? value : llvm::ConstantFP::get(type, constant);
  }
  template <class Make>
  static auto both(Emitted a, Emitted b, Make make) {
    const Emitted& bound = a.value != nullptr ? a : b;
    llvm::Type* const type = bound.value->getType();
    return std::pair(bound.at, make(bound.at->b, a.typed(type), b.typed(type)));
  }
#define INGOT_EMITTED(Result, symbol, Create)                                                        \
  friend Result operator symbol(Emitted a, Emitted b) {                                              \
    const auto [at, value] =                                                                         \
        both(a, b, [](Builder& make, llvm::Value* x, llvm::Value* y) { return make.Create(x, y); }); \
    return {at, value};                                                                              \
  }
  INGOT_EMITTED(Emitted, +, CreateFAdd)
  INGOT_EMITTED(Emitted, -, CreateFSub)
  INGOT_EMITTED(Emitted, *, CreateFMul)
  INGOT_EMITTED(Emitted, /, CreateFDiv)
  INGOT_EMITTED(Mask, <, CreateFCmpOLT)
  INGOT_EMITTED(Mask, <=, CreateFCmpOLE)
  INGOT_EMITTED(Mask, >, CreateFCmpOGT)
  INGOT_EMITTED(Mask, >=, CreateFCmpOGE)
  INGOT_EMITTED(Mask, ==, CreateFCmpOEQ)
#undef INGOT_EMITTED
  friend Emitted operator-(Emitted a) {
    if (a.value == nullptr) return -a.constant;
    return {a.at, a.at->b.CreateFNeg(a.value)};
  }
  friend Emitted fma(Emitted a, Emitted b, Emitted c) {
    const Emitted& bound = a.value != nullptr ? a : b.value != nullptr ? b : c;
    llvm::Type* const type = bound.value->getType();
    return {bound.at, bound.at->b.CreateIntrinsic(llvm::Intrinsic::fma, {type},
                                                  {a.typed(type), b.typed(type), c.typed(type)})};
  }
  friend Emitted sqrt(Emitted a) {
    return {a.at, a.at->b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a.value)};
  }
  friend Emitted rint(Emitted a) {
    return {a.at, a.at->b.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, a.value)};
  }
  friend Emitted trunc(Emitted a) {
    return {a.at, a.at->b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, a.value)};
  }
  friend Emitted magnitude(Emitted a) {
    return {a.at, a.at->b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a.value)};
  }
  friend Emitted select(Mask mask, Emitted a, Emitted b) {
    llvm::Type* const type = Emission::with_lanes_of(element(*mask.at), mask.value->getType());
    return {mask.at, mask.at->b.CreateSelect(mask.value, a.typed(type), b.typed(type))};
  }
  friend Bits bits(Emitted a) {
    if (a.value == nullptr) {
      if constexpr (sizeof(T) == 8) return std::bit_cast<int64_t>(a.constant);
      else return std::bit_cast<int32_t>(static_cast<float>(a.constant));
    }
    llvm::Type* const type = Emission::with_lanes_of(a.at->b.getIntNTy(8 * sizeof(T)), a.value->getType());
    return {a.at, a.at->b.CreateBitCast(a.value, type)};
  }
};

inline Emitted<double> widen(Emitted<float> a) {
  return {a.at,
          a.at->b.CreateFPExt(a.value, Emission::with_lanes_of(a.at->b.getDoubleTy(), a.value->getType()))};
}
inline Emitted<float> narrow(Emitted<double> a) {
  return {a.at,
          a.at->b.CreateFPTrunc(a.value, Emission::with_lanes_of(a.at->b.getFloatTy(), a.value->getType()))};
}

template <class T>
Emitted<T> scale(Emitted<T> y, kernels::Integer<Emitted<T>> n) {
  const Instructions& has = y.at->unit.instructions;
  if (!has.splits_numbers()) return kernels::scale_in_halves(y, n);
  return {y.at, has.scaled(y.at->b, y.value, n.real.value)};
}

template <class T>
kernels::Split<Emitted<T>> split(Emitted<T> x) {
  const Instructions& has = x.at->unit.instructions;
  if (!has.splits_numbers()) return kernels::split_by_bits(x);
  const Emitted<T> mantissa(x.at, has.mantissa(x.at->b, x.value));
  const Emitted<T> exponent(x.at, has.exponent(x.at->b, x.value));
  return {mantissa, select(mantissa < 1.0, exponent + 1.0, exponent)};
}

template <class T>
Emitted<T> scale_anything(Emitted<T> a, kernels::Integer<Emitted<T>> n) {
  const Instructions& has = a.at->unit.instructions;
  if (!has.splits_numbers()) return kernels::scale_by_bits(a, n);
  return {a.at, has.scaled(a.at->b, a.value, n.real.value)};
}

template <class T>
void replace_remainders(EmittedMask<T> mask, Emitted<T> a, Emitted<T> b, Emitted<T>& rest) {
  llvm::Value* const inputs[] = {a.value, b.value};
  llvm::Value** const parts[] = {&rest.value};
  llvm::Value* const extra[] = {mask.at->b.getInt64(Emission::lanes(a.value->getType()))};
  mask.at->replace_if_any(mask.value, sizeof(T) == 8 ? "ingot_v1_remainders_f64" : "ingot_v1_remainders_f32",
                          inputs, parts, extra);
}

inline void replace_by_library(EmittedMask<double> mask, Emitted<double> x, llvm::StringRef function,
                               Emitted<double>& result) {
  llvm::Value** const parts[] = {&result.value};
  llvm::Value* const extra[] = {mask.at->b.getInt64(Emission::lanes(x.value->getType()))};
  mask.at->replace_if_any(mask.value, function, {&x.value, 1}, parts, extra);
}
inline void replace_gammas(EmittedMask<double> mask, Emitted<double> x, Emitted<double>& result) {
  replace_by_library(mask, x, "ingot_v1_gammas_f64", result);
}
inline void replace_log_gammas(EmittedMask<double> mask, Emitted<double> x, Emitted<double>& result) {
  replace_by_library(mask, x, "ingot_v1_log_gammas_f64", result);
}

inline void reduce_large(Emitted<double> x, double limit, kernels::Angle<Emitted<double>>& angle) {
  llvm::Value** const parts[] = {&angle.high.value, &angle.low.value, &angle.quadrant.value};
  x.at->replace_large(x.value, limit, "ingot_v1_reduce_angles_f64", parts, {});
}
inline void reduce_large(Emitted<float> x, double limit, int iteration,
                         kernels::HalfTurns<Emitted<float>>& iterations) {
  llvm::Value** const parts[] = {&iterations.rest.value, &iterations.count.value};
  llvm::Value* const extra[] = {x.at->b.getInt32(static_cast<uint32_t>(iteration))};
  x.at->replace_large(x.value, limit, "ingot_v1_reduce_angles_f32", parts, extra);
}

}  // namespace ingot::codegen
