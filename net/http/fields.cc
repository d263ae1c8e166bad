#include "net/http/fields.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/chars/ascii.h"
#include "core/chars/header_name.h"
#include "net/http/hop_fields.h"
#include "net/http/token.h"

namespace weir::net {
namespace {

struct Known {
  std::string_view name;
  FieldKind kind = FieldKind::plain;
};

constexpr Known kKnown[] = {
    {"host", FieldKind::host},
    {"content-length", FieldKind::content_length},
    {"transfer-encoding", FieldKind::transfer_encoding},
    {"connection", FieldKind::connection},
    {"upgrade", FieldKind::upgrade},
    {"expect", FieldKind::expect},
    {"sec-websocket-key", FieldKind::sec_websocket_key},
    {"sec-websocket-version", FieldKind::sec_websocket_version},
    {"sec-websocket-accept", FieldKind::sec_websocket_accept},
    {"keep-alive", FieldKind::hop},
    {"te", FieldKind::hop},
    {"trailer", FieldKind::hop},
    {"http2-settings", FieldKind::hop},
    {"proxy",
     FieldKind::hop},  // no hop-by-hop field, but CGI apps read it as HTTP_PROXY ("httpoxy")
    {"proxy-connection", FieldKind::hop},
    {"proxy-authenticate", FieldKind::hop},
    {"proxy-authorization", FieldKind::hop},
    {"proxy-authentication-info", FieldKind::hop},
    {"x-forwarded-for", FieldKind::x_forwarded_for},
    {"x-forwarded-proto", FieldKind::x_forwarded_proto},
    {"x-forwarded-host", FieldKind::x_forwarded_host},
    {"x-request-id", FieldKind::x_request_id},
    {"forwarded", FieldKind::x_forwarded_other},
    {"x-real-ip", FieldKind::x_forwarded_other},
    {"x-client-ip", FieldKind::x_forwarded_other},
    {"true-client-ip", FieldKind::x_forwarded_other},
    {"x-cluster-client-ip", FieldKind::x_forwarded_other},
    {"x-forwarded", FieldKind::x_forwarded_other},
    {"max-forwards", FieldKind::max_forwards},
    {"cf-connecting-ip", FieldKind::x_forwarded_other},
    {"cf-connecting-ipv6", FieldKind::x_forwarded_other},
    {"cf-pseudo-ipv4", FieldKind::x_forwarded_other},
    {"fastly-client-ip", FieldKind::x_forwarded_other},
    {"fly-client-ip", FieldKind::x_forwarded_other},
    {"do-connecting-ip", FieldKind::x_forwarded_other},
    {"x-original-url", FieldKind::x_forwarded_other},
    {"x-rewrite-url", FieldKind::x_forwarded_other},
    {"x-original-uri", FieldKind::x_forwarded_other},
    {"x-original-host", FieldKind::x_forwarded_other},
    {"x-original-forwarded-for", FieldKind::x_forwarded_other},
    {"x-azure-clientip", FieldKind::x_forwarded_other},
    {"x-azure-socketip", FieldKind::x_forwarded_other},
    {"x-appengine-user-ip", FieldKind::x_forwarded_other},
    {"x-vercel-forwarded-for", FieldKind::x_forwarded_other},
    {"x-nf-client-connection-ip", FieldKind::x_forwarded_other},
    {"x-originating-ip", FieldKind::x_forwarded_other},
    {"x-arr-clientcert", FieldKind::x_forwarded_other},
    {"$wscc", FieldKind::x_forwarded_other},  // the plugin of WebSphere
    {"$wsra", FieldKind::x_forwarded_other},
    {"$wsrh", FieldKind::x_forwarded_other},
    {"$wsru", FieldKind::x_forwarded_other},
};

constexpr std::size_t kSlots = 256;

/// Collision-free over kKnown (the multipliers were searched for; the table below refuses to
/// compile otherwise). Setting bit 5 folds letters and changes no digit and no '-'.
constexpr std::size_t slot(const char* name, std::size_t size) noexcept {
  const auto at = [name](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(name[i]) | 0x20u);
  };
  return (size + at(size - 1) + 3 * at(size - 2) + 5 * at(0) + 24 * at(size / 2)) % kSlots;
}

constexpr auto kTable = [] {
  std::array<Known, kSlots> table{};
  for (const Known& known : kKnown) {
    Known& place = table[slot(known.name.data(), known.name.size())];
    if (!place.name.empty()) throw "two names in one slot: search for other multipliers";
    place = known;
  }
  return table;
}();

/// Bit of a first letter. Characters that are no letters share bits with letters: harmless, the
/// table decides.
constexpr std::uint32_t letter_bit(char c) noexcept {
  return std::uint32_t{1} << (static_cast<unsigned char>(c) & 31u);
}

/// By size, the first letters of known names. Most fields of a head are not known, and this table
/// alone shows it.
constexpr auto kFirstLetters = [] {
  std::array<std::uint32_t, 32> letters{};
  for (const Known& known : kKnown) letters[known.name.size()] |= letter_bit(known.name.front());
  return letters;
}();

[[gnu::always_inline]] inline FieldKind kind_of(const char* p, std::size_t size) noexcept {
  if (size < 2) return FieldKind::plain;
  if (size < kFirstLetters.size() && (kFirstLetters.data()[size] & letter_bit(*p)) != 0) {
    const Known& known = kTable.data()[slot(p, size)];
    if (known.name.size() == size && same_token(p, known.name.data(), size)) return known.kind;
  }
  if ((*p | 0x20) == 'x') {
    return size > 2 && may_be_of_a_hop(p[2]) ? kind_by_prefix(p, size) : FieldKind::plain;
  }
  return size >= kShortestOfHops && may_be_of_a_hop(p[0], p[1]) ? kind_without_x(p, size)
                                                                : FieldKind::plain;
}

}  // namespace

FieldKind field_kind(std::string_view name) noexcept { return kind_of(name.data(), name.size()); }

void FieldList::find_kinds() noexcept {
  special = {};
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view name = fields.data()[i].name;
    FieldKind& kind = kinds.data()[i];
    if (kind == FieldKind::plain) [[likely]]
      kind = kind_of(name.data(), name.size());
    if (kind != FieldKind::plain) special[i / 64] |= std::uint64_t{1} << i % 64;
  }
}

bool same_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return ascii::lower(x) == ascii::lower(y);
         });
}

std::string_view media_type(std::string_view content_type) noexcept {
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  const std::size_t end = type.find_last_not_of(" \t");
  return end == std::string_view::npos ? std::string_view() : type.substr(0, end + 1);
}

bool aliases(std::string_view a, std::string_view b) noexcept { return same_cgi_name(a, b); }

const HeaderField* FieldList::find(std::string_view name) const noexcept {
  for (const HeaderField& field : span()) {
    if (same_ignoring_case(field.name, name)) return &field;
  }
  return nullptr;
}

const HeaderField* FieldList::find(FieldKind kind) const noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    if (kinds[i] == kind) return &fields[i];
  }
  return nullptr;
}

std::string_view FieldList::only_value(FieldKind kind) const noexcept {
  std::string_view found;
  int times = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (kinds[i] != kind) continue;
    found = fields[i].value;
    ++times;
  }
  return times == 1 ? found : std::string_view{};
}

}  // namespace weir::net
