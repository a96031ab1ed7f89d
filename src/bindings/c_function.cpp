#include "bindings/c_function.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bindings/code.h"
#include "interop/gil.h"
#include "interop/numpy.h"
#include "runtime/mapping.h"

// Each C function is a few instructions of its own, which load the object's address and jump to an entry that
// all share. That stores the registers with arguments, by the System V ABI, for `ingot_c_call`, which makes
// objects of them and calls the function.

namespace ingot::bindings {

namespace nb = nanobind;
using base::DType;
using nb::literals::operator""_a;

namespace {

/// The registers that hold arguments, as the entry stores them.
struct Registers {
  double vectors[8];
  uint64_t integers[6];
};

/// A length of an array: that of a parameter, or a constant.
using Length = std::pair<int, int64_t>;

/// A parameter of the C function: a number, or the memory of an array.
struct Parameter {
  DType dtype;
  bool is_pointer;
  std::vector<Length> lengths;
};

class CFunction {
 public:
  CFunction(nb::object function, const nb::list& parameters, std::vector<size_t> passed,
            const nb::object& result);

  uintptr_t address() const { return reinterpret_cast<uintptr_t>(code_.bytes().data()); }
  /// The bits of the result; 0 where the function raises, which is shown.
  uint64_t call(const Registers& registers, const uint64_t* stack) const noexcept;

 private:
  std::vector<uint64_t> taken(const Registers& registers, const uint64_t* stack) const;
  nb::object argument(size_t parameter, const std::vector<uint64_t>& bits) const;
  uint64_t bits_of(const nb::object& value) const;

