#include "net/http/lines.h"

#include <algorithm>

#include "core/chars/ascii.h"
#include "core/chars/token.h"
#include "net/http/scan.h"

namespace weir::net::lines {
namespace {

using Refusal = HttpRefusal;

constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

/// Each option may name any field, so options cost up to a hundred comparisons each: a few suffice.
constexpr int kConnectionOptionsMax = 32;
constexpr std::uint64_t kLengthMax = (std::uint64_t{1} << 63) - 1;

/// Why a byte that is neither text nor the CR of a line's end is refused.
Refusal refusal_of(char c) noexcept {
  return c == '\n' ? Refusal::line_end : Refusal::control_byte;
}

/// Goes on from a byte that no plain name has. On success `next` is at the colon.
Outcome parse_odd_name(const char* begin, const char* p, const char* end) noexcept {
  for (; p != end && *p != ':'; ++p) {
    if (is_token(*p)) continue;
    if (is_blank(*p)) {
      return Outcome::refused(p == begin ? Refusal::obs_fold : Refusal::blank_before_colon);
    } else if (scan::is_control(*p) && *p != '\r') {
      return Outcome::refused(refusal_of(*p));
    } else {
      return Outcome::refused(Refusal::field_name);
    }
  }
  if (p == end) return Outcome::incomplete();
  if (p == begin) return Outcome::refused(Refusal::field_name);
  return {p};
}

bool parse_length(std::string_view text, std::uint64_t& out) noexcept {
  if (text.empty()) return false;
  out = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (out > (kLengthMax - digit) / 10) return false;
    out = out * 10 + digit;
  }
  return true;
}

/// A field that ends here is as if it were not there: it loses its name, by which it would be read.
void name_in_connection(FieldList& list, std::string_view option) noexcept {
  for (std::size_t i = 0; i < list.count; ++i) {
    const FieldKind kind = list.kinds[i];
    std::string_view& name = list.fields[i].name;
    if ((kind == FieldKind::plain || kind == FieldKind::odd_name) &&
        same_ignoring_case(name, option)) {
      list.set_kind(i, FieldKind::named_in_connection);
      name = name.substr(0, 0);  // still where its line begins
    }
  }
}

/// Whether every hop needs the field, so that none may end it: framing, forwarding, and weir's own
/// fields.
bool must_go_on(std::string_view option) noexcept {
  switch (field_kind(option)) {
    case FieldKind::x_forwarded_other:
    case FieldKind::max_forwards:
    case FieldKind::host:
    case FieldKind::content_length:
    case FieldKind::transfer_encoding:
    case FieldKind::expect:
    case FieldKind::x_forwarded_for:
    case FieldKind::x_forwarded_proto:
    case FieldKind::x_forwarded_host:
    case FieldKind::x_request_id:
    case FieldKind::x_weir:
      return true;
    default:
      return false;
  }
}

/// Reads one Connection field. False if there are too many options, or one is not a token.
bool read_connection(FieldList& list, std::string_view value, int& options,
                     Connection& out) noexcept {
  while (!value.empty()) {
    const std::size_t comma = std::min(value.find(','), value.size());
    std::string_view option = value.substr(0, comma);
    value.remove_prefix(std::min(comma + 1, value.size()));
    option = ascii::trimmed(option);
    if (++options > kConnectionOptionsMax) return false;
    if (same_ignoring_case(option, "keep-alive")) {
      out.keep_alive = true;
    } else if (same_ignoring_case(option, "close")) {
      out.close = true;
    } else if (same_ignoring_case(option, "upgrade")) {
      out.upgrade = true;
    } else if (!option.empty()) {
      if (!is_token(option)) return false;
      out.names_needed |= must_go_on(option);
      name_in_connection(list, option);
    }
  }
  return true;
}

}  // namespace

bool worth_parsing(std::string_view bytes, const HeadLimits& limits,
                   HeadProgress& progress) noexcept {
  const std::size_t seen = progress.scanned;
  if (seen == 0 || seen > bytes.size()) return true;
  // Two bytes for the CRLF of the request line, two for an empty line before it.
  const std::size_t line = std::size_t{limits.start_line} + 2;
  if (bytes.size() >= limits.head || (seen < line + 2 && bytes.size() >= line)) return true;
  const char* const begin = bytes.data();
  const char* const end = begin + bytes.size();
  const char* p = begin + seen;
  while ((p = scan::find<scan::Control>(begin, p, end)) != end) {
    if (*p != '\r') return true;
    if (p + 1 == end) break;
    if (p[1] != '\n') return true;
    if (p != begin && p[-1] == '\n') return true;  // an empty line: the end
    p += 2;
  }
  progress.scanned = static_cast<std::uint32_t>(p - begin);
  return false;
}

