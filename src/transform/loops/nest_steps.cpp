#include "transform/loops/nest_steps.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "ir/directives.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/analyses/disjoint.h"
#include "transform/writers/loop_writer.h"

namespace ingot::transform {

namespace {

/// Loops of more iterations are not written out.
constexpr int64_t kMostWrittenOut = 64;
/// Nor are loops that become more nodes.
constexpr int64_t kMostNodes = 8192;

bool has_name(const Function& f, NodeId node, std::string_view name) {
  return is_open(f, node) && ir::loop_name(f, node) == name;
}

/// What writes loops.
class Step : public Rewriter {
 public:
  explicit Step(const Function& source) : Rewriter(source), loops_(b_) {}

 protected:
  /// Writes a loop named `name`, at the location of another one; `body` gives what the iteration yields.
  using Body = std::function<Nodes(NodeId index, std::span<const NodeId> carried)>;
  Nodes loop(NodeId like, std::string_view name, NodeId count, std::span<const NodeId> inits,
             std::span<const int64_t> attributes, const Body& body) {
    const ir::SpanId before = b_.span();
    Nodes operands{count};
    operands.insert(operands.end(), inits.begin(), inits.end());
    std::vector<Type> types{ir::kInt64};
    for (const NodeId init : inits) types.push_back(b_.function().type(init));
    const ir::SpanId location = named_location(source_, like, name);
    b_.set_span(location);
    const NodeId made = b_.begin(Op::for_, operands, attributes);
    const Nodes entered = b_.enter(made, 0, types);
    const Nodes next = body(entered[0], std::span(entered).subspan(1));
    b_.set_span(location);
    b_.yield(next);
    Nodes given = b_.end(made);
    b_.set_span(before);
    return given;
  }
  /// What an iteration of a loop of the source yields, its index and what it carries being bound.
  Nodes iteration(NodeId loop, NodeId index, std::span<const NodeId> carried) {
    const RegionId body = source_.region(loop);
    const auto parameters = source_.region_parameters(body);
    bind(parameters[0], index);
    for (size_t i = 0; i < carried.size(); ++i) bind(parameters[i + 1], carried[i]);
    visit_body(body);
    return use_all(source_.operands(source_.terminator(body)));
  }
  void bind_results(NodeId loop, const Nodes& given) {
    for (size_t i = 0; i < given.size(); ++i) bind(source_.result(loop, i), given[i]);
  }
  std::vector<int64_t> attributes_of(NodeId loop) const {
    return {source_.attributes(loop).begin(), source_.attributes(loop).end()};
  }

  LoopWriter loops_;
};

class Changer : public Rewriter {
 public:
  Changer(const Function& source, const std::function<Change(NodeId)>& change) : Rewriter(source) {
    ir::walk(source, source.body(), [&](NodeId node) {
      if (is_open(source, node)) changes_[node.index] = change(node);
    });
  }

 protected:
  void set_location(NodeId id) override {
    Rewriter::set_location(id);
    const auto found = changes_.find(id.index);
    if (found != changes_.end() && !found->second.name.empty())
      b_.set_span(named_location(source_, id, found->second.name));
  }
  void set_attributes(NodeId id, std::span<int64_t> attributes) override {
    const auto found = changes_.find(id.index);
    if (found != changes_.end() && found->second.is_independent) make_independent(attributes);
  }

 private:
  std::map<uint32_t, Change> changes_;
};

class LayoutGuard : public Step {
 public:
  LayoutGuard(const Function& source, const Nodes& nests) : Step(source), nests_(nests) {}

 protected:
  void visit(NodeId id) override {
    if (is_inside_ || std::ranges::find(nests_, id) == nests_.end()) return clone(id);
    const auto version = [&](bool is_named) {
      is_inside_ = true;
      is_named_ = is_named;
      set_location(id);
      clone(id);
      is_inside_ = false;
    };
    if (writes_shared_argument(id)) return version(false);
    const Layouts layouts = written_layouts(source_, id);
    if (!layouts.known) {
      refuse_directive(source_, id,
                       "the loop " + quoted(ir::loop_name(source_, id)) +
                           ", in which something is written whose layout is known there alone,",
                       "make views of arrays before the loop");
    }
    if (layouts.views.empty()) return clone(id);
    const NodeId disjoint =
        are_disjoint(loops_, source_, layouts.views, [this](NodeId old) { return use(old); });
    write_versions(id, disjoint, [&] { version(true); }, [&] { version(false); });
  }
  void set_location(NodeId id) override {
    Rewriter::set_location(id);
    if (is_inside_ && !is_named_ && is_open(source_, id)) b_.set_span(named_location(source_, id, ""));
  }

