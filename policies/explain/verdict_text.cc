#include "policies/explain/verdict_text.h"

#include <algorithm>

#include "core/chars/own_headers.h"
#include "core/http_status.h"
#include "core/text.h"
#include "policies/explain/quota.h"
#include "policies/explain/rate_headers.h"

namespace weir::policies {
namespace {

constexpr std::string_view kProblemJson = "application/problem+json";

std::string_view name_of(const PolicySet& set, const Standing& standing) {
  if (standing.policy) return set.policies[*standing.policy].name;
  return set.lists[*standing.list].name;
}

/// The title of a refusal; policies may name a status that HTTP has no phrase for.
std::string_view title_of(int status) {
  const std::string_view phrase = reason_phrase(status);
  return phrase.empty() ? "Refused" : phrase;
}

/// The mistake that the caller can correct, in words that reveal nothing of the policies.
std::string_view detail_of(MissReason why) {
  switch (why) {
    case MissReason::ambiguous:
      return "A field of the request is ambiguous: the request has it more than once, as a list, "
             "or "
             "in "
             "two spellings.";
    case MissReason::too_large:
      return "The body is larger than it may be here.";
    case MissReason::too_costly:
      return "A field of the request is larger than it may be here.";
    case MissReason::encoded:
      return "The body has a Content-Encoding; send it as it is.";
    case MissReason::unreadable:
      return "A field of the request cannot be read: a body must be JSON, a form or multipart, as "
             "its Content-Type says, values must be UTF-8, and a whole number has no fraction.";
    case MissReason::path:
      return "The path has no one meaning: servers read its escapes or segments in different ways.";
    case MissReason::none:
      return "This cannot be decided at the moment.";
    default:
      return "A field of the request is missing, or has a value that cannot be used.";
  }
}

/// The body that the file gives to such refusals, and its type; empty: none.
std::pair<std::string_view, std::string_view> body_of(const PolicySet& set,
                                                      const Standing& standing) {
  if (standing.list) {
    const List& list = set.lists[*standing.list];
    return {list.body, list.content_type};
  }
  if (standing.rung < 0) return {};
  const Rung& rung = set.policies[*standing.policy].rungs[static_cast<std::size_t>(standing.rung)];
  return {rung.body, rung.content_type};
}

/// For a request that passes, the first standing with an effect.
Effect::Cause cause_of(const PolicySet& set, const Verdict& verdict) {
  Effect::Cause cause;
  const Standing* who = nullptr;
  if (verdict.decider >= 0) {
    who = &verdict.standings[static_cast<std::size_t>(verdict.decider)];
  } else if (!verdict.standings.empty() && !verdict.standings.front().shadow) {
    who = &verdict.standings.front();
  }
  if (who == nullptr) return cause;
  cause.name = name_of(set, *who);
  const ActionRow& row = row_of(verdict.effect);
  cause.verdict = row.verdict.empty() ? row.name : row.verdict;
  cause.is_list = !who->policy;
  cause.rung = who->rung;
  if (who->has_value) cause.value = who->value;
  cause.limit = who->limit;
  cause.in_flight = who->in_flight;
  cause.possible = who->possible;
  return cause;
}

}  // namespace

Effect VerdictText::render(const PolicySet& set, const Plan& plan, const Verdict& verdict,
                           Instant at) {
  // Most requests: no policy has an effect, and none announces its quota.
  if (verdict.kind == Verdict::Kind::pass && verdict.standings.empty() && !set.any_announced)
    return {};
  upstream_.clear();
  response_.clear();
  body_.clear();
  Effect effect;
  switch (verdict.kind) {
    case Verdict::Kind::wait:
      effect.kind = Effect::Kind::wait;
      return effect;
    case Verdict::Kind::hold:
      effect.kind = Effect::Kind::delay;
      effect.hold = verdict.hold;
      [[fallthrough]];
    case Verdict::Kind::pass:
      if (!verdict.standings.empty()) render_pass(set, verdict, effect);
      render_announcements(set, plan, at);
      break;
    case Verdict::Kind::refuse:
      effect.kind = Effect::Kind::answer;
      render_refusal(set, verdict, effect);
      break;
  }
  if (!verdict.standings.empty()) effect.cause = cause_of(set, verdict);
  effect.upstream_headers = upstream_;
  effect.response_headers = response_;
  effect.body = body_;
  return effect;
}

void VerdictText::render_pass(const PolicySet& set, const Verdict& verdict, Effect&) {
  list_.clear();
  // A policy's own list bears its name.
  const auto same = [](const Standing& a, const Standing& b) {
    return a.policy == b.policy && (a.policy || a.list == b.list);
  };
  for (const Standing& standing : verdict.standings) {
    if (standing.shadow) continue;
    // A policy with an effect through several of its keys or events, or through its list and a
    // rung, is named once, by a rung if there is one: it has numbers.
    const bool named =
        std::any_of(verdict.standings.begin(), verdict.standings.end(), [&](const Standing& other) {
          if (other.shadow || !same(other, standing)) return false;
          const bool told_more = other.rung >= 0 && standing.rung < 0;
          const bool told_less = other.rung < 0 && standing.rung >= 0;
          return told_more || (!told_less && &other < &standing);
        });
    if (named) continue;
    ReadingText reading;
    reading.name = name_of(set, standing);
    if (standing.rung >= 0) {
      if (standing.has_value) reading.value = standing.value;
      reading.limit = standing.limit;
      reading.window = standing.window;
      reading.possible = standing.possible;
    }
    append_policy_item(list_, reading);
  }
  if (list_.empty()) return;
  if (const auto word = row_of(verdict.effect).verdict; !word.empty()) {
    upstream_.append(kVerdictHeader).append(": ").append(word).append("\r\n");
  }
  upstream_.append(kPolicyHeader).append(": ").append(list_).append("\r\n");
  if (verdict.score != 0) {
    char buffer[32];
    upstream_.append(kScoreHeader)
        .append(": ")
        .append(buffer, Number{verdict.score}.to_chars(buffer))
        .append("\r\n");
  }
}

void VerdictText::append_violation(const PolicySet& set, const Standing& standing,
                                   milliseconds retry_after) {
  if (standing.rung < 0 || !standing.limit) return;
  const Policy& policy = set.policies[*standing.policy];
  Quota quota;
  quota.name = policy.name;
  quota.allowed =
      admitted(*standing.limit, policy.rungs[static_cast<std::size_t>(standing.rung)].compare);
  quota.window = standing.window;
  quota.reset = retry_after;
  append_quota(quota_policies_, quota_limits_, quota);
}

/// Renders the defect of the request itself. `tell: retry` describes a valid request,
/// `full` also which policy asks for which field.
void VerdictText::render_defect(const PolicySet& set, const Standing& standing,
                                const Verdict& verdict, Effect& effect) {
  if (standing.tell == Tell::nothing) return;
  if (verdict.retry_after.count() > 0) append_retry_after(response_, verdict.retry_after);
  body_.append("{\"type\":\"about:blank\",\"title\":\"").append(title_of(verdict.status));
  body_.append("\",\"status\":").append(std::to_string(verdict.status));
  body_.append(",\"detail\":\"").append(detail_of(standing.why)).append("\"");
  if (standing.tell == Tell::full) {
    // Names of policies and lists need no escape: letters, digits, `_`, `-` and `:`.
    body_.append(standing.policy ? ",\"policy\":\"" : ",\"list\":\"");
    body_.append(name_of(set, standing)).append("\",\"field\":");
    append_json(body_, standing.field);
  }
  body_.append("}\n");
  effect.content_type = kProblemJson;
}

void VerdictText::render_refusal(const PolicySet& set, const Verdict& verdict, Effect& effect) {
  effect.status = static_cast<std::uint16_t>(verdict.status);
  const Standing& standing = verdict.standings[static_cast<std::size_t>(verdict.decider)];
  if (!standing.field.empty()) return render_defect(set, standing, verdict, effect);
  if (verdict.effect == Action::challenge && !verdict.crowded) {
    const config::Server::Challenge& challenge = set.challenge;
    if (!challenge.redirect.empty()) {
      effect.status = static_cast<std::uint16_t>(challenge.status);  // instead of a rung's own
      response_.append("Location: ").append(challenge.redirect).append("\r\n");
    } else {
      body_ = challenge.body;
      effect.content_type = challenge.content_type;
    }
    response_.append("Cache-Control: no-store\r\n");
    return;
  }
  if (const auto [own, type] = body_of(set, standing); !own.empty()) {
    body_ = own;
    effect.content_type = type;
  }
  if (verdict.tell == Tell::nothing) return;
  const bool ends = !standing.until || *standing.until < limiter::kForever;
  if (ends) append_retry_after(response_, verdict.retry_after);
  if (verdict.tell != Tell::full) return;
  quota_policies_.clear();
  quota_limits_.clear();
  append_violation(set, standing, verdict.retry_after);
  if (!quota_policies_.empty()) {
    response_.append("RateLimit-Policy: ").append(quota_policies_).append("\r\n");
    response_.append("RateLimit: ").append(quota_limits_).append("\r\n");
  }
  if (!body_.empty()) return;
  body_.append("{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\"");
  body_.append(",\"title\":\"").append(title_of(verdict.status));
  body_.append("\",\"status\":").append(std::to_string(verdict.status));
  body_.append(",\"violated-policies\":[\"").append(name_of(set, standing)).append("\"]}\n");
  effect.content_type = kProblemJson;
}

void VerdictText::render_announcements(const PolicySet& set, const Plan& plan, Instant at) {
  if (plan.policies.empty()) return;
  quota_policies_.clear();
  quota_limits_.clear();
  for (const PlannedPolicy& planned : plan.policies) {
    const Policy& policy = set.policies[planned.policy];
    if (!policy.announce || policy.shadow || !planned.applies) continue;
    if (const auto quota = quota_of(set, plan, planned, at)) {
      append_quota(quota_policies_, quota_limits_, *quota);
    }
  }
  if (quota_policies_.empty()) return;
  response_.append("RateLimit-Policy: ").append(quota_policies_).append("\r\n");
  response_.append("RateLimit: ").append(quota_limits_).append("\r\n");
}

}  // namespace weir::policies
