// Computes with base/math for a program in another language. Reads requests from standard input until it
// ends:
//   a line `<op> <dtype> <n>`, then the operands' n elements each (dtypes by their names in the IR's text
//   form), or `cast <from>:<to> <n>` and n elements;
// answers each by the n elements of the result. `repr <dtype> <n>` answers by n lines, `parse - <n>` reads n
// lines and answers by as many doubles, NaN with a sign where there is no number. `dtypes - <n>` answers by a
// line
// `<a> <b> <whether a casts safely to b> <their promotion>` for each pair of dtypes.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "base/math.h"
#include "base/scalar.h"
#include "base/text.h"

namespace {

using namespace ingot::base;

[[noreturn]] void fail(const std::string& message) {
  std::cerr << "math_cli: " << message << "\n";
  std::exit(2);
}

template <class T>
std::vector<T> read(size_t n) {
  std::vector<char> bytes(n * sizeof(T));
  std::cin.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (static_cast<size_t>(std::cin.gcount()) != bytes.size()) fail("input ends early");
  std::vector<T> values;
  values.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    T value;
    std::memcpy(static_cast<void*>(&value), bytes.data() + i * sizeof(T), sizeof(T));
    values.push_back(value);
  }
  return values;
}

template <class T>
void write(const T& value) {
  std::cout.write(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Whether a card takes this element type. Half has no complex type.
template <class T>
constexpr bool accepted(std::string_view letters, std::string_view gives) {
  if (gives == "Complex" && std::is_same_v<T, Half>) return false;
  constexpr char letter = math::Boolean<T> ? 'B' : math::Integer<T> ? 'I' : math::Floating<T> ? 'F' : 'C';
  return letters.find(letter) != std::string_view::npos;
}

template <class T>
void elementwise(const std::string& op, size_t n) {
#define OP(name_, count, letters, gives)                                     \
  if (op == #name_) {                                                        \
    if constexpr (accepted<T>(#letters, #gives)) {                           \
      const auto a = read<T>(n);                                             \
      if constexpr (count == 1) {                                            \
        for (size_t i = 0; i < n; ++i) write(math::name_(T(a[i])));          \
      } else {                                                               \
        const auto b = read<T>(n);                                           \
        for (size_t i = 0; i < n; ++i) write(math::name_(T(a[i]), T(b[i]))); \
      }                                                                      \
      return;                                                                \
    }                                                                        \
  }
#include "ir/ops.def"
  fail("no op " + op + " of this dtype");
}

template <class T>
void convert(DType to, size_t n) {
  const auto values = read<T>(n);
  visit_dtype(to, [&]<class To>() {
    for (size_t i = 0; i < n; ++i) write(math::cast<To>(T(values[i])));
  });
}

template <class T>
void print(size_t n) {
  if constexpr (requires(T value) { repr(value); } && (sizeof(T) >= 4 || std::is_same_v<T, bool>) &&
                !std::is_same_v<T, int32_t> && !std::is_same_v<T, uint32_t>) {
    for (const T value : read<T>(n)) std::cout << repr(value) << "\n";
  } else {
    fail("no repr of this dtype");
  }
}

void parse(size_t n) {
  for (size_t i = 0; i < n; ++i) {
    std::string line;
    std::getline(std::cin, line);
    write(parse_float(line).value_or(-__builtin_nan("")));
  }
}

void list_pairs() {
  for (const DTypeInfo& a : kDTypes) {
    for (const DTypeInfo& b : kDTypes) {
      const DType from = *dtype_from_name(a.name);
      const DType to = *dtype_from_name(b.name);
      std::cout << a.name << " " << b.name << " " << can_cast_safely(from, to) << " "
                << info(promote(from, to)).name << "\n";
    }
  }
}

DType dtype_named(std::string_view name) {
  const auto t = dtype_from_name(name);
  if (!t) fail("no dtype " + std::string(name));
  return *t;
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  std::string line;
  while (std::getline(std::cin, line)) {
    const size_t first = line.find(' ');
    const size_t second = line.find(' ', first + 1);
    if (first == std::string::npos || second == std::string::npos) fail("bad request " + line);
    const std::string op = line.substr(0, first);
    const std::string dtype = line.substr(first + 1, second - first - 1);
    const size_t n = std::stoul(line.substr(second + 1));
    if (op == "parse") {
      parse(n);
    } else if (op == "dtypes") {
      list_pairs();
    } else if (op == "cast") {
      const size_t colon = dtype.find(':');
      const DType to = dtype_named(dtype.substr(colon + 1));
      visit_dtype(dtype_named(dtype.substr(0, colon)), [&]<class T>() { convert<T>(to, n); });
    } else if (op == "repr") {
      visit_dtype(dtype_named(dtype), [&]<class T>() { print<T>(n); });
    } else {
      visit_dtype(dtype_named(dtype), [&]<class T>() { elementwise<T>(op, n); });
    }
  }
  std::cout.flush();
  return 0;
}
