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

size_t Player::outputs_of_upcoming(size_t most) const {
  const OutsideCall* call = upcoming();
  return call == nullptr ? 1 : std::clamp<size_t>(call->results.size(), 1, most);
}

const OutsideCall& Player::play(std::string_view routine, int64_t site, std::span<const Elements> operands,
                                std::span<const Elements> wanted) {
  if (other_.raised) return other_;
  const OutsideCall* call = upcoming();
  const std::string number = "outside call " + std::to_string(next_ + 1);
  const std::string asked =
      routine == "host" ? "host " + std::to_string(site) : "library " + std::string(routine);
  std::string fault;
  if (call == nullptr) {
    fault = number + ", " + asked + ", is not in the replay file";
  } else if (call->routine != routine || call->site != site) {
    fault = number + " is " + asked + ", not what the replay file has there";
  } else if (!std::ranges::equal(call->operands, operands, same_elements)) {
    fault = number + ", " + asked + ", has other operands than in the replay file";
  } else if (!wanted.empty() && !call->raised &&
             !std::ranges::equal(call->results, wanted, [](const Elements& has, const Elements& wants) {
               return has.dtype == wants.dtype && has.lengths == wants.lengths;
             })) {
    fault = number + ", " + asked + ", wants a result of another type or shape than the replay file has";
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
  // A gufunc's last operands, and at the loop stage those of other routines, are views that it fills.
  std::vector<Window> filled;
  std::vector<Elements> wanted;
  if (routine != "host" && !operands.empty() && std::holds_alternative<ir::ViewValue>(operands.back())) {
    const size_t given_count = operands.size() - outputs_of_upcoming(operands.size());
    for (const ir::Value& operand : operands.subspan(given_count)) {
      const auto& view = std::get<ir::ViewValue>(operand);
      filled.push_back(window_of(view));
      wanted.push_back({view.dtype, true, view.lengths, {}});
    }
    operands = operands.first(given_count);
  }
  std::vector<Elements> given;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (const auto* view = std::get_if<ir::ViewValue>(&operands[i])) {
      given.push_back(window_of(*view).read());
    } else if (const auto* array = std::get_if<std::shared_ptr<const ir::ArrayValue>>(&operands[i])) {
      given.push_back({(*array)->dtype, true, (*array)->lengths, (*array)->data});
    } else {
      // A number does not give its dtype.
      const OutsideCall* call = upcoming();
      const DType dtype =
          call != nullptr && i < call->operands.size() ? call->operands[i].dtype : DType::Int64;
      given.push_back(number_of(dtype, std::get<base::Scalar>(operands[i]).bits.data()));
    }
  }
  const OutsideCall& call = play(routine, site, given, wanted);
  if (call.raised) {
    raised.kind = call.raised->kind;
    raised.message = call.raised->message;
    return false;
  }
  for (size_t i = 0; i < call.results.size(); ++i) {
    const Elements& result = call.results[i];
    if (!filled.empty()) {
      filled[i].write(result);
      continue;
    }
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
             ir::Raised& raised) { return interpret("host", site, operands, results, raised); },
      {}};  // calls of functions of C's are in no replay file
}

runtime::Status Player::call_outside(runtime::Context* context, const char* what, const char* layout,
                                     int64_t number, void** slots) {
  auto& self = *static_cast<Player*>(context->user);
  const std::string_view routine = what;
  const std::vector<Word> words = words_of(layout);
  const bool fills = routine != "host" && !words.empty();
  const size_t count = words.size() - (fills ? self.outputs_of_upcoming(words.size()) : 0);
  std::vector<Elements> given;
  for (size_t i = 0; i < count; ++i) {
    if (words[i].rank < 0) given.push_back(number_of(words[i].dtype, slots[i]));
    else given.push_back(window_of(words[i], slots[i]).read());
  }
  std::vector<Window> filled;
  std::vector<Elements> wanted;
  for (size_t i = count; i < words.size(); ++i) {
    filled.push_back(window_of(words[i], slots[i]));
    wanted.push_back({filled.back().dtype, true, filled.back().lengths, {}});
  }
  const OutsideCall& call = self.play(routine, number, given, wanted);
  if (call.raised) {
    context->error.site = runtime::Error::kNoSite;
    context->error.status = runtime::status_of(call.raised->kind);
    return context->error.status;
  }
  for (size_t i = 0; i < call.results.size(); ++i) filled[i].write(call.results[i]);
  return 0;
}

std::string Player::fault() const {
  if (other_.raised) return other_.raised->message;
  if (next_ == calls_.size()) return {};
  return "of " + std::to_string(calls_.size()) + " outside calls in the replay file " +
         std::to_string(next_) + " were made";
}

}  // namespace ingot::tools
