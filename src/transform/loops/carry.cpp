// Elements that loops carry (`carry`). An element that each iteration of a loop loads and stores - `C[i, j]
// += A[i, k] * B[k, j]` in the loop over k - is loaded before the loop, carried as a value, and stored after
// it, if the loop touches nothing else that may be that element, and nothing in it raises or sees memory: the
// same operations in the same order. It is then a reduction as any other, which lanes and `jam` know.
//
// A loop without iterations touches no element, which may not be there. Where neither the count nor an access
// before the loop shows that it is, all is done in an `if`: around the loops around whose iterations do
// nothing else, so that these stay nests.

#include "transform/loops/carry.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ir/index_sum.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/analyses/disjoint.h"
#include "transform/writers/loop_writer.h"

namespace ingot::transform {

namespace {

/// Values that are carried take registers, which other values need.
constexpr size_t kMostElements = 16;

/// An element of a view by its index nodes.
struct Element {
  NodeId view;
  Nodes indices;
  bool operator==(const Element&) const = default;
};

Element element_at(const Function& f, NodeId access) {
  const auto operands = f.operands(access);
  const size_t end = f.op(access) == Op::store ? operands.size() - 1 : operands.size();
  return {operands[0], Nodes(operands.begin() + 1, operands.begin() + static_cast<ptrdiff_t>(end))};
}

/// Whether two elements of one view differ along an axis by a number that is known.
bool are_different(const Function& f, const Element& a, const Element& b) {
  for (size_t axis = 0; axis < a.indices.size(); ++axis) {
    const ir::IndexSum own = ir::index_sum(f, a.indices[axis]), other = ir::index_sum(f, b.indices[axis]);
    if (own.terms == other.terms && own.constant != other.constant) return true;
  }
  return false;
}

/// What a loop carries.
struct Plan {
  std::vector<Element> elements;
  std::vector<bool> before;  ///< by node: computed before the loop, for the indices
  NodeId around;             ///< the loop around that the `if` goes around; none: no `if` is needed
};

class Judge {
 public:
  Judge(const Function& function, NodeId loop)
      : f_(function), loop_(loop), body_(f_.region(loop)), same_(f_.node_count()) {}

  std::optional<Plan> plan() {
    const bool is_plain = f_.op(loop_) == Op::for_ && ir::schedule_of(f_, loop_) == ir::Schedule::Serial &&
                          ir::width_of(f_, loop_) == 0 && f_.op(f_.terminator(body_)) == Op::yield;
    const NodeId count = f_.operand(loop_, 0);
    const bool runs = !f_.is_constant(count) || f_.constant(count).as<int64_t>() > 0;
    if (!is_plain || !runs || !collect()) return std::nullopt;
    Plan plan;
    for (const NodeId access : accesses_) {
      const Element element = element_at(f_, access);
      const bool is_first = std::ranges::find(plan.elements, element) == plan.elements.end();
      if (is_first && f_.op(access) == Op::load && is_carried(element)) plan.elements.push_back(element);
    }
    if (plan.elements.empty() || plan.elements.size() > kMostElements) return std::nullopt;
    plan.before.resize(f_.node_count());
    for (const Element& element : plan.elements)
      for (const NodeId index : element.indices) want(index, plan.before);
    if (!is_there(plan.elements)) plan.around = outermost();
    return plan;
  }

 private:
  /// The accesses of the loop; whether there is nothing else that sees memory or leaves the loop.
  bool collect() {
    const ir::Effects allowed = ir::effect::Read | ir::effect::Write;
    return ir::walk(f_, body_, [&](NodeId node) {
      const Op op = f_.op(node);
      const bool is_access = op == Op::load || op == Op::store;
      if (is_access) accesses_.push_back(node);
      if (f_[node].region_count > 0)
        return ir::is_counted_loop(op) || op == Op::if_ ? ir::Walk::Into : ir::Walk::Stop;
      const ir::Effects effects = ir::info(op).effects;
      if (!is_access && !effects.pure() && op != Op::yield && (effects.bits & ~allowed.bits) != 0)
        return ir::Walk::Stop;
      if (!is_access && (effects.bits & allowed.bits) != 0) return ir::Walk::Stop;
      same_[node.index] =
          f_[node].parent == body_ && effects.pure() && op != Op::result &&
          std::ranges::all_of(f_.operands(node), [&](NodeId value) { return is_same(value); });
      return ir::Walk::Into;
    });
  }
  /// Whether a value is the same in all iterations.
  bool is_same(NodeId value) const {
    return same_[value.index] || f_.is_constant(value) || !f_.encloses(loop_, value);
  }

