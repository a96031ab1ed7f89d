#include "transform/loops/boxes.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ir/directives.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/loops/nest_steps.h"
#include "transform/loops/windows.h"

namespace ingot::transform {

namespace {

/// Copies of so many bytes at most have a size that is known when compiling, if it is.
constexpr int64_t kMostKnownBytes = int64_t{1} << 22;
/// The bytes of a line of memory, as far as it matters for what is asked for early.
constexpr int64_t kLine = 64;

/// The parameter that directives name; none: this function has none, or it is no array.
NodeId parameter_named(const Function& f, std::string_view name) {
  const auto parameters = f.region_parameters(f.body());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Type type = f.type(parameters[i]);
    if (f.parameters()[i].name == name && type.is_view() && type.rank() > 0) return parameters[i];
  }
  return {};
}

/// What both steps do: finds the loops, and the box of an iteration.
class BoxStep : public Rewriter {
 public:
  BoxStep(const Function& source, const ir::Directive& directive)
      : Rewriter(source),
        loops_(b_),
        directive_(directive),
        parameter_(parameter_named(source, directive.array)) {
    ir::walk(source_, source_.body(), [&](NodeId node) {
      if (!is_open(source_, node) || ir::loop_name(source_, node) != directive_.loops[0])
        return ir::Walk::Into;
      found_.emplace(node.index, read_in(node));
      return ir::Walk::Past;
    });
  }

 protected:
  /// An array, and where it is read.
  struct Read {
    NodeId view;  ///< the parameter, or a view of it
    Nodes loads;
  };

  /// Called at the beginning of an iteration of each of the loops.
  virtual void begin() = 0;
  virtual void end() {}

  void visit(NodeId id) override {
    if (!found_.contains(id.index)) return clone(id);
    loop_ = id;
    clone(id);
    loop_ = {};
  }
  void enter_region(RegionId region) override {
    if (!loop_ || source_[region].owner != loop_) return;
    const ir::SpanId location = b_.span();
    b_.set_span(named_location(source_, loop_, ""));
    begin();
    b_.set_span(location);
  }
  void leave_region(RegionId region) override {
    if (loop_ && source_[region].owner == loop_) end();
  }

  const Read& read() const { return found_.at(loop_.index); }
  Type type() const { return source_.type(read().view); }
  size_t rank() const { return static_cast<size_t>(type().rank()); }
  NodeId iteration() { return use(source_.region_parameters(source_.region(loop_))[0]); }
  /// The box of an iteration: its window along each axis.
  std::vector<Window> box(NodeId iteration) {
    const RegionId body = source_.region(loop_);
    BoundWriter bounds(source_, b_, body, [this](NodeId old) { return use(old); });
    bounds.replace(source_.region_parameters(body)[0], iteration);
    std::vector<Window> found;
    for (size_t axis = 0; axis < rank(); ++axis) {
      std::vector<ir::IndexSum> indices(read().loads.size());
      for (size_t i = 0; i < indices.size(); ++i)
        indices[i].add_term(source_.operand(read().loads[i], 1 + axis), 1);
      const auto own = bounds.window(indices, b_.length(use(read().view), static_cast<int>(axis)));
      if (!own) {
        refuse(loop_, "of which it reads some at an index that is no sum of those of the loops inside",
               "name a loop in which the index is known");
      }
      found.push_back(*own);
      found.back().count = loops_.maximum(own->count, loops_.index(0));
    }
    return found;
  }
  [[noreturn]] void refuse(NodeId loop, const std::string& what, const std::string& advice) const {
    refuse_directive(source_, loop,
                     "elements of " + quoted(directive_.array) + " for the loop " +
                         quoted(directive_.loops[0]) + ", " + what + ",",
                     advice);
  }

  LoopWriter loops_;
  const ir::Directive& directive_;
  NodeId parameter_;
  NodeId loop_;                     ///< that is being written
  std::map<uint32_t, Read> found_;  ///< by loop

 private:
  /// What is read of the array in a loop: by the parameter, or by one view of it that was made before.
  Read read_in(NodeId loop) const {
    std::map<NodeId, Nodes> by_view;
    bool is_made_inside = false;
    ir::walk(source_, source_.region(loop), [&](NodeId node) {
      if (ir::is_counted_loop(source_.op(node)) && ir::is_careful(source_, node)) return ir::Walk::Past;
      if (source_.op(node) != Op::load || root_of(source_, source_.operand(node, 0)) != memory())
        return ir::Walk::Into;
      const NodeId view = source_.operand(node, 0);
      is_made_inside = is_made_inside || source_.encloses(loop, view);
      if (!source_.encloses(loop, view)) by_view[view].push_back(node);
      return ir::Walk::Into;
    });
    if (const auto whole = by_view.find(parameter_); whole != by_view.end())
      return {parameter_, whole->second};
    if (by_view.size() == 1) return {by_view.begin()->first, by_view.begin()->second};
    const std::string name = quoted(directive_.array);
    if (by_view.size() > 1) refuse(loop, "which it reads by several views", "index " + name + " itself");
    if (is_made_inside) refuse(loop, "which it reads by views that it makes", "index " + name + " itself");
    refuse(loop, "of which it reads none, or a copy",
           "name a loop that reads " + name + "; of loops in each other, first the inner one");
  }

