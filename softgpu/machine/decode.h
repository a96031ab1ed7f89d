#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "softgpu/machine/access.h"
#include "softgpu/machine/plan.h"
#include "softgpu/machine/program.h"
#include "softgpu/machine/ptx.h"

/// Decodes a function's statements into instructions. Only the component's sources include this.
namespace softgpu {

/// The memory of a variable.
struct Storage {
  ptx::Space space{};
  uint64_t at = 0;  ///< an address of global memory, else an offset
};

/// The names of a module, for its functions.
struct ModuleNames {
  std::unordered_map<std::string_view, Storage> variables{};
  std::unordered_map<std::string_view, uint32_t> functions{};
  std::vector<bool> defined{};   ///< by function: whether it has a body
  uint32_t shared_bytes = 0;     ///< static, before those of a kernel's own
  uint32_t dynamic_at = 0;       ///< where dynamic shared memory begins, in every kernel
  uint64_t most_parameters = 0;  ///< bytes of a kernel's
};

/// Decodes the body of one function into `into`.
class FunctionDecoder {
 public:
  FunctionDecoder(const ptx::Function& source, const ModuleNames& names, Function& into);

  void run();

 private:
  struct Register {
    Slot slot;
    uint8_t width;  ///< bytes, or kPredicate
  };

  const ptx::Function& source_;
  const ModuleNames& names_;
  Function& into_;
  std::vector<Flow> flow_;
  std::vector<std::unordered_map<std::string_view, Storage>> variables_;  ///< by scope
  /// Registers that a scope declares, alone (`%p`) and as many (`%r<9>`).
  struct Declared {
    std::unordered_map<std::string_view, const ptx::Variable*> single{}, several{};
    const ptx::Variable* find(std::string_view name) const;
  };
  std::vector<Declared> declared_;  ///< by scope
  std::map<std::pair<uint32_t, std::string_view>, Register> registers_;
  std::map<std::pair<uint64_t, uint8_t>, Slot> constants_;
  std::unordered_map<std::string_view, uint32_t> labels_;
  std::vector<std::pair<size_t, std::string_view>> jumps_;          ///< instructions whose target is a label
  std::vector<std::pair<uint32_t, const ptx::Targets*>> switches_;  ///< lists of instructions that are labels
  std::optional<Register> carry_;
  const ptx::Statement* now_ = nullptr;

  // Names.
  uint32_t label(std::string_view name, uint32_t line) const;
  void lay_out();
  void lay_out_scope(uint32_t scope);
  /// An offset for a variable at the end of memory of `end` bytes, which may have up to `most`.
  uint32_t offset_at_end(const ptx::Variable& variable, uint32_t& end, uint64_t most) const;
  const Register* find_register(std::string_view name);
  std::optional<Register> special(std::string_view name);
  std::optional<Storage> find_variable(std::string_view name) const;
  Register new_register(uint8_t width);
  Slot constant(uint64_t bits, uint8_t width);

  // Operands.
  [[noreturn]] void fail(const std::string& message) const;
  [[noreturn]] void unknown() const;
  const ptx::Operand& operand(size_t which) const;
  size_t operands() const { return now_->operands.size(); }
  /// A value to read.
  Slot value(const ptx::Operand& operand, uint8_t width);
  Slot address_of(const Storage& storage);
  /// A register to write, of this width; for `_` one that nobody reads.
  Slot result(const ptx::Operand& operand, uint8_t width);
  /// The width of an operand that is a register, else `otherwise`.
  uint8_t width_of_operand(const ptx::Operand& operand, uint8_t otherwise);
  Slot negatable(const ptx::Operand& operand, Instruction& i, uint16_t flag);
  ptx::Type first_type(size_t from = 1) const;
  ptx::Type last_type() const;
  ptx::Space space() const;
  uint32_t vector_lanes() const;

  // Instructions.
  void decode(const ptx::Statement& statement);
  static Instruction begin(Handler handler);
  void add(const Instruction& instruction, Flow::Kind kind = Flow::Next);
  bool decode_memory();
  bool decode_async();
  bool decode_barrier_object();
  bool decode_matrix();
  bool decode_fragment();
  void decode_fragment_product(uint8_t m, uint8_t n, uint8_t k);
  bool decode_stack();
  void decode_vector_atomic(bool gives, std::string_view op);
  /// A register with an address, of generic memory or an offset of shared memory.
  Slot address_value(const ptx::Operand& operand);
  uint32_t add_list(const ptx::Operand& operand, uint8_t width, bool is_result);
  bool decode_warp();
  bool decode_control();
  bool decode_moves();
  bool decode_computing();
  void decode_access(bool loads);
  void decode_atomic();
  void put_order(Instruction& i) const;
  void decode_mov();
  void decode_cvta();
  void decode_shuffle();
  void decode_barrier();
  void decode_branch();
  void decode_switch();
  void decode_call();
  bool put_address(const ptx::Operand& operand, Instruction& i, ptx::Space& where);
  CallSite call_site();
  uint32_t parameter_at(const ptx::Operand& operand) const;
};

}  // namespace softgpu
