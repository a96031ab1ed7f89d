#include "codegen/device_code.h"

#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <functional>
#include <set>

#include "base/abi.h"
#include "codegen/analyses.h"
#include "codegen/device_function.h"
#include "codegen/emit.h"
#include "codegen/hoist.h"
#include "codegen/shares.h"

namespace ingot::codegen {

using llvm::Value;

namespace {

/// Of a block, on any device.
constexpr int64_t kMostThreads = 1024;
/// Of a value that a kernel takes.
constexpr uint64_t kPackedBytes = 8;

Target for_kernels(const Target& host) {
  Target target = host;
  target.instructions = &host.kernels->instructions();
  return target;
}

/// A name that assemblers accept.
std::string plain_name(const std::string& name) {
  std::string plain;
  for (const char c : name) plain += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return plain;
}

/// Threads of a block, at most; of a launch that a pass has made, the machine's, or more along one axis; of
/// others, what is promised.
unsigned most_threads(const ir::Function& f, ir::NodeId launch, const Target& target) {
  bool is_known = true;
  const std::function<int64_t(ir::NodeId)> most = [&](ir::NodeId node) -> int64_t {
    if (f.is_constant(node)) return f.constant(node).as<int64_t>();
    is_known = is_known && f.op(node) == ir::Op::select;
    if (!is_known) return kMostThreads;
    return std::max(most(f.operand(node, 1)), most(f.operand(node, 2)));
  };
  int64_t all = 1;
  int64_t along = target.machine.block_threads;
  for (size_t i = 3; i < 6; ++i) {
    const int64_t of_axis = most(f.operand(launch, i));
    all *= of_axis;
    along = std::max(along, of_axis);
  }
  const int64_t promised = target.most_threads > 0 ? target.most_threads : kMostThreads;
  return static_cast<unsigned>(std::clamp<int64_t>(all, 1, is_known ? along : promised));
}

}  // namespace

DeviceCode::DeviceCode(Unit& host)
    : host_(host),
      target_(for_kernels(host.target)),
      module_("kernels", host.context),
      unit_(host.source, target_, module_, &host),
      lines_(module_) {
  target_.kernels->prepare(module_);
}

DeviceCode::~DeviceCode() = default;

DeviceCode::Kernel DeviceCode::add(const ir::Function& source, ir::NodeId launch,
                                   std::span<const ir::NodeId> used, std::span<const Parts> parts) {
  llvm::LLVMContext& context = host_.context;
  llvm::Type* const pointer = llvm::PointerType::getUnqual(context);
  llvm::Type* const nothing = llvm::Type::getVoidTy(context);
  Types types{pointer};
  for (const Parts& all : parts) {
    for (Value* part : all)
      if (!llvm::isa<llvm::ConstantData>(part)) types.push_back(part->getType());
  }
  auto* const iteration = llvm::Function::Create(llvm::FunctionType::get(nothing, types, false),
                                                 llvm::GlobalValue::InternalLinkage, "iteration", module_);
  iteration->addFnAttr(llvm::Attribute::AlwaysInline);
  iteration->setDoesNotThrow();
  std::vector<std::pair<ir::NodeId, Parts>> values;
  unsigned next = 1;
  for (size_t i = 0; i < used.size(); ++i) {
    Parts own;
    for (Value* part : parts[i])
      own.push_back(llvm::isa<llvm::ConstantData>(part) ? part : iteration->getArg(next++));
    values.emplace_back(used[i], own);
  }
  DeviceFunction thread(unit_, lines_, source, iteration);
  thread.emit(launch, values);

  Kernel made{nullptr, nullptr, {}, thread.may_raise(), thread.is_cooperative(), false};
  Types taken;
  if (made.may_raise) taken.push_back(pointer);
  for (unsigned i = 1; i < types.size(); ++i) {
    if (iteration->getArg(i)->use_empty()) continue;
    made.taken.push_back(i - 1);
    taken.push_back(unit_.memory_type(types[i]));
  }
  made.is_packed = kPackedBytes * taken.size() > target_.kernels->most_parameter_bytes();
  if (made.is_packed) {
    taken.resize(made.may_raise ? 1 : 0);
    taken.push_back(pointer);
  }
  const std::string name = "ingot_" + plain_name(source.name()) + "_" + std::to_string(names_.size());
  names_.push_back({source.name(), launch, name});
  auto* const kernel = llvm::Function::Create(llvm::FunctionType::get(nothing, taken, false),
                                              llvm::GlobalValue::ExternalLinkage, name, module_);
  kernel->setDoesNotThrow();
  Builder b(llvm::BasicBlock::Create(context, "entry", kernel));
  Parts arguments;
  for (llvm::Type* type : types) arguments.push_back(llvm::PoisonValue::get(type));
  unsigned at = 0;
  if (made.may_raise) arguments[0] = kernel->getArg(at++);
  Value* const packed = made.is_packed ? kernel->getArg(at) : nullptr;
  for (size_t k = 0; k < made.taken.size(); ++k) {
    const size_t i = made.taken[k];
    llvm::Type* const own = types[i + 1];
    Value* given = nullptr;
    if (packed == nullptr) {
      given = kernel->getArg(at++);
    } else {
      given =
          b.CreateLoad(unit_.memory_type(own), b.CreateConstGEP1_64(b.getInt8Ty(), packed, kPackedBytes * k));
    }
    arguments[i + 1] = own == given->getType() ? given : b.CreateTrunc(given, own);
  }
  const base::SourceLocation location = host_.source.location(source[launch].span);
  lines_.add(*kernel, location);
  b.SetCurrentDebugLocation(lines_.at(*kernel, location));
  b.CreateCall(iteration, arguments);
  b.CreateRetVoid();
  const unsigned threads = most_threads(source, launch, target_);
  const bool are_many = static_cast<int64_t>(threads) > target_.machine.block_threads;
  const unsigned blocks = are_many ? 1 : thread.blocks_at_once();
  target_.kernels->mark_kernel(*kernel, threads, std::max(blocks, target_.fewest_blocks));
  made.name = declare(name);
  made.code = codes_.back();
  return made;
}

/// The name of a kernel in the host's module, and what stands for its code there.
llvm::Constant* DeviceCode::declare(const std::string& name) {
  codes_.push_back(new llvm::GlobalVariable(host_.module, llvm::Type::getInt8Ty(host_.context), true,
                                            llvm::GlobalValue::ExternalLinkage, nullptr, "kernels"));
  llvm::Constant* const text = llvm::ConstantDataArray::getString(host_.context, name);
  auto* const global = new llvm::GlobalVariable(host_.module, text->getType(), true,
                                                llvm::GlobalValue::PrivateLinkage, text, "kernel");
  global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return global;
}

void DeviceCode::optimize(llvm::TargetMachine& machine) {
  Analyses analyses(machine);
  llvm::AlwaysInlinerPass().run(module_, analyses.modules);
  analyses.functions.clear();  // of the functions before
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(HoistFromSmallLoops(), true));
  for (llvm::Function& function : module_)
    if (!function.isDeclaration()) passes.run(function, analyses.functions);
}

