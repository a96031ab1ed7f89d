#pragma once

#include <cstddef>
#include <utility>

namespace ingot::bindings {

/// Shares an object, which dies with the last of these. The count is changed with the GIL alone.
template <class T>
class Counted {
 public:
  template <class... Arguments>
  static Counted make(Arguments&&... arguments) {
    return Counted(new Box{1, T(std::forward<Arguments>(arguments)...)});
  }

  Counted() = default;
  Counted(const Counted& other) : box_(other.box_) {
    if (box_ != nullptr) ++box_->count;  // NOLINT(clang-analyzer-cplusplus.NewDelete): it is counted
  }
  Counted(Counted&& other) noexcept : box_(std::exchange(other.box_, nullptr)) {}
  Counted& operator=(Counted other) noexcept {
    std::swap(box_, other.box_);
    return *this;
  }
  ~Counted() {
    if (box_ != nullptr && --box_->count == 0) delete box_;  // NOLINT(clang-analyzer-cplusplus.NewDelete)
  }

  bool operator==(const Counted& other) const { return box_ == other.box_; }
  explicit operator bool() const { return box_ != nullptr; }
  T& operator*() const { return box_->object; }
  T* operator->() const { return &box_->object; }

 private:
  struct Box {
    size_t count;
    T object;
  };
  explicit Counted(Box* box) : box_(box) {}

  Box* box_ = nullptr;
};

}  // namespace ingot::bindings
