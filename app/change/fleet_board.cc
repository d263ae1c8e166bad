#include "app/change/fleet_board.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <future>

#include "app/support/shared_store.h"
#include "app/support/thread.h"
#include "limiter/exchange/shared_key.h"
#include "store/redis/script_sharer.h"
#include "store/redis/slots.h"
#include "store/resp/resp_writer.h"

namespace weir::app {
namespace {

constexpr std::size_t kSealSize = 32;
// A full board is received and sent within so many calls. A server that always has more gets no
// more than these calls in a second.
constexpr int kCallsASecond = 100;
constexpr std::string_view kNewsName = "news";

std::vector<std::string> board_keys(const HashSecret& secret) {
  std::string stem = "weir:fleet:{";
  limiter::append_hashed_key(stem, secret.hash("fleet"));
  stem += '}';
  return {stem + ":replicas", stem + ":items", stem + ":versions", stem + ":news"};
}

}  // namespace

/// Lives on the worker's thread, except prepare(), which is called while it is not in flight.
class FleetBoard::Call final : public store::ScriptCall {
 public:
  explicit Call(const HashSecret& secret) {
    const std::vector<std::string> names = board_keys(secret);
    for (const std::string& name : names) store::append_bulk(key_words_, name);
    script = &store::board_script();
    slot = store::slot_of(names.front());
    keys = static_cast<unsigned>(names.size());
  }
  void prepare(store::BoardSync& sync, TimePoint now, bool leaves = false) {
    const std::vector<std::string> arguments = sync.ask(now, leaves);
    words = key_words_;
    for (const std::string& word : arguments) store::append_bulk(words, word);
    count = keys + static_cast<unsigned>(arguments.size());
    told_ = sync.flying();
  }
  void on_answer(const store::Reply& reply) override {
    Answer out;
    out.good = store::BoardAnswer::read(reply, told_);
    if (!out.good) out.why = "its answer is not what was asked for";
    then(std::move(out));
  }
  void on_failure(limiter::SharedError error, std::string_view text) override {
    then({std::nullopt, std::string(limiter::row_of(error).name) + ": " + std::string(text)});
  }

  std::function<void(Answer answer)> then;

