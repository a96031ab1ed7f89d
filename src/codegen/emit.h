#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <functional>
#include <string>

/// The last steps of every target.
namespace ingot::codegen {

/// A module's text.
std::string text_of(const llvm::Module& module);

/// Throws base::InternalError with the module's text if LLVM's verifier finds a fault.
void verify(const llvm::Module& module);

/// Selects instructions: the bytes of an object, or the text of assembly (for GPUs: of PTX). The module can
/// no longer be used afterwards. Once `is_over`, what is left of it is left out: the result is of no use.
std::string emit_file(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType kind,
                      const std::function<bool()>& is_over = {});

/// The same for a device, where LLVM may find that it has no code for something: throws base::InternalError
/// with its words then.
std::string emit_for_device(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType kind);

}  // namespace ingot::codegen
