#pragma once

#include <algorithm>
#include <boost/beast/http.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http/chunked.h"
#include "net/http/head.h"
#include "net/http/response_head.h"
#include "proxy/hop_headers.h"
#include "proxy/request_ids.h"

/// The property that rules the codec, for the tests and the fuzzers: what weir accepts, a second
/// independent parser (Boost.Beast's) accepts with the same meaning; and weir's output
/// re-parses to the same method, target, host, framing and body, however the input was split. The
/// converse need not hold: weir refuses more.
///
/// Every check returns what is wrong, or an empty string.
namespace weir::test {

namespace http = boost::beast::http;

/// Where to cut an input: a cheap deterministic sequence (a linear congruential generator).
class Cuts {
 public:
  explicit Cuts(std::uint32_t seed) : state_(seed) {}
  std::size_t next(std::size_t at, std::size_t size) {
    state_ = state_ * 1664525u + 1013904223u;
    const std::uint32_t bits = state_ >> 8;
    const std::size_t most = bits % 3 == 0 ? 1 : bits % 3 == 1 ? 17 : 700;
    return std::min(size, at + 1 + (bits >> 4) % most);
  }

 private:
  std::uint32_t state_;
};

/// A message as Beast reads it.
struct Reparsed {
  std::string error;  ///< empty: complete
  std::string method, target, reason, body;
  unsigned status = 0;
  int version = 0;
  bool chunked = false;
  std::optional<std::uint64_t> length;
  std::vector<std::pair<std::string, std::string>> fields;
  std::size_t used = 0;

  std::vector<std::string> values(std::string_view name) const {
    std::vector<std::string> out;
    for (const auto& [key, value] : fields) {
      if (net::same_ignoring_case(key, name)) out.push_back(value);
    }
    return out;
  }
};

template <bool is_request>
Reparsed reparse(std::string_view wire, bool no_body = false) {
  http::parser<is_request, http::string_body> parser;
  parser.eager(true);
  parser.header_limit(1 << 20);
  parser.body_limit(boost::none);
  parser.skip(no_body);
  Reparsed out;
  boost::system::error_code error;
  while (!parser.is_done() && out.used < wire.size()) {
    const std::string_view rest = wire.substr(out.used);
    const std::size_t n = parser.put(boost::asio::const_buffer(rest.data(), rest.size()), error);
    out.used += n;
    if (error == http::error::need_more && n > 0) error = {};
    if (error) break;
  }
  if (!error && !parser.is_done() && parser.is_header_done() && parser.need_eof()) {
    parser.put_eof(error);
  }
  if (error) {
    out.error = error.message();
  } else if (!parser.is_done()) {
    out.error = "incomplete";
  }
  if (!parser.is_header_done()) return out;
  const auto& message = parser.get();
  if constexpr (is_request) {
    out.method = message.method_string();
    out.target = message.target();
  } else {
    out.status = message.result_int();
    const auto given = message.reason();  // of an empty reason Beast makes the usual one
    out.reason = given == http::obsolete_reason(message.result()) ? "" : std::string{given};
  }
  out.version = static_cast<int>(message.version());
  out.chunked = parser.chunked();
  if (const auto length = parser.content_length()) out.length = *length;
  out.body = message.body();
  for (const auto& field : message) out.fields.emplace_back(field.name_string(), field.value());
  return out;
}

/// A body as weir's relay reads it from what follows a head. `complete` false: cut short or
/// refused.
struct RelayedBody {
  bool complete = false;
  std::string data;
  std::size_t used = 0;
};

inline RelayedBody read_body(std::string_view rest, net::Framing framing, std::uint64_t length,
                             Cuts& cuts) {
  RelayedBody out;
  if (framing == net::Framing::none) {
    out.complete = true;
  } else if (framing == net::Framing::length) {
    out.complete = length <= rest.size();
    out.data =
        rest.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(length, rest.size())));
    out.used = out.data.size();
  } else if (framing == net::Framing::until_close) {
    out = {true, std::string{rest}, rest.size()};
  } else {
    net::ChunkedDecoder decoder;
    while (out.used < rest.size() && !decoder.done()) {
      std::string_view piece = rest.substr(out.used, cuts.next(out.used, rest.size()) - out.used);
      while (!piece.empty() && !decoder.done()) {
        const net::ChunkedDecoder::Step step = decoder.next(piece);
        if (step.refusal != net::HttpRefusal::none) return out;
        out.data += step.data;
        out.used += step.used;
        piece.remove_prefix(step.used);
      }
    }
    out.complete = decoder.done();
  }
  return out;
}

/// The original message for Beast to read: a body that weir refuses later is left out.
inline std::string as_beast_takes_it(std::string_view head, std::string_view rest,
                                     net::Framing framing, const RelayedBody& body) {
  std::string out{head};
  if (framing == net::Framing::chunked) {
    if (body.complete) out += net::kLastChunk;
  } else if (body.complete) {
    out += rest.substr(0, body.used);
  }
  return out;
}

