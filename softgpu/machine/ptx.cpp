#include "softgpu/machine/ptx.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <unordered_map>

namespace softgpu::ptx {

Type type_named(std::string_view name) {
  static constexpr struct {
    std::string_view name;
    Type type;
  } kTypes[] = {{"b8", {'b', 8}},
                {"b16", {'b', 16}},
                {"b32", {'b', 32}},
                {"b64", {'b', 64}},
                {"u8", {'u', 8}},
                {"u16", {'u', 16}},
                {"u32", {'u', 32}},
                {"u64", {'u', 64}},
                {"s8", {'s', 8}},
                {"s16", {'s', 16}},
                {"s32", {'s', 32}},
                {"s64", {'s', 64}},
                {"f16", {'f', 16}},
                {"f32", {'f', 32}},
                {"f64", {'f', 64}},
                {"pred", {'p', 1}},
                {"bf16", {'h', 16}},
                {"f16x2", {'f', 32, true}},
                {"bf16x2", {'h', 32, true}},
                {"b128", {'b', 128}},
                {"u16x2", {'u', 32, true}},
                {"s16x2", {'s', 32, true}},
                {"e4m3x2", {'4', 16, true}},
                {"e5m2x2", {'5', 16, true}}};
  for (const auto& known : kTypes)
    if (known.name == name) return known.type;
  return {};
}

bool Statement::has(std::string_view part) const { return std::ranges::find(parts, part) != parts.end(); }

namespace {

class Parser {
 public:
  explicit Parser(Module& module) : module_(module), tokens_(tokens_of(module.text)) {}

  void run() {
    while (peek().kind != Token::End) top_level();
    if (module_.version == 0) throw LoadError(1, "no .version: this is no PTX");
  }

 private:
  Module& module_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  Location location_{};
  Function* function_ = nullptr;
  uint32_t scope_ = 0;
  int depth_ = 0;
  std::unordered_map<uint32_t, uint32_t> files_;  ///< indices, from 1, by number

  /// One pair of braces or brackets more, while it lives.
  class Nested {
   public:
    explicit Nested(Parser& parser) : depth_(parser.depth_) {
      if (++depth_ > most::kNested) parser.fail("braces that nest too deeply");
    }
    ~Nested() { --depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    int& depth_;
  };

  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& next() {
    const Token& token = peek();
    if (token.kind != Token::End) ++at_;
    return token;
  }
  bool is(std::string_view text) const { return peek().text == text && peek().kind != Token::Text; }
  bool take(std::string_view text) {
    if (!is(text)) return false;
    next();
    return true;
  }
  void want(std::string_view text) {
    if (!take(text)) fail("`" + std::string(text) + "` expected before `" + std::string(peek().text) + "`");
  }
  std::string_view name() {
    if (peek().kind != Token::Name) fail("a name expected before `" + std::string(peek().text) + "`");
    return next().text;
  }
  [[noreturn]] void fail(const std::string& message) const { throw LoadError(peek().line, message); }

  struct Value {
    uint64_t bits;
    uint8_t float_bits;
  };

  Value number() {
    const bool negative = take("-");
    if (peek().kind != Token::Number) fail("a number expected before `" + std::string(peek().text) + "`");
    std::string_view text = next().text;
    Value value{0, 0};
    const char kind = text.size() > 1 && text[0] == '0' ? static_cast<char>(std::tolower(text[1])) : ' ';
    if (kind == 'f' || kind == 'd') {
      value.float_bits = kind == 'f' ? 32 : 64;
      value.bits = digits(text, 2, 16);
      if (kind == 'f' && value.bits > UINT32_MAX) fail_number(text);
      if (negative) value.bits ^= uint64_t{1} << (value.float_bits - 1);
    } else if (text.find('.') != std::string_view::npos) {
      double read = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
      if (error != std::errc() || end != text.data() + text.size()) fail_number(text);
      value = {std::bit_cast<uint64_t>(negative ? -read : read), 64};
    } else {
      if (text.back() == 'U') text.remove_suffix(1);
      if (kind == 'x') value.bits = digits(text, 2, 16);
      else if (kind == 'b') value.bits = digits(text, 2, 2);
      else value.bits = digits(text, 0, text.size() > 1 && text[0] == '0' ? 8 : 10);
      if (negative) value.bits = ~value.bits + 1;
    }
    return value;
  }

  /// The whole text from a position on, a number of 64 bits to some base.
  uint64_t digits(std::string_view text, size_t from, int base) const {
    uint64_t bits = 0;
    const auto [end, error] = std::from_chars(text.data() + from, text.data() + text.size(), bits, base);
    if (error != std::errc() || end != text.data() + text.size()) fail_number(text);
    return bits;
  }
  [[noreturn]] void fail_number(std::string_view text) const {
    fail("`" + std::string(text) + "` is no number");
  }

