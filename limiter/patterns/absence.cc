#include "limiter/patterns/absence.h"

#include <algorithm>

#include "limiter/memory/make_room.h"

namespace weir::limiter {

std::size_t Absence::feed(const PatternSpec& spec, const PatternEvent& event, std::uint64_t order,
                          PatternMatches&) {
  const bool waits = (event.steps & 1U) != 0;
  const bool answers = (event.steps & 2U) != 0;
  bool answered = false;
  if (answers) make_room(answers_);  // first: without memory nothing has changed
  if (waits) {
    // Events of one millisecond keep their order of arrival: a b that has come before this a is
    // earlier, and answers it only if its own time is later. Rows of a file that is put in order by
    // its times have no other order: there a b of the same time answers.
    const auto after = spec.tied ? std::lower_bound(answers_.begin(), answers_.end(), event.ts)
                                 : std::upper_bound(answers_.begin(), answers_.end(), event.ts);
    answered = after != answers_.end() && *after - event.ts <= spec.within;
  }
  if (answers) {
    const std::size_t first = waiting_.find(event.ts - spec.within, event.ts);
    const std::size_t end = waiting_.count_until(event.ts);
    if (first < end) waiting_.erase(first, end - first);
    if (answers_.size() >= spec.keep) answers_.erase(answers_.begin());
    answers_.insert(std::upper_bound(answers_.begin(), answers_.end(), event.ts), event.ts);
  }
  return waits && !answered ? waiting_.add(event, order, spec.keep) : 0;
}

TimePoint Absence::due(const PatternSpec& spec, bool forgets) const noexcept {
  const TimePoint deadline = waiting_.empty() ? kNever : waiting_.oldest() + spec.within;
  if (!forgets || answers_.empty()) return deadline;
  return std::min(deadline, answers_.front() + spec.late);
}

void Absence::expire(const PatternSpec& spec, TimePoint watermark, bool forgets,
                     PatternMatches& out) {
  const std::size_t due = waiting_.count_until(watermark - spec.within);
  make_room(out, due);
  for (std::size_t i = 0; i < due; ++i) {
    const WaitingEvents::Event& event = waiting_.events()[i];
    PatternMatch& match = out.emplace_back();
    match.kind = MatchKind::timeout;
    match.fires = event.ts + spec.within;
    match.order = event.order;
    match.payload = event.payload;
    match.add(0, event.ts, event.line);
  }
  if (due != 0) waiting_.erase(0, due);
  if (!forgets) return;
  // Future events are later than the watermark minus `late`.
  const auto useful = std::upper_bound(answers_.begin(), answers_.end(), watermark - spec.late);
  answers_.erase(answers_.begin(), useful);
}

std::size_t Absence::bytes() const noexcept {
  return waiting_.bytes() + answers_.capacity() * sizeof(TimePoint);
}

void Absence::put(std::string& out) const {
  waiting_.put(out);
  put_varint(out, answers_.size());
  for (const TimePoint ts : answers_) limiter::put(out, to_ms(ts));
}

bool Absence::get(Reader& in, const PatternSpec&, milliseconds back) {
  if (!waiting_.get(in, back)) return false;
  const std::uint64_t n = in.varint();
  for (std::uint64_t i = 0; i < n && in.ok(); ++i) {
    const TimePoint ts = from_ms(in.get<std::int64_t>()) - back;
    if (!answers_.empty() && ts < answers_.back()) return false;
    answers_.push_back(ts);
  }
  return in.ok();
}

}  // namespace weir::limiter
