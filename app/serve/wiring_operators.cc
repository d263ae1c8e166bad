#include "app/serve/wiring.h"

/// What operators ask of the process beyond its counters and lists.
namespace weir::app {

namespace asio = boost::asio;

std::vector<config::Override> Wiring::overrides() const {
  return reload_ != nullptr ? reload_->overrides() : std::vector<config::Override>{};
}

asio::awaitable<admin::LoadReport> Wiring::override_policy(config::Override change) {
  return reload_->override_policy(std::move(change));
}

asio::awaitable<admin::LoadReport> Wiring::end_overrides(std::string policy) {
  return reload_->end_overrides(std::move(policy));
}

std::vector<admin::ConfigText> Wiring::configuration() const {
  return reload_ != nullptr ? reload_->texts() : std::vector<admin::ConfigText>{};
}

std::vector<admin::LoadRecord> Wiring::loads() const {
  return reload_ != nullptr ? reload_->history() : std::vector<admin::LoadRecord>{};
}

}  // namespace weir::app
