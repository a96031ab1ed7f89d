#include "runtime/object_info.h"

#include <bit>
#include <cstring>
#include <iterator>
#include <set>
#include <type_traits>

#include "base/message.h"
#include "runtime/crc32c.h"
#include "runtime/load_error.h"

namespace ingot::runtime {

namespace {

static_assert(std::endian::native == std::endian::little);

// The format: the magic, then numbers of the widths in the code below, strings and lists after their lengths
// as uint32. The checksum is that of all that follows it.
constexpr std::string_view kMagic = "INGOTINF";
constexpr uint32_t kVersion = 6;
constexpr size_t kChecksumEnd = kMagic.size() + sizeof kVersion + sizeof(uint32_t);

constexpr base::ExceptionKind kExceptions[] = {
#define X(name) base::ExceptionKind::name,
    INGOT_EXCEPTIONS(X)
#undef X
};

class Writer {
 public:
  template <class T>
  void number(T value) {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>);
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out_.append(bytes, sizeof bytes);
  }
  void text(std::string_view text) {
    count(text.size());
    out_ += text;
  }
  void count(size_t n) {
    INGOT_ASSERT(n <= UINT32_MAX, "runtime: an object's table is too long");
    number(static_cast<uint32_t>(n));
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

void require(bool holds, const char* what) {
  if (!holds) throw LoadError(std::string("damaged object information: ") + what);
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
  T number() {
    T value;
    auto bytes = take(sizeof value);
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string text() {
    auto bytes = take(number<uint32_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// The length of a list whose elements take at least `least` bytes each.
  size_t count(size_t least) {
    const size_t n = number<uint32_t>();
    require(n <= rest_.size() / least, "a list is longer than the bytes");
    return n;
  }
  base::DType dtype() {
    auto value = number<uint8_t>();
    require(value < base::kDTypeCount, "unknown dtype");
    return static_cast<base::DType>(value);
  }
  size_t rest() const { return rest_.size(); }

 private:
  std::span<const std::byte> take(size_t n) {
    require(n <= rest_.size(), "it ends early");
    auto bytes = rest_.first(n);
    rest_ = rest_.subspan(n);
    return bytes;
  }

  std::span<const std::byte> rest_;
};

bool is_valid(const SlotInfo& slot) {
  if (slot.kind > SlotInfo::Kind::Buffer) return false;
  return slot.rank <= (slot.kind == SlotInfo::Kind::View ? SlotInfo::kMaxRank : 0);
}

bool is_valid(const ErrorSite& site) {
  if (site.arguments.size() > Error::kMaxArguments) return false;
  for (const base::DType t : site.arguments)
    if (base::is_complex(t)) return false;
  return base::count_holes(site.message) == static_cast<int>(site.arguments.size());
}

void write(Writer& out, std::span<const SlotInfo> slots) {
  out.count(slots.size());
  for (const SlotInfo& slot : slots) {
    INGOT_ASSERT(is_valid(slot), "runtime: a slot's description is out of range");
    out.number(slot.kind);
    out.number(slot.dtype);
    out.number(slot.rank);
    out.number(static_cast<uint8_t>(slot.is_written));
  }
}

void write(Writer& out, const base::SourceLocation& location, const std::string& function) {
  out.text(location.file);
  out.number(location.line);
  out.number(location.column);
  out.number(location.end_column);
  out.text(function);
}

void write(Writer& out, const ErrorSite& site) {
  INGOT_ASSERT(is_valid(site), "runtime: a message does not fit its arguments: " + site.message);
  out.number(site.kind);
  out.text(site.message);
  out.count(site.arguments.size());
  for (const base::DType t : site.arguments) out.number(t);
  write(out, site.location, site.function);
  out.count(site.callers.size());
  for (const base::Site& caller : site.callers) write(out, caller.location, caller.function);
  out.number(site.made);
}

std::vector<SlotInfo> read_slots(Reader& in) {
  std::vector<SlotInfo> slots(in.count(4));
  for (SlotInfo& slot : slots) {
    auto kind = in.number<uint8_t>();
    slot.kind = static_cast<SlotInfo::Kind>(kind);
    slot.dtype = in.dtype();
    slot.rank = in.number<uint8_t>();
    const auto is_written = in.number<uint8_t>();
    require(is_valid(slot) && is_written <= 1, "a slot is out of range");
    slot.is_written = is_written != 0;
  }
  return slots;
}

void read(Reader& in, base::SourceLocation& location, std::string& function) {
  location.file = in.text();
  location.line = in.number<uint32_t>();
  location.column = in.number<uint32_t>();
  location.end_column = in.number<uint32_t>();
  function = in.text();
}

ErrorSite read_site(Reader& in) {
  ErrorSite site;
  auto kind = in.number<uint8_t>();
  require(kind < std::size(kExceptions), "unknown exception");
  site.kind = static_cast<base::ExceptionKind>(kind);
  site.message = in.text();
  site.arguments.resize(in.count(1));
  for (base::DType& t : site.arguments) t = in.dtype();
  read(in, site.location, site.function);
  site.callers.resize(in.count(20));
  for (base::Site& caller : site.callers) read(in, caller.location, caller.function);
  site.made = in.number<int64_t>();
  require(is_valid(site), "a message does not fit its arguments");
  return site;
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string encode(const ObjectInfo& info) {
  Writer body;
  body.text(info.build);
  body.text(info.features);
  body.count(info.entries.size());
  for (const EntryInfo& entry : info.entries) {
    body.text(entry.symbol);
    write(body, entry.params);
    write(body, entry.results);
    body.number(static_cast<uint8_t>(entry.wants_default_state));
  }
  body.count(info.sites.size());
  for (const ErrorSite& site : info.sites) write(body, site);
  std::string payload = body.take();

  Writer head;
  head.number(kVersion);
  head.number(crc32c(std::as_bytes(std::span(payload))));
  return std::string(kMagic) + head.take() + payload;
}

ObjectInfo decode(std::span<const std::byte> bytes) {
  require(bytes.size() >= kChecksumEnd && as_text(bytes.first(kMagic.size())) == kMagic, "it is none");
  Reader in(bytes.subspan(kMagic.size()));
  require(in.number<uint32_t>() == kVersion, "it is of another version");
  require(in.number<uint32_t>() == crc32c(bytes.subspan(kChecksumEnd)), "the checksum is wrong");

  ObjectInfo info;
  info.build = in.text();
  info.features = in.text();
  info.entries.resize(in.count(13));
  std::set<std::string_view> names;
  for (EntryInfo& entry : info.entries) {
    entry.symbol = in.text();
    entry.params = read_slots(in);
    entry.results = read_slots(in);
    const auto wants_default_state = in.number<uint8_t>();
    require(wants_default_state <= 1, "unknown floating-point states");
    entry.wants_default_state = wants_default_state == 1;
    require(names.insert(entry.symbol).second, "two entries have one name");
  }
  const size_t sites = in.count(33);
  info.sites.reserve(sites);
  for (size_t i = 0; i < sites; ++i) info.sites.push_back(read_site(in));
  require(in.rest() == 0, "bytes are left over");
  return info;
}

}  // namespace ingot::runtime
