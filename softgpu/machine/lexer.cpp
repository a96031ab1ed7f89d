#include "softgpu/machine/lexer.h"

#include <algorithm>
#include <cctype>

namespace softgpu {

namespace {

bool begins_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' || c == '.';
}

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.' || c == '%' ||
         c == '@';
}

/// Goes through a text.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next() {
    skip();
    Token token{Token::End, text_.substr(at_, 0), line_};
    if (at_ >= text_.size()) return token;
    const size_t start = at_;
    const char c = text_[at_];
    if (begins_name(c)) {
      token.kind = Token::Name;
      take_name();
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      token.kind = Token::Number;
      while (at_ < text_.size() &&
             (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '.'))
        ++at_;
    } else if (c == '"') {
      const size_t end = text_.find('"', at_ + 1);
      if (end == std::string_view::npos) throw LoadError(line_, "a string without end");
      token.kind = Token::Text;
      token.text = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
      return token;
    } else {
      if (std::string_view("{}[]()<>,;:+-=@!|*/~&?").find(c) == std::string_view::npos)
        throw LoadError(line_, std::string("`") + c + "` is no PTX");
      token.kind = Token::Sign;
      ++at_;
    }
    token.text = text_.substr(start, at_ - start);
    return token;
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1;

  /// A name; a directive ends at the next dot (`.reg.b32`).
  void take_name() {
    const bool is_directive = text_[at_] == '.';
    ++at_;
    while (at_ < text_.size()) {
      if (is_directive && text_[at_] == '.') return;
      if (in_name(text_[at_])) {
        ++at_;
      } else if (text_.substr(at_, 2) == "::") {
        at_ += 2;
      } else {
        return;
      }
    }
  }

  void skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_.substr(at_, 2) == "/*") {
        const size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) throw LoadError(line_, "a comment without end");
        for (; at_ < end + 2; ++at_)
          if (text_[at_] == '\n') ++line_;
      } else {
        return;
      }
    }
  }
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  Lexer lexer(text);
  do tokens.push_back(lexer.next());
  while (tokens.back().kind != Token::End);
  return tokens;
}

}  // namespace softgpu