  uint64_t integer() {
    const Value value = number();
    if (value.float_bits != 0) fail("an integer expected");
    return value.bits;
  }
  uint32_t integer_up_to(uint32_t greatest) {
    const uint64_t value = integer();
    if (value > greatest) fail(std::to_string(value) + " is too large");
    return static_cast<uint32_t>(value);
  }
  uint32_t small_integer() { return integer_up_to(UINT32_MAX); }

  /// The index of a file, from 1, by its number.
  uint32_t file(uint32_t number) {
    const auto [known, is_new] = files_.try_emplace(number, static_cast<uint32_t>(module_.files.size() + 1));
    if (is_new) module_.files.emplace_back();
    return known->second;
  }

  void skip_to(std::string_view end) {
    while (!is(end)) {
      if (peek().kind == Token::End) fail("`" + std::string(end) + "` expected");
      next();
    }
    next();
  }

  void skip_braces() {
    want("{");
    for (int depth = 1; depth > 0; next()) {
      if (peek().kind == Token::End) fail("`}` expected");
      if (is("{")) ++depth;
      if (is("}")) --depth;
    }
  }

  void top_level() {
    const Token& token = peek();
    if (take(".version")) {
      const std::string text(next().text);
      const double version = std::strtod(text.c_str(), nullptr);
      if (!(version >= 3 && version < 9.95)) fail("PTX version " + text);
      module_.version = static_cast<int>(version * 10 + 0.5);
    } else if (take(".target")) {
      target();
    } else if (take(".address_size")) {
      if (integer() != 64) fail("only 64-bit addresses");
    } else if (is(".file") || is(".loc") || is(".section") || is(".pragma")) {
      debug();
    } else if (take(";")) {
    } else if (token.kind == Token::Name && token.text[0] == '.') {
      linked();
    } else {
      fail("`" + std::string(token.text) + "` at the top level");
    }
  }

  void target() {
    do {
      const std::string_view target = name();
      if (target.starts_with("sm_")) module_.capability = std::atoi(std::string(target.substr(3)).c_str());
    } while (take(","));
  }

  /// Directives that give locations in the source, or advise.
  void debug() {
    if (take(".file")) {
      const uint32_t index = file(small_integer());
      module_.files[index - 1] = std::string(next().text);
      while (take(",")) integer();
    } else if (take(".loc")) {
      location_.file = file(small_integer());
      location_.source_line = small_integer();
      integer();
      if (take(",")) {
        if (name() != "function_name") fail("`function_name` expected");
        name();
        if (take("+")) integer();
        want(",");
        if (name() != "inlined_at") fail("`inlined_at` expected");
        for (int i = 0; i < 3; ++i) integer();
      }
    } else if (take(".section")) {
      name();
      skip_braces();
    } else {
      next();
      skip_to(";");
    }
  }

  /// A variable or function with its linkage before it.
  void linked() {
    Variable link;
    while (is(".visible") || is(".extern") || is(".weak") || is(".common")) {
      const std::string_view word = next().text;
      link.is_external |= word == ".extern";
      link.linkage = word == ".weak" || word == ".common" ? Linkage::Weak : Linkage::Visible;
    }
    if (is(".entry") || is(".func")) {
      function(link);
    } else {
      declare(module_.variables, link);
    }
  }

  static Space space_named(std::string_view text) {
    if (text == ".reg") return Space::Register;
    if (text == ".param") return Space::Param;
    if (text == ".shared") return Space::Shared;
    if (text == ".local") return Space::Local;
    if (text == ".const") return Space::Const;
    if (text == ".global") return Space::Global;
    return Space::Generic;
  }

  /// `.global .align 8 .b8 name[16]`: what comes before the initial value.
  Variable variable() {
    Variable variable;
    variable.space = space_named(name());
    if (variable.space == Space::Generic) {
      --at_;
      fail("`" + std::string(peek().text) + "` is not known");
    }
    uint32_t lanes = 1;
    uint32_t alignment = 0;
    while (!variable.type) {
      if (take(".align")) {
        alignment = integer_up_to(most::kAlignment);
      } else if (take(".v2")) {
        lanes = 2;
      } else if (take(".v4")) {
        lanes = 4;
      } else if (is(".attribute")) {
        next();
        skip_to(")");
      } else {
        variable.type = type_named(name().substr(1));
        if (!variable.type) fail("type before `" + std::string(peek().text) + "`");
      }
    }
    pointer_advice(alignment);
    if (variable.space == Space::Register && lanes > 1) fail("registers that are vectors");
    variable.size = std::max<uint64_t>(variable.type.bytes(), 1) * lanes;
    variable.alignment = alignment != 0 ? alignment : static_cast<uint32_t>(variable.size);
    if (!std::has_single_bit(variable.alignment)) fail("an alignment that is no power of 2");
    variable.name = std::string(name());
    return variable;
  }

