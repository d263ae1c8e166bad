#include "store/redis/script_sharer.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"

namespace weir::store {
namespace {

constexpr milliseconds kAnswerWithin{1'000};
constexpr milliseconds kConnects{20};

}  // namespace

Settings without_hurry(Settings settings) {
  settings.timeout = std::max(settings.timeout, kAnswerWithin);
  settings.budget = settings.timeout;
  return settings;
}

void ScriptSharer::Side::on_answer(const Reply& reply) {
  const TimePoint now = sharer_.now();
  if (!is_retired_) answered(reply, now);
  sharer_.turn(now);  // a retired one ends here
}

void ScriptSharer::Side::on_failure(limiter::SharedError error, std::string_view text) {
  const TimePoint now = sharer_.now();
  if (!is_retired_) {
    std::string why(limiter::row_of(error).name);
    why.append(": ").append(text);
    failed(now, std::move(why), limiter::may_have_happened(error));
  }
  sharer_.turn(now);
}

ScriptSharer::ScriptSharer(net::Worker& worker, Settings settings, std::uint64_t origin)
    : worker_(worker), store_(worker, without_hurry(std::move(settings)), origin) {}

ScriptSharer::~ScriptSharer() {
  is_running_ = false;
  net::Wheel::disarm(*this);
  store_.stop();
}

void ScriptSharer::start() {
  if (is_running_) return;
  is_running_ = true;
  since_ = now();
  store_.start();
  turn(since_);
}

void ScriptSharer::stop() {
  if (!is_running_) return;
  is_running_ = false;
  net::Wheel::disarm(*this);
  store_.stop();
  if (flushed_) std::exchange(flushed_, nullptr)();
}

void ScriptSharer::flush(std::function<void()> then) {
  WEIR_ASSERT(!flushed_);
  if (!is_running_ || !store_.up() || sides_.empty()) return then();
  flushed_ = std::move(then);
  const TimePoint at = now();
  for (const auto& side : sides_) side->hurry(at);
  turn(at);
}

std::unique_ptr<ScriptSharer::Side> ScriptSharer::leave(
    const std::function<bool(const Side&)>& is) {
  const auto found = std::find_if(sides_.begin(), sides_.end(),
                                  [&](const auto& side) { return side != nullptr && is(*side); });
  return found != sides_.end() ? std::move(*found) : nullptr;
}

void ScriptSharer::share(Sides sides) {
  for (auto& side : sides_) {
    if (side == nullptr) continue;
    side->is_retired_ = true;
    retired_.push_back(std::move(side));
  }
  sides_ = std::move(sides);
  if (is_running_) turn(now());
}

void ScriptSharer::send(Side& side, TimePoint now) {
  side.words.clear();
  side.ask(now);
  if (store_.call(side)) return;
  std::string why = store_.why();
  side.failed(now, why.empty() ? "Redis is away" : std::move(why), false);
}

void ScriptSharer::turn(TimePoint now) {
  if (!is_running_) return;
  const bool up = store_.up();
  // A first connection takes time: that is not a failure yet.
  const bool connecting = now < since_ + kAnswerWithin && !up;
  std::erase_if(retired_, [](const auto& side) { return !side->flying(); });
  TimePoint next = TimePoint::max();
  bool told = true;
  for (const auto& side : sides_) {
    side->gather(now);
    if (!connecting && !side->flying() && side->due() <= now) send(*side, now);
    next = std::min(next, connecting ? now + kConnects : side->due());
    told = told && side->is_sent();
  }
  if (flushed_ && (told || !store_.up())) std::exchange(flushed_, nullptr)();
  turned(now, next);
  if (next != TimePoint::max()) worker_.wheel().arm(*this, next);
}

void ScriptSharer::turned(TimePoint, TimePoint&) {}

}  // namespace weir::store
