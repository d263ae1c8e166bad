#include "net/http/response_head.h"

#include <openssl/sha.h>

#include <array>
#include <cstring>

#include "core/chars/ascii.h"
#include "net/http/lines.h"
#include "net/http/scan.h"

namespace weir::net {
namespace {

using lines::Outcome;
using Refusal = HttpRefusal;

constexpr std::string_view kForm = "HTTP/1.v sdd";

constexpr bool is_status(const char* p) noexcept {
  return p[0] >= '1' && p[0] <= '5' && ascii::is_digit(p[1]) && ascii::is_digit(p[2]);
}

/// Whether a line may begin so: as much of kForm as there is. One byte after the other, so that a
/// wrong one is refused as soon as it is there.
bool fits_form(const char* p, const char* end) noexcept {
  for (std::size_t i = 0; i < kForm.size() && p + i != end; ++i) {
    const char c = p[i];
    const char form = kForm[i];
    const bool good = form == 'v'   ? c == '0' || c == '1'
                      : form == 's' ? c >= '1' && c <= '5'
                      : form == 'd' ? ascii::is_digit(c)
                                    : c == form;
    if (!good) return false;
  }
  return true;
}

/// `HTTP/1.1 200 OK`.
Outcome parse_status_line(const char* p, const char* end, ResponseHead& head) noexcept {
  const char* const begin = p;
  const bool whole = end - p >= static_cast<std::ptrdiff_t>(kForm.size());
  const bool usual = whole && std::memcmp(p, "HTTP/1.1 ", 9) == 0 && is_status(p + 9);
  if (!usual) [[unlikely]] {
    if (!fits_form(p, end)) return Outcome::refused(Refusal::status_line);
    if (!whole) return Outcome::incomplete();
  }
  head.http_1_0 = p[7] == '0';
  head.status = (p[9] - '0') * 100 + (p[10] - '0') * 10 + (p[11] - '0');
  p += kForm.size();
  if (p == end) return Outcome::incomplete();
  const char* reason = p;
  if (*p == ' ') {
    reason = ++p;
    p = scan::find<scan::Control>(begin, p, end);
  } else if (*p != '\r') {
    return Outcome::refused(Refusal::status_line);
  }
  const Outcome line = lines::parse_line_end(p, end);
  head.reason = {reason, static_cast<std::size_t>(p - reason)};
  return line;
}

/// Sec-WebSocket-Accept for a key (RFC 6455, 4.2.2): base64 of a SHA-1, 28 characters.
bool proves(std::string_view accept, std::string_view key) noexcept {
  constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  constexpr char kBase64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<unsigned char, 64> text;
  if (key.size() + kGuid.size() > text.size()) return false;
  std::memcpy(text.data(), key.data(), key.size());
  std::memcpy(text.data() + key.size(), kGuid.data(), kGuid.size());
  std::array<unsigned char, 21> digest{};  // 20 bytes and one of padding: 7 groups of 3
  SHA1(text.data(), key.size() + kGuid.size(), digest.data());
  std::array<char, 28> expected;
  for (std::size_t in = 0, out = 0; in < digest.size(); in += 3, out += 4) {
    const unsigned group = digest[in] * 65536u + digest[in + 1] * 256u + digest[in + 2];
    for (unsigned i = 0; i < 4; ++i) expected[out + i] = kBase64[(group >> (18 - 6 * i)) & 63];
  }
  expected.back() = '=';
  return accept == std::string_view{expected.data(), expected.size()};
}

bool is_verified_upgrade(const lines::Decided& decided, std::string_view key) noexcept {
  return !key.empty() && decided.connection.upgrade && decided.upgrade != nullptr &&
         same_ignoring_case(decided.upgrade->value, "websocket") &&
         decided.websocket_accept != nullptr && proves(decided.websocket_accept->value, key);
}

Refusal decide(const AnsweredRequest& request, ResponseHead& head) noexcept {
  lines::Decided decided;
  lines::decide(head.fields, head.http_1_0, decided);
  if (decided.refusal != Refusal::none) return decided.refusal;
  head.has_content_length = decided.has_length;
  head.content_length = decided.length;
  head.upgraded = false;
  if (head.status == 101) {
    if (head.http_1_0 || !is_verified_upgrade(decided, request.websocket_key)) {
      return Refusal::unasked_upgrade;
    }
    head.upgraded = true;
  }
  const lines::Connection& connection = decided.connection;
  head.keep_alive =
      !head.upgraded && !connection.close && (!head.http_1_0 || connection.keep_alive);
  const bool announced = decided.chunked || (decided.has_length && decided.length > 0);
  if (head.status < 200 || head.status == 204) {
    head.framing = Framing::none;
    if (announced) head.keep_alive = false;  // upstream may send that body although it must not
  } else if (request.head || head.status == 304) {
    head.framing = Framing::none;
  } else if (decided.chunked) {
    head.framing = Framing::chunked;
  } else if (decided.has_length) {
    head.framing = Framing::length;
  } else {
    head.framing = Framing::until_close;
    head.keep_alive = false;
  }
  return Refusal::none;
}

Outcome parse(std::string_view bytes, const AnsweredRequest& request, const HeadLimits& limits,
              ResponseHead& head) noexcept {
  const char* const end = bytes.data() + bytes.size();
  const Outcome line = parse_status_line(bytes.data(), end, head);
  if (line.next == nullptr) return line;
  const Outcome fields =
      lines::parse_fields(bytes.data(), line.next, end, limits.fields, head.fields);
  if (fields.next == nullptr) return fields;
  const Refusal refusal = decide(request, head);
  return refusal == Refusal::none ? fields : Outcome::refused(refusal);
}

}  // namespace

HeadStatus parse_response_head(std::string_view bytes, const AnsweredRequest& request,
                               const HeadLimits& limits, HeadProgress& progress,
                               ResponseHead& head) noexcept {
  if (bytes.empty() || !lines::worth_parsing(bytes, limits, progress)) {
    return HeadStatus::incomplete;
  }
  const Outcome outcome = parse(bytes.substr(0, limits.head), request, limits, head);
  return lines::conclude(outcome, bytes, limits, progress, head.refusal, head.size);
}

}  // namespace weir::net
