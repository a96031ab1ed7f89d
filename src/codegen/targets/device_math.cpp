#include "codegen/targets/device_math.h"

#include <llvm/ADT/StringSet.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/AttributeMask.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "codegen/targets/device_lowering.h"
#include "codegen/targets/device_math/bitcode.h"

namespace ingot::codegen {

namespace {

constexpr const char* kOfDevice = "ingot-of-device";

/// The functions that the driver's compiler has.
bool is_known(const llvm::Function& function) {
  return function.hasFnAttribute(kOfDevice) ||
         llvm::is_contained({"vprintf", "malloc", "free", "__assertfail"}, function.getName());
}

/// The functions that are to be defined, none of them unused.
std::vector<llvm::Function*> undefined(llvm::Module& module) {
  std::vector<llvm::Function*> found;
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    if (!function.isDeclaration() || function.isIntrinsic()) continue;
    if (function.use_empty()) function.eraseFromParent();
    else if (!is_known(function)) found.push_back(&function);
  }
  return found;
}

/// The library's module, of which only requested functions get a body.
std::unique_ptr<llvm::Module> open_library(const llvm::Module& user) {
  const llvm::MemoryBufferRef bytes(device_math_bitcode(), "device_math");
  llvm::Expected<std::unique_ptr<llvm::Module>> module =
      llvm::getLazyBitcodeModule(bytes, user.getContext(), /*ShouldLazyLoadMetadata=*/true);
  if (!module) throw base::InternalError("codegen: device_math: " + llvm::toString(module.takeError()));
  // It was compiled for the host, whose types have the same layout.
  (*module)->setTargetTriple(user.getTargetTriple());
  (*module)->setDataLayout(user.getDataLayout());
  for (const char* name : {"llvm.module.flags", "llvm.ident", "llvm.linker.options"})
    if (llvm::NamedMDNode* const node = (*module)->getNamedMetadata(name)) node->eraseFromParent();
  return std::move(*module);
}

llvm::StringSet<> defined(const llvm::Module& module) {
  llvm::StringSet<> names;
  for (const llvm::GlobalValue& value : module.global_values())
    if (!value.isDeclaration()) names.insert(value.getName());
  return names;
}

/// Makes the linked functions internal to the module: no attribute of the host's CPU stays.
void adopt(llvm::Module& module, const llvm::StringSet<>& own) {
  const auto is_new = [&](const llvm::GlobalValue& value) {
    return !value.isDeclaration() && !own.contains(value.getName());
  };
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (!is_new(variable)) continue;
    variable.setComdat(nullptr);
    variable.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  for (llvm::Function& function : module) {
    if (!is_new(function)) continue;
    function.setComdat(nullptr);
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.setDSOLocal(true);
    llvm::AttributeMask of_host;
    for (const llvm::Attribute attribute : function.getAttributes().getFnAttrs())
      if (attribute.isStringAttribute()) of_host.addAttribute(attribute.getKindAsString());
    function.removeFnAttrs(of_host);
  }
}

}  // namespace

void mark_of_device(llvm::Function& function) { function.addFnAttr(kOfDevice); }

/// Linked functions may need more: an instruction in them that is lowered.
void link_device_math(llvm::Module& module) {
  lower_for_devices(module);
  for (std::vector<llvm::Function*> open = undefined(module); !open.empty(); open = undefined(module)) {
    const std::string name = open[0]->getName().str();
    const llvm::StringSet<> own = defined(module);
    if (llvm::Linker::linkModules(module, open_library(module), llvm::Linker::LinkOnlyNeeded))
      throw base::InternalError("codegen: device_math cannot be linked");
    adopt(module, own);
    lower_for_devices(module);
    if (const llvm::Function* const left = module.getFunction(name); left && left->isDeclaration())
      throw base::InternalError("codegen: GPUs have no function " + name);
  }
}

}  // namespace ingot::codegen
