#include <algorithm>
#include <charconv>
#include <cstdio>

#include "softgpu/machine/access.h"

// Functions that PTX declares and every device has: assertions, printf, the heap, the grid's barrier.

namespace softgpu {

namespace {

constexpr size_t kMostItem = 511;                  // characters of one conversion of printf's
constexpr size_t kMostPrinted = size_t{64} << 20;  // ... of a launch; the rest is lost

/// The k-th argument of a call in one thread.
template <class T>
T argument(Warp& w, const Instruction& i, uint32_t lane, size_t k) {
  const CallSite& site = w.frame->function->calls[i.target];
  T value{};
  if (k < site.arguments.size())
    std::memcpy(&value, w.call_param(i, site.arguments[k], sizeof value, lane), sizeof value);
  return value;
}

template <class T>
void give(Warp& w, const Instruction& i, uint32_t lane, T value) {
  const CallSite& site = w.frame->function->calls[i.target];
  if (!site.results.empty())
    std::memcpy(w.call_param(i, site.results[0], sizeof value, lane), &value, sizeof value);
}

/// The text at an address, up to its end.
std::string text_at(Warp& w, const Instruction& i, uint64_t address, uint32_t lane) {
  std::string text;
  for (uint64_t at = address; text.size() < 4096; ++at) {
    const std::byte c = *w.generic(i, at, 1, lane, Access::Read);
    if (c == std::byte{0}) break;
    text += static_cast<char>(c);
  }
  return text;
}

void assertion(Warp& w, const Instruction& i, Mask m) {
  const auto lane = static_cast<uint32_t>(std::countr_zero(m));
  w.fault(FaultKind::Assertion,
          "an assertion failed: " + text_at(w, i, argument<uint64_t>(w, i, lane, 0), lane) + " (" +
              text_at(w, i, argument<uint64_t>(w, i, lane, 1), lane) + ":" +
              std::to_string(argument<uint32_t>(w, i, lane, 2)) + ")",
          i, lane);
}

/// What printf writes of a format and its arguments, which follow each other, each at a multiple of its size.
class Printer {
 public:
  Printer(Warp& w, const Instruction& i, uint32_t lane)
      : w_(w),
        i_(i),
        lane_(lane),
        format_(text_at(w, i, argument<uint64_t>(w, i, lane, 0), lane)),
        next_(argument<uint64_t>(w, i, lane, 1)) {}

  int32_t count = 0;  ///< of arguments

  std::string run() {
    for (size_t at = 0; at < format_.size();) {
      if (format_[at] != '%') {
        text_ += format_[at++];
      } else if (at + 1 < format_.size() && format_[at + 1] == '%') {
        text_ += '%';
        at += 2;
      } else {
        at = item(at);
      }
    }
    return text_;
  }

 private:
  Warp& w_;
  const Instruction& i_;
  uint32_t lane_;
  std::string format_;
  uint64_t next_;
  std::string text_;

