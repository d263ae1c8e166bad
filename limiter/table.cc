#include "limiter/table.h"

#include <algorithm>
#include <bit>

namespace weir::limiter {

namespace {

/// One writer at a time: no locked instruction needed.
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

void Ages::advance(std::uint16_t counter, std::uint8_t clock, std::uint32_t second) noexcept {
  // Written once a second; threads some ms apart must not push it to and fro around the edge.
  auto& latest = clock == kOwnTime ? counters[counter].latest : now[clock];
  const std::uint32_t former = latest.load(std::memory_order_relaxed);
  if (second == former) return;
  const auto ahead = static_cast<std::int32_t>(second - former);
  if (ahead > 0 || ahead < -60) latest.store(second, std::memory_order_relaxed);
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

std::uint64_t Table::tag_of(const Hash128& key) noexcept {
  const std::uint64_t tag = key.lo ^ std::rotl(key.hi, 32);
  return tag != 0 ? tag : 1;
}

Table::Place Table::place(std::uint64_t tag, std::uint64_t salt) const noexcept {
  // Keys are keyed hashes already; the salt keeps a user's keys of several counters apart.
  std::uint64_t h = (tag ^ salt) * 0x9E37'79B9'7F4A'7C15U;
  h = (h ^ (h >> 32)) * 0xD6E8'FEB8'6659'FD93U;
  h ^= h >> 32;
  const std::size_t region = static_cast<std::size_t>(((h >> 32) * region_count_) >> 32);
  const std::size_t one = h & (buckets_ - 1);
  std::size_t two = (h >> 8) & (buckets_ - 1);
  if (two == one) two = (one + 1) & (buckets_ - 1);
  return {&regions_[region],
          bucket(region, one),
          bucket(region, two),
          static_cast<std::uint8_t>((h >> 14) & 4),
          static_cast<std::uint8_t>((h >> 15) & 4),
          tag};
}

void Table::prefetch(const Place& p) const noexcept {
  __builtin_prefetch(p.region, 1);
  const Slot* one = p.first + p.half_one;
  const Slot* two = p.second + p.half_two;
  __builtin_prefetch(one, 1);
  __builtin_prefetch(one + 2, 1);
  __builtin_prefetch(two, 1);
  __builtin_prefetch(two + 2, 1);
}

namespace {

constexpr std::size_t kHalf = Table::kWays / 2;

Slot* find_in(Slot* half, std::uint64_t tag, std::uint16_t counter) noexcept {
  for (std::size_t i = 0; i < kHalf; ++i) {
    if (half[i].tag == tag && half[i].counter == counter) return half + i;
  }
  return nullptr;
}

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

/// Orders what may be evicted: closed counters first, then the idlest.
bool goes_before(const Slot& a, const Slot& b, const Ages& ages) noexcept {
  if (ages.closed(a) != ages.closed(b)) return ages.closed(a);
  return ages.idle_for(a) > ages.idle_for(b);
}

bool may_go(const Slot& slot, const Ages& ages) noexcept {
  return slot.held == 0 && (slot.pinned == 0 || ages.closed(slot));
}

}  // namespace

Slot* Table::find(const Place& p, std::uint16_t counter) const noexcept {
  if (Slot* s = find_in(p.first + p.half_one, p.tag, counter)) return s;
  if (Slot* s = find_in(p.second + p.half_two, p.tag, counter)) return s;
  if (Slot* s = find_in(p.first + (p.half_one ^ kHalf), p.tag, counter)) return s;
  return find_in(p.second + (p.half_two ^ kHalf), p.tag, counter);
}

Table::Claim Table::claim(const Place& p, std::uint16_t counter, const Ages& ages,
                          Arena& arena) noexcept {
  // The emptier bucket first: that is what two choices buy.
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
    for (Slot* half : {home[0], home[1], away[0], away[1]}) {
      for (std::size_t i = 0; i < kHalf; ++i) {
        Slot& s = half[i];
        if (may_go(s, ages) && (claim.slot == nullptr || goes_before(s, *claim.slot, ages))) {
          claim.slot = &s;
        }
      }
    }
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
