#include <boost/json/array.hpp>

#include "admin/keys.h"
#include "admin/routes.h"
#include "admin/views.h"
#include "policies/describe.h"
#include "policies/text_keys.h"

namespace weir::admin {
namespace {

namespace json = boost::json;

struct Target {
  const policies::Policy* policy = nullptr;
  std::vector<std::string> parts;
};

std::string why_no_counters(const policies::PolicySet& set, const policies::Policy& policy) {
  if (policy.pattern) {
    return "this policy counts nothing: it waits for a pattern; POST /v1/query on the event API says "
           "what waits for an event";
  }
  if (policy.meters.empty()) return "this policy counts nothing: it is a plain rule";
  std::string names;
  for (const policies::PolicyIndex meter : policy.meters)
    names.append(names.empty() ? "" : ", ").append(set.policies[meter].name);
  return "this policy counts nothing by itself; its metrics do: " + names;
}

std::variant<Target, net::HttpReply> target_of(const Call& call) {
  if (auto refused = call.refuse_unknown({"key"})) return std::move(*refused);
  Target target;
  target.policy = call.set->find_policy(call.name());
  if (target.policy == nullptr) return problem(404, "there is no policy of that name");
  if (target.policy->counters.empty()) return problem(404, why_no_counters(*call.set, *target.policy));
  auto parts = canonical_parts(call.query.all("key"), target.policy->bindings.front().key,
                               target.policy->key_names);
  if (auto* wrong = std::get_if<std::string>(&parts)) return problem(400, *wrong);
  target.parts = std::move(std::get<std::vector<std::string>>(parts));
  return target;
}

json::array texts(const std::vector<std::string>& parts) {
  json::array out;
  for (const std::string& part : parts) out.emplace_back(utf8_text(part));
  return out;
}

// The rungs that are read from this counter, with their thresholds as far as they are numbers.
json::array limits_of(const policies::PolicySet& set, const policies::Policy& policy,
                      std::size_t counter) {
  json::array out;
  for (std::size_t i = 0; i < policy.rungs.size(); ++i) {
    if (policy.rungs[i].counter != counter) continue;
    const Number* const number =
        std::get_if<Number>(&policy.bindings.front().rungs[i].limit.source);
    json::object row;
    row["rung"] = policies::rung_text(set, policy, i);
    row["limit"] = number != nullptr ? number_value(*number) : json::value();
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace

net::HttpReply get_counters(Call& call) {
  auto found = target_of(call);
  if (auto* refused = std::get_if<net::HttpReply>(&found)) return std::move(*refused);
  const Target& target = std::get<Target>(found);
  json::array rows;
  for (std::size_t i = 0; i < target.policy->counters.size(); ++i) {
    const policies::Counter& counter = call.set->counters[target.policy->counters[i]];
    const auto key = policies::counter_key(*call.set, *target.policy, counter,
                                           as_views(target.parts), call.stores.secret);
    if (!key) return problem(400, "the key does not fit the policy");
    const limiter::Reading reading =
        call.stores.counters.peek(counter.id, *key, call.at.moment(counter));
    json::object row;
    row["what"] = policies::counter_text(counter);
    row["window"] = window_value(counter);
    row["value"] = number_value(reading.value.finite());
    row["settled"] = number_value(reading.settled.finite());
    row["in_flight"] = reading.in_flight;
    row["limits"] = limits_of(*call.set, *target.policy, i);
    rows.push_back(std::move(row));
  }
  return json_reply({{"policy", target.policy->name},
                     {"key", texts(target.parts)},
                     {"counters", std::move(rows)}});
}

net::HttpReply reset_counters(Call& call) {
  auto found = target_of(call);
  if (auto* refused = std::get_if<net::HttpReply>(&found)) return std::move(*refused);
  const Target& target = std::get<Target>(found);
  for (const std::uint16_t index : target.policy->counters) {
    const policies::Counter& counter = call.set->counters[index];
    const auto key = policies::counter_key(*call.set, *target.policy, counter,
                                           as_views(target.parts), call.stores.secret);
    if (!key) return problem(400, "the key does not fit the policy");
    call.stores.counters.reset(counter.id, *key);
  }
  return json_reply({{"policy", target.policy->name},
                     {"key", texts(target.parts)},
                     {"reset", target.policy->counters.size()}});
}

}  // namespace weir::admin