/// A body as weir's relay writes it.
inline void write_body(std::string& wire, std::string_view data, net::Framing framing, Cuts& cuts) {
  if (framing != net::Framing::chunked) {
    wire += data;
    return;
  }
  for (std::size_t at = 0; at < data.size();) {
    const std::size_t end = cuts.next(at, data.size());
    std::array<char, 18> head;
    wire.append(head.data(), net::write_chunk_head(head, end - at));
    wire.append(data.substr(at, end - at)).append(net::kChunkEnd);
    at = end;
  }
  wire += net::kLastChunk;
}

/// Feeds growing prefixes, each in memory of its own, so that a sanitizer sees reads too far.
template <class Head, class Parse>
net::HeadStatus parse_split(std::string_view bytes, Cuts& cuts, Head& head, std::vector<char>& room,
                            Parse parse) {
  net::HeadProgress progress;
  net::HeadStatus status = net::HeadStatus::incomplete;
  for (std::size_t at = 0; at < bytes.size() && status == net::HeadStatus::incomplete;) {
    at = cuts.next(at, bytes.size());
    room.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
    status = parse(std::string_view{room.data(), room.size()}, progress, head);
  }
  return status;
}

inline bool is_dropped_name(std::string_view name) {
  constexpr std::string_view kDropped[] = {
      "connection",     "keep-alive",         "proxy-connection",    "te",   "trailer", "upgrade",
      "http2-settings", "proxy-authenticate", "proxy-authorization", "proxy"};
  return std::any_of(std::begin(kDropped), std::end(kDropped), [name](std::string_view dropped) {
    return net::same_ignoring_case(name, dropped);
  });
}

/// Parsed whole and in pieces: the same, but that a refusal may come late, or wait for the head's
/// end.
template <class Head>
std::string compare_split(net::HeadStatus whole_status, const Head& whole, net::HeadStatus status,
                          const Head& split) {
  if (whole_status == net::HeadStatus::refused) {
    if (status == net::HeadStatus::complete) return "refused whole, accepted in pieces";
    if (status == net::HeadStatus::refused && split.refusal != whole.refusal) {
      return "another refusal in pieces";
    }
    return {};
  }
  if (status != whole_status) return "another status in pieces";
  if (status == net::HeadStatus::complete &&
      (split.size != whole.size || split.framing != whole.framing ||
       split.content_length != whole.content_length || split.keep_alive != whole.keep_alive ||
       split.fields.count != whole.fields.count)) {
    return "another decision in pieces";
  }
  return {};
}

/// Beast reads Proxy-Connection, which no RFC knows, as strictly as Connection. weir drops it
/// unread.
inline bool is_proxy_connection_quirk(const Reparsed& theirs, const net::FieldList& fields) {
  return theirs.error == "bad value" && fields.find("proxy-connection") != nullptr;
}

inline std::string check_framing(const Reparsed& beast, net::Framing framing,
                                 std::uint64_t length) {
  if (beast.chunked != (framing == net::Framing::chunked)) return "chunked or not";
  const bool has_length = framing == net::Framing::length;
  if (has_length != beast.length.has_value()) return "content-length or not";
  if (has_length && *beast.length != length) return "another content-length";
  return {};
}

/// A reason as Reparsed has it.
inline std::string unusual(std::string_view reason, int status) {
  const auto usual = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status)));
  return reason == usual ? std::string{} : std::string{reason};
}

/// Compares the request that went upstream, as Beast reads it, with the decision.
inline std::string check_upstream(const Reparsed& beast, const net::RequestHead& head,
                                  const proxy::UpstreamHeadOptions& options) {
  if (beast.method != head.method) return "another method";
  if (beast.target != head.target) return "another target";
  const std::string host{head.authority.empty() ? options.default_host : head.authority};
  if (beast.values("host") != std::vector{host}) return "another host";
  if (beast.version != 11) return "another version";
  if (std::string problem = check_framing(beast, head.framing, head.content_length);
      !problem.empty()) {
    return problem;
  }
  for (const auto& [name, value] : beast.fields) {
    const bool ours = head.websocket && (net::same_ignoring_case(name, "connection") ||
                                         net::same_ignoring_case(name, "upgrade"));
    if (is_dropped_name(name) && !ours) return "hop-by-hop field upstream: " + name;
    if (net::aliases(std::string_view{name}.substr(0, 7), "x-weir-") && value != "ours") {
      return "a client's copy of our field: " + name;
    }
  }
  for (const char* once : {"x-forwarded-for", "x-forwarded-proto", "x-request-id"}) {
    if (beast.values(once).size() != 1) return std::string{"not exactly one "} + once;
  }
  if (!options.peer_trusted && beast.values("x-forwarded-for")[0] != options.peer_text) {
    return "an untrusted X-Forwarded-For";
  }
  return {};
}

