#include "limiter/exchange/synced_members.h"

#include <algorithm>
#include <utility>

namespace weir::limiter {
namespace {

constexpr int kToldPerWindow = 60;

Number greater(Number a, Number b) noexcept { return a < b ? b : a; }

Number number(std::size_t n) noexcept { return Number{static_cast<std::int64_t>(n)}; }

/// A member is sent again if it was last sent in an earlier slot. All slots begin at the same
/// times, so the time of sending is not stored.
milliseconds slot_of(const SyncedCounter& counter) noexcept {
  return std::max(counter.interval, counter.shared->spec.length / kToldPerWindow);
}

/// `former`: when it was seen last.
bool is_due(const SyncedCounter& counter, std::uint32_t former, TimePoint now) noexcept {
  const CounterSpec& spec = counter.shared->spec;
  if (spec.window != Window::log) return false;
  const std::int64_t slot = slot_of(counter).count(), ms = to_ms(now);
  const std::int64_t age = static_cast<std::uint32_t>(ms) - former;
  return age > 0 && age <= spec.length.count() && (ms - age) / slot != ms / slot;
}

}  // namespace

/// The number of local members that the store has.
Number SyncedMembers::told_of(const SyncEntry& entry, TimePoint now) const noexcept {
  const Number own = bank_.peek(entry.counter.id, entry.key_in_bank(), now).settled;
  return greater(own - number(entry.fresh), Number{0});
}

void SyncedMembers::take_in(Reading& reading, const SyncEntry& entry,
                            TimePoint now) const noexcept {
  take_in(reading, entry, told_of(entry, now), now);
}

/// `told`: the result of told_of() before the event.
void SyncedMembers::take_in(Reading& reading, const SyncEntry& entry, Number told,
                            TimePoint now) const noexcept {
  const Number known = told + amount_of(entry.others_at(now));
  const Number keep = number(entry.counter.shared->spec.keep);
  const Number all = keep < known ? keep : known;
  reading.settled = greater(reading.settled, all);
  reading.value = greater(reading.value, all);
}

Reading SyncedMembers::admit(SyncEntry& entry, const CounterKey& key, Moment now,
                             const Amount& event, const Ceiling* ceiling, bool enforced,
                             bool reserves, Undo* undo) {
  const CounterId id = entry.counter.id;
  const Number told = told_of(entry, now.at);
  if (undo != nullptr) *undo = Undo{};
  if (ceiling != nullptr) entry.ceiling = *ceiling;
  if (ceiling != nullptr && enforced) {
    Reading with = bank_.peek(id, key, now, &event);
    take_in(with, entry, told, now.at);
    if (ceiling->broken_by(with.value)) {
      with.refused = true;
      return with;
    }
  }
  Undo own;
  Undo& kept = undo != nullptr ? *undo : own;
  Reading reading = reserves ? bank_.reserve(id, key, now, event, nullptr, &kept)
                             : bank_.charge(id, key, now, event, nullptr, &kept);
  if (kept.what == Undo::What::charge) {
    if (kept.fresh || is_due(entry.counter, kept.former, now.at))
      table_.keep_untold(entry, event.member, kept.fresh);
  }
  take_in(reading, entry, told, now.at);
  note_fresh(entry, reading, now.at);
  return reading;
}

Reading SyncedMembers::settle(SyncEntry& entry, const CounterKey& key, TimePoint event_time,
                              Moment now, const Amount& event, const Undo& undo, bool matched) {
  const CounterId id = entry.counter.id;
  const Number told = told_of(entry, now.at);
  const bool is_new = bank_.peek(id, key, now, &event).settled > bank_.peek(id, key, now).settled;
  Reading reading = bank_.settle(id, key, event_time, now, event, undo, matched);
  if (matched) {
    table_.keep_untold(entry, event.member, is_new);
    rounds_.queue_untold(entry);
  }
  take_in(reading, entry, told, now.at);
  note_fresh(entry, reading, now.at);
  return reading;
}

void SyncedMembers::uncharge(SyncEntry& entry, const Undo& undo) noexcept {
  if (!undo.fresh) return;
  for (std::size_t i = 0; i < entry.unsent.size(); ++i) {
    Unsent& unsent = entry.unsent[i];
    if (unsent.member != undo.amount.member) continue;
    if (!unsent.sent) return table_.drop_unsent(entry, i);
    entry.fresh -= unsent.fresh;
    unsent.fresh = false;
    return;
  }
}

/// Members that may bring the key beyond its limit are sent at once.
void SyncedMembers::note_fresh(SyncEntry& entry, const Reading& reading, TimePoint now) {
  if (entry.unsent.size() >= kMembersOfPush) return rounds_.hasten(entry, now, Haste::now);
  if (!entry.ceiling || entry.fresh == 0) return;
  const double limit = entry.ceiling->limit.as_real();
  const double value = reading.settled.as_real();
  if (value > limit + 1) return;
  if (haste_for(entry.fresh, std::max(limit - value, 0.0), limit) != Haste::none)
    rounds_.hasten(entry, now, Haste::now);  // they count once the store has confirmed them
}

std::size_t SyncedMembers::fill(SyncEntry& entry, TimePoint now, SharedId& id, std::size_t at,
                                std::size_t most, std::vector<SyncPush>& out) {
  const CounterKey key = entry.key_in_bank();
  const Number own = bank_.peek(entry.counter.id, key, now).settled;
  const auto is_gone = [&](std::uint64_t member) {
    const Amount event{1, member, nullptr};
    return bank_.peek(entry.counter.id, key, now, &event).settled > own;
  };
  entry.flying = {};
  std::size_t n = 0;
  for (std::size_t i = 0; i < entry.unsent.size() && n < std::min(kMembersOfPush, most);) {
    Unsent& unsent = entry.unsent[i];
    if (is_gone(unsent.member)) {  // left our own window: not sent any more
      table_.drop_unsent(entry, i);
      continue;
    }
    ++i;
    unsent.sent = true;
    if (at + n == out.size()) out.emplace_back();
    SyncPush& push = out[at + n++];
    begin_push(entry, now, push);
    push.verb = SharedVerb::add;
    push.amount = Number{1};
    push.member = unsent.member;
    push.last = false;
    ++id.sequence;
    push.id = id;
    if (unsent.fresh) entry.flying = amount_of(entry.flying) + Number{1};
  }
  if (n != 0) {
    out[at + n - 1].last = true;
    return n;
  }
  if (at == out.size()) out.emplace_back();
  begin_push(entry, now, out[at]);
  ++id.sequence;
  out[at].id = id;
  return 1;
}

void SyncedMembers::take_reply(SyncEntry& entry, const SyncPush& push, bool done) noexcept {
  for (std::size_t i = 0; i < entry.unsent.size(); ++i) {
    Unsent& unsent = entry.unsent[i];
    if (unsent.member != push.member) continue;
    const bool again = !std::exchange(unsent.sent, false);  // seen once more meanwhile
    if (!done) return;
    if (!again) return table_.drop_unsent(entry, i);
    entry.fresh -= unsent.fresh;
    unsent.fresh = false;
    return;
  }
}

/// Takes the store's number of members. If it is smaller than the number of local members that the
/// store must have, another replica has reset the key, or the store has lost data: then only
/// members that are still to be sent are ours.
void SyncedMembers::take(SyncEntry& entry, Number total, TimePoint now) {
  const bool slides = entry.counter.shared->spec.window == Window::log;
  // The store may see it leave earlier than we do, and need not have it any more.
  const TimePoint sure = slides ? now + slot_of(entry.counter) : now;
  const Number own = bank_.peek(entry.counter.id, entry.key_in_bank(), sure).settled;
  if (own.is_zero()) entry.untold_lost = false;
  if (!entry.untold_lost && total < own - number(entry.unsent.size())) forget_told(entry, now);
  entry.others = greater(total - told_of(entry, now), Number{0});
  entry.others_until = window_end(entry, now);
  entry.told_at = now;
  const Number ours = amount_of(entry.flying);
  overshoot_.note(entry, total - ours, total, ours);
  if (entry.unsent.size() >= kMembersOfPush) rounds_.hasten(entry, now, Haste::now);
}

void SyncedMembers::forget_told(SyncEntry& entry, TimePoint now) {
  const CounterKey key = entry.key_in_bank();
  bank_.reset(entry.counter.id, key, now);
  for (Unsent& unsent : entry.unsent) {
    bank_.charge(entry.counter.id, key, now, {1, unsent.member, nullptr}, nullptr, nullptr);
    unsent.fresh = true;
  }
  entry.fresh = static_cast<std::uint32_t>(entry.unsent.size());
}

}  // namespace weir::limiter
