#include "runtime/gdb.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "runtime/loader.h"
#include "runtime/object.h"
#include "support.h"

// As in gdb's manual.
extern "C" {
struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};
struct jit_descriptor {
  uint32_t version;
  uint32_t action_flag;
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};
extern jit_descriptor __jit_debug_descriptor;  // NOLINT(bugprone-reserved-identifier)
}

namespace ingot::runtime {
namespace {

using testing::Bytes;
using testing::compile_c;
using testing::EnvironmentFlag;

std::vector<jit_code_entry*> registered() {
  std::vector<jit_code_entry*> result;
  jit_code_entry* previous = nullptr;
  for (jit_code_entry* e = __jit_debug_descriptor.first_entry; e; e = e->next_entry) {
    EXPECT_EQ(e->prev_entry, previous);
    previous = e;
    result.push_back(e);
  }
  return result;
}

TEST(Gdb, gets_nothing_unless_asked) {
  auto object = LoadedObject::load(compile_c("int f(void) { return 1; }"));
  EXPECT_TRUE(registered().empty());
}

TEST(Gdb, gets_the_image_with_addresses) {
  const EnvironmentFlag flag("INGOT_GDB");
  {
    auto object = LoadedObject::load(compile_c("int f(void) { return 1; }"));
    ASSERT_EQ(registered().size(), 1u);
    jit_code_entry* entry = registered()[0];
    Elf64_Ehdr header;
    ASSERT_GT(entry->symfile_size, sizeof header);
    std::memcpy(&header, entry->symfile_addr, sizeof header);
    bool found = false;
    for (size_t i = 0; i < header.e_shnum; ++i) {
      Elf64_Shdr section;
      std::memcpy(&section, entry->symfile_addr + header.e_shoff + i * sizeof section, sizeof section);
      found |= section.sh_addr == reinterpret_cast<uintptr_t>(object.find("f"));
    }
    EXPECT_TRUE(found) << "f is the first function of .text";
  }
  EXPECT_TRUE(registered().empty());
}

TEST(Gdb, forgets_objects_in_any_order) {
  const EnvironmentFlag flag("INGOT_GDB");
  Bytes bytes = compile_c("int f(void) { return 1; }");
  std::vector<LoadedObject> objects;
  objects.reserve(5);
  while (objects.size() < 5) objects.push_back(LoadedObject::load(bytes));
  EXPECT_EQ(registered().size(), 5u);
  for (const int removed : {2, 0, 2, 1, 0}) {
    objects.erase(objects.begin() + removed);
    EXPECT_EQ(registered().size(), objects.size());
  }
}

TEST(Gdb, is_informed_by_many_threads) {
  const EnvironmentFlag flag("INGOT_GDB");
  Bytes bytes = compile_c("int f(void) { return 1; }");
  auto kept = LoadedObject::load(bytes);
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        auto a = LoadedObject::load(bytes);
        auto b = LoadedObject::load(bytes);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(registered().size(), 1u);
}

TEST(Gdb, shows_compiled_functions_in_a_backtrace) {
  const testing::TemporaryFolder folder;
  ObjectInfo info;
  info.entries = {{"ingot_test_entry", {}, {}}};
  testing::write_bytes(folder / "crash.o", testing::to_bytes(seal(compile_c(R"(
    static volatile int* nowhere;
    static __attribute__((noinline)) int ingot_test_inner(int x) { *nowhere = x; return x + 1; }
    int32_t ingot_test_entry(Context* context, void** slots) {
      return ingot_test_inner(context->error.status) + 1;
    })"),
                                                                  info)));
  // The leak detector cannot work in a program that is traced.
  auto finished = testing::run_command(
      "ASAN_OPTIONS=detect_leaks=0 INGOT_GDB=1 gdb -nx -batch -iex 'set debuginfod enabled off' -ex run -ex "
      "bt --args " INGOT_TEST_CALL " " +
      (folder / "crash.o").string() + " ingot_test_entry 2");
  if (finished.output.find("Could not trace the inferior") != std::string::npos)
    GTEST_SKIP() << "this machine does not let programs be traced";
  const size_t inner = finished.output.find("#0  0x");
  ASSERT_NE(inner, std::string::npos) << finished.output;
  const std::string trace = finished.output.substr(inner);
  const size_t entry = trace.find("in ingot_test_entry ()");
  EXPECT_LT(trace.find("in ingot_test_inner ()"), entry) << finished.output;
  ASSERT_NE(entry, std::string::npos) << finished.output;
  EXPECT_NE(trace.find("main", entry), std::string::npos) << "the callers of compiled code\n"
                                                          << finished.output;
}

}  // namespace
}  // namespace ingot::runtime
