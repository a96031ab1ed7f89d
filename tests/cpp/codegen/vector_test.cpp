#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "../transform/compare.h"
#include "ir/builder.h"
#include "ir/verifier.h"
#include "run.h"

// Random vector loops, compiled for each kind of CPU that this one has, against the interpreter: every dtype,
// lengths about multiples of the width, strides of one element and others, memory between pages that must not
// be touched.

namespace ingot::codegen {
namespace {

using base::DType;
using ir::NodeId;
using ir::Op;
using ir::Type;

constexpr size_t kDTypes = static_cast<size_t>(base::kDTypeCount);

/// Bytes between two pages without access, at the end or at the begin of what is between.
class GuardedMemory {
 public:
  GuardedMemory(size_t size, bool at_end) : size_(size), pages_((size + kPage - 1) / kPage * kPage + kPage) {
    whole_ = static_cast<std::byte*>(
        mmap(nullptr, pages_ + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(whole_ + kPage, pages_, PROT_READ | PROT_WRITE);
    data_ = at_end ? whole_ + kPage + pages_ - size : whole_ + kPage;
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() { munmap(whole_, pages_ + 2 * kPage); }
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  static constexpr size_t kPage = 4096;
  size_t size_;
  size_t pages_;
  std::byte* whole_;
  std::byte* data_;
};

/// f(n, x_d for each dtype, y_d for each dtype): reads x_d, writes y_d, each of n elements; gives the values
/// of reductions.
class RandomLoop {
 public:
  RandomLoop(ir::Module& module, uint64_t seed, int64_t width, bool reduces)
      : module_(module), random_(seed), b_(module, "f"), width_(width), reduces_(reduces) {}

  void build() {
    std::vector<Type> parameters{ir::kInt64};
    n_ = b_.add_parameter(ir::kInt64, {.name = "n"});
    for (size_t i = 0; i < 2 * kDTypes; ++i) {
      parameters.push_back(Type::view(static_cast<DType>(i % kDTypes), 1));
      views_.push_back(
          b_.add_parameter(parameters.back(), {.name = "", .alias_set = static_cast<uint32_t>(i + 1)}));
    }
    std::vector<Type> types;
    std::vector<NodeId> results;
    if (reduces_) {
      results = reduction(types);
    } else {
      const NodeId loop = b_.begin(Op::for_, {&n_, 1}, std::vector<int64_t>{1, width_});
      enter(loop);
      grow(14, 0);
      for (int i = 0; i < 3; ++i) store();
      b_.yield({});
      b_.end(loop);
    }
    b_.terminate(Op::return_, results);
    const ir::FunctionId id = module_.declare("f", parameters, types);
    module_.define(id, b_.finish(types));
  }

 private:
  uint64_t below(uint64_t limit) { return random_() % limit; }
  DType any_dtype() { return static_cast<DType>(below(kDTypes)); }

  void enter(NodeId loop) {
    k_ = b_.enter(loop, 0, std::vector<Type>{ir::kInt64})[0];
    for (int i = 0; i < 4; ++i) load(any_dtype());
    pool_.push_back(k_);
  }
  std::vector<NodeId> reduction(std::vector<Type>& types) {
    constexpr Op kCombiners[] = {Op::add,         Op::multiply,    Op::minimum,    Op::maximum, Op::fmin,
                                 Op::bitwise_and, Op::bitwise_xor, Op::bitwise_or, Op::gcd};
    std::vector<NodeId> operands{n_};
    std::vector<int64_t> attributes{1, width_};
    for (uint64_t i = 0; i < 1 + below(2); ++i) {
      const DType dtype = any_dtype();
      Op combiner = kCombiners[below(std::size(kCombiners))];
      if (!ir::accepts(combiner, dtype) || (base::is_complex(dtype) && combiner == Op::multiply))
        combiner = Op::add;
      types.push_back(Type::scalar(dtype));
      operands.push_back(constant(dtype));
      attributes.push_back(static_cast<int64_t>(combiner));
    }
    const NodeId loop = b_.begin(Op::parallel_for, operands, attributes);
    enter(loop);
    grow(6, 2);
    std::vector<NodeId> given;
    for (Type type : types) given.push_back(pick(type.dtype()));
    b_.yield(given);
    return b_.end(loop);
  }

  NodeId constant(DType dtype) {
    return b_.constant(Type::scalar(dtype), transform::random_element(dtype, random_));
  }
  NodeId pick(DType dtype) {
    std::vector<NodeId> fitting;
    for (NodeId value : pool_)
      if (b_.function().type(value) == Type::scalar(dtype)) fitting.push_back(value);
    if (!fitting.empty() && below(10) != 0) return fitting[below(fitting.size())];
    return below(3) == 0 ? constant(dtype) : load(dtype);
  }
  NodeId load(DType dtype) {
    const NodeId one = b_.index(1);
    NodeId at = k_;
    switch (below(6)) {
      case 0: at = b_.make(Op::subtract, {b_.make(Op::subtract, {n_, one}), k_}); break;
      case 1:
        at = b_.make(Op::remainder, {b_.make(Op::add, {b_.make(Op::multiply, {k_, k_}), one}), n_});
        break;
      case 2: at = b_.index(0); break;
      default: break;
    }
    pool_.push_back(b_.make(Op::load, {views_[static_cast<size_t>(dtype)], at}));
    return pool_.back();
  }
  void store() {
    const DType dtype = any_dtype();
    b_.make(Op::store, {views_[kDTypes + static_cast<size_t>(dtype)], k_, pick(dtype)});
  }

  void grow(int nodes, int depth) {
    for (int i = 0; i < nodes; ++i) switch (below(depth < 2 ? 8 : 5)) {
        case 0: {
          const NodeId from = pick(any_dtype());
          pool_.push_back(b_.cast(from, any_dtype()));
          break;
        }
        case 1: {
          const DType dtype = any_dtype();
          const NodeId condition = pick(DType::Bool);
          const NodeId yes = pick(dtype);
          pool_.push_back(b_.make(Op::select, {condition, yes, pick(dtype)}));
          break;
        }
        case 5: store(); break;
        case 6: branch(depth); break;
        case 7: inner_loop(depth); break;
        default: elementwise(); break;
      }
  }
  void elementwise() {
    const DType dtype = any_dtype();
    std::vector<Op> ops;
    for (int i = 0; i < ir::kOpCount; ++i)
      if (ir::info(static_cast<Op>(i)).elementwise && ir::accepts(static_cast<Op>(i), dtype))
        ops.push_back(static_cast<Op>(i));
    const Op op = ops[below(ops.size())];
    std::vector<NodeId> operands;
    while (operands.size() < ir::info(op).operands) operands.push_back(pick(dtype));
    pool_.push_back(b_.make(op, operands));
  }
  void branch(int depth) {
    const Type type = Type::scalar(any_dtype());
    const NodeId condition = pick(DType::Bool);
    const NodeId node = b_.begin(Op::if_, {&condition, 1}, {}, {&type, 1});
    const size_t visible = pool_.size();
    for (size_t i = 0; i < 2; ++i) {
      b_.enter(node, i, {});
      grow(3, depth + 1);
      b_.yield({pick(type.dtype())});
      pool_.resize(visible);
    }
    pool_.push_back(b_.end(node)[0]);
  }
  void inner_loop(int depth) {
    const Type type = Type::scalar(any_dtype());
    const std::vector<NodeId> operands{b_.index(static_cast<int64_t>(below(4))), pick(type.dtype())};
    const NodeId node = b_.begin(Op::for_, operands, std::vector<int64_t>{0, 0});
    const size_t visible = pool_.size();
    const auto parameters = b_.enter(node, 0, std::vector<Type>{ir::kInt64, type});
    pool_.insert(pool_.end(), parameters.begin(), parameters.end());
    grow(3, depth + 1);
    b_.yield({pick(type.dtype())});
    pool_.resize(visible);
    pool_.push_back(b_.end(node)[0]);
  }

  ir::Module& module_;
  std::mt19937_64 random_;
  ir::Builder b_;
  int64_t width_;
  bool reduces_;
  NodeId n_;
  NodeId k_;
  std::vector<NodeId> views_;
  std::vector<NodeId> pool_;
};

/// The views of one call: all have n elements at a stride of `spread`, negative to run backwards.
struct Arguments {
  Arguments(int64_t count, int64_t spread, bool at_end, std::mt19937_64& random) : n(count), step(spread) {
    for (size_t i = 0; i < 2 * kDTypes; ++i) {
      const auto dtype = static_cast<DType>(i % kDTypes);
      const size_t size = base::size_of(dtype);
      const size_t elements = n == 0 ? 0 : static_cast<size_t>((n - 1) * std::abs(step) + 1);
      memory.push_back(std::make_unique<GuardedMemory>(size * elements, at_end));
      for (size_t k = 0; k < elements; ++k)
        transform::random_element(dtype, random).store(dtype, memory.back()->data() + k * size);
    }
  }
  int64_t first(size_t view) const { return step < 0 && n > 0 ? -step * (n - 1) * size_of(view) : 0; }
  static int64_t size_of(size_t view) {
    return static_cast<int64_t>(base::size_of(static_cast<DType>(view % kDTypes)));
  }

  int64_t n;
  int64_t step;
  std::vector<std::unique_ptr<GuardedMemory>> memory;
};

struct Seen {
  std::vector<base::Scalar> results;
  std::vector<std::vector<std::byte>> memory;
};

Seen interpreted(const ir::Module& module, const Arguments& x) {
  std::vector<ir::Value> values{base::Scalar::of(x.n)};
  std::vector<ir::BlockRef> blocks;
  for (size_t i = 0; i < 2 * kDTypes; ++i) {
    auto block = std::make_shared<ir::MemoryBlock>();
    block->own.assign(x.memory[i]->data(), x.memory[i]->data() + x.memory[i]->size());
    block->data = block->own.data();
    block->size = static_cast<int64_t>(block->own.size());
    blocks.push_back(block);
    values.emplace_back(ir::ViewValue{
        static_cast<DType>(i % kDTypes), block, x.first(i), {x.n}, {x.step * Arguments::size_of(i)}});
  }
  const ir::Outcome outcome = ir::interpret(module, *module.find("f"), values);
  EXPECT_FALSE(outcome.raised);
  Seen seen;
  for (const ir::Value& value : outcome.results) seen.results.push_back(std::get<base::Scalar>(value));
  for (const ir::BlockRef& block : blocks) seen.memory.push_back(block->own);
  return seen;
}

Seen called(Program& program, Arguments& x) {
  const auto results = program.module->signature(*program.module->find("f")).results;
  std::vector<ViewArgument> views(2 * kDTypes);
  std::vector<void*> slots{&x.n};
  for (size_t i = 0; i < views.size(); ++i) {
    views[i] = ViewArgument(x.memory[i]->data(), {x.n}, Arguments::size_of(i));
    views[i].slot.buffer = &views[i].buffer;
    views[i].slot.data += x.first(i);
    views[i].extent[1] = x.step * Arguments::size_of(i);
    slots.push_back(&views[i]);
  }
  alignas(16) std::array<base::Scalar, 4> given{};
  for (size_t i = 0; i < results.size(); ++i) slots.push_back(&given[i]);
  EXPECT_EQ(program.call(slots), 0);
  Seen seen;
  for (size_t i = 0; i < results.size(); ++i)
    seen.results.push_back(
        base::Scalar::load(results[i].dtype(), reinterpret_cast<const std::byte*>(&given[i])));
  for (const auto& memory : x.memory)
    seen.memory.emplace_back(memory->data(), memory->data() + memory->size());
  return seen;
}

bool same(const ir::Module& module, const Seen& a, const Seen& b) {
  const auto results = module.signature(*module.find("f")).results;
  for (size_t i = 0; i < results.size(); ++i)
    if (!transform::same(results[i].dtype(), reinterpret_cast<const std::byte*>(&a.results[i]),
                         reinterpret_cast<const std::byte*>(&b.results[i])))
      return false;
  for (size_t i = 0; i < a.memory.size(); ++i) {
    const auto dtype = static_cast<DType>(i % kDTypes);
    for (size_t at = 0; at < a.memory[i].size(); at += base::size_of(dtype))
      if (!transform::same(dtype, a.memory[i].data() + at, b.memory[i].data() + at)) return false;
  }
  return true;
}

void check_seeds(uint64_t first, uint64_t count, bool reduces) {
  const int host = Target::host().level;
  constexpr std::pair<const char*, int> kTargets[] = {{"scalar", 1}, {"sse", 2}, {"avx2", 3}, {"avx512", 4}};
  constexpr int64_t kWidths[] = {0, 0, 4, 8, 16};
  constexpr int64_t kSteps[] = {1, 1, 2, -1};
  int different = 0;
  int skipped = 0;
  for (uint64_t seed = first; seed < first + count; ++seed)
    for (const auto& [name, level] : kTargets) {
      if (level > host) {
        ++skipped;
        continue;
      }
      const Effort effort = seed % 4 == 3 ? Effort::Quick : Effort::Normal;
      const int64_t width = kWidths[seed % std::size(kWidths)];
      auto module = std::make_unique<ir::Module>();
      RandomLoop(*module, seed, width, reduces).build();
      ir::verify_or_throw(*module->function(*module->find("f")), ir::Stage::Loop, "test");
      Program program(std::move(module), {Target::named(name), {.effort = effort, .verify = true}, false});
      std::mt19937_64 random(seed);
      const auto most = static_cast<uint64_t>(reduces ? 2200 : 3 * (width == 0 ? 16 : width) + 2);
      for (int iteration = 0; iteration < 6; ++iteration) {
        const auto n = static_cast<int64_t>(iteration == 0 ? 0 : random() % most);
        Arguments x(n, kSteps[random() % std::size(kSteps)], iteration % 2 == 0, random);
        const Seen expected = interpreted(*program.module, x);
        if (same(*program.module, expected, called(program, x))) continue;
        if (++different <= 3)
          ADD_FAILURE() << "seed " << seed << " for " << name << ", length " << n << ", step " << x.step
                        << '\n'
                        << ir::print(*program.module);
      }
    }
  EXPECT_EQ(different, 0);
  std::printf("%llu loops, %d targets skipped\n", static_cast<unsigned long long>(count), skipped);
}

/// Narrow numbers together with wide ones: less than a register of them, under a mask of the wide ones'
/// lanes.
TEST(Vectors, NarrowLanesStayInside) {
  constexpr const char* kText = R"(
func @f(%x: view<u8, 1> alias 1, %y: view<f64, 1> alias 2, %z: view<u8, 1> alias 3) -> () {
  %n = length %x {axis=0} : i64
  %half = constant 7 : u8
  for %n {schedule=vector, width=0} {
  ^(%k: i64):
    %a = load %x, %k : u8
    %big = less %half, %a : bool
    if %big {
      %b = load %z, %k : u8
      %c = add %a, %b : u8
      store %z, %k, %c
      yield
    } {
      yield
    }
    %w = cast %a : f64
    store %y, %k, %w
    yield
  }
  return
}
)";
  for (const char* name : {"scalar", "sse", "avx2", "avx512"}) {
    if (Target::named(name).level > Target::host().level) continue;
    Program program(kText, {Target::named(name), {.verify = true}, false});
    for (int64_t n = 0; n < 40; ++n) {
      const auto size = static_cast<size_t>(n);
      const GuardedMemory x(size, true);
      const GuardedMemory y(8 * size, true);
      const GuardedMemory z(size, true);
      for (size_t i = 0; i < size; ++i) x.data()[i] = z.data()[i] = static_cast<std::byte>(i % 15);
      ViewArgument views[] = {{x.data(), {n}, 1}, {y.data(), {n}, 8}, {z.data(), {n}, 1}};
      for (ViewArgument& view : views) view.slot.buffer = &view.buffer;
      ASSERT_EQ(program.call({&views[0], &views[1], &views[2]}), 0);
      for (size_t i = 0; i < size; ++i) {
        const size_t value = i % 15;
        EXPECT_EQ(static_cast<size_t>(z.data()[i]), value > 7 ? 2 * value : value);
        EXPECT_EQ(base::Scalar::load(DType::Float64, y.data() + 8 * i).as<double>(),
                  static_cast<double>(value));
      }
    }
  }
}

TEST(Vectors, LoopsEqualTheInterpreter) { check_seeds(0, 40, false); }
TEST(Vectors, ReductionsEqualTheInterpreter) { check_seeds(5000, 24, true); }

}  // namespace
}  // namespace ingot::codegen
