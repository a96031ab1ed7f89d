#include "bindings/gufuncs.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bindings/layout.h"
#include "interop/numpy.h"
#include "runtime/errand.h"
#define NO_IMPORT_UFUNC
#include <numpy/ufuncobject.h>

namespace ingot::bindings {

namespace nb = nanobind;

/// Where a gufunc is in NumPy, and what an operand of one call is.
struct Gufunc {
  struct Operand {
    SlotType slot;
    std::vector<size_t> core;  ///< the numbers of the lengths that its last axes have
  };
  PyUFuncGenericFunction function = nullptr;
  void* data = nullptr;
  enum class Kind : uint8_t { Product, Transform, Algebra };
  Kind kind = Kind::Product;
  double step = 0;     ///< about how many nanoseconds one takes (`Pace`)
  size_t lengths = 0;  ///< how many lengths the core axes have among them
  size_t inputs = 0;   ///< so many operands come first
  std::vector<Operand> operands;
  bool reports_failure = false;
};

namespace {

/// About so many elements of operands take ten microseconds.
constexpr int64_t kLongCall = 2000;
/// What takes longer, in nanoseconds, runs as an errand, so that the call can be left meanwhile, if copying
/// the operands takes a tenth of it at most ...
constexpr double kLongWork = 2e7;
constexpr double kNanosecondsOfByte = 0.2;
constexpr double kShareOfCopies = 0.1;
/// ... and what takes so long in any case.
constexpr double kVeryLongWork = 1e9;

/// About how many nanoseconds one step of a routine takes: of a product a multiplication, of a transform one
/// of n log n, of an algorithm on matrices one of n cubed.
struct Pace {
  std::string_view routine;  ///< how its name begins
  double step;
};
constexpr Pace kPaces[] = {
    {"matmul", 0.1},    {"fft.", 1.5},     {"linalg.eigh", 2},  {"linalg.eigvalsh", 0.5},
    {"linalg.eig", 10}, {"linalg.svd", 4}, {"linalg.lstsq", 4}, {"linalg.", 0.15},
};
/// Products of integers, for which there is no BLAS.
constexpr double kStepOfIntegers = 1.5;

/// By routine and layout. Part of the closed list of process-wide state.
std::map<std::pair<std::string, std::string>, Gufunc> found;

nb::object ufunc_of(std::string_view routine) {
  const size_t dot = routine.find('.');
  if (dot == std::string_view::npos) return nb::module_::import_("numpy").attr(std::string(routine).c_str());
  const char* module =
      routine.substr(0, dot) == "fft" ? "numpy.fft._pocketfft_umath" : "numpy.linalg._umath_linalg";
  return nb::module_::import_(module).attr(std::string(routine.substr(dot + 1)).c_str());
}

}  // namespace

const Gufunc* find_gufunc(std::string_view routine, std::string_view layout) {
  const bool is_product = routine == "matmul";
  if (!is_product && routine.find('.') == std::string_view::npos) return nullptr;
  const auto [index, is_new] = found.try_emplace({std::string(routine), std::string(layout)}, Gufunc());
  Gufunc& gufunc = index->second;
  if (gufunc.function != nullptr) return &gufunc;
  const nb::object object = ufunc_of(routine);
  const auto* ufunc = reinterpret_cast<const PyUFuncObject*>(object.ptr());
  gufunc.operands.clear();
  for (const SlotType& slot : slots_of(layout)) gufunc.operands.push_back({slot, {}});
  gufunc.reports_failure = !is_product;
  if (gufunc.reports_failure) gufunc.operands.pop_back();
  const auto count = static_cast<size_t>(ufunc->nargs);
  INGOT_ASSERT(gufunc.operands.size() == count, "bindings: a gufunc of other operands");
  gufunc.kind = is_product                    ? Gufunc::Kind::Product
                : routine.starts_with("fft.") ? Gufunc::Kind::Transform
                                              : Gufunc::Kind::Algebra;
  const auto begins_so = [&](const Pace& pace) { return routine.starts_with(pace.routine); };
  const bool is_of_integers = is_product && base::is_int(gufunc.operands[0].slot.dtype);
  gufunc.step = is_of_integers ? kStepOfIntegers : std::ranges::find_if(kPaces, begins_so)->step;
  gufunc.lengths = static_cast<size_t>(ufunc->core_num_dim_ix);
  gufunc.inputs = static_cast<size_t>(ufunc->nin);
  for (size_t i = 0; i < count; ++i) {
    const int* const axes = ufunc->core_dim_ixs + ufunc->core_offsets[i];
    gufunc.operands[i].core.assign(axes, axes + ufunc->core_num_dims[i]);
  }
  for (size_t loop = 0; loop < static_cast<size_t>(ufunc->ntypes); ++loop) {
    const auto fits = [&](size_t i) {
      return dtype_of(ufunc->types[loop * count + i]) == gufunc.operands[i].slot.dtype;
    };
    size_t i = 0;
    while (i < count && fits(i)) ++i;
    if (i < count) continue;
    gufunc.data = ufunc->data == nullptr ? nullptr : ufunc->data[loop];
    gufunc.function = ufunc->functions[loop];
    return &gufunc;
  }
  throw base::InternalError("bindings: no inner loop of " + std::string(routine));
}

namespace {

/// What an inner loop gets.
class GufuncCall {
 public:
  GufuncCall(const Gufunc& gufunc, void** slots);

