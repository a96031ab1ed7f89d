#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/compile.h"
#include "codegen/line_table.h"
#include "codegen/unit.h"

namespace llvm {
class TargetMachine;
}

namespace ingot::codegen {

/// The kernels of a unit: a module of their own, whose code is in the host's object.
class DeviceCode {
 public:
  explicit DeviceCode(Unit& host);
  ~DeviceCode();

  /// A kernel, and which of the values offered to it it uses.
  struct Kernel {
    llvm::Constant* name;  ///< the address of a text in the host's module
    llvm::Constant* code;  ///< the address of its `entry::KernelCode`
    std::vector<size_t> taken;
    bool may_raise;  ///< then it takes the address of the error report first
    bool is_cooperative;
    /// True if there are more values than a kernel takes: it takes the address of them last, 8 bytes each.
    bool is_packed;
  };
  /// Of a launch of a host's function. `used`: the values from outside that it uses, with their types here.
  Kernel add(const ir::Function& source, ir::NodeId launch, std::span<const ir::NodeId> used,
             std::span<const Parts> parts);

  /// Makes the code. Nothing is added afterwards. `shown` and `llvm_ir` are there where the options ask for
  /// assembly; nothing is assembled then.
  void finish(const Options& options);

  const std::string& shown() const { return shown_; }
  const std::string& llvm_ir() const { return llvm_ir_; }
  const std::vector<KernelName>& names() const { return names_; }

 private:
  llvm::Constant* declare(const std::string& name);
  void optimize(llvm::TargetMachine& machine);
  std::vector<std::string> texts_of_kernels(llvm::TargetMachine& machine);
  llvm::GlobalVariable* embed(const std::string& code, bool is_assembled);
  void define(size_t kernel, llvm::GlobalVariable* code);

  Unit& host_;
  Target target_;
  llvm::Module module_;
  Unit unit_;
  LineTable lines_;
  std::vector<llvm::GlobalVariable*> codes_;  ///< of each kernel: what stands for it until `finish`
  std::string shown_;
  std::string llvm_ir_;
  std::vector<KernelName> names_;
};

/// `void (error report, i64 iteration, i32 status, i32 site, i64 word...)`: reports an exception with so many
/// words; that of the lowest iteration stays. The words are arguments, lest they are in local memory.
llvm::Function* report_function(Unit& unit, size_t words);

}  // namespace ingot::codegen