 private:
  /// Whether a nest may write memory that two parameters are of.
  bool writes_shared_argument(NodeId nest) const {
    const auto parameters = source_.region_parameters(source_.body());
    std::map<uint32_t, int> views;
    for (size_t i = 0; i < parameters.size(); ++i)
      if (source_.type(parameters[i]).is_view()) ++views[source_.parameters()[i].alias_set];
    return std::ranges::any_of(views, [&](const auto& entry) {
      return entry.second > 1 &&
             may_write(source_, source_.region(nest), {Root::Kind::Parameter, entry.first});
    });
  }

  const Nodes& nests_;
  bool is_inside_ = false;
  bool is_named_ = false;
};

class Splitter : public Step {
 public:
  Splitter(const Function& source, const ir::Directive& directive) : Step(source), directive_(directive) {}

 protected:
  void visit(NodeId id) override {
    if (!has_name(source_, id, directive_.loops[0])) return clone(id);
    const NodeId count = use(source_.operand(id, 0));
    const NodeId number = b_.index(directive_.number);
    const Function& made = b_.function();
    const bool is_known = made.is_constant(count);
    const bool divides = is_known && made.constant(count).as<int64_t>() % directive_.number == 0;
    const Nodes inits = use_all(source_.operands(id).subspan(1));
    std::vector<int64_t> inner = attributes_of(id);
    const ir::Schedule own = ir::schedule_of(source_, id);
    if (ir::has_threads(own)) {
      inner[0] = static_cast<int64_t>(ir::is_shown_independent(own) ? ir::Schedule::Independent
                                                                    : ir::Schedule::Serial);
    }
    const auto block = [&](NodeId index, std::span<const NodeId> carried) {
      const NodeId first = loops_.multiply(index, number);
      const NodeId rest = divides ? number : loops_.minimum(loops_.subtract(count, first), number);
      return loop(id, directive_.loops[2], rest, carried, inner,
                  [&](NodeId within, std::span<const NodeId> values) {
                    return iteration(id, loops_.add(first, within), values);
                  });
    };
    bind_results(
        id, loop(id, directive_.loops[1], loops_.ceiling(count, number), inits, attributes_of(id), block));
  }

 private:
  const ir::Directive& directive_;
};

/// The loop directly in another one, which holds nothing else that has regions; none: there is no such.
NodeId only_loop_in(const Function& f, NodeId loop) {
  NodeId inner;
  for (const NodeId node : f.region_body(f.region(loop))) {
    if (f[node].region_count == 0) continue;
    if (inner || f.op(node) != Op::for_) return {};
    inner = node;
  }
  return inner;
}

/// Whether a node between two loops of a nest may be computed in the innermost one.
bool may_move_in(const Function& f, NodeId nest, NodeId node) {
  const Op op = f.op(node);
  if (op == Op::yield || op == Op::result) return true;
  if (op == Op::load) return !may_write(f, f.region(nest), root_of(f, f.operand(node, 0)));
  return ir::info(op).effects.pure();
}

class Reorderer : public Step {
 public:
  Reorderer(const Function& source, const ir::Directive& directive, const Check& check)
      : Step(source), directive_(directive), check_(check), is_between_(source.node_count()) {}

 protected:
  void visit(NodeId id) override {
    const auto& names = directive_.loops;
    const bool begins =
        is_open(source_, id) && std::ranges::find(names, ir::loop_name(source_, id)) != names.end();
    if (!begins) return clone(id);
    const Nodes nest = nest_of(source_, id, names);
    const std::vector<size_t> order = order_of(nest);
    check_(source_, nest, order);
    for (size_t i = 0; i + 1 < nest.size(); ++i) {
      for (const NodeId node : source_.region_body(source_.region(nest[i]))) {
        if (node != nest[i + 1] && source_.op(node) != Op::yield) {
          between_.push_back(node);
          is_between_[node.index] = true;
        }
      }
    }
    nest_ = nest;
    compute_known();
    write(order, 0);
    between_.clear();
  }

 private:
  std::vector<size_t> order_of(const Nodes& nest) const {
    std::vector<size_t> order(nest.size());
    std::iota(order.begin(), order.end(), size_t{0});
    auto next = directive_.loops.begin();
    for (size_t& place : order) {
      if (std::ranges::find(directive_.loops, name_of(nest[place])) == directive_.loops.end()) continue;
      place = static_cast<size_t>(
          std::ranges::find_if(nest, [&](NodeId loop) { return name_of(loop) == *next; }) - nest.begin());
      ++next;
    }
    return order;
  }
  std::string_view name_of(NodeId loop) const { return ir::loop_name(source_, loop); }