  void run();
  /// Stores whether it has failed, where a caller asks for it.
  void report() const;
  /// The bytes of operands that are gone through.
  int64_t bytes() const { return bytes_; }
  /// Whether it takes so long that it runs on copies, which can be left.
  bool is_worth_copies() const {
    const double time = work();
    const double copies = static_cast<double>(bytes_) * kNanosecondsOfByte;
    return time > kVeryLongWork || (time > kLongWork && copies < time * kShareOfCopies);
  }

 private:
  friend class GufuncErrand;

  /// How long it takes, about, in nanoseconds.
  double work() const;

  const Gufunc& gufunc_;
  std::vector<npy_intp> lengths_;  ///< how often, then those of the core axes
  std::vector<npy_intp> steps_;    ///< from one time to the next, then along the core axes, by operand
  std::vector<char*> data_;
  std::vector<int64_t> repeats_;  ///< how many matrices, or vectors, each operand has
  int64_t* failed_ = nullptr;
  int64_t bytes_ = 0;
  bool has_failed_ = false;
};

GufuncCall::GufuncCall(const Gufunc& gufunc, void** slots) : gufunc_(gufunc), lengths_(1 + gufunc.lengths) {
  std::vector<npy_intp> core_steps;
  int64_t batch = 1;
  for (size_t i = 0; i < gufunc.operands.size(); ++i) {
    const Gufunc::Operand& operand = gufunc.operands[i];
    auto* const view = static_cast<runtime::ViewSlot*>(slots[i]);
    data_.push_back(reinterpret_cast<char*>(view->data));
    const int64_t* const own = view->lengths();
    const size_t outer = static_cast<size_t>(operand.slot.rank) - operand.core.size();
    int64_t repeats = 1;
    for (size_t axis = 0; axis < outer; ++axis) repeats *= own[axis];
    if (outer > 0) batch = repeats;
    const int64_t* const strides = view->strides(operand.slot.rank);
    int64_t block = static_cast<int64_t>(base::size_of(operand.slot.dtype));
    for (size_t k = 0; k < operand.core.size(); ++k) {
      lengths_[1 + operand.core[k]] = own[outer + k];
      core_steps.push_back(strides[outer + k]);
      block *= own[outer + k];
    }
    steps_.push_back(outer > 0 ? block : 0);
    repeats_.push_back(repeats);
    bytes_ += repeats * block;
  }
  lengths_[0] = batch;
  steps_.insert(steps_.end(), core_steps.begin(), core_steps.end());
  if (gufunc.reports_failure) {
    auto* const failure = static_cast<runtime::ViewSlot*>(slots[gufunc.operands.size()]);
    failed_ = reinterpret_cast<int64_t*>(failure->data);
  }
}

void GufuncCall::run() {
  std::feclearexcept(FE_ALL_EXCEPT);
  gufunc_.function(data_.data(), lengths_.data(), steps_.data(), gufunc_.data);
  has_failed_ = std::fetestexcept(FE_INVALID) != 0;
}

void GufuncCall::report() const {
  if (failed_ != nullptr) *failed_ = has_failed_ ? 1 : 0;
}

double GufuncCall::work() const {
  double product = 1;
  double most = 1;
  for (size_t i = 1; i < lengths_.size(); ++i) {
    const auto length = static_cast<double>(std::max<npy_intp>(lengths_[i], 1));
    product *= length;
    most = std::max(most, length);
  }
  const auto batch = static_cast<double>(lengths_[0]);
  const double each = gufunc_.step * batch;
  const std::vector<size_t>& matrix = gufunc_.operands[0].core;
  switch (gufunc_.kind) {
    case Gufunc::Kind::Product: return each * product;
    case Gufunc::Kind::Transform: return each * most * std::log2(most + 1);
    case Gufunc::Kind::Algebra: break;
  }
  // Of a matrix, square if its axes have one length, and perhaps of right-hand sides.
  const double rows = static_cast<double>(std::max<npy_intp>(lengths_[1 + matrix.front()], 1));
  const double columns = static_cast<double>(std::max<npy_intp>(lengths_[1 + matrix.back()], 1));
  const double elements = matrix.front() == matrix.back() ? rows : rows * columns;
  return each * rows * columns * (std::min(rows, columns) + product / elements);
}

/// A call on copies of its operands. Rows, or columns, that follow each other in a matrix do so in its copy,
/// without gaps.
class GufuncErrand final : public runtime::Errand {
 public:
  explicit GufuncErrand(const GufuncCall& outer) : outer_(outer), inner_(outer) {
    size_t at = outer.gufunc_.operands.size();
    for (size_t i = 0; i < outer.data_.size(); ++i) {
      const Gufunc::Operand& operand = outer.gufunc_.operands[i];
      Copy& copy = copies_.emplace_back(axes_of(i, at));
      if (const Copy* const same = i < outer.gufunc_.inputs ? same_memory(i) : nullptr) {
        inner_.data_[i] = same->data();
      } else {
        copy.memory = std::make_unique<runtime::ErrandMemory>(static_cast<size_t>(copy.bytes));
        inner_.data_[i] = copy.data();
        if (i < outer.gufunc_.inputs) copy.move(outer.data_[i], true);
      }
      if (inner_.steps_[i] != 0) inner_.steps_[i] = copy.bytes / outer.repeats_[i];
      for (size_t k = 0; k < operand.core.size(); ++k) inner_.steps_[at + k] = copy.inner[1 + k];
      at += operand.core.size();
    }
  }

