#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "ir/interpreter.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "transform/passes.h"

namespace ingot::transform {

/// The layout of the elements of a view in its buffer.
enum class Layout : uint8_t { Contiguous, Spread, Reversed, Transposed, Repeated };

inline constexpr Layout kLayouts[] = {Layout::Contiguous, Layout::Spread, Layout::Reversed,
                                      Layout::Transposed, Layout::Repeated};

/// Replaces a word wherever it occurs.
inline std::string replaced(std::string text, std::string_view word, std::string_view by) {
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
    text.replace(at, word.size(), by);
  return text;
}

/// An element with a value that makes a difference: small numbers, now and then NaN, an infinity or a zero of
/// either sign.
inline base::Scalar random_element(base::DType dtype, std::mt19937_64& random) {
  return base::visit_dtype(dtype, [&]<class T>() {
    const auto real = [&] {
      constexpr double kSpecial[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e30, -1.0};
      const uint64_t draw = random();
      if (draw % 16 == 0) return kSpecial[draw / 16 % 7];
      return static_cast<double>(static_cast<int64_t>(draw / 16 % 2001) - 1000) / 64;
    };
    if constexpr (base::is_complex_v<T>) {
      using Real = typename T::value_type;
      const auto x = static_cast<Real>(real());
      return base::Scalar::of(T(x, static_cast<Real>(real())));
    } else if constexpr (std::is_same_v<T, bool>) {
      return base::Scalar::of(random() % 2 != 0);
    } else if constexpr (std::is_integral_v<T>) {
      return base::Scalar::of(static_cast<T>(static_cast<T>(random() % 23) - static_cast<T>(7)));
    } else if constexpr (std::is_same_v<T, base::Half>) {
      return base::Scalar::of(T(static_cast<float>(real())));
    } else {
      return base::Scalar::of(static_cast<T>(real()));
    }
  });
}

inline ir::ViewValue make_view(base::DType dtype, std::vector<int64_t> lengths, Layout layout,
                               uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto size = static_cast<int64_t>(base::size_of(dtype));
  const size_t rank = lengths.size();
  std::vector<int64_t> strides(rank);
  int64_t bytes = size;
  for (size_t i = 0; i < rank; ++i) {
    const size_t axis = layout == Layout::Transposed ? i : rank - 1 - i;
    strides[axis] = bytes;
    bytes *= std::max<int64_t>(lengths[axis], 1) * (layout == Layout::Spread ? 2 : 1);
  }
  int64_t offset = 0;
  if (layout == Layout::Repeated && rank > 0) strides[0] = 0;
  if (layout == Layout::Reversed)
    for (size_t i = 0; i < rank; ++i) {
      if (lengths[i] > 0) offset += (lengths[i] - 1) * strides[i];
      strides[i] = -strides[i];
    }
  auto block = std::make_shared<ir::MemoryBlock>();
  block->own.resize(static_cast<size_t>(bytes));
  for (int64_t at = 0; at < bytes; at += size)
    random_element(dtype, random).store(dtype, block->own.data() + at);
  block->data = block->own.data();
  block->size = bytes;
  return {dtype, block, offset, lengths, strides};
}

/// A copy whose views are of copied blocks; views that share a block share the copy.
inline std::vector<ir::Value> copy_of(const std::vector<ir::Value>& values) {
  std::unordered_map<const ir::MemoryBlock*, ir::BlockRef> copies;
  std::vector<ir::Value> all;
  for (ir::Value value : values) {
    if (auto* view = std::get_if<ir::ViewValue>(&value)) {
      ir::BlockRef& copy = copies[view->block.get()];
      if (!copy) {
        copy = std::make_shared<ir::MemoryBlock>(*view->block);
        copy->data = copy->own.data();
      }
      view->block = copy;
    }
    all.push_back(std::move(value));
  }
  return all;
}

/// The same value, all NaNs being one.
inline bool same(base::DType dtype, const std::byte* a, const std::byte* b) {
  const base::DType part = base::component_of(dtype);
  for (size_t at = 0; at < base::size_of(dtype); at += base::size_of(part)) {
    const base::Scalar x = base::Scalar::load(part, a + at);
    const base::Scalar y = base::Scalar::load(part, b + at);
    if (x == y) continue;
    const bool both_nan = base::visit_dtype(part, [&]<class T>() {
      if constexpr (std::is_integral_v<T> || base::is_complex_v<T>) return false;
      else
        return std::isnan(static_cast<double>(static_cast<float>(x.as<T>()))) &&
               std::isnan(static_cast<double>(static_cast<float>(y.as<T>())));
    });
    if (!both_nan) return false;
  }
  return true;
}

/// The elements of a scalar or view in C order, as bytes.
inline std::vector<std::byte> elements_in_order(const ir::ViewValue& view) {
  std::vector<std::byte> all;
  const size_t size = base::size_of(view.dtype);
  std::vector<int64_t> at(view.lengths.size(), 0);
  for (int64_t length : view.lengths)
    if (length == 0) return all;
  for (;;) {
    int64_t offset = view.offset;
    for (size_t i = 0; i < at.size(); ++i) offset += at[i] * view.strides[i];
    all.insert(all.end(), view.block->data + offset, view.block->data + offset + size);
    size_t axis = at.size();
    while (axis > 0 && ++at[axis - 1] == view.lengths[axis - 1]) at[--axis] = 0;
    if (axis == 0) return all;
  }
}

inline void expect_same(base::DType dtype, std::span<const std::byte> a, std::span<const std::byte> b,
                        const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  const size_t size = base::size_of(dtype);
  for (size_t at = 0; at + size <= a.size(); at += size)
    ASSERT_TRUE(same(dtype, a.data() + at, b.data() + at)) << what << ", element " << at / size;
}

/// A module before and after passes; `@f` is called.
class Comparison {
 public:
  explicit Comparison(const std::string& text,
                      std::initializer_list<std::string_view> passes = {"simplify", "to_loops", "simplify"})
      : Comparison(ir::parse(text, "test.ir"), ir::parse(text, "test.ir"), passes) {}
  Comparison(std::unique_ptr<ir::Module> before, std::unique_ptr<ir::Module> after,
             std::initializer_list<std::string_view> passes)
      : before_(std::move(before)), after_(std::move(after)) {
    ir::Stage stage = ir::Stage::Array;
    for (std::string_view name : passes) {
      const Pass& pass = *find_pass(name);
      run_on_all(*after_, pass, {});
      if (pass.after != ir::Stage::Both) stage = pass.after;
      for (uint32_t i = 0; i < after_->function_count(); ++i)
        ir::verify_or_throw(*after_->function(ir::FunctionId(i)), stage, pass.name.data());
    }
  }

