#include "core/chars/header_name.h"
#include "policies/lang/extractors/cookies.h"
#include "policies/lang/extractors/form.h"
#include "policies/lang/extractors/query.h"
#include "policies/lang/extractors/text.h"
#include "policies/lang/frame.h"

/// Extractors of the head of a request or an answer.
namespace weir::policies {
namespace {

template <std::string_view Request::*kMember>
Extracted read_text(Frame& frame, const Argument&) noexcept {
  if (frame.request() == nullptr) return Extracted::miss(MissReason::unread);
  const std::string_view text = frame.request()->*kMember;
  if (text.data() == nullptr)
    return Extracted::miss(MissReason::absent);  // the log does not have it
  return {Value::text(text)};
}

template <class Same>
Extracted find_header(std::span<const HeaderField> headers, std::string_view name,
                      Same same) noexcept {
  const HeaderField* found = nullptr;
  for (const HeaderField& field : headers) {
    if (!same(field.name, name)) continue;
    if (found != nullptr) return Extracted::miss(MissReason::ambiguous);
    found = &field;
  }
  if (found == nullptr) return Extracted::miss(MissReason::absent);
  return {Value::text(found->value)};
}

Extracted read_header(Frame& frame, const Argument& argument) noexcept {
  if (frame.request() == nullptr) return Extracted::miss(MissReason::unread);
  return find_header(
      frame.request()->headers, argument.name,
      [](std::string_view a, std::string_view b) noexcept { return same_cgi_name(a, b); });
}

Extracted read_answer_header(Frame& frame, const Argument& argument) noexcept {
  if (frame.answer() == nullptr) return Extracted::miss(MissReason::unread);
  return find_header(
      frame.answer()->headers, argument.name,
      [](std::string_view a, std::string_view b) noexcept { return equals_ignoring_case(a, b); });
}

Extracted read_query(Frame& frame, const Argument& argument) noexcept {
  if (frame.request() == nullptr) return Extracted::miss(MissReason::unread);
  return find_in_query(frame.arena(), *frame.request(), argument.name);
}

Extracted read_cookie(Frame& frame, const Argument& argument) noexcept {
  if (frame.request() == nullptr) return Extracted::miss(MissReason::unread);
  return find_cookie(frame.arena(), frame.request()->headers, argument.name);
}

Extracted read_segment(Frame& frame, const Argument& argument) noexcept {
  if (frame.request() == nullptr) return Extracted::miss(MissReason::unread);
  // As the app reads it, letter for letter: a route finds the segment whatever the case.
  const Request& request = *frame.request();
  std::string_view rest = request.cased_path.empty() ? request.path : request.cased_path;
  if (!rest.empty() && rest.front() == '/') rest.remove_prefix(1);
  for (std::uint32_t k = 0; !rest.empty(); ++k) {
    const std::string_view segment = next_part(rest, '/');
    if (k < argument.index) continue;
    if (segment.empty()) break;
    if (segment.find('%') == std::string_view::npos) [[likely]]
      return {Value::text(segment)};
    // As applications read a parameter of a route. Bytes that are not UTF-8 have no such reading:
    // `other_escapes: keep` lets them through, and they stay escapes.
    const Extracted decoded = decoded_value(frame.arena(), segment, false);
    if (decoded.why == MissReason::none) return decoded;
    const bool full = frame.arena().allocate(segment.size()) == nullptr;
    return full ? Extracted::miss(MissReason::unreadable) : Extracted{Value::text(segment)};
  }
  return Extracted::miss(MissReason::absent);
}

Extracted read_status(Frame& frame, const Argument&) noexcept {
  if (frame.answer() == nullptr) return Extracted::miss(MissReason::unread);
  // A record may have an answer without its status.
  if (frame.answer()->status == 0) return Extracted::miss(MissReason::absent);
  return {Value::integer(frame.answer()->status)};
}

Extracted read_time(Frame& frame, const Argument&) noexcept {
  return {Value::integer(to_ms(frame.time()))};
}

// The path decides what a request does, so it is not a claim. But a client can put any name into a
// segment.
constexpr ExtractorRow kHttpRows[] = {
    {"method", ArgumentForm::none, Type::text, Side::request, false, false, "GET, POST, ...",
     read_text<&Request::method>},
    {"path", ArgumentForm::none, Type::text, Side::request, false, false,
     "the path in normal form (RFC 3986), without the query", read_text<&Request::path>},
    {"segment", ArgumentForm::index, Type::text, Side::request, false, true,
     "a segment of the path, decoded; written as {name} in a route", read_segment},
    {"url", ArgumentForm::none, Type::text, Side::request, false, true,
     "path and query, as the app gets them", read_text<&Request::target>},
    {"host", ArgumentForm::none, Type::text, Side::request, false, true,
     "the Host header in lower case, without the port and a dot at its end",
     read_text<&Request::host>},
    {"scheme", ArgumentForm::none, Type::text, Side::request, false, false, "http or https",
     read_text<&Request::scheme>},
    {"query", ArgumentForm::name, Type::text, Side::request, false, true,
     "a parameter of the query, decoded: query.page, query[\"odd name\"]", read_query},
    {"header", ArgumentForm::header, Type::text, Side::request, false, true,
     "a header of the request: header.x_device_id is X-Device-Id", read_header},
    {"cookie", ArgumentForm::name, Type::text, Side::request, false, true, "a cookie: cookie.sid",
     read_cookie},
    {"time", ArgumentForm::none, Type::integer, Side::request, false, false,
     "when the request came, in Unix milliseconds", read_time},
    {"status", ArgumentForm::none, Type::integer, Side::answer, false, false,
     "the status of the answer: 200", read_status},
    {"response.header", ArgumentForm::header, Type::text, Side::answer, false, false,
     "a header of the answer: response.header.x_cache", read_answer_header},
};

}  // namespace

std::span<const ExtractorRow> http_extractors() { return kHttpRows; }

}  // namespace weir::policies
