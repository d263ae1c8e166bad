#include "app/serve/redis_outage.h"

#include <algorithm>
#include <utility>

namespace weir::app {
namespace {

bool is_up(const std::optional<std::string>& said) noexcept { return said && said->empty(); }

}  // namespace

RedisOutage::Line RedisOutage::hear(std::size_t worker, std::string why, TimePoint now) {
  if (worker >= said_.size()) said_.resize(worker + 1);
  const bool first = !said_[worker];
  said_[worker] = std::move(why);
  const std::string& said = *said_[worker];
  if (!said.empty() && !first) {
    const bool known = logged_.has_value();
    if (known && (*logged_ == said || now < logged_at_ + kAgain)) return Line::none;
    logged_ = said;
    logged_at_ = now;
    return known ? Line::still_away : Line::away;
  }
  if (logged_ && std::all_of(said_.begin(), said_.end(), is_up)) {
    logged_.reset();
    return Line::back;
  }
  return Line::none;
}

std::size_t RedisOutage::workers_up() const noexcept {
  return static_cast<std::size_t>(std::count_if(said_.begin(), said_.end(), is_up));
}

std::string RedisOutage::why() const {
  const auto away = std::find_if(said_.begin(), said_.end(),
                                 [](const auto& said) { return said && !said->empty(); });
  return away == said_.end() ? std::string() : **away;
}

std::size_t RedisOutage::worker_up() const noexcept {
  const auto up = std::find_if(said_.begin(), said_.end(), is_up);
  return up == said_.end() ? 0 : static_cast<std::size_t>(up - said_.begin());
}

}  // namespace weir::app
