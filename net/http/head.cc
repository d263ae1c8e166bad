#include "net/http/head.h"

#include <algorithm>
#include <cstring>

#include "core/address.h"
#include "core/chars/ascii.h"
#include "core/chars/method.h"
#include "net/http/lines.h"
#include "net/http/scan.h"

namespace weir::net {
namespace {

using lines::Outcome;
using Refusal = HttpRefusal;

struct MethodRow {
  std::string_view name;
  Method id;
};
constexpr MethodRow kMethods[] = {
    {"GET", Method::get},     {"POST", Method::post},      {"HEAD", Method::head},
    {"PUT", Method::put},     {"DELETE", Method::delete_}, {"OPTIONS", Method::options},
    {"PATCH", Method::patch},
};

Outcome parse_method(const char* p, const char* end, RequestHead& head) noexcept {
  const char* const begin = p;
  if (end - p >= 4 && std::memcmp(p, "GET ", 4) == 0) {  // most requests
    head.method = {begin, 3};
    head.method_id = Method::get;
    return {p + 4};
  }
  const char* const limit =
      end - p > static_cast<std::ptrdiff_t>(kMethodMax) ? p + kMethodMax : end;
  while (p != limit && is_method_character(*p)) ++p;
  if (p == end) return Outcome::incomplete();
  if (*p != ' ') {
    if (is_method_character(*p)) return Outcome::refused(Refusal::method_too_long);
    if (*p == '\n') return Outcome::refused(Refusal::line_end);
    return Outcome::refused(scan::is_control(*p) && *p != '\r' ? Refusal::control_byte
                                                               : Refusal::method);
  }
  if (p == begin) return Outcome::refused(Refusal::method);
  head.method = {begin, static_cast<std::size_t>(p - begin)};
  head.method_id = Method::other;
  for (const MethodRow& row : kMethods) {
    if (row.name == head.method) {
      head.method_id = row.id;
      break;
    }
  }
  if (head.method_id == Method::other && head.method == "CONNECT") {
    return Outcome::refused(Refusal::connect);
  }
  return {p + 1};
}

Outcome parse_target(const char* p, const char* end, RequestHead& head) noexcept {
  const char* const begin = p;
  p = scan::find<scan::NotTarget>(begin, p, end);
  if (p == end) return Outcome::incomplete();
  switch (*p) {
    case ' ':
      break;
    case '#':
      return Outcome::refused(Refusal::fragment);
    case '\n':
      return Outcome::refused(Refusal::line_end);
    case '\r':  // HTTP/0.9
      return Outcome::refused(Refusal::request_line);
    default:
      return Outcome::refused(scan::is_control(*p) ? Refusal::control_byte : Refusal::target);
  }
  if (p == begin) return Outcome::refused(Refusal::request_line);
  head.target = {begin, static_cast<std::size_t>(p - begin)};
  return {p + 1};
}

Outcome parse_version(const char* p, const char* end, RequestHead& head) noexcept {
  constexpr std::string_view kForm = "HTTP/d.d";
  std::size_t i = 0;
  for (; i < kForm.size() && p + i != end; ++i) {
    const bool good = kForm[i] == 'd' ? p[i] >= '0' && p[i] <= '9' : p[i] == kForm[i];
    if (!good) {
      return Outcome::refused(p[i] == '\n' ? Refusal::line_end : Refusal::request_line);
    }
  }
  if (i < kForm.size()) return Outcome::incomplete();
  if (p[5] != '1' || (p[7] != '0' && p[7] != '1')) return Outcome::refused(Refusal::version);
  head.http_1_0 = p[7] == '0';
  const Outcome line = lines::parse_line_end(p + kForm.size(), end);
  if (line.refusal == Refusal::control_byte) return Outcome::refused(Refusal::request_line);
  return line;
}

Outcome parse_request_line(const char* p, const char* end, RequestHead& head) noexcept {
  Outcome outcome = parse_method(p, end, head);
  if (outcome.next != nullptr) outcome = parse_target(outcome.next, end, head);
  if (outcome.next == nullptr) return outcome;
  p = outcome.next;
  if (end - p >= 10 && std::memcmp(p, "HTTP/1.1\r\n", 10) == 0) [[likely]] {
    head.http_1_0 = false;
    return {p + 10};
  }
  return parse_version(p, end, head);
}

/// Splits host and port, and says whether both are well formed. `host` comes without the port.
bool split_authority(std::string_view authority, std::string_view& host) noexcept {
  const std::size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (bracket == std::string_view::npos) return false;
  const std::size_t colon = authority.find(':', bracket);
  host = authority.substr(0, colon);
  if (colon == std::string_view::npos) return true;
  const std::string_view port = authority.substr(colon + 1);
  unsigned number = 0;
  for (const char c : port) {
    if (c < '0' || c > '9') return false;
    number = number * 10 + static_cast<unsigned>(c - '0');
    if (number > 0xffff) return false;
  }
  return !port.empty() && port.size() <= 5;
}

/// Classes of a byte in a Host that is no literal.
constexpr std::uint8_t kHostBad = 1, kHostUpper = 2, kHostDot = 4;
constexpr auto kHostBytes = [] {
  std::array<std::uint8_t, 256> table{};
  for (unsigned c = 0; c < 256; ++c) {
    const auto byte = static_cast<char>(c);
    const bool good = scan::is_plain_name(byte) || byte == '_' || byte == '~';
    table[c] = c >= 128 || !good ? kHostBad : std::uint8_t{0};
    if (byte >= 'A' && byte <= 'Z') table[c] = kHostUpper;
  }
  table['.'] = kHostDot;
  return table;
}();

/// A host as a Host field or authority has it, without its port and without the dot at the end of a
/// name. Empty: not well formed.
struct HostText {
  std::string_view text;
  bool lower = true;  ///< without capitals
};

/// Stricter than RFC 3986's reg-name: no escapes, no sub-delims, no empty label; a comma or a blank
/// here has made caches and apps disagree.
HostText host_text_of(std::string_view authority) noexcept {
  std::string_view host;
  if (authority.empty() || !split_authority(authority, host)) return {};
  if (host.empty() || host.size() > kHostMax) return {};
  if (host.front() == '[') {
    if (host.back() != ']' || !Address::parse(host.substr(1, host.size() - 2)) ||
        host.find(':') == std::string_view::npos) {
      return {};
    }
    return {host, std::none_of(host.begin(), host.end(), ascii::is_upper)};
  }
  unsigned found = 0;
  unsigned pairs = 0;  // of dots
  unsigned previous = kHostDot;
  for (const char c : host) {
    const unsigned kind = kHostBytes.data()[static_cast<unsigned char>(c)];
    found |= kind;
    pairs |= kind & previous & kHostDot;
    previous = kind;
  }
  if ((found & kHostBad) != 0 || pairs != 0) return {};
  if (host.back() == '.') host.remove_suffix(1);  // `example.com.` is example.com, fully qualified
  return {host, (found & kHostUpper) == 0};
}

/// Reads Host into `authority` and `host`.
bool read_host(std::string_view value, RequestHead& head) noexcept {
  head.host = host_of(value, head.host_text);
  if (head.host.empty()) return false;
  head.authority = value;
  return true;
}

/// Rewrites absolute-form to origin-form; checks the other forms.
Refusal read_target(RequestHead& head) noexcept {
  std::string_view target = head.target;
  head.asterisk = false;
  if (target.front() == '/') [[likely]] {
    return Refusal::none;
  }
  if (target == "*") {
    if (head.method_id != Method::options) return Refusal::target;
    head.asterisk = true;
    return Refusal::none;
  }
  const std::size_t scheme = same_ignoring_case(target.substr(0, 7), "http://")    ? 7
                             : same_ignoring_case(target.substr(0, 8), "https://") ? 8
                                                                                   : 0;
  if (scheme == 0) return Refusal::target;
  target.remove_prefix(scheme);
  const std::size_t end = std::min(target.find_first_of("/?"), target.size());
  const std::string_view authority = target.substr(0, end);
  if (authority.empty() || !same_ignoring_case(authority, head.authority)) {
    return Refusal::target_authority;
  }
  target.remove_prefix(end);
  if (target.empty()) {
    // RFC 9112, 3.2.4: OPTIONS with an empty path means the server itself.
    head.asterisk = head.method_id == Method::options;
    head.target = head.asterisk ? "*" : "/";
    return Refusal::none;
  }
  if (target.front() != '/') return Refusal::target;
  head.target = target;
  return Refusal::none;
}

bool is_websocket_key(std::string_view key) noexcept {
  if (key.size() != 24 || !key.ends_with("==")) return false;
  return std::all_of(key.begin(), key.end() - 2, [](char c) {
    return (scan::is_plain_name(c) && c != '-') || c == '+' || c == '/';
  });
}

std::optional<std::uint32_t> read_max_forwards(const RequestHead& head) noexcept {
  constexpr std::uint32_t kMost = 0x7fffffff;
  if (head.method_id != Method::options && head.method != "TRACE") return std::nullopt;
  const std::string_view text = head.fields.only_value(FieldKind::max_forwards);
  if (text.empty()) return std::nullopt;
  std::uint64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = std::min<std::uint64_t>(number * 10 + static_cast<std::uint64_t>(c - '0'), kMost);
  }
  return static_cast<std::uint32_t>(number);
}

Refusal decide(RequestHead& head) noexcept {
  lines::Decided decided;
  lines::decide(head.fields, head.http_1_0, decided);
  if (decided.refusal != Refusal::none) return decided.refusal;

  // Envoy refuses these too. Of answers such options are ignored: some servers name
  // Transfer-Encoding there.
  if (decided.connection.names_needed) return Refusal::connection_options;
  head.authority = head.host = {};
  if (decided.host_repeated) return Refusal::host_repeated;
  if (decided.host != nullptr) {
    if (!read_host(decided.host->value, head)) return Refusal::host_invalid;
  } else if (!head.http_1_0) {
    return Refusal::host_missing;
  }
  if (const Refusal refusal = read_target(head); refusal != Refusal::none) return refusal;

  head.framing = decided.chunked      ? Framing::chunked
                 : decided.has_length ? Framing::length
                                      : Framing::none;
  head.content_length = decided.length;
  head.max_forwards.reset();
  if (head.method_id == Method::options || head.method_id == Method::other) [[unlikely]] {
    head.max_forwards = read_max_forwards(head);
  }
  const lines::Connection& connection = decided.connection;
  head.keep_alive = !connection.close && (!head.http_1_0 || connection.keep_alive);
  if (decided.expect_unknown && !head.http_1_0) return Refusal::expectation;
  head.expect_continue = decided.has_expect && !head.http_1_0 && head.has_body();

  head.websocket = decided.upgrade != nullptr && connection.upgrade && !head.http_1_0 &&
                   head.method_id == Method::get && !head.has_body() &&
                   same_ignoring_case(decided.upgrade->value, "websocket") &&
                   decided.websocket_key != nullptr &&
                   is_websocket_key(decided.websocket_key->value) &&
                   decided.websocket_version != nullptr && decided.websocket_version->value == "13";
  head.websocket_key = head.websocket ? decided.websocket_key->value : std::string_view{};
  return Refusal::none;
}

/// Parses what there is. Incomplete if `bytes` ends too early, whatever its size.
Outcome parse(std::string_view bytes, const HeadLimits& limits, RequestHead& head) noexcept {
  const char* p = bytes.data();
  const char* const end = p + bytes.size();
  if (*p == '\r') {
    const Outcome empty = lines::parse_line_end(p, end);
    if (empty.next == nullptr || empty.next == end) return empty.next == end ? Outcome{} : empty;
    p = empty.next;
  }
  const auto line_room = static_cast<std::ptrdiff_t>(limits.start_line) + 2;
  const char* const line_end = end - p > line_room ? p + line_room : end;
  const Outcome line = parse_request_line(p, line_end, head);
  if (line.refusal != Refusal::none) return line;
  if (line.next == nullptr) {
    return end - p >= line_room ? Outcome::refused(Refusal::target_too_long) : line;
  }
  const Outcome fields =
      lines::parse_fields(bytes.data(), line.next, end, limits.fields, head.fields);
  if (fields.next == nullptr) return fields;
  const Refusal refusal = decide(head);
  return refusal == Refusal::none ? fields : Outcome::refused(refusal);
}

}  // namespace

HeadStatus parse_request_head(std::string_view bytes, const HeadLimits& limits,
                              HeadProgress& progress, RequestHead& head) noexcept {
  if (bytes.empty() || !lines::worth_parsing(bytes, limits, progress)) {
    return HeadStatus::incomplete;
  }
  const Outcome outcome = parse(bytes.substr(0, limits.head), limits, head);
  return lines::conclude(outcome, bytes, limits, progress, head.refusal, head.size);
}

std::string_view host_of(std::string_view authority, std::span<char, kHostMax> room) noexcept {
  const HostText host = host_text_of(authority);
  if (host.lower) return host.text;
  std::transform(host.text.begin(), host.text.end(), room.begin(), ascii::lower);
  return {room.data(), host.text.size()};
}

std::optional<std::string> host_word_of(std::string_view authority) {
  std::array<char, kHostMax> room;
  const std::string_view host = host_of(authority, room);
  return host.empty() ? std::nullopt : std::optional<std::string>(host);
}

}  // namespace weir::net
