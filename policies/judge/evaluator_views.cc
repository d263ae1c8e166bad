#include <cmath>

#include "policies/judge/evaluator.h"

/// Views count what has happened, after the policies have judged it, whatever they said.
namespace weir::policies {
namespace {

// Beyond it the rounding of a sum could no longer be undone (limiter/views/sums.h).
constexpr double kAmountMost = 1e290;

}  // namespace

/// What has happened for certain counts now; what the answer must tell is noted in the plan.
void Evaluator::observe_views(Instant at) {
  if (set_->views.empty()) return;
  gather(set_->view_watchers);
  const PolicySet::Watcher* candidate = candidates_.data();
  for (const PolicySet::Watcher* const end = candidate + candidates_.size(); candidate != end;) {
    const PolicyIndex index = candidate->policy;
    const View& view = set_->views.data()[index];
    bool counted = false, open = false;
    for (; candidate != end && candidate->policy == index; ++candidate) {
      const View::Binding& binding = view.bindings.data()[candidate->binding];
      if (counted) continue;
      if (binding.outcome) {
        open = true;
      } else if (happened(binding.event)) {
        counted = count_in_view(view, binding, happened_, at);
      }
    }
    if (open && !counted) plan_.open_views.push_back(index);
  }
}

/// The answer is here, and with it what the open events are.
void Evaluator::observe_answered_views(const Settlement& settlement) {
  for (const std::uint16_t index : settlement.views) {
    const View& view = set_->views[index];
    for (const View::Binding& binding : view.bindings) {
      if (!binding.outcome || !happened(binding.event)) continue;
      if (count_in_view(view, binding, settlement.time, settlement.at)) break;
    }
  }
}

/// Whether the view's `when` holds: then the event is this binding's, even if a part is missing.
bool Evaluator::count_in_view(const View& view, const View::Binding& binding, TimePoint time,
                              Instant at) {
  frame_.set_event(set_->events[binding.event].name);
  if (binding.when && !binding.when->eval(frame_).is_true()) return false;
  if (view.live == nullptr) return true;
  limiter::ViewEvent event;
  event.at = view.wall_clock ? time + (at.wall - at.now) : time;
  if (!load_key(binding.key) || !load_view_value(view, binding, event)) {
    view.live->miss();
    return true;
  }
  builder_.start();
  for (const Value& part : parts_) {
    if (part.is(Type::address)) {
      char text[64];
      builder_.add_text({text, part.as_address().to_chars(text)});
    } else {
      builder_.add(part);
    }
  }
  event.key = builder_.hash(secret_);
  event.parts = builder_.bytes();
  view.live->observe(event);
  return true;
}

bool Evaluator::load_view_value(const View& view, const View::Binding& binding,
                                limiter::ViewEvent& event) {
  if (binding.arguments.empty()) return true;
  if (view.spec.metric != limiter::Metric::distinct) {
    const Value value = binding.arguments.front().eval(frame_);
    if (!value.is_number()) return false;
    event.amount = value.as_number();
    return std::abs(event.amount.as_real()) < kAmountMost;  // no NaN is
  }
  builder_.start();
  for (const Expression& argument : binding.arguments) {
    Address masked;  // as in the members of a policy's distinct()
    if (!builder_.add(key_part({}, argument.eval(frame_), masked))) return false;
  }
  event.member = builder_.hash(secret_);
  return true;
}

}  // namespace weir::policies
