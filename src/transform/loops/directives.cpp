// What a user decides of loops (`directives`). Names are resolved first; then it is found, of each loop that
// is named, whether its iterations depend on each other in any iterations of the loops around it up to the
// outermost that is named. If those of a loop do not, neither do those of the loops that it is split into,
// and they may run in any order with the other loops: each iteration of the nest that touches an element
// still comes after the same ones. Loops whose iterations depend on each other keep their order among
// themselves. So all orders that are taken compute the same, to the last bit.
//
// Splits, orders and fusions are made one after the other (`nest_steps`). Then what is to be written out is,
// and last, loops are marked for lanes and threads: `schedule`, `threads` and the passes after them find
// these chosen. They decide all that no directive names, as ever.

#include "transform/loops/directives.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "ir/directives.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/dependence.h"
#include "transform/analyses/lane_judge.h"
#include "transform/analyses/obstacles.h"
#include "transform/loops/boxes.h"
#include "transform/loops/move_stage.h"
#include "transform/loops/nest_steps.h"

namespace ingot::transform {

namespace {

using ir::Directive;
using Kind = Directive::Kind;

/// Of an array.
constexpr size_t kMostAxes = 16;

/// The names of loops that directives take from the program, not from directives before.
/// `known`: the names that the program has.
std::set<std::string> names_from_outside(const std::vector<Directive>& directives,
                                         const std::set<std::string>& known) {
  std::set<std::string> outside, made;
  for (const Directive& each : directives) {
    const bool makes = each.kind == Kind::Split || each.kind == Kind::Fuse;
    const bool has_array = !each.array.empty();
    const size_t taken = has_array || each.kind == Kind::Split ? 1
                         : each.kind == Kind::Fuse             ? 2
                                                               : each.loops.size();
    for (size_t i = 0; i < taken; ++i)
      if (!made.contains(each.loops[i])) outside.insert(each.loops[i]);
    for (size_t i = taken; makes && i < each.loops.size(); ++i) made.insert(each.loops[i]);
    for (size_t axis = 0; each.kind == Kind::Cache && axis < kMostAxes; ++axis)
      if (!known.contains(name_of_copy(each, axis))) made.insert(name_of_copy(each, axis));
  }
  return outside;
}

uint32_t line_of(const Function& f, NodeId node) { return f.module().location(f[node].span).line; }

/// Whether a loop is the one that `name` or `name:line` names.
bool is_named(const Function& f, NodeId node, std::string_view name) {
  if (!is_open(f, node)) return false;
  const std::string_view own = ir::loop_name(f, node);
  if (own.empty()) return false;
  return own == name || std::string(own) + ":" + std::to_string(line_of(f, node)) == name;
}

Nodes loops_named(const Function& f, std::string_view name) {
  Nodes found;
  ir::walk(f, f.body(), [&](NodeId node) {
    if (is_named(f, node, name)) found.push_back(node);
  });
  return found;
}

/// Why the iterations of a loop depend on each other.
struct Why {
  std::string reason;
  std::vector<std::vector<base::Site>> quoted;
};

class Follower {
 public:
  explicit Follower(const Function& source)
      : module_(source.module()),
        f_(&source),
        outside_(names_from_outside(module_.directives, module_.loop_names)) {
    for (uint32_t i = 0; i < module_.function_count() && !is_first_; ++i) {
      const Function* const each = module_.function(ir::FunctionId(i));
      is_first_ = each == f_;
      if (each != nullptr) break;
    }
  }

  std::unique_ptr<Function> run() {
    if (is_first_) refuse_unknown_names();
    std::erase_if(outside_, [&](const std::string& name) { return loops_named(*f_, name).empty(); });
    if (outside_.empty()) return nullptr;
    for (const std::string& name : outside_) refuse_ambiguous(name);
    Nodes nests;
    for (const std::string& name : outside_)
      for (const NodeId loop : loops_named(*f_, name)) nests.push_back(outermost(loop));
    become(guard_layouts(*f_, nests));
    mark_loops();
    for (Directive& given : module_.directives) {
      Directive directive = given;
      for (std::string& name : directive.loops) name = name_now(name);
      if (const auto left = for_loops_there(directive)) follow(*left, given);
    }
    show_nests();
    if (!written_out_.empty()) become(unroll_loops(*f_, written_out_));
    mark_chosen();
    return std::move(made_);
  }

