// Reads what snapshot.cc writes: C, K any number of times, E. A file without its E is torn and
// refused as a whole. Files of earlier builds begin with B, which holds the open counters alone,
// and too little of each to make it again.
//
//      the process before           the file           this process
//      open    ------------------>  open    -------->  open, or closed just now if it is unused
//      closed  ------------------>  closed  -------->  closed then, or opened again just now
//      -                            -       -------->  new: begins with others' history (inherit)
//
// So for the counters, a restart with other policies is like a reload. The keys come first, those
// of counters in use before the others, which take no room from them; then the counters learn from
// each other.
#include <algorithm>
#include <cmath>
#include <optional>

#include "limiter/counters/bank_impl.h"
#include "limiter/counters/counter_record.h"
#include "limiter/counters/history_facts.h"

namespace weir::limiter {
namespace {

struct KeyRecord {
  std::uint16_t index = 0;
  std::uint64_t tag = 0;
  bool pinned = false;
};

}  // namespace

struct Bank::Restore {
  struct Definition {
    std::optional<CounterRecord> record;  // none: of an old snapshot
    HistoryFacts left;
    bool plain = false;     // 8 bytes a value
    bool real_sum = false;  // whose values are finite
    Held* held = nullptr;   // null: it is not here
    bool is_used = false;   // held, and it was opened before
    std::vector<Counter*>
        receivers;  // of a counter that is not here: they get its entries right away
  };

  Restore(Impl& into, TimePoint at, TimePoint by_wall) : bank(into), now(at), wall(by_wall) {}

  Impl& bank;
  const TimePoint now, wall;
  std::array<std::int64_t, 2> then{};  // ms on each clock, of the snapshot
  std::uint64_t openings = 0;
  bool is_old = false;
  std::map<std::uint16_t, Definition> defined;  // by their indices in the process before
  std::vector<std::uint16_t> in_order;          // those of `defined`, in the order of the file
  std::map<Hash128, Definition*> by_identity;
  std::vector<std::string_view> pieces;  // of keys
  std::vector<Held*> used;               // counters of this process
  std::vector<Definition*> made;         // of the others; the last one to be given up comes first
  std::vector<PlainEntry> entries;
  std::size_t taken = 0;

  bool read(std::string_view snapshot);
  void take();

