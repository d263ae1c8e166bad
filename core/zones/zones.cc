#include "core/zones/zones.h"

#include <cctz/zone_info_source.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>

namespace weir::zones {
namespace {

/// No zone is larger: that with the most changes has 2 KB.
constexpr std::size_t kLargestZone = 256UL << 10;

struct CloseArchive {
  void operator()(gzFile file) const noexcept { gzclose(file); }
};
using Archive = std::unique_ptr<gzFile_s, CloseArchive>;

struct Place {
  std::size_t offset = 0, size = 0;
};

/// One line of the index; nothing if it is damaged.
std::optional<Place> place_in(std::string_view numbers) {
  Place place;
  const char* const end = numbers.data() + numbers.size();
  const auto offset = std::from_chars(numbers.data(), end, place.offset);
  if (offset.ec != std::errc() || offset.ptr == end || *offset.ptr != ' ') return std::nullopt;
  const auto size = std::from_chars(offset.ptr + 1, end, place.size);
  if (size.ec != std::errc() || size.ptr != end || place.size > kLargestZone) return std::nullopt;
  return place;
}

/// Reads the index to its end: the zones begin after it.
std::optional<Place> find_place(gzFile archive, std::string_view name) {
  std::array<char, 256> buffer{};
  std::optional<Place> found;
  while (gzgets(archive, buffer.data(), static_cast<int>(buffer.size())) != nullptr) {
    std::string_view line(buffer.data());
    if (line.empty() || line.back() != '\n') return std::nullopt;
    line.remove_suffix(1);
    if (line.empty()) return found;
    if (!found && line.size() > name.size() && line[name.size()] == ' ' && line.starts_with(name))
      found = place_in(line.substr(name.size() + 1));
  }
  return std::nullopt;
}

class Bytes final : public cctz::ZoneInfoSource {
 public:
  explicit Bytes(std::string bytes) : bytes_(std::move(bytes)) {}

  std::size_t Read(void* to, std::size_t size) override {
    const std::size_t taken = std::min(size, bytes_.size() - at_);
    std::memcpy(to, bytes_.data() + at_, taken);
    at_ += taken;
    return taken;
  }
  int Skip(std::size_t size) override {
    if (size > bytes_.size() - at_) return -1;
    at_ += size;
    return 0;
  }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

using Source = std::unique_ptr<cctz::ZoneInfoSource>;

Source source_of(const std::string& name, const std::function<Source(const std::string&)>& system) {
  if (Source file = system(name)) return file;
  std::string bytes = in_archive(kArchive, name);
  if (bytes.empty()) return nullptr;
  return std::make_unique<Bytes>(std::move(bytes));
}

}  // namespace

bool load(const std::string& name, cctz::time_zone& zone) {
  const bool plain = name.find("..") == std::string::npos && !name.empty() && name.front() != '/' &&
                     name.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789_+-/") == std::string::npos;
  zone = cctz::utc_time_zone();
  return plain && cctz::load_time_zone(name, &zone);
}

std::string in_archive(const char* path, std::string_view name) {
  const Archive archive(gzopen(path, "rb"));
  if (archive == nullptr || name.empty()) return {};
  const auto place = find_place(archive.get(), name);
  if (!place || gzseek(archive.get(), static_cast<z_off_t>(place->offset), SEEK_CUR) < 0) return {};
  std::string bytes(place->size, '\0');
  const int got = gzread(archive.get(), bytes.data(), static_cast<unsigned>(bytes.size()));
  if (got < 0 || static_cast<std::size_t>(got) != bytes.size()) return {};
  return bytes;
}

}  // namespace weir::zones

namespace cctz_extension {
// libcctz has a weak one, which knows the system's files only.
ZoneInfoSourceFactory zone_info_source_factory = weir::zones::source_of;
}  // namespace cctz_extension
