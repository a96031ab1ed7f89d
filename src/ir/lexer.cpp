#include "ir/lexer.h"

#include "ir/lexicon.h"

namespace ingot::ir {

namespace {

constexpr std::string_view kMarks = "(){}[]<>,:=^-";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

Lexer::Lexer(std::string_view text, const std::string& file) : text_(text), file_(&file) { scan(); }

Token Lexer::next() {
  const Token token = token_;
  scan();
  return token;
}

void Lexer::fail(const Token& at, const std::string& message) const {
  throw base::UserError({*file_, at.line, at.column, at.column}, message);
}

void Lexer::skip_blanks() {
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
      line_start_ = at_ + 1;
    } else if (c == ';') {
      const size_t end = text_.find('\n', at_);
      if (end == std::string_view::npos) {
        at_ = text_.size();
        return;
      }
      at_ = end - 1;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return;
    }
  }
}

/// A word that begins with a digit may hold an exponent's sign: `1e-05`.
size_t Lexer::word_end(size_t from) const {
  const bool number = is_digit(text_[from]) && !text_.substr(from).starts_with("0x");
  size_t end = from;
  while (end < text_.size()) {
    const char c = text_[end];
    const bool sign = number && (c == '+' || c == '-') && end > from && text_[end - 1] == 'e';
    if (!is_word_character(c) && !sign) break;
    ++end;
  }
  return end;
}

void Lexer::scan_quoted() {
  const size_t begin = ++at_;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
    const bool escape = text_[at_] == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n';
    at_ += escape ? 2 : 1;
  }
  if (at_ >= text_.size() || text_[at_] != '"') fail(token_, "the text has no closing quote");
  token_.text = text_.substr(begin, at_ - begin);
  ++at_;
}

void Lexer::scan() {
  skip_blanks();
  token_ = {Token::Kind::End, {}, line_, static_cast<uint32_t>(at_ - line_start_)};
  if (at_ >= text_.size()) return;
  const char c = text_[at_];
  if (c == '"') {
    token_.kind = Token::Kind::Text;
    return scan_quoted();
  }
  if (c == '%' || c == '@') {
    token_.kind = c == '%' ? Token::Kind::Value : Token::Kind::Symbol;
    ++at_;
    if (c == '@' && at_ < text_.size() && text_[at_] == '"') return scan_quoted();
    const size_t begin = at_;
    while (at_ < text_.size() && is_word_character(text_[at_])) ++at_;
    if (at_ == begin) fail(token_, std::string("a name is missing after '") + c + "'");
    token_.text = text_.substr(begin, at_ - begin);
    return;
  }
  if (is_word_character(c)) {
    token_.kind = Token::Kind::Word;
    const size_t end = word_end(at_);
    token_.text = text_.substr(at_, end - at_);
    at_ = end;
    return;
  }
  token_.kind = Token::Kind::Mark;
  if (kMarks.find(c) == std::string_view::npos) fail(token_, "unexpected character " + quoted({&c, 1}));
  token_.text = text_.substr(at_, text_.substr(at_).starts_with("->") ? 2 : 1);
  at_ += token_.text.size();
}

std::string Lexer::unescaped(const Token& token) const {
  std::string out;
  const std::string_view text = token.text;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char c = i + 1 < text.size() ? text[++i] : '\0';
    if (c == 'n') {
      out += '\n';
    } else if (c == '"' || c == '\\') {
      out += c;
    } else if (c == 'x' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
               hex_digit(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      fail(token, "unknown escape in a text; known are \\\" \\\\ \\n \\x00");
    }
  }
  return out;
}

}  // namespace ingot::ir
