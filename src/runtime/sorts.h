#pragma once

#include <array>
#include <cstdint>

#include "base/dtype.h"
#include "runtime/abi.h"

namespace ingot::runtime {

/// A function that sorts the elements of a line in the order of base/sort.h; 0, or another number where
/// memory has run out. The last argument has no meaning.
using SortLine = int (*)(void* elements, intptr_t count, void*);
/// A function that sorts indices by the elements there.
using ArgsortLine = int (*)(void* elements, intptr_t* indices, intptr_t count, void*);

/// Of one dtype, those that leave equal elements in any order, and the stable ones.
struct Sorts {
  std::array<SortLine, 2> sort{};
  std::array<ArgsortLine, 2> argsort{};
};

/// Uses the embedding program's own sorts instead of base/sort.h's. To be called before code runs.
void use_sorts(base::DType dtype, const Sorts& sorts);

extern "C" {
/// Sorts a line of elements of a `base::DType`; MemoryError where memory has run out.
Status ingot_v1_sort(Context* context, int32_t dtype, int32_t stable, void* elements, int64_t count) noexcept;
/// Puts the indices of the elements in ascending order into `indices`.
Status ingot_v1_argsort(Context* context, int32_t dtype, int32_t stable, void* elements, int64_t* indices,
                        int64_t count) noexcept;
}

}  // namespace ingot::runtime