 private:
  void become(std::unique_ptr<Function> made) {
    made_ = std::move(made);
    f_ = made_.get();
  }

  // Names.

  /// A node that has a location.
  NodeId any_node() const {
    NodeId any = f_->terminator(f_->body());
    ir::walk(*f_, f_->body(), [&](NodeId node) {
      if ((*f_)[node].span) any = node;
      return (*f_)[node].span ? ir::Walk::Stop : ir::Walk::Into;
    });
    return any;
  }
  void refuse_unknown_names() const {
    for (const std::string& name : outside_) {
      if (module_.loop_names.contains(name)) continue;
      std::string all;
      for (const std::string& known : module_.loop_names)
        if (known.find(':') == std::string::npos) all += (all.empty() ? "" : ", ") + quoted(known);
      refuse_directive(*f_, any_node(), "the loop " + quoted(name) + ", which this function does not have,",
                       all.empty() ? "name loops by `with ingot.loop(...)`, or by the variables of `for`"
                                   : "name one of its loops: " + all);
    }
  }
  void refuse_ambiguous(const std::string& name) const {
    const Nodes loops = loops_named(*f_, name);
    for (const NodeId loop : loops) {
      if (line_of(*f_, loop) != line_of(*f_, loops[0])) {
        refuse_directive(*f_, loop, "the loop " + quoted(name) + ", which is the name of several,",
                         "add its line: " + with_line(name, loops[0]) + " or " + with_line(name, loop));
      }
    }
  }
  std::string with_line(const std::string& name, NodeId loop) const {
    return quoted(name + ":" + std::to_string(line_of(*f_, loop)));
  }
  bool is_there(const std::string& name) const { return !loops_named(*f_, name).empty(); }
  /// A directive for the loops that are there: others have been written out, have become nothing as their
  /// axis has one element, or are of another function; none: it is for those alone.
  std::optional<Directive> for_loops_there(const Directive& directive) {
    for (const std::string& name : directive.loops) {
      if (!not_there_.contains(name) || directive.kind == Kind::Cache) continue;
      refuse_directive(*f_, any_node(), "the loop " + quoted(name) + ", which no copy has,",
                       "name the loop of an axis: the first one ends with `_0`");
    }
    Directive left = directive;
    if (directive.kind == Kind::Reorder) {
      std::erase_if(left.loops, [&](const std::string& name) { return !is_there(name); });
      return left.loops.size() > 1 ? std::optional(left) : std::nullopt;
    }
    if (directive.kind == Kind::Fuse && is_there(left.loops[0]) != is_there(left.loops[1])) {
      rename(left.loops[is_there(left.loops[0]) ? 0 : 1], left.loops[2]);
      return std::nullopt;
    }
    if (directive.kind == Kind::ComputeAt && !is_there(left.loops[1])) return std::nullopt;
    return is_there(left.loops[0]) ? std::optional(left) : std::nullopt;
  }
  void rename(const std::string& name, const std::string& next) {
    const Nodes loops = loops_named(*f_, name);
    inherit({name}, {next});
    become(change_loops(*f_, [&](NodeId loop) {
      return std::ranges::find(loops, loop) != loops.end() ? Change{next} : Change{};
    }));
  }

  // What is known of the loops as they are written.

  /// The outermost loop around one, itself among them, that is named, with loops alone between.
  NodeId outermost(NodeId loop) const {
    NodeId found = loop;
    for (NodeId at = loop;;) {
      at = (*f_)[(*f_)[at].parent].owner;
      if (!at || !is_open(*f_, at)) return found;
      if (name_from_outside(at)) found = at;
    }
  }
  const std::string* name_from_outside(NodeId loop) const {
    const auto found =
        std::ranges::find_if(outside_, [&](const std::string& name) { return is_named(*f_, loop, name); });
    return found == outside_.end() ? nullptr : &*found;
  }

