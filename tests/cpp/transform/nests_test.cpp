#include "transform/compare.h"

namespace ingot::transform {
namespace {

/// Functions of contiguous views `x` and `y`, of a view `z` of any layout that may share memory with `x`, of
/// i64 `n`, `m` and a few constants.
std::string function_of(const std::string& body) {
  return "func @f(%x: view<f64, 1> alias 1 layout C, %y: view<f64, 1> alias 2 layout C, "
         "%z: view<f64, 1> alias 1, %n: i64, %m: i64) -> () {\n"
         "  %0 = constant 0 : i64\n  %1 = constant 1 : i64\n  %2 = constant 2 : i64\n  %c = constant 0.5 : "
         "f64\n"
         "  %l = length %x {axis=0} : i64\n" +
         body + "  return\n}\n";
}

/// The text after passes, which must do the same on views of several lengths.
std::string after(const std::string& body, std::initializer_list<std::string_view> passes) {
  const std::string text = function_of(body);
  const Comparison comparison(text, passes);
  for (int64_t length : {0, 1, 5, 70}) {
    for (const int64_t m : {0, 1, 4, 7}) {
      for (Layout layout : {Layout::Contiguous, Layout::Reversed}) {
        const auto view = [&](Layout of, uint64_t seed) {
          return make_view(base::DType::Float64, {length}, of, seed);
        };
        comparison.check({view(Layout::Contiguous, 1), view(Layout::Contiguous, 2), view(layout, 3),
                          base::Scalar::of(length), base::Scalar::of(m)},
                         text);
      }
    }
  }
  return comparison.text();
}

size_t count(const std::string& text, std::string_view word) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) ++found;
  return found;
}

std::string loop(const std::string& iterations, const std::string& index, const std::string& body) {
  return "  for " + iterations + " {schedule=serial, width=0} {\n  ^(" + index + ": i64):\n" + body +
         "    yield\n  }\n";
}

/// element = `from` + 0.5
std::string add_to(const std::string& element, const std::string& from, const std::string& name) {
  return "    %a" + name + " = load " + from + " : f64\n    %b" + name + " = add %a" + name +
         ", %c : f64\n    store " + element + ", %b" + name + "\n";
}

size_t loops_after_fusion(const std::string& body) { return count(after(body, {"fuse_nests"}), "for "); }

TEST(FuseNests, IterationByIteration) {
  const std::string first = loop("%l", "%i", add_to("%x, %i", "%x, %i", "1"));
  EXPECT_EQ(loops_after_fusion(first + loop("%l", "%j", add_to("%x, %j", "%x, %j", "2"))), 1);
  EXPECT_EQ(loops_after_fusion(first + "  %s = add %l, %1 : i64\n  %e = cast %s : f64\n" +
                               loop("%l", "%j", "    store %x, %j, %e\n")),
            1);
  // One value is passed on, not stored and loaded again.
  const std::string text = after(first + loop("%l", "%j", add_to("%x, %j", "%x, %j", "2")), {"fuse_nests"});
  EXPECT_EQ(count(text, "store"), 1);
  EXPECT_EQ(count(text, "load"), 1);
}

TEST(FuseNests, ManyInGroups) {
  std::string all;
  for (int k = 0; k < 70; ++k) {
    const std::string name = std::to_string(k);
    all += loop("%l", "%i" + name, add_to("%x, %i" + name, "%x, %i" + name, name));
  }
  EXPECT_EQ(count(all, "for "), 70);
  EXPECT_EQ(loops_after_fusion(all), 3);
}

TEST(FuseNests, NotWhereIterationsConflict) {
  const std::string first = loop("%n", "%i", add_to("%x, %i", "%x, %i", "1"));
  const std::string next = "    %k = add %j, %1 : i64\n    %g = minimum %k, %m : i64\n";
  EXPECT_EQ(loops_after_fusion(
                first +
                loop("%n", "%j", next + "    %q = minimum %g, %j : i64\n" + add_to("%x, %j", "%x, %q", "2"))),
            2);
  // Through another view of the same memory.
  EXPECT_EQ(loops_after_fusion(first + loop("%n", "%j", add_to("%x, %j", "%z, %j", "2"))), 2);
}

