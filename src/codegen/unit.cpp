#include "codegen/unit.h"

#include <llvm/IR/Attributes.h>

#include "codegen/device_code.h"
#include "codegen/host_function.h"
#include "ir/calls.h"

namespace ingot::codegen {

void fail_not_lowered(std::string_view what) {
  throw base::InternalError("codegen: not lowered: " + std::string(what));
}

namespace {

/// Whether a function has values for which code for the default floating-point state and code for any differ:
/// those of elementary functions, and of f16, which is rounded to nearest, as NumPy's is.
bool computes_in_default_state(const ir::Function& function) {
  const auto differs = [&](ir::Op op, ir::Type operand) {
    return operand.is_scalar() && ir::wants_default_state(op, operand.dtype());
  };
  for (uint32_t i = 0; i < function.node_count(); ++i) {
    const ir::NodeId node(i);
    const ir::Op op = function.op(node);
    if (function.type(node).is_scalar() && function.type(node).dtype() == DType::Float16) return true;
    if (ir::info(op).elementwise && differs(op, function.type(function.operand(node, 0)))) return true;
    if (op != ir::Op::parallel_for) continue;
    const auto combiners = function.ints(node);
    for (size_t k = 0; k < combiners.size(); ++k)
      if (differs(static_cast<ir::Op>(combiners[k]), function.type(function.operand(node, k + 1))))
        return true;
  }
  return false;
}

}  // namespace

Unit::Unit(const ir::Module& ir_module, const Target& cpu, llvm::Module& llvm_module, Unit* outer)
    : source(ir_module),
      target(cpu),
      instructions(*cpu.instructions),
      module(llvm_module),
      context(llvm_module.getContext()),
      outer_(outer),
      recursive_(ir::recursive_functions(ir_module)),
      depends_on_state_(ir_module.function_count()) {
  if (target.kernels != nullptr) return;
  depends_on_state_ = ir::functions_reaching(ir_module, computes_in_default_state);
}

Unit::~Unit() = default;

DeviceCode& Unit::device() {
  if (!device_) device_ = std::make_unique<DeviceCode>(*this);
  return *device_;
}

llvm::Type* Unit::part_type(DType component) const {
  switch (component) {
    case DType::Bool: return llvm::Type::getInt1Ty(context);
    case DType::Int8:
    case DType::UInt8: return llvm::Type::getInt8Ty(context);
    case DType::Int16:
    case DType::UInt16:
    case DType::Float16: return llvm::Type::getInt16Ty(context);
    case DType::Int32:
    case DType::UInt32: return llvm::Type::getInt32Ty(context);
    case DType::Int64:
    case DType::UInt64: return llvm::Type::getInt64Ty(context);
    case DType::Float32: return llvm::Type::getFloatTy(context);
    case DType::Float64: return llvm::Type::getDoubleTy(context);
    case DType::Complex64:
    case DType::Complex128: break;
  }
  throw base::InternalError("codegen: a complex number is two parts");
}

void Unit::append_types(ir::Type type, Types& types) const {
  using ir::TypeKind;
  llvm::Type* const pointer = llvm::PointerType::getUnqual(context);
  switch (type.kind()) {
    case TypeKind::Void:
    case TypeKind::Label: return;
    case TypeKind::Scalar:
      types.append(base::is_complex(type.dtype()) ? 2 : 1, part_type(base::component_of(type.dtype())));
      return;
    case TypeKind::View:
      types.append(2, pointer);
      types.append(2 * static_cast<size_t>(type.rank()), llvm::Type::getInt64Ty(context));
      return;
    case TypeKind::Buffer: types.push_back(pointer); return;
    case TypeKind::Optional: types.push_back(llvm::Type::getInt8Ty(context)); [[fallthrough]];
    case TypeKind::Results:
      for (ir::Type member : source.types.members(type)) append_types(member, types);
      return;
    case TypeKind::Array: break;
  }
  throw base::InternalError("codegen: a whole array at the loop stage");
}

Types Unit::types_of(ir::Type type) const {
  Types types;
  append_types(type, types);
  return types;
}

size_t Unit::part_count(ir::Type type) const { return types_of(type).size(); }

llvm::Type* Unit::memory_type(llvm::Type* part) const {
  return part->isIntegerTy(1) ? llvm::Type::getInt8Ty(context) : part;
}

llvm::StructType* Unit::result_struct(std::span<const ir::Type> results) const {
  Types types;
  for (ir::Type result : results) append_types(result, types);
  for (llvm::Type*& type : types) type = memory_type(type);
  return llvm::StructType::get(context, types);
}

bool Unit::returns_in_memory(std::span<const ir::Type> results) const {
  const size_t most = instructions.returned_parts();
  size_t counts[] = {0, 0};
  for (llvm::Type* part : result_struct(results)->elements()) ++counts[part->isFloatingPointTy() ? 1 : 0];
  return counts[0] > most || counts[1] > most;
}

const ir::Function& Unit::body(ir::FunctionId id) const {
  const ir::Function* function = source.function(id);
  INGOT_ASSERT(function != nullptr, "codegen: no body of " + source.signature(id).name);
  return *function;
}

llvm::Function* Unit::internal(ir::FunctionId id, FloatStates states) {
  if (!depends_on_state(id)) states = FloatStates::Default;
  llvm::Function*& known = internals_[{id.index, states}];
  if (known != nullptr) return known;
  llvm::Type* const pointer = llvm::PointerType::getUnqual(context);
  const ir::Module::Signature& signature = source.signature(id);
  Types parameters{pointer};
  for (ir::Type type : signature.parameters) append_types(type, parameters);
  llvm::Type* returned = llvm::Type::getInt32Ty(context);
  if (returns_in_memory(signature.results)) {
    parameters.push_back(pointer);
  } else if (!signature.results.empty()) {
    Types members{returned};
    members.append(result_struct(signature.results)->elements().begin(),
                   result_struct(signature.results)->elements().end());
    returned = llvm::StructType::get(context, members);
  }
  auto* const type = llvm::FunctionType::get(returned, parameters, false);
  known = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "ingot_function_" + signature.name,
                                 module);
  known->setDoesNotThrow();
  known->setCallingConv(llvm::CallingConv::Fast);
  wanted_.emplace_back(id, states);
  return known;
}

