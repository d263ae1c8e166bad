#include <algorithm>
#include <boost/json/array.hpp>

#include "admin/keys.h"
#include "admin/operator/counts.h"
#include "admin/operator/outlook.h"
#include "admin/routes.h"
#include "admin/views.h"
#include "policies/set/describe.h"
#include "policies/set/text_keys.h"

namespace weir::admin {
namespace {

namespace json = boost::json;

struct CounterTarget {
  const policies::Policy* policy = nullptr;
  std::vector<std::string> parts;
};

std::variant<CounterTarget, net::HttpReply> target_of(
    const Call& call, std::initializer_list<std::string_view> parameters) {
  if (auto refused = call.refuse_unknown(parameters)) return std::move(*refused);
  CounterTarget target;
  target.policy = call.set->find_policy(call.name());
  if (target.policy == nullptr) return problem(404, why_no_policy(*call.set, call.name()));
  if (target.policy->counters.empty())
    return problem(404, why_no_counters(*call.set, *target.policy));
  auto parts = canonical_parts(call.query.all("key"), target.policy->bindings.front().key,
                               target.policy->key_names);
  if (auto* wrong = std::get_if<std::string>(&parts)) return problem(400, *wrong);
  target.parts = std::move(std::get<std::vector<std::string>>(parts));
  return target;
}

json::object counts_of(const limiter::KeptReading& reading) {
  return {{"value", value_of(reading, reading.value)},
          {"settled", value_of(reading, reading.settled)},
          {"in_flight", reading.in_flight}};
}

/// The entries that the policy has made of the key on the lists of its rungs.
std::vector<MadeEntry> entries_of(const Call& call, const CounterTarget& target) {
  std::vector<MadeEntry> out;
  for (const policies::Rung& rung : target.policy->rungs) {
    if (!rung.list) continue;
    const policies::List* const list = &call.set->lists[*rung.list];
    const bool is_known = std::any_of(out.begin(), out.end(),
                                      [&](const MadeEntry& each) { return each.first == list; });
    if (is_known || list->of != target.policy->key_names) continue;
    const auto key =
        policies::list_key(*call.set, *list, as_views(target.parts), call.stores.secret);
    auto entry = key ? call.stores.lists.get(list->id, *key, call.at.now) : std::nullopt;
    if (entry) out.emplace_back(list, std::move(*entry));
  }
  return out;
}

net::HttpReply no_store(const std::string& why, const char* instead) {
  return problem(504, "the shared store has not answered: " + why + "; " + instead);
}

}  // namespace

boost::asio::awaitable<net::HttpReply> get_counters(Call& call) {
  auto found = target_of(call, {"key", "from"});
  if (auto* refused = std::get_if<net::HttpReply>(&found)) co_return std::move(*refused);
  const CounterTarget& target = std::get<CounterTarget>(found);
  const auto from = call.query.one("from");
  if (call.query.has("from") && from != "store" && from != "here")
    co_return problem(400, "`from` is store or here");
  const Counts counts = co_await read_counts(call, *target.policy, target.parts, from != "here");
  if (!counts.why_here.empty()) {
    co_return no_store(counts.why_here,
                       "?from=here (weir ctl counter --here) shows what this replica has counted");
  }
  if (!counts.fits) co_return problem(400, "the key does not fit the policy");
  const std::vector<MadeEntry> made = entries_of(call, target);
  json::array rows;
  for (std::size_t i = 0; i < counts.rows.size(); ++i) {
    const Count& count = counts.rows[i];
    json::object row = counts_of(count.best_known());
    row["what"] = policies::counter_text(*count.counter);
    row["window"] = window_value(*count.counter);
    row["from"] = count.all ? "store" : "here";
    row["here"] = count.all ? json::value(counts_of(count.here)) : json::value();
    row["limits"] = rungs_of(call, *target.policy, i, {target.parts, made}, nullptr);
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
  // The store is not asked twice: for counters that replicas share, reads the counts of this one.
  const Counts counts = co_await read_counts(call, *target.policy, target.parts, false);
  json::array before;
  for (const Count& count : counts.rows) before.push_back(counts_of(count.here));
  const std::string why = co_await empty_counts(call, *target.policy, target.parts);
  if (!why.empty()) co_return no_store(why, "nothing was emptied here");
  if (is_shared(*call.set, *target.policy)) {
    call.entry.before = {{"here", std::move(before)}};
  } else {
    call.entry.before = std::move(before);
  }
  call.entry.after = "empty";
  call.entry.shared = is_shared(*call.set, *target.policy);
  co_return json_reply({{"policy", target.policy->name},
                        {"key", texts(target.parts)},
                        {"reset", target.policy->counters.size()},
                        {"shared", is_shared(*call.set, *target.policy)}});
}

}  // namespace weir::admin
