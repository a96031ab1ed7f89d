#include "driver/compile.h"

#include "driver/pipeline.h"
#include "ir/cursor.h"
#include "ir/walk.h"
#include "runtime/device_calls.h"
#include "transform/analyses/written.h"

namespace ingot::driver {

namespace {

runtime::SlotInfo slot_of(const ir::Module& module, ir::Type type) {
  using Kind = runtime::SlotInfo::Kind;
  if (type.is_scalar()) return {Kind::Scalar, type.dtype(), 0};
  if (type.is_view()) return {Kind::View, type.dtype(), static_cast<uint8_t>(type.rank())};
  if (type.is_buffer()) return {Kind::Buffer, base::DType::Bool, 0};
  throw base::InternalError("driver: no slot for the type " + module.types.to_string(type));
}

runtime::ObjectInfo describe(const ir::Module& module, std::span<const ir::FunctionId> entries,
                             const codegen::Target& target, const codegen::Compiled& code) {
  runtime::ObjectInfo info;
  info.features = target.needs;
  for (const ir::FunctionId entry : entries) {
    info.entries.push_back(interface_of(module, entry));
    info.entries.back().wants_default_state = code.wants_default_state;
    const std::vector<bool> written = transform::written_parameters(*module.function(entry));
    for (size_t i = 0; i < written.size(); ++i) info.entries.back().params[i].is_written = written[i];
  }
  for (const codegen::ErrorSite& site : code.sites)
    info.sites.push_back(
        {site.kind, site.message, site.arguments, site.location, site.function, site.callers, site.made});
  return info;
}

std::vector<OutsideCall> outside_calls(const ir::Module& module) {
  std::vector<OutsideCall> calls;
  for (uint32_t i = 0; i < module.function_count(); ++i) {
    const ir::Function* const function = module.function(ir::FunctionId(i));
    for (uint32_t k = 0; function != nullptr && k < function->node_count(); ++k) {
      const ir::NodeId id(k);
      const ir::Op op = function->op(id);
      const bool is_host = op == ir::Op::host;
      const bool is_c = op == ir::Op::c_call || op == ir::Op::c_value;
      if (op != ir::Op::library && !is_host && !is_c) continue;
      const int64_t word = function->attributes(id)[is_c ? 1 : 0];
      const std::string& text = is_host ? "host" : module.text(ir::TextId(static_cast<uint32_t>(word)));
      calls.push_back({is_c ? "C " + text : text, is_host ? word : 0, module.sites((*function)[id].span)});
    }
  }
  return calls;
}

}  // namespace

runtime::EntryInfo interface_of(const ir::Module& module, ir::FunctionId function) {
  const ir::Module::Signature& signature = module.signature(function);
  runtime::EntryInfo entry;
  entry.symbol = codegen::entry_symbol(signature.name);
  for (const ir::Type type : signature.parameters) entry.params.push_back(slot_of(module, type));
  for (const ir::Type type : signature.results) entry.results.push_back(slot_of(module, type));
  return entry;
}

namespace {

/// Throws for a loop over `prange` that carries values: it is made parallel before anything is compiled.
void refuse_shared_carriers(const ir::Module& module) {
  for (uint32_t i = 0; i < module.function_count(); ++i) {
    const ir::Function* const function = module.function(ir::FunctionId(i));
    if (function == nullptr) continue;
    ir::walk(*function, function->body(), [&](ir::NodeId node) {
      if (function->op(node) != ir::Op::for_ || function->result_count(node) == 0) return;
      if (ir::has_threads(static_cast<ir::Schedule>(function->attribute(node, 0))) &&
          !ir::cursors_of(*function, node))
        throw base::InternalError("threads share a loop that carries values: `parallel` has not run");
    });
  }
}

}  // namespace

CompileResult compile(ir::Module& module, std::span<const ir::FunctionId> entries,
                      const CompileOptions& options, Report& report) {
  CompileResult result;
  codegen::Target target = options.target;
  base::Machine& machine = target.machine;
  if (options.codegen.effort == codegen::Effort::Quick && !machine.has_kernels()) {
    machine.compact = true;
    // Each store past the caches has another one through them as the alternative; calls that gain by it have
    // full code.
    machine.streamed_bytes = 0;
  }
  if (options.run_passes) run_passes(module, entries, pipeline_of(machine), machine, ir::Stage::Both, report);
  run_passes(module, entries, decisions_of(machine), machine, ir::Stage::Loop, report);
  refuse_shared_carriers(module);
  {
    const PhaseScope scope(report, "codegen");
    result.code = codegen::compile(module, entries, target, options.codegen);
  }
  {
    const PhaseScope scope(report, "seal");
    result.info = describe(module, entries, options.target, result.code);
    if (options.want_outside) result.outside = outside_calls(module);
    result.bytes = runtime::seal(std::as_bytes(std::span(result.code.object)), result.info);
  }
  return result;
}

}  // namespace ingot::driver
