#include <algorithm>

#include "core/assert.h"
#include "limiter/memory/frame.h"
#include "policies/judge/pattern_judging.h"

namespace weir::policies {
namespace {

void put_texts(std::string& out, const std::vector<std::string_view>& texts) {
  limiter::put_varint(out, texts.size());
  for (const std::string_view text : texts) limiter::put_text(out, text);
}

}  // namespace

bool PatternJudging::read_texts(limiter::Reader& in, std::vector<std::string_view>& texts) {
  texts.clear();
  const std::uint64_t n = in.varint();
  for (std::uint64_t i = 0; i < n && in.ok(); ++i) texts.push_back(in.text());
  return in.ok();
}

std::string_view PatternJudging::payload_of(const Policy& policy, const PlannedPattern& planned) {
  const Binding& binding = policy.bindings[planned.binding];
  payload_.clear();
  if (!keys_.load_key(binding.key)) keys_.load_key_with_gaps(binding.key);
  keys_.load_texts();
  put_texts(payload_, keys_.printable());
  for (std::size_t r = 0; r < policy.rungs.size(); ++r) {
    const auto& on = policy.rungs[r].list;
    const bool before =
        std::any_of(policy.rungs.begin(), policy.rungs.begin() + static_cast<std::ptrdiff_t>(r),
                    [&](const Rung& other) { return other.list == on; });
    if (!on || before) continue;
    const List& list = work_.set->lists[*on];
    if (!memory_.load_listed_key(policy, planned.binding, r)) continue;
    const Hash128 key = keys_.key_hash().owned_by(list.identity);
    keys_.load_texts();
    for (const std::uint64_t word : {list.identity.lo, list.identity.hi, key.lo, key.hi}) {
      limiter::put(payload_, word);
    }
    put_texts(payload_, keys_.printable());
  }
  return payload_;
}

void PatternJudging::advance(TimePoint watermark) {
  if (pattern_bank_ == nullptr || pattern_bank_->due() > watermark) return;
  matches_.clear();
  pattern_bank_->advance(watermark, matches_);
  fire(matches_);
}

void PatternJudging::end_of_input(TimePoint last, bool flush) {
  if (pattern_bank_ == nullptr) return;
  matches_.clear();
  pattern_bank_->end_of_input(last, flush, matches_);
  fire(matches_);
}

void PatternJudging::fire(const limiter::PatternMatches& matches) {
  for (const limiter::PatternMatch& match : matches) {
    // Not ours: a reload has taken the policy away.
    const auto pattern = std::find_if(work_.set->patterns.begin(), work_.set->patterns.end(),
                                      [&](const Pattern& p) { return p.id == match.pattern; });
    if (pattern == work_.set->patterns.end()) continue;
    const Policy& policy = work_.set->policies[pattern->policy];
    limiter::Reader payload(match.payload);
    if (!read_texts(payload, keys_.printable())) continue;
    report(policy, match);
    fire_rungs(policy, match);
  }
}

void PatternJudging::fire_rungs(const Policy& policy, const limiter::PatternMatch& match) {
  const Pattern& pattern = work_.set->patterns[*policy.pattern];
  const Binding& binding = policy.bindings[pattern.steps[match.events[0].step].binding];
  const Instant at{match.fires, match.fires};
  work_.at = at;
  Record nothing;
  nothing.event = binding.event;
  nothing.time = match.fires;
  work_.frame.begin(work_.set->slots, nothing, work_.oracle);
  for_winning_rungs(policy, binding, match.count, [&](std::size_t r) {
    list_from_payload(policy, r, match.payload, match.count, at);
  });
}

/// Lists the key of an event that is gone.
void PatternJudging::list_from_payload(const Policy& policy, std::size_t r, std::string_view bytes,
                                       std::uint8_t events, Instant at) {
  const Rung& rung = policy.rungs[r];
  if (!rung.list && !rung.notify) return;
  limiter::Reader payload(bytes);
  if (!read_texts(payload, keys_.printable())) return;
  Hash128 key;
  bool known = !rung.list;
  while (!known && payload.ok() && !payload.at_end()) {
    const Hash128 list{payload.get<std::uint64_t>(), payload.get<std::uint64_t>()};
    key = {payload.get<std::uint64_t>(), payload.get<std::uint64_t>()};
    known = read_texts(payload, keys_.printable()) &&
            list == work_.set->lists[*rung.list].identity &&
            keys_.printable().size() == work_.set->lists[*rung.list].of.size();
  }
  // Unknown: the list has come with a reload, or its fields were missing.
  if (known) memory_.put_on_list(policy, rung, r, Value::integer(events), std::nullopt, key, at);
}

/// The severest rung that holds, of the enforced and of the shadow ones.
void PatternJudging::for_winning_rungs(const Policy& policy, const Binding& binding,
                                       std::uint8_t events,
                                       const std::function<void(std::size_t)>& what) {
  for (const bool shadow : {false, true}) {
    const Winner won =
        ladder_.best_rung(policy, shadow, [&](std::size_t r, const Rung&, Value& value) {
          value = Value::integer(events);
          return ladder_.rung_holds(policy, binding, r, value, std::nullopt);
        });
    if (won.rung >= 0) what(static_cast<std::size_t>(won.rung));
  }
}

void PatternJudging::report_matches(const Policy& policy, const Binding& binding) {
  if (matches_.empty() || pattern_sink_ == nullptr) return;
  if (!keys_.load_key(binding.key)) keys_.load_key_with_gaps(binding.key);
  keys_.load_texts();
  for (const limiter::PatternMatch& match : matches_) report(policy, match);
}

/// views_: the printable key.
void PatternJudging::report(const Policy& policy, const limiter::PatternMatch& match) {
  if (pattern_sink_ == nullptr) return;
  const Pattern& pattern = work_.set->patterns[*policy.pattern];
  matched_events_.clear();
  for (std::size_t i = 0; i < match.count; ++i) {
    const auto& step = match.events[i];
    const Binding& binding = policy.bindings[pattern.steps[step.step].binding];
    matched_events_.push_back({work_.set->events[binding.event].name, step.line, step.ts});
  }
  pattern_sink_->pattern({&policy, keys_.printable(), match.kind, match.fires, matched_events_});
}

}  // namespace weir::policies
