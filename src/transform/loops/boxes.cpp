#include "transform/loops/boxes.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ir/directives.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/analyses/ranges.h"
#include "transform/loops/nest_steps.h"
#include "transform/writers/loop_writer.h"

namespace ingot::transform {

namespace {

/// Copies of so many bytes at most have a size that is known when compiling, if it is.
constexpr int64_t kMostKnownBytes = int64_t{1} << 22;
/// Indices that are sums of these do not wrap: no loop has more iterations in a human's time.
constexpr int64_t kMostIterations = int64_t{1} << 45;
constexpr int64_t kMostFactor = 1 << 16;
/// The bytes of a line of memory, as far as it matters for what is asked for early.
constexpr int64_t kLine = 64;

std::string quoted(std::string_view name) { return "`" + std::string(name) + "`"; }

/// The values that an index has in an iteration of a loop.
struct Span {
  NodeId least;
  NodeId largest;
  std::optional<int64_t> width;  ///< that they are apart at most
};

/// Writes bounds of indices at the beginning of an iteration of a loop.
class Bounds {
 public:
  Bounds(const Function& source, NodeId loop, LoopWriter& writer, const std::function<NodeId(NodeId)>& use)
      : f_(source), loop_(loop), loops_(writer), use_(use) {}

  /// None: the value is no sum of indices of the loops inside.
  std::optional<Span> of(NodeId value) {
    if (const auto known = known_.find(value.index); known != known_.end()) return known->second;
    std::optional<Span> found = find(value);
    known_.emplace(value.index, found);
    return found;
  }

 private:
  /// Whether a value is known when the iteration begins.
  bool is_before(NodeId value) const {
    return !f_.encloses(loop_, value) || value == f_.region_parameters(f_.region(loop_))[0];
  }
  std::optional<int64_t> number(NodeId value) const {
    return f_.is_constant(value) ? std::optional(f_.constant(value).as<int64_t>()) : std::nullopt;
  }
  std::optional<Span> find(NodeId value) {
    if (f_.type(value) != ir::kInt64) return std::nullopt;
    if (const auto known = number(value)) {
      const NodeId constant = loops_.index(*known);
      return Span{constant, constant, 0};
    }
    if (is_before(value)) return Span{use_(value), use_(value), 0};
    switch (f_.op(value)) {
      case Op::param: return of_index(value);
      case Op::add:
      case Op::subtract:
      case Op::minimum:
      case Op::maximum: return of_two(value);
      case Op::select: {
        const auto a = of(f_.operand(value, 1)), b = of(f_.operand(value, 2));
        if (!a || !b) return std::nullopt;
        return Span{loops_.minimum(a->least, b->least), loops_.maximum(a->largest, b->largest), std::nullopt};
      }
      case Op::multiply: return of_product(value);
      default: return of_pure(value);
    }
  }
  std::optional<Span> of_index(NodeId parameter) {
    const NodeId loop = f_[f_[parameter].parent].owner;
    if (!loop || f_.op(loop) != Op::for_ || f_.attribute(parameter, 0) != 0) return std::nullopt;
    const NodeId count = f_.operand(loop, 0);
    const auto counts = of(count);
    if (!counts) return std::nullopt;
    const NodeId most = loops_.minimum(counts->largest, loops_.index(kMostIterations));
    std::optional<int64_t> known = number(count);
    for (const size_t i : {size_t{0}, size_t{1}})
      if (!known && f_.op(count) == Op::minimum) known = number(f_.operand(count, i));
    return Span{loops_.index(0), loops_.subtract(most, loops_.index(1)),
                known ? std::optional(std::max<int64_t>(*known - 1, 0)) : std::nullopt};
  }
  std::optional<Span> of_two(NodeId value) {
    const auto a = of(f_.operand(value, 0)), b = of(f_.operand(value, 1));
    if (!a || !b) return std::nullopt;
    const bool both = a->width && b->width;
    const auto sum = both ? std::optional(*a->width + *b->width) : std::nullopt;
    const auto most = both ? std::optional(std::max(*a->width, *b->width)) : std::nullopt;
    switch (f_.op(value)) {
      case Op::add: return Span{loops_.add(a->least, b->least), loops_.add(a->largest, b->largest), sum};
      case Op::subtract:
        return Span{loops_.subtract(a->least, b->largest), loops_.subtract(a->largest, b->least), sum};
      case Op::minimum:
        return Span{loops_.minimum(a->least, b->least), loops_.minimum(a->largest, b->largest), most};
      default: return Span{loops_.maximum(a->least, b->least), loops_.maximum(a->largest, b->largest), most};
    }
  }
  std::optional<Span> of_product(NodeId value) {
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const auto factor = number(f_.operand(value, i));
      if (!factor || *factor > kMostFactor || *factor < -kMostFactor) continue;
      const auto other = of(f_.operand(value, 1 - i));
      if (!other) return std::nullopt;
      const NodeId by = loops_.index(*factor);
      NodeId least = loops_.multiply(other->least, by), largest = loops_.multiply(other->largest, by);
      if (*factor < 0) std::swap(least, largest);
      const auto width = other->width ? std::optional(*other->width * std::abs(*factor)) : std::nullopt;
      return Span{least, largest, width};
    }
    return of_pure(value);
  }
  /// A value that is computed in the iteration, of what is known when it begins.
  std::optional<Span> of_pure(NodeId value) {
    if (f_[value].region_count > 0 || f_.op(value) == Op::param || f_.op(value) == Op::result ||
        !ir::info(f_.op(value)).effects.pure())
      return std::nullopt;
    Nodes operands;
    for (const NodeId operand : f_.operands(value)) {
      if (is_before(operand) && !f_.type(operand).is_scalar()) {
        operands.push_back(use_(operand));
        continue;
      }
      const auto own = of(operand);
      if (!own || own->least != own->largest) return std::nullopt;
      operands.push_back(own->least);
    }
    const Type type = ir::info(f_.op(value)).typed ? f_.type(value) : Type();
    const NodeId made = loops_.builder().make(f_.op(value), operands, f_.attributes(value), type);
    return Span{made, made, 0};
  }

