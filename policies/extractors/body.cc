#include "policies/extractors/json.h"
#include "policies/frame.h"

/// What stands in the body of a request or an answer: JSON (application/json, +json) or, by one
/// name, a form (application/x-www-form-urlencoded).
namespace weir::policies {
namespace {

Extracted read_body(Frame& frame, const Argument& argument) noexcept {
  const Request* request = frame.request();
  if (request == nullptr) return Extracted::miss(MissReason::unread);
  return frame.request_body().find(frame.arena(), request->body_state, request->body,
                                   request->headers, argument.path);
}

Extracted read_answer_body(Frame& frame, const Argument& argument) noexcept {
  const Answer* answer = frame.answer();
  if (answer == nullptr) return Extracted::miss(MissReason::unread);
  return frame.answer_body().find(frame.arena(), answer->body_state, answer->body, answer->headers,
                                  argument.path);
}

constexpr ExtractorRow kBodyRows[] = {
    {"body", ArgumentForm::path, Type::dyn, Side::request, true, true,
     "a member of the request's JSON or form body: body.user, body.items[0].sku, body[\"odd "
     "name\"]",
     read_body},
    {"response.body", ArgumentForm::path, Type::dyn, Side::answer, true, false,
     "a member of the answer's JSON body: response.body.code", read_answer_body},
};

}  // namespace

std::span<const ExtractorRow> body_extractors() { return kBodyRows; }

}  // namespace weir::policies
