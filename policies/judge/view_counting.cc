#include "policies/judge/view_counting.h"

#include <cmath>

namespace weir::policies {

/// Counts certain events now; notes in the plan the events that the answer decides.
void ViewCounting::observe_views(Instant at) {
  if (work_.set->views.empty()) return;
  matching_.gather(work_.set->view_watchers);
  const PolicySet::Watcher* candidate = matching_.candidates().data();
  for (const PolicySet::Watcher* const end = candidate + matching_.candidates().size();
       candidate != end;) {
    const PolicyIndex index = candidate->policy;
    const View& view = work_.set->views.data()[index];
    bool counted = false, open = false;
    for (; candidate != end && candidate->policy == index; ++candidate) {
      const View::Binding& binding = view.bindings.data()[candidate->binding];
      if (counted) continue;
      if (binding.outcome) {
        open = true;
      } else if (matching_.happened(binding.event)) {
        counted = count_in_view(view, binding, work_.judgement->happened, at);
      }
    }
    if (open && !counted) work_.plan().open_views.push_back(index);
  }
}

/// The answer is here, and it decides the open events.
void ViewCounting::observe_answered_views() {
  const Judgement& judgement = *work_.judgement;
  for (const std::uint16_t index : judgement.plan.open_views) {
    const View& view = work_.set->views[index];
    for (const View::Binding& binding : view.bindings) {
      if (!binding.outcome || !matching_.happened(binding.event)) continue;
      if (count_in_view(view, binding, judgement.happened, judgement.at)) break;
    }
  }
}

/// Whether the view's `when` holds: then the event is this binding's, even if a part is missing.
bool ViewCounting::count_in_view(const View& view, const View::Binding& binding, TimePoint time,
                                 Instant at) {
  work_.frame.set_event(work_.set->events[binding.event].name);
  if (binding.when && !binding.when->eval(work_.frame).is_true()) return false;
  if (view.live == nullptr) return true;
  limiter::ViewEvent event;
  event.at = view.wall_clock ? time + (at.wall - at.now) : time;
  if (!keys_.load_key(binding.key) || !load_view_value(view, binding, event)) {
    view.live->miss();
    return true;
  }
  keys_.builder().start();
  for (const Value& part : keys_.parts()) {
    if (part.is(Type::address)) {
      char text[64];
      keys_.builder().add_text({text, part.as_address().to_chars(text)});
    } else {
      keys_.builder().add(part);
    }
  }
  event.key = keys_.builder().hash(work_.secret);
  event.parts = keys_.builder().bytes();
  view.live->observe(event);
  return true;
}

bool ViewCounting::load_view_value(const View& view, const View::Binding& binding,
                                   limiter::ViewEvent& event) {
  if (binding.arguments.empty()) return true;
  if (view.spec.metric != Metric::distinct) {
    const Value value = binding.arguments.front().eval(work_.frame);
    if (!value.is_number()) return false;
    event.amount = value.as_number();
    return std::abs(event.amount.as_real()) < limiter::Sum::kAmountMax;  // no NaN is
  }
  keys_.builder().start();
  for (const Expression& argument : binding.arguments) {
    Address masked;  // as in the members of a policy's distinct()
    if (!keys_.builder().add(key_part({}, argument.eval(work_.frame), masked))) return false;
  }
  event.member = keys_.builder().hash(work_.secret);
  return true;
}

}  // namespace weir::policies
