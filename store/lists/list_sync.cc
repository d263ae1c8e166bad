#include "store/lists/list_sync.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace weir::store {
namespace {

using limiter::kForever;
using limiter::ListEntry;

constexpr std::int64_t kForeverMs = to_ms(kForever);
constexpr std::int64_t kMinute = 60'000;
constexpr std::int64_t kOverlap = kMinute * 1000;  // sequences: microseconds
constexpr std::int64_t kDrift = 250;               // by which clocks may differ unseen
constexpr std::int64_t kSame = 1'000;              // ends that differ by less are one
constexpr milliseconds kBusyFor{10'000};
constexpr milliseconds kSpread{400};
constexpr std::int64_t kTombstone = 60 * kMinute;  // as list.lua keeps them at least
constexpr std::size_t kPage = 256;

}  // namespace

ListSync::ListSync(limiter::ListBank& bank, limiter::ListId list, std::size_t max,
                   ListOrigin origin, std::uint64_t seed)
    : bank_(bank),
      list_(list),
      max_(max),
      origin_(origin),
      random_(seed),
      backoff_(milliseconds{50}, milliseconds{800}, seed) {}

std::int64_t ListSync::to_store(TimePoint t) const noexcept {
  const std::int64_t ms = to_ms(t);
  if (ms >= kForeverMs) return kForeverMs;
  return std::clamp<std::int64_t>(ms + offset_.value_or(0), 1, kForeverMs - 1);
}

TimePoint ListSync::to_local(std::int64_t ms) const noexcept {
  if (ms >= kForeverMs) return kForever;
  return from_ms(std::clamp<std::int64_t>(ms - offset_.value_or(0), 1, kForeverMs - 1));
}

/// The offset stays as it is while it is good enough, so that a time that goes to and fro comes
/// back the same.
void ListSync::measure(std::int64_t store_now, TimePoint now) {
  const std::int64_t trip = (now - asked_).count();
  const std::int64_t offset = store_now - (to_ms(now) - trip / 2);
  if (!offset_) offset_ = offset;
  off_ = std::abs(offset - *offset_) > kDrift + trip ? off_ + 1 : 0;
  if (off_ < 3) return;
  offset_ = offset;
  off_ = 0;
}

const ListSync::Mirror* ListSync::mirror(const Hash128& key) const {
  const auto it = mirror_.find(key);
  return it != mirror_.end() ? &it->second : nullptr;
}

/// The changes of this key that the store has not confirmed.
const ListSync::Pending* ListSync::local_change(const Hash128& key) const {
  if (const auto it = pending_.find(key); it != pending_.end()) return &it->second;
  const auto it = flying_.find(key);
  return it != flying_.end() ? &it->second.pending : nullptr;
}

void ListSync::put_pending(const Hash128& key, const Pending& newer) {
  const auto [it, fresh] = pending_.try_emplace(key, newer);
  Pending& pending = it->second;
  if (!fresh) {
    queue_.erase({pending.due, key});
    if (newer.removed) {
      pending.removed = newer.removed;
      pending.listed = newer.listed;
    } else if (newer.listed) {
      pending.listed = newer.listed;
    }
    pending.due = std::min(pending.due, newer.due);
  }
  queue_.insert({pending.due, key});
}

void ListSync::drop_pending(const Hash128& key) {
  const auto it = pending_.find(key);
  if (it == pending_.end()) return;
  queue_.erase({it->second.due, key});
  pending_.erase(it);
}

/// A pending change is sent at `due` at the latest.
void ListSync::hasten(const Hash128& key, TimePoint due) {
  const auto it = pending_.find(key);
  if (it == pending_.end() || it->second.due <= due) return;
  queue_.erase({it->second.due, key});
  it->second.due = due;
  queue_.insert({due, key});
}

/// When to send an extension of an entry that others know until then.
TimePoint ListSync::due_within(std::int64_t until, TimePoint now) const noexcept {
  const std::int64_t left = until - to_store(now);
  return now + milliseconds{std::clamp<std::int64_t>(left / 4, 0, kMinute)};
}

void ListSync::set_max(std::size_t max) noexcept {
  if (max > max_ && missed_again_) missed_again_ = TimePoint{};
  max_ = max;
}

void ListSync::gather(TimePoint now) {
  bool lost = false;
  for (const limiter::LocalListChange& change : bank_.take_shared_changes(list_, &lost)) {
    if (pending_.size() >= kPendingMax && !pending_.contains(change.key)) {
      if (change.removed) ++stats_.dropped;
      lost = true;
      continue;
    }
    Pending pending{change.removed, change.listed, now};
    if (const Mirror* const known = mirror(change.key)) {
      // Everything known at the time of this change had happened before it, whatever the clocks
      // say.
      if (pending.removed) pending.removed = std::max(*pending.removed, to_local(known->listed));
      if (pending.listed) {
        pending.listed = std::max(*pending.listed, to_local(known->removed) + milliseconds{1});
        if (pending.removed)
          pending.listed = std::max(*pending.listed, *pending.removed + milliseconds{1});
      }
      if (!pending.removed) pending.due = due_within(known->until, now);
    }
    put_pending(change.key, pending);
  }
  lost_ = lost_ || lost;
}

void ListSync::hurry(TimePoint now) {
  queue_.clear();
  for (auto& [key, pending] : pending_) {
    pending.due = std::min(pending.due, now);
    queue_.insert({pending.due, key});
  }
  next_ = std::min(next_, now);  // no time to wait after a failure
}

TimePoint ListSync::due() const noexcept {
  if (calling_) return TimePoint::max();
  const bool failing = uncertain_ || queue_.empty();
  return failing ? next_ : std::min(next_, queue_.begin()->first);
}

bool ListSync::make_op(const Hash128& key, const Pending& pending, TimePoint now,
                       ListOp& op) const {
  op.key = key;
  const Mirror* const known = mirror(key);
  const auto entry = bank_.held(list_, key, now);
  if (pending.removed) op.removed = to_store(*pending.removed);
  if (known != nullptr) op.removed = std::max(op.removed, known->removed);
  if (pending.listed && entry) {
    op.listed = to_store(*pending.listed);
    ListEntry said = *entry;
    for (TimePoint* const t : {&said.since, &said.until, &said.forget_until, &said.listed}) {
      if (*t != TimePoint{}) *t = from_ms(to_store(*t));
    }
    op.until = to_ms(said.until);
    op.needed = std::max(op.until, to_ms(said.forget_until));
    op.entry = entry_bytes(said);
  }
  return op.removed != 0 || op.listed != 0;
}

unsigned ListSync::ask(std::string& words, TimePoint now) {
  if (uncertain_)
    begin_round(in_round_ ? round_from_ : std::max<std::int64_t>(0, known_ - kOverlap));
  uncertain_ = false;
  if (std::exchange(lost_, false)) epoch_.reset();  // compare everything
  calling_ = true;
  asked_ = now;
  ListQuestion question;
  question.epoch = epoch_.value_or(ListEpoch{});
  question.known = known_;
  question.origin = origin_;
  ++fresh_number_;
  std::memcpy(fresh_.data(), origin_.bytes.data(), 8);
  std::memcpy(fresh_.data() + 8, &fresh_number_, 8);
  question.fresh = fresh_;
  question.changes_most = kChangesMax;
  question.keys_most = keys_most();
  append_question(words, question);
  while (offset_ && !queue_.empty() && queue_.begin()->first <= now && flying_.size() < kOpsMax) {
    const Hash128 key = queue_.begin()->second;
    Flying flying{pending_.at(key), {}};
    drop_pending(key);
    if (make_op(key, flying.pending, now, flying.op)) flying_.emplace(key, std::move(flying));
  }
  for (const auto& [key, flying] : flying_) append_op(words, flying.op);
  return 1 + static_cast<unsigned>(flying_.size());
}

void ListSync::failed(TimePoint now) {
  calling_ = false;
  uncertain_ = true;
  ++stats_.failures;
  for (auto& [key, flying] : flying_) {
    Pending older = flying.pending;
    older.due = now;
    if (const auto it = pending_.find(key); it != pending_.end()) {
      const Pending newer = it->second;
      drop_pending(key);
      put_pending(key, older);
      put_pending(key, newer);
    } else {
      put_pending(key, older);
    }
  }
  flying_.clear();
  next_ = now + backoff_.next();
}

bool ListSync::answered(const Reply& reply, TimePoint now) {
  ListAnswer answer;
  if (!read_answer(reply, flying_.size(), answer)) {
    failed(now);
    return false;
  }
  calling_ = false;
  backoff_.reset();
  stats_.last_answer = now;
  measure(answer.now, now);
  if (!epoch_ || *epoch_ != answer.epoch) {
    // If this call has begun an epoch in an empty store, the store holds exactly what the call
    // sent.
    const bool ours = answer.epoch == fresh_ && epoch_ == ListEpoch{};
    spread_ = epoch_.has_value();
    epoch_ = answer.epoch;
    if (!ours) begin_round(0);
  }
  const bool more = answer.more && answer.known > known_;  // else it would never end
  known_ = answer.known;
  for (const ListRecord& record : answer.records) take(record, now);
  if (!answer.records.empty() || !flying_.empty()) busy_until_ = now + kBusyFor;
  std::map<Hash128, Flying> flown;
  flown.swap(flying_);
  std::size_t i = 0;
  for (const auto& [key, flying] : flown) take_result(flying, answer.results[i++], now);
  stats_.sent += flown.size();
  if (in_round_ && !more) end_round(now);
  if (refused_again_ && now >= *refused_again_) repeat_refused(now);
  if (missed_again_ && now >= *missed_again_ && !in_round_) fetch_missed(now);
  if (now >= prune_at_) prune(now);
  const milliseconds wait = now < busy_until_ ? kPollBusy : kPollIdle;
  next_ = more ? now
               : now + wait -
                     milliseconds{static_cast<std::int64_t>(
                         random_() % static_cast<std::uint64_t>(wait.count() / 8))};
  return true;
}

void ListSync::take(const ListRecord& record, TimePoint now) {
  refused_.erase(record.key);
  Mirror& known = mirror_[record.key];
  if (known.removed > record.removed && record.listed <= known.removed) {
    // The store has lost a removal that it had: its answer has an entry that is removed.
    if (local_change(record.key) == nullptr) {
      std::optional<TimePoint> listed;
      if (known.until != 0) listed = to_local(std::max(known.listed, known.removed + 1));
      repeat(record.key, known.removed, listed, now);
    }
    known.sequence = record.sequence;
    known.seen = round_;
    return;
  }
  if (take_record(record, now)) ++stats_.learned;
  known.sequence = record.sequence;
  known.removed = record.removed;
  known.listed = record.listed;
  known.until = record.until;
  known.needed = record.needed;
  known.seen = round_;
  known.made_here = record.maker == origin_;
}

/// Brings the store's record of a key into the bank. False: it changed nothing.
bool ListSync::take_record(const ListRecord& record, TimePoint now) {
  if (const auto it = pending_.find(record.key); it != pending_.end() && record.removed != 0) {
    // Changes before that removal need not be sent any more.
    Pending& pending = it->second;
    if (pending.listed && to_store(*pending.listed) <= record.removed) pending.listed.reset();
    if (pending.removed && to_store(*pending.removed) <= record.removed) pending.removed.reset();
    if (!pending.listed && !pending.removed) drop_pending(record.key);
  }
  const Pending* const change = local_change(record.key);
  const std::int64_t listed_here =
      change != nullptr && change->listed ? to_store(*change->listed) : 0;
  const std::int64_t removed_here =
      change != nullptr && change->removed ? to_store(*change->removed) : 0;
  if (record.until == 0) {
    const auto held = bank_.held(list_, record.key, now);
    if (!held) return false;
    if (std::max(listed_here, to_store(held->listed)) <= record.removed) {
      bank_.merge_removal(list_, record.key);
      return true;
    }
    if (change == nullptr) {
      repeat(record.key, 0, held->listed, now);  // listed after the removal, or lost by the store
    } else {
      hasten(record.key, now);  // an extension of an entry that only this replica has now
    }
    return false;
  }
  if (removed_here >= record.listed) return false;  // the removal goes to the store
  auto entry = entry_of(record);
  if (!entry) return false;
  for (TimePoint* const t : {&entry->since, &entry->forget_until}) {
    if (*t != TimePoint{}) *t = to_local(to_ms(*t));
  }
  entry->until = to_local(record.until);
  entry->listed = to_local(record.listed);
  std::optional<TimePoint> removed;
  if (record.removed != 0) {
    if (to_store(entry->since) <= record.removed) entry->since = entry->listed;
    if (listed_here <= record.removed) removed = to_local(record.removed);
  }
  if (!bank_.merge(list_, std::move(*entry), now, removed) && !missed_again_)
    missed_again_ = now + kRefusedAgain;
  if (local_change(record.key) != nullptr) {
    hasten(record.key, due_within(record.until, now));
    return true;
  }
  const auto held = bank_.held(list_, record.key, now);
  if (held && to_store(held->until) > record.until + kSame)
    repeat(record.key, 0, held->listed, now);  // it lasts longer here: so it does for all
  return true;
}

void ListSync::take_result(const Flying& flying, const ListResult& result, TimePoint now) {
  const ListOp& op = flying.op;
  if (result.full) {
    if (refused_.insert(op.key).second) ++stats_.refused;
    mirror_.erase(op.key);  // the store has nothing of it
    if (!refused_again_) refused_again_ = now + kRefusedAgain;
    return;
  }
  if (result.record) {
    ListRecord record = *result.record;
    record.key = op.key;
    record.sequence = known_;
    take(record, now);
    return;
  }
  refused_.erase(op.key);
  Mirror& known = mirror_[op.key];
  known.sequence = known_;
  known.removed = std::max(known.removed, op.removed);
  known.listed = std::max(known.listed, op.listed);
  known.until = op.until;
  known.needed =
      std::max({known.needed, op.needed, op.removed != 0 ? to_store(now) + kTombstone : 0});
  known.seen = round_;
  known.made_here = result.made_here;
}

void ListSync::begin_round(std::int64_t from) {
  ++round_;
  in_round_ = true;
  round_from_ = from;
  known_ = from;
}

/// Queues a change to be sent again. If all replicas find the same loss, each begins elsewhere and
/// soon gets the changes that the others have sent.
void ListSync::repeat(const Hash128& key, std::int64_t removed, std::optional<TimePoint> listed,
                      TimePoint now) {
  Pending pending;
  if (removed != 0) pending.removed = to_local(removed);
  pending.listed = listed;
  pending.due = now;
  if (spread_) {
    pending.due += milliseconds{
        static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(kSpread.count()))};
  }
  put_pending(key, pending);
}

