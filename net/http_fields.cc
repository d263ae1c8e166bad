#include "net/http_fields.h"

#include <algorithm>

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
    {"x-forwarded-by", FieldKind::x_forwarded_other},
    {"x-forwarded-port", FieldKind::x_forwarded_other},
    {"x-forwarded-prefix", FieldKind::x_forwarded_other},
    {"x-forwarded-scheme", FieldKind::x_forwarded_other},
    {"x-forwarded-server", FieldKind::x_forwarded_other},
    {"x-forwarded-ssl", FieldKind::x_forwarded_other},
};

constexpr std::size_t kSlots = 128;

/// Collision-free over kKnown (the multiplier was searched for; the table below refuses to compile
/// otherwise). Setting bit 5 folds letters and changes no digit and no '-'.
constexpr std::size_t slot(std::string_view name) noexcept {
  const auto at = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(name[i]) | 0x20u);
  };
  return (name.size() + at(name.size() - 1) + 34 * at(name.size() - 2) + at(0)) % kSlots;
}

constexpr auto kTable = [] {
  std::array<Known, kSlots> table{};
  for (const Known& known : kKnown) {
    Known& place = table[slot(known.name)];
    if (!place.name.empty()) throw "two names in one slot: search for another multiplier";
    place = known;
  }
  return table;
}();

/// Both of them tokens, `lower` of lower-case letters, digits and '-': then bit 5 is all that
/// differs.
inline bool same_token(const char* name, std::string_view lower) noexcept {
  for (std::size_t i = 0; i < lower.size(); ++i) {
    if (static_cast<char>(name[i] | 0x20) != lower[i]) return false;
  }
  return true;
}

constexpr std::string_view kOurPrefix = "x-weir-";

}  // namespace

FieldKind field_kind(std::string_view name) noexcept {
  if (name.size() < 2) return FieldKind::plain;
  const Known& known = kTable[slot(name)];
  if (known.name.size() == name.size() && same_token(name.data(), known.name)) return known.kind;
  if (name.size() > 6 && (name[0] | 0x20) == 'x' && (name[2] | 0x20) == 'w' &&
      same_token(name.data(), kOurPrefix)) {
    return FieldKind::x_weir;
  }
  return FieldKind::plain;
}

bool same_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return ascii_lower(x) == ascii_lower(y);
         });
}

bool aliases(std::string_view text, std::string_view lower) noexcept {
  return text.size() == lower.size() &&
         std::equal(text.begin(), text.end(), lower.begin(),
                    [](char x, char y) { return (x == '_' ? '-' : ascii_lower(x)) == y; });
}

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

}  // namespace weir::net
