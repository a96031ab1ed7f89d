#include "codegen/emit.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "base/error.h"

namespace ingot::codegen {

std::string text_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return stream.str();
}

void verify(const llvm::Module& module) {
  std::string faults;
  llvm::raw_string_ostream stream(faults);
  if (llvm::verifyModule(module, &stream))
    throw base::InternalError("codegen: LLVM's verifier: " + stream.str() + "\n" + text_of(module));
}

std::string emit_file(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType kind) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  const bool failed = machine.addPassesToEmitFile(passes, stream, nullptr, kind, /*DisableVerify=*/true);
  INGOT_ASSERT(!failed, "codegen: LLVM emits files of this kind");
  passes.run(module);
  return {bytes.data(), bytes.size()};
}

}  // namespace ingot::codegen
