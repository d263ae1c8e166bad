#include <algorithm>
#include <utility>

#include "limiter/exchange/synced_bank.h"

/// The exchange of a SyncedBank: its calls to the store, and its use of the answers.
namespace weir::limiter {
namespace {

/// The weight of earlier exchanges.
constexpr double kSpreadKept = 0.999;
/// The most that one push of a count holds; the rest waits for the next one.
constexpr std::int64_t kAmountMax = 0x7fffffff;

}  // namespace

std::size_t SyncedBank::take(Times at, SharedId& id, std::size_t most, std::vector<Push>& out) {
  std::size_t n = 0;
  while (n < most) {
    const SyncTable::Locked entry = rounds_.take();
    if (!entry) break;
    if (!entry->touched && !entry->has_pending() && !entry->empties) continue;
    const TimePoint now = at.of(entry->counter);
    if (entry->merge == Merge::members && !entry->empties) {
      n += members_.fill(*entry, now, id, n, most - n, out);
      continue;
    }
    if (n == out.size()) out.emplace_back();
    fill(*entry, now, id, out[n++]);
  }
  return n;
}

/// The part of a sum to send: none if it is 0.
void SyncedBank::fill_sum(SyncEntry& entry, TimePoint now) {
  const CounterSpec& spec = entry.counter.shared->spec;
  const bool counts = spec.metric == Metric::count;
  forget_old_debt(entry, now);
  Number pending = amount_of(entry.pending), flying = amount_of(entry.flying);
  // Counts that have left our own window meanwhile are not sent.
  if (entry.only_grows()) {
    const Number own = bank_.peek(entry.counter.id, entry.key_in_bank(), now).settled;
    if (own < pending) pending = own;
    if (own < pending + flying) flying = own - pending;
  }
  if (entry.flight.sequence == 0) {
    flying = pending;
    if (entry.sends_no_negative() && flying.is_negative()) flying = Number{0};
    if (counts && flying > Number{kAmountMax}) flying = Number{kAmountMax};
    pending = pending - flying;
  }
  entry.pending = pending;
  entry.flying = flying.is_zero() ? Share{} : flying;
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
    entry.added_at = now;
    // With this flag the store also answers when the window began.
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

void SyncedBank::take_reply(const Push& push, const SharedReply& reply, Times at) {
  const SyncTable::Locked entry = table_.find(push.key);
  if (!entry) return;
  const TimePoint now = at.of(entry->counter);
  const bool current = push.resets == entry->resets;
  const bool failed = reply.error != SharedError::none;
  if (entry->merge == Merge::members && push.verb == SharedVerb::add && current)
    members_.take_reply(*entry, push, !failed);
  if (!failed) ++exchanged_;
  if (!push.last) return;
  entry->away = false;
  entry->unheard = failed;
  if (failed) entry->empties = entry->empties || push.verb == SharedVerb::reset;
  if (failed || !current) return rounds_.queue(*entry);
  const bool emptied = push.verb == SharedVerb::reset;
  const Number total = emptied ? Number{0} : reply.parts[0].reading.settled;
  switch (entry->merge) {
    case Merge::extreme:
      take_extreme(*entry, push, reply.parts[0].reading, now);
      break;
    case Merge::members:
      members_.take(*entry, total, now);
      break;
    case Merge::gauge:
      return take_gauge(*entry, push, total, now);
    default:
      take_total(*entry, reply, emptied, now);
  }
  entry->flying = {};
  entry->flight = {};
  if (entry->has_pending()) rounds_.queue(*entry);
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
  if (entry.sends_no_negative() && amount_of(entry.pending).is_negative() && total < told) {
    // The store has less than the debt: it has lost the count, or an operator has emptied the key.
    entry.pending = std::min(amount_of(entry.pending) + (told - total), Number{0});
    told = own - *entry.pending;
  }
  const CounterSpec& spec = entry.counter.shared->spec;
  if (spec.window == Window::leaky) {
    // The reply contains the overflow of the bucket; the parts of the replicas do not.
    total = std::min(total, spec.capacity);
    told = std::max(told, Number{0});
    entry.own_told = own;
  }
  if (std::exchange(entry.untold_lost, false) && entry.only_grows() && !emptied && total < told) {
    // Counted here while the table had no room: sends the missing part now.
    entry.pending = amount_of(entry.pending) + (told - total);
    told = total;
  }
  const Number others = total - told;
  note_growth(entry, others, now);
  entry.others = others;
  entry.others_until = ends.value_or(window_end(entry, now));
  overshoot_.note(entry, before, own + others, amount_of(entry.flying));
}

/// A window that begins with a key's first event began for all replicas with the first event that
/// reached the store. Our own part moves there, so that it ends with the others'. Returns the time;
/// none: there is no window.
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
  return {rounds_.queued(), exchanged_, overshoot_.count()};
}

}  // namespace weir::limiter
