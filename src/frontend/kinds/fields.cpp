#include "frontend/kinds/fields.h"

#include "base/message.h"
#include "frontend/arrays/arguments.h"
#include "frontend/arrays/arrays.h"
#include "frontend/arrays/indexing.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/expressions/expressions.h"
#include "frontend/joins/joins.h"
#include "frontend/kinds/list_buffers.h"
#include "frontend/kinds/objects.h"
#include "frontend/kinds/parameters.h"
#include "frontend/kinds/sequences.h"
#include "frontend/kinds/strings.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"
#include "frontend/tracer/scopes.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Layout;
using ir::Op;

namespace {

constexpr int kMostDepth = 4;  ///< of nested containers of records as arguments

nb::object numpy(const char* name) { return imported("numpy").attr(name); }

nb::object member(const nb::object& object, const char* name) { return frontend::attribute(object, name); }

int64_t bytes_in(const nb::object& dtype) { return nb::cast<int64_t>(dtype.attr("itemsize")); }

bool has_fields(const nb::object& dtype) { return !member(dtype, "names").is_none(); }

/// Whether the elements of a dtype are of NumPy's class `record`.
bool gives_records(const nb::object& dtype) { return member(dtype, "type").is(numpy("record")); }

/// The dtype with the same fields and elements of that class.
nb::object of_records(const nb::object& dtype) {
  return gives_records(dtype) ? dtype : nb::object(numpy("dtype")(nb::make_tuple(numpy("record"), dtype)));
}

/// Whether fields are attributes, too.
bool has_attributes(const Structured& records) {
  return records.holder == Holder::RecArray ||
         (records.holder == Holder::Record && gives_records(records.dtype));
}

/// The alignment in bytes of a number, or of the widest number in a record.
int64_t alignment_of(const nb::object& dtype) {
  if (!has_fields(dtype)) return nb::cast<int64_t>(dtype.attr("alignment"));
  int64_t all = 1;
  for (const nb::handle name : member(dtype, "names"))
    all = std::max(all, alignment_of(member(member(dtype, "fields")[name][0], "base")));
  return all;
}

const Array& first_of(const Structured& records) { return *records.first->as<Array>(); }

/// The node that provides the memory of a view or buffer.
NodeId memory_of(const ir::Function& function, NodeId node) {
  const auto is_part = [&] {
    const Op op = function.op(node);
    const bool is_name = ir::info(op).effects.pure() || op == Op::lift || op == Op::primal;
    if (!is_name || function.operands(node).empty()) return false;
    const ir::Type type = function.type(function.operand(node, 0));
    return type.is_view() || type.is_buffer();
  };
  while (is_part()) node = function.operand(node, 0);
  return node;
}

/// Whether two views are known to be disjoint: one is new, or both are arguments of disjoint memory.
bool are_disjoint(const ir::Function& function, NodeId a, NodeId b) {
  a = memory_of(function, a);
  b = memory_of(function, b);
  const auto set_of = [&](NodeId node) -> std::optional<uint32_t> {
    if (function.op(node) != Op::param || function[node].parent != function.body()) return std::nullopt;
    return function.parameters()[static_cast<size_t>(function.attribute(node, 0))].alias_set;
  };
  const auto is_new = [&](NodeId node) {
    const ir::OpInfo& card = ir::info(function.op(node));
    return card.effects == ir::effect::Allocate && card.regions == 0;
  };
  if (a == b) return false;
  const std::optional<uint32_t> x = set_of(a);
  const std::optional<uint32_t> y = set_of(b);
  if (is_new(a) || is_new(b)) return (is_new(a) || x) && (is_new(b) || y);
  return x && y && *x != *y;
}

/// Whether no two fields of a record have a byte in common.
bool has_disjoint_fields(const nb::object& dtype) {
  if (!has_fields(dtype)) return true;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const nb::handle name : member(dtype, "names")) {
    const nb::object field = member(dtype, "fields")[name];
    const auto begin = nb::cast<int64_t>(field[1]);
    ranges.emplace_back(begin, begin + bytes_in(field[0]));
    if (!has_disjoint_fields(member(field[0], "base"))) return false;
  }
  std::ranges::sort(ranges);
  return std::ranges::adjacent_find(ranges, [](const auto& one, const auto& next) {
           return one.second > next.first;
         }) == ranges.end();
}

/// Whether fields of one name have different titles, which NumPy does not compare.
bool have_other_titles(const nb::object& a, const nb::object& b) {
  if (!has_fields(a) || !has_fields(b) || !member(a, "names").equal(member(b, "names"))) return false;
  for (const nb::handle name : member(a, "names")) {
    const nb::object x = member(a, "fields")[name];
    const nb::object y = member(b, "fields")[name];
    if (nb::len(x) != nb::len(y) || (nb::len(x) > 2 && !nb::object(x[2]).equal(y[2]))) return true;
    if (have_other_titles(member(x[0], "base"), member(y[0], "base"))) return true;
  }
  return false;
}

}  // namespace