  const Function& f_;
  NodeId loop_;
  LoopWriter& loops_;
  std::function<NodeId(NodeId)> use_;
  std::map<uint32_t, std::optional<Span>> known_;  ///< by node
};

/// What both steps do: finds the loops, and the box of an iteration.
class BoxStep : public Rewriter {
 public:
  BoxStep(const Function& source, const ir::Directive& directive)
      : Rewriter(source), loops_(b_), name_(directive.loops[0]), array_name_(directive.array) {
    ir::walk(source_, source_.body(), [&](NodeId node) {
      if (!is_open(source_, node) || ir::loop_name(source_, node) != name_) return ir::Walk::Into;
      if (!array_) array_ = array_at(node);
      collect(node);
      return ir::Walk::Past;
    });
  }

 protected:
  /// Called at the beginning of an iteration of each of the loops.
  virtual void begin() = 0;
  virtual void end() {}

  void visit(NodeId id) override {
    if (!reads_.contains(id.index)) return clone(id);
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

  struct Box {
    Nodes first;                               ///< of the indices, by axis
    Nodes counts;                              ///< of indices
    std::vector<std::optional<int64_t>> most;  ///< that they are at most
  };
  /// The box of the iteration with an index.
  Box box(NodeId iteration) {
    const NodeId own = source_.region_parameters(source_.region(loop_))[0];
    Bounds bounds(source_, loop_, loops_, [&](NodeId old) { return old == own ? iteration : use(old); });
    Box found;
    for (size_t axis = 0; axis < rank(); ++axis) {
      const Span span = span_of(bounds, axis);
      found.first.push_back(span.least);
      const NodeId count = loops_.add(loops_.subtract(span.largest, span.least), loops_.index(1));
      found.counts.push_back(loops_.maximum(count, loops_.index(0)));
      found.most.push_back(span.width ? std::optional(*span.width + 1) : std::nullopt);
    }
    return found;
  }
  size_t rank() const { return static_cast<size_t>(source_.type(array_).rank()); }
  DType dtype() const { return source_.type(array_).dtype(); }
  [[noreturn]] void refuse(const std::string& what, const std::string& advice) const {
    NodeId first;
    ir::walk(source_, source_.body(), [&](NodeId node) {
      if (!is_open(source_, node) || ir::loop_name(source_, node) != name_) return ir::Walk::Into;
      first = node;
      return ir::Walk::Stop;
    });
    refuse_directive(
        source_, first,
        "elements of " + quoted(array_name_) + " for the loop " + quoted(name_) + ", " + what + ",", advice);
  }

  LoopWriter loops_;
  std::string name_;
  std::string array_name_;
  NodeId array_;
  NodeId loop_;                      ///< that is being written
  std::map<uint32_t, Nodes> reads_;  ///< of the array, by loop

 private:
  NodeId array_at(NodeId loop) const {
    std::string known;
    const auto parameters = source_.region_parameters(source_.body());
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (!source_.type(parameters[i]).is_view() || source_.type(parameters[i]).rank() == 0) continue;
      if (source_.parameters()[i].name == array_name_) return parameters[i];
      known += (known.empty() ? "" : ", ") + quoted(source_.parameters()[i].name);
    }
    refuse_directive(source_, loop,
                     "elements of " + quoted(array_name_) + ", which is no array among the arguments,",
                     known.empty() ? "give the function the array" : "name one of its arrays: " + known);
  }
  void collect(NodeId loop) {
    Nodes reads;
    ir::walk(source_, source_.region(loop), [&](NodeId node) {
      if (ir::is_counted_loop(source_.op(node)) && ir::is_careful(source_, node)) return ir::Walk::Past;
      if (source_.op(node) == Op::load && source_.operand(node, 0) == array_) reads.push_back(node);
      return ir::Walk::Into;
    });
    if (reads.empty())
      refuse("which reads none by its own indices", "name a loop around `" + array_name_ + "[...]`");
    reads_[loop.index] = std::move(reads);
  }

