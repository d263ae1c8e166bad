#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/address.h"
#include "core/clock.h"
#include "telemetry/short_text.h"
#include "telemetry/trace_context.h"

namespace weir::telemetry {

/// The end of a request, in the words of the access log.
enum class RequestEnd : std::uint8_t {
  aborted,   ///< the client left first
  drained,   ///< weir ended before the request did
  refused,   ///< a policy's or list's answer
  local,     ///< weir's own answer: the request is bad, or the app is unavailable
  cut,       ///< the app broke its answer off
  complete,  ///< the app's answer went through
};
std::string_view name_of(RequestEnd end) noexcept;

/// The proxy's record of one request, for the access log's line and the spans. Texts that are too
/// long are cut. A value of fixed size, about 1.4 KiB: kept only for requests that are logged or
/// traced.
struct RequestFacts {
  static constexpr std::int64_t kNever = -1;

  FineTime begun{};  ///< the head was complete
  // Microseconds; kNever: it did not come to that.
  std::int64_t head_us = 0;        ///< from the head's first byte to its end
  std::int64_t judge_us = kNever;  ///< from there to the verdict, without waiting
  std::int64_t wait_us = 0;  ///< for others' reservations, the shared store, or held by `delay`
  std::int64_t sent_us = kNever;        ///< when it was sent to the app, from `begun`
  std::int64_t connect_us = kNever;     ///< until the app took the connection; 0: a pooled one
  std::int64_t first_byte_us = kNever;  ///< from sending it to the answer's head
  std::int64_t total_us = 0;            ///< from `begun` to the end of the answer
  std::uint64_t bytes_in = 0, bytes_out = 0;  ///< of the request and the answer, heads included
  std::uint16_t status = 0;                   ///< 0: no answer
  RequestEnd end = RequestEnd::aborted;
  bool sampled = false;  ///< by `access_log.sample`
  bool refused = false;
  bool traced = false;

  Address client, peer;
  std::string_view upstream;  ///< outlives the process's workers; empty: not sent to any
  ShortText<128> request_id;
  ShortText<16> method;
  ShortText<64> host;
  ShortText<512> path;
  ShortText<256> query;
  ShortText<64> route;    ///< the event's name; empty: none but `request`
  ShortText<16> verdict;  ///< an action's name, `pass`, `allow`; empty: not judged
  ShortText<64> policy;   ///< policy or list that decided
  ShortText<128> user_agent, referer;

  TraceContext trace;                         ///< span_id: weir's own span, server side
  std::array<std::uint8_t, 8> parent{};       ///< all zero: there is none
  std::array<std::uint8_t, 8> client_span{};  ///< of the exchange with the app

  /// As new. The texts' bytes stay as they are: clearing them would cost more than a line.
  void clear() noexcept {
    begun = {};
    head_us = wait_us = total_us = 0;
    judge_us = sent_us = connect_us = first_byte_us = kNever;
    bytes_in = bytes_out = 0;
    status = 0;
    end = RequestEnd::aborted;
    sampled = refused = traced = false;
    client = peer = Address{};
    upstream = {};
    request_id.clear();
    method.clear();
    host.clear();
    path.clear();
    query.clear();
    route.clear();
    verdict.clear();
    policy.clear();
    user_agent.clear();
    referer.clear();
    trace = {};
    parent = client_span = {};
  }
};

}  // namespace weir::telemetry