  /// `.ptr .global .align 8` of a kernel's parameter states nothing that we need.
  void pointer_advice(uint32_t& alignment) {
    if (!take(".ptr")) {
      if (take(".align")) alignment = integer_up_to(most::kAlignment);
      return;
    }
    while (is(".global") || is(".shared") || is(".const") || is(".local") || is(".align"))
      if (next().text == ".align") integer();
  }

  void extents(Variable& variable) {
    if (take("<")) {
      variable.count = small_integer();
      want(">");
    }
    const uint64_t element = variable.size;
    const bool is_far = variable.space == Space::Global || variable.space == Space::Const;
    const uint64_t greatest = uint64_t{1} << (is_far ? 48 : 31);
    bool is_open = false;
    while (take("[")) {
      if (take("]")) {
        is_open = true;
        continue;
      }
      const uint64_t length = integer();
      if (length != 0 && variable.size > greatest / length) fail("a variable that is too large");
      variable.size *= length;
      want("]");
    }
    if (take("=")) initial(variable);
    if (is_open)
      variable.size = variable.bytes.empty() ? 0 : (variable.bytes.size() + element - 1) / element * element;
  }

  void initial(Variable& variable) {
    if (take("{")) {
      const Nested nested(*this);
      while (!take("}")) {
        if (is("{")) {
          initial(variable);
        } else {
          element(variable);
        }
        take(",");
      }
    } else {
      element(variable);
    }
  }

  void element(Variable& variable) {
    const uint32_t bytes = variable.type.bytes();
    uint64_t bits = 0;
    if (peek().kind == Token::Name) {
      Variable::Address address{variable.bytes.size()};
      std::string_view symbol = name();
      if (symbol == "generic") {
        address.is_generic = true;
        want("(");
        symbol = name();
        want(")");
      }
      address.symbol = std::string(symbol);
      if (bytes != 8) fail("an address in an initial value of " + std::to_string(bytes) + " bytes");
      if (is("+") || is("-")) {
        take("+");
        address.offset = static_cast<int64_t>(integer());
      }
      variable.addresses.push_back(std::move(address));
    } else {
      bits = as_type(number(), variable.type);
    }
    for (uint32_t i = 0; i < bytes; ++i) variable.bytes.push_back(static_cast<uint8_t>(bits >> (8 * i)));
  }

