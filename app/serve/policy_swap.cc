#include "app/serve/policy_swap.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/change/loss.h"
#include "app/serve/serving_worker.h"
#include "app/serve/worker_team.h"
#include "core/key.h"
#include "core/no_memory.h"
#include "core/text.h"
#include "policies/set/lineage.h"

namespace weir::app {
namespace {

namespace asio = boost::asio;

/// A policy, list or view of the set that all replicas share.
std::optional<std::string> what_shares(const policies::PolicySet& set) {
  for (const policies::Policy& policy : set.policies) {
    if (policy.shared) return "policy \"" + policy.name + "\"";
  }
  for (const policies::List& list : set.lists) {
    if (list.shared) return "list \"" + list.name + "\"";
  }
  for (const policies::View& view : set.views) {
    if (view.shared) return "view \"" + view.name + "\"";
  }
  return std::nullopt;
}

}  // namespace

PolicySwap::PolicySwap(Stores stores, ListFeeds& feeds, WorkerTeam& workers, bool has_redis,
                       Log& log)
    : stores_(stores), feeds_(feeds), workers_(workers), has_redis_(has_redis), log_(log) {}

void PolicySwap::close_unused(const policies::PolicySet& set) {
  std::vector<limiter::CounterId> used;
  used.reserve(set.counters.size());
  for (const policies::Counter& counter : set.counters) {
    used.push_back(counter.id);
    if (const auto* const average = counter.synced.average.get()) used.push_back(average->ones.id);
  }
  stores_.counters.close_unused(used);
  std::vector<limiter::PatternId> patterns;
  patterns.reserve(set.patterns.size());
  for (const policies::Pattern& pattern : set.patterns) patterns.push_back(pattern.id);
  stores_.patterns.close_unused(patterns);
  std::vector<limiter::ListId> lists;
  lists.reserve(set.lists.size());
  for (const policies::List& list : set.lists) lists.push_back(list.id);
  stores_.lists.close_unused(lists);
}

namespace {

/// The counters of `next` that `in_force` lacks.
std::size_t new_counters(const policies::PolicySet& in_force, const policies::PolicySet& next) {
  std::set<Hash128> running;
  for (const policies::Counter& counter : in_force.counters) running.insert(counter.identity);
  return static_cast<std::size_t>(std::count_if(
      next.counters.begin(), next.counters.end(),
      [&](const policies::Counter& counter) { return !running.contains(counter.identity); }));
}

/// Why a set does not fit. Until all workers have changed over, both sets are there. `error`: of
/// the bank that `what` names.
std::string no_room_text(const policies::PolicySet& in_force, const policies::PolicySet& next,
                         policies::PolicySet::Attached what,
                         const boost::system::error_code& error) {
  const auto beside = [](std::size_t running, std::size_t wanted, std::string_view name,
                         std::string_view most) {
    return "its " + human_count(wanted) + " " + std::string(name) + " do not fit beside the " +
           human_count(running) + " of the running policies, which stay until the change is " +
           "complete: there are at most " + std::string(most);
  };
  switch (what) {
    case policies::PolicySet::Attached::patterns:
      return beside(in_force.patterns.size(), next.patterns.size(), "patterns", "1,024");
    case policies::PolicySet::Attached::lists:
      return beside(in_force.lists.size(), next.lists.size(), "lists", "16,384");
    case policies::PolicySet::Attached::counters:
      break;
  }
  if (error == Error::full)
    return beside(in_force.counters.size(), new_counters(in_force, next), "new counters", "16,384");
  return human_count(new_counters(in_force, next)) +
         " of its counters are new, and limits.memory has no room for them beside those of the "
         "running policies, which stay until the change is complete: lower keys:, add fewer "
         "policies at a time, or raise limits.memory and restart weir";
}

}  // namespace

asio::awaitable<std::string> PolicySwap::replace(std::shared_ptr<policies::PolicySet>& in_force,
                                                 std::shared_ptr<policies::PolicySet> next) {
  if (const auto shares = what_shares(*next); !has_redis_ && shares) {
    co_return *shares +
        " needs Redis, but weir was started without a `redis` section: restart weir";
  }
  Result<void> attached;
  auto step = policies::PolicySet::Attached::counters;
  std::vector<std::string> closed;  // and may come back
  if (!survives_no_memory([&] {
        for (const Hash128& identity : stores_.counters.closed())
          closed.push_back(hex_of(identity));
        attached =
            next->attach(stores_.counters, stores_.lists, stores_.secret, &stores_.patterns, &step);
        next->attach_views(stores_.views);
      })) {
    close_unused(*in_force);
    co_return "there is no memory for its policies beside those that are running";
  }
  if (!attached) {
    close_unused(*in_force);  // that it opened before room ran out
    co_return no_room_text(*in_force, *next, step, attached.error());
  }
  if (std::string refusal = co_await feeds_.feed(*next); !refusal.empty()) {
    close_unused(*in_force);
    feeds_.use(*in_force);
    co_return refusal;
  }
  const std::shared_ptr<const policies::PolicySet> set = next;
  const auto names = used_header_names(*set);
  const auto switched =
      workers_.ask_all([set, names](ServingWorker& worker) { worker.use(set, names); });
  const bool all = co_await WorkerTeam::complete(switched);
  // An override is no other configuration.
  if (in_force->source_hash != next->source_hash)
    tell_of_counters(*in_force, *next, closed, Clock::wall(), log_);
  in_force = std::move(next);
  for (const policies::Pattern& pattern : in_force->patterns)
    stores_.patterns.tune(pattern.id, pattern.spec);
  if (all) {
    close_unused(*in_force);
  } else {
    log_.write(Level::error,
               LogLine("a worker has not taken the new policies; it seems to be stuck"));
  }
  co_return std::string();
}

}  // namespace weir::app