/// A chunked body: our decoder against Beast's, whole and in pieces.
inline std::string check_chunked(std::string_view bytes, std::uint32_t seed) {
  Cuts cuts{seed};
  net::ChunkedDecoder decoder;
  const std::vector<char> copy(bytes.begin(), bytes.end());
  std::string_view rest{copy.data(), copy.size()};
  std::string data;
  bool refused = false;
  while (!rest.empty() && !decoder.done() && !refused) {
    const net::ChunkedDecoder::Step step = decoder.next(rest);
    refused = step.refusal != net::HttpRefusal::none;
    data += step.data;
    rest.remove_prefix(step.used);
  }
  const bool complete = !refused && decoder.done();
  const RelayedBody pieces = read_body(bytes, net::Framing::chunked, 0, cuts);
  if (pieces.complete != complete || pieces.data != data) return "another body in pieces";
  if (!complete) return {};
  const std::string_view body = bytes.substr(0, bytes.size() - rest.size());
  const std::string top = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const Reparsed theirs = reparse<true>(top + std::string{body});
  // Beast merges trailers into the header, and so takes offence at one that looks like framing.
  for (const char* merged :
       {"bad value", "bad Content-Length", "bad Transfer-Encoding", "multiple Content-Length"}) {
    if (theirs.error == merged) return {};
  }
  if (!theirs.error.empty()) return "Beast refuses what we accept: " + theirs.error;
  if (theirs.body != data || theirs.used != top.size() + body.size())
    return "Beast reads another body";
  return {};
}

inline std::string check_request(std::string_view bytes, std::uint32_t seed,
                                 net::HeadStatus* status = nullptr) {
  Cuts cuts{seed};
  net::RequestHead head;
  net::HeadProgress progress;
  const std::vector<char> copy(bytes.begin(), bytes.end());
  bytes = {copy.data(), copy.size()};
  const net::HeadStatus whole = net::parse_request_head(bytes, {}, progress, head);
  if (status != nullptr) *status = whole;
  {
    net::RequestHead split;
    std::vector<char> room;
    const auto parse = [](std::string_view arrived, net::HeadProgress& p, net::RequestHead& h) {
      return net::parse_request_head(arrived, {}, p, h);
    };
    const net::HeadStatus pieces = parse_split(bytes, cuts, split, room, parse);
    if (std::string problem = compare_split(whole, head, pieces, split); !problem.empty()) {
      return problem;
    }
    if (pieces == net::HeadStatus::complete &&
        (split.target != head.target || split.host != head.host)) {
      return "another target or host in pieces";
    }
  }
  if (whole != net::HeadStatus::complete) return {};

  const std::size_t empty_line = bytes.starts_with("\r\n") ? 2 : 0;
  const std::string_view rest = bytes.substr(head.size);
  const RelayedBody body = read_body(rest, head.framing, head.content_length, cuts);
  // Beast merges trailers into the header: of a chunked message it gets the head with an empty body
  // here, and the body by itself.
  if (head.framing == net::Framing::chunked) {
    if (std::string problem = check_chunked(rest, seed); !problem.empty()) return problem;
  }
  const std::string original =
      as_beast_takes_it(bytes.substr(empty_line, head.size - empty_line), rest, head.framing, body);
  const Reparsed theirs = reparse<true>(original);
  if (is_proxy_connection_quirk(theirs, head.fields)) return {};
  if (!theirs.error.empty() && (body.complete || theirs.error != "incomplete")) {
    return "Beast refuses what we accept: " + theirs.error;
  }
  if (theirs.method != head.method ||
      (theirs.target.starts_with('/') && theirs.target != head.target)) {
    return "Beast reads another method or target";
  }
  if (theirs.values("host") != (head.authority.empty()
                                    ? std::vector<std::string>{}
                                    : std::vector{std::string{head.authority}})) {
    return "Beast reads another host";
  }
  if (std::string problem = check_framing(theirs, head.framing, head.content_length);
      !problem.empty()) {
    return "Beast reads another framing: " + problem;
  }
  if (body.complete && head.framing != net::Framing::chunked &&
      (theirs.body != body.data || theirs.used != original.size())) {
    return "Beast reads another body";
  }

  proxy::RequestIds ids{seed};
  std::array<char, 32> id;
  proxy::UpstreamHeadOptions options;
  options.peer_text = "192.0.2.7";
  options.peer_trusted = seed % 2 == 0;
  options.default_host = "app";
  options.extra_lines = "X-Weir-Verdict: ours\r\n";
  options.forward_expect = seed % 3 != 0;
  options.request_id = proxy::choose_request_id(head, options.peer_trusted, ids, id);
  proxy::HeadText text;
  text.append("kept");
  proxy::append_upstream_head(text, head, options);
  std::string wire(text.view());
  if (!wire.starts_with("kept")) return "what was in the buffer is gone";
  wire.erase(0, 4);
  if (body.complete) write_body(wire, body.data, head.framing, cuts);
  const Reparsed upstream = reparse<true>(wire);
  if (!upstream.error.empty() && (body.complete || upstream.error != "incomplete")) {
    return "Beast refuses what we wrote: " + upstream.error;
  }
  if (body.complete && (upstream.body != body.data || upstream.used != wire.size())) {
    return "another body upstream";
  }
  return check_upstream(upstream, head, options);
}

