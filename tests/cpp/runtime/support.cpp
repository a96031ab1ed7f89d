#include "support.h"

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

// Under a sanitizer, too, an allocation that cannot succeed is to return null.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}
// NOLINTEND(bugprone-reserved-identifier)

namespace ingot::runtime::testing {

namespace {

constexpr std::string_view kDeclarations = R"(
#include <stdint.h>
#include <stddef.h>
typedef struct Buffer { char* data; int64_t size; void* owner; struct Buffer *next, *previous; } Buffer;
typedef struct { int32_t status; uint32_t site; uint64_t arguments[6]; } Error;
typedef struct { uint32_t* attention; Error error; Buffer* buffers; void *hooks, *user; char* stack_limit; int64_t next_look, last_read; uint32_t unread, skipped; } Context;
typedef struct { char* data; Buffer* buffer; int64_t extent[]; } View;
Buffer* ingot_v1_allocate(Context*, int64_t);
void ingot_v1_release(Context*, Buffer*);
#line 1
)";

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "ingot-test-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

EnvironmentFlag::EnvironmentFlag(const char* name) : name_(name) { setenv(name, "1", 1); }
EnvironmentFlag::~EnvironmentFlag() { unsetenv(name_); }

Finished run_command(const std::string& command) {
  FILE* pipe = popen(("exec 2>&1; " + command).c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot run " + command);
  Finished result{-1, {}};
  char buffer[4096];
  while (const size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) result.output.append(buffer, n);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
  return result;
}

Bytes read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return to_bytes(std::string(std::istreambuf_iterator<char>(file), {}));
}

void write_bytes(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  write_text(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void write_text(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

Bytes to_bytes(std::string_view text) {
  auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Bytes compile_c(std::string_view source, const std::string& flags) {
  const TemporaryFolder folder;
  write_text(folder / "code.c", std::string(kDeclarations) + std::string(source));
  const Finished compiler = run_command(INGOT_TEST_CC " -c " + flags + " -w -o " +
                                        (folder / "code.o").string() + " " + (folder / "code.c").string());
  if (compiler.status != 0) throw std::runtime_error(compiler.output);
  return read_bytes(folder / "code.o");
}

}  // namespace ingot::runtime::testing
