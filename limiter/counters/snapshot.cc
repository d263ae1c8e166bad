// A snapshot is a row of frames: B (when, and which counters), K (keys) any number of times, E (how
// many keys). A file without its E is torn and refused as a whole.
#include <algorithm>
#include <cmath>
#include <set>

#include "limiter/counters/bank_impl.h"
#include "limiter/counters/heritage.h"
#include "limiter/memory/frame.h"

namespace weir::limiter {
namespace {

constexpr std::uint8_t kBegin = 'B';
constexpr std::uint8_t kKeys = 'K';
constexpr std::uint8_t kEnd = 'E';
constexpr std::int64_t kLatest = std::int64_t{1} << 46;  // ms: the year 4199

/// In 32 bits; longer windows are `every`, whose length is stored separately.
std::uint32_t told_quantum(const Rule& rule) noexcept {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::min(rule.quantum, kMost));
}

void put_definition(std::string& out, const Counter& c) {
  put(out, c.index);
  put(out, c.identity.lo);
  put(out, c.identity.hi);
  put(out, static_cast<std::uint8_t>(c.spec.metric));
  put(out, static_cast<std::uint8_t>(c.spec.window));
  put(out, static_cast<std::uint8_t>(c.spec.real));
  put(out, told_quantum(c.rule));
  put(out, c.rule.length);
  put(out, c.spec.what.lo);
  put(out, c.spec.what.hi);
  put(out, Heritage::of(c).kept);
}

/// Whether the value of an entry is stored as 8 bytes, because its bits are not a small number.
bool is_plain(Metric metric, bool real) noexcept {
  return real || (metric != Metric::count && metric != Metric::sum);
}

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

struct Definition {
  Counter* counter = nullptr;   // null: not open, or of another shape
  std::vector<Counter*> heirs;  // that were not there
  Heritage left;
  bool plain = false;  // 8 bytes a value
  bool real = false;
};

struct KeyRecord {
  std::uint16_t index = 0;
  std::uint64_t tag = 0;
  bool pinned = false;
};

/// Reads one key record; entries come out oldest first. False: malformed.
bool get_key(Reader& in, const std::map<std::uint16_t, Definition>& defined, KeyRecord& key,
             std::vector<PlainEntry>& entries) {
  entries.clear();
  key.index = in.get<std::uint16_t>();
  key.tag = in.get<std::uint64_t>();
  key.pinned = in.get<std::uint8_t>() != 0;
  const std::uint64_t n = in.varint();
  std::int64_t ms = in.get<std::int64_t>();
  const auto it = defined.find(key.index);
  if (!in.ok() || it == defined.end() || key.tag == 0 || n == 0 || n > kKeepMax + kBucketsMax)
    return false;
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t back = in.varint();
    const std::uint64_t bits = it->second.plain ? in.get<std::uint64_t>() : in.varint();
    if (!in.ok() || ms < 0 || ms > kLatest || back > static_cast<std::uint64_t>(ms)) return false;
    if (it->second.real && !std::isfinite(std::bit_cast<double>(bits))) return false;
    ms -= static_cast<std::int64_t>(back);
    entries.push_back({ms, bits});
  }
  std::reverse(entries.begin(), entries.end());
  return true;
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

  void write_begin();
  /// False: it was opened after the definitions were written.
  bool is_defined(const Counter& c) const {
    const auto it = defined.find(c.index);
    return it != defined.end() && it->second == c.generation;
  }
  bool write_bucket();
  void write_slot(const Slot& slot, const Counter& c, const Table::Place& place);
};

Bank::Snapshot::Snapshot(const Bank& bank, TimePoint now, TimePoint wall) : state_(new State) {
  state_->bank = bank.impl_.get();
  state_->now = now;
  state_->wall = wall;
  state_->entries.reserve(kKeepMax + kBucketsMax);  // no allocation under a lock
}

Bank::Snapshot::~Snapshot() = default;

