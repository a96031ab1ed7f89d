#include "transform/kernels/tables.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/analyses/dependence.h"
#include "transform/analyses/from_outside.h"
#include "transform/analyses/table_numbers.h"
#include "transform/analyses/thread_judge.h"
#include "transform/kernels/nest_copies.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

namespace {

/// What is asked of the tables of a loop, and where.
struct Question {
  NodeId loop;
  NodeId before;               ///< the loop, or one around it
  std::vector<Table> named;    ///< whose numbers have to differ
  std::vector<Table> checked;  ///< all of them
  Nodes checks;                ///< that hold in all iterations
  Nodes negatives;             ///< comparisons that show whether one of `named` is below 0
};

class TableJudge {
 public:
  explicit TableJudge(const Function& f) : f_(f) {}

  std::optional<Question> judge(NodeId loop) const {
    if (!is_candidate(loop)) return std::nullopt;
    Question question{.loop = loop, .before = {}, .named = {}, .checked = {}, .checks = {}, .negatives = {}};
    std::vector<Accumulation> meeting;
    const bool races = find_race(f_, loop, meeting, question.named).has_value();
    if (races || !meeting.empty()) question.named.clear();
    question.checked = question.named;
    question.checks = checks_of_tables(f_, loop, question.checked, !question.named.empty());
    if (question.checked.empty() || (question.named.empty() && !are_axes_in(loop))) return std::nullopt;
    find_negatives(question);
    question.before = position_before(question);
    return question.before ? std::optional(std::move(question)) : std::nullopt;
  }

 private:
  bool is_candidate(NodeId loop) const {
    if (f_.op(loop) != Op::for_ || f_.result_count(loop) > 0 || ir::is_careful(f_, loop)) return false;
    if (f_.op(f_.terminator(f_.region(loop))) != Op::yield) return false;
    const ir::Effects effects = ir::effects_of(f_, loop);
    const ir::Effects bad = ir::effect::Exit | ir::effect::Host | ir::effect::Random | ir::effect::Sync;
    if (effects.any(bad) || !effects.any(ir::effect::Write)) return false;
    const NodeId count = f_.operand(loop, 0);
    if (f_.is_constant(count) && f_.constant(count).as<int64_t>() < 2) return false;
    bool has_inner = false;
    bool has_table = false;
    ir::walk(f_, f_.region(loop), [&](NodeId node) {
      has_inner = has_inner || ir::is_loop(f_.op(node)) || f_.op(node) == Op::write;
      has_table = has_table || may_be_number(loop, node);
    });
    return has_inner && has_table;
  }
  bool may_be_number(NodeId loop, NodeId node) const {
    if (f_.op(node) != Op::load || !base::is_int(f_.type(node).dtype())) return false;
    const NodeId view = f_.operand(node, 0);
    return f_.type(view).rank() == 1 && !f_.encloses(loop, view);
  }
  /// Whether all loops in a loop have as many iterations in each of its iterations: else the host runs it.
  bool are_axes_in(NodeId loop) const {
    FromOutside is_same(f_, [&](NodeId value) {
      const bool is_load = f_.encloses(loop, value) && f_.op(value) == Op::load;
      return is_load ? Origin::Operands : origin_in(f_, loop, value);
    });
    return ir::walk(f_, f_.region(loop), [&](NodeId node) {
      const bool is_ragged =
          f_.op(node) == Op::while_ || (ir::is_counted_loop(f_.op(node)) && !is_same(f_.operand(node, 0)));
      return is_ragged ? ir::Walk::Stop : ir::Walk::Into;
    });
  }
  void find_negatives(Question& question) const {
    ir::walk(f_, f_.region(question.loop), [&](NodeId node) {
      const bool is_comparison = f_.op(node) == Op::less && f_.is_constant(f_.operand(node, 1)) &&
                                 f_.constant(f_.operand(node, 1)).bits[0] == 0 &&
                                 f_.type(f_.operand(node, 1)).is_scalar() &&
                                 base::is_int(f_.type(f_.operand(node, 1)).dtype());
      if (!is_comparison || question.named.empty()) return;
      const auto table = table_of_number(f_, question.loop, f_.operand(node, 0));
      if (table && std::ranges::find(question.named, *table) != question.named.end())
        question.negatives.push_back(node);
    });
  }

  /// The outermost loop around, which does not change what is asked, before which it can be; none: the loop
  /// would be asked anew in a loop that is a launch.
  NodeId position_before(const Question& question) const {
    NodeId place = question.loop;
    for (NodeId at = f_[f_[place].parent].owner; at; at = f_[f_[at].parent].owner) {
      if (!ir::is_loop(f_.op(at))) {
        if (f_.op(at) != Op::if_) return {};
        continue;
      }
      if (f_.op(at) == Op::for_ && is_same_in(at, question)) {
        place = at;
        continue;
      }
      if (ir::is_counted_loop(f_.op(at)) && can_share(f_, at)) return {};
      break;
    }
    return place;
  }
  /// Whether what a question is computed from is neither made nor changed in a loop.
  bool is_same_in(NodeId around, const Question& question) const {
    const auto is_outside = [&](NodeId node) { return !f_.encloses(around, node); };
    if (!is_outside(f_.operand(question.loop, 0))) return false;
    for (const Table& table : question.checked) {
      const bool is_known = is_outside(table.view) && std::ranges::all_of(table.bases, is_outside) &&
                            (!table.named || is_outside(table.named));
      if (!is_known || may_write(f_, around, table.view)) return false;
    }
    // What the loop itself makes of the tables' numbers is made anew before the loop around.
    FromOutside is_known(f_, [&](NodeId value) {
      if (f_.op(value) == Op::load) return Origin::Outside;
      const bool is_between = !is_outside(value) && !f_.encloses(question.loop, value);
      return is_between ? Origin::Inside : origin_in(f_, around, value);
    });
    return std::ranges::all_of(question.checks, [&](NodeId check) { return is_known(f_.operand(check, 0)); });
  }

