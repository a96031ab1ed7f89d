#include <algorithm>

#include "softgpu/machine/access.h"
#include "softgpu/machine/floats.h"

// Operations of warps on small matrices, of which each thread has a few elements.

namespace softgpu {

namespace {

template <class... T>
int64_t packed(T... fields) {
  int64_t code = 0;
  int at = 0;
  ((code |= static_cast<int64_t>(fields) << at, at += 8), ...);
  return code;
}

/// The fields of a code, one after the other.
class Fields {
 public:
  explicit Fields(int64_t code) : code_(code) {}
  operator uint8_t() { return next(); }    // NOLINT(google-explicit-constructor): for initialisers
  operator bool() { return next() != 0; }  // NOLINT(google-explicit-constructor)
  operator MatrixType() { return MatrixType{next()}; }  // NOLINT(google-explicit-constructor)

 private:
  int64_t code_;
  uint8_t next() {
    const auto field = static_cast<uint8_t>(code_);
    code_ >>= 8;
    return field;
  }
};

}  // namespace

int64_t MatrixOp::coded() const { return packed(a, b, c, d, rows, k, saturates); }

MatrixOp MatrixOp::of(int64_t code) {
  Fields f(code);
  return {f, f, f, f, f, f, f};
}

int64_t FragmentOp::coded() const { return packed(type, rows, columns, is_by_columns, is_shared); }

FragmentOp FragmentOp::of(int64_t code) {
  Fields f(code);
  return {f, f, f, f, f};
}

int64_t FragmentProduct::coded() const { return packed(a, b, c, d, m, n, k, saturates); }

FragmentProduct FragmentProduct::of(int64_t code) {
  Fields f(code);
  return {f, f, f, f, f, f, f, f};
}

namespace handlers {

namespace {

uint32_t bits_of(MatrixType type) {
  switch (type) {
    case MatrixType::F16:
    case MatrixType::BF16: return 16;
    case MatrixType::S8:
    case MatrixType::U8: return 8;
    case MatrixType::F64: return 64;
    default: return 32;
  }
}

double number_of(MatrixType type, uint64_t bits) {
  switch (type) {
    case MatrixType::F16: return number(F16{static_cast<uint16_t>(bits)});
    case MatrixType::BF16: return number(BF16{static_cast<uint16_t>(bits)});
    case MatrixType::TF32:
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits) & ~0x1FFFu));
    case MatrixType::F64: return std::bit_cast<double>(bits);
    case MatrixType::S8: return static_cast<int8_t>(bits);
    case MatrixType::U8: return static_cast<uint8_t>(bits);
    case MatrixType::F32: return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case MatrixType::S32: return static_cast<int32_t>(bits);
  }
  return 0;
}

uint64_t bits_of_number(MatrixType type, double value, bool saturates) {
  switch (type) {
    case MatrixType::F16: return stored<F16>(value).bits;
    case MatrixType::F32: return std::bit_cast<uint32_t>(static_cast<float>(value));
    case MatrixType::F64: return std::bit_cast<uint64_t>(value);
    default: break;
  }
  if (saturates) value = std::clamp(value, -2147483648.0, 2147483647.0);
  return static_cast<uint32_t>(static_cast<int64_t>(value));
}

/// The elements of a warp's matrix: each thread's, `each` of them, packed in registers.
class Elements {
 public:
  Elements(Warp& w, const std::vector<Slot>& slots, MatrixType type)
      : w_(w), slots_(slots), type_(type), bits_(bits_of(type)) {}

  uint64_t get(uint32_t lane, uint32_t which) const {
    if (bits_ == 64) return w_.get<uint64_t>(slots_[which])[lane];
    const uint32_t packed = 32 / bits_;
    const uint32_t word = w_.get<uint32_t>(slots_[which / packed])[lane];
    const uint32_t value = word >> (bits_ * (which % packed));
    return bits_ == 32 ? value : value & ((1u << bits_) - 1);
  }
  void put(uint32_t lane, uint32_t which, uint64_t value) const {
    if (bits_ == 64) {
      w_.at<uint64_t>(slots_[which])[lane] = value;
      return;
    }
    const uint32_t packed = 32 / bits_;
    uint32_t& word = w_.at<uint32_t>(slots_[which / packed])[lane];
    const uint32_t at = bits_ * (which % packed);
    const uint32_t mask = bits_ == 32 ? ~0u : ((1u << bits_) - 1) << at;
    word = (word & ~mask) | ((static_cast<uint32_t>(value) << at) & mask);
  }
  /// How many a thread has.
  uint32_t count() const { return static_cast<uint32_t>(slots_.size()) * (bits_ == 64 ? 1 : 32 / bits_); }
  double number(uint32_t lane, uint32_t which) const { return number_of(type_, get(lane, which)); }

