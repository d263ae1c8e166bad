#pragma once

#include <optional>
#include <string_view>

#include "core/time_pattern.h"

namespace weir::replay {

/// Reads a record's time in the form that its source defines. The last text is remembered: in logs
/// of a busy second most lines repeat it.
class RecordTime {
 public:
  explicit RecordTime(const TimeForm& form);

  /// All of `text`.
  std::optional<TimePoint> read(std::string_view text) noexcept;
  /// Reads the time at the beginning of `text`; `used`: its length.
  std::optional<TimePoint> read_front(std::string_view text, std::size_t& used) noexcept;
  std::optional<TimePoint> from_number(Number number) const noexcept;

 private:
  bool is_last(std::string_view text) const noexcept {
    return last_size_ != 0 && text == std::string_view(last_, last_size_);
  }
  void keep(std::string_view text, TimePoint time) noexcept;

  std::optional<EpochUnit> unit_;
  std::optional<TimePattern> pattern_;
  char last_[40];  // the text that was read last: neighbours are often equal
  std::size_t last_size_ = 0;
  TimePoint last_time_{};
};

}  // namespace weir::replay
