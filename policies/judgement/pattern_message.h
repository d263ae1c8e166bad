#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/key.h"
#include "limiter/exchange/shared_op.h"
#include "policies/judgement/store_ops.h"

namespace weir::policies {

struct Loaded;
struct Instant;

/// What the store must know of a shared pattern: that an event has happened, or that a due deadline
/// has been acted on. Nobody waits for it, but it must not be lost: an order that the store does
/// not know raises no alarm, a payment that it does not know raises a false one. The message
/// carries what to do if the event completes a match, because the request will be gone by then.
struct PatternMessage {
  std::shared_ptr<const Loaded> loaded;
  std::uint16_t pattern = 0;  ///< index into PolicySet::patterns
  std::uint16_t binding = 0;  ///< of its first part
  limiter::SharedVerb verb = limiter::SharedVerb::add;
  std::string key;      ///< SharedOp::key
  std::string place;    ///< PatternAsk::key
  std::string payload;  ///< printable key, and its keys on lists (pattern_firing.cc)
  bool waits = false;   ///< the payload goes along
  std::uint8_t steps = 0;
  bool among = false;
  std::uint64_t line = 0;
  TimePoint time{};  ///< the event's own, Clock::now(); done: of the store's clock
  limiter::SharedId id;
  Hash128 key_here;  ///< in the PatternBank
  /// Rungs that hold if it completes a match; -1: none.
  int enforced = -1, shadow = -1;
  bool remembered = false;   ///< and that is done already
  bool was_certain = false;  ///< its match was foreseen when the request was judged
  // How it is getting on.
  bool again = false;  ///< the store may have heard of it
  bool kept = false;   ///< it is known here, for the store was away

  void clear();
};

/// The operation that delivers it. `forgets`: as PatternAsk.
void append(const PatternMessage& message, Instant now, bool forgets, StoreOps& out);

}  // namespace weir::policies
