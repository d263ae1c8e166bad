#include "policies/lang/frame.h"

/// Extractors of the connection.
namespace weir::policies {
namespace {

/// Envoy's action `remote_address` gives the client's address, as Envoy trusts it.
Extracted read_remote_address(Frame& frame, const Descriptor& descriptor) noexcept {
  const DescriptorEntry* found = nullptr;
  for (const DescriptorEntry& entry : descriptor.entries) {
    if (entry.key != "remote_address") continue;
    if (found != nullptr) return Extracted::miss(MissReason::ambiguous);
    found = &entry;
  }
  if (found == nullptr) return Extracted::miss(MissReason::absent);
  const auto address = Address::parse(found->value);
  const Address* const kept = address ? frame.arena().make(*address) : nullptr;
  return kept != nullptr ? Extracted{Value::address(kept)} : Extracted::miss(MissReason::failed);
}

Extracted read_ip(Frame& frame, const Argument&) noexcept {
  if (frame.descriptor() != nullptr) return read_remote_address(frame, *frame.descriptor());
  if (frame.request() == nullptr) return Extracted::miss(MissReason::unread);
  return {Value::address(&frame.request()->client)};
}

constexpr ExtractorRow kNetworkRows[] = {
    {"ip", ArgumentForm::none, Type::address, Side::request, false, false,
     "the client's address, as the rules for trusted hops (proxy.client_ip) decide it", read_ip},
};

}  // namespace

std::span<const ExtractorRow> network_extractors() { return kNetworkRows; }

}  // namespace weir::policies
