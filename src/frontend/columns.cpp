// Arrays in list buffers are numbers, too: that of their buffer, which `keep` returns, the offset, lengths
// and strides, and the number of the argument that it is. `kept` returns the buffer; passes assume that it
// may be any buffer, so the order of reads and writes is preserved. A kept buffer is freed when the call
// ends, unless the result holds it: `holding` lists the columns of such numbers in a description. An array
// that owns its memory and is no argument has `Array::kOwner` as the number of its argument, so that it is
// one object in the result.

#include "frontend/columns.h"

#include "frontend/kinds/members.h"
#include "frontend/kinds/pooled_values.h"
#include "frontend/kinds/strings.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

constexpr int8_t kThere = 0;
constexpr int8_t kNone = 1;
constexpr int8_t kMissing = 2;

Kind kind_of_present(const Maybe& maybe) { return maybe.present->as<Scalar>()->kind; }

void collect_kinds(const Value& form, std::vector<Kind>& kinds) {
  if (const Scalar* s = form.as<Scalar>()) kinds.push_back(s->kind);
  if (form.is<Pooled>()) kinds.push_back(Kind::py_int());
  if (const Array* a = form.as<Array>())
    kinds.insert(kinds.end(), 3 + 2 * static_cast<size_t>(a->type.rank()), Kind::py_int());
  if (const Maybe* m = form.as<Maybe>()) {
    kinds.emplace_back(DType::Int8);
    kinds.push_back(kind_of_present(*m));
  }
  for (const Value& part : parts_of(form)) collect_kinds(part, kinds);
}

}  // namespace

std::vector<Kind> Evaluator::Columns::kinds_of(const Value& form) {
  std::vector<Kind> kinds;
  collect_kinds(form, kinds);
  return kinds;
}

Description Evaluator::Columns::described(const Value& form, const Other& other) {
  size_t column = 0;
  return described(form, other, column);
}

/// `column`: the next one.
Description Evaluator::Columns::described(const Value& form, const Other& other, size_t& column) {
  const size_t own = column;
  const auto with_column = [&](Description::Kinds of, std::vector<Description> parts = {}) {
    return Description{std::move(of), std::move(parts), static_cast<uint32_t>(own)};
  };
  const Tuple* const tuple = form.as<Tuple>();
  column += tuple != nullptr ? 0 : kinds_of(form).size();
  if (const Scalar* s = form.as<Scalar>()) return with_column(described::Scalar{s->kind});
  if (form.is<Characters>()) return with_column(described::Character{});
  if (const Member* m = form.as<Member>())
    return with_column(described::Member{nb::cast<nb::tuple>(Members::tuple_of(m->type))});
  if (form.is<Unbound>()) return with_column(described::Absent{});
  if (const Static* s = form.as<Static>()) return with_column(described::Static{s->object});
  if (const Maybe* m = form.as<Maybe>()) {
    size_t inside = own + 1;
    return with_column(described::Maybe{}, {described(*m->present, other, inside)});
  }
  if (tuple == nullptr) return with_column(other(form, own));
  std::vector<Description> parts;
  for (const Value& part : tuple->members) parts.push_back(described(part, other, column));
  described::Tuple of;
  if (tuple->type.is_valid()) of.type = tuple->type;
  return with_column(std::move(of), std::move(parts));
}

NodeId Evaluator::Columns::zero(Kind kind) {
  return e_.builder_->constant(ir::Type::scalar(kind.dtype()), {});
}

