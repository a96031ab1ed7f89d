#include "transform/arrays/to_loops.h"

#include <algorithm>

#include "transform/compare.h"

namespace ingot::transform {
namespace {

using base::DType;
using Lengths = std::vector<int64_t>;

std::string name(DType dtype) { return std::string(base::info(dtype).name); }

std::vector<Lengths> shapes(int rank) {
  switch (rank) {
    case 0: return {{}};
    case 1: return {{0}, {1}, {5}, {33}, {1025}, {2100}};
    case 2: return {{0, 3}, {3, 0}, {1, 1}, {1, 5}, {5, 33}, {20, 33}, {2, 1025}};
    default: return {{2, 0, 3}, {1, 1, 1}, {2, 3, 5}, {3, 33, 13}};
  }
}

/// Runs `@f` on a view of every shape and layout, followed by `more`.
void check_shapes(const std::string& text, DType dtype, int rank, bool is_empty_good = true) {
  const Comparison comparison(text);
  for (const Lengths& lengths : shapes(rank)) {
    const bool is_empty = std::ranges::find(lengths, 0) != lengths.end();
    if (is_empty && !is_empty_good) continue;
    for (Layout layout : kLayouts) {
      const ir::Value x = make_view(dtype, lengths, layout, 7 + static_cast<uint64_t>(layout));
      comparison.check({x}, text + "\nlayout " + std::to_string(static_cast<int>(layout)) + ", length " +
                                (lengths.empty() ? "-" : std::to_string(lengths.back())));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

/// A program of one view `x` of a rank; in the body T is the dtype, R the rank, and `%a` the array.
std::string of_view(DType dtype, int rank, const std::string& body, const std::string& results) {
  const std::string text =
      "func @f(%x: view<T, R>) -> (" + results + ") {\n  %a = read %x : array<T, R>\n" + body + "}\n";
  return replaced(replaced(text, "R>", std::to_string(rank) + ">"), "T,", name(dtype) + ",");
}

std::vector<DType> dtypes() {
  std::vector<DType> all;
  for (int i = 0; i < base::kDTypeCount; ++i) all.push_back(static_cast<DType>(i));
  return all;
}

TEST(ToLoops, EveryElementwiseOp) {
  for (int i = 0; i < ir::kOpCount; ++i) {
    const auto op = static_cast<ir::Op>(i);
    const ir::OpInfo& card = ir::info(op);
    if (!card.elementwise) continue;
    for (DType dtype : dtypes()) {
      if (!ir::accepts(op, dtype)) continue;
      const std::string given = name(ir::result_dtype(op, dtype));
      const std::string text = replaced(
          "func @f(%x: view<" + name(dtype) + ", 1>, %y: view<" + name(dtype) + ", 1>) -> (view<" + given +
              ", 1>) {\n  %a = read %x : array<" + name(dtype) + ", 1>\n  %b = read %y : array<" +
              name(dtype) + ", 1>\n  %c = " + std::string(card.name) +
              (card.operands == 1 ? " %a" : " %a, %b") + " : array<" + given +
              ", 1>\n  %r = materialize %c : view<" + given + ", 1>\n  return %r\n}\n",
          "\t", "");
      const Comparison comparison(text);
      comparison.check(
          {make_view(dtype, {33}, Layout::Spread, 1), make_view(dtype, {33}, Layout::Reversed, 2)}, text);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ToLoops, CastsAndSelects) {
  for (DType from : dtypes())
    for (DType to : dtypes()) {
      const std::string text =
          of_view(from, 1,
                  "  %c = cast %a : array<" + name(to) + ", 1>\n  %m = cast %a : array<bool, 1>\n" +
                      "  %s = select %m, %c, %c : array<" + name(to) + ", 1>\n  %r = materialize %s : view<" +
                      name(to) + ", 1>\n  return %r\n",
                  "view<" + name(to) + ", 1>");
      Comparison(text).check({make_view(from, {33}, Layout::Contiguous, 3)}, text);
      if (HasFatalFailure()) return;
    }
}

TEST(ToLoops, ReadAndMaterializeOfEveryDtypeAndRank) {
  for (DType dtype : dtypes())
    for (int rank = 0; rank <= 3; ++rank)
      check_shapes(of_view(dtype, rank, "  %r = materialize %a : view<T, R>\n  return %r\n", "view<T, R>"),
                   dtype, rank);
}

TEST(ToLoops, Reductions) {
  for (const char* combiner : {"add", "multiply", "minimum", "maximum", "fmin", "fmax", "bitwise_and",
                               "bitwise_or", "bitwise_xor", "gcd", "lcm"}) {
    const ir::Op op = *ir::op_from_name(combiner);
    for (DType dtype : dtypes()) {
      if (!ir::accepts(op, dtype)) continue;
      const std::string body = std::string("  %r = reduce %a {combiner=") + combiner +
                               ", axes=[0]} : " + name(dtype) + "\n  return %r\n";
      const bool has_identity =
          op != ir::Op::minimum && op != ir::Op::maximum && op != ir::Op::fmin && op != ir::Op::fmax;
      check_shapes(of_view(dtype, 1, body, name(dtype)), dtype, 1, has_identity);
      if (HasFatalFailure()) return;
      if (!has_identity) continue;
      const std::string masked =
          "  %m = cast %a : array<bool, R>\n  %r = reduce %a, %m {combiner=" + std::string(combiner) +
          ", axes=[0]} : " + name(dtype) + "\n  return %r\n";
      check_shapes(of_view(dtype, 1, masked, name(dtype)), dtype, 1);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ToLoops, ReductionsAlongAxes) {
  for (const char* combiner : {"add", "multiply", "minimum"})
    for (DType dtype : {DType::Float64, DType::Float32, DType::Float16, DType::Complex128, DType::Int32})
      for (const char* axes : {"", "0", "1", "2", "0, 1", "0, 2", "1, 2"}) {
        const int dropped = *axes == 0 ? 0 : axes[1] == 0 ? 1 : 2;
        const std::string rank = std::to_string(3 - dropped);
        const std::string body = std::string("  %s = reduce %a {combiner=") + combiner + ", axes=[" + axes +
                                 "]} : array<T, " + rank + ">\n  %r = materialize %s : view<T, " + rank +
                                 ">\n  return %r\n";
        check_shapes(of_view(dtype, 3, body, "view<T, " + rank + ">"), dtype, 3,
                     std::string_view(combiner) != "minimum");
        if (HasFatalFailure()) return;
      }
}

TEST(ToLoops, ReductionsOfLongAndWideArrays) {
  const std::string body =
      "  %m = cast %a : array<bool, 2>\n  %s = reduce %a {combiner=add, axes=[0]} : array<T, 1>\n"
      "  %l = reduce %a {combiner=maximum, axes=[0]} : array<T, 1>\n"
      "  %t = reduce %a, %m {combiner=add, axes=[0]} : array<T, 1>\n"
      "  %q = square %a : array<T, 2>\n  %w = reduce %q {combiner=add, axes=[0, 1]} : T_\n"
      "  %x1 = materialize %s : view<T, 1>\n  %x2 = materialize %l : view<T, 1>\n"
      "  %x3 = materialize %t : view<T, 1>\n  return %x1, %x2, %x3, %w\n";
  for (DType dtype : {DType::Float64, DType::Float16, DType::Complex64, DType::Int32}) {
    const std::string text =
        replaced(of_view(dtype, 2, body, "view<T, 1>, view<T, 1>, view<T, 1>, T_"), "T_", name(dtype));
    const Comparison comparison(text);
    for (const Lengths& lengths : {Lengths{2100, 17}, {40, 130}, {300, 9}, {3, 2050}, {1024, 8}})
      for (Layout layout : kLayouts)
        comparison.check({make_view(dtype, lengths, layout, 7)}, text + std::to_string(lengths[0]));
    if (HasFatalFailure()) return;
  }
}

TEST(ToLoops, ScansAndArgReductions) {
  for (DType dtype : dtypes()) {
    for (const char* combiner : {"add", "multiply", "maximum"})
      for (int axis = 0; axis < 2; ++axis) {
        const std::string body = std::string("  %s = scan %a {combiner=") + combiner +
                                 ", axis=" + std::to_string(axis) +
                                 "} : array<T, R>\n  %r = materialize %s : view<T, R>\n" + "  return %r\n";
        check_shapes(of_view(dtype, 2, body, "view<T, R>"), dtype, 2);
      }
    for (const char* combiner : {"minimum", "maximum"}) {
      const std::string all =
          std::string("  %r = arg_reduce %a {combiner=") + combiner + ", axis=-1} : i64\n  return %r\n";
      check_shapes(of_view(dtype, 2, all, "i64"), dtype, 2, false);
      check_shapes(of_view(dtype, 1, all, "i64"), dtype, 1, false);
      const std::string one =
          std::string("  %s = arg_reduce %a {combiner=") + combiner +
          ", axis=1} : array<i64, 1>\n  %r = materialize %s : view<i64, 1>\n  return %r\n";
      check_shapes(of_view(dtype, 2, one, "view<i64, 1>"), dtype, 2, false);
    }
    if (HasFatalFailure()) return;
  }
}

TEST(ToLoops, SortsAndGathers) {
  for (DType dtype : dtypes())
    for (int rank = 1; rank <= 2; ++rank) {
      const std::string axis = std::to_string(rank - 1);
      const std::string body =
          "  %s = sort %a {axis=0, stable=1} : array<T, R>\n  %o = argsort %a {axis=" + axis +
          ", stable=1} : array<i64, R>\n  %g = gather %a, %o {axes=[" + axis + "]} : array<T, " +
          std::to_string(2 * rank - 1) + ">\n  %q = materialize %s : view<T, R>\n" +
          "  %p = materialize %o : view<i64, R>\n  return %q, %p\n";
      check_shapes(of_view(dtype, rank, body, "view<T, R>, view<i64, R>"), dtype, rank);
      if (HasFatalFailure()) return;
    }
}

TEST(ToLoops, Rearrangements) {
  const std::string body =
      "  %n = length %x {axis=0} : i64\n  %m = length %x {axis=1} : i64\n  %0 = constant 0 : i64\n"
      "  %1 = constant 1 : i64\n  %2 = constant 2 : i64\n  %b = add %a, %a : array<T, R>\n"
      "  %half = floor_divide %m, %2 : i64\n  %last = subtract %n, %1 : i64\n  %minus = constant -1 : i64\n"
      "  %c = transpose %b {axes=[1, 0]} : array<T, R>\n"
      "  %d = slice %c, %0, %half, %2, %last, %n, %minus : array<T, R>\n"
      "  %e = expand %d {axes=[0]} : array<T, 3>\n  %g = broadcast %e, %2, %half, %n : array<T, 3>\n"
      "  %h = add %g, %g : array<T, 3>\n  %k = squeeze %e {axes=[0]} : array<T, R>\n"
      "  %size = multiply %n, %m : i64\n  %l = reshape %b, %size : array<T, 1>\n"
      "  %q = reshape %c, %size : array<T, 1>\n  %o = add %l, %q : array<T, 1>\n"
      "  %i = iota %half, %n {axis=1} : array<i64, 2>\n  %j = cast %i : array<T, 2>\n"
      "  %p = add %k, %j : array<T, 2>\n  %vt = transpose %x {axes=[1, 0]} : view<T, R>\n"
      "  %vs = slice %vt, %0, %half, %2, %last, %n, %minus : view<T, R>\n"
      "  %ve = expand %vs {axes=[1]} : view<T, 3>\n  %vb = broadcast %ve, %half, %2, %n : view<T, 3>\n"
      "  %vr = read %vb : array<T, 3>\n  %r1 = materialize %h : view<T, 3>\n"
      "  %r2 = materialize %o : view<T, 1>\n  %r3 = materialize %p : view<T, 2>\n"
      "  %r4 = materialize %vr : view<T, 3>\n  return %r1, %r2, %r3, %r4\n";
  for (DType dtype : dtypes())
    check_shapes(of_view(dtype, 2, body, "view<T, 3>, view<T, 1>, view<T, 2>, view<T, 3>"), dtype, 2, false);
}

TEST(ToLoops, ConcatAndCompress) {
  for (DType dtype : dtypes())
    for (int axis = 0; axis < 2; ++axis) {
      const std::string body = "  %z = concat %a, %a, %a {axis=" + std::to_string(axis) +
                               "} : array<T, R>\n  %m = cast %z : array<bool, R>\n"
                               "  %c = compress %z, %m : array<T, 1>\n"
                               "  %q = reduce %m {combiner=bitwise_or, axes=[1]} : array<bool, 1>\n"
                               "  %d = compress %z, %q : array<T, R>\n  %r = materialize %c : view<T, 1>\n"
                               "  %s = materialize %d : view<T, R>\n  %t = materialize %z : view<T, R>\n"
                               "  return %r, %s, %t\n";
      check_shapes(of_view(dtype, 2, body, "view<T, 1>, view<T, R>, view<T, R>"), dtype, 2);
    }
}

TEST(ToLoops, Scatter) {
  for (DType dtype : dtypes())
    for (const char* combiner : {"constant", "add", "minimum"}) {
      // Each column twice, from the end, read from the target.
      const std::string body =
          std::string("  %n = length %x {axis=1} : i64\n  %2 = constant 2 : i64\n") +
          "  %w = concat %a, %a {axis=1} : array<T, 2>\n  %m = multiply %n, %2 : i64\n" +
          "  %i = iota %m {axis=0} : array<i64, 1>\n  %h = floor_divide %i, %2 : array<i64, 1>\n" +
          "  %t = transpose %w {axes=[1, 0]} : array<T, 2>\n" + "  scatter %x, %t, %h {combiner=" + combiner +
          ", axes=[1]}\n  return\n";
      const Comparison comparison(of_view(dtype, 2, body, ""));
      for (const Lengths& lengths : shapes(2))
        for (Layout layout : {Layout::Contiguous, Layout::Reversed, Layout::Transposed})
          comparison.check({make_view(dtype, lengths, layout, 5)}, comparison.text());
      if (HasFatalFailure()) return;
    }
}

TEST(ToLoops, Dot) {
  struct Product {
    const char *left, *right, *result;
    Lengths a, b;
  };
  const Product products[] = {{"1", "1", "T", {33}, {33}},
                              {"1", "1", "T", {0}, {0}},
                              {"2", "1", "array<T, 1>", {5, 33}, {33}},
                              {"1", "2", "array<T, 1>", {33}, {33, 5}},
                              {"2", "2", "array<T, 2>", {5, 33}, {33, 7}},
                              {"2", "2", "array<T, 2>", {5, 0}, {0, 7}},
                              {"3", "3", "array<T, 3>", {3, 5, 33}, {3, 33, 2}}};
  for (DType dtype : dtypes())
    for (const Product& p : products)
      for (Layout layout : kLayouts) {
        const std::string result(p.result);
        const bool scalar = result == "T";
        const std::string view = scalar ? "T" : "view" + result.substr(5);
        std::string text =
            "func @f(%x: view<T, L>, %y: view<T, M>) -> (" + view +
            ") {\n  %a = read %x : array<T, L>\n  %b = read %y : array<T, M>\n  %d = dot %a, %b : " + result +
            "\n" + (scalar ? "" : "  %r = materialize %d : " + view + "\n") +
            (scalar ? "  return %d\n}\n" : "  return %r\n}\n");
        text = replaced(replaced(text, "L>", std::string(p.left) + ">"), "M>", std::string(p.right) + ">");
        text = replaced(replaced(text, "<T,", "<" + name(dtype) + ","), " T", " " + name(dtype));
        text = replaced(text, "(T)", "(" + name(dtype) + ")");
        Comparison(text).check({make_view(dtype, p.a, layout, 1), make_view(dtype, p.b, Layout::Spread, 2)},
                               text);
        if (HasFatalFailure()) return;
      }
}

/// Programs of f64 views `x` and `y`, both of the same memory with some overlap.
TEST(ToLoops, WritesToWhatIsRead) {
  const char* bodies[] = {
      // x[1:] = x[:-1] + 1
      "%s = slice %x, %1, %less, %1 : view<f64, 1>\n  %t = slice %x, %0, %less, %1 : view<f64, 1>\n"
      "  %r = read %t : array<f64, 1>\n  %p = add %r, %c : array<f64, 1>\n  write %s, %p",
      // x[:] = x[::-1]
      "%m = constant -1 : i64\n  %t = slice %x, %less, %n, %m : view<f64, 1>\n  %r = read %t : array<f64, "
      "1>\n"
      "  write %x, %r",
      // x[:] = x + 1, in place
      "%r = read %x : array<f64, 1>\n  %p = add %r, %c : array<f64, 1>\n  write %x, %p",
      // x[:] = y + x
      "%r = read %x : array<f64, 1>\n  %q = read %y : array<f64, 1>\n  %p = add %r, %q : array<f64, 1>\n"
      "  write %x, %p",
      // old = x; x[:] = 1; y[:] = old
      "%r = read %x : array<f64, 1>\n  write %x, %c\n  write %y, %r",
      // t = sin(x); x[0] = 1; y[:] = t
      "%r = read %x : array<f64, 1>\n  %p = sin %r : array<f64, 1>\n  store %x, %0, %c\n  write %y, %p",
      // t = x + 1; for k: x[k] = y[0]; y[:] = t
      "%r = read %x : array<f64, 1>\n  %p = add %r, %c : array<f64, 1>\n  for %n {schedule=serial, width=0} "
      "{\n"
      "  ^(%k: i64):\n    %z = load %y, %0 : f64\n    store %x, %k, %z\n    yield\n  }\n  write %y, %p",
      // for k: y[:] = t; x[k] = 1, t = x + 1 outside
      "%r = read %x : array<f64, 1>\n  %p = add %r, %c : array<f64, 1>\n  for %n {schedule=serial, width=0} "
      "{\n"
      "  ^(%k: i64):\n    write %y, %p\n    store %x, %k, %c\n    yield\n  }",
      // x[x.argsort()] = x
      "%r = read %x : array<f64, 1>\n  %o = argsort %r {axis=0, stable=1} : array<i64, 1>\n"
      "  scatter %x, %r, %o {combiner=constant, axes=[0]}",
      // the transpose of a square in place
      "%three = constant 3 : i64\n  %v = slice %x, %0, %nine, %1 : view<f64, 1>\n"
      "  %q = reshape %v, %three, %three : view<f64, 2>\n  %r = read %q : array<f64, 2>\n"
      "  %t = transpose %r {axes=[1, 0]} : array<f64, 2>\n  write %q, %t",
      // old = x under an if
      "%r = read %x : array<f64, 1>\n  %p = add %r, %c : array<f64, 1>\n  %g = less %0, %n : bool\n  if %g "
      "{\n"
      "    store %x, %0, %c\n    write %y, %p\n    yield\n  } {\n    yield\n  }\n  write %x, %p",
  };
  for (const std::string body : bodies) {
    const std::string text =
        "func @f(%x: view<f64, 1>, %y: view<f64, 1>) -> () {\n  %0 = constant 0 : i64\n  %1 = constant 1 : "
        "i64\n"
        "  %nine = constant 9 : i64\n  %c = constant 1.0 : f64\n  %n = length %x {axis=0} : i64\n"
        "  %less = subtract %n, %1 : i64\n  " +
        body + "\n  return\n}\n";
    const Comparison comparison(text);
    for (int64_t length : {9, 33, 1025}) {
      ir::ViewValue x = make_view(DType::Float64, {length + 7}, Layout::Contiguous, 1);
      x.lengths[0] = length;
      ir::ViewValue y = x;
      for (int64_t shift : {0, 1, 7}) {
        y.offset = 8 * shift;
        comparison.check({x, y}, text);
        comparison.check({y, x}, text);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(ToLoops, LibraryRoutinesFillViews) {
  const std::string text = R"(
func @f(%x: view<f64, 2>, %e: view<i64, 1>, %n: i64) -> (view<f64, 2>, view<u64, 1>, i32) {
  %a = read %x : array<f64, 2>
  %t = transpose %a {axes=[1, 0]} : array<f64, 2>
  %s, %b = library %t, %a {routine="matmul", catches=1} : (i32, array<f64, 2>)
  %c = read %e : array<i64, 1>
  %r = library %c, %n, %n {routine="default_rng", catches=0} : array<u64, 1>
  %p = materialize %b : view<f64, 2>
  %q = materialize %r : view<u64, 1>
  return %p, %q, %s
}
)";
  // Stand-ins for the routines: the sum of what a and b have in C order, and 0, 1, 2, ...
  ir::Externals externals;
  externals.library = [](std::string_view routine, std::span<const ir::Value> operands,
                         std::vector<ir::Value>& results, ir::Raised&) {
    std::vector<double> elements;
    const auto read = [](const ir::Value& value, size_t i) {
      const auto* view = std::get_if<ir::ViewValue>(&value);
      double element = 0;
      std::memcpy(
          &element,
          (view ? view->block->data : std::get<std::shared_ptr<const ir::ArrayValue>>(value)->data.data()) +
              8 * i,
          8);
      return element;
    };
    const bool solves = routine == "matmul";
    const size_t count = solves ? 9 : 4;
    for (size_t i = 0; i < count; ++i)
      elements.push_back(solves ? read(operands[0], i) + 2 * read(operands[1], i) : static_cast<double>(i));
    const auto* bytes = reinterpret_cast<const std::byte*>(elements.data());
    if (const auto* view = std::get_if<ir::ViewValue>(&operands.back())) {
      std::memcpy(view->block->data + view->offset, bytes, 8 * count);
      return true;
    }
    ir::ArrayValue made{solves ? DType::Float64 : DType::UInt64,
                        solves ? Lengths{3, 3} : Lengths{4},
                        {bytes, bytes + 8 * count}};
    results.push_back(std::make_shared<const ir::ArrayValue>(std::move(made)));
    return true;
  };
  const Comparison comparison(text);
  comparison.check({make_view(DType::Float64, {3, 3}, Layout::Reversed, 1),
                    make_view(DType::Int64, {2}, Layout::Reversed, 2), base::Scalar::of<int64_t>(4)},
                   comparison.text(), {.externals = &externals});
}

TEST(ToLoops, ArraysThatControlFlowCarries) {
  const std::string text = R"(
func @f(%x: view<f64, 1>, %n: i64, %c: bool) -> (view<f64, 1>, view<f64, 1>, view<f64, 1>) {
  %a = read %x : array<f64, 1>
  %one = constant 1.0 : f64
  %b = add %a, %one : array<f64, 1>
  %zero = constant 0 : i64
  %i = if %c : array<f64, 1> {
    yield %a
  } {
    %s = sin %b : array<f64, 1>
    yield %s
  }
  %l = for %n, %b {schedule=serial, width=0} : array<f64, 1> {
  ^(%k: i64, %p: array<f64, 1>):
    %q = add %p, %i : array<f64, 1>
    write %x, %q
    yield %q
  }
  %w, %v = while %n, %l : (i64, array<f64, 1>) {
  ^(%m: i64, %e: array<f64, 1>):
    %g = less %zero, %m : bool
    %d = multiply %e, %e : array<f64, 1>
    yield %g, %m, %d
  } {
  ^(%m: i64, %e: array<f64, 1>):
    %u = constant 1 : i64
    %t = subtract %m, %u : i64
    %o = some %e : optional<array<f64, 1>>
    %y = value %o : array<f64, 1>
    %h = add %y, %a : array<f64, 1>
    yield %t, %h
  }
  %z = block : array<f64, 1> {
  ^(%label: label):
    if %c {
      exit %label, %v
    } {
      yield
    }
    yield %b
  }
  %r1 = materialize %i : view<f64, 1>
  %r2 = materialize %l : view<f64, 1>
  %r3 = materialize %z : view<f64, 1>
  return %r1, %r2, %r3
}
)";
  const Comparison comparison(text);
  for (int64_t length : {0, 1, 33})
    for (int64_t n : {0, 1, 3})
      for (bool c : {false, true})
        comparison.check({make_view(DType::Float64, {length}, Layout::Spread, 4), base::Scalar::of(n),
                          base::Scalar::of(c)},
                         comparison.text());
}

}  // namespace
}  // namespace ingot::transform
