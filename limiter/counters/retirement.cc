#include <algorithm>

#include "limiter/counters/bank_impl.h"

/// How closed counters are given up: one scan takes the keys of all of them out of the tables.
namespace weir::limiter {
namespace {

/// A request with the id of a counter that was closed meanwhile may be in flight for this long.
constexpr milliseconds kGrace{600'000};
/// Of a call of maintain(): 5 MiB of slots, about a millisecond.
constexpr std::size_t kBucketsPerSlice = 20'000;
/// How many indices a new counter frees at once where none is left: a scan for each would take
/// minutes where a reload opens thousands.
constexpr std::size_t kIndicesAtOnce = 1'024;

}  // namespace

/// From now on nothing reads it or writes there, and its identity is a new counter's. Its keys
/// and its table go with the next scan.
void Bank::Impl::give_up(Held& held) {
  held.counter.retired.store(true, std::memory_order_relaxed);
  by_identity.erase(held.counter.identity);
  std::erase(by_what[held.counter.spec.what], &held);
  if (by_what[held.counter.spec.what].empty()) by_what.erase(held.counter.spec.what);
  next_leaving.push_back(&held);
}

void Bank::Impl::begin_scan() {
  leaving.swap(next_leaving);
  scan = {};
  scan.leaves.assign(kCountersMax, false);
  bool in_common = false;
  for (const Held* held : leaving) {
    scan.leaves[held->counter.index] = true;
    if (held->own_bytes != 0) scan.tables.push_back(held->own.get());
    in_common = in_common || held->own_bytes == 0;
  }
  if (in_common) scan.tables.push_back(&common);
}

/// The indices and the memory of those whose keys are gone.
void Bank::Impl::end_scan() {
  for (Held* held : leaving) {
    if (held->own_bytes != 0) {
      // The locks of the regions stay for stale ids; the slots, which are out of reach, are freed.
      held->own->memory() = Mapping();
      arena.give_back(held->own_bytes);
      held->own_bytes = 0;
    }
    free_indices.push_back(held->counter.index);
    held->gone = true;
    held->gone_at = maintained[Ages::kNow];
    ++gone;
  }
  leaving.clear();
  scan = {};
}

void Bank::Impl::scan_bucket(Table& table, std::size_t region_index, std::size_t bucket) {
  Table::Region& region = table.region(region_index);
  // One lock per bucket; a thread that takes it later sees `retired`.
  const std::scoped_lock hold(region.lock);
  Slot* const slots = table.bucket(region_index, bucket);
  for (std::size_t i = 0; i < Table::kWays; ++i) {
    if (slots[i].tag != 0 && scan.leaves[slots[i].counter]) table.release(region, slots[i], arena);
  }
}

/// Looks at this many buckets. False: nothing is left to do.
bool Bank::Impl::scan_slice(std::size_t buckets) {
  if (leaving.empty()) {
    if (next_leaving.empty()) return false;
    begin_scan();
  }
  for (; buckets > 0 && scan.table < scan.tables.size(); --buckets) {
    Table& table = *scan.tables[scan.table];
    if (scan.bucket == 0) {
      Table::Region& region = table.region(scan.region);
      const std::scoped_lock hold(region.lock);
      // An empty region is passed over, and its memory stays untouched.
      if (region.taken.load(std::memory_order_relaxed) == 0) scan.bucket = table.buckets();
    }
    if (scan.bucket < table.buckets()) scan_bucket(table, scan.region, scan.bucket++);
    if (scan.bucket < table.buckets()) continue;
    scan.bucket = 0;
    if (++scan.region < table.regions()) continue;
    scan.region = 0;
    ++scan.table;
  }
  if (scan.table < scan.tables.size()) return true;
  end_scan();
  return !next_leaving.empty();
}

std::vector<Bank::Impl::Held*> Bank::Impl::closed_first_to_last() const {
  std::vector<Held*> out;
  for (const auto& [identity, held] : by_identity) {
    if (held->closed) out.push_back(held);
  }
  std::sort(out.begin(), out.end(),
            [](const Held* a, const Held* b) { return a->closing < b->closing; });
  return out;
}

/// Whether there is an index for one more counter, be it that of a closed one.
bool Bank::Impl::find_index() {
  if (!free_indices.empty() || next_index < kCountersMax) return true;
  std::vector<Held*> closed = closed_first_to_last();
  if (closed.size() > kIndicesAtOnce) closed.resize(kIndicesAtOnce);
  for (Held* held : closed) give_up(*held);
  while (scan_slice(kBucketsPerSlice)) {
  }
  return !free_indices.empty();
}

/// Withholds the bytes of a table of its own, be they those of closed counters' tables.
bool Bank::Impl::find_memory(std::size_t bytes) {
  if (arena.withhold(bytes)) return true;
  for (Held* held : closed_first_to_last()) {
    if (held->own_bytes == 0) continue;
    give_up(*held);
    while (scan_slice(kBucketsPerSlice)) {
    }
    if (arena.withhold(bytes)) return true;
  }
  return false;
}

void Bank::Impl::give_up_what_is_over(TimePoint now, TimePoint wall) {
  std::vector<Held*> over;
  for (const auto& [identity, held] : by_identity) {
    if (!held->closed) continue;
    const TimePoint t = held->counter.clock == Ages::kWall ? wall : now;
    if (held->closed_at == TimePoint{} || t < held->closed_at) held->closed_at = t;
    const auto idle = milliseconds(std::int64_t{held->counter.idle_seconds} * 1000);
    if (t - held->closed_at > std::clamp(idle, kGrace, kWindowMax)) over.push_back(held);
  }
  for (Held* held : over) give_up(*held);
}

/// A thread that found a counter by a stale id finished with it long ago.
void Bank::Impl::free_what_is_gone(TimePoint now) {
  if (gone == 0) return;
  gone -= all.remove_if([&](Held& held) {
    if (!held.gone) return false;
    if (now < held.gone_at) held.gone_at = now;  // the clock was set back
    if (now - held.gone_at <= kGrace) return false;
    Counter* expected = &held.counter;
    by_index[held.counter.index].compare_exchange_strong(expected, nullptr);
    return true;
  });
}

void Bank::maintain(TimePoint now, TimePoint wall) {
  const std::scoped_lock hold(impl_->control);
  impl_->maintained = {now, wall};
  impl_->give_up_what_is_over(now, wall);
  impl_->scan_slice(kBucketsPerSlice);
  impl_->free_what_is_gone(now);
  if (impl_->huge) return;
  std::uint64_t taken = 0;
  for (std::size_t r = 0; r < impl_->common.regions(); ++r) taken += impl_->common.region(r).taken;
  if (taken > impl_->common.capacity() / 4) impl_->advise_huge();
}

}  // namespace weir::limiter
