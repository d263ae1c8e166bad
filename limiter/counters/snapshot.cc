// A snapshot is a row of frames: C (when, and which counters, open and closed), K (keys) any number
// of times, E (how many keys). restore.cc reads it.
#include <algorithm>

#include "limiter/counters/bank_impl.h"
#include "limiter/counters/counter_record.h"

namespace weir::limiter {
namespace {

/// Newest first, so that each entry is stored as its small distance to the previous one.
void put_key(std::string& out, const Counter& c, const Slot& slot,
             std::span<const PlainEntry> entries) {
  put(out, c.index);
  put(out, slot.tag);
  put(out, static_cast<std::uint8_t>(slot.pinned));
  put_varint(out, entries.size());
  put(out, entries.back().ms);
  std::int64_t former = entries.back().ms;
  for (std::size_t i = entries.size(); i-- > 0;) {
    put_varint(out, static_cast<std::uint64_t>(former - entries[i].ms));
    former = entries[i].ms;
    if (is_plain(c.spec.metric, c.spec.real)) {
      put(out, entries[i].bits);
    } else {
      put_varint(out, entries[i].bits);
    }
  }
}

}  // namespace

struct Bank::Snapshot::State {
  const Impl* bank;
  TimePoint now, wall;
  enum class Phase : std::uint8_t { begin, keys, end } phase = Phase::begin;
  std::size_t table = 0, region = 0, bucket = 0;
  std::uint64_t written = 0;
  std::map<std::uint16_t, std::uint16_t> defined;  // index: generation
  std::vector<PlainEntry> entries;
  std::string payload;

  void write_definition(const Held& held);
  void write_begin();
  /// False: it was opened after the definitions were written.
  bool is_defined(const Counter& c) const {
    const auto it = defined.find(c.index);
    return it != defined.end() && it->second == c.generation;
  }
  /// `tables`: those of the bank, which may come and go between two pieces.
  bool write_bucket(const std::vector<Table*>& tables);
  void write_slot(const Slot& slot, const Counter& c, const Table::Place& place);
};

Bank::Snapshot::Snapshot(const Bank& bank, TimePoint now, TimePoint wall) : state_(new State) {
  state_->bank = bank.impl_.get();
  state_->now = now;
  state_->wall = wall;
  // No allocation under a lock, except for larger keys: of `last` with long texts, of the last
  // 50,000 events by their own time.
  state_->entries.reserve(kKeepMax + kBucketsMax);
}

Bank::Snapshot::~Snapshot() = default;

void Bank::Snapshot::State::write_definition(const Held& held) {
  const Counter& c = held.counter;
  CounterRecord record{c.index,
                       c.identity,
                       c.spec,
                       held.own_keys,
                       held.closing,
                       c.cut_from.load(std::memory_order_relaxed),
                       c.cut_until.load(std::memory_order_relaxed),
                       held};
  record.spec.keep = std::max<std::size_t>(c.spec.keep, c.keep.load(std::memory_order_relaxed));
  if (held.closed && held.closed_at == TimePoint{})
    record.open_times.closed_at = c.clock == Ages::kWall ? wall : now;
  put_record(payload, record);
  defined[c.index] = c.generation;
}

/// Counters of the same events are written in the order in which they were made: when a counter
/// takes its missing events from them, this order decides which is asked first.
void Bank::Snapshot::State::write_begin() {
  put(payload, to_ms(now));
  put(payload, to_ms(wall));
  put_varint(payload, bank->opening);
  put(payload, static_cast<std::uint32_t>(bank->by_identity.size()));
  defined.clear();
  for (const auto& [what, counters] : bank->by_what) {
    for (const Held* const held : counters) write_definition(*held);
  }
}

void Bank::Snapshot::State::write_slot(const Slot& slot, const Counter& c,
                                       const Table::Place& place) {
  Slot copy = slot;
  const Subject subject{c, place, bank->ages, bank->arena, &copy};
  entries.clear();
  const TimePoint own = from_ms(c.newest.load(std::memory_order_relaxed));
  const TimePoint at = c.clock == Ages::kOwnTime ? own : c.clock == Ages::kNow ? now : wall;
  c.ops->take_out(subject, Instant(c.rule, at), entries);
}

bool Bank::Snapshot::State::write_bucket(const std::vector<Table*>& tables) {
  if (table >= tables.size()) return false;
  Table& t = *tables[table];
  if (region >= t.regions() || bucket >= t.buckets()) {  // tables came or went between two pieces
    region = bucket = 0;
    ++table;
    return true;
  }
  Slot* slots = t.bucket(region, bucket);
  Table::Region& r = t.region(region);
  Slot copies[Table::kWays];
  {
    const std::scoped_lock hold(r.lock);
    std::copy(slots, slots + Table::kWays, copies);
  }
  for (std::size_t i = 0; i < Table::kWays; ++i) {
    if (copies[i].tag == 0) continue;
    const Counter* c = bank->by_index[copies[i].counter].load(std::memory_order_acquire);
    if (c == nullptr || c->retired || !is_defined(*c)) continue;
    const Table::Place place{&r, nullptr, nullptr, 0, 0, copies[i].tag};
    if (copies[i].form != static_cast<unsigned>(Slot::Form::block)) {
      write_slot(copies[i], *c, place);
    } else {  // its block may have changed hands since: look again, one key at a time
      const std::scoped_lock hold(r.lock);
      if (slots[i].tag != copies[i].tag || slots[i].counter != copies[i].counter) continue;
      write_slot(slots[i], *c, place);
    }
    if (entries.empty()) continue;
    put_key(payload, *c, copies[i], entries);
    ++written;
  }
  if (++bucket == t.buckets()) {
    bucket = 0;
    if (++region == t.regions()) {
      region = 0;
      ++table;
    }
  }
  return true;
}

bool Bank::Snapshot::next(std::string& out, std::size_t bytes) {
  State& s = *state_;
  const std::scoped_lock hold(s.bank->control);
  s.payload.clear();
  switch (s.phase) {
    case State::Phase::begin:
      s.write_begin();
      append_frame(out, kSnapshotBegin, s.payload);
      s.phase = State::Phase::keys;
      return true;
    case State::Phase::keys: {
      constexpr int kBuckets = 8192;  // bounded work also if nothing is found
      const std::vector<Table*> tables = s.bank->tables();
      bool more = true;
      for (int n = 0; more && n < kBuckets && s.payload.size() < bytes; ++n)
        more = s.write_bucket(tables);
      append_frame(out, kSnapshotKeys, s.payload);
      if (!more) s.phase = State::Phase::end;
      return true;
    }
    case State::Phase::end:
      put(s.payload, s.written);
      append_frame(out, kSnapshotEnd, s.payload);
      s.written = 0;
      s.table = s.region = s.bucket = 0;
      s.phase = State::Phase::begin;
      return false;
  }
  return false;
}

}  // namespace weir::limiter
