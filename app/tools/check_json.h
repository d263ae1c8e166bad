#pragma once

#include <string>
#include <string_view>

#include "envoy/service/auth/v3/external_auth.pb.h"

namespace weir::app {

/// Reads an Envoy CheckRequest from JSON, as protobuf spells it (`contextExtensions` or
/// `context_extensions`; `rawBody` in base64), as far as weir reads it; the rest is ignored.
/// The attributes alone are accepted. Returns the error; empty: none.
std::string read_check(std::string_view text, envoy::service::auth::v3::CheckRequest& out);

}  // namespace weir::app