std::vector<NodeId> Evaluator::Columns::numbers_of(const Value& form, const Value& element) {
  ir::Builder& builder = *e_.builder_;
  if (const Scalar* s = form.as<Scalar>()) return {e_.convert(element, s->kind)};
  if (form.is<Pooled>()) return {PooledValues(e_).index_of(element)};
  if (const Maybe* m = form.as<Maybe>()) {
    const Kind kind = kind_of_present(*m);
    if (element.is<Unbound>()) return {builder.constant(kMissing), zero(kind)};
    if (is_none(element)) return {builder.constant(kNone), zero(kind)};
    const Maybe* given = element.as<Maybe>();
    if (given == nullptr) return {builder.constant(kThere), e_.convert(element, kind)};
    const Scalar inside{kind_of_present(*given), builder.make(Op::value, {given->node})};
    return {builder.make(Op::tag, {given->node}), e_.convert(inside, kind)};
  }
  if (form.is<Array>()) {
    const Array array = e_.named(element);
    const NodeId view = array.node;
    // For arrays that are no argument: `kOwner` for the object that the memory was allocated for, else -1.
    const NodeId nothing = builder.index(array.owns ? Array::kOwner : -1);
    NodeId origin = builder.index(array.argument);
    if (array.origin && array.owns) {
      const NodeId is_argument = builder.make(Op::greater_equal, {array.origin, builder.index(0)});
      origin = builder.make(Op::select, {is_argument, array.origin, nothing});
    } else if (array.origin || array.argument < 0) {
      origin = array.origin ? array.origin : nothing;
    }
    std::vector<NodeId> numbers{builder.make(Op::keep, {builder.make(Op::buffer, {view})}),
                                builder.make(Op::offset, {view}), origin};
    for (int axis = 0; axis < array.type.rank(); ++axis) numbers.push_back(builder.length(view, axis));
    for (int axis = 0; axis < array.type.rank(); ++axis)
      numbers.push_back(builder.make(Op::stride, {view}, {axis}));
    return numbers;
  }
  if (form.is<Characters>() && element.is<Static>())
    return numbers_of(form, Strings(e_).characters_of(element));
  if (form.is<Member>() && element.is<Static>()) return numbers_of(form, Members(e_).opened(element));
  std::vector<NodeId> numbers;
  const std::vector<Value> forms = parts_of(form);
  const std::vector<Value> parts = parts_of(element);
  for (size_t i = 0; i < forms.size(); ++i) {
    const std::vector<NodeId> own = numbers_of(forms[i], parts[i]);
    numbers.insert(numbers.end(), own.begin(), own.end());
  }
  return numbers;
}

Value Evaluator::Columns::element_of(const Value& form, std::span<const NodeId> numbers) {
  return take(form, numbers);
}

Value Evaluator::Columns::take(const Value& form, std::span<const NodeId>& numbers) {
  const auto next = [&] {
    const NodeId number = numbers.front();
    numbers = numbers.subspan(1);
    return number;
  };
  if (const Scalar* s = form.as<Scalar>()) return Scalar{s->kind, next()};
  if (const Pooled* r = form.as<Pooled>()) return r->at(next());
  if (const Array* a = form.as<Array>()) {
    Array array = *a;
    std::vector<NodeId> operands{e_.builder_->make(Op::kept, {next()}), next()};
    array.origin = next();
    for (int i = 0; i < 2 * a->type.rank(); ++i) operands.push_back(next());
    array.node = e_.builder_->make(Op::view, operands, {}, a->type);
    return array;
  }
  if (const Maybe* m = form.as<Maybe>()) {
    ir::Builder& builder = *e_.builder_;
    const NodeId tag = next();
    const NodeId value = next();
    const ir::Type type = e_.module_.types.optional(ir::Type::scalar(kind_of_present(*m).dtype()));
    const auto choose = [&](int8_t wanted, const std::function<NodeId()>& then,
                            const std::function<NodeId()>& other) {
      const NodeId condition[] = {builder.make(Op::equal, {tag, builder.constant(wanted)})};
      const NodeId node = builder.begin(Op::if_, condition);
      for (size_t arm = 0; arm < 2; ++arm) {
        builder.enter(node, arm, {});
        const NodeId given[] = {arm == 0 ? then() : other()};
        builder.terminate(Op::yield, given);
      }
      const ir::Type types[] = {type};
      builder.set_results(node, types);
      return builder.end(node)[0];
    };
    const auto missing = [&](int64_t why) { return builder.make(Op::none, {}, {why}, type); };
    const auto absent = [&] {
      if (!m->may_be_unbound) return missing(kNone);
      if (!m->may_be_none) return missing(kMissing);
      return choose(kNone, [&] { return missing(kNone); }, [&] { return missing(kMissing); });
    };
    const NodeId chosen = choose(kThere, [&] { return builder.make(Op::some, {value}); }, absent);
    return Maybe{chosen, m->present, m->may_be_unbound, m->may_be_none};
  }
  std::vector<Value> parts = parts_of(form);
  for (Value& part : parts) part = take(part, numbers);
  return with_parts(form, std::move(parts));
}

