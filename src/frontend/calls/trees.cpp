#include "frontend/calls/trees.h"

namespace ingot::frontend {

namespace {

/// The tag before a value; that of a node is `kNode` plus the number of its kind.
enum Mark : uint32_t { kNone, kList, kText, kConstant, kNode };

void set(PyObject* dict, const nb::object& name, nb::object value) {
  if (!value.is_valid() || PyDict_SetItem(dict, name.ptr(), value.ptr()) != 0) nb::raise_python_error();
}

nb::object number(uint32_t value) { return nb::steal(PyLong_FromLong(static_cast<long>(value))); }

}  // namespace

class Trees::Reader {
 public:
  Reader(const Trees& trees, size_t start)
      : trees_(trees),
        at_(reinterpret_cast<const uint8_t*>(trees.nodes_.c_str()) + start),
        end_(reinterpret_cast<const uint8_t*>(trees.nodes_.c_str()) + trees.nodes_.size()) {}

  nb::object value() {
    const uint32_t mark = next();
    switch (mark) {
      case kNone: return nb::none();
      case kList: return list(next());
      case kText: return member(trees_.texts_, next());
      case kConstant: return member(trees_.constants_, next());
      default: return node(mark - kNode);
    }
  }

 private:
  uint32_t next() {
    uint32_t value = 0;
    for (int shift = 0; shift < 32; shift += 7) {
      if (at_ >= end_) break;
      const uint8_t byte = *at_++;
      value |= static_cast<uint32_t>(byte & 127U) << shift;
      if (byte < 128) return value;
    }
    throw nb::value_error("no AST is kept there");
  }

  static nb::object member(const nb::tuple& all, uint32_t place) {
    if (place >= all.size()) throw nb::value_error("no AST is kept there");
    return nb::borrow(PyTuple_GET_ITEM(all.ptr(), place));
  }

  nb::object list(uint32_t count) {
    nb::list values;
    for (uint32_t i = 0; i < count; ++i) values.append(value());
    return values;
  }

  nb::object node(uint32_t kind_number) {
    if (kind_number >= trees_.kinds_.size()) throw nb::value_error("no AST is kept there");
    const Kind& kind = trees_.kinds_[kind_number];
    if (kind.only.is_valid()) return kind.only;
    auto* const type = reinterpret_cast<PyTypeObject*>(kind.type.ptr());
    nb::object made = nb::steal(PyType_GenericNew(type, nullptr, nullptr));
    if (!made.is_valid()) nb::raise_python_error();
    const nb::object attributes = nb::steal(PyObject_GenericGetDict(made.ptr(), nullptr));
    if (!attributes.is_valid()) nb::raise_python_error();
    PyObject* const dict = attributes.ptr();
    if (kind.has_place) place(dict);
    for (size_t i = 0; i < kind.fields.size(); ++i) {
      nb::object field = value();
      if (!kind.is_none[i] || !field.is_none()) set(dict, kind.fields[i], std::move(field));
    }
    return made;
  }

  void place(PyObject* dict) {
    const uint32_t step = next();
    line_ += (step & 1U) == 0 ? step / 2 : ~(step / 2);
    uint32_t values[4] = {line_, next(), 0, 0};
    values[2] = line_ + next();
    values[3] = next();
    for (size_t i = 0; i < 4; ++i) set(dict, trees_.place_[i], number(values[i]));
  }

  const Trees& trees_;
  const uint8_t* at_;
  const uint8_t* end_;
  uint32_t line_ = 0;
};

Trees::Trees(const nb::bytes& nodes, const nb::tuple& kinds, const nb::tuple& texts,
             const nb::tuple& constants)
    : nodes_(nodes), texts_(texts), constants_(constants) {
  for (const char* name : {"lineno", "col_offset", "end_lineno", "end_col_offset"})
    place_.push_back(nb::steal(PyUnicode_InternFromString(name)));
  for (const nb::handle type : kinds) {
    Kind kind{.type = nb::borrow(type), .fields = {}, .is_none = {}, .only = {}};
    for (const nb::handle field : type.attr("_fields")) {
      kind.fields.push_back(nb::borrow(field));
      const nb::object unset = nb::getattr(type, field, nb::object());
      kind.is_none.push_back(unset.is_valid() && unset.is_none());
    }
    kind.has_place = nb::len(nb::object(type.attr("_attributes"))) > 0;
    if (kind.fields.empty() && !kind.has_place) kind.only = type();
    kinds_.push_back(std::move(kind));
  }
}

nb::object Trees::at(size_t start) const { return Reader(*this, start).value(); }

}  // namespace ingot::frontend
