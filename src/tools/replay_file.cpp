#include "tools/replay_file.h"

#include <charconv>
#include <limits>
#include <ostream>

#include "ir/lexer.h"
#include "ir/lexicon.h"

namespace ingot::tools {

namespace {

using base::DType;
using ir::Token;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : lexer_(text, file), file_(file) {}

  ReplayFile read() {
    expect("record");
    if (const Token version = lexer_.next(); !version.is_word("1"))
      lexer_.fail(version, "replay files of version 1 can be read");
    while (lexer_.peek().kind != Token::Kind::End) read_part(lexer_.next());
    for (Slot& slot : replay_.arguments) check_view(slot, true);
    for (Slot& slot : outcome_.results) check_view(slot, false);
    if (ended_) replay_.outcome = std::move(outcome_);
    return std::move(replay_);
  }

 private:
  void read_part(const Token& word) {
    if (word.is_word("memory")) {
      read_memory(word);
    } else if (word.is_word("function") && !ended_) {
      const Token name = lexer_.next();
      if (name.kind != Token::Kind::Symbol) lexer_.fail(name, "expected a function's name: @name");
      replay_.function = lexer_.unescaped(name);
    } else if (word.is_word("stage") && !ended_) {
      replay_.stages.push_back(read_stage());
    } else if (word.is_word("argument") && !ended_) {
      replay_.arguments.push_back(read_slot());
    } else if ((word.is_word("library") || word.is_word("host")) && !ended_) {
      replay_.calls.push_back(read_call(word.is_word("host")));
    } else if ((word.is_word("returned") || word.is_word("raised")) && !ended_) {
      ended_ = true;
      if (word.is_word("raised")) outcome_.raised = read_exception();
    } else if (word.is_word("result") && ended_) {
      outcome_.results.push_back(read_slot());
    } else if (word.is_word("after") && ended_) {
      read_after();
    } else {
      lexer_.fail(word, "'" + std::string(word.text) + "' is not expected here");
    }
  }

  void read_memory(const Token& word) {
    Memories& memories = ended_ ? outcome_.fresh : replay_.memories;
    const uint64_t number = read_count();
    if (memories.contains(number) || replay_.memories.contains(number))
      lexer_.fail(word, "there is a memory " + std::to_string(number) + " already");
    Memory memory;
    expect("bytes");
    const uint64_t size = read_count();
    expect("at");
    const Token at = lexer_.peek();
    memory.misalignment = read_count();
    if (memory.misalignment >= Memory::kAlignment) lexer_.fail(at, "an address modulo 64 is below 64");
    memory.bytes = read_bytes(size);
    memories.emplace(number, std::move(memory));
  }

  void read_after() {
    const Token at = lexer_.peek();
    const uint64_t number = read_count();
    expect("bytes");
    Bytes bytes = read_bytes(read_count());
    const auto memory = replay_.memories.find(number);
    if (memory != replay_.memories.end() && memory->second.bytes.size() != bytes.size())
      lexer_.fail(at, "memory " + std::to_string(number) + " has another size");
    if (!outcome_.after.emplace(number, std::move(bytes)).second)
      lexer_.fail(at, "memory " + std::to_string(number) + " is there twice");
  }

  std::string read_stage() {
    const Token name = lexer_.peek();
    std::string file = read_text();
    if (file.empty() || file.find('/') != std::string::npos)
      lexer_.fail(name, "a stage's file is next to the replay file");
    return file;
  }

  Slot read_slot() {
    Slot slot;
    slot.location = {file_, lexer_.peek().line, lexer_.peek().column, lexer_.peek().column};
    slot.is_view = skip_word("view");
    slot.dtype = read_dtype();
    if (!slot.is_view) {
      slot.unspecified = skip_word("unspecified");
      if (!slot.unspecified)
        slot.number = base::Scalar::load(slot.dtype, read_bytes(base::size_of(slot.dtype)).data());
      return slot;
    }
    expect("in");
    slot.memory = read_count();
    expect("at");
    slot.offset = read_integer();
    expect("lengths");
    slot.lengths = read_lengths();
    expect("strides");
    slot.strides = read_integers();
    return slot;
  }

