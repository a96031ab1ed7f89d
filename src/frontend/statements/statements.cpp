#include "frontend/statements/statements.h"

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/indexing.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/arrays/ufuncs.h"
#include "frontend/expressions/closures.h"
#include "frontend/expressions/expressions.h"
#include "frontend/joins/joins.h"
#include "frontend/kinds/generators.h"
#include "frontend/kinds/lists.h"
#include "frontend/kinds/members.h"
#include "frontend/kinds/objects.h"
#include "frontend/kinds/sequences.h"
#include "frontend/kinds/special_methods.h"
#include "frontend/loops/loops.h"
#include "frontend/statements/exceptions.h"
#include "frontend/statements/imports.h"
#include "frontend/statements/patterns.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"
#include "frontend/tracer/scopes.h"

namespace ingot::frontend {

using base::ExceptionKind;

namespace {

void assign_item(Tracer& t, const Value& container, const Value& index, Value value, nb::handle target);
void delete_item_of(Tracer& t, const Value& container, const Value& index, nb::handle target);

}  // namespace

void run_body(Tracer& t, nb::handle statements) {
  for (const nb::handle statement : statements) run(t, statement);
}

namespace {

[[noreturn]] void refuse_statement(Tracer& t, nb::handle s) {
  const std::string name = class_of(s);
  if (name == "ClassDef")
    unsupported(t, s, "a class that is defined inside a function", "define it at the top of the file");
  if (name == "TryStar") unsupported(t, s, "`except*`", "use `except`");
  if (name.starts_with("Async")) unsupported(t, s, "`async`", "write it without");
  unsupported(t, s, "the statement `" + name + "`", "write it with assignments, if, for and while");
}

}  // namespace

void bind_variable(Tracer& t, const std::string& name, Value value) {
  // A variable can be an alias through which an array is changed: the array becomes memory.
  set_local(t, name, stored(t, std::move(value)));
}

namespace {

std::vector<Value> unpack(Tracer& t, const Value& given, size_t count, nb::handle node) {
  const Value value = begin_iterate(t, given, node);
  if (value.is<Foreign>()) use_foreign(t, "unpack", "", {value}, node);
  if (iterates_generator(value)) return unpack(t, list_of(t, value, node, count), count, node);
  kind_of_value(value).refuse_iterate(t, value, node);
  const std::string few = "not enough values to unpack (expected " + std::to_string(count) + ", got ";
  const std::string many = "too many values to unpack (expected " + std::to_string(count) + ")";
  std::vector<Value> elements;
  if (rank_of(value) || kind_of_value(value).has_open_length(t, value)) {
    const Trips trips = trips_of(t, value, node);
    const NodeId wanted = t.builder->index(static_cast<int64_t>(count));
    check(t, t.builder->make(ir::Op::less_equal, {wanted, trips.count}), ExceptionKind::ValueError,
          few + "{})", {trips.count});
    check(t, t.builder->make(ir::Op::greater_equal, {wanted, trips.count}), ExceptionKind::ValueError, many);
    for (size_t i = 0; i < count; ++i)
      elements.push_back(trips.element(t.builder->index(static_cast<int64_t>(i))));
    return elements;
  }
  if (const auto known = static_elements(t, value, node, true)) {
    if (known->size() < count) raise(t, ExceptionKind::ValueError, few + std::to_string(known->size()) + ")");
    if (known->size() > count) raise(t, ExceptionKind::ValueError, many);
    return *known;
  }
  if (!value.is<Zip>())
    raise(t, ExceptionKind::TypeError, "cannot unpack non-iterable " + type_name(t, value) + " object");
  // Several iterables, some of known length and others of unknown.
  const Indexed each = kind_of_value(value).indexed(t, value, node);
  const auto need = [&](const Value& holds, const std::string& message) {
    if (static_truth(t, holds) == false) raise(t, ExceptionKind::ValueError, message);
    check(t, truth(t, holds, node), ExceptionKind::ValueError, message);
  };
  for (size_t i = 0; i < count; ++i) {
    need(each.has(Static{nb::int_(i)}), few + std::to_string(i) + ")");
    elements.push_back(each.element(Static{nb::int_(i)}));
  }
  need(unary(t, Operator::Not, each.has(Static{nb::int_(count)}), node), many);
  return elements;
}

std::vector<Value> unpack_starred(Tracer& t, const Value& given, size_t before, size_t after,
                                  nb::handle node) {
  Value value = begin_iterate(t, given, node);
  if (iterates_generator(value)) value = list_of(t, value, node);
  if (rank_of(value) || kind_of_value(value).has_open_length(t, value)) {
    unsupported(t, node,
                "a starred target for a " + type_name(t, value) + " whose length is not known when compiling",
                "take slices");
  }
  const auto known = static_elements(t, value, node, true);
  if (!known) return unpack(t, value, before + after, node);  // raises or refuses
  if (known->size() < before + after) {
    raise(t, ExceptionKind::ValueError,
          "not enough values to unpack (expected at least " + std::to_string(before + after) + ", got " +
              std::to_string(known->size()) + ")");
  }
  std::vector<Value> parts(known->begin(), known->begin() + static_cast<ptrdiff_t>(before));
  parts.push_back(new_list(t, std::vector<Value>(known->begin() + static_cast<ptrdiff_t>(before),
                                                 known->end() - static_cast<ptrdiff_t>(after))));
  parts.insert(parts.end(), known->end() - static_cast<ptrdiff_t>(after), known->end());
  return parts;
}

}  // namespace

void assign(Tracer& t, nb::handle target, Value value) {
  const Here here(t, target);
  const std::string kind = class_of(target);
  if (kind == "Name") return bind_variable(t, text_of(target.attr("id")), std::move(value));
  if (kind == "Tuple" || kind == "List") {
    const nb::list targets = target.attr("elts");
    const size_t count = nb::len(targets);
    size_t star = count;
    for (size_t i = 0; i < count; ++i)
      if (class_of(targets[i]) == "Starred") star = i;
    if (star == count) {
      const std::vector<Value> parts = unpack(t, value, count, target);
      for (size_t i = 0; i < parts.size(); ++i) assign(t, targets[i], parts[i]);
      return;
    }
    const std::vector<Value> parts = unpack_starred(t, value, star, count - star - 1, target);
    for (size_t i = 0; i < count; ++i)
      assign(t, i == star ? nb::handle(targets[i].attr("value")) : nb::handle(targets[i]), parts[i]);
    return;
  }
  if (kind == "Subscript") {
    const Value container = eval(t, target.attr("value"));
    return assign_item(t, container, eval_index(t, target.attr("slice")), std::move(value), target);
  }
  if (kind == "Attribute") {
    return set_attribute(t, eval(t, target.attr("value")), text_of(target.attr("attr")), std::move(value),
                         target);
  }
  unsupported(t, target, "an assignment to a `" + kind + "`", "assign to a name or an element");
}

namespace {

void assign_item(Tracer& t, const Value& container, const Value& index, Value value, nb::handle target) {
  if (const Maybe* bound = open_bound(index);
      bound != nullptr && !kind_of_value(container).takes_open_bounds() && !is_instance(container)) {
    by_bound(t, *bound, index, [&](const Value& known) {
      assign_item(t, container, known, value, target);
      return Value(Static{nb::none()});
    });
    return;
  }
  const auto put_under = [&](const Value& known) {
    assign_item(t, container, known, value, target);
    return Value(Static{nb::none()});
  };
  if (Members(t).by_new_index(container, index, put_under, target)) return;
  if (!rank_of(container) && is_foreign(t, index))
    use_foreign(t, "store", "", {container, index, value}, target);
  if (kind_of_value(container).set_item(t, container, index, value, target)) return;
  if (call_special(t, container, "__setitem__", {index, value}, target)) return;
  raise(t, ExceptionKind::TypeError,
        "'" + type_name(t, container) + "' object does not support item assignment");
}

void run_assign(Tracer& t, nb::handle s) {
  Value value = eval_open(t, s.attr("value"));
  const nb::list targets = s.attr("targets");
  if (nb::len(targets) > 1) value = stored(t, std::move(value));
  for (const nb::handle target : targets) assign(t, target, value);
}

void run_ann_assign(Tracer& t, nb::handle s) {
  if (!s.attr("value").is_none()) assign(t, s.attr("target"), eval(t, s.attr("value")));
}

/// `before op= right`: the new value; none: the object itself has changed.
std::optional<Value> changed(Tracer& t, const Value& before, Operator op, const Value& right, nb::handle s) {
  if (std::optional<Value> own = kind_of_value(before).in_place(t, op, before, right, s))
    return own->is<Unbound>() ? std::nullopt : own;
  static const std::set<Operator> kOfInts = {Operator::FloorDiv, Operator::Mod,    Operator::BitAnd,
                                             Operator::BitOr,    Operator::BitXor, Operator::LShift,
                                             Operator::RShift,   Operator::MatMult};
  if (!kind_of(before) || !kind_of(right) || kOfInts.contains(op))
    raise_by_type(t, "in place", symbol_of(op) + "=", {before, right});
  return binary(t, op, before, right, s);
}

void run_aug_assign(Tracer& t, nb::handle s) {
  const nb::object target = attribute(s, "target");
  const Operator op = operator_of(s.attr("op"));
  if (class_of(target) == "Name") {
    const Value before = eval(t, target);
    if (std::optional<Value> after = changed(t, before, op, eval(t, s.attr("value")), s))
      bind_variable(t, text_of(target.attr("id")), std::move(*after));
    return;
  }
  if (class_of(target) == "Attribute") {
    const Value owner = eval(t, target.attr("value"));
    const std::string name = text_of(target.attr("attr"));
    const Value before = present(t, attribute_of(t, owner, name, target), name, target);
    const std::optional<Value> after = changed(t, before, op, eval(t, s.attr("value")), s);
    if (owner.is<Structured>() && !after) return;  // a field, which is a view
    return set_attribute(t, owner, name, after.value_or(before), target);
  }
  if (class_of(target) != "Subscript")
    unsupported(t, s, "an augmented assignment to `" + as_written(target) + "`",
                "assign to a name or an element");
  const Value container = eval(t, target.attr("value"));
  const Value index = eval_index(t, target.attr("slice"));
  if ((object_of(container) == 0 && is_foreign(t, container)) || is_foreign(t, index))
    use_foreign(t, "subscript", "", {container, index}, s);
  const Array* a = container.as<Array>();
  if (a == nullptr) {
    const Value before = present(t, eval_item(t, container, index, target), "the element", target);
    const std::optional<Value> after = changed(t, before, op, eval(t, s.attr("value")), s);
    const bool is_view = !after && container.is<Structured>();  // a field
    if (!is_view) assign_item(t, container, index, after.value_or(before), target);
    return;
  }
  const Value before = index_array(t, *a, index, target);
  const Value right = eval(t, s.attr("value"));
  const Array* part = before.as<Array>();
  if (part == nullptr) return assign_index(t, *a, index, binary(t, op, before, right, s), target);
  if (part->type.is_array()) return assign_index(t, *a, index, combined(t, *part, op, right, s), target);
  in_place(t, *part, op, right, s);
  if (part->owns) assign_index(t, *a, index, before, target);
}

void run_expr(Tracer& t, nb::handle s) {
  if (class_of(s.attr("value")) != "Constant") eval_open(t, s.attr("value"));
}

void run_if(Tracer& t, nb::handle s) {
  const Value condition = eval_condition(t, s.attr("test"));
  const auto arm = [&](const char* name) {
    run_body(t, s.attr(name));
    return Value(Static{nb::none()});
  };
  if (const std::optional<bool> known = static_truth(t, condition)) {
    arm(*known ? "body" : "orelse");
    return;
  }
  fork(t, truth(t, condition, s), [&] { return arm("body"); }, [&] { return arm("orelse"); });
}

void run_return(Tracer& t, nb::handle s) {
  if (t.frame->caller == nullptr) t.result_location = location_of(t, s);
  Value value = s.attr("value").is_none() ? Value(Static{nb::none()}) : eval_open(t, s.attr("value"));
  leave_to(t, *t.frame->returns, stored(t, std::move(value)));
}

void run_break(Tracer& t, nb::handle) { leave_to(t, *t.frame->breaks.back(), Static{nb::none()}); }
void run_continue(Tracer& t, nb::handle) { leave_to(t, *t.frame->continues.back(), Static{nb::none()}); }
void run_pass(Tracer&, nb::handle) {}

void delete_item(Tracer& t, nb::handle target) {
  const Value container = eval(t, target.attr("value"));
  delete_item_of(t, container, eval_index(t, target.attr("slice")), target);
}

void delete_item_of(Tracer& t, const Value& container, const Value& index, nb::handle target) {
  if (const Maybe* bound = open_bound(index); bound != nullptr && !is_instance(container)) {
    by_bound(t, *bound, index, [&](const Value& known) {
      delete_item_of(t, container, known, target);
      return Value(Static{nb::none()});
    });
    return;
  }
  const auto take_out = [&](const Value& known) {
    delete_item_of(t, container, known, target);
    return Value(Static{nb::none()});
  };
  if (Members(t).by_new_index(container, index, take_out, target)) return;
  if (kind_of_value(container).delete_item(t, container, index, target)) return;
  if (is_foreign(t, index)) use_foreign(t, "", "", {container, index}, target);
  if (call_special(t, container, "__delitem__", {index}, target)) return;
  raise_by_type(t, "delete", "", {container, index});
  unsupported(t, target, "`del` of an item of a " + type_name(t, container), "use lists and dicts");
}

void run_delete(Tracer& t, nb::handle s) {
  const std::function<void(nb::handle)> remove = [&](nb::handle target) {
    const Here here(t, target);
    const std::string kind = class_of(target);
    if (kind == "Tuple" || kind == "List") {
      for (const nb::handle element : target.attr("elts")) remove(element);
    } else if (kind == "Subscript") {
      delete_item(t, target);
    } else if (kind == "Name") {
      eval_name(t, target);
      set_local(t, text_of(target.attr("id")), Unbound{});
    } else {
      delete_attribute(t, eval(t, target.attr("value")), text_of(target.attr("attr")), target);
    }
  };
  for (const nb::handle target : s.attr("targets")) remove(target);
}

}  // namespace

void run(Tracer& t, nb::handle s) {
  using Step = void (*)(Tracer&, nb::handle);
  static const std::unordered_map<std::string, Step> kSteps = {
      {"Assign", &run_assign},
      {"AugAssign", &run_aug_assign},
      {"AnnAssign", &run_ann_assign},
      {"Expr", &run_expr},
      {"If", &run_if},
      {"For", &run_for},
      {"While", &run_while},
      {"Return", &run_return},
      {"Break", &run_break},
      {"Continue", &run_continue},
      {"Pass", &run_pass},
      {"Raise", &run_raise},
      {"Assert", &run_assert},
      {"Delete", &run_delete},
      {"Match", &run_match},
      {"Try", &run_try},
      {"With", &run_with},
      {"FunctionDef", &run_function_def},
      {"Import", &run_import},
      {"ImportFrom", &run_import_from},
      {"Nonlocal", &run_pass},
      {"Global", &run_pass},
  };
  const std::string name = class_of(s);
  const Here here(t, s);
  step(t, s);
  const auto method = kSteps.find(name);
  if (method == kSteps.end()) refuse_statement(t, s);
  try {
    method->second(t, s);
  } catch (const LoneSurrogate&) {
    unsupported(t, s, "a string with half of a surrogate pair in it, used here,", "use another string");
  }
}

}  // namespace ingot::frontend