 protected:
  Root memory() const { return root_of(source_, parameter_); }
};

class Copier : public BoxStep {
 public:
  Copier(const Function& source, const ir::Directive& directive, std::span<const std::string> names)
      : BoxStep(source, directive), names_(names), is_copied_(source.node_count()) {
    for (const auto& [loop, read] : found_) {
      if (may_write(source_, source_.region(NodeId(loop)), memory()))
        refuse(NodeId(loop), "which may be written in it", "copy an array that the loop only reads");
      for (const NodeId load : read.loads) is_copied_[load.index] = true;
    }
  }

 protected:
  void visit(NodeId id) override {
    if (!copy_ || !is_copied_[id.index]) return BoxStep::visit(id);
    Nodes indices;
    for (size_t axis = 0; axis < first_.size(); ++axis)
      indices.push_back(loops_.subtract(use(source_.operand(id, 1 + axis)), first_[axis]));
    bind(id, loops_.load(copy_, indices));
  }
  void begin() override {
    Nodes known, counts;
    first_.clear();
    auto bytes = static_cast<int64_t>(base::size_of(type().dtype()));
    for (const Window& window : box(iteration())) {
      const int64_t number = std::clamp<int64_t>(window.most.value_or(kMostKnownBytes), 0, kMostKnownBytes);
      first_.push_back(window.low);
      counts.push_back(window.count);
      known.push_back(loops_.index(number));
      bytes = std::min(bytes * number, kMostKnownBytes);
    }
    const NodeId copy = loops_.new_view(bytes < kMostKnownBytes ? known : counts, type().dtype());
    std::string names;
    for (size_t axis = 0; axis < rank(); ++axis) names += (axis > 0 ? "," : "") + names_[axis];
    b_.set_span(named_location(source_, loop_, names));
    loops_.set_independent(true);
    loops_.nest(counts, [&](std::span<const NodeId> indices) {
      Nodes element;
      for (size_t axis = 0; axis < rank(); ++axis) element.push_back(loops_.add(first_[axis], indices[axis]));
      loops_.store(copy, indices, loops_.load(use(read().view), element));
    });
    loops_.set_independent(false);
    copy_ = copy;
  }
  void end() override { copy_ = {}; }

 private:
  std::span<const std::string> names_;  ///< of the loops that copy
  std::vector<bool> is_copied_;         ///< by node
  NodeId copy_;                         ///< a view of it, in an iteration that has one
  Nodes first_;                         ///< the first index along each axis that it has
};

class Fetcher : public BoxStep {
 public:
  using BoxStep::BoxStep;

 protected:
  void begin() override {
    const std::vector<Window> later = box(loops_.add(iteration(), loops_.index(directive_.number)));
    const auto size = static_cast<int64_t>(base::size_of(type().dtype()));
    const NodeId line = loops_.index(std::max<int64_t>(kLine / size, 1));
    Nodes counts;
    for (const Window& window : later) counts.push_back(window.count);
    counts.back() = loops_.ceiling(counts.back(), line);
    loops_.nest(counts, [&](std::span<const NodeId> indices) {
      Nodes operands{use(read().view)};
      for (size_t axis = 0; axis < rank(); ++axis) {
        const NodeId index = axis + 1 < rank() ? indices[axis] : loops_.multiply(indices[axis], line);
        operands.push_back(loops_.add(later[axis].low, index));
      }
      b_.make(Op::prefetch, operands);
    });
  }
};

}  // namespace

bool has_array(const Function& function, const ir::Directive& directive) {
  return static_cast<bool>(parameter_named(function, directive.array));
}

std::string name_of_copy(const ir::Directive& directive, size_t axis) {
  std::string name = directive.array + "_" + directive.loops[0] + "_" + std::to_string(axis);
  std::ranges::replace(name, ':', '_');
  return name;
}

std::unique_ptr<Function> copy_boxes(const Function& function, const ir::Directive& directive,
                                     std::span<const std::string> names) {
  return Copier(function, directive, names).run();
}

std::unique_ptr<Function> fetch_boxes(const Function& function, const ir::Directive& directive) {
  return Fetcher(function, directive).run();
}

}  // namespace ingot::transform
