#include "frontend/unrolled.h"

namespace ingot::frontend {

namespace {

constexpr size_t kMostTurns = 20'000;
constexpr size_t kMostOps = 16'000;

}  // namespace

Evaluator::Unrolled::Unrolled(Evaluator& evaluator, const Value& walked, nb::handle node)
    : e_(evaluator), walked_(walked), node_(node) {
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

void Evaluator::Unrolled::turn() {
  Unrolling& all = e_.unrolling_;
  if (++all.turns > kMostTurns) refuse("20 000 iterations");
  if (all.ops + made() > kMostOps) refuse("16 000 operations");
}

void Evaluator::Unrolled::refuse(const std::string& amount) {
  const std::string words = walked_.is<Range>() ? "" : e_.words_of(walked_);
  e_.unsupported(
      node_, "unrolling " + (words.empty() ? "loops" : "a loop over " + words) + " to more than " + amount,
      "walk an array, such as np.array(...) of the numbers, instead of a tuple, list or text that is "
      "known when compiling");
}

}  // namespace ingot::frontend
