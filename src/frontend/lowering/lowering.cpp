#include "frontend/lowering/lowering.h"

#include "frontend/kinds/sets.h"
#include "frontend/lowering/lower.h"
#include "frontend/tracer/frame.h"

namespace ingot::frontend {

namespace {

constexpr int kMostEvaluations = 256;  ///< of a function for which recursion finds more and more facts

}  // namespace

struct Lowering::State {
  Facts facts;
  int evaluations = 0;                     ///< that found that routines are more than was known
  std::optional<base::Refused> refusal{};  ///< the first one, if sets or list buffers were then changed
};

Lowering::Lowering(const Registry& registry, std::unique_ptr<ir::Module> module, nb::object function,
                   Request request)
    : registry_(registry),
      module_(std::move(module)),
      function_(std::move(function)),
      request_(std::move(request)),
      state_(new State{Facts(*module_)}) {}
Lowering::~Lowering() = default;

Lowering::Outcome Lowering::attempt() {
  Tracer t(registry_, *module_, request_, state_->facts);
  std::optional<base::Refused> refusal;
  try {
    return lower(t, function_);
  } catch (NeedsFact& fact) {
    if (fact.is_of_caller()) return std::move(fact);
    if (fact.kind == NeedsFact::Kind::Routines) fact.location = t.result_location;
    refusal = learn(fact);
    if (!refusal) return std::move(fact);
  } catch (const base::Unsupported& error) {
    // Lists of known structure support operations that list buffers do not, and sets of known elements
    // operations that others do not.
    Facts& facts = state_->facts;
    if (!state_->refusal && (try_other_sets(facts.unrolled) || !facts.grown.empty())) {
      state_->refusal = base::with_code(error);
      facts.unrolled.merge(facts.grown);
      facts.grown.clear();
      return NeedsFact{.kind = NeedsFact::Kind::Sets};
    }
    refusal = state_->refusal ? *state_->refusal : base::with_code(error);
  }
  // Strings that are known support operations that their characters do not.
  if (t.has_characters && request_.opens_texts) return NeedsFact::of(-1, {}, NeedsFact::Kind::Characters);
  return *std::move(refusal);
}

/// Why a fact that an evaluation found cannot be learned; none: it has been.
std::optional<base::Refused> Lowering::learn(const NeedsFact& fact) {
  Facts& facts = state_->facts;
  switch (fact.kind) {
    case NeedsFact::Kind::Routines:
      if (++state_->evaluations == kMostEvaluations)
        return base::with_code(base::Unsupported(fact.location,
                                                 "recursion whose arguments do not settle on their types",
                                                 "give them their types before"));
      return std::nullopt;
    case NeedsFact::Kind::Cells: facts.writes.any = true; return std::nullopt;
    default:
      // A loop that has ended has to be unrolled.
      if (!facts.unrolled.insert(fact.site).second)
        return base::with_code(base::Unsupported(fact.location, "a value that must be known when compiling",
                                                 "use a constant, or a loop over a constant range"));
      facts.forget_routines();
      return std::nullopt;
  }
}

void Facts::forget_routines() {
  for (Routine& routine : routines) {
    routine.entry.reset();
    routine.exit.reset();
    routine.errors.clear();
    routine.outcomes.clear();
    routine.makings = {};
    routine.is_forgotten = true;
  }
}

}  // namespace ingot::frontend
