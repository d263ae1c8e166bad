#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "admin/operations.h"
#include "app/serve/notify.h"
#include "app/support/log.h"
#include "app/support/news.h"
#include "core/key.h"
#include "policies/judgement/observer.h"
#include "telemetry/metrics.h"
#include "telemetry/ring.h"

namespace weir::app {

/// Tells people what the workers decide: the verdict lines of the log, notifications, the live view
/// of `weir dev`.
///
/// A worker copies an entry into a queue of its own (512 entries; others are counted)
/// and rings once; the control thread empties all queues 20 ms later, so that a flood costs 50
/// wake-ups a second. Above `log.verdicts_per_second` verdicts the workers stop copying until the
/// next second; list entries have a limit of their own, the same. The log and a metric say how many
/// lines were left out. Refusals and held requests are logged at `info`, everything else at
/// `debug`.
class Report {
 public:
  static constexpr std::size_t kQueue = 512;
  static constexpr std::int64_t kLinesPerSecond = 500;  ///< of the live view and of `tail`
  static constexpr std::size_t kTail = 1000;
  static constexpr milliseconds kTailFor{10'000};

  Report(boost::asio::io_context& control, std::size_t workers, const HashSecret& secret, Log& log,
         telemetry::MetricCells& cells);
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  /// For the Gate of that worker; lives as long as the Report.
  policies::Observer& observer(std::size_t worker) noexcept;

  // All that follows: on the control thread.
  void start();
  /// Log settings and notification channels of a configuration that is now in force.
  void use(const config::Model& model);
  /// Sees every entry before it is logged; then nothing is logged.
  void watch(std::function<void(const News&)> viewer);
  /// As in admin::Operations. A call keeps all verdicts for kTailFor from then on; without calls,
  /// none is kept.
  admin::VerdictPage verdicts(std::optional<std::uint64_t> after, std::size_t most, TimePoint now);
  /// Asks whether this replica made an entry of a shared list. The answer comes on the control
  /// thread; none comes after the stop. Another replica notifies about its own entries.
  using Maker =
      std::function<void(limiter::ListId, const Hash128&, std::function<void(bool here)>)>;
  void ask_makers(Maker maker) { maker_ = std::move(maker); }
  void tick(TimePoint now);  ///< every second
  void drain();              ///< empties the queues now
  void stop();               ///< the last entries; then nothing wakes any more

  /// The line of the log for an entry. Pure, given the secret.
  LogLine line_of(const News& news) const;
  /// A key as the log has it: its text with `log.keys: readable`, else its mark.
  std::string shown_key(std::string_view key) const;

 private:
  class Reporter;
  enum class Wanted : std::uint8_t { nothing, refusals, all };

  void ring() noexcept;
  void wait();
  void handle(const News& news);
  bool takes_line(const News& news);
  void tell_left_out();
  void notify(const News& news);
  void update_wanted();

  const HashSecret& secret_;
  Log& log_;
  std::vector<std::unique_ptr<Reporter>> reporters_;
  std::unique_ptr<Notifier> notifier_;
  std::function<void(const News&)> viewer_;
  Maker maker_;
  bool readable_keys_ = false;
  telemetry::MetricCells& cells_;
  std::int64_t most_ = kLinesPerSecond;        // lines of either kind in a second
  std::int64_t lines_ = 0, listed_lines_ = 0;  // in this second
  std::int64_t left_out_ = 0, listed_left_out_ = 0;
  std::int64_t left_out_before_ = 0, unnotified_before_ = 0;

  std::deque<News> tail_;        // the last ones, while a caller asks for them
  std::uint64_t tail_next_ = 0;  // the number of the next
  std::int64_t tail_lines_ = 0;  // in this second
  TimePoint tail_until_{};

  // The kind of verdicts that go into the log, and whether verdicts also go to the tail.
  std::atomic<Wanted> wanted_{Wanted::nothing};
  std::atomic<bool> tailing_{false};
  std::atomic<bool> muted_{false};
  std::atomic<bool> rung_{false};
  boost::asio::posix::stream_descriptor bell_;
  boost::asio::steady_timer delay_;
  bool stopped_ = false;
};

}  // namespace weir::app
