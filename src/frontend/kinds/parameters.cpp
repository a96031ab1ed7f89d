#include "frontend/kinds/parameters.h"

#include "frontend/kinds/callers_lists.h"
#include "frontend/kinds/fields.h"
#include "frontend/kinds/sequences.h"
#include "frontend/tracer/frame.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

namespace {

/// `type`: the class of a namedtuple, or None.
Tuple tuple_of(const nb::object& type, std::vector<Value> members) {
  return type.is_none() ? Tuple{std::move(members)} : Tuple{std::move(members), type};
}

/// The value of an object of the shadow heap.
Value value_of(uint32_t object, HeapObject::Type type) {
  switch (type) {
    case HeapObject::Type::List: return List{object};
    case HeapObject::Type::Dict: return Dict{object};
    case HeapObject::Type::Cell: return Cell{object};
    case HeapObject::Type::Object: return Object{object};
  }
  throw base::InternalError("an object of no type");
}

}  // namespace

Value Parameters::array(const described::Array& given, const std::string& name, int number) {
  const ir::Type type = ir::Type::view(given.dtype, given.ndim);
  const int index = static_cast<int>(t_.builder->function().parameters().size());
  const NodeId node =
      t_.builder->add_parameter(type, {.name = name,
                                       .alias_set = given.alias_set,
                                       .writable = given.is_writable,
                                       .layout = type.rank() > 0 ? given.layout : ir::Layout::Any,
                                       .ones = given.ones,
                                       .last = given.last.value_or(0)});
  if (number >= 0 && type.rank() >= 2 && !given.last) t_.unmeasured[node.index] = number;
  t_.has_memory_maps = t_.has_memory_maps || given.is_mapped;
  return Array{.type = type,
               .node = node,
               .access = given.is_writable ? Access::Writable : Access::ReadOnly,
               .argument = index,
               .object = t_.facts.next_object++,
               .owns = true};
}

Value Parameters::value(const Description& given, const std::string& name, int number, bool is_named) {
  const auto part = [&](size_t i) { return value(given.parts[i], name, number, is_named); };
  switch (given.kind()) {
    case Described::Static: {
      const nb::object object = given.get<described::Static>().object;
      if (PyUnicode_CheckExact(object.ptr()) && number >= 0 && !is_named)
        t_.text_arguments[object.ptr()] = number;
      return Static{object};
    }
    case Described::Characters: {
      t_.has_characters = true;
      return Characters{share(value(given.parts[0], name, -1))};
    }
    case Described::Slice: return Slice{share(std::array{part(0), part(1), part(2)})};
    case Described::Range: return Range{share(std::array{part(0), part(1), part(2)})};
    case Described::Method: {
      is_named = true;
      const Value function = part(0);
      return bound_method(function, part(1));
    }
    case Described::Partial: {
      is_named = true;
      return bound_partial({part(0), part(1), part(2)});
    }
    case Described::Foreign: {
      const auto& [type_of, dtype, ndim, alias_set] = given.get<described::Foreign>();
      Foreign foreign{nb::cast(given), name};
      if (alias_set > 0) {
        const ir::Type type = ir::Type::view(DType::Bool, ndim);
        const NodeId node =
            t_.builder->add_parameter(type, {.name = name, .alias_set = alias_set, .writable = false});
        foreign.shape = share(Value(Array{type, node, Access::ReadOnly}));
      }
      return foreign;
    }
    case Described::Scalar: {
      const Kind kind = given.get<described::Scalar>().number;
      const NodeId node = t_.builder->add_parameter(ir::Type::scalar(kind.dtype()), {.name = name});
      if (number >= 0) (is_named ? t_.named_arguments : t_.scalar_arguments)[node.index] = number;
      return Scalar{kind, node};
    }
    case Described::Array: return array(given.get<described::Array>(), name, number);
    case Described::Records: return Fields(t_).parameter(given, name);
    case Described::Same: {
      const uint32_t id = t_.containers[given.get<described::Same>().number].object;
      const auto known = t_.state.heap.find(id);
      if (known != t_.state.heap.end() && known->second.type == HeapObject::Type::Cell)
        return Set{id, known->second.type_of.ptr() == reinterpret_cast<PyObject*>(&PyFrozenSet_Type)};
      // An object that is still being described is an instance with an attribute that leads back to it.
      return value_of(id, known == t_.state.heap.end() ? HeapObject::Type::Object : known->second.type);
    }
    case Described::Tuple:
      return tuple_of(given.get<described::Tuple>().type, parts(given, name, number, is_named));
    case Described::List:
      return container({.type = HeapObject::Type::List, .values = {}, .keys = {}}, given, name, number,
                       is_named);
    case Described::ListBuffer:
    case Described::Mapping: return CallersLists(t_).parameter(given, name, number);
    case Described::Dict: {
      HeapObject dict{.type = HeapObject::Type::Dict, .values = {}, .keys = {}};
      for (const nb::handle key : given.get<described::Dict>().keys) dict.keys.push_back(nb::borrow(key));
      return container(std::move(dict), given, name, number, true);
    }
    case Described::Instance: {
      HeapObject instance{.type = HeapObject::Type::Object, .values = {}, .keys = {}};
      const auto& [type, names, is_stand_in] = given.get<described::Instance>();
      if (lookup(type, kHistory).is_valid()) return known_set(given);
      instance.type_of = type;
      for (const nb::handle each : names) instance.keys.push_back(nb::borrow(each));
      const size_t own = t_.containers.size();
      const Value made = container(std::move(instance), given, name, number, true);
      if (lookup(type, kTakes).is_valid())
        t_.state.heap.at(t_.containers[own].object).argument = copy_of(own);
      return made;
    }
    default: throw base::InternalError("a description of a result as one of an argument");
  }
}

std::vector<Value> Parameters::parts(const Description& given, const std::string& name, int number,
                                     bool is_named) {
  std::vector<Value> values;
  for (const Description& part : given.parts) {
    if (part.is<described::Absent>()) values.emplace_back(Unbound{});
    else values.push_back(value(part, name + "." + std::to_string(values.size()), number, is_named));
  }
  return values;
}

Value Parameters::container(HeapObject object, const Description& given, const std::string& name, int number,
                            bool is_named) {
  const uint32_t id = t_.facts.next_object++;
  object.argument = static_cast<int>(t_.containers.size());
  t_.containers.push_back({id, name, number, CallersLists::may_be_list_buffer(given)});
  object.values = parts(given, name, number, is_named);
  for (const Description& part : given.parts) object.absent.push_back(part.is<described::Absent>());
  object.leaves = object.values.size();
  const HeapObject::Type type = object.type;
  t_.state.heap.emplace(id, std::move(object));
  return value_of(id, type);
}

}  // namespace ingot::frontend
