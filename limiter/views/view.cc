#include "limiter/views/view.h"

#include "core/assert.h"
#include "limiter/views/distinct_store.h"
#include "limiter/views/group_store.h"
#include "limiter/views/metrics.h"
#include "limiter/views/sketch_view.h"
#include "limiter/views/sliding_view.h"

namespace weir::limiter {

std::unique_ptr<View> make_view(const ViewSpec& spec) {
  switch (spec.metric) {
    case Metric::count:
      return std::make_unique<SlidingView<GroupStore<CountMetric>>>(spec);
    case Metric::sum:
      return std::make_unique<SlidingView<GroupStore<AmountMetric<false>>>>(spec);
    case Metric::average:
      return std::make_unique<SlidingView<GroupStore<AmountMetric<true>>>>(spec);
    case Metric::minimum:
      return std::make_unique<SlidingView<GroupStore<ExtremeMetric<false>>>>(spec);
    case Metric::maximum:
      return std::make_unique<SlidingView<GroupStore<ExtremeMetric<true>>>>(spec);
    case Metric::distinct:
      if (spec.method != Method::exact) return std::make_unique<SketchView>(spec);
      return std::make_unique<SlidingView<DistinctStore>>(spec);
    default:
      break;
  }
  WEIR_ASSERT(false);
  return nullptr;
}

}  // namespace weir::limiter
