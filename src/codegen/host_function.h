#pragma once

#include "codegen/lane_body.h"

namespace ingot::codegen {

/// Emits the entry of a function, by its entry symbol. Where there is code for the default floating-point
/// state and code for any, the context chooses.
void emit_entry(Unit& unit, const ir::Function& source, bool recursive, States states);
/// Emits the body of a function that others call.
void emit_internal(Unit& unit, const ir::Function& source, llvm::Function* target, bool recursive,
                   FloatStates states);

/// A function that the host runs, by the runtime's ABI: it has a context, polls, gives a status, puts the
/// error that it leaves with into the context, and calls the runtime and other functions. Loops whose
/// iterations threads share are functions of their own.
class HostFunction final : public LaneBody {
 public:
  enum class Form : uint8_t {
    Entry,
    Internal,
    Iterations,  ///< some iterations of a loop of the function: `runtime::Iterations`
  };
  HostFunction(Unit& unit, const ir::Function& source, llvm::Function* target, Form form, bool recursive,
               FloatStates states);
  /// `other`: an entry for any floating-point state, for this one to call where that is not the default.
  void emit(llvm::Function* other = nullptr);

 private:
  // host_function.cpp
  void emit_prologue();
  void leave_to(llvm::Function* other);
  Parts take_parameters();
  void fill_in(ir::Type type, const ir::ParameterInfo& known, Parts& parts);
  void emit_poll() override;
  void check_stack();

  // leave.cpp
  void leave(base::ExceptionKind kind, uint32_t site, std::span<llvm::Value* const> shown) override;
  void emit_return_(NodeId id) override;
  void emit_call(NodeId id) override;
  /// The block that leaves the function with an exception no location of the source raises.
  Block* leaving_block(base::ExceptionKind kind);
  void store_caller(NodeId call);
  /// Leaves with the status of another function or an external call: with any status but 0 and those that the
  /// node catches (base::catches). `call`: the one that it leaves, if tracebacks show it. `location`: where
  /// an exception that has no site of its own comes up.
  void leave_with(llvm::Value* status, int64_t catches, std::optional<NodeId> call = {},
                  std::optional<NodeId> location = {});
  void store_location(NodeId location);
  void return_status(llvm::Value* status);

  // host_memory.cpp
  llvm::Value* allocate(llvm::Value* bytes, std::optional<NodeId> alloc) override;
  void release(llvm::Value* buffer) override;
  llvm::Value* buffer_data(llvm::Value* buffer) override;
  llvm::Value* buffer_size(llvm::Value* buffer) override;
  void emit_keep(NodeId id) override;
  void emit_kept(NodeId id) override;
  Parts load_slot(ir::Type type, llvm::Value* slot);
  void store_slot(ir::Type type, const Parts& value, llvm::Value* slot);
  void leave_without_memory(std::optional<NodeId> alloc);
  std::optional<NodeId> view_of_new(NodeId alloc) const;

  // outside.cpp
  void emit_library(NodeId id) override;
  void emit_draw(NodeId id) override;
  void draw_in_pieces(llvm::Function* draw, std::vector<llvm::Value*> arguments, uint64_t size);
  void emit_host(NodeId id) override;
  void emit_sort_line(NodeId id) override;
  void emit_argsort_line(NodeId id) override;
  void sort_line(NodeId id, const char* function, NodeId view, std::optional<NodeId> indices);
  llvm::Value* call_outside(llvm::StringRef what, int64_t number, std::span<const NodeId> operands);

  // c_functions.cpp
  void emit_c_call(NodeId id) override;
  void emit_c_value(NodeId id) override;
  llvm::Value* c_function(NodeId id, unsigned part);
  void call_c(NodeId id);
  void call_loop(NodeId id, std::span<llvm::Value* const> data, std::span<llvm::Value* const> steps,
                 llvm::Value* count);
  void run_loop(NodeId id);
  void run_loop_once(NodeId id);
  [[noreturn]] void refuse_on_device(NodeId id);

  // launches.cpp
  void emit_launch(NodeId id) override;
  void emit_load(NodeId id) override;
  void emit_copy(NodeId id) override;
  void emit_clear(NodeId id) override;
  llvm::Value* on_device(NodeId node, size_t part);
  /// Memory of the device that a function of the host works on meanwhile.
  struct Staged {
    llvm::Value* memory;
    llvm::Value* bytes;
    llvm::Value* copy;
    bool is_stream;  ///< of random numbers
  };
  bool is_on_stack(NodeId view) const;
  llvm::Value* stage(NodeId id, const Staged& array);
  void write_back(NodeId id, const Staged& array);
  bool has_device() const { return unit_.target.kernels != nullptr; }

  // threads.cpp
  void emit_share(NodeId id) override;
  bool is_in_loop(NodeId id) const;
  Parts reduce_in_threads(NodeId id, llvm::Value* grain);
  void emit_groups(NodeId id, llvm::Value* begin, llvm::Value* end, const Parts& given);
  template <class Emit>
  void share_iterations(llvm::Value* count, llvm::Value* grain, NodeId loop, const Parts& more, Emit emit);
  void call_iterations(llvm::Function* iterations, llvm::Value* data, llvm::Value* count, llvm::Value* grain);
  std::vector<NodeId> used_by(NodeId loop) const;
  std::vector<NodeId> used_in(RegionId region) const;

  Form form_;
  bool recursive_;
  llvm::Value* context_ = nullptr;
  llvm::Value* results_ = nullptr;    ///< Entry: the slots; Internal: the result struct
  llvm::Value* attention_ = nullptr;  ///< the address of the flag
  std::vector<std::pair<base::ExceptionKind, Block*>> leaving_;
};

}  // namespace ingot::codegen
