#include "eager/pending.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "base/error.h"
#include "devices/recording.h"
#include "eager/bind.h"
#include "interop/exceptions.h"
#include "interop/numpy.h"

namespace ingot::eager {

using base::DType;
using nb::literals::operator""_a;

/// Part of the closed list of process-wide state; the GIL's holder reads and changes it.
class Waiting {
 public:
  static Waiting& all() {
    static Waiting* const it = new Waiting();
    return *it;
  }

  Pending* first() const { return first_; }
  int64_t bytes() const { return bytes_; }
  uint64_t next_traversal() { return ++traversal_; }
  static bool is_on() { return of_thread(); }
  static bool set(bool is_on) { return std::exchange(of_thread(), is_on); }

  void link(Pending& node) {
    node.previous_ = nullptr;
    node.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &node;
    first_ = &node;
    bytes_ += node.window_.strided().bytes();
  }
  void unlink(Pending& node) {
    (node.previous_ == nullptr ? first_ : node.previous_->next_) = node.next_;
    if (node.next_ != nullptr) node.next_->previous_ = node.previous_;
    bytes_ -= node.window_.strided().bytes();
  }
  /// An array but `except` whose elements are computed with the memory's; null: there is none.
  DeviceArray* reader_of(const DeviceMemory& memory, const DeviceArray* except) {
    for (Pending* node = first_; node != nullptr; node = node->next_)
      if (node->array_ != except && reads(*node, memory)) return node->array_;
    return nullptr;
  }
  bool reads(Pending& node, const DeviceMemory& memory) { return node.reads(memory, next_traversal()); }
  static PyObject* array_of(Pending& node) { return reinterpret_cast<PyObject*>(node.array_); }

  bool is_on_at_first = true;  ///< of each thread
  /// The compiled functions by the keys of expressions.
  std::unordered_map<std::string, nb::object> functions;
  static constexpr size_t kMostFunctions = 4096;
  /// Operations before which their operands are computed, since there were too many of them.
  std::unordered_set<uint64_t> ends;
  static constexpr size_t kMostEnds = 1024;

 private:
  static bool& of_thread() {
    thread_local bool is_on = Waiting::all().is_on_at_first;
    return is_on;
  }

  Pending* first_ = nullptr;
  int64_t bytes_ = 0;
  uint64_t traversal_ = 0;
};

namespace {

/// The right to compute what waits, of one thread at a time, so that nothing is computed twice. A thread that
/// does not get it within 10 s computes nevertheless, and the first result is taken, so that no thread waits
/// for another one for ever. Part of the closed list of process-wide state.
class Access {
 public:
  Access() {
    State& state = state_of_all();
    if (state.owner == std::this_thread::get_id()) return;
    has_it_ = state.mutex.try_lock();
    if (!has_it_) {
      const nb::gil_scoped_release released;
      has_it_ = state.mutex.try_lock_for(std::chrono::seconds(10));
    }
    if (has_it_) state.owner = std::this_thread::get_id();
  }
  ~Access() {
    if (!has_it_) return;
    State& state = state_of_all();
    state.owner = std::thread::id();
    state.mutex.unlock();
  }
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

  /// For a forked child: the thread that had access may not be in it.
  static void renew() { new (&state_of_all()) State(); }

 private:
  struct State {
    std::timed_mutex mutex;
    std::thread::id owner;  ///< read and written with the GIL
  };
  static State& state_of_all() {
    static State* const it = new State();
    return *it;
  }

  bool has_it_ = false;
};

/// A device's stream for a time.
class InStream {
 public:
  InStream(devices::Device& device, devices::Stream& stream) : device_(device), before_(&device.stream()) {
    if (before_ != &stream) device_.use_stream(&stream);
    else before_ = nullptr;
  }
  ~InStream() {
    if (before_ != nullptr) device_.use_stream(before_);
  }
  InStream(const InStream&) = delete;
  InStream& operator=(const InStream&) = delete;

