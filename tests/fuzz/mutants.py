"""Faults to plant in the compiler, each an expression that becomes another one: what the fuzzer must find.

`tools/mutants` builds a copy of the sources in which every one of them can be chosen, and counts the programs until the
fuzzer's first find.
"""

import dataclasses
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Mutant:
    file: str
    """Below src/."""
    place: str
    """A text that is once in the file."""
    old: str
    """An expression that is once in it."""
    new: str
    breaks: str


MUTANTS = (
    # Ranges, and checks that are left out or made early.
    Mutant("transform/analyses/intervals.cpp", "always_in_order(wanted ? op : *ir::info(op).opposite, ", "*ir::info(op).opposite", "op",
           "the opposite of a comparison"),
    Mutant("transform/analyses/intervals.cpp", "return Interval{b_.index(0), loops_.subtract(iterations, b_.index(1)), count->holds};",
           "b_.index(1)", "b_.index(2)", "the largest index of a loop, one too low"),
    Mutant("transform/analyses/intervals.cpp", "made.low = corner(a->low, b->high);", "b->high", "b->low",
           "the lower bound of a difference"),
    Mutant("transform/analyses/intervals.cpp", "const NodeId worst_a = rises ? x->high : x->low;", "rises ? x->high : x->low",
           "rises ? x->low : x->high", "the wrong end of an interval is compared"),
    Mutant("transform/analyses/intervals.cpp", "made.high = move(made.high, std::max<int64_t>(growth->most, 0));",
           "std::max<int64_t>(growth->most, 0)", "int64_t{0}", "a counter that grows is taken for one that does not"),
    Mutant("transform/analyses/intervals.cpp", "return Interval{b_.index(0), loops_.subtract(by, b_.index(1)), positive};",
           "loops_.subtract(by, b_.index(1))", "b_.index(0)", "the largest remainder of a division"),
    Mutant("transform/loops/checks.cpp", "all = loops_.both(all, *holds);", "loops_.both(all, *holds)", "all",
           "what must hold where a check is left out is not asked"),
    Mutant("transform/loops/checks.cpp", "if (source_.op(id) == Op::select) bind(id, use(source_.operand(id, 2)));",
           "source_.operand(id, 2)", "source_.operand(id, 1)", "an index from the end where it is one from the front"),
    Mutant("transform/loops/checks.cpp", "if (early.is_around(phase, node)) any = loops_.either",
           "early.is_around(phase, node)", "false", "early checks in branches are forgotten"),
    Mutant("transform/analyses/early_checks.cpp", "if (order_[write.index] < order_[load.index]) return true;",
           "order_[write.index] < order_[load.index]", "false", "a value is loaded before the iteration has written it"),
    Mutant("transform/analyses/ranges.cpp", "return range.low >= kLowest && range.high <= kHighest;",
           "range.high <= kHighest", "true", "sums above 64 bits are taken to be exact"),
    Mutant("transform/analyses/ranges.cpp", "const Interval natural{0, kHighest};", "0", "1", "lengths are taken to be at least 1"),
    # Simplification.
    Mutant("transform/functions/simplify.cpp", "ir::effects_of(source_, id).any(kMayWrite);", "kMayWrite",
           "ir::effect::Host | ir::effect::Sync", "what was loaded before a write is used after it"),
    Mutant("transform/functions/simplify.cpp", "if (writes && source_.op(id) != Op::if_ && source_.op(id) != Op::block && !runs_once(id)) loads_.clear();",
           "writes && source_.op(id) != Op::if_ && source_.op(id) != Op::block", "false",
           "what was loaded before a loop is used in its iterations"),
    Mutant("transform/functions/simplify.cpp", "for (; loaded_.size() > loaded_before_.back(); loaded_.pop_back())",
           "loaded_.size() > loaded_before_.back()", "false", "what was loaded in a branch is used after it"),
    Mutant("transform/functions/simplify.cpp", "Nodes operands{arm == 0 ? b_.make(Op::invert", "arm == 0", "arm == 1",
           "a branch that raises becomes the check of its opposite"),
    Mutant("transform/functions/simplify.cpp", "choice(condition, given[0][i], given[1][i])",
           "choice(condition, given[0][i], given[1][i])", "choice(condition, given[1][i], given[0][i])",
           "the arms of a branch change places"),
    Mutant("transform/functions/simplify.cpp", "!ir::info(f.op(combined)).laws.commutative", "!ir::info(f.op(combined)).laws.commutative",
           "false", "`if c: v = x - v` becomes `v -= x if c else 0`"),
    Mutant("transform/functions/simplify.cpp", "checked_.resize(checked_before_.back());", "checked_before_.back()", "checked_.size()",
           "what a branch has checked counts as checked after it"),
    Mutant("transform/functions/dce.cpp", "ir::effect::Read | ir::effect::Allocate | ir::effect::Control;",
           "ir::effect::Read | ir::effect::Allocate | ir::effect::Control",
           "ir::effect::Read | ir::effect::Allocate | ir::effect::Control | ir::effect::Raise", "checks count as dead"),
    Mutant("transform/functions/dce.cpp", "return need_yielded(owner, 1, i);\n      case Op::block", "1", "size_t{0}",
           "what the second arm of a branch gives counts as dead"),
    # Arrays to loops.
    Mutant("transform/analyses/alias.cpp", "if (a == b) return true;", "a == b", "a == b && a.kind != Root::Kind::Parameter",
           "views of one argument are taken to be disjoint"),
    Mutant("transform/analyses/alias.cpp", "return same_region ? unknown.number < fresh.number",
           "unknown.number < fresh.number", "true", "memory that a branch gives is taken to be disjoint from what was made before"),
    Mutant("transform/arrays/elements.cpp", "if (!in_place) held = settled(x);", "!in_place", "false",
           "`a[1:] += a[:-1]` reads what it has written"),
    Mutant("transform/arrays/lower_selections.cpp", "const bool is_disjoint = reads_only_at(operand, NodeId(), root);",
           "reads_only_at(operand, NodeId(), root)", "true", "`a[i] = a[k]` reads what it has written"),
    Mutant("transform/arrays/to_loops.cpp", "if (std::ranges::any_of(nests_, changes_any)) write_outputs();",
           "std::ranges::any_of(nests_, changes_any)", "false", "arrays that wait are computed after their memory has changed"),
    Mutant("transform/arrays/to_loops.cpp", "last_use_[old.index] > order_[id.index] && changes(whole(old).reads)",
           "last_use_[old.index] > order_[id.index] && changes(whole(old).reads)", "false",
           "an array that is evaluated late sees what was written since"),
    Mutant("transform/arrays/fuse.cpp", "return order_.begin[user.index] >= until;", "order_.begin[user.index] >= until", "true",
           "an array is read as it was when it was made"),
    Mutant("transform/arrays/rearrangements.cpp", "all.push_back(loops_.select(same, strides[i], b_.index(0)));",
           "loops_.select(same, strides[i], b_.index(0))", "strides[i]", "a view of an axis of length 1 is not repeated"),
    Mutant("transform/arrays/elements.cpp", "at.push_back(loops_.select(same, indices[added + i], b_.index(0)));",
           "loops_.select(same, indices[added + i], b_.index(0))", "indices[added + i]", "an axis of length 1 is not repeated"),
    Mutant("transform/arrays/elements.cpp", "loops_.multiply(indices[i], use(source_.operand(old, 3 + 3 * i)))",
           "use(source_.operand(old, 3 + 3 * i))", "b_.index(1)", "the step of a slice of what has no memory is lost"),
    Mutant("transform/arrays/flat.cpp", "if (strides[i] != distance) return false;", "strides[i] != distance", "false",
           "a layout with gaps is gone through as one without"),
    Mutant("transform/arrays/lower_selections.cpp", "start = loops_.add(start, whole(x).lengths[axis]);",
           "loops_.add(start, whole(x).lengths[axis])", "start", "concatenated arrays overlap each other"),
    Mutant("transform/arrays/lower_reductions.cpp", "if (source_.operands(r.id).size() > 1) {", "source_.operands(r.id).size() > 1", "false",
           "the mask of a reduction is dropped"),
    # Loops in lanes.
    Mutant("transform/analyses/affine.cpp", "const Polynomial one(1);\n  if (leaves_rest_of_number(sum)) return true;\n  if (search(sum - one, steps_)", "one(1)", "one(0)",
           "iterations that use what the one before has written run together"),
    Mutant("transform/analyses/reductions.cpp", "return leads_to(yielded) && op_ && uses_of(parameter_) == ends_ &&",
           "uses_of(parameter_) == ends_", "true", "a running sum that is used in the loop is taken for a reduction"),
    Mutant("transform/analyses/reductions.cpp", "(is_difference && !first)) return false;", "is_difference && !first", "false",
           "`s = x - s` is taken for a sum"),
    Mutant("codegen/lanes.cpp", ": b_.CreateICmpSLT(b_.CreateStepVector(type), left);",
           "b_.CreateICmpSLT(b_.CreateStepVector(type), left)", "b_.CreateICmpSLE(b_.CreateStepVector(type), left)",
           "one lane too many in the last step"),
    Mutant("codegen/lanes.cpp", "Value* const done = b_.CreateAnd(count, b_.CreateNeg(lanes));",
           "b_.CreateAnd(count, b_.CreateNeg(lanes))", "count", "the last step runs without a mask"),
    Mutant("codegen/reduction.cpp", "return mask == nullptr ? both : scalars_.select(mask, both, before);",
           "mask == nullptr ? both : scalars_.select(mask, both, before)", "both", "a reduction takes in lanes that are masked out"),
    Mutant("codegen/reduction.cpp", "high.push_back(b_.CreateShuffleVector(part, llvm::ArrayRef(order).slice(half, half)));",
           "llvm::ArrayRef(order).slice(half, half)", "llvm::ArrayRef(order).slice(half == kLanes / 2 ? half / 2 : half, half)",
           "lanes are combined in another order, some twice"),
    Mutant("codegen/lane_control.cpp", "lanes_.mask = around == nullptr ? mask : b_.CreateAnd(around, mask);",
           "around == nullptr ? mask : b_.CreateAnd(around, mask)", "mask", "a branch in a branch runs in too many lanes"),
    Mutant("codegen/lane_control.cpp", "emit_arm(source_.region(id, 1), b_.CreateNot(condition))",
           "b_.CreateNot(condition)", "condition", "`else` runs in the lanes of `if`"),
    Mutant("codegen/lane_control.cpp", "if (varies) next = scalars_.select(running, next, carried);", "varies", "false",
           "lanes whose inner loop has ended go on"),
    Mutant("codegen/lane_memory.cpp", "address.step = first ? step : b_.CreateAdd(address.step, step);",
           "first ? step : b_.CreateAdd(address.step, step)", "step", "`a[i, i]` goes along one axis only"),
    # Arithmetic.
    Mutant("codegen/rules_arithmetic.cpp", "return {a.b.CreateSelect(rounds_up(a, q), a.b.CreateAdd(q.rest, q.divisor), q.rest)};",
           "a.b.CreateAdd(q.rest, q.divisor)", "q.rest", "the remainder has the sign of the dividend"),
    Mutant("codegen/rules_arithmetic.cpp", "a.b.CreateICmpUGE(a.re(1), integer(a, a.type()->getScalarSizeInBits()))",
           "a.b.CreateICmpUGE(a.re(1), integer(a, a.type()->getScalarSizeInBits()))",
           "a.b.CreateICmpUGT(a.re(1), integer(a, a.type()->getScalarSizeInBits()))", "a shift by all bits"),
    Mutant("codegen/rules_compare.cpp", "Parts emit_fmin(const RuleArguments& a) {\n  return choose(a, less_equal(a, a.operands[0], a.operands[1]), a.operands[1]);",
           "choose(a, less_equal(a, a.operands[0], a.operands[1]), a.operands[1])",
           "choose(a, less_equal(a, a.operands[0], a.operands[1]), a.operands[0])",
           "fmin gives NaN where one operand is NaN"),
    Mutant("ir/fold.cpp", "evaluate(inner, dtype(), own), f_.constant(at(1))};", "evaluate(inner, dtype(), own)", "own[1]",
           "(x - a) + b becomes x + (a + b)"),
    Mutant("ir/fold.cpp", "return b_.make(*opposite, {f_.operand(at(0), 0), f_.operand(at(0), 1)});", "*opposite", "comparison",
           "not (a < b) becomes a < b"),
    Mutant("ir/fold.cpp", "if (info(op_).laws.idempotent) return at(0);\n  if (!exact_class()) return {};", "!exact_class()", "false",
           "x - x is 0 and x == x is true, of NaN too"),
    Mutant("ir/fold.cpp", "return zero(-0.0) ? if_typed(at(0)) : NodeId();", "zero(-0.0)", "zero(0.0)",
           "-0.0 + 0.0 stays -0.0"),
    # The language.
    Mutant("frontend/kind.cpp", "if (weak == Kind::py_float()) return inexact ? strong : DType::Float64;",
           "inexact ? strong : DType::Float64", "DType::Float64", "a Python float with a float32 makes a float64"),
    Mutant("frontend/arrays/indexing.cpp", "t.builder->make(Op::select, {up, zero, t.builder->index(-1)});", "t.builder->index(-1)", "zero",
           "slices from the end leave out the first element"),
    Mutant("frontend/arrays/indexing.cpp", "t.builder->make(Op::floor_divide, {t.builder->make(Op::subtract, {distance, one}),",
           "t.builder->make(Op::subtract, {distance, one})", "distance", "slices whose step divides their length have one element more"),
    Mutant("frontend/kinds/ranges.cpp", "builder.make(Op::floor_divide, {builder.make(Op::subtract, {from, unit}), by})",
           "builder.make(Op::subtract, {from, unit})", "from", "ranges whose step divides their length have one iteration more"),
    Mutant("frontend/statements/exceptions.cpp", "if (all[i]->is_final()) AtHandler::run_finally(t, *all[i]);", "all[i]->is_final()", "false",
           "`finally` is left out where a `break` or `return` leaves"),
    Mutant("frontend/kinds/list_buffers.cpp", "fork(t, t.builder->make(Op::equal, {room, length}), moved,",
           "t.builder->make(Op::equal, {room, length})", "t.builder->constant(false)", "a list outgrows its memory"),
    Mutant("frontend/kinds/pooled_values.cpp", "Op::not_equal, {record.index, t_.builder->index(Pooled::kNone)}",
           "t_.builder->index(Pooled::kNone)", "t_.builder->index(0)", "the first instance of a class is taken for None"),
    Mutant("frontend/kinds/pooled_values.cpp", "return t_.builder->make(Op::equal, {index_of(a), index_of(b)});",
           "t_.builder->make(Op::equal, {index_of(a), index_of(b)})", "t_.builder->constant(true)",
           "all instances of a class are one"),
    Mutant("frontend/routines/recursion.cpp", "t.builder->make(Op::equal, {number, t.builder->index(static_cast<int64_t>(wanted))})",
           "static_cast<int64_t>(wanted)", "int64_t{1}", "the exception that leaves a recursion is the wrong one"),
)  # fmt: skip


CHOSEN = "INGOT_PLANTED_MUTANT"
"""The variable of the environment that chooses a mutant, by its number from 1 on."""

HEADER = f"""#pragma once

#include <cstdlib>

inline int planted_mutant() {{
  static const int number = [] {{
    const char* const text = std::getenv("{CHOSEN}");
    return text == nullptr ? 0 : std::atoi(text);
  }}();
  return number;
}}
"""
HEADER_FILE = "base/planted_mutant.h"


def text_of(mutant: Mutant) -> str:
    return (ROOT / "src" / mutant.file).read_text()


def planted(all_mutants: tuple[Mutant, ...]) -> dict[str, str]:
    """The sources below src/ in which every mutant can be chosen."""
    texts = {HEADER_FILE: HEADER}
    for number, mutant in enumerate(all_mutants, 1):
        text = texts.get(mutant.file) or f'#include "{HEADER_FILE}"\n' + text_of(mutant)
        choice = f"(planted_mutant() == {number} ? ({mutant.new}) : ({mutant.old}))"
        texts[mutant.file] = text.replace(mutant.place, mutant.place.replace(mutant.old, choice))
    return texts