  /// Computes what is between the loops of the nest, as far as it is known; a loop's count has to be.
  void compute_known() {
    for (const NodeId node : between_) {
      if (!is_between_[node.index] ||
          !std::ranges::all_of(source_.operands(node), [&](NodeId operand) { return is_known(operand); }))
        continue;
      set_location(node);
      clone(node);
      is_between_[node.index] = false;
    }
  }
  bool is_known(NodeId value) const {
    if (is_between_[value.index]) return false;
    return std::ranges::none_of(nest_, [&](NodeId loop) {
      return source_.region_parameters(source_.region(loop))[0] == value &&
             std::ranges::find(entered_, loop) == entered_.end();
    });
  }

  void write(std::span<const size_t> order, size_t depth) {
    if (depth == order.size()) {
      visit_body(source_.region(nest_.back()));
      return;
    }
    const NodeId old = nest_[order[depth]];
    const NodeId count = source_.operand(old, 0);
    if (!is_known(count)) {
      refuse_directive(source_, old,
                       "the order " + listed(order) + ", as the number of iterations of " +
                           quoted(name_of(old)) + " depends on a loop that is inside it then,",
                       "keep the loops that it depends on outside");
    }
    loop(old, name_of(old), use(count), {}, source_.attributes(old),
         [&](NodeId index, std::span<const NodeId>) {
           bind(source_.region_parameters(source_.region(old))[0], index);
           entered_.push_back(old);
           compute_known();
           write(order, depth + 1);
           entered_.pop_back();
           return Nodes();
         });
  }
  std::string listed(std::span<const size_t> order) const {
    std::string all;
    for (const size_t i : order) all += (all.empty() ? "" : ", ") + quoted(name_of(nest_[i]));
    return all;
  }

  const ir::Directive& directive_;
  const Check& check_;
  Nodes nest_;                    ///< that is being written
  Nodes between_;                 ///< what is between its loops, in order
  std::vector<bool> is_between_;  ///< by node: it is, and has not been computed
  Nodes entered_;                 ///< loops of the nest that are open
};

class Fuser : public Step {
 public:
  Fuser(const Function& source, const ir::Directive& directive)
      : Step(source), directive_(directive), is_early_(source.node_count()) {}

 protected:
  void visit(NodeId id) override {
    if (is_early_[id.index]) return;
    if (id == inner_) return void(visit_body(source_.region(id)));
    if (!has_name(source_, id, directive_.loops[0])) return clone(id);
    const NodeId inner = inner_of(id);
    const NodeId zero = b_.index(0);
    const NodeId outer_count = loops_.maximum(use(source_.operand(id, 0)), zero);
    compute_before(id, inner, source_.operand(inner, 0));
    const NodeId inner_count = loops_.maximum(use(source_.operand(inner, 0)), zero);
    const NodeId total = loops_.multiply(outer_count, inner_count);
    loop(id, directive_.loops[2], total, {}, attributes_of_both(id, inner),
         [&](NodeId index, std::span<const NodeId>) {
           bind(source_.region_parameters(source_.region(id))[0],
                b_.make(Op::floor_divide, {index, inner_count}));
           bind(source_.region_parameters(source_.region(inner))[0],
                b_.make(Op::remainder, {index, inner_count}));
           inner_ = inner;
           visit_body(source_.region(id));
           return Nodes();
         });
  }

 private:
  std::string both() const { return quoted(directive_.loops[0]) + " and " + quoted(directive_.loops[1]); }
  NodeId inner_of(NodeId id) const {
    const NodeId inner = only_loop_in(source_, id);
    if (!inner || !has_name(source_, inner, directive_.loops[1])) {
      refuse_directive(source_, id,
                       "one loop of " + both() + ", which are not directly in one another in this order,",
                       "reorder them first, and fuse loops between which nothing else is done");
    }
    return nest_of(source_, id, std::span(directive_.loops.data(), 2)).back();
  }
  /// Computes before the loops what the number of iterations of the inner one is made of.
  void compute_before(NodeId id, NodeId inner, NodeId value) {
    if (!source_.encloses(id, value) || is_early_[value.index]) return;
    if (source_.op(value) == Op::param || !ir::info(source_.op(value)).effects.pure()) {
      refuse_directive(source_, inner,
                       "one loop of " + both() +
                           ", where the second has another number of iterations in each of the first,",
                       "fuse loops of which the inner one always has as many iterations");
    }
    for (const NodeId operand : source_.operands(value)) compute_before(id, inner, operand);
    set_location(value);
    clone(value);
    is_early_[value.index] = true;
  }
  /// Iterations of the one loop are independent if those of both are.
  std::vector<int64_t> attributes_of_both(NodeId outer, NodeId inner) const {
    const ir::Schedule a = ir::schedule_of(source_, outer);
    const ir::Schedule b = ir::schedule_of(source_, inner);
    const bool are_independent = ir::is_shown_independent(a) && ir::is_shown_independent(b);
    const ir::Schedule shared = ir::has_threads(a) || ir::has_threads(b) ? ir::Schedule::IndependentThreads
                                                                         : ir::Schedule::Independent;
    return {static_cast<int64_t>(are_independent ? shared : ir::Schedule::Serial), 0};
  }

