#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot::ir {

/// What the float arithmetic of a function does not have to preserve. The names are LLVM's.
enum class Relaxation : uint8_t {
  nnan,      ///< no operand or result is NaN; else the value is unspecified
  ninf,      ///< the same of infinities
  nsz,       ///< the sign of zero does not matter
  arcp,      ///< x / y may be x * (1 / y)
  contract,  ///< a * b + c may be rounded once
  afn,       ///< elementary functions may be approximations (all keep their bounds today)
  reassoc,   ///< sums and products may be combined in any order
};
constexpr std::string_view kRelaxationNames[] = {"nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"};

/// A set of relaxations; empty: IEEE arithmetic in the written order.
class Relaxations {
 public:
  void add(Relaxation r) { bits_ |= bit(r); }
  bool has(Relaxation r) const { return (bits_ & bit(r)) != 0; }
  bool empty() const { return bits_ == 0; }
  bool operator==(const Relaxations&) const = default;

  /// The relaxation of a name; none: there is none of it.
  static std::optional<Relaxation> named(std::string_view name);
  /// Their names with commas between.
  std::string text() const;

 private:
  static constexpr uint8_t bit(Relaxation r) { return static_cast<uint8_t>(1u << static_cast<unsigned>(r)); }
  uint8_t bits_ = 0;
};

}  // namespace ingot::ir
