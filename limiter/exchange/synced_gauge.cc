#include "limiter/exchange/synced_bank.h"

/// Exchanged gauges: the open requests of each replica. Nothing is added up over time: the report
/// of a replica replaces its previous report, and the answer is the total of all replicas. A report
/// expires after some intervals, so a dead replica soon has no open requests; a replica with open
/// requests repeats its report.
namespace weir::limiter {

void SyncedBank::leave(const SyncedCounter& counter, const CounterKey& key, Number amount) {
  const SyncTable::Locked entry = table_.find(SyncEntry::key_of(key, counter));
  bank_.leave(counter.id, key, amount);
  if (!entry) return;
  entry->pending = amount_of(entry->pending) - amount;
  rounds_.queue(*entry);
}

/// One event in the store, `flight`, represents all open requests of this replica.
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
  overshoot_.note(entry, before, own + *entry.others, own);
  if (own > Number{0} || entry.flight.sequence != 0)
    rounds_.queue(entry);  // the report must be repeated in time
}

}  // namespace weir::limiter
