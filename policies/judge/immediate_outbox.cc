#include "policies/judge/immediate_outbox.h"

namespace weir::policies {
namespace {

constexpr milliseconds kNoLease{0};  // the caller acts at once

}  // namespace

bool ImmediateOutbox::ask(Judgement&, StoreOps& operations, TimePoint now) {
  ask_(operations, now);
  return true;
}

void ImmediateOutbox::send(StoreOps& operations, TimePoint now) {
  ask_(operations, now);
  operations.clear();
}

void ImmediateOutbox::deliver(PatternJudging& patterns, TimePoint now) {
  patterns.take_refused_matches();
  auto& messages = patterns.messages();
  if (messages.empty()) return;
  const Instant at{now, now};
  operations_.clear();
  for (const auto& message : messages)
    append(*message, at, patterns.sharing().forgets, operations_);
  ask_(operations_, now);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const limiter::SharedReply& reply = operations_.reply(i);
    if (reply.error == limiter::SharedError::none) {
      patterns.delivered(*messages[i], reply.pattern, at, true);
      dropped_ += reply.pattern.dropped;
    }
    patterns.give_back(std::move(messages[i]));
  }
  messages.clear();
}

void ImmediateOutbox::fire_due(PatternJudging& patterns, TimePoint watermark) {
  const Instant at{watermark, watermark};
  while (patterns.shared_due() <= watermark) {
    patterns.shared_due() = limiter::kNever;
    const auto& known = patterns.set().patterns;
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i].shared == nullptr || !known[i].shared->has_deadlines()) continue;
      operations_.clear();
      patterns.ask_due(patterns.set(), i, watermark, kNoLease, operations_);
      ask_(operations_, watermark);
      for (unsigned shard = 0; shard < operations_.size(); ++shard) {
        const limiter::SharedReply& reply = operations_.reply(shard);
        if (reply.error != limiter::SharedError::none) return;  // the caller has noted it
        patterns.take_due(i, reply, shard, at, kNoLease);
      }
    }
    patterns.fire_due();
  }
}

}  // namespace weir::policies
