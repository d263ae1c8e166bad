#include "policies/judge/event_matching.h"

#include <algorithm>

#include "policies/judgement/unread.h"
#include "policies/lang/expr/program.h"

namespace weir::policies {

void EventMatching::use(std::shared_ptr<const Loaded> loaded) {
  work_.loaded = std::move(loaded);
  work_.set = work_.loaded->set.get();
  if (event_marks_.size() < work_.set->events.size()) event_marks_.resize(work_.set->events.size());
  const std::vector<bool>& needs_body = work_.set->needs_body;
  any_body_ = std::find(needs_body.begin(), needs_body.end(), true) != needs_body.end();
  keys_.use_keys();
  routes_.forget();
  route_ = nullptr;
}

bool EventMatching::wants_body(const Request& request) {
  if (!any_body_) return false;
  if (work_.set->needs_body[kRequestEvent]) return true;
  bool wanted = false;
  work_.set->routes.match(request.method, request.path, [&](std::uint16_t base) {
    wanted = wanted || work_.set->needs_body[base];
  });
  return wanted;
}

void EventMatching::next_epoch() {
  if (++epoch_ >= (std::uint32_t{1} << 30) - 1) {
    std::fill(event_marks_.begin(), event_marks_.end(), 0);
    epoch_ = 1;
  }
}

void EventMatching::match(const Occurrence& occurrence, const Prepared* prepared, Trace* trace) {
  next_epoch();
  route_ = nullptr;
  if (occurrence.record() != nullptr) {
    match_record(*occurrence.record(), trace);
  } else {
    match_request(*occurrence.request(), prepared, trace);
  }
}

void EventMatching::match_record(const Record& record, Trace* trace) {
  if (record.descriptor != nullptr) {
    // The event of the descriptor has been looked up; conditions decide which other events it is.
    const auto call = work_.set->call_event;
    if (call) work_.plan().bases.push_back(*call);
    if (record.also) work_.plan().bases.push_back(*record.also);
    if (record.event != call) work_.plan().bases.push_back(record.event);
    for (const EventIndex index : work_.plan().bases) match_family(index, trace);
    return;
  }
  const EventIndex base = work_.set->events[record.event].base;
  if (const Request* const request = record.request; request != nullptr) {
    work_.plan().bases.push_back(kRequestEvent);
    if (base == kRequestEvent && !request->path.empty()) {
      work_.set->routes.match(request->method, request->path, [&](std::uint16_t matched) {
        work_.plan().bases.push_back(matched);
      });
    }
  }
  if (work_.plan().bases.empty() || base != kRequestEvent) work_.plan().bases.push_back(base);
  // An event that was reported by its own name happened, and so did its parents, even if conditions
  // could not be decided. No report follows for other children of the base event. Rows of a source
  // are distinguished by its own `when`.
  for (EventIndex event = record.event; event != base; event = work_.set->events[event].parent) {
    mark_happened(event);
  }
  if (work_.set->events[base].source.empty()) mark_happened(base);
  for (const EventIndex index : work_.plan().bases) match_family(index, trace);
  const auto is_kind_of = [this](EventIndex event, EventIndex what) {
    while (event != what && work_.set->events[event].parent != event)
      event = work_.set->events[event].parent;
    return event == what;
  };
  std::erase_if(work_.plan().open_events, [&](EventIndex event) {
    if (work_.set->events[event].base != base || is_kind_of(event, record.event)) return false;
    event_marks_[event] = 0;
    return true;
  });
}

void EventMatching::match_request(const Request& request, const Prepared* prepared, Trace* trace) {
  std::vector<EventIndex>& bases = work_.plan().bases;
  if (prepared != nullptr && prepared->base_count != 0) {
    for (std::size_t i = 0; i < prepared->base_count; ++i) bases.push_back(prepared->bases[i]);
  } else {
    bases.push_back(kRequestEvent);
    work_.set->routes.match(request.method, request.path,
                            [&](std::uint16_t base) { bases.push_back(base); });
  }
  RoutePlan* const route = trace == nullptr ? routes_.find(bases) : nullptr;
  if (route != nullptr && route->is_constant) {
    match_route(*route);
    route_ = route;
    return;
  }
  for (const EventIndex base : bases) match_family(base, trace);
}

void EventMatching::match_route(const RoutePlan& route) {
  // One by one: there are few, and copying a vector costs a call.
  std::uint32_t* const marks = event_marks_.data();
  for (const EventIndex event : route.events) {
    marks[event] = epoch_ * 4 + kHappened;
    work_.plan().events.push_back(event);
  }
  for (const EventIndex event : route.open_events) {
    marks[event] = epoch_ * 4 + kOpen;
    work_.plan().open_events.push_back(event);
  }
}

void EventMatching::gather_policies() {
  if (route_ == nullptr) return gather(work_.set->watchers);
  found_ = &route_->watchers;
}

void EventMatching::mark_planned() {
  next_epoch();
  for (const EventIndex event : work_.plan().events) event_marks_[event] = epoch_ * 4 + kHappened;
  for (const EventIndex event : work_.plan().open_events) event_marks_[event] = epoch_ * 4 + kOpen;
}

void EventMatching::mark_happened(EventIndex event) noexcept {
  event_marks_[event] = epoch_ * 4 + kHappened;
}

/// The answer is here, and the open events are decided, parents first.
void EventMatching::happen(const std::vector<EventIndex>& open_events) {
  for (const EventIndex index : open_events) {
    const Event& event = work_.set->events[index];
    const bool is_parent_unread = event.parent != index && is_unread(event.parent);
    if (event.parent != index && !happened(event.parent) && !is_parent_unread) continue;
    work_.frame.set_event(event.name);
    const Value came = event.when ? event.when->eval(work_.frame) : Value::boolean(true);
    if (came.is_true() && !is_parent_unread) {
      mark_happened(index);
    } else if (came.is_true() || hangs_on_unread(work_.frame, *event.when, came)) {
      event_marks_[index] = epoch_ * 4 + kUnread;
    }
  }
}

void EventMatching::match_family(EventIndex base, Trace* trace) {
  // Parents precede their children, so one pass decides all of them.
  for (const EventIndex index : work_.set->family[base]) {
    const Event& event = work_.set->events[index];
    const bool told = happened(index);  // by a record
    bool unread = false;
    if (index != base && !told && !may_happen(event.parent)) {
      unread = is_unread(event.parent);
      if (!unread) continue;
    }
    std::uint32_t state = told || index == base || happened(event.parent) ? kHappened : kOpen;
    if (event.when && !told) {
      if (event.when->side() == Side::answer) {
        state = kOpen;
      } else {
        work_.frame.set_event(event.name);
        const Value came = event.when->eval(work_.frame);
        if (!came.is_true()) {
          unread = came.is_error() && unread_in(work_.frame, *work_.set, *event.when);
          if (trace != nullptr && !unread) trace->event(event, Trace::Happened::no);
          if (!unread) continue;
        }
      }
    }
    if (unread) {
      event_marks_[index] = epoch_ * 4 + kUnread;
      work_.plan().unread_events.push_back(index);
      if (trace != nullptr) trace->event(event, Trace::Happened::unread);
      continue;
    }
    event_marks_[index] = epoch_ * 4 + state;
    (state == kHappened ? work_.plan().events : work_.plan().open_events).push_back(index);
    if (trace != nullptr) {
      trace->event(event, state == kHappened ? Trace::Happened::yes : Trace::Happened::open);
    }
  }
}

void EventMatching::gather(const std::vector<std::vector<PolicySet::Watcher>>& watchers) {
  candidates_.clear();
  found_ = &candidates_;
  // The watchers of one event are in the order of the file already, and mostly those of several
  // events too.
  bool ordered = true;
  int last = -1;
  for (const auto* events : {&work_.plan().events, &work_.plan().open_events}) {
    for (const EventIndex event : *events) {
      // One by one: there are few, and copying a range costs a call.
      for (const PolicySet::Watcher& watcher : watchers.data()[event]) {
        ordered = ordered && last < watcher.policy;
        last = watcher.policy;
        candidates_.push_back(watcher);
      }
    }
  }
  if (ordered) return;
  std::sort(candidates_.begin(), candidates_.end(), [](const auto& a, const auto& b) {
    return a.policy != b.policy ? a.policy < b.policy : a.binding < b.binding;
  });
}

/// If a field reads the name of the event, notes its parts instead: each event has its own name.
void EventMatching::note_capture(SlotId id) {
  const Slot& slot = work_.set->slots[id];
  if (slot.varies) {
    if (!slot.program) return;
    for (const SlotId part : slot.program->captures) note_capture(part);
  } else if (slot.side == Side::request &&
             std::find(captures_.begin(), captures_.end(), id) == captures_.end()) {
    captures_.push_back(id);
  }
}

}  // namespace weir::policies
