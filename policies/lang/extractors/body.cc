#include "policies/lang/extractors/json.h"
#include "policies/lang/extractors/query.h"
#include "policies/lang/frame.h"

/// Extractors of the body of a request or an answer: JSON or, by one name, a form
/// (application/x-www-form-urlencoded or multipart/form-data).
namespace weir::policies {
namespace {

/// Whether a single value is spelt so in a key.
bool is_spelt(const Value& value, std::string_view text) noexcept {
  if (value.is(Type::text)) return value.as_text() == text;
  if (value.is(Type::boolean)) return text == (value.as_boolean() ? "true" : "false");
  char digits[32];
  return value.is_number() && text == std::string_view(digits, value.as_number().to_chars(digits));
}

/// Many applications ask for a parameter in any place (`getParameter`, `FormValue`, `params`,
/// `$_REQUEST`): one that the body does not have is read from the query. Of a form and a query that
/// both have it some take one, and Spring takes both: `alice,alice`. Where the event says that the
/// application reads JSON, the member of the body wins.
Extracted beside_query(Arena& arena, const Extracted& got, bool form, BodyKind pinned,
                       const Request& request, std::span<const PathStep> path) noexcept {
  const auto in_query = [&] {
    return path.size() == 1 ? find_in_query(arena, request, path[0].name)
                            : find_in_query(arena, request, path);
  };
  if (got.why == MissReason::absent) return in_query();
  if (got.why != MissReason::none || pinned == BodyKind::json) return got;
  const Extracted there = in_query();
  const bool same =
      !form && there.why == MissReason::none && is_spelt(got.value, there.value.as_text());
  const bool agree = there.why == MissReason::absent || same;
  return agree ? got : Extracted::miss(MissReason::ambiguous);
}

Extracted read_body(Frame& frame, const Argument& argument) noexcept {
  const Request* request = frame.request();
  if (request == nullptr) return Extracted::miss(MissReason::unread);
  BodyReader& body = frame.request_body();
  const Extracted got = body.find(frame.arena(), request->body_state, request->body,
                                  request->headers, argument.path, argument.body);
  const bool named = !argument.path.empty() && !argument.path[0].is_index;
  if (!named || request->query.empty()) return got;
  return beside_query(frame.arena(), got, body.is_form(), argument.body, *request, argument.path);
}

Extracted read_answer_body(Frame& frame, const Argument& argument) noexcept {
  const Answer* answer = frame.answer();
  if (answer == nullptr) return Extracted::miss(MissReason::unread);
  return frame.answer_body().find(frame.arena(), answer->body_state, answer->body, answer->headers,
                                  argument.path);
}

constexpr ExtractorRow kBodyRows[] = {
    {"body", ArgumentForm::path, Type::dyn, Side::request, true, true,
     "a member of the request's JSON, form or multipart body: body.user, body.items[0].sku, "
     "body[\"odd "
     "name\"]",
     read_body},
    {"response.body", ArgumentForm::path, Type::dyn, Side::answer, true, false,
     "a member of the answer's JSON body: response.body.code; fails where the body cannot be "
     "read (security.md#answers)",
     read_answer_body},
};

}  // namespace

std::span<const ExtractorRow> body_extractors() { return kBodyRows; }

}  // namespace weir::policies
