#include "runtime/gdb.h"

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string_view>

// The names and layouts of gdb's manual, "JIT Compilation Interface". gdb puts a breakpoint into the function
// and reads the descriptor when it is hit. They are visible, so that gdb finds them in a stripped library,
// but protected: other compilers in the process have symbols of the same names.
extern "C" {

enum jit_actions_t : uint32_t { JIT_NOACTION = 0, JIT_REGISTER_FN, JIT_UNREGISTER_FN };

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

// NOLINTBEGIN(bugprone-reserved-identifier)
[[gnu::visibility("protected"), gnu::used]] constinit jit_descriptor __jit_debug_descriptor = {
    1, JIT_NOACTION, nullptr, nullptr};

[[gnu::visibility("protected"), gnu::used, gnu::noinline]] void __jit_debug_register_code() {
  asm volatile("" ::: "memory");
}
// NOLINTEND(bugprone-reserved-identifier)
}

namespace ingot::runtime {

namespace {

constinit std::mutex descriptor_mutex;

void notify(jit_actions_t action, jit_code_entry* entry) {
  __jit_debug_descriptor.action_flag = action;
  __jit_debug_descriptor.relevant_entry = entry;
  __jit_debug_register_code();
  __jit_debug_descriptor.action_flag = JIT_NOACTION;
  __jit_debug_descriptor.relevant_entry = nullptr;
}

}  // namespace

struct GdbRegistration::Entry {
  jit_code_entry code;
  std::vector<std::byte> image;
};

bool GdbRegistration::enabled() {
  const char* value = std::getenv("INGOT_GDB");
  return value && std::string_view(value) == "1";
}

GdbRegistration::GdbRegistration(std::vector<std::byte> image) : entry_(new Entry{{}, std::move(image)}) {
  jit_code_entry& code = entry_->code;
  code.symfile_addr = reinterpret_cast<const char*>(entry_->image.data());
  code.symfile_size = entry_->image.size();
  const std::lock_guard lock(descriptor_mutex);
  code.next_entry = __jit_debug_descriptor.first_entry;
  if (code.next_entry) code.next_entry->prev_entry = &code;
  __jit_debug_descriptor.first_entry = &code;
  notify(JIT_REGISTER_FN, &code);
}

void GdbRegistration::Unregister::operator()(Entry* entry) const noexcept {
  jit_code_entry& code = entry->code;
  {
    const std::lock_guard lock(descriptor_mutex);
    (code.prev_entry ? code.prev_entry->next_entry : __jit_debug_descriptor.first_entry) = code.next_entry;
    if (code.next_entry) code.next_entry->prev_entry = code.prev_entry;
    notify(JIT_UNREGISTER_FN, &code);
  }
  delete entry;
}

}  // namespace ingot::runtime
