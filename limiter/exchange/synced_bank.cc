#include "limiter/exchange/synced_bank.h"

#include <algorithm>
#include <new>
#include <utility>

#include "limiter/exchange/synced_average.h"

namespace weir::limiter {
namespace {

/// How much more the others count than we, until it is known.
constexpr double kSpreadUnknown = 15;

/// Adds the others' part. A count stays at or above the current event: the others' part may be
/// negative for as long as an interval after a reset. A doubtful part refuses only as events in
/// flight do: the request waits for the exchange, and nothing is remembered of the refusal.
void take_in(Reading& reading, const Share& others, const SyncEntry& entry, const Amount* event,
             TimePoint at) {
  if (!others) return;
  reading.value = *entry.merged(reading.has_value ? reading.value : Share{}, others);
  reading.doubtful = entry.is_doubtful(at);
  if (!reading.doubtful)
    reading.settled = *entry.merged(reading.has_value ? reading.settled : Share{}, others);
  reading.has_value = true;
  if (entry.merge == Merge::extreme || !others->is_negative() || !entry.only_grows()) return;
  const Number least = event != nullptr ? event->amount : Number{0};
  reading.value = std::max(reading.value, least, [](Number a, Number b) { return a < b; });
  reading.settled = std::max(reading.settled, least, [](Number a, Number b) { return a < b; });
}

/// The entry is kept while a reservation is open, to exchange its settlement. An entry
/// made after the reservation does not include it, so the number may be 0 already.
void note_settled(SyncEntry& entry, const Undo& undo) noexcept {
  if (undo.what == Undo::What::reservation && entry.reserved != 0) --entry.reserved;
}

}  // namespace

bool SyncedBank::touch(const SyncedCounter& counter, const CounterKey& key) {
  if (const auto* const parts = counter.average.get()) {
    const bool known = touch(parts->amounts, key);
    return touch(parts->ones, key) && known;
  }
  const SyncTable::Locked entry = table_.find(SyncEntry::key_of(key, counter));
  if (!entry) return false;
  entry->counter.id = counter.id;  // a reload may have given it another
  entry->counter.interval = counter.interval;
  rounds_.queue(*entry);
  return true;
}

void SyncedBank::add(const SyncedCounter& counter, const CounterKey& key, std::string_view name,
                     TimePoint now) {
  if (const auto* const parts = counter.average.get()) {
    add(parts->amounts, key, name, now);
    return add(parts->ones, key, name, now);
  }
  const Hash128 own = SyncEntry::key_of(key, counter);
  if (const SyncTable::Locked entry = table_.find_or_add(own, counter, name, now))
    rounds_.queue(*entry);
}

/// Under the entry's lock.
void SyncedBank::count_in(SyncEntry& entry, Number amount, TimePoint now) {
  forget_old_debt(entry, now);
  entry.pending = entry.merged(entry.pending, amount);
}

/// Asks for an exchange if the limit may be reached before the next one is due. The estimate of the
/// others' counts meanwhile is their recent rate, or ours times the number of replicas that they
/// seem to be. One event alone does not announce more.
void SyncedBank::note_doubt(SyncEntry& entry, const Reading& reading, const Amount& event,
                            TimePoint now) {
  if (reading.doubtful && entry.ceiling && entry.ceiling->broken_by(reading.value))
    return rounds_.hasten(entry, now, Haste::now);
  if (!entry.ceiling || !entry.has_pending() || entry.merge == Merge::extreme) return;
  const double limit = entry.ceiling->limit.as_real();
  const double value = reading.settled.as_real();
  // Beyond it there is nothing more to know in a hurry.
  if (value > limit + event.amount.as_real()) return;
  const double spread = own_growth_ > 0 ? others_growth_ / own_growth_ : kSpreadUnknown;
  const double pending = amount_of(entry.pending).as_real();
  const double theirs = std::max(entry.growth_at(now), (pending - event.amount.as_real()) * spread);
  const double left = std::max(limit - value - theirs, 0.0);
  rounds_.hasten(entry, now, haste_for(pending + theirs, left, limit));
}

Reading SyncedBank::admit(const SyncedCounter& counter, const CounterKey& key, Moment now,
                          const Amount& event, const Ceiling* ceiling, bool enforced, bool reserves,
                          Undo* undo) {
  const Hash128 entry_key = SyncEntry::key_of(key, counter);
  const SyncTable::Locked entry = table_.find(entry_key);
  Undo own;
  Undo& kept = undo != nullptr ? *undo : own;
  const auto note_reserved = [&] { entry->reserved += kept.what == Undo::What::reservation; };
  if (entry && entry->merge == Merge::members) {
    const Reading reading =
        members_.admit(*entry, key, now, event, ceiling, enforced, reserves, &kept);
    note_reserved();
    rounds_.queue_untold(*entry);
    return reading;
  }
  const auto charge = [&](const Ceiling* here) {
    return reserves ? bank_.reserve(counter.id, key, now, event, here, &kept)
                    : bank_.charge(counter.id, key, now, event, here, &kept);
  };
  if (!entry) {
    const Reading reading = charge(enforced ? ceiling : nullptr);
    if (!reserves && reading.stored) table_.note_alone(entry_key, counter, now.at);
    return reading;
  }
  const Share others = entry->others_at(now.at);
  std::optional<Ceiling> here;
  if (ceiling != nullptr) {
    entry->ceiling = *ceiling;
    if (enforced) here = *ceiling;
  }
  if (here && entry->merge == Merge::extreme) {
    if (others && here->broken_by(*others)) {  // even without this event
      Reading reading = bank_.peek(counter.id, key, now, &event);
      take_in(reading, others, *entry, &event, now.at);
      reading.refused = true;
      return reading;
    }
  } else if (here) {
    here->limit = here->limit - amount_of(others);
  }
  Reading reading = charge(here ? &*here : nullptr);
  note_reserved();
  if (event.amount.is_negative()) entry->has_negative = true;
  if (!reserves && reading.stored) count_in(*entry, event.amount, now.at);
  rounds_.queue_untold(*entry);
  take_in(reading, others, *entry, &event, now.at);
  note_doubt(*entry, reading, event, now.at);
  return reading;
}

Reading SyncedBank::charge(const SyncedCounter& counter, const CounterKey& key, Moment now,
                           const Amount& event, const Ceiling* ceiling, bool enforced, Undo* undo) {
  if (counter.average != nullptr)
    return admit_average(*this, *counter.average, key, now, event, enforced ? ceiling : nullptr,
                         false, undo);
  return admit(counter, key, now, event, ceiling, enforced, false, undo);
}

Reading SyncedBank::reserve(const SyncedCounter& counter, const CounterKey& key, Moment now,
                            const Amount& event, const Ceiling* ceiling, bool enforced,
                            Undo* undo) {
  if (counter.average != nullptr)
    return admit_average(*this, *counter.average, key, now, event, enforced ? ceiling : nullptr,
                         true, undo);
  return admit(counter, key, now, event, ceiling, enforced, true, undo);
}

Reading SyncedBank::peek(const SyncedCounter& counter, const CounterKey& key, Moment now,
                         const Amount* event) noexcept {
  if (counter.average != nullptr) return peek_average(*this, *counter.average, key, now, event);
  const SyncTable::Locked entry = table_.find(SyncEntry::key_of(key, counter));
  Reading reading = bank_.peek(counter.id, key, now, event);
  if (entry && entry->merge == Merge::members) {
    members_.take_in(reading, *entry, now.at);
  } else if (entry) {
    take_in(reading, entry->others_at(now.at), *entry, event, now.at);
  }
  return reading;
}

Reading SyncedBank::settle(const SyncedCounter& counter, const CounterKey& key,
                           TimePoint event_time, Moment now, const Amount& event, const Undo& undo,
                           bool matched) {
  if (counter.average != nullptr)
    return settle_average(*this, *counter.average, key, event_time, now, event, undo, matched);
  const Hash128 entry_key = SyncEntry::key_of(key, counter);
  const SyncTable::Locked entry = table_.find(entry_key);
  if (entry) note_settled(*entry, undo);
  if (entry && entry->merge == Merge::members)
    return members_.settle(*entry, key, event_time, now, event, undo, matched);
  Reading reading = bank_.settle(counter.id, key, event_time, now, event, undo, matched);
  if (!entry) {
    if (matched) table_.note_alone(entry_key, counter, now.at);
    return reading;
  }
  if (matched) {
    if (event.amount.is_negative()) entry->has_negative = true;
    count_in(*entry, event.amount, now.at);
    rounds_.queue_untold(*entry);
  }
  take_in(reading, entry->others_at(now.at), *entry, matched ? &event : nullptr, now.at);
  note_doubt(*entry, reading, event, now.at);
  return reading;
}

void SyncedBank::uncharge(const SyncedCounter& counter, const CounterKey& key,
                          const Undo& undo) noexcept {
  if (const auto* const parts = counter.average.get()) {
    uncharge(parts->amounts, key, undo);
    return uncharge(parts->ones, key, undo_of_one(undo));
  }
  const SyncTable::Locked entry = table_.find(SyncEntry::key_of(key, counter));
  bank_.uncharge(counter.id, key, undo);
  if (entry) note_settled(*entry, undo);
  if (!entry || undo.what != Undo::What::charge) return;
  if (entry->merge == Merge::extreme) {  // the rest, known or not; a sent value stays in the store
    const Reading own = bank_.peek(counter.id, key, undo.at);
    entry->pending = own.has_value ? own.settled : Share{};
  } else if (entry->merge == Merge::members) {
    members_.uncharge(*entry, undo);
  } else {
    // Later counts make up for counts that were already sent; a sum sends the difference.
    forget_old_debt(*entry, undo.at);
    entry->pending = amount_of(entry->pending) - undo.amount.amount;
    rounds_.queue_untold(*entry);
  }
}

void SyncedBank::reset(const SyncedCounter& counter, const CounterKey& key, Moment now) {
  if (const auto* const parts = counter.average.get()) {
    reset(parts->amounts, key, now);
    return reset(parts->ones, key, now);
  }
  const SyncTable::Locked entry = table_.find(SyncEntry::key_of(key, counter));
  bank_.reset(counter.id, key, now);
  if (!entry || entry->merge == Merge::gauge) return;  // open requests stay open
  table_.drop_unsent(*entry);
  entry->others = entry->pending = entry->flying = {};
  entry->flight = {};
  ++entry->resets;
  entry->empties = true;
  rounds_.queue(*entry);
  rounds_.hasten(*entry, now.at, Haste::now);
}

}  // namespace weir::limiter
