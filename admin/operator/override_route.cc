#include <algorithm>
#include <boost/json/array.hpp>

#include "admin/operator/counts.h"
#include "admin/operator/outlook.h"
#include "admin/operator/override_view.h"
#include "admin/operator/replicas.h"
#include "admin/routes.h"
#include "admin/views.h"
#include "config/text/units.h"
#include "policies/set/lineage.h"

/// The routes of temporary overrides: an operator changes the mode or the thresholds of a policy.
namespace weir::admin {
namespace {

namespace json = boost::json;

constexpr std::size_t kReasonBytesMax = 256;
constexpr std::size_t kLimitsMax = 16;
constexpr milliseconds kLongest{std::chrono::hours{24 * 31}};

std::string read_mode(const json::value& value, config::Override& change) {
  for (const Mode mode : {Mode::enforce, Mode::shadow, Mode::disabled}) {
    if (value.is_string() && text_of(value) == name_of(mode)) change.mode = mode;
  }
  return change.mode ? std::string() : "`mode` is enforce, shadow or disabled";
}

std::string read_limits(const json::value& value, config::Override& change) {
  if (!value.is_object() || value.get_object().empty() || value.get_object().size() > kLimitsMax)
    return "`set` is an object such as {\"over\": 20} or {\"deny.over\": 20}";
  for (const auto& [name, limit] : value.get_object()) {
    config::Override::Limit out;
    out.rung = utf8_text({name.data(), name.size()});
    if (std::string wrong = read_threshold(limit, out.rung, out.limit); !wrong.empty())
      return "`set`: " + wrong;
    change.limits.push_back(std::move(out));
  }
  return {};
}

std::string read_end(const json::object& body, TimePoint now, config::Override& change) {
  const json::value* const time = body.if_contains("for");
  const json::value* const until = body.if_contains("until");
  if ((time == nullptr) == (until == nullptr))
    return "an override ends by itself: give `for`, a duration such as 10m, or `until`";
  if (time != nullptr) {
    if (!time->is_string()) return "`for` is a text";
    const auto parsed = config::parse_duration(text_of(*time));
    if (!parsed) return "`for`: " + parsed.message;
    change.until = now + *parsed.value;
  } else {
    const auto parsed =
        until->is_string() ? config::parse_date(text_of(*until)) : config::Parsed<TimePoint>{};
    if (!parsed) return "`until` is a time of RFC 3339";
    change.until = *parsed.value;
  }
  if (change.until <= now) return "the override would be over already";
  if (change.until > now + kLongest) return "an override holds for 31 days at most";
  return {};
}

std::string read_override(const json::object& body, TimePoint now, config::Override& change) {
  const json::value* const mode = body.if_contains("mode");
  const json::value* const set = body.if_contains("set");
  if ((mode == nullptr) == (set == nullptr)) return "give either `mode` or `set`";
  std::string wrong = mode != nullptr ? read_mode(*mode, change) : read_limits(*set, change);
  if (wrong.empty()) wrong = read_end(body, now, change);
  if (!wrong.empty()) return wrong;
  if (const json::value* const reason = body.if_contains("reason"); reason != nullptr) {
    if (!reason->is_string() || reason->get_string().size() > kReasonBytesMax)
      return "`reason` is a text of at most " + std::to_string(kReasonBytesMax) + " bytes";
    change.reason = utf8_text(text_of(*reason));
  }
  change.since = now;
  return {};
}

net::HttpReply refused(const LoadReport& report) {
  const std::string why = report.problems.empty() ? "" : report.problems.front().message;
  return problem(422, "nothing was changed: " + why, load_view(report));
}

// Nothing is counted below 0. `deny.over`, `3.over`, `over` and so on.
bool always_holds(const config::Override::Limit& limit) {
  const std::string_view word = std::string_view(limit.rung).substr(limit.rung.rfind('.') + 1);
  return (word == "over" && limit.limit < Number{0}) || (word == "at" && limit.limit <= Number{0});
}

/// The entries of a policy that no longer lists: those of its own lists sleep, those on named lists
/// stay active, because others may have put them there, too.
std::string note_on_entries(const policies::PolicySet& set, std::string_view name,
                            const policies::Policy* policy) {
  bool own = policy != nullptr && !policy->lists_asleep.empty();
  std::vector<std::string> named;
  const auto add_name = [&](const std::string& list) {
    if (std::find(named.begin(), named.end(), list) == named.end()) named.push_back(list);
  };
  const auto add = [&](policies::ListIndex index) {
    const policies::List& list = set.lists[index];
    if (list.owner)
      own = own || !list.shadow;
    else
      add_name(list.name);
  };
  if (policy != nullptr) {
    for (const policies::Rung& rung : policy->rungs) {
      if (rung.list && !rung.disabled) add(*rung.list);
    }
    for (const policies::ListIndex index : policy->named_asleep) add(index);
  }
  for (const auto& [disabled, list] : set.disabled_lists) {
    if (disabled == name) add_name(list);
  }
  std::string out;
  if (own) out += "; the entries of its own lists act again when it ends";
  for (const std::string& list : named) {
    out += "; the entries on list " + list +
           " go on acting: " + shell_words({"weir", "ctl", "list", list});
  }
  return out;
}

/// `ended: shadow, over 20; `: each of those that were set for a policy and are not any more.
std::string ended_text(const std::vector<config::Override>& before,
                       const std::vector<config::Override>& after, std::string_view policy) {
  std::string out;
  for (const config::Override& each : before) {
    const auto is_same = [&](const config::Override& other) {
      return other.policy == each.policy && other.here == each.here &&
             config::override_text(other) == config::override_text(each);
    };
    if (each.policy != policy || std::any_of(after.begin(), after.end(), is_same)) continue;
    out += (out.empty() ? "ended: " : ", ") + config::override_text(each);
  }
  return out.empty() ? out : out + "; ";
}

/// The counters that an override replaces by others, because it changes what they count: whether a
/// rung clears them, or whether another policy may refuse the same events.
std::vector<policies::Lineage> replaced_counters(const policies::PolicySet& before,
                                                 const policies::PolicySet& now) {
  std::vector<policies::Lineage> out;
  for (policies::ReloadEffect& effect :
       policies::predict_reload(policies::lineage_of(before), policies::lineage_of(now))) {
    if (effect.fate == policies::ReloadEffect::Fate::empties &&
        effect.of.kind == policies::Lineage::Kind::counter)
      out.push_back(std::move(effect.of));
  }
  return out;
}

/// `claim`, which speaks of the policy's own counters, and the replaced counters. If own counters
/// are among them, they take the place of `claim`; without `own_too` the claim covers them.
std::string with_replaced(std::string claim, const std::vector<policies::Lineage>& replaced,
                          std::string_view policy, bool own_too) {
  const auto is_own = [&](const policies::Lineage& counter) { return counter.owner == policy; };
  const bool own = own_too && std::any_of(replaced.begin(), replaced.end(), is_own);
  std::string out = own ? std::string() : std::move(claim);
  for (const policies::Lineage& counter : replaced) {
    if (is_own(counter) && !own_too) continue;
    out += (out.empty() ? "" : "; ") + std::string("until the override ends, policy ") +
           counter.owner + " uses another counter (" + counter.text +
           "), without the events that were counted before";
  }
  return out;
}

// Explains the effect of the override on existing counts.
std::string note_on(const config::Override& change, const policies::PolicySet& set,
                    const policies::Policy* policy,
                    const std::vector<policies::Lineage>& replaced) {
  const auto counters = [&](const char* claim, bool own_too) {
    return with_replaced(claim, replaced, change.policy, own_too);
  };
  if (!change.mode) {
    const bool always = std::any_of(change.limits.begin(), change.limits.end(), always_holds);
    return counters("its counters keep what they have counted", true) +
           (always ? "; every event is above this threshold" : "");
  }
  switch (*change.mode) {
    case Mode::shadow:
      return counters("its counters go on counting", true) +
             note_on_entries(set, change.policy, policy);
    case Mode::disabled:
      if (policy != nullptr && policy->pattern && !set.patterns[*policy->pattern].shared) {
        return "its open matches are dropped, because it does not see what would end them "
               "meanwhile" +
               note_on_entries(set, change.policy, policy);
      }
      return counters(
                 "it counts nothing meanwhile; what it has counted comes back as far as its window "
                 "still holds it",
                 false) +
             note_on_entries(set, change.policy, policy);
    case Mode::enforce:
      break;
  }
  if (policy == nullptr || !policy->shadow)
    return counters("it is enforced as the files say it", true);
  return counters(
      "it begins with counters of its own, which are empty: what was counted in shadow is not held "
      "against anybody",
      false);
}

}  // namespace

json::array overrides_view(const Call& call, std::string_view policy) {
  json::array out;
  for (const config::Override& each : call.operations.overrides()) {
    if (!policy.empty() && each.policy != policy) continue;
    json::object limits;
    for (const config::Override::Limit& limit : each.limits)
      limits[limit.rung] = number_value(limit.limit);
    json::object row;
    row["policy"] = each.policy;
    row["mode"] = each.mode ? json::value(name_of(*each.mode)) : json::value();
    row["set"] = std::move(limits);
    row["text"] = config::override_text(each);
    put_time(row, "since", each.since);
    put_until(row, each.until, call.at.now);
    row["reason"] = each.reason;
    row["by"] = each.by;
    row["scope"] = each.here ? "here" : "all";
    out.push_back(std::move(row));
  }
  return out;
}

net::HttpReply get_overrides(Call& call) {
  if (auto wrong = call.refuse_unknown({})) return std::move(*wrong);
  return json_reply({{"overrides", overrides_view(call)}});
}

boost::asio::awaitable<net::HttpReply> override_policy(Call& call) {
  if (auto wrong = call.refuse_unknown({"replicas"})) co_return std::move(*wrong);
  auto where = scope_of(call);
  if (auto* wrong = std::get_if<net::HttpReply>(&where)) co_return std::move(*wrong);
  const Scope scope = std::get<Scope>(where);
  call.entry.shared = scope.board;
  auto body = read_object(call.request.body, {"mode", "set", "for", "until", "reason"});
  if (auto* wrong = std::get_if<net::HttpReply>(&body)) co_return std::move(*wrong);
  config::Override change;
  change.policy = call.name();
  const std::string wrong = read_override(std::get<json::object>(body), call.at.now, change);
  if (!wrong.empty()) co_return problem(400, wrong);
  const policies::Policy* const policy = call.set->find_policy(call.name());
  if ((policy == nullptr || policy->is_meter) && !is_disabled(*call.set, call.name()))
    co_return problem(404, "there is no policy of that name");
  if (call.entry.reason.empty()) call.entry.reason = utf8_text(change.reason);
  if (json::array before = overrides_view(call, call.name()); !before.empty())
    call.entry.before = std::move(before);
  std::string replaced;  // one of the same kind, which ends
  for (const config::Override& each : call.operations.overrides()) {
    if (!change.mode && each.policy == change.policy && !each.mode && (each.here || !scope.here) &&
        config::override_text(each) != config::override_text(change))
      replaced = "; it takes the place of " + config::override_text(each);
  }
  change.here = scope.here;
  change.by = call.entry.who;
  const LoadReport report = co_await call.operations.override_policy(change);
  if (!report.ok) co_return refused(report);
  const std::string note =
      note_on(change, *call.set, policy, replaced_counters(*call.set, *call.operations.policies()));
  json::object reply;
  reply["policy"] = call.name();
  reply["overrides"] = overrides_view(call, call.name());
  call.entry.after = reply["overrides"];
  reply["note"] = note + replaced + warnings_note(report) + scope_note(call, scope);
  if (scope.peers) reply["replicas"] = co_await on_other_replicas(call);
  co_return json_reply(reply);
}

boost::asio::awaitable<net::HttpReply> end_override(Call& call) {
  if (auto wrong = call.refuse_unknown({"replicas"})) co_return std::move(*wrong);
  auto where = scope_of(call);
  if (auto* wrong = std::get_if<net::HttpReply>(&where)) co_return std::move(*wrong);
  const Scope scope = std::get<Scope>(where);
  call.entry.shared = scope.board;
  const json::array before = overrides_view(call, call.name());
  const std::vector<config::Override> all = call.operations.overrides();
  const auto ends = std::count_if(all.begin(), all.end(), [&](const config::Override& each) {
    return each.policy == call.name() && (!scope.here || each.here);
  });
  if (ends == 0 && !before.empty())
    co_return problem(409, "the override of this policy holds on all replicas, not here alone");
  if (ends == 0 && !scope.peers)
    co_return problem(404, "there is no override of a policy of that name");
  call.entry.before = before;
  std::string name(call.name());
  LoadReport report;
  report.ok = true;  // there may be one elsewhere alone
  if (ends != 0) report = co_await call.operations.end_overrides(std::move(name), scope.here);
  if (!report.ok) co_return refused(report);
  json::object reply;
  reply["policy"] = call.name();
  reply["overrides"] = overrides_view(call, call.name());
  const bool left = !reply["overrides"].get_array().empty();
  if (left)
    call.entry.after = reply["overrides"];
  else
    call.entry.after = "as the files say it";
  reply["note"] = ended_text(all, call.operations.overrides(), call.name()) +
                  (left ? std::string("what holds on all replicas holds here again")
                        : "the policy is as the files say it" + scope_note(call, scope));
  if (scope.peers) reply["replicas"] = co_await on_other_replicas(call);
  co_return json_reply(reply);
}

}  // namespace weir::admin
