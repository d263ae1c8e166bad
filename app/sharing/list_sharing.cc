#include "app/sharing/list_sharing.h"

#include <boost/asio/post.hpp>
#include <vector>

#include "app/sharing/flush_and_stop.h"
#include "app/support/shared_store.h"
#include "app/support/thread.h"

namespace weir::app {
namespace {

// A Redis that restarts is not worth a line in the log; one that is away is.
constexpr milliseconds kAway{3'000};

}  // namespace

ListSharing::ListSharing(boost::asio::io_context& control, const store::Settings& redis,
                         const HashSecret& secret, limiter::ListBank& lists, Log& log)
    : control_(control), log_(log), sharer_(worker_, lists, secret, redis, random_origin()) {}

ListSharing::~ListSharing() { stop(); }

void ListSharing::start() {
  thread_ = start_thread("weir/lists", [this] { worker_.run(); });
}

void ListSharing::use(const policies::PolicySet& set) {
  std::vector<store::SharedList> lists;
  for (const policies::List& list : set.lists) {
    if (list.shared) lists.push_back({list.name, list.id, list.max, list.identity});
  }
  if (stopped_ || (lists.empty() && !thread_.joinable())) return;
  if (!thread_.joinable()) start();
  worker_.post([this, lists = std::move(lists)] {
    sharer_.use(lists);
    sharer_.start();
  });
}

void ListSharing::set_credentials(const store::Credentials& credentials,
                                  const store::Credentials& sentinels) {
  if (!thread_.joinable()) return sharer_.set_credentials(credentials, sentinels);
  worker_.post([this, credentials, sentinels] { sharer_.set_credentials(credentials, sentinels); });
}

void ListSharing::ask_maker(limiter::ListId list, const Hash128& key,
                            std::function<void(bool here)> tell) {
  if (stopped_ || !thread_.joinable()) return tell(true);
  auto back = [&control = control_, tell = std::move(tell)](bool here) {
    boost::asio::post(control, [tell, here] { tell(here); });
  };
  worker_.post([this, list, key, back = std::move(back)]() mutable {
    sharer_.ask_maker(list, key, worker_.now() + kMakerWait, std::move(back));
  });
}

std::optional<admin::SharedListFacts> ListSharing::facts(TimePoint now) const {
  const store::ListSharingStats stats = sharer_.stats();
  if (stats.lists == 0) return std::nullopt;
  admin::SharedListFacts out;
  out.up = stats.up;
  out.why = stats.why;
  out.lists = stats.lists;
  out.entries = stats.sum.entries;
  out.pending = stats.sum.pending;
  out.lag = stats.lag(now);
  out.sent = stats.sum.sent;
  out.learned = stats.sum.learned;
  out.rounds = stats.sum.rounds;
  out.failures = stats.sum.failures;
  out.dropped = stats.sum.dropped;
  out.refused = stats.sum.refused;
  return out;
}

void ListSharing::tick(TimePoint now) {
  const store::ListSharingStats stats = sharer_.stats();
  const bool away = stats.lists != 0 && stats.lag(now) > kAway;
  if (away && was_up_) {
    log_.write(Level::warn,
               LogLine("lists are not shared with other replicas now")
                   .add("reason", stats.why)
                   .add("effect", "entries hold here, and are sent when Redis is back"));
  } else if (!away && !was_up_) {
    log_.write(Level::info, LogLine("lists are shared with other replicas again"));
  }
  was_up_ = !away;
}

void ListSharing::stop() {
  if (std::exchange(stopped_, true) || !thread_.joinable()) return;
  flush_and_stop(sharer_, worker_, thread_);
}

}  // namespace weir::app
