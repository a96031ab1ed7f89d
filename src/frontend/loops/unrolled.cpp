#include "frontend/loops/unrolled.h"

#include "frontend/kinds/value_kind.h"
#include "frontend/tracer/errors.h"

namespace ingot::frontend {

namespace {

constexpr size_t kMostIterations = 20'000;
constexpr size_t kMostOps = 16'000;

}  // namespace

Unrolled::Unrolled(Tracer& t, const Value& iterated, nb::handle node)
    : t_(t), iterated_(iterated), node_(node) {
  Unrolling& all = t_.unrolling;
  if (all.depth++ > 0) return;
  all.builder = t_.builder.get();
  all.first = t_.builder->mark().nodes;
}

Unrolled::~Unrolled() {
  Unrolling& all = t_.unrolling;
  if (all.depth == 1) all.ops += made();
  --all.depth;
}

size_t Unrolled::made() const {
  const Unrolling& all = t_.unrolling;
  const size_t now = t_.builder.get() == all.builder ? t_.builder->mark().nodes : 0;
  return now > all.first ? now - all.first : 0;
}

void Unrolled::iteration() {
  Unrolling& all = t_.unrolling;
  if (++all.iterations > kMostIterations) refuse("20 000 iterations");
  if (all.ops + made() > kMostOps) refuse("16 000 operations");
}

void Unrolled::refuse(const std::string& amount) {
  const std::string words = iterated_.is<Range>() ? "" : kind_of_value(iterated_).words(t_, iterated_);
  unsupported(
      t_, node_,
      "unrolling " + (words.empty() ? "loops" : "a loop over " + words) + " to more than " + amount,
      "iterate over an array, such as np.array(...) of the numbers, instead of a tuple, list or text that is "
      "known when compiling");
}

}  // namespace ingot::frontend