 private:
  devices::Device& device_;
  devices::Stream* before_;
};

constexpr uint8_t kNumPys = 0x40;   ///< of kinds: numbers of NumPy's types
constexpr uint8_t kPythons = 0x80;  ///< bool, int, float, complex

/// The kind of an operand; none: operations do not wait with it.
std::optional<uint8_t> kind_of_operand(PyObject* object) {
  if (is_device_array(object)) return static_cast<uint8_t>(device_array(object).window.dtype);
  if (PyFloat_CheckExact(object)) return kPythons | 2;
  if (PyLong_CheckExact(object)) return kPythons | 1;
  if (PyBool_Check(object)) return kPythons;
  if (PyComplex_CheckExact(object)) return kPythons | 3;
  if (const std::optional<DType> dtype = dtype_of_scalar(Py_TYPE(object)))
    return static_cast<uint8_t>(kNumPys | static_cast<uint8_t>(*dtype));
  return std::nullopt;
}

nb::object descr_of(DType dtype) {
  return nb::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromType(type_number(dtype))));
}

/// What `ingot._operations.lazy` knows a kind by: (dtype,) of an array, dtype of a number of NumPy's, type of
/// one of Python's.
nb::object shown(uint8_t kind, PyObject* operand) {
  if ((kind & kPythons) != 0) return nb::borrow(reinterpret_cast<PyObject*>(Py_TYPE(operand)));
  if ((kind & kNumPys) != 0) return descr_of(static_cast<DType>(kind & ~kNumPys));
  return nb::make_tuple(descr_of(static_cast<DType>(kind)));
}

nb::object lazy_module() { return nb::module_::import_("ingot._operations.lazy"); }

/// Whether an array of an integer dtype has a number for an int of Python's; NumPy raises an error of others.
bool holds(DType dtype, PyObject* number) {
  if (!base::is_int(dtype)) return true;
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow != 0) return false;
  const auto bits = static_cast<int>(8 * base::size_of(dtype));
  if (!base::is_signed(dtype)) return value >= 0 && (bits == 64 || value >> bits == 0);
  return bits == 64 || (value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << (bits - 1));
}

/// Whether all ints among the operands are numbers of the dtypes of all arrays, and of 64 bits.
bool fit(PyObject* const* operands, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!PyLong_CheckExact(operands[i])) continue;
    if (!holds(DType::Int64, operands[i])) return false;
    for (size_t k = 0; k < count; ++k)
      if (is_device_array(operands[k]) && !holds(device_array(operands[k]).window.dtype, operands[i]))
        return false;
  }
  return true;
}

/// Whether each axis goes further in a step than the next one; axes of length 1 do not count.
bool goes_down(const Window& window) {
  int64_t inside = static_cast<int64_t>(base::size_of(window.dtype));
  for (int axis = window.rank - 1; axis >= 0; --axis) {
    if (window.lengths[axis] == 1) continue;
    if (window.strides[axis] < inside) return false;
    inside = window.strides[axis] * window.lengths[axis];
  }
  return true;
}

/// Strides without gaps.
void lay(Window& window, bool is_fortran) {
  auto inside = static_cast<int64_t>(base::size_of(window.dtype));
  for (int i = 0; i < window.rank; ++i) {
    const int axis = is_fortran ? i : window.rank - 1 - i;
    window.strides[axis] = inside;
    inside *= std::max<int64_t>(window.lengths[axis], 1);
  }
}

