#include "driver/compile.h"
#include "ingot/ingot.h"
#include "ir/text.h"
#include "ir/verifier.h"

namespace ingot {

struct Compiler::State {
  driver::CompileOptions options{codegen::Target::host(), {}};
};

Compiler::Compiler() : state_(std::make_unique<State>()) {}
Compiler::~Compiler() = default;
Compiler::Compiler(Compiler&&) noexcept = default;
Compiler& Compiler::operator=(Compiler&&) noexcept = default;

Function Compiler::compile(std::string_view text, std::string_view name) {
  const std::unique_ptr<ir::Module> module = ir::parse(text, "<text>");
  const auto function = module->find(name);
  if (!function) throw std::runtime_error("the text has no function @" + std::string(name));
  for (uint32_t i = 0; i < module->function_count(); ++i)
    if (const ir::Function* f = module->function(ir::FunctionId(i)))
      for (const ir::Fault& fault : ir::verify(*f, ir::Stage::Both))
        throw std::runtime_error("@" + f->name() + ": " + fault.message);
  driver::Report report;
  driver::CompileResult result = driver::compile(*module, {&*function, 1}, state_->options, report);
  return Function::from_bytes(std::move(result.bytes), name);
}

}  // namespace ingot
