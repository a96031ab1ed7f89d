#include "codegen/with_llvm.h"

#include <llvm/Support/ErrorHandling.h>

#include <atomic>
#include <csetjmp>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "base/error.h"
#include "codegen/targets/target_machine.h"

namespace ingot::codegen {

namespace {

/// Where a thread that leaves LLVM resumes.
struct Escape {
  std::jmp_buf point;
  Escape* outer;
  char fault[512];
};

enum Reason { kReturned = 0, kNoMemory, kFault };

/// Accessible without allocating memory, on any thread.
[[gnu::tls_model("initial-exec")]] constinit thread_local Escape* escape = nullptr;

/// Part of the closed list of process-wide state.
constinit std::atomic<bool> has_run_out = false;
constinit std::new_handler handler_before = nullptr;

[[noreturn]] void leave(Reason reason) {
  Escape& out = *std::exchange(escape, nullptr);
  if (reason == kNoMemory) has_run_out = true;
  std::longjmp(out.point, reason);  // NOLINT(cert-err52-cpp): LLVM's functions cannot be unwound
}

void find_no_memory() {
  if (escape != nullptr) leave(kNoMemory);
  if (handler_before == nullptr) throw std::bad_alloc();
  handler_before();
}

void give_up(void*, const char* reason, bool) {
  if (escape == nullptr) return;  // LLVM ends the process
  std::strncpy(escape->fault, reason, sizeof escape->fault - 1);
  escape->fault[sizeof escape->fault - 1] = 0;
  leave(kFault);
}

/// Leaves `work` where LLVM cannot go on.
void run_with_escape(void (*work)(void*), void* given) {
  Escape own;
  own.outer = escape;
  const int reason = setjmp(own.point);  // NOLINT(cert-err52-cpp)
  if (reason == kReturned) {
    escape = &own;
    try {
      work(given);
    } catch (...) {
      escape = own.outer;
      throw;
    }
    escape = own.outer;
    return;
  }
  escape = own.outer;
  if (reason == kNoMemory) throw base::NoMemoryToCompile(false);
  throw base::InternalError(std::string("codegen: LLVM: ") + own.fault);
}

/// Makes the tables of targets before any thread could wait for another one that has left LLVM meanwhile.
void prepare() {
  static std::mutex mutex;
  static constinit bool is_done = false;
  const std::lock_guard lock(mutex);
  if (is_done) return;
  static constinit bool has_handlers = false;
  if (!std::exchange(has_handlers, true)) {
    handler_before = std::set_new_handler(find_no_memory);
    llvm::install_bad_alloc_error_handler([](void*, const char*, bool) {
      if (escape != nullptr) leave(kNoMemory);
    });
    llvm::install_fatal_error_handler(give_up);
  }
  run_with_escape([](void*) { prepare_machines(); }, nullptr);
  is_done = true;
}

}  // namespace

void run_with_llvm(void (*work)(void*), void* given) {
  if (has_run_out) throw base::NoMemoryToCompile(true);
  prepare();
  run_with_escape(work, given);
}

}  // namespace ingot::codegen
