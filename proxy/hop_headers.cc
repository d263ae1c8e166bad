#include "proxy/hop_headers.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/assert.h"
#include "core/chars/header_name.h"
#include "core/chars/own_headers.h"

namespace weir::proxy {
namespace {

using net::FieldKind;
using net::FieldList;
using net::Framing;

/// Copies a text whose size is known only when it runs. Most texts of a head are short, and a call
/// of memcpy costs more than the few moves that such a text needs.
inline char* copy_text(char* to, const char* from, std::size_t size) noexcept {
  if (size > 32) {
    std::memcpy(to, from, size);
  } else if (size >= 16) {  // two pieces, which may overlap; here and below
    std::memcpy(to, from, 16);
    std::memcpy(to + size - 16, from + size - 16, 16);
  } else if (size >= 8) {
    std::memcpy(to, from, 8);
    std::memcpy(to + size - 8, from + size - 8, 8);
  } else {
    for (std::size_t i = 0; i < size; ++i) to[i] = from[i];
  }
  return to + size;
}

/// Appends to a head through one growth: `room` bytes are an upper bound of all that is put.
class Writer {
 public:
  Writer(HeadText& out, std::size_t room) : out_(out), p_(out.room(room)), end_(p_ + room) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { out_.end_at(p_); }

  /// Puts the texts one after the other; their bound is checked once.
  template <class... Texts>
  void put(const Texts&... texts) noexcept {
    WEIR_ASSERT(static_cast<std::size_t>(end_ - p_) >= (size_of(texts) + ...));
    (copy(texts), ...);
  }
  void put_number(std::string_view name_colon, std::uint64_t value) noexcept {
    std::array<char, 20> digits;
    std::size_t i = digits.size();
    do {
      digits[--i] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    put(name_colon, std::string_view(digits.data() + i, digits.size() - i), "\r\n");
  }

 private:
  template <std::size_t N>
  static constexpr std::size_t size_of(const char (&)[N]) noexcept {
    return N - 1;
  }
  static std::size_t size_of(std::string_view text) noexcept { return text.size(); }
  template <std::size_t N>
  void copy(const char (&literal)[N]) noexcept {
    std::memcpy(p_, literal, N - 1);
    p_ += N - 1;
  }
  void copy(std::string_view text) noexcept { p_ = copy_text(p_, text.data(), text.size()); }

  HeadText& out_;
  char* p_;
  char* end_;
};

/// Room in a head for everything that is not copied: names, framing, the lines of a handshake.
constexpr std::size_t kFixedRoom = 512;

/// Copies the plain lines, and those special ones that `keep` keeps; neighbours in one piece.
template <class Keep>
void copy_lines(Writer& out, const FieldList& list, Keep keep) noexcept {
  if (list.count == 0) return;
  const char* run = list.line_begin(0);
  const auto copy_until = [&](const char* end) {
    if (end != run) out.put(std::string_view(run, static_cast<std::size_t>(end - run)));
  };
  list.each_special([&](std::size_t i) {
    if (keep(i)) return;
    copy_until(list.line_begin(i));
    run = list.line_end(i);
  });
  copy_until(list.lines_end);
}

constexpr bool is_handshake(FieldKind kind) noexcept {
  return kind >= FieldKind::sec_websocket_key && kind <= FieldKind::sec_websocket_accept;
}

/// Names that policies and apps read, in addition to the fields that net::field_kind() knows.
constexpr std::string_view kReadNames[] = {"content-type", "content-encoding", "cookie",
                                           "authorization"};

bool is_read(std::string_view name, std::span<const std::string_view> used_names) noexcept {
  return std::any_of(used_names.begin(), used_names.end(),
                     [name](std::string_view used) { return net::same_ignoring_case(name, used); });
}

/// An alias of a field that weir knows, reads or sets must not reach an app: some give both one
/// name.
bool aliases_one_of_ours(std::string_view name,
                         std::span<const std::string_view> used_names) noexcept {
  std::array<char, 64> room;  // no name that we know is as long
  if (name.size() <= room.size()) {
    std::transform(name.begin(), name.end(), room.begin(), folded_in_header_name);
    if (net::field_kind({room.data(), name.size()}) != FieldKind::plain) return true;
  }
  const auto same = [name](std::string_view ours) { return net::aliases(name, ours); };
  if (is_own_header(name) || std::any_of(std::begin(kReadNames), std::end(kReadNames), same))
    return true;
  // A policy may read a name with a dot or a tilde: that one is no alias of itself.
  return std::any_of(used_names.begin(), used_names.end(), same) && !is_read(name, used_names);
}

/// Fields that identity proxies spell with `_`.
bool is_theirs_with_underscores(std::string_view name) noexcept {
  constexpr std::string_view kTheirs[] = {"oidc-", "sm-user", "oam-remote-user"};
  return std::any_of(std::begin(kTheirs), std::end(kTheirs), [name](std::string_view theirs) {
    return net::aliases(name.substr(0, theirs.size()), theirs);
  });
}

/// Fields by which a client could get an answer that no policy can read.
bool hides_the_answer(std::string_view name, net::Method method) noexcept {
  constexpr std::string_view kNames[] = {"accept-encoding", "range", "if-range", "a-im"};
  constexpr std::string_view kConditions[] = {"if-none-match", "if-modified-since"};
  const auto same = [name](std::string_view ours) { return net::aliases(name, ours); };
  // For other methods If-None-Match guards an existing resource: `PUT` with `*` creates and never
  // replaces.
  const bool reads = method == net::Method::get || method == net::Method::head;
  return std::any_of(std::begin(kNames), std::end(kNames), same) ||
         (reads && std::any_of(std::begin(kConditions), std::end(kConditions), same));
}

/// The forwarding fields. Those of a trusted peer are kept, and the peer is added; those of any
/// other peer may be forged and are replaced.
void put_forwarding(Writer& out, const net::RequestHead& head,
                    const UpstreamHeadOptions& options) noexcept {
  out.put("X-Forwarded-For: ");
  if (!options.client_text.empty() && options.client_text != options.peer_text) {
    out.put(options.client_text, ", ");
  }
  std::string_view proto = "http";  // of the downstream connection
  std::string_view host = head.authority;
  if (options.peer_trusted) {
    const FieldList& list = head.fields;
    for (std::size_t i = 0; options.client_text.empty() && i < list.count; ++i) {
      if (list.kinds[i] == FieldKind::x_forwarded_for && !list.fields[i].value.empty()) {
        out.put(list.fields[i].value, ", ");
      }
    }
    const std::string_view theirs = list.only_value(FieldKind::x_forwarded_proto);
    if (net::same_ignoring_case(theirs, "http") || net::same_ignoring_case(theirs, "https")) {
      proto = theirs;
    }
    const std::string_view their_host = list.only_value(FieldKind::x_forwarded_host);
    if (!their_host.empty()) host = their_host;
  }
  out.put(options.peer_text, "\r\nX-Forwarded-Proto: ", proto, "\r\n");
  if (!host.empty()) out.put("X-Forwarded-Host: ", host, "\r\n");
  if (!options.request_id.empty()) out.put("X-Request-Id: ", options.request_id, "\r\n");
}

void put_status_line(Writer& out, const net::ResponseHead& head) noexcept {
  const auto digit = [](int value) { return static_cast<char>('0' + value % 10); };
  const char status[] = {digit(head.status / 100), digit(head.status / 10), digit(head.status)};
  out.put("HTTP/1.1 ", std::string_view(status, sizeof status), " ", head.reason, "\r\n");
}

/// Whether the app gets field `i`, which is not plain. Out of line: rare in a request, and the loop
/// over all fields stays small.
[[gnu::noinline]] bool keeps_special(const net::RequestHead& head,
                                     const UpstreamHeadOptions& options, std::size_t i,
                                     FieldKind kind) noexcept {
  const std::string_view name = head.fields.fields[i].name;
  switch (kind) {
    case FieldKind::odd_name:
      return !aliases_one_of_ours(name, options.used_names) ||
             (options.peer_trusted && is_theirs_with_underscores(name));
    case FieldKind::x_forwarded_other:
      return options.peer_trusted || is_read(name, options.used_names);
    case FieldKind::max_forwards:
      return !head.max_forwards;
    default:
      return is_handshake(kind);
  }
}

/// Copies line by line if fields are left out that only their name identifies: those by which a
/// client could get an answer that no policy can read, an untrusted peer's `client_header`, and the
/// context of a trace that weir replaces.
[[gnu::noinline]] void copy_chosen_lines(Writer& out, const net::RequestHead& head,
                                         const UpstreamHeadOptions& options,
                                         bool hides_client) noexcept {
  for (std::size_t i = 0; i < head.fields.count; ++i) {
    const FieldKind kind = head.fields.kinds[i];
    const std::string_view name = head.fields.fields[i].name;
    if (kind != FieldKind::plain && !keeps_special(head, options, i, kind)) continue;
    if (hides_client && !is_handshake(kind) && net::aliases(name, options.client_header)) continue;
    if (!options.traceparent.empty() && net::aliases(name, "traceparent")) continue;
    if (options.new_trace && net::aliases(name, "tracestate")) continue;
    if (options.whole_answer && hides_the_answer(name, head.method_id)) continue;
    const char* const begin = head.fields.line_begin(i);
    out.put(std::string_view(begin, static_cast<std::size_t>(head.fields.line_end(i) - begin)));
  }
  if (!options.codings.empty()) out.put("Accept-Encoding: ", options.codings, "\r\n");
}

}  // namespace

void append_upstream_head(HeadText& out, const net::RequestHead& head,
                          const UpstreamHeadOptions& options) {
  // The head's own size covers the request line and every field that is copied or rewritten from
  // it.
  Writer writer(out, options.target.size() + head.size + 2 * head.authority.size() +
                         options.peer_text.size() + options.client_text.size() +
                         options.request_id.size() + options.codings.size() +
                         options.default_host.size() + options.traceparent.size() +
                         options.extra_lines.size() + kFixedRoom);
  writer.put(head.method, " ", options.target.empty() ? head.target : options.target,
             " HTTP/1.1\r\nHost: ", head.authority.empty() ? options.default_host : head.authority,
             "\r\n");
  const bool hides_client = !options.peer_trusted && !options.client_header.empty();
  const bool hides_trace = !options.traceparent.empty();
  if (options.whole_answer || hides_client || hides_trace) [[unlikely]] {
    copy_chosen_lines(writer, head, options, hides_client);
  } else {
    copy_lines(writer, head.fields, [&](std::size_t i) {
      const FieldKind kind = head.fields.kinds[i];
      return kind < FieldKind::host && keeps_special(head, options, i, kind);
    });
  }
  if (head.framing == Framing::length) {
    writer.put_number("Content-Length: ", head.content_length);
  } else if (head.framing == Framing::chunked) {
    writer.put("Transfer-Encoding: chunked\r\n");
  }
  if (head.max_forwards) {
    writer.put_number("Max-Forwards: ", *head.max_forwards - 1);
  }
  put_forwarding(writer, head, options);
  if (head.expect_continue && options.forward_expect) writer.put("Expect: 100-continue\r\n");
  if (head.websocket) {
    writer.put("Connection: Upgrade\r\nUpgrade: websocket\r\n");
  }
  if (!options.traceparent.empty()) writer.put("Traceparent: ", options.traceparent, "\r\n");
  writer.put(options.extra_lines, "\r\n");
}

DownstreamBody append_downstream_head(HeadText& out, const net::ResponseHead& head,
                                      const DownstreamHeadOptions& options) {
  DownstreamBody body{head.framing, options.keep_alive};
  if (body.framing == Framing::chunked && options.http_1_0) body.framing = Framing::until_close;
  if (body.framing == Framing::until_close && !options.http_1_0) body.framing = Framing::chunked;
  if (body.framing == Framing::until_close) body.keep_alive = false;

  Writer writer(out,
                head.size + options.extra_lines.size() + options.request_id.size() + kFixedRoom);
  put_status_line(writer, head);
  bool has_id = false;  // the app's own
  copy_lines(writer, head.fields, [&](std::size_t i) {
    const FieldKind kind = head.fields.kinds[i];
    has_id = has_id || kind == FieldKind::x_request_id;
    return kind < FieldKind::host || kind == FieldKind::x_request_id;
  });
  const auto put_request_id = [&] {
    if (options.request_id.empty() || has_id) return;
    writer.put("X-Request-Id: ", options.request_id, "\r\n");
  };
  if (head.upgraded) {
    body.keep_alive = false;
    writer.put("Connection: Upgrade\r\nUpgrade: websocket\r\n");
    put_request_id();
    writer.put(options.extra_lines, "\r\n");
    return body;
  }
  // HEAD and 304 say how long the body would be; 204 must not (RFC 9110, 8.6).
  const bool says_length =
      body.framing == Framing::length ||
      (body.framing == Framing::none && head.has_content_length && head.status != 204);
  if (says_length) {
    writer.put_number("Content-Length: ", head.content_length);
  } else if (body.framing == Framing::chunked) {
    writer.put("Transfer-Encoding: chunked\r\n");
  }
  if (!body.keep_alive) {
    writer.put("Connection: close\r\n");
  } else if (options.http_1_0) {
    writer.put("Connection: keep-alive\r\n");
  }
  put_request_id();
  writer.put(options.extra_lines, "\r\n");
  return body;
}

void append_interim_head(HeadText& out, const net::ResponseHead& head) {
  Writer writer(out, head.size + kFixedRoom);
  put_status_line(writer, head);
  copy_lines(writer, head.fields,
             [&](std::size_t i) { return head.fields.kinds[i] < FieldKind::host; });
  writer.put("\r\n");
}

}  // namespace weir::proxy
