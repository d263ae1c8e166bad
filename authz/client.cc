#include "authz/client.h"

namespace weir::authz {

std::optional<Address> ClientRules::client(const std::optional<Address>& source,
                                           std::span<const HeaderField> headers) const noexcept {
  const std::optional<Address> last = rules_.entry_from_right(headers, 0);
  if (trusting_) {
    if (source) return rules_.resolve(*source, headers);
    if (!last) return std::nullopt;
    return rules_.resolve_behind(*last, headers);
  }
  if (source) {
    const bool list = rules_.header() == "x-forwarded-for" || rules_.header() == "forwarded";
    // A header of another name is the proxy's own word about the client.
    if (!list) return rules_.entry_from_right(headers, hops_).value_or(*source);
    if (hops_ == 0) return source;
    const unsigned appended = last == source ? 1 : 0;
    return rules_.entry_from_right(headers, hops_ - 1 + appended).value_or(*source);
  }
  // Fewer entries than trusted proxies: the client came past them, and the asking one saw it
  // itself.
  const std::optional<Address> found = rules_.entry_from_right(headers, hops_);
  return found ? found : last;
}

}  // namespace weir::authz