/// One conversion: the columns that are yet to be converted, and the new ones.
class Evaluator::Columns::Conversion {
 public:
  Conversion(Columns& columns, std::span<const NodeId> before, NodeId length)
      : columns_(columns), e_(columns.e_), rest_(before), length_(length) {}

  void convert(const Value& from, const Value& to) {
    if (const Scalar* s = to.as<Scalar>()) {
      add(as_kind(next(), from.as<Scalar>()->kind, s->kind));
    } else if (to.is<Pooled>()) {
      if (from.is<Pooled>()) add(next());
      else fill(e_.builder_->index(from.is<Unbound>() ? Pooled::kUnbound : Pooled::kNone));
    } else if (const Array* a = to.as<Array>()) {
      for (int i = 0; i < 3 + 2 * a->type.rank(); ++i) add(next());
    } else if (to.is<Characters>() && from.is<Static>()) {
      const Value character = Strings(e_).characters_of(from);
      fill(character.as<Characters>()->codes->as<Scalar>()->node);
    } else if (to.is<Member>() && from.is<Static>()) {
      fill(Members(e_).opened(from).as<Member>()->index->as<Scalar>()->node);
    } else if (const Maybe* m = to.as<Maybe>()) {
      convert_optional(from, kind_of_present(*m));
    } else {
      const std::vector<Value> parts = parts_of(from);
      const std::vector<Value> wanted = parts_of(to);
      for (size_t i = 0; i < wanted.size(); ++i) convert(parts[i], wanted[i]);
    }
  }
  std::vector<NodeId> made() { return std::move(made_); }

 private:
  /// The numbers of the next column.
  NodeId next() {
    const NodeId numbers = e_.builder_->make(Op::read, {e_.leading(rest_.front(), length_)});
    rest_ = rest_.subspan(1);
    return numbers;
  }
  void add(NodeId numbers) { made_.push_back(e_.builder_->make(Op::materialize, {numbers})); }
  void fill(NodeId number) { add(e_.builder_->make(Op::broadcast, {number, length_})); }

  void convert_optional(const Value& from, Kind to) {
    if (const Maybe* m = from.as<Maybe>()) {
      add(next());
      add(as_kind(next(), kind_of_present(*m), to));
    } else if (const Scalar* s = from.as<Scalar>()) {
      const NodeId numbers = next();
      fill(e_.builder_->constant(kThere));
      add(as_kind(numbers, s->kind, to));
    } else {
      fill(e_.builder_->constant(from.is<Unbound>() ? kMissing : kNone));
      fill(columns_.zero(to));
    }
  }

  NodeId as_kind(NodeId numbers, Kind kind, Kind wanted) {
    const DType from = kind.dtype();
    const DType to = wanted.dtype();
    const NodeId converted = e_.builder_->cast(numbers, to);
    if (from != to && !base::can_cast_safely(from, to)) {
      const NodeId kept = e_.builder_->make(Op::equal, {e_.builder_->cast(converted, from), numbers});
      e_.builder_->check(e_.reduce_all({kept}, Op::bitwise_and), ExceptionKind::TypeChangeError,
                         "a number of a list is not kept by " + std::string(base::info(to).numpy));
    }
    return converted;
  }

  Columns& columns_;
  Evaluator& e_;
  std::span<const NodeId> rest_;
  NodeId length_;
  std::vector<NodeId> made_;
};

std::vector<NodeId> Evaluator::Columns::converted(const Value& from, const Value& to,
                                                  std::span<const NodeId> before, NodeId length) {
  Conversion conversion(*this, before, length);
  conversion.convert(from, to);
  return conversion.made();
}

}  // namespace ingot::frontend
