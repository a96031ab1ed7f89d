// What a stage is (`compute_at`, `store_at`, `inline`): a nest that computes an array of the function's own,
// and nothing else, for one later reader. Along an axis of which all accesses in the nest have the index of
// one of its loops, each iteration of that loop has elements of its own: leaving some out leaves out these
// elements alone. Along the other axes the nest may do anything - a histogram, a sum - and is run as it is.
//
// Views are parts of the array: what slices make of it. Their offsets and strides are divided by the
// array's strides, which gives the index along each of its axes.

#include "transform/loops/find_stage.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "ir/directives.h"
#include "ir/loops.h"
#include "ir/uses.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/analyses/disjoint.h"
#include "transform/analyses/known_equal.h"
#include "transform/loops/nest_steps.h"

namespace ingot::transform {

using ir::index_sum;
using ir::known_number;

namespace {

/// How many times another sum is in a sum, by its first term.
int64_t times_in(const IndexSum& sum, const IndexSum& of) {
  if (of.is_constant()) return 0;
  const auto& [value, factor] = *of.terms.begin();
  const auto found = sum.terms.find(value);
  return found == sum.terms.end() || found->second % factor != 0 ? 0 : found->second / factor;
}

/// Adds a product of a stride and something else to a position; false: it is none.
bool add_product(const Function& f, const Stage& stage, NodeId value, int64_t factor,
                 std::vector<IndexSum>& position) {
  for (size_t i = 0; f.op(value) == Op::multiply && i < 2; ++i) {
    const IndexSum step = index_sum(f, f.operand(value, i));
    for (size_t axis = 0; axis < stage.axes.size(); ++axis) {
      const IndexSum stride = index_sum(f, stage.axes[axis].stride);
      IndexSum rest = step;
      const int64_t times = times_in(step, stride);
      rest.add(stride, -times);
      if (times == 0 || rest != IndexSum()) continue;
      position[axis].add(index_sum(f, f.operand(value, 1 - i)), times * factor);
      return true;
    }
  }
  return false;
}

/// Adds so many bytes to a position, if they are whole steps along axes. (They may be so in several ways, of
/// which one is within the array. `likely`: the axis that is tried first.)
bool add_bytes(const Function& f, const Stage& stage, NodeId value, std::vector<IndexSum>& position,
               size_t likely = 0) {
  const size_t rank = stage.axes.size();
  IndexSum rest = index_sum(f, value);
  for (size_t i = 0; i < rank; ++i) {
    const size_t axis = (likely + i) % rank;
    const IndexSum stride = index_sum(f, stage.axes[axis].stride);
    const int64_t times = times_in(rest, stride);
    rest.add(stride, -times);
    position[axis].constant += times;
  }
  for (const auto& [term, factor] : rest.terms) {
    if (add_product(f, stage, term, factor, position)) continue;
    const auto axis = std::ranges::find_if(stage.axes, [&](const Stage::Axis& each) {
      const auto stride = known_number(f, each.stride);
      return stride && *stride > 0 && factor % *stride == 0;
    });
    if (axis == stage.axes.end()) return false;
    const int64_t stride = known_number(f, axis->stride).value_or(1);
    position[static_cast<size_t>(axis - stage.axes.begin())].add_term(term, factor / stride);
  }
  for (size_t i = 0; i < rank; ++i) {
    const size_t axis = (likely + i) % rank;
    const auto stride = known_number(f, stage.axes[axis].stride);
    if (!stride || *stride < 1) continue;
    const int64_t steps = rest.constant / *stride;
    position[axis].constant += steps;
    rest.constant -= steps * *stride;
  }
  return rest.constant == 0;
}

class StageFinder {
 public:
  StageFinder(const Function& function, NodeId nest, bool is_inline)
      : f_(function), uses_(function), is_inline_(is_inline) {
    stage_.nest = nest;
    stage_.name = std::string(ir::loop_name(function, nest));
  }

  Stage find() {
    find_array();
    find_layout();
    for (const NodeId view : stage_.views) {
      Placement placement;
      if (!place(f_, stage_, view, placement))
        refuse(view, "part of whose array is taken at {} in another way than by slices", "read it by slices");
    }
    find_axes();
    find_place();
    refuse_changes();
    return std::move(stage_);
  }

