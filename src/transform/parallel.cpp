#include "transform/parallel.h"

#include <algorithm>
#include <limits>

#include "ir/evaluate.h"
#include "transform/parallel_writer.h"
#include "transform/reductions.h"

namespace ingot::transform {

namespace {

class Parallelizer : public ParallelWriter {
 public:
  explicit Parallelizer(const Function& source) : ParallelWriter(source) {}

 protected:
  void visit(NodeId id) override {
    if (is_contribution(id)) return;
    if (!is_asked(id) || source_.result_count(id) == 0) return clone(id);
    const std::vector<Carried> all = carried_by(id);
    if (std::ranges::count(all, Carried::Way::InOrder, &Carried::way) > 0) return clone(id);
    write(id, all);
  }
  void set_attributes(NodeId id, std::span<int64_t> attributes) override {
    if (is_asked(id) && source_.result_count(id) > 0)
      attributes[0] = static_cast<int64_t>(ir::Schedule::Serial);
  }

 private:
  bool is_asked(NodeId id) const {
    return source_.op(id) == Op::for_ && ir::has_threads(static_cast<ir::Schedule>(source_.attribute(id, 0)));
  }
  std::vector<Carried> carried_by(NodeId loop) const {
    std::vector<Carried> all;
    for (size_t i = 0; i < source_.result_count(loop); ++i)
      all.push_back(carried_of(source_, loop, i).value_or(Carried{.way = Carried::Way::InOrder}));
    return all;
  }
  void write(NodeId loop, const std::vector<Carried>& all) {
    const auto threads = static_cast<ir::Schedule>(source_.attribute(loop, 0));
    const Nodes inits = use_all(source_.operands(loop).subspan(1));
    const auto parameters = source_.region_parameters(source_.region(loop));
    std::vector<Slot> slots;
    std::vector<Slot> signs;
    for (size_t i = 0; i < all.size(); ++i) {
      const Carried& carried = all[i];
      if (carried.way == Carried::Way::Passed) bind(parameters[i + 1], inits[i]);
      if (carried.way == Carried::Way::Passed) continue;
      const bool starts_anew = carried.way == Carried::Way::Counted;
      const NodeId init = starts_anew ? b_.constant(ir::kInt64, base::Scalar{}) : inits[i];
      slots.push_back({i, carried.combiner, carried.neutral, init});
      if (has_zeros(loop, i, carried)) signs.push_back(slot_of_zeros(carried.last_stands));
    }
    std::vector<Slot> both = slots;
    both.insert(both.end(), signs.begin(), signs.end());
    const Nodes given = write_parallel(loop, threads, both, [&](NodeId index, const Nodes& contributions) {
      Nodes places;
      for (size_t k = 0; k < slots.size(); ++k) {
        const Carried& carried = all[*slots[k].carried];
        if (has_zeros(loop, *slots[k].carried, carried))
          places.push_back(zero_at(index, contributions[k], carried.last_stands));
      }
      return places;
    });
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].way == Carried::Way::Passed) bind(source_.result(loop, i), inits[i]);
    size_t next = slots.size();
    for (size_t k = 0; k < slots.size(); ++k) {
      const size_t i = *slots[k].carried;
      NodeId value = given[k];
      if (all[i].way == Carried::Way::Counted) value = counted(all[i].check, inits[i], value);
      if (has_zeros(loop, i, all[i])) value = with_sign(inits[i], value, given[next++], all[i].last_stands);
      bind(source_.result(loop, i), value);
    }
  }

  /// @name The sign of an extreme that is zero
  /// Of equal numbers the first one stands, or the last; 0.0 and -0.0 are the equal ones that differ. So the
  /// turns also give 2 * their number, plus 1 for -0.0, where they have a zero, else what is behind all
  /// turns.
  bool has_zeros(NodeId loop, size_t i, const Carried& carried) const {
    return carried.way == Carried::Way::Extreme &&
           base::is_float(source_.type(source_.result(loop, i)).dtype());
  }
  static int64_t no_turn(bool last) { return last ? -1 : std::numeric_limits<int64_t>::max(); }
  Slot slot_of_zeros(bool last) {
    return {{}, last ? Op::maximum : Op::minimum, {}, b_.index(no_turn(last))};
  }
  NodeId is_zero(NodeId value) {
    return b_.make(Op::equal, {value, b_.constant(b_.function().type(value), base::Scalar{})});
  }
  NodeId zero_at(NodeId index, NodeId value, bool last) {
    const NodeId sign = b_.cast(b_.make(Op::signbit, {value}), DType::Int64);
    const NodeId place = b_.make(Op::add, {b_.make(Op::add, {index, index}), sign});
    return b_.make(Op::select, {is_zero(value), place, b_.index(no_turn(last))});
  }
  NodeId with_sign(NodeId init, NodeId value, NodeId place, bool last) {
    const NodeId zero = b_.constant(b_.function().type(value), base::Scalar{});
    const NodeId odd = b_.make(Op::bitwise_and, {place, b_.index(1)});
    const NodeId is_negative = b_.make(Op::equal, {odd, b_.index(1)});
    const NodeId found = b_.make(Op::select, {is_negative, b_.make(Op::negative, {zero}), zero});
    // Of equal numbers, what the loop began with is the first.
    const NodeId begins = last ? b_.make(Op::equal, {place, b_.index(no_turn(last))}) : is_zero(init);
    const NodeId own = b_.make(Op::select, {begins, init, found});
    return b_.make(Op::select, {is_zero(value), own, value});
  }

  /// A Python int and what was counted.
  NodeId counted(NodeId check, NodeId init, NodeId count) {
    const NodeId overflows = b_.make(Op::add_overflows, {init, count});
    const NodeId fits = b_.make(Op::invert, {overflows});
    if (check) b_.make(Op::check, {&fits, 1}, source_.attributes(check));
    return b_.make(Op::add, {init, count});
  }
};

}  // namespace

std::unique_ptr<ir::Function> parallel(const ir::Function& function) { return Parallelizer(function).run(); }

}  // namespace ingot::transform
