#include "policies/views.h"

namespace weir::policies {

void View::advance(TimePoint now, TimePoint wall) const {
  if (live == nullptr) return;
  const milliseconds grace = outcome ? LiveView::kAnswerGrace : LiveView::kGrace;
  live->advance((wall_clock ? wall : now) - grace - milliseconds{1});
}

}  // namespace weir::policies
