#pragma once

#include <cstdint>
#include <optional>

#include "core/address.h"
#include "core/clock.h"
#include "core/key.h"
#include "core/number.h"
#include "core/words.h"
#include "limiter/lists/lists.h"
#include "telemetry/cut_text.h"
#include "telemetry/logged_key.h"
#include "telemetry/short_text.h"

/// The messages from workers to the control thread: values of fixed size, so that a worker copies
/// them and never waits.
namespace weir::app {

/// A verdict, or a key that a rung has put on a list (or would notify of).
struct News {
  enum class Kind : std::uint8_t { verdict, listed };
  Kind kind = Kind::verdict;
  Action effect = Action::none;
  bool shadow = false;
  bool created = false;  ///< listed: a new entry
  bool list = false;     ///< verdict: `decider` is a list; listed: `list_name` is one
  std::uint16_t status = 0;
  TimePoint time{};
  TimePoint until{};  ///< epoch: not known
  milliseconds window{0};
  Number value;
  std::optional<Number> limit;
  std::uint32_t in_flight = 0;  ///< verdict: policies::Standing::in_flight
  bool possible = false;        ///< verdict: policies::Standing::possible
  Address client;
  telemetry::ShortText<16> method;
  telemetry::CutText<208> path;
  telemetry::CutText<64> event;      ///< verdict: of one that did not come as a request; else empty
  telemetry::ShortText<64> decider;  ///< policy or list
  telemetry::ShortText<64> list_name;    ///< listed
  telemetry::ShortText<64> notify;       ///< listed: empty: no notification
  telemetry::LoggedKey key;              ///< listed: printable parts
  telemetry::CutText<64> field;          ///< verdict: the part of the request that is unreadable
  telemetry::CutText<64> why;            ///< and why
  telemetry::ShortText<128> request_id;  ///< verdict: of a request; else empty
  limiter::ListId shared_list;           ///< listed: if replicas share it; then also `hash`
  Hash128 hash;                          ///< of the key, in that list
};

}  // namespace weir::app