  /// Finds which loops' iterations depend on each other, and gives loops the names that directives have.
  void mark_loops() {
    std::map<uint32_t, Change> changes;
    for (const std::string& name : outside_) {
      for (const NodeId loop : loops_named(*f_, name)) {
        const std::optional<Why> why = why_dependent(loop);
        if (const auto other = changes.find(loop.index); other != changes.end()) {
          other_names_[name] = other->second.name;
          continue;
        }
        if (why) dependent_.try_emplace(name, *why);
        changes[loop.index] = {name, !why};
      }
      known_.insert(name);
    }
    become(change_loops(*f_, [&](NodeId loop) {
      Change change = changes[loop.index];
      if (change.name.empty()) change.name = ir::loop_name(*f_, loop);
      return change;
    }));
  }
  std::optional<Why> why_dependent(NodeId loop) const {
    const NodeId nest = outermost(loop);
    if (const auto obstacle = obstacle_in(*f_, f_->region(nest))) return Why{obstacle->what, {}};
    if (f_->result_count(loop) > 0) return Why{"it carries a value from one iteration to the next", {}};
    const ir::RegionId around[] = {f_->region(nest)};
    const NodeId loops[] = {loop};
    const auto conflict = loop == nest ? find_race(*f_, loop) : find_conflict_between(*f_, around, loops);
    if (!conflict) return std::nullopt;
    const auto sites_of = [&](NodeId node) { return module_.sites((*f_)[node].span); };
    const std::vector<base::Site> first = sites_of(conflict->first), second = sites_of(conflict->second);
    if (conflict->kind != Conflict::Kind::Elements) return Why{conflict->reason, {}};
    if (module_.location((*f_)[conflict->first].span) == module_.location((*f_)[conflict->second].span))
      return Why{"{} may be one element in two of its iterations", {first}};
    return Why{"{} and {} may be one element in two of its iterations", {first, second}};
  }

  // The directives.