 private:
  std::string key_words_;
  std::size_t told_ = 0;
};

FleetBoard::FleetBoard(boost::asio::io_context& control, store::Settings redis,
                       const HashSecret& secret, std::string name, Listener listener)
    : control_(control),
      secret_(secret),
      listener_(std::move(listener)),
      sync_(std::move(name), hex_of(HashSecret::random().hash("epoch"))),
      store_(worker_, store::without_hurry(std::move(redis)), random_origin()),
      call_(std::make_unique<Call>(secret)) {}

FleetBoard::~FleetBoard() {
  *alive_ = false;
  stop(milliseconds{0}, TimePoint{});
}

FleetBoard::Heard FleetBoard::start(milliseconds limit, const Clock& clock) {
  clock_ = &clock;
  thread_ = start_thread("weir/fleet", [this] { worker_.run(); });
  const auto first = std::make_shared<std::promise<Answer>>();
  auto answer = first->get_future();
  const auto late = std::make_shared<std::atomic<bool>>(false);
  const auto deliver = [this, alive = alive_](Answer told) {
    boost::asio::post(control_, [this, alive, told = std::move(told)]() mutable {
      if (*alive) came(std::move(told), clock_->now());
    });
  };
  calling_ = true;
  call_->prepare(sync_, clock.now());
  worker_.post([this, first, late, deliver] {
    // Either start() times out first, or the answer comes first: `late` shows which.
    call_->then = [first, late, deliver](Answer told) {
      if (late->exchange(true)) return deliver(std::move(told));
      first->set_value(std::move(told));
    };
    store_.start();
    store_.when_up([this] {
      if (!store_.call(*call_)) call_->then({std::nullopt, "Redis is away"});
    });
  });
  if (answer.wait_for(limit) != std::future_status::ready && !late->exchange(true)) return {};
  return take(answer.get(), clock.now());
}

void FleetBoard::call(TimePoint now, bool leaves) {
  call_->prepare(sync_, now, leaves);
  worker_.post([this] {
    if (store_.call(*call_)) return;
    const std::string why = store_.why();
    call_->then({std::nullopt, why.empty() ? "Redis is away" : why});
  });
  // Last: the answer comes on this thread, and where memory was missing the next turn tries again.
  calling_ = true;
}

void FleetBoard::tick(TimePoint now) {
  follow_ups_ = 0;
  if (!calling_ && !stopped_) call(now);
}

FleetBoard::Heard FleetBoard::take(Answer answer, TimePoint now) {
  calling_ = false;
  if (!answer.good) {
    sync_.failed(std::move(answer.why));
    return {};
  }
  Heard heard = sync_.answered(std::move(*answer.good), now);
  std::erase_if(heard.items, [&](store::BoardItem& item) {
    const bool ours = unseal(item.name, item.value);
    if (!ours) ++strangers_;
    return !ours;
  });
  std::erase_if(heard.news, [&](std::string& text) {
    const bool ours = unseal(kNewsName, text);
    if (!ours) ++strangers_;
    return !ours;
  });
  return heard;
}

void FleetBoard::came(Answer answer, TimePoint now) {
  const bool good = answer.good.has_value();
  Heard heard = take(std::move(answer), now);
  if (stopped_) return;
  if (good && sync_.is_urgent() && ++follow_ups_ < kCallsASecond) call(now);
  if (!heard.items.empty() || !heard.news.empty() || !heard.told.empty() || heard.full ||
      heard.left_out)
    listener_(std::move(heard));
}

void FleetBoard::stop(milliseconds limit, TimePoint now) {
  if (std::exchange(stopped_, true) || !thread_.joinable()) return;
  if (limit.count() > 0 && !calling_ && sync_.why().empty()) {
    const auto done = std::make_shared<std::promise<void>>();
    auto gone = done->get_future();
    call_->prepare(sync_, now, true);
    worker_.post([this, done] {
      call_->then = [done](Answer) { done->set_value(); };
      if (!store_.call(*call_)) done->set_value();
    });
    gone.wait_for(limit);
  }
  worker_.post([this] {
    call_->then = [](Answer) {};
    store_.stop();
  });
  worker_.stop();
  thread_.join();
}

void FleetBoard::set_credentials(const store::Credentials& credentials,
                                 const store::Credentials& sentinels) {
  worker_.post([this, credentials, sentinels] { store_.set_credentials(credentials, sentinels); });
}

void FleetBoard::say(std::string words, std::string version, bool by_reload) {
  sync_.say(std::move(words), std::move(version), by_reload);
}

bool FleetBoard::put(const store::BoardItem& item, bool guarded, TimePoint now) {
  store::BoardItem told = item;
  told.value = sealed(item.name, item.value);
  if (!sync_.put(std::move(told), guarded)) return false;
  tick(now);
  return true;
}

bool FleetBoard::tell(const std::string& news, TimePoint now) {
  if (!sync_.tell(sealed(kNewsName, news))) return false;
  tick(now);
  return true;
}

std::vector<store::BoardItem> FleetBoard::items(std::string_view prefix, TimePoint now) const {
  std::vector<store::BoardItem> out = sync_.items(prefix, now);
  std::erase_if(out, [&](store::BoardItem& item) { return !unseal(item.name, item.value); });
  return out;
}

std::string FleetBoard::sealed(std::string_view name, std::string_view value) const {
  std::string text = "fleet ";
  text.append(name).append(1, '\0').append(value);
  return hex_of(secret_.hash(text)) + std::string(value);
}

bool FleetBoard::unseal(std::string_view name, std::string& value) const {
  if (value.size() < kSealSize) return false;
  const std::string inside = value.substr(kSealSize);
  if (sealed(name, inside) != value) return false;
  value = inside;
  return true;
}

}  // namespace weir::app
