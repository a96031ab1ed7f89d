#pragma once

#include "softgpu/machine/ptx.h"
#include "softgpu/machine/warp.h"

/// Handlers of memory, of warps and of control. Only the component's sources include this.
namespace softgpu {

namespace flag {
/// Instruction::flags of accesses: the address has 32 bits; it counts from the frame's local variables.
constexpr uint16_t kAddress32 = 1 << 11;
constexpr uint16_t kOfFrame = 1 << 12;
constexpr uint16_t kBase = kAddress32 | kOfFrame;
}  // namespace flag

/// The operands of an access in each of the handlers below: the address is the value at `slot` - or 0 - plus
/// the instruction's offset.
inline uint64_t address_at(const Warp& w, const Instruction& i, Slot slot, uint32_t lane) {
  uint64_t address = static_cast<uint64_t>(i.offset);
  if (slot != kNoSlot)
    address += (i.flags & flag::kAddress32) != 0 ? w.get<uint32_t>(slot)[lane] : w.get<uint64_t>(slot)[lane];
  if ((i.flags & flag::kOfFrame) != 0) address += w.frame->local_base;
  return address;
}

template <ptx::Space kSpace>
std::byte* accessed(Warp& w, const Instruction& i, uint64_t address, uint32_t bytes, uint32_t lane,
                    Access what) {
  if constexpr (kSpace == ptx::Space::Shared) return w.shared(i, address, bytes, lane, what);
  else if constexpr (kSpace == ptx::Space::Local) return w.local(i, address, bytes, lane, what);
  else if constexpr (kSpace == ptx::Space::Param) return w.param(i, address, bytes, lane, what);
  else return w.generic(i, address, bytes, lane, what);
}

/// ld: `register_bytes` of the result, or of each of the results of a vector. None: there is no such load.
Handler load_handler(ptx::Space space, ptx::Type type, uint8_t register_bytes);
/// st: address in a, value in b.
Handler store_handler(ptx::Space space, ptx::Type type, uint8_t register_bytes);
/// atom and red: address in a, operands in b and c; the old value in d, if there is a slot.
Handler atomic_handler(std::string_view op, ptx::Type type, ptx::Space space);

/// The same of several elements, one after the other: addresses in a, lists of slots at `target` - the
/// results, if `gives`, then the operands.
Handler vector_atomic_handler(std::string_view op, ptx::Type type, bool gives);

/// mov between a vector and a register: `kPieces` of `piece` bytes.
Handler pack_handler(uint32_t pieces, uint32_t piece);
Handler unpack_handler(uint32_t pieces, uint32_t piece);

namespace handlers {
void local_address(Warp& w, const Instruction& i, Mask m);  ///< d = offset + the frame's local variables
void is_in_space(Warp& w, const Instruction& i, Mask m);    ///< isspacep: `offset` is the Space
void clock(Warp& w, const Instruction& i, Mask m);          ///< %clock and the like: `lanes` bytes

void shuffle(Warp& w, const Instruction& i, Mask m);  ///< `target`: 0 up, 1 down, 2 bfly, 3 idx
void vote(Warp& w, const Instruction& i, Mask m);     ///< `target`: 0 all, 1 any, 2 uni, 3 ballot
void match(Warp& w, const Instruction& i, Mask m);    ///< `target`: 0 any, 1 all; `lanes` bytes
void reduce(Warp& w, const Instruction& i, Mask m);   ///< `target`: 0 add, 1 min, 2 max, 3 and, 4 or, 5 xor
void active_mask(Warp& w, const Instruction& i, Mask m);
void elect(Warp& w, const Instruction& i, Mask m);
void warp_barrier(Warp& w, const Instruction& i, Mask m);

void copy_begin(Warp& w, const Instruction& i, Mask m);  ///< cp.async: a to, b from, c bytes that are read
void copy_commit(Warp& w, const Instruction& i, Mask m);
void copy_wait(Warp& w, const Instruction& i, Mask m);  ///< `offset`: groups that may stay
/// Ops of an mbarrier, whose address is in a, of shared memory where `lanes` is 1. `offset`: the BarrierOp.
void barrier_object(Warp& w, const Instruction& i, Mask m);
void multiply_matrices(Warp& w, const Instruction& i,
                       Mask m);  ///< mma; lists at `target`, `offset`: a MatrixOp
void load_matrix(Warp& w, const Instruction& i,
                 Mask m);  ///< ldmatrix: a list at `target`, `flags`: transposed
void store_matrix(Warp& w, const Instruction& i, Mask m);
void load_fragment(Warp& w, const Instruction& i,
                   Mask m);  ///< wmma: a list at `target`, `offset`: a FragmentOp
void store_fragment(Warp& w, const Instruction& i, Mask m);  ///< a address, b stride
void multiply_fragments(Warp& w, const Instruction& i,
                        Mask m);                             ///< lists as mma's, `offset`: a FragmentProduct
void stack_allocate(Warp& w, const Instruction& i, Mask m);  ///< alloca: d, a bytes, `offset` alignment
void stack_save(Warp& w, const Instruction& i, Mask m);
void stack_restore(Warp& w, const Instruction& i, Mask m);

void barrier(Warp& w, const Instruction& i, Mask m);  ///< a: number, b: threads
void barrier_arrive(Warp& w, const Instruction& i, Mask m);
void barrier_reduce(Warp& w, const Instruction& i, Mask m);  ///< c: predicate; `target`: 0 popc, 1 and, 2 or
void fence(Warp& w, const Instruction& i, Mask m);
void nothing(Warp& w, const Instruction& i, Mask m);
void pause(Warp& w, const Instruction& i, Mask m);  ///< nanosleep
void jump(Warp& w, const Instruction& i, Mask m);
void branch(Warp& w, const Instruction& i, Mask m);
void branch_indexed(Warp& w, const Instruction& i, Mask m);  ///< a: index; `target`: a list of instructions
void rejoin(Warp& w, const Instruction& i, Mask m);
void call(Warp& w, const Instruction& i, Mask m);           ///< `target`: the CallSite
void call_indirect(Warp& w, const Instruction& i, Mask m);  ///< a: the function's address
void give_back(Warp& w, const Instruction& i, Mask m);      ///< ret
void exit(Warp& w, const Instruction& i, Mask m);
void trap(Warp& w, const Instruction& i, Mask m);
}  // namespace handlers

/// Calls of functions that PTX declares and every device has; `target` is the CallSite. None: it is not one.
struct BuiltIn {
  Handler run = nullptr;
  bool returns = true;
};
BuiltIn built_in(std::string_view function);

enum class BarrierOp : uint8_t {
  Init,  ///< b: count
  Invalidate,
  Arrive,  ///< d: state; b: count
  ArriveDrop,
  ArriveExpect,  ///< b: bytes
  Expect,        ///< b: bytes
  Complete,      ///< b: bytes
  TestState,     ///< d: predicate, b: state
  TestParity,    ///< d: predicate, b: parity
  TryState,      ///< as TestState, and others run before
  TryParity,
  CopyArrive,    ///< of cp.async: when the copies until now are done
  CopyFinish,    ///< the same, where the arrival is not among those that are waited for
  PendingCount,  ///< d: count, a: a state
};

/// The numbers that matrices are of.
enum class MatrixType : uint8_t { F16, BF16, TF32, F64, S8, U8, F32, S32 };

/// mma of 16 or 8 rows, 8 columns, `k` products each.
struct MatrixOp {
  MatrixType a, b, c, d;
  uint8_t rows;
  uint8_t k;
  bool saturates;

  int64_t coded() const;
  static MatrixOp of(int64_t code);
};

/// A matrix in memory, row by row or column by column, and in the registers of a warp.
struct FragmentOp {
  MatrixType type;
  uint8_t rows, columns;
  bool is_by_columns;
  bool is_shared;  ///< the address is of shared memory

  int64_t coded() const;
  static FragmentOp of(int64_t code);
};

/// d = a b + c of `m` by `k` and `k` by `n`.
struct FragmentProduct {
  MatrixType a, b, c, d;
  uint8_t m, n, k;
  bool saturates;

  int64_t coded() const;
  static FragmentProduct of(int64_t code);
};

/// Where control goes after an instruction; index by index of Function::code.
struct Flow {
  enum Kind : uint8_t { Next, Jump, Switch, Leave, Stop } kind = Next;
};

/// Finds for each branch where its paths join again - the immediate post-dominator -, and puts a `rejoin`
/// there. `flow` is that of the code before; paths that end in a Stop do not count.
void add_joins(Function& function, const std::vector<Flow>& flow);

}  // namespace softgpu
