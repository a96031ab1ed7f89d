#include "tools/outside.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>

namespace ingot::tools {

namespace {

using base::DType;

bool is_nan(DType dtype, const std::byte* element) {
  const base::Scalar value = base::Scalar::load(dtype, element);
  if (dtype == DType::Float16) return (value.as<uint16_t>() & 0x7fffU) > 0x7c00U;
  if (dtype == DType::Float32) return std::isnan(value.as<float>());
  return dtype == DType::Float64 && std::isnan(value.as<double>());
}

/// A view of memory during an outside call.
struct Window {
  DType dtype;
  std::byte* first;
  std::vector<int64_t> lengths;
  std::vector<int64_t> strides;

  Elements read() const {
    Elements elements{dtype, true, lengths, {}};
    const size_t size = base::size_of(dtype);
    for_each_offset(lengths, strides, [&](int64_t offset) {
      elements.bytes.insert(elements.bytes.end(), first + offset, first + offset + size);
    });
    return elements;
  }
  void write(const Elements& elements) const {
    const std::byte* from = elements.bytes.data();
    const size_t size = base::size_of(dtype);
    for_each_offset(lengths, strides, [&](int64_t offset) {
      std::memcpy(first + offset, from, size);
      from += size;
    });
  }
};

Window window_of(const ir::ViewValue& view) {
  return {view.dtype, view.block->data + view.offset, view.lengths, view.strides};
}

Elements number_of(DType dtype, const void* bits) {
  const auto* bytes = static_cast<const std::byte*>(bits);
  return {dtype, false, {}, {bytes, bytes + base::size_of(dtype)}};
}

/// One word of a layout: `f64`, or `view<f64,2>`.
struct Word {
  DType dtype;
  int rank = -1;  ///< -1: a number
};

std::vector<Word> words_of(std::string_view layout) {
  std::vector<Word> words;
  while (!layout.empty()) {
    std::string_view word = layout.substr(0, layout.find(' '));
    layout.remove_prefix(word.size() + 1);
    int rank = -1;
    if (word.starts_with("view<")) {
      word.remove_prefix(5);
      const size_t comma = word.find(',');
      std::from_chars(word.data() + comma + 1, word.data() + word.size(), rank);
      word = word.substr(0, comma);
    }
    const auto dtype = base::dtype_from_name(word);
    INGOT_ASSERT(dtype, "tools: no layout of an outside call");
    words.push_back({*dtype, rank});
  }
  return words;
}

Window window_of(const Word& word, void* slot) {
  auto& view = *static_cast<runtime::ViewSlot*>(slot);
  const int64_t* lengths = view.lengths();
  const int64_t* strides = view.strides(word.rank);
  return {word.dtype, view.data, {lengths, lengths + word.rank}, {strides, strides + word.rank}};
}

}  // namespace

bool same_element(DType dtype, const std::byte* a, const std::byte* b) {
  const size_t size = base::size_of(dtype);
  if (std::memcmp(a, b, size) == 0) return true;
  const DType part = base::component_of(dtype);
  const size_t step = base::size_of(part);
  for (size_t i = 0; i < size; i += step)
    if (std::memcmp(a + i, b + i, step) != 0 && !(is_nan(part, a + i) && is_nan(part, b + i))) return false;
  return true;
}

bool same_elements(const Elements& a, const Elements& b) {
  if (a.dtype != b.dtype || a.is_array != b.is_array || a.lengths != b.lengths) return false;
  for (size_t i = 0; i < a.bytes.size(); i += base::size_of(a.dtype))
    if (!same_element(a.dtype, &a.bytes[i], &b.bytes[i])) return false;
  return true;
}

const OutsideCall& Player::play(std::string_view routine, int64_t site, std::span<const Elements> operands,
                                const Elements* result) {
  if (other_.raised) return other_;
  const OutsideCall* call = upcoming();
  const std::string number = "outside call " + std::to_string(next_ + 1);
  const std::string asked =
      routine == "host" ? "host " + std::to_string(site) : "library " + std::string(routine);
  std::string fault;
  if (call == nullptr) {
    fault = number + ", " + asked + ", is not in the record";
  } else if (call->routine != routine || call->site != site) {
    fault = number + " is " + asked + ", not what the record has there";
  } else if (!std::ranges::equal(call->operands, operands, same_elements)) {
    fault = number + ", " + asked + ", has other operands than in the record";
  } else if (result != nullptr && !call->raised &&
             (!call->result || call->result->dtype != result->dtype ||
              call->result->lengths != result->lengths)) {
    fault = number + ", " + asked + ", wants a result of another type or shape than the record has";
  } else {
    ++next_;
    if (call->raised) last_message_ = call->raised->message;
    return *call;
  }
  other_.raised = Exception{base::ExceptionKind::RuntimeError, fault, {}};
  return other_;
}

bool Player::interpret(std::string_view routine, int64_t site, std::span<const ir::Value> operands,
                       std::vector<ir::Value>& results, ir::Raised& raised) {
  // At the loop stage a routine's last operand is a view that it fills.
  const ir::ViewValue* filled = nullptr;
  if (routine != "host" && !operands.empty()) {
    filled = std::get_if<ir::ViewValue>(&operands.back());
    if (filled != nullptr) operands = operands.first(operands.size() - 1);
  }
  std::vector<Elements> given;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (const auto* view = std::get_if<ir::ViewValue>(&operands[i])) {
      given.push_back(window_of(*view).read());
    } else if (const auto* array = std::get_if<std::shared_ptr<const ir::ArrayValue>>(&operands[i])) {
      given.push_back({(*array)->dtype, true, (*array)->lengths, (*array)->data});
    } else {
      // A number does not say its dtype.
      const OutsideCall* call = upcoming();
      const DType dtype =
          call != nullptr && i < call->operands.size() ? call->operands[i].dtype : DType::Int64;
      given.push_back(number_of(dtype, std::get<base::Scalar>(operands[i]).bits.data()));
    }
  }
  const Elements wanted = filled != nullptr ? Elements{filled->dtype, true, filled->lengths, {}} : Elements{};
  const OutsideCall& call = play(routine, site, given, filled != nullptr ? &wanted : nullptr);
  if (call.raised) {
    raised.kind = call.raised->kind;
    raised.message = call.raised->message;
    return false;
  }
  if (!call.result) return true;
  const Elements& result = *call.result;
  if (filled != nullptr) {
    window_of(*filled).write(result);
  } else {
    results.emplace_back(
        std::make_shared<const ir::ArrayValue>(ir::ArrayValue{result.dtype, result.lengths, result.bytes}));
  }
  return true;
}

