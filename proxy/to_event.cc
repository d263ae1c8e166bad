#include "proxy/to_event.h"

namespace weir::proxy {

net::HttpRefusal to_event(const net::RequestHead& head, const Settings& settings,
                          const PathRules& path, const Peer& peer, TimePoint time,
                          std::span<char> path_room, net::NormalTarget& target,
                          Request& out) noexcept {
  out.time = time;
  out.method = head.method;
  out.target = head.target;
  out.host = head.host;
  out.scheme = "http";
  if (peer.trusted) {
    const std::string_view proto = head.fields.only_value(net::FieldKind::x_forwarded_proto);
    if (net::same_ignoring_case(proto, "https")) out.scheme = "https";
  }
  out.headers = head.fields.span();
  out.client = settings.client_rules.resolve(peer.address, out.headers);
  out.body_state = BodyState::not_read;
  out.body = {};
  if (head.asterisk) {
    target = {};
    target.path = target.forward = target.target = head.target;
    target.describe(out);
    return net::HttpRefusal::none;
  }
  const net::HttpRefusal refusal = net::normalise_target(head.target, path, path_room, target);
  if (refusal != net::HttpRefusal::none) return refusal;
  target.describe(out);
  return net::HttpRefusal::none;
}

}  // namespace weir::proxy
