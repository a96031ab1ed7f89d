#include "frontend/unrolled.h"

#include "frontend/kinds/value_kind.h"

namespace ingot::frontend {

namespace {

constexpr size_t kMostIterations = 20'000;
constexpr size_t kMostOps = 16'000;

}  // namespace

Evaluator::Unrolled::Unrolled(Evaluator& evaluator, const Value& iterated, nb::handle node)
    : e_(evaluator), iterated_(iterated), node_(node) {
  Unrolling& all = e_.unrolling_;
  if (all.depth++ > 0) return;
  all.builder = e_.builder_.get();
  all.first = e_.builder_->mark().nodes;
}

Evaluator::Unrolled::~Unrolled() {
  Unrolling& all = e_.unrolling_;
  if (all.depth == 1) all.ops += made();
  --all.depth;
}

size_t Evaluator::Unrolled::made() const {
  const Unrolling& all = e_.unrolling_;
  const size_t now = e_.builder_.get() == all.builder ? e_.builder_->mark().nodes : 0;
  return now > all.first ? now - all.first : 0;
}

void Evaluator::Unrolled::iteration() {
  Unrolling& all = e_.unrolling_;
  if (++all.iterations > kMostIterations) refuse("20 000 iterations");
  if (all.ops + made() > kMostOps) refuse("16 000 operations");
}

void Evaluator::Unrolled::refuse(const std::string& amount) {
  const std::string words = iterated_.is<Range>() ? "" : kind_of_value(iterated_).words(e_, iterated_);
  e_.unsupported(
      node_, "unrolling " + (words.empty() ? "loops" : "a loop over " + words) + " to more than " + amount,
      "iterate over an array, such as np.array(...) of the numbers, instead of a tuple, list or text that is "
      "known when compiling");
}

}  // namespace ingot::frontend
