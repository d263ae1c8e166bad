#include "store/views/view_sharer.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "limiter/exchange/shared_key.h"
#include "store/redis/resp_writer.h"

namespace weir::store {
namespace {

// No request waits for a view's call, so a slow server is not given up because of it.
constexpr milliseconds kViewPatience{1'000};
constexpr milliseconds kViewConnects{20};

Settings patient_with_views(Settings settings) {
  settings.timeout = std::max(settings.timeout, kViewPatience);
  settings.budget = settings.timeout;
  return settings;
}

/// What the names of a view's keys begin with: `weir:view:<name>:{<hash>}`.
std::string view_stem(std::string_view name, const Hash128& id) {
  std::string stem = "weir:view:";
  limiter::ReadableKey text(stem);
  text.add_text(name);
  text.end();
  stem += ":{";
  limiter::append_hashed_key(stem, id);
  stem += '}';
  return stem;
}

}  // namespace

class ViewSharer::Exchange final : public ScriptCall {
 public:
  Exchange(ViewSharer& owner, const ViewToShare& what)
      : shared(what),
        stem_(view_stem(what.name, owner.secret_.hash("view").owned_by(what.identity))),
        sync(*what.view, stem_, owner.secret_, owner.origin_, owner.fold_age_),
        owner_(owner) {
    script = &view_script();
    slot = slot_of(stem_);
  }

  void send(TimePoint now) {
    words.clear();
    const auto& all = owner_.exchanges_;
    const bool may_fold = std::none_of(all.begin(), all.end(), [](const auto& exchange) {
      return exchange->sync.is_folding();  // its memory is one fold's
    });
    const ViewSync::Question question = sync.ask(words, now, Clock::wall(), may_fold);
    keys = question.keys;
    count = question.words;
    if (owner_.store_.call(*this)) return;
    std::string why = owner_.store_.why();
    sync.not_sent(now, why.empty() ? "Redis is away" : std::move(why));
  }
  void on_answer(const Reply& reply) override {
    const TimePoint now = owner_.worker_.now();
    if (!retired) sync.answered(reply, now);
    owner_.turn(now);  // a retired one ends here
  }
  void on_failure(limiter::SharedError error, std::string_view text) override {
    const TimePoint now = owner_.worker_.now();
    if (!retired) {
      std::string why = std::string(limiter::row_of(error).name) + ": " + std::string(text);
      if (may_have_run(error)) {
        sync.failed(now, std::move(why));
      } else {
        sync.not_sent(now, std::move(why));
      }
    }
    owner_.turn(now);
  }

  const ViewToShare shared;

 private:
  const std::string stem_;

 public:
  ViewSync sync;
  bool retired = false;

 private:
  ViewSharer& owner_;
};

ViewSharer::ViewSharer(net::Worker& worker, const HashSecret& secret, Settings settings,
                       std::uint64_t origin, milliseconds fold_age)
    : worker_(worker),
      secret_(secret),
      origin_(origin),
      fold_age_(fold_age),
      store_(worker, patient_with_views(std::move(settings)), origin) {}

ViewSharer::~ViewSharer() {
  net::Wheel::disarm(*this);
  store_.stop();
}

void ViewSharer::start() {
  if (running_) return;
  running_ = true;
  since_ = worker_.now();
  store_.start();
  turn(since_);
}

void ViewSharer::stop() {
  running_ = false;
  net::Wheel::disarm(*this);
  store_.stop();
  if (flushed_) std::exchange(flushed_, nullptr)();
}

void ViewSharer::flush(std::function<void()> then) {
  WEIR_ASSERT(!flushed_);
  if (!running_ || !store_.stats().up || exchanges_.empty()) return then();
  flushed_ = std::move(then);
  const TimePoint now = worker_.now();
  for (const auto& exchange : exchanges_) exchange->sync.hurry(now);
  turn(now);
}

void ViewSharer::use(std::vector<ViewToShare> views) {
  std::vector<std::unique_ptr<Exchange>> next;
  for (const ViewToShare& view : views) {
    const auto same = std::find_if(exchanges_.begin(), exchanges_.end(), [&](const auto& exchange) {
      return exchange != nullptr && exchange->shared == view;
    });
    if (same != exchanges_.end()) {
      next.push_back(std::move(*same));
    } else {
      next.push_back(std::make_unique<Exchange>(*this, view));
    }
  }
  for (auto& exchange : exchanges_) {
    if (exchange == nullptr) continue;
    exchange->retired = true;
    retired_.push_back(std::move(exchange));
  }
  exchanges_ = std::move(next);
  if (running_) turn(worker_.now());
}

void ViewSharer::turn(TimePoint now) {
  if (!running_) return;
  // A first connection takes time: that is not a failure yet.
  const bool connecting = now < since_ + kViewPatience && !store_.stats().up;
  std::erase_if(retired_, [](const auto& exchange) { return !exchange->flying(); });
  TimePoint next = TimePoint::max();
  bool idle = true;
  for (const auto& exchange : exchanges_) {
    if (!connecting && exchange->sync.due() <= now && !exchange->flying()) exchange->send(now);
    next = std::min(next, connecting ? now + kViewConnects : exchange->sync.due());
    idle = idle && (exchange->sync.idle() || !exchange->sync.sharing().up);
  }
  if (flushed_ && idle) std::exchange(flushed_, nullptr)();
  if (next != TimePoint::max()) worker_.wheel().arm(*this, next);
}

}  // namespace weir::store