/// A pending change, merged with the state that the store knew before and has lost.
ListSync::Pending ListSync::told_again(const Pending& pending, const Mirror* known,
                                       TimePoint now) const {
  Pending out = pending;
  out.due = now;
  if (known == nullptr || known->removed == 0) return out;
  out.removed = std::max(out.removed.value_or(TimePoint{}), to_local(known->removed));
  const auto later = [&](TimePoint t) {
    if (t > *out.removed) out.listed = std::max(out.listed.value_or(t), t);
  };
  if (out.listed && *out.listed <= *out.removed) out.listed.reset();
  if (known->until != 0) later(to_local(known->listed));
  return out;
}

void ListSync::end_round(TimePoint now) {
  in_round_ = false;
  ++stats_.rounds;
  std::optional<Hash128> after;
  for (bool more = true; more;) {
    const std::vector<ListEntry> page = bank_.page_held(list_, now, after, kPage);
    more = page.size() == kPage;
    for (const ListEntry& entry : page) {
      after = entry.key;
      const Mirror* const known = mirror(entry.key);
      const bool missing =
          known == nullptr || (known->seen != round_ && known->sequence > round_from_);
      if (const auto it = pending_.find(entry.key); it != pending_.end()) {
        // An extension was not urgent; the entry itself is, and so are earlier changes.
        if (missing) put_pending(entry.key, told_again(it->second, known, now));
      } else if (known == nullptr) {
        repeat(entry.key, 0, entry.listed, now);
      } else if (missing || (known->until != 0 && to_store(entry.until) > known->until + kSame)) {
        repeat(entry.key, known->removed, to_local(std::max(known->listed, known->removed + 1)),
               now);
      }
    }
  }
  for (auto it = mirror_.begin(); it != mirror_.end();) {
    const Mirror& known = it->second;
    const bool missing = known.seen != round_ && known.sequence > round_from_;
    if (missing && known.until == 0 && known.needed > to_store(now) &&
        local_change(it->first) == nullptr) {
      repeat(it->first, known.removed, std::nullopt, now);
    }
    it = missing ? mirror_.erase(it) : std::next(it);
  }
  spread_ = false;
}

