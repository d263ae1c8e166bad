#pragma once

#include <string>
#include <string_view>

#include "authz/callers.h"
#include "core/effect.h"
#include "gate/unsettled.h"

namespace weir::authz {

/// The parts of an answer's head besides the verdict.
struct AnswerFrame {
  std::string_view date;
  bool keep_alive = true;
  bool http_1_0 = false;   ///< then keeping the connection must be said
  bool head_only = false;  ///< the check was HEAD: no body
};

/// The header with the id by which the app reports its answer; see gate::Unsettled.
inline constexpr std::string_view kRequestId = "X-Weir-Request-Id";

/// Appends the answer that lets a request pass: 200 with the headers for the app and for the
/// client, and for Envoy which of the client's own to take away. `id`: of a request that the app is
/// to tell of; null: there is nothing to tell. No allocation once `out` has grown, as below.
void append_allowed(std::string& out, const CallerRow& caller, const Effect& effect,
                    const gate::Unsettled::Id* id, const AnswerFrame& frame);
/// Appends the answer that refuses it as the effect says. Returns its status.
int append_refused(std::string& out, const Door& door, const Effect& effect,
                   const AnswerFrame& frame);
/// Appends a problem+json of our own. `detail` has no quotes or backslashes.
void append_problem(std::string& out, int status, std::string_view detail, std::string_view lines,
                    const AnswerFrame& frame);

}  // namespace weir::authz
