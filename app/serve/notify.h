#pragma once

#include <boost/asio/io_context.hpp>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/support/log.h"
#include "app/support/news.h"
#include "app/support/webhook.h"
#include "config/model.h"
#include "telemetry/metrics.h"

namespace weir::app {

/// How many messages a channel may send: `per_minute` of them, then none until the minute is over,
/// then the number that was left out. Pure.
class MinuteQuota {
 public:
  /// Whether one more may be sent now.
  bool take(TimePoint now, unsigned per_minute) noexcept;
  /// A notification that take() let through found no room.
  void leave_out() noexcept { ++left_out_; }
  /// How many were left out in a minute that has ended, once; 0: none.
  std::int64_t summary(TimePoint now) noexcept;

 private:
  TimePoint begin_{};
  unsigned sent_ = 0;
  std::int64_t left_out_ = 0;
};

/// Sends notifications: log lines and webhooks, one after the other per channel, each within 2 s,
/// at most kWaitingMax waiting. Notifications that are dropped, for lack of room or by the quota of
/// the channel, are counted, logged once a minute, and reported by the channel's next summary.
/// Lives on the control thread and never delays a request.
class Notifier {
 public:
  static constexpr std::size_t kWaitingMax = 128;
  static constexpr milliseconds kDeadline{2'000};

  Notifier(boost::asio::io_context& control, Log& log, telemetry::MetricCells& cells);
  ~Notifier();

  /// The channels from now on; those that keep their name keep their quota and their queue.
  void use(const std::vector<config::NotifyDef>& channels);
  /// `shown_key`: the key in the form of the log. A webhook gets the plain key: the operator names
  /// its receiver, which has to act on the key.
  void notify(const News& news, std::string_view shown_key, TimePoint now);
  /// So many never got here: a worker's queue was full.
  void lost(std::int64_t count);
  void tick(TimePoint now);  ///< every second: summaries
  /// Drops what waits, and counts it.
  void stop();

  /// The message of a webhook. Pure.
  static std::string message_of(std::string_view channel, const News& news);

 private:
  struct Channel;
  struct Unsaid;  // dropped notifications that the log has not reported yet
  void drop(Channel& channel);
  void send(const std::shared_ptr<Channel>& channel, std::string message);
  void deliver_next(std::shared_ptr<Channel> channel);

  boost::asio::io_context& control_;
  Log& log_;
  telemetry::MetricCells& cells_;
  std::shared_ptr<boost::asio::ssl::context> tls_;
  std::map<std::string, std::shared_ptr<Channel>, std::less<>> channels_;
  std::unique_ptr<Unsaid> lost_;
  bool stopped_ = false;
};

}  // namespace weir::app
