#include <algorithm>
#include <boost/json/array.hpp>

#include "admin/keys.h"
#include "admin/routes.h"
#include "admin/views.h"
#include "policies/judge/counts.h"
#include "policies/set/describe.h"
#include "policies/set/text_keys.h"

namespace weir::admin {
namespace {

namespace json = boost::json;

struct CounterTarget {
  const policies::Policy* policy = nullptr;
  std::vector<std::string> parts;
};

std::string why_no_counters(const policies::PolicySet& set, const policies::Policy& policy) {
  if (policy.pattern) {
    return "this policy counts nothing: it waits for a pattern; POST /v1/query on the event API "
           "says "
           "what waits for an event";
  }
  if (policy.meters.empty()) return "this policy counts nothing: it is a plain rule";
  std::string names;
  for (const policies::PolicyIndex meter : policy.meters)
    names.append(names.empty() ? "" : ", ").append(set.policies[meter].name);
  return "this policy counts nothing by itself; its metrics do: " + names;
}

std::variant<CounterTarget, net::HttpReply> target_of(
    const Call& call, std::initializer_list<std::string_view> parameters) {
  if (auto refused = call.refuse_unknown(parameters)) return std::move(*refused);
  CounterTarget target;
  target.policy = call.set->find_policy(call.name());
  if (target.policy == nullptr) return problem(404, "there is no policy of that name");
  if (target.policy->counters.empty())
    return problem(404, why_no_counters(*call.set, *target.policy));
  auto parts = canonical_parts(call.query.all("key"), target.policy->bindings.front().key,
                               target.policy->key_names);
  if (auto* wrong = std::get_if<std::string>(&parts)) return problem(400, *wrong);
  target.parts = std::move(std::get<std::vector<std::string>>(parts));
  return target;
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

json::object counts_of(const limiter::Reading& reading) {
  return {{"value", number_value(reading.value.finite())},
          {"settled", number_value(reading.settled.finite())},
          {"in_flight", reading.in_flight}};
}

bool is_shared(const Call& call, const policies::Policy& policy) {
  return std::any_of(policy.counters.begin(), policy.counters.end(), [&](std::uint16_t counter) {
    return call.set->counters[counter].shared != nullptr;
  });
}

StoreQuestion question_of(const Call& call, const CounterTarget& target, bool reset) {
  return {reset, call.set, target.policy->index, target.parts};
}

net::HttpReply no_store(const StoreAnswer& answer, const char* instead) {
  return problem(504, "the shared store has not answered: " + answer.why + "; " + instead);
}

}  // namespace

boost::asio::awaitable<net::HttpReply> get_counters(Call& call) {
  auto found = target_of(call, {"key", "from"});
  if (auto* refused = std::get_if<net::HttpReply>(&found)) co_return std::move(*refused);
  const CounterTarget& target = std::get<CounterTarget>(found);
  const auto from = call.query.one("from");
  if (call.query.has("from") && from != "store" && from != "here")
    co_return problem(400, "`from` is store or here");
  StoreAnswer store;
  if (is_shared(call, *target.policy) && from != "here") {
    store = co_await call.operations.ask_store(question_of(call, target, false));
    if (!store.why.empty())
      co_return no_store(
          store, "?from=here (weir ctl counter --here) shows what this replica has counted");
  }
  json::array rows;
  for (std::size_t i = 0; i < target.policy->counters.size(); ++i) {
    const policies::Counter& counter = call.set->counters[target.policy->counters[i]];
    const auto key = policies::counter_key(*call.set, *target.policy, counter,
                                           as_views(target.parts), call.stores.secret);
    if (!key) co_return problem(400, "the key does not fit the policy");
    const limiter::Reading here =
        policies::own_part(call.stores.counters, counter, *key, call.at.moment(counter));
    const bool of_all = counter.shared != nullptr && i < store.readings.size();
    json::object row = counts_of(of_all ? store.readings[i] : here);
    row["what"] = policies::counter_text(counter);
    row["window"] = window_value(counter);
    row["from"] = of_all ? "store" : "here";
    row["here"] = of_all ? json::value(counts_of(here)) : json::value();
    row["limits"] = limits_of(*call.set, *target.policy, i);
    rows.push_back(std::move(row));
  }
  co_return json_reply({{"policy", target.policy->name},
                        {"key", texts(target.parts)},
                        {"counters", std::move(rows)}});
}

boost::asio::awaitable<net::HttpReply> reset_counters(Call& call) {
  auto found = target_of(call, {"key"});
  if (auto* refused = std::get_if<net::HttpReply>(&found)) co_return std::move(*refused);
  const CounterTarget& target = std::get<CounterTarget>(found);
  const bool shared = is_shared(call, *target.policy);
  if (shared) {
    const StoreAnswer store = co_await call.operations.ask_store(question_of(call, target, true));
    if (!store.why.empty()) co_return no_store(store, "nothing was emptied here");
  }
  for (const std::uint16_t index : target.policy->counters) {
    const policies::Counter& counter = call.set->counters[index];
    const auto key = policies::counter_key(*call.set, *target.policy, counter,
                                           as_views(target.parts), call.stores.secret);
    if (!key) co_return problem(400, "the key does not fit the policy");
    call.stores.counters.reset(counter.id, *key);
    if (const auto* const average = counter.synced.average.get())
      call.stores.counters.reset(average->ones.id, *key);
  }
  co_return json_reply({{"policy", target.policy->name},
                        {"key", texts(target.parts)},
                        {"reset", target.policy->counters.size()},
                        {"shared", shared}});
}

}  // namespace weir::admin
