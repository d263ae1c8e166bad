#include "net/http/client_address.h"

#include <algorithm>
#include <utility>

#include "core/chars/ascii.h"
#include "net/http/fields.h"

namespace weir::net {
namespace {

/// Hops looked at; a longer chain of trusted ones is garbage (each costs a parse and a look at
/// every block).
constexpr int kHopsMax = 64;

bool is_port(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), ascii::is_digit);
}

std::optional<Address> parse_v6(std::string_view text) noexcept {
  if (text.find(':') == std::string_view::npos) return std::nullopt;
  return Address::parse(text.substr(0, text.find('%')));
}

/// Takes the last element off `text` at a separator outside quotes. The caller has refused `\`, so
/// quotes pair up from either side.
std::string_view take_last(std::string_view& text, char separator) noexcept {
  bool quoted = false;
  for (std::size_t i = text.size(); i-- > 0;) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] == separator && !quoted) {
      const std::string_view last = text.substr(i + 1);
      text = text.substr(0, i);
      return ascii::trimmed(last);
    }
  }
  return ascii::trimmed(std::exchange(text, {}));
}

/// The `for` parameter of one element of Forwarded (RFC 7239, 4); must be the only one.
std::optional<Address> parse_forwarded(std::string_view element) noexcept {
  std::optional<Address> found;
  while (!element.empty()) {
    std::string_view pair = take_last(element, ';');
    if (!same_ignoring_case(pair.substr(0, 4), "for=")) continue;
    pair.remove_prefix(4);
    if (pair.size() >= 2 && pair.front() == '"' && pair.back() == '"') {
      pair = pair.substr(1, pair.size() - 2);
    }
    if (found) return std::nullopt;
    found = parse_hop(pair);
    if (!found) return std::nullopt;
  }
  return found;
}

}  // namespace

std::optional<Address> parse_hop(std::string_view text) noexcept {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && (rest.front() != ':' || !is_port(rest.substr(1)))) return std::nullopt;
    return parse_v6(text.substr(1, end - 1));
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return Address::parse(text);
  if (text.find(':', colon + 1) != std::string_view::npos) return parse_v6(text);
  if (!is_port(text.substr(colon + 1))) return std::nullopt;
  return Address::parse(text.substr(0, colon));
}

ClientAddressRules::ClientAddressRules(std::vector<Cidr> trust, std::string_view header)
    : trust_(std::move(trust)), header_(ascii::lowered(header)) {
  forwarded_ = header_ == "forwarded";
}

bool ClientAddressRules::trusts(const Address& hop) const noexcept {
  return std::any_of(trust_.begin(), trust_.end(),
                     [&](const Cidr& block) { return block.contains(hop); });
}

template <class Use>
void ClientAddressRules::each_from_right(std::span<const HeaderField> fields,
                                         Use use) const noexcept {
  int hops = 0;
  for (std::size_t i = fields.size(); i-- > 0;) {
    if (!same_ignoring_case(fields[i].name, header_)) continue;
    std::string_view line = fields[i].value;
    if (line.find('\\') != std::string_view::npos) {
      use(std::optional<Address>());
      return;
    }
    while (!line.empty()) {
      const std::string_view entry = take_last(line, ',');
      if (entry.empty()) continue;  // RFC 9110, 5.6.1.2: empty list elements are ignored
      std::optional<Address> hop;
      if (++hops <= kHopsMax) hop = forwarded_ ? parse_forwarded(entry) : parse_hop(entry);
      if (!use(hop) || !hop) return;
    }
  }
}

Address ClientAddressRules::resolve(const Address& peer,
                                    std::span<const HeaderField> fields) const noexcept {
  return trusts(peer) ? resolve_behind(peer, fields) : peer;
}

Address ClientAddressRules::resolve_behind(const Address& peer,
                                           std::span<const HeaderField> fields) const noexcept {
  Address nearest = peer;
  each_from_right(fields, [&](const std::optional<Address>& hop) {
    nearest = hop.value_or(peer);
    return hop && trusts(*hop);
  });
  return nearest;
}

std::optional<Address> ClientAddressRules::entry_from_right(std::span<const HeaderField> fields,
                                                            unsigned number) const noexcept {
  std::optional<Address> found;
  unsigned seen = 0;
  each_from_right(fields, [&](const std::optional<Address>& hop) {
    if (seen == number) found = hop;
    return seen++ < number;
  });
  return found;
}

}  // namespace weir::net
