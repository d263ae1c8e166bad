#include "limiter/synced_bank.h"

#include <algorithm>

namespace weir::limiter {
namespace {

/// The part of a limit that must be left for a key not to be near it.
constexpr double kNear = 0.2;
/// A key near its limit is exchanged as often as this within an interval, at most.
constexpr int kHastePerInterval = 10;
constexpr milliseconds kHasteLeast{5};
/// What a push of a count may hold; the rest waits for the next one.
constexpr std::int64_t kAmountMost = 0x7fffffff;

/// Whether its readings are never below what this replica has in the window.
bool only_grows(const SyncEntry& entry) {
  return entry.counter.shared->spec.metric == Metric::count || !entry.has_negative;
}

/// With what the others have. A count stays at or above the event in hand: the others' part may be
/// negative for as long as an interval after a reset.
void take_in(Reading& reading, Number others, const SyncEntry& entry, const Amount* event) {
  reading.value = reading.value + others;
  reading.settled = reading.settled + others;
  if (!others.is_negative() || !only_grows(entry)) return;
  const Number least = event != nullptr ? event->amount : Number{0};
  reading.value = std::max(reading.value, least, [](Number a, Number b) { return a < b; });
  reading.settled = std::max(reading.settled, least, [](Number a, Number b) { return a < b; });
}

/// When all events of now will have left the window.
TimePoint window_end(const SyncEntry& entry, TimePoint now) {
  const SharedCounter& counter = *entry.counter.shared;
  switch (counter.spec.window) {
    case Window::every:
    case Window::calendar: {
      const milliseconds passed{counter.rule.passed(to_ms(now))};
      const auto length = counter.rule.calendar != nullptr
                              ? CalendarSpan::longest(counter.spec.unit)
                              : counter.rule.length;
      if (counter.rule.calendar == nullptr) return now + (milliseconds{length} - passed);
      return from_ms(counter.rule.calendar->edges(to_ms(now)).end);
    }
    case Window::leaky: {
      const double level = std::clamp(entry.others.as_real(), 1.0, counter.spec.capacity.as_real());
      return now + milliseconds{static_cast<std::int64_t>(
                       level * static_cast<double>(counter.spec.drain.count()))};
    }
    case Window::ring:
      return now + milliseconds{counter.rule.length + counter.rule.quantum};
    default:
      return now + milliseconds{counter.rule.length};
  }
}

}  // namespace

bool SyncedBank::touch(const CounterKey& key, CounterId id) {
  const SyncTable::Locked entry = table_.find(key);
  if (!entry) return false;
  entry->counter.id = id;
  queue(*entry);
  return true;
}

void SyncedBank::add(const CounterKey& key, const SyncedCounter& counter, std::string_view name,
                     TimePoint now) {
  if (const SyncTable::Locked entry = table_.find_or_add(key, counter, name, now)) {
    queue(*entry);
  }
}

void SyncedBank::queue(SyncEntry& entry) {
  entry.touched = true;
  if (entry.queued) return;
  entry.queued = true;
  const milliseconds interval = entry.counter.interval;
  auto queue = std::find_if(queues_.begin(), queues_.end(),
                            [&](const Queue& q) { return q.interval == interval; });
  if (queue == queues_.end()) queue = queues_.insert(queue, {interval, {}, {}});
  queue->keys.push_back(entry.key);
}

void SyncedBank::hasten(SyncEntry& entry, TimePoint now) {
  if (entry.urgent || entry.away) return;
  const milliseconds least = std::max(entry.counter.interval / kHastePerInterval, kHasteLeast);
  if (!entry.empties && now - entry.sent_at < least) return;
  entry.urgent = true;
  urgent_.push_back(entry.key);
}

void SyncedBank::note_near(SyncEntry& entry, const Reading& reading, const Amount& event,
                           TimePoint now) {
  if (!entry.ceiling || entry.pending.is_zero()) return;
  const double limit = entry.ceiling->limit.as_real();
  const double value = reading.settled.as_real();
  // Beyond it there is nothing more to know in a hurry.
  if (value >= limit - kNear * limit && value <= limit + event.amount.as_real()) hasten(entry, now);
}

template <class Charge>
Reading SyncedBank::admit(const CounterKey& key, Moment now, const Amount& event,
                          const Ceiling* ceiling, bool enforced, bool counts,
                          const Charge& charge) {
  const SyncTable::Locked entry = table_.find(key);
  if (!entry) return charge(enforced ? ceiling : nullptr);
  const Number others = entry->others_at(now.at);
  std::optional<Ceiling> here;
  if (ceiling != nullptr) {
    entry->ceiling = *ceiling;
    if (enforced) here = Ceiling{ceiling->limit - others, ceiling->inclusive};
  }
  Reading reading = charge(here ? &*here : nullptr);
  if (event.amount.is_negative()) entry->has_negative = true;
  if (counts && reading.stored) entry->pending = entry->pending + event.amount;
  take_in(reading, others, *entry, &event);
  note_near(*entry, reading, event, now.at);
  return reading;
}

Reading SyncedBank::charge(CounterId id, const CounterKey& key, Moment now, const Amount& event,
                           const Ceiling* ceiling, bool enforced, Undo* undo) {
  return admit(key, now, event, ceiling, enforced, true,
               [&](const Ceiling* here) { return bank_.charge(id, key, now, event, here, undo); });
}

Reading SyncedBank::reserve(CounterId id, const CounterKey& key, Moment now, const Amount& event,
                            const Ceiling* ceiling, bool enforced, Undo* undo) {
  return admit(key, now, event, ceiling, enforced, false,
               [&](const Ceiling* here) { return bank_.reserve(id, key, now, event, here, undo); });
}

Reading SyncedBank::peek(CounterId id, const CounterKey& key, Moment now,
                         const Amount* event) noexcept {
  const SyncTable::Locked entry = table_.find(key);
  Reading reading = bank_.peek(id, key, now, event);
  if (entry) take_in(reading, entry->others_at(now.at), *entry, event);
  return reading;
}

Reading SyncedBank::settle(CounterId id, const CounterKey& key, TimePoint event_time, Moment now,
                           const Amount& event, const Undo& undo, bool matched) {
  const SyncTable::Locked entry = table_.find(key);
  Reading reading = bank_.settle(id, key, event_time, now, event, undo, matched);
  if (!entry) return reading;
  if (matched) {
    if (event.amount.is_negative()) entry->has_negative = true;
    entry->pending = entry->pending + event.amount;
    queue(*entry);
  }
  take_in(reading, entry->others_at(now.at), *entry, matched ? &event : nullptr);
  note_near(*entry, reading, event, now.at);
  return reading;
}

void SyncedBank::uncharge(CounterId id, const CounterKey& key, const Undo& undo) noexcept {
  const SyncTable::Locked entry = table_.find(key);
  bank_.uncharge(id, key, undo);
  // What was sent already is made good by what comes next, and by the next answer.
  if (entry && undo.what == Undo::What::charge)
    entry->pending = entry->pending - undo.amount.amount;
}

void SyncedBank::reset(CounterId id, const CounterKey& key, Moment now) {
  const SyncTable::Locked entry = table_.find(key);
  bank_.reset(id, key, now);
  if (!entry) return;
  entry->others = entry->pending = entry->flying = Number{0};
  entry->flight = {};
  ++entry->resets;
  entry->empties = true;
  queue(*entry);
  hasten(*entry, now.at);
}

std::optional<TimePoint> SyncedBank::next(TimePoint now) noexcept {
  std::optional<TimePoint> out;
  for (Queue& queue : queues_) {
    if (queue.keys.empty()) continue;
    if (!queue.due) queue.due = now + queue.interval;
    if (!out || *queue.due < *out) out = queue.due;
  }
  return out;
}

void SyncedBank::begin_round(TimePoint now, bool all) {
  for (Queue& queue : queues_) {
    if (queue.keys.empty() || (!all && (!queue.due || *queue.due > now))) continue;
    for (const Hash128& key : queue.keys) {
      const SyncTable::Locked entry = table_.find(key);
      if (entry) round_.push_back({std::abs(entry->pending.as_real()), key});
    }
    queue.keys.clear();
    queue.due.reset();
  }
  std::sort(round_.begin(), round_.end(),
            [](const Due& a, const Due& b) { return a.pending < b.pending; });
}

std::size_t SyncedBank::take(Times at, SharedId& id, std::size_t most, std::vector<Push>& out) {
  std::size_t n = 0;
  const auto take_one = [&](const Hash128& key, bool of_round) {
    const SyncTable::Locked entry = table_.find(key);
    if (!entry) return;
    if (of_round) {
      entry->queued = false;
      if (entry->away) {  // once more when it is back
        queue(*entry);
        return;
      }
    } else {
      entry->urgent = false;
    }
    if (entry->away || (!entry->touched && entry->pending.is_zero() && !entry->empties)) return;
    if (n == out.size()) out.emplace_back();
    if (fill(*entry, at, id, out[n])) ++n;
  };
  while (n < most && !urgent_.empty()) {
    const Hash128 key = urgent_.back();
    urgent_.pop_back();
    take_one(key, false);
  }
  while (n < most && !round_.empty()) {
    const Hash128 key = round_.back().key;
    round_.pop_back();
    take_one(key, true);
  }
  return n;
}

/// Under the entry's lock: what to ask the store, and the entry as it is while it waits.
bool SyncedBank::fill(SyncEntry& entry, Times at, SharedId& id, Push& out) {
  const TimePoint now = at.of(entry.counter);
  const bool counts = entry.counter.shared->spec.metric == Metric::count;
  out.key = entry.key;
  out.counter = entry.counter.shared;
  out.name = entry.name;
  out.verb = SharedVerb::read;
  out.again = false;
  if (entry.empties) {
    out.verb = SharedVerb::reset;
    ++id.sequence;
  } else {
    // What has left our own window meanwhile is nobody's business any more.
    if (only_grows(entry)) {
      const Number own = bank_.peek(entry.counter.id, entry.key, now).settled;
      if (own < entry.pending) entry.pending = own;
      if (own < entry.pending + entry.flying) entry.flying = own - entry.pending;
    }
    if (entry.flight.sequence == 0) {
      entry.flying = entry.pending;
      if (entry.counter.shared->spec.window == Window::leaky || counts) {
        if (entry.flying.is_negative()) entry.flying = Number{0};
      }
      if (counts && entry.flying > Number{kAmountMost}) entry.flying = Number{kAmountMost};
      entry.pending = entry.pending - entry.flying;
    }
    if (entry.flying.is_zero()) {
      entry.flight = {};
      ++id.sequence;
    } else {
      out.verb = SharedVerb::add;
      out.again = entry.flight.sequence != 0;
      if (!out.again) {
        ++id.sequence;
        entry.flight = id;
      }
    }
  }
  out.amount = entry.flying;
  out.id = entry.flight.sequence != 0 ? entry.flight : id;
  out.resets = entry.resets;
  entry.away = true;
  entry.touched = false;
  entry.empties = false;
  entry.sent_at = now;
  return true;
}

void SyncedBank::end_round() {
  for (const Due& due : round_) {
    const SyncTable::Locked entry = table_.find(due.key);
    if (!entry) continue;
    entry->queued = false;
    queue(*entry);
  }
  round_.clear();
}

void SyncedBank::told(const Push& push, const SharedReply& reply, Times at) {
  const SyncTable::Locked entry = table_.find(push.key);
  if (!entry) return;
  const TimePoint now = at.of(entry->counter);
  entry->away = false;
  const bool current = push.resets == entry->resets;
  if (reply.error != SharedError::none) {
    entry->empties = entry->empties || push.verb == SharedVerb::reset;
    queue(*entry);
    return;
  }
  ++exchanged_;
  if (!current) return queue(*entry);
  const Number own = bank_.peek(entry->counter.id, entry->key, now).settled;
  const Number total = push.verb == SharedVerb::reset ? Number{0} : reply.parts[0].reading.settled;
  const Number before = own + entry->others_at(now);
  entry->others = total - (own - entry->pending);
  entry->others_until = window_end(*entry, now);
  const Number after = own + entry->others;
  if (entry->ceiling && !entry->ceiling->broken_by(before) && entry->ceiling->broken_by(after)) {
    const double beyond = (after - entry->ceiling->limit).as_real();
    const double ours = entry->flying.as_real();
    overshoot_ += static_cast<std::uint64_t>(std::clamp(std::min(beyond, ours), 0.0, 1e15));
  }
  entry->flying = Number{0};
  entry->flight = {};
  if (!entry->pending.is_zero()) queue(*entry);
}

SyncedBank::Stats SyncedBank::stats() const noexcept {
  Stats out{0, exchanged_, overshoot_};
  for (const Queue& queue : queues_) out.queued += queue.keys.size();
  return out;
}

}  // namespace weir::limiter