inline std::string check_response(std::string_view bytes, std::uint32_t seed,
                                  net::HeadStatus* status = nullptr) {
  Cuts cuts{seed};
  const net::AnsweredRequest request{
      .head = seed % 4 == 0, .websocket_key = seed % 4 == 1 ? "dGhlIHNhbXBsZSBub25jZQ==" : ""};
  const std::vector<char> copy(bytes.begin(), bytes.end());
  bytes = {copy.data(), copy.size()};
  net::ResponseHead head;
  net::HeadProgress progress;
  const net::HeadStatus whole = net::parse_response_head(bytes, request, {}, progress, head);
  if (status != nullptr) *status = whole;
  {
    net::ResponseHead split;
    std::vector<char> room;
    const auto parse = [&](std::string_view arrived, net::HeadProgress& p, net::ResponseHead& h) {
      return net::parse_response_head(arrived, request, {}, p, h);
    };
    const net::HeadStatus pieces = parse_split(bytes, cuts, split, room, parse);
    if (std::string problem = compare_split(whole, head, pieces, split); !problem.empty()) {
      return problem;
    }
  }
  if (whole != net::HeadStatus::complete) return {};

  const RelayedBody body =
      read_body(bytes.substr(head.size), head.framing, head.content_length, cuts);
  const bool no_body = head.framing == net::Framing::none;
  // Beast insists on the blank before an empty reason; weir does not.
  const bool same_grammar = bytes.substr(12, 1) == " ";
  if (same_grammar) {
    if (head.framing == net::Framing::chunked) {
      const std::string problem = check_chunked(bytes.substr(head.size), seed);
      if (!problem.empty()) return problem;
    }
    const std::string original =
        as_beast_takes_it(bytes.substr(0, head.size), bytes.substr(head.size), head.framing, body);
    const Reparsed theirs = reparse<false>(original, no_body);
    if (is_proxy_connection_quirk(theirs, head.fields)) return {};
    if (!theirs.error.empty() && body.complete) {
      return "Beast refuses what we accept: " + theirs.error;
    }
    if (theirs.status != static_cast<unsigned>(head.status) ||
        theirs.reason != unusual(head.reason, head.status)) {
      return "Beast reads another status or reason";
    }
    if (body.complete && head.framing != net::Framing::chunked &&
        (theirs.body != body.data || theirs.used != original.size())) {
      return "Beast reads another body";
    }
  }

  proxy::HeadText text;
  proxy::DownstreamBody down{net::Framing::none, true};
  const proxy::DownstreamHeadOptions options{.http_1_0 = seed % 5 == 0,
                                             .keep_alive = seed % 7 != 0,
                                             .extra_lines = "X-Weir-Verdict: ours\r\n"};
  if (head.interim()) {
    proxy::append_interim_head(text, head);
  } else {
    down = proxy::append_downstream_head(text, head, options);
  }
  std::string wire(text.view());
  if (body.complete) write_body(wire, body.data, down.framing, cuts);
  const Reparsed ours = reparse<false>(wire, no_body);
  if (!ours.error.empty() && body.complete) return "Beast refuses what we wrote: " + ours.error;
  if (ours.status != static_cast<unsigned>(head.status) ||
      ours.reason != unusual(head.reason, head.status)) {
    return "another status or reason downstream";
  }
  if (body.complete && (ours.body != body.data || ours.used != wire.size())) {
    return "another body downstream";
  }
  if (ours.chunked != (down.framing == net::Framing::chunked)) return "chunked or not, downstream";
  for (const auto& [name, value] : ours.fields) {
    const bool written = net::same_ignoring_case(name, "connection") ||
                         (head.upgraded && net::same_ignoring_case(name, "upgrade"));
    if (is_dropped_name(name) && !written) return "hop-by-hop field downstream: " + name;
  }
  const std::vector<std::string> connection = ours.values("connection");
  const bool says_close = connection == std::vector<std::string>{"close"};
  if (!head.interim() && !head.upgraded && says_close == down.keep_alive) {
    return "the head says something else about the connection";
  }
  return {};
}

}  // namespace weir::test