/// The shape and strides of what an operation gives of such arrays, as compiled functions give it; false: it
/// does not wait with them.
bool lengths_of(Window& window, PyObject* const* operands, size_t count) {
  window.rank = 0;
  bool goes = true;
  bool is_fortran = true;
  const Window* first = nullptr;
  for (size_t i = 0; i < count; ++i) {
    if (!is_device_array(operands[i])) continue;
    const Window& one = device_array(operands[i]).window;
    if (first == nullptr) first = &one;
    goes = goes && goes_down(one);
    const bool has_ones = std::find(one.lengths, one.lengths + one.rank, 1) != one.lengths + one.rank;
    is_fortran = is_fortran && !has_ones && one.strided().is_f() && one.rank == first->rank &&
                 std::equal(one.lengths, one.lengths + one.rank, first->lengths);
    const int known = window.rank;
    window.rank = std::max(known, one.rank);
    std::rotate(window.lengths, window.lengths + known, window.lengths + window.rank);
    std::fill_n(window.lengths, window.rank - known, 1);
    for (int axis = 0; axis < one.rank; ++axis) {
      int64_t& length = window.lengths[window.rank - one.rank + axis];
      if (length != one.lengths[axis] && length != 1 && one.lengths[axis] != 1) return false;
      if (length == 1) length = one.lengths[axis];
    }
  }
  if (window.rank == 0 || window.strided().is_empty() || (!goes && !is_fortran)) return false;
  lay(window, !goes);
  return true;
}

/// More operations than are ever counted.
constexpr int64_t kMany = int64_t{1} << 32;
/// Below so many bytes the device is not asked what it has left.
constexpr int64_t kSmall = int64_t{1} << 20;

/// Whether what waits, and so many bytes more, would leave less than half of a device's memory.
bool is_under_pressure(devices::Device& device, int64_t bytes) {
  if (bytes < kSmall && Waiting::all().bytes() < kSmall) return false;
  const devices::MemoryUse use = device.memory();
  const int64_t limit = use.limit > 0 ? use.limit : device.properties().memory;
  return use.in_use + Waiting::all().bytes() + bytes > limit / 2;
}

bool find_kinds(PyObject* const* operands, size_t count, uint8_t* kinds) {
  for (size_t i = 0; i < count; ++i) {
    const std::optional<uint8_t> kind = kind_of_operand(operands[i]);
    if (!kind) return false;
    kinds[i] = *kind;
  }
  return true;
}

/// The device of arrays with which an operation may wait; null: it may not.
devices::Device* device_of(PyObject* const* operands, size_t count) {
  devices::Device* device = nullptr;
  for (size_t i = 0; i < count; ++i) {
    if (!is_device_array(operands[i])) continue;
    const DeviceArray& array = device_array(operands[i]);
    if (!is_pending(array) && array.memory->is_shared()) return nullptr;
    if (device != nullptr && device != &array.device()) return nullptr;
    device = &array.device();
  }
  return device;
}

/// Whether an array that waits may become one of this layout.
bool may_become(const DeviceArray& array, const Window& window) {
  const Window& own = array.window;
  return is_pending(array) && array.is_writable && own.dtype == window.dtype && own.rank == window.rank &&
         std::equal(own.lengths, own.lengths + own.rank, window.lengths) &&
         std::equal(own.strides, own.strides + own.rank, window.strides);
}

}  // namespace

std::optional<DType> Operation::result(std::span<const uint8_t> kinds, std::span<PyObject* const> operands) {
  uint32_t key = 0;
  for (const uint8_t kind : kinds) key = key << 8 | kind;
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  nb::list given;
  for (size_t i = 0; i < kinds.size(); ++i) given.append(shown(kinds[i], operands[i]));
  const nb::object dtype = lazy_module().attr("result_of")(number_, given);
  std::optional<DType> result;
  if (!dtype.is_none()) result = dtype_of(reinterpret_cast<PyArray_Descr*>(dtype.ptr())->type_num);
  return known_[key] = result;
}

// An operation.

