#include "transform/dependence.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace ingot::transform {
namespace {

/// The conflict in the only outermost loop of a program of views `x`, `y` (other memory), `z` (x's memory),
/// i64 `n` and `m`, whose loop has this body and carries `s` from 0.0.
std::optional<Conflict> race_in(const std::string& body, const std::string& carried = "%s",
                                std::vector<Accumulation>* meeting = nullptr,
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
      return tables != nullptr    ? find_race(f, ir::NodeId(i), *meeting, *tables)
             : meeting != nullptr ? find_race(f, ir::NodeId(i), *meeting)
                                  : find_race(f, ir::NodeId(i));
  return std::nullopt;
}

bool is_free(const std::string& body, const std::string& carried = "%s") {
  const auto conflict = race_in(body, carried);
  return !conflict;
}

TEST(Dependence, IndependentTurns) {
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

/// Turns that store at `scale` * k + j, where j counts up to a minimum of `most` and a value.
bool tiles_are_free(const std::string& scale, const std::string& most) {
  return is_free("    %a = constant " + scale + " : i64\n    %b = constant " + most +
                 " : i64\n    %t = multiply %k, %a : i64\n    %u = minimum %b, %m : i64\n"
                 "    for %u {schedule=serial, width=0} {\n    ^(%j: i64):\n      %i = add %t, %j : i64\n"
                 "      store %x, %i, %own\n      yield\n    }\n");
}

TEST(Dependence, TurnsOverTiles) {
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

TEST(Dependence, DependentTurns) {
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

TEST(Dependence, StoresOfOneValueMeetInPeace) {
  EXPECT_TRUE(is_free("    store %x, %0, %c\n"));
  EXPECT_TRUE(is_free("    %i = remainder %k, %m : i64\n    store %x, %i, %c\n    store %x, %m, %c\n"));
  EXPECT_FALSE(is_free("    store %x, %0, %c\n    store %x, %m, %own\n"));
  EXPECT_FALSE(is_free("    store %x, %0, %c\n    %a = load %x, %m : f64\n"));
  EXPECT_FALSE(is_free("    store %x, %0, %c\n    %d = constant 1.0 : f64\n    store %x, %m, %d\n"));
  EXPECT_FALSE(is_free("    store %x, %0, %c\n    store %z, %m, %c\n"));
}

/// How many tables have to hold different numbers for a body's turns to be independent; none if they are not.
std::optional<size_t> tables_in(const std::string& body) {
  std::vector<Accumulation> meeting;
  std::vector<Table> tables;
  return race_in(body, "%s", &meeting, &tables) ? std::nullopt : std::optional(tables.size());
}

TEST(Dependence, TablesNameTheRowsOfTurns) {
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
  // At another place, at one for all, of a number that is computed, of an axis alone.
  EXPECT_FALSE(tables_in(number + "    store %w, %r, %0, %own\n    store %w, %k, %0, %own\n"));
  EXPECT_FALSE(
      tables_in("    %i = load %table, %0 : i32\n    %r = cast %i : i64\n    store %w, %r, %0, %own\n"));
  EXPECT_FALSE(tables_in(number + "    %j = add %r, %m : i64\n    store %w, %j, %0, %own\n"));
  EXPECT_FALSE(tables_in(number + "    store %x, %r, %own\n"));
  // A table that the turns write into.
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

/// Whether turns that write into one field of records, and read another one so many bytes behind, may run at
/// the same time.
bool fields_are_free(const std::string& behind, const std::string& index = "%k",
                     const std::string& stride = "32") {
  const std::string text =
      "func @f(%p: view<u8, 1> alias 1, %n: i64) -> () {\n  %s = constant " + stride +
      " : i64\n  %d = constant " + behind +
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

TEST(Dependence, FieldsOfRecordsLieApart) {
  EXPECT_TRUE(fields_are_free("8"));
  EXPECT_TRUE(fields_are_free("24"));
  EXPECT_TRUE(fields_are_free("-24"));
  EXPECT_FALSE(fields_are_free("25"));
  EXPECT_FALSE(fields_are_free("32"));
  EXPECT_FALSE(fields_are_free("8", "%i"));
  EXPECT_FALSE(fields_are_free("8", "%k", "8"));
  EXPECT_FALSE(fields_are_free("8", "%k", "-32"));
}

TEST(Dependence, NamesThePlaces) {
  const auto conflict =
      race_in("    %i = add %k, %1 : i64\n    %a = load %x, %i : f64\n    store %x, %k, %a\n");
  ASSERT_TRUE(conflict);
  EXPECT_NE(conflict->first, conflict->second);
  EXPECT_FALSE(conflict->reason.empty());
}

/// How many accumulations of a body may meet; none if it has a conflict beside.
std::optional<size_t> meeting_in(const std::string& body) {
  std::vector<Accumulation> meeting;
  return race_in(body, "%s", &meeting) ? std::nullopt : std::optional(meeting.size());
}

TEST(Dependence, AccumulationsThatMeetAreNoConflict) {
  const std::string index = "    %e = load %x, %k : f64\n    %i = cast %e : i64\n";
  const std::string adds = index + "    %a = load %y, %i : f64\n    %b = add %a, %e : f64\n";
  EXPECT_EQ(meeting_in(adds + "    store %y, %i, %b\n"), 1);
  EXPECT_TRUE(race_in(adds + "    store %y, %i, %b\n"));
  EXPECT_EQ(
      meeting_in(index + "    %a = load %y, %k : f64\n    %b = add %a, %e : f64\n    store %y, %k, %b\n"), 0);
  // Of another place, of another view of its memory, in another one, used twice, with another op.
  EXPECT_FALSE(meeting_in(adds + "    store %y, %k, %b\n"));
  EXPECT_FALSE(
      meeting_in(adds + "    store %y, %i, %b\n    %d = load %y, %0 : f64\n    store %w, %k, %0, %d\n"));
  EXPECT_FALSE(meeting_in(adds + "    store %y, %0, %e\n    store %y, %i, %b\n"));
  EXPECT_FALSE(meeting_in(adds + "    store %y, %i, %b\n    store %w, %k, %0, %a\n"));
  EXPECT_FALSE(meeting_in(adds +
                          "    store %y, %i, %b\n    %g = load %y, %0 : f64\n    %h = multiply %g, %e : f64\n"
                          "    store %y, %0, %h\n"));
}

}  // namespace
}  // namespace ingot::transform
