#include "app/change/reload.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <new>
#include <utility>

#include "app/change/config_texts.h"
#include "app/change/overrides.h"
#include "app/support/problem_log.h"
#include "core/text.h"
#include "net/deadline.h"

namespace weir::app {

namespace asio = boost::asio;
using telemetry::Metric;

namespace {
constexpr std::chrono::seconds kPrepareLimit{60};
}

Reload::Reload(asio::io_context& control, Loader loader, ConfigWatch& watch, Swap& swap, Log& log,
               telemetry::MetricCells& cells)
    : control_(control),
      loader_(std::move(loader)),
      watch_(watch),
      swap_(swap),
      log_(log),
      cells_(cells),
      turns_(control),
      tasks_(control.get_executor(), [&log](const std::exception_ptr&) {
        log.write(Level::error, LogLine("a reload ended by an exception: a bug in weir"));
      }) {}

void Reload::started_with(const Configuration& configuration, std::vector<config::TableEdit> edits,
                          std::vector<config::Override> overrides) {
  last_ = report_of(configuration, Clock::wall());
  last_tried_hash_ = hash_in_force_ = configuration.loaded.hash;
  in_force_ = InForce::of(configuration);
  if (configuration.loaded.model) files_ = *configuration.loaded.model;
  files_hash_ = configuration.loaded.hash;
  edits_in_force_ = fitting(edits, {}, files_.tables);
  edits_ = std::move(edits);
  overrides_ = std::move(overrides);
  remember(configuration, last_, "the start");
  cells_.set(Metric::config_problems, static_cast<std::int64_t>(last_.problem_count));
}

void Reload::ask(std::string cause, bool only_if_changed) {
  tasks_.spawn(run_for_nobody(std::move(cause), only_if_changed));
}

asio::awaitable<void> Reload::run_for_nobody(std::string cause, bool only_if_changed) {
  co_await run(std::move(cause), only_if_changed);
}

// Not a coroutine: g++ 12 destroys a closure twice that is made within a co_await expression.
std::shared_ptr<asio::steady_timer> Reload::begin_preparing() {
  const auto prepared = std::make_shared<asio::steady_timer>(control_, kPrepareLimit);
  prepare_([&io = control_, prepared] {
    // Expired, not cancelled: whoever begins to wait afterwards goes on as well.
    asio::post(io, [prepared] { prepared->expires_after(std::chrono::seconds{0}); });
  });
  return prepared;
}

asio::awaitable<admin::LoadReport> Reload::run(std::string cause, bool only_if_changed) {
  const TurnQueue::Turn turn = co_await turns_.take();
  if (prepare_) {
    const auto prepared = begin_preparing();
    co_await prepared->async_wait(net::kToken);
  }
  try {
    co_return co_await load_and_swap(cause, only_if_changed);
  } catch (const std::bad_alloc&) {  // the policies before it stay in force
    last_tried_hash_.clear();        // a look at unchanged files tries again
    swap_.reload_ended();
    cells_.add(Metric::reloads_failed);
  }
  admin::LoadReport report;
  report.at = Clock::wall();
  report.problems.push_back({true, {}, 0, 0, "there is no memory for a reload", {}});
  report.problem_count = 1;
  log_.write(Level::error, LogLine("not reloaded; the policies before it stay in force")
                               .add("cause", cause)
                               .add("reason", "there is no memory for a reload"));
  last_ = report;
  co_return report;
}

asio::awaitable<admin::LoadReport> Reload::load_and_swap(std::string cause, bool only_if_changed) {
  Configuration next = loader_();
  // Equal texts too may have come from elsewhere, or from a directory that was made again.
  watch_.follow(next.loaded.watched);
  if (only_if_changed && next.loaded.hash == last_tried_hash_) co_return last_;
  last_tried_hash_ = next.loaded.hash;
  swap_.reload_begins();
  refuse_loss(in_force_, next);
  admin::LoadReport report = report_of(next, Clock::wall());
  const std::string before = hash_in_force_;
  std::string refusal;
  std::vector<config::Override> dropped;
  if (next.good()) {
    std::vector<config::Override> kept = overrides_;
    const std::vector<config::TableEdit> fit = fitting(edits_, {}, next.model().tables);
    if (kept.empty() && fit.empty()) {
      refusal = co_await use(next);
    } else {
      const Configuration over =
          with_those_that_fit(next.model(), next.loaded.hash, kept, dropped, fit);
      refusal = co_await use(over);
    }
    if (!refusal.empty()) {
      report.ok = false;
      report.problems.insert(report.problems.begin(), {true, {}, 0, 0, refusal, {}});
      ++report.problem_count;
    } else {
      in_force_ = InForce::of(next);
      files_ = next.model();
      files_hash_ = hash_in_force_ = next.loaded.hash;
      overrides_ = std::move(kept);
      for (const config::TableEdit& edit : edits_) {
        const bool fits = std::any_of(fit.begin(), fit.end(), [&](const config::TableEdit& other) {
          return other.table == edit.table;
        });
        if (!fits)
          log_.write(Level::warn, LogLine("what was set in a table does not fit the new "
                                          "configuration; it waits until it does")
                                      .add("table", edit.table));
      }
      edits_in_force_ = fit;
      for (const config::Override& each : dropped) {
        const bool waits = in_fleet_ && !each.here;
        log_.write(
            Level::warn,
            LogLine(waits ? "an override of the fleet does not fit the new configuration; it "
                            "ends when it fits no replica"
                          : "an override does not fit the new configuration; it has ended")
                .add("policy", each.policy)
                .add("override", config::override_text(each)));
        if (waits) unfit_.push_back(each);
      }
    }
  }
  remember(next, report, cause);
  tell(next, cause, refusal);
  cells_.add(report.ok ? Metric::reloads_ok : Metric::reloads_failed);
  cells_.set(Metric::config_problems, static_cast<std::int64_t>(report.problem_count));
  last_ = report;
  swap_.reload_ended();
  if (teller_) teller_(cause, before, report);
  co_return report;
}

void Reload::tell(const Configuration& configuration, const std::string& cause,
                  const std::string& refusal) {
  const bool good = configuration.good() && refusal.empty();
  log_problems(log_, configuration);
  LogLine line(good ? "reloaded" : "not reloaded; the policies before it stay in force");
  line.add("cause", cause);
  if (!refusal.empty()) line.add("reason", refusal);
  if (!configuration.loaded.hash.empty()) line.add("config", configuration.loaded.hash);
  log_.write(good ? Level::info : Level::error, line);
}

// put_in_use takes the set, not what is to say about it.
asio::awaitable<admin::LoadReport> Reload::use_change(Configuration next) {
  admin::LoadReport report = report_of(next, Clock::wall());
  std::erase_if(report.problems, [](const admin::ProblemLine& line) { return !line.is_error; });
  if (next.good()) {
    const std::string refusal = co_await use(next);
    report.ok = refusal.empty();
    if (!refusal.empty()) report.problems.push_back({true, {}, 0, 0, refusal, {}});
  }
  report.problem_count = report.problems.size();
  co_return report;
}

asio::awaitable<std::string> Reload::use(const Configuration& next) {
  Configuration use;
  use.loaded.model = next.loaded.model;
  use.loaded.hash = next.loaded.hash;
  use.set = next.set;
  co_return co_await swap_.put_in_use(std::move(use));
}

void Reload::remember(const Configuration& loaded, const admin::LoadReport& report,
                      const std::string& cause) {
  admin::LoadRecord record;
  record.at = report.at;
  record.cause = cause;
  record.ok = report.ok;
  record.hash = report.hash;
  record.problem_count = report.problem_count;
  if (!report.ok && !report.problems.empty())
    record.first_problem = report.problems.front().message;
  std::vector<admin::ConfigText> texts = masked_texts(loaded.loaded.files);
  if (!history_.empty()) record.diffs = differences(texts_, texts);
  // What was refused is compared with what is in force, and so is what comes next.
  if (report.ok) texts_ = std::move(texts);
  history_.push_front(std::move(record));
  if (history_.size() > admin::LoadRecord::kRecordsMax) history_.pop_back();
}

}  // namespace weir::app