 private:
  Warp& w_;
  const std::vector<Slot>& slots_;
  MatrixType type_;
  uint32_t bits_;
};

/// How many neighbours along k a thread has in a register.
uint32_t run_of(MatrixType type) { return bits_of(type) == 16 ? 2 : bits_of(type) == 8 ? 4 : 1; }

}  // namespace

/// In fragments, thread 4g + t has rows g and g + 8 of A and columns g of B, of k those that begin at t times
/// the run, and again 4 runs later; of C and D columns 2t and 2t + 1. Products are added in double, in the
/// order of k, to C, and rounded once.
void multiply_matrices(Warp& w, const Instruction& i, Mask m) {
  const Mask all = w.gather(i, m, kAll, false);
  if (all == 0) return;
  if (all != kAll)
    w.fault(FaultKind::Deadlock, "mma without all threads of the warp", i,
            static_cast<uint32_t>(std::countr_zero(all)));
  const MatrixOp op = MatrixOp::of(i.offset);
  const auto* const lists = w.frame->function->lists.data() + i.target;
  const Elements a(w, lists[1], op.a), b(w, lists[2], op.b), c(w, lists[3], op.c), d(w, lists[0], op.d);
  const uint32_t run = run_of(op.a);
  const uint32_t halves = op.rows / 8;
  double left[16][32], right[32][8], sums[16][8];
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint32_t group = lane / 4, t = lane % 4;
    for (uint32_t k = 0; k < op.k / 4; ++k) {
      const uint32_t part = k / run, within = k % run;
      const uint32_t column = part * 4 * run + t * run + within;
      for (uint32_t half = 0; half < halves; ++half)
        left[group + 8 * half][column] = a.number(lane, (part * halves + half) * run + within);
      right[column][group] = b.number(lane, k);
    }
    for (uint32_t k = 0; k < 2 * halves; ++k) sums[group + 8 * (k / 2)][2 * t + k % 2] = c.number(lane, k);
  }
  for (uint32_t row = 0; row < op.rows; ++row)
    for (uint32_t column = 0; column < 8; ++column)
      for (uint32_t k = 0; k < op.k; ++k)
        sums[row][column] = std::fma(left[row][k], right[k][column], sums[row][column]);
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    for (uint32_t k = 0; k < 2 * halves; ++k)
      d.put(lane, k,
            bits_of_number(op.d, sums[lane / 4 + 8 * (k / 2)][2 * (lane % 4) + k % 2], op.saturates));
}

namespace {

/// Of matrix `which`, 8 by 8 of 16 bits, where the row is that a thread names.
std::byte* row_of(Warp& w, const Instruction& i, uint32_t which, uint32_t row, Access access) {
  const uint32_t lane = 8 * which + row;
  return i.lanes == 1 ? w.shared(i, w.get<uint64_t>(i.a)[lane], 16, lane, access)
                      : w.generic(i, w.get<uint64_t>(i.a)[lane], 16, lane, access);
}

/// Calls `f(lane, which, row, column, half)` for each element that threads have.
template <class F>
void each_element(size_t matrices, bool is_transposed, F&& f) {
  for (uint32_t which = 0; which < matrices; ++which)
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      for (uint32_t half = 0; half < 2; ++half) {
        const uint32_t row = lane / 4, column = 2 * (lane % 4) + half;
        is_transposed ? f(lane, which, column, row, half) : f(lane, which, row, column, half);
      }
}

Mask whole_warp(Warp& w, const Instruction& i, Mask m) {
  const Mask all = w.gather(i, m, kAll, false);
  if (all != 0 && all != kAll)
    w.fault(FaultKind::Deadlock, "a matrix without all threads of the warp", i,
            static_cast<uint32_t>(std::countr_zero(all)));
  return all;
}

}  // namespace