  const Function& f_;
};

class TableVersioner : public Rewriter {
 public:
  explicit TableVersioner(const Function& source) : Rewriter(source), loops_(b_) {
    const TableJudge judge(source);
    // Of loops in each other the outermost one is asked that writes by a table; else the outermost one.
    std::vector<NodeId> taken;
    const auto is_in_taken = [&](NodeId node) {
      return std::ranges::any_of(taken, [&](NodeId loop) {
        return loop == node || source.encloses(loop, node) || source.encloses(node, loop);
      });
    };
    std::vector<Question> others;
    ir::walk(source, source.body(), [&](NodeId node) {
      if (source.op(node) == Op::launch) return ir::Walk::Past;
      auto question = judge.judge(node);
      if (!question) return ir::Walk::Into;
      if (question->named.empty()) {
        others.push_back(std::move(*question));
        return ir::Walk::Into;
      }
      taken.push_back(node);
      questions_.push_back(std::move(*question));
      return ir::Walk::Past;
    });
    for (Question& question : others) {
      if (is_in_taken(question.loop)) continue;
      taken.push_back(question.loop);
      questions_.push_back(std::move(question));
    }
    answers_.resize(questions_.size());
  }
  bool any() const { return !questions_.empty(); }

 protected:
  void visit(NodeId id) override {
    for (size_t i = 0; i < questions_.size(); ++i)
      if (questions_[i].before == id) answers_[i] = ask(questions_[i]);
    if (current_ != nullptr && std::ranges::find(current_->checks, id) != current_->checks.end()) return;
    if (current_ != nullptr && std::ranges::find(current_->negatives, id) != current_->negatives.end())
      return bind(id, b_.constant(false));
    const auto own = std::ranges::find(questions_, id, &Question::loop);
    if (own == questions_.end() || current_ != nullptr || is_as_it_was_) return clone(id);
    write(*own, answers_[static_cast<size_t>(own - questions_.begin())]);
  }
  void set_attributes(NodeId id, std::span<int64_t> attributes) override {
    if (is_careful_ && source_.op(id) == Op::for_) {
      attributes[0] = static_cast<int64_t>(ir::Schedule::Vector);
      attributes[1] = 1;
    }
    if (current_ != nullptr && id == current_->loop && !current_->named.empty()) make_independent(attributes);
  }

 private:
  void write(const Question& question, NodeId answer) {
    const auto without_checks = [&] {
      current_ = &question;
      clone(question.loop);
      current_ = nullptr;
      return Nodes();
    };
    const auto as_it_was = [&] {
      is_as_it_was_ = true;
      is_careful_ = question.named.empty();  // an iteration raises
      clone(question.loop);
      is_as_it_was_ = is_careful_ = false;
      return Nodes();
    };
    loops_.branch(answer, {}, without_checks, as_it_was);
  }

  NodeId ask(const Question& question) {
    const ir::SpanId location = b_.span();
    set_location(question.loop);
    const NodeId iterations = loops_.maximum(use(source_.operand(question.loop, 0)), b_.index(0));
    NodeId are_there = loops_.truth(true);
    std::vector<TableNumbers> numbers;
    for (const Table& table : question.checked) {
      numbers.emplace_back(loops_, table, iterations, [this](NodeId old) { return use(old); });
      are_there = loops_.both(are_there, numbers.back().are_there());
    }
    const auto holds = [&](NodeId iteration) { return holds_in(question, iteration); };
    const auto fails = [&](NodeId iteration) { return loops_.negate(holds(iteration)); };
    const auto look = [&] {
      if (question.named.empty()) return loops_.negate(loops_.any(iterations, fails));
      const auto named = std::span(numbers).first(question.named.size());
      return TableNumbers::name_rows_apart(loops_, named, holds);
    };
    const NodeId answer = loops_.both(are_there, look);
    b_.set_span(location);
    return answer;
  }
  NodeId holds_in(const Question& question, NodeId iteration) {
    NestCopies made(b_, source_, question.loop, [this](NodeId old) { return use(old); });
    NestCopies::Lane lane = made.none();
    lane[source_.region_parameters(source_.region(question.loop))[0].index] = iteration;
    NodeId all = loops_.truth(true);
    for (const NodeId check : question.checks)
      all = loops_.both(all, made.rebuilt(lane, source_.operand(check, 0)));
    return all;
  }

  LoopWriter loops_;
  std::vector<Question> questions_;
  Nodes answers_;
  const Question* current_ = nullptr;
  bool is_as_it_was_ = false;
  bool is_careful_ = false;  ///< iterations run one by one
};

}  // namespace

std::unique_ptr<ir::Function> tables(const ir::Function& function, const base::Machine&) {
  TableVersioner versioner(function);
  return versioner.any() ? versioner.run() : nullptr;
}

}  // namespace ingot::transform