 private:
  [[noreturn]] void refuse(std::span<const NodeId> quoted, const std::string& what,
                           const std::string& advice) const {
    refuse_directive(f_, stage_.nest, "the stage `" + stage_.name + "`, " + what + ",", advice, quoted);
  }
  [[noreturn]] void refuse(NodeId quoted, const std::string& what, const std::string& advice) const {
    refuse({&quoted, 1}, what, advice);
  }
  bool is_own(NodeId view) const {
    const NodeId memory = memory_of(f_, view);
    return f_.op(memory) == Op::alloc && f_.encloses(stage_.nest, memory);
  }

  /// Finds the array that the nest writes, and that it does nothing else.
  void find_array() {
    ir::walk(f_, stage_.nest, [&](NodeId node) {
      const ir::Effects own = ir::info(f_.op(node)).effects;
      const ir::Effects allowed = ir::effect::Read | ir::effect::Write | ir::effect::Allocate;
      if (own.any(ir::effect::Control) || f_.op(node) == Op::exit_) return;
      if ((own.bits & ~allowed.bits) != 0) {
        refuse(node,
               own.any(ir::effect::Raise) ? "which may raise at {}" : "which does more at {} than compute",
               "do that in a loop of its own");
      }
      if (!own.any(ir::effect::Write)) return;
      if (f_.op(node) != Op::store)
        refuse(node, "which does more at {} than compute elements", "do that in a loop of its own");
      if (is_own(f_.operand(node, 0))) return;
      const NodeId memory = memory_of(f_, f_.operand(node, 0));
      if (f_.op(memory) != Op::alloc || f_.type(memory) != Type::buffer(ir::Space::Host)) {
        refuse(node, "which writes at {} into an array that the function has not made",
               "write it into a new array: `np.empty(...)`");
      }
      if (stage_.alloc && stage_.alloc != memory)
        refuse(node, "which writes a second array at {}", "compute each array in loops of its own");
      stage_.alloc = memory;
      stage_.stores.push_back(node);
    });
    if ((ir::effects_of(f_, stage_.nest).bits & ir::effect::Exit.bits) != 0 ||
        f_.result_count(stage_.nest) > 0) {
      refuse(stage_.nest, "which carries a value, or is left early, at {}",
             "carry values in loops inside it");
    }
    if (!stage_.alloc)
      refuse(stage_.nest, "which computes no array at {}", "name the loop that computes an array");
    for (const NodeId user : uses_.of(stage_.alloc)) {
      if (f_.op(user) != Op::view) refuse(user, "whose array is given away at {}", kAdvice);
      stage_.views.push_back(user);
    }
    std::ranges::sort(stage_.views);
    const auto [first, last] = std::ranges::unique(stage_.views);
    stage_.views.erase(first, last);
    for (const NodeId view : stage_.views) {
      for (const NodeId user : uses_.of(view)) {
        const bool is_element = f_.op(user) == Op::load || f_.op(user) == Op::store;
        if (!is_element || std::ranges::count(f_.operands(user), view) != 1 || f_.operand(user, 0) != view) {
          refuse(user,
                 f_.op(user) == Op::return_ ? "whose array is returned" : "whose array is given away at {}",
                 kAdvice);
        }
        if (f_.encloses(stage_.nest, user)) continue;
        (f_.op(user) == Op::load ? stage_.loads : others_).push_back(user);
      }
    }
    if (stage_.loads.empty()) refuse(stage_.nest, "whose array nothing reads after {}", kAdvice);
  }

  /// Finds the strides and lengths of the array, of the view that has been made with it.
  void find_layout() {
    const auto is_whole = [&](NodeId view) {
      return known_number(f_, f_.operand(view, 1)) == 0 && is_in_c_order(f_, view);
    };
    NodeId whole;
    for (const NodeId view : stage_.views)
      if (is_whole(view) && (!whole || f_.type(view).rank() > f_.type(whole).rank())) whole = view;
    const auto has_dtype = [&](NodeId view) { return f_.type(view).dtype() == f_.type(whole).dtype(); };
    if (!whole || f_.type(whole).rank() == 0 || !std::ranges::all_of(stage_.views, has_dtype))
      refuse(stage_.nest, "whose array has another layout than C's at {}", "make it by `np.empty(...)`");
    stage_.dtype = f_.type(whole).dtype();
    const auto rank = static_cast<size_t>(f_.type(whole).rank());
    const auto strides = f_.operands(whole).subspan(2 + rank, rank);
    NodeId bytes = f_.operand(stage_.alloc, 0);
    const auto strip = [&](NodeId value) {
      while (f_.op(value) == Op::select &&
             known_number(f_, f_.operand(value, 1)) == std::numeric_limits<int64_t>::max())
        value = f_.operand(value, 2);
      return value;
    };
    for (const NodeId stride : strides) {
      Stage::Axis axis;
      axis.stride = axis.bytes_of_step = stride;
      axis.bytes = strip(bytes);
      if (known_number(f_, stride) == 1) axis.length = axis.bytes;
      for (size_t i = 0; f_.op(axis.bytes) == Op::multiply && i < 2; ++i) {
        const NodeId step = strip(f_.operand(axis.bytes, i));
        const bool is_stride =
            step == stride || (known_number(f_, step) && known_number(f_, step) == known_number(f_, stride));
        if (is_stride) axis.length = f_.operand(axis.bytes, 1 - i);
      }
      stage_.axes.push_back(axis);
      bytes = stride;
    }
  }

