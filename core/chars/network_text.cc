#include "core/chars/network_text.h"

namespace weir {

bool is_network(std::string_view text) noexcept {
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos || !Address::parse(text.substr(0, slash))) return false;
  const std::string_view bits = text.substr(slash + 1);
  return !bits.empty() && bits.size() <= 3 &&
         bits.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string network_fault(std::string_view text) {
  if (!is_network(text) || Cidr::parse(text)) return {};
  if (const auto block = Cidr::around(text))
    return "the bits after the prefix must be zero: " + block->to_string();
  const std::size_t slash = text.rfind('/');
  const std::string_view bits = text.substr(slash + 1);
  if (bits.size() > 1 && bits.front() == '0') return "a prefix has no zero before its number";
  const auto address = Address::parse(text.substr(0, slash));
  if (!address->is_v4()) return "a prefix has 0 to 128 bits";
  // `::ffff:10.0.0.0/8`: the first 96 bits say that it is an IPv4 address.
  const bool wrapped = text.substr(0, slash).find(':') != std::string_view::npos;
  return wrapped ? "a prefix of an IPv4 address in IPv6 has 97 to 128 bits"
                 : "a prefix has 0 to 32 bits";
}

std::optional<AddressRange> read_range(std::string_view text) noexcept {
  constexpr std::string_view kTo = " - ";
  if (is_network(text)) {
    const auto block = Cidr::around(text);
    return block ? std::optional(AddressRange::of(*block)) : std::nullopt;
  }
  const std::size_t to = text.find(kTo);
  if (to == std::string_view::npos) return std::nullopt;
  const auto first = Address::parse(text.substr(0, to));
  const auto last = Address::parse(text.substr(to + kTo.size()));
  if (!first || !last || first->is_v4() != last->is_v4() || *last < *first) return std::nullopt;
  return AddressRange{*first, *last};
}

}  // namespace weir
