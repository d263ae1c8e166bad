#include "policies/lang/frame.h"

/// What the connection says.
namespace weir::policies {
namespace {

Extracted read_ip(Frame& frame, const Argument&) noexcept {
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