bool is_one_dtype(const nb::object& a, const nb::object& b) {
  return a.is(b) || (a.equal(b) && member(a, "type").is(member(b, "type")));
}

bool Fields::is_array(const Value& value) {
  const Structured* records = value.as<Structured>();
  return records != nullptr && records->holder != Holder::Record;
}

int Fields::rank_of(const Structured& records) {
  return first_of(records).type.rank() - static_cast<int>(records.indices.size());
}

Value Fields::parameter(const Description& given, const std::string& name) {
  const auto& [holder, dtype, dtype_of] = given.get<described::Records>();
  auto bytes = given.parts[0].get<described::Array>();
  const Layout layout = std::exchange(bytes.layout, Layout::Any);  // single bytes with a stride
  t_.text_arguments[dtype.ptr()] = static_cast<int>(t_.builder->function().parameters().size());
  const Value first = Parameters(t_).array(bytes, name, -1);
  return Structured{.dtype = dtype, .holder = holder, .first = share(first), .layout = layout};
}

Description Fields::describe(const Structured& records, Outward& outward) {
  Array whole = bytes(records, {});
  if (records.indices.empty()) {
    const ir::Type type = whole.type;
    const NodeId node = whole.node;
    whole = first_of(records);
    whole.type = type;
    whole.node = node;
  }
  Description array = describe_result(t_, whole, outward);
  if (array.is<described::Same>()) return array;
  return {described::Records{records.holder, records.dtype, leaf_of(records.dtype)}, {std::move(array)}};
}

int Fields::leaf_of(const nb::object& dtype) const {
  const auto known = t_.text_arguments.find(dtype.ptr());
  return known == t_.text_arguments.end() ? -1 : known->second;
}

void Fields::open(const Value& value) {
  const Structured* records = value.as<Structured>();
  if (records == nullptr) {
    for (const Value& part : parts_of(value)) open(part);
    return;
  }
  const auto rank = static_cast<size_t>(first_of(*records).type.rank());
  for (const nb::handle name : member(records->dtype, "names")) {
    const nb::object dtype = member(records->dtype, "fields")[name][0];
    if (rank + nb::len(member(dtype, "shape")) > static_cast<size_t>(ir::kMaxRank)) continue;
    if (const std::optional<Value> known = field(*records, text_of(name), false)) open(*known);
  }
}

std::optional<std::pair<Value, Value>> Fields::alike(const Value& a, const Value& b) {
  const Structured* x = a.as<Structured>();
  const Structured* y = b.as<Structured>();
  if (x == nullptr || y == nullptr || x->holder != y->holder || x->layout == y->layout ||
      x->indices.size() != y->indices.size() || !is_one_dtype(x->dtype, y->dtype))
    return std::nullopt;
  Structured first = *x;
  Structured second = *y;
  first.layout = second.layout = Layout::Any;
  return std::pair(Value(first), Value(second));
}

bool Fields::is_same(const Structured& a, const Structured& b) {
  const uint32_t object = first_of(a).object;
  return a.holder == b.holder && a.indices.empty() && b.indices.empty() && object != 0 &&
         object == first_of(b).object;
}

bool Fields::may_be_same(const Structured& a, const Structured& b) {
  const Array& x = first_of(a);
  const Array& y = first_of(b);
  if (a.holder != b.holder || a.indices.size() != b.indices.size()) return false;
  if (a.indices.empty()) return x.argument >= 0 && y.argument >= 0 && x.argument != y.argument;
  const auto is_one_place = [](const Value& p, const Value& q) {
    return p.as<Scalar>()->node == q.as<Scalar>()->node;
  };
  return x.node == y.node && std::ranges::equal(a.indices, b.indices, is_one_place);
}

bool Fields::may_be_same(const nb::object& a, const nb::object& b) {
  const nb::object dtype = numpy("dtype");
  return nb::isinstance(a, dtype) && nb::isinstance(b, dtype) && has_fields(member(a, "base")) &&
         has_fields(member(b, "base")) && is_one_dtype(a, b);
}

std::string Fields::words(const Structured& records) {
  const std::string of = records.holder == Holder::Record     ? "a record"
                         : records.holder == Holder::RecArray ? "a recarray"
                                                              : "an array of records";
  std::string names;
  for (const nb::handle name : member(records.dtype, "names"))
    names += (names.empty() ? " of `" : "`, `") + text_of(name);
  return of + names + "`";
}

nb::object Fields::class_of(const Structured& records) {
  if (records.holder == Holder::Record) return member(records.dtype, "type");
  return numpy(kHolders[static_cast<size_t>(records.holder)]);
}

nb::object Fields::stand_in(const Structured& records) {
  nb::list shape;
  for (int i = 0; i < rank_of(records); ++i) shape.append(1);
  nb::object model = numpy("ones")(nb::tuple(shape), records.dtype);
  if (records.holder == Holder::RecArray) model = model.attr("view")(numpy("recarray"));
  return records.holder == Holder::Record ? nb::object(model[nb::tuple()]) : model;
}

