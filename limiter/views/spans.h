#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include "limiter/views/view.h"

namespace weir::limiter {

/// [start, end) in Unix ms.
struct Span {
  std::int64_t start = 0;
  std::int64_t end = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

/// Which windows a view has, and the panes that they are made of: every window is a run of whole
/// panes, so that it slides by panes (Li et al., "No pane, no gain", SIGMOD Record 2005).
class Spans {
 public:
  explicit Spans(const ViewSpec& spec)
      : length_(spec.length.count()),
        hop_(spec.hop.count()),
        pane_(spec.zone || spec.endless ? 0 : std::gcd(length_, hop_)),
        endless_(spec.endless),
        zone_(spec.zone),
        unit_(spec.unit) {}

  bool endless() const noexcept { return endless_; }
  /// Notes an event that counts. A result shows a window without an end from its first event to its
  /// last.
  void note(std::int64_t at) noexcept {
    if (!endless_) return;
    first_ = std::min(first_, at);
    end_ = std::max(end_, at + 1);
  }
  /// How a result names the window.
  Span named(const Span& window) const noexcept { return endless_ ? Span{first_, end_} : window; }

  Span pane(std::int64_t at) const noexcept {
    if (endless_) return kAll;
    if (zone_) return natural(at);
    const std::int64_t start = floor(at, pane_);
    return {start, start + pane_};
  }
  /// The earliest and the latest of the windows that `at` is in.
  Span first(std::int64_t at) const noexcept {
    if (endless_) return kAll;
    if (zone_) return natural(at);
    const std::int64_t start = floor(at - length_, hop_) + hop_;
    return {start, start + length_};
  }
  Span last(std::int64_t at) const noexcept {
    if (endless_) return kAll;
    if (zone_) return natural(at);
    const std::int64_t start = floor(at, hop_);
    return {start, start + length_};
  }
  Span next(const Span& window) const noexcept {
    if (endless_) return {window.end, window.end};
    if (zone_) return natural(window.end);
    return {window.start + hop_, window.end + hop_};
  }

 private:
  /// Far from the ends of the type: code subtracts from them.
  static constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() / 4;
  static constexpr Span kAll{-kFar, kFar};

  static std::int64_t floor(std::int64_t at, std::int64_t step) noexcept {
    const std::int64_t rest = at % step;
    return at - (rest < 0 ? rest + step : rest);
  }
  Span natural(std::int64_t at) const noexcept {
    const TimeZone::Span span = zone_->span(unit_, from_ms(at));
    return {to_ms(span.begin), to_ms(span.end)};
  }

  std::int64_t length_, hop_, pane_;
  bool endless_;
  std::int64_t first_ = kFar, end_ = -kFar;
  std::shared_ptr<const TimeZone> zone_;
  CalendarUnit unit_;
};

}  // namespace weir::limiter