TEST(FuseNests, NotOverWhatMayLieOverItself) {
  const std::string first = loop("%l", "%i", add_to("%z, %i", "%z, %i", "1"));
  EXPECT_EQ(loops_after_fusion(first + loop("%l", "%j", add_to("%z, %j", "%z, %j", "2"))), 2);
}

TEST(FuseNests, NotOverWhatMayBeSeen) {
  const std::string first = loop("%l", "%i", add_to("%x, %i", "%x, %i", "1"));
  const std::string second = loop("%l", "%j", add_to("%x, %j", "%x, %j", "2"));
  const std::string check = "  %p = less %m, %2 : bool\n  check %p {kind=ValueError, message=\"large\"}\n";
  EXPECT_EQ(loops_after_fusion(first + check + second), 2);
  // Nor where nothing is shared, or counts differ.
  EXPECT_EQ(loops_after_fusion(first + loop("%l", "%j", add_to("%y, %j", "%y, %j", "2"))), 2);
  EXPECT_EQ(loops_after_fusion(first + "  %h = minimum %l, %1 : i64\n" +
                               loop("%h", "%j", add_to("%x, %j", "%x, %j", "2"))),
            2);
}

TEST(FuseNests, ChecksGoBeforeWhatNobodySees) {
  const std::string memory =
      "  %8 = constant 8 : i64\n  %t = multiply %l, %8 : i64\n  %u = alloc %t {life=call} : buffer\n"
      "  %v = view %u, %0, %l, %8 : view<f64, 1>\n";
  const std::string check = "  %p = less %m, %2 : bool\n  check %p {kind=ValueError, message=\"large\"}\n";
  const std::string first = loop("%l", "%i", "    store %v, %i, %c\n");
  const std::string second = loop("%l", "%j", add_to("%v, %j", "%v, %j", "2"));
  const std::string third = loop("%l", "%h", add_to("%x, %h", "%v, %h", "3"));
  EXPECT_EQ(loops_after_fusion(memory + first + check + second + third), 1);
}

std::string interchanged(const std::string& body) { return after(body, {"interchange", "fuse_nests"}); }

TEST(Interchange, StepsOfElements) {
  const std::string inside = loop("%l", "%i", add_to("%x, %i", "%x, %i", "1"));
  const std::string text = interchanged(loop("%m", "%t", inside));
  EXPECT_EQ(count(text, "independent"), 1);
  // Four iterations at a time, and the rest.
  EXPECT_EQ(count(text, "store"), 2);
  EXPECT_EQ(count(text, "load"), 2);
}

TEST(Interchange, NotWhereElementsConflict) {
  const auto stays = [](const std::string& body) { return count(interchanged(body), "independent") == 0; };
  // An element of another iteration; of the iteration before; memory that may be the same; nothing written
  // again.
  EXPECT_TRUE(stays(loop(
      "%m", "%t", loop("%l", "%i", "    %q = minimum %i, %0 : i64\n" + add_to("%x, %i", "%x, %q", "1")))));
  EXPECT_TRUE(stays(loop("%m", "%t", loop("%l", "%i", add_to("%x, %i", "%z, %i", "1")))));
  EXPECT_TRUE(stays(loop("%l", "%t", loop("%1", "%i", add_to("%x, %t", "%x, %t", "1")))));
}

TEST(Interchange, LoadsOfTheLoopAround) {
  const std::string inside =
      "    %w = load %y, %0 : f64\n" +
      loop("%l", "%i", "    %a = load %x, %i : f64\n    %b = multiply %a, %w : f64\n    store %x, %i, %b\n");
  EXPECT_EQ(count(interchanged("  %e = less %0, %l : bool\n  if %e {\n" + loop("%m", "%t", inside) +
                               "    yield\n  }  {\n    yield\n  }\n"),
                  "independent"),
            1);
}

}  // namespace
}  // namespace ingot::transform