nb::object Pending::of(Operation& operation, PyObject* const* arguments, size_t count) {
  if (!Waiting::all().is_on() || count != operation.operands()) return {};
  if (devices::Recording::of_thread() != nullptr)
    return {};  // it is captured in a graph, which cannot be computed later
  const bool is_in_place = operation.is_in_place();
  if (is_in_place && !(is_device_array(arguments[0]) && is_pending(device_array(arguments[0])))) return {};
  uint8_t kinds[Operation::kMostOperands];
  if (!find_kinds(arguments, count, kinds)) return {};
  const std::optional<DType> dtype = operation.result({kinds, count}, {arguments, count});
  if (!dtype) return {};
  devices::Device* const device = device_of(arguments, count);
  if (device == nullptr || !fit(arguments, count)) return {};
  const uint64_t shape = shape_of(operation, arguments, count, 1);
  join(*device, arguments, count, shape);
  // From here on nothing of Python's runs.
  Window window{};
  window.dtype = *dtype;
  if (!lengths_of(window, arguments, count) || is_under_pressure(*device, window.strided().bytes()))
    return {};
  if (is_in_place && !may_become(device_array(arguments[0]), window)) return {};
  nb::object array = is_in_place ? nb::borrow(arguments[0])
                                 : new_device_array(window, true, std::shared_ptr<DeviceMemory>());
  auto* const node = new Pending(operation, window, *device);
  node->shapes_ = {operation.number() + uint64_t{1}, shape_of(operation, arguments, count, 0)};
  for (size_t i = 0; i < count; ++i) node->add(arguments[i]);
  if (is_in_place) device_array(array.ptr()).pending->leave();
  node->show_as(device_array(array.ptr()));
  return array;
}

/// What an operation and its operands are, which are known so deep.
uint64_t Pending::shape_of(const Operation& operation, PyObject* const* arguments, size_t count,
                           size_t depth) {
  uint64_t shape = operation.number() + uint64_t{1};
  for (size_t i = 0; i < count; ++i) {
    const bool waits = is_device_array(arguments[i]) && is_pending(device_array(arguments[i]));
    shape = (shape ^ (waits ? device_array(arguments[i]).pending->shapes_[depth] : 0)) * 0x9e3779b97f4a7c15U;
    shape ^= shape >> 29;
  }
  return shape;
}

/// Computes operands that wait in another stream, and all where they would be too many. In a loop, whose
/// operations repeat, that is done at the same one each time, so that there are few functions.
void Pending::join(devices::Device& device, PyObject* const* arguments, size_t count, uint64_t shape) {
  const auto pending = [&](size_t i) {
    return is_device_array(arguments[i]) ? device_array(arguments[i]).pending : nullptr;
  };
  int64_t all = kMostOwn;
  for (size_t i = 0; i < count; ++i) {
    if (pending(i) == nullptr) continue;
    if (pending(i)->stream_ != &device.stream()) compute(arguments[i]);
    else all += pending(i)->size_;
  }
  std::unordered_set<uint64_t>& ends = Waiting::all().ends;
  const int64_t most = ends.contains(shape) ? kMost / 2 : kMost;
  if (all <= most) return;
  const uint64_t traversal = Waiting::all().next_traversal();
  all = kMostOwn;
  for (size_t i = 0; i < count; ++i)
    if (pending(i) != nullptr) all += pending(i)->count(traversal);
  if (all <= most) return;
  if (ends.size() == Waiting::kMostEnds) ends.clear();
  ends.insert(shape);
  for (size_t i = 0; i < count; ++i)
    if (pending(i) != nullptr) compute(arguments[i]);
}

void Pending::add(PyObject* argument) {
  Operand& operand = operands_[operand_count_++];
  if (is_device_array(argument) && is_pending(device_array(argument))) {
    operand.node = device_array(argument).pending;
    ++operand.node->holders_;
    size_ = std::min(size_ + operand.node->size_, kMany);
    return;
  }
  if (leaf_count_++ > 0) ++size_;
  operand.leaf = Py_NewRef(argument);
  if (is_device_array(argument)) device_array(argument).memory->set_read(true);
}

