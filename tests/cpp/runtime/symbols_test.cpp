#include "runtime/symbols.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <string>

#include "runtime/math_symbols.h"

namespace ingot::runtime {
namespace {

TEST(Symbols, have_distinct_names_and_an_address_each) {
  std::set<std::string_view> names;
  for (const std::string_view name : symbol_names()) {
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_NE(find_symbol(name), nullptr) << name;
  }
  EXPECT_GE(names.size(), 80u);
}

TEST(Symbols, are_a_closed_list) {
  for (const char* name : {"", "puts", "system", "malloc", "sin ", "SIN", "si", "sinl", "ingot_v2_allocate"})
    EXPECT_EQ(find_symbol(name), nullptr) << name;
  EXPECT_EQ(find_symbol(std::string_view("sin\0", 4)), nullptr);
}

// 0.625 and 1.5 distinguish the functions: no two of them agree at both.
#define CHECK_UNARY(fn)                                                                 \
  for (const double x : {0.625, 1.5}) {                                                 \
    auto* wide = reinterpret_cast<double (*)(double)>(find_symbol(#fn));                \
    auto* narrow = reinterpret_cast<float (*)(float)>(find_symbol(#fn "f"));            \
    ASSERT_TRUE(wide&& narrow) << #fn;                                                  \
    check_same(wide(x), std::fn(x), #fn);                                               \
    check_same(narrow(static_cast<float>(x)), std::fn(static_cast<float>(x)), #fn "f"); \
  }
#define CHECK_BINARY(fn)                                                            \
  {                                                                                 \
    auto* wide = reinterpret_cast<double (*)(double, double)>(find_symbol(#fn));    \
    auto* narrow = reinterpret_cast<float (*)(float, float)>(find_symbol(#fn "f")); \
    ASSERT_TRUE(wide&& narrow) << #fn;                                              \
    check_same(wide(2.5, 1.25), std::fn(2.5, 1.25), #fn);                           \
    check_same(wide(1.25, 2.5), std::fn(1.25, 2.5), #fn);                           \
    check_same(narrow(2.5f, 1.25f), std::fn(2.5f, 1.25f), #fn "f");                 \
  }

template <class T>
void check_same(T actual, T expected, const char* name) {
  EXPECT_TRUE(actual == expected || (std::isnan(actual) && std::isnan(expected))) << name;
}

TEST(Symbols, are_the_functions_of_their_names){
    CHECK_UNARY(sin) CHECK_UNARY(cos) CHECK_UNARY(tan) CHECK_UNARY(asin) CHECK_UNARY(acos) CHECK_UNARY(atan)
        CHECK_UNARY(sinh) CHECK_UNARY(cosh) CHECK_UNARY(tanh) CHECK_UNARY(asinh) CHECK_UNARY(acosh)
            CHECK_UNARY(atanh) CHECK_UNARY(exp) CHECK_UNARY(exp2) CHECK_UNARY(expm1) CHECK_UNARY(log)
                CHECK_UNARY(log2) CHECK_UNARY(log10) CHECK_UNARY(log1p) CHECK_UNARY(cbrt) CHECK_UNARY(erf)
                    CHECK_UNARY(erfc) CHECK_UNARY(lgamma) CHECK_UNARY(tgamma) CHECK_UNARY(floor)
                        CHECK_UNARY(ceil) CHECK_UNARY(trunc) CHECK_UNARY(round) CHECK_UNARY(rint)
                            CHECK_UNARY(nearbyint) CHECK_BINARY(atan2) CHECK_BINARY(pow) CHECK_BINARY(hypot)
                                CHECK_BINARY(fmod) CHECK_BINARY(nextafter) CHECK_BINARY(fmin)
                                    CHECK_BINARY(fmax)}

TEST(Symbols, with_other_types_are_the_functions_of_their_names) {
  EXPECT_EQ(reinterpret_cast<double (*)(double, int)>(find_symbol("ldexp"))(0.75, 4), 12.0);
  EXPECT_EQ(reinterpret_cast<float (*)(float, int)>(find_symbol("ldexpf"))(0.75f, 4), 12.0f);
  EXPECT_EQ(reinterpret_cast<double (*)(double)>(find_symbol("roundeven"))(2.5), 2.0);
  EXPECT_NEAR(reinterpret_cast<double (*)(double)>(find_symbol("exp10"))(3.0), 1000.0, 1e-12);
  const double epsilon = std::ldexp(1.0, -30);
  auto* fma = reinterpret_cast<double (*)(double, double, double)>(find_symbol("fma"));
  EXPECT_EQ(fma(1 + epsilon, 1 - epsilon, -1), -epsilon * epsilon);
  double sine = 0, cosine = 0;
  reinterpret_cast<void (*)(double, double*, double*)>(find_symbol("sincos"))(0.5, &sine, &cosine);
  EXPECT_EQ(sine, std::sin(0.5));
  EXPECT_EQ(cosine, std::cos(0.5));
}

TEST(Symbols, include_the_mathematics_of_every_dtype) {
  EXPECT_GT(math_functions().size(), 50u);
  for (const MathFunction& function : math_functions()) {
    const std::string name =
        "ingot_v1_math_" + std::string(function.op) + "_" + std::string(base::info(function.dtype).name);
    EXPECT_EQ(find_symbol(name), function.address) << name;
  }
  EXPECT_EQ(find_symbol("ingot_v1_math_sin_"), nullptr);
  EXPECT_EQ(find_symbol("ingot_v1_math_"), nullptr);
}

TEST(Symbols, move_memory) {
  char text[] = "abcdef";
  reinterpret_cast<void* (*)(void*, const void*, size_t)>(find_symbol("memmove"))(text + 1, text, 4);
  EXPECT_STREQ(text, "aabcdf");
  reinterpret_cast<void* (*)(void*, int, size_t)>(find_symbol("memset"))(text, 'z', 3);
  EXPECT_STREQ(text, "zzzcdf");
  reinterpret_cast<void* (*)(void*, const void*, size_t)>(find_symbol("memcpy"))(text, "xy", 2);
  EXPECT_STREQ(text, "xyzcdf");
}

}  // namespace
}  // namespace ingot::runtime
