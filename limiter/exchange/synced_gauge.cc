#include <algorithm>

#include "limiter/exchange/synced_bank.h"

/// What is open on each replica, exchanged. Nothing is added up over time here: each replica says
/// how much it has open, in the place of what it said before, and hears what all have. What it said
/// ends by itself some intervals later, so that a replica that died has nothing open; while it has,
/// it goes on saying so.
namespace weir::limiter {
namespace {

constexpr int kLifetimeIntervals = 10;
constexpr milliseconds kLifetimeLeast{5'000};

}  // namespace

milliseconds SyncedBank::gauge_lifetime(const SyncedCounter& counter) noexcept {
  return std::max(counter.interval * kLifetimeIntervals, kLifetimeLeast);
}

void SyncedBank::leave(const SyncedCounter& counter, const CounterKey& key, Number amount) {
  const SyncTable::Locked entry = table_.find(SyncEntry::key_of(key, counter));
  bank_.leave(counter.id, key, amount);
  if (!entry) return;
  entry->pending = amount_of(entry->pending) - amount;
  queue(*entry);
}

/// One event of the store's stands for all that is open here: `flight`.
void SyncedBank::fill_gauge(SyncEntry& entry, TimePoint now, SharedId& id, Push& out) {
  const Number own = bank_.peek(entry.counter.id, entry.key_in_bank(), now).settled;
  const bool said = entry.flight.sequence != 0;
  if (!said) ++id.sequence;
  entry.pending = {};
  out.id = said ? entry.flight : id;
  out.amount = Number{1};
  if (own > Number{0}) {
    out.verb = SharedVerb::add;
    out.amount = own;
    out.lifetime = gauge_lifetime(entry.counter);
    entry.flight = out.id;
  } else if (said) {
    out.verb = SharedVerb::take_back;
  }
}

void SyncedBank::take_gauge(SyncEntry& entry, const Push& push, Number total, TimePoint now) {
  const Number ours = push.verb == SharedVerb::add ? push.amount : Number{0};
  if (push.verb == SharedVerb::take_back) entry.flight = {};
  const Number own = bank_.peek(entry.counter.id, entry.key_in_bank(), now).settled;
  const Number before = own + amount_of(entry.others_at(now));
  entry.others = total - ours;
  entry.others_until = window_end(entry, now);
  entry.told_at = now;
  note_overshoot(entry, before, own + *entry.others, own);
  if (own > Number{0} || entry.flight.sequence != 0) queue(entry);  // it must be said again in time
}

}  // namespace weir::limiter