/// The distances of records along the axes of `first`, in bytes.
std::vector<NodeId> Fields::strides(const Structured& records) {
  ir::Builder& builder = *t_.builder;
  const NodeId first = first_of(records).node;
  const int rank = first_of(records).type.rank();
  std::vector<NodeId> all(static_cast<size_t>(rank));
  NodeId inside = builder.index(bytes_in(records.dtype));
  for (int i = 0; i < rank; ++i) {
    const int axis = records.layout == Layout::F ? i : rank - 1 - i;
    const bool is_known = records.layout != Layout::Any;
    all[static_cast<size_t>(axis)] = is_known ? inside : builder.make(Op::stride, {first}, {axis});
    inside = builder.make(Op::multiply, {inside, builder.length(first, axis)});
  }
  return all;
}

/// The view at a byte offset in each record along the axes of `first`, and along those of the dtype's arrays.
Array Fields::view_of(const Structured& records, DType dtype, int64_t offset, const nb::object& inner) {
  ir::Builder& builder = *t_.builder;
  const Array& first = first_of(records);
  std::vector<NodeId> lengths = lengths_of(t_, first.node);
  std::vector<NodeId> distances = strides(records);
  int64_t inside = bytes_in(inner);
  for (const nb::handle given : nb::cast<nb::tuple>(inner.attr("shape"))) {
    const auto length = nb::cast<int64_t>(given);
    inside /= std::max<int64_t>(length, 1);
    lengths.push_back(builder.index(length));
    distances.push_back(builder.index(inside));
  }
  need_rank(t_, lengths.size());
  const NodeId from = builder.make(Op::offset, {first.node});
  const NodeId start = offset == 0 ? from : builder.make(Op::add, {from, builder.index(offset)});
  std::vector<NodeId> operands{builder.make(Op::buffer, {first.node}), start};
  operands.insert(operands.end(), lengths.begin(), lengths.end());
  operands.insert(operands.end(), distances.begin(), distances.end());
  const ir::Type type = ir::Type::view(dtype, static_cast<int>(lengths.size()), first.type.space());
  return viewing(t_, builder.make(Op::view, operands, {}, type), first.access);
}

/// Other records of the same dtype.
Structured Fields::on(const Array& first, const Structured& like) const {
  return {like.dtype, like.holder, share(Value(first)), first.type.rank() == 0 ? Layout::C : Layout::Any, {}};
}

/// A field of all records of `first`; none: there is no such field.
std::optional<Value> Fields::field(const Structured& records, const std::string& name, bool is_used) {
  const nb::object known = member(records.dtype, "fields").attr("get")(nb::str(name.c_str(), name.size()));
  if (known.is_none()) return std::nullopt;
  const nb::object dtype = known[0];
  const auto offset = nb::cast<int64_t>(known[1]);
  if (is_used && t_.request.on_device) need_aligned(records, member(dtype, "base"), offset);
  return part(records, dtype, offset);
}

Value Fields::part(const Structured& records, const nb::object& dtype, int64_t offset) {
  const nb::object base = member(dtype, "base");
  if (!has_fields(base)) {
    const std::optional<DType> numbers = base::dtype_from_numpy(text_of(base.attr("name")));
    if (!numbers || !nb::cast<bool>(base.attr("isnative")))
      unsupported(t_, {}, "a field of dtype " + text_of(nb::str(base)),
                  "use a bool, integer, floating or complex dtype in the machine's byte order");
    return view_of(records, *numbers, offset, dtype);
  }
  Structured inner = on(view_of(records, DType::UInt8, offset, dtype), records);
  const bool is_one = records.holder == Holder::Record && nb::len(member(dtype, "shape")) == 0;
  inner.dtype =
      has_attributes(records) && (is_one || records.holder != Holder::Record) ? of_records(base) : base;
  if (records.holder == Holder::Record && !is_one) inner.holder = Holder::Array;
  return inner;
}

/// Refuses a field of this dtype whose numbers a device cannot load.
void Fields::need_aligned(const Structured& records, const nb::object& dtype, int64_t offset) {
  const int64_t alignment = alignment_of(dtype);
  if (offset % alignment == 0 && bytes_in(records.dtype) % alignment == 0) return;
  unsupported(t_, {}, "a field of records that is not aligned, on a device",
              "make the dtype with align=True");
}

/// The part of a field of all of `first` that belongs to a record; of an array, all.
Value Fields::placed(const Structured& records, const Value& field, nb::handle node) {
  if (records.holder != Holder::Record) return field;
  const Tuple index{records.indices};
  if (const Array* numbers = field.as<Array>()) {
    const bool is_all = records.indices.empty() && numbers->type.rank() > 0;
    return is_all ? field : index_array(t_, *numbers, index, node);
  }
  Structured inner = *field.as<Structured>();
  if (inner.holder == Holder::Record) {
    inner.indices = records.indices;
    return inner;
  }
  if (records.indices.empty()) return inner;
  return on(*index_array(t_, first_of(inner), index, node).as<Array>(), inner);
}

