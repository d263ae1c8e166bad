#include <algorithm>

#include "policies/judge/evaluator.h"
#include "policies/lang/place_text.h"

namespace weir::policies {
bool Evaluator::wants_body(const Request& request) {
  if (set_->needs_body[kRequestEvent]) return true;
  bool wanted = false;
  set_->routes.match(request.method, request.path,
                     [&](std::uint16_t base) { wanted = wanted || set_->needs_body[base]; });
  return wanted;
}

void Evaluator::next_epoch() {
  if (++epoch_ >= (std::uint32_t{1} << 30) - 1) {
    std::fill(event_marks_.begin(), event_marks_.end(), 0);
    epoch_ = 1;
  }
}

void Evaluator::match(const Record& record, Trace* trace) {
  next_epoch();
  const EventIndex base = set_->events[record.event].base;
  if (const Request* const request = record.request; request != nullptr) {
    plan_.bases.push_back(kRequestEvent);
    if (base == kRequestEvent && !request->path.empty()) {
      set_->routes.match(request->method, request->path,
                         [&](std::uint16_t matched) { plan_.bases.push_back(matched); });
    }
  }
  if (plan_.bases.empty() || base != kRequestEvent) plan_.bases.push_back(base);
  // What was reported by its own name happened, and what it is besides, whatever could not be told;
  // and nobody will tell what else the base event might have been. Rows of a source are told apart
  // by its own `when`.
  for (EventIndex event = record.event; event != base; event = set_->events[event].parent) {
    mark_happened(event);
  }
  if (set_->events[base].source.empty()) mark_happened(base);
  for (const EventIndex index : plan_.bases) match_family(index, trace);
  const auto is_kind_of = [this](EventIndex event, EventIndex what) {
    while (event != what && set_->events[event].parent != event) event = set_->events[event].parent;
    return event == what;
  };
  std::erase_if(plan_.open_events, [&](EventIndex event) {
    if (set_->events[event].base != base || is_kind_of(event, record.event)) return false;
    event_marks_[event] = 0;
    return true;
  });
}

void Evaluator::match(const Request& request, Trace* trace) {
  next_epoch();
  plan_.bases.push_back(kRequestEvent);
  set_->routes.match(request.method, request.path,
                     [&](std::uint16_t base) { plan_.bases.push_back(base); });
  for (const EventIndex base : plan_.bases) match_family(base, trace);
}

void Evaluator::mark_planned() {
  next_epoch();
  for (const EventIndex event : plan_.events) event_marks_[event] = epoch_ * 4 + kHappened;
  for (const EventIndex event : plan_.open_events) event_marks_[event] = epoch_ * 4 + kOpen;
}

void Evaluator::mark_happened(EventIndex event) noexcept {
  event_marks_[event] = epoch_ * 4 + kHappened;
}

/// The answer is here, and the open events are decided, parents first.
void Evaluator::happen(const std::vector<EventIndex>& open_events) {
  for (const EventIndex index : open_events) {
    const Event& event = set_->events[index];
    const bool parent_untold = event.parent != index && untold(event.parent);
    if (event.parent != index && !happened(event.parent) && !parent_untold) continue;
    frame_.set_event(event.name);
    const Value came = event.when ? event.when->eval(frame_) : Value::boolean(true);
    if (came.is_true() && !parent_untold) {
      mark_happened(index);
    } else if (came.is_true() || hangs_on_unread(frame_, *event.when, came)) {
      event_marks_[index] = epoch_ * 4 + kUntold;
    }
  }
}

void Evaluator::match_family(EventIndex base, Trace* trace) {
  // Parents stand before their children, so one pass decides all of them.
  for (const EventIndex index : set_->family[base]) {
    const Event& event = set_->events[index];
    const bool told = happened(index);  // by a record
    bool unread = false;
    if (index != base && !told && !may_happen(event.parent)) {
      unread = untold(event.parent);
      if (!unread) continue;
    }
    std::uint32_t state = told || index == base || happened(event.parent) ? kHappened : kOpen;
    if (event.when && !told) {
      if (event.when->side() == Side::answer) {
        state = kOpen;
      } else {
        frame_.set_event(event.name);
        const Value came = event.when->eval(frame_);
        if (!came.is_true()) {
          unread = came.is_error() && unread_in(frame_, *set_, *event.when);
          if (trace != nullptr && !unread) trace->event(event, Trace::Happened::no);
          if (!unread) continue;
        }
      }
    }
    if (unread) {
      event_marks_[index] = epoch_ * 4 + kUntold;
      plan_.unread_events.push_back(index);
      if (trace != nullptr) trace->event(event, Trace::Happened::unread);
      continue;
    }
    event_marks_[index] = epoch_ * 4 + state;
    (state == kHappened ? plan_.events : plan_.open_events).push_back(index);
    if (trace != nullptr) {
      trace->event(event, state == kHappened ? Trace::Happened::yes : Trace::Happened::open);
    }
  }
}

bool Evaluator::load_key(const std::vector<KeySlot>& key) {
  parts_.clear();
  place_part_ = kNoPart;
  if (masked_.size() < key.size()) masked_.resize(key.size());
  for (std::size_t i = 0; i < key.size(); ++i) {
    const KeySlot& part = key[i];
    const Value value = frame_.load(part.slot);
    if (part.is_place) {
      const auto place = value.is(Type::text) ? parse_place(value.as_text()) : std::nullopt;
      if (!place) {
        bad_part_ = i;
        return false;
      }
      place_part_ = i;
      place_ = *place;
    }
    parts_.push_back(key_part(part, value, masked_[i]));
    if (parts_.back().is_null()) {
      bad_part_ = i;
      return false;
    }
  }
  return true;
}

Hash128 Evaluator::key_hash() {
  builder_.start();
  for (const Value& part : parts_) {
    if (part.is_null()) {
      builder_.add_missing();
    } else {
      builder_.add(part);
    }
  }
  return builder_.hash(secret_);
}

Hash128 Evaluator::hash_without_place() {
  builder_.start();
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (i == place_part_) continue;
    if (parts_[i].is_null()) {
      builder_.add_missing();
    } else {
      builder_.add(parts_[i]);
    }
  }
  return builder_.hash(secret_);
}

