#include <algorithm>

#include "limiter/lists/list_records.h"
#include "limiter/lists/lists_impl.h"

/// Shared lists: local changes for other replicas, and changes of other replicas.
namespace weir::limiter {

void ListBank::Impl::share(List& list, const Hash128& key, bool removed, TimePoint now) {
  if (!list.shared) return;
  if (list.to_share.size() >= kJournalMax && !list.to_share.contains(key)) {
    list.shared_lost = true;
  } else {
    LocalListChange& change = list.to_share[key];
    change.key = key;
    if (removed) {
      change.removed = now;
      change.listed.reset();
    } else {
      // Later than the removal, so that a replica that receives both knows which was the last.
      change.listed = change.removed ? std::max(now, *change.removed + milliseconds{1}) : now;
    }
  }
  if (ring && !rung.load(std::memory_order_relaxed) &&
      !rung.exchange(true, std::memory_order_acq_rel))
    ring();
}

void ListBank::on_shared_change(std::function<void()> ring) { impl_->ring = std::move(ring); }

void ListBank::share(ListId id, bool shared) {
  List* const list = impl_->list(id);
  if (list == nullptr) return;
  const std::scoped_lock hold(list->mutex);
  list->shared = shared;
  if (!shared) list->to_share.clear();
}

std::vector<LocalListChange> ListBank::take_shared_changes(ListId id, bool* lost) {
  std::vector<LocalListChange> out;
  // Before the list is read: a change from here on rings again.
  impl_->rung.store(false, std::memory_order_release);
  List* const list = impl_->list(id);
  if (list == nullptr) return out;
  std::map<Hash128, LocalListChange> changes;
  {
    const std::scoped_lock hold(list->mutex);
    changes.swap(list->to_share);
    *lost = std::exchange(list->shared_lost, false);
  }
  out.reserve(changes.size());
  for (const auto& [key, change] : changes) out.push_back(change);
  return out;
}

std::optional<ListEntry> ListBank::held(ListId id, const Hash128& key, TimePoint now) const {
  const List* const list = impl_->list(id);
  if (list == nullptr) return std::nullopt;
  const std::scoped_lock hold(list->mutex);
  const auto it = list->entries.find(key);
  if (it == list->entries.end() || List::end_of(it->second) <= now) return std::nullopt;
  return it->second;
}

std::vector<ListEntry> ListBank::page_held(ListId id, TimePoint now, std::optional<Hash128> after,
                                           std::size_t limit) const {
  std::vector<ListEntry> out;
  const List* const list = impl_->list(id);
  if (list == nullptr) return out;
  const std::scoped_lock hold(list->mutex);
  auto it = after ? list->entries.upper_bound(*after) : list->entries.begin();
  for (; it != list->entries.end() && out.size() < limit; ++it) {
    if (List::end_of(it->second) > now) out.push_back(it->second);
  }
  return out;
}

bool ListBank::merge(ListId id, ListEntry entry, TimePoint now, std::optional<TimePoint> removed) {
  List* const list = impl_->list(id);
  if (list == nullptr || List::end_of(entry) <= now) return true;
  const std::scoped_lock hold(list->mutex);
  const auto it = list->entries.find(entry.key);
  if (it != list->entries.end() && !(removed && it->second.listed <= *removed)) {
    const ListEntry& former = it->second;
    const std::uint64_t times = std::max(former.times, entry.times);
    const TimePoint forget_until = std::max(former.forget_until, entry.forget_until);
    if (former.until >= entry.until) {  // the local entry lasts longer
      if (former.times == times && former.forget_until == forget_until &&
          former.listed >= entry.listed)
        return true;
      const TimePoint listed = std::max(former.listed, entry.listed);
      entry = former;
      entry.listed = listed;
    } else if (former.until > now) {
      entry.since = std::min(former.since, entry.since);
      entry.level = std::max(former.level, entry.level);
      entry.listed = std::max(former.listed, entry.listed);
    }
    entry.times = times;
    entry.forget_until = forget_until;
  } else if (it == list->entries.end() && !list->make_room(now)) {
    list->refused.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  const Hash128 key = entry.key;
  if (!list->put(std::move(entry), now)) {
    list->refused.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  impl_->changed(*list, key);
  return true;
}

bool ListBank::has_room(ListId id, TimePoint now) {
  List* const list = impl_->list(id);
  if (list == nullptr) return false;
  const std::scoped_lock hold(list->mutex);
  return list->make_room(now);
}

void ListBank::merge_removal(ListId id, const Hash128& key) {
  List* const list = impl_->list(id);
  if (list == nullptr) return;
  const std::scoped_lock hold(list->mutex);
  const auto it = list->entries.find(key);
  if (it == list->entries.end()) return;
  list->take_out(it);
  impl_->changed(*list, key);
}

}  // namespace weir::limiter
