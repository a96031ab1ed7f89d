#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/loader.h"
#include "runtime/object_info.h"

namespace ingot::runtime {

/// The contents of a file of compiled code: `object` with `info` in a section `.ingot`, and a checksum of all
/// at the end. Still an ELF object to other tools. Throws LoadError if `object` is none or has such a
/// section.
std::string seal(std::span<const std::byte> object, const ObjectInfo& info);

/// A saved object in memory, ready to be called.
class Object {
 public:
  /// Of the bytes that `seal` returned, which are not needed afterwards. Nothing of them is used before the
  /// checksum has been compared, and nothing of it runs on a CPU that lacks a feature it needs. Throws
  /// LoadError.
  static Object open(std::span<const std::byte> bytes);
  /// Of a regular file, which is read, not mapped: so a file that shrinks meanwhile does no harm. A link is
  /// refused. Throws LoadError.
  static Object read_file(const std::string& path);

  const ObjectInfo& info() const { return info_; }
  const LoadedObject& code() const { return code_; }
  LoadedObject& code() { return code_; }
  /// Updates locations in the user's source, which were those when the code was made, to where they are now.
  void move_locations(const std::function<void(base::SourceLocation&)>& move);
  /// Throws base::InternalError unless `info` lists an entry of this name.
  Entry entry(std::string_view name) const;

 private:
  Object(LoadedObject code, ObjectInfo info) : code_(std::move(code)), info_(std::move(info)) {}

  LoadedObject code_;
  ObjectInfo info_;
};

}  // namespace ingot::runtime
