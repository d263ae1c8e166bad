#pragma once

#include <string_view>
#include <vector>

#include "core/effect.h"
#include "envoy/service/auth/v3/external_auth.pb.h"
#include "gate/unsettled.h"

/// An Effect as Envoy's CheckResponse. Envoy can read the result of every effect:
/// texts are UTF-8, and header values have no control characters. Pure.
namespace weir::authz {

using CheckResponse = envoy::service::auth::v3::CheckResponse;

/// Whether an answer that lets the request pass has no further content: then it is the same for
/// every request.
bool says_nothing(const Effect& effect, const std::vector<std::string_view>& forged) noexcept;
/// Lets the request pass. `forged`: names of the client's own headers that are to be taken away;
/// `id`: as of append_allowed().
void fill_allowed(CheckResponse& out, const Effect& effect,
                  const std::vector<std::string_view>& forged, const gate::Unsettled::Id* id);
/// Refuses it. Envoy sends the status, headers and body to the client.
void fill_refused(CheckResponse& out, const Effect& effect);
/// Refuses it with a status of our own and a problem+json. `detail` may be empty.
void fill_problem(CheckResponse& out, int status, std::string_view detail);
/// Reports a failure by `error_response`: 503, or the operator's status for failures. `code`: of
/// gRPC.
void fill_error(CheckResponse& out, int code);
/// The id of a request that was held, in an answer that lets it pass.
void add_request_id(CheckResponse& out, const gate::Unsettled::Id& id);

}  // namespace weir::authz