/// What is shown is held by the array.
void Pending::show_as(DeviceArray& array) {
  array.pending = this;
  array_ = &array;
  Waiting::all().link(*this);
}

void Pending::hide() {
  Waiting::all().unlink(*this);
  array_ = nullptr;
}

void Pending::leave() {
  hide();
  release();
}

void Pending::drop_operands() {
  for (size_t i = 0; i < operand_count_; ++i) {
    if (operands_[i].node != nullptr) operands_[i].node->release();
    Py_XDECREF(operands_[i].leaf);
  }
  operand_count_ = 0;
}

/// Meanwhile another thread may have computed it, and the array may be gone. The expression holds it.
void Pending::finish(PyObject* given) {
  if (result_.is_valid()) return;
  const DeviceArray& made = device_array(given);
  const auto differs = [&](int axis) {
    return made.window.lengths[axis] != window_.lengths[axis] ||
           (window_.lengths[axis] != 1 && made.window.strides[axis] != window_.strides[axis]);
  };
  bool is_other = made.window.dtype != window_.dtype || made.window.rank != window_.rank;
  for (int axis = 0; axis < window_.rank && !is_other; ++axis) is_other = differs(axis);
  if (is_other)
    throw base::InternalError("an operation that has waited gives another array than it promised");
  size_ = 0;
  if (array_ == nullptr) {
    result_ = nb::borrow(given);
  } else {
    DeviceArray& array = *array_;
    result_ = nb::borrow(reinterpret_cast<PyObject*>(array_));
    array.memory = made.memory;
    array.window = made.window;
    hide();
    array.pending = nullptr;
    --holders_;
  }
  device_array(result_.ptr()).memory->set_read(holders_ > 1);
  drop_operands();
}

bool Pending::reads(const DeviceMemory& memory, uint64_t traversal) {
  if (traversal_ == traversal) return false;
  traversal_ = traversal;
  if (result_.is_valid()) return device_array(result_.ptr()).memory.get() == &memory;
  for (size_t i = 0; i < operand_count_; ++i) {
    const auto [node, leaf] = operands_[i];
    if (node != nullptr ? node->reads(memory, traversal)
                        : is_device_array(leaf) && device_array(leaf).memory.get() == &memory)
      return true;
  }
  return false;
}

/// Computed operands count, too, where there are several, so that there are no more of them than are counted.
int64_t Pending::count(uint64_t traversal) {
  if (traversal_ == traversal || result_.is_valid()) return 0;
  traversal_ = traversal;
  int64_t all = 0;
  int64_t leaves = 0;
  for (size_t i = 0; i < operand_count_; ++i) {
    if (operands_[i].node == nullptr || operands_[i].node->result_.is_valid()) ++leaves;
    else all += operands_[i].node->count(traversal);
  }
  return all + std::max<int64_t>(leaves, 1);
}

// An expression.

Expression::Expression(DeviceArray& array, bool is_dropped)
    : traversal_(Waiting::all().next_traversal()), stream_(array.pending->stream_) {
  Pending& root = *array.pending;
  visit(root);
  for (Pending* const node : nodes_) {
    const int64_t shown = node->array_ != nullptr ? 1 : 0;
    const bool is_held =
        node == &root ? !is_dropped || node->holders_ > 1 : shown != 0 || node->holders_ > node->inside_;
    if (!is_held) continue;
    outputs_.push_back(node);
    key_.push_back('\xff');
    key_.push_back(static_cast<char>(node->place_));
  }
  for (Pending* const node : nodes_) ++node->holders_;
  for (PyObject* const leaf : leaves_) Py_INCREF(leaf);
}

Expression::~Expression() {
  for (Pending* const node : nodes_) node->release();
  for (PyObject* const leaf : leaves_) Py_DECREF(leaf);
}

