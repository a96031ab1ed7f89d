#include "interpreter_helpers.h"

namespace ingot::ir {
namespace {

TEST(InterpreterContainers, ListsGrowAndShrink) {
  const Program program(R"(
func @f(%n: i64) -> (i64, i64, list<i64>) {
  %zero = constant 0 : i64
  %list = list_new : list<i64>
  for %n {schedule=serial, width=0} {
  ^(%k: i64):
    list_insert %list, %zero, %k
    yield
  }
  list_remove %list, %zero
  list_set %list, %zero, %n
  %length = list_length %list : i64
  %first = list_get %list, %zero : i64
  return %length, %first, %list
})");
  const auto results = program.results({number<int64_t>(5)});
  EXPECT_EQ(as_number<int64_t>(results[0]), 4);
  EXPECT_EQ(as_number<int64_t>(results[1]), 5);
  const auto& list = *std::get<std::shared_ptr<ObjectValue>>(results[2]);
  EXPECT_EQ(as_number<int64_t>(list.items.back()), 0);
}

TEST(InterpreterContainers, DictionariesKeepTheOrderOfInsertion) {
  const Program program(R"(
func @f(%keys: array<i64, 1>, %gone: i64) -> (dict<i64, i64>, i64) {
  %one = constant 1 : i64
  %zero = constant 0 : i64
  %n = length %keys {axis=0} : i64
  %v = materialize %keys : view<i64, 1>
  %counts = dict_new : dict<i64, i64>
  for %n {schedule=serial, width=0} {
  ^(%k: i64):
    %key = load %v, %k : i64
    %at = dict_find %counts, %key : i64
    %new = less %at, %zero : bool
    %before = if %new : i64 {
      yield %zero
    } {
      %c = dict_value %counts, %at : i64
      yield %c
    }
    %after = add %before, %one : i64
    dict_set %counts, %key, %after
    yield
  }
  %place = dict_find %counts, %gone : i64
  dict_remove %counts, %place
  %lost = dict_find %counts, %gone : i64
  return %counts, %lost
})");
  const auto results = program.results({array_of<int64_t>({7}, {9, 3, 9, 5, 3, 9, 7}), number<int64_t>(3)});
  const auto& counts = *std::get<std::shared_ptr<ObjectValue>>(results[0]);
  ASSERT_EQ(counts.keys.size(), 3u);
  EXPECT_EQ(as_number<int64_t>(counts.keys[1]), 5);
  EXPECT_EQ(as_number<int64_t>(counts.items[0]), 3);
  EXPECT_EQ(as_number<int64_t>(results[1]), -1);
}

TEST(InterpreterContainers, KeysAreEqualAsPythons) {
  const Program program(R"(
func @f(%x: f64, %y: f64, %n: i64) -> (i64, i64) {
  %set = dict_new : dict<tuple<f64, i64>, void>
  %a = tuple %x, %n : tuple<f64, i64>
  %b = tuple %y, %n : tuple<f64, i64>
  dict_set %set, %a
  dict_set %set, %b
  %size = dict_length %set : i64
  %at = dict_find %set, %b : i64
  return %size, %at
})");
  const auto size = [&](double x, double y) {
    return as_number<int64_t>(program.results({number(x), number(y), number<int64_t>(1)})[0]);
  };
  EXPECT_EQ(size(0.0, -0.0), 1);
  EXPECT_EQ(size(1.5, 1.5), 1);
  EXPECT_EQ(size(1.5, 2.5), 2);
  EXPECT_EQ(size(std::nan(""), std::nan("")), 2);
}

TEST(InterpreterContainers, RecordsHaveIdentity) {
  const Program program(R"(
record @Node { value: i64, next: optional<record @Node> }

func @f(%n: i64) -> (i64, bool) {
  %zero = constant 0 : i64
  %nothing = none {tag=1} : optional<record @Node>
  %last = record_new %zero, %nothing : record @Node
  %first = for %n, %last {schedule=serial, width=0} : record @Node {
  ^(%k: i64, %node: record @Node):
    %next = some %node : optional<record @Node>
    %new = record_new %k, %next : record @Node
    yield %new
  }
  %ring = some %first : optional<record @Node>
  field_set %last, %ring {field=1}
  field_set %last, %n {field=0}
  %start = some %first : optional<record @Node>
  %steps = add %n, %n : i64
  %end, %sum = for %steps, %first, %zero {schedule=serial, width=0} : (record @Node, i64) {
  ^(%k: i64, %node: record @Node, %s: i64):
    %value = field_get %node {field=0} : i64
    %t = add %s, %value : i64
    %next = field_get %node {field=1} : optional<record @Node>
    %tag = tag %next : i8
    %there = value %next : record @Node
    yield %there, %t
  }
  %same = same_object %end, %last : bool
  return %sum, %same
})");
  // 2 1 0 3 2 1: the ring of four, entered at its newest node; leaks, if any, are the sanitizer's to find.
  const auto results = program.results({number<int64_t>(3)});
  EXPECT_EQ(as_number<int64_t>(results[0]), 2 + 1 + 0 + 3 + 2 + 1);
  EXPECT_EQ(as_number<bool>(results[1]), false);
}

TEST(InterpreterContainers, OptionalsHaveTags) {
  const Program program(R"(
func @f(%c: bool, %x: f64) -> (i8, f64, optional<f64>) {
  %o = if %c : optional<f64> {
    %some = some %x : optional<f64>
    yield %some
  } {
    %none = none {tag=2} : optional<f64>
    yield %none
  }
  %tag = tag %o : i8
  %value = value %o : f64
  return %tag, %value, %o
})");
  const auto full = program.results({number(true), number(2.5)});
  EXPECT_EQ(as_number<int8_t>(full[0]), 0);
  EXPECT_EQ(as_number<double>(full[1]), 2.5);
  const auto empty = program.results({number(false), number(2.5)});
  EXPECT_EQ(as_number<int8_t>(empty[0]), 2);
  EXPECT_EQ(std::get<std::shared_ptr<const AggregateValue>>(empty[2])->tag, 2);
}

TEST(InterpreterContainers, FindsRacesOnObjects) {
  const std::string_view text = R"(
func @f(%n: i64) -> () {
  %zero = constant 0 : i64
  %list = list_new : list<i64>
  for %n {schedule=serial, width=0} {
  ^(%k: i64):
    list_insert %list, %zero, %zero
    yield
  }
  parallel_for %n {schedule=threads, width=0, combiners=[]} {
  ^(%k: i64):
    LINE
    yield
  }
  return
})";
  const auto with = [&](const std::string& line) {
    std::string program(text);
    return Program(program.replace(program.find("LINE"), 4, line));
  };
  EXPECT_FALSE(with("list_set %list, %k, %k").run({number<int64_t>(9)}).raised);
  EXPECT_NE(with("list_set %list, %zero, %k").fault({number<int64_t>(9)}).find("race"), std::string::npos);
  EXPECT_NE(with("list_insert %list, %zero, %k").fault({number<int64_t>(9)}).find("race"), std::string::npos);
}

}  // namespace
}  // namespace ingot::ir
