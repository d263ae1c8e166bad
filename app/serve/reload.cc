#include "app/serve/reload.h"

#include <unistd.h>

#include <utility>

#include "app/support/problem_log.h"
#include "net/deadline.h"

namespace weir::app {

namespace asio = boost::asio;
using telemetry::Metric;

Reload::Reload(asio::io_context& control, Loader loader, Swap& swap, Log& log,
               telemetry::MetricCells& cells)
    : Reload(control, std::move(loader), swap, log, cells, Waits{}) {}

Reload::Reload(asio::io_context& control, Loader loader, Swap& swap, Log& log,
               telemetry::MetricCells& cells, Waits waits)
    : loader_(std::move(loader)),
      swap_(swap),
      log_(log),
      cells_(cells),
      turns_(std::make_shared<Turns>(
          Turns{false, asio::steady_timer(control, asio::steady_timer::time_point::max())})),
      changes_(control),
      settle_(control),
      patience_(control),
      poll_(control),
      waits_(waits),
      tasks_(control.get_executor(), [&log](const std::exception_ptr&) {
        log.write(Level::error, LogLine("a reload ended by an exception: a bug in weir"));
      }) {}

Reload::~Reload() {
  if (changes_.is_open()) changes_.release();  // the descriptor is the watch's
}

void Reload::started_with(const Configuration& configuration) {
  last_ = report_of(configuration, Clock::wall());
  last_tried_hash_ = configuration.loaded.hash;
  watched_ = configuration.loaded.watched;
  in_force_ = InForce::of(configuration);
  cells_.set(Metric::config_problems, static_cast<std::int64_t>(last_.problem_count));
}

void Reload::watch() {
  watching_ = true;
  watch_.watch(watched_);
  if (watch_.fd() >= 0) {
    changes_.assign(watch_.fd());
    wait_for_change();
  }
  poll_if_need_be();
}

void Reload::stop() {
  watching_ = polling_ = unsettled_ = false;
  settle_.cancel();
  patience_.cancel();
  poll_.cancel();
  if (changes_.is_open()) changes_.release();
}

void Reload::wait_for_change() {
  changes_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [this](const boost::system::error_code& error) {
                        if (error || !watching_) return;
                        if (watch_.drain()) something_changed();
                        poll_if_need_be();
                        wait_for_change();
                      });
}

void Reload::something_changed() {
  if (!std::exchange(unsettled_, true)) look_when_over(patience_, waits_.patience);
  look_when_over(settle_, waits_.settle);  // a wait that is under way ends as cancelled
}

void Reload::look_when_over(asio::steady_timer& wait, std::chrono::milliseconds length) {
  wait.expires_after(length);
  wait.async_wait([this](const boost::system::error_code& error) {
    if (error || !watching_ || !std::exchange(unsettled_, false)) return;
    settle_.cancel();
    patience_.cancel();
    ask("the files have changed", true);
  });
}

// After whatever may have left a directory unwatched: the watch finds that out by itself too.
void Reload::poll_if_need_be() {
  if (polling_ || !watch_.must_poll()) return;
  polling_ = true;
  poll_.expires_after(waits_.poll);
  poll_.async_wait([this](const boost::system::error_code& error) {
    if (error || !watching_) return;
    polling_ = false;
    ask("the files have changed", true);
    poll_if_need_be();
  });
}

void Reload::ask(std::string cause, bool only_if_changed) {
  tasks_.spawn(run_for_nobody(std::move(cause), only_if_changed));
}

asio::awaitable<void> Reload::run_for_nobody(std::string cause, bool only_if_changed) {
  co_await run(std::move(cause), only_if_changed);
}

asio::awaitable<admin::LoadReport> Reload::run(std::string cause, bool only_if_changed) {
  struct Turn {
    std::shared_ptr<Turns> turns;
    ~Turn() {
      turns->busy = false;
      turns->waiting.cancel();
    }
  };
  while (turns_->busy) co_await turns_->waiting.async_wait(net::kToken);
  turns_->busy = true;
  const Turn turn{turns_};
  co_return co_await load_and_swap(std::move(cause), only_if_changed);
}

asio::awaitable<admin::LoadReport> Reload::load_and_swap(std::string cause, bool only_if_changed) {
  Configuration next = loader_();
  // Equal texts too may have come from elsewhere, or from a directory that was made again.
  watched_ = next.loaded.watched;
  if (watching_) {
    if (watch_.watch(watched_)) something_changed();  // in there, perhaps, since it was read
    poll_if_need_be();
  }
  if (only_if_changed && next.loaded.hash == last_tried_hash_) co_return last_;
  last_tried_hash_ = next.loaded.hash;
  swap_.reload_begins();
  refuse_loss(in_force_, next);
  admin::LoadReport report = report_of(next, Clock::wall());
  std::string refusal;
  if (next.good()) {
    // put_in_use takes the set, not what is to say about it.
    Configuration use;
    use.loaded.model = next.loaded.model;
    use.loaded.hash = next.loaded.hash;
    use.set = next.set;
    refusal = co_await swap_.put_in_use(std::move(use));
    if (!refusal.empty()) {
      report.ok = false;
      report.problems.insert(report.problems.begin(), {true, {}, 0, 0, refusal, {}});
      ++report.problem_count;
    } else {
      in_force_ = InForce::of(next);
    }
  }
  tell(next, cause, refusal);
  cells_.add(report.ok ? Metric::reloads_ok : Metric::reloads_failed);
  cells_.set(Metric::config_problems, static_cast<std::int64_t>(report.problem_count));
  last_ = report;
  swap_.reload_ended();
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

}  // namespace weir::app