  /// Runs both on copies of the arguments; results and memory must be the same.
  void check(const std::vector<ir::Value>& arguments, const std::string& what = "",
             const ir::InterpretOptions& options = {}) const {
    const std::vector<ir::Value> left = copy_of(arguments);
    const std::vector<ir::Value> right = copy_of(arguments);
    const ir::Outcome a = ir::interpret(*before_, *before_->find("f"), left, options);
    const ir::Outcome b = ir::interpret(*after_, *after_->find("f"), right, options);
    ASSERT_EQ(a.raised, b.raised) << what;
    if (a.raised) {
      EXPECT_EQ(a.exception.kind, b.exception.kind) << what;
      EXPECT_EQ(a.exception.message, b.exception.message) << what;
    }
    ASSERT_EQ(a.results.size(), b.results.size()) << what;
    for (size_t i = 0; i < a.results.size(); ++i)
      compare(a.results[i], b.results[i], what + ", result " + std::to_string(i));
    for (size_t i = 0; i < left.size(); ++i) {
      if (const auto* view = std::get_if<ir::ViewValue>(&left[i]))
        expect_same(view->dtype, view->block->own, std::get<ir::ViewValue>(right[i]).block->own,
                    what + ", memory of argument " + std::to_string(i));
    }
  }
  const ir::Function& after() const { return *after_->function(*after_->find("f")); }
  std::string text() const { return ir::print(after()); }

 private:
  static void compare(const ir::Value& a, const ir::Value& b, const std::string& what) {
    if (const auto* x = std::get_if<base::Scalar>(&a)) {
      // Its dtype does not matter: equal bits, or a NaN of any float type.
      const base::Scalar& y = std::get<base::Scalar>(b);
      const auto* p = reinterpret_cast<const std::byte*>(x->bits.data());
      const auto* q = reinterpret_cast<const std::byte*>(y.bits.data());
      EXPECT_TRUE(*x == y || same(base::DType::Complex128, p, q) || same(base::DType::Complex64, p, q) ||
                  same(base::DType::Float16, p, q))
          << what;
      return;
    }
    const auto& x = std::get<ir::ViewValue>(a);
    const auto& y = std::get<ir::ViewValue>(b);
    EXPECT_EQ(x.lengths, y.lengths) << what;
    expect_same(x.dtype, elements_in_order(x), elements_in_order(y), what);
  }

  std::unique_ptr<ir::Module> before_;
  std::unique_ptr<ir::Module> after_;
};

}  // namespace ingot::transform
