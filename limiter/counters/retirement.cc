#include "limiter/counters/retirement.h"

#include <algorithm>

#include "limiter/counters/bank_impl.h"

namespace weir::limiter {
namespace {

/// A request with the id of a counter that was closed meanwhile may be in flight for this long.
constexpr milliseconds kGrace{600'000};
/// Buckets that one call of maintain() frees: 5 MiB of slots, about a millisecond.
constexpr std::size_t kBucketsPerSlice = 20'000;
/// Indices that a new counter frees at once if none is left. A scan for each index would take
/// minutes when a reload opens thousands of counters.
constexpr std::size_t kIndicesAtOnce = 1'024;

}  // namespace

void Bank::Retirement::give_up(Held& held) {
  held.counter.retired.store(true, std::memory_order_relaxed);
  bank_.by_identity.erase(held.counter.identity);
  std::erase(bank_.by_what[held.counter.spec.what], &held);
  if (bank_.by_what[held.counter.spec.what].empty()) bank_.by_what.erase(held.counter.spec.what);
  next_leaving_.push_back(&held);
}

void Bank::Retirement::begin_scan() {
  leaving_.swap(next_leaving_);
  scan_ = {};
  scan_.leaves.assign(kCountersMax, false);
  bool in_common = false;
  for (const Held* held : leaving_) {
    scan_.leaves[held->counter.index] = true;
    if (held->own_bytes != 0) scan_.tables.push_back(held->own.get());
    in_common = in_common || held->own_bytes == 0;
  }
  if (in_common) scan_.tables.push_back(&bank_.common);
}

/// The indices and the memory of those whose keys are gone.
void Bank::Retirement::end_scan() {
  for (Held* held : leaving_) {
    if (held->own_bytes != 0) {
      // The locks of the regions stay for stale ids; the slots, which are out of reach, are freed.
      held->own->memory() = Mapping();
      bank_.arena.give_back(held->own_bytes);
      held->own_bytes = 0;
    }
    bank_.free_indices.push_back(held->counter.index);
    held->gone = true;
    held->gone_at = bank_.maintained[Ages::kNow];
    ++gone_;
  }
  leaving_.clear();
  scan_ = {};
}

void Bank::Retirement::scan_bucket(Table& table, std::size_t region_index, std::size_t bucket) {
  Table::Region& region = table.region(region_index);
  // One lock per bucket; a thread that takes it later sees `retired`.
  const std::scoped_lock hold(region.lock);
  Slot* const slots = table.bucket(region_index, bucket);
  for (std::size_t i = 0; i < Table::kWays; ++i) {
    if (slots[i].tag != 0 && scan_.leaves[slots[i].counter])
      table.release(region, slots[i], bank_.arena);
  }
}

/// Looks at this many buckets. False: nothing is left to do.
bool Bank::Retirement::scan_slice(std::size_t buckets) {
  if (leaving_.empty()) {
    if (next_leaving_.empty()) return false;
    begin_scan();
  }
  for (; buckets > 0 && scan_.table < scan_.tables.size(); --buckets) {
    Table& table = *scan_.tables[scan_.table];
    if (scan_.bucket == 0) {
      Table::Region& region = table.region(scan_.region);
      const std::scoped_lock hold(region.lock);
      // An empty region is skipped, and its memory stays untouched.
      if (region.taken.load(std::memory_order_relaxed) == 0) scan_.bucket = table.buckets();
    }
    if (scan_.bucket < table.buckets()) scan_bucket(table, scan_.region, scan_.bucket++);
    if (scan_.bucket < table.buckets()) continue;
    scan_.bucket = 0;
    if (++scan_.region < table.regions()) continue;
    scan_.region = 0;
    ++scan_.table;
  }
  if (scan_.table < scan_.tables.size()) return true;
  end_scan();
  return !next_leaving_.empty();
}

std::vector<Bank::Held*> Bank::Retirement::closed_first_to_last() const {
  std::vector<Held*> out;
  for (const auto& [identity, held] : bank_.by_identity) {
    if (held->closed) out.push_back(held);
  }
  std::sort(out.begin(), out.end(),
            [](const Held* a, const Held* b) { return a->closing < b->closing; });
  return out;
}

bool Bank::Retirement::find_index() {
  if (!bank_.free_indices.empty() || bank_.next_index < kCountersMax) return true;
  std::vector<Held*> closed = closed_first_to_last();
  if (closed.size() > kIndicesAtOnce) closed.resize(kIndicesAtOnce);
  for (Held* held : closed) give_up(*held);
  while (scan_slice(kBucketsPerSlice)) {
  }
  return !bank_.free_indices.empty();
}

bool Bank::Retirement::find_memory(std::size_t bytes) {
  if (bank_.arena.withhold(bytes)) return true;
  for (Held* held : closed_first_to_last()) {
    if (held->own_bytes == 0) continue;
    give_up(*held);
    while (scan_slice(kBucketsPerSlice)) {
    }
    if (bank_.arena.withhold(bytes)) return true;
  }
  return false;
}

void Bank::Retirement::give_up_what_is_over(TimePoint now, TimePoint wall) {
  std::vector<Held*> over;
  for (const auto& [identity, held] : bank_.by_identity) {
    if (!held->closed) continue;
    const TimePoint t = held->counter.clock == Ages::kWall ? wall : now;
    if (held->closed_at == TimePoint{} || t < held->closed_at) held->closed_at = t;
    const auto idle = milliseconds(std::int64_t{held->counter.idle_seconds} * 1000);
    if (t - held->closed_at > std::clamp(idle, kGrace, kWindowMax)) over.push_back(held);
  }
  for (Held* held : over) give_up(*held);
}

/// A thread that found a counter by a stale id finished with it long ago.
void Bank::Retirement::free_what_is_gone(TimePoint now) {
  if (gone_ == 0) return;
  gone_ -= bank_.all.remove_if([&](Held& held) {
    if (!held.gone) return false;
    if (now < held.gone_at) held.gone_at = now;  // the clock was set back
    if (now - held.gone_at <= kGrace) return false;
    Counter* expected = &held.counter;
    bank_.by_index[held.counter.index].compare_exchange_strong(expected, nullptr);
    return true;
  });
}

void Bank::Retirement::maintain(TimePoint now, TimePoint wall) {
  give_up_what_is_over(now, wall);
  scan_slice(kBucketsPerSlice);
  free_what_is_gone(now);
}

}  // namespace weir::limiter
