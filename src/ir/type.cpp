#include "ir/type.h"

#include "base/error.h"
#include "ir/lexicon.h"

namespace ingot::ir {

namespace {
constexpr std::string_view kSpaceNames[kSpaceCount] = {"host", "device", "pinned", "shared", "local"};
}

std::string_view name_of(Space space) { return kSpaceNames[static_cast<size_t>(space)]; }

Type TypeTable::intern(TypeKind kind, std::span<const Type> members) {
  std::string key(1, static_cast<char>(kind));
  for (Type member : members) {
    const uint32_t bits = member.bits();
    key.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  }
  const auto [it, is_new] = interned_.try_emplace(key, static_cast<uint32_t>(compounds_.size()));
  if (is_new) compounds_.emplace_back(members.begin(), members.end());
  return {kind, it->second};
}

Type TypeTable::optional(Type value) { return intern(TypeKind::Optional, {&value, 1}); }

Type TypeTable::results(std::span<const Type> members) {
  if (members.empty()) return {};
  return members.size() == 1 ? members[0] : intern(TypeKind::Results, members);
}

std::span<const Type> TypeTable::members(Type compound) const { return compounds_[compound.index()]; }

std::string TypeTable::to_string(Type type) const {
  const auto joined = [&](std::string_view open, std::string_view close) {
    std::string out(open);
    for (size_t i = 0; i < members(type).size(); ++i)
      out += (i == 0 ? "" : ", ") + to_string(members(type)[i]);
    return out += close;
  };
  const auto space = [&](std::string_view before) {
    return type.space() == Space::Host ? std::string()
                                       : std::string(before) + std::string(name_of(type.space()));
  };
  switch (type.kind()) {
    case TypeKind::Void: return "void";
    case TypeKind::Label: return "label";
    case TypeKind::Scalar: return std::string(base::info(type.dtype()).name);
    case TypeKind::Array:
      return "array<" + std::string(base::info(type.dtype()).name) + ", " + std::to_string(type.rank()) + ">";
    case TypeKind::View:
      return "view<" + std::string(base::info(type.dtype()).name) + ", " + std::to_string(type.rank()) +
             space(", ") + ">";
    case TypeKind::Buffer: return type.space() == Space::Host ? "buffer" : "buffer<" + space("") + ">";
    case TypeKind::Optional: return joined("optional<", ">");
    case TypeKind::Results: return joined("(", ")");
  }
  __builtin_unreachable();
}

}  // namespace ingot::ir