  /// Takes a step; `given`: as the module has it.
  void follow(const Directive& directive, Directive& given) {
    const auto& loops = directive.loops;
    switch (directive.kind) {
      case Kind::Split:
        refuse_chosen(loops[0], "split");
        refuse_known(loops, 1);
        inherit({loops[0]}, {loops[1], loops[2]});
        return become(split_loops(*f_, directive));
      case Kind::Fuse:
        for (const std::string& name : {loops[0], loops[1]}) refuse_chosen(name, "fused");
        refuse_known(loops, 2);
        inherit({loops[0], loops[1]}, {loops[2]});
        return become(fuse_loops(*f_, directive));
      case Kind::Reorder:
        return become(reorder_loops(
            *f_, directive, [this](const Function& f, const Nodes& nest, std::span<const size_t> order) {
              refuse_order(f, nest, order);
            }));
      case Kind::Vectorize:
        refuse_chosen(loops[0], "chosen for lanes");
        for (const NodeId loop : loops_named(*f_, loops[0])) refuse_dependent(loop, "in lanes");
        lanes_[loops[0]] = directive.number;
        return;
      case Kind::Unroll:
        refuse_chosen(loops[0], "written out");
        written_out_.insert(loops[0]);
        return;
      case Kind::Parallel:
        refuse_chosen(loops[0], "shared by threads");
        for (const NodeId loop : loops_named(*f_, loops[0])) {
          refuse_dependent(loop, "shared by threads");
          refuse_nested(loop);
        }
        shared_.insert(loops[0]);
        return;
      case Kind::Cache:
        if (is_first_ && has_array(*f_, directive)) follow_cache(directive, given);
        return;
      case Kind::Prefetch:
        if (!is_first_ || !has_array(*f_, directive)) return;
        become(fetch_boxes(*f_, directive));
        read_.emplace(loops[0], "fetches " + quoted(directive.array));
        return;
      case Kind::ComputeAt: return follow_compute_at(loops[0], loops[1]);
      case Kind::StoreAt: return refuse_only_stored(loops[0]);
      case Kind::Inline: return become(compute_inline(*f_, only_loop(loops[0])));
    }
  }
  /// Has iterations copy elements; the loops that do are arranged by the user, too: no pass undoes them.
  void follow_cache(const Directive& directive, Directive& given) {
    const std::string what = "copy of " + quoted(directive.array);
    const auto before = read_.equal_range(directive.loops[0]);
    if (std::any_of(before.first, before.second, [&](const auto& each) { return each.second == what; })) {
      refuse_directive(
          *f_, loops_named(*f_, directive.loops[0])[0],
          "a second copy of " + quoted(directive.array) + " for the loop " + quoted(directive.loops[0]) + ",",
          "leave one out");
    }
    std::vector<std::string> names;
    for (size_t axis = 0; axis < kMostAxes; ++axis) names.push_back(name_of_copy(given, axis));
    refuse_known(names, 0);
    become(copy_boxes(*f_, directive, names));
    for (const std::string& name : names) {
      if (loops_named(*f_, name).empty()) not_there_.insert(name);
      else if (std::ranges::find(given.loops, name) == given.loops.end()) given.loops.push_back(name);
      known_.insert(name);
    }
    read_.emplace(directive.loops[0], what);
  }
  /// The loop of a name, of which there may be one alone.
  NodeId only_loop(const std::string& name) const {
    const Nodes loops = loops_named(*f_, name);
    if (loops.size() > 1) {
      const auto location = [&](NodeId loop) { return module_.location((*f_)[loop].span); };
      const bool is_one = location(loops[0]) == location(loops[1]);
      refuse_directive(
          *f_, loops[1],
          "a stage at the loop " + quoted(name) + ", of which there are several, " +
              (is_one ? "all of {}," : "of {} and of {},"),
          "compute parts with other axes before `with ingot.loop(...)`, and call a function with loops of "
          "that name once",
          std::span(loops).first(is_one ? 1 : 2));
    }
    return loops[0];
  }
  std::string name_now(const std::string& name) const {
    const auto other = other_names_.find(name);
    return other != other_names_.end() ? other->second : name;
  }
  /// The loop in whose iterations a stage is kept that is computed in `at`.
  NodeId stored_in(const std::string& stage, NodeId at) const {
    for (const Directive& each : module_.directives) {
      if (each.kind == Kind::StoreAt && name_now(each.loops[0]) == stage && is_there(name_now(each.loops[1])))
        return only_loop(name_now(each.loops[1]));
    }
    return at;
  }
  void follow_compute_at(const std::string& stage, const std::string& at) {
    const NodeId loop = only_loop(at);
    const NodeId stored = stored_in(stage, loop);
    for (NodeId around = loop; around; around = (*f_)[(*f_)[around].parent].owner) {
      const std::string name(ir::loop_name(*f_, around));
      const bool is_between = stored != around && f_->encloses(stored, around);
      if (!is_open(*f_, around) || !(lanes_.contains(name) || (is_between && shared_.contains(name))))
        continue;
      refuse_directive(
          *f_, around,
          "a stage in the loop " + quoted(name) + ", which has been " +
              (lanes_.contains(name) ? "chosen for lanes," : "shared by threads, stored around it,"),
          "compute stages in loops that run in order, or in tiles that threads share");
    }
    for (NodeId around = loop; around != stored && around; around = (*f_)[(*f_)[around].parent].owner) {
      if (!is_open(*f_, around)) continue;
      dependent_[std::string(ir::loop_name(*f_, around))] =
          Why{"they use what the ones before have computed of the stage " + quoted(stage), {}};
    }
    become(compute_at(*f_, only_loop(stage), loop, stored));
  }
  void refuse_only_stored(const std::string& stage) const {
    const bool is_computed = std::ranges::any_of(module_.directives, [&](const Directive& each) {
      return each.kind == Kind::ComputeAt && name_now(each.loops[0]) == stage;
    });
    if (!is_computed) {
      refuse_directive(*f_, loops_named(*f_, stage)[0],
                       "the stage " + quoted(stage) + " stored in a loop and computed in none,",
                       "add where it is computed: `compute_at(...)`");
    }
  }
  /// Refuses a step for a loop for which another one has chosen how it runs.
  void refuse_chosen(const std::string& name, const std::string& what) const {
    const std::string before = lanes_.contains(name)         ? "chosen for lanes"
                               : written_out_.contains(name) ? "written out"
                               : shared_.contains(name)      ? "shared by threads"
                                                             : "";
    if (before.empty() || (before == "shared by threads" && what == "chosen for lanes") ||
        (before == "chosen for lanes" && what == "shared by threads"))
      return;
    refuse_directive(*f_, loops_named(*f_, name)[0],
                     "the loop " + quoted(name) + " " + what + " after it has been " + before + ",",
                     "arrange loops first, and choose one way for each then");
  }
  void refuse_nested(NodeId loop) const {
    const auto is_shared = [&](NodeId node) {
      return shared_.contains(std::string(ir::loop_name(*f_, node)));
    };
    bool is_nested = ir::any_within(*f_, f_->region(loop),
                                    [&](NodeId node) { return is_open(*f_, node) && is_shared(node); });
    for (NodeId at = (*f_)[(*f_)[loop].parent].owner; at; at = (*f_)[(*f_)[at].parent].owner)
      is_nested = is_nested || (is_open(*f_, at) && is_shared(at));
    if (is_nested) {
      refuse_directive(*f_, loop, "a loop shared by threads inside another one,",
                       "fuse the two, and share that");
    }
  }
  /// Refuses names for new loops that others have; `from`: the first of them.
  void refuse_known(const std::vector<std::string>& names, size_t from) const {
    for (size_t i = from; i < names.size(); ++i) {
      if (const Nodes loops = loops_named(*f_, names[i]); !loops.empty()) {
        refuse_directive(*f_, loops[0], "a second loop named " + quoted(names[i]) + ",",
                         "give it another name");
      }
    }
  }
  /// The iterations of new loops depend on each other if those of a loop do that they are made of.
  void inherit(std::initializer_list<std::string> from, std::initializer_list<std::string> to) {
    for (const std::string& name : to) {
      known_.insert(name);
      for (const std::string& old : from) {
        const auto why = dependent_.find(old);
        if (why != dependent_.end()) dependent_.try_emplace(name, why->second);
      }
    }
  }
  bool is_independent(const std::string& name) const {
    return known_.contains(name) && !dependent_.contains(name);
  }
  void refuse_dependent(NodeId loop, const std::string& how) const {
    const std::string name(ir::loop_name(*f_, loop));
    const auto why = dependent_.find(name);
    if (why == dependent_.end()) return;
    refuse_for(*f_, loop, "the iterations of " + quoted(name) + " " + how, why->second,
               "choose a loop whose iterations do not depend on each other");
  }
  [[noreturn]] static void refuse_for(const Function& f, NodeId loop, const std::string& what, const Why& why,
                                      const std::string& advice) {
    base::Unsupported refusal(f.module().location(f[loop].span),
                              "a schedule with " + what + " (" + why.reason + ")", advice);
    refusal.sites = f.module().sites(f[loop].span);
    refusal.quoted = why.quoted;
    throw base::Unsupported(std::move(refusal));
  }
  /// Of loops that change places, one has iterations that do not depend on each other.
  void refuse_order(const Function& f, const Nodes& nest, std::span<const size_t> order) const {
    const auto name_of = [&](size_t place) { return std::string(ir::loop_name(f, nest[place])); };
    for (size_t outer = 0; outer < order.size(); ++outer) {
      for (size_t inner = outer + 1; inner < order.size(); ++inner) {
        const std::string now_outer = name_of(order[outer]);
        const std::string now_inner = name_of(order[inner]);
        if (order[outer] < order[inner] || is_independent(now_outer) || is_independent(now_inner)) continue;
        const auto line = [&](size_t place) {
          return " (line " + std::to_string(line_of(f, nest[order[place]])) + ")";
        };
        const std::string what =
            quoted(now_outer) + line(outer) + " outside of " + quoted(now_inner) + line(inner);
        const auto why = dependent_.find(now_outer);
        refuse_for(f, nest[order[outer]], what,
                   why != dependent_.end() ? why->second
                                           : Why{"it is not known that iterations are independent", {}},
                   "keep loops in order whose iterations depend on each other");
      }
    }
  }

