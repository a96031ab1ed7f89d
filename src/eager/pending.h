#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "eager/device_array.h"

/// Operations that wait: their results are computed when the elements are asked for, together with the
/// operands that wait, by one compiled function (`ingot._operations.lazy` writes it). All wants the GIL.
namespace ingot::eager {

/// An elementwise operation, which may wait. Lives as long as the process.
class Operation {
 public:
  static constexpr size_t kMostOperands = 3;

  /// `number`: by which `ingot._operations.lazy` knows it. `is_in_place`: its first operand is what it gives.
  Operation(uint16_t number, size_t operands, bool is_in_place)
      : number_(number), operands_(operands), is_in_place_(is_in_place) {}

  uint16_t number() const { return number_; }
  size_t operands() const { return operands_; }
  bool is_in_place() const { return is_in_place_; }
  /// The dtype of what it gives; none: it does not wait with operands of these kinds. A kind is the dtype of
  /// an array, or a number of a type, of NumPy's or of Python's.
  std::optional<base::DType> result(std::span<const uint8_t> kinds, std::span<PyObject* const> operands);

 private:
  uint16_t number_;
  size_t operands_;
  bool is_in_place_;
  std::unordered_map<uint32_t, std::optional<base::DType>> known_;
};

/// An operation that waits, or what it has given. Counted by those who hold it: arrays and other operations.
class Pending {
 public:
  /// Operations that are computed at once, at most.
  static constexpr int64_t kMost = 64;
  /// Of these, what an operation counts itself, at most.
  static constexpr int64_t kMostOwn = Operation::kMostOperands;

  /// What an operation would give with these arguments, as an array that waits, or its first argument; an
  /// invalid object: it does not wait with them. Throws what computing raises that has waited too long.
  static nb::object of(Operation& operation, PyObject* const* arguments, size_t count);
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  devices::Device& device() const { return *device_; }
  /// Whether it waits in a stream.
  bool is_in(const devices::Stream& stream) const { return stream_ == &stream; }
  /// The array that shows it goes.
  void leave();

 private:
  friend class Expression;
  friend class Waiting;

  /// An operation, an array or a number: one of the two is null.
  struct Operand {
    Pending* node;
    PyObject* leaf;
  };

  Pending(const Operation& operation, const Window& window, devices::Device& device)
      : operation_(&operation), window_(window), device_(&device), stream_(&device.stream()) {}
  ~Pending() { drop_operands(); }

  static uint64_t shape_of(const Operation& operation, PyObject* const* arguments, size_t count,
                           size_t depth);
  static void join(devices::Device& device, PyObject* const* arguments, size_t count, uint64_t shape);
  void add(PyObject* argument);
  void show_as(DeviceArray& array);
  void hide();
  void release() {
    if (--holders_ == 0) delete this;
  }
  void drop_operands();
  void finish(PyObject* array);
  bool reads(const DeviceMemory& memory, uint64_t traversal);
  int64_t count(uint64_t traversal);

  const Operation* operation_;
  Window window_;  ///< without data
  devices::Device* device_;
  devices::Stream* stream_;
  std::array<Operand, Operation::kMostOperands> operands_{};
  size_t operand_count_ = 0;
  int64_t holders_ = 1;
  size_t leaf_count_ = 0;
  std::array<uint64_t, 2> shapes_{};  ///< of the operation alone, and with its operands
  int64_t size_ = 1;                  ///< what `count` gives, at most
  DeviceArray* array_ = nullptr;      ///< what shows it; null: nobody does, or it is computed
  nb::object result_;                 ///< the array, once it is computed
  Pending* previous_ = nullptr;       ///< among those that arrays show
  Pending* next_ = nullptr;
  uint64_t traversal_ = 0;  ///< the last one that came here
  size_t place_ = 0;        ///< in an expression
  int64_t inside_ = 0;      ///< holders in an expression
};

/// What is computed at once: an operation that waits, and all that it is made of and waits, too. Does not
/// change what they are.
class Expression {
 public:
  /// `is_dropped`: nobody looks at the array itself later.
  Expression(DeviceArray& array, bool is_dropped);
  ~Expression();
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;

  /// Equal ones are computed by one function.
  const std::string& key() const { return key_; }
  /// (number of the operation, indices of its operands) of each operation; an operand's index is that of an
  /// earlier operation, or `~i`: of leaf `i`.
  nb::list steps() const;
  /// The indices of the operations that somebody holds.
  nb::list outputs() const;
  std::span<PyObject* const> leaves() const { return leaves_; }
  devices::Stream& stream() const { return *stream_; }
  /// What the function has given for the outputs. Throws InternalError if they are not as was promised.
  void finish(std::span<PyObject* const> arrays);

 private:
  void visit(Pending& node);

  uint64_t traversal_;
  devices::Stream* stream_;
  std::vector<Pending*> nodes_;
  std::vector<Pending*> outputs_;
  std::vector<PyObject*> leaves_;
  std::string key_;
};

/// Whether an array's elements are still to be computed.
inline bool is_pending(const DeviceArray& array) { return array.pending != nullptr; }
/// Computes what waits of an array, once. Throws what that raises; then it waits still.
void compute(PyObject* array);
/// Computes all that waits.
void compute_all();
/// Before somebody writes into the memory: computes what waits and reads it.
void compute_readers(DeviceMemory& memory);
/// Before an array is written into by a value that waits, together with which that is done: computes all else
/// that waits and reads the memory. Gives whether the value reads it, too; none: it is to be computed before,
/// as it waits elsewhere.
std::optional<bool> prepare_write(DeviceArray& target, DeviceArray& value);
/// From now on somebody else may write into the memory, at any time: nothing that reads it waits.
void share(DeviceMemory& memory);
/// Before so many bytes of a device are taken: whether all that waits has been computed, since they would not
/// be there for it.
bool compute_under_pressure(devices::Device& device, int64_t bytes);

}  // namespace ingot::eager