  static uint64_t as_type(Value value, Type type) {
    if (value.float_bits == 64 && type.bits == 32)
      return std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(value.bits)));
    if (value.float_bits == 32 && type.bits == 64)
      return std::bit_cast<uint64_t>(
          static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(value.bits))));
    return value.bits;
  }

  void declare(std::vector<Variable>& into, const Variable& link) {
    Variable first = variable();
    first.is_external = link.is_external;
    first.linkage = link.linkage;
    Variable next_one = first;
    extents(first);
    into.push_back(std::move(first));
    while (take(",")) {
      next_one.name = std::string(name());
      Variable more = next_one;
      extents(more);
      into.push_back(std::move(more));
    }
    want(";");
  }

  void parameters(std::vector<Variable>& into) {
    want("(");
    while (!take(")")) {
      Variable parameter = variable();
      extents(parameter);
      into.push_back(std::move(parameter));
      take(",");
    }
  }

  void function(const Variable& link) {
    Function made;
    made.is_external = link.is_external;
    made.linkage = link.linkage;
    made.is_kernel = next().text == ".entry";
    made.location = {peek().line};
    take(".attribute");
    if (is("(") && !made.is_kernel) parameters(made.results);
    made.name = std::string(name());
    if (is("(")) parameters(made.parameters);
    while (!is("{") && !is(";")) function_directive(made);
    if (!take(";")) {
      made.has_body = true;
      function_ = &made;
      location_ = {};
      body(0);
      function_ = nullptr;
    }
    module_.functions.push_back(std::move(made));
  }

  void function_directive(Function& made) {
    const std::string_view directive = name();
    if (directive == ".noreturn" || directive == ".explicitcluster") return;
    if (directive == ".pragma") {
      skip_to(";");
      return;
    }
    static constexpr std::string_view kNumbers[] = {
        ".maxntid",      ".reqntid",        ".minnctapersm",
        ".maxnreg",      ".maxclusterrank", ".reqnctapercluster",
        ".maxnctapersm", ".abi_preserve",   ".abi_preserve_control"};
    if (std::ranges::find(kNumbers, directive) == std::end(kNumbers))
      fail("directive `" + std::string(directive) + "` is not known");
    uint64_t product = small_integer();
    while (take(",")) product = std::min<uint64_t>(product * small_integer(), UINT32_MAX);
    if (directive == ".maxntid" || directive == ".reqntid") made.max_threads = static_cast<uint32_t>(product);
  }

  void body(uint32_t scope) {
    want("{");
    const Nested nested(*this);
    const uint32_t outer = scope_;
    scope_ = scope;
    while (!take("}")) statement();
    scope_ = outer;
  }

  void statement() {
    const Token& token = peek();
    if (token.kind == Token::End) fail("`}` expected");
    if (is("{")) {
      function_->scopes.push_back({scope_, {}});
      body(static_cast<uint32_t>(function_->scopes.size() - 1));
    } else if (is(".file") || is(".loc") || is(".section") || is(".pragma")) {
      debug();
    } else if (take(";")) {
    } else if (token.kind == Token::Name && peek(1).text == ":" && token.text[0] != '.') {
      label();
    } else if (token.kind == Token::Name && token.text[0] == '.') {
      Variable link;
      link.is_external = take(".extern");
      declare(function_->scopes[scope_].variables, link);
    } else {
      instruction();
    }
  }

  void label() {
    const std::string_view label = name();
    want(":");
    if (take(".branchtargets")) {
      Targets targets{label, {}};
      do targets.labels.push_back(name());
      while (take(","));
      want(";");
      function_->targets.push_back(std::move(targets));
    } else if (is(".callprototype") || is(".calltargets")) {
      skip_to(";");
    } else {
      function_->labels.push_back({label, function_->statements.size()});
    }
  }

  void instruction() {
    Statement made;
    made.location = location_;
    made.location.line = peek().line;
    made.scope = scope_;
    if (take("@")) {
      made.is_guard_negated = take("!");
      made.guard = name();
    }
    made.opcode = name();
    std::string_view rest = made.opcode;
    while (true) {
      const size_t dot = rest.find('.');
      made.parts.push_back(rest.substr(0, dot));
      if (dot == std::string_view::npos) break;
      rest = rest.substr(dot + 1);
    }
    while (!take(";")) {
      made.operands.push_back(operand());
      if (!is(";")) want(",");
    }
    function_->statements.push_back(std::move(made));
  }

  Operand operand() {
    Operand first = simple_operand();
    if (!take("|")) return first;
    Operand pair;
    pair.kind = Operand::Pair;
    pair.list.push_back(std::move(first));
    pair.list.push_back(simple_operand());
    return pair;
  }

  Operand simple_operand() {
    const Nested nested(*this);
    Operand made;
    if (is("{") || is("(")) {
      made.kind = is("{") ? Operand::Vector : Operand::List;
      const std::string_view end = is("{") ? "}" : ")";
      next();
      while (!take(end)) {
        made.list.push_back(operand());
        take(",");
      }
    } else if (take("[")) {
      made = simple_operand();
      made.kind = made.kind == Operand::Integer ? Operand::Address : made.kind;
      if (made.kind == Operand::Name) made.kind = Operand::Address;
      if (made.kind != Operand::Address) fail("an address of this form");
      want("]");
    } else if (peek().kind == Token::Name) {
      made.name = name();
      if (made.name == "_") made.kind = Operand::Sink;
      if (is("+") || is("-")) {
        take("+");
        made.integer = integer();
      }
    } else if (take("!")) {
      made.name = name();
      made.is_negated = true;
    } else if (take("~")) {
      made.kind = Operand::Integer;
      made.integer = ~integer();
    } else {
      const Value value = number();
      made.kind = value.float_bits != 0 ? Operand::Float : Operand::Integer;
      made.integer = value.bits;
      made.bits = value.float_bits;
    }
    return made;
  }
};

}  // namespace

std::vector<std::string_view> texts_of(std::string_view image) {
  std::vector<std::string_view> texts;
  size_t begin = 0;
  bool has_version = false;
  for (size_t line = 0; line < image.size();) {
    const size_t end = std::min(image.find('\n', line), image.size());
    const size_t word = image.find_first_not_of(" \t", line);
    if (word != std::string_view::npos && image.substr(word).starts_with(".version")) {
      if (has_version) {
        texts.push_back(image.substr(begin, line - begin));
        begin = line;
      }
      has_version = true;
    }
    line = end + 1;
  }
  texts.push_back(image.substr(begin));
  return texts;
}

Module parse(std::string_view text) {
  Module module;
  module.text.reserve(64);  // on the heap, so that views stay valid when the module moves
  module.text = text;
  Parser(module).run();
  return module;
}

}  // namespace softgpu::ptx
