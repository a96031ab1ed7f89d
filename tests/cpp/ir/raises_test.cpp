#include "ir/raises.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace ingot::ir {
namespace {

/// What the exceptions of the function depend on, in the order of the text.
std::vector<RaiseDepends> depends(const std::string& body, const std::string& more = "") {
  const std::string text =
      "func @f(%x: view<f64, 1>, %y: view<f64, 1>, %n: i64) -> () {\n" + body + "  return\n}\n" + more;
  const std::unique_ptr<Module> module = parse(text, "raises");
  std::vector<RaiseDepends> found;
  for (const MayRaise& each : may_raise(*module, *module->find("f"))) found.push_back(each.depends);
  return found;
}

using Found = std::vector<RaiseDepends>;
const std::string kLengths =
    "  %a = length %x {axis=0} : i64\n  %b = length %y {axis=0} : i64\n  %c = equal %a, %b : bool\n";
const std::string kElement =
    "  %zero = constant 0 : i64\n  %e = load %x, %zero : f64\n  %d = less %e, %e : bool\n";

TEST(Raises, LengthsDecide) {
  EXPECT_EQ(depends(kLengths + "  check %c {kind=ValueError, message=\"\"}\n"), Found{RaiseDepends::Lengths});
}

TEST(Raises, NumbersDecide) {
  const std::string compare = "  %s = less %n, %a : bool\n";
  EXPECT_EQ(depends(kLengths + compare + "  check %s {kind=ValueError, message=\"\"}\n"),
            Found{RaiseDepends::Numbers});
}

TEST(Raises, ElementsDecide) {
  EXPECT_EQ(depends(kElement + "  check %d {kind=ValueError, message=\"\"}\n"),
            Found{RaiseDepends::Elements});
  const std::string sum =
      "  %r = read %x : array<f64, 1>\n  %t = reduce %r {combiner=add, axes=[0]} : f64\n"
      "  %u = equal %t, %t : bool\n";
  EXPECT_EQ(depends(sum + "  check %u {kind=ValueError, message=\"\"}\n"), Found{RaiseDepends::Elements});
}

/// Numbers that become elements of an array decide about none of its lengths.
TEST(Raises, NumbersAreElementsOfArrays) {
  const std::string sum =
      "  %r = read %x : array<f64, 1>\n  %p = cast %n : f64\n  %q = add %r, %p : array<f64, 1>\n"
      "  %l = length %q {axis=0} : i64\n  %s = equal %l, %l : bool\n";
  EXPECT_EQ(depends(sum + "  check %s {kind=ValueError, message=\"\"}\n"), Found{RaiseDepends::Lengths});
}

TEST(Raises, LengthsThatElementsDecide) {
  const std::string chosen =
      "  %r = read %x : array<f64, 1>\n  %m = less %r, %r : array<bool, 1>\n"
      "  %k = compress %r, %m : array<f64, 1>\n  %l = length %k {axis=0} : i64\n  %o = equal %l, %n : bool\n";
  EXPECT_EQ(depends(chosen + "  check %o {kind=ValueError, message=\"\"}\n"), Found{RaiseDepends::Elements});
}

TEST(Raises, ABranchDecides) {
  const std::string raise = "    raise {kind=KeyError, message=\"\"}\n  } {\n    yield\n  }\n";
  EXPECT_EQ(depends(kLengths + "  if %c {\n" + raise), Found{RaiseDepends::Lengths});
  EXPECT_EQ(depends(kElement + "  if %d {\n" + raise), Found{RaiseDepends::Elements});
}

/// Whether control comes to what follows depends on what has left before.
TEST(Raises, WhatLeavesDecidesAboutWhatFollows) {
  const std::string left = "  if %d {\n    raise {kind=KeyError, message=\"\"}\n  } {\n    yield\n  }\n";
  const std::string stayed = "  if %d {\n    yield\n  } {\n    yield\n  }\n";
  const std::string check = "  check %c {kind=ValueError, message=\"\"}\n";
  EXPECT_EQ(depends(kElement + left + kLengths + check), Found(2, RaiseDepends::Elements));
  EXPECT_EQ(depends(kElement + stayed + kLengths + check), Found{RaiseDepends::Lengths});
}

TEST(Raises, CalleesCount) {
  const std::string callee =
      "\nfunc @g(%p: bool) -> () {\n  check %p {kind=ValueError, message=\"\"}\n  return\n}\n";
  EXPECT_EQ(depends(kLengths + "  call %c {function=@g, catches=0}\n", callee),
            Found{RaiseDepends::Elements});
  const std::string always = "\nfunc @g() -> () {\n  raise {kind=ValueError, message=\"\"}\n}\n";
  EXPECT_EQ(
      depends(kElement + "  if %d {\n    call {function=@g, catches=0}\n    yield\n  } {\n    yield\n  }\n",
              always),
      Found{RaiseDepends::Elements});
}

}  // namespace
}  // namespace ingot::ir
