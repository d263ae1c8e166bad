#include "limiter/kinds/table.h"

#include <algorithm>
#include <array>
#include <bit>

namespace weir::limiter {

namespace {

/// There is one writer at a time, so no locked instruction is needed.
template <class T>
void add(std::atomic<T>& cell, T n) noexcept {
  cell.store(cell.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

}  // namespace

std::int32_t Ages::idle_for(const Slot& slot) const noexcept {
  const Idleness& idle = counters[slot.counter];
  const std::uint8_t clock = idle.clock.load(std::memory_order_relaxed);
  const auto& latest = clock == kOwnTime ? idle.latest : now[clock];
  return static_cast<std::int32_t>(latest.load(std::memory_order_relaxed) - slot.touched);
}

bool Ages::expired(const Slot& slot) const noexcept {
  const std::int32_t since = idle_for(slot);
  return since > 0 && static_cast<std::uint32_t>(since) >
                          counters[slot.counter].seconds.load(std::memory_order_relaxed);
}

std::size_t Table::slots_for(std::size_t keys) noexcept {
  const std::size_t wanted = std::max<std::size_t>(keys, 1) * 5 / 4;
  constexpr std::size_t kRegion = kBucketsMax * kWays;
  if (wanted > kRegion / 2) return (wanted + kRegion - 1) / kRegion * kRegion;
  return std::max<std::size_t>(2, std::bit_ceil((wanted + kWays - 1) / kWays)) * kWays;
}

Table::Table(std::size_t keys)
    : buckets_(std::min(slots_for(keys) / kWays, kBucketsMax)),
      region_count_(slots_for(keys) / kWays / buckets_),
      memory_(slots_for(keys) * sizeof(Slot)),
      slots_(reinterpret_cast<Slot*>(memory_.data())),
      regions_(new Region[region_count_]) {}

namespace {

constexpr std::size_t kHalf = Table::kHalf;

bool available(const Slot& slot, const Ages& ages) noexcept {
  return slot.tag == 0 || (slot.held == 0 && ages.expired(slot));
}

Slot* available_in(Slot* half, const Ages& ages) noexcept {
  for (std::size_t i = 0; i < kHalf; ++i) {
    if (available(half[i], ages)) return half + i;
  }
  return nullptr;
}

unsigned free_in(const Slot* bucket) noexcept {
  unsigned n = 0;
  for (std::size_t i = 0; i < Table::kWays; ++i) n += bucket[i].tag == 0;
  return n;
}

/// Orders the candidates for eviction: closed counters first, then the idlest.
bool goes_before(const Slot& a, const Slot& b, const Ages& ages) noexcept {
  if (ages.closed(a) != ages.closed(b)) return ages.closed(a);
  return ages.idle_for(a) > ages.idle_for(b);
}

bool may_go(const Slot& slot, const Ages& ages) noexcept {
  return slot.held == 0 && (slot.pinned == 0 || ages.closed(slot));
}

}  // namespace

Slot* Table::find_away(const Place& p, std::uint16_t counter) const noexcept {
  if (Slot* s = find_in(p.first + (p.half_one ^ kHalf), p.tag, counter)) return s;
  return find_in(p.second + (p.half_two ^ kHalf), p.tag, counter);
}

// Runs for every new key once the table is full: in a flood.
Slot* Table::victim(const Place& p, std::uint16_t counter, const Ages& ages) const noexcept {
  constexpr std::size_t kAll = 2 * kWays;
  std::array<Slot*, kAll> slots;
  std::array<std::uint16_t, kAll> owners;  // kNoCounter: has no part in the room for new keys
  bool mixed = false;
  for (std::size_t i = 0; i < kAll; ++i) {
    slots[i] = i < kWays ? p.first + i : p.second + (i - kWays);
    owners[i] = may_go(*slots[i], ages) ? slots[i]->counter : kNoCounter;
    mixed = mixed || (owners[i] != counter && owners[i] != kNoCounter);
  }
  Slot* best = nullptr;
  std::size_t most = 0;
  for (std::size_t i = 0; i < kAll; ++i) {
    if (owners[i] == kNoCounter) continue;
    std::size_t share = 0;
    if (mixed && !ages.closed(*slots[i])) {
      share = owners[i] == counter;  // with the new key
      for (const std::uint16_t owner : owners) share += owner == owners[i];
    } else if (mixed) {
      share = kAll + 1;  // closed
    }
    if (best != nullptr && share < most) continue;
    if (best == nullptr || share > most || goes_before(*slots[i], *best, ages)) best = slots[i];
    most = share;
  }
  return best;
}

void Table::pin(Slot& slot, const Ages& ages) noexcept {
  if (slot.pinned != 0) return;
  slot.pinned = 1;
  Slot* const slots = slots_ + static_cast<std::size_t>(&slot - slots_) / kWays * kWays;
  std::size_t pinned = 0;
  for (std::size_t i = 0; i < kWays; ++i) {
    Slot& s = slots[i];
    if (s.pinned != 0 && (ages.closed(s) || ages.expired(s))) s.pinned = 0;
    pinned += s.pinned;
  }
  if (pinned <= kPinnedMax) return;
  Slot* loser = nullptr;
  std::size_t most = 0;
  for (std::size_t i = 0; i < kWays; ++i) {
    Slot& s = slots[i];
    if (s.pinned == 0 || &s == &slot) continue;
    std::size_t of_counter = 0;
    for (std::size_t j = 0; j < kWays; ++j) {
      of_counter += slots[j].pinned != 0 && slots[j].counter == s.counter;
    }
    const bool first = loser == nullptr || of_counter > most ||
                       (of_counter == most && ages.idle_for(s) > ages.idle_for(*loser));
    if (!first) continue;
    loser = &s;
    most = of_counter;
  }
  loser->pinned = 0;
}

void Table::pin_if_free(Slot& slot) noexcept {
  const Slot* const slots = slots_ + static_cast<std::size_t>(&slot - slots_) / kWays * kWays;
  const auto pinned =
      std::count_if(slots, slots + kWays, [](const Slot& s) { return s.pinned != 0; });
  if (pinned < static_cast<std::ptrdiff_t>(kPinnedMax)) slot.pinned = 1;
}

bool Table::has_room(const Place& p, const Ages& ages) noexcept {
  const auto gives_way = [&](const Slot& slot) {
    return available(slot, ages) || (slot.held == 0 && ages.closed(slot));
  };
  return std::any_of(p.first, p.first + kWays, gives_way) ||
         std::any_of(p.second, p.second + kWays, gives_way);
}

Table::Claim Table::claim(const Place& p, std::uint16_t counter, const Ages& ages,
                          Arena& arena) noexcept {
  // The emptier bucket first: that is the gain of two choices.
  Slot* home[2] = {p.first + p.half_one, p.second + p.half_two};
  Slot* away[2] = {p.first + (p.half_one ^ kHalf), p.second + (p.half_two ^ kHalf)};
  if (free_in(p.second) > free_in(p.first)) {
    std::swap(home[0], home[1]);
    std::swap(away[0], away[1]);
  }
  Claim claim;
  for (Slot* half : {home[0], home[1], away[0], away[1]}) {
    claim.slot = available_in(half, ages);
    if (claim.slot != nullptr) break;
  }
  if (claim.slot == nullptr) {
    claim.slot = victim(p, counter, ages);
    if (claim.slot == nullptr) {
      add(p.region->full, std::uint64_t{1});
      return claim;
    }
    claim.displaced = !ages.closed(*claim.slot);
    if (claim.displaced) add(p.region->evicted, std::uint64_t{1});
  }
  if (claim.slot->tag != 0) release(*p.region, *claim.slot, arena);
  add(p.region->taken, 1U);
  claim.slot->tag = p.tag;
  claim.slot->counter = counter;
  return claim;
}

void Table::release(Region& region, Slot& slot, Arena& arena) noexcept {
  if (slot.form == static_cast<unsigned>(Slot::Form::block)) arena.free(slot.word[2], slot.order);
  slot = Slot{};
  add(region.taken, ~0U);
}

bool Table::make_room(Region& region, unsigned order, const Slot* except, const Ages& ages,
                      Arena& arena) noexcept {
  constexpr std::size_t kLooks = 32;  // buckets: 8 KiB, a few microseconds when cold
  const auto index = static_cast<std::size_t>(&region - regions_.get());
  Slot* victim = nullptr;
  for (std::size_t n = 0; n < std::min(kLooks, buckets_); ++n) {
    Slot* b = bucket(index, region.hand++ & (buckets_ - 1));
    for (std::size_t i = 0; i < kWays; ++i) {
      Slot& s = b[i];
      if (s.tag == 0 || &s == except || s.form != static_cast<unsigned>(Slot::Form::block) ||
          s.order < order || s.held != 0) {
        continue;
      }
      if (ages.expired(s)) {
        release(region, s, arena);
        return true;
      }
      if (may_go(s, ages) && (victim == nullptr || goes_before(s, *victim, ages))) victim = &s;
    }
  }
  if (victim == nullptr) return false;
  if (!ages.closed(*victim)) add(region.evicted, std::uint64_t{1});
  release(region, *victim, arena);
  return true;
}

}  // namespace weir::limiter
