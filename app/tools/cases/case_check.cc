#include <algorithm>
#include <cmath>

#include "app/tools/cases/case_flight.h"
#include "app/tools/cases/case_names.h"
#include "app/tools/cases/case_run.h"
#include "config/text/units.h"
#include "core/assert.h"
#include "core/text.h"
#include "net/http/fields.h"
#include "policies/explain/explain.h"
#include "policies/set/describe.h"
#include "policies/set/text_keys.h"

/// Compares the result of a step with the expectations of its case.
namespace weir::app {
namespace {

/// The value of a header field among whole lines; null: there is none.
std::optional<std::string_view> find_line(std::string_view lines, std::string_view name) {
  while (!lines.empty()) {
    const std::size_t end = lines.find("\r\n");
    const std::string_view line = lines.substr(0, end);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && net::same_ignoring_case(line.substr(0, colon), name)) {
      std::string_view value = line.substr(colon + 1);
      while (value.starts_with(' ')) value.remove_prefix(1);
      return value;
    }
    lines = end == std::string_view::npos ? std::string_view{} : lines.substr(end + 2);
  }
  return std::nullopt;
}

std::string joined(const std::vector<config::Text>& parts) {
  std::string out;
  for (const config::Text& part : parts) out += (out.empty() ? "" : ", ") + part.value;
  return out;
}

}  // namespace

void CaseRun::fail(const Flight& flight, const config::Where& where, std::string message) {
  if (std::find(failed_steps_.begin(), failed_steps_.end(), flight.step) != failed_steps_.end())
    return;
  failed_steps_.push_back(flight.step);
  CaseFailure failure{where, std::move(message), {}, {}};
  const config::CaseStep& step = *flight.step;
  failure.step = step.request  ? flight.fill(step.request->value)
                 : step.event  ? "event " + step.event->value
                 : step.domain ? "a call of domain " + step.domain->value
                               : "the state";
  failure.step += " at " + human_duration(now_ - start_);
  if (step.repeat > 1) failure.step += ", repetition " + std::to_string(flight.number);
  if (flight.judged) {
    failure.why =
        trace_.why(step.expect && step.expect->by ? step.expect->by->value : std::string{});
  }
  failures_.push_back(std::move(failure));
}

void CaseRun::check_event(const Flight& flight, const policies::Plan& plan,
                          const policies::Verdict& verdict, const Effect& effect) {
  if (!flight.step->expect) return;
  const config::CaseExpect& expect = *flight.step->expect;
  // Refused only because of requests in flight: a case calls it `deny`, as the caller would.
  const std::string came = verdict.crowded ? "deny (because of the requests in flight)"
                                           : policies::verdict_word(verdict);
  const std::string by = policies::decided_by(*set_, plan, verdict);
  const std::string from = by.empty() ? std::string{} : " by " + by;
  if (expect.verdict && expect.verdict->value != (verdict.crowded ? "deny" : came)) {
    fail(flight, expect.verdict->where,
         "expected " + expect.verdict->value + ", came " + came + from);
  }
  const policies::Standing* decider =
      verdict.decider < 0 ? nullptr : &verdict.standings[static_cast<std::size_t>(verdict.decider)];
  if (expect.by && expect.by->value != by) {
    const bool own = decider != nullptr && decider->list && set_->lists[*decider->list].owner &&
                     set_->policies[*set_->lists[*decider->list].owner].name == expect.by->value;
    if (!own) {
      fail(flight, expect.by->where,
           "expected a verdict by " + expect.by->value +
               (names_disabled(*set_, expect.by->value) ? ", which is disabled" : "") + ", came " +
               came + from);
    }
  }
  if (expect.rung && (decider == nullptr || decider->rung != expect.rung->value)) {
    fail(flight, expect.rung->where,
         "expected rung " + std::to_string(expect.rung->value) + ", came " +
             (decider == nullptr ? "no rung" : std::to_string(decider->rung)) + from +
             " (the first one is 0)");
  }
  const auto number = [&](const std::optional<config::Text>& wanted, const char* what,
                          std::optional<Number> had) {
    if (!wanted) return;
    const std::string text = had ? had->to_string() : "none";
    const std::string filled = flight.fill(wanted->value);
    if (!same_value(filled, text)) {
      fail(flight, wanted->where,
           std::string("expected ") + what + " " + filled + ", came " + text + from);
    }
  };
  number(expect.value, "value",
         decider != nullptr && decider->has_value ? std::optional(decider->value) : std::nullopt);
  number(expect.limit, "limit", decider != nullptr ? decider->limit : std::nullopt);
  const int status = effect.kind == Effect::Kind::answer ? effect.status : 0;
  if (expect.status && expect.status->value != status) {
    fail(flight, expect.status->where,
         "expected status " + std::to_string(expect.status->value) + ", came " +
             (status == 0 ? "no answer of weir's own" : std::to_string(status)));
  }
  if (expect.score && expect.score->value != verdict.score) {
    fail(flight, expect.score->where,
         "expected score " + std::to_string(expect.score->value) + ", came " +
             std::to_string(verdict.score));
  }
  if (expect.hold && expect.hold->value != verdict.hold) {
    fail(flight, expect.hold->where,
         "expected a hold of " + human_duration(expect.hold->value) + ", came " +
             human_duration(verdict.hold));
  }
  check_lines(flight, expect.upstream, effect.upstream_headers, "for the app");
  check_lines(flight, expect.headers, effect.response_headers, "for the caller");
  if (expect.body && effect.body.find(flight.fill(expect.body->value)) == std::string_view::npos) {
    fail(flight, expect.body->where,
         "the body does not have this text: " + std::string(effect.body));
  }
  for (const auto& [policy, wanted] : expect.values) {
    const std::string* had = trace_.value(policy.value);
    const std::string filled = flight.fill(wanted.value);
    if (had == nullptr && filled == "none") continue;
    if (had == nullptr || !same_value(filled, *had)) {
      fail(flight, wanted.where,
           "expected " + policy.value + " to read " + filled + ", " +
               (had != nullptr                        ? "came " + *had
                : names_disabled(*set_, policy.value) ? "but it is disabled"
                                                      : "but it did not judge this event"));
    }
  }
}

