#pragma once

#include <span>
#include <string_view>

#include "net/http/head.h"
#include "net/http/response_head.h"
#include "proxy/head_text.h"

namespace weir::proxy {

/// The one place that writes heads: the request that goes upstream and the response that goes
/// downstream, each built from the decisions of the parsers. Hop-by-hop fields and those named in
/// Connection are dropped, and exactly one framing field is written, from the decided framing.
/// Functions append to `out`, a buffer that is reused from request to request (no allocation once
/// it has grown). Thread-safe for distinct arguments.

struct UpstreamHeadOptions {
  /// In normal form, so that the app gets what was judged; empty: as the client spelt it.
  std::string_view target;
  /// Address of the connection's other end, canonical text (make it once).
  std::string_view peer_text;
  /// The peer is a trusted hop: its forwarding fields are kept, and extended.
  bool peer_trusted = false;
  /// The field in which trusted peers name the client, if it is not X-Forwarded-For (lower case):
  /// from others it is dropped, because the app believes it.
  std::string_view client_header;
  /// The client that a trusted peer names in another field than X-Forwarded-For, as canonical text.
  /// No trusted peer vouches for X-Forwarded-For then, so weir writes that field again. Empty: the
  /// field is X-Forwarded-For, or the peer is not trusted.
  std::string_view client_text;
  std::string_view request_id;    ///< from choose_request_id; empty: the field is not written
  std::string_view traceparent;   ///< replaces the client's; empty: the client's is forwarded
  bool new_trace = false;         ///< traceparent begins a trace; the client's state is dropped
  std::string_view default_host;  ///< Host of an HTTP/1.0 request that has none
  std::string_view extra_lines;   ///< Effect::upstream_headers: whole lines
  /// Names (lower case, with `-`) of the fields that policies read: they are kept although a hop
  /// should set them (X-Real-IP) and the peer is not trusted. A field with `_` or `.` in its name
  /// that aliases one of them, or a field weir itself reads or sets, is dropped: an app behind CGI,
  /// WSGI or Rack could not distinguish the two.
  std::span<const std::string_view> used_names;
  /// The simplest correct way with `Expect: 100-continue`: forward it, and relay the app's 100 like
  /// any 1xx. Only a door that had to read the body before judging answered 100 itself; then it
  /// sets false.
  bool forward_expect = true;
  /// A policy reads the body of the answer, so that all of it must come, in a coding that weir can
  /// decode: `codings` replaces the client's Accept-Encoding (empty: no such field is written),
  /// and the fields that ask for a part (Range, If-Range), for a difference (A-IM) or, of GET and
  /// HEAD, for nothing where the client has it already (If-None-Match, If-Modified-Since) are
  /// dropped. A server may ignore each of them, so clients must accept the whole answer.
  bool whole_answer = false;
  std::string_view codings;
};

/// Appends the head of the request for the app: always HTTP/1.1, with the target in origin-form. A
/// chunked body stays chunked: the relay writes new chunks.
void append_upstream_head(HeadText& out, const net::RequestHead& head,
                          const UpstreamHeadOptions& options);

/// The abilities of the client, taken from its request.
struct DownstreamHeadOptions {
  bool http_1_0 = false;              ///< RequestHead::http_1_0
  bool keep_alive = true;             ///< we are willing: the client's keep_alive and not draining
  std::string_view extra_lines = {};  ///< Effect::response_headers: whole lines
  std::string_view request_id = {};   ///< written unless the app's answer has an X-Request-Id
};

/// How the relay must write the answer's body.
struct DownstreamBody {
  net::Framing framing =
      net::Framing::none;   ///< chunked: write chunks; until_close: bare, then close
  bool keep_alive = false;  ///< false: close the connection after the answer (the head says so)
};

/// Appends the head of the final answer (or of the verified 101) for the client. If only the end of
/// the upstream connection marks the end of the body, the body becomes chunked for HTTP/1.1, and
/// lasts until close for HTTP/1.0.
DownstreamBody append_downstream_head(HeadText& out, const net::ResponseHead& head,
                                      const DownstreamHeadOptions& options);

/// Appends an interim answer (1xx but 101) as it goes downstream. Never send one to an HTTP/1.0
/// client.
void append_interim_head(HeadText& out, const net::ResponseHead& head);

}  // namespace weir::proxy
