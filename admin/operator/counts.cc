#include "admin/operator/counts.h"

#include <algorithm>

#include "admin/json.h"
#include "admin/keys.h"
#include "policies/judgement/counts.h"
#include "policies/set/text_keys.h"

namespace weir::admin {
namespace json = boost::json;
namespace {

constexpr const char* kKeyDoesNotFit = "the key does not fit the policy";

}  // namespace

bool is_shared(const policies::PolicySet& set, const policies::Policy& policy) {
  return std::any_of(policy.counters.begin(), policy.counters.end(), [&](std::uint16_t counter) {
    return set.counters[counter].shared != nullptr;
  });
}

json::value value_of(const limiter::KeptReading& reading, Number number) {
  if (!reading.last) return number_value(number.finite());
  if (const bool* const boolean = std::get_if<bool>(&*reading.last)) return *boolean;
  if (const Number* const last = std::get_if<Number>(&*reading.last))
    return number_value(last->finite());
  return json::string(utf8_text(std::get<std::string>(*reading.last)));
}

bool is_disabled(const policies::PolicySet& set, std::string_view name) {
  return std::find(set.disabled.begin(), set.disabled.end(), name) != set.disabled.end();
}

std::string why_no_policy(const policies::PolicySet& set, std::string_view name) {
  return is_disabled(set, name)
             ? "this policy is disabled: what it has counted comes back with it, as far as its "
               "window still holds it"
             : "there is no policy of that name";
}

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

boost::asio::awaitable<Counts> read_counts(const Call& call, const policies::Policy& policy,
                                           std::vector<std::string> parts, bool ask_store) {
  Counts out;
  StoreAnswer store;
  if (ask_store && is_shared(*call.set, policy)) {
    StoreQuestion question{false, call.set, policy.index, parts};
    store = co_await call.operations.ask_store(std::move(question));
    out.why_here = store.why;
  }
  for (std::size_t i = 0; i < policy.counters.size(); ++i) {
    const policies::Counter& counter = call.set->counters[policy.counters[i]];
    const auto key =
        policies::counter_key(*call.set, policy, counter, as_views(parts), call.stores.secret);
    if (!key) {
      out.rows.clear();
      out.fits = false;
      break;
    }
    Count row;
    row.counter = &counter;
    row.here = policies::own_part(call.stores.counters, counter, *key, call.at.moment(counter));
    if (counter.shared != nullptr && store.why.empty() && i < store.readings.size())
      row.all = store.readings[i];
    out.rows.push_back(row);
  }
  co_return out;
}

boost::asio::awaitable<std::string> empty_counts(const Call& call, const policies::Policy& policy,
                                                 std::vector<std::string> parts) {
  std::vector<std::pair<const policies::Counter*, limiter::CounterKey>> keys;
  for (const std::uint16_t index : policy.counters) {
    const policies::Counter& counter = call.set->counters[index];
    const auto key =
        policies::counter_key(*call.set, policy, counter, as_views(parts), call.stores.secret);
    if (!key) co_return std::string(kKeyDoesNotFit);
    keys.emplace_back(&counter, *key);
  }
  if (is_shared(*call.set, policy)) {
    StoreQuestion question{true, call.set, policy.index, parts};
    const StoreAnswer store = co_await call.operations.ask_store(std::move(question));
    if (!store.why.empty()) co_return store.why;
  }
  for (const auto& [counter, key] : keys) {
    call.stores.counters.reset(counter->id, key);
    if (const auto* const average = counter->synced.average.get())
      call.stores.counters.reset(average->ones.id, key);
  }
  co_return std::string();
}

}  // namespace weir::admin