void Unit::emit(std::span<const ir::FunctionId> entries, const Options& options) {
  const States states = options.states;
  for (ir::FunctionId id : entries) {
    emit_entry(*this, body(id), recursive(id), depends_on_state(id) ? states : States::Default);
    if (states == States::Default && depends_on_state(id)) wants_default_state_ = true;
  }
  while (!wanted_.empty()) {
    const auto [id, own] = wanted_.front();
    wanted_.pop_front();
    emit_internal(*this, body(id), internals_.at({id.index, own}), recursive(id), own);
  }
  if (device_) device_->finish(options);
}

llvm::Function* Unit::find(std::string_view name) const {
  return module.getFunction(llvm::StringRef(name.data(), name.size()));
}

llvm::Function* Unit::outside(std::string_view name, llvm::FunctionType* type, bool pure) {
  if (llvm::Function* known = find(name)) return known;
  auto* const function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                                llvm::StringRef(name.data(), name.size()), module);
  function->setDoesNotThrow();
  if (pure) {
    function->setWillReturn();
    function->setMemoryEffects(llvm::MemoryEffects::argMemOnly());
  }
  return function;
}

namespace {

std::string location_key(const base::SourceLocation& location) {
  return location.file + '\0' + std::to_string(location.line) + ':' + std::to_string(location.column) + ':' +
         std::to_string(location.end_column) + '\0';
}

}  // namespace

uint32_t Unit::site(const ErrorSite& site) {
  if (outer_ != nullptr) return outer_->site(site);
  std::string key = std::to_string(static_cast<int>(site.kind)) + '\0' + std::to_string(site.made) + '\0' +
                    site.message + '\0' + location_key(site.location) + site.function + '\0';
  for (const base::Site& caller : site.callers) key += location_key(caller.location);
  for (DType argument : site.arguments) key += static_cast<char>('a' + static_cast<int>(argument));
  const auto [it, is_new] = site_numbers_.try_emplace(std::move(key), static_cast<uint32_t>(sites.size()));
  if (is_new) sites.push_back(site);
  return it->second;
}

}  // namespace ingot::codegen