  /// Whether each iteration loads and stores an element, and touches nothing else that may be it.
  bool is_carried(const Element& element) const {
    if (f_.encloses(loop_, element.view)) return false;
    if (!std::ranges::all_of(element.indices, [&](NodeId index) { return is_same(index); })) return false;
    const Root memory = root_of(f_, element.view);
    bool is_stored = false;
    for (const NodeId access : accesses_) {
      const Element other = element_at(f_, access);
      if (other == element) {
        if (f_[access].parent != body_) return false;
        is_stored = is_stored || f_.op(access) == Op::store;
      } else if (other.view == element.view) {
        if (!are_different(f_, element, other) || !stands_once(f_, loop_, element.view)) return false;
      } else if (may_overlap(f_, memory, root_of(f_, other.view))) {
        return false;
      }
    }
    return is_stored;
  }

  void want(NodeId value, std::vector<bool>& before) const {
    if (!same_[value.index] || before[value.index]) return;
    before[value.index] = true;
    for (const NodeId operand : f_.operands(value)) want(operand, before);
  }

  /// Whether the loop has iterations, or what is done before it touches the elements.
  bool is_there(const std::vector<Element>& elements) const {
    const NodeId count = f_.operand(loop_, 0);
    if (f_.is_constant(count)) return true;
    return std::ranges::all_of(elements, [&](const Element& element) {
      for (const NodeId node : f_.region_body(f_[loop_].parent)) {
        if (node == loop_) return false;
        const Op op = f_.op(node);
        if ((op == Op::load || op == Op::store) && element_at(f_, node) == element) return true;
      }
      return false;
    });
  }

  /// The outermost loop around that knows the count, of loops that do nothing but run the one inside.
  NodeId outermost() const {
    const NodeId count = f_.operand(loop_, 0);
    NodeId at = loop_;
    for (;;) {
      const RegionId region = f_[at].parent;
      const NodeId owner = f_[region].owner;
      if (!owner || f_.op(owner) != Op::for_ || f_.result_count(owner) > 0 || ir::is_careful(f_, owner))
        return at;
      if (f_.encloses(owner, count)) return at;
      const bool does_more = std::ranges::any_of(f_.region_body(region), [&](NodeId node) {
        return node != at && f_.op(node) != Op::yield && f_.op(node) != Op::result &&
               (f_[node].region_count > 0 || !ir::info(f_.op(node)).effects.pure());
      });
      if (does_more) return at;
      at = owner;
    }
  }

  const Function& f_;
  NodeId loop_;
  RegionId body_;
  std::vector<bool> same_;  ///< by node of the body: pure, of values that are the same in all iterations
  Nodes accesses_;
};

class Carrier : public Rewriter {
 public:
  explicit Carrier(const Function& source) : Rewriter(source), loops_(b_), is_before_(source.node_count()) {
    ir::walk(source, source.body(), [&](NodeId node) {
      if (source.op(node) == Op::launch) return ir::Walk::Past;
      if (source.op(node) != Op::for_) return ir::Walk::Into;
      std::optional<Plan> plan = Judge(source, node).plan();
      if (!plan) return ir::Walk::Into;
      if (plan->around) guarded_[plan->around.index].push_back(node);
      plans_.emplace(node.index, std::move(*plan));
      return ir::Walk::Past;
    });
  }
  bool any() const { return !plans_.empty(); }

 protected:
  void visit(NodeId id) override {
    if (is_before_[id.index]) return;
    if (!current_.empty() && access(id)) return;
    if (is_careful_) return clone(id);
    if (guarded_.contains(id.index)) return guard(id);
    write(id);
  }
  void set_attributes(NodeId id, std::span<int64_t> attributes) override {
    if (!is_careful_ || source_.op(id) != Op::for_) return;
    attributes[0] = static_cast<int64_t>(ir::Schedule::Vector);
    attributes[1] = 1;
  }