  const ir::Directive& directive_;
  std::vector<bool> is_early_;  ///< by node of the loops: computed before them
  NodeId inner_;                ///< of the two that are being written
};

}  // namespace

bool is_open(const Function& f, NodeId node) { return f.op(node) == Op::for_ && ir::width_of(f, node) == 0; }

ir::SpanId named_location(const Function& f, NodeId node, std::string_view name) {
  if (!f[node].span) return {};
  ir::Module& module = f.module();
  ir::Span span = module.span(f[node].span);
  span.loops = name.empty() ? ir::TextId() : module.text(name);
  return module.span(span);
}

void refuse_directive(const Function& f, NodeId at, const std::string& reason, const std::string& advice,
                      std::span<const NodeId> locations) {
  base::Unsupported refusal(f.module().location(f[at].span), "a schedule with " + reason, advice);
  refusal.sites = f.module().sites(f[at].span);
  for (const NodeId node : locations) refusal.quoted.push_back(f.module().sites(f[node].span));
  throw base::Unsupported(std::move(refusal));
}

std::unique_ptr<Function> change_loops(const Function& function,
                                       const std::function<Change(NodeId)>& change) {
  return Changer(function, change).run();
}

std::unique_ptr<Function> guard_layouts(const Function& function, const Nodes& nests) {
  return LayoutGuard(function, nests).run();
}

std::unique_ptr<Function> split_loops(const Function& function, const ir::Directive& directive) {
  return Splitter(function, directive).run();
}

Nodes nest_of(const Function& f, NodeId outermost, std::span<const std::string> names) {
  Nodes nest;
  size_t found = 0;
  for (NodeId at = outermost;;) {
    nest.push_back(at);
    if (f.result_count(at) > 0) {
      refuse_directive(f, at,
                       "another order of " + quoted(ir::loop_name(f, at)) +
                           ", which carries a value from one iteration to the next,",
                       "keep it where it is, or add into an element of an array");
    }
    found += static_cast<size_t>(std::ranges::count(names, ir::loop_name(f, at)));
    if (found == names.size()) break;
    const NodeId inner = only_loop_in(f, at);
    const auto missing = std::ranges::find_if(names, [&](const std::string& name) {
      return std::ranges::none_of(nest, [&](NodeId loop) { return ir::loop_name(f, loop) == name; });
    });
    if (!inner || !is_open(f, inner)) {
      refuse_directive(f, at,
                       "the loops " + quoted(ir::loop_name(f, outermost)) + " and " + quoted(*missing) +
                           ", between which more is done than to run a loop,",
                       "name loops of which each holds the next and nothing else");
    }
    at = inner;
  }
  for (size_t i = 0; i + 1 < nest.size(); ++i) {
    for (const NodeId node : f.region_body(f.region(nest[i]))) {
      if (node != nest[i + 1] && !may_move_in(f, outermost, node)) {
        refuse_directive(f, node,
                         "the loops " + quoted(ir::loop_name(f, nest[i])) + " and " +
                             quoted(ir::loop_name(f, nest[i + 1])) + ", between which {} is done,",
                         "put it into a loop before or after them, or into the innermost one", {{node}});
      }
    }
  }
  return nest;
}

std::unique_ptr<Function> reorder_loops(const Function& function, const ir::Directive& directive,
                                        const Check& check) {
  return Reorderer(function, directive, check).run();
}

std::unique_ptr<Function> fuse_loops(const Function& function, const ir::Directive& directive) {
  return Fuser(function, directive).run();
}

namespace {

/// The number of iterations that a loop has but for the last time, if its count is that or what is left.
std::optional<int64_t> most_of(const Function& f, NodeId loop) {
  const NodeId count = f.operand(loop, 0);
  if (f.op(count) != Op::minimum || !f.is_constant(f.operand(count, 1))) return std::nullopt;
  return f.constant(f.operand(count, 1)).as<int64_t>();
}

/// Makes two versions of the nest in the region of the count of a loop: where it has all of its iterations,
/// and where not, in which the loop has no name.
class Versioner : public Step {
 public:
  Versioner(const Function& source, NodeId loop, int64_t most)
      : Step(source), loop_(loop), count_(source.operand(loop, 0)), most_(most) {
    nest_ = loop;
    while (source[nest_].parent != source[count_].parent) nest_ = source[source[nest_].parent].owner;
  }