  // What is left to the end.

  /// Adds what the nests are now to the module's text, versions of one nest once.
  void show_nests() {
    ir::walk(*f_, f_->body(), [&](NodeId node) {
      if (!is_open(*f_, node) || !ir::is_directed(*f_, node)) return ir::Walk::Into;
      std::string nest;
      show(node, 0, nest);
      if (module_.nests.find(nest) == std::string::npos) module_.nests += nest;
      return ir::Walk::Past;
    });
  }
  void show(NodeId loop, size_t depth, std::string& nest) {
    const std::string name(ir::loop_name(*f_, loop));
    std::string line = std::string(2 * depth, ' ') + "for " + (name.empty() ? "_" : name);
    const NodeId count = f_->operand(loop, 0);
    const bool is_rest = f_->op(count) == Op::minimum && f_->is_constant(f_->operand(count, 1));
    const NodeId number = is_rest ? f_->operand(count, 1) : count;
    if (f_->is_constant(number)) {
      line +=
          std::string(is_rest ? " in at most " : " in ") + std::to_string(f_->constant(number).as<int64_t>());
    }
    std::string marks;
    const auto mark = [&](const std::string& text) { marks += (marks.empty() ? "  # " : ", ") + text; };
    if (shared_.contains(name)) mark("threads");
    if (const auto lanes = lanes_.find(name); lanes != lanes_.end())
      mark(lanes->second > 0 ? std::to_string(lanes->second) + " lanes" : "lanes");
    if (written_out_.contains(name)) mark("written out");
    for (const auto& [reading, what] : read_)
      if (reading == name) mark(what);
    mark("line " + std::to_string(line_of(*f_, loop)));
    nest += line + ":" + marks + "\n";
    for (const NodeId node : f_->region_body(f_->region(loop)))
      if (is_open(*f_, node)) show(node, depth + 1, nest);
  }

