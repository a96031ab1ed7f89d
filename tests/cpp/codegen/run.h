#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/scalar.h"
#include "driver/session.h"
#include "ir/builder.h"
#include "ir/text.h"
#include "runtime/context.h"

namespace ingot::codegen {

/// A module from text with its function "f" compiled, and the means to call it.
class Program {
 public:
  explicit Program(std::string_view text,
                   const driver::CompileOptions& options = {Target::host(), {.verify = true}})
      : Program(ir::parse(text, "test.ir"), options) {}
  Program(std::unique_ptr<ir::Module> made, const driver::CompileOptions& options)
      : module(std::move(made)), session(options), f(session.compile(*module, *module->find("f"))) {}

  /// Calls with these slots; the status. The error stays in `context`.
  runtime::Status call(std::vector<void*> slots) {
    runtime::Call run(context);
    return run.run(f.entry, slots.data());
  }
  std::string message() const { return runtime::format_error(f.object->info(), context.error); }

  std::unique_ptr<ir::Module> module;
  driver::Session session;
  driver::CompiledFunction f;
  runtime::Context context = runtime::make_context();
};

/// Space for a view's slot of rank up to 4.
struct ViewArgument {
  runtime::ViewSlot slot{};
  int64_t extent[8] = {};
  runtime::Buffer buffer{};

  ViewArgument() = default;
  ViewArgument(void* data, std::initializer_list<int64_t> lengths, int64_t element) {
    buffer.data = slot.data = static_cast<std::byte*>(data);
    slot.buffer = &buffer;
    buffer.size = element;
    const size_t rank = lengths.size();
    std::copy(lengths.begin(), lengths.end(), extent);
    for (size_t i = rank; i-- > 0;) {
      extent[rank + i] = buffer.size;
      buffer.size *= extent[i];
    }
  }
};
static_assert(offsetof(ViewArgument, extent) == sizeof(runtime::ViewSlot));

}  // namespace ingot::codegen
