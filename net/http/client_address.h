#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/address.h"
#include "core/event.h"

namespace weir::net {

/// The rules by which weir determines the address of the client. Immutable after construction;
/// thread-safe.
class ClientAddressRules {
 public:
  /// `trust`: the hops that are believed. `header`: the one field they are believed about, any
  /// letter case: a comma list of addresses such as X-Forwarded-For (one address is a list too), or
  /// `forwarded` (RFC 7239), of which the `for` parameters count.
  ClientAddressRules(std::vector<Cidr> trust, std::string_view header);

  bool trusts(const Address& hop) const noexcept;

  /// The right-most entry of the header that is not a trusted hop, all of its lines joined in
  /// order; the left-most entry if all are trusted. Ports, brackets and zones are stripped. The
  /// peer itself if it is not trusted, if there is no entry, or if the entry that decides is not an
  /// address.
  Address resolve(const Address& peer, std::span<const HeaderField> fields) const noexcept;
  /// The same of a peer that is believed, listed or not.
  Address resolve_behind(const Address& peer, std::span<const HeaderField> fields) const noexcept;
  /// The entry of the header with this number, counted from the right (0 is the last one), all of
  /// its lines joined in order. None: there are fewer, or garbage is there or to the right of
  /// it.
  std::optional<Address> entry_from_right(std::span<const HeaderField> fields,
                                          unsigned number) const noexcept;
  const std::string& header() const noexcept { return header_; }

 private:
  /// Gives every entry, the last one first, until `use` says false; garbage is nullopt.
  template <class Use>
  void each_from_right(std::span<const HeaderField> fields, Use use) const noexcept;

  std::vector<Cidr> trust_;
  std::string header_;
  bool forwarded_ = false;
};

/// One hop in the form of such fields: `1.2.3.4`, `1.2.3.4:80`, `::1`, `[::1]`, `[::1]:80`,
/// `fe80::1%eth0`. Anything else, names included: nullopt.
std::optional<Address> parse_hop(std::string_view text) noexcept;

}  // namespace weir::net
