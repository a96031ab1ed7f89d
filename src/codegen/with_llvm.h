#pragma once

namespace ingot::codegen {

/// `with_llvm` of a function of what it is given.
void run_with_llvm(void (*work)(void*), void* given);

/// Runs something that works with LLVM, which is built without exceptions: where it finds no memory, or gives
/// up (`report_fatal_error`), it would end the process. Here that leaves `work` as it is, for ever, with all
/// that it has made: nothing is destroyed. So `work` waits for its threads, and asks for no memory while it
/// holds a lock. What else it throws is thrown as ever.
///
/// Throws base::NoMemoryToCompile where memory runs out, of `operator new` on this thread, too, and from then
/// on at once: LLVM's tables may be in any state. Throws InternalError with LLVM's reason where it gives up.
template <class Work>
void with_llvm(Work work) {
  run_with_llvm([](void* given) { (*static_cast<Work*>(given))(); }, &work);
}

}  // namespace ingot::codegen