/// A record as an array without axes.
Structured Fields::alone(const Structured& record, nb::handle node) {
  const Array all = view_of(record, DType::UInt8, 0, numpy("dtype")("uint8"));
  Tuple index{record.indices};
  index.members.emplace_back(Static{nb::ellipsis()});
  Structured array = on(*index_array(t_, all, index, node).as<Array>(), record);
  array.holder = Holder::Array;
  return array;
}

Value Fields::named_field(const Structured& records, const std::string& name) {
  std::optional<Value> known = field(records, name);
  if (!known) raise(t_, ExceptionKind::ValueError, base::escape_message("no field of name " + name));
  return *known;
}

/// The same records with fewer fields.
Structured Fields::several(const Structured& records, const nb::list& names) {
  Structured some = records;
  some.dtype = by_python(t_, [&] { return nb::object(records.dtype[names]); });
  if (gives_records(records.dtype)) some.dtype = of_records(some.dtype);
  some.first = share(Value(viewing(t_, first_of(records).node, first_of(records).access)));
  return some;
}

/// A field, or records of several, of all of `first`.
std::optional<Value> Fields::by_name(const Structured& records, const Value& index, nb::handle node) {
  if (Strings::is_known(index)) return named_field(records, text_of(index.as<Static>()->object));
  if (Strings::is_string(index)) {
    unsupported(t_, node, "a field whose name is not known when compiling",
                "name it, or iterate over a tuple of names");
  }
  if (!index.is<List>() || growing(t_, index) != nullptr) return std::nullopt;
  const std::vector<Value> parts = elements_of(t_, index, node);
  if (parts.empty() || !std::ranges::all_of(parts, &Strings::is_known)) return std::nullopt;
  nb::list names;
  for (const Value& part : parts) names.append(part.as<Static>()->object);
  return several(records, names);
}

/// A field by its number, of all of `first`, for an index into a record; none: it is another index.
std::optional<Value> Fields::by_place(const Structured& record, const Value& index, nb::handle node) {
  if (kind_of_value(index).index_part(index) != IndexPart::Number) return std::nullopt;
  const auto position = nb::cast<int64_t>(require_static(t_, index, "the number of a field", node));
  const nb::object names = member(record.dtype, "names");
  const auto count = static_cast<int64_t>(nb::len(names));
  if (position < -count || position >= count)
    raise(t_, ExceptionKind::IndexError,
          "invalid index (" + std::to_string(position < 0 ? position + count : position) + ")");
  return field(record, text_of(names[nb::int_(position)]));
}

std::vector<Value> Fields::members(const Structured& record, nb::handle node) {
  std::vector<Value> all;
  for (const nb::handle name : member(record.dtype, "names"))
    all.push_back(placed(record, named_field(record, text_of(name)), node));
  return all;
}

Fields::Index Fields::prepared(const Structured& records, const Value& index, nb::handle node) {
  Index made;
  made.parts = parts_of_index(index);
  const int rank = rank_of(records);
  int points = 0;
  int taken = 0;
  bool is_index = true;
  bool is_open = false;
  for (Value& part : made.parts) {
    part = present(t_, part, "an index", node);
    const bool is_known_list = part.is<List>() && growing(t_, part) == nullptr;
    if (is_known_list && elements_of(t_, part, node).empty()) part = by_library("no_places", {}, node);
    if (part.is<List>() || part.is<Tuple>() || part.is<Range>()) part = array_of(t_, part, node);
    const IndexPart is = kind_of_value(part).index_part(part);
    const std::optional<ir::Type> array = array_type_of(part);
    if (is == IndexPart::Flag && !array) unsupported(t_, node, "an index that is one bool", "use `if`");
    made.has_arrays = made.has_arrays || array;
    if (is == IndexPart::Number || (is == IndexPart::Numbers && array->rank() == 0)) ++points;
    taken += axes_of_part(part);
    is_index = is_index && is != IndexPart::Other;
    is_open = is_open || is == IndexPart::Ellipsis;
  }
  if (taken > rank && !is_index) raise_no_index(t_);
  need_axes(t_, taken, rank);
  made.takes_one = !is_open && points == rank && points == static_cast<int>(made.parts.size());
  if (!is_open) made.parts.emplace_back(Static{nb::ellipsis()});
  return made;
}

Structured Fields::record_at(const Structured& records, const Index& index) {
  Structured record = records;
  record.holder = Holder::Record;
  if (rank_of(records) == 0) {  // another object on the same memory
    Array first = first_of(records);
    first.object = t_.facts.next_object++;
    record.first = share(Value(first));
  }
  for (int axis = 0; axis < rank_of(records); ++axis) {
    const Value& part = index.parts[static_cast<size_t>(axis)];
    need_index_sized(t_, part);
    const NodeId position = stage_index(t_, part);
    in_range(t_, position, t_.builder->length(first_of(records).node, axis), axis);
    record.indices.emplace_back(Scalar{Kind::py_int(), position});
  }
  return record;
}