  void check_view(Slot& slot, bool is_argument) const {
    if (!slot.is_view) return;
    if (slot.strides.size() != slot.lengths.size()) fail_at(slot, "as many strides as lengths are wanted");
    const Memory* memory = find_memory(slot.memory, !is_argument);
    if (memory == nullptr) {
      // An outcome alone does not have the arguments' memories.
      if (!is_argument && replay_.arguments.empty()) return;
      fail_at(slot, "there is no memory " + std::to_string(slot.memory));
    }
    const auto itemsize = static_cast<int64_t>(base::size_of(slot.dtype));
    const base::WideReach reach = base::Strided{slot.lengths, slot.strides, itemsize}.wide_reach();
    const auto size = static_cast<int64_t>(memory->bytes.size());
    if (slot.offset < 0 || slot.offset > size || slot.offset + reach.low < 0 ||
        reach.high > size - slot.offset)
      fail_at(slot, "the view leaves its memory");
    slot.reach = {static_cast<int64_t>(reach.low), static_cast<int64_t>(reach.high)};
  }

  /// An argument is in no memory of the outcome.
  const Memory* find_memory(uint64_t number, bool also_fresh) const {
    if (const auto found = replay_.memories.find(number); found != replay_.memories.end())
      return &found->second;
    if (!also_fresh) return nullptr;
    const auto fresh = outcome_.fresh.find(number);
    return fresh == outcome_.fresh.end() ? nullptr : &fresh->second;
  }

  OutsideCall read_call(bool host) {
    OutsideCall call;
    if (host) {
      call.routine = "host";
      call.site = read_integer();
    } else {
      call.routine = read_text();
    }
    expect_mark("(");
    while (!lexer_.peek().is_mark(")")) {
      if (!call.operands.empty()) expect_mark(",");
      call.operands.push_back(read_elements());
    }
    expect_mark(")");
    while (skip_word("gives")) call.results.push_back(read_elements());
    if (call.results.empty() && skip_word("raises")) call.raised = read_exception();
    return call;
  }

  Elements read_elements() {
    Elements elements;
    const Token at = lexer_.peek();
    elements.is_array = skip_word("array");
    elements.dtype = read_dtype();
    if (elements.is_array) elements.lengths = read_lengths();
    uint64_t size = base::size_of(elements.dtype);
    bool fits = true;
    for (const int64_t length : elements.lengths)
      fits = fits && !__builtin_mul_overflow(size, static_cast<uint64_t>(length), &size);
    if (!fits) lexer_.fail(at, "the array is too large");
    elements.bytes = read_bytes(size);
    return elements;
  }

  Exception read_exception() {
    Exception exception;
    const Token name = lexer_.next();
    const auto kind = name.kind == Token::Kind::Word ? base::exception_from_name(name.text) : std::nullopt;
    if (!kind) lexer_.fail(name, "expected an exception's name");
    exception.kind = *kind;
    exception.message = read_text();
    if (skip_word("at")) {
      exception.location.file = read_text();
      expect_mark(":");
      const Token at = lexer_.peek();
      const uint64_t line = read_count();
      if (line > std::numeric_limits<uint32_t>::max()) lexer_.fail(at, "no file has that line");
      exception.location.line = static_cast<uint32_t>(line);
    }
    return exception;
  }

  DType read_dtype() {
    const Token word = lexer_.next();
    const auto dtype = word.kind == Token::Kind::Word ? base::dtype_from_name(word.text) : std::nullopt;
    if (!dtype) lexer_.fail(word, "expected a dtype");
    return *dtype;
  }

  std::string read_text() {
    const Token text = lexer_.next();
    if (text.kind != Token::Kind::Text) lexer_.fail(text, "expected a text in quotes");
    return lexer_.unescaped(text);
  }

  /// Words of hexadecimal digits, two a byte, as many as make `size` bytes.
  Bytes read_bytes(uint64_t size) {
    Bytes bytes;
    while (bytes.size() < size) {
      const Token word = lexer_.next();
      if (word.kind != Token::Kind::Word || word.text.size() % 2 != 0) {
        lexer_.fail(word,
                    "expected " + std::to_string(size - bytes.size()) + " more bytes, in hexadecimal digits");
      }
      for (size_t i = 0; i < word.text.size(); i += 2) {
        const int high = hex_digit(word.text[i]);
        const int low = hex_digit(word.text[i + 1]);
        if (high < 0 || low < 0) lexer_.fail(word, "a byte is two of the digits 0-9 a-f");
        bytes.push_back(static_cast<std::byte>(high * 16 + low));
      }
      if (bytes.size() > size) lexer_.fail(word, "these are more than " + std::to_string(size) + " bytes");
    }
    return bytes;
  }

