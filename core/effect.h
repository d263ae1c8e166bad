#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/clock.h"
#include "core/number.h"

namespace weir {

/// The work of a front door for one request. A door renders an Effect, and never asks which action
/// or policy the effect comes from. The views belong to the Gate that made the effect, and live
/// until its next judgement.
struct Effect {
  enum class Kind : std::uint8_t {
    pass,    ///< send it upstream
    answer,  ///< answer locally with status, response_headers and body; nothing goes upstream
    delay,   ///< hold it for `hold`, then send it upstream
    /// The shared store has been asked, or the request is over only because of others'
    /// reservations: park it until the store answers or one of them settles, then judge it again.
    wait,
  };
  Kind kind = Kind::pass;
  std::uint16_t status = 0;  ///< answer
  milliseconds hold{0};      ///< delay
  /// Whole lines (`X-Weir-Verdict: flag\r\n`) to add to the request that goes upstream; may be
  /// empty.
  std::string_view upstream_headers;
  /// Whole lines to add to the response, the local one or the app's; may be empty.
  std::string_view response_headers;
  std::string_view content_type;  ///< answer; empty: no body
  std::string_view body;          ///< answer
  /// The policy or list of the configuration that decided, for records and for answers to
  /// operators.
  struct Cause {
    std::string_view name;     ///< empty: no policy or list decided
    std::string_view verdict;  ///< "flag", "gray", "delay", "challenge", "deny"; may be empty
    bool is_list = false;
    int rung = -1;
    std::optional<Number> value, limit;
    std::uint32_t in_flight = 0;  ///< it refuses for so many other requests under way alone
    bool possible = false;        ///< `value` includes the request as if its answer matched
  };
  Cause cause;
};

}  // namespace weir
