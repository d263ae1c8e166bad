#pragma once

#include <string>
#include <string_view>

#include "envoy/service/ratelimit/v3/rls.pb.h"

/// Messages of the rate limit service as JSON, by protobuf's mapping: names in either spelling, and
/// unknown ones are refused.
namespace weir::authz {

/// Fills an empty request. Returns what is wrong; empty: nothing.
std::string read_json(std::string_view text, envoy::service::ratelimit::v3::RateLimitRequest& out);
/// Members with default values are omitted.
std::string to_json(const envoy::service::ratelimit::v3::RateLimitResponse& response);

}  // namespace weir::authz
