#include <algorithm>

#include "app/change/overrides.h"
#include "app/change/reload.h"

/// What operators set on policies for a while, here and on other replicas.
namespace weir::app {

namespace asio = boost::asio;

namespace {
constexpr milliseconds kTick{2'000};  // from one tick() to the next, at most
}

asio::awaitable<admin::LoadReport> Reload::put_overrides(std::vector<config::Override> next) {
  const admin::LoadReport report =
      co_await use_change(with_overrides(files_, files_hash_, next, edits_in_force_));
  if (report.ok) overrides_ = std::move(next);
  co_return report;
}

asio::awaitable<admin::LoadReport> Reload::override_policy(config::Override change) {
  const TurnQueue::Turn turn = co_await turns_.take();
  std::vector<config::Override> next = overrides_;
  const LogLine line = override_line("an override is in force", change);
  merge_override(next, std::move(change));
  admin::LoadReport report = co_await put_overrides(std::move(next));
  if (report.ok) log_.write(Level::warn, line);
  co_return report;
}

asio::awaitable<admin::LoadReport> Reload::end_overrides(std::string policy, bool here) {
  const TurnQueue::Turn turn = co_await turns_.take();
  std::vector<config::Override> next = overrides_;
  std::erase_if(next, [&](const config::Override& each) {
    return each.policy == policy && (!here || each.here);
  });
  admin::LoadReport report = co_await put_overrides(std::move(next));
  if (report.ok) {
    log_.write(Level::info, LogLine("overrides were ended by hand").add("policy", policy));
  }
  co_return report;
}

void Reload::tick(TimePoint now) {
  now_ = now;
  const bool over = std::any_of(overrides_.begin(), overrides_.end(),
                                [&](const config::Override& each) { return each.until <= now; });
  if (!over || std::exchange(ending_some_, true)) return;
  try {
    tasks_.spawn(end_what_is_over());
  } catch (const std::bad_alloc&) {  // the next tick tries again
    ending_some_ = false;
  }
}

asio::awaitable<void> Reload::end_what_is_over() {
  const TurnQueue::Turn turn = co_await turns_.take();
  std::vector<config::Override> next, ended;
  for (const config::Override& each : overrides_)
    (each.until <= now_ ? ended : next).push_back(each);
  const admin::LoadReport report = co_await put_overrides(std::move(next));
  for (const config::Override& each : ended) {
    LogLine line(report.ok ? "an override has ended" : "an override could not be ended");
    line.add("policy", each.policy).add("override", config::override_text(each));
    if (!report.ok && !report.problems.empty()) line.add("reason", report.problems.front().message);
    log_.write(report.ok ? Level::info : Level::error, line);
    if (end_teller_) {
      end_teller_(each, report.ok                 ? std::string()
                        : report.problems.empty() ? std::string("it could not be ended")
                                                  : report.problems.front().message);
    }
  }
  ending_some_ = false;
}

asio::awaitable<void> Reload::take_overrides(FleetOverrides ask) {
  const TurnQueue::Turn turn = co_await turns_.take();
  std::vector<config::Override> told = ask();
  const auto holds = [](const std::vector<config::Override>& all, const config::Override& one) {
    return std::any_of(all.begin(), all.end(),
                       [&](const config::Override& other) { return same_override(one, other); });
  };
  std::vector<config::Override> before = unfit_, here, fresh;
  for (const config::Override& each : overrides_) (each.here ? here : before).push_back(each);
  // What ends in this very second is ended by tick(), which tells of it.
  for (const config::Override& each : overrides_) {
    const bool ends = !each.here && each.until <= now_ + kTick && !holds(told, each);
    const bool replaced = std::any_of(told.begin(), told.end(), [&](const config::Override& other) {
      return same_kind(each, other);
    });
    if (ends && !replaced) told.push_back(each);
  }
  for (const config::Override& each : told) {
    if (!holds(before, each)) fresh.push_back(each);
  }
  const bool gone = std::any_of(before.begin(), before.end(),
                                [&](const config::Override& each) { return !holds(told, each); });
  // Overrides that did not fit may fit another configuration.
  if (fresh.empty() && !gone && unfit_.empty()) co_return;
  // The last told holds, also over what was set for this replica alone.
  std::erase_if(here, [&](const config::Override& each) {
    return std::any_of(fresh.begin(), fresh.end(),
                       [&](const config::Override& other) { return same_kind(each, other); });
  });
  std::vector<config::Override> next = told, unfit;
  next.insert(next.end(), here.begin(), here.end());
  const Configuration over = with_those_that_fit(files_, files_hash_, next, unfit, edits_in_force_);
  std::string refusal = "it has errors";
  if (over.good()) refusal = co_await use(over);  // not in a ?: g++ 12 destroys its string twice
  if (!refusal.empty()) {
    log_.write(
        Level::error,
        LogLine("what another replica has set can't be put in force here").add("reason", refusal));
    co_return;
  }
  for (const config::Override& each : fresh) {
    log_.write(Level::warn,
               override_line(holds(unfit, each) ? "an override of the fleet does not fit here"
                                                : "an override of the fleet is in force",
                             each));
  }
  for (const config::Override& each : before) {
    const bool replaced = std::any_of(told.begin(), told.end(), [&](const config::Override& other) {
      return same_kind(each, other);
    });
    if (!holds(told, each) && !replaced && each.until > now_)
      log_.write(Level::info, override_line("an override of the fleet was ended", each));
  }
  overrides_ = std::move(next);
  unfit_ = std::move(unfit);
}

}  // namespace weir::app
