#include "app/change/reload.h"

#include <boost/asio/post.hpp>
#include <new>
#include <utility>

#include "app/change/config_texts.h"
#include "app/support/problem_log.h"
#include "core/text.h"
#include "net/deadline.h"

namespace weir::app {

namespace asio = boost::asio;
using telemetry::Metric;

namespace {
constexpr std::chrono::seconds kPrepareLimit{60};
}

Reload::Reload(asio::io_context& control, Loader loader, ConfigWatch& watch,
               OperatorChanges& changes, Observer& observer, Log& log,
               telemetry::MetricCells& cells)
    : control_(control),
      loader_(std::move(loader)),
      watch_(watch),
      changes_(changes),
      observer_(observer),
      log_(log),
      cells_(cells),
      tasks_(control.get_executor(), [&log](const std::exception_ptr&) {
        log.write(Level::error, LogLine("a reload ended by an exception: a bug in weir"));
      }) {}

void Reload::started_with(const Configuration& configuration) {
  last_ = report_of(configuration, Clock::wall());
  last_tried_ = {configuration.loaded.inputs, configuration.loaded.hash};
  in_force_ = InForce::of(configuration);
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
  auto prepared = std::make_shared<asio::steady_timer>(control_, kPrepareLimit);
  prepare_([&io = control_, prepared] {
    // Expired, not cancelled: a wait that begins afterwards ends at once as well.
    asio::post(io, [prepared] { prepared->expires_after(std::chrono::seconds{0}); });
  });
  return prepared;
}

asio::awaitable<admin::LoadReport> Reload::run(std::string cause, bool only_if_changed) {
  const TurnQueue::Turn turn = co_await changes_.turn();
  if (prepare_) {
    const auto prepared = begin_preparing();
    co_await prepared->async_wait(net::kToken);
  }
  try {
    co_return co_await load_and_swap(cause, only_if_changed);
  } catch (const std::bad_alloc&) {  // the policies before it stay in force
    last_tried_ = {};                // a look at unchanged files tries again
    observer_.load_ended();
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
  // Unchanged files too may have come from elsewhere, or a directory was made again.
  if (only_if_changed && last_tried_.inputs.are_unchanged()) {
    watch_.follow(last_tried_.inputs.watched());
    co_return last_;
  }
  Configuration next = loader_();
  watch_.follow(next.loaded.inputs.watched());
  const bool is_same = next.loaded.hash == last_tried_.hash;
  last_tried_ = {next.loaded.inputs, next.loaded.hash};
  if (only_if_changed && is_same) co_return last_;
  observer_.load_begins();
  refuse_loss(in_force_, next);
  admin::LoadReport report = report_of(next, Clock::wall());
  const std::string before = changes_.files_hash();
  std::string refusal;
  if (next.good()) {
    refusal = co_await changes_.use_files(next);
    if (refusal.empty()) {
      in_force_ = InForce::of(next);
    } else {
      report.ok = false;
      report.problems.insert(report.problems.begin(), {true, {}, 0, 0, refusal, {}});
      ++report.problem_count;
    }
  }
  remember(next, report, cause);
  tell(next, cause, refusal);
  cells_.add(report.ok ? Metric::reloads_ok : Metric::reloads_failed);
  cells_.set(Metric::config_problems, static_cast<std::int64_t>(report.problem_count));
  last_ = report;
  observer_.load_ended();
  observer_.loaded(cause, before, report);
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
  // A refused text is compared with the text in force, and so is the text of the next load.
  if (report.ok) texts_ = std::move(texts);
  history_.push_front(std::move(record));
  if (history_.size() > admin::LoadRecord::kRecordsMax) history_.pop_back();
}

}  // namespace weir::app
