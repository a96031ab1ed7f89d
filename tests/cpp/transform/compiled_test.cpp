// Array programs through the whole pipeline, against the interpreter at the array stage.

#include "codegen/run.h"
#include "transform/compare.h"

namespace ingot::transform {
namespace {

using base::DType;

codegen::ViewArgument argument(const ir::ViewValue& view) {
  codegen::ViewArgument made(view.block->data, {}, view.block->size);
  made.slot.data += view.offset;
  const size_t rank = view.lengths.size();
  std::copy(view.lengths.begin(), view.lengths.end(), made.extent);
  std::copy(view.strides.begin(), view.strides.end(), made.extent + rank);
  return made;
}

ir::ViewValue value_of(ir::Type type, const codegen::ViewArgument& view) {
  const auto rank = static_cast<ptrdiff_t>(type.rank());
  auto block = std::make_shared<ir::MemoryBlock>();
  block->data = view.slot.data;
  return {type.dtype(), block, 0, std::vector<int64_t>(view.extent, view.extent + rank),
          std::vector<int64_t>(view.extent + rank, view.extent + 2 * rank)};
}

/// Compares results and memory of a call of `@f`, all of whose results are views, on views.
void check_compiled(const std::string& text, std::vector<ir::Value> arguments) {
  const std::unique_ptr<ir::Module> module = ir::parse(text, "test.ir");
  const std::vector<ir::Value> expected = copy_of(arguments);
  const ir::Outcome outcome = ir::interpret(*module, *module->find("f"), expected);
  ASSERT_FALSE(outcome.raised);
  codegen::Program program(text);
  std::vector<codegen::ViewArgument> views;
  views.reserve(arguments.size() + outcome.results.size());
  for (const ir::Value& value : arguments) views.push_back(argument(std::get<ir::ViewValue>(value)));
  views.resize(arguments.size() + outcome.results.size());
  std::vector<void*> slots;
  for (codegen::ViewArgument& view : views) {
    if (slots.size() < arguments.size()) view.slot.buffer = &view.buffer;
    slots.push_back(&view);
  }
  runtime::Call call(program.context);
  ASSERT_EQ(call.run(program.f.entry, slots.data()), 0) << text;
  for (size_t i = 0; i < outcome.results.size(); ++i) {
    const auto& wanted = std::get<ir::ViewValue>(outcome.results[i]);
    const ir::Type type = ir::Type::view(wanted.dtype, static_cast<int>(wanted.lengths.size()));
    const ir::ViewValue given = value_of(type, views[arguments.size() + i]);
    ASSERT_EQ(wanted.lengths, given.lengths) << text;
    expect_same(wanted.dtype, elements_in_order(wanted), elements_in_order(given), text);
  }
  for (size_t i = 0; i < arguments.size(); ++i)
    expect_same(std::get<ir::ViewValue>(arguments[i]).dtype, std::get<ir::ViewValue>(expected[i]).block->own,
                std::get<ir::ViewValue>(arguments[i]).block->own, text);
}

TEST(Compiled, ReductionsScansAndSorts) {
  for (const char* type : {"f64", "f32", "f16", "i32", "c128"}) {
    const DType dtype = *base::dtype_from_name(type);
    const std::string text = replaced(R"(
func @f(%x: view<T, 2>) -> (view<T, 1>, view<T, 0>, view<T, 2>, view<T, 2>, view<T, 1>) {
  %a = read %x : array<T, 2>
  %b = add %a, %a : array<T, 2>
  %r = reduce %b {combiner=add, axes=[1]} : array<T, 1>
  %e = expand %b {axes=[0]} : array<T, 3>
  %m = reduce %e {combiner=multiply, axes=[1, 2]} : array<T, 1>
  %z = squeeze %m {axes=[]} : array<T, 1>
  %0 = constant 0 : i64
  %q = reduce %b {combiner=add, axes=[0, 1]} : T
  %s = broadcast %q : array<T, 0>
  %c = scan %b {combiner=add, axis=0} : array<T, 2>
  %t = sort %b {axis=1, stable=1} : array<T, 2>
  %1 = materialize %r : view<T, 1>
  %2 = materialize %s : view<T, 0>
  %3 = materialize %c : view<T, 2>
  %4 = materialize %t : view<T, 2>
  %5 = materialize %z : view<T, 1>
  return %1, %2, %3, %4, %5
}
)",
                                      "T", type);
    for (const std::vector<int64_t>& lengths :
         std::vector<std::vector<int64_t>>{{0, 3}, {1, 1}, {5, 33}, {3, 2100}})
      check_compiled(text, {make_view(dtype, lengths, Layout::Reversed, 3)});
  }
}

TEST(Compiled, WritesAndSelections) {
  const std::string text = R"(
func @f(%x: view<f64, 1>) -> (view<f64, 1>, view<i64, 1>) {
  %n = length %x {axis=0} : i64
  %0 = constant 0 : i64
  %1 = constant 1 : i64
  %c = constant 1.0 : f64
  %less = subtract %n, %1 : i64
  %s = slice %x, %1, %less, %1 : view<f64, 1>
  %t = slice %x, %0, %less, %1 : view<f64, 1>
  %r = read %t : array<f64, 1>
  %p = add %r, %c : array<f64, 1>
  write %s, %p
  %a = read %x : array<f64, 1>
  %z = constant 0.0 : f64
  %m = less %z, %a : array<bool, 1>
  %k = compress %a, %m : array<f64, 1>
  %o = argsort %k {axis=0, stable=1} : array<i64, 1>
  %g = gather %k, %o {axes=[0]} : array<f64, 1>
  %d = concat %g, %a {axis=0} : array<f64, 1>
  %u = materialize %d : view<f64, 1>
  %v = materialize %o : view<i64, 1>
  return %u, %v
}
)";
  for (int64_t length : {1, 5, 33, 2100})
    for (Layout layout : {Layout::Contiguous, Layout::Spread, Layout::Reversed})
      check_compiled(text, {make_view(DType::Float64, {length}, layout, 3)});
}

}  // namespace
}  // namespace ingot::transform
