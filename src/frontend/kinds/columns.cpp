// Arrays in list buffers are numbers, too: that of their buffer, which `keep` returns, the offset, lengths
// and strides, and the number of the argument that it is. `kept` returns the buffer; passes assume that it
// may be any buffer, so the order of reads and writes is preserved. A kept buffer is freed when the call
// ends, unless the result holds it: `holding` lists the columns of such numbers in a description. An array
// that owns its memory and is no argument has `Array::kOwner` as the number of its argument, so that it is
// one object in the result.

#include "frontend/kinds/columns.h"

#include "frontend/arrays/arrays.h"
#include "frontend/kinds/list_buffers.h"
#include "frontend/kinds/members.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

std::vector<Kind> Columns::kinds_of(const Value& form) {
  std::vector<Kind> kinds;
  kind_of_value(form).column_kinds(form, kinds);
  return kinds;
}

Description Columns::described(const Value& form, const Other& other) {
  size_t column = 0;
  return described(form, other, column);
}

/// `column`: the next one.
Description Columns::described(const Value& form, const Other& other, size_t& column) {
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

std::vector<NodeId> Columns::numbers_of(const Value& form, const Value& element) {
  std::vector<NodeId> numbers;
  kind_of_value(form).numbers(t_, form, element, numbers);
  return numbers;
}

Value Columns::element_of(const Value& form, std::span<const NodeId> numbers) {
  size_t taken = 0;
  return kind_of_value(form).element(t_, form, [&] { return numbers[taken++]; });
}

std::vector<NodeId> Columns::converted(const Value& from, const Value& to, std::span<const NodeId> before,
                                       NodeId length) {
  Conversion conversion(t_, before, length);
  kind_of_value(to).convert(t_, from, to, conversion);
  return conversion.made();
}

NodeId Columns::Conversion::next() {
  const NodeId numbers = t_.builder->make(Op::read, {leading(t_, rest_.front(), length_)});
  rest_ = rest_.subspan(1);
  return numbers;
}

void Columns::Conversion::add_next_as(Kind kind, Kind wanted) {
  const NodeId numbers = next();
  const DType from = kind.dtype();
  const DType to = wanted.dtype();
  const NodeId converted = t_.builder->cast(numbers, to);
  if (from != to && !base::can_cast_safely(from, to)) {
    const NodeId kept = t_.builder->make(Op::equal, {t_.builder->cast(converted, from), numbers});
    t_.builder->check(reduce_all(t_, {kept}, Op::bitwise_and), ExceptionKind::TypeChangeError,
                      "a number of a list is not kept by " + std::string(base::info(to).numpy));
  }
  add(converted);
}

}  // namespace ingot::frontend