/// The text of each kernel alone, with the functions that it calls.
std::vector<std::string> DeviceCode::texts_of_kernels(llvm::TargetMachine& machine) {
  std::vector<std::string> texts;
  std::set<std::string_view> kernels;
  for (const KernelName& each : names_) kernels.insert(each.name);
  for (const KernelName& own : names_) {
    llvm::ValueToValueMapTy made;
    const std::unique_ptr<llvm::Module> alone =
        llvm::CloneModule(module_, made, [&](const llvm::GlobalValue* value) {
          const llvm::StringRef name = value->getName();
          return name == own.name || !kernels.contains({name.data(), name.size()});
        });
    for (const KernelName& other : names_)
      if (&other != &own) alone->getFunction(other.name)->eraseFromParent();
    Analyses analyses(machine);
    llvm::GlobalDCEPass().run(*alone, analyses.modules);
    texts.push_back(target_.kernels->code_of(*alone, machine));
  }
  return texts;
}

/// An `entry::KernelCode` in the host's module.
llvm::GlobalVariable* DeviceCode::embed(const std::string& code, bool is_assembled) {
  llvm::Type* const number = llvm::Type::getInt64Ty(host_.context);
  llvm::Constant* const all = llvm::ConstantStruct::getAnon(
      {llvm::ConstantInt::get(number, code.size()), llvm::ConstantInt::get(number, is_assembled ? 1 : 0),
       llvm::ConstantDataArray::getString(host_.context, code)});
  auto* const global = new llvm::GlobalVariable(host_.module, all->getType(), true,
                                                llvm::GlobalValue::PrivateLinkage, all, "kernels");
  global->setAlignment(llvm::Align(16));
  return global;
}

void DeviceCode::define(size_t kernel, llvm::GlobalVariable* code) {
  codes_[kernel]->replaceAllUsesWith(code);
  codes_[kernel]->eraseFromParent();
}

