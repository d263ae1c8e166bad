#pragma once

#include <string_view>

#include "core/event.h"

namespace weir {

/// The reason phrase of a status that weir itself may answer with (RFC 9110 section 15 and the
/// registry beside it); "" for any other. Thread-safe, as is all here.
std::string_view reason_phrase(int status) noexcept;

/// A whole problem+json body (RFC 9457) that says no more than the status; "" as above.
std::string_view problem_body(int status) noexcept;

/// Whether the body of an answer is not the whole thing, so that its state is BodyState::broken:
/// the rest is with the client already, or (`to_head`) the app has made the answer of a GET and
/// left its body out.
constexpr bool is_partial_answer(int status, bool to_head) noexcept {
  return status == 206 || status == 226 || status == 304 || (to_head && status != 204);
}

/// Removes such a body from an answer that an app reports: the known part of it is no whole body.
constexpr void mark_partial(Answer& answer, bool to_head) noexcept {
  if (!is_partial_answer(answer.status, to_head)) return;
  answer.body_state = BodyState::broken;
  answer.body = {};
}

}  // namespace weir