void load_matrix(Warp& w, const Instruction& i, Mask m) {
  if (whole_warp(w, i, m) == 0) return;
  const std::vector<Slot>& slots = w.frame->function->lists[i.target];
  std::vector<uint32_t> words(slots.size() * kLanes);
  each_element(slots.size(), i.flags != 0,
               [&](uint32_t lane, uint32_t which, uint32_t row, uint32_t column, uint32_t half) {
                 uint16_t element;
                 std::memcpy(&element, row_of(w, i, which, row, Access::Read) + 2 * column, 2);
                 words[which * kLanes + lane] |= uint32_t{element} << (16 * half);
               });
  for (size_t which = 0; which < slots.size(); ++which)
    std::memcpy(w.at<uint32_t>(slots[which]), words.data() + which * kLanes, kLanes * 4);
}

void store_matrix(Warp& w, const Instruction& i, Mask m) {
  if (whole_warp(w, i, m) == 0) return;
  ++w.launch.progress;
  const std::vector<Slot>& slots = w.frame->function->lists[i.target];
  each_element(slots.size(), i.flags != 0,
               [&](uint32_t lane, uint32_t which, uint32_t row, uint32_t column, uint32_t half) {
                 const auto element =
                     static_cast<uint16_t>(w.get<uint32_t>(slots[which])[lane] >> (16 * half));
                 std::memcpy(row_of(w, i, which, row, Access::Write) + 2 * column, &element, 2);
               });
}

// Fragments of wmma are opaque: element n of a matrix, counted by rows, is number n / 32 of thread n % 32,
// and again later where threads hold more.

namespace {

std::byte* element_of(Warp& w, const Instruction& i, const FragmentOp& op, uint32_t n, uint32_t lane,
                      Access access) {
  const uint64_t row = n / op.columns, column = n % op.columns;
  const uint64_t stride = w.get<uint32_t>(i.b)[lane];
  const uint32_t bytes = bits_of(op.type) / 8;
  const uint64_t at =
      w.get<uint64_t>(i.a)[lane] + bytes * (op.is_by_columns ? column * stride + row : row * stride + column);
  return op.is_shared ? w.shared(i, at, bytes, lane, access) : w.generic(i, at, bytes, lane, access);
}

}  // namespace

void load_fragment(Warp& w, const Instruction& i, Mask m) {
  if (whole_warp(w, i, m) == 0) return;
  const FragmentOp op = FragmentOp::of(i.offset);
  const Elements elements(w, w.frame->function->lists[i.target], op.type);
  const uint32_t size = uint32_t{op.rows} * op.columns;
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    for (uint32_t k = 0; k < elements.count(); ++k) {
      uint64_t value = 0;
      const std::byte* const from = element_of(w, i, op, (k * kLanes + lane) % size, lane, Access::Read);
      std::memcpy(&value, from, bits_of(op.type) / 8);
      elements.put(lane, k, value);
    }
}

void store_fragment(Warp& w, const Instruction& i, Mask m) {
  if (whole_warp(w, i, m) == 0) return;
  ++w.launch.progress;
  const FragmentOp op = FragmentOp::of(i.offset);
  const Elements elements(w, w.frame->function->lists[i.target], op.type);
  for (uint32_t n = 0; n < uint32_t{op.rows} * op.columns; ++n) {
    const uint64_t value = elements.get(n % kLanes, n / kLanes);
    std::memcpy(element_of(w, i, op, n, n % kLanes, Access::Write), &value, bits_of(op.type) / 8);
  }
}

void multiply_fragments(Warp& w, const Instruction& i, Mask m) {
  if (whole_warp(w, i, m) == 0) return;
  const FragmentProduct op = FragmentProduct::of(i.offset);
  const auto* const lists = w.frame->function->lists.data() + i.target;
  const Elements a(w, lists[1], op.a), b(w, lists[2], op.b), c(w, lists[3], op.c), d(w, lists[0], op.d);
  const auto at = [](const Elements& of, uint32_t n) { return of.number(n % kLanes, n / kLanes); };
  std::vector<double> sums(uint32_t{op.m} * op.n);
  for (uint32_t n = 0; n < sums.size(); ++n) {
    sums[n] = at(c, n);
    for (uint32_t k = 0; k < op.k; ++k)
      sums[n] = std::fma(at(a, n / op.n * op.k + k), at(b, k * op.n + n % op.n), sums[n]);
  }
  for (uint32_t n = 0; n < sums.size(); ++n)
    d.put(n % kLanes, n / kLanes, bits_of_number(op.d, sums[n], op.saturates));
}

}  // namespace handlers

}  // namespace softgpu
