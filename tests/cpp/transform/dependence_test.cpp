#include "transform/analyses/dependence.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace ingot::transform {
namespace {

/// The conflict in the only outermost loop of a program of views `x`, `y` (other memory), `z` (x's memory),
/// i64 `n` and `m`, whose loop has this body and carries `s` from 0.0.
std::optional<Conflict> race_in(const std::string& body, const std::string& carried = "%s",
                                std::vector<Accumulation>* conflicts = nullptr,
                                std::vector<Table>* tables = nullptr) {
  const std::string text =
      "func @f(%x: view<f64, 1> alias 1, %y: view<f64, 1> alias 2, %z: view<f64, 1> alias 1, %n: i64, %m: "
      "i64,"
      " %w: view<f64, 2> alias 3, %table: view<i32, 1> alias 4) -> (f64) {\n"
      "  %0 = constant 0 : i64\n  %1 = constant 1 : i64\n  %2 = constant 2 : i64\n  %c = constant 0.0 : f64\n"
      "  %l = for %n, %c {schedule=threads, width=0} : f64 {\n  ^(%k: i64, %s: f64):\n"
      "    %own = cast %k : f64\n" +
      body + "    yield " + carried + "\n  }\n  return %l\n}\n";
  const std::unique_ptr<ir::Module> module = ir::parse(text, "test.ir");
  const ir::Function& f = *module->function(ir::FunctionId(0));
  for (uint32_t i = 0; i < f.node_count(); ++i)
    if (f.op(ir::NodeId(i)) == ir::Op::for_)
      return tables != nullptr      ? find_race(f, ir::NodeId(i), *conflicts, *tables)
             : conflicts != nullptr ? find_race(f, ir::NodeId(i), *conflicts)
                                    : find_race(f, ir::NodeId(i));
  return std::nullopt;
}

bool is_free(const std::string& body, const std::string& carried = "%s") {
  const auto conflict = race_in(body, carried);
  return !conflict;
}

TEST(Dependence, IndependentIterations) {
  EXPECT_TRUE(is_free("    %a = load %x, %k : f64\n    store %y, %k, %a\n"));
  EXPECT_TRUE(is_free("    %a = load %x, %k : f64\n    store %x, %k, %a\n"));
  EXPECT_TRUE(is_free("    %i = add %k, %1 : i64\n    store %x, %i, %c\n    %a = load %x, %i : f64\n"));
  EXPECT_TRUE(is_free("    %i = multiply %k, %2 : i64\n    %j = add %i, %m : i64\n    store %x, %j, %c\n"));
  EXPECT_TRUE(is_free("    %a = load %x, %0 : f64\n    store %y, %k, %a\n"));
  EXPECT_TRUE(
      is_free("    for %m {schedule=serial, width=0} {\n    ^(%j: i64):\n      store %w, %k, %j, %c\n"
              "      %a = load %w, %k, %0 : f64\n      yield\n    }\n"));
  EXPECT_TRUE(
      is_free("    %g = less %k, %0 : bool\n    %h = add %k, %m : i64\n    %i = select %g, %h, %k : i64\n"
              "    store %x, %i, %c\n"));
  EXPECT_TRUE(
      is_free("    %b = alloc %2 {life=call} : buffer\n    %v = view %b, %0, %2, %1 : view<f64, 1>\n"
              "    store %v, %0, %c\n    %a = load %v, %0 : f64\n"));
  EXPECT_TRUE(
      is_free("    %r = slice %w, %k, %1, %1, %0, %m, %1 : view<f64, 2>\n"
              "    %q = squeeze %r {axes=[0]} : view<f64, 1>\n    write %q, %c\n"));
}

/// Iterations that store at `scale` * k + j, where j counts up to a minimum of `most` and a value.
bool tiles_are_free(const std::string& scale, const std::string& most) {
  return is_free("    %a = constant " + scale + " : i64\n    %b = constant " + most +
                 " : i64\n    %t = multiply %k, %a : i64\n    %u = minimum %b, %m : i64\n"
                 "    for %u {schedule=serial, width=0} {\n    ^(%j: i64):\n      %i = add %t, %j : i64\n"
                 "      store %x, %i, %own\n      yield\n    }\n");
}

TEST(Dependence, IterationsOverTiles) {
  EXPECT_TRUE(tiles_are_free("8", "8"));
  EXPECT_TRUE(tiles_are_free("8", "1"));
  EXPECT_TRUE(tiles_are_free("-8", "8"));
  EXPECT_FALSE(tiles_are_free("8", "9"));
  EXPECT_FALSE(tiles_are_free("0", "1"));
  EXPECT_FALSE(
      is_free("    %t = multiply %k, %2 : i64\n    for %2 {schedule=serial, width=0} {\n    ^(%j: i64):\n"
              "      %i = subtract %t, %j : i64\n      %h = add %t, %j : i64\n      store %x, %i, %own\n"
              "      store %x, %h, %own\n      yield\n    }\n"));
  EXPECT_FALSE(
      is_free("    %t = multiply %k, %2 : i64\n    for %m {schedule=serial, width=0} {\n    ^(%j: i64):\n"
              "      %i = add %t, %j : i64\n      store %x, %i, %own\n      yield\n    }\n"));
}

TEST(Dependence, DependentIterations) {
  EXPECT_FALSE(is_free("    store %x, %0, %own\n"));
  EXPECT_FALSE(is_free("    store %x, %m, %own\n"));
  EXPECT_FALSE(is_free("    %i = add %k, %1 : i64\n    %a = load %x, %i : f64\n    store %x, %k, %a\n"));
  EXPECT_FALSE(is_free("    %i = remainder %k, %m : i64\n    store %x, %i, %own\n"));
  EXPECT_FALSE(is_free("    %a = load %z, %k : f64\n    store %x, %k, %a\n"));
  EXPECT_FALSE(
      is_free("    for %m {schedule=serial, width=0} {\n    ^(%j: i64):\n      store %w, %j, %k, %own\n"
              "      %a = load %w, %k, %0 : f64\n      yield\n    }\n"));
  EXPECT_FALSE(
      is_free("    %g = less %k, %m : bool\n    %h = add %k, %m : i64\n    %i = select %g, %h, %k : i64\n"
              "    store %x, %i, %own\n"));
  EXPECT_FALSE(is_free("    write %x, %c\n"));
  EXPECT_FALSE(is_free("    host %k {site=0, what=\"print\"}\n"));
}

TEST(Dependence, IndicesThatDifferByConstants) {
  const std::string twice = "    %i = multiply %k, %2 : i64\n    %j = add %i, %1 : i64\n";
  EXPECT_TRUE(is_free(twice + "    store %x, %i, %own\n    store %x, %j, %own\n"));
  EXPECT_FALSE(
      is_free(twice + "    %h = add %j, %1 : i64\n    store %x, %i, %own\n    store %x, %h, %own\n"));
  EXPECT_FALSE(is_free(twice + "    store %x, %i, %own\n    store %x, %k, %own\n"));
  EXPECT_TRUE(is_free("    %i = subtract %m, %k : i64\n    store %x, %i, %own\n"));
  EXPECT_FALSE(is_free("    %i = subtract %m, %k : i64\n    store %x, %i, %own\n    store %x, %k, %own\n"));
  EXPECT_TRUE(
      is_free("    %d = subtract %k, %m : i64\n    %i = multiply %d, %2 : i64\n    store %x, %i, %own\n"));
}

TEST(Dependence, MultiplesAndARest) {
  // 4 * k and 4 * k + 2 * j + 1
  const std::string body =
      "    %f = constant 4 : i64\n    %i = multiply %k, %f : i64\n    store %x, %i, %own\n"
      "    for %m {schedule=serial, width=0} {\n    ^(%j: i64):\n      %t = multiply %j, %2 : i64\n"
      "      %h = add %i, %t : i64\n      %r = add %h, %1 : i64\n      %a = load %x, %r : f64\n"
      "      store %y, %k, %a\n      yield\n    }\n";
  EXPECT_TRUE(is_free(body));
  const std::string odd = body.substr(0, body.find("%t = ")) + "%t = multiply %j, %f : i64\n" +
                          body.substr(body.find("      %h"));
  EXPECT_TRUE(is_free(odd));
  const std::string met =
      body.substr(0, body.find("%r = ")) + "%r = add %h, %2 : i64\n" + body.substr(body.find("      %a"));
  EXPECT_FALSE(is_free(met));
}

/// A product of the iteration's number and `%m`, checked or not, and a store in a loop of `count` iterations
/// inside.
std::string rows(const std::string& count, bool is_checked) {
  const std::string check =
      "    %o = multiply_overflows %k, %m : bool\n    %p = invert %o : bool\n"
      "    check %p {kind=OverflowError, message=\"too large\"}\n";
  return (is_checked ? check : "") + "    %i = multiply %k, %m : i64\n    for " + count +
         " {schedule=serial, width=0} {\n    ^(%j: i64):\n" +
         (is_checked ? "      %u = add_overflows %i, %j : bool\n      %v = invert %u : bool\n"
                       "      check %v {kind=OverflowError, message=\"too large\"}\n"
                     : "") +
         "      %h = add %i, %j : i64\n      store %x, %h, %own\n      yield\n    }\n";
}

TEST(Dependence, RowsOfALengthOfRunTime) {
  EXPECT_TRUE(is_free(rows("%m", true)));
  // A product may wrap; rows of another length; a factor that may be 0.
  EXPECT_FALSE(is_free(rows("%m", false)));
  EXPECT_FALSE(is_free(rows("%n", true)));
  EXPECT_FALSE(
      is_free("    %o = multiply_overflows %k, %m : bool\n    %p = invert %o : bool\n"
              "    check %p {kind=OverflowError, message=\"too large\"}\n    %i = multiply %k, %m : i64\n"
              "    store %x, %i, %own\n"));
  // What a loop declares holds in it alone.
  EXPECT_FALSE(is_free(rows("%m", true) + "    store %y, %i, %own\n"));
}

TEST(Dependence, TrianglesThatMirrorEachOther) {
  const auto both = [](const std::string& first) {
    return "    %a = add %k, " + first +
           " : i64\n    %c0 = subtract %n, %a : i64\n"
           "    for %c0 {schedule=serial, width=0} {\n    ^(%j: i64):\n      %i = add %a, %j : i64\n"
           "      store %w, %k, %i, %own\n      store %w, %i, %k, %own\n      yield\n    }\n";
  };
  EXPECT_TRUE(is_free(both("%1")));
  EXPECT_TRUE(is_free(both("%0")));
  EXPECT_FALSE(is_free(both("%m")));
  const auto guarded = [](const std::string& op) {
    return "    for %n {schedule=serial, width=0} {\n    ^(%j: i64):\n      %g = " + op +
           " %j, %k : bool\n      if %g {\n        store %w, %k, %j, %own\n        store %w, %j, %k, %own\n"
           "        yield\n      } {\n        yield\n      }\n      yield\n    }\n";
  };
  EXPECT_TRUE(is_free(guarded("greater")));
  EXPECT_TRUE(is_free(guarded("less_equal")));
  EXPECT_FALSE(is_free(guarded("not_equal")));
}

TEST(Dependence, QuotientAndRemainder) {
  const std::string parts =
      "    %f = constant 7 : i64\n    %q = floor_divide %k, %f : i64\n    %r = remainder %k, %f : i64\n";
  EXPECT_TRUE(is_free(parts + "    store %w, %q, %r, %own\n"));
  EXPECT_FALSE(is_free(parts + "    store %w, %q, %0, %own\n"));
  EXPECT_FALSE(is_free(parts + "    store %w, %0, %r, %own\n"));
  EXPECT_FALSE(is_free(parts + "    %t = remainder %k, %m : i64\n    store %w, %q, %t, %own\n"));
}

TEST(Dependence, SlicesOfSlices) {
  // Rows 2 * k and 2 * k + 1 of w, of which columns are written.
  const auto slices = [](const std::string& other) {
    return "    %i = multiply %k, %2 : i64\n    %j = add %i, " + other +
           " : i64\n    %a = slice %w, %i, %1, %1, %0, %m, %1 : view<f64, 2>\n"
           "    %b = slice %w, %j, %1, %1, %0, %m, %1 : view<f64, 2>\n"
           "    %d = slice %a, %0, %1, %1, %1, %1, %1 : view<f64, 2>\n"
           "    %e = transpose %b {axes=[1, 0]} : view<f64, 2>\n    write %d, %own\n    write %e, %own\n";
  };
  EXPECT_TRUE(is_free(slices("%1")));
  EXPECT_FALSE(is_free(slices("%2")));
  EXPECT_FALSE(is_free(slices("%m")));
}

TEST(Dependence, StoresOfOneValueAreNoConflict) {
  EXPECT_TRUE(is_free("    store %x, %0, %c\n"));
  EXPECT_TRUE(is_free("    %i = remainder %k, %m : i64\n    store %x, %i, %c\n    store %x, %m, %c\n"));
  EXPECT_FALSE(is_free("    store %x, %0, %c\n    store %x, %m, %own\n"));
  EXPECT_FALSE(is_free("    store %x, %0, %c\n    %a = load %x, %m : f64\n"));
  EXPECT_FALSE(is_free("    store %x, %0, %c\n    %d = constant 1.0 : f64\n    store %x, %m, %d\n"));
  EXPECT_FALSE(is_free("    store %x, %0, %c\n    store %z, %m, %c\n"));
}

/// How many tables have to hold different numbers for a body's iterations to be independent; none if they are
/// not.
std::optional<size_t> tables_in(const std::string& body) {
  std::vector<Accumulation> conflicts;
  std::vector<Table> tables;
  return race_in(body, "%s", &conflicts, &tables) ? std::nullopt : std::optional(tables.size());
}

TEST(Dependence, TablesNameTheRowsOfIterations) {
  const std::string number = "    %i = load %table, %k : i32\n    %r = cast %i : i64\n";
  EXPECT_FALSE(is_free(number + "    store %w, %r, %0, %own\n"));
  EXPECT_EQ(tables_in(number + "    store %w, %r, %0, %own\n"), 1);
  EXPECT_EQ(
      tables_in(number + "    %a = load %w, %r, %1 : f64\n    store %w, %r, %0, %a\n    store %y, %k, %a\n"),
      1);
  EXPECT_EQ(tables_in("    store %w, %k, %0, %own\n"), 0);
  const std::string wrapped =
      number +
      "    %z0 = constant 0 : i32\n    %g = less %i, %z0 : bool\n    %h = add %r, %m : i64\n"
      "    %j = select %g, %h, %r : i64\n";
  EXPECT_EQ(tables_in(wrapped + "    store %w, %j, %0, %own\n"), 1);
  // At another index, at one for all, of a number that is computed, of an axis alone.
  EXPECT_FALSE(tables_in(number + "    store %w, %r, %0, %own\n    store %w, %k, %0, %own\n"));
  EXPECT_FALSE(
      tables_in("    %i = load %table, %0 : i32\n    %r = cast %i : i64\n    store %w, %r, %0, %own\n"));
  EXPECT_FALSE(tables_in(number + "    %j = add %r, %m : i64\n    store %w, %j, %0, %own\n"));
  // Of one axis, where nothing else is done there.
  EXPECT_EQ(tables_in(number + "    store %x, %r, %own\n"), 1);
  EXPECT_FALSE(tables_in(number + "    store %x, %r, %own\n    store %x, %k, %own\n"));
  EXPECT_FALSE(
      tables_in(number + "    store %x, %r, %own\n    %a = load %z, %r : f64\n    store %y, %k, %a\n"));
  // A table that the iterations write into.
  EXPECT_FALSE(tables_in(number + "    store %w, %r, %0, %own\n    store %table, %m, %i\n"));
}

TEST(Dependence, CarriedValues) {
  const std::string load = "    %a = load %x, %k : f64\n";
  EXPECT_TRUE(is_free(load + "    %t = add %s, %a : f64\n", "%t"));
  EXPECT_TRUE(is_free(load + "    %t = maximum %a, %s : f64\n", "%t"));
  EXPECT_TRUE(is_free(load + "    %t = subtract %s, %a : f64\n    %u = add %a, %t : f64\n", "%u"));
  const std::string branch = "    %b = less %a, %c : bool\n    %v = if %b : f64 {\n";
  EXPECT_TRUE(is_free(
      load + branch + "      %t = add %s, %a : f64\n      yield %t\n    } {\n      yield %s\n    }\n", "%v"));
  EXPECT_FALSE(is_free(
      load + branch + "      %t = maximum %s, %a : f64\n      yield %t\n    } {\n      yield %s\n    }\n",
      "%v"));
  EXPECT_FALSE(is_free(load + branch + "      yield %a\n    } {\n      yield %s\n    }\n", "%v"));
  EXPECT_FALSE(is_free(load + "    %t = multiply %s, %a : f64\n    %u = add %a, %t : f64\n", "%u"));
  EXPECT_FALSE(is_free(load + "    %t = subtract %a, %s : f64\n", "%t"));
  EXPECT_FALSE(is_free(load + "    %t = add %s, %s : f64\n", "%t"));
  EXPECT_FALSE(is_free(load + "    %t = add %s, %a : f64\n    store %y, %k, %s\n", "%t"));
  EXPECT_FALSE(is_free(load + "    %t = add %s, %a : f64\n    store %y, %k, %t\n", "%t"));
  EXPECT_FALSE(is_free(load, "%a"));
}

/// Whether iterations that write into one field of records, and read another one so many bytes after it, may
/// run at the same time.
bool fields_are_free(const std::string& after, const std::string& index = "%k",
                     const std::string& stride = "32") {
  const std::string text =
      "func @f(%p: view<u8, 1> alias 1, %n: i64) -> () {\n  %s = constant " + stride +
      " : i64\n  %d = constant " + after +
      " : i64\n  %1 = constant 1 : i64\n  %b = buffer %p : buffer\n  %o = offset %p : i64\n"
      "  %q = add %o, %d : i64\n  %v = view %b, %o, %n, %s : view<f64, 1>\n"
      "  %w = view %b, %q, %n, %s : view<f64, 1>\n"
      "  for %n {schedule=threads, width=0} {\n  ^(%k: i64):\n    %i = add %k, %1 : i64\n    %a = load %w, " +
      index + " : f64\n    store %v, %k, %a\n    yield\n  }\n  return\n}\n";
  const std::unique_ptr<ir::Module> module = ir::parse(text, "test.ir");
  const ir::Function& f = *module->function(ir::FunctionId(0));
  for (uint32_t i = 0; i < f.node_count(); ++i)
    if (f.op(ir::NodeId(i)) == ir::Op::for_) return !find_race(f, ir::NodeId(i));
  return false;
}

TEST(Dependence, FieldsOfRecordsAreDisjoint) {
  EXPECT_TRUE(fields_are_free("8"));
  EXPECT_TRUE(fields_are_free("24"));
  EXPECT_TRUE(fields_are_free("-24"));
  EXPECT_FALSE(fields_are_free("25"));
  EXPECT_FALSE(fields_are_free("32"));
  EXPECT_FALSE(fields_are_free("8", "%i"));
  EXPECT_FALSE(fields_are_free("8", "%k", "8"));
  EXPECT_FALSE(fields_are_free("8", "%k", "-32"));
}

TEST(Dependence, NamesTheLocations) {
  const auto conflict =
      race_in("    %i = add %k, %1 : i64\n    %a = load %x, %i : f64\n    store %x, %k, %a\n");
  ASSERT_TRUE(conflict);
  EXPECT_NE(conflict->first, conflict->second);
  EXPECT_FALSE(conflict->reason.empty());
}

/// How many accumulations of a body may conflict; none if it has another conflict.
std::optional<size_t> conflicts_in(const std::string& body) {
  std::vector<Accumulation> conflicts;
  return race_in(body, "%s", &conflicts) ? std::nullopt : std::optional(conflicts.size());
}

TEST(Dependence, AccumulationsMayConflict) {
  const std::string index = "    %e = load %x, %k : f64\n    %i = cast %e : i64\n";
  const std::string adds = index + "    %a = load %y, %i : f64\n    %b = add %a, %e : f64\n";
  EXPECT_EQ(conflicts_in(adds + "    store %y, %i, %b\n"), 1);
  EXPECT_TRUE(race_in(adds + "    store %y, %i, %b\n"));
  EXPECT_EQ(
      conflicts_in(index + "    %a = load %y, %k : f64\n    %b = add %a, %e : f64\n    store %y, %k, %b\n"),
      0);
  // Of another location, of another view of its memory, in another one, used twice, with another op.
  EXPECT_FALSE(conflicts_in(adds + "    store %y, %k, %b\n"));
  EXPECT_FALSE(
      conflicts_in(adds + "    store %y, %i, %b\n    %d = load %y, %0 : f64\n    store %w, %k, %0, %d\n"));
  EXPECT_FALSE(conflicts_in(adds + "    store %y, %0, %e\n    store %y, %i, %b\n"));
  EXPECT_FALSE(conflicts_in(adds + "    store %y, %i, %b\n    store %w, %k, %0, %a\n"));
  EXPECT_FALSE(
      conflicts_in(adds + "    store %y, %i, %b\n    %g = load %y, %0 : f64\n    %h = multiply %g, %e : f64\n"
                          "    store %y, %0, %h\n"));
}

}  // namespace
}  // namespace ingot::transform
