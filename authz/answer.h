#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "authz/callers.h"
#include "core/effect.h"
#include "gate/unsettled.h"
#include "net/http/fields.h"

namespace weir::authz {

/// The parts of an answer's head besides the verdict.
struct AnswerFrame {
  std::string_view date;
  bool keep_alive = true;
  bool http_1_0 = false;   ///< then the answer must announce that the connection stays
  bool head_only = false;  ///< the check was HEAD: no body
};

/// Adds the names in a check that some app takes for headers of weir (core/chars/own_headers.h),
/// but the names themselves: append_allowed() knows those.
void find_forged(const net::FieldList& fields, std::vector<std::string_view>& out);
/// Appends the answer that lets a request pass: 200 with the headers for the app and for the
/// client. For Envoy also the client's headers to remove: `forged`, and those headers of weir that
/// the answer does not set. `id`: of a request whose answer the app is to report; null: there is
/// nothing to report. No allocation once `out` has grown, as below.
void append_allowed(std::string& out, const CallerRow& caller, const Effect& effect,
                    std::span<const std::string_view> forged, const gate::Unsettled::Id* id,
                    const AnswerFrame& frame);
/// Appends the answer that refuses the request according to the effect. Returns its status.
int append_refused(std::string& out, const Door& door, const Effect& effect,
                   const AnswerFrame& frame);
/// Appends a problem+json of our own. `detail` has no quotes or backslashes.
void append_problem(std::string& out, int status, std::string_view detail, std::string_view lines,
                    const AnswerFrame& frame);

}  // namespace weir::authz
