#include "net/wheel.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/no_memory.h"

namespace weir::net {
namespace {

std::int64_t tick_after(TimePoint t) noexcept {  // the first tick not before t
  return (to_ms(t) + Wheel::kTick.count() - 1) / Wheel::kTick.count();
}
std::int64_t tick_of(TimePoint t) noexcept { return to_ms(t) / Wheel::kTick.count(); }

/// The first tick of [from, until) whose slot has a timer; `until`: there is none. `occupied`: a
/// bit for each slot.
template <std::size_t N>
std::int64_t first_occupied(const std::array<std::uint64_t, N>& occupied, std::int64_t from,
                            std::int64_t until) noexcept {
  constexpr auto kAll = static_cast<std::int64_t>(N * 64);
  for (std::int64_t tick = from; tick < until;) {
    const std::int64_t index = tick % kAll;
    const std::uint64_t rest = occupied[static_cast<std::size_t>(index / 64)] >> (index % 64);
    if (rest != 0) return std::min(tick + std::countr_zero(rest), until);
    tick += 64 - index % 64;
  }
  return until;
}

}  // namespace

void Timer::unlink() noexcept {
  if (next_ == nullptr) return;
  previous_->next_ = next_;
  next_->previous_ = previous_;
  previous_ = next_ = nullptr;
}

Wheel::Wheel(TimePoint now) noexcept : current_(tick_of(now)) {
  for (Slot& slot : slots_) slot.previous_ = slot.next_ = &slot;
}

Wheel::~Wheel() {
  // Timers may outlive the wheel; none may keep a link into it.
  for (Slot& slot : slots_) {
    while (slot.next_ != &slot) slot.next_->unlink();
  }
}

void Wheel::link(Timer& timer, std::int64_t tick) noexcept {
  tick = std::clamp(tick, current_ + 1, current_ + kSlots - 1);
  const std::int64_t index = tick % kSlots;
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  timer.tick_ = tick;
  timer.previous_ = slot.previous_;
  timer.next_ = &slot;
  slot.previous_->next_ = &timer;
  slot.previous_ = &timer;
  set_bit(index);
}

void Wheel::arm(Timer& timer, TimePoint deadline) noexcept {
  timer.deadline_ = deadline;
  const std::int64_t tick = tick_after(deadline);
  if (timer.linked()) {
    if (timer.tick_ <= tick) return;
    timer.unlink();
  }
  link(timer, tick);
}

void Wheel::run_slot(Slot& slot, TimePoint now) {
  Slot due;  // taken off first: new timers of on_timer go into the slots, never into this list
  if (slot.next_ != &slot) {
    due.next_ = slot.next_;
    due.previous_ = slot.previous_;
    due.next_->previous_ = due.previous_->next_ = &due;
    slot.next_ = slot.previous_ = &slot;
  } else {
    due.next_ = due.previous_ = &due;
  }
  while (due.next_ != &due) {
    Timer& timer = *due.next_;
    timer.unlink();
    if (!timer.armed()) continue;
    if (timer.deadline_ > now) {
      link(timer, tick_after(timer.deadline_));
      continue;
    }
    timer.deadline_ = Timer::kNever;
    survives_no_memory([&] { timer.on_timer(now); });  // the others of `due` have their turn
  }
}

void Wheel::advance(TimePoint now) {
  const std::int64_t last = tick_of(now);
  if (last <= current_) return;
  std::int64_t tick = std::max(current_ + 1, last - kSlots + 1);
  current_ = last;
  while ((tick = first_occupied(occupied_, tick, last + 1)) <= last) {
    clear_bit(tick % kSlots);
    run_slot(slots_[static_cast<std::size_t>(tick % kSlots)], now);
    ++tick;
  }
}

std::optional<TimePoint> Wheel::next() const noexcept {
  const std::int64_t until = current_ + kSlots;
  const std::int64_t tick = first_occupied(occupied_, current_ + 1, until);
  if (tick == until) return std::nullopt;
  return from_ms(tick * kTick.count());
}

}  // namespace weir::net
