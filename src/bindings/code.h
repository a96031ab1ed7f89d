#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/float_state.h"
#include "bindings/cells.h"
#include "runtime/context.h"
#include "runtime/object.h"

/// Machine code of one function, and the memory of its calls' slots.
namespace ingot::bindings {

namespace nb = nanobind;

/// The code of an object's first entry.
class Code {
 public:
  /// Of what `_core` made; `options`: how kernels in it are loaded; `moves`: where functions are now, as
  /// tuples of file, first and last line, the file now and by how many lines. Throws runtime::LoadError.
  static std::unique_ptr<Code> load(const nb::bytes& bytes,
                                    std::shared_ptr<const devices::LoadOptions> options,
                                    const nb::tuple& moves);

  const runtime::ObjectInfo& info() const { return object_.info(); }
  std::span<const runtime::SlotInfo> params() const { return entry().params; }
  std::span<const runtime::SlotInfo> results() const { return entry().results; }
  runtime::Entry function() const { return function_; }
  /// Whether its values are right in the calling thread's floating-point state.
  bool is_of_this_state() const {
    return !wants_default_state_ || base::FloatState::current().without_traps() == base::FloatState();
  }
  /// This code, or, where its values are not right, the code for any state, which `other_from` makes once.
  /// Takes the GIL then, and throws what Python raises.
  const Code& of_this_state() const { return is_of_this_state() ? *this : other(); }
  void set_other_from(nb::object maker) { other_from_ = std::move(maker); }
  /// The C functions that it calls, as `Context::functions` has them; set before the first call.
  void set_functions(std::vector<void*> functions) { functions_ = std::move(functions); }
  void* const* functions() const { return functions_.data(); }
  bool has_functions() const { return !functions_.empty(); }

  /// Whether it may take long: it has loops, or calls.
  bool polls() const { return polls_; }
  /// Whether it calls functions that only the embedding program has.
  bool calls_outside() const { return calls_outside_; }

 private:
  friend class Frame;
  explicit Code(runtime::Object object);
  const runtime::EntryInfo& entry() const { return object_.info().entries[0]; }
  const Code& other() const;

  runtime::Object object_;
  runtime::Entry function_;
  bool polls_;
  bool calls_outside_;
  bool wants_default_state_;
  std::vector<void*> functions_;
  nb::object other_from_;
  mutable nb::object other_kept_;
  mutable std::atomic<const Code*> other_ = nullptr;
  std::vector<size_t> places_;  ///< offset of each slot in a frame
  size_t size_;                 ///< of a frame
};

/// The slots of one call: those of the parameters filled from the leaves of arguments, which must be of the
/// kinds that the code was compiled for, then those of the results. Of a device's code, arrays are on it.
class Frame {
 public:
  /// Further parameters are `cells`. Throws what an unfit scalar raises.
  Frame(const Code& code, std::span<PyObject* const> leaves, std::span<const Cells::Strip> cells = {});
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  void** slots() { return reinterpret_cast<void**>(memory_); }
  void* result(size_t i) { return slots()[code_.params().size() + i]; }
  runtime::ViewSlot& result_view(size_t i) { return *static_cast<runtime::ViewSlot*>(result(i)); }
  /// The buffers whose numbers, which op `keep` gave, are the elements of a result.
  std::vector<runtime::Buffer*> held_buffers(size_t result);
  /// The number of the parameter whose memory a buffer is; -1: none.
  int64_t parameter_of(const runtime::Buffer* buffer) const;
  /// Whether a result is a whole buffer, of the call's own, which no other result shares.
  bool is_all_of_its_buffer(size_t result);

 private:
  static constexpr size_t kInside = 2048;

  void fill(size_t i, PyObject* leaf);
  void fill_view(size_t i, std::byte* data, const int64_t* lengths, const int64_t* strides);

  const Code& code_;
  std::byte* memory_;  ///< the addresses of the slots, a buffer for each parameter, the slots
  runtime::Buffer* buffers_;
  std::unique_ptr<std::byte[]> outside_;
  alignas(16) std::byte inside_[kInside];
};

/// Stores a number - an object of Python's or NumPy's - as an element of a dtype. Throws what it raises that
/// it does not fit.
void store_number(base::DType dtype, void* element, PyObject* number);
/// A number as a Python object: of Python's own kinds, or NumPy's.
nb::object python_number(base::DType dtype, const void* element);
nb::object numpy_number(base::DType dtype, const void* element);

}  // namespace ingot::bindings