  void run() noexcept override {
    inner_.run();
    has_raised_ = is_raising();
  }
  /// NumPy's loops raise MemoryError alone.
  bool has_raised() const { return has_raised_; }

  void put_back() {
    for (size_t i = outer_.gufunc_.inputs; i < copies_.size(); ++i) copies_[i].move(outer_.data_[i], false);
    outer_.has_failed_ = inner_.has_failed_;
    outer_.report();
  }

 private:
  /// The copy of an operand: of its matrices, or vectors, then of their one or two axes.
  struct Copy {
    std::unique_ptr<runtime::ErrandMemory> memory;  ///< null: another operand's
    int64_t size;                                   ///< of an element
    int64_t bytes;
    std::array<int64_t, 3> lengths;
    std::array<int64_t, 3> outer;  ///< strides
    std::array<int64_t, 3> inner;

    char* data() const { return reinterpret_cast<char*>(memory->data()); }

    /// Into the copy, or from it.
    void move(char* there, bool in) const {
      const bool by_rows = inner[2] == size;
      const size_t slow = by_rows ? 1 : 2;
      const size_t fast = by_rows ? 2 : 1;
      const bool is_dense = outer[fast] == size || lengths[fast] == 1;
      const int64_t count = is_dense ? 1 : lengths[fast];
      const auto block = static_cast<size_t>(is_dense ? size * lengths[fast] : size);
      for (int64_t matrix = 0; matrix < lengths[0]; ++matrix) {
        for (int64_t row = 0; row < lengths[slow]; ++row) {
          for (int64_t k = 0; k < count; ++k) {
            char* const other = there + matrix * outer[0] + row * outer[slow] + k * outer[fast];
            char* const own = data() + matrix * inner[0] + row * inner[slow] + k * inner[fast];
            std::memcpy(in ? own : other, in ? other : own, block);
          }
        }
      }
    }
  };

