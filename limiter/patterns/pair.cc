#include "limiter/patterns/pair.h"

#include <algorithm>

#include "limiter/memory/make_room.h"

namespace weir::limiter {
namespace {

bool is_side(const PatternEvent& event, std::size_t side) {
  return (event.steps >> side & 1U) != 0;
}

TimePoint deadline_of(const PatternSpec& spec, std::size_t side, TimePoint ts) {
  if (spec.endless) return kNever;
  return ts + (side == 0 ? spec.after : spec.before);
}

}  // namespace

std::size_t Pair::partner(const PatternSpec& spec, std::size_t side, TimePoint ts) const noexcept {
  const WaitingEvents& others = sides_[1 - side];
  if (spec.endless) return 0;
  return side == 0 ? others.find(ts - spec.before, ts + spec.after)
                   : others.find(ts - spec.after, ts + spec.before);
}

bool Pair::completes(const PatternSpec& spec, const PatternEvent& event) const noexcept {
  for (const std::size_t side : {std::size_t{1}, std::size_t{0}}) {
    if (is_side(event, side) && partner(spec, side, event.ts) < sides_[1 - side].size())
      return true;
  }
  return false;
}

std::size_t Pair::feed(const PatternSpec& spec, const PatternEvent& event, std::uint64_t order,
                       PatternMatches& out) {
  for (const std::size_t side : {std::size_t{1}, std::size_t{0}}) {
    if (!is_side(event, side)) continue;
    WaitingEvents& others = sides_[1 - side];
    const std::size_t at = partner(spec, side, event.ts);
    if (at >= others.size()) continue;
    const WaitingEvents::Event& other = others.events()[at];
    PatternMatch& match = out.emplace_back();
    match.fires = std::max(event.ts, other.ts);
    match.order = other.order;
    if (side == 0) match.add(0, event.ts, event.line);
    match.add(static_cast<std::uint8_t>(1 - side), other.ts, other.line);
    if (side == 1) match.add(1, event.ts, event.line);
    others.erase(at);
    return 0;
  }
  if ((event.steps & 3U) == 0) return 0;
  return sides_[is_side(event, 0) ? 0 : 1].add(event, order, spec.keep);
}

TimePoint Pair::due(const PatternSpec& spec, bool) const noexcept {
  TimePoint out = kNever;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    if (!sides_[side].empty()) out = std::min(out, deadline_of(spec, side, sides_[side].oldest()));
  }
  return out;
}

void Pair::unmatched(const PatternSpec& spec, std::size_t side, std::size_t count, TimePoint last,
                     PatternMatches& out) {
  make_room(out, count);
  for (std::size_t i = 0; i < count; ++i) {
    const WaitingEvents::Event& event = sides_[side].events()[i];
    PatternMatch& match = out.emplace_back();
    match.kind = MatchKind::unmatched;
    match.fires = spec.endless ? last : deadline_of(spec, side, event.ts);
    match.order = event.order;
    match.payload = event.payload;
    match.add(static_cast<std::uint8_t>(side), event.ts, event.line);
  }
  if (count != 0) sides_[side].erase(0, count);
}

void Pair::expire(const PatternSpec& spec, TimePoint watermark, bool, PatternMatches& out) {
  if (spec.endless) return;
  unmatched(spec, 0, sides_[0].count_until(watermark - spec.after), watermark, out);
  unmatched(spec, 1, sides_[1].count_until(watermark - spec.before), watermark, out);
}

void Pair::end(const PatternSpec& spec, TimePoint last, PatternMatches& out) {
  if (!spec.endless) return;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    unmatched(spec, side, sides_[side].size(), last, out);
  }
}

void Pair::put(std::string& out) const {
  for (const WaitingEvents& side : sides_) side.put(out);
}

bool Pair::get(Reader& in, const PatternSpec&, milliseconds back) {
  return std::all_of(sides_.begin(), sides_.end(),
                     [&](WaitingEvents& side) { return side.get(in, back); });
}

}  // namespace weir::limiter