ir::Externals Player::externals() {
  return {
      [this](std::string_view routine, std::span<const ir::Value> operands, std::vector<ir::Value>& results,
             ir::Raised& raised) { return interpret(routine, 0, operands, results, raised); },
      [this](int64_t site, std::span<const ir::Value> operands, std::vector<ir::Value>& results,
             ir::Raised& raised) { return interpret("host", site, operands, results, raised); }};
}

runtime::Status Player::call_outside(runtime::Context* context, const char* what, const char* layout,
                                     int64_t number, void** slots) {
  auto& self = *static_cast<Player*>(context->user);
  const std::string_view routine = what;
  const std::vector<Word> words = words_of(layout);
  const size_t count = routine == "host" || words.empty() ? words.size() : words.size() - 1;
  std::vector<Elements> given;
  for (size_t i = 0; i < count; ++i) {
    if (words[i].rank < 0) given.push_back(number_of(words[i].dtype, slots[i]));
    else given.push_back(window_of(words[i], slots[i]).read());
  }
  std::optional<Window> filled;
  Elements wanted;
  if (count < words.size()) {
    filled = window_of(words[count], slots[count]);
    wanted = {filled->dtype, true, filled->lengths, {}};
  }
  const OutsideCall& call = self.play(routine, number, given, filled ? &wanted : nullptr);
  if (call.raised) {
    context->error.site = runtime::Error::kNoSite;
    context->error.status = runtime::status_of(call.raised->kind);
    return context->error.status;
  }
  if (filled && call.result) filled->write(*call.result);
  return 0;
}

std::string Player::fault() const {
  if (other_.raised) return other_.raised->message;
  if (next_ == calls_.size()) return {};
  return "of " + std::to_string(calls_.size()) + " outside calls in the record " + std::to_string(next_) +
         " were made";
}

}  // namespace ingot::tools