  int64_t read_integer() {
    const bool negative = lexer_.peek().is_mark("-");
    if (negative) lexer_.next();
    const Token word = lexer_.next();
    const std::string digits = (negative ? "-" : "") + std::string(word.text);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (word.kind != Token::Kind::Word || error != std::errc() || end != digits.data() + digits.size())
      lexer_.fail(word, "expected an integer");
    return value;
  }

  uint64_t read_count() {
    const Token at = lexer_.peek();
    const int64_t value = read_integer();
    if (value < 0) lexer_.fail(at, "expected a number that is not negative");
    return static_cast<uint64_t>(value);
  }

  std::vector<int64_t> read_integers() {
    std::vector<int64_t> integers;
    expect_mark("(");
    while (!lexer_.peek().is_mark(")")) {
      if (!integers.empty()) expect_mark(",");
      integers.push_back(read_integer());
    }
    expect_mark(")");
    return integers;
  }

  std::vector<int64_t> read_lengths() {
    const Token at = lexer_.peek();
    std::vector<int64_t> lengths = read_integers();
    for (const int64_t length : lengths)
      if (length < 0) lexer_.fail(at, "a length is negative");
    return lengths;
  }

  bool skip_word(std::string_view word) {
    const bool there = lexer_.peek().is_word(word);
    if (there) lexer_.next();
    return there;
  }
  void expect(std::string_view word) {
    const Token token = lexer_.next();
    if (!token.is_word(word)) lexer_.fail(token, "expected '" + std::string(word) + "'");
  }
  void expect_mark(std::string_view mark) {
    const Token token = lexer_.next();
    if (!token.is_mark(mark)) lexer_.fail(token, "expected '" + std::string(mark) + "'");
  }
  [[noreturn]] static void fail_at(const Slot& slot, const std::string& message) {
    throw base::UserError(slot.location, message);
  }

  ir::Lexer lexer_;
  const std::string& file_;
  ReplayFile replay_;
  Outcome outcome_;
  bool ended_ = false;  ///< the outcome has begun
};

void write_bytes(std::ostream& out, const Bytes& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr size_t kLine = 48;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i % kLine == 0) out << "\n  ";
    const auto byte = std::to_integer<unsigned>(bytes[i]);
    out << kDigits[byte >> 4U] << kDigits[byte & 15U];
  }
}

void write_integers(std::ostream& out, const std::vector<int64_t>& integers) {
  out << "(";
  for (size_t i = 0; i < integers.size(); ++i) out << (i == 0 ? "" : ", ") << integers[i];
  out << ")";
}

void write_slot(std::ostream& out, const Slot& slot) {
  if (slot.is_view) {
    out << "view " << base::info(slot.dtype).name << " in " << slot.memory << " at " << slot.offset
        << " lengths ";
    write_integers(out, slot.lengths);
    out << " strides ";
    write_integers(out, slot.strides);
    return;
  }
  Bytes bytes(base::size_of(slot.dtype));
  slot.number.store(slot.dtype, bytes.data());
  out << base::info(slot.dtype).name;
  write_bytes(out, bytes);
  out << " ; " << ir::literal(slot.dtype, slot.number);
}

}  // namespace

ReplayFile parse_replay_file(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

void write_outcome(std::ostream& out, const Outcome& outcome) {
  out << "record 1\n";
  if (outcome.raised) {
    out << "raised " << base::name_of(outcome.raised->kind) << " " << ir::quoted(outcome.raised->message);
    if (outcome.raised->location.line != 0)
      out << " at " << ir::quoted(outcome.raised->location.file) << ":" << outcome.raised->location.line;
    out << "\n";
  } else {
    out << "returned\n";
  }
  for (const auto& [number, memory] : outcome.fresh) {
    out << "memory " << number << " bytes " << memory.bytes.size() << " at " << memory.misalignment;
    write_bytes(out, memory.bytes);
    out << "\n";
  }
  for (const Slot& slot : outcome.results) {
    out << "result ";
    write_slot(out, slot);
    out << "\n";
  }
  for (const auto& [number, bytes] : outcome.after) {
    out << "after " << number << " bytes " << bytes.size();
    write_bytes(out, bytes);
    out << "\n";
  }
}

}  // namespace ingot::tools
