#include <charconv>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "ir/builder.h"
#include "ir/lexer.h"
#include "ir/lexicon.h"
#include "ir/text.h"

// A text is read twice. First the headers, bodies skipped by their braces, so that a call may name a function
// further down. Then the bodies, through a Builder that does not fold.

namespace ingot::ir {

namespace {

constexpr int kMaxTypeDepth = 64;
constexpr int kMaxRegionDepth = 500;

/// The elements of the grammar: marks, words, numbers, types.
class Reader {
 public:
  Reader(Module& module, const Lexer& lexer) : module_(module), lexer_(lexer) {}

 protected:
  [[noreturn]] void fail(const Token& at, const std::string& message) const { lexer_.fail(at, message); }
  [[noreturn]] void fail_expected(const std::string& what) const;
  bool at_mark(std::string_view mark) const { return lexer_.peek().is_mark(mark); }
  bool skip_mark(std::string_view mark);
  void expect_mark(std::string_view mark);
  bool skip_word(std::string_view word);
  void expect_word(std::string_view word);
  Token expect(Token::Kind kind, const std::string& what);
  std::string read_text();
  std::string read_symbol();
  /// A word, perhaps after a minus sign.
  std::string read_signed_word();
  template <class T>
  T read_int();

  /// A type of values.
  Type read_type(int depth = 0);
  /// What follows a node: a type, `(T, U)` or `()`.
  Type read_node_type();
  /// Types, to the closing parenthesis.
  std::vector<Type> read_type_list();
  DType read_dtype();
  int read_rank();
  Space read_space();

  Module& module_;
  Lexer lexer_;

 private:
  Type read_shaped(bool is_view);
};

[[noreturn]] void Reader::fail_expected(const std::string& what) const {
  const Token& token = lexer_.peek();
  const std::string found =
      token.kind == Token::Kind::End ? "the end of the text" : "'" + std::string(token.text) + "'";
  fail(token, "expected " + what + ", found " + found);
}
bool Reader::skip_mark(std::string_view mark) {
  const bool found = at_mark(mark);
  if (found) lexer_.next();
  return found;
}
void Reader::expect_mark(std::string_view mark) {
  if (!skip_mark(mark)) fail_expected("'" + std::string(mark) + "'");
}
bool Reader::skip_word(std::string_view word) {
  const bool found = lexer_.peek().is_word(word);
  if (found) lexer_.next();
  return found;
}
void Reader::expect_word(std::string_view word) {
  if (!skip_word(word)) fail_expected("'" + std::string(word) + "'");
}
Token Reader::expect(Token::Kind kind, const std::string& what) {
  if (lexer_.peek().kind != kind) fail_expected(what);
  return lexer_.next();
}
std::string Reader::read_text() { return lexer_.unescaped(expect(Token::Kind::Text, "a text in quotes")); }
std::string Reader::read_symbol() { return lexer_.unescaped(expect(Token::Kind::Symbol, "a name like @f")); }

std::string Reader::read_signed_word() {
  const std::string sign = skip_mark("-") ? "-" : "";
  return sign + std::string(expect(Token::Kind::Word, "a number").text);
}

template <class T>
T Reader::read_int() {
  const Token at = lexer_.peek();
  const std::string text = read_signed_word();
  T value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last) fail(at, "'" + text + "' is not an integer in range");
  return value;
}

DType Reader::read_dtype() {
  const Token word = expect(Token::Kind::Word, "a dtype");
  const auto dtype = base::dtype_from_name(word.text);
  if (!dtype) fail(word, "no dtype '" + std::string(word.text) + "'");
  return *dtype;
}
int Reader::read_rank() {
  const Token at = lexer_.peek();
  const auto rank = read_int<int>();
  if (rank < 0 || rank > kMaxRank) fail(at, "a rank is at least 0 and at most 16");
  return rank;
}
Space Reader::read_space() {
  const Token word = expect(Token::Kind::Word, "a memory space");
  for (int i = 0; i < kSpaceCount; ++i)
    if (name_of(static_cast<Space>(i)) == word.text) return static_cast<Space>(i);
  fail(word, "no memory space '" + std::string(word.text) + "'");
}

Type Reader::read_shaped(bool is_view) {
  expect_mark("<");
  const DType dtype = read_dtype();
  expect_mark(",");
  const int rank = read_rank();
  Space space = Space::Host;
  if (is_view && skip_mark(",")) space = read_space();
  expect_mark(">");
  return is_view ? Type::view(dtype, rank, space) : Type::array(dtype, rank);
}

std::vector<Type> Reader::read_type_list() {
  std::vector<Type> types;
  if (skip_mark(")")) return types;
  do types.push_back(read_type());
  while (skip_mark(","));
  expect_mark(")");
  return types;
}

Type Reader::read_type(int depth) {
  const Token word = expect(Token::Kind::Word, "a type");
  if (depth > kMaxTypeDepth) fail(word, "types nest too deeply");
  if (const auto dtype = base::dtype_from_name(word.text)) return Type::scalar(*dtype);
  if (word.text == "array" || word.text == "view") return read_shaped(word.text == "view");
  if (word.text == "buffer") {
    if (!skip_mark("<")) return Type::buffer();
    const Space space = read_space();
    expect_mark(">");
    return Type::buffer(space);
  }
  if (word.text == "optional") {
    expect_mark("<");
    const Type inside = read_type(depth + 1);
    expect_mark(">");
    return module_.types.optional(inside);
  }
  fail(word, "no type '" + std::string(word.text) + "'");
}

Type Reader::read_node_type() {
  if (!skip_mark("(")) return read_type();
  return module_.types.results(read_type_list());
}

/// A function as its header describes it.
struct Header {
  FunctionId id;
  std::vector<Token> names;  ///< of the parameters
  std::vector<Type> types;
  std::vector<ParameterInfo> parameters;
  std::vector<Type> results;
  Relaxations relaxations;
  Lexer body;
};

/// Reads the nodes of one function.
class BodyReader : Reader {
 public:
  BodyReader(Module& module, const Header& header)
      : Reader(module, header.body), header_(header), builder_(module, module.signature(header.id).name) {
    builder_.set_folding(false);
    builder_.relax(header.relaxations);
  }
  std::unique_ptr<Function> read();

