#include "app/serve/report.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <utility>

#include "core/key.h"
#include "core/text.h"

namespace weir::app {
namespace {

constexpr std::chrono::milliseconds kGather{20};

bool is_refusal(const policies::Verdict& verdict) noexcept {
  return verdict.kind == policies::Verdict::Kind::refuse ||
         verdict.kind == policies::Verdict::Kind::hold;
}

// The enforced standing that decided, else the first one (a shadow).
const policies::Standing* telling(const policies::Verdict& verdict) noexcept {
  if (verdict.decider >= 0) return &verdict.standings[static_cast<std::size_t>(verdict.decider)];
  return verdict.standings.empty() ? nullptr : &verdict.standings.front();
}

admin::VerdictRow row_of(const News& news) {
  admin::VerdictRow row;
  row.listed = news.kind == News::Kind::listed;
  row.created = news.created;
  row.shadow = news.shadow;
  row.status = news.status;
  row.time = news.time;
  row.until = news.until;
  row.window = news.window;
  row.value = news.value;
  row.limit = news.limit;
  row.in_flight = news.in_flight;
  row.possible = news.possible;
  row.effect = row_of(news.effect).name;
  row.event = news.event.view();
  if (news.client != Address{}) row.client = news.client.to_string();
  row.method = news.method.view();
  row.path = news.path.view();
  if (row.listed) {
    row.policy = news.decider.view();
    row.list = news.list_name.view();
  } else {
    (news.list ? row.list : row.policy) = news.decider.view();
  }
  if (row.listed) row.key = news.key.parts();
  row.field = news.field.view();
  row.why = news.why.view();
  row.request_id = news.request_id.view();
  return row;
}

}  // namespace

/// One worker's end. Called on that worker's thread within a judgement.
class Report::Reporter final : public policies::Observer {
 public:
  explicit Reporter(Report& report) : report_(report) {}

