#pragma once

#include <cstdint>
#include <string_view>

#include "core/clock.h"

namespace weir {

/// What a front door must do with a request. A door renders an Effect and never asks which action
/// or policy it came from. The views belong to the Gate that made it and live until its next
/// judgement.
struct Effect {
  enum class Kind : std::uint8_t {
    pass,    ///< send it upstream
    answer,  ///< answer locally with status, response_headers and body; nothing goes upstream
    delay,   ///< hold it for `hold`, then send it upstream
    wait,    ///< over only because of others' reservations: park it, then judge it again
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
};

}  // namespace weir