  void refuse_fetches_in_lanes() const {
    for (const auto& [name, width] : lanes_) {
      for (const NodeId loop : loops_named(*f_, name)) {
        if (!ir::any_within(*f_, f_->region(loop), [&](NodeId node) { return f_->op(node) == Op::prefetch; }))
          continue;
        refuse_directive(*f_, loop,
                         "the iterations of " + quoted(name) + " in lanes, which ask for elements early,",
                         "have a loop around ask");
      }
    }
  }
  void mark_chosen() {
    if (lanes_.empty() && shared_.empty()) return;
    refuse_fetches_in_lanes();
    become(Marker(*f_, lanes_, shared_).run());
  }

  class Marker : public Rewriter {
   public:
    Marker(const Function& source, const std::map<std::string, int64_t>& lanes,
           const std::set<std::string>& shared)
        : Rewriter(source), lanes_(lanes), shared_(shared), none_(source.node_count()) {}

   protected:
    void set_attributes(NodeId id, std::span<int64_t> attributes) override {
      if (!is_open(source_, id)) return;
      const std::string name(ir::loop_name(source_, id));
      const bool is_shared = shared_.contains(name) || ir::has_threads(ir::schedule_of(source_, id));
      if (shared_.contains(name)) attributes[0] = static_cast<int64_t>(ir::Schedule::IndependentThreads);
      const auto lanes = lanes_.find(name);
      if (lanes == lanes_.end() || source_.result_count(id) > 0) return;
      if (!fits_lanes(source_, id, none_)) {
        const std::optional<Obstacle> obstacle = lane_obstacle(source_, id);
        if (obstacle && obstacle->kind == ObstacleKind::FewIterations) return;
        refuse_lanes(id, name, obstacle);
      }
      attributes[0] = static_cast<int64_t>(ir::cpu_schedule(is_shared, true));
      attributes[1] = lanes->second;
    }

   private:
    [[noreturn]] void refuse_lanes(NodeId loop, const std::string& name,
                                   const std::optional<Obstacle>& obstacle) const {
      refuse_directive(source_, loop,
                       "the iterations of " + quoted(name) + " in lanes (" +
                           (obstacle ? obstacle->what : "lanes cannot do all that is in it") + ")",
                       "choose another loop for lanes");
    }

    const std::map<std::string, int64_t>& lanes_;
    const std::set<std::string>& shared_;
    std::vector<bool> none_;
  };

  ir::Module& module_;
  const Function* f_;
  bool is_first_ = false;  ///< whether the schedule is given with this function, not one that it calls
  std::unique_ptr<Function> made_;
  std::set<std::string> outside_;                   ///< names of loops as the program has them
  std::map<std::string, std::string> other_names_;  ///< of loops that directives name in two ways
  std::set<std::string> known_;                     ///< names of loops whose iterations have been looked at
  std::map<std::string, Why> dependent_;  ///< by name of those whose iterations depend on each other
  std::map<std::string, int64_t> lanes_;
  std::set<std::string> written_out_;
  std::set<std::string> shared_;
  std::set<std::string> not_there_;               ///< names of loops for axes that no copied array has
  std::multimap<std::string, std::string> read_;  ///< by loop: what its iterations do with what they read
};

}  // namespace

std::unique_ptr<Function> follow_directives(const Function& function) {
  return function.module().directives.empty() ? nullptr : Follower(function).run();
}

}  // namespace ingot::transform