 protected:
  void visit(NodeId id) override {
    if (id != nest_ || is_inside_) return clone(id);
    is_inside_ = true;
    const NodeId count = use(count_);
    const auto version = [&](bool is_whole) {
      is_whole_ = is_whole;
      bind(count_, is_whole ? b_.index(most_) : count);
      set_location(id);
      clone(id);
    };
    write_versions(id, loops_.equal(count, b_.index(most_)), [&] { version(true); }, [&] { version(false); });
    bind(count_, count);
    is_inside_ = false;
  }
  void set_location(NodeId id) override {
    Rewriter::set_location(id);
    if (id == loop_ && is_inside_ && !is_whole_) b_.set_span(named_location(source_, id, ""));
  }

 private:
  NodeId loop_;
  NodeId count_;
  int64_t most_;
  NodeId nest_;
  bool is_inside_ = false;
  bool is_whole_ = false;
};

class Unroller : public Step {
 public:
  Unroller(const Function& source, const std::set<std::string>& names) : Step(source), names_(names) {}

 protected:
  void visit(NodeId id) override {
    if (!is_open(source_, id) || !names_.contains(std::string(ir::loop_name(source_, id)))) return clone(id);
    const NodeId count = source_.operand(id, 0);
    const int64_t number = source_.is_constant(count) ? source_.constant(count).as<int64_t>() : -1;
    if (number < 0 || number > kMostWrittenOut) {
      refuse_directive(source_, id,
                       "the iterations of " + quoted(ir::loop_name(source_, id)) + " written out, " +
                           (number < 0 ? "whose number is not known when compiling,"
                                       : "which are more than " + std::to_string(kMostWrittenOut) + ","),
                       "unroll it by a number: `unroll(name, 4)`");
    }
    if (size_of(id) > kMostNodes) {
      refuse_directive(source_, id,
                       "the iterations of " + quoted(ir::loop_name(source_, id)) +
                           " written out, which are more than " + std::to_string(kMostNodes) +
                           " operations with those of the loops inside,",
                       "write out fewer iterations, or fewer loops");
    }
    Nodes values = use_all(source_.operands(id).subspan(1));
    for (int64_t i = 0; i < number; ++i) values = iteration(id, b_.index(i), values);
    bind_results(id, values);
  }

 private:
  /// The nodes that a node and what is in it become, or a number beyond the most.
  int64_t size_of(NodeId id) const {
    int64_t size = 1;
    for (size_t i = 0; i < source_[id].region_count && size <= kMostNodes; ++i)
      for (const NodeId node : source_.region_body(source_.region(id, i))) size += size_of(node);
    if (!is_open(source_, id) || !names_.contains(std::string(ir::loop_name(source_, id)))) return size;
    const NodeId count = source_.operand(id, 0);
    const int64_t number = source_.is_constant(count) ? source_.constant(count).as<int64_t>() : 1;
    return std::min(size, kMostNodes + 1) * std::clamp<int64_t>(number, 0, kMostWrittenOut);
  }

  const std::set<std::string>& names_;
};

}  // namespace

std::unique_ptr<Function> unroll_loops(const Function& function, const std::set<std::string>& names) {
  std::unique_ptr<Function> made;
  for (;;) {
    const Function& f = made ? *made : function;
    NodeId found;
    int64_t most = 0;
    ir::walk(f, f.body(), [&](NodeId node) {
      const bool is_named = is_open(f, node) && names.contains(std::string(ir::loop_name(f, node)));
      const std::optional<int64_t> bound = is_named ? most_of(f, node) : std::nullopt;
      if (!bound) return ir::Walk::Into;
      found = node;
      most = *bound;
      return ir::Walk::Stop;
    });
    if (!found) return Unroller(f, names).run();
    made = Versioner(f, found, most).run();
  }
}

}  // namespace ingot::transform