 private:
  bool read_begin(const Frame& frame);
  bool read_old_definition(Reader& in, std::uint16_t& index, Definition& out, Hash128& identity);
  bool get_key(Reader& in, KeyRecord& key);
  std::int64_t back(std::uint8_t clock) const noexcept;
  OpenTimes moved_back(const CounterRecord& record) const noexcept;
  void find_used();
  void make_others();
  Held* make(const CounterRecord& record);
  void put_in_order();
  void find_heirs();
  void take_keys(bool of_used);
  void put(Counter& counter, const KeyRecord& key, bool pinned, bool is_used);
  bool has_room(const Counter& counter, const Table::Place& place) const noexcept;
  void go_on();
};

/// Reads the shape, too: an old snapshot only shows whether a counter is the same.
bool Bank::Restore::read_old_definition(Reader& in, std::uint16_t& index, Definition& out,
                                        Hash128& identity) {
  index = in.get<std::uint16_t>();
  identity = {in.get<std::uint64_t>(), in.get<std::uint64_t>()};
  const auto metric = static_cast<Metric>(in.get<std::uint8_t>());
  const auto window = static_cast<Window>(in.get<std::uint8_t>());
  const bool real = in.get<std::uint8_t>() != 0;
  const auto quantum = in.get<std::uint32_t>();
  const auto length = in.get<std::int64_t>();
  const Hash128 what{in.get<std::uint64_t>(), in.get<std::uint64_t>()};
  const auto kept = in.get<std::int64_t>();
  if (!in.ok() || quantum == 0) return false;
  out.plain = is_plain(metric, real);
  out.real_sum = real && metric == Metric::sum;
  out.left = {what, metric, window, real, quantum, kept};
  const auto it = bank.by_identity.find(identity);
  if (it == bank.by_identity.end() || it->second->closed) return true;
  const Counter& c = it->second->counter;
  // In 32 bits; longer windows are `every`, whose length is written separately.
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (metric == c.spec.metric && window == c.spec.window && real == c.spec.real &&
      quantum == std::min(c.rule.quantum, kMost) && length == c.rule.length)
    out.held = it->second;
  return true;
}

bool Bank::Restore::read_begin(const Frame& frame) {
  Reader in(frame.payload);
  is_old = frame.kind == kSnapshotOldBegin;
  for (std::int64_t& ms : then) {
    ms = in.get<std::int64_t>();
    if (ms < 0 || ms > kLatestKept) return false;
  }
  constexpr std::uint64_t kOpeningsMax = std::uint64_t{1} << 62;
  if (!is_old) openings = in.varint();
  const auto count = in.get<std::uint32_t>();
  if (!in.ok() || openings > kOpeningsMax || count > kCountersMax) return false;
  for (std::uint32_t i = 0; i < count; ++i) {
    Definition definition;
    Hash128 identity;
    std::uint16_t index = 0;
    if (is_old) {
      if (!read_old_definition(in, index, definition, identity)) return false;
    } else {
      CounterRecord& record = definition.record.emplace();
      if (!get_record(in, openings, record)) return false;
      index = record.index;
      identity = record.identity;
      definition.plain = is_plain(record.spec.metric, record.spec.real);
      definition.real_sum = record.spec.real && record.spec.metric == Metric::sum;
    }
    const auto [at, fresh] = defined.emplace(index, std::move(definition));
    if (!fresh || !by_identity.emplace(identity, &at->second).second) return false;
    in_order.push_back(index);
  }
  return in.at_end();
}

/// Reads one key record; entries come out oldest first. False: malformed.
bool Bank::Restore::get_key(Reader& in, KeyRecord& key) {
  entries.clear();
  key.index = in.get<std::uint16_t>();
  key.tag = in.get<std::uint64_t>();
  key.pinned = in.get<std::uint8_t>() != 0;
  const std::uint64_t n = in.varint();
  std::int64_t ms = in.get<std::int64_t>();
  const auto it = defined.find(key.index);
  // An entry has two bytes at least. Nothing else bounds them: `last` has entries of the texts,
  // too.
  if (!in.ok() || it == defined.end() || key.tag == 0 || n == 0 || n > in.left() / 2) return false;
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t distance = in.varint();
    const std::uint64_t bits = it->second.plain ? in.get<std::uint64_t>() : in.varint();
    if (!in.ok() || ms < 0 || ms > kLatestKept || distance > static_cast<std::uint64_t>(ms))
      return false;
    if (it->second.real_sum && !std::isfinite(std::bit_cast<double>(bits))) return false;
    ms -= static_cast<std::int64_t>(distance);
    entries.push_back({ms, bits});
  }
  std::reverse(entries.begin(), entries.end());
  return true;
}

/// First all is read and judged, then all is taken in: a torn file changes nothing.
bool Bank::Restore::read(std::string_view snapshot) {
  const std::optional<Frame> begin = take_frame(snapshot);
  if (!begin || (begin->kind != kSnapshotBegin && begin->kind != kSnapshotOldBegin)) return false;
  if (!read_begin(*begin)) return false;
  KeyRecord key;
  std::uint64_t keys = 0;
  for (;;) {
    const std::optional<Frame> frame = take_frame(snapshot);
    if (!frame) return false;
    Reader in(frame->payload);
    if (frame->kind == kSnapshotEnd)
      return in.get<std::uint64_t>() == keys && in.ok() && in.at_end() && snapshot.empty();
    if (frame->kind != kSnapshotKeys) return false;
    for (; !in.at_end(); ++keys) {
      if (!get_key(in, key)) return false;
    }
    pieces.push_back(frame->payload);
  }
}

/// ms, at most 0: how far that clock is behind the snapshot. `every` is the wall clock's, and
/// does not move with it.
std::int64_t Bank::Restore::back(std::uint8_t clock) const noexcept {
  return clock == Ages::kNow ? std::min<std::int64_t>(0, to_ms(now) - then[Ages::kNow]) : 0;
}

