#include <algorithm>
#include <utility>

#include "limiter/exchange/synced_bank.h"

/// The exchange of a SyncedBank: what is asked of the store when, and what its answers say.
namespace weir::limiter {
namespace {

/// The weight of earlier exchanges.
constexpr double kSpreadKept = 0.999;
/// A key is exchanged as often as this within an interval, at most.
constexpr int kHastePerInterval = 40;
constexpr milliseconds kHasteLeast{5};
/// An urgent key waits this long for other urgent keys: with low limits nearly every event is
/// urgent, and each would be a call of its own.
constexpr milliseconds kCompany{8};
/// The most that one push of a count holds; the rest waits for the next one.
constexpr std::int64_t kAmountMost = 0x7fffffff;

}  // namespace

/// When all events of now will have left the window.
TimePoint SyncedBank::window_end(const SyncEntry& entry, TimePoint now) {
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
      const double level = std::clamp((amount_of(entry.others) + entry.own_told).as_real(), 1.0,
                                      counter.spec.capacity.as_real());
      return now + milliseconds{static_cast<std::int64_t>(level * counter.spec.ms_of_one())};
    }
    case Window::none:
      return now + gauge_lifetime(entry.counter);
    case Window::ring:
      return now + milliseconds{counter.rule.length + counter.rule.quantum};
    default:
      return now + milliseconds{counter.rule.length};
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

void SyncedBank::hasten(SyncEntry& entry, TimePoint now, Haste haste) {
  if (haste == Haste::none || entry.away) return;
  if (!entry.urgent) {
    const milliseconds least = std::max(entry.counter.interval / kHastePerInterval, kHasteLeast);
    if (!entry.empties && now - entry.sent_at < least) return;
    entry.urgent = true;
    urgent_.push_back(entry.key);
  }
  urgent_now_ = urgent_now_ || haste == Haste::now;
}

std::optional<TimePoint> SyncedBank::next(TimePoint now) noexcept {
  std::optional<TimePoint> out;
  if (!urgent_.empty()) {
    if (urgent_now_ || !urgent_due_) urgent_due_ = urgent_now_ ? now : now + kCompany;
    out = urgent_due_;
  } else {
    urgent_now_ = false;  // those belonged to another worker
  }
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
      if (!entry) continue;
      const double pending = entry->merge == Merge::members
                                 ? entry->fresh
                                 : std::abs(amount_of(entry->pending).as_real());
      round_.push_back({pending, key});
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
    if (entry->away || (!entry->touched && !entry->has_pending() && !entry->empties)) return;
    const TimePoint now = at.of(entry->counter);
    if (entry->merge == Merge::members && !entry->empties) {
      n += fill_members(*entry, now, id, n, most - n, out);
      return;
    }
    if (n == out.size()) out.emplace_back();
    fill(*entry, now, id, out[n++]);
  };
  while (n < most && !urgent_.empty()) {
    const Hash128 key = urgent_.back();
    urgent_.pop_back();
    take_one(key, false);
  }
  if (urgent_.empty()) {
    urgent_now_ = false;
    urgent_due_.reset();
  }
  while (n < most && !round_.empty()) {
    const Hash128 key = round_.back().key;
    round_.pop_back();
    take_one(key, true);
  }
  return n;
}

/// The part of a sum to send: none if it is 0.
void SyncedBank::fill_sum(SyncEntry& entry, TimePoint now) {
  const CounterSpec& spec = entry.counter.shared->spec;
  const bool counts = spec.metric == Metric::count;
  Number pending = amount_of(entry.pending), flying = amount_of(entry.flying);
  // Counts that have left our own window meanwhile are not sent.
  if (entry.only_grows()) {
    const Number own = bank_.peek(entry.counter.id, entry.key_in_bank(), now).settled;
    if (own < pending) pending = own;
    if (own < pending + flying) flying = own - pending;
  }
  if (entry.flight.sequence == 0) {
    flying = pending;
    if ((spec.window == Window::leaky || counts) && flying.is_negative()) flying = Number{0};
    if (counts && flying > Number{kAmountMost}) flying = Number{kAmountMost};
    pending = pending - flying;
  }
  entry.pending = pending;
  entry.flying = flying.is_zero() ? Share{} : flying;
}