  /// What iterations of a loop store in an array of the nest's own that is there for all of them: later ones
  /// may need it. None: they store nothing there.
  NodeId kept_in(NodeId loop) const {
    NodeId found;
    ir::walk(f_, f_.region(loop), [&](NodeId node) {
      const bool is_kept = f_.op(node) == Op::store && is_own(f_.operand(node, 0)) &&
                           !f_.encloses(loop, memory_of(f_, f_.operand(node, 0)));
      if (is_kept) found = node;
      return is_kept ? ir::Walk::Stop : ir::Walk::Into;
    });
    return found;
  }

  /// Finds the loops whose iterations have elements of their own.
  void find_axes() {
    Nodes accesses = stage_.stores;
    for (const NodeId view : stage_.views) {
      for (const NodeId user : uses_.of(view))
        if (f_.op(user) == Op::load && f_.encloses(stage_.nest, user)) accesses.push_back(user);
    }
    std::set<NodeId> taken;
    NodeId hindrance;
    bool any = false;
    std::vector<std::vector<IndexSum>> positions;
    for (const NodeId access : accesses) positions.push_back(position_in(f_, stage_, access));
    for (size_t axis = 0; axis < stage_.axes.size(); ++axis) {
      Stage::Axis& own = stage_.axes[axis];
      const IndexSum at = index_sum(f_, positions[0][axis]);
      NodeId loop;
      for (const auto& [value, factor] : at.terms) {
        const NodeId around =
            f_.op(value) == Op::param && f_.attribute(value, 0) == 0 ? f_[f_[value].parent].owner : NodeId();
        const bool is_step = factor == 1 || factor == -1;
        if (around && is_step && f_.op(around) == Op::for_ && f_.encloses(stage_.nest, value)) loop = around;
      }
      if (!loop || !is_open(f_, loop) || f_.result_count(loop) > 0 || taken.contains(loop)) continue;
      if (const NodeId kept = kept_in(loop)) {
        hindrance = kept;
        continue;
      }
      own.offset = at;
      const auto index = own.offset.terms.find(f_.region_parameters(f_.region(loop))[0]);
      own.runs_down = index->second < 0;
      own.offset.terms.erase(index);
      const auto is_outside = [&](NodeId value) { return !f_.encloses(stage_.nest, value); };
      bool is_own = is_outside(f_.operand(loop, 0));
      for (const auto& [value, factor] : own.offset.terms) is_own = is_own && is_outside(value);
      for (const auto& other : positions) is_own = is_own && index_sum(f_, other[axis]) == at;
      if (!is_own) continue;
      own.loop = loop;
      taken.insert(loop);
      any = true;
    }
    if (!any && hindrance)
      refuse(hindrance, "which keeps {} from one iteration to the next", "compute each element anew");
    if (!any) {
      refuse(stage_.stores[0], "which writes {} at other indices than those of its loops",
             "write `array[i, j] = ...` in loops over `i` and `j`, and arrange them after this step");
    }
  }

  NodeId ancestor(RegionId home, NodeId node) const {
    while (f_[node].parent != home) node = f_[f_[node].parent].owner;
    return node;
  }

