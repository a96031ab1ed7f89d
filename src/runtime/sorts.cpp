#include "runtime/sorts.h"

#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <span>

#include "base/radix_sort.h"
#include "base/sort.h"
#include "runtime/errand.h"

namespace ingot::runtime {

namespace {

using base::DType;

/// By dtype. Part of the closed list of process-wide state.
std::array<Sorts, base::kDTypeCount> own;

/// So many elements take about a millisecond; of NumPy's sort in registers, a tenth of a second, of which
/// copies would be a third.
constexpr int64_t kLongSort = int64_t{1} << 16;
constexpr int64_t kLongVectorSort = int64_t{1} << 24;

/// A sort of a line, or of indices by the elements there: the arguments of `ingot_v1_sort` and
/// `ingot_v1_argsort`.
struct Sorting {
  DType dtype;
  bool is_stable;
  std::byte* elements;
  int64_t* indices;  ///< null: the elements themselves are sorted
  int64_t count;

  bool is_long() const {
    const size_t size = base::size_of(dtype);
    const bool is_by_vectors = indices == nullptr && !is_stable && !base::is_complex(dtype) &&
                               (size == 4 || size == 8) && __builtin_cpu_supports("avx2") != 0 &&
                               own[static_cast<size_t>(dtype)].sort[0] != nullptr;
    return count > (is_by_vectors ? kLongVectorSort : kLongSort);
  }
  size_t bytes() const { return base::size_of(dtype) * static_cast<size_t>(count); }
  size_t bytes_of_indices() const { return sizeof(int64_t) * static_cast<size_t>(count); }

  /// Whether there was memory enough.
  bool run() const noexcept {
    const Sorts& sorts = own[static_cast<size_t>(dtype)];
    const size_t kind = is_stable ? 1 : 0;
    try {
      if (indices != nullptr) {
        if (is_stable && base::radix_argsort(dtype, elements, indices, count)) return true;
        std::iota(indices, indices + count, int64_t{0});
        if (const ArgsortLine sort = sorts.argsort[kind]; sort != nullptr)
          return sort(elements, indices, count, nullptr) == 0;
        base::argsort_line(dtype, elements, indices, count);
      } else {
        if (const SortLine sort = sorts.sort[kind]; sort != nullptr)
          return sort(elements, count, nullptr) == 0;
        base::sort_line(dtype, elements, count);
      }
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
};

/// The same on copies.
class SortErrand final : public Errand {
 public:
  explicit SortErrand(const Sorting& outer) : outer_(outer), elements_(outer.bytes()) {
    std::memcpy(elements_.data(), outer.elements, outer.bytes());
    if (outer.indices != nullptr) indices_.emplace(outer.bytes_of_indices());
  }

  void run() noexcept override {
    Sorting inner = outer_;
    inner.elements = elements_.data();
    if (indices_) inner.indices = reinterpret_cast<int64_t*>(indices_->data());
    has_memory_ = inner.run();
  }
  bool has_memory() const { return has_memory_; }
  void put_back() const {
    if (indices_) std::memcpy(outer_.indices, indices_->data(), outer_.bytes_of_indices());
    else std::memcpy(outer_.elements, elements_.data(), outer_.bytes());
  }

 private:
  Sorting outer_;  ///< whose memory `run` does not access
  ErrandMemory elements_;
  std::optional<ErrandMemory> indices_;
  bool has_memory_ = false;
};

/// Null: there is no memory for copies.
std::shared_ptr<SortErrand> errand_for(const Sorting& sorting) {
  try {
    return std::make_shared<SortErrand>(sorting);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

Status sorted(Context& context, const Sorting& sorting) noexcept {
  bool has_memory = false;
  std::shared_ptr<SortErrand> errand;
  if (sorting.is_long() && may_leave_errands(context)) errand = errand_for(sorting);
  if (errand != nullptr) {
    const Status status = run_errand(context, errand);
    if (status != 0) return status;
    has_memory = errand->has_memory();
    if (has_memory) errand->put_back();
  } else {
    has_memory = sorting.run();
  }
  if (has_memory) return 0;
  context.error = Error{status_of(base::ExceptionKind::MemoryError), Error::kNoSite, {}, 0, {}};
  return context.error.status;
}

}  // namespace

void use_sorts(DType dtype, const Sorts& sorts) { own[static_cast<size_t>(dtype)] = sorts; }

Status ingot_v1_sort(Context* context, int32_t dtype, int32_t stable, void* elements,
                     int64_t count) noexcept {
  auto* const bytes = static_cast<std::byte*>(elements);
  return sorted(*context, {static_cast<DType>(dtype), stable != 0, bytes, nullptr, count});
}

Status ingot_v1_argsort(Context* context, int32_t dtype, int32_t stable, void* elements, int64_t* indices,
                        int64_t count) noexcept {
  auto* const bytes = static_cast<std::byte*>(elements);
  return sorted(*context, {static_cast<DType>(dtype), stable != 0, bytes, indices, count});
}

}  // namespace ingot::runtime