/// Operands first. An operation's index in `steps`, and its number, become part of the key.
void Expression::visit(Pending& node) {
  node.traversal_ = traversal_;
  node.inside_ = 0;
  char indices[Operation::kMostOperands];
  for (size_t i = 0; i < node.operand_count_; ++i) {
    const Pending::Operand& operand = node.operands_[i];
    if (operand.node != nullptr && !operand.node->result_.is_valid()) {
      if (operand.node->traversal_ != traversal_) visit(*operand.node);
      ++operand.node->inside_;
      indices[i] = static_cast<char>(operand.node->place_);
      continue;
    }
    PyObject* const leaf = operand.node != nullptr ? operand.node->result_.ptr() : operand.leaf;
    auto found = leaves_.end();
    if (is_device_array(leaf)) found = std::find(leaves_.begin(), leaves_.end(), leaf);
    indices[i] = static_cast<char>(~(found - leaves_.begin()));
    if (found == leaves_.end()) leaves_.push_back(leaf);
  }
  node.place_ = nodes_.size();
  nodes_.push_back(&node);
  const uint16_t number = node.operation_->number();
  key_.push_back(static_cast<char>(number >> 8));
  key_.push_back(static_cast<char>(number & 0xff));
  key_.append(indices, node.operand_count_);
}

nb::list Expression::steps() const {
  nb::list all;
  size_t at = 0;
  for (const Pending* const node : nodes_) {
    nb::list indices;
    for (size_t i = 0; i < node->operand_count_; ++i)
      indices.append(static_cast<int>(static_cast<signed char>(key_[at + 2 + i])));
    all.append(nb::make_tuple(node->operation_->number(), indices));
    at += 2 + node->operand_count_;
  }
  return all;
}

nb::list Expression::outputs() const {
  nb::list all;
  // Another expression may have given the nodes other indices meanwhile.
  for (const Pending* const node : outputs_) all.append(std::ranges::find(nodes_, node) - nodes_.begin());
  return all;
}

void Expression::finish(std::span<PyObject* const> arrays) {
  if (arrays.size() != outputs_.size()) throw base::InternalError("an expression of other outputs");
  for (size_t i = 0; i < arrays.size(); ++i)
    if (!is_device_array(arrays[i])) throw base::InternalError("an expression gives what is no array");
  for (size_t i = 0; i < arrays.size(); ++i) outputs_[i]->finish(arrays[i]);
}

// What computes.

namespace {

nb::object function_of(const Expression& expression) {
  auto& functions = Waiting::all().functions;
  if (const auto found = functions.find(expression.key()); found != functions.end()) return found->second;
  nb::object made =
      lazy_module().attr("function_of")(expression.steps(), expression.leaves().size(), expression.outputs());
  if (functions.size() == Waiting::kMostFunctions) functions.clear();
  functions[expression.key()] = made;
  return made;
}

}  // namespace

void compute(PyObject* object) {
  DeviceArray& array = device_array(object);
  if (!is_pending(array)) return;
  const nb::object held = nb::borrow(object);
  const devices::Recording::Suspended outside;  // nothing waits that is of a graph
  const Access access;
  while (is_pending(array)) {  // what computes it may let other threads change it
    Expression expression(array, false);
    const nb::object function = function_of(expression);
    const InStream stream(array.device(), expression.stream());
    const nb::object result = nb::steal(
        PyObject_Vectorcall(function.ptr(), expression.leaves().data(), expression.leaves().size(), nullptr));
    if (!result.is_valid()) throw nb::python_error();
    PyObject* const one = result.ptr();
    if (PyTuple_CheckExact(one))
      expression.finish({PySequence_Fast_ITEMS(one), static_cast<size_t>(PyTuple_GET_SIZE(one))});
    else expression.finish({&one, 1});
  }
}

void compute_all() {
  while (Pending* const node = Waiting::all().first()) compute(Waiting::array_of(*node));
}

