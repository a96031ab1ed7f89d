#include "frontend/value.h"

#include <algorithm>

namespace ingot::frontend {

namespace {

std::shared_ptr<const std::array<Value, 3>> three(std::vector<Value>& parts) {
  return share(std::array<Value, 3>{std::move(parts[0]), std::move(parts[1]), std::move(parts[2])});
}

/// The parts of an error, then those of its context and its cause.
std::vector<Value> parts_of_error(const Error& error) {
  std::vector<Value> parts = *error.parts;
  const auto add = [&](const Error& other) {
    const std::vector<Value> more = parts_of_error(other);
    parts.insert(parts.end(), more.begin(), more.end());
  };
  if (error.context) add(*error.context);
  if (error.cause && !error.is_caused_by_context()) add(*error.cause);
  return parts;
}

/// The error with the first elements of `parts` as its parts; removes them from `parts`.
Error error_with(Error error, std::span<const Value>& parts) {
  const size_t own = error.parts->size();
  error.parts = share(std::vector<Value>(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(own)));
  parts = parts.subspan(own);
  const bool is_one = error.is_caused_by_context();
  if (error.context) error.context = share(error_with(*error.context, parts));
  if (error.cause) error.cause = is_one ? error.context : share(error_with(*error.cause, parts));
  return error;
}

bool same_form(const Error& a, const Error& b) {
  const auto alike = [](const std::shared_ptr<const Error>& x, const std::shared_ptr<const Error>& y) {
    return x && y ? same_form(*x, *y) : !x && !y;
  };
  return a.type.is(b.type) && a.kind == b.kind && a.message == b.message &&
         a.is_suppressing == b.is_suppressing && a.parts->size() == b.parts->size() &&
         a.is_caused_by_context() == b.is_caused_by_context() && alike(a.cause, b.cause) &&
         alike(a.context, b.context);
}

/// Whether records have the same form.
bool same_records(const Structured& a, const Structured& b) {
  return a.holder == b.holder && a.layout == b.layout && is_one_dtype(a.dtype, b.dtype);
}

/// Whether inner functions have the same code and variables, except for their values.
bool same_definition(const Definition& x, const Definition& y) {
  return x.node.is(y.node) && x.shared == y.shared && x.creator == y.creator &&
         std::ranges::equal(x.outside, y.outside, [](const auto& a, const auto& b) {
           return a.first == b.first && a.second.is(b.second);
         });
}

}  // namespace

std::vector<Value> parts_of(const Value& value) {
  if (const Tuple* t = value.as<Tuple>()) return t->members;
  if (const Range* r = value.as<Range>()) return std::vector<Value>(r->bounds->begin(), r->bounds->end());
  if (const Slice* s = value.as<Slice>()) return std::vector<Value>(s->parts->begin(), s->parts->end());
  if (const Zip* z = value.as<Zip>()) return *z->members;
  if (const Method* m = value.as<Method>()) return std::vector<Value>(1, *m->self);
  if (const String* t = value.as<String>()) return *t->parts;
  if (const Characters* l = value.as<Characters>()) return std::vector<Value>(1, *l->codes);
  if (const Member* m = value.as<Member>()) return std::vector<Value>(1, *m->index);
  if (const Structured* s = value.as<Structured>()) {
    std::vector<Value> parts = s->indices;
    parts.insert(parts.begin(), *s->first);
    return parts;
  }
  if (const Closure* c = value.as<Closure>()) return *c->defaults;
  if (const Error* e = value.as<Error>()) return parts_of_error(*e);
  if (const Iterator* i = value.as<Iterator>()) return std::vector<Value>(1, *i->iterates);
  if (const Generator* g = value.as<Generator>()) return *g->values;
  return {};
}

Value with_parts(const Value& value, std::vector<Value> parts) {
  if (const Tuple* t = value.as<Tuple>()) return Tuple{std::move(parts), t->type};
  if (const Range* r = value.as<Range>()) return Range{three(parts), r->parallel, r->endless};
  if (value.is<Slice>()) return Slice{three(parts)};
  if (value.is<Zip>()) return Zip{share(std::move(parts))};
  if (const Method* m = value.as<Method>()) return Method{share(std::move(parts[0])), m->name, m->function};
  if (const String* t = value.as<String>()) return String{t->form, share(std::move(parts))};
  if (value.is<Characters>()) return Characters{share(std::move(parts[0]))};
  if (const Member* m = value.as<Member>()) return Member{m->type, share(std::move(parts[0]))};
  if (const Structured* s = value.as<Structured>()) {
    Structured other = *s;
    other.first = share(std::move(parts[0]));
    other.indices.assign(std::make_move_iterator(parts.begin() + 1), std::make_move_iterator(parts.end()));
    return other;
  }
  if (const Closure* c = value.as<Closure>()) return Closure{c->definition, share(std::move(parts))};
  if (const Error* e = value.as<Error>()) {
    std::span<const Value> all = parts;
    return error_with(*e, all);
  }
  if (const Iterator* i = value.as<Iterator>()) return Iterator{i->cell, i->name, share(std::move(parts[0]))};
  if (const Generator* g = value.as<Generator>())
    return Generator{g->definition, g->names, share(std::move(parts))};
  return value;
}

bool same_form(const Value& a, const Value& b) {
  if (a.v.index() != b.v.index()) return false;
  if (const Range* r = a.as<Range>())
    return r->parallel == b.as<Range>()->parallel && r->endless == b.as<Range>()->endless;
  if (const Method* m = a.as<Method>())
    return m->name == b.as<Method>()->name && m->function.is(b.as<Method>()->function);
  if (const Tuple* t = a.as<Tuple>(); t != nullptr && !t->type.is(b.as<Tuple>()->type)) return false;
  if (const String* t = a.as<String>(); t != nullptr && t->form != b.as<String>()->form) return false;
  if (const Error* e = a.as<Error>(); e != nullptr && !same_form(*e, *b.as<Error>())) return false;
  if (const Pooled* r = a.as<Pooled>()) return r->pool == b.as<Pooled>()->pool;
  if (const Member* m = a.as<Member>(); m != nullptr && !m->type.is(b.as<Member>()->type)) return false;
  if (const Structured* s = a.as<Structured>()) return same_records(*s, *b.as<Structured>());
  if (const View* v = a.as<View>()) {
    const View& w = *b.as<View>();
    return v->object == w.object && v->name == w.name && v->from_back == w.from_back && v->skip == w.skip;
  }
  if (const Set* s = a.as<Set>(); s != nullptr && s->cell != b.as<Set>()->cell) return false;
  if (const Iterator* i = a.as<Iterator>(); i != nullptr && i->cell != b.as<Iterator>()->cell) return false;
  if (const Closure* c = a.as<Closure>())
    if (!same_definition(*c->definition, *b.as<Closure>()->definition)) return false;
  if (const Generator* g = a.as<Generator>()) {
    if (!same_definition(*g->definition, *b.as<Generator>()->definition)) return false;
    if (*g->names != *b.as<Generator>()->names) return false;
  }
  return parts_of(a).size() == parts_of(b).size();
}

}  // namespace ingot::frontend
