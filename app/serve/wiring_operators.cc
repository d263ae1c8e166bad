#include "app/serve/serving_worker.h"
#include "app/serve/wiring.h"

/// What operators and callers of other rate limit services ask of the process.
namespace weir::app {

namespace asio = boost::asio;

void Wiring::make_rate_limit_paths() {
  rate_limit_paths_ = std::make_unique<RateLimitPaths>(
      control_, metrics_->rules(),
      [this] {
        const std::int64_t failed = metrics_->sum(telemetry::Metric::reloads_failed);
        const authz::LimitadorStatus status{started_, loaded_,
                                            metrics_->sum(telemetry::Metric::reloads_ok),
                                            failed - failed_before_};
        return RateLimitPaths::Facts{set_->ratelimit, !drain_.is_on(), status};
      },
      [this](auto work) {
        ServingWorker& to = workers_[next_rate_limit_worker_++ % workers_.size()];
        to.thread.post([&to, work = std::move(work)] {
          work({to.rate_limit_http, to.limitador}, to.thread.now());
        });
      });
}

std::vector<config::Override> Wiring::overrides() const {
  return reload_ != nullptr ? reload_->overrides() : std::vector<config::Override>{};
}

asio::awaitable<admin::LoadReport> Wiring::override_policy(config::Override change) {
  config::note_rungs(change, reload_->files());
  const config::Override told = change;
  admin::LoadReport report = co_await reload_->override_policy(std::move(change));
  if (report.ok && fleet_ != nullptr && !told.here) fleet_->tell_override(told);
  co_return report;
}

asio::awaitable<admin::LoadReport> Wiring::end_overrides(std::string policy, bool here) {
  admin::LoadReport report = co_await reload_->end_overrides(policy, here);
  if (fleet_ != nullptr && report.ok) {
    if (here)
      fleet_->take_again();
    else
      fleet_->tell_end(policy);
  }
  co_return report;
}

void Wiring::audit(admin::AuditEntry entry) {
  if (fleet_ != nullptr && entry.shared && entry.done) fleet_->tell_audit(entry);
  audit_->tell(std::move(entry));
}

std::optional<admin::FleetFacts> Wiring::fleet() const {
  if (fleet_ == nullptr) return std::nullopt;
  return fleet_->facts();
}

std::vector<admin::TableFacts> Wiring::tables() const { return tables_->tables(); }

asio::awaitable<admin::TableAnswer> Wiring::change_table(admin::TableRequest asked) {
  return tables_->change_table(std::move(asked));
}

std::vector<admin::ConfigText> Wiring::configuration() const {
  return reload_ != nullptr ? reload_->texts() : std::vector<admin::ConfigText>{};
}

std::vector<admin::LoadRecord> Wiring::loads() const {
  return reload_ != nullptr ? reload_->history() : std::vector<admin::LoadRecord>{};
}

}  // namespace weir::app
