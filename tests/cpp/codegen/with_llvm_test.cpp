#include "codegen/with_llvm.h"

#include <gtest/gtest.h>
#include <llvm/Support/ErrorHandling.h>

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>

#include "base/error.h"

namespace ingot::codegen {
namespace {

TEST(WithLlvm, IsLeftWhereLlvmGivesUp) {
  std::string reason;
  try {
    with_llvm([] { llvm::report_fatal_error("no such instruction"); });
  } catch (const base::InternalError& error) {
    reason = error.what();
  }
  EXPECT_EQ(reason, "codegen: LLVM: no such instruction");
  int runs = 0;
  with_llvm([&] { ++runs; });
  EXPECT_EQ(runs, 1);
}

TEST(WithLlvm, ThrowsWhatTheWorkThrows) {
  EXPECT_THROW(with_llvm([] { throw std::runtime_error("own"); }), std::runtime_error);
  EXPECT_THROW(with_llvm([] { with_llvm([] { throw base::Abandoned(); }); }), base::Abandoned);
}

/// Whether this throws NoMemoryToCompile, and so does all later work, which is not started.
template <class Work>
bool runs_out(Work&& work) {
  int thrown = 0;
  try {
    with_llvm(work);
  } catch (const base::NoMemoryToCompile&) {
    ++thrown;
  }
  try {
    with_llvm([&] { thrown = -1; });
  } catch (const base::NoMemoryToCompile&) {
    ++thrown;
  }
  return thrown == 2;
}

TEST(WithLlvmDeathTest, IsLeftForEverWithoutMemory) {
  const auto in_llvm = [] { llvm::report_bad_alloc_error("no memory"); };
  EXPECT_EXIT(std::exit(runs_out(in_llvm) ? 0 : 1), testing::ExitedWithCode(0), "");
  const auto in_new = []() noexcept { ::operator delete(::operator new(size_t{1} << 62)); };
  EXPECT_EXIT(std::exit(runs_out(in_new) ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST(WithLlvm, LeavesOtherThreadsAndCodeAlone) {
  with_llvm([] {});
  EXPECT_THROW(::operator delete(::operator new(size_t{1} << 62)), std::bad_alloc);
}

}  // namespace
}  // namespace ingot::codegen