Value Fields::item(const Structured& records, const Value& index, nb::handle node) {
  const bool is_one = records.holder == Holder::Record;
  std::optional<Value> known = by_name(records, index, node);
  if (!known && is_one) known = by_place(records, index, node);
  if (known) return placed(records, *known, node);
  Index given = prepared(records, index, node);
  if (is_one && given.takes_one) return records;
  if (is_one) return item(alone(records, node), index, node);
  if (given.takes_one) return record_at(records, given);
  if (!given.has_arrays) {
    const Array all = view_of(records, DType::UInt8, 0, numpy("dtype")("uint8"));
    const Structured taken = on(*index_array(t_, all, Tuple{given.parts}, node).as<Array>(), records);
    open(taken);
    return taken;
  }
  const Slice whole{share(std::array<Value, 3>{Static{nb::none()}, Static{nb::none()}, Static{nb::none()}})};
  given.parts.emplace_back(whole);  // all bytes of a record
  const Value made = index_array(t_, bytes(records, node), Tuple{given.parts}, node);
  return on_bytes(made, records.dtype, records.holder);
}

void Fields::set_item(const Structured& records, const Value& index, const Value& value, nb::handle node) {
  const bool is_one = records.holder == Holder::Record;
  const auto need_writable = [&] {
    frontend::need_writable(t_, first_of(records), "assignment destination is read-only", node);
  };
  if (!is_one) need_writable();
  if (is_one && index.is<List>()) raise(t_, ExceptionKind::IndexError, "invalid index");
  std::optional<Value> known = by_name(records, index, node);
  if (!known && is_one) known = by_place(records, index, node);
  if (known && is_one) need_writable();
  if (known) return fill(records, *known, value, node);
  if (is_one) {
    if (!index.is<Slice>() && !index.is<Tuple>() && !is_none(index) && !known_of(index).is(nb::ellipsis()))
      unsupported(t_, node, "an assignment to a record by such an index", "name a field");
    raise(t_, ExceptionKind::IndexError, "invalid index");
  }
  const Index given = prepared(records, index, node);
  if (given.has_arrays && !given.takes_one) by_library("put", {records, Tuple{given.parts}, value}, node);
  else fill_records(item(records, index, node), value, node);
}

/// Assigns to all records of an array, or to one. Sources that may share their memory are copied first.
void Fields::fill_records(const Value& target, const Value& value, nb::handle node) {
  const Structured* to = target.as<Structured>();
  const Structured* from = value.as<Structured>();
  const bool is_disjoint = to != nullptr && from != nullptr && is_one_dtype(to->dtype, from->dtype) &&
                           has_disjoint_fields(to->dtype) &&
                           are_disjoint(t_.builder->function(), first_of(*to).node, first_of(*from).node);
  by_library(is_disjoint ? "fill_apart" : "fill", {target, value}, node);
}

/// Assigns to a field of all of `first`.
void Fields::fill(const Structured& records, const Value& field, const Value& value, nb::handle node) {
  const Array* numbers = field.as<Array>();
  if (numbers == nullptr) {
    fill_records(placed(records, field, node), value, node);
    return;
  }
  if (const Structured* given = value.as<Structured>();
      given != nullptr && nb::len(member(given->dtype, "names")) == 1) {
    const Value name = Static{nb::object(member(given->dtype, "names")[nb::int_(0)])};
    return fill(records, field, item(*given, name, node), node);  // NumPy casts records of one field
  }
  const bool is_one = static_cast<size_t>(numbers->type.rank()) == records.indices.size();
  Tuple index{records.indices};
  if (!is_one) index.members.emplace_back(Static{nb::ellipsis()});
  assign_index(t_, *numbers, index, value, node);
}

NodeId Fields::length(const Structured& records) { return t_.builder->length(first_of(records).node, 0); }

Array Fields::bytes(const Structured& records, nb::handle node) {
  const nb::object dtype = numpy("dtype")(nb::make_tuple("uint8", nb::make_tuple(bytes_in(records.dtype))));
  const Array all = view_of(records, DType::UInt8, 0, dtype);
  if (records.indices.empty()) return all;
  return *index_array(t_, all, Tuple{records.indices}, node).as<Array>();
}

Structured Fields::on_bytes(const Value& given, const nb::object& dtype, Holder holder) {
  ir::Builder& builder = *t_.builder;
  Array first = *given.as<Array>();
  // New memory is in C order: the bytes of a record are contiguous.
  const bool is_new = first.type.is_array();
  if (is_new) first = owner(t_, builder.make(Op::materialize, {first.node}));
  const int rank = first.type.rank() - 1;
  std::vector<NodeId> operands{builder.make(Op::buffer, {first.node}),
                               builder.make(Op::offset, {first.node})};
  for (int axis = 0; axis < rank; ++axis) operands.push_back(builder.length(first.node, axis));
  for (int axis = 0; axis < rank; ++axis) operands.push_back(builder.make(Op::stride, {first.node}, {axis}));
  first.type = ir::Type::view(DType::UInt8, rank, first.type.space());
  first.node = builder.make(Op::view, operands, {}, first.type);
  Structured records{dtype, holder, share(Value(first)), is_new ? Layout::C : Layout::Any, {}};
  open(records);
  return records;
}

