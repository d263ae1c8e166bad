#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admin/health.h"
#include "admin/operations.h"
#include "admin/server.h"
#include "core/event.h"
#include "tests/support/door_client.h"

namespace weir::test {

/// The compiled text with these overrides, not yet attached; the test fails if it has errors.
std::unique_ptr<policies::PolicySet> compile_text(std::string_view config,
                                                  const std::vector<config::Override>& with = {});

/// The app as the doors see it: real stores and a real policy set, time and reloads at the test's
/// will.
class FakeProcess final : public admin::Operations {
 public:
  explicit FakeProcess(std::string_view config);

  admin::StatusFacts status() const override { return facts; }
  policies::Instant instant() const override { return {now, now}; }
  std::shared_ptr<const policies::PolicySet> policies() const override { return set; }
  boost::asio::awaitable<admin::LoadReport> reload() override;
  admin::VerdictPage verdicts(std::optional<std::uint64_t> after, std::size_t most) override {
    asked_verdicts = {after, most};
    return verdict_page;
  }
  boost::asio::awaitable<admin::StoreAnswer> ask_store(admin::StoreQuestion question) override;
  boost::asio::awaitable<std::string> run_store_request(
      std::shared_ptr<admin::StoreRequest> errand) override {
    errand->replied = errand_replies;
    co_return on_errand(*errand);
  }
  std::vector<config::Override> overrides() const override { return overridden; }
  boost::asio::awaitable<admin::LoadReport> override_policy(config::Override change) override {
    if (next_reload.ok) {
      std::erase_if(overridden, [&](const auto& each) {
        return each.policy == change.policy && each.mode.has_value() == change.mode.has_value() &&
               (!change.here || each.here);
      });
      overridden.push_back(std::move(change));
    }
    co_return next_reload;
  }
  std::optional<admin::FleetFacts> fleet() const override { return fleet_facts; }
  boost::asio::awaitable<admin::LoadReport> end_overrides(std::string policy, bool here) override {
    std::erase_if(overridden,
                  [&](const auto& each) { return each.policy == policy && (!here || each.here); });
    co_return next_reload;
  }
  std::vector<admin::TableFacts> tables() const override { return tables_; }
  boost::asio::awaitable<admin::TableAnswer> change_table(admin::TableRequest asked) override {
    wishes.push_back(std::move(asked));
    co_return table_answer;
  }
  std::vector<admin::TableFacts> tables_;
  std::vector<admin::TableRequest> wishes;
  admin::TableAnswer table_answer;
  std::vector<admin::ConfigText> configuration() const override { return texts; }
  std::vector<admin::LoadRecord> loads() const override { return records; }
  bool drain(bool begin) override { return facts.draining = begin; }
  void audit(admin::AuditEntry entry) override { audited.push_back(std::move(entry)); }
  admin::AuditPage audit_entries(std::size_t most) const override {
    asked_audit = most;
    return {audited, 3};
  }

  /// Acts like a reload: takes a policy set of the text and the overrides into use.
  void use_overrides();

  /// Counts one request of the live traffic and returns its verdict's effect.
  Action judge(std::string_view method, std::string_view path, std::string_view ip,
               std::vector<HeaderField> headers = {}, std::string_view body = {}) {
    return judge_at(now, method, path, ip, std::move(headers), body);
  }
  /// The same at a time of the caller's: a worker's thread does not read `now`.
  Action judge_at(TimePoint time, std::string_view method, std::string_view path,
                  std::string_view ip, std::vector<HeaderField> headers = {},
                  std::string_view body = {});

  admin::Stores stores() {
    return {bank, lists, stats, metrics, secret, &patterns, nullptr, {}, &sharing};
  }

  std::string text;
  std::vector<config::Override> overridden;
  std::optional<admin::FleetFacts> fleet_facts;
  std::vector<admin::ConfigText> texts;
  std::vector<admin::LoadRecord> records;
  std::vector<admin::AuditEntry> audited;
  mutable std::size_t asked_audit = 0;
  std::vector<admin::StoreQuestion> asked_store;
  admin::StoreAnswer store_answer;
  policies::Sharing sharing;
  bool errand_replies = true;
  std::function<std::string(admin::StoreRequest&)> on_errand = [](admin::StoreRequest&) {
    return std::string();
  };
  std::pair<std::optional<std::uint64_t>, std::size_t> asked_verdicts;
  admin::VerdictPage verdict_page;
  TimePoint now;
  admin::StatusFacts facts;
  admin::LoadReport next_reload;
  std::shared_ptr<const policies::PolicySet> set;
  limiter::Bank bank;
  limiter::ListBank lists;
  policies::ViewBank views;
  limiter::PatternBank patterns{limiter::PatternLimits{}};
  policies::StatsBank stats;
  telemetry::Metrics metrics;
  HashSecret secret;
};

/// Workers that answer when the test says so.
class FakeWorkerProbe final : public admin::WorkerProbe {
 public:
  std::size_t workers() const override { return alive.size(); }
  void ask(std::size_t worker, std::function<void()> beat) override;
  std::vector<bool> alive{true, true};
  std::vector<std::function<void()>> held;  ///< of the dead ones
};

}  // namespace weir::test
