#include "replay/record_time.h"

#include <cstring>

#include "core/assert.h"
#include "core/chars/ascii.h"

namespace weir::replay {

RecordTime::RecordTime(const TimeForm& form) : unit_(form.unit) {
  if (unit_) return;
  TimePattern::Problem problem;
  pattern_ = TimePattern::compile(form.pattern, problem);
  WEIR_ASSERT(pattern_.has_value());  // the parser of the form has checked it
}

std::optional<TimePoint> RecordTime::read(std::string_view text) noexcept {
  if (!pattern_) {
    if (is_last(text)) return last_time_;  // rows of one second have the same text
    const auto time = read_epoch(text, *unit_);
    if (time) keep(text, *time);
    return time;
  }
  std::size_t used = 0;
  const auto time = read_front(text, used);
  return used == text.size() ? time : std::nullopt;
}

std::optional<TimePoint> RecordTime::read_front(std::string_view text, std::size_t& used) noexcept {
  if (!pattern_) {
    used = 0;
    while (used < text.size() && (text[used] == '.' || ascii::is_digit(text[used]))) ++used;
    return read(text.substr(0, used));
  }
  // A digit right after could belong to a longer fraction, so the next character must be the same
  // kind of end.
  if (text.size() >= last_size_ && is_last(text.substr(0, last_size_)) &&
      (text.size() == last_size_ || text[last_size_] == ' ' || text[last_size_] == ']')) {
    used = last_size_;
    return last_time_;
  }
  const auto time = pattern_->read(text, used);
  if (time) keep(text.substr(0, used), *time);
  return time;
}

void RecordTime::keep(std::string_view text, TimePoint time) noexcept {
  if (text.size() > sizeof last_) return;
  std::memcpy(last_, text.data(), text.size());
  last_size_ = text.size();
  last_time_ = time;
}

std::optional<TimePoint> RecordTime::from_number(Number number) const noexcept {
  return unit_ ? epoch_time(number, *unit_) : std::nullopt;
}

}  // namespace weir::replay