void Fields::raise_no_attribute(const Structured& records, const std::string& name) {
  const std::string type =
      has_attributes(records) ? "record" : "numpy." + text_of(class_of(records).attr("__name__"));
  const std::string message = records.holder == Holder::RecArray
                                  ? "recarray has no attribute " + name
                                  : "'" + type + "' object has no attribute '" + name + "'";
  raise(t_, ExceptionKind::AttributeError, base::escape_message(message));
}

Value Fields::attribute(const Structured& records, const std::string& name, nb::handle node) {
  const nb::object type = class_of(records);
  if (!has_attribute(type, name.c_str())) {
    if (has_attributes(records)) {
      if (const std::optional<Value> known = field(records, name)) {
        Value value = placed(records, *known, node);
        if (Structured* inner = value.as<Structured>()) inner->dtype = of_records(inner->dtype);
        return value;
      }
    }
    raise_no_attribute(records, name);
  }
  if (name == "dtype") return Static{records.dtype};
  if (name == "itemsize") return Static{nb::int_(bytes_in(records.dtype))};
  const bool is_one = records.holder == Holder::Record;
  if (name == "shape" && is_one) return Tuple{};
  if (name == "ndim" && is_one) return Static{nb::int_(0)};
  if (name == "size" && is_one) return Static{nb::int_(1)};
  if (name == "strides" && is_one) return Tuple{};
  if (name == "T" && is_one) return records;
  if (name == "shape" || name == "ndim" || name == "size")
    return array_attribute(t_, first_of(records), name, node);
  if (name == "strides") {
    Tuple all;
    for (const NodeId stride : strides(records)) all.members.emplace_back(Scalar{Kind::py_int(), stride});
    return all;
  }
  if (name == "T") {
    Structured turned = records;
    turned.first = share(array_attribute(t_, first_of(records), name, node));
    if (records.layout != Layout::Any) turned.layout = records.layout == Layout::C ? Layout::F : Layout::C;
    return turned;
  }
  if (PyCallable_Check(member(type, name.c_str()).ptr()) != 0) return Method{share(Value(records)), name};
  Call call{.positional = {records}, .name = name, .node = node};
  if (std::optional<Value> value = by_table("ATTRIBUTES", nb::str(name.c_str()), call)) return *value;
  unsupported(t_, node, "the attribute `" + name + "` of records", "use their fields");
}

void Fields::set_attribute(const Structured& records, const std::string& name, const Value& value,
                           nb::handle node) {
  const nb::object type = class_of(records);
  const std::optional<Value> known =
      has_attributes(records) && !has_attribute(type, name.c_str()) ? field(records, name) : std::nullopt;
  if (!known && records.holder != Holder::RecArray && !has_attribute(type, name.c_str()))
    raise_no_attribute(records, name);
  if (!known) {
    unsupported(t_, node,
                "an assignment to the attribute `" + name + "` of a " + text_of(type.attr("__name__")),
                "assign to a field or an element");
  }
  need_writable(t_, first_of(records), "assignment destination is read-only", node);
  fill(records, *known, value, node);
}

Value Fields::by_library(const char* name, std::vector<Value> arguments, nb::handle node) {
  return call_library(t_, "structured", name, std::move(arguments), node);
}

/// Calls a function in a table of the library; none: it is not in the table.
std::optional<Value> Fields::by_table(const char* table, const nb::object& key, Call& call) {
  const nb::object function = imported("ingot.library.structured").attr(table).attr("get")(key);
  if (function.is_none()) return std::nullopt;
  refuse_keywords(t_, function, call);
  if (!binds(function, call)) raise_as_called(t_, call);
  return inline_function(t_, function, call);
}

Value Fields::copy(const Structured& records, nb::handle node) { return by_library("copy", {records}, node); }

Value Fields::method(const Structured& records, const std::string& name, Call& call) {
  const nb::object own = member(stand_in(records), name.c_str());
  const std::vector<Value> given = call.positional;
  call.name = name;
  call.positional.insert(call.positional.begin(), records);
  if (std::optional<Value> value = by_table("METHODS", nb::str(name.c_str()), call)) return *value;
  raise_by_type(t_, "call", name, given, own, call.keywords);
  unsupported(t_, call.node, "the method `" + name + "` of records", "call it of a field");
}

bool Fields::holds_records(const Value& value, int depth) const {
  const auto holds = [this, depth](const Value& part) { return holds_records(part, depth - 1); };
  if (value.is<Structured>()) return true;
  if (depth == 0) return false;
  if (const Tuple* tuple = value.as<Tuple>()) return std::ranges::any_of(tuple->members, holds);
  const uint32_t container = container_of(value);
  return container != 0 && std::ranges::any_of(t_.state.heap.at(container).values, holds);
}