limiter::CounterKey Evaluator::place_key(const Counter& counter) {
  return {hash_without_place().owned_by(counter.what), place_part_ == kNoPart ? Place{} : place_};
}

bool Evaluator::hash_new_key(const std::vector<KeySlot>& key, KeyId id) {
  if (key.empty()) {
    hash_ = no_parts_;
  } else if (id == kNoKey) {  // a place may be among its parts
    if (!load_key(key)) return false;
    hash_ = key_hash();
  } else {
    builder_.start();
    for (std::size_t i = 0; i < key.size(); ++i) {
      Address masked;
      if (!builder_.add(key_part(key[i], frame_.load(key[i].slot), masked))) {
        bad_part_ = i;
        return false;
      }
    }
    hash_ = builder_.hash(secret_);
  }
  if (id != kNoKey) hashed_[id] = {round_, hash_};
  return true;
}

/// Whoever solves the captcha must get through to it.
bool Evaluator::may_release(const List& list) const noexcept {
  return list.kind != config::ListKind::allow && refuses(list.effect) &&
         std::any_of(list.releases.begin(), list.releases.end(),
                     [&](const List::Binding& release) { return may_happen(release.event); });
}

bool Evaluator::look_at_lists(Instant at, Trace* trace) {
  if (!set_->any_lists) return true;
  const auto find = [&](const PolicySet::ListUse& use) -> std::optional<TimePoint> {
    const List& list = set_->lists[use.list];
    if (list.fixed.empty() && list_bank_.size(list.id) == 0) return std::nullopt;
    const std::vector<KeySlot>& slots = list.bindings[use.binding].key;
    if (!hash_key(slots, list.bindings[use.binding].key_id)) {
      // Nobody can tell whether a list that refuses has an entry for this request.
      const SlotId slot = slots[bad_part_].slot;
      const MissReason why = frame_.why(slot);
      const bool acts = list.kind != config::ListKind::allow && refuses(list.effect);
      if (acts && is_unread(why) && !plan_.defect) {
        plan_.defect =
            Defect{{}, use.list, defect_status(why), set_->slots[slot].text, why, list.tell};
      }
      return std::nullopt;
    }
    const Hash128 key = hash_.owned_by(list.identity);
    const Address* address = nullptr;  // entries of the configuration may be single addresses
    if (list.of_address && !list.fixed.empty()) {
      const Value whole = frame_.load(slots.front().slot);
      if (whole.is(Type::address)) address = &whole.as_address();
    }
    if (const auto* entry = list.fixed.find(key, address, at.now)) {
      if (trace != nullptr) trace->list(list, entry->until, entry->why);
      return entry->until;
    }
    const limiter::Listed listed = list_bank_.find(list.id, key, at.now);
    if (!listed.listed) return std::nullopt;
    if (trace != nullptr) trace->list(list, listed.until, {});
    return listed.until;
  };
  // Allow lists first: an entry there ends judging, whatever other lists say.
  for (const EventIndex event : plan_.events) {
    for (const auto& use : set_->list_uses[event]) {
      if (set_->lists[use.list].kind != config::ListKind::allow) continue;
      if (const auto until = find(use)) {
        plan_.allowed = ListHit{use.list, *until};
        return false;
      }
    }
  }
  bool denied = false;
  for (const auto* events : {&plan_.events, &plan_.unread_events}) {
    for (const EventIndex event : *events) {
      for (const auto& use : set_->list_uses[event]) {
        const List& list = set_->lists[use.list];
        if (list.kind == config::ListKind::allow || may_release(list)) continue;
        if (const auto until = find(use)) {
          plan_.lists.push_back({use.list, *until});
          denied = denied || list.kind == config::ListKind::deny;
        }
      }
    }
  }
  if (denied) plan_.defect.reset();  // it is certain
  return !denied && !plan_.defect;
}

bool Evaluator::contains(std::size_t list_index, std::span<const Value> key) const noexcept {
  const List& list = set_->lists[list_index];
  if (list.fixed.empty() && list_bank_.size(list.id) == 0) return false;
  list_builder_.start();
  const KeySlot* slot = list.bindings.front().key.data();
  Address whole;  // a text of a request, such as body.ip, may be asked for where addresses stand
  const Address* address = nullptr;
  for (const Value& part : key) {
    Value value = part;
    if (slot->is_address && part.is(Type::text)) {
      const auto parsed = Address::parse(part.as_text());
      if (!parsed) return false;
      whole = *parsed;
      value = Value::address(&whole);
    }
    if (list.of_address && value.is(Type::address)) address = &value.as_address();
    Address masked;
    if (!list_builder_.add(key_part(*slot++, value, masked))) return false;
  }
  const Hash128 hash = list_builder_.hash(secret_).owned_by(list.identity);
  return list.fixed.find(hash, address, at_.now) != nullptr ||
         list_bank_.find(list.id, hash, at_.now).listed;
}

}  // namespace weir::policies
