// A function is traversed in the order of control flow: after a block or branch comes its continuation, which
// may be built in an arm of a branch. `Join` is such a continuation; `Flow` is where control may go next and
// with what. A branch of which both arms may come to a join ends before it, and gives the number of the path
// that was taken where there are several; what only one arm may come to is built in that arm. So each
// continuation is built once.
//
// Values of different paths share slots: the n-th value of a type of each path. A slot that a path has no
// value for gets one that is available already or a dummy.

#include "transform/functions/lower_exits.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>

#include "ir/walk.h"
#include "transform/writers/dummy.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

namespace {

using Types = std::vector<Type>;

/// The nth value of its type among those of one path.
struct Key {
  Type type;
  size_t nth = 0;
  bool operator==(const Key&) const = default;
};
using Keys = std::vector<Key>;

Keys keys_of(const Types& types) {
  Keys keys;
  for (const Type type : types)
    keys.push_back({type, static_cast<size_t>(std::ranges::count(keys, type, &Key::type))});
  return keys;
}

/// A target in the source where control may go, and what it takes there: the end of a node (its results), of
/// a loop's region (what that yields), or of the function (none).
struct Path {
  NodeId target;
  int64_t number = 0;  ///< 0: control goes on; else which exit
  Types types;
};
using Paths = std::vector<Path>;

/// The slots of several paths.
Keys keys_of(const Paths& paths) {
  Keys all;
  for (const Path& path : paths) {
    for (const Key& key : keys_of(path.types))
      if (std::ranges::find(all, key) == all.end()) all.push_back(key);
  }
  return all;
}

Types slot_types(const Keys& keys) {
  Types types;
  for (const Key& key : keys) types.push_back(key.type);
  return types;
}

/// Where control goes from the end of what is built, and its values in the new function. No paths: nowhere.
struct Flow {
  Paths paths;    ///< by number
  NodeId signal;  ///< the number of the path that is taken; of one path: none
  Keys keys = {};
  Nodes values = {};  ///< by key

  bool ends() const { return paths.empty(); }
  NodeId at(const Key& key) const {
    const auto found = std::ranges::find(keys, key);
    return found == keys.end() ? NodeId() : values[static_cast<size_t>(found - keys.begin())];
  }
  const Path* way_to(NodeId target) const {
    const auto found = std::ranges::find(paths, target, &Path::target);
    return found == paths.end() ? nullptr : &*found;
  }
  Nodes values_to(NodeId target) const {
    Nodes all;
    for (const Key& key : keys_of(way_to(target)->types)) all.push_back(at(key));
    return all;
  }
};

/// A node after whose end control goes on in the region that is built, and the next such node around it.
struct Join {
  NodeId owner;
  const Join* outer;
};

/// What is left to do: where control goes, and the joins that may still be come to.
struct Rest {
  Flow flow;
  const Join* joins;
};

using Targets = std::set<NodeId>;

struct Arm {
  std::function<Flow(const Join*)> build;
  Targets targets;  ///< all that it may come to, and maybe more
};

class ExitLowering : public Rewriter {
 public:
  explicit ExitLowering(const Function& source) : Rewriter(source), leaves_(source.node_count()) {
    for (uint32_t i = 0; i < source.node_count(); ++i) find_exits(NodeId(i));
  }

  bool has_work() const { return has_work_; }

 protected:
  void visit(NodeId id) override {
    if (!is_lowered(id)) return clone(id);
    // With it, all that follows it in its region.
    const RegionId region = source_[id].parent;
    const Flow flow = build(region, index_of(id), nullptr);
    if (flow.ends()) return;
    const NodeId owner = source_[region].owner;
    INGOT_ASSERT(flow.paths.size() == 1, "no exit leads out of the region");
    Nodes values = flow.values_to(owner);
    if (is_test(region)) std::ranges::rotate(values, values.end() - 1);
    b_.terminate(owner ? Op::yield : Op::return_, values);
  }

 private:
  // What is known of the source.

