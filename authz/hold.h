#pragma once

#include <string>

#include "core/effect.h"
#include "policies/explain/rate_headers.h"

namespace weir::authz {

/// The refusal in place of a hold that would outlast the time-out of the caller: 429 with
/// Retry-After. Writes the header to `lines`, which must outlive the effect; the effect also keeps
/// the views of the cause.
inline Effect refusal_instead_of(const Effect& hold, std::string& lines) {
  lines.clear();
  policies::append_retry_after(lines, hold.hold);
  Effect out;
  out.kind = Effect::Kind::answer;
  out.status = 429;
  out.response_headers = lines;
  out.cause = hold.cause;
  return out;
}

}  // namespace weir::authz
