#include "policies/set/peer_key.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "core/assert.h"

namespace weir::policies {
namespace {

/// The first text of `length:text...`, which moves past it.
std::optional<std::string_view> next_text(std::string_view& rest) {
  std::size_t length = 0;
  const char* const end = rest.data() + rest.size();
  const auto [at, error] = std::from_chars(rest.data(), end, length);
  if (error != std::errc() || at == end || *at != ':') return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(at - rest.data()) + 1);
  if (length > rest.size()) return std::nullopt;
  const std::string_view text = rest.substr(0, length);
  rest.remove_prefix(length);
  return text;
}

/// `descriptor_key` as entries.
bool read_descriptor_key(std::string_view text, std::vector<DescriptorEntry>& out) {
  while (!text.empty()) {
    const auto key = next_text(text);
    const auto value = key ? next_text(text) : std::nullopt;
    if (!value) return false;
    out.push_back({*key, *value});
  }
  return true;
}

}  // namespace

void append_peer_key(std::string& out, const config::PeerKey& key, const Descriptor& descriptor,
                     TimePoint wall) {
  const bool of_rule = !key.entries.empty();
  WEIR_ASSERT(!of_rule || key.entries.size() == descriptor.entries.size());
  out += key.prefix;
  out.append(descriptor.domain).append("_");
  for (std::size_t i = 0; i < descriptor.entries.size(); ++i) {
    const DescriptorEntry& entry = descriptor.entries[i];
    const bool fixed = of_rule && key.entries[i].fixed;
    out.append(entry.key).append("_");
    out.append(fixed ? std::string_view(key.entries[i].value) : entry.value).append("_");
  }
  const std::int64_t ms = to_ms(wall), unit = key.unit.count();
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, ms / unit * (unit / 1'000)).ptr;
  out.append(digits, end);
}

Result<std::string> peer_key(const config::PeerKey& key, std::span<const std::string_view> parts,
                             TimePoint wall) {
  std::vector<DescriptorEntry> entries;
  Descriptor descriptor;
  descriptor.domain = key.domain;
  std::size_t used = 0;
  if (key.entries.empty()) {
    if (parts.size() != 2 || !read_descriptor_key(parts[1], entries))
      return make_error_code(Error::malformed);
    descriptor.domain = parts[0];
    used = 2;
  }
  for (const config::PeerKey::Entry& entry : key.entries) {
    if (!entry.fixed && used == parts.size()) return make_error_code(Error::malformed);
    entries.push_back({entry.key, entry.fixed ? std::string_view(entry.value) : parts[used++]});
  }
  if (used != parts.size()) return make_error_code(Error::malformed);
  descriptor.entries = entries;
  std::string out;
  append_peer_key(out, key, descriptor, wall);
  return out;
}

}  // namespace weir::policies