  nb::object function_;
  std::vector<Parameter> parameters_;
  std::vector<size_t> passed_;  ///< the parameters that the function is given, in order
  std::optional<DType> result_;
  nb::object type_of_result_;  ///< NumPy's
  runtime::Mapping code_;
};

}  // namespace

extern "C" {
void ingot_c_entry();
uint64_t ingot_c_call(const CFunction* self, const Registers* registers, const uint64_t* stack) noexcept;

uint64_t ingot_c_call(const CFunction* self, const Registers* registers, const uint64_t* stack) noexcept {
  return self->call(*registers, stack);
}
}

// Called with the object in r10. The result goes into both registers that a result may be in.
asm(R"(
  .text
  .p2align 4
  .hidden ingot_c_entry
  .globl ingot_c_entry
  .type ingot_c_entry, @function
ingot_c_entry:
  .cfi_startproc
  endbr64
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  subq $112, %rsp
  movsd %xmm0, 0(%rsp)
  movsd %xmm1, 8(%rsp)
  movsd %xmm2, 16(%rsp)
  movsd %xmm3, 24(%rsp)
  movsd %xmm4, 32(%rsp)
  movsd %xmm5, 40(%rsp)
  movsd %xmm6, 48(%rsp)
  movsd %xmm7, 56(%rsp)
  movq %rdi, 64(%rsp)
  movq %rsi, 72(%rsp)
  movq %rdx, 80(%rsp)
  movq %rcx, 88(%rsp)
  movq %r8, 96(%rsp)
  movq %r9, 104(%rsp)
  movq %r10, %rdi
  movq %rsp, %rsi
  leaq 16(%rbp), %rdx
  call ingot_c_call@PLT
  movq %rax, %xmm0
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size ingot_c_entry, .-ingot_c_entry
)");

namespace {

CFunction::CFunction(nb::object function, const nb::list& parameters, std::vector<size_t> passed,
                     const nb::object& result)
    : function_(std::move(function)), passed_(std::move(passed)), code_(runtime::Mapping::kPage, false) {
  const auto named = [](nb::handle name) {
    return base::known(base::dtype_from_name(nb::cast<std::string>(name)));
  };
  for (const nb::handle each : parameters) {
    const auto parts = nb::cast<nb::tuple>(each);
    const bool is_pointer = !parts[1].is_none();
    parameters_.push_back({named(parts[0]), is_pointer, {}});
    if (is_pointer) parameters_.back().lengths = nb::cast<std::vector<Length>>(parts[1]);
  }
  if (!result.is_none()) {
    result_ = named(result);
    const std::string name(base::info(*result_).numpy);
    type_of_result_ = nb::module_::import_("numpy").attr(name == "bool" ? "bool_" : name.c_str());
  }
  std::byte* at = code_.bytes().data();
  const auto write = [&](std::initializer_list<int> bytes, const void* address) {
    for (const int byte : bytes) *at++ = static_cast<std::byte>(byte);
    if (address == nullptr) return;
    std::memcpy(at, &address, sizeof address);
    at += sizeof address;
  };
  write({0xf3, 0x0f, 0x1e, 0xfa}, nullptr);                            // endbr64
  write({0x49, 0xba}, this);                                           // mov r10, this
  write({0x49, 0xbb}, reinterpret_cast<const void*>(&ingot_c_entry));  // mov r11, ingot_c_entry
  write({0x41, 0xff, 0xe3}, nullptr);                                  // jmp r11
  code_.protect(0, code_.bytes().size(), runtime::Mapping::Access::ReadExecute);
}

/// The bits of each parameter, where the ABI puts them.
std::vector<uint64_t> CFunction::taken(const Registers& registers, const uint64_t* stack) const {
  std::vector<uint64_t> bits;
  bits.reserve(parameters_.size());
  size_t vectors = 0;
  size_t integers = 0;
  for (const Parameter& parameter : parameters_) {
    const bool is_float = !parameter.is_pointer && base::is_float(parameter.dtype);
    uint64_t word = 0;
    if (is_float && vectors < std::size(registers.vectors)) {
      std::memcpy(&word, &registers.vectors[vectors++], sizeof word);
    } else if (!is_float && integers < std::size(registers.integers)) {
      word = registers.integers[integers++];
    } else {
      word = *stack++;
    }
    bits.push_back(word);
  }
  return bits;
}

/// A number of up to 64 bits, as a length.
int64_t integer_of(DType dtype, uint64_t bits) {
  const int shift = 64 - 8 * static_cast<int>(base::size_of(dtype));
  const bool is_signed = dtype == DType::Int8 || dtype == DType::Int16 || dtype == DType::Int32;
  if (is_signed) return static_cast<int64_t>(bits << shift) >> shift;
  return static_cast<int64_t>(bits << shift >> shift);
}

nb::object CFunction::argument(size_t number, const std::vector<uint64_t>& bits) const {
  const Parameter& parameter = parameters_[number];
  if (!parameter.is_pointer) return numpy_number(parameter.dtype, &bits[number]);
  npy_intp lengths[NPY_MAXDIMS];
  const size_t rank = parameter.lengths.size();
  for (size_t axis = 0; axis < rank; ++axis) {
    const auto [from, constant] = parameter.lengths[axis];
    lengths[axis] =
        from < 0 ? constant
                 : integer_of(parameters_[static_cast<size_t>(from)].dtype, bits[static_cast<size_t>(from)]);
  }
  auto* const data = reinterpret_cast<void*>(bits[number]);  // NOLINT(performance-no-int-to-ptr)
  PyObject* const array =
      PyArray_SimpleNewFromData(static_cast<int>(rank), lengths, type_number(parameter.dtype), data);
  if (array == nullptr) throw nb::python_error();
  return nb::steal(array);
}

/// A result as NumPy's type converts it.
uint64_t CFunction::bits_of(const nb::object& value) const {
  uint64_t bits = 0;
  if (!result_) return bits;
  if (*result_ == DType::Float64 && PyFloat_Check(value.ptr())) {
    const double number = PyFloat_AS_DOUBLE(value.ptr());
    std::memcpy(&bits, &number, sizeof number);
    return bits;
  }
  const nb::object number = dtype_of_scalar(Py_TYPE(value.ptr())) == result_ ? value : type_of_result_(value);
  PyArray_ScalarAsCtype(number.ptr(), &bits);
  return bits;
}

uint64_t CFunction::call(const Registers& registers, const uint64_t* stack) const noexcept {
  const EnsuredGil gil;
  uint64_t result = 0;
  try {
    const std::vector<uint64_t> bits = taken(registers, stack);
    std::vector<nb::object> given;
    std::vector<PyObject*> arguments;
    for (const size_t parameter : passed_) {
      given.push_back(argument(parameter, bits));
      arguments.push_back(given.back().ptr());
    }
    const nb::object value =
        nb::steal(PyObject_Vectorcall(function_.ptr(), arguments.data(), arguments.size(), nullptr));
    if (!value.is_valid()) throw nb::python_error();
    result = bits_of(value);
  } catch (nb::python_error& error) {
    error.restore();
    PyErr_WriteUnraisable(function_.ptr());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
    PyErr_WriteUnraisable(function_.ptr());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    PyErr_WriteUnraisable(function_.ptr());
  }
  return result;
}

}  // namespace

void bind_c_functions(nb::module_& m) {
  nb::class_<CFunction>(m, "CFunction")
      .def(nb::init<nb::object, const nb::list&, std::vector<size_t>, const nb::object&>(), "function"_a,
           "parameters"_a, "passed"_a, "result"_a.none())
      .def_prop_ro("address", &CFunction::address);
}

}  // namespace ingot::bindings