void DeviceCode::finish(const Options& options) {
  const std::unique_ptr<llvm::TargetMachine> machine = target_.kernels->machine();
  lines_.finish();
  target_.kernels->link(module_);
  verify(module_);
  optimize(*machine);
  if (options.want_assembly) {
    llvm_ir_ = codegen::text_of(module_);
    shown_ = target_.kernels->shown(module_, *machine);
  }
  if (!options.assemble || options.want_assembly) {
    const std::string code = target_.kernels->code_of(module_, *machine);
    if (options.want_assembly && shown_.empty()) shown_ = code;
    llvm::GlobalVariable* const all = embed(code, false);
    for (size_t kernel = 0; kernel < codes_.size(); ++kernel) define(kernel, all);
    return;
  }
  const std::vector<std::string> texts = texts_of_kernels(*machine);
  std::vector<std::optional<std::string>> assembled(texts.size());
  const auto count = static_cast<uint32_t>(texts.size());
  std::atomic<uint32_t> next = 0;
  at_once(std::min(count, std::max(options.threads, 1U)), [&](uint32_t) {
    for (uint32_t kernel = next++; kernel < count; kernel = next++)
      assembled[kernel] = options.assemble(texts[kernel]);
  });
  for (size_t kernel = 0; kernel < texts.size(); ++kernel) {
    const std::optional<std::string>& own = assembled[kernel];
    define(kernel, own ? embed(*own, true) : embed(texts[kernel], false));
  }
}

/// A thread takes the lock only while its iteration is the lowest that it knows of. Its work under the lock
/// is inside the loop: threads in lock step wait for each other where the loop ends.
llvm::Function* report_function(Unit& unit, size_t words) {
  const std::string name = "ingot_report_" + std::to_string(words);
  if (llvm::Function* known = unit.find(name)) return known;
  llvm::LLVMContext& context = unit.context;
  Builder b(context);
  llvm::Type* const pointer = b.getPtrTy();
  std::vector<llvm::Type*> parameters{pointer, b.getInt64Ty(), b.getInt32Ty(), b.getInt32Ty()};
  const size_t first_word = parameters.size();
  parameters.insert(parameters.end(), words, b.getInt64Ty());
  auto* const function = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), parameters, false),
                                                llvm::GlobalValue::InternalLinkage, name, unit.module);
  function->addFnAttr(llvm::Attribute::NoInline);
  function->setDoesNotThrow();
  const auto block = [&](const char* label) { return llvm::BasicBlock::Create(context, label, function); };
  auto* const entry = block("entry");
  auto* const test = block("test");
  auto* const ask = block("ask");
  auto* const look = block("look");
  auto* const write = block("write");
  auto* const give = block("give");
  auto* const done = block("done");
  Value* const report = function->getArg(0);
  Value* const iteration = function->getArg(1);
  const auto at = [&](uint64_t offset) { return b.CreateConstGEP1_64(b.getInt8Ty(), report, offset); };
  const auto load_iteration = [&] {
    return b.CreateLoad(b.getInt64Ty(), at(offsetof(entry::KernelError, iteration)), true);
  };
  const KernelTarget& kernels = *unit.target.kernels;

  b.SetInsertPoint(entry);
  b.CreateBr(test);
  b.SetInsertPoint(test);
  b.CreateCondBr(b.CreateICmpULE(load_iteration(), iteration), done, ask);
  b.SetInsertPoint(ask);
  Value* const tried =
      b.CreateAtomicCmpXchg(at(offsetof(entry::KernelError, lock)), b.getInt32(0), b.getInt32(1), {},
                            llvm::AtomicOrdering::Monotonic, llvm::AtomicOrdering::Monotonic);
  b.CreateCondBr(b.CreateExtractValue(tried, 1), look, test);
  b.SetInsertPoint(look);
  kernels.fence(b, ir::Scope::Device);
  b.CreateCondBr(b.CreateICmpULE(load_iteration(), iteration), give, write);
  b.SetInsertPoint(write);
  b.CreateStore(function->getArg(2), at(offsetof(entry::KernelError, status)), true);
  b.CreateStore(function->getArg(3), at(offsetof(entry::KernelError, site)), true);
  for (size_t i = 0; i < words; ++i) {
    Value* const to = at(offsetof(entry::KernelError, arguments) + i * sizeof(uint64_t));
    b.CreateStore(function->getArg(static_cast<unsigned>(first_word + i)), to, true);
  }
  kernels.fence(b, ir::Scope::Device);
  b.CreateStore(iteration, at(offsetof(entry::KernelError, iteration)), true);
  b.CreateBr(give);
  b.SetInsertPoint(give);
  kernels.fence(b, ir::Scope::Device);
  b.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, at(offsetof(entry::KernelError, lock)), b.getInt32(0), {},
                    llvm::AtomicOrdering::Monotonic);
  b.CreateBr(test);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  return function;
}

}  // namespace ingot::codegen
