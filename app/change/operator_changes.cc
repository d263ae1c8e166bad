#include "app/change/operator_changes.h"

#include <algorithm>
#include <new>
#include <utility>

#include "app/change/overrides.h"

namespace weir::app {

namespace asio = boost::asio;

namespace {

constexpr milliseconds kTick{2'000};  // from one tick() to the next, at most

/// The edits that fit the files, and the edits of `table` whether they fit or not.
std::vector<config::TableEdit> fitting(const std::vector<config::TableEdit>& edits,
                                       std::string_view table,
                                       const std::vector<config::TableDef>& tables) {
  std::vector<config::TableEdit> out;
  for (const config::TableEdit& edit : edits) {
    config::Model one;
    one.tables = tables;
    if (edit.table == table || config::apply(edit, one).empty()) out.push_back(edit);
  }
  return out;
}

/// Identifies a warning.
std::string warning_key(const config::Where& where, std::string_view message) {
  return std::to_string(where.file) + ":" + std::to_string(where.line) + ":" +
         std::to_string(where.column) + " " + std::string(message);
}

}  // namespace

OperatorChanges::Warned::Warned(const Configuration& in_force) {
  for (const config::Problem& problem : in_force.loaded.problems.all())
    keys_.insert(warning_key(problem.where, problem.message));
}

admin::LoadReport OperatorChanges::Warned::report_of_the_rest(const Configuration& over) const {
  Configuration fresh;
  fresh.set = over.set;
  fresh.loaded.hash = over.loaded.hash;
  for (const config::Problem& problem : over.loaded.problems.all()) {
    if (problem.severity == config::Problem::Severity::error)
      fresh.loaded.problems.error(problem.where, problem.message, problem.hint);
    else if (!keys_.contains(warning_key(problem.where, problem.message)))
      fresh.loaded.problems.warning(problem.where, problem.message, problem.hint);
  }
  return report_of(fresh, Clock::wall());
}

OperatorChanges::OperatorChanges(asio::io_context& control, Swap& swap, Log& log)
    : swap_(swap),
      log_(log),
      turns_(control),
      tasks_(control.get_executor(), [&log](const std::exception_ptr&) {
        log.write(Level::error, LogLine("a change ended by an exception: a bug in weir"));
      }) {}

void OperatorChanges::started_with(const Configuration& files, std::vector<config::TableEdit> edits,
                                   std::vector<config::Override> overrides) {
  if (files.loaded.model) files_ = *files.loaded.model;
  files_hash_ = files.loaded.hash;
  warned_ = Warned(files);
  overrides_ = std::move(overrides);
  hold_edits(std::move(edits));
}

asio::awaitable<std::string> OperatorChanges::use_files(const Configuration& next) {
  std::vector<config::Override> kept = overrides_, dropped;
  const std::vector<config::TableEdit> fit = fitting(edits_, {}, next.model().tables);
  std::string refusal;
  Warned warned(next);
  if (kept.empty() && fit.empty()) {
    refusal = co_await swap_.put_in_use(next);
  } else {
    const Configuration over =
        with_those_that_fit(next.model(), next.loaded.hash, kept, dropped, fit);
    warned = Warned(over);
    refusal = co_await swap_.put_in_use(over);
  }
  if (!refusal.empty()) co_return refusal;
  warned_ = std::move(warned);
  files_ = next.model();
  files_hash_ = next.loaded.hash;
  for (const config::Override& each : kept) {
    const std::string beyond = config::limit_beyond_window(each, files_);
    if (beyond.empty()) continue;
    LogLine line = override_line(
        "a limit of an override is out of reach in the new configuration; that of the files is in "
        "force",
        each);
    line.add("why", beyond);
    log_.write(Level::warn, line);
  }
  overrides_ = std::move(kept);
  edits_in_force_ = fit;
  leave_out(dropped);
  co_return refusal;
}

/// The edits wait until they fit. So do the fleet's overrides; those of this replica have ended.
void OperatorChanges::leave_out(const std::vector<config::Override>& dropped) {
  for (const config::TableEdit& edit : edits_) {
    const bool fits =
        std::any_of(edits_in_force_.begin(), edits_in_force_.end(),
                    [&](const config::TableEdit& other) { return other.table == edit.table; });
    if (!fits)
      log_.write(Level::warn, LogLine("what was set in a table does not fit the new "
                                      "configuration; it waits until it does")
                                  .add("table", edit.table));
  }
  for (const config::Override& each : dropped) {
    const bool waits = in_fleet_ && !each.here;
    log_.write(Level::warn,
               LogLine(waits ? "an override of the fleet does not fit the new configuration; it "
                               "ends when it fits no replica"
                             : "an override does not fit the new configuration; it has ended")
                   .add("policy", each.policy)
                   .add("override", config::override_text(each)));
    if (waits) unfit_.push_back(each);
  }
}

asio::awaitable<admin::LoadReport> OperatorChanges::use_change(Configuration next) {
  admin::LoadReport report = warned_.report_of_the_rest(next);
  if (next.good()) {
    const std::string refusal = co_await swap_.put_in_use(next);
    report.ok = refusal.empty();
    if (report.ok)
      warned_ = Warned(next);
    else
      report.problems.insert(report.problems.begin(), {true, {}, 0, 0, refusal, {}});
    report.problem_count = report.problems.size();
  }
  co_return report;
}

asio::awaitable<admin::LoadReport> OperatorChanges::put_overrides(
    std::vector<config::Override> next) {
  const admin::LoadReport report =
      co_await use_change(with_overrides(files_, files_hash_, next, edits_in_force_));
  if (report.ok) overrides_ = std::move(next);
  co_return report;
}

asio::awaitable<admin::LoadReport> OperatorChanges::override_policy(config::Override change) {
  const TurnQueue::Turn turn = co_await turns_.take();
  // Where a reload lowers the window under an override, apply() leaves the limit of the files.
  if (const std::string wrong = config::limit_beyond_window(change, files_); !wrong.empty()) {
    admin::LoadReport report;
    report.problems.push_back({true, {}, 0, 0, "policy \"" + change.policy + "\": " + wrong, {}});
    report.problem_count = 1;
    co_return report;
  }
  std::vector<config::Override> next = overrides_;
  const LogLine line = override_line("an override is in force", change);
  merge_override(next, std::move(change));
  admin::LoadReport report = co_await put_overrides(std::move(next));
  if (report.ok) log_.write(Level::warn, line);
  co_return report;
}

asio::awaitable<admin::LoadReport> OperatorChanges::end_overrides(std::string policy, bool here) {
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

void OperatorChanges::tick(TimePoint now) {
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

asio::awaitable<void> OperatorChanges::end_what_is_over() {
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

asio::awaitable<void> OperatorChanges::take_overrides(FleetOverrides ask) {
  const TurnQueue::Turn turn = co_await turns_.take();
  std::vector<config::Override> told = ask();
  const auto holds = [](const std::vector<config::Override>& all, const config::Override& one) {
    return std::any_of(all.begin(), all.end(),
                       [&](const config::Override& other) { return same_override(one, other); });
  };
  const auto replaces = [](const std::vector<config::Override>& all, const config::Override& one) {
    return std::any_of(all.begin(), all.end(),
                       [&](const config::Override& other) { return same_kind(one, other); });
  };
  std::vector<config::Override> before = unfit_, here, fresh;
  for (const config::Override& each : overrides_) (each.here ? here : before).push_back(each);
  // tick() ends overrides that expire within kTick, and reports them.
  for (const config::Override& each : overrides_) {
    const bool ends = !each.here && each.until <= now_ + kTick && !holds(told, each);
    if (ends && !replaces(told, each)) told.push_back(each);
  }
  for (const config::Override& each : told) {
    if (!holds(before, each)) fresh.push_back(each);
  }
  const bool gone = std::any_of(before.begin(), before.end(),
                                [&](const config::Override& each) { return !holds(told, each); });
  // Overrides that did not fit may fit another configuration.
  if (fresh.empty() && !gone && unfit_.empty()) co_return;
  // A new override of the fleet also replaces one that was set for this replica alone.
  std::erase_if(here, [&](const config::Override& each) { return replaces(fresh, each); });
  std::vector<config::Override> next = told, unfit;
  next.insert(next.end(), here.begin(), here.end());
  const Configuration over = with_those_that_fit(files_, files_hash_, next, unfit, edits_in_force_);
  std::string refusal = "it has errors";
  if (over.good())
    refusal = co_await swap_.put_in_use(over);  // not in a ?: g++ 12 destroys its string twice
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
    if (!holds(told, each) && !replaces(told, each) && each.until > now_)
      log_.write(Level::info, override_line("an override of the fleet was ended", each));
  }
  warned_ = Warned(over);
  overrides_ = std::move(next);
  unfit_ = std::move(unfit);
}

asio::awaitable<admin::LoadReport> OperatorChanges::edit_tables(std::vector<config::TableEdit> next,
                                                                std::string table) {
  const TurnQueue::Turn turn = co_await turns_.take();
  const std::vector<config::TableEdit> fit = fitting(next, table, files_.tables);
  const admin::LoadReport report =
      co_await use_change(with_overrides(files_, files_hash_, overrides_, fit));
  if (report.ok) {
    edits_ = std::move(next);
    edits_in_force_ = fit;
  }
  co_return report;
}

void OperatorChanges::hold_edits(std::vector<config::TableEdit> same) {
  edits_in_force_ = fitting(same, {}, files_.tables);
  edits_ = std::move(same);
}

std::vector<config::TableDef> OperatorChanges::tables() const {
  config::Model model;
  model.tables = files_.tables;
  for (const config::TableEdit& edit : edits_in_force_)
    static_cast<void>(config::apply(edit, model));
  return std::move(model.tables);
}

admin::LoadReport OperatorChanges::try_tables(const std::vector<config::TableEdit>& edits,
                                              std::string_view table) const {
  return warned_.report_of_the_rest(
      with_overrides(files_, files_hash_, overrides_, fitting(edits, table, files_.tables)));
}

}  // namespace weir::app
