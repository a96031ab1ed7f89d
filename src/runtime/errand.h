#pragma once

#include <memory>

#include "runtime/abi.h"

namespace ingot::runtime {

/// A long computation - a sort, a product of matrices - on memory of its own, so that a call can be left
/// before it has ended: nothing else accesses that memory, which lives as long as this.
class Errand {
 public:
  Errand() = default;
  virtual ~Errand() = default;
  Errand(const Errand&) = delete;
  Errand& operator=(const Errand&) = delete;

  virtual void run() noexcept = 0;
};

/// Whether the call of this context may be left during an errand: if not, its memory need not be copied.
bool may_leave_errands(Context& context);

/// Runs an errand (`Hooks::run_errand`). 0: it has ended. Else the status to leave with; the errand continues
/// alone.
Status run_errand(Context& context, const std::shared_ptr<Errand>& errand);

}  // namespace ingot::runtime
