#pragma once

#include <memory>
#include <string>

#include "codegen/line_table.h"
#include "codegen/unit.h"

namespace llvm {
class TargetMachine;
}

namespace ingot::codegen {

/// The kernels of a unit: a module of their own, whose text is in the host's object.
class DeviceCode {
 public:
  explicit DeviceCode(Unit& host);
  ~DeviceCode();

  /// A kernel, and which of the values offered to it it uses.
  struct Kernel {
    llvm::Constant* name;  ///< the address of a text in the host's module
    std::vector<size_t> taken;
    bool may_raise;  ///< then it takes the address of the error report first
    bool is_cooperative;
    /// True if there are more values than a kernel takes: it takes the address of them last, 8 bytes each.
    bool is_packed;
  };
  /// Of a launch of a host's function. `used`: the values from outside that it uses, with their types here.
  Kernel add(const ir::Function& source, ir::NodeId launch, std::span<const ir::NodeId> used,
             std::span<const Parts> parts);

  /// The address and the size of the code, known when `finish` has run.
  llvm::GlobalVariable* text() const { return text_; }
  llvm::GlobalVariable* size() const { return size_; }
  /// Makes the code. Nothing is added afterwards. `want_text`: `shown` and `llvm_ir` are asked for.
  void finish(bool want_text);

  const std::string& shown() const { return shown_; }
  const std::string& llvm_ir() const { return llvm_ir_; }
  const std::vector<KernelName>& names() const { return names_; }

 private:
  void optimize(llvm::TargetMachine& machine);

  Unit& host_;
  Target target_;
  llvm::Module module_;
  Unit unit_;
  LineTable lines_;
  llvm::GlobalVariable* text_;
  llvm::GlobalVariable* size_;
  std::string shown_;
  std::string llvm_ir_;
  std::vector<KernelName> names_;
};

/// `void (error report, i64 iteration, i32 status, i32 site, i32 count, words)`: reports an exception; that
/// of the lowest iteration stays.
llvm::Function* report_function(Unit& unit);

}  // namespace ingot::codegen
