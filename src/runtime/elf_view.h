#pragma once

#include <elf.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// A relocatable ELF64 x86-64 object in memory, its headers checked: all that is read through this class is
/// inside the image, for any bytes that the image holds. The image must outlive the view; it need not be
/// aligned.
class ElfView {
 public:
  /// Throws LoadError if the image is not such an object, if a header, section or name is outside it, or if a
  /// symbol is outside its section.
  explicit ElfView(std::span<const std::byte> image);

  const Elf64_Ehdr& header() const { return header_; }
  std::span<const Elf64_Shdr> sections() const { return sections_; }
  std::string_view section_name(size_t section) const;
  /// The bytes of a section; none for one without bytes in the file (.bss).
  std::span<const std::byte> content(size_t section) const;
  /// The first section of this name.
  std::optional<size_t> find_section(std::string_view name) const;

  /// The symbol table; empty if there is none. Entry 0 is the null symbol.
  std::span<const Elf64_Sym> symbols() const { return symbols_; }
  std::string_view symbol_name(size_t symbol) const;

  /// The entries of a SHT_RELA section. Each names an existing symbol; offsets are not checked.
  std::vector<Elf64_Rela> relocations(size_t section) const;

 private:
  void read_sections();
  void read_symbols();
  void check_symbol(size_t symbol) const;
  std::string_view text_at(size_t string_table, size_t offset) const;

  std::span<const std::byte> image_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  size_t symbol_table_ = 0;
};

}  // namespace ingot::runtime
