#include "bindings/moved.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "bindings/fields.h"
#include "interop/exceptions.h"
#include "interop/numpy.h"
#include "runtime/allocator.h"

namespace ingot::bindings {

namespace {

/// The largest alignment that elements need; a device's memory has it.
constexpr uintptr_t kAlignment = 16;

[[noreturn]] void refuse(const char* what, const char* advice) {
  const nb::object error =
      nb::module_::import_("ingot._errors").attr("unsupported")(nb::tuple(nb::list()), what, advice);
  set_error(error);
  throw nb::python_error();
}

}  // namespace

bool Moved::has_any(std::span<PyObject* const> leaves) {
  return std::any_of(leaves.begin(), leaves.end(), [](PyObject* leaf) { return PyArray_Check(leaf); });
}

Moved::Moved(devices::Device& device, std::span<PyObject* const> leaves,
             std::span<const runtime::SlotInfo> parameters)
    : device_(device), parameters_(parameters), given_(leaves.begin(), leaves.end()), leaves_(given_) {
  find_regions(leaves);
  for (Region& region : regions_) move(region);
}

/// Joins arrays whose reaches overlap.
void Moved::find_regions(std::span<PyObject* const> leaves) {
  std::vector<size_t> arrays;  // the numbers of leaves
  std::vector<base::ByteRange> ranges;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!PyArray_Check(leaves[i])) continue;
    PyArrayObject* const array = as_array(leaves[i]);
    const bool holds_records = PyDataType_HASFIELDS(PyArray_DESCR(array));
    if (!PyArray_ISALIGNED(array))
      refuse("moving an array whose elements are not aligned to a device",
             "pass a copy of it, made by `.copy()`");
    if (holds_records && !are_fields_aligned(array))
      refuse("moving an array of records whose fields are not aligned to a device",
             "make its dtype with align=True");
    arrays.push_back(i);
    ranges.push_back(strided_of(array).reach().at(PyArray_BYTES(array)));
  }
  for (const base::Overlaps& group : base::Overlaps::among(ranges)) {
    Region& region = regions_.emplace_back(eager::pointer_of(group.low), group.size());
    for (const size_t member : group.members) region.leaves.push_back(arrays[member]);
  }
}

void Moved::move(Region& region) {
  const int64_t size = region.size;
  const devices::Address mapped = size > 0 ? device_.mapped(region.low, size) : 0;
  if (mapped != 0) {
    region.is_mapped = true;
    region.there = eager::pointer_of(mapped);
    region.memory = std::make_shared<eager::DeviceMemory>(device_, region.there, size,
                                                          nb::borrow(given_[region.leaves[0]]));
  } else {
    const auto pad = static_cast<int64_t>(reinterpret_cast<uintptr_t>(region.low) % kAlignment);
    region.memory = eager::DeviceMemory::allocate_for_copy(device_, size + pad);
    region.there = region.memory->data() + pad;
    region.memory->write_new(eager::address_of(region.there), region.low, size);
  }
  for (const size_t leaf : region.leaves) {
    PyArrayObject* const array = as_array(given_[leaf]);
    // Records count as bytes.
    Window window = Window::of(array, dtype_of(PyArray_TYPE(array)).value_or(base::DType::UInt8));
    window.data = region.there + (window.data - region.low);
    made_.push_back(eager::new_device_array(window, PyArray_ISWRITEABLE(array), region.memory));
    leaves_[leaf] = made_.back().ptr();
  }
}

void Moved::bring_back() {
  for (const Region& region : regions_) bring_back(region);
}

bool Moved::is_written(size_t leaf) const {
  return PyArray_ISWRITEABLE(as_array(given_[leaf])) &&
         (leaf >= parameters_.size() || parameters_[leaf].is_written);
}

void Moved::bring_back(const Region& region) {
  const auto is_written_one = [&](size_t leaf) { return is_written(leaf); };
  const int64_t size = region.size;
  if (region.is_mapped) {
    const nb::gil_scoped_release released;
    device_.stream().synchronize();
    return;
  }
  if (size == 0 || std::none_of(region.leaves.begin(), region.leaves.end(), is_written_one)) return;
  const runtime::OwnedBuffer now(runtime::Allocator::allocate(size));
  if (!now) throw std::bad_alloc();
  {
    const nb::gil_scoped_release released;
    device_.read(now->data, eager::address_of(region.there), size);
  }
  if (std::memcmp(now->data, region.low, static_cast<size_t>(size)) == 0) return;
  for (const size_t leaf : region.leaves) {
    if (!is_written(leaf)) continue;
    PyArrayObject* const array = as_array(given_[leaf]);
    Window window = eager::device_array(leaves_[leaf]).window;
    window.data = now->data + (window.data - region.there);
    nb::object target = nb::borrow(given_[leaf]);
    if (PyDataType_HASFIELDS(PyArray_DESCR(array))) {
      target = bytes_of_records(array);
      window.lengths[window.rank] = PyArray_ITEMSIZE(array);
      window.strides[window.rank++] = 1;
    }
    const nb::object values = array_on(window, false);
    if (PyArray_CopyInto(as_array(target.ptr()), as_array(values.ptr())) != 0) throw nb::python_error();
  }
}

/// What the host has of the regions.
std::vector<runtime::OwnedBuffer> Moved::kept() const {
  std::vector<runtime::OwnedBuffer> all;
  for (const Region& region : regions_) {
    const int64_t size = region.size;
    all.emplace_back(runtime::Allocator::allocate(size));
    if (!all.back()) throw std::bad_alloc();
    std::memcpy(all.back()->data, region.low, static_cast<size_t>(size));
  }
  return all;
}

void Moved::send_again(std::span<const runtime::OwnedBuffer> before) {
  for (size_t i = 0; i < regions_.size(); ++i) {
    const Region& region = regions_[i];
    const int64_t size = region.size;
    if (!region.is_mapped && std::memcmp(before[i]->data, region.low, static_cast<size_t>(size)) != 0)
      eager::write_now(device_, eager::address_of(region.there), region.low, size);
  }
}

std::byte* Moved::home_of(size_t leaf, std::byte* address) const {
  const std::byte* const there = eager::device_array(leaves_[leaf]).window.data;
  return reinterpret_cast<std::byte*>(PyArray_BYTES(as_array(given_[leaf]))) + (address - there);
}

}  // namespace ingot::bindings
