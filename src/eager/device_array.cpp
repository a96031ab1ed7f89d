#include "eager/device_array.h"

#include <nanobind/stl/pair.h>
#include <structmember.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "base/error.h"
#include "eager/bind.h"
#include "eager/graph.h"
#include "eager/pending.h"
#include "interop/exceptions.h"
#include "interop/numpy.h"
#include "runtime/allocator.h"
#include "runtime/device_calls.h"

namespace ingot::eager {

using base::DType;
using devices::Address;
using devices::Device;

namespace {

/// Of an array that `is_known`.
Window window_of(PyArrayObject* array) { return Window::of(array, *dtype_of(PyArray_TYPE(array))); }

/// Whether it is an array of NumPy's of a dtype that devices have, of no more axes than they have.
bool is_known(PyObject* object) {
  PyArrayObject* const array = as_array(object);
  return PyArray_CheckExact(object) && dtype_of(PyArray_TYPE(array)) &&
         PyArray_ISNBO(PyArray_DESCR(array)->byteorder) && PyArray_NDIM(array) <= runtime::SlotInfo::kMaxRank;
}

/// Raises what memory for an array has run out with.
[[noreturn]] void raise_no_memory(const Window& window, const Device& device, const std::exception& error) {
  nb::list shape;
  for (int axis = 0; axis < window.rank; ++axis) shape.append(window.lengths[axis]);
  const nb::object made =
      nb::module_::import_("ingot._devices")
          .attr("no_memory")(nb::tuple(shape), std::string(base::info(window.dtype).numpy), name_of(device),
                             error.what());
  set_error(made);
  throw nb::python_error();
}

std::shared_ptr<DeviceMemory> memory_for(const Window& window, Device& device,
                                         decltype(&DeviceMemory::allocate) make = &DeviceMemory::allocate) {
  compute_under_pressure(device, window.strided().bytes());
  try {
    return make(device, window.strided().bytes());
  } catch (const devices::OutOfMemory& error) {
    raise_no_memory(window, device, error);
  }
}

/// A buffer of the host's for so many bytes.
runtime::OwnedBuffer host_buffer(int64_t bytes) {
  runtime::OwnedBuffer buffer(runtime::Allocator::allocate(bytes));
  if (!buffer) throw std::bad_alloc();
  return buffer;
}

/// A thread that reads without the GIL: no reader any more before it waits for the GIL.
struct Reader {
  std::atomic<int>& readers;
  ~Reader() {
    --readers;
    readers.notify_all();
  }
};

/// Pinned memory is read later.
void write_late(Device& device, Address to, const void* from, int64_t bytes) {
  if (bytes > 0) device.write(to, from, bytes);
}

void read(Device& device, void* to, const std::byte* from, int64_t bytes) {
  if (bytes == 0) return;
  const nb::gil_scoped_release released;
  device.read(to, address_of(from), bytes);
}

/// The bytes of an array's reach as a NumPy array of the same layout.
nb::object reach_on_host(const DeviceArray& array, runtime::OwnedBuffer& buffer) {
  const auto [low, high] = array.window.strided().reach();
  buffer = host_buffer(high - low);
  array.memory->read(buffer->data, address_of(array.window.data + low), high - low);
  Window window = array.window;
  window.data = buffer->data - low;
  return array_on(window, true);
}

}  // namespace

std::string name_of(const Device& device) {
  return device.properties().kind + ":" + std::to_string(device.properties().index);
}

DeviceMemory::DeviceMemory(Device& device, Address address, int64_t size)
    : device_(device), data_(pointer_of(address)), size_(size), is_own_(true), last_(&device.stream()) {}

DeviceMemory::DeviceMemory(Device& device, runtime::OwnedBuffer buffer)
    : device_(device),
      data_(buffer->data),
      size_(buffer->size),
      is_of_graph_(devices::Recording::of_thread() != nullptr),
      last_(&device.stream()),
      buffer_(std::move(buffer)) {}

DeviceMemory::DeviceMemory(Device& device, std::byte* data, int64_t size, nb::object owner)
    : device_(device),
      data_(data),
      size_(size),
      is_shared_(true),
      last_(&device.stream()),
      owner_(std::move(owner)) {}

/// Before a thread that records a graph uses it.
void DeviceMemory::note() {
  if (!is_of_graph_) GraphRecorder::note(shared_from_this());
}

/// It is free when the stream that has used it last has come to here. Memory that somebody else owns is
/// waited for.
DeviceMemory::~DeviceMemory() {
  const devices::Recording::Suspended suspended;
  try {
    if (owner_.is_valid()) last_->synchronize();
    devices::Stream& now = device_.stream();
    if (last_ != &now) device_.use_stream(last_);
    give_back();
    if (last_ != &now) device_.use_stream(&now);
  } catch (const devices::DeviceError&) {  // of a device that has failed, or in a forked child
    give_back();
  }
}

void DeviceMemory::give_back() noexcept {
  if (is_own_) device_.free(address_of(data_));
  is_own_ = false;
  buffer_.reset();
}

void DeviceMemory::use_in(devices::Stream& stream) {
  const devices::Recording::Suspended suspended;
  if (after_ != nullptr) after_->let_wait(stream);
  else device_.order(*last_, stream);
  after_.reset();
  last_ = &stream;
  written_ = devices::CopyQueues::kEnd;  // perhaps in the stream before
}

void DeviceMemory::used_besides(devices::Stream& stream) {
  device_.order(stream, *last_);
  after_.reset();
  used_ = written_ = devices::CopyQueues::kEnd;
}

std::shared_ptr<DeviceMemory> DeviceMemory::allocate(Device& device, int64_t bytes) {
  if (devices::Recording::of_thread() != nullptr) [[unlikely]]
    return std::make_shared<DeviceMemory>(device,
                                          runtime::OwnedBuffer(runtime::allocate_on_device(&device, bytes)));
  const Address address = device.allocate(bytes);
  return std::shared_ptr<DeviceMemory>(new DeviceMemory(device, address, bytes));
}

namespace {

/// Part of the closed list of process-wide state.
bool has_overlap = true;

/// Where copies of the calling thread overlap kernels; null: they go into its stream.
devices::CopyQueues* queues_of(const Device& device) {
  devices::CopyQueues* const queues = device.copies();
  const bool is_there = queues != nullptr && has_overlap && devices::Recording::of_thread() == nullptr &&
                        &const_cast<Device&>(device).stream() == &queues->own();
  return is_there ? queues : nullptr;
}

}  // namespace

void overlap_copies(bool is_wanted) { has_overlap = is_wanted; }

std::shared_ptr<DeviceMemory> DeviceMemory::allocate_for_copy(Device& device, int64_t bytes) {
  devices::CopyQueues* const queues = bytes < devices::CopyQueues::kLeast ? nullptr : queues_of(device);
  if (queues == nullptr) return allocate(device, bytes);
  const devices::CopyQueues::Inside inside(device, queues->uploads());
  return allocate(device, bytes);
}

/// Others may use shared memory at any time, in the order of the device's own stream.
devices::CopyQueues* DeviceMemory::queues() const {
  return is_shared_ || is_of_graph_ ? nullptr : queues_of(device_);
}

void DeviceMemory::write(Address to, const void* from, int64_t bytes) {
  put(to, from, bytes, [](const auto& copy) { copy(); });
}

void DeviceMemory::write_new(Address to, const void* from, int64_t bytes) {
  put(to, from, bytes, [](const auto& copy) {
    const nb::gil_scoped_release released;
    copy();
  });
}

template <class Run>
void DeviceMemory::put(Address to, const void* from, int64_t bytes, Run&& run) {
  if (bytes == 0) return;
  devices::CopyQueues* const copies = queues();
  const bool is_queued =
      copies != nullptr && bytes >= devices::CopyQueues::kLeast && !device_.is_pinned(from);
  devices::Stream* const uploads = is_queued ? &copies->uploads() : nullptr;
  if (uploads == nullptr || (last_ != uploads && last_ != &copies->own())) {
    use();
    write_now(device_, to, from, bytes);
    if (copies == nullptr) return;
    copies->uploads();  // there are queues from now on, so that calls get marks
    set_written(copies->advance());
    return;
  }
  await_readers();
  if (last_ != uploads) copies->let_wait(*uploads, used_);
  last_ = uploads;
  after_.reset();
  const std::shared_ptr<DeviceMemory> kept = shared_from_this();
  run([&] { copies->upload(to, from, bytes); });
  if (last_ == uploads) after_ = copies->upload_point();
  else used_besides(*uploads);
}

void DeviceMemory::read(void* to, Address from, int64_t bytes) {
  if (bytes == 0) return;
  const bool is_pinned = device_.is_pinned(to);
  devices::CopyQueues* const copies = is_pinned ? nullptr : queues();
  const bool is_own = copies != nullptr && last_ == &copies->own();
  devices::Stream* stream = nullptr;
  if (is_own && !copies->is_last(written_)) stream = &copies->downloads_after(written_);
  if (copies != nullptr && after_ != nullptr) stream = &copies->downloads_after(*after_);
  if (is_own) copies->be_exact();
  if (stream == nullptr) {
    if (!is_own) use();
    stream = &device_.stream();
  }
  const std::shared_ptr<DeviceMemory> kept = shared_from_this();
  ++readers_;
  const nb::gil_scoped_release released;
  const Reader reader{readers_};
  const devices::CopyQueues::Inside inside(device_, *stream);
  device_.read(to, from, bytes);
  if (is_pinned) stream->synchronize();
}

void DeviceMemory::wait() {
  devices::CopyQueues* const copies = queues();
  devices::Stream* stream = last_;
  if (copies != nullptr && last_ == &copies->own() && !copies->is_last(used_))
    stream = &copies->downloads_after(used_);
  const std::shared_ptr<devices::Event> after = after_;
  const std::shared_ptr<DeviceMemory> kept = shared_from_this();
  const nb::gil_scoped_release released;
  if (after != nullptr) after->synchronize();
  else stream->synchronize();
}

namespace {

/// The initialiser of a static must not load modules: that lets other threads run, which would wait for the
/// static with the GIL.
PyTypeObject* array_class() {
  static std::atomic<PyObject*> known = nullptr;
  PyObject* found = known.load(std::memory_order_acquire);
  if (found == nullptr) {
    found = nb::object(nb::module_::import_("ingot._arrays.array").attr("Array")).release().ptr();
    known.store(found, std::memory_order_release);
  }
  return reinterpret_cast<PyTypeObject*>(found);
}

}  // namespace

Device& DeviceArray::device() const { return pending == nullptr ? memory->device() : pending->device(); }

/// The class is not loaded for objects that cannot be of it, such as NumPy's arrays.
bool is_device_array(PyObject* object) {
  return (Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 && Py_TYPE(object) == array_class();
}

nb::object new_device_array(const Window& window, bool is_writable, std::shared_ptr<DeviceMemory> memory) {
  PyTypeObject* const type = array_class();
  PyObject* const object = type->tp_alloc(type, 0);
  if (object == nullptr) throw nb::python_error();
  DeviceArray& array = device_array(object);
  new (&array.memory) std::shared_ptr<DeviceMemory>(std::move(memory));
  array.window = window;
  array.pending = nullptr;
  array.is_writable = is_writable;
  return nb::steal(object);
}

nb::object bytes_on(std::shared_ptr<DeviceMemory> memory) {
  const Window window{DType::UInt8, 1, memory->data(), {memory->size()}, {1}};
  return new_device_array(window, true, std::move(memory));
}

nb::object to_device(nb::handle given, Device& device, bool is_late) {
  nb::object array = nb::borrow(given);
  if (!is_known(array.ptr()))
    throw nb::type_error("an array of a dtype that devices have, of at most 16 axes, is wanted");
  if (!PyArray_IS_C_CONTIGUOUS(as_array(array.ptr())) && !PyArray_IS_F_CONTIGUOUS(as_array(array.ptr()))) {
    array = nb::steal(PyArray_NewCopy(as_array(array.ptr()), NPY_KEEPORDER));
    if (!array.is_valid()) throw nb::python_error();
  }
  Window window = window_of(as_array(array.ptr()));
  std::shared_ptr<DeviceMemory> memory =
      memory_for(window, device, is_late ? &DeviceMemory::allocate : &DeviceMemory::allocate_for_copy);
  if (is_late) write_late(device, address_of(memory->data()), window.data, memory->size());
  else memory->write_new(address_of(memory->data()), window.data, memory->size());
  window.data = memory->data();
  return new_device_array(window, true, std::move(memory));
}

void write_now(Device& device, Address to, const void* from, int64_t bytes) {
  if (bytes == 0) return;
  device.write(to, from, bytes);
  if (device.is_pinned(from)) device.stream().synchronize();
}

nb::object to_host(const DeviceArray& array) {
  const int64_t bytes = array.window.strided().bytes();
  runtime::OwnedBuffer buffer;
  if (array.window.strided().is_dense()) {
    buffer = host_buffer(bytes);
    array.memory->read(buffer->data, address_of(array.window.data), bytes);
    Window window = array.window;
    window.data = buffer->data;
    return owning_array(std::move(buffer), window);
  }
  const nb::object shown = reach_on_host(array, buffer);
  nb::object copy = nb::steal(PyArray_NewCopy(as_array(shown.ptr()), NPY_KEEPORDER));
  if (!copy.is_valid()) throw nb::python_error();
  return copy;
}

Lent::Lent(Device& device, const Window& window) : device_(device) {
  const auto [low, high] = window.strided().reach();
  from_ = window.data + low;
  now_ = host_buffer(high - low);
  read(device, now_->data, from_, high - low);
  before_ = host_buffer(high - low);
  std::memcpy(before_->data, now_->data, static_cast<size_t>(high - low));
  Window here = window;
  here.data = now_->data - low;
  array_ = array_on(here, true);
}

void Lent::give_back() {
  if (std::memcmp(now_->data, before_->data, static_cast<size_t>(now_->size)) != 0)
    device_.write(address_of(from_), now_->data, now_->size);
}

std::byte* lowest_of(PyObject* object) {
  if (is_device_array(object)) {
    const Window& window = device_array(object).window;
    return window.data + window.strided().reach().low;
  }
  return reinterpret_cast<std::byte*>(PyArray_BYTES(as_array(object))) +
         strided_of(as_array(object)).reach().low;
}

bool is_writable(PyObject* object) {
  return is_device_array(object) ? device_array(object).is_writable : PyArray_ISWRITEABLE(as_array(object));
}

void protect(PyObject* object) {
  if (is_device_array(object)) device_array(object).is_writable = false;
  else PyArray_CLEARFLAGS(as_array(object), NPY_ARRAY_WRITEABLE);
}

nb::object array_like(const Window& window, bool is_writable, nb::object owner) {
  if (!is_device_array(owner.ptr())) return array_on(window, is_writable, std::move(owner));
  return new_device_array(window, is_writable, device_array(owner.ptr()).memory);
}

// What Python has of it.

namespace {

using nb::literals::operator""_a;

/// An array, which is computed.
DeviceArray& checked(nb::handle object) {
  if (!is_device_array(object.ptr())) throw nb::type_error("an ingot.Array is wanted");
  compute(object.ptr());
  return device_array(object.ptr());
}

nb::tuple tuple_of(const int64_t* numbers, int count) {
  nb::list all;
  for (int i = 0; i < count; ++i) all.append(numbers[i]);
  return nb::tuple(all);
}

/// A NumPy array of the array's layout, at the device's address: nobody may touch its elements.
nb::object stand_in(nb::handle array) {
  const DeviceArray& it = checked(array);
  return array_on(it.window, it.is_writable);
}

/// The part of the array's memory that such an array shows.
nb::object shown_by(nb::handle array, nb::handle stand_in) {
  const DeviceArray& it = checked(array);
  PyArrayObject* const shown = as_array(stand_in.ptr());
  if (!is_known(stand_in.ptr()))
    throw nb::value_error("a view of a dtype that devices have, of at most 16 axes, is wanted");
  return new_device_array(window_of(shown), it.is_writable && PyArray_ISWRITEABLE(shown), it.memory);
}

void wait(nb::handle array) { checked(array).memory->wait(); }

/// Copies the elements into a NumPy array of the same shape and dtype. `is_late`: later, if it is pinned and
/// has the array's layout.
void read_into(nb::handle array, nb::handle target, bool is_late) {
  DeviceArray& it = checked(array);
  PyArrayObject* const to = as_array(target.ptr());
  if (!PyArray_CheckExact(target.ptr()) || dtype_of(PyArray_TYPE(to)) != it.window.dtype ||
      PyArray_NDIM(to) != it.window.rank || !PyArray_ISWRITEABLE(to) ||
      !std::equal(PyArray_DIMS(to), PyArray_DIMS(to) + it.window.rank, it.window.lengths))
    throw nb::value_error("a writable array of the same shape and dtype is wanted");
  const int64_t bytes = it.window.strided().bytes();
  if (bytes == 0) return;
  const bool is_same_layout =
      std::equal(PyArray_STRIDES(to), PyArray_STRIDES(to) + it.window.rank, it.window.strides);
  if (it.window.strided().is_dense() && is_same_layout) {
    if (!is_late) return it.memory->read(PyArray_DATA(to), address_of(it.window.data), bytes);
    it.memory->use();
    read(it.device(), PyArray_DATA(to), it.window.data, bytes);
    return;
  }
  const nb::object values = to_host(it);
  if (PyArray_CopyInto(to, as_array(values.ptr())) != 0) throw nb::python_error();
}

/// An array of unspecified values.
nb::object new_array(const nb::tuple& shape, nb::handle dtype, bool is_fortran, const DeviceHandle& device) {
  Window window{};
  window.dtype = base::known(dtype_of(reinterpret_cast<PyArray_Descr*>(dtype.ptr())->type_num));
  window.rank = static_cast<int>(nb::len(shape));
  if (window.rank > runtime::SlotInfo::kMaxRank) throw nb::value_error("16 axes are the most");
  for (int axis = 0; axis < window.rank; ++axis) window.lengths[axis] = nb::cast<int64_t>(shape[axis]);
  auto inside = static_cast<int64_t>(base::size_of(window.dtype));
  for (int i = 0; i < window.rank; ++i) {
    const int axis = is_fortran ? i : window.rank - 1 - i;
    window.strides[axis] = inside;
    if (__builtin_mul_overflow(inside, std::max<int64_t>(window.lengths[axis], 1), &inside))
      throw nb::value_error(
          "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.");
  }
  std::shared_ptr<DeviceMemory> memory = memory_for(window, *device.it);
  window.data = memory->data();
  return new_device_array(window, true, std::move(memory));
}

/// Elements of an array of NumPy's, which is of the same shape and dtype, into a device's.
void write_into(nb::handle array, nb::handle values, bool is_late) {
  DeviceArray& it = checked(array);
  compute_readers(*it.memory);
  PyArrayObject* const from = as_array(values.ptr());
  if (!PyArray_CheckExact(values.ptr()) || dtype_of(PyArray_TYPE(from)) != it.window.dtype ||
      PyArray_NDIM(from) != it.window.rank ||
      !std::equal(PyArray_DIMS(from), PyArray_DIMS(from) + it.window.rank, it.window.lengths))
    throw nb::value_error("an array of the same shape and dtype is wanted");
  const int64_t bytes = it.window.strided().bytes();
  if (bytes == 0) return;
  const bool is_same_layout =
      std::equal(PyArray_STRIDES(from), PyArray_STRIDES(from) + it.window.rank, it.window.strides);
  if (it.window.strided().is_dense() && is_same_layout) {
    if (!is_late) return it.memory->write(address_of(it.window.data), PyArray_DATA(from), bytes);
    it.memory->use();
    write_late(it.device(), address_of(it.window.data), PyArray_DATA(from), bytes);
    return;
  }
  it.memory->use();
  Lent lent(it.device(), it.window);
  if (PyArray_CopyInto(as_array(lent.array().ptr()), from) != 0) throw nb::python_error();
  lent.give_back();
}

/// A copy on the device of an array whose elements are all the bytes of its reach; None: they are not.
nb::object copied(nb::handle array) {
  const DeviceArray& it = checked(array);
  const int64_t bytes = it.window.strided().bytes();
  if (!it.window.strided().is_dense()) return nb::none();
  Window window = it.window;
  it.memory->use();
  std::shared_ptr<DeviceMemory> memory = memory_for(window, it.device());
  window.data = memory->data();
  if (bytes > 0) it.device().copy(address_of(window.data), address_of(it.window.data), bytes);
  return new_device_array(window, true, std::move(memory));
}

/// The same on another device; None: also where the two devices do not copy from each other.
nb::object copied_to(nb::handle array, const DeviceHandle& device) {
  const DeviceArray& it = checked(array);
  const int64_t bytes = it.window.strided().bytes();
  if (!it.window.strided().is_dense()) return nb::none();
  Window window = it.window;
  std::shared_ptr<DeviceMemory> memory = memory_for(window, *device.it);
  window.data = memory->data();
  it.memory->use();
  if (!device.it->copy_from(it.device(), address_of(window.data), address_of(it.window.data), bytes))
    return nb::none();
  return new_device_array(window, true, std::move(memory));
}

template <class Fn>
PyObject* shown(PyObject* self, Fn&& fn) {
  return guarded([&] { return nb::cast(fn(device_array(self))).release().ptr(); }, nullptr);
}

PyObject* dtype_of_array(PyObject* self, void*) {
  return reinterpret_cast<PyObject*>(PyArray_DescrFromType(type_number(device_array(self).window.dtype)));
}
PyObject* shape(PyObject* self, void*) {
  return shown(self, [](DeviceArray& a) { return tuple_of(a.window.lengths, a.window.rank); });
}
PyObject* strides(PyObject* self, void*) {
  return shown(self, [](DeviceArray& a) { return tuple_of(a.window.strides, a.window.rank); });
}
PyObject* rank(PyObject* self, void*) {
  return shown(self, [](DeviceArray& a) { return a.window.rank; });
}
PyObject* size(PyObject* self, void*) {
  return shown(self, [](DeviceArray& a) { return a.window.strided().size(); });
}
PyObject* itemsize(PyObject* self, void*) {
  return shown(self, [](DeviceArray& a) { return base::size_of(a.window.dtype); });
}
PyObject* bytes(PyObject* self, void*) {
  return shown(self, [](DeviceArray& a) { return a.window.strided().bytes(); });
}
PyObject* address(PyObject* self, void*) {
  return shown(self, [&](DeviceArray& a) {
    compute(self);
    return address_of(a.window.data);
  });
}
PyObject* orders(PyObject* self, void*) {
  return shown(self, [](DeviceArray& a) {
    const base::Strided strided = a.window.strided();
    return std::pair(strided.is_c(), strided.is_f());
  });
}
PyObject* handle(PyObject* self, void*) {
  return shown(self, [](DeviceArray& a) { return DeviceHandle{&a.device()}; });
}
PyObject* writable(PyObject* self, void*) {
  return shown(self, [](DeviceArray& a) { return a.is_writable; });
}
int set_writable(PyObject* self, PyObject* value, void*) {
  const int is_true = value == nullptr ? -1 : PyObject_IsTrue(value);
  if (is_true >= 0) device_array(self).is_writable = is_true != 0;
  return is_true < 0 ? -1 : 0;
}

void destroy(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  if (device_array(self).weak_references != nullptr) PyObject_ClearWeakRefs(self);
  if (device_array(self).pending != nullptr) device_array(self).pending->leave();
  std::destroy_at(&device_array(self).memory);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* refuse_to_make(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError,
                  "an ingot.Array is made by ingot.device_put, or by what a function returns");
  return nullptr;
}

void bind_array(nb::module_& m) {
  static PyGetSetDef attributes[] = {
      {"dtype", &dtype_of_array, nullptr, "The dtype of the elements.", nullptr},
      {"shape", &shape, nullptr, "The lengths of the axes.", nullptr},
      {"strides", &strides, nullptr, "Bytes from one element to the next, along each axis.", nullptr},
      {"ndim", &rank, nullptr, "The number of axes.", nullptr},
      {"size", &size, nullptr, "The number of elements.", nullptr},
      {"itemsize", &itemsize, nullptr, "The bytes of an element.", nullptr},
      {"nbytes", &bytes, nullptr, "The bytes of the elements.", nullptr},
      {"_address", &address, nullptr, "The device's address of the first element.", nullptr},
      {"_orders", &orders, nullptr, "Whether the elements are contiguous in C order, and in Fortran order.",
       nullptr},
      {"_handle", &handle, nullptr, "The device.", nullptr},
      {"_writable", &writable, &set_writable, "Whether it may be written into.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMemberDef members[] = {
      {"__weaklistoffset__", T_PYSSIZET, offsetof(DeviceArray, weak_references), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&refuse_to_make)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(&destroy)},
                                {Py_tp_getset, attributes},
                                {Py_tp_members, members},
                                {0, nullptr}};
  static PyType_Spec spec = {"ingot._ingot.DeviceArray", sizeof(DeviceArray), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  const nb::object type = nb::steal(PyType_FromSpec(&spec));
  if (!type.is_valid()) throw nb::python_error();
  m.attr("DeviceArray") = type;
}

/// Errors of devices as Python's.
void translate(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const devices::DeviceError& thrown) {
    set_device_error(thrown);
  }
}

nb::dict properties_of(const DeviceHandle& device) {
  const devices::Properties& properties = device.it->properties();
  nb::dict all;
  all["kind"] = properties.kind;
  all["name"] = properties.name;
  all["index"] = properties.index;
  all["code"] = properties.code;
  all["capability"] = properties.capability;
  all["driver"] = properties.driver;
  all["memory"] = properties.memory;
  all["processors"] = properties.processors;
  all["warp"] = properties.warp;
  all["block_threads"] = properties.block_threads;
  all["block_memory"] = properties.block_memory;
  all["grid"] = tuple_of(properties.grid.data(), 3);
  return all;
}

nb::dict memory_of(const DeviceHandle& device) {
  const devices::MemoryUse use = device.it->memory();
  nb::dict all;
  all["limit"] = use.limit;
  all["kept"] = use.kept;
  all["in_use"] = use.in_use;
  all["peak"] = use.peak;
  const devices::Traffic traffic = device.it->traffic();
  all["to_device"] = traffic.to_device;
  all["to_host"] = traffic.to_host;
  return all;
}

}  // namespace

void bind_devices(nb::module_& m) {
  nb::register_exception_translator(&translate);
  bind_array(m);
  nb::class_<DeviceHandle>(m, "DeviceHandle")
      .def_prop_ro("name", [](const DeviceHandle& it) { return name_of(*it.it); })
      .def_prop_ro("properties", &properties_of)
      .def_prop_ro("assembler",
                   [](const DeviceHandle& it) { return nb::capsule(it.it, devices::kAssemblerName); })
      .def_prop_ro("memory", &memory_of)
      .def_prop_ro("launches", [](const DeviceHandle& it) { return it.it->launches(); })
      .def_prop_ro("stream",
                   [](const DeviceHandle& it) { return reinterpret_cast<uintptr_t>(&it.it->stream()); })
      .def("set_memory_limit", [](const DeviceHandle& it, int64_t bytes) { it.it->set_memory_limit(bytes); })
      .def("reset_memory_peak", [](const DeviceHandle& it) { it.it->reset_memory_peak(); })
      .def("release_memory", [](const DeviceHandle& it) { return it.it->release_memory(); })
      .def("synchronize", [](const DeviceHandle& it) {
        compute_all();
        const nb::gil_scoped_release released;
        it.it->synchronize();
      });
  m.def("devices", [](const std::string& kind) {
    nb::list all;
    for (Device* const device : devices::devices(kind)) all.append(DeviceHandle{device});
    return all;
  });
  m.def("why_no_devices", [](const std::string& kind) { return devices::why_none(kind); });
  m.def(
      "to_device",
      [](nb::handle array, const DeviceHandle& device, bool is_late) {
        return to_device(array, *device.it, is_late);
      },
      "array"_a, "device"_a, "is_late"_a = false);
  m.def("to_host", [](nb::handle array) { return to_host(checked(array)); });
  m.def("stand_in", &stand_in, "A NumPy array of the array's layout; nobody may touch its elements.");
  m.def("shown_by", &shown_by, "The part of the array that such an array shows.");
  m.def("write_into", &write_into, "array"_a, "values"_a, "is_late"_a = false);
  m.def("read_into", &read_into, "array"_a, "target"_a, "is_late"_a = false);
  m.def("new_array", &new_array, "shape"_a, "dtype"_a, "is_fortran"_a, "device"_a);
  m.def("copied", &copied, "A copy; None: its elements are not contiguous.");
  m.def("copied_to", &copied_to, "array"_a, "device"_a,
        "A copy on another device; None: its elements are not contiguous, or the devices do not copy from "
        "each other.");
  m.def("wait", &wait);
  m.def("overlap_copies", &overlap_copies, "is_wanted"_a, "Whether copies overlap kernels.");
  m.def(
      "share", [](nb::handle array) { share(*checked(array).memory); }, "array"_a,
      "From now on somebody else may write into the array's memory.");
}

}  // namespace ingot::eager