HeadStatus conclude(const Outcome& outcome, std::string_view bytes, const HeadLimits& limits,
                    HeadProgress& progress, HttpRefusal& refusal, std::uint32_t& size) noexcept {
  refusal = outcome.refusal;
  if (outcome.next != nullptr) {
    size = static_cast<std::uint32_t>(outcome.next - bytes.data());
    return HeadStatus::complete;
  }
  if (refusal != Refusal::none) return HeadStatus::refused;
  if (bytes.size() >= limits.head) {
    refusal = Refusal::head_too_large;
    return HeadStatus::refused;
  }
  const bool half_line_end = !bytes.empty() && bytes.back() == '\r';
  progress.scanned = static_cast<std::uint32_t>(bytes.size() - (half_line_end ? 1 : 0));
  return HeadStatus::incomplete;
}

Outcome no_line_end(const char* p, const char* end) noexcept {
  if (p == end) return Outcome::incomplete();
  if (*p != '\r') return Outcome::refused(refusal_of(*p));
  if (p + 1 == end) return Outcome::incomplete();
  return Outcome::refused(Refusal::line_end);
}

Outcome parse_fields(const char* begin, const char* p, const char* end, std::uint32_t limit,
                     FieldList& list) noexcept {
  std::uint32_t count = 0;
  list.count = 0;
  limit = std::min(limit, static_cast<std::uint32_t>(FieldList::kMax));
  for (;;) {
    if (p == end) return Outcome::incomplete();
    if (*p == '\r') {
      const Outcome last = parse_line_end(p, end);
      list.count = count;
      list.lines_end = p;
      if (last.next != nullptr) list.find_kinds();
      return last;
    }
    const char* const name = p;
    FieldKind kind = FieldKind::plain;  // until find_kinds()
    p = scan::find<scan::NotPlainName>(begin, p, end);
    if (p == end) return Outcome::incomplete();
    if (*p != ':' || p == name) [[unlikely]] {
      const Outcome outcome = parse_odd_name(name, p, end);
      if (outcome.next == nullptr) return outcome;
      p = outcome.next;
      // Names of WebSphere begin with `$` ($WSRA); all others that are odd are at most aliases.
      if (*name == '$') kind = field_kind({name, static_cast<std::size_t>(p - name)});
      if (kind == FieldKind::plain) kind = FieldKind::odd_name;
    }
    if (count == limit) return Outcome::refused(Refusal::too_many_fields);
    HeaderField& field = list.fields.data()[count];
    field.name = {name, static_cast<std::size_t>(p - name)};
    ++p;
    while (p != end && is_blank(*p)) ++p;
    const char* const value = p;
    p = scan::find<scan::Unusual>(begin, p, end);
    if (p != end && *p != '\r') [[unlikely]]
      p = scan::find<scan::Control>(begin, p, end);
    if (p == end) return Outcome::incomplete();
    const char* value_end = p;
    const Outcome line = parse_line_end(p, end);
    if (line.next == nullptr) return line;
    p = line.next;
    while (is_blank(value_end[-1]) && value_end != value) --value_end;  // a colon precedes it
    field.value = {value, static_cast<std::size_t>(value_end - value)};
    list.kinds.data()[count] = kind;
    ++count;
  }
}

void decide(FieldList& list, bool http_1_0, Decided& out) noexcept {
  int codings = 0;
  int upgrades = 0;
  int options = 0;
  const auto refuse = [&out](Refusal why) {
    if (out.refusal == Refusal::none) out.refusal = why;
  };
  // A repeated field that may occur only once makes both worthless.
  const auto only = [](const HeaderField*& place, int& seen, const HeaderField& field) {
    place = seen++ == 0 ? &field : nullptr;
  };
  int keys = 0;
  int versions = 0;
  int accepts = 0;
  list.each_special([&](std::size_t i) {
    const HeaderField& field = list.fields.data()[i];
    switch (list.kinds.data()[i]) {
      case FieldKind::host:
        out.host_repeated |= out.host != nullptr;
        out.host = &field;
        break;
      case FieldKind::content_length:
        if (out.has_length) refuse(Refusal::length_repeated);
        out.has_length = true;
        if (!parse_length(field.value, out.length)) refuse(Refusal::length_invalid);
        break;
      case FieldKind::transfer_encoding:
        if (++codings > 1 || !same_ignoring_case(field.value, "chunked")) {
          refuse(Refusal::coding_unknown);
        }
        out.chunked = true;
        break;
      case FieldKind::connection:
        if (!read_connection(list, field.value, options, out.connection)) {
          refuse(Refusal::connection_options);
        }
        break;
      case FieldKind::upgrade:
        only(out.upgrade, upgrades, field);
        break;
      case FieldKind::expect:
        out.has_expect = true;
        out.expect_unknown |= !same_ignoring_case(field.value, "100-continue");
        break;
      case FieldKind::sec_websocket_key:
        only(out.websocket_key, keys, field);
        break;
      case FieldKind::sec_websocket_version:
        only(out.websocket_version, versions, field);
        break;
      case FieldKind::sec_websocket_accept:
        only(out.websocket_accept, accepts, field);
        break;
      default:
        break;
    }
  });
  if (out.chunked && out.has_length) refuse(Refusal::length_with_coding);
  if (out.chunked && http_1_0) refuse(Refusal::coding_in_http_1_0);
}

}  // namespace weir::net::lines