void compute_readers(DeviceMemory& memory) {
  if (!memory.is_read()) return;
  while (DeviceArray* const array = Waiting::all().reader_of(memory, nullptr))
    compute(reinterpret_cast<PyObject*>(array));
  memory.set_read(false);
}

std::optional<bool> prepare_write(DeviceArray& target, DeviceArray& value) {
  if (&target.device() != &value.device() || !value.pending->is_in(value.device().stream()))
    return std::nullopt;
  DeviceMemory& memory = *target.memory;
  if (!memory.is_read()) return false;
  while (DeviceArray* const array = Waiting::all().reader_of(memory, &value))
    compute(reinterpret_cast<PyObject*>(array));
  if (!is_pending(value)) return std::nullopt;
  memory.set_read(Waiting::all().reads(*value.pending, memory));
  return memory.is_read();
}

void share(DeviceMemory& memory) {
  compute_readers(memory);
  memory.set_shared();
}

bool compute_under_pressure(devices::Device& device, int64_t bytes) {
  if (Waiting::all().first() == nullptr || !is_under_pressure(device, bytes)) return false;
  compute_all();
  return true;
}

void bind_pending(nb::module_& m) {
  nb::class_<Operation>(m, "Operation")
      .def(nb::init<uint16_t, size_t, bool>(), "number"_a, "operands"_a, "is_in_place"_a);
  nb::class_<Expression>(m, "Expression")
      .def(
          "__init__",
          [](Expression* it, nb::handle array, bool is_dropped) {
            if (!is_device_array(array.ptr()) || !is_pending(device_array(array.ptr())))
              throw nb::type_error("an ingot.Array that waits is wanted");
            new (it) Expression(device_array(array.ptr()), is_dropped);
          },
          "array"_a, "is_dropped"_a)
      .def_prop_ro("key", [](const Expression& it) { return nb::bytes(it.key().data(), it.key().size()); })
      .def_prop_ro("steps", &Expression::steps)
      .def_prop_ro("outputs", &Expression::outputs)
      .def_prop_ro("leaves",
                   [](const Expression& it) {
                     nb::list all;
                     for (PyObject* const leaf : it.leaves()) all.append(nb::handle(leaf));
                     return all;
                   })
      .def("finish", [](Expression& it, const nb::list& arrays) {
        it.finish({PySequence_Fast_ITEMS(arrays.ptr()), arrays.size()});
      });
  m.def(
      "prepare_write",
      [](nb::handle target, nb::handle value) -> nb::object {
        if (!is_device_array(target.ptr()) || !is_device_array(value.ptr()))
          throw nb::type_error("two ingot.Arrays are wanted");
        DeviceArray& written = device_array(target.ptr());
        DeviceArray& given = device_array(value.ptr());
        if (is_pending(written) || !is_pending(given)) return nb::none();
        const std::optional<bool> reads = prepare_write(written, given);
        return reads ? nb::object(nb::bool_(*reads)) : nb::none();
      },
      "target"_a, "value"_a,
      "Computes what else waits and reads the target's memory, before it is written into together with the "
      "computation of a value. Whether the value reads it, too; None: the value is to be computed before.");
  m.def("renew_access", &Access::renew, "For a forked child.");
  m.def("forget_expressions", [] { Waiting::all().functions.clear(); }, "For the end of Python.");
  m.def("compute_all", &compute_all, "Computes all that waits.");
  m.def(
      "is_pending",
      [](nb::handle array) { return is_device_array(array.ptr()) && is_pending(device_array(array.ptr())); },
      "array"_a, "Whether the elements of an array are still to be computed.");
  m.def(
      "wait_at_first", [](bool is_on) { Waiting::all().is_on_at_first = is_on; }, "is_on"_a,
      "Whether operations of threads wait that have not set it themselves.");
  m.def("set_waiting", &Waiting::set, "is_on"_a,
        "Whether operations of this thread wait from now on; returns whether they did.");
}

}  // namespace ingot::eager