nb::object Fields::spelled(const Value& value, nb::handle node) {
  const bool is_list = value.is<List>() && growing(t_, value) == nullptr;
  if (!is_list && !value.is<Tuple>()) return require_static(t_, value, "a dtype", node);
  nb::list parts;
  for (const Value& part : elements_of(t_, value, node)) parts.append(spelled(part, node));
  return is_list ? nb::object(parts) : nb::object(nb::tuple(parts));
}

std::optional<Value> Fields::call(const Builtin& builtin, Call& call) {
  if (!builtin.module.starts_with("numpy")) return std::nullopt;
  const auto any = [&](const auto& fn) {
    return std::ranges::any_of(call.positional, fn) ||
           std::ranges::any_of(call.keywords, [&](const auto& keyword) { return fn(keyword.second); });
  };
  const auto is_named = [](const Value& value) {
    const Tuple* field = value.as<Tuple>();
    return field != nullptr && field->members.size() >= 2 && Strings::is_known(field->members[0]);
  };
  const auto is_dtype_of_records = [&](const Value& value) {
    if (value.is<List>() && growing(t_, value) == nullptr) {
      const std::vector<Value>& parts = t_.state.heap.at(value.as<List>()->object).values;
      return !parts.empty() && std::ranges::all_of(parts, is_named);
    }
    const Static* known = value.as<Static>();
    return known != nullptr && !is_plain(known->object) && nb::isinstance(known->object, numpy("dtype")) &&
           has_fields(member(known->object, "base"));
  };
  const bool holds_some = any([this](const Value& value) { return holds_records(value, kMostDepth); });
  if (!holds_some && !any(is_dtype_of_records)) return std::nullopt;
  if (std::optional<Value> value = by_table("FUNCTIONS", call.function, call)) return value;
  if (!holds_some) return std::nullopt;
  raise_as_called(t_, call);
  unsupported(t_, call.node, "`np." + builtin.name + "` of records", "call it of a field");
}

std::optional<Value> Fields::compare(Operator op, const Value& a, const Value& b, nb::handle node) {
  const auto is_one = [](const Value& value) { return value.is<Structured>() && !is_array(value); };
  if (is_equality(op) && ((is_one(a) && is_none(b)) || (is_none(a) && is_one(b))))
    return Static{nb::bool_(op == Operator::NotEq)};
  if (is_equality(op) && a.is<Structured>() && b.is<Structured>()) {
    if (have_other_titles(a.as<Structured>()->dtype, b.as<Structured>()->dtype))
      raise(t_, ExceptionKind::TypeError,
            "Cannot compare structured arrays unless they have a common dtype.  I.e. "
            "`np.result_type(arr1, arr2)` must be defined.");
    return by_library(op == Operator::Eq ? "equal" : "not_equal", {a, b}, node);
  }
  if (is_membership(op) && a.is<Structured>() && is_array(b)) {
    const Value inside = by_library("contains", {b, a}, node);
    return answer(t_, op, inside, node);
  }
  if (!is_membership(op) || is_array(b))
    raise_by_type(t_, "compare", is_membership(op) ? "==" : symbol_of(op), {a, b});
  unsupported(t_, node, "a comparison of records", "compare their fields");
}

Value primitive_bytes_of(Tracer& t, Call& call) {
  return Fields(t).bytes(*call.positional.at(0).as<Structured>(), call.node);
}

Value primitive_records(Tracer& t, Call& call) {
  const nb::object dtype = require_static(t, call.positional.at(1), "a dtype", call.node);
  const std::string holder = text_of(require_static(t, call.positional.at(2), "a holder", call.node));
  const auto number = std::ranges::find(kHolders, holder) - kHolders.begin();
  return Fields(t).on_bytes(call.positional.at(0), dtype, static_cast<Holder>(number));
}