  /// An index, and a constant that is added to it.
  std::pair<NodeId, int64_t> split(NodeId index) const {
    if (source_.op(index) == Op::add || source_.op(index) == Op::subtract) {
      const bool adds = source_.op(index) == Op::add;
      for (const size_t i : {size_t{1}, size_t{0}}) {
        if (const NodeId part = source_.operand(index, i); source_.is_constant(part) && (adds || i == 1)) {
          const auto more = source_.constant(part).as<int64_t>();
          return {source_.operand(index, 1 - i), adds ? more : -more};
        }
      }
    }
    return {index, 0};
  }

  /// The indices along an axis that the iteration reads.
  Span span_of(Bounds& bounds, size_t axis) {
    const NodeId length = b_.length(use(array_), static_cast<int>(axis));
    const Span whole{loops_.index(0), loops_.subtract(length, loops_.index(1)), std::nullopt};
    std::map<uint32_t, std::pair<int64_t, int64_t>> offsets;  // by what they are added to
    for (const NodeId read : reads_.at(loop_.index)) {
      const auto [index, more] = split(source_.operand(read, 1 + axis));
      const auto [found, is_new] = offsets.try_emplace(index.index, more, more);
      if (!is_new)
        found->second = {std::min(found->second.first, more), std::max(found->second.second, more)};
    }
    std::optional<Span> all;
    for (const auto& [index, offset] : offsets) {
      const auto own = bounds.of(NodeId(index));
      if (!own) return whole;
      Span moved{loops_.add(own->least, loops_.index(offset.first)),
                 loops_.add(own->largest, loops_.index(offset.second)), std::nullopt};
      if (own->width) moved.width = *own->width + offset.second - offset.first;
      all = !all ? moved
                 : Span{loops_.minimum(all->least, moved.least), loops_.maximum(all->largest, moved.largest),
                        std::nullopt};
    }
    if (!all) return whole;
    if (!is_natural(b_.function(), all->least)) all->least = loops_.maximum(all->least, whole.least);
    return {all->least, loops_.minimum(all->largest, whole.largest), all->width};
  }
};

class Copier : public BoxStep {
 public:
  Copier(const Function& source, const ir::Directive& directive)
      : BoxStep(source, directive), directive_(directive), is_copied_(source.node_count()) {
    const Root memory = root_of(source_, array_);
    for (const auto& [loop, reads] : reads_) {
      if (may_write(source_, source_.region(NodeId(loop)), memory))
        refuse("which may write it", "copy an array that the loop only reads");
      for (const NodeId read : reads) is_copied_[read.index] = true;
    }
  }

