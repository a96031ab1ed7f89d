#include "frontend/kinds/fields.h"
#include "frontend/kinds/members.h"
#include "frontend/kinds/strings.h"
#include "frontend/rows.h"

namespace ingot::frontend {

using base::ExceptionKind;

void Evaluator::run_body(nb::handle statements) {
  for (const nb::handle statement : statements) run(statement);
}

void Evaluator::run(nb::handle s) {
  using Step = void (Evaluator::*)(nb::handle);
  static const std::unordered_map<std::string, Step> kSteps = {
      {"Assign", &Evaluator::run_assign},
      {"AugAssign", &Evaluator::run_aug_assign},
      {"AnnAssign", &Evaluator::run_ann_assign},
      {"Expr", &Evaluator::run_expr},
      {"If", &Evaluator::run_if},
      {"For", &Evaluator::run_for},
      {"While", &Evaluator::run_while},
      {"Return", &Evaluator::run_return},
      {"Break", &Evaluator::run_break},
      {"Continue", &Evaluator::run_continue},
      {"Pass", &Evaluator::run_pass},
      {"Raise", &Evaluator::run_raise},
      {"Assert", &Evaluator::run_assert},
      {"Delete", &Evaluator::run_delete},
      {"Match", &Evaluator::run_match},
      {"Try", &Evaluator::run_try},
      {"With", &Evaluator::run_with},
      {"FunctionDef", &Evaluator::run_function_def},
      {"Import", &Evaluator::run_import},
      {"ImportFrom", &Evaluator::run_import_from},
      {"Nonlocal", &Evaluator::run_pass},
      {"Global", &Evaluator::run_pass},
  };
  const std::string name = class_of(s);
  const Here here(*this, s);
  step(s);
  const auto method = kSteps.find(name);
  if (method == kSteps.end()) refuse_statement(s);
  try {
    (this->*method->second)(s);
  } catch (const LoneSurrogate&) {
    unsupported(s, "a string with half of a surrogate pair in it, used here,", "use another string");
  }
}

void Evaluator::refuse_statement(nb::handle s) {
  const std::string name = class_of(s);
  if (name == "ClassDef")
    unsupported(s, "a class that is defined inside a function", "define it at the top of the file");
  if (name == "TryStar") unsupported(s, "`except*`", "use `except`");
  if (name.starts_with("Async")) unsupported(s, "`async`", "write it without");
  unsupported(s, "the statement `" + name + "`", "write it with assignments, if, for and while");
}

void Evaluator::bind(const std::string& name, Value value) {
  // A variable can be an alias through which an array is changed: the array becomes memory.
  set_local(name, stored(std::move(value)));
}

std::vector<Value> Evaluator::unpack(const Value& given, size_t count, nb::handle node) {
  const Value value = begin_iterate(given, node);
  if (value.is<Foreign>()) use_foreign("unpack", "", {value}, node);
  if (iterates_generator(value)) return unpack(list_of(value, node, count), count, node);
  kind_of_value(value).refuse_iterate(*this, value, node);
  const auto counted = [&](NodeId length, const std::function<Value(NodeId)>& element) {
    const NodeId wanted = builder_->index(static_cast<int64_t>(count));
    check(builder_->make(ir::Op::less_equal, {wanted, length}), ExceptionKind::ValueError,
          "not enough values to unpack (expected " + std::to_string(count) + ", got {})", {length});
    check(builder_->make(ir::Op::greater_equal, {wanted, length}), ExceptionKind::ValueError,
          "too many values to unpack (expected " + std::to_string(count) + ")");
    std::vector<Value> elements;
    elements.reserve(count);
    for (size_t i = 0; i < count; ++i) elements.push_back(element(builder_->index(static_cast<int64_t>(i))));
    return elements;
  };
  if (rank_of(value) || kind_of_value(value).has_open_length(*this, value)) {
    const Trips trips = trips_of(value, node);
    return counted(trips.count, trips.element);
  }
  const auto elements = static_elements(value, node, true);
  if (!elements)
    raise(ExceptionKind::TypeError, "cannot unpack non-iterable " + type_name(value) + " object");
  if (elements->size() < count) {
    raise(ExceptionKind::ValueError, "not enough values to unpack (expected " + std::to_string(count) +
                                         ", got " + std::to_string(elements->size()) + ")");
  }
  if (elements->size() > count)
    raise(ExceptionKind::ValueError, "too many values to unpack (expected " + std::to_string(count) + ")");
  return *elements;
}

std::vector<Value> Evaluator::unpack_starred(const Value& given, size_t before, size_t after,
                                             nb::handle node) {
  Value value = begin_iterate(given, node);
  if (iterates_generator(value)) value = list_of(value, node);
  if (rank_of(value) || kind_of_value(value).has_open_length(*this, value)) {
    unsupported(node,
                "a starred target for a " + type_name(value) + " whose length is not known when compiling",
                "take slices");
  }
  const auto known = static_elements(value, node, true);
  if (!known) return unpack(value, before + after, node);  // raises or refuses
  if (known->size() < before + after) {
    raise(ExceptionKind::ValueError, "not enough values to unpack (expected at least " +
                                         std::to_string(before + after) + ", got " +
                                         std::to_string(known->size()) + ")");
  }
  std::vector<Value> parts(known->begin(), known->begin() + static_cast<ptrdiff_t>(before));
  parts.push_back(new_list(std::vector<Value>(known->begin() + static_cast<ptrdiff_t>(before),
                                              known->end() - static_cast<ptrdiff_t>(after))));
  parts.insert(parts.end(), known->end() - static_cast<ptrdiff_t>(after), known->end());
  return parts;
}

void Evaluator::assign(nb::handle target, Value value) {
  const Here here(*this, target);
  const std::string kind = class_of(target);
  if (kind == "Name") return bind(text_of(target.attr("id")), std::move(value));
  if (kind == "Tuple" || kind == "List") {
    const nb::list targets = target.attr("elts");
    const size_t count = nb::len(targets);
    size_t star = count;
    for (size_t i = 0; i < count; ++i)
      if (class_of(targets[i]) == "Starred") star = i;
    if (star == count) {
      const std::vector<Value> parts = unpack(value, count, target);
      for (size_t i = 0; i < parts.size(); ++i) assign(targets[i], parts[i]);
      return;
    }
    const std::vector<Value> parts = unpack_starred(value, star, count - star - 1, target);
    for (size_t i = 0; i < count; ++i)
      assign(i == star ? nb::handle(targets[i].attr("value")) : nb::handle(targets[i]), parts[i]);
    return;
  }
  if (kind == "Subscript") {
    const Value container = eval(target.attr("value"));
    return assign_item(container, eval_index(target.attr("slice")), std::move(value), target);
  }
  if (kind == "Attribute") {
    return set_attribute(eval(target.attr("value")), text_of(target.attr("attr")), std::move(value), target);
  }
  unsupported(target, "an assignment to a `" + kind + "`", "assign to a name or an element");
}

void Evaluator::assign_item(const Value& container, const Value& index, Value value, nb::handle target) {
  if (const Maybe* bound = open_bound(index);
      bound != nullptr && !kind_of_value(container).takes_open_bounds() && !is_instance(container)) {
    by_bound(*bound, index, [&](const Value& known) {
      assign_item(container, known, value, target);
      return Value(Static{nb::none()});
    });
    return;
  }
  const auto put_under = [&](const Value& known) {
    assign_item(container, known, value, target);
    return Value(Static{nb::none()});
  };
  if (Members(*this).by_new_index(container, index, put_under, target)) return;
  if (!rank_of(container) && is_foreign(index)) use_foreign("store", "", {container, index, value}, target);
  if (kind_of_value(container).set_item(*this, container, index, value, target)) return;
  if (call_special(container, "__setitem__", {index, value}, target)) return;
  raise(ExceptionKind::TypeError, "'" + type_name(container) + "' object does not support item assignment");
}

void Evaluator::run_assign(nb::handle s) {
  Value value = eval_open(s.attr("value"));
  const nb::list targets = s.attr("targets");
  if (nb::len(targets) > 1) value = stored(std::move(value));
  for (const nb::handle target : targets) assign(target, value);
}

void Evaluator::run_ann_assign(nb::handle s) {
  if (!s.attr("value").is_none()) assign(s.attr("target"), eval(s.attr("value")));
}

std::optional<Value> Evaluator::changed(const Value& before, Operator op, const Value& right, nb::handle s) {
  if (std::optional<Value> own = kind_of_value(before).in_place(*this, op, before, right, s))
    return own->is<Unbound>() ? std::nullopt : own;
  static const std::set<Operator> kOfInts = {Operator::FloorDiv, Operator::Mod,    Operator::BitAnd,
                                             Operator::BitOr,    Operator::BitXor, Operator::LShift,
                                             Operator::RShift,   Operator::MatMult};
  if (!kind_of(before) || !kind_of(right) || kOfInts.contains(op))
    raise_by_type("in place", symbol_of(op) + "=", {before, right});
  return binary(op, before, right, s);
}

void Evaluator::run_aug_assign(nb::handle s) {
  const nb::object target = attribute(s, "target");
  const Operator op = operator_of(s.attr("op"));
  if (class_of(target) == "Name") {
    const Value before = eval(target);
    if (std::optional<Value> after = changed(before, op, eval(s.attr("value")), s))
      bind(text_of(target.attr("id")), std::move(*after));
    return;
  }
  if (class_of(target) == "Attribute") {
    const Value owner = eval(target.attr("value"));
    const std::string name = text_of(target.attr("attr"));
    const Value before = present(attribute_of(owner, name, target), name, target);
    const std::optional<Value> after = changed(before, op, eval(s.attr("value")), s);
    if (owner.is<Structured>() && !after) return;  // a field, which is a view
    return set_attribute(owner, name, after.value_or(before), target);
  }
  if (class_of(target) != "Subscript")
    unsupported(s, "an augmented assignment to `" + as_written(target) + "`",
                "assign to a name or an element");
  const Value container = eval(target.attr("value"));
  const Value index = eval_index(target.attr("slice"));
  if ((object_of(container) == 0 && is_foreign(container)) || is_foreign(index))
    use_foreign("subscript", "", {container, index}, s);
  const Array* a = container.as<Array>();
  if (a == nullptr) {
    const Value before = present(eval_item(container, index, target), "the element", target);
    const std::optional<Value> after = changed(before, op, eval(s.attr("value")), s);
    const bool is_view = !after && container.is<Structured>();  // a field
    if (!is_view) assign_item(container, index, after.value_or(before), target);
    return;
  }
  const Value before = index_array(*a, index, target);
  const Value right = eval(s.attr("value"));
  const Array* part = before.as<Array>();
  if (part == nullptr) return assign_index(*a, index, binary(op, before, right, s), target);
  if (part->type.is_array()) return assign_index(*a, index, combined(*part, op, right, s), target);
  in_place(*part, op, right, s);
  if (part->owns) assign_index(*a, index, before, target);
}

void Evaluator::run_expr(nb::handle s) {
  if (class_of(s.attr("value")) != "Constant") eval_open(s.attr("value"));
}

void Evaluator::run_if(nb::handle s) {
  const Value condition = eval_condition(s.attr("test"));
  const auto arm = [&](const char* name) {
    run_body(s.attr(name));
    return Value(Static{nb::none()});
  };
  if (const std::optional<bool> known = static_truth(condition)) {
    arm(*known ? "body" : "orelse");
    return;
  }
  fork(truth(condition, s), [&] { return arm("body"); }, [&] { return arm("orelse"); });
}

void Evaluator::run_return(nb::handle s) {
  if (frame_->caller == nullptr) result_location_ = location_of(s);
  Value value = s.attr("value").is_none() ? Value(Static{nb::none()}) : eval_open(s.attr("value"));
  leave_to(*frame_->returns, stored(std::move(value)));
}

void Evaluator::run_break(nb::handle) { leave_to(*frame_->breaks.back(), Static{nb::none()}); }
void Evaluator::run_continue(nb::handle) { leave_to(*frame_->continues.back(), Static{nb::none()}); }
void Evaluator::run_pass(nb::handle) {}

void Evaluator::delete_item(nb::handle target) {
  const Value container = eval(target.attr("value"));
  delete_item_of(container, eval_index(target.attr("slice")), target);
}

void Evaluator::delete_item_of(const Value& container, const Value& index, nb::handle target) {
  if (const Maybe* bound = open_bound(index); bound != nullptr && !is_instance(container)) {
    by_bound(*bound, index, [&](const Value& known) {
      delete_item_of(container, known, target);
      return Value(Static{nb::none()});
    });
    return;
  }
  const auto take_out = [&](const Value& known) {
    delete_item_of(container, known, target);
    return Value(Static{nb::none()});
  };
  if (Members(*this).by_new_index(container, index, take_out, target)) return;
  if (kind_of_value(container).delete_item(*this, container, index, target)) return;
  if (is_foreign(index)) use_foreign("", "", {container, index}, target);
  if (call_special(container, "__delitem__", {index}, target)) return;
  raise_by_type("delete", "", {container, index});
  unsupported(target, "`del` of an item of a " + type_name(container), "use lists and dicts");
}

void Evaluator::run_delete(nb::handle s) {
  const std::function<void(nb::handle)> remove = [&](nb::handle target) {
    const Here here(*this, target);
    const std::string kind = class_of(target);
    if (kind == "Tuple" || kind == "List") {
      for (const nb::handle element : target.attr("elts")) remove(element);
    } else if (kind == "Subscript") {
      delete_item(target);
    } else if (kind == "Name") {
      eval_name(target);
      set_local(text_of(target.attr("id")), Unbound{});
    } else {
      delete_attribute(eval(target.attr("value")), text_of(target.attr("attr")), target);
    }
  };
  for (const nb::handle target : s.attr("targets")) remove(target);
}

}  // namespace ingot::frontend