 private:
  /// A node that is being read.
  struct Pending {
    std::vector<Token> names;
    Token at;
    Op op;
    std::vector<NodeId> operands;
    std::vector<int64_t> attributes;
    Type type;
    SpanId span;
  };

  const Function& function() const { return builder_.function(); }
  void read_nodes();
  /// False: after a terminator.
  bool read_node();
  Pending read_head();
  Op read_op();
  void read_operands(Pending& node);
  void read_attributes(Pending& node);
  int64_t read_attribute(const AttributeInfo& attribute);
  [[noreturn]] void fail_unknown(const Token& word, const AttributeInfo& attribute) const {
    fail(word, "'" + std::string(word.text) + "' is no " + std::string(attribute.name));
  }
  void read_constant(Pending& node);
  base::Scalar read_literal(DType dtype, const Token& at, std::span<const std::string> words) const;
  SpanId read_span();
  NodeId make(const Pending& node);
  NodeId make_with_regions(const Pending& node);
  void read_region(NodeId node, size_t index);
  std::vector<Token> read_region_parameters(std::vector<Type>& types);
  void bind(const Pending& node, NodeId id);
  void define(const Token& name, NodeId id);
  NodeId use(const Token& name, bool label);
  void forget(size_t from);

  const Header& header_;
  Builder builder_;
  std::unordered_map<std::string_view, NodeId> visible_;
  std::vector<std::string_view> defined_;  ///< the visible names, oldest first
  int depth_ = 0;
};

void BodyReader::define(const Token& name, NodeId id) {
  if (!visible_.emplace(name.text, id).second)
    fail(name, "%" + std::string(name.text) + " is defined already");
  defined_.push_back(name.text);
}

void BodyReader::forget(size_t from) {
  for (size_t i = from; i < defined_.size(); ++i) visible_.erase(defined_[i]);
  defined_.resize(from);
}

NodeId BodyReader::use(const Token& name, bool label) {
  const auto found = visible_.find(name.text);
  if (found == visible_.end()) fail(name, "%" + std::string(name.text) + " is not defined here");
  if (function().type(found->second).is(TypeKind::Label) && !label)
    fail(name, "a label is the first operand of an exit and nothing else");
  return found->second;
}

Op BodyReader::read_op() {
  const Token word = expect(Token::Kind::Word, "an op");
  const auto op = op_from_name(word.text);
  if (!op) fail(word, "no op '" + std::string(word.text) + "'");
  if (*op == Op::param || *op == Op::result)
    fail(word, "'" + std::string(word.text) + "' nodes are not written: they are names");
  return *op;
}

void BodyReader::read_operands(Pending& node) {
  while (lexer_.peek().kind == Token::Kind::Value) {
    node.operands.push_back(use(lexer_.next(), node.op == Op::exit_ && node.operands.empty()));
    if (!skip_mark(",")) return;
    if (lexer_.peek().kind != Token::Kind::Value) fail_expected("an operand like %x");
  }
}

int64_t BodyReader::read_attribute(const AttributeInfo& attribute) {
  const auto word = [&] { return expect(Token::Kind::Word, "a " + std::string(attribute.name)); };
  switch (attribute.kind) {
    case AttributeKind::Int:
    case AttributeKind::Ints:
    case AttributeKind::Option: return read_int<int64_t>();
    case AttributeKind::OpCode:
    case AttributeKind::OpCodes: {
      const Token name = word();
      const auto op = op_from_name(name.text);
      if (!op) fail_unknown(name, attribute);
      return static_cast<int64_t>(*op);
    }
    case AttributeKind::Exception: {
      const Token name = word();
      const auto kind = base::exception_from_name(name.text);
      if (!kind) fail_unknown(name, attribute);
      return static_cast<int64_t>(*kind);
    }
    case AttributeKind::Text: return module_.text(read_text()).index;
    case AttributeKind::Symbol: {
      const Token at = lexer_.peek();
      const auto id = module_.find(read_symbol());
      if (!id) fail(at, "no function @" + std::string(at.text));
      return id->index;
    }
    case AttributeKind::Choice: break;
  }
  const Token name = word();
  const auto names = choices(attribute.name);
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name.text) return static_cast<int64_t>(i);
  fail_unknown(name, attribute);
}

