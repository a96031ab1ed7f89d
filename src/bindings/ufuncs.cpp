#include "bindings/ufuncs.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/gufunc_loop.h"
#include "bindings/ufunc_loop.h"
#include "interop/collected.h"
#include "interop/exceptions.h"
#include "interop/gil.h"
#include "interop/numpy.h"
#define NO_IMPORT_UFUNC
#define PY_UFUNC_UNIQUE_SYMBOL ingot_ufunc
#include <numpy/ufuncobject.h>

namespace ingot::bindings {

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace {

/// What a NumPy ufunc points to: its name and documentation, its loops, and their list as NumPy shows it. The
/// ufunc holds it as `obj`; it does not hold the ufunc.
class Ufunc {
 public:
  /// `signature`: of the core, in NumPy's notation; empty: of numbers. `choose` (may be None) is called with
  /// the dtypes of operands that no loop has, None for those that are open, and with those that the call
  /// fixes; it gives the dtypes of a loop, which it may add, or None.
  Ufunc(std::string name, std::string doc, int inputs, int outputs, nb::object identity, nb::object choose,
        std::string signature)
      : signature_(std::move(signature)),
        name_(std::move(name)),
        doc_(std::move(doc)),
        inputs_(inputs),
        outputs_(outputs),
        identity_(std::move(identity)),
        choose_(std::move(choose)) {}

  /// The ufunc of NumPy's. Called once.
  nb::object make();
  void add(nb::handle ufunc, nb::object loop);

  /// For Python's collector (collected.h).
  int traverse(visitproc visit, void* arg) const;
  void clear() { choose_ = nb::none(); }

  static void bind(nb::module_& m);

 private:
  static Ufunc& of(PyObject* ufunc) {
    return nb::cast<Ufunc&>(nb::handle(reinterpret_cast<PyUFuncObject*>(ufunc)->obj));
  }
  /// The loop for operands of these descriptions, as what is outside is now. Throws what compiling raises.
  nb::object loop_for(PyArray_Descr* const* descriptors);

  static int promote(PyObject* ufunc, PyArray_DTypeMeta* const given[], PyArray_DTypeMeta* const fixed[],
                     PyArray_DTypeMeta* chosen[]);
  static int get_loop(PyArrayMethod_Context* context, int aligned, int move_references,
                      const npy_intp* strides, PyArrayMethod_StridedLoop** loop, NpyAuxData** data,
                      NPY_ARRAYMETHOD_FLAGS* flags);
  static int get_initial(PyArrayMethod_Context* context, npy_bool is_empty, void* initial);

  std::string signature_;
  std::string name_;
  std::string doc_;
  int inputs_;
  int outputs_;
  nb::object identity_;
  nb::object choose_;
  std::vector<nb::object> loops_;
  std::vector<char> types_;
  std::vector<PyUFuncGenericFunction> functions_;
  std::vector<void*> data_;
};

/// The loop of one call.
struct Chosen {
  NpyAuxData base;
  PyObject* object;
  UfuncLoop* loop;

  static NpyAuxData* made(nb::object object) {
    auto* const loop = nb::inst_ptr<UfuncLoop>(object);
    auto* const chosen = new Chosen{{&release, &copy, {}}, object.release().ptr(), loop};
    return &chosen->base;
  }
  static void release(NpyAuxData* data) {
    const std::unique_ptr<Chosen> chosen(reinterpret_cast<Chosen*>(data));
    Py_DECREF(chosen->object);
  }
  static NpyAuxData* copy(NpyAuxData* data) {
    return made(nb::borrow(reinterpret_cast<Chosen*>(data)->object));
  }
};

/// Why there is no loop for a call of a generalised ufunc: NumPy takes no failure of `get_loop` there, and
/// the loop raises it.
struct Failure {
  NpyAuxData base;
  nb::python_error error;

  static NpyAuxData* made(nb::python_error error) {
    auto* const failure = new Failure{{&release, &copy, {}}, std::move(error)};
    return &failure->base;
  }
  static void release(NpyAuxData* data) {
    const std::unique_ptr<Failure> failure(reinterpret_cast<Failure*>(data));
  }
  static NpyAuxData* copy(NpyAuxData* data) { return made(reinterpret_cast<Failure*>(data)->error); }
};

int run_failing(PyArrayMethod_Context*, char* const*, const npy_intp*, const npy_intp*, NpyAuxData* data) {
  const EnsuredGil gil;
  nb::python_error error(reinterpret_cast<Failure*>(data)->error);
  error.restore();
  return -1;
}

int run_strided(PyArrayMethod_Context*, char* const* data, const npy_intp* dimensions,
                const npy_intp* strides, NpyAuxData* chosen) {
  return reinterpret_cast<Chosen*>(chosen)->loop->run(data, dimensions, strides);
}

/// NumPy shows the list of such loops, and runs the others.
void run_never(char**, const npy_intp*, const npy_intp*, void*) {}

int number_of(nb::handle identity) {
  if (identity.is_none()) return PyUFunc_None;
  return PyUnicode_Check(identity.ptr()) ? PyUFunc_ReorderableNone : PyUFunc_IdentityValue;
}

/// The class of a dtype: a new reference.
PyArray_DTypeMeta* class_of_type(int type_number) {
  PyArray_Descr* const descr = PyArray_DescrFromType(type_number);
  auto* const kind = NPY_DTYPE(descr);
  Py_INCREF(kind);
  Py_DECREF(descr);
  return kind;
}

}  // namespace

nb::object Ufunc::make() {
  const int identity = number_of(identity_);
  PyObject* const value = identity == PyUFunc_IdentityValue ? identity_.ptr() : nullptr;
  const nb::object ufunc = nb::steal(PyUFunc_FromFuncAndDataAndSignatureAndIdentity(
      nullptr, nullptr, nullptr, 0, inputs_, outputs_, identity, name_.c_str(), doc_.c_str(), 0,
      signature_.empty() ? nullptr : signature_.c_str(), value));
  if (!ufunc.is_valid()) throw nb::python_error();
  auto* const made = reinterpret_cast<PyUFuncObject*>(ufunc.ptr());
  made->obj = nb::find(*this).release().ptr();
  PyObject_GC_Track(ufunc.ptr());  // as NumPy does where it sets `obj` itself
  if (choose_.is_none()) return ufunc;
  made->type_resolver = nullptr;  // no other loop than those that `choose` names
  nb::list pattern;
  for (int i = 0; i < inputs_ + outputs_; ++i)
    pattern.append(nb::handle(reinterpret_cast<PyObject*>(&PyArrayDescr_Type)));
  const nb::object promoter =
      nb::steal(PyCapsule_New(reinterpret_cast<void*>(&Ufunc::promote), "numpy._ufunc_promoter", nullptr));
  if (!promoter.is_valid() || PyUFunc_AddPromoter(ufunc.ptr(), nb::tuple(pattern).ptr(), promoter.ptr()) < 0)
    throw nb::python_error();
  return ufunc;
}

void Ufunc::add(nb::handle ufunc, nb::object loop) {
  const std::vector<int>& numbers = nb::cast<const UfuncLoop&>(loop).type_numbers();
  std::vector<PyArray_DTypeMeta*> classes;
  for (const int number : numbers) classes.push_back(class_of_type(number));
  PyType_Slot slots[] = {{NPY_METH_get_loop, reinterpret_cast<void*>(&Ufunc::get_loop)},
                         {NPY_METH_get_reduction_initial, reinterpret_cast<void*>(&Ufunc::get_initial)},
                         {0, nullptr}};
  int flags = NPY_METH_NO_FLOATINGPOINT_ERRORS;
  if (!identity_.is_none()) flags |= NPY_METH_IS_REORDERABLE;
  PyArrayMethod_Spec spec = {
      "ingot",        inputs_, outputs_, NPY_NO_CASTING, static_cast<NPY_ARRAYMETHOD_FLAGS>(flags),
      classes.data(), slots};
  const int status = PyUFunc_AddLoopFromSpec(ufunc.ptr(), &spec);
  for (PyArray_DTypeMeta* kind : classes) Py_DECREF(kind);
  if (status < 0) throw nb::python_error();
  loops_.push_back(std::move(loop));
  for (const int number : numbers) types_.push_back(static_cast<char>(number));
  functions_.push_back(&run_never);
  data_.push_back(nullptr);
  auto* const made = reinterpret_cast<PyUFuncObject*>(ufunc.ptr());
  made->types = types_.data();
  made->functions = functions_.data();
  made->data = data_.data();
  made->ntypes = static_cast<int>(loops_.size());
}

nb::object Ufunc::loop_for(PyArray_Descr* const* descriptors) {
  for (size_t i = 0; i < loops_.size(); ++i) {
    nb::object loop = loops_[i];
    const auto& it = *nb::inst_ptr<UfuncLoop>(loop);
    if (!std::ranges::equal(it.type_numbers(), std::span(descriptors, it.type_numbers().size()), {}, {},
                            [](const PyArray_Descr* descr) { return descr->type_num; }))
      continue;
    if (!it.is_current()) {
      loop = loop.attr("renewed")();
      loops_[i] = loop;  // there may be more of them now
    }
    return loop;
  }
  throw base::InternalError("bindings: a ufunc has no such loop");
}

int Ufunc::promote(PyObject* ufunc, PyArray_DTypeMeta* const given[], PyArray_DTypeMeta* const fixed[],
                   PyArray_DTypeMeta* chosen[]) {
  return guarded(
      [&] {
        const Ufunc& self = of(ufunc);
        const auto count = static_cast<size_t>(self.inputs_ + self.outputs_);
        const auto list_of = [&](PyArray_DTypeMeta* const dtypes[]) {
          nb::list all;
          for (PyArray_DTypeMeta* const dtype : std::span(dtypes, count))
            all.append(dtype == nullptr ? nb::none() : nb::borrow(reinterpret_cast<PyObject*>(dtype)));
          return nb::tuple(all);
        };
        const nb::object found = self.choose_(list_of(given), list_of(fixed));
        for (size_t i = 0; i < count; ++i) {
          chosen[i] = found.is_none()
                          ? given[i]
                          : reinterpret_cast<PyArray_DTypeMeta*>(nb::object(found[nb::int_(i)]).ptr());
          Py_XINCREF(chosen[i]);
        }
        return 0;
      },
      -1);
}

int Ufunc::get_loop(PyArrayMethod_Context* context, int, int, const npy_intp*,
                    PyArrayMethod_StridedLoop** loop, NpyAuxData** data, NPY_ARRAYMETHOD_FLAGS* flags) {
  Ufunc& self = of(context->caller);
  *flags = NPY_METH_NO_FLOATINGPOINT_ERRORS;
  const int status = guarded(
      [&] {
        *data = Chosen::made(self.loop_for(context->descriptors));
        *loop = &run_strided;
        return 0;
      },
      -1);
  if (status == 0 || self.signature_.empty()) return status;
  *data = Failure::made(nb::python_error());
  *loop = &run_failing;
  return 0;
}

int Ufunc::get_initial(PyArrayMethod_Context* context, npy_bool, void* initial) {
  const nb::object& identity = of(context->caller).identity_;
  if (number_of(identity) != PyUFunc_IdentityValue) return 0;
  return PyArray_Pack(context->descriptors[0], initial, identity.ptr()) < 0 ? -1 : 1;
}

int Ufunc::traverse(visitproc visit, void* arg) const {
  Py_VISIT(choose_.ptr());
  for (const nb::object& loop : loops_) Py_VISIT(loop.ptr());
  return 0;
}

void Ufunc::bind(nb::module_& m) {
  nb::class_<Ufunc>(m, "Ufunc", nb::type_slots(Collected<Ufunc>::slots()))
      .def(nb::init<std::string, std::string, int, int, nb::object, nb::object, std::string>(), "name"_a,
           "doc"_a, "inputs"_a, "outputs"_a, "identity"_a.none(), "choose"_a.none(), "signature"_a = "")
      .def("make", &Ufunc::make, "The ufunc of NumPy's. Called once.")
      .def("add", &Ufunc::add, "ufunc"_a, "loop"_a, "Adds a `UfuncLoop` to the ufunc of NumPy's.");
}

namespace {

/// The base of `ingot._vectorize.Vectorized`: a call of it is one of the ufunc that it holds.
struct UfuncHolder {
  nb::object ufunc = nb::none();