 protected:
  void visit(NodeId id) override {
    if (!copy_ || !is_copied_[id.index]) return BoxStep::visit(id);
    Nodes indices;
    for (size_t axis = 0; axis < rank(); ++axis)
      indices.push_back(loops_.subtract(use(source_.operand(id, 1 + axis)), first_[axis]));
    bind(id, loops_.load(copy_, indices));
  }
  void begin() override {
    const Box from = box(use(source_.region_parameters(source_.region(loop_))[0]));
    Nodes known;
    auto bytes = static_cast<int64_t>(base::size_of(dtype()));
    for (const std::optional<int64_t> most : from.most) {
      const int64_t number = std::min(most.value_or(kMostKnownBytes), kMostKnownBytes);
      known.push_back(loops_.index(number));
      bytes = std::min(bytes * number, kMostKnownBytes);
    }
    const NodeId copy = loops_.new_view(bytes < kMostKnownBytes ? known : from.counts, dtype());
    b_.set_span(named_location(source_, loop_, names()));
    loops_.set_independent(true);
    loops_.nest(from.counts, [&](std::span<const NodeId> indices) {
      Nodes element;
      for (size_t axis = 0; axis < rank(); ++axis)
        element.push_back(loops_.add(from.first[axis], indices[axis]));
      loops_.store(copy, indices, loops_.load(use(array_), element));
    });
    loops_.set_independent(false);
    first_ = from.first;
    copy_ = copy;
  }
  void end() override { copy_ = {}; }

 private:
  /// Those of the loops that copy, from the outside in.
  std::string names() const {
    std::string all;
    for (size_t axis = 0; axis < rank(); ++axis)
      all += (axis > 0 ? "," : "") + name_of_copy(directive_, axis);
    return all;
  }

  const ir::Directive& directive_;
  std::vector<bool> is_copied_;  ///< by node
  NodeId copy_;                  ///< a view of it, in an iteration that has one
  Nodes first_;                  ///< the first index along each axis that it has
};

class Fetcher : public BoxStep {
 public:
  using BoxStep::BoxStep;
  void set_ahead(int64_t iterations) { ahead_ = iterations; }

 protected:
  void begin() override {
    const NodeId now = use(source_.region_parameters(source_.region(loop_))[0]);
    const Box later = box(loops_.add(now, loops_.index(ahead_)));
    Nodes counts = later.counts;
    const NodeId line =
        loops_.index(std::max<int64_t>(kLine / static_cast<int64_t>(base::size_of(dtype())), 1));
    counts.back() = loops_.ceiling(counts.back(), line);
    loops_.set_one_by_one(true);
    loops_.nest(counts, [&](std::span<const NodeId> indices) {
      Nodes operands{use(array_)};
      for (size_t axis = 0; axis < rank(); ++axis) {
        const NodeId index = axis + 1 < rank() ? indices[axis] : loops_.multiply(indices[axis], line);
        operands.push_back(loops_.add(later.first[axis], index));
      }
      b_.make(Op::prefetch, operands);
    });
    loops_.set_one_by_one(false);
  }

 private:
  int64_t ahead_ = 1;
};

}  // namespace

std::string name_of_copy(const ir::Directive& directive, size_t axis) {
  std::string name = directive.array + "_" + directive.loops[0] + "_" + std::to_string(axis);
  std::ranges::replace(name, ':', '_');
  return name;
}

std::unique_ptr<Function> copy_boxes(const Function& function, const ir::Directive& directive) {
  return Copier(function, directive).run();
}

std::unique_ptr<Function> fetch_boxes(const Function& function, const ir::Directive& directive) {
  Fetcher fetcher(function, directive);
  fetcher.set_ahead(directive.number);
  return fetcher.run();
}

}  // namespace ingot::transform
