#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class Function;
class Module;
class TargetMachine;
}  // namespace llvm

/// The NVIDIA GPUs that PTX is made for, and PTX text of LLVM modules. The target is initialised by the first
/// function here that needs it.
namespace ingot::codegen {

/// A generation of GPUs as LLVM 19 knows it, and the oldest version of PTX that has it.
struct DeviceTarget {
  static constexpr int kOldest = 75;
  static constexpr int kNewest = 90;

  int capability = kNewest;  ///< the compute capability times ten: 90 is `sm_90`
  int ptx = 78;              ///< the PTX version times ten

  /// For a GPU of this compute capability (times ten): the newest generation that is not newer, whose PTX its
  /// driver translates. (LLVM takes `sm_100` too, and makes PTX that is wrong.) None for those before
  /// `kOldest`.
  static std::optional<DeviceTarget> of(int capability);

  std::string cpu() const;       ///< LLVM's name: `sm_90`
  std::string features() const;  ///< LLVM's list: `+ptx78`

  bool operator==(const DeviceTarget&) const = default;
};

/// The generations that the LLVM in this program makes PTX for, oldest first.
std::vector<DeviceTarget> device_targets();

/// Gives a module without target the triple and the data layout of 64-bit GPUs.
void prepare_device_module(llvm::Module& module);

/// LLVM's machine for a generation.
std::unique_ptr<llvm::TargetMachine> make_device_machine(const DeviceTarget& target);

/// Sets a numeric annotation of a kernel, by LLVM's name.
void annotate_kernel(llvm::Function& function, const char* what, unsigned number);

/// Makes a function of a prepared module one that the host launches.
void mark_kernel(llvm::Function& function);

/// The PTX text of a prepared module; its kernels are `.visible .entry`. The module cannot be used
/// afterwards. Throws base::InternalError if it was not prepared, LLVM's verifier finds a fault, or it holds
/// what GPUs have no code for (device_lowering.h).
std::string emit_ptx(llvm::Module& module, const DeviceTarget& target);

class KernelTarget;

/// The kernel target of the GPUs of a generation. Lives until the program ends.
const KernelTarget& kernel_target(const DeviceTarget& target);

}  // namespace ingot::codegen
