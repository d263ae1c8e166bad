#pragma once

#include "policies/judge/event_keys.h"
#include "policies/judge/event_matching.h"

namespace weir::policies {

/// Counts events in views after the policies have judged them, whatever the verdict.
class ViewCounting final {
 public:
  ViewCounting(Judging& work, EventKeys& keys, EventMatching& matching) noexcept
      : work_(work), keys_(keys), matching_(matching) {}

  void observe_views(Instant at);
  void observe_answered_views();

 private:
  bool count_in_view(const View& view, const View::Binding& binding, TimePoint time, Instant at);
  bool load_view_value(const View& view, const View::Binding& binding, limiter::ViewEvent& event);

  Judging& work_;
  EventKeys& keys_;
  EventMatching& matching_;
};

}  // namespace weir::policies
