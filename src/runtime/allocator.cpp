#include "runtime/allocator.h"

#include <cstdlib>
#include <new>

namespace ingot::runtime {

static_assert(sizeof(Buffer) <= Allocator::kHeader && Allocator::kHeader % Allocator::kAlignment == 0);

Buffer* Allocator::allocate(int64_t bytes) noexcept {
  if (bytes < 0 || bytes > kMaxBytes) return nullptr;
  const size_t wanted = kHeader + static_cast<size_t>(bytes);
  const size_t rounded = (wanted + kAlignment - 1) / kAlignment * kAlignment;
  void* block = std::aligned_alloc(kAlignment, rounded);
  if (!block) return nullptr;
  auto* data = static_cast<std::byte*>(block) + kHeader;
  return new (block) Buffer{data, bytes, nullptr, nullptr, nullptr};
}

void Allocator::free(Buffer* buffer) noexcept { std::free(buffer); }

}  // namespace ingot::runtime