void Bank::Snapshot::State::write_begin() {
  put(payload, to_ms(now));
  put(payload, to_ms(wall));
  put(payload, static_cast<std::uint32_t>(bank->by_identity.size()));
  defined.clear();
  for (const auto& [identity, held] : bank->by_identity) {
    put_definition(payload, held->counter);
    defined[held->counter.index] = held->counter.generation;
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

bool Bank::Snapshot::State::write_bucket() {
  const std::vector<Table*> tables = bank->tables();
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
    if (c == nullptr || c->retired || bank->ages.closed(copies[i]) || !is_defined(*c)) continue;
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
      append_frame(out, kBegin, s.payload);
      s.phase = State::Phase::keys;
      return true;
    case State::Phase::keys: {
      constexpr int kBuckets = 8192;  // bounded work also if nothing is found
      bool more = true;
      for (int n = 0; more && n < kBuckets && s.payload.size() < bytes; ++n)
        more = s.write_bucket();
      append_frame(out, kKeys, s.payload);
      if (!more) s.phase = State::Phase::end;
      return true;
    }
    case State::Phase::end:
      put(s.payload, s.written);
      append_frame(out, kEnd, s.payload);
      s.written = 0;
      s.table = s.region = s.bucket = 0;
      s.phase = State::Phase::begin;
      return false;
  }
  return false;
}

Result<std::size_t> Bank::import(std::string_view snapshot, TimePoint now, TimePoint wall) {
  const std::scoped_lock hold(impl_->control);
  const std::optional<Frame> begin = take_frame(snapshot);
  if (!begin || begin->kind != kBegin) return Error::malformed;
  Reader head(begin->payload);
  const std::int64_t then[2] = {head.get<std::int64_t>(), head.get<std::int64_t>()};
  const auto count = head.get<std::uint32_t>();
  if (!head.ok() || count > kCountersMax || then[0] < 0 || then[0] > kLatest || then[1] < 0 ||
      then[1] > kLatest) {
    return Error::malformed;
  }
  std::map<std::uint16_t, Definition> defined;
  std::set<Hash128> known;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto index = head.get<std::uint16_t>();
    const Hash128 identity{head.get<std::uint64_t>(), head.get<std::uint64_t>()};
    const auto metric = head.get<std::uint8_t>();
    const auto window = head.get<std::uint8_t>();
    const bool real = head.get<std::uint8_t>() != 0;
    const auto quantum = head.get<std::uint32_t>();
    const auto length = head.get<std::int64_t>();
    const bool real_sum = real && metric == static_cast<std::uint8_t>(Metric::sum);
    const Hash128 what{head.get<std::uint64_t>(), head.get<std::uint64_t>()};
    const auto kept = head.get<std::int64_t>();
    Definition d;
    d.plain = is_plain(static_cast<Metric>(metric), real);
    d.real = real_sum;
    d.left = {what, static_cast<Metric>(metric), static_cast<Window>(window), real, quantum, kept};
    known.insert(identity);
    if (quantum == 0) return Error::malformed;
    const auto it = impl_->by_identity.find(identity);
    if (it != impl_->by_identity.end() && !it->second->closed) {
      Counter& c = it->second->counter;
      const bool same = metric == static_cast<std::uint8_t>(c.spec.metric) &&
                        window == static_cast<std::uint8_t>(c.spec.window) && real == c.spec.real &&
                        quantum == told_quantum(c.rule) && length == c.rule.length;
      if (same) d.counter = &c;
    }
    defined[index] = d;
  }
  if (!head.ok() || !head.at_end()) return Error::malformed;
  for (const auto& [identity, held] : impl_->by_identity) {
    if (held->closed || known.contains(identity)) continue;
    Definition* best = nullptr;
    for (auto& [index, d] : defined) {
      if (d.left.fits(held->counter) && (best == nullptr || d.left.kept > best->left.kept))
        best = &d;
    }
    if (best != nullptr) best->heirs.push_back(&held->counter);
  }

  // First all is read and judged, then all is taken in: a torn file changes nothing.
  std::vector<std::string_view> pieces;
  std::vector<PlainEntry> entries;
  KeyRecord key;
  std::uint64_t keys = 0;
  for (;;) {
    const std::optional<Frame> frame = take_frame(snapshot);
    if (!frame) return Error::malformed;
    Reader in(frame->payload);
    if (frame->kind == kEnd) {
      if (in.get<std::uint64_t>() != keys || !in.ok() || !in.at_end() || !snapshot.empty()) {
        return Error::malformed;
      }
      break;
    }
    if (frame->kind != kKeys) return Error::malformed;
    for (; !in.at_end(); ++keys) {
      if (!get_key(in, defined, key, entries)) return Error::malformed;
    }
    pieces.push_back(frame->payload);
  }

  const std::int64_t back[2] = {std::min<std::int64_t>(0, to_ms(now) - then[0]),
                                std::min<std::int64_t>(0, to_ms(wall) - then[1])};
  std::size_t taken = 0;
  for (const std::string_view piece : pieces) {
    Reader in(piece);
    while (!in.at_end() && get_key(in, defined, key, entries)) {
      const Definition& d = defined[key.index];
      // Only what runs on elapsed time moves with the clock; `every` is the wall clock's.
      const bool elapsed = d.counter != nullptr ? d.counter->clock == Ages::kNow : !d.heirs.empty();
      if (elapsed) {
        for (PlainEntry& e : entries) e.ms += back[0];
      }
      const auto into = [&](Counter* c, bool pinned) {
        // Where events bring their times, the latest that is kept is where the stream had come to.
        const bool own = c->clock == Ages::kOwnTime;
        const TimePoint newest = from_ms(own ? c->observe(entries.back().ms) : 0);
        const Instant at(c->rule, own ? newest : c->clock == Ages::kNow ? now : wall);
        impl_->ages.advance(c->index, c->clock, at.second);
        impl_->with(c, c->table->place(key.tag, c->salt), [&](Subject& s) {
          if (s.slot != nullptr) return;
          c->ops->put_in(s, at, entries);
          if (s.slot == nullptr) return;
          if (pinned) c->table->pin(*s.slot, impl_->ages);
          ++taken;
        });
      };
      if (d.counter != nullptr) into(d.counter, key.pinned);
      for (Counter* const heir : d.heirs) {
        if (Instant(heir->rule, now).covers(entries.back().ms)) into(heir, false);
      }
    }
  }
  return taken;
}

}  // namespace weir::limiter