/// Fills `out` from the waiting entry; the caller adds the questions besides the reading.
void SyncedBank::begin_push(SyncEntry& entry, TimePoint now, Push& out) {
  out.key = entry.key;
  out.counter = entry.counter.shared;
  out.name = entry.name;
  out.verb = SharedVerb::read;
  out.amount = Number{0};
  out.member = 0;
  out.last = true;
  out.lifetime = milliseconds{0};
  out.again = false;
  out.resets = entry.resets;
  entry.away = true;
  entry.touched = false;
  entry.empties = false;
  entry.sent_at = now;
}

/// Under the entry's lock.
void SyncedBank::fill(SyncEntry& entry, TimePoint now, SharedId& id, Push& out) {
  const bool empties = entry.empties;
  begin_push(entry, now, out);
  if (empties) {
    out.verb = SharedVerb::reset;
    out.id = {id.origin, ++id.sequence};
    return;
  }
  if (entry.merge == Merge::gauge) return fill_gauge(entry, now, id, out);
  if (entry.merge == Merge::extreme) {
    if (entry.flight.sequence == 0) entry.flying = std::exchange(entry.pending, {});
  } else {
    fill_sum(entry, now);
  }
  if (!entry.flying) {
    entry.flight = {};
    ++id.sequence;
  } else {
    out.verb = SharedVerb::add;
    // Asked in that way the store says when the window began as well.
    out.again =
        entry.flight.sequence != 0 || entry.counter.shared->spec.window == Window::every_first;
    if (entry.flight.sequence == 0) {
      ++id.sequence;
      entry.flight = id;
    }
  }
  out.amount = amount_of(entry.flying);
  out.id = entry.flight.sequence != 0 ? entry.flight : id;
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
  const bool current = push.resets == entry->resets;
  const bool failed = reply.error != SharedError::none;
  if (entry->merge == Merge::members && push.verb == SharedVerb::add && current)
    told_member(*entry, push, !failed);
  if (!failed) ++exchanged_;
  if (!push.last) return;
  entry->away = false;
  entry->unheard = failed;
  if (failed) entry->empties = entry->empties || push.verb == SharedVerb::reset;
  if (failed || !current) return queue(*entry);
  const bool emptied = push.verb == SharedVerb::reset;
  const Number total = emptied ? Number{0} : reply.parts[0].reading.settled;
  switch (entry->merge) {
    case Merge::extreme:
      take_extreme(*entry, push, reply.parts[0].reading, now);
      break;
    case Merge::members:
      take_members(*entry, total, now);
      break;
    case Merge::gauge:
      return take_gauge(*entry, push, total, now);
    default:
      take_total(*entry, reply, emptied, now);
  }
  entry->flying = {};
  entry->flight = {};
  if (entry->has_pending()) queue(*entry);
}

/// A key that was below its limit is beyond it now: counts our share of the overshoot.
void SyncedBank::note_overshoot(const SyncEntry& entry, Number before, Number after,
                                Number ours) noexcept {
  if (!entry.ceiling || entry.ceiling->broken_by(before) || !entry.ceiling->broken_by(after))
    return;
  const double beyond = (after - entry.ceiling->limit).as_real();
  overshoot_ += static_cast<std::uint64_t>(std::clamp(std::min(beyond, ours.as_real()), 0.0, 1e15));
}

