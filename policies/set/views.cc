#include "policies/set/views.h"

#include "core/text.h"
#include "policies/set/describe.h"

namespace weir::policies {

void View::advance(TimePoint now, TimePoint wall) const {
  if (live == nullptr) return;
  milliseconds grace = outcome ? LiveView::kAnswerGrace : LiveView::kGrace;
  if (live->is_shared()) grace += LiveView::kSharedGrace + live->behind(now);
  live->advance((wall_clock ? wall : now) - grace - milliseconds{1});
}

std::string window_text(const limiter::ViewSpec& spec) {
  if (spec.zone) return "each " + std::string(unit_name(spec.unit)) + " of " + spec.zone->name();
  if (spec.endless) return "all time";
  const std::string hop = "every " + human_duration(spec.hop);
  return spec.hop == spec.length ? hop : "the last " + human_duration(spec.length) + ", " + hop;
}

}  // namespace weir::policies
