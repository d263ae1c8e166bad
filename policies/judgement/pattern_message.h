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

/// A message to the store about a shared pattern: an event has happened, or a due deadline has been
/// handled. No request waits for it, but it must not be lost: an unknown order raises no alarm, and
/// an unknown payment raises a false one. The message carries the actions for the case that the
/// event completes a match, because the request will be gone by then.
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
  TimePoint
      time{};  ///< the event's own, Clock::now(); done: the end of the lease, of the store's clock
  limiter::SharedId id;
  Hash128 key_here;  ///< in the PatternBank
  /// Rungs that hold if it completes a match; -1: none.
  int enforced = -1, shadow = -1;
  bool remembered = false;   ///< and that is done already
  bool was_certain = false;  ///< its match was foreseen when the request was judged
  // How it is getting on.
  bool again = false;         ///< the store may have received it
  bool kept = false;          ///< counted locally, because the store was away
  std::uint8_t refusals = 0;  ///< how often the store has refused it

  void clear();
};

/// The operation that delivers it. `forgets`: as PatternAsk.
void append(const PatternMessage& message, Instant now, bool forgets, StoreOps& out);

}  // namespace weir::policies
