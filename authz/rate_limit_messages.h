#pragma once

#include <cstdint>
#include <string_view>

#include "authz/rate_limit_call.h"
#include "envoy/service/ratelimit/v3/rls.pb.h"

/// A call of the rate limit service as Envoy's messages have it.
namespace weir::authz {

/// Whether the bytes of a RateLimitRequest are worth parsing. Ask before: the parser takes forty
/// times the bytes of empty descriptors.
enum class RequestSize : std::uint8_t {
  fits,
  too_large,   ///< more descriptors or entries than a RateLimitCall takes
  unreadable,  ///< no fields of protobuf, or groups, which no such message has
};
RequestSize size_of(std::string_view request) noexcept;
/// Fills the call with views into the request. Returns how many descriptors would give hits back,
/// which is not done.
std::int64_t read_request(const envoy::service::ratelimit::v3::RateLimitRequest& request,
                          RateLimitCall& call);
/// The result of a call. Texts that are not UTF-8 are omitted: Envoy could not read the answer.
void write_response(const RateLimitCall& call, const policies::PolicySet& set,
                    const envoy::service::ratelimit::v3::RateLimitRequest& request,
                    envoy::service::ratelimit::v3::RateLimitResponse& response);

}  // namespace weir::authz