/// Takes the store's total of a sum: it contains our part except what is pending.
void SyncedBank::take_total(SyncEntry& entry, const SharedReply& reply, bool emptied,
                            TimePoint now) {
  Number total = emptied ? Number{0} : reply.parts[0].reading.settled;
  std::optional<TimePoint> ends;
  if (entry.counter.shared->spec.window == Window::every_first && !emptied)
    ends = join_window(entry, reply, now);
  const Number own = bank_.peek(entry.counter.id, entry.key_in_bank(), now).settled;
  const Number before = own + amount_of(entry.others_at(now));
  Number told = own - amount_of(entry.pending);
  const CounterSpec& spec = entry.counter.shared->spec;
  if (spec.window == Window::leaky) {
    // The reply contains the overflow of the bucket; the parts of the replicas do not.
    total = std::min(total, spec.capacity);
    told = std::max(told, Number{0});
    entry.own_told = own;
  }
  if (std::exchange(entry.untold_lost, false) && entry.only_grows() && !emptied && total < told) {
    // Counted here while the table had no room: sends now what the store lacks.
    entry.pending = amount_of(entry.pending) + (told - total);
    told = total;
  }
  const Number others = total - told;
  note_growth(entry, others, now);
  entry.others = others;
  entry.others_until = ends.value_or(window_end(entry, now));
  note_overshoot(entry, before, own + others, amount_of(entry.flying));
}

/// A window that begins with a key's first event began for all replicas with the first event that
/// the store heard of. Our own part moves there, so that it ends with the others'. Returns the
/// time; none: there is no window.
std::optional<TimePoint> SyncedBank::join_window(SyncEntry& entry, const SharedReply& reply,
                                                 TimePoint now) {
  const TimePoint there = reply.parts[0].began;
  if (there == TimePoint{}) return {};
  const TimePoint begin = now - std::max(reply.at - there, milliseconds{0});
  const TimePoint end = begin + entry.counter.shared->spec.length;
  const CounterKey key = entry.key_in_bank();
  const Number own = bank_.peek(entry.counter.id, key, now).settled;
  if (own.is_zero()) {
    entry.began = {};
  } else if (entry.began != there && end > now) {
    bank_.reset(entry.counter.id, key, now);
    bank_.settle(entry.counter.id, key, begin, now, {own, 0, nullptr}, {}, true);
    entry.began = there;
  }
  return end;
}

/// Takes the store's extreme. If ours lies beyond it, another replica has reset the key: then only
/// newer values are ours.
void SyncedBank::take_extreme(SyncEntry& entry, const Push& push, const Reading& there,
                              TimePoint now) {
  const bool emptied = push.verb == SharedVerb::reset;
  const Share total = there.has_value && !emptied ? there.settled : Share{};
  const Reading own = bank_.peek(entry.counter.id, entry.key_in_bank(), now);
  if (std::exchange(entry.untold_lost, false) && !emptied && own.has_value)
    entry.pending = entry.merged(entry.pending, own.settled);
  const Share known = entry.merged(total, entry.pending);
  if (own.has_value && entry.merged(known, own.settled) != known) {
    bank_.reset(entry.counter.id, entry.key_in_bank(), now);
    if (entry.pending) {
      bank_.charge(entry.counter.id, entry.key_in_bank(), now, {*entry.pending, 0, nullptr},
                   nullptr, nullptr);
    }
  }
  entry.others = total;
  entry.others_until = window_end(entry, now);
}

/// The others' part is now `others`: measures how fast it grows, over the last half interval or so.
/// Counts that left their windows meanwhile do not slow it.
void SyncedBank::note_growth(SyncEntry& entry, Number others, TimePoint now) {
  if (entry.told_at != TimePoint{}) {
    const double grown = std::max((others - amount_of(entry.others_at(now))).as_real(), 0.0);
    const double gap = std::max(static_cast<double>((now - entry.told_at).count()), 1.0);
    const double smooth = static_cast<double>(entry.counter.interval.count()) / 2;
    entry.growth = (entry.growth * smooth + grown) / (smooth + gap);
    own_growth_ = own_growth_ * kSpreadKept + std::abs(amount_of(entry.flying).as_real());
    others_growth_ = others_growth_ * kSpreadKept + grown;
  }
  entry.told_at = now;
}

SyncedBank::Stats SyncedBank::stats() const noexcept {
  Stats out{0, exchanged_, overshoot_};
  for (const Queue& queue : queues_) out.queued += queue.keys.size();
  return out;
}

}  // namespace weir::limiter
