#include <algorithm>

#include "core/assert.h"
#include "limiter/memory/frame.h"
#include "policies/judge/pattern_judging.h"

namespace weir::policies {
namespace {

using Kind = limiter::PatternSpec::Kind;
using limiter::SharedPattern;
using limiter::SharedVerb;

/// Whether an event with these steps may be the last of a match.
bool may_complete(const limiter::PatternSpec& spec, std::uint8_t steps) {
  if (spec.kind == Kind::absence) return false;
  return spec.kind == Kind::pair ? steps != 0 : (steps >> (spec.steps - 1) & 1U) != 0;
}

}  // namespace

bool PatternJudging::is_shared(const Pattern& pattern) const noexcept {
  return store_.sharing() != nullptr && pattern.shared != nullptr;
}

/// While its key is loaded (hash_).
void PatternJudging::plan_asking(const Pattern& pattern, const Binding& binding,
                                 PlannedPattern& planned) {
  if (!is_shared(pattern)) return;
  planned.shared_key = store_.spell_key(binding.key);
}

/// Whether this one must be asked about: then its view comes with the replies.
bool PatternJudging::must_ask(const Pattern& pattern, PlannedPattern& planned, bool traced) {
  if (planned.shared_key == PlannedCounter::kNone) return false;
  planned.looks = traced || may_complete(pattern.spec, planned.steps);
  return planned.looks;
}

/// Adds the questions about patterns to the questions about counters.
void PatternJudging::ask_about_patterns() {
  for (PlannedPattern& planned : work_.plan().patterns) {
    if (!planned.looks) continue;
    const Pattern& pattern = work_.set->patterns[planned.pattern];
    limiter::PatternAsk ask;
    ask.pattern = pattern.shared.get();
    ask.event = {
        work_.judgement->happened, work_.judgement->line, planned.steps, planned.among, {}};
    ask.forgets = store_.sharing()->forgets;
    const std::string& spelled = store_.key(planned.shared_key);
    std::string tag;
    if (pattern.shared->has_deadlines()) {
      ask.key = spelled;
      tag = store_.sharing()->prefix + pattern.shared->tag(SharedPattern::shard_of(planned.key));
    }
    planned.asked = static_cast<std::uint16_t>(store_.ops().size());
    StoreOps::Item& item = store_.ops().add_pattern(SharedVerb::look, tag.empty() ? spelled : tag,
                                                    ask, store_.next_id());
    item.op.at = work_.at.wall - (work_.at.now - work_.judgement->happened);
  }
}

void PatternJudging::take_pattern_replies(const JudgeOptions& options) {
  for (PlannedPattern& planned : work_.plan().patterns) {
    if (planned.asked == PlannedCounter::kNone) continue;
    const Pattern& pattern = work_.set->patterns[planned.pattern];
    const Policy& policy = work_.set->policies[pattern.policy];
    const limiter::SharedReply& reply = store_.ops().reply(planned.asked);
    limiter::PatternView view;
    if (reply.error == limiter::SharedError::none) {
      view = reply.pattern.view;
    } else {
      using What = config::OnErrorDef::What;
      planned.away = true;
      if (policy.on_error.what == What::local && pattern_bank_ != nullptr) {
        view = pattern_bank_->peek(
            pattern.id, planned.key,
            {work_.judgement->happened, work_.judgement->line, planned.steps, planned.among, {}});
      } else if (policy.on_error.what == What::deny && !policy.shadow && policy.enforced_rungs &&
                 !work_.plan().defect) {
        work_.plan().defect = store_defect(policy);
      }
    }
    planned.completes = view.completes;
    if (options.trace != nullptr) options.trace->pattern(policy, planned, view);
    if (planned.completes) judge_pattern(policy, pattern, planned);
  }
}

/// An event that its own rung has refused, and the matches that it would have completed.
void PatternJudging::report_refused(const PlannedPattern& planned, const Policy& policy) {
  matches_.clear();
  if (planned.asked != PlannedCounter::kNone && !planned.away) {
    const limiter::PatternReply& reply = store_.ops().reply(planned.asked).pattern;
    refused_matches_ += reply.matched;
    matches_ = reply.matches;  // empty but in replay, whose sink takes them
  } else {
    pattern_bank_->refuse(
        work_.set->patterns[planned.pattern].id, planned.key,
        {work_.judgement->happened, work_.judgement->line, planned.steps, planned.among, {}},
        matches_);
  }
  report_matches(policy, policy.bindings[planned.binding]);
}

PatternMessage& PatternJudging::new_message() {
  if (spare_messages_.empty()) {
    messages_.push_back(std::make_unique<PatternMessage>());
  } else {
    messages_.push_back(std::move(spare_messages_.back()));
    spare_messages_.pop_back();
  }
  PatternMessage& out = *messages_.back();
  out.clear();
  out.loaded = work_.loaded;
  return out;
}

void PatternJudging::give_back(std::unique_ptr<PatternMessage> message) {
  message->loaded.reset();
  spare_messages_.push_back(std::move(message));
}

void PatternJudging::tell(const PlannedPattern& planned, std::uint8_t steps, bool among,
                          TimePoint time, std::uint64_t line, bool remembered) {
  const Pattern& pattern = work_.set->patterns[planned.pattern];
  const Policy& policy = work_.set->policies[pattern.policy];
  const Binding& binding = policy.bindings[planned.binding];
  PatternMessage& message = new_message();
  message.pattern = planned.pattern;
  message.binding = planned.binding;
  message.steps = steps;
  message.among = among;
  message.time = time;
  message.line = line;
  message.id = store_.next_id();
  message.key_here = planned.key;
  message.remembered = remembered;
  message.was_certain = planned.completes;
  const bool completes = may_complete(pattern.spec, steps);
  message.waits =
      pattern.spec.kind == Kind::pair || (pattern.spec.kind == Kind::absence && (steps & 1U) != 0);
  if (message.waits || completes) message.payload = payload_of(policy, planned);

  if (!keys_.load_key(binding.key)) keys_.load_key_with_gaps(binding.key);
  keys_.hash_loaded_key();
  const std::string& spelled = store_.key(store_.spell_key(binding.key));
  store_.forget_last_key();
  if (pattern.shared->has_deadlines()) {
    message.key = store_.sharing()->prefix;
    message.key += pattern.shared->tag(SharedPattern::shard_of(planned.key));
    message.place = spelled;
  } else {
    message.key = spelled;
  }
  if (!completes) return;
  const bool pair = pattern.spec.kind == Kind::pair;
  const std::uint16_t last = pair ? planned.binding : pattern.steps.back().binding;
  for_winning_rungs(policy, policy.bindings[last], pattern.spec.steps, [&](std::size_t r) {
    (policy.rungs[r].shadow ? message.shadow : message.enforced) = static_cast<int>(r);
  });
}

void PatternJudging::delivered(const PatternMessage& message, const limiter::PatternReply& reply,
                               Instant now, bool here) {
  if (message.verb != SharedVerb::add) return;
  shared_due_ = std::min(shared_due_, reply.next);
  if (reply.matched == 0) return;
  const SetInUse in_use(matching_, message.loaded);
  work_.at = now;
  matches_ = reply.matches;  // empty but in replay, whose sink takes them
  remember_delivered(message, now, here);
}

bool PatternJudging::keep_here(PatternMessage& message, Instant now) {
  const SetInUse in_use(matching_, message.loaded);
  const Pattern& pattern = work_.set->patterns[message.pattern];
  const Policy& policy = work_.set->policies[pattern.policy];
  if (message.kept || message.verb != SharedVerb::add || pattern.spec.kind != Kind::sequence ||
      policy.on_error.what != config::OnErrorDef::What::local || pattern_bank_ == nullptr) {
    return false;
  }
  message.kept = true;
  matches_.clear();
  pattern_bank_->feed(pattern.id, message.key_here,
                      {message.time, message.line, message.steps, message.among, {}}, matches_);
  if (matches_.empty()) return true;
  work_.at = now;
  remember_delivered(message, now, false);
  message.remembered = true;  // also for the store's later reply
  return true;
}

/// matches_: of this event.
void PatternJudging::remember_delivered(const PatternMessage& message, Instant now, bool here) {
  const Pattern& pattern = work_.set->patterns[message.pattern];
  const Policy& policy = work_.set->policies[pattern.policy];
  limiter::Reader payload(message.payload);
  if (!read_texts(payload, keys_.printable())) return;
  for (const limiter::PatternMatch& match : matches_) report(policy, match);
  if (message.remembered) return;
  bool told_row = !here || work_.rows == nullptr || message.was_certain;
  for (const int rung : {message.enforced, message.shadow}) {
    if (rung < 0) continue;
    const auto r = static_cast<std::size_t>(rung);
    if (!std::exchange(told_row, true)) {
      PlannedPolicy judged;
      judged.policy = policy.index;
      const bool pair = pattern.spec.kind == Kind::pair;
      judged.binding = pair ? message.binding : pattern.steps.back().binding;
      row_reporting_.give_remembered(
          *work_.rows, judged, {rung, policy.rungs[r].effect, Value::integer(pattern.spec.steps)});
    }
    list_from_payload(policy, r, message.payload, pattern.spec.steps, now);
  }
}

void PatternJudging::ask_due(const PolicySet& set, std::size_t index, TimePoint at,
                             milliseconds lease, StoreOps& into) const {
  const SharedPattern& pattern = *set.patterns[index].shared;
  for (unsigned shard = 0; shard < SharedPattern::kShards; ++shard) {
    limiter::PatternAsk ask;
    ask.pattern = &pattern;
    ask.forgets = store_.sharing()->forgets;
    StoreOps::Item& item =
        into.add_pattern(SharedVerb::due, store_.sharing()->prefix + pattern.tag(shard), ask, {});
    item.op.at = at;
    item.op.lifetime = lease;
  }
}

void PatternJudging::take_due(std::size_t index, const limiter::SharedReply& reply, unsigned shard,
                              Instant now, milliseconds lease) {
  const Pattern& pattern = work_.set->patterns[index];
  shared_due_ = std::min(shared_due_, reply.pattern.next);
  const std::string tag = store_.sharing()->prefix + pattern.shared->tag(shard);
  const std::string* key = nullptr;
  for (const limiter::PatternMatch& match : reply.pattern.matches) {
    limiter::PatternMatch& out = due_.emplace_back(match);
    out.pattern = pattern.id;
    // By this worker's clock: entries begin at this time.
    out.fires = now.now - (reply.at - match.fires);
    if (lease == milliseconds{0}) continue;
    if (key == nullptr || *key != match.key) {  // the matches of one key are adjacent
      key = &match.key;
      PatternMessage* const done = &new_message();
      done->verb = SharedVerb::done;
      done->pattern = static_cast<std::uint16_t>(index);
      done->key = tag;
      done->place = match.key;
      done->time = reply.at + lease;
    }
  }
}

void PatternJudging::fire_due() {
  std::sort(due_.begin(), due_.end(), [](const auto& a, const auto& b) {
    return a.fires != b.fires ? a.fires < b.fires : a.order < b.order;
  });
  fire(due_);
  due_.clear();
}

}  // namespace weir::policies