  /// Finds the region in which the nest and what reads the array follow each other.
  void find_place() {
    RegionId home = f_[stage_.nest].parent;
    const auto holds_all = [&](RegionId region) {
      return std::ranges::all_of(stage_.loads, [&](NodeId load) { return f_.encloses(region, load); });
    };
    while (!holds_all(home)) {
      const NodeId owner = f_[home].owner;
      if (!owner || f_.op(owner) != Op::if_ || f_.result_count(owner) > 0)
        refuse(stage_.loads[0], "whose array is read by {} outside of a loop around it", kAdvice);
      home = f_[owner].parent;
    }
    stage_.computed = ancestor(home, stage_.nest);
    const RegionId own = f_[stage_.nest].parent;
    std::erase_if(stage_.loads, [&](NodeId load) {  // of a version of the nest
      return f_.encloses(stage_.computed, load) && !f_.encloses(own, load);
    });
    const auto body = f_.region_body(home);
    const auto place = [&](NodeId node) { return std::ranges::find(body, node) - body.begin(); };
    std::map<ptrdiff_t, Nodes> readers;
    for (const NodeId load : stage_.loads) readers[place(ancestor(home, load))].push_back(load);
    stage_.used = body[static_cast<size_t>(readers.rbegin()->first)];
    for (const auto& [where, loads] : readers) {
      const NodeId reader = body[static_cast<size_t>(where)];
      if (reader != stage_.used && find_version(reader, loads)) continue;
      if (reader != stage_.used && !is_inline_) {
        const Nodes& last = readers.rbegin()->second;
        const auto other =
            std::ranges::find_if(last, [&](NodeId load) { return f_[load].span != f_[loads[0]].span; });
        const NodeId nodes[] = {loads[0], other != last.end() ? *other : last[0]};
        refuse(nodes, "whose array is read by two nests, at {} and at {}",
               "read it in one nest alone, or `inline` it");
      }
      stage_.readers.push_back(reader);
    }
    for (const NodeId other : others_) {
      if (!f_.encloses(stage_.computed, other) || f_.encloses(own, other)) {
        refuse(other, "whose array is written at {}, too",
               "write all of it in one nest: begin with `np.empty(...)`");
      }
    }
    if (readers.begin()->first <= place(stage_.computed))
      refuse(stage_.loads[0], "whose array is read at {}, not after it", kAdvice);
    if (stage_.computed != stage_.nest && f_[stage_.nest].parent != f_.region(stage_.computed, 0) &&
        f_[stage_.nest].parent != f_.region(stage_.computed, 1))
      refuse(stage_.nest, "which runs at {} under several conditions", "compute it without them");
    find_from_around();
    for (RegionId at = home; at != f_[stage_.alloc].parent; at = f_[f_[at].owner].parent) {
      if (ir::is_loop(f_.op(f_[at].owner))) {
        refuse(stage_.alloc, "whose array is made at {}, outside of a loop around both",
               "make it where it is computed");
      }
    }
  }

  /// Whether a node that reads the array before the last one that does is an `if` of which one arm reads it:
  /// that has all of the array computed at its start. Versions of nests that other stages have been moved to
  /// are such.
  bool find_version(NodeId node, const Nodes& loads) {
    for (size_t i = 0; f_.op(node) == Op::if_ && i < f_[node].region_count; ++i) {
      const RegionId arm = f_.region(node, i);
      if (!std::ranges::all_of(loads, [&](NodeId load) { return f_.encloses(arm, load); })) continue;
      stage_.elsewhere.push_back(arm);
      return true;
    }
    return false;
  }

  /// Finds what the nest needs of the branch that it is in.
  void find_from_around() {
    if (stage_.computed == stage_.nest) return;
    std::set<NodeId> needed;
    const std::function<void(NodeId)> need = [&](NodeId value) {
      if (!f_.encloses(stage_.computed, value) || f_.encloses(stage_.nest, value)) return;
      if (f_[value].region_count > 0 || f_.op(value) == Op::result || !ir::info(f_.op(value)).effects.pure())
        refuse(value, "which needs what is found at {}", "find it before");
      if (!needed.insert(value).second) return;
      for (const NodeId operand : f_.operands(value)) need(operand);
    };
    for (const NodeId operand : f_.operands(stage_.nest)) need(operand);
    ir::walk(f_, f_.region(stage_.nest), [&](NodeId node) {
      for (const NodeId operand : f_.operands(node)) need(operand);
    });
    stage_.from_around.assign(needed.begin(), needed.end());
  }