  template <class T>
  T read() {
    next_ = (next_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value;
    std::memcpy(&value, w_.generic(i_, next_, sizeof(T), lane_, Access::Read), sizeof(T));
    next_ += sizeof(T);
    ++count;
    return value;
  }

  template <class... T>
  void put(const std::string& how, T... values) {
    char text[kMostItem + 1];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
    const int length = std::snprintf(text, sizeof text, how.c_str(), values...);
#pragma GCC diagnostic pop
    if (length > 0) text_.append(text, std::min(static_cast<size_t>(length), sizeof text - 1));
  }

  /// One conversion, from its % on; gives where the text goes on.
  size_t item(size_t at) {
    std::string how = "%";
    for (++at; at < format_.size() && std::string_view("-+ #0").find(format_[at]) != std::string_view::npos;
         ++at)
      how += format_[at];
    if (const auto width = extent(at)) how += std::to_string(*width);
    if (at < format_.size() && format_[at] == '.') {
      const auto precision = extent(++at);
      if (precision.value_or(0) >= 0) how.append(".").append(std::to_string(precision.value_or(0)));
    }
    const size_t length = at;
    while (at < format_.size() && std::string_view("hlLqjzt").find(format_[at]) != std::string_view::npos)
      ++at;
    const std::string_view size = std::string_view(format_).substr(length, at - length);
    if (at == format_.size()) return at;
    const char kind = format_[at++];
    const bool is_wide = size.find_first_of("lqjzt") != std::string_view::npos;
    switch (kind) {
      case 'd':
      case 'i':
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        if (is_wide) put(how + "ll" + kind, read<long long>());
        else put(how + std::string(size) + kind, read<int32_t>());
        break;
      case 'c': put(how + kind, read<int32_t>()); break;
      case 's': string(how); break;
      case 'p': put(how + kind, reinterpret_cast<void*>(read<uint64_t>())); break;
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G':
      case 'a':
      case 'A': put(how + kind, read<double>()); break;
      default: text_ += how + std::string(size) + kind; break;
    }
    return at;
  }

  /// A width or precision, if there is one; no more than fits.
  std::optional<int64_t> extent(size_t& at) {
    const size_t first = at;
    while (at < format_.size() && std::isdigit(static_cast<unsigned char>(format_[at])) != 0) ++at;
    int64_t number = kMostItem;  // of what is out of range
    if (at != first) {
      std::from_chars(format_.data() + first, format_.data() + at, number);
    } else if (at < format_.size() && format_[at] == '*') {
      number = read<int32_t>();
      ++at;
    } else {
      return std::nullopt;
    }
    return std::clamp<int64_t>(number, -int64_t{kMostItem}, kMostItem);
  }

  void string(const std::string& how) {
    const auto address = read<uint64_t>();
    const std::string value = address == 0 ? "(null)" : text_at(w_, i_, address, lane_);
    if (how == "%") text_ += value;
    else put(how + "s", value.c_str());
  }
};

void print(Warp& w, const Instruction& i, Mask m) {
  each_lane(m, [&](uint32_t l) {
    Printer printer(w, i, l);
    const std::string text = printer.run();
    if (w.launch.printed != nullptr && w.launch.printed->size() < kMostPrinted) *w.launch.printed += text;
    give(w, i, l, printer.count);
  });
}

void heap_allocate(Warp& w, const Instruction& i, Mask m) {
  each_lane(m, [&](uint32_t l) {
    const auto bytes = argument<uint64_t>(w, i, l, 0);
    Allocation* const made = bytes == 0 ? nullptr : w.launch.memory.allocate(bytes);
    if (made != nullptr) made->is_heap = true;
    give(w, i, l, made == nullptr ? uint64_t{0} : made->base);
  });
}

void heap_free(Warp& w, const Instruction& i, Mask m) {
  each_lane(m, [&](uint32_t l) {
    const auto address = argument<uint64_t>(w, i, l, 0);
    if (address == 0) return;
    Allocation* const found = w.launch.memory.starting(address);
    if (found == nullptr || !found->is_heap)
      w.fault(FaultKind::Illegal, "a free of what malloc has not given: " + w.launch.memory.describe(address),
              i, l);
    w.launch.memory.free(*found);
  });
}

/// Of the group of all threads.
void grid_handle(Warp& w, const Instruction& i, Mask m) {
  each_lane(m, [&](uint32_t l) { give(w, i, l, uint64_t{w.launch.is_cooperative ? 1u : 0u}); });
}

void grid_barrier(Warp& w, const Instruction& i, Mask m) {
  if (!w.grid_barrier(i, m)) return;
  each_lane(m, [&](uint32_t l) { give(w, i, l, uint32_t{0}); });
}

}  // namespace

BuiltIn built_in(std::string_view function) {
  if (function == "__assertfail") return {assertion, false};
  if (function == "vprintf") return {print};
  if (function == "malloc") return {heap_allocate};
  if (function == "free") return {heap_free};
  if (function == "cudaCGGetIntrinsicHandle") return {grid_handle};
  if (function == "cudaCGSynchronize") return {grid_barrier};
  return {};
}

}  // namespace softgpu
