#pragma once

#include <algorithm>
#include <utility>

#include "frontend/tracer/frame.h"

namespace ingot::frontend {

/// Sets the location of nodes that are made while it lives.
class Here {
 public:
  Here(Tracer& t, nb::handle node);
  ~Here() {
    t_.here = before_;
    t_.builder->set_span(span_before_);
  }
  Here(const Here&) = delete;
  Here& operator=(const Here&) = delete;

 private:
  Tracer& t_;
  nb::handle before_;
  ir::SpanId span_before_;
};

/// An element on a stack while it lives.
template <class T>
class Pushed {
 public:
  Pushed(std::vector<T>& stack, T element) : stack_(stack) { stack_.push_back(std::move(element)); }
  ~Pushed() { stack_.pop_back(); }
  Pushed(const Pushed&) = delete;
  Pushed& operator=(const Pushed&) = delete;

 private:
  std::vector<T>& stack_;
};

/// Gives a variable another value while it lives.
template <class T>
class Restored {
 public:
  Restored(T& variable, T value) : variable_(variable), before_(std::exchange(variable, std::move(value))) {}
  ~Restored() { variable_ = std::move(before_); }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

  const T& before() const { return before_; }

 private:
  T& variable_;
  T before_;
};

/// The first `count` elements, or all if there are fewer.
template <class T>
std::vector<T> first_of(const std::vector<T>& all, size_t count) {
  return {all.begin(), all.begin() + static_cast<ptrdiff_t>(std::min(count, all.size()))};
}

/// Keeps the instances, lists and dicts among values while it lives, even if no variable holds them.
class Pins {
 public:
  Pins(Tracer& t, const std::vector<Value>& values);
  ~Pins() { pinned_.resize(before_); }
  Pins(const Pins&) = delete;
  Pins& operator=(const Pins&) = delete;

 private:
  std::vector<uint32_t>& pinned_;
  size_t before_;
};

}  // namespace ingot::frontend
