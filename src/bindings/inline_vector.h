#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace ingot::bindings {

/// A sequence of plain data whose first `N` elements are in the object itself.
template <class T, size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  InlineVector() {}  // NOLINT: the elements are set when they are added
  InlineVector(const InlineVector&) = delete;
  InlineVector& operator=(const InlineVector&) = delete;

  void push_back(T value) {
    if (size_ == capacity_) grow();
    data_[size_++] = value;
  }
  void pop_back() { --size_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  std::span<const T> span() const { return {data_, size_}; }

 private:
  void grow() {
    auto larger = std::make_unique_for_overwrite<T[]>(2 * capacity_);
    std::copy_n(data_, size_, larger.get());
    heap_ = std::move(larger);
    data_ = heap_.get();
    capacity_ *= 2;
  }

  size_t size_ = 0;
  size_t capacity_ = N;
  T* data_ = inside_;
  std::unique_ptr<T[]> heap_;
  T inside_[N];
};

}  // namespace ingot::bindings