  bool is_lowered(NodeId id) const { return source_.op(id) == Op::block || !leaves_[id.index].empty(); }
  bool is_test(RegionId region) const {
    const NodeId owner = source_[region].owner;
    return owner && source_.op(owner) == Op::while_ && source_.region(owner, 0) == region;
  }
  void find_exits(NodeId id);
  NodeId target_of(NodeId terminator) const;
  Targets targets_in(RegionId region, size_t first = 0) const;
  /// The position of a node in its region.
  size_t index_of(NodeId id) const {
    const std::vector<NodeId>& nodes = source_[source_[id].parent].nodes;
    return static_cast<size_t>(std::ranges::lower_bound(nodes, id) - nodes.begin());
  }
  Targets targets_behind(const Join* join) const {
    return targets_in(source_[join->owner].parent, index_of(join->owner) + 1);
  }
  Types source_types(std::span<const NodeId> nodes) const {
    Types types;
    for (const NodeId node : nodes) types.push_back(source_.type(node));
    return types;
  }
  Paths paths_of(NodeId owner, Types types, const Targets& exits) const;

  // Control between regions.

  const Join* join(NodeId owner, const Join* outer) { return &joins_.emplace_back(owner, outer); }
  Flow build(RegionId region, size_t first, const Join* joins) {
    const Rest rest = walk(region, first, joins);
    return go_on(rest.flow, rest.joins);
  }
  Rest walk(RegionId region, size_t first, const Join* joins);
  Flow go_on(Flow flow, const Join* joins);
  Flow end(NodeId terminator);
  Flow flow_to(NodeId target, Nodes values) const;
  void bind_results(NodeId owner, const Nodes& values) {
    for (size_t i = 0; i < values.size(); ++i) bind(source_.result(owner, i), values[i]);
  }

  // Branches.

  Rest visit_if(NodeId id, const Join* joins);
  Rest split(const Flow& flow, const Join* joins);
  Rest branch(NodeId condition, Arm (&arms)[2], const Join* joins);
  Flow merge(NodeId choice, const Flow (&flows)[2], const RegionId (&open)[2], const ir::Builder::Mark& mark);
  NodeId common_value(const Flow (&flows)[2], const std::function<NodeId(const Flow&)>& value_of) const;
  NodeId signal_of(const Flow& flow) { return flow.signal ? flow.signal : b_.index(flow.paths[0].number); }
  NodeId goes_on(NodeId signal) { return b_.make(Op::equal, {signal, b_.index(0)}); }
  /// The value that a flow has for a slot; else the one of another, or any.
  NodeId value_at(const Key& key, const Flow& flow, const Flow& other = {});
  NodeId any_value(Type type, const Flow& flow);

  // Loops.

  Flow visit_loop(NodeId id) { return source_.op(id) == Op::for_ ? visit_for(id) : visit_while(id); }
  Nodes inits(NodeId loop, const Flow& start, const Flow& state);
  NodeId taken_out(NodeId loop, const Flow& state, const Key& key);
  Flow visit_for(NodeId id);
  Flow visit_while(NodeId id);
  void build_test(NodeId id, const Flow& state, const Paths& results);
  bool test_is_cheap(NodeId id) const;
  void build_cheap_test(NodeId id, const Flow& state, const Paths& results);
  Flow build_iteration(NodeId id, const Flow& state);

