#pragma once

#include "app/serve/process.h"

namespace weir::app {

/// The admin API's access to the running process. On the control thread.
class ProcessOperations final : public admin::Operations {
 public:
  /// The name of the admin API where a reload names its cause.
  static constexpr const char* kByApi = "the admin API";

  explicit ProcessOperations(Process& process) noexcept : process_(process) {}

  admin::StatusFacts status() const override;
  policies::Instant instant() const override;
  std::shared_ptr<const policies::PolicySet> policies() const override { return process_.set; }
  boost::asio::awaitable<admin::LoadReport> reload() override;
  std::vector<config::Override> overrides() const override;
  boost::asio::awaitable<admin::LoadReport> override_policy(config::Override change) override;
  boost::asio::awaitable<admin::LoadReport> end_overrides(std::string policy, bool here) override;
  std::optional<admin::FleetFacts> fleet() const override;
  std::vector<admin::TableFacts> tables() const override;
  boost::asio::awaitable<admin::TableAnswer> change_table(admin::TableRequest asked) override;
  std::vector<admin::ConfigText> configuration() const override;
  std::vector<admin::LoadRecord> loads() const override;
  admin::VerdictPage verdicts(std::optional<std::uint64_t> after, std::size_t most) override;
  boost::asio::awaitable<admin::StoreAnswer> ask_store(admin::StoreQuestion question) override;
  boost::asio::awaitable<std::string> run_store_request(
      std::shared_ptr<admin::StoreRequest>) override;
  bool drain(bool begin) override;
  void audit(admin::AuditEntry entry) override;
  admin::AuditPage audit_entries(std::size_t most) const override {
    return process_.audit->last(most);
  }

 private:
  Process& process_;
};

}  // namespace weir::app
