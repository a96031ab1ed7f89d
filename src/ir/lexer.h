#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace ingot::ir {

/// One token of the text form.
struct Token {
  enum class Kind : uint8_t {
    End,
    Word,    ///< `func`, `3`, `1e-05`, `0x7f`
    Value,   ///< `%name`
    Symbol,  ///< `@name`, `@"name"`
    Text,    ///< `"..."`
    Mark,    ///< one of `( ) { } [ ] < > , : = ^ -`, or `->`
  };
  Kind kind = Kind::End;
  std::string_view text;  ///< without `%`, `@` and quotes, escapes as written
  uint32_t line = 1;
  uint32_t column = 0;

  bool is_mark(std::string_view mark) const { return kind == Kind::Mark && text == mark; }
  bool is_word(std::string_view word) const { return kind == Kind::Word && text == word; }
};

/// Cuts a text into tokens, one ahead. Copying it remembers a position.
class Lexer {
 public:
  /// Both must outlive the lexer.
  Lexer(std::string_view text, const std::string& file);

  const Token& peek() const { return token_; }
  /// The current token; goes on to the next.
  Token next();
  /// Throws UserError at the token.
  [[noreturn]] void fail(const Token& at, const std::string& message) const;
  /// The characters that a Text or Symbol token represents.
  std::string unescaped(const Token& token) const;

 private:
  void scan();
  void skip_blanks();
  size_t word_end(size_t from) const;
  void scan_quoted();

  std::string_view text_;
  const std::string* file_;
  size_t at_ = 0;
  size_t line_start_ = 0;
  uint32_t line_ = 1;
  Token token_;
};

}  // namespace ingot::ir