 private:
  void write(NodeId id) {
    const auto plan = plans_.find(id.index);
    if (plan == plans_.end()) return clone(id);
    write_loop(id, plan->second);
  }

  /// The loops where all of them have iterations, else as they were.
  void guard(NodeId around) {
    const Nodes inside = std::exchange(guarded_[around.index], {});
    guarded_.erase(around.index);
    NodeId all = b_.constant(true);
    Nodes counts;
    for (const NodeId loop : inside) {
      const NodeId count = use(source_.operand(loop, 0));
      if (std::ranges::find(counts, count) != counts.end()) continue;
      counts.push_back(count);
      all = loops_.both(all, loops_.less(b_.index(0), count));
    }
    const auto as_it_was = [&] {
      is_careful_ = true;
      clone(around);
      is_careful_ = false;
    };
    write_versions(around, all, [&] { write(around); }, as_it_was);
  }

  void write_loop(NodeId loop, const Plan& plan) {
    const ir::SpanId location = b_.span();
    const RegionId body = source_.region(loop);
    for (const NodeId node : source_.region_body(body)) {
      if (!plan.before[node.index]) continue;
      clone(node);
      is_before_[node.index] = true;
    }
    Nodes operands = use_all(source_.operands(loop));
    const size_t own = operands.size();
    const auto place = [&](const Element& element) {
      return std::pair(use(element.view), use_all(element.indices));
    };
    for (const Element& element : plan.elements) {
      const auto [view, indices] = place(element);
      operands.push_back(loops_.load(view, indices));
    }
    std::vector<Type> types{ir::kInt64};
    for (size_t i = 1; i < operands.size(); ++i) types.push_back(b_.function().type(operands[i]));
    const NodeId made = b_.begin(Op::for_, operands, source_.attributes(loop));
    const Nodes entered = b_.enter(made, 0, types);
    const auto parameters = source_.region_parameters(body);
    for (size_t i = 0; i < own; ++i) bind(parameters[i], entered[i]);
    elements_ = plan.elements;
    current_.assign(entered.begin() + static_cast<ptrdiff_t>(own), entered.end());
    visit_body(body);
    Nodes next = use_all(source_.operands(source_.terminator(body)));
    next.insert(next.end(), current_.begin(), current_.end());
    current_.clear();
    b_.set_span(location);
    b_.yield(next);
    const Nodes given = b_.end(made);
    const Nodes results = source_.results_of(loop);
    for (size_t i = 0; i < results.size(); ++i) bind(results[i], given[i]);
    for (size_t i = 0; i < plan.elements.size(); ++i) {
      const auto [view, indices] = place(plan.elements[i]);
      loops_.store(view, indices, given[results.size() + i]);
    }
    for (const NodeId node : source_.region_body(body)) is_before_[node.index] = false;
  }

  /// Deals with a node that loads or stores an element that is carried.
  bool access(NodeId id) {
    const Op op = source_.op(id);
    if (op != Op::load && op != Op::store) return false;
    const auto found = std::ranges::find(elements_, element_at(source_, id));
    if (found == elements_.end()) return false;
    NodeId& value = current_[static_cast<size_t>(found - elements_.begin())];
    if (op == Op::load) bind(id, value);
    else value = use(source_.operands(id).back());
    return true;
  }

  LoopWriter loops_;
  std::map<uint32_t, Plan> plans_;     ///< by loop
  std::map<uint32_t, Nodes> guarded_;  ///< by the loop that an `if` goes around: the loops inside with plans
  std::vector<bool> is_before_;        ///< by node: computed before the loop that is being written
  std::vector<Element> elements_;      ///< of the loop that is being written
  Nodes current_;                      ///< their values; empty: no loop is
  bool is_careful_ = false;            ///< iterations run one by one, as they were
};

}  // namespace

std::unique_ptr<ir::Function> carry(const ir::Function& function) {
  Carrier carrier(function);
  return carrier.any() ? carrier.run() : nullptr;
}

}  // namespace ingot::transform