/// Entries of which the store has nothing.
void ListSync::repeat_refused(TimePoint now) {
  refused_again_.reset();
  std::erase_if(refused_, [&](const Hash128& key) { return !bank_.held(list_, key, now); });
  std::optional<Hash128> after;
  for (bool more = true; more;) {
    const std::vector<ListEntry> page = bank_.page_held(list_, now, after, kPage);
    more = page.size() == kPage;
    for (const ListEntry& entry : page) {
      after = entry.key;
      if (mirror(entry.key) == nullptr && local_change(entry.key) == nullptr)
        repeat(entry.key, 0, entry.listed, now);
    }
  }
}

/// Asks for everything that the store has, if the bank has room for some of it.
void ListSync::fetch_missed(TimePoint now) {
  if (!bank_.has_room(list_, now)) return;
  missed_again_.reset();
  begin_round(0);
}

void ListSync::prune(TimePoint now) {
  prune_at_ = now + milliseconds{kMinute};
  const std::int64_t over = to_store(now);
  std::erase_if(mirror_, [over](const auto& known) { return known.second.needed <= over; });
  prune_tombstones();
}

/// The store lets the oldest go where it has no room, so there is no use for more of them here.
void ListSync::prune_tombstones() {
  if (mirror_.size() <= keys_most()) return;
  std::vector<std::int64_t> sequences;
  for (const auto& [key, known] : mirror_) {
    if (known.until == 0) sequences.push_back(known.sequence);
  }
  const std::size_t excess = std::min(mirror_.size() - keys_most(), sequences.size());
  if (excess == 0) return;
  const auto last = sequences.begin() + static_cast<std::ptrdiff_t>(excess - 1);
  std::nth_element(sequences.begin(), last, sequences.end());
  std::erase_if(mirror_, [newest = *last](const auto& known) {
    return known.second.until == 0 && known.second.sequence <= newest;
  });
}

ListSync::Maker ListSync::maker(const Hash128& key) const {
  const Mirror* const known = mirror(key);
  if (known == nullptr || local_change(key) != nullptr) return Maker::not_known_yet;
  return known->made_here ? Maker::here : Maker::elsewhere;
}

ListSync::Stats ListSync::stats() const {
  Stats out = stats_;
  out.entries = mirror_.size();
  out.pending = pending_.size() + flying_.size();
  return out;
}

}  // namespace weir::store