OpenTimes Bank::Restore::moved_back(const CounterRecord& record) const noexcept {
  OpenTimes open_times = record.open_times;
  const auto move = [&](std::int64_t& ms) {
    ms = std::max<std::int64_t>(0, ms + back(Ages::kNow));
  };
  move(open_times.since);
  move(open_times.copies_until);
  move(open_times.opened_ms[Ages::kNow]);
  move(open_times.closed_ms[Ages::kNow]);
  return open_times;  // maintain() sees by itself that closed_at lies ahead
}

void Bank::Restore::find_used() {
  for (const auto& [identity, held] : bank.by_identity) {
    if (held->closed) continue;
    used.push_back(held);
    const auto it = by_identity.find(identity);
    if (it == by_identity.end()) continue;
    Definition& d = *it->second;
    if (d.record && same_kind(d.record->spec, held->counter.spec)) d.held = held;
    d.is_used = d.held == held;
  }
}

Bank::Held* Bank::Restore::make(const CounterRecord& record) {
  if (!record.is_known || bank.by_identity.contains(record.identity)) return nullptr;
  if (bank.free_indices.empty() && bank.next_index >= kCountersMax) return nullptr;
  if (record.own_keys > bank.limits.memory / sizeof(Slot)) return nullptr;
  const std::size_t bytes = record.own_keys == 0 ? 0 : Impl::bytes_of(record.own_keys);
  if (bytes != 0 && !bank.arena.withhold(bytes)) return nullptr;
  return &bank.add(record.identity, record.spec, *find_kind(record.spec), record.own_keys);
}

/// Makes the unused counters, from the last one closed to the first: there may be room for some of
/// them only.
void Bank::Restore::make_others() {
  std::vector<Definition*> others;
  for (const std::uint16_t index : in_order) {
    Definition& d = defined.at(index);
    if (d.record && d.held == nullptr) others.push_back(&d);
  }
  std::stable_sort(others.begin(), others.end(), [](const Definition* a, const Definition* b) {
    const OpenTimes &one = a->record->open_times, &other = b->record->open_times;
    return one.closed != other.closed ? other.closed : a->record->closing > b->record->closing;
  });
  for (Definition* const d : others) {
    d->held = make(*d->record);
    if (d->held == nullptr) continue;
    bank.ages.counters[d->held->counter.index].closed = 1;
    made.push_back(d);
  }
}

/// Orders counters of the same events by the time they were made, new ones last.
void Bank::Restore::put_in_order() {
  std::map<const Held*, std::size_t> places;
  for (const std::uint16_t index : in_order) {
    if (const Held* const held = defined.at(index).held; held != nullptr)
      places.emplace(held, places.size());
  }
  const auto place = [&](const Held* held) {
    const auto it = places.find(held);
    return it != places.end() ? it->second : places.size();
  };
  for (auto& [what, held] : bank.by_what) {
    std::stable_sort(held.begin(), held.end(),
                     [&](const Held* a, const Held* b) { return place(a) < place(b); });
  }
}

/// A counter that is gone leaves its history to the new one that can use most of it.
void Bank::Restore::find_heirs() {
  std::vector<Definition*> leave;
  for (auto& [index, d] : defined) {
    if (d.held != nullptr && !is_old) continue;
    if (d.record && d.record->is_known)
      d.left = HistoryFacts::of(d.record->spec, Rule::of(d.record->spec));
    leave.push_back(&d);
  }
  for (Held* const held : used) {
    if (by_identity.contains(held->counter.identity)) continue;
    Definition* best = nullptr;
    for (Definition* const d : leave) {
      if (d->left.fits(held->counter) && (best == nullptr || d->left.kept > best->left.kept))
        best = d;
    }
    if (best == nullptr) continue;
    best->receivers.push_back(&held->counter);
    if (best->record && drops(best->record->spec) && best->record->spec.keep < held->counter.keep)
      bank.inheritance.note_cut(held->counter, static_cast<std::uint32_t>(best->record->spec.keep));
  }
}

/// Whether a key of an unused counter takes no room from the counters in use.
bool Bank::Restore::has_room(const Counter& counter, const Table::Place& place) const noexcept {
  if (!Table::has_room(place, bank.ages)) return false;
  if (entries.size() == 1) return true;  // it nearly always fits into the slot
  const std::size_t bytes = counter.grid ? 40 : 16;
  const unsigned order = Arena::order_for(64 + entries.size() * bytes);
  if (order > bank.arena.largest_order()) return false;
  const std::uint32_t block = bank.arena.allocate(order);
  if (block != 0) bank.arena.free(block, order);
  return block != 0;
}