  std::vector<Targets> leaves_;        ///< by node: where exits in its regions lead outside of it
  std::map<NodeId, int64_t> numbers_;  ///< of exits, by target
  bool has_work_ = false;
  std::deque<Join> joins_;
  Nodes spares_;  ///< what loops carry where building is, the innermost last
};

NodeId ExitLowering::target_of(NodeId terminator) const {
  switch (source_.op(terminator)) {
    case Op::yield: return source_[source_[terminator].parent].owner;
    case Op::exit_: return source_[source_[source_.operand(terminator, 0)].parent].owner;
    default: return {};
  }
}

void ExitLowering::find_exits(NodeId id) {
  const Op op = source_.op(id);
  if (op == Op::block) has_work_ = true;
  if (op != Op::exit_ && op != Op::return_) return;
  const NodeId target = target_of(id);
  for (NodeId around = source_[source_[id].parent].owner; around != target;
       around = source_[source_[around].parent].owner) {
    leaves_[around.index].insert(target);
    has_work_ = true;
  }
  numbers_.emplace(target, static_cast<int64_t>(numbers_.size()) + 1);
}

/// Where control may go from a region's nodes, from `first` on.
Targets ExitLowering::targets_in(RegionId region, size_t first) const {
  Targets all;
  for (const NodeId id : std::span(source_[region].nodes).subspan(first))
    all.insert(leaves_[id.index].begin(), leaves_[id.index].end());
  const NodeId last = source_.terminator(region);
  const Op op = source_.op(last);
  if (op == Op::yield || op == Op::exit_ || op == Op::return_) all.insert(target_of(last));
  return all;
}

/// The paths from a loop or its region: the one that goes on, and the exits.
Paths ExitLowering::paths_of(NodeId owner, Types types, const Targets& exits) const {
  Paths paths{{owner, 0, std::move(types)}};
  for (const NodeId target : exits) {
    Types own(source_.results().begin(), source_.results().end());
    if (target) own = source_types(source_.results_of(target));
    paths.push_back({target, numbers_.at(target), std::move(own)});
  }
  std::ranges::sort(paths, {}, &Path::number);
  return paths;
}

Flow ExitLowering::flow_to(NodeId target, Nodes values) const {
  Types types;
  for (const NodeId value : values) types.push_back(b_.function().type(value));
  const bool exits = !target || source_.op(target) == Op::block;
  const auto known = numbers_.find(target);
  Flow flow;
  flow.keys = keys_of(types);
  flow.values = std::move(values);
  flow.paths.push_back({target, exits && known != numbers_.end() ? known->second : 0, std::move(types)});
  return flow;
}

/// What a terminator does. The condition that the test of a `while` yields goes last: so the other values
/// have the slots that they have after the loop.
Flow ExitLowering::end(NodeId terminator) {
  const Op op = source_.op(terminator);
  if (op == Op::raise || op == Op::unreachable) {
    terminate(terminator);
    return {};
  }
  const NodeId target = target_of(terminator);
  Nodes values = use_all(source_.operands(terminator).subspan(op == Op::exit_ ? 1 : 0));
  if (op == Op::yield && is_test(source_[terminator].parent)) std::ranges::rotate(values, values.begin() + 1);
  return flow_to(target, std::move(values));
}

/// Builds a region's nodes up to the first that may lead elsewhere.
Rest ExitLowering::walk(RegionId region, size_t first, const Join* joins) {
  for (size_t i = std::max<size_t>(first, source_[region].parameter_count);; ++i) {
    const NodeId id = source_[region].nodes[i];
    if (source_.op(id) == Op::result) continue;
    set_location(id);
    if (ir::info(source_.op(id)).terminator) return {end(id), joins};
    if (source_.op(id) == Op::block) {
      joins = join(id, joins);
      region = source_.region(id);
      i = source_[region].parameter_count - size_t{1};
    } else if (!is_lowered(id)) {
      clone(id);
    } else if (source_.op(id) == Op::if_) {
      return visit_if(id, join(id, joins));
    } else {
      return {visit_loop(id), join(id, joins)};
    }
  }
}

/// Builds what follows the joins that control comes to. Returns where control goes from there.
Flow ExitLowering::go_on(Flow flow, const Join* joins) {
  for (;;) {
    while (joins != nullptr && flow.way_to(joins->owner) == nullptr) joins = joins->outer;
    if (joins == nullptr) return flow;
    Rest rest;
    if (flow.paths.size() > 1) {
      rest = split(flow, joins);
    } else {
      const NodeId owner = joins->owner;
      bind_results(owner, flow.values_to(owner));
      rest = walk(source_[owner].parent, index_of(owner) + 1, joins->outer);
    }
    flow = std::move(rest.flow);
    joins = rest.joins;
  }
}

Rest ExitLowering::visit_if(NodeId id, const Join* joins) {
  const auto arm = [&](size_t k) {
    const RegionId region = source_.region(id, k);
    return Arm{[this, region](const Join* own) { return build(region, 0, own); }, targets_in(region)};
  };
  Arm arms[] = {arm(0), arm(1)};
  return branch(use(source_.operand(id, 0)), arms, joins);
}

/// A branch on whether control goes to the first join, or elsewhere.
Rest ExitLowering::split(const Flow& flow, const Join* joins) {
  const NodeId first = joins->owner;
  Flow there = flow;
  Flow others = flow;
  std::erase_if(there.paths, [&](const Path& path) { return path.target != first; });
  std::erase_if(others.paths, [&](const Path& path) { return path.target == first; });
  there.signal = {};
  if (others.paths.size() == 1) others.signal = {};
  Targets other_targets;
  for (const Path& path : others.paths) other_targets.insert(path.target);
  const NodeId number = b_.index(there.paths[0].number);
  Arm arms[] = {{[&](const Join* own) { return go_on(there, own); }, {first}},
                {[&](const Join* own) { return go_on(others, own); }, std::move(other_targets)}};
  return branch(b_.make(Op::equal, {flow.signal, number}), arms, joins);
}

/// Builds a branch. Each arm has what follows the joins that it alone may come to, up to the first join that
/// both may come to.
Rest ExitLowering::branch(NodeId condition, Arm (&arms)[2], const Join* joins) {
  std::vector<const Join*> own[2];
  for (; joins != nullptr; joins = joins->outer) {
    const bool comes[] = {arms[0].targets.contains(joins->owner), arms[1].targets.contains(joins->owner)};
    if (comes[0] && comes[1]) break;
    for (size_t k = 0; k < 2; ++k) {
      if (!comes[k]) continue;
      own[k].push_back(joins);
      arms[k].targets.erase(joins->owner);
      arms[k].targets.merge(targets_behind(joins));
    }
  }
  const ir::SpanId location = b_.span();
  const ir::Builder::Mark mark = b_.mark();
  const NodeId choice = b_.begin(Op::if_, {&condition, 1});
  Flow flows[2];
  RegionId open[2];
  for (size_t k = 0; k < 2; ++k) {
    const Join* chain = nullptr;
    for (size_t i = own[k].size(); i-- > 0;) chain = join(own[k][i]->owner, chain);
    b_.enter(choice, k, {});
    flows[k] = arms[k].build(chain);
    if (!flows[k].ends()) open[k] = b_.suspend();
    b_.set_span(location);
  }
  return {merge(choice, flows, open, mark), joins};
}

/// The value that both flows have where it can be seen from here, or the one if the other has none; else
/// none.
NodeId ExitLowering::common_value(const Flow (&flows)[2],
                                  const std::function<NodeId(const Flow&)>& value_of) const {
  NodeId common;
  for (const Flow& flow : flows) {
    const NodeId value = flow.ends() ? NodeId() : value_of(flow);
    if (!value) continue;
    if (common && common != value) return {};
    common = value;
  }
  return common && b_.function().reaches(common, b_.current()) ? common : NodeId();
}

/// Ends the arms of a branch, and the branch.
Flow ExitLowering::merge(NodeId choice, const Flow (&flows)[2], const RegionId (&open)[2],
                         const ir::Builder::Mark& mark) {
  Flow all;
  for (const Flow& flow : flows) {
    for (const Path& path : flow.paths)
      if (all.way_to(path.target) == nullptr) all.paths.push_back(path);
  }
  std::ranges::sort(all.paths, {}, &Path::number);
  if (all.ends()) {
    b_.end(choice);
    b_.terminate(Op::unreachable, {});
    return all;
  }
  all.keys = keys_of(all.paths);
  for (const Key& key : all.keys)
    all.values.push_back(common_value(flows, [&](const Flow& flow) { return flow.at(key); }));
  const bool is_signalled = all.paths.size() > 1;
  const bool one_ends = flows[0].ends() || flows[1].ends();
  if (is_signalled && one_ends)
    all.signal = common_value(flows, [](const Flow& flow) { return flow.signal; });
  const bool gives_signal = is_signalled && !all.signal;
  const Function& f = b_.function();
  const auto is_empty = [&](size_t k) { return open[k] && f[open[k]].nodes.empty(); };
  if (!gives_signal && is_empty(0) && is_empty(1) &&
      std::ranges::all_of(all.values, &NodeId::operator bool)) {
    b_.roll_back(mark);
    return all;
  }
  Types types;
  if (gives_signal) types.push_back(ir::kInt64);
  for (size_t i = 0; i < all.keys.size(); ++i)
    if (!all.values[i]) types.push_back(all.keys[i].type);
  b_.set_results(choice, types);
  const ir::SpanId location = b_.span();
  for (size_t k = 0; k < 2; ++k) {
    if (flows[k].ends()) continue;
    b_.resume(open[k]);
    Nodes given;
    if (gives_signal) given.push_back(signal_of(flows[k]));
    for (size_t i = 0; i < all.keys.size(); ++i)
      if (!all.values[i]) given.push_back(value_at(all.keys[i], flows[k]));
    b_.yield(given);
  }
  b_.set_span(location);
  const Nodes results = b_.end(choice);
  size_t next = 0;
  if (gives_signal) all.signal = results[next++];
  for (NodeId& value : all.values)
    if (!value) value = results[next++];
  return all;
}

NodeId ExitLowering::value_at(const Key& key, const Flow& flow, const Flow& other) {
  if (const NodeId own = flow.at(key)) return own;
  if (const NodeId theirs = other.at(key)) return theirs;
  return any_value(key.type, flow);
}

NodeId ExitLowering::any_value(Type type, const Flow& flow) {
  if (type.has_shape() || type.is_buffer()) {
    const auto fits = [&](NodeId value) { return b_.function().type(value) == type; };
    const auto own = std::ranges::find_if(flow.values, fits);
    if (own != flow.values.end()) return *own;
    const auto spare = std::find_if(spares_.rbegin(), spares_.rend(), fits);
    if (spare != spares_.rend()) return *spare;
  }
  return dummy(b_, type);
}

/// Builds the region of a loop that `state` comes into, as a region of the loop that is made.
Flow ExitLowering::build_iteration(NodeId id, const Flow& state) {
  const size_t spares = spares_.size();
  spares_.insert(spares_.end(), state.values.begin(), state.values.end());
  const RegionId region = source_.region(id, source_.op(id) == Op::while_ ? 1 : 0);
  const auto parameters = source_.region_parameters(region);
  const Nodes values = state.values_to(id);
  for (size_t i = 0; i < values.size(); ++i) bind(parameters.last(values.size())[i], values[i]);
  Flow flow = build(region, 0, nullptr);
  spares_.resize(spares);
  return flow;
}

/// What the slots of a loop have before it. Best what exits take there, if it is there already: a slot that
/// always has one value is no slot.
Nodes ExitLowering::inits(NodeId loop, const Flow& start, const Flow& state) {
  Nodes all;
  for (const Key& key : state.keys) {
    NodeId value = start.at(key);
    if (!value) value = taken_out(loop, state, key);
    all.push_back(value ? value : any_value(key.type, start));
  }
  return all;
}

/// A value that an exit from a loop takes to a slot and that is there before the loop, or none.
NodeId ExitLowering::taken_out(NodeId loop, const Flow& state, const Key& key) {
  NodeId found;
  ir::walk(source_, loop, [&](NodeId id) {
    const Op op = source_.op(id);
    if (op != Op::exit_ && op != Op::return_) return ir::Walk::Into;
    const Path* const path = state.way_to(target_of(id));
    if (path == nullptr) return ir::Walk::Past;
    const Keys keys = keys_of(path->types);
    const auto at = static_cast<size_t>(std::ranges::find(keys, key) - keys.begin());
    if (at == keys.size()) return ir::Walk::Past;
    const NodeId value = source_.operand(id, at + (op == Op::exit_ ? 1 : 0));
    if (!source_.reaches(value, source_[loop].parent)) return ir::Walk::Past;
    found = value;
    return ir::Walk::Stop;
  });
  return found ? use(found) : found;
}

Flow ExitLowering::visit_for(NodeId id) {
  const ir::SpanId location = b_.span();
  const NodeId count = use(source_.operand(id, 0));
  const Flow start = flow_to(id, use_all(source_.operands(id).subspan(1)));
  Flow state{.paths = paths_of(id, start.paths[0].types, leaves_[id.index]), .signal = {}};
  state.keys = keys_of(state.paths);
  Nodes operands = inits(id, start, state);
  operands.insert(operands.begin(), 2, b_.index(0));
  Types types = slot_types(state.keys);
  types.insert(types.begin(), 2, ir::kInt64);
  const auto enter = [&](NodeId loop, size_t region) {
    Nodes entered = b_.enter(loop, region, types);
    state.signal = entered[1];
    state.values.assign(entered.begin() + 2, entered.end());
    return entered;
  };

  const NodeId loop = b_.begin(Op::while_, operands, {}, types);
  Nodes tested = enter(loop, 0);
  const NodeId is_iteration = b_.make(Op::less, {tested[0], count});
  tested.insert(tested.begin(), b_.make(Op::bitwise_and, {goes_on(state.signal), is_iteration}));
  b_.yield(tested);
  const NodeId k = enter(loop, 1)[0];
  bind(source_.region_parameters(source_.region(id))[0], k);
  const Flow iteration = build_iteration(id, state);
  if (!iteration.ends()) {
    b_.set_span(location);
    Nodes next{b_.make(Op::add, {k, b_.index(1)}), signal_of(iteration)};
    for (const Key& key : state.keys) next.push_back(value_at(key, iteration, state));
    b_.yield(next);
  }
  b_.set_span(location);
  const Nodes results = b_.end(loop);
  state.signal = results[1];
  state.values.assign(results.begin() + 2, results.end());
  return state;
}

/// Whether the test of a loop may be evaluated once more without anything to show for it.
bool ExitLowering::test_is_cheap(NodeId id) const {
  const RegionId region = source_.region(id, 0);
  const NodeId last = source_.terminator(region);
  if (source_.op(last) != Op::yield) return false;
  for (const NodeId node : source_.region_body(region)) {
    const Op op = source_.op(node);
    const bool computes =
        ir::info(op).elementwise || op == Op::cast || op == Op::select || op == Op::constant;
    if (node != last && !(computes && source_.type(node).is_scalar())) return false;
  }
  // What is no scalar stays in its slot, where the values of exits are also.
  const auto values = source_.operands(last).subspan(1);
  const auto parameters = source_.region_parameters(region);
  const Keys to = keys_of(source_types(values));
  const Keys from = keys_of(source_types(parameters));
  for (size_t i = 0; i < values.size(); ++i) {
    if (source_.type(values[i]).is_scalar()) continue;
    const auto parameter = std::ranges::find(parameters, values[i]);
    if (parameter == parameters.end()) return false;
    if (from[static_cast<size_t>(parameter - parameters.begin())] != to[i]) return false;
  }
  return true;
}

void ExitLowering::build_cheap_test(NodeId id, const Flow& state, const Paths& results) {
  const RegionId region = source_.region(id, 0);
  const Flow tested = build(region, 0, nullptr);
  const NodeId on = goes_on(state.signal);
  Nodes given{b_.make(Op::bitwise_and, {on, tested.values.back()}), state.signal};
  Paths exits = state.paths;
  std::erase_if(exits, [&](const Path& path) { return path.target == id; });
  const Keys exit_keys = keys_of(exits);
  for (const Key& key : keys_of(results)) {
    const bool exits_have = std::ranges::find(exit_keys, key) != exit_keys.end();
    const bool loop_has = std::ranges::count(results[0].types, key.type) > static_cast<ptrdiff_t>(key.nth);
    const NodeId value = loop_has ? tested.at(key) : state.at(key);
    const bool is_one = !exits_have || !loop_has || value == state.at(key);
    given.push_back(is_one ? value : b_.make(Op::select, {on, value, state.at(key)}));
  }
  b_.yield(given);
}

/// Builds the region with the test of a `while`, for `state`, which has a signal if iterations may exit.
void ExitLowering::build_test(NodeId id, const Flow& state, const Paths& results) {
  const RegionId region = source_.region(id, 0);
  const auto parameters = source_.region_parameters(region);
  const Nodes values = state.values_to(id);
  for (size_t i = 0; i < values.size(); ++i) bind(parameters[i], values[i]);
  if (state.signal && test_is_cheap(id)) return build_cheap_test(id, state, results);
  const size_t spares = spares_.size();
  spares_.insert(spares_.end(), state.values.begin(), state.values.end());
  Flow tested;
  if (state.signal) {
    Flow left = state;
    std::erase_if(left.paths, [&](const Path& path) { return path.target == id; });
    if (left.paths.size() == 1) left.signal = {};
    Arm arms[] = {{[&](const Join* own) { return build(region, 0, own); }, {}},
                  {[&](const Join*) { return left; }, {}}};
    tested = branch(goes_on(state.signal), arms, nullptr).flow;
  } else {
    tested = build(region, 0, nullptr);
  }
  if (!tested.ends()) {
    NodeId again = b_.constant(false);
    if (tested.way_to(id) != nullptr) again = tested.values_to(id).back();
    if (tested.signal) again = b_.make(Op::bitwise_and, {goes_on(tested.signal), again});
    Nodes given{again, signal_of(tested)};
    for (const Key& key : keys_of(results)) given.push_back(value_at(key, tested, state));
    b_.yield(given);
  }
  spares_.resize(spares);
}

Flow ExitLowering::visit_while(NodeId id) {
  const ir::SpanId location = b_.span();
  Targets exits = targets_in(source_.region(id, 1));
  exits.erase(id);
  const bool iterations_exit = !exits.empty();
  const Flow start = flow_to(id, use_all(source_.operands(id)));
  Flow before{.paths = paths_of(id, start.paths[0].types, exits), .signal = {}};
  Flow after{.paths = paths_of(id, source_types(source_.results_of(id)), leaves_[id.index]), .signal = {}};
  before.keys = keys_of(before.paths);
  after.keys = keys_of(after.paths);
  Types types_before = slot_types(before.keys);
  Types types_after = slot_types(after.keys);
  if (iterations_exit) types_before.insert(types_before.begin(), ir::kInt64);
  types_after.insert(types_after.begin(), ir::kInt64);
  Nodes operands = inits(id, start, before);
  if (iterations_exit) operands.insert(operands.begin(), b_.index(0));

  const NodeId loop = b_.begin(Op::while_, operands, {}, types_after);
  before.values = b_.enter(loop, 0, types_before);
  if (iterations_exit) {
    before.signal = before.values[0];
    before.values.erase(before.values.begin());
  }
  build_test(id, before, after.paths);
  const auto set = [&](const Nodes& nodes) {
    after.signal = nodes[0];
    after.values.assign(nodes.begin() + 1, nodes.end());
  };
  set(b_.enter(loop, 1, types_after));
  const Flow iteration = build_iteration(id, after);
  if (!iteration.ends()) {
    b_.set_span(location);
    Nodes next;
    if (iterations_exit) next.push_back(signal_of(iteration));
    for (const Key& key : before.keys) next.push_back(value_at(key, iteration, after));
    b_.yield(next);
  }
  b_.set_span(location);
  set(b_.end(loop));
  return after;
}

}  // namespace

std::unique_ptr<ir::Function> lower_exits(const ir::Function& function) {
  ExitLowering lowering(function);
  return lowering.has_work() ? lowering.run() : nullptr;
}

}  // namespace ingot::transform
