// The kernel target of NVIDIA's GPUs.

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/error.h"
#include "codegen/targets/device.h"
#include "codegen/targets/device_instructions.h"
#include "codegen/targets/device_math.h"
#include "codegen/targets/kernel_target.h"

namespace ingot::codegen {

namespace {

/// Linked functions have other names until the text is written, lest they are taken for functions of Ingot's.
constexpr const char* kLinked = "linked.";

void give_name(llvm::Module& module, llvm::Function& function) {
  const std::string name = function.getName().substr(std::string_view(kLinked).size()).str();
  if (llvm::GlobalValue* const other = module.getNamedValue(name)) {
    INGOT_ASSERT(other->hasLocalLinkage(), "codegen: a function named " + name);
    other->setName(name + "_of_ingot");
  }
  function.setName(name);
}

class Gpu final : public KernelTarget {
 public:
  explicit Gpu(const DeviceTarget& target) : target_(target) {}

  const DeviceTarget& target() const { return target_; }
  const Instructions& instructions() const override { return device_instructions(); }
  void prepare(llvm::Module& module) const override { prepare_device_module(module); }
  void mark_kernel(llvm::Function& function, unsigned threads, unsigned blocks) const override {
    codegen::mark_kernel(function);
    annotate_kernel(function, "maxntidx", threads);
    if (blocks > 1) annotate_kernel(function, "minctasm", blocks);
  }
  std::unique_ptr<llvm::TargetMachine> machine() const override { return make_device_machine(target_); }
  void link(llvm::Module& module) const override { link_device_math(module); }
  std::string code_of(llvm::Module& module, llvm::TargetMachine&) const override {
    for (llvm::Function& function : module)
      if (function.getName().starts_with(kLinked)) give_name(module, function);
    return emit_ptx(module, target_);
  }
  llvm::Function* linked(llvm::Module& module, const std::string& name,
                         llvm::FunctionType* type) const override;

  Value* grid_value(Builder& b, GridValue what, unsigned axis) const override {
    using namespace llvm::Intrinsic;
    static constexpr ID kRegisters[4][3] = {
        {nvvm_read_ptx_sreg_ctaid_x, nvvm_read_ptx_sreg_ctaid_y, nvvm_read_ptx_sreg_ctaid_z},
        {nvvm_read_ptx_sreg_tid_x, nvvm_read_ptx_sreg_tid_y, nvvm_read_ptx_sreg_tid_z},
        {nvvm_read_ptx_sreg_nctaid_x, nvvm_read_ptx_sreg_nctaid_y, nvvm_read_ptx_sreg_nctaid_z},
        {nvvm_read_ptx_sreg_ntid_x, nvvm_read_ptx_sreg_ntid_y, nvvm_read_ptx_sreg_ntid_z}};
    Value* const index = b.CreateIntrinsic(kRegisters[static_cast<size_t>(what)][axis], {}, {});
    return b.CreateZExt(index, b.getInt64Ty(), "", /*IsNonNeg=*/true);
  }
  int64_t warp_threads() const override { return 32; }
  int64_t shared_bytes() const override { return 48 << 10; }
  bool blocks_in_order() const override { return true; }
  void barrier(Builder& b) const override { b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {}); }
  void barrier(Builder& b, Value* mask) const override {
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {}, {mask});
  }
  void fence(Builder& b, ir::Scope scope) const override {
    const llvm::Intrinsic::ID id = scope == ir::Scope::System   ? llvm::Intrinsic::nvvm_membar_sys
                                   : scope == ir::Scope::Device ? llvm::Intrinsic::nvvm_membar_gl
                                                                : llvm::Intrinsic::nvvm_membar_cta;
    b.CreateIntrinsic(id, {}, {});
  }