void BodyReader::read_attributes(Pending& node) {
  const auto schema = info(node.op).schema();
  if (schema.empty()) return;
  expect_mark("{");
  for (size_t i = 0; i < schema.size(); ++i) {
    if (is_optional(schema[i].kind) && !skip_mark(",")) break;
    if (i > 0 && !is_optional(schema[i].kind)) expect_mark(",");
    expect_word(schema[i].name);
    expect_mark("=");
    if (!is_list(schema[i].kind)) {
      node.attributes.push_back(read_attribute(schema[i]));
      continue;
    }
    expect_mark("[");
    if (skip_mark("]")) continue;
    do node.attributes.push_back(read_attribute(schema[i]));
    while (skip_mark(","));
    expect_mark("]");
  }
  expect_mark("}");
}

base::Scalar BodyReader::read_literal(DType dtype, const Token& at,
                                      std::span<const std::string> words) const {
  if (words.size() != (base::is_complex(dtype) ? 2u : 1u))
    fail(at, "complex constants, and no others, are written (re, im)");
  std::array<base::Scalar, 2> parts;
  for (size_t i = 0; i < words.size(); ++i) {
    const auto part = read_number(dtype, words[i]);
    if (!part) fail(at, "'" + words[i] + "' is no " + std::string(base::info(dtype).name));
    parts[i] = *part;
  }
  if (dtype == DType::Complex64) return {{parts[0].bits[0] | parts[1].bits[0] << 32, 0}};
  if (dtype == DType::Complex128) return {{parts[0].bits[0], parts[1].bits[0]}};
  return parts[0];
}

void BodyReader::read_constant(Pending& node) {
  const Token at = lexer_.peek();
  std::vector<std::string> words;
  if (skip_mark("(")) {
    words.push_back(read_signed_word());
    expect_mark(",");
    words.push_back(read_signed_word());
    expect_mark(")");
  } else {
    words.push_back(read_signed_word());
  }
  expect_mark(":");
  const Token type = lexer_.peek();
  node.type = read_type();
  if (!node.type.is_scalar()) fail(type, "constants are scalars");
  const base::Scalar value = read_literal(node.type.dtype(), at, words);
  for (uint64_t word : value.bits) node.attributes.push_back(static_cast<int64_t>(word));
}

SpanId BodyReader::read_span() {
  std::vector<Span> chain;
  do {
    Span span;
    span.file = module_.text(read_text());
    expect_mark(":");
    span.line = read_int<uint32_t>();
    expect_mark(":");
    span.column = read_int<uint32_t>();
    expect_mark("-");
    span.end_column = read_int<uint32_t>();
    if (skip_word("in")) span.function = module_.text(read_text());
    if (skip_word("loops")) span.loops = module_.text(read_text());
    chain.push_back(span);
    if (!skip_word("inlined")) break;
    expect_word("at");
  } while (true);
  SpanId id;
  for (size_t i = chain.size(); i-- > 0;) {
    chain[i].inlined_at = id;
    id = module_.span(chain[i]);
  }
  return id;
}

