#pragma once

#include "limiter/kinds/kinds.h"

namespace weir::limiter {

/// Events that have begun and not ended: a number in the slot, which is held while it is over zero.
struct InFlightOps {
  static Reading charge(Subject& s, const Instant& now, const Amount& event, const Ceiling* ceiling,
                        Undo* undo) noexcept;
  static void uncharge(Subject& s, const Undo& undo) noexcept;
  static Reading peek(const Subject& s, const Instant& now, const Amount* event) noexcept;
  static Reading reserve(Subject& s, const Instant& now, const Amount& event,
                         const Ceiling* ceiling, Undo* undo) noexcept;
  /// Ends the reservation, matched or not: `in_flight` has no settled part.
  static Reading settle(Subject& s, const Instant& now, std::int64_t event_ms, const Amount& event,
                        const Undo& undo, bool matched) noexcept;
  static void reset(Subject&, const Instant&) noexcept {}
  static void take_out(const Subject&, const Instant&, std::vector<PlainEntry>&) {}
  static void put_in(Subject&, const Instant&, std::span<const PlainEntry>) noexcept {}

 private:
  static void leave(Subject& s, const Amount& event) noexcept;
};

}  // namespace weir::limiter
