#include "limiter/kinds/in_flight.h"

#include <algorithm>
#include <limits>

namespace weir::limiter {
namespace {

constexpr std::uint32_t kMost = std::numeric_limits<std::int32_t>::max();

std::uint32_t amount_of(const Amount& event) noexcept {
  if (event.amount.is_real()) return 1;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(event.amount.integer(), 0, kMost));
}

std::uint32_t now_in(const Subject& s) noexcept { return s.slot != nullptr ? s.slot->word[3] : 0; }

Reading reading(std::uint32_t in, std::uint32_t with) noexcept {
  Reading r;
  r.value = r.settled = Number(std::int64_t{in} + with);
  r.in_flight = in;
  return r;
}

}  // namespace

Reading InFlightOps::charge(Subject& s, const Instant& now, const Amount& event,
                            const Ceiling* ceiling, Undo* undo) noexcept {
  if (undo != nullptr) *undo = Undo{};
  const std::uint32_t n = amount_of(event);
  Reading r = reading(now_in(s), n);
  r.refused =
      (ceiling != nullptr && ceiling->broken_by(r.value)) || r.value > Number(std::int64_t{kMost});
  if (r.refused || n == 0) return r;
  if (s.slot == nullptr) claim_slot(s, now, r);
  if (s.slot == nullptr) return r;
  s.slot->touched = now.second;
  s.slot->word[3] += n;
  s.slot->held = 1;
  r.stored = true;
  if (undo != nullptr) {
    undo->what = Undo::What::charge;
    undo->amount = event;
    undo->at = from_ms(now.ms);
  }
  return r;
}

void InFlightOps::leave(Subject& s, const Amount& event) noexcept {
  if (s.slot == nullptr) return;
  s.slot->word[3] -= std::min(s.slot->word[3], amount_of(event));
  if (s.slot->word[3] == 0) {
    s.counter.table->release(*s.place.region, *s.slot, s.arena);
    s.slot = nullptr;
  }
}

void InFlightOps::uncharge(Subject& s, const Undo& undo) noexcept {
  if (undo.what != Undo::What::nothing) leave(s, undo.amount);
}

Reading InFlightOps::peek(const Subject& s, const Instant&, const Amount* event) noexcept {
  return reading(now_in(s), event != nullptr ? amount_of(*event) : 0);
}

Reading InFlightOps::reserve(Subject& s, const Instant& now, const Amount& event,
                             const Ceiling* ceiling, Undo* undo) noexcept {
  return charge(s, now, event, ceiling, undo);
}

Reading InFlightOps::settle(Subject& s, const Instant&, std::int64_t, const Amount&,
                            const Undo& undo, bool) noexcept {
  uncharge(s, undo);
  return reading(now_in(s), 0);
}

}  // namespace weir::limiter