  /// The copy of an operand before this one that is the same matrices, or their transposes, and laid out so:
  /// NumPy computes half of a matrix times its transpose. Null: there is none.
  const Copy* same_memory(size_t i) const {
    const auto turned = [](const std::array<int64_t, 3>& of) { return std::array{of[0], of[2], of[1]}; };
    const Copy& copy = copies_[i];
    for (size_t k = 0; k < i; ++k) {
      const Copy& other = copies_[k];
      if (outer_.data_[k] != outer_.data_[i] || other.size != copy.size || !other.memory) continue;
      const bool is_same =
          other.lengths == copy.lengths && other.outer == copy.outer && other.inner == copy.inner;
      const bool is_turned = turned(other.lengths) == copy.lengths && turned(other.outer) == copy.outer &&
                             turned(other.inner) == copy.inner;
      if (is_same || is_turned) return &other;
    }
    return nullptr;
  }

  /// `at`: where the strides of the operand's core axes begin.
  Copy axes_of(size_t i, size_t at) const {
    const Gufunc::Operand& operand = outer_.gufunc_.operands[i];
    Copy copy{};
    copy.size = static_cast<int64_t>(base::size_of(operand.slot.dtype));
    copy.lengths = {outer_.repeats_[i], 1, 1};
    copy.outer = {outer_.steps_[i], 0, 0};
    for (size_t k = 0; k < operand.core.size(); ++k) {
      copy.lengths[1 + k] = outer_.lengths_[1 + operand.core[k]];
      copy.outer[1 + k] = outer_.steps_[at + k];
    }
    const bool is_vector = operand.core.size() < 2;
    const bool by_columns = is_vector || (copy.outer[1] == copy.size && copy.outer[2] != copy.size);
    const size_t fast = by_columns ? 1 : 2;
    const size_t slow = by_columns ? 2 : 1;
    copy.inner[fast] = copy.size;
    copy.inner[slow] = copy.size * copy.lengths[fast];
    copy.inner[0] = copy.inner[slow] * copy.lengths[slow];
    copy.bytes = copy.inner[0] * copy.lengths[0];
    return copy;
  }

  GufuncCall outer_;  ///< whose memory is not touched by `run`
  GufuncCall inner_;
  std::vector<Copy> copies_;
  bool has_raised_ = false;
};

/// Null: there is no memory for copies.
std::shared_ptr<GufuncErrand> errand_for(const GufuncCall& call) {
  try {
    return std::make_shared<GufuncErrand>(call);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

runtime::Status call_gufunc(runtime::Context& context, const Gufunc& gufunc, void** slots, Gil& gil) {
  GufuncCall call(gufunc, slots);
  if (call.bytes() / 8 > kLongCall) gil.release();
  if (call.is_worth_copies() && runtime::may_leave_errands(context)) {
    if (const std::shared_ptr<GufuncErrand> errand = errand_for(call)) {
      const runtime::Status status = runtime::run_errand(context, errand);
      if (status != 0) return status;
      if (!errand->has_raised()) errand->put_back();
      else if (!is_raising()) throw std::bad_alloc();  // in another thread
      return 0;
    }
  }
  call.run();
  call.report();
  return 0;
}

}  // namespace ingot::bindings