  void judged(const policies::PolicySet& set, const Request& request,
              const policies::Verdict& verdict) override {
    tell(set, &request, policies::kRequestEvent, request.time, verdict);
  }
  void judged(const policies::PolicySet& set, const policies::Record& record,
              const policies::Verdict& verdict) override {
    tell(set, record.request, record.event, record.time, verdict);
  }
  void listed(const policies::PolicySet& set, const Listed& listed, TimePoint now) override {
    News* news = queue.reserve();
    if (news == nullptr) {
      count_left_out();
      if (listed.created && listed.rung->notify) {
        unnotified.store(unnotified.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      }
      return;
    }
    news->kind = News::Kind::listed;
    news->time = now;
    news->until = listed.until;
    news->client = {};
    news->method.clear();
    news->path.clear();
    news->event.clear();
    news->effect = listed.rung->action;
    news->status = 0;
    news->shadow = listed.rung->shadow;
    news->created = listed.created;
    news->decider = listed.policy->name;
    news->list = listed.list != nullptr;
    news->list_name =
        listed.list != nullptr ? std::string_view(listed.list->name) : std::string_view();
    news->notify = listed.rung->notify
                       ? std::string_view(set.notify[*listed.rung->notify].name.value)
                       : std::string_view();
    news->key.set(listed.key);
    news->shared_list = listed.list != nullptr && listed.list->shared && !news->shadow
                            ? listed.list->id
                            : limiter::ListId{};
    news->hash = listed.hash;
    news->field.clear();
    news->why.clear();
    news->request_id.clear();
    news->value = listed.value;
    news->limit = listed.limit;
    news->in_flight = 0;
    news->possible = false;
    news->window = listed.rung->window;
    queue.publish();
    report_.ring();
  }

  telemetry::Ring<News, kQueue> queue;
  std::atomic<std::int64_t> left_out{0};
  std::atomic<std::int64_t> unnotified{0};  // of those: with a notification

 private:
  void count_left_out() noexcept {
    left_out.store(left_out.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  void tell(const policies::PolicySet& set, const Request* request, policies::EventIndex event,
            TimePoint time, const policies::Verdict& verdict) {
    const Wanted wanted = report_.wanted_.load(std::memory_order_relaxed);
    const bool logged =
        wanted == Wanted::all || (wanted == Wanted::refusals && is_refusal(verdict));
    const bool tailed = report_.tailing_.load(std::memory_order_relaxed);
    if (!logged && !tailed) return;
    const bool heard = tailed || !report_.muted_.load(std::memory_order_relaxed);
    News* news = heard ? queue.reserve() : nullptr;
    if (news == nullptr) {
      count_left_out();
      return;
    }
    news->kind = News::Kind::verdict;
    news->time = time;
    news->until = {};
    news->client = request != nullptr ? request->client : Address{};
    news->method = request != nullptr ? request->method : std::string_view();
    news->path = request != nullptr ? request->path : std::string_view();
    news->request_id = request != nullptr ? request->id : std::string_view();
    news->event = event != policies::kRequestEvent ? std::string_view(set.events[event].name)
                                                   : std::string_view();
    news->effect = verdict.effect;
    // A held request passes.
    const bool passes = verdict.kind == policies::Verdict::Kind::hold;
    news->status = passes ? std::uint16_t{0} : static_cast<std::uint16_t>(verdict.status);
    news->list_name.clear();
    news->key.clear();
    news->notify.clear();
    news->decider.clear();
    news->field.clear();
    news->why.clear();
    news->shadow = false;
    news->list = false;
    news->limit.reset();
    news->in_flight = 0;
    news->possible = false;
    news->value = Number{};
    news->window = {};
    if (const policies::Standing* standing = telling(verdict); standing != nullptr)
      fill(set, *standing, *news);
    queue.publish();
    report_.ring();
  }

  static void fill(const policies::PolicySet& set, const policies::Standing& standing,
                   News& news) noexcept {
    news.list = standing.list.has_value();
    news.decider = standing.list     ? std::string_view(set.lists[*standing.list].name)
                   : standing.policy ? std::string_view(set.policies[*standing.policy].name)
                                     : std::string_view();
    news.shadow = standing.shadow;
    news.field = standing.field;
    if (standing.why != policies::MissReason::none) {
      news.why = policies::miss_reason_text(standing.why);
    }
    if (standing.shadow) news.effect = standing.effect;
    news.value = standing.value;
    news.limit = standing.limit;
    news.in_flight = standing.in_flight;
    news.possible = standing.possible;
    news.window = standing.window;
    if (standing.until) news.until = *standing.until;
  }

  Report& report_;
};

Report::Report(boost::asio::io_context& control, std::size_t workers, const HashSecret& secret,
               Log& log, telemetry::MetricCells& cells)
    : secret_(secret),
      log_(log),
      notifier_(std::make_unique<Notifier>(control, log, cells)),
      cells_(cells),
      bell_(control, ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      delay_(control) {
  for (std::size_t i = 0; i < workers; ++i) reporters_.push_back(std::make_unique<Reporter>(*this));
}

Report::~Report() = default;

policies::Observer& Report::observer(std::size_t worker) noexcept { return *reporters_[worker]; }

void Report::start() { wait(); }

void Report::use(const config::Model& model) {
  log_.use(level_named(model.server.log.level), model.server.log.json);
  readable_keys_ = model.server.log.readable_keys;
  most_ = model.server.log.verdicts_per_second;
  notifier_->use(model.notify);
  update_wanted();
}

void Report::watch(std::function<void(const News&)> viewer) {
  viewer_ = std::move(viewer);
  update_wanted();
}

void Report::update_wanted() {
  wanted_ = viewer_                                  ? Wanted::all
            : most_ == 0 || !log_.wants(Level::info) ? Wanted::nothing
            : log_.wants(Level::debug)               ? Wanted::all
                                                     : Wanted::refusals;
}

void Report::ring() noexcept {
  if (rung_.load(std::memory_order_relaxed) || rung_.exchange(true, std::memory_order_acq_rel))
    return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(bell_.native_handle(), &one, sizeof(one));
}

void Report::wait() {
  bell_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [this](const boost::system::error_code& error) {
                     if (error || stopped_) return;
                     delay_.expires_after(kGather);
                     delay_.async_wait([this](const boost::system::error_code& cancelled) {
                       if (cancelled || stopped_) return;
                       drain();
                       wait();
                     });
                   });
}

void Report::drain() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(bell_.native_handle(), &count, sizeof(count));
  // This must precede the look at the queues: a worker that publishes from here on rings again.
  rung_.exchange(false, std::memory_order_acq_rel);
  for (const auto& reporter : reporters_) {
    while (const News* news = reporter->queue.front()) {
      handle(*news);
      reporter->queue.drop();
    }
  }
}

void Report::handle(const News& news) {
  if (tailing_.load(std::memory_order_relaxed)) {
    if (tail_.size() == kTail) tail_.pop_front();
    tail_.push_back(news);
    ++tail_next_;
    // A busy proxy must not lose refusals in the log because a viewer is attached: no more this
    // second.
    if (++tail_lines_ >= kLinesPerSecond) tailing_.store(false, std::memory_order_relaxed);
  }
  if (viewer_) {
    if (takes_line(news)) viewer_(news);
  } else {
    const bool refusal =
        refuses(news.effect) || news.effect == Action::delay || (news.status != 0 && !news.shadow);
    const bool notable = news.kind == News::Kind::listed ? news.created : refusal && !news.shadow;
    const Level level = notable ? Level::info : Level::debug;
    if (log_.wants(level) && takes_line(news)) log_.write(level, line_of(news));
  }
  if (news.kind == News::Kind::listed && news.created && !news.notify.view().empty()) {
    if (maker_ == nullptr || news.shared_list == limiter::ListId{}) return notify(news);
    maker_(news.shared_list, news.hash, [this, news](bool here) {
      if (here && !stopped_) notify(news);
    });
  }
}

/// Whether there is room for one more line of its kind in this second; if not, it is counted. With
/// the last verdict the workers stop copying them.
bool Report::takes_line(const News& news) {
  const std::int64_t most = viewer_ ? kLinesPerSecond : most_;
  const bool verdict = news.kind == News::Kind::verdict;
  std::int64_t& lines = verdict ? lines_ : listed_lines_;
  if (lines >= most) {
    if (most != 0) ++(verdict ? left_out_ : listed_left_out_);
    return false;
  }
  ++lines;
  if (verdict && lines >= most) muted_.store(true, std::memory_order_relaxed);
  return true;
}

admin::VerdictPage Report::verdicts(std::optional<std::uint64_t> after, std::size_t most,
                                    TimePoint now) {
  tail_until_ = now + kTailFor;
  if (tail_lines_ < kLinesPerSecond) tailing_.store(true, std::memory_order_relaxed);
  admin::VerdictPage page;
  const std::uint64_t first = tail_next_ - tail_.size();
  // A number of another process's life is none of ours: from here on.
  if (!after || *after > tail_next_) after = tail_next_;
  page.missed = *after < first ? first - *after : 0;
  page.next = std::max(*after, first);
  for (; page.next < tail_next_ && page.rows.size() < most; ++page.next) {
    page.rows.push_back(row_of(tail_[static_cast<std::size_t>(page.next - first)]));
  }
  return page;
}

void Report::notify(const News& news) {
  notifier_->notify(news, shown_key(news.key.view()), news.time);
}

void Report::tick(TimePoint now) {
  if (now >= tail_until_) {
    tail_.clear();
    tailing_.store(false, std::memory_order_relaxed);
  } else {
    tailing_.store(true, std::memory_order_relaxed);
  }
  tail_lines_ = 0;
  lines_ = listed_lines_ = 0;
  muted_.store(false, std::memory_order_relaxed);
  tell_left_out();
  std::int64_t unnotified = 0;
  for (const auto& reporter : reporters_)
    unnotified += reporter->unnotified.load(std::memory_order_relaxed);
  if (unnotified != unnotified_before_) {
    notifier_->lost(unnotified - unnotified_before_);
    unnotified_before_ = unnotified;
  }
  // The control thread may have missed the signal of a worker that published during drain().
  for (const auto& reporter : reporters_) {
    if (reporter->queue.front() != nullptr) {
      drain();
      break;
    }
  }
  notifier_->tick(now);
}

/// Logs how many verdicts were left out in the second that has ended.
void Report::tell_left_out() {
  std::int64_t unheard = 0;
  for (const auto& reporter : reporters_)
    unheard += reporter->left_out.load(std::memory_order_relaxed);
  const std::int64_t verdicts =
      std::exchange(left_out_, 0) + unheard - std::exchange(left_out_before_, unheard);
  const std::int64_t entries = std::exchange(listed_left_out_, 0);
  if (verdicts + entries == 0) return;
  cells_.add(telemetry::Metric::log_left_out, verdicts + entries);
  if (verdicts != 0)
    log_.write(Level::info, LogLine("verdicts left out of the log").add("count", verdicts));
  if (entries != 0)
    log_.write(Level::info, LogLine("list entries left out of the log").add("count", entries));
}

void Report::stop() {
  if (stopped_) return;
  maker_ = nullptr;  // its answer would come too late: two replicas notify rather than none
  drain();
  stopped_ = true;
  notifier_->stop();
  boost::system::error_code ignored;
  bell_.cancel(ignored);
  delay_.cancel();
}

std::string Report::shown_key(std::string_view key) const {
  if (readable_keys_) return std::string(key);
  return key_mark(secret_, key);
}

LogLine Report::line_of(const News& news) const {
  const bool verdict = news.kind == News::Kind::verdict;
  LogLine line(verdict ? "verdict" : "listed");
  if (verdict) {
    // An event of the event API may have none of a request's attributes.
    if (!news.event.view().empty()) line.add("event", news.event.view());
    if (news.client != Address{}) line.add("client", shown_key(news.client.to_string()));
    if (!news.method.view().empty()) line.add("method", news.method.view());
    if (!news.path.view().empty()) line.add("path", news.path.view());
    line.add(news.shadow ? "shadow_effect" : "effect", row_of(news.effect).name);
    if (news.status != 0) line.add("status", std::int64_t{news.status});
    if (!news.decider.view().empty()) line.add(news.list ? "list" : "policy", news.decider.view());
    if (!news.field.view().empty()) line.add("field", news.field.view());
    if (!news.why.view().empty()) line.add("why", news.why.view());
    if (!news.request_id.view().empty()) line.add("request_id", news.request_id.view());
  } else {
    line.add("policy", news.decider.view()).add("key", shown_key(news.key.view()));
    if (news.list) line.add("list", news.list_name.view());
  }
  if (news.window.count() != 0) {
    line.add("value", news.value);
    if (news.limit) line.add("limit", *news.limit);
    line.add("window", human_duration(news.window));
  }
  if (news.in_flight != 0) line.add("in_flight", std::int64_t{news.in_flight});
  if (news.possible) line.mark("possible");
  if (news.until != TimePoint{}) line.add("until", iso_time(news.until));
  return line;
}

}  // namespace weir::app