void Bank::Restore::put(Counter& c, const KeyRecord& key, bool pinned, bool is_used) {
  // Where events bring their times, the latest that is kept is where the stream had come to.
  const bool own = c.clock == Ages::kOwnTime;
  const TimePoint newest = from_ms(own ? c.observe(entries.back().ms) : 0);
  const Instant at(c.rule, own ? newest : c.clock == Ages::kNow ? now : wall);
  bank.ages.advance(c.index, c.clock, at.second);
  bank.with(&c, c.table->place(key.tag, c.salt), [&](Subject& s) {
    if (s.slot != nullptr || (!is_used && !has_room(c, s.place))) return;
    c.ops->put_in(s, at, entries);
    if (s.slot == nullptr) return;
    ++taken;
    if (!pinned) return;
    if (is_used) {
      c.table->pin(*s.slot, bank.ages);
    } else {
      c.table->pin_if_free(*s.slot);
    }
  });
}

void Bank::Restore::take_keys(bool of_used) {
  KeyRecord key;
  for (const std::string_view piece : pieces) {
    Reader in(piece);
    while (!in.at_end() && get_key(in, key)) {
      const Definition& d = defined.at(key.index);
      // Only counters of elapsed time move with the clock; receivers do.
      const std::int64_t by = d.held != nullptr ? back(d.held->counter.clock) : back(Ages::kNow);
      for (PlainEntry& e : entries) e.ms += by;
      if (d.held != nullptr && d.is_used == of_used) put(d.held->counter, key, key.pinned, of_used);
      if (!of_used) continue;
      for (Counter* const receiver : d.receivers) {
        if (Instant(receiver->rule, now).covers(entries.back().ms))
          put(*receiver, key, false, true);
      }
    }
  }
}

/// As at the end of an Opening of all counters in use, and at the closing of the others.
void Bank::Restore::go_on() {
  bank.opening = std::max(bank.opening, openings) + 1;
  for (const std::uint16_t index : in_order) {
    const Definition& d = defined.at(index);
    if (d.held == nullptr) continue;
    Held& held = *d.held;
    static_cast<OpenTimes&>(held) = moved_back(*d.record);
    Counter& c = held.counter;
    c.cut_from = d.record->cut_from;
    c.cut_until = std::max<std::int64_t>(0, d.record->cut_until + back(c.clock));
    const auto kept = static_cast<std::uint32_t>(d.record->spec.keep);
    if (drops(c.spec) && kept < c.keep) bank.inheritance.note_cut(c, kept);
    if (!d.is_used || !held.closed) continue;
    bank.inheritance.add_reopened(held);
  }
  for (Held* const held : used) {
    const auto known = by_identity.find(held->counter.identity);
    if (held->waits_for_history || (known != by_identity.end() && known->second->held == held))
      continue;
    bank.inheritance.add_receiver(*held);
  }
  bank.inheritance.run();
  for (auto at = made.rbegin(); at != made.rend(); ++at) {
    Held& held = *(*at)->held;
    held.closing = ++bank.closings;
    if (!held.closed) bank.close(held);
  }
}

void Bank::Restore::take() {
  bank.ages.advance(0, Ages::kNow, static_cast<std::uint32_t>(to_ms(now) / 1000));
  bank.ages.advance(0, Ages::kWall, static_cast<std::uint32_t>(to_ms(wall) / 1000));
  find_used();
  make_others();
  find_heirs();
  take_keys(true);
  if (!made.empty()) take_keys(false);
  if (is_old) return;
  put_in_order();
  go_on();
}

Result<std::size_t> Bank::import(std::string_view snapshot, TimePoint now, TimePoint wall) {
  const std::scoped_lock hold(impl_->control);
  Restore restore(*impl_, now, wall);
  if (!restore.read(snapshot)) return Error::malformed;
  restore.take();
  return restore.taken;
}

}  // namespace weir::limiter
