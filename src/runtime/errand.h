#pragma once

#include <cstddef>
#include <memory>

#include "runtime/abi.h"
#include "runtime/allocator.h"

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

/// Memory of an errand's own. Freed, it is kept for the next ones: pages of a matrix that the system gives
/// anew take as long as copying it. Throws `std::bad_alloc`.
class ErrandMemory {
 public:
  explicit ErrandMemory(size_t bytes);
  std::byte* data() const { return buffer_->data; }

 private:
  struct Free {
    void operator()(Buffer* buffer) const noexcept { Allocator::free(buffer); }
  };
  std::unique_ptr<Buffer, Free> buffer_;
};

/// Whether the call of this context may be left during an errand: if not, its memory need not be copied.
bool may_leave_errands(Context& context);

/// Runs an errand (`Hooks::run_errand`). 0: it has ended. Else the status to leave with; the errand continues
/// alone.
Status run_errand(Context& context, const std::shared_ptr<Errand>& errand);

}  // namespace ingot::runtime
