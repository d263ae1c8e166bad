#include "limiter/lists/lists.h"

#include <algorithm>

#include "limiter/lists/list_records.h"
#include "limiter/lists/lists_impl.h"

namespace weir::limiter {
namespace {

constexpr std::size_t kEntriesMax = 10'000'000;
constexpr std::uint16_t kLevelMax = 0xffff;
constexpr std::uint8_t kListFrame = 'L';

/// t + d, at most kForever.
TimePoint later(TimePoint t, milliseconds d) noexcept {
  const milliseconds most = kForever - t;
  return t + std::clamp(d, milliseconds{0}, std::max(milliseconds{0}, most));
}

milliseconds forget_after(const Listing& l) noexcept {
  return l.forget.count() == 0 && l.durations.size() > 1 ? l.durations.back() : l.forget;
}

std::optional<ListChange> decode(std::string_view payload) {
  Reader in(payload);
  ListChange change;
  ListEntry& e = change.entry;
  change.list = in.text();
  change.removed = in.get<std::uint8_t>() != 0;
  e.key.lo = in.get<std::uint64_t>();
  e.key.hi = in.get<std::uint64_t>();
  if (!change.removed && !get_entry(in, e)) return std::nullopt;
  if (!in.ok() || !in.at_end() || change.list.empty()) return std::nullopt;
  return change;
}

}  // namespace

/// Makes room for a new entry: removes forgotten entries, a few at a time; in a full list also
/// entries that have ended and are remembered only for their level. False: all entries are in
/// force.
bool List::make_room(TimePoint now) {
  for (int n = 0; n < 4 && !terms.empty(); ++n) {
    const auto first = entries.find(terms.begin()->second);
    const bool full = entries.size() >= max;
    if (first->second.until > now || (!full && end_of(first->second) > now)) break;
    take_out(first);
  }
  return entries.size() < max;
}

/// Writes an entry over the former one of its key, if any.
bool List::put(ListEntry entry, TimePoint now) {
  const Hash128 key = entry.key;
  HotList* table = hot.load(std::memory_order_relaxed);
  if (entry.until > now && !table->set(key, entry.until, entry.level, now)) return false;
  const auto [it, fresh] = entries.try_emplace(key);
  if (!fresh) terms.erase({it->second.until, key});
  it->second = std::move(entry);
  terms.insert({it->second.until, key});
  count.store(entries.size(), std::memory_order_release);
  return true;
}

/// An entry that held before a restart: max binds new ones only. False: no list can hold it.
bool List::put_back(ListEntry entry, TimePoint now) {
  if (!entries.contains(entry.key)) {
    if (entries.size() >= kEntriesMax) make_room(now);
    if (entries.size() >= kEntriesMax) return false;
    if (entries.size() >= room) widen(std::min(2 * room, kEntriesMax));
  }
  return put(std::move(entry), now);
}

void List::widen(std::size_t wanted) {
  if (wanted <= room) return;
  auto larger = std::make_unique<HotList>(wanted);
  for (const auto& [key, e] : entries) larger->set(key, e.until, e.level, TimePoint{});
  outgrown.emplace_back(hot.exchange(larger.release(), std::memory_order_acq_rel));
  room = wanted;
}

ListBank::ListBank() : impl_(std::make_unique<Impl>()) {}
ListBank::~ListBank() = default;

Result<ListId> ListBank::open(std::string_view name, std::size_t max) {
  max = std::clamp<std::size_t>(max, 1, kEntriesMax);
  const std::scoped_lock hold(impl_->mutex);
  if (const auto it = impl_->by_name.find(name); it != impl_->by_name.end()) {
    List& list = *impl_->list(it->second);
    const std::scoped_lock hold_list(list.mutex);
    list.widen(max);
    list.max = max;
    list.closed = false;
    return it->second;
  }
  if (!impl_->find_index()) return Error::full;
  const std::uint16_t index = impl_->free_indices.back();
  impl_->free_indices.pop_back();
  std::uint16_t& generation = impl_->generations[index];
  if (++generation == 0) generation = 1;
  const ListId id{index, generation};
  List& list = impl_->all.emplace_back(name, max, id);
  impl_->by_index[id.index].store(&list, std::memory_order_release);
  impl_->by_name.emplace(name, id);
  return id;
}

std::optional<ListId> ListBank::by_name(std::string_view name) const {
  const std::scoped_lock hold(impl_->mutex);
  const auto it = impl_->by_name.find(name);
  return it != impl_->by_name.end() ? std::optional(it->second) : std::nullopt;
}

Listed ListBank::find(ListId id, const Hash128& key, TimePoint now) const noexcept {
  const List* list = impl_->list(id);
  if (list == nullptr || list->count.load(std::memory_order_acquire) == 0) return {};
  return list->hot.load(std::memory_order_acquire)->find(key, now);
}

void ListBank::prefetch(ListId id, const Hash128& key) const noexcept {
  const List* list = impl_->list(id);
  if (list == nullptr || list->count.load(std::memory_order_relaxed) == 0) return;
  list->hot.load(std::memory_order_acquire)->prefetch(key);
}

ListOutcome ListBank::add(ListId id, const Listing& l, TimePoint now) {
  List* list = impl_->list(id);
  if (list == nullptr) return {};
  const std::scoped_lock hold(list->mutex);
  const auto it = list->entries.find(l.key);
  const bool known = it != list->entries.end() && List::end_of(it->second) > now;
  const bool in_force = known && it->second.until > now;

  ListEntry e;
  if (known) e = it->second;
  // The level rises past the last duration of this rung: another rung of the same list may have
  // more durations.
  if (known && !in_force && !l.durations.empty() && e.level < kLevelMax) ++e.level;
  std::uint16_t level = e.level;
  if (!l.durations.empty()) {
    level = static_cast<std::uint16_t>(std::min<std::size_t>(level, l.durations.size() - 1));
  }
  TimePoint until = kForever;
  if (l.until) {
    until = clamp_list_time(*l.until);
  } else if (!l.durations.empty()) {
    until = later(now, l.durations[level]);
  }
  ListOutcome out{ListOutcome::Kind::created, until, level, e.times + 1};
  if (in_force) {
    out.kind = until > e.until ? ListOutcome::Kind::extended : ListOutcome::Kind::kept;
    out.until = until = std::max(until, e.until);
  } else if (until <= now || (it == list->entries.end() && !list->make_room(now))) {
    list->refused.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  e.key = l.key;
  e.until = until;
  e.forget_until = std::max(e.forget_until, later(until, forget_after(l)));
  e.times = out.times;
  if (!in_force) {
    e.since = now;
    e.parts.clear();
    for (const std::string_view part : l.parts.first(std::min(l.parts.size(), kListPartsMax))) {
      e.parts.push_back(printable(part));
    }
  }
  e.listed = now;  // also if it is kept: a removal before now, heard later, does not end it
  if (out.kind != ListOutcome::Kind::kept) {  // why it holds until then
    e.policy = printable(l.policy);
    e.why = printable(l.why);
    e.by = printable(l.by);
    e.value = l.value;
    e.limit = l.limit;
  }
  if (!list->put(std::move(e), now)) {
    list->refused.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  impl_->changed(*list, l.key);
  if (out.kind != ListOutcome::Kind::kept) impl_->share(*list, l.key, false, now);
  return out;
}

bool ListBank::remove(ListId id, const Hash128& key, TimePoint now) {
  List* list = impl_->list(id);
  if (list == nullptr) return false;
  const std::scoped_lock hold(list->mutex);
  const auto it = list->entries.find(key);
  if (it == list->entries.end()) return false;
  const bool in_force = it->second.until > now;
  list->take_out(it);
  impl_->changed(*list, key);
  impl_->share(*list, key, true, now);
  return in_force;
}

bool ListBank::restore(ListId id, ListEntry entry, TimePoint now) {
  List* list = impl_->list(id);
  if (list == nullptr || entry.until <= now) return false;
  const std::scoped_lock hold(list->mutex);
  const auto it = list->entries.find(entry.key);
  const bool known = it != list->entries.end();
  if (known && it->second.until >= entry.until) return false;
  if (!known && !list->make_room(now)) return false;
  entry.listed = now;  // later than the removal, also to other replicas
  const Hash128 key = entry.key;
  if (!list->put(std::move(entry), now)) return false;
  impl_->changed(*list, key);
  impl_->share(*list, key, false, now);
  return true;
}

std::optional<ListEntry> ListBank::get(ListId id, const Hash128& key, TimePoint now) const {
  const List* list = impl_->list(id);
  if (list == nullptr) return std::nullopt;
  const std::scoped_lock hold(list->mutex);
  const auto it = list->entries.find(key);
  if (it == list->entries.end() || it->second.until <= now) return std::nullopt;
  return it->second;
}

std::vector<ListEntry> ListBank::page(ListId id, TimePoint now, std::optional<Hash128> after,
                                      std::size_t limit) const {
  std::vector<ListEntry> out;
  const List* list = impl_->list(id);
  if (list == nullptr) return out;
  const std::scoped_lock hold(list->mutex);
  auto it = after ? list->entries.upper_bound(*after) : list->entries.begin();
  for (; it != list->entries.end() && out.size() < limit; ++it) {
    if (it->second.until > now) out.push_back(it->second);
  }
  return out;
}

std::size_t ListBank::size(ListId id) const noexcept {
  const List* list = impl_->list(id);
  return list != nullptr ? list->count.load(std::memory_order_relaxed) : 0;
}

std::uint64_t ListBank::refused(ListId id) const noexcept {
  const List* list = impl_->list(id);
  return list != nullptr ? list->refused.load(std::memory_order_relaxed) : 0;
}

void ListBank::enable_journal() { impl_->journal.store(true, std::memory_order_relaxed); }

std::vector<ListChange> ListBank::take_changes(bool* lost) {
  std::vector<ListChange> out;
  const std::scoped_lock hold(impl_->mutex);
  if (lost != nullptr) *lost = impl_->lost.exchange(false, std::memory_order_relaxed);
  for (List& list : impl_->all) {
    std::set<Hash128> keys;
    const std::scoped_lock hold_list(list.mutex);
    keys.swap(list.changed);
    for (const Hash128& key : keys) {
      ListChange& change = out.emplace_back();
      change.list = list.name;
      const auto it = list.entries.find(key);
      change.removed = it == list.entries.end();
      change.entry.key = key;
      if (!change.removed) change.entry = it->second;
    }
  }
  return out;
}

void ListBank::encode(const ListChange& change, std::string& out) {
  const ListEntry& e = change.entry;
  std::string payload;
  put_text(payload, change.list);
  put(payload, static_cast<std::uint8_t>(change.removed));
  put(payload, e.key.lo);
  put(payload, e.key.hi);
  if (!change.removed) put_entry(payload, e);
  append_frame(out, kListFrame, payload);
}

void ListBank::export_all(TimePoint now, std::string& out) const {
  const std::scoped_lock hold(impl_->mutex);
  ListChange change;
  for (const List& list : impl_->all) {
    change.list = list.name;
    std::optional<Hash128> after;
    // In pieces, so that a request that adds an entry never waits long.
    for (bool more = true; more;) {
      const std::scoped_lock hold_list(list.mutex);
      auto it = after ? list.entries.upper_bound(*after) : list.entries.begin();
      for (int n = 0; n < 64 && it != list.entries.end(); ++n, ++it) {
        after = it->first;
        if (List::end_of(it->second) <= now) continue;
        change.entry = it->second;
        encode(change, out);
      }
      more = it != list.entries.end();
    }
  }
}

Result<ListBank::Imported> ListBank::import(std::string_view records, TimePoint now) {
  Imported out;
  std::size_t skipped = 0;
  while (!records.empty()) {
    const std::optional<Frame> frame = take_frame(records);
    std::optional<ListChange> change;
    if (frame && frame->kind == kListFrame) change = decode(frame->payload);
    if (!change) {
      if (!frame) skipped += skip_to_frame(records);
      continue;
    }
    ++out.records;
    out.spoilt += std::exchange(skipped, 0);
    const bool over = change->removed || List::end_of(change->entry) <= now;
    std::optional<ListId> id = by_name(change->list);
    if (!id) {
      const Result<ListId> opened = open(change->list);
      if (!opened) {
        out.refused += over ? 0 : 1;
        continue;
      }
      id = *opened;
    }
    List& list = *impl_->list(*id);
    const std::scoped_lock hold(list.mutex);
    const auto it = list.entries.find(change->entry.key);
    if (over) {
      if (it != list.entries.end()) list.take_out(it);
    } else if (!list.put_back(std::move(change->entry), now)) {
      list.refused.fetch_add(1, std::memory_order_relaxed);
      ++out.refused;
    }
  }
  if (out.records == 0) return Error::malformed;
  return out;
}

}  // namespace weir::limiter
