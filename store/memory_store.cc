#include "store/memory_store.h"

#include <algorithm>
#include <utility>

#include "limiter/memory/frame.h"

namespace weir::store {
namespace {

using limiter::Amount;
using limiter::Reading;
using limiter::SharedError;
using limiter::SharedOp;
using limiter::SharedReply;
using limiter::SharedVerb;
using limiter::Undo;

constexpr milliseconds kTakenBackWithin{60'000};
constexpr std::size_t kDoneMax = 200'000;  // events that may still be settled or taken back

bool judges(SharedVerb verb) noexcept {
  return verb == SharedVerb::add || verb == SharedVerb::reserve;
}

}  // namespace

MemoryStore::MemoryStore(const limiter::BankLimits& limits, std::function<TimePoint()> clock)
    : bank_(limits),
      patterns_({limits.memory, 1, true}),
      sequences_({limits.memory, 1, true}),
      clock_(std::move(clock)) {}

bool MemoryStore::submit(Batch& batch, TimePoint) {
  for (std::size_t i = 0; i < batch.ops.size(); ++i) {
    batch.ops[i].pattern != nullptr ? run_pattern(batch.ops[i], batch.replies[i])
                                    : run(batch.ops[i], batch.replies[i]);
  }
  return true;
}

bool MemoryStore::open(const limiter::SharedCounter& counter, limiter::CounterId& id) {
  const auto known = counters_.find(counter.identity);
  if (known != counters_.end()) {
    id = known->second;
    return true;
  }
  limiter::CounterSpec spec = counter.spec;
  spec.what = counter.identity;  // a counter inherits nothing in the store
  const auto opened = bank_.open(counter.identity, spec);
  if (!opened) return false;
  id = counters_[counter.identity] = *opened;
  return true;
}

MemoryStore::Name MemoryStore::name_of(const SharedOp& op, std::size_t part, const Hash128& key) {
  return {key.owned_by(op.parts[part].counter->identity), op.id};
}

void MemoryStore::expire(const Name& first, TimePoint now) {
  auto it = done_.lower_bound(Name{first.key, {}});
  while (it != done_.end() && it->first.key == first.key) {
    it = it->second.until <= now ? forget(it) : std::next(it);
  }
}

MemoryStore::DoneMap::iterator MemoryStore::forget(DoneMap::iterator it) {
  const Done& done = it->second;
  if (done.undo.what == Undo::What::reservation) bank_.uncharge(done.counter, done.key, done.undo);
  return done_.erase(it);
}

void MemoryStore::say(SharedReply& reply, std::size_t part, const Reading& reading) {
  Reading& out = reply.parts[part].reading;
  out = reading;
  if (reading.datum == nullptr) return;
  reply.datum = *reading.datum;
  reply.text = reading.datum->text;
  reply.datum.text = reply.text;
  out.datum = &reply.datum;
}

void MemoryStore::note_began(const SharedOp& op, std::size_t part, const Hash128& key,
                             SharedReply& reply, TimePoint now, bool adds) {
  const limiter::SharedCounter& counter = *op.parts[part].counter;
  reply.parts[part].began = {};
  if (counter.spec.window != limiter::Window::every_first ||
      counter.form != limiter::SharedForm::fixed) {
    return;
  }
  const Hash128 name = name_of(op, part, key).key;
  if (op.verb == SharedVerb::reset) began_.erase(name);
  const auto known = began_.find(name);
  if (known != began_.end() && now - known->second < counter.spec.length) {
    reply.parts[part].began = known->second;
  } else if (adds) {
    reply.parts[part].began = began_[name] = now;
  }
}

void MemoryStore::run(const SharedOp& op, SharedReply& reply) {
  const TimePoint now = op.now ? *op.now : clock_();
  reply.error = SharedError::none;
  reply.admitted = true;
  reply.at = now;
  const limiter::CounterKey key(secret_.hash(op.key), op.place);
  const bool shaped = !op.parts.empty() && op.parts.size() <= SharedOp::kPartsMax &&
                      std::all_of(op.parts.begin(), op.parts.end(), [](const auto& part) {
                        return part.counter != nullptr && part.counter->kind != nullptr;
                      });
  if (!shaped || !op.event.amount.is_finite()) {
    reply.error = SharedError::invalid;
    return;
  }
  for (std::size_t i = 0; i < op.parts.size(); ++i) expire(name_of(op, i, key), now);
  limiter::CounterId id;
  if (judges(op.verb)) return admit(op, reply, key, now);
  if (op.verb == SharedVerb::settle || op.verb == SharedVerb::release ||
      op.verb == SharedVerb::take_back) {
    return end(op, reply, key, now);
  }
  for (std::size_t i = 0; i < op.parts.size(); ++i) {
    if (!open(*op.parts[i].counter, id)) {
      reply.error = SharedError::full;
      return;
    }
    if (op.verb == SharedVerb::reset) bank_.reset(id, key);
    say(reply, i, bank_.peek(id, key, now, op.verb == SharedVerb::look ? &op.event : nullptr));
    note_began(op, i, key, reply, now, false);
  }
}

void MemoryStore::run_pattern(const SharedOp& op, SharedReply& reply) {
  const limiter::SharedPattern& pattern = *op.pattern->pattern;
  reply.error = SharedError::none;
  reply.admitted = true;
  reply.at = op.now ? *op.now : clock_();
  reply.pattern = {};
  limiter::PatternSpec spec = pattern.spec;
  if (!op.pattern->forgets) spec.late = std::chrono::hours{24 * 365};
  limiter::PatternBank& bank = pattern.has_deadlines() ? patterns_ : sequences_;
  const auto id = bank.open(pattern.identity, spec);
  if (!id || spec.endless) {
    reply.error = id ? SharedError::invalid : SharedError::full;
    return;
  }
  if (op.verb == SharedVerb::add || op.verb == SharedVerb::look) {
    limiter::PatternMatches none;
    if (!pattern.has_deadlines()) bank.advance(reply.at - milliseconds(1), none);
    const std::string whole = std::string(op.key) + ' ' + std::string(op.pattern->key);
    const Hash128 key = secret_.hash(whole).owned_by(pattern.identity);
    const Name name{key, op.id};
    const auto before = fed_.find(name);
    if (op.verb == SharedVerb::add && op.again && before != fed_.end()) {
      reply.pattern.matched = before->second;
      return;
    }
    happened(op, key, bank, *id, reply.pattern);
    if (op.verb == SharedVerb::look) return;
    if (fed_.size() >= kDoneMax) fed_.clear();
    fed_[name] = reply.pattern.matched;
  } else if (op.verb == SharedVerb::due) {
    limiter::PatternMatches all;
    patterns_.advance(op.at, all);
    for (limiter::PatternMatch& match : all) {
      limiter::Reader packed(match.payload);
      const std::string shard(packed.text());
      match.key = packed.text();
      match.payload = std::string(packed.text());
      shards_[shard].due.push_back(std::move(match));
    }
    Shard& shard = shards_[std::string(op.key)];
    reply.pattern.matches.swap(shard.due);
    reply.pattern.asked = reply.at - std::exchange(shard.asked, reply.at);
    reply.pattern.keys = static_cast<std::uint32_t>(reply.pattern.matches.size());
  }
  reply.pattern.next = patterns_.due();
}

void MemoryStore::happened(const SharedOp& op, const Hash128& key, limiter::PatternBank& bank,
                           limiter::PatternId id, limiter::PatternReply& reply) {
  std::string packed;
  for (const std::string_view part : {op.key, op.pattern->key, op.pattern->event.payload}) {
    limiter::put_text(packed, part);
  }
  limiter::PatternEvent event = op.pattern->event;
  event.ts = op.at;
  event.payload = packed;
  reply.view = bank.peek(id, key, event);
  const std::uint64_t dropped = bank.stats().dropped;
  op.verb == SharedVerb::look ? bank.refuse(id, key, event, reply.matches)
                              : bank.feed(id, key, event, reply.matches);
  reply.dropped = static_cast<std::uint32_t>(bank.stats().dropped - dropped);
  reply.matched = static_cast<std::uint32_t>(reply.matches.size());
}

void MemoryStore::admit(const SharedOp& op, SharedReply& reply, const limiter::CounterKey& key,
                        TimePoint now) {
  std::array<limiter::CounterId, SharedOp::kPartsMax> counters;
  for (std::size_t i = 0; i < op.parts.size(); ++i) {
    if (!open(*op.parts[i].counter, counters[i])) {
      reply.error = SharedError::full;
      return;
    }
    if (const auto before = done_.find(name_of(op, i, key));
        before != done_.end() && op.parts[i].counter->form == limiter::SharedForm::gauges) {
      forget(before);  // the new report replaces the old one
    }
    const bool there = op.again && done_.contains(name_of(op, i, key));
    const Reading r = bank_.peek(counters[i], key, now, there ? nullptr : &op.event);
    const auto& ceiling = op.parts[i].ceiling;
    if (ceiling && r.has_value && ceiling->broken_by(r.value)) reply.admitted = false;
    say(reply, i, r);
  }
  for (std::size_t i = 0; i < op.parts.size(); ++i) {
    const Name name = name_of(op, i, key);
    const limiter::CounterSpec& spec = op.parts[i].counter->spec;
    note_began(op, i, key, reply, now, reply.admitted);
    const auto before = done_.find(name);
    const bool goes_on =
        spec.metric == Metric::in_flight || (op.verb == SharedVerb::reserve && !op.again);
    if (goes_on && before != done_.end()) {
      before->second.until = now + op.lifetime;
    } else if (op.again && before != done_.end()) {
      continue;  // it has been counted
    } else if (reply.admitted) {
      const bool reserves = op.verb == SharedVerb::reserve && spec.outcome;
      const bool flies = spec.metric == Metric::in_flight;
      Done done{{}, counters[i], key, now + (reserves || flies ? op.lifetime : kTakenBackWithin)};
      say(reply, i,
          reserves ? bank_.reserve(counters[i], key, now, op.event, nullptr, &done.undo)
                   : bank_.charge(counters[i], key, now, op.event, nullptr, &done.undo));
      // An open event in flight ends by itself as a reservation does.
      if (flies && done.undo.what == Undo::What::charge) done.undo.what = Undo::What::reservation;
      done_[name] = done;
      order_.push_back(name);
    }
    reply.parts[i].reading.stored = reply.admitted;
    reply.parts[i].reading.refused = !reply.admitted;
  }
  while (order_.size() > kDoneMax) {
    if (const auto oldest = done_.find(order_.front()); oldest != done_.end()) forget(oldest);
    order_.pop_front();
  }
}

void MemoryStore::end(const SharedOp& op, SharedReply& reply, const limiter::CounterKey& key,
                      TimePoint now) {
  reply.admitted = op.verb != SharedVerb::settle;
  for (std::size_t i = 0; i < op.parts.size(); ++i) {
    limiter::CounterId id;
    if (!open(*op.parts[i].counter, id)) {
      reply.error = SharedError::full;
      return;
    }
    Undo undo;
    if (const auto found = done_.find(name_of(op, i, key)); found != done_.end()) {
      undo = found->second.undo;
      done_.erase(found);
    }
    const bool in_flight = op.parts[i].counter->spec.metric == Metric::in_flight;
    if (op.verb == SharedVerb::take_back || in_flight) {
      bank_.uncharge(id, key, undo);
      undo = Undo{};
    } else if (undo.what == Undo::What::charge) {
      undo = Undo{};
    }
    if (in_flight) {
      say(reply, i, bank_.peek(id, key, now));
      continue;
    }
    const bool matched = op.verb == SharedVerb::settle;
    const Reading r = bank_.settle(id, key, op.at, now, op.event, undo, matched);
    if (matched) reply.admitted = reply.admitted || r.stored;
    say(reply, i, r);
  }
}

}  // namespace weir::store
