#include "runtime/mapping.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "runtime/load_error.h"

namespace ingot::runtime {

Mapping::Mapping(size_t size, bool low) {
  if (size == 0) return;
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  void* address = MAP_FAILED;
  if (low) address = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags | MAP_32BIT, -1, 0);
  if (address == MAP_FAILED) address = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (address == MAP_FAILED) throw std::bad_alloc();
  bytes_ = {static_cast<std::byte*>(address), size};
}

Mapping::~Mapping() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

void Mapping::protect(size_t offset, size_t size, Access access) const {
  if (size == 0) return;
  const int protection = access == Access::ReadExecute ? PROT_READ | PROT_EXEC : PROT_READ;
  if (mprotect(bytes_.data() + offset, size, protection) != 0)
    throw LoadError(std::string("code cannot be made executable: ") + std::strerror(errno));
}

}  // namespace ingot::runtime
