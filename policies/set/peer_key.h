#pragma once

#include <span>
#include <string>
#include <string_view>

#include "config/model.h"
#include "core/clock.h"
#include "core/descriptor.h"
#include "core/result.h"

namespace weir::policies {

/// Appends the key under which envoyproxy/ratelimit counts this descriptor in the window that
/// `wall` is in: `PREFIXDOMAIN_key_value_key_value_START`, START in seconds since the epoch. Not
/// injective, as there.
void append_peer_key(std::string& out, const config::PeerKey& key, const Descriptor& descriptor,
                     TimePoint wall);

/// The same for the parts of the policy's own key: values of the entries that have several, or
/// `domain` and `descriptor_key`. malformed: they are no such parts.
Result<std::string> peer_key(const config::PeerKey& key, std::span<const std::string_view> parts,
                             TimePoint wall);

}  // namespace weir::policies
