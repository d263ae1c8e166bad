#include "bench/fleet/lists.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "store/lists/list_sync.h"
#include "tests/store/list_model.h"

namespace weir::bench {
namespace {

using store::ListSync;
using store::Reply;

// The times that Redis 7.0 was measured to take (docs/redis.md, "What it costs").
constexpr double kCallMs = 0.008, kTellMs = 0.003, kRecordMs = 0.002;
constexpr std::int64_t kBegins = 1'700'000'000'000;
// Then all have read the empty list, and poll as rarely as they ever do.
constexpr std::int64_t kSettles = 15'000;
constexpr std::int64_t kEnds = 3'000;  // in which the last listings reach all replicas

Hash128 key_of(std::size_t n) { return {n * 0x9e3779b97f4a7c15, n + 1}; }

struct ListReplica {
  ListReplica(std::uint64_t number, std::size_t most) : list(bank.open("gray", most).value()) {
    sync = std::make_unique<ListSync>(bank, list, most, store::ListOrigin::of(number), number);
    bank.share(list, true);
  }

  limiter::ListBank bank;
  limiter::ListId list;
  std::unique_ptr<ListSync> sync;
  std::int64_t rings = -1;  // when its next call is due, as the queue has it
  std::size_t known = 0;    // entries before this one have all been seen here
  std::vector<bool> heard;  // by entry
};

struct Event {
  enum class What : std::uint8_t { listing, due, arrives, answer };
  double at = 0;  // ms
  std::uint64_t order = 0;
  What what = What::due;
  std::size_t replica = 0;
  std::size_t told = 0;                     // changes in a call
  std::shared_ptr<std::string> words = {};  // of a call
  std::shared_ptr<Reply> reply = {};
  bool operator<(const Event& other) const noexcept {  // the queue's top is its greatest
    return at != other.at ? at > other.at : order > other.order;
  }
};

class Fleet {
 public:
  explicit Fleet(const ListsScenario& s) : s_(s), random_(s.seed) {
    const auto most =
        static_cast<std::size_t>(s.listings * static_cast<double>(s.seconds)) * 2 + 100;
    for (std::size_t i = 0; i < s.replicas; ++i) {
      fleet_.push_back(std::make_unique<ListReplica>(1 + i, most));
      push({.at = uniform(1'000), .replica = i});
    }
    const double end = static_cast<double>(kSettles + s.seconds * 1'000);
    std::exponential_distribution<> gap(s.listings / 1'000);
    for (double at = kSettles + gap(random_); at < end; at += gap(random_))
      push({.at = at, .what = Event::What::listing, .replica = random_() % s.replicas});
    end_ = end + kEnds;
  }

  ListsOutcome run() {
    while (!queue_.empty() && queue_.top().at < end_) {
      const Event event = queue_.top();
      queue_.pop();
      happen(event);
    }
    out_.entries = listed_.size();
    std::uint64_t lags = 0, seen = 0;
    for (const std::uint64_t n : histogram_) lags += n;
    for (std::size_t ms = 0; ms < histogram_.size(); ++ms) {
      if (histogram_[ms] == 0) continue;
      const auto value = static_cast<std::int64_t>(ms);
      if (seen * 2 < lags) out_.p50 = value;
      if (seen * 100 < lags * 99) out_.p99 = value;
      out_.worst = value;
      seen += histogram_[ms];
    }
    out_.missing = listed_.size() * (s_.replicas - 1) - lags;
    return out_;
  }

 private:
  double uniform(double most) { return std::uniform_real_distribution<>(0, most)(random_); }
  static TimePoint time(double ms) { return from_ms(kBegins + static_cast<std::int64_t>(ms)); }
  void push(Event event) {
    event.order = ++order_;
    queue_.push(std::move(event));
  }
  bool measured(double at) const { return at >= kSettles && at < end_ - kEnds; }

  void happen(const Event& event) {
    ListReplica& replica = *fleet_[event.replica];
    switch (event.what) {
      case Event::What::listing:
        list(replica, event);
        break;
      case Event::What::due:
        break;
      case Event::What::arrives:
        return serve(event);
      case Event::What::answer:
        replica.sync->answered(*event.reply, time(event.at));
        hear(replica, event);
        break;
    }
    call_if_due(replica, event);
  }

  void list(ListReplica& replica, const Event& event) {
    constexpr milliseconds kTerm{3'600'000};
    limiter::Listing listing;
    listing.key = key_of(listed_.size());
    listing.durations = {&kTerm, 1};
    listing.policy = "login-per-ip";
    const std::string_view part = "203.0.113.7";
    listing.parts = {&part, 1};
    replica.bank.add(replica.list, listing, time(event.at));
    listed_.push_back(event.at);
    mark(replica, listed_.size() - 1);
  }
  static void mark(ListReplica& replica, std::size_t entry) {
    if (replica.heard.size() <= entry) replica.heard.resize(entry + 1);
    replica.heard[entry] = true;
  }

  void call_if_due(ListReplica& replica, const Event& event) {
    const TimePoint now = time(event.at);
    replica.sync->gather(now);
    const TimePoint due = replica.sync->due();
    if (due == TimePoint::max()) return;  // its answer comes, and asks again
    if (due <= now) {
      Event call{.at = event.at + static_cast<double>(s_.way_ms),
                 .what = Event::What::arrives,
                 .replica = event.replica};
      call.words = std::make_shared<std::string>();
      call.told = replica.sync->ask(*call.words, now) - 1;  // the first argument is the question
      return push(std::move(call));
    }
    const std::int64_t at = to_ms(due) - kBegins;
    if (at == replica.rings && static_cast<double>(at) > event.at) return;  // that bell is set
    replica.rings = at;
    push({.at = static_cast<double>(at), .replica = event.replica});
  }

  // One core: a call waits for those before it.
  void serve(const Event& event) {
    const double begins = std::max(event.at, free_);
    auto reply =
        std::make_shared<Reply>(store_.call(*event.words, std::floor((kBegins + begins) * 1'000)));
    store::ListAnswer answer;
    store::read_answer(*reply, event.has_own_time, answer);
    const double cost = kCallMs + kTellMs * static_cast<double>(event.has_own_time) +
                        kRecordMs * static_cast<double>(answer.records.size());
    free_ = begins + cost;
    if (measured(event.at)) {
      ++out_.calls;
      out_.records += answer.records.size();
      out_.busy_ms += cost;
    }
    Event back{.at = free_ + static_cast<double>(s_.way_ms),
               .what = Event::What::answer,
               .replica = event.replica};
    back.reply = std::move(reply);
    push(std::move(back));
  }

  void hear(ListReplica& replica, const Event& event) {
    const TimePoint now = time(event.at);
    for (std::size_t i = replica.known; i < listed_.size(); ++i) {
      if (i < replica.heard.size() && replica.heard[i]) continue;
      if (!replica.bank.find(replica.list, key_of(i), now).listed) continue;
      mark(replica, i);
      const auto lag = static_cast<std::size_t>(std::ceil(event.at - listed_[i]));
      if (histogram_.size() <= lag) histogram_.resize(lag + 1);
      ++histogram_[lag];
    }
    while (replica.known < replica.heard.size() && replica.heard[replica.known]) ++replica.known;
  }

  const ListsScenario s_;
  std::mt19937_64 random_;
  store::test::ListModel store_;
  double free_ = 0, end_ = 0;
  std::vector<std::unique_ptr<ListReplica>> fleet_;
  std::vector<double> listed_;  // when, by entry
  std::vector<std::uint64_t> histogram_;
  std::priority_queue<Event> queue_;
  std::uint64_t order_ = 0;
  ListsOutcome out_;
};

}  // namespace

ListsOutcome simulate(const ListsScenario& scenario) { return Fleet(scenario).run(); }

}  // namespace weir::bench
