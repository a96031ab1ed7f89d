#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/interpreter.h"
#include "runtime/abi.h"
#include "tools/replay_file.h"

namespace ingot::tools {

/// Whether two elements are the same: equal bits, or both NaN (each component of a complex number).
bool same_element(base::DType dtype, const std::byte* a, const std::byte* b);
/// Whether two values have the same dtype, lengths and elements.
bool same_elements(const Elements& a, const Elements& b);

/// Replays the outside calls of a replay file, in their order. A call that is not the one in the file is a
/// fault, and raises RuntimeError in the function.
class Player {
 public:
  /// The calls must outlive the player.
  explicit Player(std::span<const OutsideCall> calls) : calls_(calls) {}

  /// For the interpreter. The player must outlive them.
  ir::Externals externals();
  /// For machine code: `runtime::Hooks::outside`, with the player as the context's user.
  static runtime::Status call_outside(runtime::Context* context, const char* what, const char* layout,
                                      int64_t number, void** slots);

  /// Of the last call that raised.
  const std::string& last_message() const { return last_message_; }
  /// After the call: empty, or what differed from the replay file first.
  std::string fault() const;

 private:
  const OutsideCall* upcoming() const { return next_ < calls_.size() ? &calls_[next_] : nullptr; }
  /// How many of its operands, at most `most`, the next call fills if it is the expected one.
  size_t outputs_of_upcoming(size_t most) const;
  /// The call of the file that this is, or one that raises since it is not. `wanted`: what the caller
  /// wants filled; a call that does not raise has results of these types and lengths.
  const OutsideCall& play(std::string_view routine, int64_t site, std::span<const Elements> operands,
                          std::span<const Elements> wanted);
  bool interpret(std::string_view routine, int64_t site, std::span<const ir::Value> operands,
                 std::vector<ir::Value>& results, ir::Raised& raised);

  std::span<const OutsideCall> calls_;
  size_t next_ = 0;
  OutsideCall other_;  ///< stand-in for a call that is not the expected one; raises what is at fault
  std::string last_message_;
};

}  // namespace ingot::tools