namespace {

class RecordsKind final : public ValueKind {
 public:
  std::vector<Value> parts(const Value& value) const override {
    const Structured& records = *value.as<Structured>();
    std::vector<Value> parts = records.indices;
    parts.insert(parts.begin(), *records.first);
    return parts;
  }
  Value with_parts(const Value& value, std::vector<Value> parts) const override {
    Structured other = *value.as<Structured>();
    other.first = share(std::move(parts[0]));
    other.indices.assign(std::make_move_iterator(parts.begin() + 1), std::make_move_iterator(parts.end()));
    return other;
  }
  bool same_form(const Value& a, const Value& b) const override {
    const Structured& x = *a.as<Structured>();
    const Structured& y = *b.as<Structured>();
    return x.holder == y.holder && x.layout == y.layout && is_one_dtype(x.dtype, y.dtype);
  }
  Answer join(Tracer& t, const Value& a, const Value& b, const std::string& what) const override {
    if (const auto records = Fields::alike(a, b))
      return frontend::join(t, records->first, records->second, what);
    return ValueKind::join(t, a, b, what);
  }
  std::optional<Description> describe(Tracer& t, const Value& value, Outward& outward) const override {
    return Fields(t).describe(*value.as<Structured>(), outward);
  }
  std::string words(const Tracer&, const Value& value) const override {
    return Fields::words(*value.as<Structured>());
  }
  std::string type_name(const Tracer&, const Value& value) const override {
    return "numpy." + text_of(Fields::class_of(*value.as<Structured>()).attr("__name__"));
  }
  nb::object type_of(Tracer&, const Value& value, nb::handle) const override {
    return Fields::class_of(*value.as<Structured>());
  }
  nb::object stand_in(const Tracer&, const Value& value) const override {
    return Fields::stand_in(*value.as<Structured>());
  }
  Answer attribute(Tracer& t, const Value& value, const std::string& name, nb::handle node) const override {
    return Fields(t).attribute(*value.as<Structured>(), name, node);
  }
  Answer item(Tracer& t, const Value& value, const Value& index, nb::handle node) const override {
    return Fields(t).item(*value.as<Structured>(), plain_number(t, index), node);
  }
  bool set_item(Tracer& t, const Value& value, const Value& index, const Value& item,
                nb::handle node) const override {
    if (is_instance(index)) return false;
    Fields(t).set_item(*value.as<Structured>(), plain_number(t, index), item, node);
    return true;
  }
  bool delete_item(Tracer& t, const Value& value, const Value&, nb::handle) const override {
    raise(t, ExceptionKind::ValueError,
          rank(value) ? "cannot delete array elements" : "cannot delete scalar field");
  }
  bool set_attribute(Tracer& t, const Value& value, const std::string& name, const Value& attribute,
                     nb::handle node) const override {
    Fields(t).set_attribute(*value.as<Structured>(), name, attribute, node);
    return true;
  }
  Answer method(Tracer& t, const Value& value, const std::string& name, Call& call) const override {
    return Fields(t).method(*value.as<Structured>(), name, call);
  }
  /// The string shows its present fields.
  Answer text(Tracer& t, const Value& value, const std::string& form, nb::handle node) const override {
    return filled_by(Fields(t).copy(*value.as<Structured>(), node), form);
  }
  Answer unary(Tracer& t, Operator op, const Value& value, nb::handle) const override {
    raise_by_type(t, "unary", info(op).symbol, {value});
    return std::nullopt;
  }
  Answer length(Tracer& t, const Value& value, nb::handle) const override {
    if (!Fields::is_array(value)) return std::nullopt;
    const Structured& records = *value.as<Structured>();
    if (Fields::rank_of(records) == 0) raise(t, ExceptionKind::TypeError, "len() of unsized object");
    return Scalar{Kind::py_int(), Fields(t).length(records)};
  }
  std::optional<Elements> elements(Tracer& t, const Value& value, nb::handle node) const override {
    if (Fields::is_array(value)) return std::nullopt;
    return Fields(t).members(*value.as<Structured>(), node);
  }
  std::optional<int> rank(const Value& value) const override {
    if (!Fields::is_array(value)) return std::nullopt;
    return Fields::rank_of(*value.as<Structured>());
  }
  std::optional<Trips> trips(Tracer& t, const Value& value, nb::handle node) const override {
    if (!rank(value)) return std::nullopt;
    if (rank(value) == 0) raise(t, ExceptionKind::TypeError, "iteration over a 0-d array");
    const Structured records = *value.as<Structured>();
    return Trips{Fields(t).length(records), [&t, records, node](NodeId k) {
                   return Fields(t).item(records, Scalar{Kind::py_int(), k}, node);
                 }};
  }
  Answer rest(Tracer& t, const Value& value, const Value& taken, Known, nb::handle node) const override {
    if (!rank(value)) return std::nullopt;
    return eval_item(t, value, slice_from(taken), node);
  }
  Answer reversed(Tracer& t, const Value& value, nb::handle node) const override {
    if (!rank(value)) return std::nullopt;
    return reversed_slice(t, value, node);
  }
  bool has_open_length(const Tracer&, const Value& value) const override {
    return rank(value).value_or(0) > 0;
  }
  Precedence precedence() const override { return Precedence::Records; }
  Answer compare(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    return Fields(t).compare(op, a, b, node);
  }
  std::optional<bool> identical(Tracer& t, const Value& a, const Value& b, nb::handle node) const override {
    const Structured& x = *a.as<Structured>();
    const Structured& y = *b.as<Structured>();
    if (Fields::is_same(x, y)) return true;
    if (Fields::may_be_same(x, y))
      unsupported(t, node, "`is` between records that may be one object", "compare values with ==");
    return false;
  }
  Answer contains(Tracer& t, const Value& value, const Value& wanted, nb::handle node) const override {
    return Fields(t).compare(Operator::In, wanted, value, node);
  }
  Answer contained(Tracer& t, const Value& value, const Value& container, nb::handle node) const override {
    return Fields(t).compare(Operator::In, value, container, node);
  }
};

}  // namespace

INGOT_VALUE_KIND(Structured, RecordsKind)

}  // namespace ingot::frontend