void CaseRun::check_lines(const Flight& flight,
                          const std::vector<std::pair<config::Text, config::Text>>& wanted,
                          std::string_view lines, std::string_view whose) {
  for (const auto& [name, value] : wanted) {
    const auto had = find_line(lines, name.value);
    const std::string filled = flight.fill(value.value);
    if (filled == "none" ? !had : had && *had == filled) continue;
    fail(flight, value.where,
         "expected the header " + name.value + ": " + filled + " " + std::string(whose) +
             ", came " + (had ? std::string(*had) : std::string("none")));
  }
}

void CaseRun::check_state(const Flight& flight) {
  if (!flight.step->expect) return;
  const config::CaseExpect& expect = *flight.step->expect;
  for (const config::CaseEntry& entry : expect.listed) check_entry(flight, entry, true);
  for (const config::CaseEntry& entry : expect.not_listed) check_entry(flight, entry, false);
  for (const config::CasePattern& one : expect.patterns) check_pattern(flight, one);
  for (const config::CaseView& view : expect.views) check_view(flight, view);
  for (const auto& [name, times] : expect.notified) {
    const auto found = notified_.find(name.value);
    const std::size_t had = found == notified_.end() ? 0 : found->second;
    if (had != times) {
      fail(flight, name.where,
           "expected " + std::to_string(times) + " notifications of " + name.value + ", came " +
               std::to_string(had));
    }
  }
}

void CaseRun::check_pattern(const Flight& flight, const config::CasePattern& wanted) {
  const std::string& name = wanted.policy.value;
  const policies::Policy* policy = set_->find_policy(name);
  const bool disabled = policy == nullptr && names_disabled(*set_, name);
  WEIR_ASSERT(disabled || (policy != nullptr && policy->pattern));  // check_names() has seen it
  const std::vector<Match>& had = matches_[name];
  std::string came =
      (disabled ? ", which is disabled, came " : ", came ") + std::to_string(had.size());
  for (const Match& match : had) {
    came += (&match == had.data() ? ": " : "; ") + match.kind + " " + match.key + " at " +
            human_duration(match.fires - start_);
  }
  const std::size_t count = wanted.count.value_or(wanted.matches.size());
  if (had.size() != count) {
    return fail(flight, wanted.where,
                "expected " + std::to_string(count) + " matches of " + name + came);
  }
  for (std::size_t i = 0; i < wanted.matches.size(); ++i) {
    const config::CasePattern::Match& one = wanted.matches[i];
    bool same = !one.kind || one.kind->value == had[i].kind;
    same = same && (one.key.empty() || flight.fill(joined(one.key)) == had[i].key);
    if (one.at) {
      const auto offset = config::parse_duration(one.at->value);
      const TimePoint at =
          offset ? start_ + *offset.value : *config::parse_date(one.at->value).value;
      same = same && at == had[i].fires;
    }
    if (!same) {
      return fail(flight, one.where,
                  "expected another match " + std::to_string(i + 1) + " of " + name + came);
    }
  }
}

void CaseRun::check_entry(const Flight& flight, const config::CaseEntry& entry, bool wanted) {
  std::vector<const policies::List*> lists;
  if (const policies::List* list = set_->find_list(entry.list.value)) lists.push_back(list);
  if (const policies::Policy* policy = set_->find_policy(entry.list.value)) {
    for (const policies::ListIndex own : policy->own_lists) lists.push_back(&set_->lists[own]);
  }
  const bool disabled = lists.empty() && names_disabled(*set_, entry.list.value);
  WEIR_ASSERT(disabled || !lists.empty());  // check_names() has seen it
  std::vector<std::string> texts;
  for (const config::Text& part : entry.key) texts.push_back(flight.fill(part.value));
  const std::vector<std::string_view> parts(texts.begin(), texts.end());
  bool is_listed = false;
  for (const policies::List* list : lists) {
    const auto key = policies::list_key(*set_, *list, parts, secret_);
    if (!key) {
      return fail(
          flight, entry.list.where,
          "the list \"" + list->name + "\" has no such keys as \"" + joined(entry.key) + "\"");
    }
    const auto address = list->of_address ? Address::parse(texts.front()) : std::nullopt;
    const limiter::BulkList* const bulk = list->bulk ? list->bulk->get() : nullptr;
    is_listed = is_listed || lists_.find(list->id, *key, now_).listed ||
                list->fixed.find(*key, address ? &*address : nullptr, now_) != nullptr ||
                (bulk != nullptr && bulk->find(*key, address ? &*address : nullptr, now_));
  }
  if (is_listed == wanted) return;
  std::string key;
  for (const std::string& text : texts) key += (key.empty() ? "" : ", ") + text;
  fail(flight, entry.list.where,
       "expected " + key + (wanted ? " on " : " not on ") + entry.list.value +
           (disabled ? ", which is disabled"
            : wanted ? ", and it is not"
                     : ", and it is"));
}

}  // namespace weir::app
