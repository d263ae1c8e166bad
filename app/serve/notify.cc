#include "app/serve/notify.h"

#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <utility>

#include "core/json_numbers.h"
#include "core/text.h"

namespace weir::app {

using telemetry::Metric;

namespace {
constexpr milliseconds kMinute{60'000};
}

bool MinuteQuota::take(TimePoint now, unsigned per_minute) noexcept {
  if (now >= begin_ + kMinute && left_out_ == 0) {
    begin_ = now;
    sent_ = 0;
  }
  if (sent_ < per_minute && now < begin_ + kMinute) {
    ++sent_;
    return true;
  }
  ++left_out_;
  return false;
}

std::int64_t MinuteQuota::summary(TimePoint now) noexcept {
  if (left_out_ == 0 || now < begin_ + kMinute) return 0;
  begin_ = now;
  sent_ = 1;  // the summary itself
  return std::exchange(left_out_, 0);
}

struct Notifier::Unsaid {
  std::int64_t count = 0;
  TimePoint next{};

  /// How many to log now: at once, then a minute's worth at a time.
  std::int64_t take(TimePoint now) noexcept {
    if (count == 0 || (now < next && next - now <= kMinute)) return 0;
    next = now + kMinute;
    return std::exchange(count, 0);
  }
};

struct Notifier::Channel {
  std::string name;
  std::optional<Url> url;
  bool log = false;
  unsigned per_minute = 10;
  MinuteQuota quota;
  Unsaid unsaid;
  std::deque<std::string> waiting;
  bool sending = false;
};

Notifier::Notifier(boost::asio::io_context& control, Log& log, telemetry::MetricCells& cells)
    : control_(control), log_(log), cells_(cells), lost_(std::make_unique<Unsaid>()) {}

Notifier::~Notifier() = default;

void Notifier::use(const std::vector<config::NotifyDef>& channels) {
  std::map<std::string, std::shared_ptr<Channel>, std::less<>> next;
  for (const config::NotifyDef& def : channels) {
    const auto known = channels_.find(def.name.value);
    auto channel = known != channels_.end() ? known->second : std::make_shared<Channel>();
    channel->name = def.name.value;
    channel->url = def.webhook ? Url::parse(def.webhook->value) : std::nullopt;
    if (def.webhook && !channel->url) {
      log_.write(Level::warn,
                 LogLine("a webhook's URL can't be used").add("notification", def.name.value));
    }
    channel->log = def.log;
    channel->per_minute = def.per_minute;
    next.emplace(def.name.value, std::move(channel));
  }
  channels_ = std::move(next);
}

std::string Notifier::message_of(std::string_view channel, const News& news) {
  std::string out = "{\"notification\":";
  append_json(out, channel);
  out += R"(,"time":")" + iso_time(news.time) + R"(","policy":)";
  append_json(out, news.decider.view());
  if (news.list) {
    out += ",\"list\":";
    append_json(out, news.list_name.view());
  }
  out += ",\"key\":";
  append_json(out, news.key.view());
  out += ",\"action\":";
  append_json(out, row_of(news.effect).name);
  out += ",\"value\":" + news.value.finite().to_string();
  if (news.limit) out += ",\"limit\":" + news.limit->finite().to_string();
  if (news.window.count() != 0) {
    out += ",\"window\":";
    append_json(out, human_duration(news.window));
  }
  if (news.until != TimePoint{}) out += R"(,"until":")" + iso_time(news.until) + '"';
  out += "}\n";
  return plain_numbers(std::move(out));
}

void Notifier::notify(const News& news, std::string_view shown_key, TimePoint now) {
  const auto found = channels_.find(news.notify.view());
  if (found == channels_.end() || stopped_) return;
  const std::shared_ptr<Channel>& channel = found->second;
  if (!channel->quota.take(now, channel->per_minute)) {
    drop(*channel);
    return;
  }
  if (channel->log) {
    LogLine line("notification");
    line.add("notification", channel->name)
        .add("policy", news.decider.view())
        .add("key", shown_key);
    if (news.list) line.add("list", news.list_name.view());
    line.add("value", news.value);
    if (news.limit) line.add("limit", *news.limit);
    if (news.until != TimePoint{}) line.add("until", iso_time(news.until));
    log_.write(Level::warn, line);
    if (!channel->url) cells_.add(Metric::notify_sent);
  }
  if (channel->url) send(channel, message_of(channel->name, news));
}

void Notifier::drop(Channel& channel) {
  cells_.add(Metric::notify_dropped);
  ++channel.unsaid.count;
}

void Notifier::lost(std::int64_t count) {
  cells_.add(Metric::notify_dropped, count);
  lost_->count += count;
}

void Notifier::tick(TimePoint now) {
  if (const std::int64_t count = lost_->take(now); count != 0) {
    log_.write(Level::warn,
               LogLine("notifications lost: a worker's queue was full").add("count", count));
  }
  for (const auto& [name, channel] : channels_) {
    if (const std::int64_t count = channel->unsaid.take(now); count != 0) {
      log_.write(Level::warn,
                 LogLine("notifications left out").add("notification", name).add("count", count));
    }
    // The summary precedes the next message; it waits for room itself.
    if (channel->waiting.size() >= kWaitingMax) continue;
    const std::int64_t left_out = channel->quota.summary(now);
    if (left_out == 0 || !channel->url) continue;
    std::string message = "{\"notification\":";
    append_json(message, name);
    message +=
        R"(,"time":")" + iso_time(now) + R"(","left_out":)" + std::to_string(left_out) + "}\n";
    send(channel, std::move(message));
  }
}

void Notifier::send(const std::shared_ptr<Channel>& channel, std::string message) {
  if (channel->waiting.size() >= kWaitingMax) {
    channel->quota.leave_out();
    drop(*channel);
    return;
  }
  channel->waiting.push_back(std::move(message));
  if (!channel->sending) deliver_next(channel);
}

void Notifier::deliver_next(std::shared_ptr<Channel> channel) {
  channel->sending = false;
  if (stopped_ || channel->waiting.empty() || !channel->url) return;
  channel->sending = true;
  std::string message = std::move(channel->waiting.front());
  channel->waiting.pop_front();
  if (channel->url->tls && tls_ == nullptr) tls_ = webhook_tls();
  // The completion handler looks at the exception; after stop() the io_context no longer runs it.
  try {
    boost::asio::co_spawn(
        control_, post_json(*channel->url, std::move(message), tls_, kDeadline),
        [this, channel](const std::exception_ptr& thrown, const Delivery& delivery) {
          if (!thrown && delivery.good()) {
            cells_.add(Metric::notify_sent);
          } else {
            cells_.add(Metric::notify_failed);
            const std::string why = thrown ? "out of resources"
                                    : delivery.error.empty()
                                        ? "status " + std::to_string(delivery.status)
                                        : delivery.error;
            log_.write_seldom(
                Level::warn,
                LogLine("a webhook failed").add("notification", channel->name).add("reason", why),
                "webhook " + channel->name);
          }
          deliver_next(channel);
        });
  } catch (const std::bad_alloc&) {  // the next message starts the queue again
    channel->sending = false;
    cells_.add(Metric::notify_failed);
  }
}

void Notifier::stop() {
  stopped_ = true;
  for (const auto& [name, channel] : channels_) {
    cells_.add(Metric::notify_dropped, static_cast<std::int64_t>(channel->waiting.size()));
    channel->waiting.clear();
  }
}

}  // namespace weir::app