  int traverse(visitproc visit, void* arg) const {
    Py_VISIT(ufunc.ptr());
    return 0;
  }
  void clear() { ufunc = nb::none(); }
};

/// Where loops are out of date and cannot be renewed alone, the class makes another ufunc.
PyObject* call_ufunc(PyObject* self, PyObject* arguments, PyObject* keywords) {
  const UfuncHolder& holder = *nb::inst_ptr<UfuncHolder>(self);
  nb::object ufunc = holder.ufunc;
  PyObject* const result = PyObject_Call(ufunc.ptr(), arguments, keywords);
  if (result != nullptr) return result;
  nb::python_error error;
  const int failed = guarded(
      [&] {
        if (!error.matches(nb::module_::import_("ingot._vectorize").attr("Outdated"))) {
          error.restore();
          return -1;
        }
        nb::handle(self).attr("_renew")();
        return 0;
      },
      -1);
  if (failed != 0) return nullptr;
  ufunc = holder.ufunc;
  return PyObject_Call(ufunc.ptr(), arguments, keywords);
}

void bind_holder(nb::module_& m) {
  static PyType_Slot slots[] = {Collected<UfuncHolder>::traverse_slot(),
                                Collected<UfuncHolder>::clear_slot(),
                                {Py_tp_call, reinterpret_cast<void*>(&call_ufunc)},
                                {0, nullptr}};
  nb::class_<UfuncHolder>(m, "UfuncHolder", nb::type_slots(slots))
      .def(nb::init<>())
      .def_rw("ufunc", &UfuncHolder::ufunc, "The ufunc of NumPy's.");
}

}  // namespace

bool holds_ufunc(PyObject* object) { return nb::isinstance<UfuncHolder>(object); }

/// The function of one of a ufunc's loops, and its data.
std::pair<uintptr_t, uintptr_t> loop_of_ufunc(nb::handle ufunc, int number) {
  if (!PyObject_TypeCheck(ufunc.ptr(), &PyUFunc_Type)) throw nb::type_error("no ufunc");
  const auto& it = *reinterpret_cast<const PyUFuncObject*>(ufunc.ptr());
  if (number < 0 || number >= it.ntypes) throw nb::index_error();
  return {reinterpret_cast<uintptr_t>(it.functions[number]), reinterpret_cast<uintptr_t>(it.data[number])};
}

void bind_ufuncs(nb::module_& m) {
  m.def("loop_of_ufunc", &loop_of_ufunc, "ufunc"_a, "number"_a,
        "The address of the function of one of a ufunc's loops, and that of its data.");
  UfuncLoop::bind(m);
  GufuncLoop::bind(m);
  bind_holder(m);
  Ufunc::bind(m);
}

}  // namespace ingot::bindings
