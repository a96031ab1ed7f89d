#include "runtime/sorts.h"

#include <new>
#include <numeric>

#include "base/sort.h"

namespace ingot::runtime {

namespace {

using base::DType;

/// By dtype. Part of the closed list of process-wide state.
std::array<Sorts, base::kDTypeCount> own;

const Sorts& sorts_of(int32_t dtype) { return own[static_cast<size_t>(dtype)]; }

/// What a function that tells whether memory has run out tells, as a status.
template <class Fn>
Status in_memory(Context& context, Fn&& fn) noexcept {
  bool has_memory = false;
  try {
    has_memory = fn() == 0;
  } catch (const std::bad_alloc&) {
    has_memory = false;
  }
  if (has_memory) return 0;
  context.error = Error{status_of(base::ExceptionKind::MemoryError), Error::kNoSite, {}, 0, {}};
  return context.error.status;
}

}  // namespace

void use_sorts(DType dtype, const Sorts& sorts) { own[static_cast<size_t>(dtype)] = sorts; }

Status ingot_v1_sort(Context* context, int32_t dtype, int32_t stable, void* elements,
                     int64_t count) noexcept {
  return in_memory(*context, [&] {
    if (const SortLine sort = sorts_of(dtype).sort[stable != 0 ? 1 : 0]; sort != nullptr)
      return sort(elements, count, nullptr);
    base::sort_line(static_cast<DType>(dtype), elements, count);
    return 0;
  });
}

Status ingot_v1_argsort(Context* context, int32_t dtype, int32_t stable, void* elements, int64_t* places,
                        int64_t count) noexcept {
  return in_memory(*context, [&] {
    std::iota(places, places + count, int64_t{0});
    if (const ArgsortLine sort = sorts_of(dtype).argsort[stable != 0 ? 1 : 0]; sort != nullptr)
      return sort(elements, places, count, nullptr);
    base::argsort_line(static_cast<DType>(dtype), elements, places, count);
    return 0;
  });
}

}  // namespace ingot::runtime
