#include "driver/session.h"

namespace ingot::driver {

CompiledFunction Session::compile(ir::Module& module, ir::FunctionId function) {
  report_.phases.clear();
  CompileResult result = driver::compile(module, {&function, 1}, options_, report_);
  code_ = std::move(result.code);
  CompiledFunction compiled;
  compiled.bytes = std::move(result.bytes);
  {
    const PhaseScope scope(report_, "load");
    compiled.object = std::make_shared<const runtime::Object>(
        runtime::Object::open(std::as_bytes(std::span(compiled.bytes))));
  }
  compiled.interface = interface_of(module, function);
  compiled.entry = compiled.object->entry(compiled.interface.symbol);
  return compiled;
}

}  // namespace ingot::driver
