#pragma once

#include <optional>
#include <span>

#include "core/address.h"
#include "core/event.h"
#include "net/http/client_address.h"

namespace weir::authz {

/// `authz.client_ip`: the client of a request about which a proxy asks. A proxy that has
/// asked is believed; before it there may be others. Immutable; thread-safe.
class ClientRules {
 public:
  /// `trust`: the client is the last address outside of these networks. If it is empty, `hops`
  /// proxies before the asking one are trusted, whatever their addresses.
  ClientRules(std::vector<Cidr> trust, std::string_view header, unsigned hops)
      : trusting_(!trust.empty()), hops_(hops), rules_(std::move(trust), header) {}

  /// `source`: the other end of the proxy's own connection, if the proxy reports it apart from the
  /// header (ext_authz over gRPC). The header may then end with that address or not: a proxy may
  /// append it. Without `source`, the header's last entry is that other end. None: the client is
  /// unknown.
  std::optional<Address> client(const std::optional<Address>& source,
                                std::span<const HeaderField> headers) const noexcept;

  /// Whether a proxy at this address may ask: a proxy on this machine, or a trusted one. A proxy
  /// that asks chooses whose keys are charged.
  bool may_ask(const Address& peer) const noexcept {
    return peer == Address{} || peer.is_loopback() || rules_.trusts(peer);
  }
  const std::string& header() const noexcept { return rules_.header(); }

 private:
  bool trusting_;
  unsigned hops_;
  net::ClientAddressRules rules_;
};

}  // namespace weir::authz
