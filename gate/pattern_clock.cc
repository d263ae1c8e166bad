#include "gate/pattern_clock.h"

#include <algorithm>

#include "gate/gate.h"

namespace weir::gate {

policies::Instant PatternClock::instant(TimePoint now) const noexcept {
  return {now, now + milliseconds{shared_.wall_offset_ms.load(std::memory_order_relaxed)}};
}

void PatternClock::use(std::shared_ptr<const policies::Loaded> loaded) {
  for (auto& round : rounds_) round->retired = true;
  std::erase_if(rounds_, [](const auto& round) { return !round->asking_now; });
  const auto& patterns = loaded->set->patterns;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (patterns[i].shared == nullptr || !patterns[i].shared->has_deadlines()) continue;
    auto& round = *rounds_.emplace_back(std::make_unique<Round>(*this));
    round.loaded = loaded;
    round.pattern = i;
    round.next = now_ + jittered(kEvery);
  }
  arm();
}

milliseconds PatternClock::jittered(milliseconds every) {
  const auto eighth = static_cast<std::uint64_t>(every.count() / 8 + 1);
  return every - milliseconds{static_cast<std::int64_t>(random_() % eighth)};
}

void PatternClock::arm() {
  TimePoint next = limiter::kNever;
  for (const auto& round : rounds_) {
    if (!round->asking_now && !round->retired) next = std::min(next, round->next);
  }
  if (next != limiter::kNever) wheel_.arm(*this, next);
}

void PatternClock::on_timer(TimePoint now) {
  now_ = now;
  for (std::size_t i = 0; i < rounds_.size(); ++i) {
    Round& round = *rounds_[i];
    if (!round.asking_now && !round.retired && round.next <= now) ask(round, now);
  }
  arm();
}

void PatternClock::ask(Round& round, TimePoint now) {
  // Nothing is due at the beginning of time: this question only tests whether the store answers.
  const TimePoint at = round.away ? TimePoint{} : instant(now).wall - kGrace;
  round.operations.clear();
  patterns_.ask_due(*round.loaded->set, round.pattern, at, kLease, round.operations);
  round.ops = round.operations.ops();
  round.replies = round.operations.replies();
  round.asking_now = true;
  if (store_.submit(round, now + PatternPost::kPatience)) take_in(round, false);
}

void PatternClock::take_in(Round& round, bool late) {
  round.asking_now = false;
  if (round.retired || &patterns_.set() != round.loaded->set.get()) {
    // The leased deadlines go to the next asker, which knows what they mean now.
    std::erase_if(rounds_, [&](const auto& each) { return each.get() == &round; });
    return;
  }
  bool away = false, more = false;
  milliseconds asked = kSeldom;
  for (std::size_t shard = 0; shard < round.replies.size(); ++shard) {
    const limiter::SharedReply& reply = round.replies[shard];
    away = away || reply.error != limiter::SharedError::none;
    if (reply.error != limiter::SharedError::none) continue;
    asked = std::min(asked, reply.pattern.asked);
    more = more || (!reply.pattern.matches.empty() && reply.pattern.next <= reply.at - kGrace);
    patterns_.take_due(round.pattern, reply, static_cast<unsigned>(shard), instant(now_), kLease);
    count(reply.pattern, metrics_);
  }
  patterns_.fire_due();
  post_.run(now_);  // that it has been seen to
  if (away) {
    round.next = now_ + kEvery;
  } else if (round.away) {
    round.next = now_ + kRecovery;
  } else {
    // Together twice a second.
    if (asked < kEvery * 3 / 4) {
      round.every = std::min(round.every * 3 / 2, kSeldom);
    } else if (asked > kEvery * 2) {
      round.every = std::max(kEvery, milliseconds{round.every.count() * kEvery.count() /
                                                  std::min(asked, kSeldom).count()});
    }
    round.next = now_ + (more ? milliseconds{50} : jittered(round.every));
  }
  round.away = away;
  if (late) arm();
}

}  // namespace weir::gate