  /// Refuses a stage that would read what is written until its array has been read.
  void refuse_changes() const {
    std::vector<std::pair<Root, NodeId>> sources;
    ir::walk(f_, stage_.nest, [&](NodeId node) {
      if (f_.op(node) != Op::load || stage_.has(f_.operand(node, 0)) || is_own(f_.operand(node, 0))) return;
      sources.emplace_back(root_of(f_, f_.operand(node, 0)), node);
    });
    if (sources.empty()) return;
    const auto body = f_.region_body(f_[stage_.used].parent);
    bool is_between = false;
    for (const NodeId node : body) {
      is_between = is_between || node == stage_.computed;
      if (is_between) refuse_change(node, sources);
      if (node == stage_.used) return;
    }
  }
  void refuse_change(NodeId around, const std::vector<std::pair<Root, NodeId>>& sources) const {
    ir::walk(f_, around, [&](NodeId node) {
      if (node == stage_.nest) return ir::Walk::Past;
      const ir::Effects own = ir::info(f_.op(node)).effects;
      if (own.any(ir::effect::Control)) return ir::Walk::Into;
      const ir::Effects all = ir::effects_of(f_, node);
      const bool is_unknown = all.any(ir::effect::Host | ir::effect::Sync);
      if (!is_unknown && !all.any(ir::effect::Write)) return ir::Walk::Into;
      for (const auto& [source, load] : sources) {
        const bool may_change = is_unknown || !writes_one_view(f_.op(node)) ||
                                may_overlap(f_, source, root_of(f_, f_.operand(node, 0)));
        if (!may_change) continue;
        const NodeId nodes[] = {load, node};
        refuse_directive(f_, stage_.nest,
                         "the stage `" + stage_.name + "`, which reads {}, where {} may write,",
                         "read arrays that are not written until the stage has been used", nodes);
      }
      return ir::Walk::Into;
    });
  }

  static constexpr const char* kAdvice =
      "name the loops of an array that the function makes and one later nest reads";

  const Function& f_;
  ir::Uses uses_;
  bool is_inline_;
  Stage stage_;
  Nodes others_;  ///< stores outside of the nest
};

}  // namespace

bool Stage::has(NodeId node) const { return node == alloc || std::ranges::binary_search(views, node); }

int Stage::axis_of(NodeId loop) const {
  const auto found = std::ranges::find(axes, loop, &Axis::loop);
  return found == axes.end() ? -1 : static_cast<int>(found - axes.begin());
}

bool Stage::covers(const Function& f, const Axis& axis) const {
  const auto bytes = known_number(f, axis.bytes), step = known_number(f, axis.bytes_of_step);
  const bool is_one = axis.bytes == axis.bytes_of_step || (bytes && step && *bytes == *step);
  if (!axis.loop) return is_one;
  const NodeId count = f.operand(axis.loop, 0);
  IndexSum first = index_sum(f, count);
  first.constant -= 1;
  if (axis.offset != (axis.runs_down ? first : IndexSum())) return false;
  if (axis.length) return known_equal(f, nest, count, axis.length);
  const auto number = known_number(f, count);
  if (is_one) return number == 1;
  return bytes && step && number && *number * *step == *bytes;
}

bool place(const Function& f, const Stage& stage, NodeId view, Placement& placement) {
  const size_t rank = stage.axes.size();
  const auto own = static_cast<size_t>(f.type(view).rank());
  placement.first.assign(rank, {});
  placement.steps.assign(own, std::vector<int64_t>(rank));
  placement.conditions.clear();
  if (!add_bytes(f, stage, f.operand(view, 1), placement.first)) return false;
  for (size_t axis = 0; axis < own; ++axis) {
    std::vector<IndexSum> step(rank);
    NodeId stride = f.operand(view, 2 + own + axis);
    while (f.op(stride) == Op::select && known_number(f, f.operand(stride, 2)) == 0) {
      placement.conditions.push_back(f.operand(stride, 0));
      stride = f.operand(stride, 1);
    }
    if (!add_bytes(f, stage, stride, step, own == rank ? axis : 0)) return false;
    for (size_t i = 0; i < rank; ++i) {
      if (!step[i].is_constant()) return false;
      placement.steps[axis][i] = step[i].constant;
    }
  }
  return true;
}

std::vector<IndexSum> position_in(const Function& f, const Stage& stage, NodeId access) {
  Placement placement;
  const NodeId view = f.operand(access, 0);
  INGOT_ASSERT(place(f, stage, view, placement), "stage: a view of another layout");
  for (size_t axis = 0; axis < placement.steps.size(); ++axis) {
    for (size_t i = 0; i < stage.axes.size(); ++i) {
      placement.first[i].add_term(f.operand(access, 1 + axis), placement.steps[axis][i]);
    }
  }
  return std::move(placement.first);
}

Stage find_stage(const Function& function, NodeId nest, bool is_inline) {
  return StageFinder(function, nest, is_inline).find();
}

}  // namespace ingot::transform