BodyReader::Pending BodyReader::read_head() {
  Pending node;
  if (lexer_.peek().kind == Token::Kind::Value) {
    do node.names.push_back(expect(Token::Kind::Value, "a name like %x"));
    while (skip_mark(","));
    expect_mark("=");
  }
  node.at = lexer_.peek();
  node.op = read_op();
  if (node.op == Op::constant) {
    read_constant(node);
  } else {
    read_operands(node);
    read_attributes(node);
    if (skip_mark(":")) node.type = read_node_type();
  }
  if (skip_word("at")) node.span = read_span();
  return node;
}

NodeId BodyReader::make(const Pending& node) {
  try {
    if (info(node.op).terminator) {
      builder_.terminate(node.op, node.operands, node.attributes);
      return {};
    }
    if (info(node.op).regions == 0) return builder_.make(node.op, node.operands, node.attributes, node.type);
    std::vector<Type> results;
    if (node.type.is(TypeKind::Results)) {
      const auto members = module_.types.members(node.type);
      results.assign(members.begin(), members.end());
    } else if (!node.type.is_void()) {
      results.push_back(node.type);
    }
    return builder_.begin(node.op, node.operands, node.attributes, results);
  } catch (const base::InternalError& error) {
    fail(node.at, error.what());
  }
}

std::vector<Token> BodyReader::read_region_parameters(std::vector<Type>& types) {
  std::vector<Token> names;
  if (!skip_mark("^")) return names;
  expect_mark("(");
  do {
    names.push_back(expect(Token::Kind::Value, "a parameter like %x"));
    expect_mark(":");
    types.push_back(skip_word("label") ? Type::label() : read_type());
  } while (skip_mark(","));
  expect_mark(")");
  expect_mark(":");
  return names;
}

void BodyReader::read_region(NodeId node, size_t index) {
  const Token at = lexer_.peek();
  expect_mark("{");
  if (++depth_ > kMaxRegionDepth) fail(at, "regions nest too deeply");
  const size_t outside = defined_.size();
  std::vector<Type> types;
  const std::vector<Token> names = read_region_parameters(types);
  const std::vector<NodeId> parameters = builder_.enter(node, index, types);
  for (size_t i = 0; i < names.size(); ++i) define(names[i], parameters[i]);
  read_nodes();
  forget(outside);
  --depth_;
}

/// The nodes up to the terminator, and the closing brace.
void BodyReader::read_nodes() {
  while (!at_mark("}"))
    if (!read_node()) return expect_mark("}");
  fail(lexer_.peek(), "the region does not end in a terminator");
}

void BodyReader::bind(const Pending& node, NodeId id) {
  if (node.names.empty()) return;
  const size_t count = function().result_count(id);
  if (node.names.size() != count)
    fail(node.names[0], "'" + std::string(name_of(node.op)) + "' gives " + std::to_string(count) + " values");
  for (size_t i = 0; i < count; ++i) define(node.names[i], function().result(id, i));
}

bool BodyReader::read_node() {
  const Pending node = read_head();
  builder_.set_span(node.span);
  const NodeId id = make(node);
  if (!id) {
    if (!node.names.empty()) fail(node.names[0], "a terminator gives no value");
    if (!node.type.is_void()) fail(node.at, "a terminator has no type");
    return false;
  }
  const Type type = function().type(id);
  if (!node.type.is_void() && node.type != type) {
    fail(node.at, "'" + std::string(name_of(node.op)) + "' gives " + module_.types.to_string(type) +
                      ", not " + module_.types.to_string(node.type));
  }
  const size_t regions = info(node.op).regions;
  for (size_t i = 0; i < regions; ++i) read_region(id, i);
  if (regions > 0) {
    builder_.set_span(node.span);
    builder_.end(id);
  }
  bind(node, id);
  return true;
}

std::unique_ptr<Function> BodyReader::read() {
  for (size_t i = 0; i < header_.names.size(); ++i)
    define(header_.names[i], builder_.add_parameter(header_.types[i], header_.parameters[i]));
  expect_mark("{");
  read_nodes();
  return builder_.finish(header_.results);
}

/// Reads a whole text.
class ModuleReader : Reader {
 public:
  ModuleReader(Module& module, const Lexer& lexer) : Reader(module, lexer) {}
  void read();

 private:
  void read_header();
  void read_parameter(Header& header);
  Layout read_layout();
  void read_lengths(int rank, ParameterInfo& info);
  Relaxations read_relaxations();
  void declare(const Token& at, const std::string& name, Header& header);
  void skip_body();