  Value* vote(Builder& b, ir::Question question, Value* condition) const override;
  Value* vote(Builder& b, ir::Question question, Value* mask, Value* condition) const override;
  Value* match(Builder& b, ir::Agreement agreement, Value* mask, Value* value) const override;
  Value* shuffle(Builder& b, ir::Source source, Value* mask, Value* value, Value* lane,
                 unsigned width) const override;
  Value* active(Builder& b) const override {
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_activemask, {}, {});
  }
  void nanosleep(Builder& b, Value* time) const override {
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_nanosleep, {}, {time});
  }

  unsigned shared_space() const override { return 3; }
  unsigned global_space() const override { return 1; }
  uint64_t most_parameter_bytes() const override { return 4096; }
  uint64_t access_bytes() const override { return 16; }

 private:
  DeviceTarget target_;
};

llvm::Function* Gpu::linked(llvm::Module& module, const std::string& name, llvm::FunctionType* type) const {
  auto* const function =
      llvm::cast<llvm::Function>(module.getOrInsertFunction(kLinked + name, type).getCallee());
  INGOT_ASSERT(function->getFunctionType() == type, "codegen: one signature of " + name);
  function->setDoesNotThrow();
  function->setConvergent();
  mark_of_device(*function);
  return function;
}

KernelTarget::Value* Gpu::vote(Builder& b, ir::Question question, Value* condition) const {
  using namespace llvm::Intrinsic;
  const ID id = question == ir::Question::All   ? nvvm_barrier0_and
                : question == ir::Question::Any ? nvvm_barrier0_or
                                                : nvvm_barrier0_popc;
  Value* const given = b.CreateIntrinsic(id, {}, {b.CreateZExt(condition, b.getInt32Ty())});
  return question == ir::Question::Count ? given : b.CreateIsNotNull(given);
}

KernelTarget::Value* Gpu::vote(Builder& b, ir::Question question, Value* mask, Value* condition) const {
  using namespace llvm::Intrinsic;
  const ID id = question == ir::Question::All     ? nvvm_vote_all_sync
                : question == ir::Question::Any   ? nvvm_vote_any_sync
                : question == ir::Question::Equal ? nvvm_vote_uni_sync
                                                  : nvvm_vote_ballot_sync;
  return b.CreateIntrinsic(id, {}, {mask, condition});
}

KernelTarget::Value* Gpu::match(Builder& b, ir::Agreement agreement, Value* mask, Value* value) const {
  using namespace llvm::Intrinsic;
  const bool is_wide = value->getType()->isIntegerTy(64);
  if (agreement == ir::Agreement::Some)
    return b.CreateIntrinsic(is_wide ? nvvm_match_any_sync_i64 : nvvm_match_any_sync_i32, {}, {mask, value});
  Value* const given =
      b.CreateIntrinsic(is_wide ? nvvm_match_all_sync_i64p : nvvm_match_all_sync_i32p, {}, {mask, value});
  return b.CreateExtractValue(given, 0);
}

KernelTarget::Value* Gpu::shuffle(Builder& b, ir::Source source, Value* mask, Value* value, Value* lane,
                                  unsigned width) const {
  using namespace llvm::Intrinsic;
  const ID id = source == ir::Source::Index  ? nvvm_shfl_sync_idx_i32
                : source == ir::Source::Up   ? nvvm_shfl_sync_up_i32
                : source == ir::Source::Down ? nvvm_shfl_sync_down_i32
                                             : nvvm_shfl_sync_bfly_i32;
  const unsigned last = source == ir::Source::Up ? 0 : 31;
  return b.CreateIntrinsic(id, {}, {mask, value, lane, b.getInt32((32 - width) << 8 | last)});
}

}  // namespace

const KernelTarget& kernel_target(const DeviceTarget& target) {
  static const std::vector<std::unique_ptr<Gpu>> all = [] {
    std::vector<std::unique_ptr<Gpu>> made;
    for (const DeviceTarget& generation : device_targets()) made.push_back(std::make_unique<Gpu>(generation));
    return made;
  }();
  const auto at = std::ranges::find_if(all, [&](const auto& gpu) { return gpu->target() == target; });
  INGOT_ASSERT(at != all.end(), "codegen: a generation of GPUs");
  return **at;
}

}  // namespace ingot::codegen
