#include <array>

#include "limiter/counters/bank_impl.h"

/// The readings of all keys of one counter, for histograms.
namespace weir::limiter {

Bank::Readings::Readings(const Bank& bank, CounterId counter, Moment now)
    : bank_(bank), counter_(counter), now_(now) {}

bool Bank::Readings::next(std::vector<Number>& out) {
  const Impl& bank = *bank_.impl_;
  const std::scoped_lock control(bank.control);  // keeps the table alive
  Counter* const c = bank.counter(counter_);
  if (c == nullptr || c->grid || c->retired.load(std::memory_order_relaxed)) return false;
  Table& table = *c->table;
  const Instant now = bank.instant(*c, now_, false);
  for (int left = kBuckets; left > 0 && region_ < table.regions(); --left) {
    Table::Region& region = table.region(region_);
    const bool empty = region.taken.load(std::memory_order_relaxed) == 0;
    if (!empty) {
      const std::scoped_lock hold(region.lock);
      Slot* const slots = table.bucket(region_, bucket_);
      // Chosen first, without a branch: which slots of a bucket are the counter's, no processor can
      // foresee, and of millions of slots each wrong guess is 5 ns.
      std::array<Slot*, Table::kWays> own;
      std::size_t found = 0;
      for (std::size_t i = 0; i < Table::kWays; ++i) {
        own[found] = &slots[i];
        found += static_cast<std::size_t>((slots[i].tag != 0) & (slots[i].counter == c->index));
      }
      for (std::size_t i = 0; i < found; ++i) {
        const Table::Place place{&region, nullptr, nullptr, 0, 0, own[i]->tag};
        const Subject subject{*c, place, bank.ages, bank.arena, own[i]};
        const Reading reading = c->ops->peek(subject, now, nullptr);
        if (reading.has_value && !reading.value.is_zero()) out.push_back(reading.value);
      }
    }
    if (empty || ++bucket_ == table.buckets()) {
      bucket_ = 0;
      ++region_;
    }
  }
  return region_ < table.regions();
}

}  // namespace weir::limiter