  std::unordered_set<uint32_t> defined_functions_;
  std::vector<Header> headers_;
};

void ModuleReader::read_parameter(Header& header) {
  const Token name = expect(Token::Kind::Value, "a parameter like %x");
  expect_mark(":");
  header.names.push_back(name);
  header.types.push_back(read_type());
  ParameterInfo info;
  const bool number = name.text.find_first_not_of("0123456789") == std::string_view::npos;
  if (!number) info.name = name.text;
  if (skip_word("alias")) info.alias_set = read_int<uint32_t>();
  if (skip_word("readonly")) info.writable = false;
  const bool is_array = header.types.back().is_view() && header.types.back().rank() > 0;
  if (is_array && skip_word("layout")) info.layout = read_layout();
  if (is_array && skip_word("lengths")) read_lengths(header.types.back().rank(), info);
  if (skip_word("name")) info.name = read_text();
  header.parameters.push_back(std::move(info));
}

Layout ModuleReader::read_layout() {
  const Token word = expect(Token::Kind::Word, "C or F");
  if (word.text != "C" && word.text != "F") fail(word, "a layout is C or F");
  return word.text == "C" ? Layout::C : Layout::F;
}

void ModuleReader::read_lengths(int rank, ParameterInfo& info) {
  uint32_t ones = 0;
  for (int axis = 0; axis < rank; ++axis) {
    expect_mark(axis == 0 ? "(" : ",");
    if (skip_word("n")) continue;
    const Token at = lexer_.peek();
    const auto length = read_int<int64_t>();
    const bool may_be_short = axis > 0 && axis + 1 == rank && length >= 2 && length <= kLongestShort;
    if (may_be_short) info.last = length;
    else if (length == 1) ones |= uint32_t{1} << axis;
    else fail(at, "a length is 1, of a last axis 2 to 8, or n: any but 1");
  }
  expect_mark(")");
  info.ones = ones;
}

Relaxations ModuleReader::read_relaxations() {
  Relaxations all;
  expect_mark("(");
  do {
    const Token word = expect(Token::Kind::Word, "a relaxation");
    const auto known = Relaxations::named(word.text);
    if (!known) fail(word, "no relaxation is called " + std::string(word.text));
    all.add(*known);
  } while (skip_mark(","));
  expect_mark(")");
  return all;
}

void ModuleReader::declare(const Token& at, const std::string& name, Header& header) {
  const auto known = module_.find(name);
  if (!known) {
    header.id = module_.declare(name, header.types, header.results);
    return;
  }
  header.id = *known;
  const Module::Signature& signature = module_.signature(*known);
  if (signature.parameters != header.types || signature.results != header.results)
    fail(at, "function " + symbol(name) + " is declared with another signature");
}

/// To after the brace that closes the body.
void ModuleReader::skip_body() {
  size_t depth = 0;
  do {
    const Token token = lexer_.next();
    if (token.kind == Token::Kind::End) fail(token, "the function has no closing '}'");
    if (token.is_mark("{")) ++depth;
    if (token.is_mark("}")) --depth;
  } while (depth > 0);
}

void ModuleReader::read_header() {
  Header header{{}, {}, {}, {}, {}, {}, lexer_};
  const Token at = lexer_.peek();
  const std::string name = read_symbol();
  expect_mark("(");
  if (!at_mark(")")) {
    do read_parameter(header);
    while (skip_mark(","));
  }
  expect_mark(")");
  expect_mark("->");
  expect_mark("(");
  header.results = read_type_list();
  if (skip_word("relaxed")) header.relaxations = read_relaxations();
  declare(at, name, header);
  if (!at_mark("{")) return;
  if (module_.function(header.id) != nullptr || !defined_functions_.insert(header.id.index).second)
    fail(at, "function " + symbol(name) + " is defined already");
  header.body = lexer_;
  skip_body();
  headers_.push_back(std::move(header));
}

void ModuleReader::read() {
  while (lexer_.peek().kind != Token::Kind::End) {
    expect_word("func");
    read_header();
  }
  for (const Header& header : headers_) module_.define(header.id, BodyReader(module_, header).read());
}

}  // namespace

std::unique_ptr<Module> parse(std::string_view text, const std::string& file) {
  auto module = std::make_unique<Module>();
  parse_into(*module, text, file);
  return module;
}

void parse_into(Module& module, std::string_view text, const std::string& file) {
  ModuleReader(module, Lexer(text, file)).read();
}

}  // namespace ingot::ir
